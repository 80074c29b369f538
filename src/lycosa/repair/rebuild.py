"""Rebuilding: makes the database of a collection anew from its archive.

The answers in the archive are processed once more, as a crawl would do it, without the network: so the same pages,
links and open URLs are known again. Of a page that was visited several times the newest answer counts. What an archive
does not hold (seeds that were given, robots.txt, pages that killed workers) is read from the damaged file, if possible.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import apsw
import msgspec
from msgspec import Struct

from lycosa import urls
from lycosa.archive.answer_catalogue import AnswerCatalogue
from lycosa.archive.repair import apply_repair, inspect, sync_files
from lycosa.collection.folder import list_seeds
from lycosa.config.toml import to_toml
from lycosa.disk import sync_folder
from lycosa.errors import CollectionError, DiskFull
from lycosa.frontier.contract import FORGOTTEN
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.sqlite.integrity import SalvagedRows, salvage
from lycosa.model import Answer, Discovery, RobotsRow, Target, WarcRow
from lycosa.output.plain import counted
from lycosa.politeness import robots_cache
from lycosa.process import die_with_parent, log_exception
from lycosa.repair.replay import ArchiveReplay, CollectionSetup

CRASHES = 100  # answers that may kill the process that reads them
#: A file that names the archive files which an import is putting here, by what their names begin with.
IMPORTING = "importing"
#: What was forgotten, a line each time: what goes by hashes, what stays by digests.
FORGOTTEN_LOG = "forgotten.jsonl"
_TOMBSTONE = f"""
INSERT INTO url (host, id, url, state, reason, score, depth, hops, parent, seed, via, anchor, context, original)
VALUES (?1, ?2, 'forgotten:' || printf('%x', ?2), 8, '{FORGOTTEN}', 0, 0, 0, 0, 0, '', '', '', '')"""
_IMPORT_PREFIX = re.compile(r"import-\d{14}-\d+")


class _LogLine(Struct):
    tombstones: list[tuple[int, int]] = []


def rebuild(setup: CollectionSetup) -> list[str]:
    """Make crawl.db anew, under its name only when it is whole; returns what was done, for people."""
    notes = [*_set_aside(setup.folder), *_repair_alone(setup.archive)]
    aside = max(setup.folder.glob("crawl.db.damaged-*[0-9]"), default=None)
    saved = salvage(aside) if aside is not None else SalvagedRows([], [], {}, {})
    for path in setup.folder.glob("crawl.db.re*"):  # of an attempt that was killed
        path.unlink()
    SqliteFrontier.create(
        setup.rebuilt_path, mission_toml=saved.meta.get("mission") or to_toml(setup.mission), now=time.time()
    )
    plant_tombstones(setup.folder, setup.rebuilt_path)
    rows = [WarcRow(path.name, path.stat().st_size) for path in sorted(setup.archive.glob("*.warc.gz"))]
    replay_archive(setup, {row.name: 0 for row in rows}, saved)
    frontier = setup.open(setup.rebuilt_path)
    frontier.segments.record(sync_files(setup.archive, rows))
    kept = frontier.figures.pages()
    frontier.close()
    setup.rebuilt_path.rename(setup.folder / "crawl.db")
    sync_folder(setup.folder)
    files, pages = counted(len(rows), "archive file"), counted(kept, "page", "is")
    return [*notes, f"The database was made anew from {files}: {pages} kept and not fetched again."]


def plant_tombstones(folder: Path, path: Path) -> None:
    """Let a new database know which addresses were forgotten."""
    log = folder / FORGOTTEN_LOG
    if not log.exists():
        return
    with contextlib.closing(apsw.Connection(str(path))) as db, db, open(log, "rb") as lines:
        for line in lines:
            with contextlib.suppress(msgspec.MsgspecError):
                db.executemany(_TOMBSTONE, msgspec.json.decode(line, type=_LogLine).tombstones)
        db.execute("INSERT INTO stat SELECT 8, ?, count(*) FROM url", (FORGOTTEN,))


def _set_aside(folder: Path) -> list[str]:
    """Give a damaged database another name, its log first, so that no new one is taken for a part of it."""
    path = folder / "crawl.db"
    if not path.exists():
        return ["There is no crawl.db any more."]
    aside = folder / f"crawl.db.damaged-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}"
    with contextlib.suppress(FileNotFoundError):
        path.with_name("crawl.db-wal").rename(f"{aside}-wal")
    path.with_name("crawl.db-shm").unlink(missing_ok=True)
    path.rename(aside)
    sync_folder(folder)
    return [f"It was set aside as {aside.name}."]


def _repair_alone(archive: Path) -> list[str]:
    """Repair the archive files when nothing says how long they should be."""
    rows = [WarcRow(path.name, path.stat().st_size) for path in sorted(archive.glob("*.warc.gz"))]
    notes = []
    for repair in inspect(archive, rows):
        apply_repair(archive, repair)
        notes.append(repair.text)
    return notes


def replay_archive(setup: CollectionSetup, files: Mapping[str, int], saved: SalvagedRows) -> None:
    """Put the answers of archive files, each from an offset on, and what was saved into a new database."""
    with open_catalogue(setup, files) as catalogue:
        _survive(setup.folder, lambda shared, poison: _fill(setup, saved, catalogue, shared=shared, poison=poison))


def add_answers(setup: CollectionSetup, catalogue: AnswerCatalogue) -> None:
    """Put answers into the collection's own database, as far as the limits allow; nobody may have it open."""
    _survive(setup.folder, lambda shared, poison: _add(setup, catalogue, shared=shared, poison=poison))


