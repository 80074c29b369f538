"""Mission files: the values that a file gives, found by its path or by the name of a built-in mission.

The content of a file tells which of two forms it has: TOML, or `Crawler.conf`, the older one. Missions that are
installed are called by their names, also several at once, with commas between them: `unite` makes one of their
settings.

    <crawler-options>
    starting-points = { "http://www.example.org/", };   # a list may span lines
    scope = domain-scope;

In `Crawler.conf` sections only group: a key means the same in each. Some keys mean more than one setting: `repository`
is the mirror's folder, with `index.txt` and the collection (`.lycosa`) in it; `threads` is the number of downloads at a
time in all, hence one worker; after a `period` every page is asked again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path as FilePath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lycosa.config import mission_table, toml
from lycosa.config.fields import GivenValue, Path, Problem, field_at, nearest
from lycosa.config.mission_table import split_names
from lycosa.config.seeds import is_kept
from lycosa.config.value_parsers import SCHEME, Wrong, anchor_quarry
from lycosa.errors import UsageError

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
    "max-time": ("limits", "time_s"),
    "max-depth": ("limits", "depth"),
    "delay": ("fetch", "delay_s"),
    "contact": ("agent", "contact"),
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
_ASSIGNMENT = re.compile(rf"(?i)(?:{'|'.join(KEYS)})\s*=")
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
    if name == "log-file" and text.lower() == "screen":
        text = "-"
    if name == "period":
        yield GivenValue(("recrawl", "adapt"), False, source, line, name=name)
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
        if mark == "<" or _ASSIGNMENT.match(cursor.text, cursor.at):
            raise _Malformed(began, f"the list that begins here with {{ is not ended by }} before {cursor.shown()}")
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


#: A mission is written by people. Lists of a million addresses belong into a file of their own (--seeds).
MAX_BYTES = 32 << 20
OWN = "lycosa.toml"  # that of a collection
MAX_OWN_BYTES = 256 << 20
_Rule = Callable[[Sequence[Any]], Any]


def find_mission(word: str) -> FilePath | None:
    """The mission that a word on the command line names: its name, or its file; None when it is rather an address."""
    path = FilePath(word)
    if split_names(word):
        return path
    try:
        is_file = path.is_file()
    except (OSError, ValueError):
        return None
    if not is_file and (path.suffix not in (".toml", ".conf") or "://" in word):
        return None
    return path.absolute() if split_names(str(path)) else path  # ./NAME is a file, also where NAME is a mission


def find_own(folder: FilePath) -> FilePath | None:
    """The mission that a collection is continued with where no other is named: that of its last crawl."""
    file = folder / OWN
    return file if os.path.isfile(file) else None


def read_named(file: FilePath) -> Sequence[str]:
    """What command lines named for a collection, of its own mission; nothing where that cannot be read any more."""
    try:
        found = toml.parse_tables(_decode(_load(file), file)).get("named", ())
    except (UsageError, ValueError):
        return ()
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else ()


def read_file(file: FilePath) -> tuple[list[GivenValue], list[Problem]]:
    """The values that a mission file gives, and what is wrong with it; UsageError when it cannot be read at all."""
    if names := split_names(str(file)):
        found = [_read_named(name) for name in names]
        given = found[0][0] if len(found) == 1 else unite([given for given, _ in found])
        return given, [problem for _, problems in found for problem in problems]
    text = _decode(_load(file), file)
    source = str(file)
    if text.lstrip()[:1] == "<" and (own := mission_table.read_settings(text)) is not None:
        return toml.flatten(own, source, {})
    _refuse_other(text, file)
    if looks_like_conf(text):
        return read(text, source)
    given, problems = toml.read(text, source)
    given = [_anchored(item, file.parent) for item in given]
    return read(text, source) if problems and file.suffix.lower() == ".conf" else (given, problems)


def _read_named(name: str) -> tuple[list[GivenValue], list[Problem]]:
    """The settings that a mission brings; one without any has its name, and hunts what it hunts."""
    file = mission_table.defaults(name)
    if file is None:
        hunted = [name] if mission_table.quarry(name) else []
        return [GivenValue(("name",), name, name), GivenValue(("missions",), hunted, name)], []
    return toml.read(_decode(file.read_bytes(), FilePath(file.name)), file.name)


def _refuse_other(text: str, file: FilePath) -> None:
    """Refuse a file that is no mission and say what it is: a list of seeds, or a page."""
    lines = (line.strip() for line in text.split("\n", 1000)[:1000])
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if re.match(r"(?i)https?://\S+$|https?://\S+\s+#", first):
        raise UsageError(f"{file}: this is a list of addresses, and no mission; for a list: --seeds {file}")
    if re.match(r"(?i)<!doctype html|<html|<\?xml", first):
        raise UsageError(
            f"{file}: this is a document, and no mission. Documents are fetched from a server:"
            f" python3 -m http.server --directory {file.parent}, then lycosa crawl http://localhost:8000/{file.name};"
            " a sitemap with seeds is named with --seeds"
        )


def _anchored(item: GivenValue, folder: FilePath) -> GivenValue:
    """The value with a quarry's file, or a list of seeds, looked up from the mission's folder."""
    if not isinstance(item.value, str) or item.path not in (("quarry",), ("seeds_file",)):
        return item
    if item.path == ("seeds_file",):
        is_own = not item.value or is_kept(item.value) or re.match(SCHEME, item.value)
        return item if is_own else replace(item, value=str(folder / item.value))
    return replace(item, value=anchor_quarry(item.value, folder))


def _load(file: FilePath) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES and file.name == OWN:
                data = leave_seeds(data + stream.read(MAX_OWN_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        names = mission_table.names()
        meant = nearest(str(file), names)
        raise UsageError(
            f"{file}: there is no such file, nor a mission of that name"
            + (f" (did you mean {meant}?)" if meant else "")
            + f"; allowed: a mission file, or one of {', '.join(names)}"
        ) from None
    except IsADirectoryError:
        hint = f"; its mission is {file / 'lycosa.toml'}" if (file / "lycosa.toml").is_file() else ""
        raise UsageError(
            f"{file}: this is a folder; allowed: a mission file, in TOML or as Crawler.conf{hint}"
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{file}: the file cannot be read ({reason})") from None
    if len(data) > MAX_BYTES:
        limit = f"{MAX_BYTES >> 20} MiB"
        raise UsageError(f"{file}: larger than {limit}; allowed: a mission of up to {limit} (long lists: --seeds FILE)")
    return data


def leave_seeds(data: bytes) -> bytes:
    """A collection's mission without its seeds; earlier versions had lists of any length in it, and in the database."""
    begin = data.find(b"\nseeds = [\n")
    end = data.find(b"\n]\n", begin)
    return data if min(begin, end) < 0 else data[:begin] + data[end + 2 :]


