"""Background refresh: a process of low priority renews what a mission keeps beside a collection for its pages.

A page waits for it for a short while; where it takes longer, or a crawl writes all the time, the page shows what is
there. The module that does the work is started by its name and calls `run_refresh`; it does nothing where nothing is
due.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from lycosa.collection.reading_source import mark_source
from lycosa.errors import BeingMade, LycosaError

NICE = 10
_WAIT_S = 5.0
#: Between the end of a run and the next one: so much, and so many times what the run took.
_LEAST_S = 5.0
_PACE = 20


class _Run(Struct):
    """The last process for a folder: the state that it saw, and when it began and ended."""

    process: subprocess.Popen[bytes]
    mark: str
    began: float
    ended: float = 0.0

    def wait(self, seconds: float) -> bool:
        """Whether it ended within this time."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self.ended = self.ended or time.monotonic()
        return True


class RefreshState(Struct, frozen=True):
    """How far a refresh is: whether what it keeps is of the collection as it is now, and whether it is at work."""

    is_current: bool
    is_running: bool

    def require(self, *, is_complete: bool, is_empty: bool) -> None:
        """Refuse to tell that there is nothing, or only a part, while it is being made."""
        if self.is_running and (is_empty or not is_complete):
            raise BeingMade


_runs: dict[tuple[str, Path], _Run] = {}
_lock = threading.Lock()


def refresh_in_background(module: str, folder: Path, *, wait_s: float = _WAIT_S) -> RefreshState:
    """Have a module bring up to date what it keeps for a collection; how far it is.

    The caller waits only for a process that began less than `wait_s` ago.
    """
    key = module, folder
    mark = mark_source(folder)
    with _lock:
        run = _runs.get(key)
        if run is None or (run.wait(0) and run.mark != mark and _is_time(run)):
            command = [sys.executable, "-P", "-m", module, str(folder)]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            run = _runs[key] = _Run(process, mark, time.monotonic())
    left = max(0.0, run.began + wait_s - time.monotonic())
    has_ended = run.wait(left)
    return RefreshState(has_ended and run.process.returncode == 0 and run.mark == mark, not has_ended)


def _is_time(run: _Run) -> bool:
    return time.monotonic() - run.ended > max(_LEAST_S, _PACE * (run.ended - run.began))


def run_refresh(work: Callable[[Path], object], folder: str) -> int:
    """The main program of such a process; it ends with the one that started it."""
    os.nice(NICE)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        work(Path(folder))
    except LycosaError:
        return 1  # whoever shows it meets the same, and says so
    return 0
