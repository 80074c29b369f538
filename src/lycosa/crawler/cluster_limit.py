"""Page limit over several machines: permits are fetched from the database in blocks, before the workers lack them."""

from __future__ import annotations

import time

from lycosa.frontier.contract import SharedFrontier
from lycosa.politeness.shared_state import Cell, SharedState

ASK_S = 0.5  # between two questions for more
BLOCK = 64  # permits asked for at once, while there are many


class ClusterLimit:
    """The permits of one machine; the workers see them as the limit of a crawl of this machine alone."""

    def __init__(self, frontier: SharedFrontier, shared: SharedState, limit: int) -> None:
        self._frontier = frontier
        self._shared = shared
        self._limit = limit
        self._asked_at = 0.0
        frontier.begin_permits()
        self._tell()

    def supervise(self, *, idle: bool) -> bool:
        """Ask for more where they run out, and give back what an idle machine has no use for; True: all are used."""
        now = time.monotonic()
        if now - self._asked_at < ASK_S:
            return False
        if self._shared.permits_exhausted:
            self._asked_at = now
            if self._frontier.stored() >= self._limit:
                return True
            if not idle:  # else others would lack them until they are given back
                self._frontier.grant_permits(limit=self._limit, want=BLOCK)
                self._tell()
        elif idle and not self._shared.total(Cell.OUTSTANDING):
            self._asked_at = now
            granted, used = self._frontier.permits()
            if granted > used:
                self._frontier.return_permits(granted - used)
                self._tell()
        return False

    def stored(self) -> int:
        """What the workers are to take for the number of stored pages."""
        return 1 + self._frontier.permits()[1]

    def end(self) -> None:
        """Give back what is left."""
        self._frontier.return_permits(self._frontier.permits()[0])

    def _tell(self) -> None:
        tell_permits(self._shared, *self._frontier.permits())


def tell_permits(shared: SharedState, granted: int, used: int) -> None:
    """Tell the workers of a machine how many permits it has."""
    shared.set_limit(1 + used, 1 + granted)  # one more of both: a limit of 0 would be none
