"""The table of settings: one `Field` per path that takes a value, made from the structs of `settings`.

A path is a tuple (`("limits", "pages")`); `dotted` and `split` convert it to what people write and back. `GivenValue`
is a value as one source gave it, before anything was checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import get_args, get_origin

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields as struct_fields

from lycosa.config import mission_table
from lycosa.config.settings import HostRule, Mission
from lycosa.config.types import SettingType, type_of
from lycosa.config.types import nearest as nearest

Path = tuple[str, ...]
Place = mission_table.Place

#: What people call a setting elsewhere, so that the error can name ours.
SYNONYMS = {
    "agent": "agent.name",
    "allow": "accept",
    "allowed_domains": "scope",
    "concurrency": "fetch.connections",
    "crawl_delay": "fetch.delay_s",
    "deny": "reject",
    "exclude": "reject",
    "include": "accept",
    "limit": "limits.pages",
    "max_pages": "limits.pages",
    "max_time": "limits.time_s",
    "output": "keep.collection",
    "repository": "keep.mirror",
    "start_urls": "seeds",
    "starting_points": "seeds",
    "threads": "fetch.connections",
    "timeout": "fetch.total_timeout_s",
    "traversal_algorithm": "order",
    "urls": "seeds",
    "user_agent": "agent.header",
}

# Patterns are compiled when they are first used: most runs need few of them.
_BARE = r"[A-Za-z0-9_-]+"
_SPLIT = r'"((?:[^"\\]|\\.)*)"|\'([^\']*)\'|([^.]+)'


class Field(Struct, frozen=True):
    """One setting: its type and its default."""

    name: str
    type: SettingType
    default: object


class GivenValue(Struct, frozen=True):
    """One value as a source gave it."""

    path: Path
    value: object
    source: str  # a file, an environment variable, an option
    line: int = 0
    item_lines: tuple[int, ...] = ()  # for a list in a file: the line of each item
    name: str = ""  # what the source calls it, where that is not the dotted path
    is_text: bool = False  # a text whose type the setting decides, where TOML brings types of its own
    inner_lines: Mapping[Place, int] = {}  # for a table in a file: the line of what stands in it

    def line_within(self, place: Place) -> int:
        """The line of something in a table, or of the nearest around it."""
        around = (place[:n] for n in range(len(place), 0, -1))
        return next((self.inner_lines[at] for at in around if at in self.inner_lines), self.line)

    def line_of(self, item: int | None) -> int:
        """The line of one item of a list, or of the whole."""
        return self.item_lines[item] if item is not None and item < len(self.item_lines) else self.line

    def read(self, path: Path) -> object:
        """The value as the setting at this path holds it; raises `Wrong`."""
        field = field_at(path)
        assert field is not None, path
        return field.type.parse(str(self.value)) if self.is_text else field.type.validate(self.value)

    @property
    def place(self) -> str:
        """The source, with the line if it has lines: `mission.toml:12`, `LYCOSA_SCOPE`, `--limit`."""
        return f"{self.source}:{self.line}" if self.line else self.source


class Problem(Struct, frozen=True):
    """A mistake in a source, and where it stands."""

    source: str
    line: int  # 0 where there are no lines
    text: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.text}" if self.line else f"{self.source}: {self.text}"


def dotted(path: Iterable[str]) -> str:
    """The path as TOML writes it: `hosts."example.org".robots`."""
    return ".".join(part if re.fullmatch(_BARE, part) else quoted(part) for part in path)


def quoted(text: str) -> str:
    """The text as a TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\u{ord(m.group()):04x}", escaped) + '"'


def split(text: str) -> Path:
    """A dotted key as written on the command line; a host's name needs no quotes there."""
    path = tuple(a or b or c for a, b, c in re.findall(_SPLIT, text))
    if path[:1] != ("hosts",) or len(path) < 4 or '"' in text or "'" in text:
        return path
    table = next((i for i in range(len(path) - 2, 1, -1) if path[i] in ("headers", "cookies")), len(path) - 1)
    tail = (path[table], ".".join(path[table + 1 :])) if table < len(path) - 1 else (path[-1],)
    return ("hosts", ".".join(path[1:table]), *tail)


@cache
def sections() -> dict[str, dict[str, Field]]:
    """The fields of each section, in order; the top of the mission is the section without a name."""
    top: dict[str, Field] = {}
    found: dict[str, dict[str, Field]] = {"": top}
    for info in struct_fields(Mission):
        if isinstance(info.type, type) and issubclass(info.type, Struct):
            found[info.name] = _fields_of(info.type)
        elif info.name not in ("hosts", "own"):
            top[info.name] = Field(info.name, type_of(info.name, info.type), info.default)
    return found


