"""Choice of the executor: processes of this machine, or the nodes of a Ray cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from lycosa.errors import UsageError
from lycosa.extract.executor import Executor
from lycosa.extract.messages import Setup
from lycosa.extract.pool import Pool
from lycosa.extras import need

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
