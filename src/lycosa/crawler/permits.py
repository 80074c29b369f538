"""Permits for an exact page limit: targets in, whether they may be fetched out; what became of them settles it."""

from __future__ import annotations

from collections.abc import Iterable, Set

from lycosa.crawler.politeness.disposition import is_counted
from lycosa.crawler.shared_state import SharedState
from lycosa.model import Outcome, Target


class Permits:
    """Those that one worker holds."""

    def __init__(self, shared: SharedState, slot: int) -> None:
        self._shared = shared
        self._slot = slot
        self._held: set[int] = set()  # rows under way

    def take(self, target: Target) -> bool:
        """Under a page limit every request needs a permit; a sitemap is no page."""
        if target.via == "sitemap":
            return True
        if not self._shared.take_permit(self._slot):
            return False
        self._held.add(target.row)
        return True

    def settle(self, dones: Iterable[Outcome], duplicates: Set[int]) -> None:
        """Use the permits of what was stored, and give back the others."""
        stored = returned = 0
        for done in dones:
            if done.row in self._held:
                self._held.discard(done.row)
                if is_counted(done) and done.row not in duplicates:
                    stored += 1
                else:
                    returned += 1
        self._shared.settle(self._slot, stored=stored, returned=returned)
