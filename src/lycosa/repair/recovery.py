"""Recovery: makes a collection that a crash, a power failure or a full disk left behind fit to be continued.

A crawl checks by itself what is cheap: sizes, dates, what was being written. `verify` finds the rest, such as a byte
that has changed on the disk without anybody writing it: it reads every archive file and compares every page with its
row.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Collection, Container, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from lycosa.archive import unstored_log
from lycosa.archive.reader import StoredAnswer, iter_records, opened_record
from lycosa.archive.repair import Span, apply_repair, inspect, sync_files, truncate
from lycosa.archive.writer import ASIDE, ArchiveWriter
from lycosa.collection import database
from lycosa.collection.folder import lock, stamp_of
from lycosa.errors import CollectionError
from lycosa.frontier.contract import Frontier, UrlRow, suspended
from lycosa.frontier.postgres.address import machine_of
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.sqlite.integrity import THOROUGH_BYTES, find_damage
from lycosa.model import State, WarcRow
from lycosa.output.plain import counted
from lycosa.repair.rebuild import IMPORTING, add_answers, finish_import, open_catalogue, rebuild
from lycosa.repair.replay import CollectionSetup
from lycosa.version import __version__

#: A file that names the archive files which a merge is putting here.
MERGING = "merging"

LOOKED_AT = 500  # of more answers than a worker has in hand, some are sure to be of use


def repair_database(setup: CollectionSetup, before: str) -> list[str]:
    """Make a database that is damaged or missing anew from the archive; returns what was done, for people.

    `before` is what the last run left in the lock. If it ended well and nobody touched the file since, it is in order.
    """
    path = setup.folder / "crawl.db"
    if not path.exists():
        return rebuild(setup) if any(setup.archive.glob("*.warc.gz")) else []
    if before == stamp_of(path):
        return []
    changed = before.startswith("ended")  # it ended well, and somebody has changed the file since
    damage = find_damage(path, thorough=changed or path.stat().st_size < THOROUGH_BYTES)
    return [f"crawl.db is damaged: {damage}.", *rebuild(setup)] if damage else []


def reconcile_archive(setup: CollectionSetup, frontier: Frontier, *, since: float = math.inf) -> list[str]:
    """Bring archive and frontier together; returns what was done, for people.

    What the archive lacks is fetched again, what it holds beyond the last commit is processed. The order matters: the
    frontier hears of it first, so that a crash in between finds the same damage again. What was written `since` then is
    of this very run, and not checked.
    """
    clear_merge(setup.folder, {row.name for row in frontier.segments.here()})
    is_shared = bool(setup.mission.keep.database)  # then others may be at these pages already
    notes, tails = requeue_lost(setup.archive, frontier, since=since, cut=is_shared)
    if tails:
        notes.append(_replay_tails(setup, frontier, tails))
        _sync_archive(setup.archive, frontier)
    if (setup.folder / IMPORTING).exists():
        with suspended(frontier):
            finish_import(setup)
        notes.append("An import that had been cut short is in, as far as it came: the same command goes on with it.")
    prefix = f"lycosa-{machine_of(setup.folder)}-00" if is_shared else "lycosa-00"
    _gather_side_files(setup.archive, frontier, prefix)
    return notes


class LossRepairs(NamedTuple):
    """What was repaired, and what was left."""

    notes: list[str]  # what was done, for people
    tails: dict[str, Span]  # by file, what was not committed and is left as it is


def requeue_lost(archive: Path, frontier: Frontier, *, since: float = math.inf, cut: bool = False) -> LossRepairs:
    """Have pages fetched again that the archive has lost, and make its files valid; what is too much is left or cut."""
    repairs = LossRepairs([], {})
    for repair in inspect(archive, frontier.segments.here(), since=since):
        if repair.tail[0] < repair.tail[1] and not cut:
            repairs.tails[repair.name] = repair.tail
            continue
        again = frontier.losses.requeue_archive(repair.name, repair.lost) if repair.lost else 0
        apply_repair(archive, repair)
        more = f" {counted(again, 'page', 'is')} fetched again." if repair.lost else ""
        repairs.notes.append(f"{repair.text}{more}")
    _sync_archive(archive, frontier, besides=repairs.tails)
    return repairs


def _gather_side_files(folder: Path, frontier: Frontier, prefix: str) -> None:
    """Put the lines that a killed worker left in its side file where those of one that ended are.

    New bytes first, then one transaction, then the old files go: a kill leaves a file that the frontier does not know,
    which holds nothing new and is removed like any other.
    """
    old = [row for row in frontier.segments.here() if f"-{ASIDE}-" in row.name]
    if not old:
        return
    rows: dict[str, WarcRow] = {}
    with ArchiveWriter(
        folder, prefix=prefix, max_bytes=0, software=f"lycosa/{__version__}", info={}, dense=True
    ) as archive:
        for row in old:
            lines = _read_lines(folder / row.name)
            if lines is None:  # it stays as it is: readers of the archive find them there as well
                continue
            for line in lines:
                archive.add_unstored(line)
            name, size = archive.flush(last=True)
            archive.sync()
            if name:
                rows[name] = WarcRow(name, size, archive.synced)
            rows[row.name] = WarcRow(row.name, 0)
    frontier.segments.record(rows.values())
    for name, row in rows.items():
        if not row.size:
            (folder / name).unlink(missing_ok=True)


def _read_lines(path: Path) -> list[bytes] | None:
    """All lines on unstored answers that a file holds; None if not all of it can be read."""
    lines: list[bytes] = []
    for record in iter_records(path):
        if record.problem:
            return None
        if record.kind == "metadata" and record.mime == unstored_log.TYPE:
            lines += record.body_raw.splitlines(keepends=True)
    return lines


def _sync_archive(archive: Path, frontier: Frontier, *, besides: Collection[str] = ()) -> None:
    changed = sync_files(archive, [row for row in frontier.segments.here() if row.name not in besides])
    if changed:
        frontier.segments.record(changed)


def clear_merge(folder: Path, known: Container[str]) -> None:
    """Remove what a merge that was killed had put into the archive; `known` are the files that were committed."""
    listing = folder / MERGING
    if listing.exists():
        for name in listing.read_text(encoding="utf-8").splitlines():
            if name not in known:
                (folder / "archive" / os.path.basename(name)).unlink(missing_ok=True)
        listing.unlink()


def _replay_tails(setup: CollectionSetup, frontier: Frontier, tails: dict[str, Span]) -> str:
    """Process what was written and not committed; if that is cut short, the pages are simply fetched again."""
    before = frontier.figures.pages()
    with open_catalogue(setup, {name: start for name, (start, _) in tails.items()}) as catalogue:
        catalogue.reopen()
        entries = list(islice(catalogue.newest(), LOOKED_AT))
        wanted = {entry.warc for entry in entries if _is_open(frontier.known.find(entry.url))}
        if len(entries) == LOOKED_AT:
            wanted = set(tails)
        catalogue.finish()
        ends = {name: end if name in wanted else start for name, (start, end) in tails.items()}
        for name, end in ends.items():
            truncate(setup.archive / name, end)
        frontier.segments.record(WarcRow(name, end) for name, end in ends.items())
        if wanted:
            with suspended(frontier):
                add_answers(setup, catalogue)
    count = sum(end - start for start, end in tails.values())
    taken = counted(frontier.figures.pages() - before, "page", "was")
    return f"{counted(count, 'byte')} of archive had not been committed; {taken} taken in."


def _is_open(row: UrlRow | None) -> bool:
    """Whether an answer is of use: nobody else has brought one in the meantime."""
    return row is None or row.state == State.PENDING


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
