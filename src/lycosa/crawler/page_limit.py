"""Page limit: every request under it needs a permit, which is used when its page is stored, so that it is exact."""

from __future__ import annotations

from collections.abc import Iterable, Set

from lycosa.judge.admission.fetch_rules import PAGE_LIMIT
from lycosa.judge.admission.traps import OK
from lycosa.model import Outcome, Target, Verdict
from lycosa.politeness.disposition import is_counted
from lycosa.politeness.shared_state import SharedState

_NO_PERMIT = Verdict(False, PAGE_LIMIT, "as many pages are stored or under way as limits.pages allows")


class PageLimit:
    """The permits that one worker holds."""

    def __init__(self, shared: SharedState, slot: int) -> None:
        self._shared = shared
        self._slot = slot
        self._held: set[int] = set()  # rows under way

    def admit(self, target: Target) -> Verdict:
        """Take a permit for a target; a sitemap is no page and needs none, and what is asked for again has one."""
        if not self._shared.limited or target.via == "sitemap" or target.row in self._held:
            return OK
        if not self._shared.take_permit(self._slot):
            return _NO_PERMIT
        self._held.add(target.row)
        return OK

    def redeem(self, outcomes: Iterable[Outcome], duplicates: Set[int]) -> None:
        """Use the permits of what was stored, and give back the others."""
        stored = returned = 0
        for outcome in outcomes:
            if outcome.row in self._held:
                self._held.discard(outcome.row)
                if is_counted(outcome) and outcome.row not in duplicates:
                    stored += 1
                else:
                    returned += 1
        self._shared.redeem(self._slot, stored=stored, returned=returned)
