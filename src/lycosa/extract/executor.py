"""Executor: the contract of whatever does jobs, be it processes of this machine or many machines.

Jobs go in, results come out, in any order; whatever happens between, each job ends in one result. A job that ends the
process that does it comes back as a "strike" and is tried once more before it is set aside.

Choice of the executor: processes of this machine, or the nodes of a Ray cluster.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from lycosa.errors import UsageError
from lycosa.extract.messages import ExtractJob, ExtractResult, Ready, Setup
from lycosa.extract.pool import Pool
from lycosa.extras import need


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


_RAY = re.compile(r"ray(?:://(?P<address>(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})))?")


def open_executor(on: str, command: Sequence[str], setup: Setup, *, workers: int) -> Executor:
    """The executor that `--on` names, empty for this machine; `command` starts a fork server."""
    if not on:
        return Pool(command, setup, workers=workers or os.cpu_count() or 1)
    address = read_address(on)
    need("ray", extra="ray", what=f"--on {on}")
    from lycosa.extract.ray_executor import RayExecutor

    return RayExecutor(address, command, setup, workers=workers)


def check_place_of_work(on: str) -> None:
    """UsageError where `--on` is not understood; before work that may take long."""
    if on:
        read_address(on)


def read_address(on: str) -> str:
    """The address of the cluster, HOST:PORT; empty where `--on` names none."""
    found = _RAY.fullmatch(on)
    if not found or int(found["port"] or 1) not in range(1, 65536):
        raise UsageError(f"--on {on} is not understood: write ray, or ray://HOST:PORT as `ray start --head` says it.")
    return found["address"] or ""
