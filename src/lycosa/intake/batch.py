"""Pending batch: what a worker has gathered since its last commit."""

from __future__ import annotations

from lycosa import clock
from lycosa.model import (
    Batch,
    Discovery,
    HostRow,
    LastmodHint,
    Outcome,
    RobotsRow,
    State,
    Target,
    Verdict,
    WeightUpdate,
)


class PendingBatch:
    """Owns the rows of the next commit, until `drain` hands them over."""

    __slots__ = ("discoveries", "hints", "outcomes", "robots")

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.discoveries: list[Discovery] = []
        self.outcomes: list[Outcome] = []
        self.robots: list[RobotsRow] = []
        self.hints: list[LastmodHint] = []

    @property
    def is_filled(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.outcomes or self.discoveries or self.robots)

    def refuse(self, target: Target, verdict: Verdict, *, state: State = State.REJECTED) -> None:
        """Put down that a target is not fetched, and why."""
        self.outcomes.append(Outcome(target.row, target.host, int(state), verdict.reason, at=clock.now()))

    def remember_robots(self, row: RobotsRow) -> None:
        """Have the frontier keep what a robots.txt says."""
        self.robots.append(row)

    def drain(
        self, *, hosts: list[HostRow], trap_counts: dict[tuple[str, str], int], weight_updates: list[WeightUpdate]
    ) -> Batch:
        """All that was gathered, with what else belongs into the same commit; a new batch begins."""
        batch = Batch(
            discoveries=self.discoveries,
            outcomes=self.outcomes,
            hosts=hosts,
            robots=self.robots,
            trap_counts=trap_counts,
            hints=self.hints,
            weight_updates=weight_updates,
        )
        self._begin()
        return batch
