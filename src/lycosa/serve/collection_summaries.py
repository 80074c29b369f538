"""Collection summaries: what the home page says of each, by a few cheap queries, kept until something changes."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from lycosa.collection import database
from lycosa.collection.reading_source import find_shared
from lycosa.collection.status import LastRun, killed_crawl, running_crawl
from lycosa.config.toml import parse_tables
from lycosa.derived.store import KeptValues, mark_files
from lycosa.errors import CollectionError, Damaged, LycosaError
from lycosa.model import State
from lycosa.serve.collection_folders import decode_name, refuse_strange_files
from lycosa.serve.translations import mark

_STEPS = 100_000  # of SQLite between two looks at the clock
_VALUE_BYTES = 256 << 20


class _TimeLimit:
    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def is_over(self) -> bool:
        return time.monotonic() > self.end


_limit: ContextVar[_TimeLimit | None] = ContextVar("time_limit", default=None)


@contextmanager
def limited_time(seconds: float) -> Iterator[None]:
    """End statements of databases that are opened in the block when its time is over; what outlives it has more."""
    limit, outer = _TimeLimit(seconds), _limit.get()
    if outer is not None:
        limit.end = min(limit.end, outer.end)
    token = _limit.set(limit)
    try:
        yield
    finally:
        limit.end = math.inf
        _limit.reset(token)


def _bind(connection: apsw.Connection) -> None:
    """Bind a connection that is being opened to the limit that holds now."""
    if (limit := _limit.get()) is not None:
        connection.set_progress_handler(limit.is_over, _STEPS)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)


apsw.connection_hooks.append(_bind)


#: How a crawl ended, by `ended_by` of its report: the state of the collection, and what people should know.
ENDINGS = {
    "": ("finished", mark("Nothing is left to fetch.")),
    "bounds": ("finished", mark("What is left was refused by bounds; the list of addresses tells by which.")),
    "limit": ("limit", mark("The page limit was reached; a higher one continues from here.")),
    "time": ("limit", mark("The time limit was reached; it can be continued.")),
    "bytes": ("limit", mark("As many bytes came as its settings allow; it can be continued.")),
    "cycles": ("limit", mark("As many cycles are done as its settings allow; with more it continues.")),
    "exhausted": ("limit", mark("What was hunted seemed exhausted; it can be continued.")),
    "interrupt": ("interrupted", mark("It was stopped; it can be continued.")),
    "disk": ("interrupted", mark("The disk is full: make room, then continue.")),
    "deaths": ("interrupted", mark("Its workers died again and again; logs/errors.log says why.")),
    "killed": ("interrupted", mark("It was broken off (killed, or the power was lost); it can be continued.")),
    "unfinished": ("interrupted", mark("It was not finished; it can be continued.")),
}
#: The names of states.
STATES = {
    "running": mark("running"),
    "waiting": mark("waits for its next round"),
    "finished": mark("finished"),
    "limit": mark("limit reached"),
    "interrupted": mark("interrupted"),
    "damaged": mark("damaged"),
    "unreadable": mark("cannot be opened"),
}

_MISSION_BYTES = 1 << 20
_MOST_KEPT = 4_000
_SECONDS = 5.0  # that a collection may take, as others are shown beside it


class CollectionSummary(Struct, frozen=True):
    """What home says of a collection."""

    name: str  # in addresses
    label: str  # for people
    state: str  # a key of STATES
    why: str = ""  # a sentence of ENDINGS, or the problem of one that cannot be opened
    missions: list[str] = []
    seeds: list[str] = []  # the first few
    round: int = 0
    pages: int = 0
    waiting: int = 0
    size: int = 0  # bytes of archive and database
    process: int = 0  # of the crawl that runs
    ended: float = 0.0  # when the last run ended, Unix time
    next_round: float = 0.0  # when it begins


class CollectionSummaries:
    """Reads summaries, and keeps each until the files of its collection change."""

    def __init__(self) -> None:
        self._kept = KeptValues[CollectionSummary](_MOST_KEPT)

    def read(self, name: str, folder: Path) -> CollectionSummary:
        """The summary of a collection; a problem with it is a part of it."""
        unreadable = CollectionSummary(name=name, label=decode_name(name), state="unreadable")
        try:
            refuse_strange_files(folder)
        except CollectionError as problem:
            return msgspec.structs.replace(unreadable, why=str(problem))

        def read() -> CollectionSummary:
            try:
                with limited_time(_SECONDS):
                    return read_summary(name, folder)
            except (ArithmeticError, LookupError, TypeError, ValueError):  # of values that no crawl writes
                return msgspec.structs.replace(unreadable, why=mark("Its database holds what no crawl writes."))

        return self._kept.get(folder, _mark_live(folder), read)


def read_summary(name: str, folder: Path) -> CollectionSummary:
    """The summary of a collection as it is now."""
    process = running_crawl(folder)
    mission = read_mission_table(folder)
    missions, seeds = _texts(mission.get("missions")), _texts(mission.get("seeds"))[:3]
    ground = CollectionSummary(
        name=name, label=decode_name(name), state="running", missions=missions, seeds=seeds, process=process
    )
    try:
        return _read_database(ground, folder)
    except LycosaError as problem:
        state = _name_problem(problem, folder, running=bool(process))
        return msgspec.structs.replace(ground, state=state, why=str(problem))


def _name_problem(problem: LycosaError, folder: Path, *, running: bool) -> str:
    """The state of a collection that cannot be read; a crawl that runs may be making its database just now."""
    if not isinstance(problem, CollectionError):
        return "unreadable"
    if running:
        return "running"
    is_lost = isinstance(problem, Damaged) or not (folder / "crawl.db").exists()
    return "damaged" if is_lost else "unreadable"


def _read_database(ground: CollectionSummary, folder: Path) -> CollectionSummary:
    connection = database.connect(folder)
    try:
        states: dict[int, int] = dict(database.rows(connection, "SELECT state, sum(count) FROM stat GROUP BY state"))
        ((pages,),) = database.rows(connection, "SELECT total(count) FROM figure WHERE name = 'pages'")
        ((archived,),) = database.rows(connection, "SELECT total(size) FROM warc")
        ((number,),) = database.rows(connection, "SELECT max(round) FROM round")
        last_run = read_last_run(connection)
    finally:
        connection.close()
    waiting = states.get(State.PENDING, 0) + states.get(State.WAITING, 0)
    state, why = describe_end(folder, last_run, running=ground.process, waiting=waiting, round_number=number)
    next_round = last_run.next_round if last_run and state == "waiting" else 0.0
    return msgspec.structs.replace(
        ground,
        state=state,
        why=why,
        round=number,
        pages=int(pages),
        waiting=waiting,
        size=int(archived) + database_bytes(folder),
        ended=0.0 if ground.process else modified_at(folder / "lock") or modified_at(folder / "crawl.db"),
        next_round=next_round,
    )


def describe_end(
    folder: Path, last_run: LastRun | None, *, running: int, waiting: int, round_number: int
) -> tuple[str, str]:
    """The state of a collection, and why its crawl ended; the latter is empty while it runs."""
    if running:
        waits = last_run is not None and last_run.next_round > time.time() and last_run.round == round_number
        return ("waiting" if waits else "running"), ""
    if killed_crawl(folder):
        return ENDINGS["killed"]
    if last_run is None:
        return ENDINGS["unfinished" if waiting else ""]
    how = "bounds" if not last_run.ended_by and last_run.has_bounds else last_run.ended_by
    return ENDINGS.get(how, ENDINGS["unfinished"])


def read_last_run(connection: Any) -> LastRun | None:
    """What the report of the last run said; None before the first one ended."""
    for (text,) in database.rows(connection, "SELECT value FROM meta WHERE key = 'last_run'"):
        with contextlib.suppress(msgspec.MsgspecError):
            return msgspec.json.decode(text, type=LastRun)
    return None


def read_mission_table(folder: Path) -> dict[str, Any]:
    """The settings in the collection's own file, unchecked; empty where there is none that can be read."""
    try:
        with open(folder / "lycosa.toml", "rb") as file:
            return parse_tables(file.read(_MISSION_BYTES).decode())
    except (OSError, ValueError):
        return {}


def _texts(value: object) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def database_bytes(folder: Path) -> int:
    """The bytes of the database with its log."""
    return sum(_size(folder / f"crawl.db{suffix}") for suffix in ("", "-wal", "-shm"))


def _mark_live(folder: Path) -> object:
    """What changes when a collection does; a crawl that runs, here or elsewhere, is asked again every two seconds."""
    running = running_crawl(folder)
    is_live = running or find_shared(folder) is not None
    return mark_commits(folder), running, int(time.time() / 2) if is_live else 0


def mark_commits(folder: Path) -> str:
    """The mark of the files that every commit of a crawl changes."""
    return mark_files(folder, ("crawl.db", "crawl.db-wal", "lock", "lycosa.toml", "logs/crawl.log"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def modified_at(path: Path) -> float:
    """When a file was last written, Unix time; 0 where it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
