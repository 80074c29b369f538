"""Missions in TOML: the values that a text gives, with their lines, and the text of the file that a collection holds.

`tomllib` decides what is valid; it keeps no positions, so `find_lines` looks where the keys stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, time
from typing import Any

from lycosa.config import mission_table
from lycosa.config.fields import (
    Field,
    GivenValue,
    Path,
    Problem,
    dotted,
    field_at,
    is_table,
    names_at,
    quoted,
    section_hint,
    sections,
    unknown_key,
    unknown_part,
)
from lycosa.config.fields import Place as Place
from lycosa.config.host_rules import hidden_names, without_secrets
from lycosa.config.settings import Mission
from lycosa.config.types import TableType

_TOKEN = re.compile(
    r"""\#[^\n]*
    |\"{3}[^"\\]*(?:(?:\\.|\"{1,2}(?!\"))[^"\\]*)*\"{3,5}|'{3}[^']*(?:'{1,2}(?!')[^']*)*'{3,5}
    |"(?:[^"\\\n]|\\.)*"|'[^'\n]*'
    |[\[\]{},=.\n]|[^\s\[\]{},=."'\#]+""",
    re.VERBOSE | re.DOTALL,
)
_CREDENTIAL = r"(?i)((?:passw|auth|cookie|token|secret|key)[^=]*=).*"
#: A key of more parts than any setting has; the time of the standard library's reader grows with their square.
_DEEP_KEY = re.compile(
    r"""(?:^[ \t]*+\[{0,2}|[{,])[ \t]*+(?:(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""",
    re.MULTILINE,
)
_TOO_DEEP = "nested too deeply; allowed are tables and lists of texts"
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read(text: str, source: str) -> tuple[list[GivenValue], list[Problem]]:
    """The values that a TOML mission gives, and what is wrong with its keys or its syntax."""
    import tomllib

    if deep := _DEEP_KEY.search(text):
        return [], [Problem(source, text.count("\n", 0, deep.end()) + 1, _TOO_DEEP)]
    try:
        data = tomllib.loads(text)
    except RecursionError:
        return [], [Problem(source, 0, _TOO_DEEP)]
    except ValueError as error:
        return [], [_syntax_problem(text, source, error)]
    return flatten(data, source, find_lines(text))


def parse_tables(text: str) -> dict[str, Any]:
    """The tables of a TOML text that anybody may have written; ValueError where they are none, or would take long."""
    import tomllib

    try:
        if not _DEEP_KEY.search(text):
            return tomllib.loads(text)
    except RecursionError:
        pass
    raise ValueError(_TOO_DEEP)


def flatten(data: Mapping[str, Any], source: str, lines: Mapping[Place, int]) -> tuple[list[GivenValue], list[Problem]]:
    """The values in nested tables, one by one, and what is wrong with their keys."""
    given: list[GivenValue] = []
    problems: list[Problem] = []
    strange = {name for name in _names(data.get("missions")) if not is_table((name,)) and not mission_table.has(name)}
    for path, value in _leaves({key: value for key, value in data.items() if key not in strange}, ()):
        line = _line_of(path, lines)
        if field := field_at(path):
            items = tuple(lines.get((*path, n), line) for n in range(len(value))) if isinstance(value, list) else ()
            inner = _lines_within(path, lines) if isinstance(field.type, TableType) else {}
            given.append(GivenValue(path, value, source, line, item_lines=items, inner_lines=inner))
        elif is_table(path):
            if value == {} and path[0] == "hosts":
                given.append(GivenValue(path, value, source, line))
            else:
                text = f"{dotted(path)} is a section{section_hint(path)}; allowed: a table [{dotted(path)}] of settings"
                problems.append(Problem(source, line, text))
        else:
            problems.append(Problem(source, _line_of(unknown_part(path), lines), unknown_key(path)))
    return given, problems


def _lines_within(path: Path, lines: Mapping[Place, int]) -> dict[Place, int]:
    """The lines of what stands in a table, by the places in it."""
    size = len(path)
    return {place[size:]: line for place, line in lines.items() if len(place) > size and place[:size] == path}


def _names(missions: object) -> list[str]:
    """The missions of a file; settings of those that are not installed here are left to who has them."""
    return [name for name in missions if isinstance(name, str)] if isinstance(missions, list) else []


def find_lines(text: str) -> dict[Place, int]:
    """The line of every key, and of every item of a list or of a list of tables, in valid TOML."""
    return _LineFinder(text).lines


