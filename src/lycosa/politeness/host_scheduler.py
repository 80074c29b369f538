"""Host scheduler: which host may be asked now.

Targets flow in from the frontier (a few at a time, when a host queue runs dry) and out to the client; the next host
queue is found in constant time.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator

from lycosa import clock
from lycosa.config.host_rules import HostRules
from lycosa.config.settings import FetchSettings
from lycosa.frontier.partitions import LeasedPartitions
from lycosa.model import HostRow
from lycosa.politeness.backoff import longest_pause
from lycosa.politeness.host_queue import HostQueue

#: Makes the queue of a host, from what is remembered of it or, with None, from what the frontier knows.
MakeQueue = Callable[[str, HostRow | None], HostQueue]


class HostQueueFactory:
    """Makes host queues by the user's rules, and by what is remembered of each host."""

    def __init__(
        self,
        host_rules: HostRules,
        fetch: FetchSettings,
        *,
        remember: Callable[[str], HostRow],
        partitions: LeasedPartitions | None = None,
    ) -> None:
        """`partitions`: of this worker's hosts; queues of other hosts are not filled from the frontier."""
        self._host_rules = host_rules
        self._longest_s = longest_pause(fetch)
        self._remember = remember
        self._partitions = partitions

    def __call__(self, host: str, row: HostRow | None) -> HostQueue:
        delay_s, per_host = self._host_rules.delay_s(host), self._host_rules.per_host(host)
        host_queue = HostQueue(row or self._remember(host), delay_s=delay_s, per_host=per_host)
        host_queue.recover(clock.now(), longest_s=self._longest_s)
        host_queue.dry = self._partitions is not None and host not in self._partitions
        return host_queue


class HostScheduler:
    """All host queues of a worker; those that have work stand in a heap by the time they may go on."""

    def __init__(self, connections: int, make_queue: MakeQueue) -> None:
        self.by_host: dict[str, HostQueue] = {}
        self._make_queue = make_queue
        self._heap: list[tuple[float, int, HostQueue]] = []
        self._count = 0
        self._tries = connections - connections // 4  # that may be under way to hosts which never answered
        self._tried: set[HostQueue] = set()  # such hosts with a request under way, and some that had
        self._untried: deque[HostQueue] = deque()  # such hosts whose turn it would be

    def __len__(self) -> int:
        return len(self.by_host)

    def queue_of(self, host: str, row: HostRow | None = None) -> HostQueue:
        """The queue of a host, made if need be; `row` is what is remembered of the host, where that is at hand."""
        host_queue = self.by_host.get(host)
        if host_queue is None:
            host_queue = self.by_host[host] = self._make_queue(host, row)
        return host_queue

    def enlist(self, host_queue: HostQueue) -> None:
        """Let a host queue that has, or may have, something to do take its turn."""
        if not host_queue.listed and host_queue.active < host_queue.per_host:
            host_queue.listed = True
            self._count += 1  # equal times: first come, first served
            heapq.heappush(self._heap, (host_queue.next_at, self._count, host_queue))

    def ready(self, now: float) -> HostQueue | None:
        """The host queue whose turn it is, taken out of the heap; None when every host queue must still wait."""
        self._release()
        while self._heap and self._heap[0][0] <= now:
            host_queue = heapq.heappop(self._heap)[2]
            host_queue.listed = False
            if host_queue.next_at > now or host_queue.active >= host_queue.per_host:
                self.enlist(host_queue)  # its time was moved, or a request began, while it stood here
            elif self._may_go(host_queue):
                return host_queue
        return None

    def _may_go(self, host_queue: HostQueue) -> bool:
        """Whether a host queue may use a connection now; if not, it stands aside until a request of its kind ended.

        Hosts that never answered leave some connections to the others: they may all be dead, and then each takes one
        until the timeout of a connection.
        """
        if host_queue.alive != "\0":
            return True
        if self._can_try():
            self._tried.add(host_queue)
            return True
        host_queue.listed = True
        self._untried.append(host_queue)
        return False

    def _can_try(self) -> bool:
        self._tried = {host_queue for host_queue in self._tried if host_queue.active and host_queue.alive == "\0"}
        return sum(host_queue.active for host_queue in self._tried) < self._tries

    def _release(self) -> None:
        """Let a host queue that stands aside take its turn, if it may go now."""
        if self._untried and self._can_try():
            host_queue = self._untried.popleft()
            host_queue.listed = False
            self.enlist(host_queue)

    def wait_s(self, now: float) -> float | None:
        """Seconds until the next host queue may go on, None when no host queue is waiting."""
        return max(0.0, self._heap[0][0] - now) if self._heap else None

    def listed(self) -> Iterator[HostQueue]:
        """The hosts that wait for their turn, in no order."""
        yield from (host_queue for _, _, host_queue in self._heap)
        yield from self._untried

    def waiting(self) -> int:
        """How many hosts wait for their turn."""
        return len(self._heap) + len(self._untried)

    def backing_off(self, now: float) -> int:
        """How many hosts wait because they were overloaded or failed."""
        return sum(1 for host_queue in self.by_host.values() if host_queue.back_off_s and host_queue.next_at > now)
