"""Pages of the form: a new crawl, the try of an address, the mission file, and the settings of a collection.

A change of settings is first shown with what it will do; it is written to the collection's own mission, which its next
crawl goes on with.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import RedirectResponse, Response

from lycosa import urls
from lycosa.collection import database
from lycosa.collection.folder import keep_mission
from lycosa.collection.status import running_crawl
from lycosa.config.fields import split
from lycosa.config.loading import load
from lycosa.config.mission_files import find_own
from lycosa.config.setting_docs import find_changes
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.crawler.preparation import find_governed, holding
from lycosa.errors import CollectionError, LycosaError, UsageError
from lycosa.explain.trial import try_addresses
from lycosa.extract.quarry_loader import load_quarry
from lycosa.judge.admission.rules import Rules
from lycosa.missions import registry
from lycosa.quarry import url_judge
from lycosa.serve.collection_folders import name_of
from lycosa.serve.collection_keeping import read_tags
from lycosa.serve.crawl_form import (
    LOGIN,
    CrawlForm,
    MissionOffer,
    check_form,
    check_seeds,
    check_settings,
    fill_form,
    offered_missions,
    read_form,
    read_mission_file,
    usual_mission,
)
from lycosa.serve.form_settings import (
    FormSection,
    FormSetting,
    first_settings,
    folded_sections,
    offered_values,
    own_section,
)
from lycosa.serve.page_request import NotFound, PageRequest, View, collection_link, require_folder
from lycosa.serve.schedules import DAYS, KINDS, Schedule, check_schedule, local_zone, set_schedule
from lycosa.serve.watched_crawls import start_crawl

_JUDGED_S = 5.0  # that addresses are judged again to tell how many a change admits
_SHOWN = 40


class TriedRule(Struct, frozen=True):
    """A rule, and what it says of an address."""

    rule: str
    ok: bool
    detail: str


class CrawlFormPage(Struct):
    """What the form shows."""

    form: CrawlForm
    missions: list[MissionOffer]
    first: Sequence[FormSetting]
    sections: Sequence[FormSection]
    own: list[FormSection]  # of missions
    usual: dict[str, str]  # by setting: what holds where its field is empty
    login: dict[str, str]
    schedule: Schedule
    kinds: dict[str, str]
    days: Sequence[str]
    tried: str = ""  # the address that was tried
    refused_by: list[str] | None = None  # None: nothing was tried
    rules: list[TriedRule] = []
    file: str = ""  # the mission file that the form makes
    left: list[str] = []  # settings of a file that was loaded for which there is no field
    collection: str = ""  # whose settings are changed; empty: it is a new crawl
    changes: list[str] = []  # what will be another
    effects: list[str] = []  # what that does
    tags: str = ""


def show_form(request: PageRequest) -> View:
    """The form for a new crawl: ?mission=… chooses a job."""
    require_folder(request)
    offered = offered_missions()
    chosen = [one.name for one in offered if one.name in request.query.getlist("mission")]
    return View("crawl_form.html", _make_page(CrawlForm(missions=chosen)))


def begin_crawl(request: PageRequest) -> View | Response:
    """Start a new crawl, or do what another button of the form asks for; what is wrong is said at each field."""
    require_folder(request)
    request.address = "/new"
    asked = request.form.get("do", "")
    if asked == "load":
        return _load(request)
    form = read_form(request.form)
    page = _make_page(form)
    if asked in ("try", "file", "save"):
        mission, _ = check_settings(form, request.translate)
        if mission is None:
            return View("crawl_form.html", page, 422)
        seeds = check_seeds(form, mission, request.translate)
        if asked == "save" and not form.complaints:
            return _send_file(form.name or "mission", replace(mission, seeds=seeds or mission.seeds))
        if asked == "file" and not form.complaints:
            page.file = to_toml(replace(mission, seeds=seeds or mission.seeds), whole=False)
        if asked == "try":
            _try(page, mission, seeds or mission.seeds, request.form.get("tried", ""))
        return View("crawl_form.html", page, 422 if form.complaints else 200)
    schedule = _read_schedule(page, form)
    checked = check_form(form, request.server_state.folders, request.translate)
    if checked is None or schedule is None:
        return View("crawl_form.html", page, 422)
    try:
        start_crawl(checked.folder, checked.arguments, options=request.settings.crawl_options, seeds=checked.seeds)
    except LycosaError as problem:
        form.complaints["form"] = str(problem)
        return View("crawl_form.html", page, 422)
    folders = request.server_state.folders
    folders.look_again()
    if schedule.kind:
        set_schedule(folders.root, checked.folder, schedule)
    return RedirectResponse(collection_link(name_of(folders.root, checked.folder), "crawl"), 303)


def _read_schedule(page: CrawlFormPage, form: CrawlForm) -> Schedule | None:
    """The schedule that a form asks for; None where it is wrong, which its complaint says."""
    given = {key.removeprefix("schedule."): text for key, text in form.schedule.items()}
    try:
        made = check_schedule(**{key: given.get(key, "") for key in ("kind", "at", "day", "zone")})
    except UsageError as problem:
        form.complaints["schedule"] = str(problem)
        return None
    page.schedule = made
    return made


def show_settings(request: PageRequest) -> View:
    """The settings of a collection in the form."""
    mission = load(_own_file(request), check_own=False).mission
    page = _make_page(fill_form(mission, name=request.label), seeds=request.collection.seeds())
    page.collection = request.label
    root = request.settings.folder
    page.tags = ", ".join(read_tags(root).get(name_of(root, request.folder), []))
    return View("crawl_form.html", page)


def change_settings(request: PageRequest) -> View | Response:
    """Show what a change of settings will do, or write it."""
    file = _own_file(request)
    before = load(file, check_own=False).mission
    form = read_form(request.form)
    form.missions, form.name = list(before.missions), request.label
    wanted = {**offered_values(usual_mission(before.missions)), **form.values}
    now = offered_values(before)
    form.values = {key: text for key, text in wanted.items() if text != now.get(key)}
    mission, sets = check_settings(form, request.translate, own=file)
    shown = fill_form(mission or before, name=request.label)
    shown.values, shown.seeds = read_form(request.form).values, form.seeds
    shown.complaints = form.complaints
    page = _make_page(shown, seeds=request.collection.seeds())
    page.collection = request.label
    if mission is None or form.complaints:
        return View("crawl_form.html", page, 422)
    known = set(request.collection.seeds())
    new = [seed for seed in check_seeds(form, mission, request.translate) if seed not in known]
    if form.complaints:
        return View("crawl_form.html", page, 422)
    mission = replace(mission, seeds=(*mission.seeds, *new))
    asked = request.form.get("do", "")
    if asked == "try":
        _try(page, mission, request.collection.seeds(), request.form.get("tried", ""))
        return View("crawl_form.html", page)
    if asked == "file":
        page.file = to_toml(mission, whole=False)
        return View("crawl_form.html", page)
    if asked == "save":
        return _send_file(request.label, mission)
    changed = find_changes(before, mission)
    page.changes = [f"{key} {' → '.join(value.removesuffix('.0') for value in both)}" for key, both in changed.items()]
    page.changes += [request.translate.count(len(new), "{n} more seed", "{n} more seeds")] if new else []
    if asked != "change" or not page.changes:
        page.effects = _foresee(request, mission) if page.changes else [request.translate("Nothing would be changed.")]
        return View("crawl_form.html", page)
    return _keep_changed(request, mission, sets)


def _keep_changed(request: PageRequest, mission: Mission, sets: Sequence[str]) -> Response:
    """Write a mission that was changed; `sets` are the settings that are named from now on."""
    if process := running_crawl(request.folder):
        raise CollectionError(f"A crawl already runs there (process {process}): stop it, or wait for it to end.")
    named = {split(text.partition("=")[0].strip()) for text in sets}
    kept = [text for text in mission.named if split(text.partition("=")[0].strip()) not in named]
    keep_mission(request.folder, replace(mission, named=(*kept, *sets)))
    return RedirectResponse(request.link("crawl"), 303)


def _own_file(request: PageRequest) -> Path:
    file = find_own(request.folder)
    if file is None:
        raise NotFound("This collection has no mission of its own (lycosa.toml): there is nothing to change.")
    return file


def _make_page(form: CrawlForm, seeds: Sequence[str] = ()) -> CrawlFormPage:
    known = [name for name in form.missions if registry.has(name)]
    form.seeds = form.seeds or "\n".join(seeds[:_SHOWN])
    own = [section for name in registry.names() if (section := own_section(name)) is not None]
    return CrawlFormPage(
        form=form,
        missions=offered_missions(),
        first=first_settings(),
        sections=folded_sections(),
        own=own,
        usual=offered_values(usual_mission(known)),
        login=LOGIN,
        schedule=Schedule(zone=local_zone()),
        kinds=KINDS,
        days=DAYS,
    )


def _load(request: PageRequest) -> View:
    """Fill the form with a mission file."""
    try:
        form, left = read_mission_file(request.form.get("mission_file", ""))
    except LycosaError as problem:
        form, left = read_form(request.form), []
        form.complaints["mission_file"] = str(problem)
    page = _make_page(form)
    page.left = left
    return View("crawl_form.html", page, 422 if form.complaints else 200)


def _send_file(name: str, mission: Mission) -> Response:
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)
    headers = {"content-disposition": f'attachment; filename="{plain}.toml"'}
    return Response(to_toml(mission, whole=False), headers=headers, media_type="application/toml")


def _try(page: CrawlFormPage, mission: Mission, seeds: Sequence[str], word: str) -> None:
    """Put on a page what the rules say of an address."""
    page.tried = word.strip()[:2000]
    try:
        (found,) = try_addresses(mission, seeds, [page.tried])
    except (LycosaError, ValueError) as problem:
        page.form.complaints["tried"] = str(problem) if isinstance(problem, UsageError) else "This is no web address."
        return
    page.tried, page.refused_by = found.url, found.refused_by
    page.rules = [TriedRule(rule, verdict.ok, verdict.detail) for rule, verdict in found.rules]


def _foresee(request: PageRequest, mission: Mission) -> list[str]:
    """What the next crawl will do because of changed settings."""
    connection = request.collection.database
    before = None
    with suppress(LycosaError, ValueError):
        ((text,),) = database.rows(connection, "SELECT value FROM meta WHERE key = 'mission'")
        before = load(text=text).mission
    reasons = [reason for reason in find_governed(mission, before) if reason not in holding(mission.fetch)]
    said = [request.translate("It counts from the next crawl on: press Continue there.")]
    if not reasons:
        return said
    quarry = load_quarry(mission) if any(mission.own.get(name) for name in mission.missions) else None
    rules = Rules(mission, request.collection.seeds(), url_judge=url_judge(quarry))
    marks = ", ".join("?" * len(reasons))
    sql = f"SELECT url, depth FROM url WHERE state = 8 AND reason IN ({marks})"
    count, until = 0, time.monotonic() + _JUDGED_S
    is_whole = True
    for url, depth in database.rows(connection, sql, reasons):
        count += rules.judge(url, depth=depth, host=urls.host_of(url)).ok
        if time.monotonic() > until:
            is_whole = False
            break
    reopened = request.translate.count(count, "It reopens {n} address.", "It reopens {n} addresses.")
    return [reopened if is_whole else request.translate("It reopens more than {n} addresses.", n=count), *said]
