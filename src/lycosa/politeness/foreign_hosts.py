"""Foreign hosts: requests to hosts of other workers, as when a robots.txt has moved, made when that worker grants them.

A worker writes its requests and the names of the hosts to the shared state, each to a channel of its own: none waits
for another. The worker whose host it is grants a request when the host could be asked now, counts it as one of its own,
and goes on when the request is gone from the channel. Of a crawl that machines share, hosts of other machines are asked
without their leave: it would take their database longer to pass it on than the request lasts.
"""

from __future__ import annotations

import time
from collections import deque

from msgspec import Struct

from lycosa.frontier.partitions import LeasedPartitions, part_of
from lycosa.model import Target
from lycosa.politeness.host_queue import HostQueue, HostScheduler
from lycosa.politeness.shared_state import CHANNELS, Cell, SharedState

PATIENCE_S = 60.0  # then a worker that neither grants a request nor says that the host must rest is taken for hung
LOOKS = 4 * CHANNELS  # targets of the queue that are looked at in one turn


class _Request(Struct):
    """A request that another worker is to grant."""

    target: Target
    number: float  # no other request has it
    at: float
    granted: bool = False


class ForeignHosts:
    """The requests of one worker to hosts of others, and those of others to its own hosts."""

    def __init__(
        self,
        shared: SharedState,
        slot: int,
        *,
        scheduler: HostScheduler,
        partitions: LeasedPartitions,
        shares_crawl: bool = False,
    ) -> None:
        """`shares_crawl`: other machines have hosts, too."""
        self._shared = shared
        self._slot = slot
        self._scheduler = scheduler
        self._partitions = partitions
        self._shares_crawl = shares_crawl
        self._told: list[int] = []  # the partitions that others know to be ours
        self._queue: deque[Target] = deque()
        self._count = int(time.time())  # no number comes twice, also after a worker was replaced
        self._requests: dict[int, _Request] = {}  # by channel
        self._granted: dict[tuple[int, int], tuple[float, HostQueue]] = {}  # by worker and channel

    def covers(self, host: str) -> bool:
        """Whether a host is of another worker of this machine."""
        if self._shared.workers == 1 or host in self._partitions:
            return False
        return not self._shares_crawl or self._shared.holder(part_of(host)) >= 0

    def ask(self, target: Target) -> None:
        """Have something fetched from another worker's host, when its turn comes."""
        self._queue.append(target)

    def end(self, url: str) -> None:
        """Withdraw the request for a URL: its answer is here, or will not come."""
        for channel, request in list(self._requests.items()):
            if request.target.url == url:
                del self._requests[channel]
                self._shared.put_request(self._slot, channel, 0)
                self._shared.put(self._slot, Cell.FOREIGN_REQUESTS, len(self._requests))

    def turn(self, now: float) -> None:
        """Answer the requests of others, and make ours; called before a worker starts requests of its own."""
        if self._partitions.parts is not self._told:
            self._tell_partitions()
        if self._granted:
            self._end_granted(now)
        for other in range(self._shared.workers):
            if other != self._slot and self._shared.get(other, Cell.FOREIGN_REQUESTS):
                self._answer_requests(other, now)
        if self._queue:
            self._make_requests(now)
        for channel, request in self._requests.items():
            if not request.granted and self._is_granted(channel, request, now):
                request.granted = True
                host_queue = self._scheduler.queue_of(request.target.host)
                host_queue.robots_requests.append(request.target)
                self._scheduler.enlist(host_queue)

    def _tell_partitions(self) -> None:
        for part in set(self._told) - set(self._partitions.parts):
            if self._shared.holder(part) == self._slot:
                self._shared.put_holder(part, -1)
        for part in self._partitions.parts:
            self._shared.put_holder(part, self._slot)
        self._told = self._partitions.parts

    def _make_requests(self, now: float) -> None:
        free = [channel for channel in range(CHANNELS) if channel not in self._requests]
        for _ in range(min(len(self._queue), LOOKS) if free else 0):
            target = self._queue.popleft()
            # A host that is to rest before a new try must not be kept from its own worker meanwhile.
            if not free or self._scheduler.queue_of(target.host).next_at > now:
                self._queue.append(target)
                continue
            self._count += 1
            channel, number = free.pop(), float(self._count * self._shared.workers + self._slot)
            self._requests[channel] = _Request(target, number, now)
            self._shared.put_requested_host(self._slot, channel, target.host)
            self._shared.put_request(self._slot, channel, number)
            self._shared.put(self._slot, Cell.FOREIGN_REQUESTS, len(self._requests))

    def _is_granted(self, channel: int, request: _Request, now: float) -> bool:
        grant = self._shared.grant(self._slot, channel)
        return grant == request.number or (grant != -request.number and now - request.at > PATIENCE_S)

    def _end_granted(self, now: float) -> None:
        for (other, channel), (number, host_queue) in list(self._granted.items()):
            if self._shared.request(other, channel) != number:
                del self._granted[other, channel]
                host_queue.end(now)
                self._scheduler.enlist(host_queue)

    def _answer_requests(self, other: int, now: float) -> None:
        shared = self._shared
        for channel in range(CHANNELS):
            number = shared.request(other, channel)
            if not number or (other, channel) in self._granted:
                continue
            if (name := shared.requested_host(other, channel)) not in self._partitions:
                continue
            host_queue = self._scheduler.queue_of(name)
            if shared.grant(other, channel) == number:  # our predecessor granted it and died
                self._granted[other, channel] = (number, host_queue)
                host_queue.begin(now)
            elif host_queue.active < host_queue.per_host and host_queue.next_at <= now:
                host_queue.begin(now)
                self._granted[other, channel] = (number, host_queue)
                shared.put_grant(other, channel, number)
            else:
                shared.put_grant(other, channel, -number)
