"""Target loading: brings the next URLs of a host from the frontier into its queue.

Under a policy the order goes across hosts, by what the best URL of each promises now. Scores of URLs that wait were
given when they were found. They are worked out anew for the head of a host's queue: when it is loaded, and again when
the policy has learned from enough pages.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from lycosa.config.settings import Mission
from lycosa.crawler.batch_commit import BatchTiming
from lycosa.frontier.contract import Frontier
from lycosa.intake.guidance import LinkScoring
from lycosa.intake.link_follower import LinkFollower
from lycosa.judge.priority.policy import AGE, Focus
from lycosa.model import REQUISITE, REQUISITE_SCORE, Batch, Discovery, State, Target, WeightUpdate
from lycosa.output.plain import counted
from lycosa.politeness.host_queue import INFINITE, HostQueue, HostScheduler, MakeQueue

LOAD = 64  # targets that a host queue takes from the frontier at once


class QueueFiller(Protocol):
    """What fills host queues: a loader, or a best-first scheduler that orders what it loads."""

    def refill(self, host_queue: HostQueue) -> bool:
        """Load more targets; False when there are none."""


class TargetLoader:
    """Loads targets for one worker; targets on origins that were given up fail without a request."""

    def __init__(
        self, frontier: Frontier, timing: BatchTiming, links: LinkFollower | None = None, *, share: float = 0.0
    ) -> None:
        """`links` hear of seeds that moved; requisites have this `share` of what is loaded while pages wait."""
        self._share = share
        self._frontier = frontier
        self._links = links
        self._timing = timing
        self.cpu_s = 0.0

    def refill(self, host_queue: HostQueue) -> bool:
        """Load the targets of a host that come next; False when the frontier has none."""
        if host_queue.dry:
            return False
        began = time.perf_counter()
        targets = self._load(host_queue)
        while origin := host_queue.find_down(targets):
            self._frontier.changes.end_host(host_queue.host, host_queue.down[origin], state=State.FAILED, under=origin)
            targets = self._load(host_queue)
        self.cpu_s += time.perf_counter() - began
        if not targets:
            host_queue.dry = True
            self._timing.await_batch()
            return False
        moved = [target.url for target in targets if target.seed and target.via == "redirect"]
        if moved and self._links is not None:
            self._links.adopt_seeds(moved)  # a seed moved here, found by another worker
        host_queue.targets.extend(targets)
        host_queue.held.update(target.row for target in targets)
        return True

    def _load(self, host_queue: HostQueue) -> list[Target]:
        """The best targets of a host, with requisites spread among the pages."""
        targets = self._frontier.targets.load(host_queue.host, limit=LOAD, skip=host_queue.held)
        if not self._share or len(targets) < LOAD or targets[-1].score <= REQUISITE_SCORE:
            return targets
        owed = self.load_requisites(host_queue, limit=round(LOAD * self._share))
        stride = max(1, round(1 / self._share))
        for place, target in enumerate(owed):
            targets.insert(min((place + 1) * stride - 1, len(targets)), target)
        return targets

    def load_requisites(self, host_queue: HostQueue, *, limit: int = LOAD) -> list[Target]:
        """What pages need to be shown and the host has, past the pages that wait."""
        load = self._frontier.targets.load
        owed = load(host_queue.host, limit=limit, skip=host_queue.held, most=REQUISITE_SCORE)
        return [target for target in owed if target.via == REQUISITE]


CYCLE = "cycle"  # under this key the frontier keeps the number of the last cycle


def last_cycle(frontier: Frontier) -> int:
    """How many cycles were begun."""
    return int(frontier.meta(CYCLE) or 0)


HOLD_S = 0.02  # until host queues that were held back are looked at again
PAUSE_S = 0.25  # until a worker that found nothing for a cycle looks again
BATCH_LEAST, BATCH_SHARE = 8, 100  # a batch has a hundredth of what was fetched: what is new counts soon, early on


class BestFirstScheduler:
    """Chooses the host that one worker asks next, and the order of each host's targets, by what the policy promises."""

    def __init__(
        self,
        link_scoring: LinkScoring,
        loader: TargetLoader,
        mission: Mission,
        *,
        frontier: Frontier,
        workers: int,
        make_queue: MakeQueue,
    ) -> None:
        steer, delay_s = mission.policy, mission.fetch.delay_s
        self.scheduler = BestFirstHosts(mission.fetch.connections, make_queue, self._promise_of)
        self._loader = loader
        self.closed = steer.generate > 0  # nothing may be added to what the cycle fetches
        self._link_scoring = link_scoring
        self._frontier = frontier
        self._alone = workers == 1 and not mission.keep.database
        self._share = -(-steer.generate // workers)  # URLs of a cycle; 0: there are no cycles
        self._workers, self._last = workers, steer.cycles
        self._cycle = 0
        self._told_at = 0.0  # until when a cycle's time was told
        self._again_at = 0.0
        self._focus = Focus(steer.focus, delay_s=delay_s)
        self._better: HostQueue | None = None  # the one that lesser ones wait for
        self._lessons_stamp = 0
        self._reordered = 0
        self._taken = 0

    @property
    def batch_pages(self) -> int:
        """After how many answers a batch is written, at most."""
        return max(BATCH_LEAST, self._taken // BATCH_SHARE)

    def begin(self) -> None:
        """Load what was learned before, and go on behind the last cycle."""
        self._load_lessons()
        self._cycle = last_cycle(self._frontier)

    def drain(self) -> list[WeightUpdate]:
        """What was learned since the last batch."""
        return self._link_scoring.drain()

    def end_batch(self, discoveries: Iterable[Discovery], outcome_count: int) -> None:
        """Note that a batch was written: what it found may be more promising than what waits."""
        by_host, policy = self.scheduler.by_host, self._link_scoring.policy
        best: dict[str, float] = {}
        for discovery in discoveries:
            if discovery.state == State.PENDING and discovery.score > best.get(discovery.host, -1.0):
                best[discovery.host] = discovery.score
        for host, score in best.items():
            if (host_queue := by_host.get(host)) is not None:
                host_queue.promise = max(host_queue.promise, policy.promise(score, host))
        self._taken += outcome_count
        if not self._alone:
            self._load_lessons()
        if policy.learns and policy.age - self._reordered >= max(4 * AGE, len(by_host)):
            self._reordered = policy.age
            for host_queue in by_host.values():
                if host_queue.targets:
                    host_queue.promise = self._promise_of(host_queue) or 0.0
        self.scheduler.refresh()

    def learn_unreachable(self, host_queue: HostQueue) -> None:
        """Let the policy learn that what led to a host led nowhere: its pages will not be asked for."""
        if host_queue.targets:
            self._link_scoring.begin_answer(host_queue.targets[0], failed=True)
            self._link_scoring.end_answer(new=True)

    def admits(self, host_queue: HostQueue, now: float, *, in_flight: int) -> bool:
        """Whether a host queue that may go is worth a request; if not, hosts that promise more are waited for."""
        if self._focus.admits(
            host_queue.promise, now, is_better_near=lambda than: in_flight > 0 or self._rests_better(than, now)
        ):
            return True
        self.scheduler.hold(host_queue)
        return False

    def _rests_better(self, than: float, now: float) -> bool:
        """Whether a host that rests has something that promises more."""
        soon = now + self._focus.half_s
        if self._better is None or not self._is_better(self._better, than, soon):
            self._better = next(
                (host_queue for host_queue in self.scheduler.listed() if self._is_better(host_queue, than, soon)), None
            )
        return self._better is not None

    def _is_better(self, host_queue: HostQueue, than: float, soon: float) -> bool:
        """Whether a host promises more, and does not rest for long because it failed or asked to be left alone."""
        if not host_queue.listed or host_queue.promise <= than or host_queue.next_at > soon:
            return False
        if not (host_queue.targets or self.refill(host_queue)):
            return False
        return self._link_scoring.promise(host_queue.targets[0]) > than

    def is_cycle_over(self, in_flight: int, now: float) -> bool:
        """Whether all URLs of a cycle were fetched, or the first is to begin."""
        if not self._share or in_flight or now < self._again_at or 0 < self._last <= self._cycle:
            return False
        return not any(host_queue.targets for host_queue in self.scheduler.by_host.values())

    def mark(self, batch: Batch, now: float) -> None:
        """Mark a batch with the cycle that it belongs to."""
        if self._cycle and self._told_at:
            batch.cycle, batch.cycle_ms = self._cycle, round(1000 * (now - self._told_at) / self._workers)
            self._told_at = now

    def choose(self, now: float) -> str:
        """Begin a cycle: the most promising URLs of all hosts, and of one host no more than are loaded at once.

        Returns what is to be told of it.
        """
        self.closed = False
        host_queues = [
            host_queue
            for host_queue in self.scheduler.by_host.values()
            if host_queue.targets or (not host_queue.dry and self.refill(host_queue))
        ]
        self.closed = True
        promises = (
            (self._link_scoring.promise(target), target, host_queue)
            for host_queue in host_queues
            for target in host_queue.targets
        )
        best = heapq.nlargest(self._share, promises, key=lambda row: row[0])
        chosen = {target.row for _, target, _ in best}
        for host_queue in host_queues:
            host_queue.held.difference_update(target.row for target in host_queue.targets if target.row not in chosen)
            host_queue.targets = deque(target for target in host_queue.targets if target.row in chosen)
            self.scheduler.enlist(host_queue)
        self._again_at = now if chosen else now + PAUSE_S
        if not chosen:
            return ""
        self._cycle, self._told_at = self._cycle + 1, now
        self._frontier.set_meta(CYCLE, str(max(self._cycle, last_cycle(self._frontier))))
        hosts = len({target.host for _, target, _ in best})
        scores = f"scores {best[0][0]:.3g} to {best[-1][0]:.3g}"
        return f"{self._cycle}: {counted(len(best), 'address')} of {counted(hosts, 'host')}, {scores}"

    def refill(self, host_queue: HostQueue) -> bool:
        """Load the next targets of a host, if the cycle is open, in the order that counts now."""
        if self.closed or not self._loader.refill(host_queue):
            return False
        self._order(host_queue)
        return True

    def _order(self, host_queue: HostQueue) -> None:
        link_scoring = self._link_scoring
        host_queue.aged = link_scoring.age
        if link_scoring.policy.learns:
            ranked = link_scoring.rank(host_queue.targets)
            host_queue.targets.clear()
            host_queue.targets.extend(ranked)

    def _load_lessons(self) -> None:
        if self._link_scoring.policy.learns:
            self._lessons_stamp, lessons = self._frontier.known.lessons(self._lessons_stamp)
            self._link_scoring.policy.load_lessons(lessons)

    def _promise_of(self, host_queue: HostQueue) -> float | None:
        """What a host queue promises; None when it has nothing to do."""
        if host_queue.robots_requests or host_queue.subresources or host_queue.fetching_robots:
            return INFINITE
        if not host_queue.targets and not self.refill(host_queue):
            return None
        if self._link_scoring.age - host_queue.aged >= AGE + host_queue.aged // 8:
            self._order(host_queue)
        return self._link_scoring.promise(host_queue.targets[0])


class BestFirstHosts(HostScheduler):
    """All host queues of a worker under a policy; `promise_of` gives what one promises, or None if it has no work.

    Those that must wait stand in a heap by time, those that may go in another by promise; both steps take O(log n).
    """

    def __init__(
        self, connections: int, make_queue: MakeQueue, promise_of: Callable[[HostQueue], float | None]
    ) -> None:
        super().__init__(connections, make_queue)
        self._promise_of = promise_of
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
            before, _, host_queue = heapq.heappop(self._ready)
            host_queue.listed = False
            if host_queue.next_at > now or host_queue.active >= host_queue.per_host:
                self.enlist(host_queue)
                continue
            promise = self._promise_of(host_queue)
            if promise is None:
                continue
            host_queue.promise = promise
            if self._ready and promise < -self._ready[0][0] and promise < -before:
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
