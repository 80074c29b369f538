"""Lanes whose turn it is by what they promise: among the hosts that may be asked now, the best goes first.

Lanes that must wait stand in a heap by time, those that may go in another by promise; both steps take O(log n).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from lycosa.crawler.politeness.host_queue import HostQueue, HostScheduler

HOLD_S = 0.02  # until host queues that were held back are looked at again


class BestFirstHosts(HostScheduler):
    """All host queues of a worker under a policy; `look` says what one promises, or None if it has nothing to do."""

    def __init__(self, connections: int, look: Callable[[HostQueue], float | None]) -> None:
        super().__init__(connections)
        self._look = look
        self._ready: list[tuple[float, int, HostQueue]] = []
        self._held = False  # the best that may go is held back

    def ready(self, now: float) -> HostQueue | None:
        self._held = False
        self._release()
        while self._heap and self._heap[0][0] <= now:
            host_queue = heapq.heappop(self._heap)[2]
            if host_queue.next_at > now:
                host_queue.listed = False
                self.enlist(host_queue)  # its time was moved while it stood here
                continue
            self._count += 1
            heapq.heappush(self._ready, (-host_queue.promise, self._count, host_queue))
        while self._ready:
            told, _, host_queue = heapq.heappop(self._ready)
            host_queue.listed = False
            if host_queue.next_at > now or host_queue.active >= host_queue.per_host:
                self.enlist(host_queue)
                continue
            promise = self._look(host_queue)
            if promise is None:
                continue
            host_queue.promise = promise
            if self._ready and promise < -self._ready[0][0] and promise < -told:
                host_queue.listed = True
                self._count += 1
                heapq.heappush(self._ready, (-promise, self._count, host_queue))
            elif self._may_go(host_queue):
                return host_queue
        return None

    def hold(self, host_queue: HostQueue) -> None:
        """Put a host queue back that was not worth a request; those that promise less need not be looked at now."""
        host_queue.listed = True
        self._count += 1
        heapq.heappush(self._ready, (-host_queue.promise, self._count, host_queue))
        self._held = True

    def refresh(self) -> None:
        """Promises have changed: put the host queues that may go in their order again."""
        self._ready = [(-host_queue.promise, count, host_queue) for _, count, host_queue in self._ready]
        heapq.heapify(self._ready)

    def wait_s(self, now: float) -> float | None:
        if not self._ready:
            return super().wait_s(now)
        return min(HOLD_S, super().wait_s(now) or HOLD_S) if self._held else 0.0

    def listed(self) -> Iterator[HostQueue]:
        yield from super().listed()
        yield from (host_queue for _, _, host_queue in self._ready)

    def waiting(self) -> int:
        return super().waiting() + len(self._ready)
