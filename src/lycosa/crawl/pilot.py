"""The order across hosts under a policy: which lane goes next, by what its best URL promises now.

Scores of URLs that wait were given when they were found. They are worked out anew for the head of a lane's queue: when
it is loaded, and again when the policy has learned from enough pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lycosa.crawl.helm import Helm
from lycosa.crawl.lanes import INFINITE, Lane
from lycosa.crawl.ranks import Ranks
from lycosa.frontier import Frontier
from lycosa.judge.policy import AGE
from lycosa.model import Found, Lesson, State

LEARNED = "lessons"  # under this key the frontier keeps whose lessons it holds
BATCH_LEAST, BATCH_SHARE = 16, 50  # a batch has a fiftieth of what was fetched: what is new counts soon, early on


class Pilot:
    """Steers one worker."""

    def __init__(self, helm: Helm, frontier: Frontier, *, alone: bool, refill: Callable[[Lane], bool]) -> None:
        self.lanes = Ranks(self._look)
        self._helm = helm
        self._frontier = frontier
        self._alone = alone
        self._refill = refill
        self._stamp = 0
        self._shuffled = 0
        self._taken = 0

    @property
    def batch_pages(self) -> int:
        """After how many answers a batch is written, at most."""
        return max(BATCH_LEAST, self._taken // BATCH_SHARE)

    def begin(self) -> None:
        """Take in what was learned before."""
        policy = self._helm.policy
        label = f"{type(policy).__name__}/{policy.version}"
        if policy.learns and self._frontier.meta(LEARNED) != label:
            self._frontier.forget_lessons()
            self._frontier.set_meta(LEARNED, label)
        self._study()

    def drain(self) -> list[Lesson]:
        """What was learned since the last batch."""
        return self._helm.drain()

    def settle(self, founds: Iterable[Found], done: int) -> None:
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

    def order(self, lane: Lane) -> None:
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

    def _look(self, lane: Lane) -> float | None:
        """What a lane promises; None when it has nothing to do."""
        if lane.errands or lane.extras or lane.fetching_robots:
            return INFINITE
        if not lane.queue and not self._refill(lane):
            return None
        if self._helm.age - lane.aged >= AGE + lane.aged // 8:
            self.order(lane)
        return self._helm.promise(lane.queue[0])
