"""A collection in, files for other programs out: mirror, index, archives; and what a mission wants at its end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import BinaryIO, TextIO

from lycosa.keep.index import IndexEntry, date_of, write_index
from lycosa.keep.mirror import MirrorCount, write_mirror
from lycosa.keep.types import type_of
from lycosa.look.collection import Collection
from lycosa.look.listing import Filter
from lycosa.mission import Mission

EVERYTHING = Filter()


def export_mirror(collection: Collection, folder: Path, wanted: Filter = EVERYTHING) -> MirrorCount:
    """Write the pages as files, each where its URL's path leads (T8)."""
    pages = collection.pages(host=wanted.host, mime=wanted.mime)
    return write_mirror(((page.url, page.mime, page.body) for page in pages), folder)


def export_index(collection: Collection, to: Path | TextIO, wanted: Filter = EVERYTHING) -> int:
    """Write one entry a page with its accepted links (T9); returns how many pages there are."""
    pages = collection.pages(host=wanted.host, mime=wanted.mime)
    entries = (
        IndexEntry(
            url=page.url,
            original=page.url,
            title=page.title,
            encoding=page.charset,
            type=type_of(page.mime, page.url),
            last_modified=date_of(page.last_modified),
            server_date=date_of(page.server_date),
            links=[(link.url, link.text) for link in page.links if link.accepted],
        )
        for page in pages
    )
    return write_index(entries, to)


def export_warc(collection: Collection, out: BinaryIO, wanted: Filter = EVERYTHING) -> int:
    """Write the archive as one file, records as they are; returns its bytes.

    Without a filter that is everything committed, requests included; with one, the answers of the pages that pass it.
    """
    size = 0
    for name, offset, length in _spans(collection, wanted):
        with FileIO(collection.archive / name) as source:
            source.seek(offset)
            size += _copy(source, out, length)
    return size


def finish(mission: Mission) -> list[str]:
    """Write what the mission wants at the end of a crawl; returns a sentence for each."""
    notes = []
    with Collection(mission.keep.collection) as collection:
        if mission.keep.mirror:
            count = export_mirror(collection, Path(mission.keep.mirror))
            notes.append(f"The mirror {mission.keep.mirror} has {count.files:,} files.")
        if mission.keep.index:
            pages = export_index(collection, Path(mission.keep.index))
            notes.append(f"The index {mission.keep.index} has {pages:,} pages.")
    return notes


def _spans(collection: Collection, wanted: Filter) -> Iterator[tuple[str, int, int]]:
    """Archive file, offset and length of what is to be copied."""
    if wanted == EVERYTHING:
        for name, size in collection.query("SELECT name, size FROM warc ORDER BY name"):
            yield os.path.basename(str(name)), 0, int(size or 0)
        return
    for page in collection.pages(host=wanted.host, mime=wanted.mime):
        yield page.place


def _copy(source: FileIO, out: BinaryIO, length: int) -> int:
    left = length
    while left and (chunk := source.read(min(left, 1 << 20))):
        out.write(chunk)
        left -= len(chunk)
    return length - left
