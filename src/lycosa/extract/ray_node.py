"""Ray node: an actor on a node of the cluster that owns a pool there: the kernel of its machine keeps the limits.

Only bytes pass between it and the driver, and they are read as messages of ours.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Sequence

import msgspec

from lycosa.errors import LycosaError
from lycosa.extract.messages import ExtractResult, NodeReply, NodeState, RaySetup, decode_jobs, decode_setup
from lycosa.extract.pool import Pool
from lycosa.process.frames import encode
from lycosa.version import __version__ as VERSION

WAIT_S = 1.0  # for the first result
GATHER_S = 0.3  # for more of them: a call costs milliseconds, and two seconds of work are in hand
GATHER_BYTES = 8 << 20


class RayNode:
    """The actor of one node."""

    def __init__(self, setup: bytes, workers: int) -> None:
        self._wanted: RaySetup = decode_setup(setup)
        self._workers = workers
        self._pool: Pool | None = None

    def begin(self) -> bytes:
        """Start the pool; a NodeState."""
        with contextlib.suppress(OSError):  # names of files may be relative to it
            os.chdir(self._wanted.folder)
        setup = self._wanted.setup
        if setup.log and not os.access(os.path.dirname(setup.log), os.W_OK):
            setup = msgspec.structs.replace(setup, log="")
        try:
            self._pool = Pool((sys.executable, *self._wanted.command), setup, workers=self._workers)
        except LycosaError as problem:
            return encode(NodeState(VERSION, refused=str(problem)))
        return encode(NodeState(VERSION, ready=self._pool.ready))

    def exchange(self, jobs: bytes, paths: Sequence[str], drop: bool) -> bytes:
        """Take jobs, work for a while; a NodeReply. The driver can read the files at `paths`: so must we."""
        assert self._pool is not None
        pool = self._pool
        for path in paths:
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            except OSError as problem:
                return encode(NodeReply(replaced=pool.replaced, unread=f"{path} ({problem.strerror})"))
        pool.submit(decode_jobs(jobs))
        dropped = pool.forget() if drop else []
        return encode(NodeReply(self._gather(pool), dropped, pool.replaced))

    def _gather(self, pool: Pool) -> list[ExtractResult]:
        results: list[ExtractResult] = []
        size = 0
        began = time.monotonic()
        while not pool.idle:
            passed = time.monotonic() - began
            left = (GATHER_S if results else WAIT_S) - passed
            if left <= 0 or size >= GATHER_BYTES:
                break
            came = pool.wait(left)
            results += came
            size += sum(len(item.json) for result in came for item in result.items)
        return results
