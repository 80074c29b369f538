"""Executor: the contract of whatever does jobs, be it processes of this machine or many machines.

Jobs go in, results come out, in any order; whatever happens between, each job ends in one result. A job that ends the
process that does it comes back as a "strike" and is tried once more before it is set aside.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from lycosa.extract.messages import ExtractJob, ExtractResult, Ready


class Executor(Protocol):
    """Does jobs: `submit` them, call `wait` again and again; `close` ends it."""

    @property
    def ready(self) -> Ready:
        """What was loaded to do the jobs: its name and version."""

    @property
    def room(self) -> int:
        """How many more jobs are wanted, so that no worker has to wait; never none while it is idle."""

    @property
    def idle(self) -> bool:
        """Whether every job that was given has come back."""

    @property
    def replaced(self) -> int:
        """How many workers died and were replaced."""

    @property
    def notes(self) -> list[str]:
        """What people should know at the end beside the results: machines that were lost, or left out."""

    def submit(self, jobs: Iterable[ExtractJob]) -> None:
        """Add jobs; their keys must be unique among those under way."""

    def drop(self) -> None:
        """Forget the jobs that no worker has begun; what was begun comes back."""

    def wait(self, seconds: float) -> list[ExtractResult]:
        """The results that came, within this time."""

    def close(self) -> None:
        """End all work at once, also from a signal's handler, and more than once; jobs under way are lost."""
