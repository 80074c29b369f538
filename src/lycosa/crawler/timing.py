"""When a worker writes its batch: how things stand goes in, yes or no comes out.

Large batches cost least, but what was found in them is known to nobody before: they are small while somebody waits.
"""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.crawler.politeness.host_queue import INFINITE, HostQueue
from lycosa.crawler.shared_state import Cell, SharedState
from lycosa.frontier import part_of
from lycosa.model import Batch, Discovery, State

BATCH_PAGES = 1000
BATCH_BYTES = 8 << 20
BATCH_S = 1.0
INBOX_S = 0.02
SHARE_S = 0.1  # what was found for other workers reaches them within this time
EARLY_S = 0.05  # with free hands, new URLs wait no longer than this


class Timing:
    """One worker's."""

    def __init__(self, shared: SharedState, slot: int) -> None:
        self.hungry = False  # a host has nothing to do that may have something in the batch
        self.committed_at = 0.0
        self._shared = shared
        self._slot = slot

    def commit(self, now: float) -> None:
        """A batch was written."""
        self.committed_at, self.hungry = now, False

    def notice(self, founds: Iterable[Discovery], scheduler: dict[str, HostQueue], parts: list[int]) -> None:
        """Links were found: a host of ours that has nothing to do, or was not known, need not wait for the others."""
        hosts = {found.host for found in founds if found.state == State.PENDING}
        self.hungry = any(
            host_queue.dry if (host_queue := scheduler.get(host)) else part_of(host) in parts for host in hosts
        )

    def wait_s(self, now: float, batch: Batch) -> float:
        """Seconds until a batch that somebody waits for may be written; infinite: nobody does."""
        return self.committed_at + EARLY_S - now if self.hungry and batch.discoveries else INFINITE

    def is_due(self, now: float, batch: Batch, *, buffered: int, pages: int, resting: bool) -> bool:
        """Whether to write now; `buffered`: bytes for the archive, `pages`: so many are enough, `resting`: nothing else
        can be done.
        """
        if not is_filled(batch):
            return False
        if resting:
            return True
        since = now - self.committed_at
        share = max(len(batch.outcomes) / min(BATCH_PAGES, pages), buffered / BATCH_BYTES, since / BATCH_S)
        if share >= 1:  # while another worker writes there is better to do than to wait for it, up to a point
            return share >= 2 or not self._are_others(Cell.COMMITTING)
        if not batch.discoveries:
            return False
        return (self.hungry and since >= EARLY_S) or (self._shared.workers > 1 and self._is_awaited(since))

    def _is_awaited(self, since: float) -> bool:
        """Whether another worker lacks work that may be in this batch."""
        if since < INBOX_S:
            return False
        return self._are_others(Cell.IDLE) or (since >= SHARE_S and self._are_others(Cell.ROOM))

    def _are_others(self, cell: Cell) -> bool:
        shared = self._shared
        return any(shared.get(other, cell) == 1 for other in range(shared.workers) if other != self._slot)


def is_filled(batch: Batch) -> bool:
    """Whether there is anything to write."""
    return bool(batch.outcomes or batch.discoveries or batch.robots)
