"""Crawls beside the server: their processes, how they stand, and one reading in two seconds for all who look on.

Crawls that the page started outlive it and the server, and are stopped by a signal. Nothing here remembers one: the
lock of its collection says whether it runs, and which process it is. Figures are read by a few cheap queries, so
that looking on costs a crawl next to nothing: it counts as it goes (tables `stat` and `figure`), and no rows are
counted here but those of hosts.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from msgspec import Struct

from lycosa import reasons
from lycosa.collection import database
from lycosa.collection.status import running_crawl
from lycosa.disk import free_bytes
from lycosa.errors import CollectionError, DiskFull, UsageError
from lycosa.missions.registry import kept_options
from lycosa.model import STATE_NAMES, State
from lycosa.serve.background_work import Started, interrupt, launch, read_end
from lycosa.serve.collection_summaries import (
    database_bytes,
    describe_end,
    mark_commits,
    modified_at,
    read_last_run,
    read_mission_table,
)
from lycosa.serve.rate_history import LOG, POINTS, RatePoint, last_lines, read_rates, spread_evenly

CONSOLE = "logs/console.log"  # what a crawl says to people, in its collection
_CONSOLE_BYTES = 1 << 20
START_S = 10.0  # that a crawl gets to take its collection, or to say why it cannot
_LOOK_S = 0.05


def start_crawl(
    folder: Path, arguments: Sequence[str], *, options: Sequence[str] = (), seeds: Sequence[str] = ()
) -> int:
    """Start `lycosa crawl` for a collection, and return its process; an error with its words where it makes nothing.

    `options` stand before the arguments. `--seeds=-` among these reads the `seeds`, which the list of processes does
    not show: an address may hold a token.
    """
    _refuse_second(folder)
    is_new = not folder.exists()
    if not is_new:
        options = [*options, *kept_options(folder, read_mission_table(folder).get("missions", []))]
    console = folder / CONSOLE
    try:
        console.parent.mkdir(parents=True, exist_ok=True)
        before = console.stat().st_size if console.exists() else 0
        if before > _CONSOLE_BYTES:
            console.unlink()
            before = 0
        with open(console, "ab") as output:
            started = launch(["crawl", *options, *arguments], output=output, given=seeds)
    except OSError as problem:
        raise CollectionError(f"A crawl cannot be started in {folder}: {problem.strerror or problem}.") from None
    threading.Thread(target=started.wait, daemon=True).start()  # or it stays in the table of processes
    _await_start(started, folder, before=before, is_new=is_new)
    return started.pid


def _refuse_second(folder: Path) -> None:
    if process := running_crawl(folder):
        raise CollectionError(f"A crawl already runs there (process {process}): stop it, or wait for it to end.")


def _await_start(started: Started, folder: Path, *, before: int, is_new: bool) -> None:
    """Wait until a crawl holds its collection, or has ended."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        code = started.poll()
        if code is not None:
            said = read_console(folder, since=before)
            is_made = (folder / "crawl.db").exists()
            if is_new and not is_made:
                shutil.rmtree(folder, ignore_errors=True)
            if code == DiskFull.exit_code and not is_made:
                raise DiskFull(said or "There is no room left on the disk: make room, then start the crawl again.")
            if code == UsageError.exit_code or not is_made:  # a setting, a folder: nothing was done
                _refuse_second(folder)  # somebody else pressed the button in the same moment
                raise UsageError(said or "The crawl ended at once, and said nothing.")
            return
        if running_crawl(folder) == started.pid and (folder / "crawl.db").exists():
            return
        time.sleep(_LOOK_S)


def stop_crawl(folder: Path) -> int:
    """Ask the crawl of a collection to end, as Ctrl-C does, and return its process; 0 if none runs."""
    process = running_crawl(folder)
    if not process:
        return 0
    with contextlib.suppress(ProcessLookupError):
        interrupt(process, is_still=lambda: running_crawl(folder) == process)
        return process
    return 0


def read_console(folder: Path, *, since: int = 0) -> str:
    """The end of what crawls said to people."""
    return read_end(folder / CONSOLE, since=since)


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


LOOK_S = 2.0
_MOST_SAMPLES = 1_800
_RATE_S = 10.0  # over which the present speed is the mean
_MOST_WATCHED = 200


class RateChart(Struct, frozen=True):
    """The speed over time, as it is drawn in a box of 1000 by 200."""

    line: str = ""  # points of an SVG path
    area: str = ""
    top: float = 0.0  # answers per second at the upper edge
    began: float = 0.0
    ended: float = 0.0


class CrawlPage(Struct, frozen=True):
    """What the page of a crawl shows."""

    name: str
    figures: CrawlFigures
    pages_per_s: float  # now
    answers_per_s: float
    rates: list[RatePoint]
    chart: RateChart


