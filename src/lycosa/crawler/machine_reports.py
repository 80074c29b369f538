"""Machine reports: tell the others that share a crawl what this machine has done, every few seconds."""

from __future__ import annotations

import time
from collections import deque

from lycosa.frontier.contract import MachineFigures, SharedFrontier
from lycosa.politeness.shared_state import Cell, SharedState

REPORT_S = 5.0
PAUSE_S = 30.0  # after a report that the database did not take
WINDOW_S = 60.0  # over which pages a minute are counted


class MachineReports:
    """Tells the database what the workers of this machine have done; what it cannot tell it tells later."""

    def __init__(self, frontier: SharedFrontier, shared: SharedState) -> None:
        self._frontier = frontier
        self._shared = shared
        self._began = time.monotonic()
        self._next = self._began
        self._seen: deque[tuple[float, float]] = deque([(self._began, 0.0)])  # times and pages of the window

    def update(self) -> None:
        """Report, when it is time to."""
        now = time.monotonic()
        if now >= self._next:
            taken = self._frontier.report_machine(self._figures(now))
            self._next = time.monotonic() + (REPORT_S if taken else PAUSE_S)

    def end(self, ended_by: str) -> None:
        """Report how the run ended; empty: nothing was left to do."""
        figures = self._figures(time.monotonic())
        figures.ended_by = ended_by
        self._frontier.report_machine(figures)

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
