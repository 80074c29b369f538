"""Crawl figures: how a crawl stands now, by a few cheap queries, so that looking on costs it next to nothing.

The crawl counts as it goes (tables `stat` and `figure`), so nothing here counts rows but those of hosts.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lycosa import reasons
from lycosa.collection import database
from lycosa.collection.status import running_crawl
from lycosa.disk import free_bytes
from lycosa.model import STATE_NAMES, State
from lycosa.serve.collection_summaries import (
    database_bytes,
    describe_end,
    modified_at,
    read_last_run,
    read_mission_table,
)
from lycosa.serve.crawl_processes import read_console
from lycosa.serve.rate_history import LOG, last_lines

TOP = 10
LOG_LINES = 30

_COUNTS = "SELECT state, reason, count FROM stat WHERE count > 0"
_FIGURES = "SELECT name, key, count FROM figure WHERE name IN ('pages', 'answers', 'stored') AND count > 0"
_TYPES = "SELECT key, count FROM figure WHERE name = 'type' AND count > 0 ORDER BY count DESC, key LIMIT ?"
_ROUND = "SELECT round, started FROM round ORDER BY round DESC LIMIT 1"
_BACKING_OFF = """
    SELECT name, next_at, delay_s, errors, count(*) OVER () FROM host
    WHERE delay_s > 0 AND next_at > ? ORDER BY next_at DESC LIMIT ?"""


class ReasonCount(Struct, frozen=True):
    """How many addresses were treated so, and why."""

    reason: str
    count: int
    meaning: str = ""


class RestingHost(Struct, frozen=True):
    """A host that is left alone for a while, as it did not answer well."""

    host: str
    until: float  # Unix time
    delay_s: float
    errors: int


class CrawlFigures(Struct, frozen=True):
    """How a crawl stands."""

    at: float
    state: str  # a key of collection_summaries.STATES
    why: str  # why it ended
    process: int
    round: int
    round_started: float
    run_started: float
    next_round: float
    pages: int
    answers: int  # of the round
    stored: int  # pages of the round, as the page limit counts them
    page_limit: int  # 0: none
    urls: int
    waiting: int
    states: dict[str, int]
    reasons: list[ReasonCount]
    types: dict[str, int]
    hosts: int
    resting: list[RestingHost]  # the first few
    resting_count: int
    archive_bytes: int
    database_bytes: int
    disk_free: int
    disk_size: int
    failed_seeds: dict[str, str]  # and why, of the last run
    log: list[str]
    console: str  # what it said to people, while it does not run


def read_figures(folder: Path) -> CrawlFigures:
    """The figures of now."""
    now = time.time()
    process = running_crawl(folder)
    connection = database.connect(folder)
    try:
        counts = list(database.rows(connection, _COUNTS))
        figures = {(name, key): count for name, key, count in database.rows(connection, _FIGURES)}
        types: dict[str, int] = dict(database.rows(connection, _TYPES, [TOP]))
        ((number, started),) = database.rows(connection, _ROUND)
        ((hosts,),) = database.rows(connection, "SELECT count(*) FROM host")
        resting = list(database.rows(connection, _BACKING_OFF, [now, TOP])) if process else []
        ((archived,),) = database.rows(connection, "SELECT total(size) FROM warc")
        last_run = read_last_run(connection)
        failed = {} if process else _failed_seeds(connection)
    finally:
        connection.close()
    states = _sum_states(counts)
    waiting = states.get(State.PENDING, 0) + states.get(State.WAITING, 0)
    state, why = describe_end(folder, last_run, running=process, waiting=waiting, round_number=number)
    free, size = _disk(folder)
    key = str(number)
    limit = read_mission_table(folder).get("limits", {})
    return CrawlFigures(
        at=now,
        state=state,
        why=why,
        process=process,
        round=number,
        round_started=started,
        run_started=modified_at(folder / "lock") if process else 0.0,
        next_round=last_run.next_round if last_run and state == "waiting" else 0.0,
        pages=figures.get(("pages", ""), 0),
        answers=figures.get(("answers", key), 0),
        stored=figures.get(("stored", key), 0),
        page_limit=_page_limit(limit),
        urls=sum(states.values()),
        waiting=waiting,
        states={STATE_NAMES[State(value)]: count for value, count in sorted(states.items())},
        reasons=_top_reasons(counts),
        types={mime or "?": count for mime, count in types.items()},
        hosts=hosts,
        resting=[RestingHost(*row[:4]) for row in resting],
        resting_count=resting[0][4] if resting else 0,
        archive_bytes=int(archived),
        database_bytes=database_bytes(folder),
        disk_free=free,
        disk_size=size,
        failed_seeds=failed,
        log=last_lines(find_log(folder), LOG_LINES),
        console="" if process else read_console(folder),
    )


def find_log(folder: Path) -> Path:
    """The log of a collection's crawl; the mission may have named another place, which is not looked at."""
    return folder / LOG


def _sum_states(counts: list[database.Row]) -> dict[int, int]:
    states: dict[int, int] = {}
    for state, _, count in counts:
        states[state] = states.get(state, 0) + count
    return states


def _top_reasons(counts: list[database.Row]) -> list[ReasonCount]:
    by_reason: dict[str, int] = {}
    for _, reason, count in counts:
        if reason:
            by_reason[reason] = by_reason.get(reason, 0) + count
    best = sorted(by_reason.items(), key=lambda pair: (-pair[1], pair[0]))[:TOP]
    return [ReasonCount(reason, count, reasons.explain(reason).meaning) for reason, count in best]


def _failed_seeds(connection: Any) -> dict[str, str]:
    """The first seeds that could not be fetched in the last run, and why."""
    for (text,) in database.rows(connection, "SELECT value FROM meta WHERE key = 'last_run'"):
        with contextlib.suppress(msgspec.MsgspecError, AttributeError):
            found = msgspec.json.decode(text).get("seeds", {})
            return {str(url): str(why) for url, why in list(found.items())[:TOP]}
    return {}


def _page_limit(limits: object) -> int:
    pages = limits.get("pages", 0) if isinstance(limits, dict) else 0
    return pages if isinstance(pages, int) and pages > 0 else 0


def _disk(folder: Path) -> tuple[int, int]:
    with contextlib.suppress(OSError):
        return free_bytes(folder)
    return 0, 0
