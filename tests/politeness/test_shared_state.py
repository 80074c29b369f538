"""Permits make the page limit exact."""

from __future__ import annotations

import os
from pathlib import Path

from lycosa.politeness.shared_state import Cell, SharedState


def test_permits_never_exceed_the_limit(tmp_path: Path) -> None:
    """Stored pages and pages under way together stay within the limit; returned permits are given again."""
    shared = SharedState(2, folder=str(tmp_path))
    shared.set_limit(3, 5)
    assert shared.take_permit(0)
    assert shared.take_permit(1)
    assert not shared.take_permit(0)
    shared.redeem(0, stored=0, returned=1)
    assert shared.take_permit(1)
    shared.redeem(1, stored=2, returned=0)
    assert shared.full


def test_a_dead_workers_permits_return(tmp_path: Path) -> None:
    """What a worker held when it died is free again, and the frontier's count is the truth."""
    shared = SharedState(2, folder=str(tmp_path))
    shared.set_limit(0, 1)
    assert shared.take_permit(0)
    shared.forget(0, stored=0)
    assert shared.take_permit(1)


def test_processes_share_permits(tmp_path: Path) -> None:
    """Many processes that take permits at once take exactly as many as there are."""
    shared = SharedState(4, folder=str(tmp_path))
    shared.set_limit(0, 100)
    pids = []
    for slot in range(4):
        pid = os.fork()
        if pid == 0:
            shared.join()
            for _ in range(50):
                if shared.take_permit(slot):
                    shared.add(slot, Cell.PAGES, 1)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    assert shared.total(Cell.PAGES) == 100
