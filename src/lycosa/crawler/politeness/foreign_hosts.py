"""Requests to hosts of other workers, as when a robots.txt has moved: with the leave of that worker.

A worker writes its wishes and the names of the hosts on the shared state, each on a desk of its own: none waits for
another. The worker whose host that is lets it go when the host could be asked now, counts it as a request of its own,
and goes on when the wish is gone.
"""

from __future__ import annotations

import time
from collections import deque

from msgspec import Struct

from lycosa.crawler.politeness.host_queue import HostQueue
from lycosa.crawler.politeness.host_scheduler import HostScheduler
from lycosa.crawler.shared_state import DESKS, Cell, SharedState
from lycosa.frontier.partitions import LeasedPartitions
from lycosa.model import Target

PATIENCE_S = 60.0  # then a worker that neither gives leave nor says that the host must rest is taken for hung
LOOKS = 4 * DESKS  # targets of the queue that are looked at in one turn


class _Wish(Struct):
    """What we want of another worker."""

    target: Target
    number: float  # no other wish has it
    at: float
    let: bool = False


class ForeignHosts:
    """One worker as guest and as host."""

    def __init__(
        self,
        shared: SharedState,
        slot: int,
        *,
        scheduler: HostScheduler,
        partitions: LeasedPartitions,
    ) -> None:
        self._shared = shared
        self._slot = slot
        self._scheduler = scheduler
        self._partitions = partitions
        self._queue: deque[Target] = deque()
        self._count = int(time.time())  # no number comes twice, also after a worker was replaced
        self._wishes: dict[int, _Wish] = {}  # by desk
        self._guests: dict[tuple[int, int], tuple[float, HostQueue]] = {}  # by worker and desk

    def covers(self, host: str) -> bool:
        """Whether a host is another worker's."""
        return self._shared.workers > 1 and host not in self._partitions

    def ask(self, target: Target) -> None:
        """Have something fetched from another worker's host, when its turn comes."""
        self._queue.append(target)

    def end(self, url: str) -> None:
        """What was fetched there is here, or will not come."""
        for desk, wish in list(self._wishes.items()):
            if wish.target.url == url:
                del self._wishes[desk]
                self._shared.put_wish(self._slot, desk, 0)
                self._shared.put(self._slot, Cell.WISHES, len(self._wishes))

    def turn(self, now: float) -> None:
        """Called before a worker starts requests of its own."""
        if self._guests:
            self._end_visits(now)
        for other in range(self._shared.workers):
            if other != self._slot and self._shared.get(other, Cell.WISHES):
                self._grant_leave(other, now)
        if self._queue:
            self._make_wishes(now)
        for desk, wish in self._wishes.items():
            if not wish.let and self._is_let(desk, wish, now):
                wish.let = True
                host_queue = self._scheduler.queue_of(wish.target.host)
                host_queue.robots_requests.append(wish.target)
                self._scheduler.enlist(host_queue)

    def _make_wishes(self, now: float) -> None:
        free = [desk for desk in range(DESKS) if desk not in self._wishes]
        for _ in range(min(len(self._queue), LOOKS) if free else 0):
            target = self._queue.popleft()
            # A host that is to rest before a new try must not be kept from its own worker meanwhile.
            if not free or self._scheduler.queue_of(target.host).next_at > now:
                self._queue.append(target)
                continue
            self._count += 1
            desk, number = free.pop(), float(self._count * self._shared.workers + self._slot)
            self._wishes[desk] = _Wish(target, number, now)
            self._shared.put_name(self._slot, desk, target.host)
            self._shared.put_wish(self._slot, desk, number)
            self._shared.put(self._slot, Cell.WISHES, len(self._wishes))

    def _is_let(self, desk: int, wish: _Wish, now: float) -> bool:
        leave = self._shared.leave(self._slot, desk)
        return leave == wish.number or (leave != -wish.number and now - wish.at > PATIENCE_S)

    def _end_visits(self, now: float) -> None:
        for (other, desk), (number, host_queue) in list(self._guests.items()):
            if self._shared.wish(other, desk) != number:
                del self._guests[other, desk]
                host_queue.end(now)
                self._scheduler.enlist(host_queue)

    def _grant_leave(self, other: int, now: float) -> None:
        shared = self._shared
        for desk in range(DESKS):
            number = shared.wish(other, desk)
            if not number or (other, desk) in self._guests:
                continue
            if (name := shared.name(other, desk)) not in self._partitions:
                continue
            host_queue = self._scheduler.queue_of(name)
            if shared.leave(other, desk) == number:  # our predecessor gave it and died
                self._guests[other, desk] = (number, host_queue)
                host_queue.begin(now)
            elif host_queue.active < host_queue.per_host and host_queue.next_at <= now:
                host_queue.begin(now)
                self._guests[other, desk] = (number, host_queue)
                shared.put_leave(other, desk, number)
            else:
                shared.put_leave(other, desk, -number)
