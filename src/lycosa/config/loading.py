"""Loading of missions: defaults < file < environment < command line, layered, with the origin of each value.

One `UsageError` names all problems at once; nothing else is raised, whatever the file holds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from lycosa.config import mission_table
from lycosa.config.fields import (
    GivenValue,
    Path,
    Problem,
    all_fields,
    dotted,
    env_name,
    field_at,
    is_table,
    nearest,
    own_fields,
    quoted,
    split,
    unknown_key,
)
from lycosa.config.host_rules import MASK, is_secret, mask
from lycosa.config.settings import Mission
from lycosa.config.types import TextsType
from lycosa.config.value_parsers import Wrong, check_host, check_token
from lycosa.errors import UsageError

#: Environment variables with our prefix that are no settings.
NOT_SETTINGS = frozenset({"LYCOSA_SHARED", "LYCOSA_PYTHON", "LYCOSA_VENV", "LYCOSA_SERVE_PASSWORD"})


class Setting(NamedTuple):
    """An option that stands for a setting."""

    flags: tuple[str, ...]
    key: str  # dotted, as in a mission
    metavar: str
    text: str
    many: bool = False  # may be given several times

    @property
    def name(self) -> str:
        return self.key.replace(".", "__")


SETTINGS = (
    Setting(("--scope",), "scope", "NAME", "free, domain, host or path: how far from the seeds."),
    Setting(("--order",), "order", "NAME", "bfs, dfs or best: which URL is next."),
    Setting(("--policy",), "policy.name", "NAME", "bfs, fish, shark, terms or learn: what makes a link promising."),
    Setting(("--learned-from",), "policy.learned_from", "DIR", "Collection whose lessons policy learn begins with."),
    Setting(("--depth",), "limits.depth", "N", "Follow links at most N deep; 0: the seeds alone."),
    Setting(("--thesaurus",), "thesaurus", "NAME", "Thesaurus that makes pages relevant: a name or a file."),
    Setting(("--themes",), "themes", "NAME,…", "Themes of the thesaurus that count.", many=True),
    Setting(("--limit",), "limits.pages", "N", "Store N pages and stop."),
    Setting(("--max-time",), "limits.time_s", "TIME", "Stop after this time: 90, 15m, 2h."),
    Setting(("--max-host-pages",), "limits.host_pages", "N", "Store at most N pages of each host."),
    Setting(("--period",), "recrawl.period_h", "TIME", "Begin a new round this often: hours, or 90m, 3d."),
    Setting(("--include",), "accept", "REGEX", "Visit only URLs that match; adds to the mission's list.", many=True),
    Setting(("--exclude",), "reject", "REGEX", "Do not visit URLs that match; wins over --include.", many=True),
    Setting(("--delay",), "fetch.delay_s", "SECONDS", "Wait between two requests to one host."),
    Setting(("--per-host",), "fetch.per_host", "N", "Requests to one host at a time."),
    Setting(("--connections",), "fetch.connections", "N", "Requests of a worker at a time, all hosts together."),
    Setting(("--workers",), "workers", "N", "Processes; 0: one for each processor."),
    Setting(("--robots",), "fetch.robots", "obey|ignore", "Obey robots.txt, or ignore it on sites you own."),
    Setting(("--render",), "fetch.render", "auto|always|never", "Run pages in a browser; auto: empty ones."),
    Setting(
        ("--requisites",), "requisites.take", "page|all|none", "Keep what pages need to be shown; all: media as well."
    ),
    Setting(
        ("--contact", "--agent-contact"),
        "agent.contact",
        "ADDRESS",
        "Mail address or URL by which site owners reach you.",
    ),
    Setting(
        ("--connect-to",), "fetch.connect_to", "HOST[:PORT]=ADDR:PORT", "Connect there instead; * is any.", many=True
    ),
    Setting(("--allow-private",), "fetch.allow_private", "NETWORK", "Private networks that may be reached.", many=True),
    Setting(("--ca",), "fetch.ca", "FILE", "Certificate authorities to trust."),
    Setting(("--proxy",), "fetch.proxy", "URL", "Proxy for every host."),
    Setting(("--collection", "-c"), "keep.collection", "DIR", "Folder of the collection."),
    Setting(
        ("--database",), "keep.database", "URL", "Share the crawl with other machines: postgresql://HOST/DATABASE."
    ),
    Setting(
        ("--archive",), "keep.archive", "STORE", "Move archive files there: s3://BUCKET/PREFIX, gs://…, az://…, DIR."
    ),
    Setting(("--mirror",), "keep.mirror", "DIR", "At the end, write the pages as files below DIR."),
    Setting(("--index",), "keep.index", "FILE", "At the end, write the index of pages and links."),
    Setting(("--log-file",), "log.file", "FILE", "Log here instead; - is the screen."),
    Setting(("--log-level",), "log.level", "N", "0 only what is necessary, 1 every action, 2 debugging."),
)

#: The option of `lycosa crawl` for a setting, which is then named as the value's origin.
OPTIONS = {setting.key: setting.flags[0] for setting in SETTINGS}

_SHOWN_PROBLEMS = 10
_SHOWN_ITEMS = 20
_SHOWN_CHARS = 200


class LoadedMission(Struct, frozen=True):
    """A mission, and for each setting (dotted) where its value came from."""

    mission: Mission
    origin: dict[str, str]


def load(
    file: FilePath | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    sets: Sequence[str] = (),
    text: str = "",
    check_own: bool = True,
) -> LoadedMission:
    """The mission that file, environment and command line give; None in `overrides` is an option not given.

    `text` stands for a file, as `to_toml` wrote it. `check_own`: missions check what they bring themselves, which may
    take their rules; who only looks at a collection need not.
    """
    given, problems = _read_mission(file, text)
    later: list[GivenValue] = []
    for layer, wrong in (_from_environment(environ or {}), _from_sets(sets), _from_options(overrides or {})):
        later += layer
        problems += wrong
    if {("quarry",), ("missions",)} & {item.path for item in later} == {("quarry",)}:
        given = [item for item in given if item.path != ("missions",)]  # it takes their place
    tree, sources, wrong = _validate([*given, *later])
    _refuse([*problems, *wrong])
    origin = {dotted(path): "default" for path in all_fields()}
    origin |= {dotted(path): item.place for path, item in sources.items()}
    if name := mission_table.mission_of(tree.get("quarry", "")):  # as collections of earlier versions name a mission
        tree |= {"missions": list(dict.fromkeys([*tree.get("missions", ()), name])), "quarry": ""}
        origin["missions"] = origin["quarry"]
    tree["own"] = {name: tree.pop(name) for name in [*tree] if own_fields(name)}
    if check_own and not text:  # what a collection holds was checked before it was written
        _refuse(_settle_own(tree["own"], sources, file.parent if file is not None else FilePath()))
    try:
        return LoadedMission(convert(tree, Mission), origin)
    except ValidationError as error:  # the checks above are to be at least as strict
        raise UsageError(f"the mission does not hold together: {error}") from None


def _read_mission(file: FilePath | None, text: str) -> tuple[list[GivenValue], list[Problem]]:
    """The values of the text, or else of the file, if there is one."""
    if text:
        from lycosa.config import toml

        return toml.read(text, "the mission of the collection")
    if file:
        from lycosa.config.mission_files import read_file

        return read_file(file)
    return [], []


def _validate(given: Iterable[GivenValue]) -> tuple[dict[str, Any], dict[Path, GivenValue], list[Problem]]:
    """The values in nested tables, the last of each setting, and by its path what gave it; and what is wrong."""
    tree: dict[str, Any] = {}
    sources: dict[Path, GivenValue] = {}
    problems: list[Problem] = []
    for item in given:
        try:
            path = _resolve_path(item.path)
            value = {} if is_table(path) else item.read(path)
        except Wrong as wrong:
            problems += [_describe_problem(item, one) for one in (wrong, *wrong.others)]
            continue
        _insert(tree, path, value)
        sources[path] = item
    return tree, sources, problems


def _refuse(problems: list[Problem]) -> None:
    """Refuse a mission, if there is any problem, with the first of them."""
    if not problems:
        return
    problems.sort(key=lambda problem: problem.line or sys.maxsize)
    more = f"\n… and {len(problems) - _SHOWN_PROBLEMS} more" if len(problems) > _SHOWN_PROBLEMS else ""
    raise UsageError("\n".join(map(str, problems[:_SHOWN_PROBLEMS])) + more)


def _settle_own(own: dict[str, dict[str, Any]], sources: Mapping[Path, GivenValue], folder: FilePath) -> list[Problem]:
    """Let missions complete their own settings with what lies beside the file, and check them."""
    problems: list[Problem] = []
    for name in own:
        own[name] = dict(mission_table.complete_settings(name, own[name], folder))
        for place, text in mission_table.check_settings(name, own[name]):
            item = sources.get((name, str(place[0]))) if place else None
            key = dotted((name, *(part for part in place if isinstance(part, str))))
            source, line = (item.source, item.line_within(place[1:])) if item is not None else (name, 0)
            problems.append(Problem(source, line, f"{key}: {text}"))
    return problems


def _from_environment(environ: Mapping[str, str]) -> tuple[list[GivenValue], list[Problem]]:
    names = {env_name(path): path for path in all_fields()}
    given: list[GivenValue] = []
    problems: list[Problem] = []
    for name, text in sorted(environ.items()):
        if not name.startswith("LYCOSA_") or name in NOT_SETTINGS or not text:
            continue
        if name in names:
            given.append(GivenValue(names[name], text, name, is_text=True))
        elif path := _own_path(name):
            given.append(GivenValue(path, text, name, is_text=True))
        elif name == "LYCOSA_HOSTS":
            layer, wrong = _read_hosts(text, name)
            given += layer
            problems += wrong
        else:
            meant = nearest(name, names)
            hint = f" (did you mean {meant}?)" if meant else ""
            text = f"unknown variable{hint}; allowed: LYCOSA_SCOPE, LYCOSA_LIMITS_PAGES, …, as in [limits] pages"
            problems.append(Problem(name, 0, text))
    return given, problems


def _own_path(name: str) -> Path | None:
    """The setting of a mission that an environment variable names, as LYCOSA_MISSION_NAME."""
    for mission in mission_table.names():
        if name.startswith(prefix := env_name((mission, ""))):
            return next(((mission, key) for key in own_fields(mission) if key.upper() == name[len(prefix) :]), None)
    return None


def _from_sets(sets: Sequence[str]) -> tuple[list[GivenValue], list[Problem]]:
    given: dict[Path, GivenValue] = {}
    problems: list[Problem] = []
    for text in sets:
        key, equals, value = text.partition("=")
        path = split(key.strip())
        field = field_at(path)
        if not equals:
            problems.append(Problem("--set", 0, f"found {text[:80]!r}; allowed: KEY=VALUE, as limits.pages=100"))
        elif path == ("hosts",):
            layer, wrong = _read_hosts(value, "--set")
            given |= {item.path: item for item in layer}
            problems += wrong
        elif not field:
            problems.append(Problem("--set", 0, unknown_key(path) if path else "found no key before ="))
        elif isinstance(field.type, TextsType):
            earlier = given[path].value if path in given else []
            assert isinstance(earlier, list)
            given[path] = GivenValue(path, [*earlier, *field.type.split(value)], "--set")
        else:
            given[path] = GivenValue(path, value, "--set", is_text=True)
    return list(given.values()), problems


def _from_options(overrides: Mapping[str, object]) -> tuple[list[GivenValue], list[Problem]]:
    given: list[GivenValue] = []
    problems: list[Problem] = []
    for key, value in overrides.items():
        path, name = split(key), OPTIONS.get(key, key)
        field = field_at(path)
        if value is None:
            continue
        if key == "own" and isinstance(value, Mapping):
            for mission, table in value.items():
                layer, wrong = _read_table((mission,), table, f"own[{mission!r}]")
                given += layer
                problems += wrong
        elif not field and is_table(path) and isinstance(value, Mapping):
            layer, wrong = _read_table(path, value, name)
            given += layer
            problems += wrong
        elif not field:
            problems.append(Problem(name, 0, unknown_key(path) if path else "found no key"))
        elif isinstance(field.type, TextsType):
            texts = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
            items = [item for text in texts for item in field.type.split(str(text))]
            given.append(GivenValue(path, items, name))
        else:
            plain = str(value) if isinstance(value, FilePath) else value
            given.append(GivenValue(path, plain, name, is_text=isinstance(plain, str)))
    return given, problems


def _read_table(path: Path, value: Mapping[str, Any], name: str) -> tuple[list[GivenValue], list[Problem]]:
    """A whole section, or the rules of hosts, as a program gives them."""
    from lycosa.config.toml import flatten

    for part in reversed(path):
        value = {part: value}
    return flatten(value, name, {})


def _read_hosts(text: str, name: str) -> tuple[list[GivenValue], list[Problem]]:
    """The rules in an inline table: { "example.org" = { user = "me", password = "…" } }."""
    from lycosa.config import toml

    given, problems = toml.read(f"hosts = {text}", name)
    if problems:  # not shown in full: there may be a password in it
        text = 'found no table of hosts; allowed: { "example.org" = { robots = "ignore" } }'
        return [], [Problem(name, 0, text)]
    return [replace(item, line=0) for item in given], []


def _resolve_path(path: Path) -> Path:
    """The path with a host's name in the form that it has in URLs."""
    if path[0] != "hosts" or len(path) < 2:
        return path
    part = path[-1]
    try:
        if len(path) == 4:
            check_token(part)
        part = path[1]
        if part == "*" and (path[2:] == ("user",) or is_secret(path)):
            raise Wrong("credentials for named hosts only, as example.org or *.example.org")
        return ("hosts", check_host(part), *path[2:])
    except Wrong as wrong:
        raise Wrong(wrong.allowed, part=part) from None


def _describe_problem(item: GivenValue, wrong: Wrong) -> Problem:
    value = item.value
    if wrong.item is not None and isinstance(value, list | tuple):
        value = value[wrong.item]
    key, text = item.name or dotted(item.path), shown(item.path, value)
    found = f"{_shorten(quoted(wrong.part))} in {key} = {text} cannot be" if wrong.part else f"{key} is {text}"
    return Problem(item.source, item.line_of(wrong.item), f"{found}; allowed: {wrong.allowed}")


def _insert(tree: dict[str, Any], path: Path, value: object) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
    if value == {}:
        tree.setdefault(path[-1], value)
    else:
        tree[path[-1]] = value


def shown(path: Path, value: object) -> str:
    """A value on one line, as it may be shown."""
    if is_secret(path):
        return MASK
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _shorten(quoted(mask(path, value)))
    if isinstance(value, list | tuple):
        items = ", ".join(shown(path, item) for item in value[:_SHOWN_ITEMS])
        return f"[{items}{f', … {len(value)} in all' if len(value) > _SHOWN_ITEMS else ''}]"
    if isinstance(value, dict):
        from lycosa.config.toml import inline

        return _shorten(inline(value))
    return _shorten(str(value))


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
