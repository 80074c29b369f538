"""Page index: a text file of pages with their links, written and read again.

Each page has one line, followed by one line per accepted link:

    UrlMD5checksum normalizedURL originalURL "Title" encoding type lastModifiedDate serverDate
    <tab>@normalisedLink "anchor text"

The file is UTF-8. Dates are ISO 8601 in UTC (`2026-01-31T12:00:00Z`); what is missing is `-`, a missing text `""`. In
texts `\\"`, `\\\\`, `\\n`, `\\r`, `\\t` and `\\uXXXX` (other control characters) stand for what they stand for in JSON;
outside texts a space is `\\s` and a value that is itself a `-` is `\\-`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from lycosa.disk import make_fault
from lycosa.errors import CollectionError
from lycosa.export.mirror import type_of
from lycosa.output.atomic_file import whole_file

__all__ = ["IndexEntry", "date_of", "format_entry", "read_index", "type_of", "write_index"]

#: Longer dates are no dates, and the standard library's reader is not quick.
_MAX_DATE = 64
_SPECIAL = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"\\]')
_SPECIAL_WORD = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\ud800-\udfff\\]")
_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|.)", re.DOTALL)
_TEXT = r'"((?:[^"\\]|\\.)*)"'
_WORD = r"([^ \n]+)"
_PAGE = re.compile(rf"([0-9a-f]{{32}}) {_WORD} {_WORD} {_TEXT} {_WORD} {_WORD} {_WORD} {_WORD}\n?", re.DOTALL)
_LINK = re.compile(rf"\t@{_WORD} {_TEXT}\n?", re.DOTALL)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\", " ": "\\s"}
_LONG = {"n": "\n", "r": "\r", "t": "\t", "s": " "}


class IndexEntry(Struct, gc=False):
    """An entry of the index, which describes one page; dates in ISO 8601, empty when missing."""

    url: str  # normalised
    original: str  # as it was found
    title: str = ""
    encoding: str = ""
    type: str = ""  # `type_of` the header and the name
    last_modified: str = ""  # `date_of` the header
    server_date: str = ""
    links: list[tuple[str, str]] = []  # normalised URL and anchor text of every accepted link

    @property
    def checksum(self) -> str:
        """MD5 of the normalised URL."""
        return _checksum(self.url)


def date_of(header: str) -> str:
    """An HTTP date in ISO 8601, UTC; empty when there is none that can be read."""
    if not header or len(header) > _MAX_DATE:
        return ""
    try:
        date = parsedate_to_datetime(header)
        date = date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC)
        return date.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def format_entry(entry: IndexEntry) -> str:
    """The lines of one page."""
    words = (entry.encoding, entry.type, entry.last_modified, entry.server_date)
    rest = " ".join(map(_word, words))
    lines = [f"{entry.checksum} {_word(entry.url)} {_word(entry.original)} {_text(entry.title)} {rest}\n"]
    lines += [f"\t@{_word(url)} {_text(anchor)}\n" for url, anchor in entry.links]
    return "".join(lines)


def write_index(entries: Iterable[IndexEntry], to: Path | TextIO) -> int:
    """Write an index to a file, which appears when it is whole, or to a stream; returns the number of pages."""
    if not isinstance(to, Path):
        return _write_entries(entries, to)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(to) as part, open(part, "w", encoding="utf-8", newline="") as out:
            return _write_entries(entries, out)
    except OSError as error:
        raise make_fault(error, f"The index {to}") from error


def read_index(path: Path) -> Iterator[IndexEntry]:
    """Read the pages of an index file, one at a time; CollectionError names the number of a malformed line."""
    entry: IndexEntry | None = None
    with open(path, encoding="utf-8", errors="replace", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            link = _LINK.fullmatch(line)
            if link and entry is not None:
                entry.links.append((_read_word(link[1]), _read_text(link[2])))
                continue
            page = _PAGE.fullmatch(line)
            if page is None or page[1] != _checksum(_read_word(page[2])):
                problem = "the checksum is not that of the URL" if page else "this is neither a page nor a link of one"
                raise CollectionError(f"{path}, line {number}: {problem}: {line[:80]!r}.")
            if entry is not None:
                yield entry
            encoding, kind, modified, served = (_read_word(word) for word in page.group(5, 6, 7, 8))
            entry = IndexEntry(
                url=_read_word(page[2]),
                original=_read_word(page[3]),
                title=_read_text(page[4]),
                encoding=encoding,
                type=kind,
                last_modified=modified,
                server_date=served,
                links=[],
            )
    if entry is not None:
        yield entry


def _write_entries(entries: Iterable[IndexEntry], out: TextIO) -> int:
    count = 0
    for count, entry in enumerate(entries, 1):  # noqa: B007  # the last number is the count
        out.write(format_entry(entry))
    return count


def _checksum(url: str) -> str:
    return hashlib.md5(url.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _text(text: str) -> str:
    return f'"{_SPECIAL.sub(_escape, text)}"'


def _word(text: str) -> str:
    if text == "-":
        return "\\-"
    return _SPECIAL_WORD.sub(_escape, text) or "-"


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _read_word(word: str) -> str:
    return "" if word == "-" else _read_text(word)


def _read_text(text: str) -> str:
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _LONG.get(code, code)
