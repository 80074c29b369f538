"""Batch commit: when a worker's batch is written, and how: the archive's bytes first, then one transaction.

Large batches cost least, but nobody knows before the commit what was found in them: they are small while somebody
waits. Where there is no room on the disk, the batch is held in memory and tried again, for as long as the mission says.
Now and then all that was crawled so far is made to survive a loss of power.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Set
from typing import TypeVar

from lycosa import clock
from lycosa.archive.writer import ArchiveWriter
from lycosa.config.settings import Mission
from lycosa.errors import DiskFull
from lycosa.frontier.contract import Frontier
from lycosa.frontier.partitions import LeasedPartitions, part_of
from lycosa.intake.batch import PendingBatch
from lycosa.judge.admission.traps import PAGE_COUNTS, Traps
from lycosa.model import Batch, Committed, Discovery, Outcome, State
from lycosa.politeness.host_queue import INFINITE, HostQueue
from lycosa.politeness.shared_state import Cell, SharedState

BATCH_PAGES = 1000
BATCH_BYTES = 8 << 20
BATCH_S = 1.0
INBOX_S = 0.02
SHARE_S = 0.1  # what was found for other workers reaches them within this time
EARLY_S = 0.05  # with free hands, new URLs wait no longer than this
SYNC_BYTES = 64 << 20  # of archive that a loss of power may cost, at the most
_AGAIN_S = 0.5

R = TypeVar("R")
PageCounts = dict[tuple[str, str], int]  # by host and key


def find_page_counts(batch: Batch) -> PageCounts:
    """What of the counts of a batch counts its pages, not the addresses found on them."""
    return {pair: count for pair, count in batch.trap_counts.items() if pair[1].startswith(PAGE_COUNTS)}


def take_out_partitions(batch: Batch, parts: Set[int], traps: Traps, page_counts: PageCounts) -> list[Outcome]:
    """Take out of a batch what belongs to partitions that are another worker's now; returns the outcomes among it.

    With the pages go the addresses that were found on them, and what both were counted for: the other worker fetches
    the same pages and counts them and the same addresses. `page_counts` are those of pages; written ones are undone.
    """
    is_written = not batch.trap_counts  # with the addresses, before the pages
    for pair in [pair for pair in page_counts if part_of(pair[0]) in parts]:
        count = page_counts.pop(pair)
        batch.trap_counts[pair] = -count if is_written else 0
    gone = [outcome for outcome in batch.outcomes if part_of(outcome.host) in parts]
    rows = {outcome.row for outcome in gone}
    for found in batch.discoveries:
        if found.parent in rows and found.state == State.PENDING:
            for pair in traps.counted_under(found.url, found.host):
                if batch.trap_counts.get(pair, 0) > 0:
                    batch.trap_counts[pair] -= 1
    batch.outcomes = [outcome for outcome in batch.outcomes if outcome.row not in rows]
    batch.discoveries = [found for found in batch.discoveries if found.parent not in rows]
    batch.hosts = [row for row in batch.hosts if part_of(row.host) not in parts]
    return gone


class BatchTiming:
    """When a worker writes its batch."""

    def __init__(self, shared: SharedState, slot: int, batch: PendingBatch) -> None:
        self.is_awaited = False  # a host has nothing to do that may have something in the batch
        self._committed_at = 0.0
        self._shared = shared
        self._slot = slot
        self._batch = batch

    def await_batch(self) -> None:
        """A host ran out of targets: there may be some in the batch."""
        self.is_awaited = True

    def end_batch(self, now: float) -> None:
        """A batch was written."""
        self._committed_at, self.is_awaited = now, False

    def look_for_idle(
        self, discoveries: Iterable[Discovery], queues: Mapping[str, HostQueue], partitions: LeasedPartitions
    ) -> None:
        """Await the batch if links were found for a host of ours that has nothing to do, or was not known."""
        hosts = {discovery.host for discovery in discoveries if discovery.state == State.PENDING}
        self.is_awaited = any(
            host_queue.dry if (host_queue := queues.get(host)) else host in partitions for host in hosts
        )

    def wait_s(self, now: float) -> float:
        """Seconds until a batch that somebody waits for may be written; infinite: nobody does."""
        return self._committed_at + EARLY_S - now if self.is_awaited and self._batch.discoveries else INFINITE

    def is_due(self, now: float, *, buffered: int, pages: int, resting: bool) -> bool:
        """Whether to write now; `buffered`: bytes for the archive, `pages`: so many are enough, `resting`: nothing else
        can be done.
        """
        batch = self._batch
        if not batch.is_filled:
            return False
        if resting:
            return True
        since = now - self._committed_at
        share = max(len(batch.outcomes) / min(BATCH_PAGES, pages), buffered / BATCH_BYTES, since / BATCH_S)
        if share >= 1:  # while another worker writes there is better to do than to wait for it, up to a point
            return share >= 2 or not self._are_others(Cell.COMMITTING)
        if not batch.discoveries:
            return False
        return (self.is_awaited and since >= EARLY_S) or (self._shared.workers > 1 and self._do_others_wait(since))

    def _do_others_wait(self, since: float) -> bool:
        """Whether another worker lacks work that may be in this batch."""
        if since < INBOX_S:
            return False
        return self._are_others(Cell.IDLE) or (since >= SHARE_S and self._are_others(Cell.ROOM))

    def _are_others(self, cell: Cell) -> bool:
        shared = self._shared
        return any(shared.get(other, cell) == 1 for other in range(shared.workers) if other != self._slot)


class BatchWriter:
    """Writes the batches of one worker."""

    def __init__(
        self, mission: Mission, slot: int, *, frontier: Frontier, archive: ArchiveWriter, shared: SharedState
    ) -> None:
        self._mission = mission
        self._slot = slot
        self._frontier = frontier
        self._archive = archive
        self._shared = shared
        self._sync_at = clock.now() + mission.keep.sync_s

    @property
    def buffered(self) -> int:
        """Bytes that wait for the archive."""
        return self._archive.buffered

    def retire_archive(self) -> None:
        """Let an archive file that is old go to the store, also while nothing is written."""
        self._archive.retire()

    def write(self, batch: Batch, *, owner: str, now: float, last: bool) -> Committed:
        """Make a batch last; the `last` one at once against a loss of power as well. May raise `LeaseLost`."""
        return self.patiently(lambda: self._write(batch, owner, now, last=last))

    def patiently(self, action: Callable[[], R]) -> R:
        """Do what needs room on the disk; raises `DiskFull` when none was made in time, or nobody waits."""
        deadline = time.monotonic() + self._mission.keep.wait_s
        while True:
            try:
                return action()
            except DiskFull as problem:
                if time.monotonic() >= deadline:
                    raise
                self.wait_for_room(problem)

    def wait_for_room(self, problem: DiskFull) -> None:
        """Give somebody time to make room; raises the problem where nobody waits."""
        if self._shared.stopping or not self._mission.keep.wait_s:
            raise problem
        self._shared.put(self._slot, Cell.BEAT, time.monotonic())
        time.sleep(_AGAIN_S)

    def _write(self, batch: Batch, owner: str, now: float, *, last: bool) -> Committed:
        archive = self._archive
        batch.warc, batch.warc_size = archive.flush(last=last)
        if last or archive.has_obsolete_side_files or now >= self._sync_at or archive.unsynced >= SYNC_BYTES:
            archive.sync()
            batch.durable = True
            self._sync_at = now + self._mission.keep.sync_s
        batch.warc_synced = archive.synced
        batch.warcs = archive.side_files
        committed = self._frontier.commit(batch, owner=owner, now=now, max_depth=self._mission.limits.depth)
        archive.clear()
        counts = self._frontier.figures.counts()
        self._shared.waiting = counts.get(State.PENDING, 0) + counts.get(State.WAITING, 0)
        return committed