class _LineFinder:
    """A walk over the words of a document, from key to key and from item to item."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Place, int] = {}
        self._arrays: dict[Place, int] = {}  # tables that are written [[so]], and the number of the last
        self._words = (token.group() for token in _TOKEN.finditer(text) if token.group()[0] != "#")
        self._word, self._line = "", 1
        self._advance()
        table: Place = ()
        while self._word:
            if self._word == "[":
                table = self._read_header()
            elif self._word in ("]", "\n"):
                self._advance()
            else:
                self._read_pair(table)

    def _advance(self) -> None:
        self._line += self._word.count("\n")
        self._word = next(self._words, "")

    def _note(self, place: Place, line: int) -> None:
        for n in range(1, len(place) + 1):
            self.lines.setdefault(place[:n], line)

    def _read_key(self) -> list[str]:
        key = []
        while self._word not in ("=", "]", ""):
            if self._word != ".":
                key.append(_unquoted(self._word))
            self._advance()
        return key

    def _read_header(self) -> Place:
        """The path of a table: within a list of tables it belongs to the last of them."""
        line, several = self._line, False
        self._advance()
        if self._word == "[":
            several = True
            self._advance()
        path: Place = ()
        key = self._read_key()
        for nth, name in enumerate(key, 1):
            path = (*path, name)
            if several and nth == len(key):
                self._arrays[path] = self._arrays.get(path, -1) + 1
            if path in self._arrays:
                path = (*path, self._arrays[path])
        self._note(path, line)
        return path

    def _read_pair(self, table: Place) -> None:
        line = self._line
        place = (*table, *self._read_key())
        self._note(place, line)
        self._advance()
        self._read_value(place)

    def _read_value(self, place: Place) -> None:
        self._note(place, self._line)
        opening, nth = self._word, 0
        if opening not in ("[", "{"):
            while self._word not in (",", "]", "}", "\n", ""):
                self._advance()
            return
        self._advance()
        while self._word not in ("]", "}", ""):
            if self._word in (",", "\n"):
                nth += self._word == ","
                self._advance()
            elif opening == "[":
                self._read_value((*place, nth))
            else:
                self._read_pair(place)
        self._advance()


def _leaves(data: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for key, value in data.items():
        here = (*path, key)
        if is_table(here) and isinstance(value, dict) and (value or here[0] != "hosts"):
            yield from _leaves(value, here)
        elif not is_table(here) and not field_at(here) and isinstance(value, dict) and value:
            yield (*here, next(iter(value))), value  # [limts] pages = …: the inner key tells more
        else:
            yield here, value


def _line_of(path: Place, lines: Mapping[Place, int]) -> int:
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 0)


def _syntax_problem(text: str, source: str, error: ValueError) -> Problem:
    message = str(error)
    where = _AT.search(message)
    reason = message[: where.start()] if where else message
    line = int(where[1]) if where and where[1] else text.rstrip().count("\n") + 1
    column = f", column {where[2]}" if where and where[2] else ""
    rows = text.split("\n")
    found = re.sub(_CREDENTIAL, r"\1•••", rows[line - 1].strip())[:100] if line <= len(rows) else ""
    hint = ""
    if "'\\\\'" in reason or "escape" in reason.lower():
        hint = r"; put a pattern with backslashes between single quotes: '\.html$'"
    return Problem(source, line, f"not valid TOML{column}: {reason}; found: {found!r}{hint}")


def _unquoted(word: str) -> str:
    if word[:1] == "'":
        return word[1:-1]
    if word[:1] != '"':
        return word
    if "\\" not in word:
        return word[1:-1]
    import tomllib

    return next(iter(tomllib.loads(f"{word} = 0")))


# Writing


def to_toml(mission: Mission, *, whole: bool = True) -> str:
    """The mission as a TOML file that loads as the same mission; secrets are left out, and a comment says so.

    The `whole` of it has every setting; else there are those that differ from their defaults.
    """
    public_mission = without_secrets(mission)

    def lines(settings: object, members: Mapping[str, Field]) -> list[str]:
        values = ((name, getattr(settings, name), field.default) for name, field in members.items())
        return [f"{name} = {_value(value)}" for name, value, default in values if whole or value != default]

    out = ["# Settled by lycosa. Secrets (passwords, cookies, credentials in headers and proxies) are left out.", ""]
    out += lines(public_mission, sections()[""])
    for section, members in sections().items():
        if section and (found := lines(getattr(public_mission, section), members)):
            out += ["", f"[{section}]", *found]
    for name, values in public_mission.own.items():
        out += _table((name,), values)
    for host, rule in public_mission.hosts.items():
        out += ["", f"[{dotted(('hosts', host))}]"]
        if hidden := hidden_names(host, mission):
            out.append(f"# left out: {', '.join(hidden)}")
        for name in names_at(("hosts", host)):
            value = getattr(rule, name)
            if isinstance(value, dict):
                out += [f"{name}.{dotted((key,))} = {quoted(text)}" for key, text in value.items()]
            elif value is not None and value != "" or name == "proxy" and value == "":
                out.append(f"{name} = {_value(value)}")
    return "\n".join(out) + "\n"


def write_tables(values: Mapping[str, Any]) -> str:
    """Tables of a file of another form as TOML; what stands in no table comes first."""
    return "\n".join(_table((), values)[2:]).strip("\n") + "\n"


def _table(path: tuple[str, ...], values: Mapping[str, Any], *, brackets: str = "[]") -> list[str]:
    """A table under its header, then those within it."""
    opening, closing = brackets[: len(brackets) // 2], brackets[len(brackets) // 2 :]
    out = ["", f"{opening}{dotted(path)}{closing}"]
    within: list[str] = []
    for key, value in values.items():
        here = (*path, key)
        if isinstance(value, Mapping):
            within += _table(here, value)
        elif isinstance(value, tuple | list) and value and all(isinstance(item, Mapping) for item in value):
            for item in value:
                within += _table(here, item, brackets="[[]]")
        else:
            out.append(f"{dotted((key,))} = {_value(value)}")
    return out + within


def _value(value: object) -> str:
    if isinstance(value, tuple | list) and len(value) > 1 and all(isinstance(item, str) for item in value):
        return "[\n" + "".join(f"  {quoted(item)},\n" for item in value) + "]"
    return inline(value)


def inline(value: object) -> str:
    """A value as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{dotted((key,))} = {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, date | time):
        return value.isoformat()
    return repr(value)
