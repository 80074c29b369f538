"""Schedules: when a collection is visited again, and what became of it, in `.lycosa/schedules` of the served folder.

They do not stand in the collection, which may be a stranger's: nobody's crawl begins because a folder was put here.

The time of the next run is written down before a run is started, under a lock that all servers of the folder take; so
none is started twice, and one that was missed while no server ran is started once. A run is a crawl like any other: the
lock of its collection tells whether it goes on, the report of its end how it went.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa.collection import database
from lycosa.collection.status import running_crawl
from lycosa.config.loading import load
from lycosa.config.mission_files import find_own
from lycosa.disk import replace_text
from lycosa.errors import CollectionError, LycosaError, UsageError
from lycosa.serve.collection_folders import CollectionFolders, name_of
from lycosa.serve.collection_summaries import modified_at, read_summary
from lycosa.serve.crawl_form import refuse_risky_mission
from lycosa.serve.state_folder import STATE_FOLDER, make_state_folder
from lycosa.serve.translations import mark
from lycosa.serve.watched_crawls import start_crawl

PLACE = f"{STATE_FOLDER}/schedules"
LOOK_S = 15.0  # between two looks at all schedules
_MOST_RUNS = 50
_FIRST_PAGE = "SELECT min(fetched_at + interval) FROM url WHERE interval > 0 AND fetched_at > 0"
Kind = Literal["", "daily", "weekly", "pace"]
KINDS = {
    "": mark("only when I say so"),
    "daily": mark("every day"),
    "weekly": mark("every week"),
    "pace": mark("by the pages' own pace: as often as they change"),
}
DAYS = (
    mark("Monday"), mark("Tuesday"), mark("Wednesday"), mark("Thursday"), mark("Friday"), mark("Saturday"),
    mark("Sunday"),
)  # fmt: skip


class ScheduledRun(Struct, frozen=True):
    """A run that was due, and how it ended."""

    due: float
    began: float  # 0: it could not be started
    ended: float = 0.0  # 0: it goes on, or nobody looked yet
    state: str = ""  # a key of `collection_summaries.STATES`; "failed": it could not be started
    said: str = ""  # why it ended so, or could not begin
    taken: float = 0.0  # when a crawl had last taken the collection, before this one


class Schedule(Struct, frozen=True):
    """When a collection is visited."""

    kind: Kind = ""
    at: str = "06:00"  # in the zone
    day: int = 0  # of a week: Monday is 0
    zone: str = "UTC"
    due: float = 0.0  # the next run, Unix time
    runs: tuple[ScheduledRun, ...] = ()  # the newest first


def check_schedule(*, kind: str, at: str = "", day: str = "", zone: str = "") -> Schedule:
    """A schedule as it was typed; UsageError where it is none."""
    if kind not in KINDS:
        raise UsageError(f"The schedule is {kind[:50]!r}; allowed: {', '.join(filter(None, KINDS))}.")
    try:
        made = datetime.strptime(at or "06:00", "%H:%M")
    except ValueError:
        raise UsageError(f"The time is {at[:50]!r}; allowed: hours and minutes, as 06:00.") from None
    zone = zone or local_zone()
    try:
        ZoneInfo(zone)
    except (ValueError, LookupError, OSError):
        raise UsageError(f"The time zone is {zone[:50]!r}; allowed: one like Europe/Madrid, or UTC.") from None
    number = int(day) if day in map(str, range(len(DAYS))) else 0
    return Schedule(kind=kind, at=made.strftime("%H:%M"), day=number, zone=zone)  # type: ignore[arg-type]  # checked above


def local_zone() -> str:
    """The time zone of the machine."""
    with suppress(OSError, ValueError, LookupError):
        name = os.environ.get("TZ") or os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
        return ZoneInfo(name).key
    return "UTC"


def next_due(schedule: Schedule, after: float) -> float:
    """The next time of a day or a week that is later than `after`.

    A time that a change of clocks leaves out is an hour later on that day; of one that is there twice, it is the first.
    """
    zone, wanted = ZoneInfo(schedule.zone), datetime.strptime(schedule.at, "%H:%M").time()
    first: date = datetime.fromtimestamp(after, zone).date()
    for days in range(9):
        day = first + timedelta(days=days)
        if schedule.kind == "weekly" and day.weekday() != schedule.day:
            continue
        at = datetime.combine(day, wanted, zone).astimezone(UTC).timestamp()
        if at > after:
            return at
    raise AssertionError(schedule)  # no week is longer


def _next_by_pace(folder: Path, after: float) -> float:
    """When the first page is due, but not sooner than the mission allows."""
    own = find_own(folder)
    least = after + 3600 * (load(own, check_own=False).mission.recrawl.min_h if own else 1.0)
    connection = database.connect(folder)
    try:
        ((first,),) = database.rows(connection, _FIRST_PAGE)
    finally:
        connection.close()
    return max(least, float(first or 0.0))


def find_due(schedule: Schedule, folder: Path, after: float) -> float:
    """When a collection is visited next; 0 where it has no schedule."""
    if not schedule.kind:
        return 0.0
    return _next_by_pace(folder, after) if schedule.kind == "pace" else next_due(schedule, after)


def read_schedule(root: Path, folder: Path) -> Schedule:
    """The schedule of a collection below the served folder; one without any where there is none that can be read."""
    with suppress(OSError, msgspec.MsgspecError, UsageError):
        found = msgspec.json.decode(_file(root, folder).read_bytes(), type=Schedule)
        checked = check_schedule(kind=found.kind, at=found.at, day=str(found.day), zone=found.zone)
        return replace(checked, due=found.due, runs=found.runs)
    return Schedule(zone=local_zone())


def set_schedule(root: Path, folder: Path, schedule: Schedule, *, now: float | None = None) -> Schedule:
    """Give a collection a schedule; what became of earlier runs stays."""
    with changing(root):
        due = find_due(schedule, folder, time.time() if now is None else now)
        made = replace(schedule, due=due, runs=read_schedule(root, folder).runs)
        _write(root, folder, made)
    return made


def move_schedule(root: Path, folder: Path, to: Path | None) -> None:
    """Let the schedule follow a collection to its new name, or end with it."""
    file = _file(root, folder)
    with suppress(FileNotFoundError):
        file.unlink() if to is None else file.replace(_file(root, to))


class Scheduler:
    """Starts what is due; a thread of the server asks `look` again and again, or a test with a clock of its own."""

    def __init__(
        self, folders: CollectionFolders, options: Sequence[str] = (), *, now: Callable[[], float] = time.time
    ) -> None:
        self._folders = folders
        self._options = tuple(options)
        self._now = now
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._known: dict[Path, tuple[float, Schedule]] = {}

    def start(self) -> None:
        """Look from now on until `close`."""
        self._thread = threading.Thread(target=self._run, name="schedules", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5)

    def _run(self) -> None:
        while True:
            with suppress(LycosaError, OSError):  # the folder is gone for now
                self.look()
            if self._stop.wait(LOOK_S):
                return

    def look(self) -> None:
        """Start what is due now, and note what has ended."""
        now, root = self._now(), self._folders.root
        files = {file.stem: file for file in (root / PLACE).glob("*.json")}
        collections = self._folders.list() if files else {}
        for name, file in files.items():
            folder = collections.get(name)
            if folder is None:
                continue
            written = modified_at(file)
            stamp, schedule = self._known.get(folder, (0.0, Schedule()))
            if stamp != written:
                schedule = read_schedule(root, folder)
                self._known[folder] = written, schedule
            is_open = bool(schedule.runs) and not schedule.runs[0].ended
            if (is_open and not running_crawl(folder)) or 0 < schedule.due <= now:
                self._known.pop(folder, None)
                with suppress(LycosaError, OSError), changing(root):
                    self._advance(folder, now)

    def _advance(self, folder: Path, now: float) -> None:
        root = self._folders.root
        schedule = _note_end(root, folder, read_schedule(root, folder), now)
        if not 0 < schedule.due <= now:
            return
        run = ScheduledRun(due=schedule.due, began=now, taken=modified_at(folder / "lock"))
        started = replace(schedule, due=find_due(schedule, folder, now), runs=(run, *schedule.runs)[:_MOST_RUNS])
        _write(root, folder, started)  # first of all: whatever happens next, this run is not started again
        try:
            refuse_risky_mission(folder, below=root)
            words = [f"--collection={folder}", "--recrawl", "--set=recrawl.period_h=0"]
            start_crawl(folder, words, options=self._options)
        except LycosaError as problem:
            failed = replace(run, began=0.0, ended=now, state="failed", said=str(problem))
            _write(root, folder, replace(started, runs=(failed, *started.runs[1:])))


def _note_end(root: Path, folder: Path, schedule: Schedule, now: float) -> Schedule:
    """The schedule with what became of its last run, if that has ended."""
    if not schedule.runs or schedule.runs[0].ended or running_crawl(folder):
        return schedule
    run = schedule.runs[0]
    if modified_at(folder / "lock") == run.taken:  # no crawl took it since
        ended = replace(run, ended=now, state="failed", said=mark("The server ended before the crawl could begin."))
    else:
        summary = read_summary(folder.name, folder)
        ended = replace(run, ended=summary.ended or now, state=summary.state, said=summary.why)
    noted = replace(schedule, runs=(ended, *schedule.runs[1:]))
    if schedule.kind == "pace":  # only now it is known when pages are due
        noted = replace(noted, due=find_due(schedule, folder, now))
    _write(root, folder, noted)
    return noted


def _file(root: Path, folder: Path) -> Path:
    return root / PLACE / f"{name_of(root, folder)}.json"


def _write(root: Path, folder: Path, schedule: Schedule) -> None:
    replace_text(_file(root, folder), msgspec.json.encode(schedule).decode())


@contextmanager
def changing(root: Path) -> Iterator[None]:
    """Keep other servers of the folder from its schedules."""
    place = root / PLACE
    try:
        make_state_folder(root)
        place.mkdir(exist_ok=True, mode=0o700)
        handle = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as problem:
        raise CollectionError(f"No schedule can be kept in {root}: {problem.strerror}.") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
