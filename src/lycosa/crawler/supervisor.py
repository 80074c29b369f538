"""Supervisor: the parent process, which starts the workers, watches them and the disk, and says when the crawl is over.

It fetches and parses nothing, so a page that crashes a native library costs one worker its batch, not the crawl.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lycosa.config.settings import KeepSettings, Mission
from lycosa.crawler.page_limit import ClusterLimit
from lycosa.crawler.rendering import Browsers
from lycosa.crawler.shared_run import MachineReports
from lycosa.crawler.summary import CrawlProgress
from lycosa.crawler.target_loading import last_cycle
from lycosa.disk import free_bytes
from lycosa.errors import Damaged, DiskFull
from lycosa.frontier.contract import Frontier
from lycosa.intake.guidance import GuardedQuarry
from lycosa.politeness.shared_state import Cell, SharedState
from lycosa.process import die_with_parent, interruptible
from lycosa.process.limits import resident_bytes

LOOK_S = 1.0
_EVERY, _MOST_POINTS = 20, 1000  # of the curve of finds: pages from one point to the next, at least; points
_SHARE = 20  # the reserve is at most this part of the disk: a small one would never have room

Measure = Callable[[Path], tuple[int, int]]  # the bytes that are free, and those of the whole disk


class DiskGuard:
    """Measures once a second how much of a disk is free, and says what is lacking."""

    def __init__(self, folder: Path, keep: KeepSettings, *, measure: Measure = free_bytes) -> None:
        self._folder = folder
        self._measure = measure
        self._wanted = keep.reserve_bytes
        self._patience_s = keep.wait_s
        self._look_at = 0.0
        self._since: float | None = None  # when the room was first found wanting
        self._lack = ""

    def lack(self) -> str:
        """What is lacking, in a sentence; empty: nothing."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_S
            self._lack = self._find_lack()
            if not self._lack:
                self._since = None
            elif self._since is None:
                self._since = now
        return self._lack

    @property
    def is_hopeless(self) -> bool:
        """Whether the crawl has waited for room as long as the user wants."""
        return self._since is not None and time.monotonic() - self._since >= self._patience_s

    def _find_lack(self) -> str:
        try:
            free, size = self._measure(self._folder)
        except OSError as error:
            return f"The disk of {self._folder} does not answer: {error.strerror}."
        reserve = min(self._wanted, size // _SHARE)
        if self._lack:
            reserve += reserve // 10  # a little more than it lacked, or it would pause again at once
        if free >= reserve:
            return ""
        left, wanted = f"{free / 1e6:,.1f}", f"{reserve / 1e6:,.1f}"
        return f"Only {left} MB of room are left on the disk of {self._folder}, and {wanted} MB must stay free."


class HarvestWatch:
    """Keeps how many pages brought how many finds, and asks the quarry now and then whether that is the end."""

    def __init__(self, quarry: GuardedQuarry | None) -> None:
        self._quarry = quarry
        self._curve = [(0, 0)]

    def is_over(self, shared: SharedState) -> bool:
        """Whether what is hunted is exhausted."""
        if self._quarry is None or shared.total(Cell.JUDGED) < self._curve[-1][0] + _EVERY:
            return False
        self._curve.append((int(shared.total(Cell.JUDGED)), int(shared.total(Cell.FINDS))))
        if len(self._curve) > _MOST_POINTS:
            del self._curve[1:-1:2]
        return self._quarry.is_exhausted(self._curve)


TICK_S = 0.05
WAITING_TICKS = 8  # between two questions whether all is done, while what is left waits: each opens the database
OWED_S = 1.0  # between two questions whether requisites are left when all pages are stored
HANG_S = 120.0  # a worker that has not turned its loop for this long is taken for hung
RESTARTS = 20  # deaths of workers, one after the other without a page between them, before the crawl gives up
BY_PAGE = 0.1  # what a death counts that was a page's doing: a site may have many such pages, and each is set aside
STRIKES = 2  # workers that a page may kill before it is set aside

Start = Callable[[int], None]  # runs one worker in the forked child; returns when it is done
LookAgain = Callable[[], bool]  # at the end: True if there is more to do after all


class Supervisor:
    """Forks one process for each slot and keeps them running until the crawl ends."""

    def __init__(
        self,
        mission: Mission,
        frontier: Frontier,
        shared: SharedState,
        *,
        start: Start,
        progress: CrawlProgress,
        look_again: LookAgain,
        browsers: Browsers,
        disk_guard: DiskGuard,
        harvest_watch: HarvestWatch,
        cluster_limit: ClusterLimit | None = None,
        machine_reports: MachineReports | None = None,
    ) -> None:
        self.mission = mission
        self.frontier = frontier
        self.shared = shared
        self._start = start
        self._progress = progress
        self._look_again = look_again
        self._browsers = browsers
        self._disk_guard = disk_guard
        self._harvest_watch = harvest_watch
        self._cluster_limit = cluster_limit
        self._machine_reports = machine_reports
        self._pids: dict[int, int] = {}  # pid -> slot
        self._notices = [0] * shared.workers  # of each worker, how many were told
        self._interrupts = 0
        self._settled = 0  # times in a row that nothing was owed
        self._ask_again_at = 0.0
        self._deaths = 0.0
        self._stored_at_death = -1
        self.replaced = 0  # workers that died
        #: "limit", "time", "bytes", "cycles", "exhausted", "interrupt", "disk", "damaged", "deaths"; empty: all is done
        self.ended_by = ""

    def run(self) -> None:
        """Returns when every worker has ended."""
        began = time.monotonic()
        with interruptible(self._interrupt), self._children():
            self._check_disk()
            for slot in range(0 if self.shared.stopping else self.shared.workers):
                self._fork(slot)
            idle_ticks = pause_ticks = 0  # all workers idle, in a row; to pass before the frontier is asked once more
            requests = 0.0
            while self._pids:
                time.sleep(TICK_S)
                self._reap()
                self._kill_hung()
                self._kill_large()
                if note := self._browsers.supervise():  # what people should know
                    self._progress.say(note)
                if self.shared.stopping:
                    self._hurry()
                    continue
                self._tell_notices()
                self._progress.update(self.shared)
                if self._machine_reports is not None:
                    self._machine_reports.update()
                self._check_disk()
                before, requests = requests, self.shared.total(Cell.REQUESTS)
                is_idle = self._is_idle()
                if requests != before or not is_idle:
                    pause_ticks = 0
                if not is_idle:
                    idle_ticks = 0
                elif pause_ticks:
                    pause_ticks -= 1
                else:
                    idle_ticks += 1
                if idle_ticks >= 2:
                    if 0 < self.mission.policy.cycles <= last_cycle(self.frontier):
                        self._end("cycles")
                    elif self.frontier.targets.pending() or self._look_again():
                        idle_ticks, pause_ticks = 0, WAITING_TICKS
                    else:
                        self.shared.stop()
                elif self._is_full(idle=is_idle) and not self._owes_requisites():
                    self._end("limit")
                elif 0 < self.mission.limits.time_s <= time.monotonic() - began:
                    self._end("time")
                elif 0 < self.mission.limits.total_bytes <= self.shared.total(Cell.BYTES):
                    self._end("bytes")
                elif self._harvest_watch.is_over(self.shared):
                    self._end("exhausted")
        self._progress.clear()

    def _is_full(self, *, idle: bool) -> bool:
        """Whether as many pages are stored as the limit allows, on all machines together."""
        return self.shared.full if self._cluster_limit is None else self._cluster_limit.supervise(idle=idle)

    def _owes_requisites(self) -> bool:
        """Whether pages that are stored still lack what they need to be shown, as far as is known."""
        if self.mission.requisites.take == "none":
            return False
        now = time.monotonic()
        if now >= self._ask_again_at:
            self._ask_again_at = now + OWED_S
            is_busy = self.shared.total(Cell.ACTIVE) > 0
            self._settled = 0 if is_busy or self.frontier.targets.owes_requisites() else self._settled + 1
        return self._settled < 2  # what was received last may not have been committed the first time

    def _tell_notices(self) -> None:
        """Tell people what workers have to say."""
        for slot in range(self.shared.workers):
            for text in self.shared.notices(slot, self._notices[slot]):
                self._notices[slot] += 1
                self._progress.say(text)

    @contextmanager
    def _children(self) -> Iterator[None]:
        """End every worker and the browsers, however the crawl ends."""
        try:
            yield
        finally:
            self.shared.stop()
            for pid in self._pids:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
            self._browsers.close()

    def _end(self, why: str) -> None:
        if not self.ended_by:
            self.ended_by = why
        self.shared.stop()

    def _fork(self, slot: int) -> None:
        self.shared.clear(slot)
        self.shared.put(slot, Cell.BEAT, time.monotonic())
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            code = 1
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                die_with_parent(parent)
                signal.signal(signal.SIGPROF, signal.SIG_DFL)  # the end of a page's processor time is the worker's
                self.shared.join()
                self._start(slot)
                code = 0
            finally:
                os._exit(code)
        self._pids[pid] = slot

    def _is_idle(self) -> bool:
        return all(self.shared.get(slot, Cell.IDLE) for slot in range(self.shared.workers))

    def _reap(self) -> None:
        for pid, slot in list(self._pids.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            del self._pids[pid]
            if os.waitstatus_to_exitcode(status) != 0:
                try:
                    self._replace_worker(slot, os.waitstatus_to_exitcode(status))
                except DiskFull:
                    self._end("disk")

    def _replace_worker(self, slot: int, code: int) -> None:
        """A worker died: its successor does again what it had not committed; the page it died of is remembered."""
        if code in (DiskFull.exit_code, Damaged.exit_code):
            self._tell_notices()
            self._end("disk" if code == DiskFull.exit_code else "damaged")
            return
        self.frontier.leases.clear_slot(slot)
        stored = self.frontier.figures.counted() if self._cluster_limit is None else self._cluster_limit.stored()
        self.shared.forget(slot, stored)
        page = int(self.shared.get(slot, Cell.WORKING_ON))
        if page and self.frontier.changes.strike(page) >= STRIKES:
            self.frontier.changes.set_aside(page, "killed-worker")
        self.shared.put(slot, Cell.WORKING_ON, 0)
        self.shared.put(slot, Cell.COMMITTING, 0)
        weight = BY_PAGE if page else 1.0
        self._deaths = weight if stored != self._stored_at_death else self._deaths + weight
        self._stored_at_death = stored
        if self.shared.stopping:
            return
        if self._deaths > RESTARTS:
            self._end("deaths")
            return
        self.replaced += 1
        self._fork(slot)

    def _check_disk(self) -> None:
        """Pause the crawl, or end it, while there is still room to do so; go on when there is enough again."""
        lack = self._disk_guard.lack()
        if lack and self._disk_guard.is_hopeless:
            self._progress.say(lack)
            self._end("disk")
        elif bool(lack) != self.shared.pausing:
            self.shared.pause(bool(lack))
            self._progress.say(
                f"{lack} The crawl pauses until there is room." if lack else "There is room again: it goes on."
            )

    def _kill_hung(self) -> None:
        now = time.monotonic()
        for pid, slot in list(self._pids.items()):
            if now - self.shared.get(slot, Cell.BEAT) > HANG_S:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _kill_large(self) -> None:
        """A worker that outgrows its memory ends alone, before the machine runs out of it."""
        limit = self.mission.limits.memory_bytes
        for pid in self._pids if limit else ():
            if resident_bytes(pid) > limit:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _hurry(self) -> None:
        """A second Ctrl-C ends the workers at once; what they had not committed stays in the frontier."""
        if self._interrupts >= 2:
            for pid in self._pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _interrupt(self, _signal: int, _frame: object) -> None:
        self._interrupts += 1
        if self._interrupts == 1:
            self._progress.say("Finishing what is under way; Ctrl-C again stops at once.")
        self._end("interrupt")
