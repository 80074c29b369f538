"""Ray executor: pools on the nodes of a cluster do the jobs, through a driver process of our own.

Nodes read documents from the archive files themselves, so they need these at the same path as here: a shared folder.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence

import msgspec

from lycosa.errors import LycosaError, UsageError
from lycosa.extract import ray_driver
from lycosa.extract.messages import (
    ExtractJob,
    ExtractResult,
    RayFailure,
    RayOrder,
    RayReport,
    RaySetup,
    Ready,
    Setup,
    decode_report,
    handed_over,
)
from lycosa.extract.pool import BATCH_MAX, GRACE_S, LOAD_S
from lycosa.process import undisturbed
from lycosa.process.frames import Frames, frame

JOIN_S = 60.0  # for the cluster to let us in
END_S = 5.0


class RayExecutor:
    """An `Executor` whose workers are on the nodes of a Ray cluster."""

    def __init__(self, address: str, command: Sequence[str], setup: Setup, *, workers: int) -> None:
        """`command` starts a fork server, here as on a node; `workers` are per node, 0: one per processor."""
        self.replaced = 0
        self.notes: list[str] = []
        self._room = 0
        self._under_way: set[int] = set()
        self._results: list[ExtractResult] = []
        self._unsent = bytearray()
        self._frames = Frames()
        self._ready: Ready | None = None
        self._closed = False
        wanted = RaySetup(
            address=address,
            command=tuple(command[1:]),
            setup=_with_absolute_paths(setup),
            workers=workers,
            folder=os.getcwd(),
            join_s=JOIN_S,
        )
        self._selector = selectors.DefaultSelector()
        self._process, self._channel = _start(wanted)
        self._selector.register(self._channel, selectors.EVENT_READ)
        try:
            self.ready = self._await_ready()
        except BaseException:
            self.close()
            raise

    @property
    def room(self) -> int:
        """How many more jobs are wanted, so that no worker has to wait; never none while it is idle."""
        return max(BATCH_MAX if self.idle else 0, self._room)

    @property
    def idle(self) -> bool:
        """Whether every job that was given has come back."""
        return not (self._under_way or self._results)

    def submit(self, jobs: Iterable[ExtractJob]) -> None:
        """Add jobs; their keys must be unique among those under way."""
        whole = [_with_absolute_path(job) for job in jobs]
        if whole:
            self._under_way.update(job.key for job in whole)
            self._room -= len(whole)
            self._order(RayOrder(whole))

    def drop(self) -> None:
        """Forget the jobs that no worker has begun; the nodes are told so, and what they have begun comes back."""
        if self._under_way:
            self._order(RayOrder(drop=True))

    def wait(self, seconds: float) -> list[ExtractResult]:
        """The results that came, within this time."""
        if not self._results:
            self._listen(seconds)
        results, self._results = self._results, []
        return results

    def close(self) -> None:
        """End all work at once, also from a signal's handler, and more than once; jobs under way are lost."""
        if self._closed:
            return
        self._closed = True
        self._selector.close()
        self._channel.close()  # which ends the driver, and that the actors
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _order(self, order: RayOrder) -> None:
        self._unsent += frame(order)
        self._send()

    def _send(self) -> None:
        # A driver that has ended is found when we listen to it.
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            del self._unsent[: self._channel.send(self._unsent)]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)
        self._selector.modify(self._channel, wanted)

    def _listen(self, seconds: float) -> None:
        for _, events in self._selector.select(seconds):
            if events & selectors.EVENT_WRITE:
                self._send()
            if events & selectors.EVENT_READ:
                self._read()

    def _read(self) -> None:
        try:
            data = self._channel.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise LycosaError(
                "The Ray cluster is lost, or its driver on this machine; what was done is kept, and the same command"
                " continues."
            )
        for message in self._frames.feed(data):
            notice = decode_report(message)
            if isinstance(notice, RayReport):
                self._accept(notice)
            elif isinstance(notice, RayFailure):
                raise (UsageError if self._ready is None else LycosaError)(notice.text)
            else:
                self._ready = notice

    def _accept(self, report: RayReport) -> None:
        self._room, self.replaced = report.room, report.replaced
        self.notes += report.notes
        for result in report.results:
            if result.outcome != "strike":
                self._under_way.discard(result.key)
            self._results.append(result)
        self._under_way.difference_update(report.dropped)

    def _await_ready(self) -> Ready:
        limit = time.monotonic() + JOIN_S + LOAD_S + GRACE_S  # the driver says what is late, if it can
        while self._ready is None:
            if time.monotonic() > limit:
                raise UsageError("The driver of the Ray cluster on this machine does not answer.")
            self._listen(1.0)
        return self._ready


def _start(wanted: RaySetup) -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs, handed_over(wanted) as setup, contextlib.ExitStack() as stack:
        numbers = [theirs.fileno(), setup]
        output: int = subprocess.DEVNULL
        if wanted.setup.log:
            with contextlib.suppress(OSError):
                output = stack.enter_context(open(wanted.setup.log, "ab")).fileno()
        command = [sys.executable, "-P", "-m", ray_driver.__name__, *map(str, numbers)]
        with undisturbed():
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=numbers
            )
    ours.setblocking(False)
    return process, ours


def _with_absolute_path(job: ExtractJob) -> ExtractJob:
    if not job.path or os.path.isabs(job.path):
        return job
    return msgspec.structs.replace(job, path=os.path.abspath(job.path))


def _with_absolute_paths(setup: Setup) -> Setup:
    """The setup with names of files as any folder understands them."""
    path, colon, name = setup.quarry.rpartition(":") if not setup.quarry.endswith(".py") else (setup.quarry, "", "")
    quarry = f"{os.path.abspath(path)}{colon}{name}" if path.endswith(".py") else setup.quarry
    return msgspec.structs.replace(setup, quarry=quarry, log=os.path.abspath(setup.log) if setup.log else "")
