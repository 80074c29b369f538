"""Page limit: every request under it needs a permit, which is used when its page is kept, so that it is exact.

A page whose content is known counts like any other: it was fetched, and stands in mirror and index.

Over several machines, permits are fetched from the database in blocks, before the workers lack them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Set

from lycosa.frontier.contract import Figures, Permits
from lycosa.judge.admission.fetch_rules import PAGE_LIMIT
from lycosa.judge.admission.traps import OK
from lycosa.model import NO_PAGES, Outcome, Target, Verdict
from lycosa.politeness.disposition import is_counted
from lycosa.politeness.shared_state import Cell, SharedState

ASK_S = 0.5  # between two questions for more
BLOCK = 64  # permits asked for at once, while there are many
_NO_PERMIT = Verdict(False, PAGE_LIMIT, "as many pages are stored or under way as limits.pages allows")


class PageLimit:
    """The permits that one worker holds."""

    def __init__(self, shared: SharedState, slot: int) -> None:
        self._shared = shared
        self._slot = slot
        self._held: set[int] = set()  # rows under way

    def admit(self, target: Target) -> Verdict:
        """Take a permit for a target; what is no page needs none, and what is asked for again has one."""
        if not self._shared.limited or target.via in NO_PAGES or target.row in self._held:
            return OK
        if not self._shared.take_permit(self._slot):
            return _NO_PERMIT
        self._held.add(target.row)
        return OK

    def redeem(self, outcomes: Iterable[Outcome], unwritten: Set[int]) -> None:
        """Use the permits of what was kept, and give back the others."""
        stored = returned = 0
        for outcome in outcomes:
            if outcome.row in self._held:
                self._held.discard(outcome.row)
                if is_counted(outcome) and outcome.row not in unwritten:
                    stored += 1
                else:
                    returned += 1
        self._shared.redeem(self._slot, stored=stored, returned=returned)


class ClusterLimit:
    """The permits of one machine; the workers see them as the limit of a crawl of this machine alone."""

    def __init__(self, permits: Permits, figures: Figures, shared: SharedState, *, limit: int) -> None:
        self._permits = permits
        self._figures = figures
        self._shared = shared
        self._limit = limit
        self._asked_at = 0.0
        permits.begin()
        self._tell()

    def supervise(self, *, idle: bool) -> bool:
        """Ask for more where they run out, and give back what an idle machine has no use for; True: all are used."""
        now = time.monotonic()
        if now - self._asked_at < ASK_S:
            return False
        if self._shared.permits_exhausted:
            self._asked_at = now
            if self._figures.counted() >= self._limit:
                return True
            if not idle:  # else others would lack them until they are given back
                self._permits.grant(limit=self._limit, want=BLOCK)
                self._tell()
        elif idle and not self._shared.total(Cell.OUTSTANDING):
            self._asked_at = now
            granted, used = self._permits.count()
            if granted > used:
                self._permits.give_back(granted - used)
                self._tell()
        return False

    def stored(self) -> int:
        """What the workers are to take for the number of stored pages."""
        return 1 + self._permits.count()[1]

    def end(self) -> None:
        """Give back what is left."""
        self._permits.give_back(self._permits.count()[0])

    def _tell(self) -> None:
        tell_permits(self._shared, *self._permits.count())


def tell_permits(shared: SharedState, granted: int, used: int) -> None:
    """Tell the workers of a machine how many permits it has."""
    shared.set_limit(1 + used, 1 + granted)  # one more of both: a limit of 0 would be none
