"""Crash recovery: makes a collection that a crash, a power failure or a full disk left behind fit to be continued."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Container
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from lycosa.archive import unstored_log
from lycosa.archive.reader import iter_records
from lycosa.archive.repair import Span, apply_repair, inspect, sync_files, truncate
from lycosa.archive.writer import ASIDE, ArchiveWriter
from lycosa.collection.lock import stamp_of
from lycosa.frontier.contract import Frontier, UrlRow, suspended
from lycosa.frontier.postgres.address import machine_of
from lycosa.frontier.sqlite.integrity import THOROUGH_BYTES, find_damage
from lycosa.model import State, WarcRow
from lycosa.output.wording import counted
from lycosa.repair.rebuild import add_answers, open_catalogue, rebuild
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
