"""Reader of `Crawler.conf`, the older form of missions: the values that a text gives, with their lines.

    <crawler-options>
    starting-points = { "http://www.example.org/", };   # a list may span lines
    scope = domain-scope;

Sections only group: a key means the same in each. Two keys mean more than one setting: `repository` is the mirror's
folder, with `index.txt` and the collection (`.lycosa`) in it; `threads` is the number of downloads at a time in all,
hence one worker.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from lycosa.config.fields import GivenValue, Path, Problem, nearest

SECTIONS = ("crawler-options", "logging", "log-options", "recrawling-options", "multithreading-options")

KEYS: dict[str, Path] = {
    "starting-points": ("seeds",),
    "accept-list": ("accept",),
    "reject-list": ("reject",),
    "max-page-number": ("limits", "pages"),
    "scope": ("scope",),
    "traversal-algorithm": ("order",),
    "repository": ("keep", "mirror"),
    "log-file": ("log", "file"),
    "log-level": ("log", "level"),
    "period": ("recrawl", "period_h"),
    "threads": ("fetch", "connections"),
}
_LISTS = ("starting-points", "accept-list", "reject-list")

#: Problems after which reading ends: nobody reads more, and a file of another kind would be full of them.
_MAX_PROBLEMS = 20

_SPACE = re.compile(r"(?>(?:[\s\ufeff]|#[^\n]*)*)")
_END = re.compile(r";")
_TAG = re.compile(r"<([^<>\n]*)>")
_KEY = re.compile(r"[^\s=;{}\"<>,#]+")
#: A string ends on its own line; a backslash in it stays, because patterns are full of them, but \" does not end it.
_STRING = re.compile(r"\"((?>(?:[^\"\\\n]++|\\[^\n])*))\"|'([^'\n]*)'")
_BARE = re.compile(r'[^;\n#"]*')
_BARE_ITEM = re.compile(r'[^,;}\n#"]+')
#: An assignment that ends in ; or opens a brace that it does not close on its line: TOML has neither.
_UNLIKE_TOML = re.compile(r"""[^="'#]*+=\s*+(?:(?:"[^"]*+"|'[^']*+'|\{[^}]*+\}|[^"'#;{]*+)\s*+;|\{[^}]*+$)""")


class _Malformed(Exception):
    """A syntax error, behind which the file cannot be read; the text says what stands there."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class _Assignment(Struct, gc=False):
    key: str
    line: int
    items: list[tuple[str, int]]  # each value with its line
    braces: bool


class _Cursor:
    """A position in the text, and its line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What the pattern matches here, if it does; the cursor moves behind it."""
        match = pattern.match(self.text, self.at)
        if match:
            self.line += self.text.count("\n", self.at, match.end())
            self.at = match.end()
        return match

    def next(self) -> str:
        """The next character that is neither space nor comment, or nothing at the end."""
        self.match(_SPACE)
        return self.text[self.at : self.at + 1]

    def shown(self) -> str:
        """What stands here, for an error."""
        rest = self.text[self.at : self.at + 200].partition("\n")[0].strip()
        return repr(rest[:60]) if self.at < len(self.text) else "the end of the file"


def looks_like_conf(text: str) -> bool:
    """Whether the first line that says anything is of this form rather than TOML."""
    cursor = _Cursor(text)
    cursor.next()
    line = text[cursor.at : cursor.at + 10_000].partition("\n")[0]
    key = line.partition("=")[0].strip().lower()
    return line.startswith("<") or (key in KEYS and "-" in key) or bool(_UNLIKE_TOML.match(line))


def read(text: str, source: str) -> tuple[list[GivenValue], list[Problem]]:
    """The values that a Crawler.conf gives, and what is wrong with its form or its keys."""
    given: list[GivenValue] = []
    problems: list[Problem] = []
    first: dict[str, int] = {}
    try:
        for found in _assignments(_Cursor(text)):
            name, line = found.key.lower(), found.line
            if name not in KEYS:
                problems.append(Problem(source, line, _unknown("key", found.key, KEYS)))
            elif name in first:
                text = f"{name} is given twice; allowed: once (see line {first[name]})"
                problems.append(Problem(source, line, text))
            elif found.braces and name not in _LISTS:
                text = f"{name} is a list in braces; allowed: one value, {name} = value;"
                problems.append(Problem(source, line, text))
            else:
                given += _given(name, line, found.items, source)
            first.setdefault(name, line)
            if len(problems) >= _MAX_PROBLEMS:
                break
    except _Malformed as malformed:
        problems.append(Problem(source, malformed.line, str(malformed)))
    return given, problems


def _given(name: str, line: int, items: list[tuple[str, int]], source: str) -> Iterator[GivenValue]:
    path = KEYS[name]
    if name in _LISTS:
        texts = [text for text, _ in items if text]
        lines = tuple(at for text, at in items if text)
        yield GivenValue(path, texts, source, line, item_lines=lines, name=name)
        return
    text = items[0][0]
    if name == "repository" and not text:
        return
    yield GivenValue(path, text, source, line, name=name, is_text=True)
    if name == "repository":
        yield GivenValue(("keep", "index"), os.path.join(text, "index.txt"), source, line, name=name)
        yield GivenValue(("keep", "collection"), os.path.join(text, ".lycosa"), source, line, name=name)
    if name == "threads":
        yield GivenValue(("workers",), 1, source, line, name=name)


def _assignments(cursor: _Cursor) -> Iterator[_Assignment]:
    while mark := cursor.next():
        line = cursor.line
        if mark == "<":
            _skip_tag(cursor)
        elif not cursor.match(_END):
            key = cursor.match(_KEY)
            if not key:
                raise _Malformed(line, f"found {cursor.shown()}; allowed: key = value; or <section> or # comment")
            name = key[0][:60]
            if cursor.next() != "=":
                raise _Malformed(line, f"found {name!r} without = behind it; allowed: {name} = value;")
            cursor.at += 1
            items, braces = _read_value(cursor)
            if cursor.next() != ";":
                raise _Malformed(line, f"{name} is not ended by ; (found {cursor.shown()}); allowed: key = value;")
            yield _Assignment(key[0], line, items, braces)


def _skip_tag(cursor: _Cursor) -> None:
    line, shown = cursor.line, cursor.shown()
    tag = cursor.match(_TAG)
    if not tag:
        raise _Malformed(line, f"found {shown}, a section that is not ended by >")
    name = tag[1].strip().removeprefix("/").strip()
    if name.lower() not in SECTIONS:
        raise _Malformed(line, _unknown("section", name, SECTIONS))


def _read_value(cursor: _Cursor) -> tuple[list[tuple[str, int]], bool]:
    mark = cursor.next()
    if mark == "{":
        return _read_list(cursor), True
    if mark in ('"', "'"):
        return [_read_string(cursor)], False
    line, bare = cursor.line, cursor.match(_BARE)
    return [(bare[0].strip() if bare else "", line)], False


def _read_list(cursor: _Cursor) -> list[tuple[str, int]]:
    items: list[tuple[str, int]] = []
    began = cursor.line
    cursor.at += 1
    separate = True
    while (mark := cursor.next()) != "}":
        if mark in ("", ";"):
            raise _Malformed(began, f"the list that begins here with {{ is not ended by }} before {cursor.shown()}")
        if mark == ",":
            cursor.at += 1
            separate = True
            continue
        if not separate:
            raise _Malformed(cursor.line, f'found {cursor.shown()} without a comma before it; allowed: {{ "a", "b" }}')
        separate = False
        if mark in ('"', "'"):
            items.append(_read_string(cursor))
        else:
            line, bare = cursor.line, cursor.match(_BARE_ITEM)
            items.append((bare[0].strip() if bare else "", line))
    cursor.at += 1
    return items


def _read_string(cursor: _Cursor) -> tuple[str, int]:
    line, shown = cursor.line, cursor.shown()
    string = cursor.match(_STRING)
    if not string:
        raise _Malformed(line, f"found {shown}, a text whose quote is not closed on its line")
    return string[2] if string[1] is None else string[1].replace('\\"', '"'), line


def _unknown(what: str, found: str, allowed: Iterable[str]) -> str:
    meant = nearest(found, allowed)
    hint = f" (did you mean {meant}?)" if meant else ""
    return f"unknown {what} {found[:60]!r}{hint}; allowed: {', '.join(allowed)}"
