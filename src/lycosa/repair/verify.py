"""Verification of a collection: reads every archive file and compares every page with its row.

A crawl checks by itself what is cheap: sizes, dates, what was being written. This finds the rest, such as a byte that
has changed on the disk without anybody writing it.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from msgspec import Struct

from lycosa.archive.reader import StoredAnswer, opened_record
from lycosa.archive.repair import inspect
from lycosa.collection import database
from lycosa.collection.lock import lock
from lycosa.errors import CollectionError
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.sqlite.integrity import find_damage
from lycosa.model import WarcRow
from lycosa.output.wording import counted
from lycosa.repair.crash_recovery import requeue_lost

SHOWN = 20  # problems that are shown one by one
_WARCS = "SELECT name, size FROM warc"
_PAGES = "SELECT url.url, page.warc, page.offset, page.length, page.digest FROM page JOIN url USING (n)"
_CHANGED = 1  # a date that no archive file has, so that all of it is read


class Health(Struct):
    """How a collection was found."""

    collection: str
    pages: int = 0  # copies of pages, of all rounds
    archive_files: int = 0
    archive_bytes: int = 0
    problems: list[str] = []
    repaired: list[str] = []  # what was done about them

    @property
    def text(self) -> str:
        """The report as people read it."""
        files = counted(self.archive_files, "archive file")
        looked = f"{counted(self.pages, 'page')}, {self.archive_bytes:,} bytes in {files}"
        found = counted(len(self.problems), "problem") if self.problems else "all in order"
        more = [f"and {len(self.problems) - SHOWN:,} more"] if len(self.problems) > SHOWN else []
        lines = [*self.problems[:SHOWN], *more, *self.repaired]
        return "\n".join([f"{self.collection}: {looked}: {found}", *(f"  {line}" for line in lines)])


def verify(folder: Path, *, repair: bool) -> Health:
    """Read everything; with `repair`, repair what is damaged, and have the next crawl fetch the pages that are lost."""
    if not (folder / "crawl.db").exists() and not any(folder.glob("archive/*.warc.gz")):
        database.connect(folder)  # says what is wrong
    writable = os.access(folder, os.W_OK)
    if repair and not writable:
        raise CollectionError(f"The folder {folder} cannot be written to.")
    with lock(folder) if writable else nullcontext() as hold:
        health = _inspect(folder)
        if repair and health.problems:
            health.repaired = _repair(folder)
        if hold is not None and (folder / "crawl.db").exists():
            if repair or not health.problems:
                hold.record_state(folder / "crawl.db")
            else:
                hold.restore()
    return health


def _inspect(folder: Path) -> Health:
    health = Health(str(folder))
    path = folder / "crawl.db"
    damage = find_damage(path, thorough=True) if path.exists() else "it is missing"
    if damage:
        health.problems.append(f"crawl.db is damaged: {damage}.")
        return health
    connection = database.connect(folder)
    try:
        rows = [WarcRow(name, size, mtime_ns=_CHANGED) for name, size in database.rows(connection, _WARCS)]
        health.archive_files, health.archive_bytes = len(rows), sum(row.size for row in rows)
        health.problems += [repair.text for repair in inspect(folder / "archive", rows)]
        for row in database.rows(connection, _PAGES):
            health.pages += 1
            health.problems += _compare(folder / "archive", *row)
    finally:
        connection.close()
    return health


def _compare(archive: Path, url: str, warc: str, offset: int, length: int, digest: bytes) -> Iterator[str]:
    """What is wrong with the record that a page's row names."""
    with opened_record(archive / os.path.basename(warc), offset, length=length) as (record, pieces):
        actual = hashlib.sha1(usedforsecurity=False)
        for piece in pieces:
            actual.update(piece)
    wrong = record.problem or _find_wrong(record, actual.digest(), url, digest)
    if wrong:
        yield f"{url}: {warc} at {offset}: {wrong}."


def _find_wrong(record: StoredAnswer, actual: bytes, url: str, digest: bytes) -> str:
    if actual == digest:
        return ""
    if record.url != url:
        return f"the record is that of {record.url or 'no page'}"
    if record.kind == "revisit":  # the body stands elsewhere
        return ""
    stated = base64.b32encode(actual).decode()
    return "" if record.digest == f"sha1:{stated}" else "its content is not what was received"


def _repair(folder: Path) -> list[str]:
    """Repair the archive as the next crawl would, but all of it; pages that are lost are then pending."""
    path = folder / "crawl.db"
    if not path.exists() or find_damage(path, thorough=True):
        return ["The next `lycosa crawl` makes the database anew from the archive."]
    frontier = SqliteFrontier(path)
    try:
        frontier.segments.record([WarcRow(row.name, row.size, mtime_ns=_CHANGED) for row in frontier.segments.here()])
        return requeue_lost(folder / "archive", frontier).notes
    finally:
        frontier.close()
