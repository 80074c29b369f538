"""Fork server: a clean process that loads the quarry once and forks workers: 6 ms each, where a new Python takes 160.

It has no database, no thread and no connection of its own. The pool asks it over one socket ("s" with the worker's end
of a channel, "k" to kill one); it reports each start and end. When the pool is gone, it ends with all its children.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import mmap
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from lycosa.errors import UsageError
from lycosa.extract.messages import REQUEST, Notice, QuarryRefused, Ready, Setup, WorkerEnded, WorkerStarted, take_over
from lycosa.extract.quarry_loader import load_configured
from lycosa.extract.worker import Extract, serve
from lycosa.process.frames import frame
from lycosa.quarry import Quarry, has_extract, name_of, overrides

T = TypeVar("T")

SLOTS = 512

#: Wires the stages that a document needs: what a worker runs for each job.
Make = Callable[[Setup, T], Extract]
#: Loads what is to be run, once, before the workers are forked.
Load = Callable[[Setup], T]


def load_named(setup: Setup) -> Quarry:
    """The quarry that the setup names."""
    quarry = load_configured(setup.quarry, setup.settings)
    if setup.folder and overrides(quarry, "look_in"):
        quarry.look_in(Path(setup.folder))
    return quarry


def run(arguments: list[str], make: Make[T], load: Load[T]) -> None:
    """The life of a fork server; the arguments are the numbers of a socket and of a file with a Setup.

    The second time what is Ready follows them.

    What is loaded has a name and a version; it is a quarry, or an analyzer.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pool decides
    sock = socket.socket(fileno=int(arguments[0]))
    handed = int(arguments[1])
    setup = take_over(handed, Setup)
    os.dup2(2, 1)  # what a quarry prints must not get between the records
    quarry = None
    if len(arguments) == 2:
        try:
            quarry = load(setup)
        except UsageError as problem:
            sock.sendall(frame(QuarryRefused(str(problem))))
            return
        ready = _make_ready(quarry)
        if _thread_count() > 1:
            # A process with threads must not fork: begin again, and let every worker load the quarry for itself.
            os.set_inheritable(sock.fileno(), True)
            os.set_inheritable(handed, True)
            os.execv(sys.executable, [*sys.orig_argv, msgspec.json.encode(ready).decode()])
    else:
        ready = msgspec.json.decode(arguments[2], type=Ready)
    try:
        sock.sendall(frame(ready))
    except BrokenPipeError:  # the pool was ended before this was ready
        return
    ForkServer(sock, setup, make=make, load=load, quarry=quarry).run()


def _make_ready(loaded: object) -> Ready:
    if isinstance(loaded, Quarry):
        return Ready(name_of(loaded), str(loaded.version), has_extract(loaded))
    return Ready(str(getattr(loaded, "name", "")), str(getattr(loaded, "version", "")), True)


def _thread_count() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import threading

        return threading.active_count()


class ForkServer(Generic[T]):
    """Forks on request and reaps."""

    def __init__(self, sock: socket.socket, setup: Setup, *, make: Make[T], load: Load[T], quarry: T | None) -> None:
        self._sock = sock
        self._setup = setup
        self._make = make
        self._load = load
        self._quarry = quarry
        self._cells = memoryview(mmap.mmap(-1, 8 * SLOTS)).cast("q")
        self._free = list(range(SLOTS))
        self._children: dict[int, int] = {}  # pid -> slot
        self._born = 0

    def run(self) -> None:
        """Serve until the pool hangs up."""
        gc.collect()
        gc.freeze()
        wake, waker = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            readable, _, _ = select.select([self._sock.fileno(), wake], [], [])
            if wake in readable:
                os.read(wake, 4096)
                self._reap()
            if self._sock.fileno() in readable and not self._serve_request():
                break
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        for pid in self._children:
            os.waitpid(pid, 0)

    def _notify(self, notice: Notice) -> None:
        with contextlib.suppress(BrokenPipeError):  # the pool is gone: `_obey` sees it
            self._sock.sendall(frame(notice))

    def _serve_request(self) -> bool:
        """Do what the pool asks; False when it is gone."""
        try:
            data, fds, _, _ = socket.recv_fds(self._sock, REQUEST.size, 1)
        except OSError:
            return False
        if len(data) < REQUEST.size:
            return False
        letter, number = REQUEST.unpack(data)
        if letter == b"s":
            self._fork(fds[0])
            os.close(fds[0])
        elif number in self._children:  # not reaped, so the number is still this child's
            os.kill(number, signal.SIGKILL)
        return True

    def _fork(self, channel: int) -> None:
        slot = self._free.pop()
        self._cells[slot] = 0
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                self._run_worker(channel, slot)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        self._children[pid] = slot
        self._born += 1
        self._notify(WorkerStarted(self._born, pid))

    def _run_worker(self, channel: int, slot: int) -> None:
        """Be a worker, in the child process."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._sock.close()
        if self._setup.log:
            faulthandler.enable(open(self._setup.log, "a", encoding="utf-8"), all_threads=False)  # noqa: SIM115
        quarry = self._load(self._setup) if self._quarry is None else self._quarry
        with socket.socket(fileno=os.dup(channel)) as end:
            os.close(channel)
            serve(end, self._setup, extract=self._make(self._setup, quarry), cell=self._cells[slot : slot + 1])

    def _reap(self) -> None:
        while self._children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            slot = self._children.pop(pid, None)
            if slot is not None:
                self._free.append(slot)
                self._notify(WorkerEnded(pid, os.waitstatus_to_exitcode(status), self._cells[slot]))
