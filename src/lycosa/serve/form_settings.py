"""Settings that the form of a crawl offers, made from the structs of the settings: nothing is written twice.

What names a file or a folder of this machine, code, a database or a private network is not offered: the page may be
used by people who have no account on the machine. `text_of` and the types of settings convert between values and what
stands in a field.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from lycosa.config import value_parsers
from lycosa.config.fields import Field, Path, all_fields, dotted, own_fields, sections, split
from lycosa.config.setting_docs import meanings, own_meanings
from lycosa.config.settings import Mission
from lycosa.config.toml import inline
from lycosa.config.types import ChoiceType, NumberType, SwitchType, TableType, TextsType, TextType
from lycosa.missions import registry
from lycosa.serve.translations import mark

#: Checks of texts that name something of this machine.
_OF_THE_MACHINE = {
    value_parsers.check_file,
    value_parsers.check_folder,
    value_parsers.check_identity,
    value_parsers.check_network,
    value_parsers.check_connect_to,
    value_parsers.check_quarry,
    value_parsers.check_proxy,
}
_NOT_OFFERED = {
    "name", "seeds", "seeds_file", "named", "missions", "thesaurus", "workers", "policy.learned_from",
    "render.browser", "render.sandbox", "fetch.verify", "keep.database", "keep.archive", "keep.mirror", "keep.index",
    "log.file",
}  # fmt: skip
#: What is asked first, with the name that people read; the rest is folded, and called as in a mission file.
FIRST = {
    "scope": mark("Scope"),
    "limits.pages": mark("Pages at most"),
    "limits.depth": mark("Depth"),
    "limits.time_s": mark("Time at most"),
    "limits.host_pages": mark("Pages of each host at most"),
    "fetch.delay_s": mark("Delay"),
    "agent.contact": mark("Contact"),
}
#: The sections in the order in which people meet them, and what they are called.
SECTIONS = {
    "what": (mark("What to visit and what to leave out"), ("accept", "reject", "ports", "order")),
    "limits": (mark("Limits"), ()),
    "fetch": (mark("Robots, politeness and patience"), ()),
    "agent": (mark("How the crawler names itself"), ()),
    "policy": (mark("Topic: what makes a link promising"), ("themes",)),
    "render": (mark("Pages that need a browser"), ()),
    "requisites": (mark("What pages need to be shown"), ()),
    "urls": (mark("Which addresses are one"), ()),
    "traps": (mark("Bounds against endless sites"), ()),
    "recrawl": (mark("When a page is visited again"), ()),
    "keep": (mark("What is kept"), ()),
    "extract": (mark("Extraction"), ()),
    "log": (mark("Log"), ()),
}


class FormSetting(Struct, frozen=True):
    """A field of the form that stands for a setting."""

    key: str  # dotted, as in a mission: the name of the field as well
    label: str  # for people; empty: the key stands for it
    meaning: str
    kind: str  # "choice", "list", "number" or "text"
    choices: tuple[str, ...] = ()


class FormSection(Struct, frozen=True):
    """Settings that are folded together."""

    name: str  # of the section, or of the mission that brings them
    title: str
    settings: tuple[FormSetting, ...]
    is_own: bool = False  # whether a mission brings them


@cache
def first_settings() -> tuple[FormSetting, ...]:
    """What is asked first."""
    return tuple(_make(split(key), all_fields()[split(key)]) for key in FIRST)


@cache
def folded_sections() -> tuple[FormSection, ...]:
    """All other settings that are offered, by section."""
    found = []
    others: dict[str, tuple[str, tuple[str, ...]]] = {name: (meanings()[name], ()) for name in sections() if name}
    for name, (title, top) in {**SECTIONS, **{name: others[name] for name in others if name not in SECTIONS}}.items():
        paths = [(key,) for key in top] + [path for path in all_fields() if len(path) == 2 and path[0] == name]
        fields = [_make(path, all_fields()[path]) for path in paths if is_offered(path) and dotted(path) not in FIRST]
        if fields:
            found.append(FormSection(name, title, tuple(fields)))
    return tuple(found)


@cache
def own_section(mission: str) -> FormSection | None:
    """The settings that a mission brings itself; None where it has none that are offered."""
    found = [
        _make((mission, name), field) for name, field in own_fields(mission).items() if is_offered((mission, name))
    ]
    return FormSection(mission, mission, tuple(found), is_own=True) if found else None


def is_offered(path: Path) -> bool:
    """Whether the form has a field for a setting."""
    field = all_fields().get(path) or (own_fields(path[0]).get(path[1]) if len(path) == 2 else None)
    if field is None or dotted(path) in _NOT_OFFERED:
        return False
    if path not in all_fields() and path[1] in registry.find(path[0]).on_this_machine:
        return False
    kind = field.type.item if isinstance(field.type, TextsType) else field.type
    return not isinstance(kind, TextType) or kind.check not in _OF_THE_MACHINE


def _make(path: Path, field: Field) -> FormSetting:
    key = dotted(path)
    meaning = meanings().get(key) or own_meanings(path[0])[path[1]]
    choices: tuple[str, ...] = ()
    kind = "number" if isinstance(field.type, NumberType) else "text"
    if isinstance(field.type, ChoiceType | SwitchType):
        kind, choices = "choice", field.type.choices if isinstance(field.type, ChoiceType) else ("true", "false")
    elif isinstance(field.type, TextsType | TableType):
        kind = "list"
    return FormSetting(key, FIRST.get(key, ""), meaning, kind, choices)


def offered_values(mission: Mission) -> dict[str, str]:
    """What stands in the field of each setting of a mission that is offered."""
    own = [(name, key) for name in mission.missions for key in own_fields(name)]
    return {dotted(path): text_of(path, mission) for path in [*all_fields(), *own] if is_offered(path)}


def text_of(path: Path, mission: Mission) -> str:
    """A setting of a mission as it is typed: the type of the setting reads it as the same value."""
    field = own_fields(path[0]).get(path[1]) if len(path) == 2 else None
    value: Any = mission
    if field is not None:
        value = mission.own.get(path[0], {}).get(path[1], field.default)
    else:
        field = all_fields()[path]
        for part in path:
            value = getattr(value, part)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(field.type, TextsType):
        lines = "\n".join(value)
        return lines if field.type.split(lines) == list(value) else inline(list(value))
    if isinstance(value, Mapping | tuple | list):
        return inline(value)
    return f"{value:g}" if isinstance(value, float) and value == int(value) else str(value)
