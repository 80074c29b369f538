"""Change counts: what one transaction changes in the counters of a collection."""

from __future__ import annotations

_KEY_CHARS = 100  # types and reasons come from the network


class ChangeCounts:
    """Sums of changes by state and reason, and by figure; each database has its way to write them."""

    __slots__ = ("_figures", "_states")

    def __init__(self) -> None:
        self._states: dict[tuple[int, str], int] = {}
        self._figures: dict[tuple[str, str], int] = {}

    def state(self, state: int, reason: str, change: int) -> None:
        """Count so many more URLs in this state for this reason."""
        key = (state, reason)
        self._states[key] = self._states.get(key, 0) + change

    def figure(self, name: str, key: str, change: int) -> None:
        """Count so many more pages of this type, answers of this status, pages stored in this round."""
        pair = (name, key[:_KEY_CHARS])
        self._figures[pair] = self._figures.get(pair, 0) + change

    def opened(self, state: int, reason: str) -> None:
        """Count a URL that is pending now."""
        self.state(state, reason, -1)
        self.state(0, "", 1)
