"""Host queue: the next targets of one host, its clock, and what its robots.txt said.

A host queue never lets more requests be under way than allowed, nor starts one before its delay has passed.

An answer lengthens or shortens the pauses between requests to its host. The scheduler says which host may be asked now:
targets flow in from the frontier (a few at a time, when a host queue runs dry) and out to the client; the next host
queue is found in constant time.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from lycosa import clock
from lycosa.config.host_rules import HostRules
from lycosa.config.settings import FetchSettings
from lycosa.fetch.robots import Robots
from lycosa.frontier.partitions import LeasedPartitions
from lycosa.model import Answer, HostRow, Target
from lycosa.politeness.crawl_log import CrawlLog
from lycosa.politeness.disposition import HOST_FAILURES, requested_pause

BACK_OFF_MAX_S = 300.0  # StormCrawler and Heritrix cap the wait for an overloaded host at 5 to 15 minutes
BACK_OFF_LEAST_S = 0.02
FORGET_S = 60.0  # a pause is halved for each time as long as itself, or this, that the host was left alone

INFINITE = float("inf")
COSTLY_S = 0.05  # of processor time: an ordinary page takes a hundredth of it
BYTE_S = 30e-9  # and so much more for each byte of a large one
OTHERS_MOST = 19  # hosts that one with costly pages makes way for
LONG_S = 5.0
EASE = 0.93  # of a short pause stays with each answer: it is halved within ten requests
PAUSING = 5  # addresses in a row that ask for a pause, of a host that gave pages: then it is the host that asks
STREAK = 12  # answers after which a host that has a limit would have refused again: the pause was longer than needed


_NO_RULES = Robots.everything()
_NONE: frozenset[str] = frozenset()
_NOBODY: frozenset[int] = frozenset()


def prefix_of(url: str) -> str:
    """What all normalised URLs of an origin begin with."""
    return url[: url.index("/", 8) + 1]


class HostQueue:
    """The queue of one host in one worker.

    A crawl has as many as there are hosts with something to fetch: what most of them do not need takes no memory.
    """

    __slots__ = (
        "active",
        "aged",
        "alive",
        "answered",
        "back_off_s",
        "delay_s",
        "down",
        "dry",
        "errors",
        "failed_at",
        "failures",
        "fetching_robots",
        "held",
        "host",
        "listed",
        "next_at",
        "pages",
        "pausing",
        "per_host",
        "prefix",
        "promise",
        "received",
        "rendering",
        "robots",
        "robots_requests",
        "robots_until",
        "rules",
        "slowed_at",
        "streak",
        "subresources",
        "targets",
    )

    def __init__(self, row: HostRow, *, delay_s: float, per_host: int) -> None:
        self.host = row.host
        self.targets: deque[Target] = deque()
        self.robots_requests: list[Target] = []  # robots.txt: before everything else
        self.subresources: list[Target] = []  # what pages that are being rendered ask for
        self.rendering = 0  # pages of this host that are being rendered
        self.held: set[int] = set()  # rows in the queue, under way, or done and not committed yet
        self.active = 0
        self.next_at = row.next_at
        self.delay_s = delay_s
        self.back_off_s = row.delay_s
        self.slowed_at = 0.0  # when it was raised last
        self.streak = 0  # answers since then
        self.pausing: frozenset[int] = _NOBODY  # rows that asked for a pause since the last answer that did not
        self.per_host = per_host
        self.robots: dict[str, Robots] = {}  # by origin
        self.prefix, self.rules = "\0", _NO_RULES  # of the origin that was asked for last, for speed
        self.robots_until = INFINITE  # when the first of them is too old to be believed
        self.fetching_robots: frozenset[str] = _NONE
        self.pages = row.pages
        self.received = 0  # bytes, in this run
        self.errors = row.errors  # what the last run left of them
        self.failures: dict[str, int] = {}  # of each origin itself, one after the other
        self.failed_at = 0.0  # when the last of them was counted
        self.answered: frozenset[str] = _NONE  # origins that did
        self.alive = "\0"  # the one that did last, for speed
        self.listed = False  # it stands in the heap of host queues
        self.dry = False  # the frontier had nothing more for it
        self.down: dict[str, str] = {}  # origins that were given up, and why
        self.promise = INFINITE  # under a policy: of the best URL of its queue, or at least as high as that
        self.aged = 0  # what the policy had learned when the queue was last put in order

    def row(self) -> HostRow:
        """What is to be remembered of this host."""
        errors = max(self.failures.values(), default=self.errors)
        return HostRow(host=self.host, next_at=self.next_at, delay_s=self.back_off_s, pages=self.pages, errors=errors)

    def recover(self, now: float, *, longest_s: float) -> None:
        """Forget the pauses that a host once needed, if it was left alone for longer than it was to be.

        No pause is longer than `longest_s`: a longer one was written while the system's clock was wrong.
        """
        self.next_at = min(self.next_at, now + max(longest_s, self.delay_s))
        if self.back_off_s and now > self.next_at:
            self.back_off_s *= 0.5 ** ((now - self.next_at) / max(self.back_off_s, FORGET_S))
            if self.back_off_s < BACK_OFF_LEAST_S:
                self.back_off_s = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether there is something to fetch for certain."""
        return bool(self.targets or self.robots_requests or self.subresources or self.fetching_robots)

    def forget_robots(self) -> None:
        """Forget a robots.txt that is too old, so that it is fetched again before the next page."""
        self.robots.clear()
        self.prefix, self.robots_until = "\0", INFINITE

    def begin(self, now: float) -> None:
        """Count a request that starts; the delay runs from here."""
        self.active += 1
        self.next_at = now + self.delay_s + self.back_off_s

    def end(self, now: float) -> None:
        """Count a request that ended; with one request at a time, the delay runs from here."""
        self.active -= 1
        if self.per_host == 1:
            self.rest(now)

    def rest(self, now: float) -> None:
        """Allow no request before the host had its pause."""
        self.next_at = max(self.next_at, now + self.delay_s + self.back_off_s)

    def charge(self, now: float, cost_s: float, *, size: int, others: int) -> None:
        """Let a host whose pages are costly to read, for their size, wait so that `others` get as much of a worker.

        Beside many hosts it takes a twentieth; alone it takes all.
        """
        if cost_s > COSTLY_S + size * BYTE_S:
            self.next_at = max(self.next_at, now + min(OTHERS_MOST, others) * cost_s)

    def is_closed(self, url: str) -> bool:
        """Whether the origin of a URL that failed never answered, while another origin of the host does.

        Such a port is closed, not overloaded: once is enough, and the host is spared the pause. Else a link to a closed
        port, which anybody can write, would cost it all its pages.
        """
        return bool(self.answered) and prefix_of(url) not in self.answered

    def fail(self, url: str, failure: str, *, most: int, now: float = 0.0, began: float = INFINITE) -> int:
        """Count a failure of the origin itself, one after the other; 0 when it is given up, as after `most` of them.

        Of requests that were under way together only the first counts: else a short outage would cost a host that is
        asked for several pages at a time all that are left.
        """
        origin = prefix_of(url)
        if self.is_closed(url):
            self.down.setdefault(origin, failure)
            return 0
        count = self.failures.get(origin, 0)
        if count and began <= self.failed_at:
            return 0 if origin in self.down else count
        count = self.failures[origin] = (count or self.errors) + 1
        self.failed_at = now
        if count > most:
            self.down.setdefault(origin, failure)
            return 0
        return count

    @property
    def under_way(self) -> int:
        """Requests and renderings that may become pages."""
        return self.active + self.rendering

    def given_up(self, url: str) -> str:
        """The reason why the origin of a URL was given up; empty: it was not."""
        return self.down.get(prefix_of(url), "") if self.down else ""

    def come_back(self, row: HostRow) -> None:
        """Go on after another worker had the host: rest as that one would have, and hold nothing from before.

        That it was given up here says nothing any more: it may have answered the other worker.
        """
        self.requeue()
        self.held.clear()
        self.failures.clear()
        self.down.clear()
        self.errors = row.errors
        self.next_at = max(self.next_at, row.next_at)
        self.back_off_s = max(self.back_off_s, row.delay_s)
        self.pages = row.pages

    def requeue(self) -> None:
        """Give the targets that wait here back to the frontier, where something better may have come."""
        self.held.difference_update(target.row for target in self.targets)
        self.targets.clear()

    def find_down(self, targets: Iterable[Target]) -> str:
        """The first origin of these targets that was given up; empty when none was."""
        if not self.down:
            return ""
        return next((origin for target in targets if (origin := prefix_of(target.url)) in self.down), "")

    def ease(self, url: str) -> None:
        """Shorten the pause of a host that answers: a long one by half, a short one slowly, or it refuses again."""
        if not url.startswith(self.alive):
            self.alive = prefix_of(url)
            self.answered |= {self.alive}
        self.pausing = _NOBODY
        if self.failures or self.errors:
            self.failures.pop(prefix_of(url), 0)
            self.errors = 0
        if self.back_off_s:
            self.streak += 1
            self.back_off_s *= 0.5 if self.back_off_s > LONG_S or self.streak > STREAK else EASE
            if self.back_off_s < BACK_OFF_LEAST_S:
                self.back_off_s = 0.0

    def slow_down(self, now: float, *, wait_s: float | None, began: float = INFINITE) -> None:
        """Wait for an overloaded host as long as it says, else twice as long as the last time.

        A request that began before the last time learned nothing from it: of many at once only the first counts.
        """
        if began > self.slowed_at:
            self.back_off_s = min(BACK_OFF_MAX_S, max(self.back_off_s * 2, self.delay_s, 0.25))
            self.slowed_at, self.streak = now, 0
        self.next_at = max(self.next_at, now + (wait_s if wait_s is not None else self.back_off_s))


