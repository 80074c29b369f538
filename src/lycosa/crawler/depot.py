"""Batches go in; archive and frontier hold them: the bytes first, then one transaction.

Where there is no room, the batch is held in memory and tried again, for as long as the mission says. Now and then all
that was crawled so far is made to survive a loss of power.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from lycosa import clock
from lycosa.archive.writer import ArchiveWriter
from lycosa.config.settings import Mission
from lycosa.crawler.shared_state import Cell, SharedState
from lycosa.errors import DiskFull
from lycosa.frontier import Frontier
from lycosa.model import Batch, Committed, State

SYNC_BYTES = 64 << 20  # of archive that a loss of power may cost, at the most
_AGAIN_S = 0.5

R = TypeVar("R")


class Depot:
    """Belongs to one worker."""

    def __init__(
        self, mission: Mission, slot: int, *, frontier: Frontier, archive: ArchiveWriter, shared: SharedState
    ) -> None:
        self._mission = mission
        self._slot = slot
        self._frontier = frontier
        self._archive = archive
        self._shared = shared
        self._sync_at = clock.now() + mission.keep.sync_s

    def store(self, batch: Batch, *, owner: str, now: float, last: bool) -> Committed:
        """Make a batch last; the `last` one at once against a loss of power as well. May raise `LeaseLost`."""
        return self.patiently(lambda: self._store(batch, owner, now, last=last))

    def patiently(self, action: Callable[[], R]) -> R:
        """Do what needs room on the disk; raises `DiskFull` when none was made in time, or nobody waits."""
        deadline = time.monotonic() + self._mission.keep.wait_s
        while True:
            try:
                return action()
            except DiskFull as problem:
                if time.monotonic() >= deadline:
                    raise
                self.rest(problem)

    def rest(self, problem: DiskFull) -> None:
        """Give somebody time to make room; raises the problem where nobody waits."""
        if self._shared.stopping or not self._mission.keep.wait_s:
            raise problem
        self._shared.put(self._slot, Cell.BEAT, time.monotonic())
        time.sleep(_AGAIN_S)

    def _store(self, batch: Batch, owner: str, now: float, *, last: bool) -> Committed:
        archive = self._archive
        batch.warc, batch.warc_size = archive.flush(last=last)
        if last or archive.spent or now >= self._sync_at or archive.unsynced >= SYNC_BYTES:
            archive.sync()
            batch.durable = True
            self._sync_at = now + self._mission.keep.sync_s
        batch.warc_synced = archive.synced
        batch.warcs = archive.asides
        committed = self._frontier.commit(batch, owner=owner, now=now, max_depth=self._mission.limits.depth)
        archive.clear()
        counts = self._frontier.counts()
        self._shared.waiting = counts.get(State.PENDING, 0) + counts.get(State.WAITING, 0)
        return committed
