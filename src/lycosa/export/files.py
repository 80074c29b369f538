"""Files for other programs, written from a collection: mirror, index, archives; also those of a crawl's end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from io import RawIOBase
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from lycosa.archive.segment_store import open_segment, segment_size
from lycosa.archive.writer import ASIDE
from lycosa.collection.collection import Collection, Page
from lycosa.collection.listing import RowFilter
from lycosa.config.settings import Mission
from lycosa.errors import CollectionError
from lycosa.export.mirror import MirrorCount, path_of, type_of, write_mirror
from lycosa.export.page_index import IndexEntry, date_of, write_index
from lycosa.export.wacz import WaczAbout, WaczCount, WaczPage, copy_warcs, write_wacz
from lycosa.output.wording import counted
from lycosa.version import __version__

EVERYTHING = RowFilter()
HTML = ("text/html", "application/xhtml+xml")


def export_mirror(collection: Collection, folder: Path, wanted: RowFilter = EVERYTHING) -> MirrorCount:
    """Write the pages as files, each where its URL's path leads."""
    pages = collection.pages(host=wanted.host, mime=wanted.mime, round=wanted.round)
    streams = ((page.url, page.mime, page.stream(name=path_of(page.url, page.mime))) for page in pages)
    return write_mirror(streams, folder)


def export_index(collection: Collection, to: Path | TextIO, wanted: RowFilter = EVERYTHING) -> int:
    """Write one entry per page with its accepted links; returns how many pages there are."""
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
        with open_segment(collection.archive / name) as source:
            source.seek(offset)
            _copy(source, to, length)
        count += 1
    return count


def export_wacz(collection: Collection, to: Path) -> WaczCount:
    """Write the archive with an index and the list of its pages, as replay tools open it."""
    # A collection without HTML, as one of XML, lists every document for readers to begin with.
    has_html = any(collection.query("SELECT 1 FROM pages WHERE mime IN (?, ?) LIMIT 1", HTML))
    listed = (page for page in collection.pages() if page.mime in HTML or not has_html)
    pages = (WaczPage(page.url, page.fetched.timestamp(), page.title) for page in listed)
    seed = next(collection.query("SELECT url FROM urls WHERE seed LIMIT 1"), ("",))[0]
    about = WaczAbout(title=collection.path.resolve().name, software=f"lycosa {__version__}", main_url=str(seed))
    archives = [(path, size) for path, size in _archives(collection) if f"-{ASIDE}-" not in path.name]
    return write_wacz(to, archives, pages, about)


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
