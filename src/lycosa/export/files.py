"""Files for other programs, written from a collection: mirror, index, archives; also those of a crawl's end.

The index is a text file of pages with their links, which is read again as well. Each page has one line, followed by one
line per accepted link:

    UrlMD5checksum normalizedURL originalURL "Title" encoding type lastModifiedDate serverDate
    <tab>@normalisedLink "anchor text"

The file is UTF-8. Dates are ISO 8601 in UTC (`2026-01-31T12:00:00Z`); what is missing is `-`, a missing text `""`. In
texts `\\"`, `\\\\`, `\\n`, `\\r`, `\\t` and `\\uXXXX` (other control characters) stand for what they stand for in JSON;
outside texts a space is `\\s` and a value that is itself a `-` is `\\-`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from io import RawIOBase
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from msgspec import Struct

from lycosa.archive.segment_store import open_segment, segment_size
from lycosa.archive.writer import ASIDE
from lycosa.collection.collection import Collection, Page
from lycosa.collection.listing import RowFilter
from lycosa.config.settings import Mission
from lycosa.disk import make_fault
from lycosa.errors import CollectionError
from lycosa.export.mirror import MirrorCount, path_of, type_of, write_mirror
from lycosa.export.wacz import WaczAbout, WaczCount, WaczPage, copy_warcs, write_wacz
from lycosa.model import State
from lycosa.output.atomic_file import whole_file
from lycosa.output.plain import counted
from lycosa.version import __version__

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


EVERYTHING = RowFilter()
HTML = ("text/html", "application/xhtml+xml")


def export_mirror(collection: Collection, folder: Path, wanted: RowFilter = EVERYTHING) -> MirrorCount:
    """Write the pages as files, each where its URL's path leads."""
    pages = collection.pages(host=wanted.host, mime=wanted.mime, round=wanted.round)
    streams = ((page.url, page.mime, page.stream(name=path_of(page.url, page.mime))) for page in pages)
    return write_mirror(streams, folder)


#: Where links lead that do not lead to an entry of their own: elsewhere, or nowhere, as robots.txt forbids it.
_ONWARD = f"""
SELECT url, iif(state = {State.REJECTED:d}, '', redirect) FROM url
WHERE state IN ({State.MOVED:d}, {State.MOVED_FOR_GOOD:d}) AND redirect <> ''
OR state = {State.REJECTED:d} AND reason = 'robots'"""
_HOPS = 20


def _follow(onward: Mapping[str, str], url: str) -> str:
    """The address that a link leads to in the end; empty: nowhere."""
    for _ in range(_HOPS):
        if (there := onward.get(url)) is None:
            break
        url = there
    return url


def export_index(collection: Collection, to: Path | TextIO, wanted: RowFilter = EVERYTHING) -> int:
    """Write one entry per page with its accepted links; returns how many pages there are."""
    pages = collection.pages(host=wanted.host, mime=wanted.mime, round=wanted.round)
    onward: dict[str, str] = dict(collection.rows(_ONWARD))
    entries = (
        IndexEntry(
            url=page.url,
            original=page.original,
            title=page.title,
            encoding=page.charset,
            type=type_of(page.mime, page.url).strip("-"),
            last_modified=date_of(page.last_modified),
            server_date=date_of(page.server_date),
            links=[(end, link.text) for link in page.links if link.accepted and (end := _follow(onward, link.url))],
        )
        for page in pages
    )
    return write_index(entries, to)


def export_warc(collection: Collection, to: Path | BinaryIO, wanted: RowFilter = EVERYTHING) -> int:
    """Copy the archive as it is committed, into a folder, a file or a stream; returns how many parts were copied.

    Without a filter these are whole files, requests included; with one, the answers of the pages that pass it.
    """
    if isinstance(to, Path):
        return copy_warcs(_archives(collection), to)
    return _copy_spans(collection, to, _spans(collection, wanted))


def export_records(collection: Collection, to: BinaryIO, pages: Iterable[Page]) -> int:
    """Copy the answers of these pages out of the archive; returns how many."""
    return _copy_spans(collection, to, _spans_of(pages))


