"""The form for a new crawl: its fields, checked as `lycosa check` does, and the command line that they make.

Only these fields are taken, and each becomes one option with its value behind an equals sign: what a form brings is
never more than the value of an option that stands here. A collection may be somebody else's, and one click
continues it. So the page reads its mission as the crawl would, and starts none that is risky: that names a program,
or a file out of the served folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from starlette.datastructures import QueryParams

from lycosa import urls
from lycosa.config.loading import load
from lycosa.config.mission_files import find_mission, find_own
from lycosa.config.seeds import read_seeds
from lycosa.config.settings import Mission
from lycosa.errors import LycosaError, UsageError
from lycosa.judge.admission.rules import Rules
from lycosa.missions import registry
from lycosa.serve.collection_folders import CollectionFolders
from lycosa.serve.translations import Translator, mark


def refuse_risky_mission(folder: Path, *, below: Path) -> None:
    """Refuse the mission of a collection that runs code, or writes a file that is not `below` the served folder."""
    file = find_own(folder)
    if file is None:
        return
    mission = load(file, check_own=False).mission
    if mission.quarry or mission.render.browser:
        raise UsageError(
            "The mission of this collection runs code of its own, which the page does not start: continue it with"
            " lycosa crawl --collection."
        )
    written = {"keep.mirror": mission.keep.mirror, "keep.index": mission.keep.index, "log.file": mission.log.file}
    for setting, path in written.items():
        if path not in ("", "-") and not Path(path).resolve().is_relative_to(below.resolve()):
            raise UsageError(
                f"The mission of this collection writes {path[:200]} ({setting}), which is not below the served folder:"
                " continue it with lycosa crawl --collection."
            )


MOST_SEEDS = 10_000
_VALUE_CHARS = 500
_SEED_ENDS = re.compile(r"[\r\n]+|\s+(?=https?://)")  # a blank may stand within an address


class FormSetting(NamedTuple):
    """A field that stands for a setting."""

    field: str
    key: str  # dotted, as in a mission
    option: str
    label: str
    hint: str = ""
    example: str = ""


SETTINGS = (
    FormSetting("limit", "limits.pages", "--limit", mark("Pages at most"), mark("Empty: all of them"), "1000"),
    FormSetting("depth", "limits.depth", "--depth", mark("Depth"), mark("Links from a seed; 0: the seeds alone"), "3"),
    FormSetting("time", "limits.time_s", "--max-time", mark("Time at most"), mark("As 90, 15m or 2h"), "2h"),
    FormSetting("host_pages", "limits.host_pages", "--max-host-pages", mark("Pages of each host at most"), "", "500"),
    FormSetting(
        "delay", "fetch.delay_s", "--delay", mark("Delay"), mark("Seconds between two requests to one host"), "1"
    ),
    FormSetting(
        "contact",
        "agent.contact",
        "--contact",
        mark("Contact"),
        mark("Mail address or URL by which site owners reach you"),
        "you@example.org",
    ),
)
SCOPE = FormSetting("scope", "scope", "--scope", mark("Scope"))
SCOPES = (
    ("", mark("Usual: the hosts of the seeds and those below them, or as the mission says")),
    ("path", mark("Below the folder of each seed")),
    ("host", mark("On the hosts of the seeds")),
    ("domain", mark("In the domains of the seeds")),
    ("free", mark("Anywhere")),
)


class MissionOffer(Struct, frozen=True):
    """A mission that the form offers."""

    name: str
    summary: str


class CrawlForm(Struct):
    """What was typed into the form, and what is wrong with it, by field."""

    name: str = ""
    seeds: str = ""
    missions: list[str] = []
    scope: str = ""
    values: dict[str, str] = {}  # of SETTINGS, by field
    complaints: dict[str, str] = {}


class CheckedCrawl(NamedTuple):
    """A crawl that may be started."""

    folder: Path
    arguments: list[str]  # of `lycosa crawl`
    seeds: tuple[str, ...]  # that it reads from its standard input


def offered_missions() -> list[MissionOffer]:
    """The missions that are installed and can be used."""
    return [MissionOffer(mission.name, mission.summary) for mission in registry.every()]


def read_form(form: QueryParams) -> CrawlForm:
    """What was typed, with bounds on its length."""
    return CrawlForm(
        name=form.get("name", "")[:_VALUE_CHARS].strip(),
        seeds=form.get("seeds", ""),
        missions=[name[:_VALUE_CHARS] for name in form.getlist("mission")[:20] if name],
        scope=form.get("scope", "")[:_VALUE_CHARS],
        values={
            setting.field: form.get(setting.field, "")[:_VALUE_CHARS].strip()
            for setting in SETTINGS
            if form.get(setting.field, "").strip()
        },
    )


def check_form(form: CrawlForm, folders: CollectionFolders, translate: Translator) -> CheckedCrawl | None:
    """The crawl that a form asks for; None where something is wrong, which its complaints then say."""
    complaints = form.complaints = {}
    folder = _check_name(form.name, folders, complaints, translate)
    overrides = _check_values(form, complaints)
    mission = _check_missions(form, overrides, complaints, translate)
    seeds = _check_seeds(form, mission, complaints, translate)
    files = _place_files(folder, mission, folders, complaints, translate)
    if complaints or folder is None:
        return None
    arguments = [",".join(form.missions)] if form.missions else []
    options = [f"{setting.option}={form.values[setting.field]}" for setting in SETTINGS if setting.field in form.values]
    if form.scope:
        options.append(f"--scope={form.scope}")
    if seeds:
        options.append("--seeds=-")
    return CheckedCrawl(folder, [*options, *files, "--new", f"--collection={folder}", "--", *arguments], seeds)


def check_limit(text: str) -> str:
    """A page limit that a crawl is continued with; UsageError where it is none."""
    load(None, overrides={"limits.pages": text[:_VALUE_CHARS]})
    return text.strip()


def _check_name(
    name: str, folders: CollectionFolders, complaints: dict[str, str], translate: Translator
) -> Path | None:
    """The folder of a new collection; None where the name cannot be one, or is taken."""
    folder = folders.new_folder(name)
    if folder is None:
        complaints["name"] = translate(
            "A name has 1 to 100 letters, digits, spaces, points, hyphens and underscores, and begins with a letter or"
            " a digit."
        )
    elif os.path.lexists(folder) or name in folders.list():  # or the served folder itself is called so
        complaints["name"] = translate("There is already something called {name} in the folder.", name=folder.name)
        return None
    return folder


def _check_values(form: CrawlForm, complaints: dict[str, str]) -> dict[str, object]:
    """The settings that the form gives, each checked by itself so that a complaint stands at its field."""
    overrides: dict[str, object] = {}
    fields = {setting.field: (setting, form.values.get(setting.field, "")) for setting in (*SETTINGS, SCOPE)}
    fields[SCOPE.field] = (SCOPE, form.scope)
    for field, (setting, value) in fields.items():
        if not value:
            continue
        overrides[setting.key] = value
        try:
            load(None, overrides={setting.key: value})
        except LycosaError as problem:
            complaints[field] = (
                str(problem).removeprefix(f"{setting.option}: ").replace(f"{setting.key} is ", "This is ", 1)
            )
    return overrides


def _check_missions(
    form: CrawlForm, overrides: Mapping[str, object], complaints: dict[str, str], translate: Translator
) -> Mission | None:
    known = registry.names()
    unknown = [name for name in form.missions if name not in known]
    if unknown:
        complaints["mission"] = translate(
            "There is no mission {name}; allowed: {known}.", name=unknown[0], known=", ".join(known)
        )
        return None
    if complaints:
        overrides = {}
    file = find_mission(",".join(form.missions)) if form.missions else None
    try:
        return load(file, environ=os.environ, overrides=overrides).mission
    except LycosaError as problem:
        complaints["mission"] = str(problem)
        return None


def _check_seeds(
    form: CrawlForm, mission: Mission | None, complaints: dict[str, str], translate: Translator
) -> tuple[str, ...]:
    lines = (line.strip() for line in _SEED_ENDS.split(form.seeds))
    words = [line for line in lines if line and not line.startswith("#")]
    if not words and mission is not None and (mission.seeds or mission.seeds_file):
        return ()
    if not words:
        complaints["seeds"] = translate("There is no seed: give at least one address to begin with.")
        return ()
    if len(words) > MOST_SEEDS:
        complaints["seeds"] = translate(
            "There are {count} seeds; allowed: {most}. For more there is lycosa crawl --seeds FILE.",
            count=translate.number(len(words)),
            most=translate.number(MOST_SEEDS),
        )
        return ()
    try:
        found = read_seeds(words).urls
        if mission is not None:
            rules = Rules(mission, found)
            for seed in found:
                verdict = rules.judge(seed, depth=0, host=urls.host_of(seed), seed=True)
                if not verdict.ok:
                    why = f"{verdict.reason}: {verdict.detail}"
                    raise UsageError(translate("The rules refuse the seed {seed} ({why}).", seed=seed, why=why))
    except LycosaError as problem:
        complaints["seeds"] = str(problem)
        return ()
    return found


def _place_files(
    folder: Path | None,
    mission: Mission | None,
    folders: CollectionFolders,
    complaints: dict[str, str],
    translate: Translator,
) -> list[str]:
    """The options for what a mission writes at the end: beside the collection, below the served folder.

    The folder of a mirror is called as the collection, with -mirror behind it.
    """
    if folder is None or mission is None or not (mission.keep.mirror or mission.keep.index):
        return []
    mirror = _check_name(f"{folder.name}-mirror", folders, complaints, translate)
    found = {"--mirror": mission.keep.mirror and mirror, "--index": mission.keep.index and f"{mirror}/index.txt"}
    return [f"{option}={value}" for option, value in found.items() if value]
