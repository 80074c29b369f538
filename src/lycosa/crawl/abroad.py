"""Requests to hosts of other workers, as when a robots.txt has moved: one at a time, with the leave of that worker.

A worker writes its wish and the name of the host on the board. The worker whose host that is lets it go when the host
could be asked now, counts it as a request of its own, and goes on when the wish is gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from lycosa.crawl.board import Board, Cell
from lycosa.crawl.lanes import Lane, Lanes
from lycosa.frontier import part_of
from lycosa.model import Target

PATIENCE_S = 60.0  # then the worker that should give leave is taken for hung


class _Guest(NamedTuple):
    slot: int
    wish: float
    lane: Lane


class Abroad:
    """One worker as guest and as host."""

    def __init__(
        self, board: Board, slot: int, *, lanes: Lanes, lane_of: Callable[[str], Lane], parts: Callable[[], list[int]]
    ) -> None:
        self._board = board
        self._slot = slot
        self._lanes = lanes
        self._lane_of = lane_of
        self._parts = parts
        self._queue: deque[Target] = deque()
        self._count = 0
        self._going: Target | None = None
        self._wish = 0.0  # the number of our wish; no other one has it
        self._wished_at = 0.0
        self._guest: _Guest | None = None

    def covers(self, host: str) -> bool:
        """Whether a host is another worker's."""
        return self._board.workers > 1 and part_of(host) not in self._parts()

    def ask(self, target: Target) -> None:
        """Have something fetched from another worker's host, when its turn comes."""
        self._queue.append(target)

    def end(self, url: str) -> None:
        """What was fetched there is here, or will not come."""
        if self._going is not None and url == self._going.url:
            self._board.put(self._slot, Cell.WISH, 0)
            self._going = None

    def turn(self, now: float) -> None:
        """Called before a worker starts requests of its own."""
        self._see_off(now)
        if self._guest is None:
            self._welcome(now)
        # A host that is to rest before a new try must not be kept from its own worker meanwhile.
        if self._going is None and self._queue and self._lane_of(self._queue[0].host).next_at <= now:
            self._going = self._queue.popleft()
            self._count += 1
            self._wish = float(self._count * self._board.workers + self._slot)
            self._wished_at = now
            self._board.put_name(self._slot, self._going.host)
            self._board.put(self._slot, Cell.WISH, self._wish)
        elif self._going is not None and self._wish and (self._is_let() or now - self._wished_at > PATIENCE_S):
            self._wish = 0.0
            lane = self._lane_of(self._going.host)
            lane.errands.append(self._going)
            self._lanes.enlist(lane)

    def _is_let(self) -> bool:
        board = self._board
        return any(board.get(other, Cell.GUEST) == self._wish for other in range(board.workers) if other != self._slot)

    def _see_off(self, now: float) -> None:
        guest = self._guest
        if guest is not None and self._board.get(guest.slot, Cell.WISH) != guest.wish:
            guest.lane.end(now)
            self._lanes.enlist(guest.lane)
            self._board.put(self._slot, Cell.GUEST, 0)
            self._guest = None

    def _welcome(self, now: float) -> None:
        board = self._board
        for other in range(board.workers):
            wish = board.get(other, Cell.WISH)
            if not wish or other == self._slot or part_of(name := board.name(other)) not in self._parts():
                continue
            lane = self._lane_of(name)
            if lane.active < lane.per_host and lane.next_at <= now:
                lane.begin(now)
                self._guest = _Guest(other, wish, lane)
                board.put(self._slot, Cell.GUEST, wish)
                return
