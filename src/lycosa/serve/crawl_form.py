"""The form of a crawl: its fields, checked as `lycosa check` does, and the command line that they make.

Each field stands for a setting that `form_settings` offers, and becomes one `--set` with its value behind an equals
sign: what a form brings is never more than the value of a setting that is offered. A collection may be somebody
else's, and one click continues it. So the page reads its mission as the crawl would, and starts none that is risky:
that names a program, or a file out of the served folder.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from starlette.datastructures import QueryParams

from lycosa import urls
from lycosa.config import mission_table
from lycosa.config.fields import all_fields, dotted, own_fields, split
from lycosa.config.loading import load
from lycosa.config.mission_files import find_mission, find_own
from lycosa.config.seeds import read_seeds
from lycosa.config.settings import Mission
from lycosa.config.value_parsers import Wrong, check_host
from lycosa.disk import replace_text
from lycosa.errors import LycosaError, UsageError
from lycosa.judge.admission.rules import Rules
from lycosa.missions import registry
from lycosa.serve.collection_folders import CollectionFolders
from lycosa.serve.form_settings import is_offered, offered_values, text_of
from lycosa.serve.state_folder import STATE_FOLDER, make_state_folder
from lycosa.serve.translations import Translator, mark


def refuse_risky_mission(folder: Path, *, below: Path) -> None:
    """Refuse the mission of a collection that runs code, or writes a file that is not `below` the served folder.

    It may be a stranger's, so it also takes no secret of this machine along: no file, and no variable but ours.
    """
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
    secrets = [("fetch.cookie_file", mission.fetch.cookie_file)] if mission.fetch.cookie_file else []
    for host, rule in mission.hosts.items():
        if not _is_of_page(rule.password, host, below):
            secrets.append((f"hosts.{host}.password", rule.password))
    if secrets:
        setting, named = secrets[0]
        raise UsageError(
            f"The mission of this collection takes {named[:200]} along ({setting[:200]}); from the page, allowed: a"
            " password that was typed into it, or a variable that begins with LYCOSA_: continue it with lycosa crawl"
            " --collection."
        )


def _is_of_page(password: str, host: str, root: Path) -> bool:
    """Whether a password was given in the mission, or names what the page or its user keeps for this host."""
    kind, _, name = password.partition(":")
    if kind == "file":
        file = Path(os.path.realpath(name))
        return file.parent == (root / _PASSWORDS).resolve() and file.name.endswith(f"-{_host_name(host)}")
    return kind != "env" or name.startswith("LYCOSA_")


def _host_name(host: str) -> str:
    """A host as the name of a file has it."""
    return host.replace("*", "_").replace("/", "_")


MOST_SEEDS = 10_000
_VALUE_CHARS = 500
_PASSWORDS = f"{STATE_FOLDER}/passwords"
#: What a mission file says that stands elsewhere in the form, or holds for one collection alone.
_TAKEN = (("name",), ("named",), ("seeds",), ("missions",), ("keep", "collection"))
_LIST_CHARS = 200_000
_SEED_ENDS = re.compile(r"[\r\n]+|\s+(?=https?://)")  # a blank may stand within an address
#: The fields for a log-in, by what they set for the host.
LOGIN = {
    "user": mark("User name"),
    "password": mark("Password"),
    "login_url": mark("Page with the log-in form; empty: the server asks by itself"),
}


class MissionOffer(Struct, frozen=True):
    """A mission that the form offers, as a job in plain words."""

    name: str
    job: str
    summary: str
    example: str = ""


class CrawlForm(Struct):
    """What was typed into the form, and what is wrong with it, by field."""

    name: str = ""
    seeds: str = ""
    missions: list[str] = []
    values: dict[str, str] = {}  # of offered settings, by dotted key, where something was typed
    login_host: str = ""
    login: dict[str, str] = {}  # of LOGIN
    schedule: dict[str, str] = {}  # fields of a schedule
    complaints: dict[str, str] = {}


class CheckedCrawl(NamedTuple):
    """A crawl that may be started."""

    folder: Path
    arguments: list[str]  # of `lycosa crawl`
    seeds: tuple[str, ...]  # that it reads from its standard input
    mission: Mission


def offered_missions() -> list[MissionOffer]:
    """The missions that are installed and can be used."""
    return [
        MissionOffer(mission.name, mission.job or mission.name, mission.summary, mission.example)
        for mission in registry.every()
    ]


def read_form(form: QueryParams) -> CrawlForm:
    """What was typed, with bounds on its length."""
    values = {}
    for key in form:
        path = split(key)
        if path and is_offered(path) and (text := form[key].replace("\r\n", "\n")[:_LIST_CHARS].strip()):
            values[key] = text
    return CrawlForm(
        name=form.get("name", "")[:_VALUE_CHARS].strip(),
        seeds=form.get("seeds", ""),
        missions=[name[:_VALUE_CHARS] for name in form.getlist("mission")[:20] if name],
        values=values,
        login_host=form.get("login.host", "")[:_VALUE_CHARS].strip(),
        login={key: text for key in LOGIN if (text := form.get(f"login.{key}", "")[:_VALUE_CHARS].strip())},
        schedule={key: form[key][:_VALUE_CHARS].strip() for key in form if key.startswith("schedule.")},
    )


def fill_form(mission: Mission, *, name: str = "") -> CrawlForm:
    """The form as it would have been filled in for a mission: fields that say what its missions say are empty."""
    usual = offered_values(usual_mission(mission.missions))
    values = {key: text for key, text in offered_values(mission).items() if text != usual.get(key)}
    return CrawlForm(name=name, seeds="\n".join(mission.seeds), missions=list(mission.missions), values=values)


def usual_mission(missions: list[str] | tuple[str, ...]) -> Mission:
    """The settings that missions bring; without any, the defaults."""
    return load(find_mission(",".join(missions)) if missions else None).mission


def read_mission_file(text: str) -> tuple[CrawlForm, list[str]]:
    """The form for a mission file, and the settings of it that no form offers; UsageError where it is none."""
    mission = load(text=text[:_LIST_CHARS]).mission
    form = fill_form(mission)
    usual = usual_mission(mission.missions)
    everything = [*all_fields(), *((name, key) for name in mission.missions for key in own_fields(name))]
    left = [path for path in everything if not is_offered(path) and path not in _TAKEN]
    found = [dotted(path) for path in left if text_of(path, mission) != text_of(path, usual)]
    return form, [*found, *(["hosts"] if mission.hosts else [])]


def check_form(form: CrawlForm, folders: CollectionFolders, translate: Translator) -> CheckedCrawl | None:
    """The crawl that a form asks for; None where something is wrong, which its complaints then say."""
    form.complaints = {}
    folder = _check_name(form.name, folders, form.complaints, translate)
    mission, sets = check_settings(form, translate)
    seeds = check_seeds(form, mission, translate)
    sets += _check_login(form, folders.root, translate)
    files = _place_files(folder, mission, folders, form.complaints, translate)
    if form.complaints or folder is None or mission is None:
        return None
    options = [f"--set={text}" for text in sets]
    if seeds:
        options.append("--seeds=-")
    arguments = [",".join(form.missions)] if form.missions else []
    command = [*options, *files, "--new", f"--collection={folder}", "--", *arguments]
    return CheckedCrawl(folder, command, seeds, mission)


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


def check_new_name(name: str, folders: CollectionFolders, translate: Translator) -> Path:
    """The folder of a name that is free; UsageError where it cannot be one, or is taken."""
    complaints: dict[str, str] = {}
    folder = _check_name(name, folders, complaints, translate)
    if folder is None or complaints:
        raise UsageError(complaints["name"])
    return folder


def check_settings(
    form: CrawlForm, translate: Translator, *, own: Path | None = None
) -> tuple[Mission | None, list[str]]:
    """The mission that a form gives, and its settings as `--set` takes them; complaints stand at their fields.

    `own` is the mission file of a collection whose settings are changed.
    """
    known = registry.names()
    if unknown := [name for name in form.missions if name not in known]:
        form.complaints["mission"] = translate(
            "There is no mission {name}; allowed: {known}.", name=unknown[0], known=", ".join(known)
        )
        return None, []
    sets = []
    for key, value in form.values.items():
        owner = split(key)[0]
        if mission_table.has(owner) and len(split(key)) == 2 and owner not in form.missions:
            continue  # of a job that is not chosen
        try:
            load(None, sets=[f"{key}={value}"])
        except LycosaError as problem:
            said = str(problem).removeprefix("--set: ").removeprefix(f"{owner}: ")
            form.complaints[key] = said.replace(f"{key} is ", "This is ", 1)
        else:
            sets.append(f"{key}={value}")
    file = own or (find_mission(",".join(form.missions)) if form.missions else None)
    try:
        return load(file, environ=os.environ, sets=sets).mission, sets
    except LycosaError as problem:
        form.complaints.setdefault("mission", str(problem))
        return None, []


def check_seeds(form: CrawlForm, mission: Mission | None, translate: Translator) -> tuple[str, ...]:
    """The seeds of a form; empty where there are none, of which it then complains."""
    lines = (line.strip() for line in _SEED_ENDS.split(form.seeds))
    words = [line for line in lines if line and not line.startswith("#")]
    if not words and mission is not None and (mission.seeds or mission.seeds_file):
        return ()
    if not words:
        form.complaints["seeds"] = translate("There is no seed: give at least one address to begin with.")
        return ()
    if len(words) > MOST_SEEDS:
        form.complaints["seeds"] = translate(
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
        form.complaints["seeds"] = str(problem)
        return ()
    return found


def _check_login(form: CrawlForm, root: Path, translate: Translator) -> list[str]:
    """The settings of a log-in; its password is kept in a file that only who runs the server can read."""
    if not form.login_host:
        if form.login:
            form.complaints["login.host"] = translate("Name the host to log in at, as www.example.org.")
        return []
    try:
        host = check_host(form.login_host)
        given = {key: text for key, text in form.login.items() if key != "password"}
        sets = [f'hosts."{host}".{key}={text}' for key, text in given.items()]
        load(None, sets=sets)
        if host == "*" or not form.login.get("user"):
            raise Wrong(translate("a host and a user name"))
    except (Wrong, LycosaError) as problem:
        form.complaints["login.host"] = problem.allowed if isinstance(problem, Wrong) else str(problem)
        return []
    if (password := form.login.get("password")) and not form.complaints:
        make_state_folder(root)
        place = root / _PASSWORDS
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = place / f"{form.name}-{_host_name(host)}"
        replace_text(file, f"{password}\n", mode=0o600)
        sets.append(f'hosts."{host}".password=file:{file}')
    return sets


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