def finish_import(setup: CollectionSetup) -> None:
    """Process what an import put into the archive, also one that was killed; nobody may have the database open.

    The files count as committed when all of it is processed: until then, whoever opens the collection begins again.
    """
    marker = setup.folder / IMPORTING
    prefix = marker.read_text(encoding="utf-8").strip() if marker.exists() else ""
    names = []
    if _IMPORT_PREFIX.fullmatch(prefix):
        names = sorted(path.name for path in setup.archive.glob(f"{prefix}-*.warc.gz"))
    if names:
        with open_catalogue(setup, dict.fromkeys(names, 0)) as catalogue:
            _survive(setup.folder, lambda shared, poison: _take_in(setup, catalogue, shared=shared, poison=poison))
        frontier = setup.open(setup.folder / "crawl.db")
        frontier.segments.record(
            sync_files(setup.archive, [WarcRow(name, (setup.archive / name).stat().st_size) for name in names])
        )
        frontier.close()
    marker.unlink(missing_ok=True)


def _take_in(setup: CollectionSetup, catalogue: AnswerCatalogue, *, shared: mmap.mmap, poison: set[int]) -> None:
    """Put imported answers into the collection's own database; runs in a child."""
    catalogue.reopen()
    path = setup.folder / "crawl.db"
    frontier = setup.open(path)
    with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as visits:

        def fetched_at(row: int) -> float:
            return float(visits.execute("SELECT fetched_at FROM url WHERE n = ?", (row,)).get or 0)

        replay = ArchiveReplay(
            setup.mission,
            frontier,
            catalogue,
            guarded_quarry=setup.guarded_quarry,
            bounded=False,
            fetched_at=fetched_at,
        )
        replay.adopt_robots(_read_robots(catalogue))
        replay.run(shared, poison)
    frontier.close()


@contextlib.contextmanager
def open_catalogue(setup: CollectionSetup, files: Mapping[str, int]) -> Iterator[AnswerCatalogue]:
    """A catalogue of what archive files hold, each from an offset on."""
    catalogue = AnswerCatalogue(setup.archive, setup.folder / "crawl.db.records")
    try:
        for name, start in files.items():
            catalogue.read(name, start=start)
        catalogue.finish()
        yield catalogue
    finally:
        catalogue.close()


def _add(setup: CollectionSetup, catalogue: AnswerCatalogue, *, shared: mmap.mmap, poison: set[int]) -> None:
    """Put answers into the collection's own database; runs in a child."""
    catalogue.reopen()
    frontier = setup.open(setup.folder / "crawl.db")
    ArchiveReplay(setup.mission, frontier, catalogue, guarded_quarry=setup.guarded_quarry, bounded=True).run(
        shared, poison
    )
    frontier.close()


def _fill(
    setup: CollectionSetup, saved: SalvagedRows, catalogue: AnswerCatalogue, *, shared: mmap.mmap, poison: set[int]
) -> None:
    """Put everything into the new database; runs in a child."""
    catalogue.reopen()
    frontier = setup.open(setup.rebuilt_path)
    given = dict(saved.seeds) or list_seeds(setup.mission, setup.folder)
    frontier.seeds.add(
        [
            Discovery(urls.url_id(url), url, urls.host_of(url), seed=True, via="seed", original=original)
            for url, original in given.items()
        ],
        max_depth=setup.mission.limits.depth,
    )
    archive_replay = ArchiveReplay(
        setup.mission, frontier, catalogue, guarded_quarry=setup.guarded_quarry, bounded=False
    )
    archive_replay.adopt_robots(saved.robots or _read_robots(catalogue))
    archive_replay.run(shared, poison)
    for url, count in saved.strikes.items():
        row = frontier.known.find(url)
        if row is not None:
            for _ in range(count):
                frontier.changes.strike(row.row)
    frontier.close()


def _read_robots(catalogue: AnswerCatalogue) -> Iterator[RobotsRow]:
    """The rules of each origin that the archive holds: they lead to its sitemaps."""
    for at, record in catalogue.rules(limit=robots_cache.BYTES):
        if 200 <= record.status < 300 or (400 <= record.status < 500 and record.status != 429):
            target = Target(0, 0, record.url, urls.host_of(record.url))
            answer = Answer(target, record.status, headers=record.headers, body=record.body_raw)
            yield RobotsRow(urls.origin_of(record.url), at, record.status, robots_cache.read_rules(answer))


def _survive(folder: Path, work: Callable[[mmap.mmap, set[int]], None]) -> None:
    """Work in a child process until it is done: the next child leaves out an answer that killed one."""
    shared, poison = mmap.mmap(-1, 8), set[int]()
    parent = os.getpid()
    for _ in range(CRASHES):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                die_with_parent(parent)
                work(shared, poison)
                code = 0
            except DiskFull:
                code = DiskFull.exit_code
            except BaseException:
                log_exception(folder)
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code == DiskFull.exit_code:
            raise DiskFull("There is no room left to make the database anew: make room and run the same command again.")
        if code == 0:
            return
        culprit = int.from_bytes(shared[:8], "little")
        if code > 0 or code == -signal.SIGINT or not culprit:
            break
        poison.add(culprit)
    raise CollectionError("The database could not be made anew from the archive; logs/errors.log may say why.")
