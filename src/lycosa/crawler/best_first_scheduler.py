"""The order across hosts under a policy: which lane goes next, by what its best URL promises now.

Scores of URLs that wait were given when they were found. They are worked out anew for the head of a lane's queue: when
it is loaded, and again when the policy has learned from enough pages.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable

from lycosa.config.settings import Mission
from lycosa.crawler.intake.link_scoring import LinkScoring
from lycosa.crawler.politeness.host_queue import INFINITE, HostQueue
from lycosa.crawler.ranks import BestFirstHosts
from lycosa.frontier import Frontier
from lycosa.judge.priority.policy import AGE
from lycosa.model import Discovery, Lesson, State

HALF_S = 0.2  # after this time, and twice the delay between requests, what the best promised counts half
SPARE_MOST = 8.0
PAUSE_S = 0.25  # until a worker that found nothing for a cycle looks again
BATCH_LEAST, BATCH_SHARE = 8, 100  # a batch has a hundredth of what was fetched: what is new counts soon, early on


class BestFirstScheduler:
    """Steers one worker."""

    def __init__(
        self,
        helm: LinkScoring,
        frontier: Frontier,
        mission: Mission,
        *,
        workers: int,
        refill: Callable[[HostQueue], bool],
    ) -> None:
        steer, delay_s = mission.policy, mission.fetch.delay_s
        self.lanes = BestFirstHosts(mission.fetch.connections, self._look)
        self.closed = steer.generate > 0  # nothing may be added to what the cycle fetches
        self._helm = helm
        self._frontier = frontier
        self._alone = workers == 1
        self._refill = refill
        self._share = -(-steer.generate // workers)  # URLs of a cycle; 0: there are no cycles
        self._again_at = 0.0
        self._spare = (1 - steer.focus) / steer.focus if steer.focus else INFINITE  # lesser requests for each good one
        self._room = 0.0  # lesser requests that may be made now
        self._mark = 0.0  # what the best of the last requests promised
        self._marked_at = 0.0
        self._better: HostQueue | None = None  # that lesser ones wait for
        self._half_s = HALF_S + 2 * delay_s
        self._stamp = 0
        self._shuffled = 0
        self._taken = 0

    @property
    def batch_pages(self) -> int:
        """After how many answers a batch is written, at most."""
        return max(BATCH_LEAST, self._taken // BATCH_SHARE)

    def begin(self) -> None:
        """Take in what was learned before."""
        self._study()

    def drain(self) -> list[Lesson]:
        """What was learned since the last batch."""
        return self._helm.drain()

    def settle(self, founds: Iterable[Discovery], done: int) -> None:
        """A batch was written: what it found may be more promising than what waits."""
        by_host, policy = self.lanes.by_host, self._helm.policy
        best: dict[str, float] = {}
        for found in founds:
            if found.state == State.PENDING and found.score > best.get(found.host, -1.0):
                best[found.host] = found.score
        for host, score in best.items():
            if (lane := by_host.get(host)) is not None:
                lane.promise = max(lane.promise, policy.promise(score, host))
        self._taken += done
        if not self._alone:
            self._study()
        if policy.learns and policy.age - self._shuffled >= max(4 * AGE, len(by_host)):
            self._shuffled = policy.age
            for lane in by_host.values():
                if lane.queue:
                    lane.promise = self._look(lane) or 0.0
        self.lanes.refresh()

    def admits(self, lane: HostQueue, now: float, *, in_flight: int) -> bool:
        """Whether a lane that may go is worth a request, or free hands rather wait for hosts that promise more.

        With more connections than hosts each of them would be asked as often as its politeness allows, good or not.
        What the best promised is forgotten by halves; and while nothing is under way nothing waits for hosts that have
        no more to give.
        """
        promise = lane.promise
        if promise == INFINITE or self._spare == INFINITE:
            return True
        mark = self._mark * 0.5 ** ((now - self._marked_at) / self._half_s)
        if promise >= mark / 2:
            self._room = min(self._room + self._spare, SPARE_MOST)
        elif self._room >= 1:
            self._room -= 1
        elif in_flight or self._rests_better(2 * promise):
            self.lanes.hold(lane)
            return False
        if promise >= mark:
            self._mark, self._marked_at = promise, now
        return True

    def _rests_better(self, than: float) -> bool:
        """Whether a host that rests has something that promises more."""
        if self._better is None or not self._is_better(self._better, than):
            self._better = next((lane for lane in self.lanes.listed() if self._is_better(lane, than)), None)
        return self._better is not None

    def _is_better(self, lane: HostQueue, than: float) -> bool:
        if not lane.listed or lane.promise <= than or not (lane.queue or self._refill(lane)):
            return False
        return self._helm.promise(lane.queue[0]) > than

    def is_spent(self, in_flight: int, now: float) -> bool:
        """Whether all URLs of a cycle were fetched, or the first is to begin."""
        if not self._share or in_flight or now < self._again_at:
            return False
        return not any(lane.queue for lane in self.lanes.by_host.values())

    def choose(self, now: float) -> None:
        """Begin a cycle: the most promising URLs of all hosts, and of one host no more than a lane loads at once."""
        self.closed = False
        lanes = [lane for lane in self.lanes.by_host.values() if lane.queue or (not lane.dry and self._refill(lane))]
        self.closed = True
        promises = ((self._helm.promise(target), target, lane) for lane in lanes for target in lane.queue)
        chosen = {target.n for _, target, _ in heapq.nlargest(self._share, promises, key=lambda row: row[0])}
        for lane in lanes:
            lane.held.difference_update(target.n for target in lane.queue if target.n not in chosen)
            lane.queue = deque(target for target in lane.queue if target.n in chosen)
            self.lanes.enlist(lane)
        self._again_at = now if chosen else now + PAUSE_S

    def order(self, lane: HostQueue) -> None:
        """Put a queue that was just loaded in the order that counts now."""
        helm = self._helm
        lane.aged = helm.age
        if helm.policy.learns:
            ranked = helm.rank(lane.queue)
            lane.queue.clear()
            lane.queue.extend(ranked)

    def _study(self) -> None:
        if self._helm.policy.learns:
            self._stamp, lessons = self._frontier.lessons(self._stamp)
            self._helm.policy.study(lessons)

    def _look(self, lane: HostQueue) -> float | None:
        """What a lane promises; None when it has nothing to do."""
        if lane.errands or lane.extras or lane.fetching_robots:
            return INFINITE
        if not lane.queue and not self._refill(lane):
            return None
        if self._helm.age - lane.aged >= AGE + lane.aged // 8:
            self.order(lane)
        return self._helm.promise(lane.queue[0])