def _decode(data: bytes, file: FilePath) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(f"{file}:1: the text is in UTF-16; allowed: UTF-8")
    if (zero := data.find(b"\0")) >= 0:
        raise UsageError(f"{file}:{_line(data, zero)}: found a NUL byte; allowed: text, in TOML or as Crawler.conf")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data.decode("latin-1")
        if not looks_like_conf(text):  # the older form is older than UTF-8's victory
            found = data[error.start : error.start + 1].hex()
            raise UsageError(f"{file}:{_line(data, error.start)}: found the byte {found}; allowed: UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


# Union


def _join(values: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(value for each in values for value in each))


def _admit(values: Sequence[Any]) -> list[Any]:
    """All that lists admit, of which an empty one admits everything."""
    return _join(values) if all(values) else []


def _refuse(values: Sequence[Any]) -> list[Any]:
    return [value for value in values[0] if all(value in each for each in values)]


def _widest(*words: str) -> _Rule:
    """The last of words that stand in the order from the narrow to the wide."""
    return lambda values: max(values, key=words.index)


def _loosest(unbounded: int) -> _Rule:
    """The largest bound; a number up to `unbounded` stands for none."""
    return lambda values: next((value for value in values if value <= unbounded), max(values))


#: What becomes of the values that several missions give; where nothing is said, that of the first counts.
_RULES: dict[Path, _Rule] = {
    ("name",): lambda values: "-".join(dict.fromkeys(values)),
    ("missions",): _join,
    ("seeds",): _join,
    ("policy", "anchor_terms"): _join,
    ("policy", "url_terms"): _join,
    ("policy", "hint_terms"): _join,
    ("accept",): _admit,
    ("themes",): _admit,
    ("reject",): _refuse,
    ("keep", "drop"): _refuse,
    ("urls", "drop"): _refuse,
    ("scope",): _widest("path", "host", "domain", "free"),
    ("order",): _widest("bfs", "dfs", "best"),
    ("keep", "what"): _widest("recognised", "everything"),
    ("fetch", "follow"): _widest("external", "all"),
    ("fetch", "render"): _widest("never", "auto", "always"),
    ("keep", "requests"): any,
    ("render", "archive"): any,
    ("fetch", "sitemaps"): any,
    ("limits", "host_urls_growth"): max,
    ("limits", "depth"): _loosest(-1),  # a depth of 0 stands for the seeds alone
}


def unite(missions: Sequence[Sequence[GivenValue]]) -> list[GivenValue]:
    """The values of several missions that share one crawl as those of one.

    The crawl visits, reads and keeps what any of them would: scopes and bounds are the widest, lists of terms and
    admitted addresses are joined, and an address is rejected only if all of them reject it. In everything else (policy,
    politeness, names of files) the first mission that gives a value decides. A wrong value is passed on, for the loader
    to refuse.
    """
    try:
        validated = [
            {item.path: replace(item, value=item.read(item.path), is_text=False) for item in each} for each in missions
        ]
    except Wrong:
        return [item for each in missions for item in each]
    paths = dict.fromkeys(path for each in validated for path in each)
    return [_choose(path, [each.get(path) for each in validated]) for path in paths]


def _choose(path: Path, given: Sequence[GivenValue | None]) -> GivenValue:
    """The value of the union for one setting; a mission that gives none has the default."""
    field, rule = field_at(path), _RULES.get(path)
    first = next(item for item in given if item is not None)
    if rule is None and path[0] in ("limits", "traps"):
        rule = _loosest(0)
    if field is None or rule is None:
        return first
    chosen = rule([field.default if item is None else item.value for item in given])
    same = (item for item in given if item is not None and item.value == chosen)
    return next(same, replace(first, value=chosen, item_lines=()))
