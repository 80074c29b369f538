"""Status of a collection: what it holds and how its crawl stands, also while it is running."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from lycosa.collection import database
from lycosa.model import REQUISITE, SITEMAP, STATE_NAMES, State
from lycosa.output.plain import counted, show_size

#: What is counted of a cycle, each as the figure "cycle NAME".
CYCLE_FIGURES = ("answers", "pages", "finds", "new", "ms")
#: The database of near-duplicates, which is derived from the collection.
NEAR_NAME = "near.db"
#: The round under way, when it began, and its pages as the page limit counts them.
_ROUND = """
    SELECT round, started,
           (SELECT total(count) FROM figure WHERE name = 'stored' AND key = CAST(round.round AS TEXT))
    FROM round ORDER BY round DESC LIMIT 1"""


_OUTCOMES = """
    SELECT quarry, outcome, count(*), sum(records) FROM extracted GROUP BY quarry, outcome
    ORDER BY quarry, count(*) DESC, outcome"""
_ASIDE = """
    SELECT coalesce(url.url, guest.url), outcome, error FROM extracted LEFT JOIN url USING (n)
    LEFT JOIN guest ON guest.id = -extracted.n
    WHERE outcome <> 'done' AND outcome NOT IN ('strike', 'due') AND quarry = ? LIMIT 10"""


class NearCount(Struct, frozen=True):
    """What was found when near-duplicates were last looked for."""

    clusters: int
    pages: int  # that say what another says
    compared: int


def count_near(folder: Path) -> NearCount | None:
    """The stored figures; None where near-duplicates were never looked for."""
    try:
        database = apsw.Connection(str(folder / NEAR_NAME), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            figures = dict(database.execute("SELECT key, value FROM meta WHERE key <> 'due'"))
        finally:
            database.close()
    except apsw.Error:
        return None
    return NearCount(**figures) if figures else None


_CYCLES = f"""
    SELECT CAST(key AS INTEGER) AS cycle,
           {", ".join(f"total(count) FILTER (WHERE name = 'cycle {name}')" for name in CYCLE_FIGURES)}
    FROM figure WHERE name GLOB 'cycle *' GROUP BY cycle ORDER BY cycle"""


class Cycle(Struct, frozen=True):
    """What one cycle of a crawl in cycles brought."""

    cycle: int
    answers: int
    pages: int  # stored or found unchanged
    finds: int  # pages that the quarry recognised
    new: int  # addresses that were not known
    seconds: float  # of several workers the mean


def list_cycles(connection: apsw.Connection) -> list[Cycle]:
    """The cycles of a crawl that works in cycles, in their order."""
    return [
        Cycle(int(cycle), int(answers), int(pages), int(finds), int(new), ms / 1000)
        for cycle, answers, pages, finds, new, ms in database.rows(connection, _CYCLES)
    ]


class LastRun(Struct):
    """What the report of the last run said of its speed."""

    pages: int = 0
    seconds: float = 0.0
    requests: int = 0
    ended_by: str = ""
    round: int = 1
    visited: int = 0  # of its round, by this run and those before
    next_round: float = 0.0
    told: dict[str, Any] = {}  # what was not taken, by reason

    @property
    def has_bounds(self) -> bool:
        """Whether bounds refused what may be worth having."""
        return any(reason != "links-limit" for reason in self.told)


class ExtractionStatus(Struct):
    """What one quarry extracted from the collection."""

    quarry: str
    documents: int
    records: int
    outcomes: dict[str, int]
    aside: list[tuple[str, str]]  # the first documents that were set aside, and why


class Status(Struct):
    """The figures of a collection."""

    collection: str
    round: int
    pages: int  # equal content counted once
    urls: int
    unfetched: int
    states: dict[str, int]
    hosts: int
    hosts_waiting: int  # those with URLs that are to be fetched
    archive_files: int
    archive_bytes: int
    database_bytes: int
    running: int  # process id of the crawl; 0: none runs
    pages_per_s: float  # of the run under way, or else of the last one; 0 where that was broken off
    next_round: float  # when the crawl begins it, Unix time; 0: it waits for none
    last_run: LastRun | None
    extracted: list[ExtractionStatus]
    near: NearCount | None = None  # when near-duplicates were last looked for
    cycles: list[Cycle] = []  # of a crawl in cycles
    requisites: int = 0  # kept beside the pages, to show them
    sitemaps: int = 0  # kept beside the pages
    told: list[str] = []  # what the missions say of how it stands
    unkept: dict[str, int] = {}  # addresses that were counted and not kept, by reason
    killed: int = 0  # process id of the last crawl, if it was broken off (kill -9, loss of power); 0: it was not


def read_status(folder: str | os.PathLike[str]) -> Status:
    """Gather the figures; nothing is counted row by row but the hosts that wait."""
    folder = Path(folder)
    connection = database.connect(folder)
    try:
        states: dict[int, int] = dict(_rows(connection, "SELECT state, sum(count) FROM stat GROUP BY state"))
        ((number, started, visited),) = _rows(connection, _ROUND)
        ((pages,),) = _rows(connection, "SELECT total(count) FROM figure WHERE name = 'pages'")
        ((requisites,),) = _rows(connection, f"SELECT total(count) FROM figure WHERE name = '{REQUISITE}'")
        ((sitemaps,),) = _rows(connection, f"SELECT total(count) FROM figure WHERE name = '{SITEMAP}'")
        ((hosts,),) = _rows(connection, "SELECT count(*) FROM host")
        ((waiting,),) = _rows(connection, "SELECT count(*) FROM (SELECT DISTINCT host FROM url WHERE state = 0)")
        ((files, archived),) = _rows(connection, "SELECT count(*), total(size) FROM warc")
        unkept: dict[str, int] = dict(
            _rows(connection, "SELECT key, count FROM figure WHERE name = 'unkept' AND count > 0 ORDER BY key")
        )
        last_run = _last_run(connection)
        extracted = _extracted(connection)
        cycles = list_cycles(connection)
    finally:
        connection.close()
    running = running_crawl(folder)
    killed = 0 if running else killed_crawl(folder)
    waits = running and last_run and last_run.next_round > time.time() and last_run.round == number
    since = int(visited) - (last_run.visited if last_run and last_run.round == number else 0)
    return Status(
        collection=str(folder),
        round=number,
        pages=int(pages),
        urls=sum(states.values()),
        unfetched=states.get(State.PENDING, 0) + states.get(State.WAITING, 0),
        states={STATE_NAMES[State(state)]: count for state, count in sorted(states.items()) if count},
        hosts=hosts,
        hosts_waiting=waiting,
        archive_files=files,
        archive_bytes=int(archived),
        database_bytes=sum(part.stat().st_size for part in folder.glob("crawl.db*")),
        running=running,
        pages_per_s=0.0 if killed else _speed(folder, since, last_run, began=started if running else None),
        next_round=last_run.next_round if last_run and waits else 0.0,
        last_run=last_run,
        extracted=extracted,
        near=count_near(folder),
        cycles=cycles,
        requisites=int(requisites),
        sitemaps=int(sitemaps),
        unkept=unkept,
        killed=killed,
    )


def killed_crawl(folder: Path) -> int:
    """The process that crawled into this folder last and was broken off: its number stands in place of how it ended."""
    with contextlib.suppress(OSError, ValueError):
        return int((folder / "lock").read_text()[:32])
    return 0


def running_crawl(folder: Path) -> int:
    """The process that crawls into this folder now, or 0."""
    with contextlib.suppress(OSError, ValueError, OverflowError):
        handle = os.open(folder / "lock", os.O_RDONLY | os.O_CLOEXEC)
        try:
            process = int(os.pread(handle, 32, 0))
            with contextlib.suppress(PermissionError):  # another user's, which may hold it
                os.kill(process, 0)  # of a process that is gone, the lock is not even tried: a crawl may be taking it
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return process
        finally:
            os.close(handle)
    return 0


def format_status(status: Status) -> str:
    """The figures as people read them."""
    known = f"{counted(status.pages, 'page')} of {counted(status.hosts, 'host')}, {counted(status.urls, 'URL')} known"
    lines = [f"{status.collection}: {known}"]
    if status.round > 1:
        lines[0] += f", round {status.round}"
    width = max((len(name) for name in status.states), default=0)
    lines += [f"  {name:{width}}  {count:>12,}" for name, count in status.states.items()]
    size = f"{show_size(status.archive_bytes)} in {counted(status.archive_files, 'archive file')}"
    lines.append(f"  kept: {size}, database {show_size(status.database_bytes)}")
    if status.sitemaps:
        lines.append(f"  beside pages, to list them: {counted(status.sitemaps, 'sitemap')}")
    if status.requisites:
        lines.append(f"  beside pages, to show them: {counted(status.requisites, 'requisite')}")
    for reason, count in status.unkept.items():
        lines.append(f"  only counted ({reason}): {counted(count, 'address')} beyond those that are kept")
    if status.near:
        pages = f"{status.near.pages:,} of {status.near.compared:,} pages say what another says"
        lines.append(f"  near-duplicates: {pages}, in {counted(status.near.clusters, 'cluster')}")
    if status.hosts_waiting:
        lines.append(f"  waiting: {counted(status.unfetched, 'URL')} of {counted(status.hosts_waiting, 'host')}")
    if status.cycles:
        last = status.cycles[-1]
        brought = f"{counted(last.pages, 'page')}, {counted(last.finds, 'find')}, {counted(last.new, 'new address')}"
        told = f"the last brought {brought} in {counted(last.answers, 'answer')} and {last.seconds:,.1f} s"
        lines.append(f"  {counted(len(status.cycles), 'cycle')}; {told}")
    if status.next_round:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(status.next_round))
        lines.append(f"  a crawl is waiting (process {status.running}): round {status.round + 1} begins at {at}")
    elif status.running:
        lines.append(f"  a crawl is running (process {status.running}), {status.pages_per_s:,.1f} pages/s")
    elif status.killed:
        lines.append(
            f"  no crawl is running; the last one (process {status.killed}) was broken off: run it again to go on"
        )
    elif status.last_run:
        run = status.last_run
        lines.append(
            f"  last run: {counted(run.pages, 'page')} in {run.seconds:,.1f} s, {status.pages_per_s:,.1f} pages/s"
        )
    lines += [f"  {phrase}" for phrase in status.told]
    for one in status.extracted:
        outcomes = ", ".join(f"{name} {count:,}" for name, count in one.outcomes.items())
        lines.append(
            f"  {one.quarry}: {counted(one.records, 'record')} from {counted(one.documents, 'document')} ({outcomes})"
        )
        lines += [f"    set aside {url}: {why}" for url, why in one.aside]
    return "\n".join(lines)


def _extracted(connection: apsw.Connection) -> list[ExtractionStatus]:
    by_quarry: dict[str, ExtractionStatus] = {}
    for quarry, outcome, count, records in _rows(connection, _OUTCOMES):
        one = by_quarry.setdefault(quarry, ExtractionStatus(quarry, 0, 0, {}, []))
        one.documents += count
        one.records += records
        one.outcomes[outcome] = count
    for one in by_quarry.values():
        one.aside = [
            (url, f"{outcome}: {error}") for url, outcome, error in database.rows(connection, _ASIDE, [one.quarry])
        ]
    return list(by_quarry.values())


def _rows(connection: apsw.Connection, sql: str) -> list[database.Row]:
    return list(database.rows(connection, sql))


def _last_run(connection: apsw.Connection) -> LastRun | None:
    for (text,) in _rows(connection, "SELECT value FROM meta WHERE key = 'last_run'"):
        with contextlib.suppress(msgspec.MsgspecError):
            return msgspec.json.decode(text, type=LastRun)
    return None


def _speed(folder: Path, pages: int, last_run: LastRun | None, *, began: float | None) -> float:
    """Pages per second: of the run under way in the round that `began` then, or else of the last run."""
    if began is None:
        return last_run.pages / last_run.seconds if last_run and last_run.seconds > 0 else 0.0
    # The lock is written when a run begins, which may hold several rounds; a round may take several runs.
    seconds = time.time() - max(began, (folder / "lock").stat().st_mtime)
    return max(0.0, pages / seconds) if seconds > 0 else 0.0