def _copy_spans(collection: Collection, to: BinaryIO, spans: Iterable[tuple[str, int, int]]) -> int:
    count = 0
    for name, offset, length in spans:
        _refuse_short(collection.archive / name, offset + length)
        with open_segment(collection.archive / name) as source:
            source.seek(offset)
            _copy(source, to, length)
        count += 1
    return count


def export_wacz(collection: Collection, to: Path, *, sign_with: Path | None = None) -> WaczCount:
    """Write the archive with an index and the list of its pages, as replay tools open it.

    `sign_with` is the folder of a key.
    """
    # A collection without HTML, as one of XML, lists every document for readers to begin with.
    has_html = any(collection.query("SELECT 1 FROM pages WHERE mime IN (?, ?) LIMIT 1", HTML))
    listed = (page for page in collection.pages() if page.mime in HTML or not has_html)
    pages = (WaczPage(page.url, page.fetched.timestamp(), page.title) for page in listed)
    seed = next(collection.query("SELECT url FROM urls WHERE seed LIMIT 1"), ("",))[0]
    about = WaczAbout(title=collection.path.resolve().name, software=f"lycosa {__version__}", main_url=str(seed))
    archives = [(path, size) for path, size in _archives(collection) if f"-{ASIDE}-" not in path.name]
    return write_wacz(to, archives, pages, about, sign_with=sign_with)


class FinalExports(NamedTuple):
    """The exports that were written at the end of a crawl."""

    notes: list[str]  # one sentence per export
    lost: int  # pages that are left out


def write_requested_exports(mission: Mission) -> FinalExports:
    """Write the mirror and the index that the mission wants at the end of a crawl."""
    notes, lost = [], 0
    with Collection(mission.keep.collection) as collection:
        if mission.keep.mirror:
            count = export_mirror(collection, Path(mission.keep.mirror))
            notes.append(f"The mirror {mission.keep.mirror} has {counted(count.files, 'file')}{count.lack}.")
            lost = count.lost + count.cut
        if mission.keep.index:
            pages = export_index(collection, Path(mission.keep.index))
            notes.append(f"The index {mission.keep.index} has {counted(pages, 'page')}.")
    return FinalExports(notes, lost)


def _archives(collection: Collection) -> Iterator[tuple[Path, int]]:
    """The archive files, each with the number of its bytes that are committed."""
    for name, size in list(collection.query("SELECT name, size FROM warc ORDER BY name")):
        path = collection.archive / os.path.basename(str(name))
        # A running crawl removes a file when another one holds all of it; a file that the table still has must exist.
        if path.exists() or any(collection.query("SELECT 1 FROM warc WHERE name = ?", [name])):
            _refuse_short(path, size)
            yield path, size


def _refuse_short(path: Path, size: int) -> None:
    """Refuse an archive file that lacks bytes that were committed: its copy would pass for a whole one."""
    present = segment_size(path)
    if present < size:
        what = "is missing" if present < 0 else f"has {present:,} of its {size:,} bytes"
        raise CollectionError(f"{path} {what}: lycosa verify --repair puts the collection in order, but for that.")


def _spans(collection: Collection, wanted: RowFilter) -> Iterator[tuple[str, int, int]]:
    """Archive file, offset and length of each piece that is to be copied."""
    if wanted == EVERYTHING:
        yield from ((path.name, 0, size) for path, size in _archives(collection))
    else:
        yield from _spans_of(collection.pages(host=wanted.host, mime=wanted.mime, round=wanted.round))


def _spans_of(pages: Iterable[Page]) -> Iterator[tuple[str, int, int]]:
    """The records of pages, each once: the record of one page may hold the bytes of others, before it or after it."""
    files: dict[str, int] = {}
    written: set[int] = set()  # one number per record, because there may be many
    for page in pages:
        holder = page.holder  # a revisit record is nothing without its bytes
        for place in (page.place,) if holder is None else (holder, page.place):
            name, offset, _ = place
            key = files.setdefault(name, len(files)) << 48 | offset
            if key not in written:
                written.add(key)
                yield place


def _copy(source: RawIOBase, out: BinaryIO, length: int) -> None:
    while length and (chunk := source.read(min(length, 1 << 20))):
        out.write(chunk)
        length -= len(chunk)
