"""The supervisor's side of the browsers: starts their processes when a page needs them, replaces them, ends them all.

    supervisor ─▶ warden ─▶ hub (Python) ─▶ Playwright ─▶ browser ─▶ its processes

The warden only waits. Whatever is left behind below it becomes its child, so that when the supervisor, the hub or the
warden's time ends, it can end every process there is; were it killed itself, the hub dies with it, and the browser when
the pipe to it breaks.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.render import process_tree
from lycosa.render.messages import listen

if TYPE_CHECKING:
    from lycosa.render.broker import BrokerSettings

HANG_S = 60.0  # a hub that has not turned its loop for this long is taken for hung
STARTS = 5  # one after the other without a page between them, before there is no browser any more
END_S = 15.0
BROKEN = 3  # exit code of a hub whose browser cannot be started


class BrowserProcesses:
    """Starts a hub when asked to, and again when it dies; `close` leaves no process behind."""

    def __init__(self, plan: Callable[[str], BrokerSettings], *, errors: Path) -> None:
        # Of a short name, as a socket wants it; made when it is needed.
        self.folder = os.path.join(tempfile.gettempdir(), f"lycosa-browser-{os.getpid()}-{os.urandom(4).hex()}")
        self.problem = ""  # why there is no browser after all, for people
        self._plan = plan
        self._errors = errors
        self._warden = 0
        self._starts = 0
        self._started_at = 0.0
        self._rendered = -1

    @property
    def socket_path(self) -> str:
        """Where workers reach the hub."""
        return os.path.join(self.folder, "hub")

    def mind(self, *, wanted: bool, beat_at: float, rendered: int) -> None:
        """Called now and then: start what is wanted, end what hangs, start anew what died. `rendered`: pages so far."""
        if self._warden:
            ended, status = os.waitpid(self._warden, os.WNOHANG)
            if ended:
                self._warden = 0
                self._take_end(os.waitstatus_to_exitcode(status))
            elif time.monotonic() - max(beat_at, self._started_at) > HANG_S:
                self._end()
        elif wanted and not self.problem:
            self._starts = 1 if rendered > self._rendered else self._starts + 1
            self._rendered = rendered
            if self._starts > STARTS:
                self.problem = f"the browser's processes ended {STARTS} times in a row; see {self._errors}"
            else:
                self._start()

    def close(self) -> None:
        """End every process and remove what they left on disk."""
        if self._warden:
            self._end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _take_end(self, code: int) -> None:
        if code == BROKEN:
            with contextlib.suppress(OSError):
                self.problem = Path(self.folder, "problem").read_text(encoding="utf-8")
            self.problem = self.problem or "the browser does not start"

    def _start(self) -> None:
        try:
            shutil.rmtree(self.folder, ignore_errors=True)  # what a hub before this one left
            os.mkdir(self.folder, 0o700)
            listener = listen(self.socket_path)
        except OSError as error:
            self.problem = f"{self.folder} cannot be made: {error.strerror}"
            return
        self._started_at = time.monotonic()
        parent = os.getpid()
        self._warden = os.fork()
        if self._warden == 0:
            code = 1
            try:
                code = _guard(lambda: self._serve(listener), parent=parent, keep=listener.fileno())
                if os.getppid() != parent:  # nobody else will
                    shutil.rmtree(self.folder, ignore_errors=True)
            finally:
                os._exit(code)
        listener.close()

    def _serve(self, listener: socket.socket) -> int:
        """In the process of the hub; Playwright is loaded here and nowhere else."""
        from lycosa.render.broker import serve
        from lycosa.render.browser_pool import BrowserBroken

        try:
            serve(self._plan(self.folder), listener)
            return 0
        except BrowserBroken as error:
            Path(self.folder, "problem").write_text(str(error), encoding="utf-8")
            return BROKEN
        except BaseException:
            with contextlib.suppress(OSError):
                self._errors.parent.mkdir(exist_ok=True)
                with open(self._errors, "a", encoding="utf-8", errors="backslashreplace") as file:
                    file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}\n{traceback.format_exc()}\n")
            return 1

    def _end(self) -> None:
        """Ask the warden to end all; it is killed if it does not."""
        pid, self._warden = self._warden, 0
        deadline = time.monotonic() + END_S
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGTERM)
            while not os.waitpid(pid, os.WNOHANG)[0]:
                if time.monotonic() > deadline:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    return
                time.sleep(0.005)


def _guard(work: Callable[[], int], *, parent: int, keep: int) -> int:
    """In the process of the warden: run the hub below it; when either ends, end all that is left."""
    os.setsid()  # a Ctrl-C is for the supervisor, and a killed process group must not take the warden along
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    process_tree.adopt_orphans()
    process_tree.die_with_parent(signal.SIGTERM, parent)
    _close_files(keep)
    warden, code = os.getpid(), 1
    hub = os.fork()
    if hub == 0:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            process_tree.leave_network()  # first: it makes the kernel forget what the next line asks for
            process_tree.die_with_parent(signal.SIGKILL, warden)
            code = work()
        finally:
            os._exit(code)
    try:
        os.close(keep)
        while True:
            ended, status = os.waitpid(-1, 0)  # orphans are buried on the way
            if ended == hub:
                return os.waitstatus_to_exitcode(status)
    except SystemExit:
        return 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        process_tree.end_below(warden)


def _close_files(keep: int) -> None:
    """What the supervisor holds (the collection's lock above all) must not be held by a process that outlives it."""
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd > 2 and fd != keep:
            with contextlib.suppress(OSError):
                os.close(fd)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