def apply_backoff(
    host_queue: HostQueue,
    answer: Answer,
    *,
    now: float,
    fetch: FetchSettings,
    crawl_log: CrawlLog,
    challenged: bool = False,
) -> bool:
    """Pause a host that asks for it, give up one that cannot be reached; returns whether its row has changed.

    A host that has `challenged` us, whatever the status, finds that we ask too often.
    """
    if answer.failure in HOST_FAILURES:
        count = host_queue.fail(answer.target.url, answer.failure, now=now, most=fetch.retries, began=answer.began)
        if count and answer.failure != "tls":
            _pause(host_queue, answer, now=now, wait_s=fetch.retry_delay_s * 2 ** (count - 1), crawl_log=crawl_log)
        return True
    wait_s = requested_pause(answer, fetch)
    if challenged or answer.status in (429, 503) or (answer.status == 403 and wait_s is not None):
        if answer.status != 429 and wait_s is not None and host_queue.pages:
            # What one page asks for holds for that page: a page in repair, or a feed that is asked for too often.
            host_queue.pausing |= {answer.target.row}
            wait_s = wait_s if len(host_queue.pausing) >= PAUSING else None
        _pause(host_queue, answer, now=now, wait_s=wait_s, crawl_log=crawl_log)
        return True
    if not answer.status:
        return False
    changed = bool(host_queue.back_off_s or host_queue.failures)
    host_queue.ease(answer.target.url)
    return changed


def longest_pause(fetch: FetchSettings) -> float:
    """Seconds for which a host, or a page that is to be tried again, may have to wait."""
    last_retry_s = fetch.retry_delay_s * float(2**fetch.retries)
    return max(BACK_OFF_MAX_S, fetch.delay_s, fetch.crawl_delay_max_s, fetch.retry_after_max_s, last_retry_s)


def _pause(host_queue: HostQueue, answer: Answer, *, now: float, wait_s: float | None, crawl_log: CrawlLog) -> None:
    # One page that is refused again and again says little of its host: only new pages count.
    again = answer.status and answer.target.retries
    host_queue.slow_down(now, wait_s=wait_s, began=0.0 if again else answer.began)
    if crawl_log.deep:
        reason = answer.failure or f"HTTP {answer.status}"
        crawl_log.debug("rest", f"{host_queue.host} for {host_queue.next_at - now:.2f} s: {reason}")


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
