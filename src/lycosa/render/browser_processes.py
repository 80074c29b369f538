"""Processes of the browsers: finds the system's browser, starts it when a page needs it, replaces it, ends them all.

    supervisor ─▶ reaper ─▶ broker (Python) ─▶ Playwright ─▶ browser ─▶ its processes

The reaper only waits. Whatever is left behind below it becomes its child, so that it can end every process there is
when the supervisor ends, the broker ends, or it is told to; were it killed itself, the broker dies with it, and the
browser when the pipe to it breaks.
"""

from __future__ import annotations

import contextlib
import importlib.util
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

from msgspec import Struct

from lycosa.clock import iso_time
from lycosa.render import process_tree
from lycosa.render.messages import listen

if TYPE_CHECKING:
    from lycosa.render.broker import BrokerSettings

#: As Debian, Fedora, Ubuntu, Google and Microsoft call theirs; all are Chromium. Shells without windows come first:
#: they take a fifth of the processor and half of the memory.
NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "headless_shell",
    "headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
_PLAYWRIGHT = f"Playwright ({sys.executable} -m pip install playwright)"
_CHROMIUM = "a Chromium (apt-get install chromium-headless-shell, or say where one is: render.browser)"


class BrowserProgram(Struct, frozen=True):
    """A browser that can be used, or what has to be installed first."""

    path: str = ""
    missing: str = ""  # empty when nothing is


def find_browser(setting: str = "") -> BrowserProgram:
    """The browser that `render.browser` names, else the first of the usual names on PATH."""
    path = _look(setting)
    has_driver = importlib.util.find_spec("playwright") is not None
    if path and has_driver:
        return BrowserProgram(path)
    if setting and not path:
        return BrowserProgram(missing=f"render.browser names {setting!r}, which is no program")
    lacks = [] if has_driver else [_PLAYWRIGHT]
    if not path:
        lacks.append(_CHROMIUM)
    return BrowserProgram(missing="install " + " and ".join(lacks))


def _look(setting: str) -> str:
    if setting:
        return shutil.which(os.path.expanduser(setting)) or ""
    return next((path for name in NAMES if (path := shutil.which(name))), "")


HANG_S = 60.0  # a broker whose loop has not turned for this long is taken for hung
STARTS = 5  # one after the other without a page between them, before there is no browser any more
END_S = 15.0
BROKEN = 3  # exit code of a broker whose browser cannot be started


class BrowserProcesses:
    """The broker and its browsers, as the supervisor sees them; `close` leaves no process behind."""

    def __init__(self, make_settings: Callable[[str], BrokerSettings], *, errors: Path) -> None:
        # The name is short, because the path of a socket must be; the folder is made when it is needed.
        self.folder = os.path.join(tempfile.gettempdir(), f"lycosa-browser-{os.getpid()}-{os.urandom(4).hex()}")
        self.problem = ""  # why there is no browser after all, for people
        self._make_settings = make_settings
        self._errors = errors
        self._reaper = 0
        self._starts = 0
        self._started_at = 0.0
        self._rendered = -1

    @property
    def socket_path(self) -> str:
        """Where workers reach the broker."""
        return os.path.join(self.folder, "broker")

    def supervise(self, *, wanted: bool, beat_at: float, rendered: int) -> None:
        """Called now and then: start what is wanted, end what hangs, start anew what died. `rendered`: pages so far."""
        if self._reaper:
            ended, status = os.waitpid(self._reaper, os.WNOHANG)
            if ended:
                self._reaper = 0
                self._record_end(os.waitstatus_to_exitcode(status))
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
        if self._reaper:
            self._end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _record_end(self, code: int) -> None:
        if code == BROKEN:
            with contextlib.suppress(OSError):
                self.problem = Path(self.folder, "problem").read_text(encoding="utf-8")
            self.problem = self.problem or "the browser does not start"

    def _start(self) -> None:
        try:
            shutil.rmtree(self.folder, ignore_errors=True)  # what an earlier broker left
            os.mkdir(self.folder, 0o700)
            listener = listen(self.socket_path)
        except OSError as error:
            self.problem = f"{self.folder} cannot be made: {error.strerror}"
            return
        self._started_at = time.monotonic()
        parent = os.getpid()
        self._reaper = os.fork()
        if self._reaper == 0:
            code = 1
            try:
                code = _run_reaper(lambda: self._serve(listener), parent=parent, keep=listener.fileno())
                if os.getppid() != parent:  # nobody else will
                    shutil.rmtree(self.folder, ignore_errors=True)
            finally:
                os._exit(code)
        listener.close()

    def _serve(self, listener: socket.socket) -> int:
        """In the process of the broker; Playwright is loaded here and nowhere else."""
        from lycosa.render.broker import serve
        from lycosa.render.browser_pool import BrowserBroken

        try:
            serve(self._make_settings(self.folder), listener)
            return 0
        except BrowserBroken as error:
            Path(self.folder, "problem").write_text(str(error), encoding="utf-8")
            return BROKEN
        except BaseException:
            with contextlib.suppress(OSError):
                self._errors.parent.mkdir(exist_ok=True)
                with open(self._errors, "a", encoding="utf-8", errors="backslashreplace") as file:
                    file.write(f"{iso_time(time.time())}\n{traceback.format_exc()}\n")
            return 1

    def _end(self) -> None:
        """Ask the reaper to end all; it is killed if it does not."""
        pid, self._reaper = self._reaper, 0
        deadline = time.monotonic() + END_S
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGTERM)
            while not os.waitpid(pid, os.WNOHANG)[0]:
                if time.monotonic() > deadline:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    return
                time.sleep(0.005)


def _run_reaper(work: Callable[[], int], *, parent: int, keep: int) -> int:
    """In the process of the reaper: run the broker below it; when either ends, end all that is left."""
    os.setsid()  # a Ctrl-C is for the supervisor, and a killed process group must not take the reaper along
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    process_tree.adopt_orphans()
    process_tree.die_with_parent(signal.SIGTERM, parent)
    _close_files(keep)
    reaper, code = os.getpid(), 1
    broker = os.fork()
    if broker == 0:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            process_tree.leave_network()  # first: it makes the kernel forget what the next line asks for
            process_tree.die_with_parent(signal.SIGKILL, reaper)
            code = work()
        finally:
            os._exit(code)
    try:
        os.close(keep)
        while True:
            ended, status = os.waitpid(-1, 0)  # orphans are reaped on the way
            if ended == broker:
                return os.waitstatus_to_exitcode(status)
    except SystemExit:
        return 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        process_tree.end_below(reaper)


def _close_files(keep: int) -> None:
    """Close what the supervisor holds, above all the collection's lock: this process may outlive it."""
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd > 2 and fd != keep:
            with contextlib.suppress(OSError):
                os.close(fd)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
