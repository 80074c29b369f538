"""Description of the settings: the docstrings of `settings` by dotted key, the table in `docs/settings.md`, and for
`lycosa check` what each setting of a mission is, with its origin.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path as FilePath
from typing import Any

from msgspec import Struct

from lycosa.config import mission_table, settings
from lycosa.config.fields import Field, Path, all_fields, dotted, host_fields, names_at, own_fields, sections
from lycosa.config.loading import LoadedMission, shown
from lycosa.config.settings import Mission

_TITLES = {"": "At the top", "hosts": '`[hosts."example.org"]`'}


class SettingRow(Struct, frozen=True):
    """One setting as `lycosa check` shows it."""

    key: str
    value: str
    origin: str
    meaning: str


@cache
def meanings() -> dict[str, str]:
    """The meaning of each setting; a section's own stands under its name, a host's under `hosts.`"""
    structs = _docstrings()
    found = {name: text for name, text in structs["Mission"].items() if name}
    for section in [*filter(None, sections()), "hosts"]:
        struct = "HostRule" if section == "hosts" else f"{section.removesuffix('s').capitalize()}Settings"
        for name, text in structs[struct].items():
            found[f"{section}.{name}" if name else section] = text
    return found


@cache
def own_meanings(mission: str) -> dict[str, str]:
    """The meaning of each setting that a mission brings itself."""
    found = mission_table.own_settings(mission)
    return {} if found is None else _docstrings(FilePath(sys.modules[found.__module__].__file__ or ""))[found.__name__]


def own_table(mission: str) -> str:
    """The settings that a mission brings itself, as a Markdown table."""
    meaning = own_meanings(mission)
    out = ["| setting | value | default | meaning |", "| --- | --- | --- | --- |"]
    for name, field in own_fields(mission).items():
        out.append(f"| `{name}` | {field.type.words} | {_default(field)} | {meaning[name]} |")
    return "\n".join(out)


def table() -> str:
    """The settings as Markdown, one table per section."""
    meaning = meanings()
    out = []
    for section, members in [*sections().items(), ("hosts", host_fields())]:
        title = _TITLES.get(section, f"`[{section}]`")
        out += [f"### {title}", ""]
        out += [meaning[section], ""] if section else []
        out += ["| setting | value | default | meaning |", "| --- | --- | --- | --- |"]
        names = [*members, "headers", "cookies"] if section == "hosts" else members
        for name in names:
            field = members.get(name)
            default = _default(field) if field else "`{}`"
            key = dotted((section, name)) if section else name
            out.append(f"| `{name}` | {field.type.words if field else 'table of texts'} | {default} | {meaning[key]} |")
        out.append("")
    return "\n".join(out)


def describe(loaded: LoadedMission) -> list[SettingRow]:
    """Every setting with its value, its origin and its meaning; secrets are masked."""
    general_meanings = meanings()
    rows = []
    for path in [*all_fields(), *_own_paths(loaded.mission), *_host_paths(loaded.mission)]:
        key = dotted(path)
        general = ("hosts", *path[2:3]) if path[0] == "hosts" else path
        origin = loaded.origin.get(key, "default")
        meaning = general_meanings.get(dotted(general)) or own_meanings(path[0])[path[1]]
        rows.append(SettingRow(key, shown(path, _value_at(loaded.mission, path)), origin, meaning))
    return rows


def find_changes(before: Mission, now: Mission) -> dict[str, tuple[str, str]]:
    """The settings that differ, as they are shown, but for seeds and what only this collection is called."""
    old, new = ({row.key: row.value for row in describe(LoadedMission(mission, {}))} for mission in (before, now))
    keys = (key for key in old | new if key not in ("seeds", "seeds_file", "keep.collection", "name", "named"))
    return {key: (old.get(key, "none"), new.get(key, "none")) for key in keys if old.get(key) != new.get(key)}


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


def _docstrings(file: FilePath = FilePath(settings.__file__)) -> dict[str, dict[str, str]]:
    """Class → field → the text under it, from the source because Python does not keep it; "" is the class's own."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found: dict[str, dict[str, str]] = {}
    for struct in tree.body:
        if isinstance(struct, ast.ClassDef):
            texts = found[struct.name] = {"": ast.get_docstring(struct) or ""}
            for before, node in zip(struct.body, struct.body[1:], strict=False):
                if isinstance(before, ast.AnnAssign) and isinstance(node, ast.Expr):
                    assert isinstance(before.target, ast.Name) and isinstance(node.value, ast.Constant)
                    texts[before.target.id] = " ".join(str(node.value.value).split())
    return found


def _default(field: Field) -> str:
    value = field.default
    if value is None or value in ("", (), {}):
        return "–"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    print(table())
