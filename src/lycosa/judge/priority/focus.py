"""Focus: whether a request is worth making now, or something better is waited for.

With more connections than hosts each of them would be asked as often as its politeness allows, good or not.
"""

from __future__ import annotations

from collections.abc import Callable

HALF_S = 0.2  # after this time, and twice the delay between requests, what the best promised counts half
_SPARE_MOST = 8.0
_INFINITE = float("inf")


class Focus:
    """Keeps a share of the requests for what promises at least half as much as the best of the last ones."""

    def __init__(self, share: float, *, delay_s: float) -> None:
        self.half_s = HALF_S + 2 * delay_s
        self._spare = (1 - share) / share if share else _INFINITE  # lesser requests for each good one
        self._room = 0.0  # lesser requests that may be made now
        self._mark = 0.0  # what the best of the last requests promised
        self._marked_at = 0.0

    def admits(self, promise: float, now: float, *, is_better_near: Callable[[float], bool]) -> bool:
        """Whether something that promises so much is worth a request; `is_better_near` says if more is to be had soon.

        What the best promised is forgotten by halves, and nothing waits for hosts that have no more to give.
        """
        if promise == _INFINITE or self._spare == _INFINITE:
            return True
        mark = self._mark * 0.5 ** ((now - self._marked_at) / self.half_s)
        if promise >= mark / 2:
            self._room = min(self._room + self._spare, _SPARE_MOST)
        elif self._room >= 1:
            self._room -= 1
        elif is_better_near(2 * promise):
            return False
        if promise >= mark:
            self._mark, self._marked_at = promise, now
        return True