class WatchedCrawls:
    """The latest figures of the collections that somebody watches, and what they were before."""

    def __init__(self) -> None:
        self._watched: dict[Path, _WatchedCrawl] = {}
        self._lock = Lock()
        self.watchers = 0
        self.closing = False  # the server ends, and whoever watches goes

    def read(self, name: str, folder: Path) -> CrawlPage:
        """The page of a collection, not older than two seconds."""
        with self._lock:
            if len(self._watched) > _MOST_WATCHED:
                self._watched.clear()
            watched = self._watched.setdefault(folder, _WatchedCrawl(name, folder))
        return watched.read()


class _WatchedCrawl:
    """One collection that is watched."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder
        self._lock = Lock()
        self._read_at = 0.0
        self._stamp: object = None
        self._page: CrawlPage | None = None
        self._samples: deque[tuple[float, int, int, int]] = deque(maxlen=_MOST_SAMPLES)  # time, process, answers, pages
        self._rates: list[RatePoint] = []
        self._rates_at = 0.0

    def read(self) -> CrawlPage:
        with self._lock:
            now, process = time.monotonic(), running_crawl(self._folder)
            stamp = process, mark_commits(self._folder)
            if self._page is not None and process == self._page.figures.process:
                is_idle = stamp == self._stamp and not self._page.answers_per_s and not self._page.pages_per_s
                if is_idle or (process and now - self._read_at < LOOK_S * 0.9):
                    return self._page
            self._read_at, self._stamp = now, stamp
            self._page = None  # of one that vanished, nothing is shown any more
            self._page = self._look()
            return self._page

    def _look(self) -> CrawlPage:
        figures = read_figures(self._folder)
        if self._samples and (self._samples[-1][1] != figures.process or self._samples[-1][2] > figures.answers):
            self._samples.clear()  # another run, or another round
        self._samples.append((figures.at, figures.process, figures.answers, figures.pages))
        rates = self._read_rates(figures)
        pages, answers = self._speed(figures)
        return CrawlPage(
            name=self._name,
            figures=figures,
            pages_per_s=pages,
            answers_per_s=answers,
            rates=rates,
            chart=draw_rates(rates),
        )

    def _speed(self, figures: CrawlFigures) -> tuple[float, float]:
        """Pages and answers per second over the last moments; before there are two samples, over the run."""
        if not figures.process:
            return 0.0, 0.0
        then = next((sample for sample in self._samples if sample[0] >= figures.at - _RATE_S), self._samples[-1])
        seconds = figures.at - then[0]
        if seconds < LOOK_S / 2:
            recent = [point.rate for point in self._rates if point.at > figures.at - _RATE_S]
            mean = sum(recent) / len(recent) if recent else 0.0
            return 0.0, round(mean, 1)
        return round((figures.pages - then[3]) / seconds, 1), round((figures.answers - then[2]) / seconds, 1)

    def _read_rates(self, figures: CrawlFigures) -> list[RatePoint]:
        """The speed over the run, or over the last round where none runs; a long history is read less often."""
        began = figures.run_started if figures.process else figures.round_started
        patience = LOOK_S if figures.at - began < 600 else 10.0
        if not self._rates or figures.at - self._rates_at >= patience:
            until = figures.at if figures.process else 0.0
            rates = read_rates(find_log(self._folder), since=began, until=until)
            if not rates and len(self._samples) > 1:
                seen = [(sample[0], float(sample[2])) for sample in self._samples]
                rates = spread_evenly(seen, until=figures.at, points=POINTS)
            self._rates, self._rates_at = rates, figures.at
        return self._rates


def draw_rates(rates: list[RatePoint]) -> RateChart:
    """The curve of a speed, a step for each span; empty where there are not two of them."""
    if len(rates) < 2:
        return RateChart()
    top = _round_up(max(point.rate for point in rates))
    step = 1000 / len(rates)
    heights = [200 - 200 * point.rate / top for point in rates]
    steps = (f"V{height:.1f}H{step * nth:.1f}" for nth, height in enumerate(heights, 1))
    line = f"M0 {heights[0]:.1f}" + "".join(steps)
    began = 2 * rates[0].at - rates[1].at
    return RateChart(line=line, area=f"{line}V200H0Z", top=top, began=began, ended=rates[-1].at)


def _round_up(value: float) -> float:
    """The next number that people like at the end of an axis: 1, 2 or 5, and zeros."""
    if value <= 0:
        return 1.0
    unit = 10.0 ** (len(str(int(value))) - 1) if value >= 1 else 0.1
    return next((unit * step for step in (1, 2, 5, 10) if unit * step >= value), value)
