"""Lanes whose turn it is by what they promise: among the hosts that may be asked now, the best goes first.

Lanes that must wait stand in a heap by time, those that may go in another by promise; both steps take O(log n).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from lycosa.crawler.politeness.host_queue import HostQueue, HostScheduler

HOLD_S = 0.02  # until lanes that were held back are looked at again


class BestFirstHosts(HostScheduler):
    """All lanes of a worker under a policy; `look` says what a lane promises, or None if it has nothing to do."""

    def __init__(self, connections: int, look: Callable[[HostQueue], float | None]) -> None:
        super().__init__(connections)
        self._look = look
        self._ready: list[tuple[float, int, HostQueue]] = []
        self._held = False  # the best that may go is held back

    def ready(self, now: float) -> HostQueue | None:
        self._held = False
        self._release()
        while self._heap and self._heap[0][0] <= now:
            lane = heapq.heappop(self._heap)[2]
            if lane.next_at > now:
                lane.listed = False
                self.enlist(lane)  # its time was moved while it stood here
                continue
            self._count += 1
            heapq.heappush(self._ready, (-lane.promise, self._count, lane))
        while self._ready:
            told, _, lane = heapq.heappop(self._ready)
            lane.listed = False
            if lane.next_at > now or lane.active >= lane.per_host:
                self.enlist(lane)
                continue
            promise = self._look(lane)
            if promise is None:
                continue
            lane.promise = promise
            if self._ready and promise < -self._ready[0][0] and promise < -told:
                lane.listed = True
                self._count += 1
                heapq.heappush(self._ready, (-promise, self._count, lane))
            elif self._may_go(lane):
                return lane
        return None

    def hold(self, lane: HostQueue) -> None:
        """Put a lane back that was not worth a request; those that promise less need not be looked at now."""
        lane.listed = True
        self._count += 1
        heapq.heappush(self._ready, (-lane.promise, self._count, lane))
        self._held = True

    def refresh(self) -> None:
        """Promises have changed: put the lanes that may go in their order again."""
        self._ready = [(-lane.promise, count, lane) for _, count, lane in self._ready]
        heapq.heapify(self._ready)

    def wait_s(self, now: float) -> float | None:
        if not self._ready:
            return super().wait_s(now)
        return min(HOLD_S, super().wait_s(now) or HOLD_S) if self._held else 0.0

    def listed(self) -> Iterator[HostQueue]:
        yield from super().listed()
        yield from (lane for _, _, lane in self._ready)

    def waiting(self) -> int:
        return super().waiting() + len(self._ready)