@cache
def host_fields() -> dict[str, Field]:
    """The fields of one host's rule, without its tables of headers and cookies."""
    return {name: field for name, field in _fields_of(HostRule).items() if name not in _host_tables()}


@cache
def _host_tables() -> dict[str, object]:
    """The tables in a host's rule, whose keys are free, with their types."""
    return {info.name: info.type for info in struct_fields(HostRule) if get_origin(info.type) is dict}


def own_fields(mission: str) -> dict[str, Field]:
    """The settings that a mission brings itself; none where it is not installed."""
    if mission in sections() or mission in sections()[""] or mission == "hosts":
        return {}
    found = mission_table.own_settings(mission)
    return {} if found is None else _fields_of(found)


@cache
def all_fields() -> dict[Path, Field]:
    """Every setting that does not belong to a single host, by its path."""
    return {
        (section, name) if section else (name,): field
        for section, members in sections().items()
        for name, field in members.items()
    }


def field_at(path: Path) -> Field | None:
    """The field at this path, or None: a table, or nothing of ours."""
    if path[:1] != ("hosts",):
        known = all_fields().get(path)
        return own_fields(path[0]).get(path[1]) if known is None and len(path) == 2 else known
    if len(path) == 4 and path[2] in ("headers", "cookies"):
        return Field(path[3], type_of(path[3], get_args(_host_tables()[path[2]])[1]), "")
    return host_fields().get(path[2]) if len(path) == 3 else None


def is_table(path: Path) -> bool:
    """Whether this path holds further keys."""
    if path[:1] == ("hosts",):
        return len(path) < 3 or (len(path) == 3 and path[2] in ("headers", "cookies"))
    return not path or (len(path) == 1 and (path[0] in sections() or bool(own_fields(path[0]))))


def names_at(path: Path) -> list[str]:
    """The keys that may stand in this table; none when any may."""
    if path == ():
        return [*sections()[""], *(name for name in sections() if name), "hosts"]
    if path[0] == "hosts":
        return [*host_fields(), "headers", "cookies"] if len(path) == 2 else []
    return list(sections().get(path[0]) or own_fields(path[0]))


def env_name(path: Path) -> str:
    """The environment variable of a setting."""
    return "LYCOSA_" + "_".join(path).upper()


def nearest_key(path: Path) -> str:
    """The dotted key that was most likely meant by an unknown one, or nothing."""
    word = path[-1].lower().replace("-", "_")
    elsewhere = [known for known in all_fields() if known[-1] == word]
    if elsewhere:
        return dotted(elsewhere[0])
    if word in SYNONYMS:
        return SYNONYMS[word]
    if found := nearest(word, names_at(path[:-1])):
        return dotted((*path[:-1], found))
    return nearest(".".join(path), [dotted(known) for known in all_fields()])


def section_hint(path: Path) -> str:
    """The setting that was meant where a section was given a value: one of that name elsewhere, if there is one."""
    meant = [dotted(known) for known in all_fields() if known[-1:] == path and known != path]
    return f" (did you mean {meant[0]}?)" if meant else ""


def unknown_part(path: Path) -> Path:
    """The beginning of an unknown key up to its first part that is none of ours."""
    while len(path) > 1 and not is_table(path[:-1]):
        path = path[:-1]
    return path


def unknown_key(path: Path) -> str:
    """The error text for a key that is none of ours."""
    if is_table(path):
        allowed = ", ".join(dotted((*path, name)) for name in names_at(path) or ["NAME"])
        return f"{dotted(path)} is a section{section_hint(path)}; allowed: {allowed}"
    path = unknown_part(path)
    meant = nearest_key(path)
    where = f"in [{dotted(path[:-1])}]" if len(path) > 1 else "at the top of a mission"
    return (
        f"unknown setting {dotted(path)}"
        + (f" (did you mean {meant}?)" if meant else "")
        + f"; allowed {where}: {', '.join(names_at(path[:-1]))}"
    )


@cache
def _fields_of(struct: type[Struct]) -> dict[str, Field]:
    return {
        info.name: Field(info.name, type_of(info.name, info.type), {} if info.default is NODEFAULT else info.default)
        for info in struct_fields(struct)
    }
