"""A collection in, files for other programs out: mirror, index, archives; and what a mission wants at its end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from msgspec.structs import replace

from lycosa.archive.writer import ASIDE
from lycosa.collection.collection import Collection, Page
from lycosa.collection.listing import RowFilter
from lycosa.config.settings import Mission
from lycosa.errors import CollectionError
from lycosa.export.file_types import type_of
from lycosa.export.mirror import MirrorCount, write_mirror
from lycosa.export.page_index import IndexEntry, date_of, write_index
from lycosa.export.wacz import WaczAbout, WaczCount, WaczPage, copy_warcs, write_wacz
from lycosa.output.wording import counted
from lycosa.version import __version__

EVERYTHING = RowFilter()
HTML = ("text/html", "application/xhtml+xml")


def export_mirror(collection: Collection, folder: Path, wanted: RowFilter = EVERYTHING) -> MirrorCount:
    """Write the pages as files, each where its URL's path leads (T8)."""
    lost = 0

    def held() -> Iterator[tuple[str, str, bytes]]:
        nonlocal lost
        for page in collection.pages(host=wanted.host, mime=wanted.mime, round=wanted.round):
            body = page.body
            if not body and page.problem:  # an empty file would pass for an empty page
                lost += 1
            else:
                yield page.url, page.mime, body

    count = write_mirror(held(), folder)
    return replace(count, lost=lost)


def export_index(collection: Collection, to: Path | TextIO, wanted: RowFilter = EVERYTHING) -> int:
    """Write one entry a page with its accepted links (T9); returns how many pages there are."""
    pages = collection.pages(host=wanted.host, mime=wanted.mime, round=wanted.round)
    entries = (
        IndexEntry(
            url=page.url,
            original=page.original,
            title=page.title,
            encoding=page.charset,
            type=type_of(page.mime, page.url).strip("-"),
            last_modified=date_of(page.last_modified),
            server_date=date_of(page.server_date),
            links=[(link.url, link.text) for link in page.links if link.accepted],
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
        with FileIO(collection.archive / name) as source:
            source.seek(offset)
            _copy(source, to, length)
        count += 1
    return count


def export_wacz(collection: Collection, to: Path) -> WaczCount:
    """Write the archive with an index and the list of its pages, as replay tools open it."""
    # Of a collection without such pages, as one of XML, a reader begins with any document.
    mixed = any(collection.query("SELECT 1 FROM pages WHERE mime IN (?, ?) LIMIT 1", HTML))
    found = (page for page in collection.pages() if page.mime in HTML or not mixed)
    pages = (WaczPage(page.url, page.fetched.timestamp(), page.title) for page in found)
    seed = next(collection.query("SELECT url FROM urls WHERE seed LIMIT 1"), ("",))[0]
    about = WaczAbout(title=collection.path.resolve().name, software=f"lycosa {__version__}", main_url=str(seed))
    archives = [(path, size) for path, size in _archives(collection) if f"-{ASIDE}-" not in path.name]
    return write_wacz(to, archives, pages, about)


class Finished(NamedTuple):
    """What was written at the end of a crawl."""

    notes: list[str]  # a sentence for each
    lost: int  # pages that are left out


def write_requested_exports(mission: Mission) -> Finished:
    """Write what the mission wants at the end of a crawl."""
    notes, lost = [], 0
    with Collection(mission.keep.collection) as collection:
        if mission.keep.mirror:
            count = export_mirror(collection, Path(mission.keep.mirror))
            notes.append(f"The mirror {mission.keep.mirror} has {counted(count.files, 'file')}{count.lack}.")
            lost = count.lost
        if mission.keep.index:
            pages = export_index(collection, Path(mission.keep.index))
            notes.append(f"The index {mission.keep.index} has {counted(pages, 'page')}.")
    return Finished(notes, lost)


def _archives(collection: Collection) -> Iterator[tuple[Path, int]]:
    """The archive files, each with the bytes of it that count, one after the other."""
    for name, size in list(collection.query("SELECT name, size FROM warc ORDER BY name")):
        path = collection.archive / os.path.basename(str(name))
        # A crawl that goes on removes a file when all of it stands in another one; what nobody removed must be there.
        if path.exists() or any(collection.query("SELECT 1 FROM warc WHERE name = ?", [name])):
            _refuse_short(path, size)
            yield path, size


def _refuse_short(path: Path, size: int) -> None:
    """Complain of an archive file that does not hold what was written to it: a copy would pass for a whole one."""
    found = path.stat().st_size if path.is_file() else -1
    if found < size:
        what = "is missing" if found < 0 else f"has {found:,} of its {size:,} bytes"
        raise CollectionError(f"{path} {what}: lycosa verify --repair puts the collection in order, but for that.")


def _spans(collection: Collection, wanted: RowFilter) -> Iterator[tuple[str, int, int]]:
    """Archive file, offset and length of what is to be copied."""
    if wanted == EVERYTHING:
        yield from ((path.name, 0, size) for path, size in _archives(collection))
    else:
        yield from _spans_of(collection.pages(host=wanted.host, mime=wanted.mime, round=wanted.round))


def _spans_of(pages: Iterable[Page]) -> Iterator[tuple[str, int, int]]:
    """Each record once: that of a page may hold the bytes of others, before it or after it."""
    files: dict[str, int] = {}
    written: set[int] = set()  # as one number each, because there may be many
    for page in pages:
        holder = page.holder  # a revisit record is nothing without its bytes
        for place in (page.place,) if holder is None else (holder, page.place):
            name, offset, _ = place
            key = files.setdefault(name, len(files)) << 48 | offset
            if key not in written:
                written.add(key)
                yield place


def _copy(source: FileIO, out: BinaryIO, length: int) -> None:
    while length and (chunk := source.read(min(length, 1 << 20))):
        out.write(chunk)
        length -= len(chunk)
