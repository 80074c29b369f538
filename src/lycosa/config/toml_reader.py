"""Reader of missions in TOML: the values that a text gives, with their lines.

`tomllib` decides what is valid; it keeps no positions, so `find_lines` scans the text a second time for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lycosa.config.fields import (
    GivenValue,
    Path,
    Problem,
    dotted,
    field_at,
    is_table,
    section_hint,
    unknown_key,
    unknown_part,
)
from lycosa.config.fields import Place as Place
from lycosa.config.mission_table import known

_TOKEN = re.compile(
    r"""(?P<newline>\n)|(?P<comment>\#[^\n]*)
    |(?P<string>\"{3}[^"\\]*(?:(?:\\.|\"{1,2}(?!\"))[^"\\]*)*\"{3,5}|'{3}[^']*(?:'{1,2}(?!')[^']*)*'{3,5}
      |"(?:[^"\\\n]|\\.)*"|'[^'\n]*')
    |(?P<mark>[\[\]{},=.])|(?P<word>[^\s\[\]{},=."'\#]+)""",
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
    strange = {name for name in _names(data.get("missions")) if not is_table((name,)) and not known().has(name)}
    for path, value in _leaves({key: value for key, value in data.items() if key not in strange}, ()):
        line = _line_of(path, lines)
        if field := field_at(path):
            items = tuple(lines.get((*path, n), line) for n in range(len(value))) if isinstance(value, list) else ()
            inner = _lines_within(path, lines) if field.kind in ("table", "tables") else {}
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
    lines: dict[Place, int] = {}
    walk = _Walk(lines)
    line = 1
    for token in _TOKEN.finditer(text):
        kind, word = token.lastgroup, token.group()
        if kind == "newline":
            line += 1
            walk.end_line()
        elif kind == "mark":
            walk.mark(word, line)
        elif kind != "comment":
            walk.word(word, line)
            line += word.count("\n")
    return lines


class _Walk:
    """The position of a token in the document: the table, the key, and the lists and inline tables that are open."""

    def __init__(self, lines: dict[Place, int]) -> None:
        self.lines = lines
        self.table: Place = ()
        self.key: list[str] = []
        self.header = 0  # brackets before the name of a table
        self.arrays: dict[Place, int] = {}  # tables that are written [[so]], and the number of the last
        self.in_key = True
        self.open: list[tuple[str, Place]] = []  # ("[" or "{", the path of what was opened)
        self.at: Place = ()  # path of the value that is being read
        self.count = [0]  # items so far, for each open list

    def end_line(self) -> None:
        if not self.open:
            self.key, self.in_key, self.header = [], True, 0

    def word(self, word: str, line: int) -> None:
        if self.in_key:
            self.key.append(_unquoted(word))
        else:
            self.lines.setdefault(self.at, line)

    def mark(self, mark: str, line: int) -> None:
        if self.in_key and not self.open and mark in "[]":
            self._mark_header(mark, line)
        elif mark == "=" and self.in_key:
            self.at = (*(self.open[-1][1] if self.open else self.table), *self.key)
            self.lines.setdefault(self.at, line)
            for n in range(1, len(self.at)):
                self.lines.setdefault(self.at[:n], line)
            self.in_key = False
        elif mark in "[{" and not self.in_key:
            self.open.append((mark, self.at))
            self.lines.setdefault(self.at, line)
            if mark == "[":
                self.count.append(0)
                self.at = (*self.at, 0)
            else:
                self.key, self.in_key = [], True
        elif mark in "]}" and self.open:
            kind, self.at = self.open.pop()
            if kind == "[":
                self.count.pop()
            self.in_key = False
        elif mark == "," and self.open:
            kind, path = self.open[-1]
            if kind == "[":
                self.count[-1] += 1
                self.at = (*path, self.count[-1])
            else:
                self.key, self.in_key = [], True

    def _mark_header(self, mark: str, line: int) -> None:
        if mark == "[":
            self.header += 1
        elif self.header and self.key:
            self.table = self._find_table(several=self.header > 1)
            for n in range(1, len(self.table) + 1):
                self.lines.setdefault(self.table[:n], line)
            self.key, self.in_key, self.header = [], False, 0

    def _find_table(self, *, several: bool) -> Place:
        """The path of a table: within a list of tables it belongs to the last of them."""
        path: Place = ()
        for nth, name in enumerate(self.key, 1):
            path = (*path, name)
            if several and nth == len(self.key):
                self.arrays[path] = self.arrays.get(path, -1) + 1
            if path in self.arrays:
                path = (*path, self.arrays[path])
        return path


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
