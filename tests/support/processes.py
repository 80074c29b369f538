"""Processes that a test leaves to themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(pid: int, *, alive: bool = False) -> Iterator[int]:
    """All processes below one, by whichever of its threads they were started; only those that run, if wanted."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in path.read_text().split()]
        except OSError:
            continue
        for child in children:
            if not alive or is_alive(child):
                yield child
            yield from descendants(child, alive=alive)


def find_children(pid: int) -> list[int]:
    """The processes that a process has started, the oldest first."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
