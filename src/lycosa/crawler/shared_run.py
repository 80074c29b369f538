"""What of a run depends on others: machines that share its collection, join it, limit its pages and hear of each other.

`LoneRun` is a run that shares with nobody; `SharedRun` does the same steps together with others.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from contextlib import AbstractContextManager

from lycosa import clock, urls
from lycosa.crawler.archive_moving import ArchiveMover, clear_moved, tell_archive
from lycosa.crawler.frontier_choice import create_frontier, open_frontier, open_shared
from lycosa.crawler.page_limit import ClusterLimit
from lycosa.crawler.summary import CrawlReport
from lycosa.crawler.worker import SHARED_RENEW_S
from lycosa.errors import CollectionError
from lycosa.frontier.contract import Frontier, MachineFigures, Machines, suspended
from lycosa.frontier.postgres.address import SharedCollection, machine_of, name_of
from lycosa.output.plain import counted
from lycosa.politeness.shared_state import Cell, SharedState
from lycosa.repair.replay import CollectionSetup

REPORT_S = 5.0
PAUSE_S = 30.0  # after a report that the database did not take
WINDOW_S = 60.0  # over which pages a minute are counted


class MachineReports:
    """Tells the database what the workers of this machine have done; what it cannot tell it tells later."""

    def __init__(self, machines: Machines, shared: SharedState) -> None:
        self._machines = machines
        self._shared = shared
        self._began = time.monotonic()
        self._next = self._began
        self._seen: deque[tuple[float, float]] = deque([(self._began, 0.0)])  # times and pages of the window

    def update(self) -> None:
        """Report, when it is time to."""
        now = time.monotonic()
        if now >= self._next:
            taken = self._machines.report(self._figures(now))
            self._next = time.monotonic() + (REPORT_S if taken else PAUSE_S)

    def end(self, ended_by: str) -> None:
        """Report how the run ended; empty: nothing was left to do."""
        figures = self._figures(time.monotonic())
        figures.ended_by = ended_by
        self._machines.report(figures)

    def _figures(self, now: float) -> MachineFigures:
        pages = self._shared.total(Cell.PAGES)
        self._seen.append((now, pages))
        while len(self._seen) > 2 and self._seen[1][0] <= now - WINDOW_S:
            self._seen.popleft()
        then, before = self._seen[0]
        return MachineFigures(
            workers=self._shared.workers,
            seconds=now - self._began,
            pages=int(pages),
            requests=int(self._shared.total(Cell.REQUESTS)),
            bytes=int(self._shared.total(Cell.BYTES)),
            pages_per_minute=60.0 * (pages - before) / (now - then) if now > then else 0.0,
        )


class LoneRun:
    """A run whose collection lies in its folder alone."""

    def __init__(self, setup: CollectionSetup) -> None:
        self.setup = setup
        self.created = create_frontier(setup.mission, setup.folder)
        self.frontier = self._open()
        self.cluster_limit: ClusterLimit | None = None
        self.machine_reports: MachineReports | None = None

    def _open(self) -> Frontier:
        return open_frontier(self.setup.mission, self.setup.folder)

    def preparing(self) -> AbstractContextManager[None]:
        """Have the time of the run, and nobody else prepare the same collection within the block."""
        clock.set_now(None)
        return contextlib.nullcontext()

    def refuse_strangers(self) -> None:
        """Raise where this run would mix up two collections or two machines."""

    def clear_moved(self) -> None:
        """Remove archive files that have gone to the store."""

    def forget_machine(self, machine: str) -> list[str]:
        """Have pages fetched again that only a machine which is gone held; returns what people should know."""
        return []

    def joins_others(self) -> bool:
        """Whether others are at work, whose round this run joins."""
        return False

    def begin(self, shared: SharedState, *, stored: int) -> None:
        """Let the workers know the page limit, of which so much is used, and others what they do."""
        shared.set_limit(stored, self.setup.mission.limits.pages)

    def moving(self, shared: SharedState) -> AbstractContextManager[None]:
        """Move archive files to the store while the workers write."""
        return contextlib.nullcontext()

    def end_limit(self) -> None:
        """Give back what of the page limit is left."""

    def end(self, report: CrawlReport) -> None:
        """Tell others how the run ended, and put into the report what they did."""


class SharedRun(LoneRun):
    """A run of one of several machines."""

    def _open(self) -> Frontier:
        self._shared_frontier = open_shared(self.setup.mission, self.setup.folder)
        self._mover = ArchiveMover(self.setup.mission, self.setup.folder)
        return self._shared_frontier

    def preparing(self) -> AbstractContextManager[None]:
        machines = self._shared_frontier.machines
        clock.set_now(machines.server_time())
        return machines.alone()

    def refuse_strangers(self) -> None:
        from lycosa.repair.copy import refuse_own_collection

        folder, mission = self.setup.folder, self.setup.mission
        if not self.created and not (folder / "lycosa.toml").exists():
            self._refuse_other_seeds()
        shared = SharedCollection(mission.keep.database, name_of(folder))
        refuse_own_collection(folder, shared, self.frontier.meta("created") or "0")
        if self._shared_frontier.machines.has_twin(within_s=2 * SHARED_RENEW_S):
            raise CollectionError(
                f"Another machine of the name {machine_of(folder)} is at work on this collection: give this one another"
                " host name, or name another folder with --collection DIR."
            )

    def _refuse_other_seeds(self) -> None:
        given = self.frontier.seeds.given()
        if given and not {urls.normalise(seed) for seed in self.setup.mission.seeds} & set(given):
            raise CollectionError(
                f"The database has a collection {name_of(self.setup.folder)} already, which began from other seeds"
                f" ({given[0]}): name another folder with --collection DIR, or give one of its seeds to join it."
            )

    def clear_moved(self) -> None:
        clear_moved(self.setup.archive, self._shared_frontier.segments)

    def forget_machine(self, machine: str) -> list[str]:
        if not machine:
            return []
        files, pages = self._shared_frontier.machines.forget(machine)
        lost = f"{machine} is gone with {counted(files, 'archive file')} that no store has"
        return [f"The machine {lost}: {counted(pages, 'page', 'is')} fetched again."]

    def joins_others(self) -> bool:
        return self._shared_frontier.machines.others_are_at_work()

    def begin(self, shared: SharedState, *, stored: int) -> None:
        frontier, limit = self._shared_frontier, self.setup.mission.limits.pages
        self.machine_reports = MachineReports(frontier.machines, shared)
        if limit > 0:
            self.cluster_limit = ClusterLimit(frontier.permits, frontier.figures, shared, limit=limit)

    def moving(self, shared: SharedState) -> AbstractContextManager[None]:
        return self._mover.moving(shared)

    def end_limit(self) -> None:
        if self.cluster_limit is not None:
            self.cluster_limit.end()

    def end(self, report: CrawlReport) -> None:
        frontier = self._shared_frontier
        if self.machine_reports is not None:
            self.machine_reports.end(report.ended_by)
        frontier.leases.clear()  # it is no longer at work
        with suspended(frontier):
            moved = self._mover.move_rest()
        report.archive = tell_archive(self.setup.mission, frontier.segments, moved)
        report.machines = frontier.machines.listing()
