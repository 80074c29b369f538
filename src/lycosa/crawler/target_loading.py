"""Target loading: brings the next URLs of a host from the frontier into its queue."""

from __future__ import annotations

import time
from typing import Protocol

from lycosa.crawler.batch_commit import BatchTiming
from lycosa.frontier.contract import Frontier
from lycosa.intake.link_follower import LinkFollower
from lycosa.model import State
from lycosa.politeness.host_queue import HostQueue

LOAD = 64  # targets that a host queue takes from the frontier at once


class QueueFiller(Protocol):
    """What fills host queues: a loader, or a best-first scheduler that orders what it loads."""

    def refill(self, host_queue: HostQueue) -> bool:
        """Load more targets; False when there are none."""


class TargetLoader:
    """Loads targets for one worker; targets on origins that were given up fail without a request."""

    def __init__(self, frontier: Frontier, timing: BatchTiming, links: LinkFollower | None = None) -> None:
        """`links` hear of seeds that moved."""
        self._frontier = frontier
        self._links = links
        self._timing = timing
        self.cpu_s = 0.0

    def refill(self, host_queue: HostQueue) -> bool:
        """Load the targets of a host that come next; False when the frontier has none."""
        if host_queue.dry:
            return False
        began = time.perf_counter()
        targets = self._frontier.targets.load(host_queue.host, limit=LOAD, skip=host_queue.held)
        while origin := host_queue.find_down(targets):
            self._frontier.changes.end_host(host_queue.host, host_queue.down[origin], state=State.FAILED, under=origin)
            targets = self._frontier.targets.load(host_queue.host, limit=LOAD, skip=host_queue.held)
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
