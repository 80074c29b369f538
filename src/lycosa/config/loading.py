"""Loading of missions: defaults < file < environment < command line, layered, with the origin of each value.

One `UsageError` names all problems at once; nothing else is raised, whatever the file holds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from lycosa.config.fields import (
    GivenValue,
    Path,
    Problem,
    all_fields,
    dotted,
    env_name,
    field_at,
    is_table,
    names_at,
    nearest,
    own_fields,
    quoted,
    split,
    unknown_key,
)
from lycosa.config.mission_table import known
from lycosa.config.secrets import MASK, is_secret, mask
from lycosa.config.settings import Mission
from lycosa.config.validation import parse, split_list, validate
from lycosa.config.value_parsers import Wrong, check_host, check_token
from lycosa.errors import UsageError

#: Environment variables with our prefix that are no settings.
NOT_SETTINGS = frozenset({"LYCOSA_SHARED", "LYCOSA_PYTHON", "LYCOSA_VENV", "LYCOSA_SERVE_PASSWORD"})

#: The option of `lycosa crawl` for a setting, which is then named as the value's origin.
OPTIONS = {
    "scope": "--scope",
    "order": "--order",
    "policy.name": "--policy",
    "policy.learned_from": "--learned-from",
    "accept": "--include",
    "reject": "--exclude",
    "thesaurus": "--thesaurus",
    "themes": "--themes",
    "workers": "--workers",
    "limits.pages": "--limit",
    "limits.time_s": "--max-time",
    "limits.depth": "--depth",
    "limits.host_pages": "--max-host-pages",
    "recrawl.period_h": "--period",
    "agent.contact": "--contact",
    "fetch.delay_s": "--delay",
    "fetch.per_host": "--per-host",
    "fetch.connections": "--connections",
    "fetch.robots": "--robots",
    "fetch.render": "--render",
    "fetch.connect_to": "--connect-to",
    "fetch.allow_private": "--allow-private",
    "fetch.ca": "--ca",
    "fetch.proxy": "--proxy",
    "keep.collection": "--collection",
    "keep.database": "--database",
    "keep.archive": "--archive",
    "keep.mirror": "--mirror",
    "keep.index": "--index",
    "log.file": "--log-file",
    "log.level": "--log-level",
}

_SHOWN_PROBLEMS = 10
_SHOWN_ITEMS = 20
_SHOWN_CHARS = 200


class LoadedMission(Struct, frozen=True):
    """A mission, and for each setting (dotted) where its value came from."""

    mission: Mission
    origin: dict[str, str]


class SettingRow(Struct, frozen=True):
    """One setting as `lycosa check` shows it."""

    key: str
    value: str
    origin: str
    meaning: str


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
    given: list[GivenValue] = []
    problems: list[Problem] = []
    if text:
        from lycosa.config import toml_reader

        given, problems = toml_reader.read(text, "the mission of the collection")
    elif file:
        from lycosa.config.mission_files import read_file

        given, problems = read_file(file)
    later: list[GivenValue] = []
    for layer, wrong in (_from_environment(environ or {}), _from_sets(sets), _from_options(overrides or {})):
        later += layer
        problems += wrong
    if {("quarry",), ("missions",)} & {item.path for item in later} == {("quarry",)}:
        given = [item for item in given if item.path != ("missions",)]  # it takes their place
    given += later
    tree: dict[str, Any] = {}
    origin = {dotted(path): "default" for path in all_fields()}
    sources: dict[Path, GivenValue] = {}
    for item in given:
        try:
            path = _resolve_path(item.path)
            value = _read_value(path, item)
        except Wrong as wrong:
            problems += [_describe_problem(item, one) for one in (wrong, *wrong.others)]
            continue
        _insert(tree, path, value)
        origin[dotted(path)] = item.place
        sources[path] = item
    _refuse(problems)
    if name := known().mission_of(tree.get("quarry", "")):  # as collections of earlier versions name a mission
        tree |= {"missions": list(dict.fromkeys([*tree.get("missions", ()), name])), "quarry": ""}
        origin["missions"] = origin["quarry"]
    tree["own"] = {name: tree.pop(name) for name in [*tree] if own_fields(name)}
    if check_own and not text:  # what a collection holds was checked before it was written
        _refuse(_settle_own(tree["own"], sources, file.parent if file is not None else FilePath()))
    try:
        return LoadedMission(convert(tree, Mission), origin)
    except ValidationError as error:  # the checks above are to be at least as strict
        raise UsageError(f"the mission does not hold together: {error}") from None


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
        own[name] = dict(known().complete_settings(name, own[name], folder))
        for place, text in known().check_settings(name, own[name]):
            item = sources.get((name, str(place[0]))) if place else None
            key = dotted((name, *(part for part in place if isinstance(part, str))))
            source, line = (item.source, item.line_within(place[1:])) if item is not None else (name, 0)
            problems.append(Problem(source, line, f"{key}: {text}"))
    return problems


def describe(loaded: LoadedMission) -> list[SettingRow]:
    """Every setting with its value, its origin and its meaning; secrets are masked."""
    from lycosa.config.setting_docs import meanings, own_meanings

    known = meanings()
    rows = []
    for path in [*all_fields(), *_own_paths(loaded.mission), *_host_paths(loaded.mission)]:
        key = dotted(path)
        general = ("hosts", *path[2:3]) if path[0] == "hosts" else path
        origin = loaded.origin.get(key, "default")
        meaning = known.get(dotted(general)) or own_meanings(path[0])[path[1]]
        rows.append(SettingRow(key, _shown(path, _value_at(loaded.mission, path)), origin, meaning))
    return rows


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
    for mission in known().names():
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
        elif field.kind == "list":
            earlier = given[path].value if path in given else []
            assert isinstance(earlier, list)
            given[path] = GivenValue(path, [*earlier, *split_list(path, value)], "--set")
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
        elif field.kind == "list":
            texts = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
            items = [item for text in texts for item in split_list(path, str(text))]
            given.append(GivenValue(path, items, name))
        else:
            plain = str(value) if isinstance(value, FilePath) else value
            given.append(GivenValue(path, plain, name, is_text=isinstance(plain, str)))
    return given, problems


def _read_table(path: Path, value: Mapping[str, Any], name: str) -> tuple[list[GivenValue], list[Problem]]:
    """A whole section, or the rules of hosts, as a program gives them."""
    from lycosa.config.toml_reader import flatten

    for part in reversed(path):
        value = {part: value}
    return flatten(value, name, {})


def _read_hosts(text: str, name: str) -> tuple[list[GivenValue], list[Problem]]:
    """The rules in an inline table: { "example.org" = { user = "me", password = "…" } }."""
    from lycosa.config import toml_reader

    given, problems = toml_reader.read(f"hosts = {text}", name)
    if problems:  # not shown in full: there may be a password in it
        text = 'found no table of hosts; allowed: { "example.org" = { robots = "ignore" } }'
        return [], [Problem(name, 0, text)]
    return [replace(item, line=0) for item in given], []


def _read_value(path: Path, item: GivenValue) -> object:
    if is_table(path):
        return {}
    return parse(path, str(item.value)) if item.is_text else validate(path, item.value)


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
    key, shown = item.name or dotted(item.path), _shown(item.path, value)
    found = f"{_shorten(quoted(wrong.part))} in {key} = {shown} cannot be" if wrong.part else f"{key} is {shown}"
    text = f"{found}; allowed: {wrong.allowed}"
    return Problem(item.source, item.line_of(wrong.item), text)


def _insert(tree: dict[str, Any], path: Path, value: object) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
    if value == {}:
        tree.setdefault(path[-1], value)
    else:
        tree[path[-1]] = value


def _own_paths(mission: Mission) -> Iterable[Path]:
    """The settings that its missions bring themselves."""
    names = dict.fromkeys([*mission.missions, *mission.own])
    return ((name, key) for name in names for key in own_fields(name))


def _host_paths(mission: Mission) -> Iterable[Path]:
    for host, rule in mission.hosts.items():
        for name in names_at(("hosts", host)):
            value = getattr(rule, name)
            if isinstance(value, dict):
                yield from (("hosts", host, name, key) for key in value)
            elif value is not None and value != "":
                yield "hosts", host, name


def _value_at(mission: Mission, path: Path) -> object:
    value: Any = mission
    if field := own_fields(path[0]).get(path[-1]):
        return mission.own.get(path[0], {}).get(path[1], field.default)
    for part in path:
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    return value


def _shown(path: Path, value: object) -> str:
    """A value on one line, as it may be shown."""
    if is_secret(path):
        return MASK
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _shorten(quoted(mask(path, value)))
    if isinstance(value, list | tuple):
        shown = ", ".join(_shown(path, item) for item in value[:_SHOWN_ITEMS])
        return f"[{shown}{f', … {len(value)} in all' if len(value) > _SHOWN_ITEMS else ''}]"
    if isinstance(value, dict):
        from lycosa.config.toml_writer import inline

        return _shorten(inline(value))
    return _shorten(str(value))


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
