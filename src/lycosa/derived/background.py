"""Background: a process of low priority brings derived data up to date, and ends.

The next look at a collection that was written to since starts it again, after a pause that keeps its cost small beside
a crawl; so a collection that nobody looks at costs nothing. It ends with the program that started it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.derived.store import Derived, bring_up_to_date, mark_of, place_of
from lycosa.errors import LycosaError

NICE = 10
AT_ONCE = 4  # processes
#: Between the end of a run and the next one, at least; after one that failed on the same state of the collection.
_LEAST_S = 5.0
_AFTER_FAILURE_S = 60.0
_WATCH_S = 1.0
_GRACE_S = 10.0


class Progress(Struct, frozen=True):
    """How far a run is: whether something is to be done, whether that is under way, or why it failed."""

    is_due: bool = False
    is_running: bool = False
    problem: str = ""


class _Run:
    """The last process for some derived data of a folder."""

    def __init__(self, derived: Sequence[Derived], folder: Path, place: Path) -> None:
        command = [sys.executable, "-P", "-m", __name__, msgspec.json.encode(derived).decode(), str(folder), str(place)]
        self.mark = _mark(derived, folder)
        self.began = time.monotonic()
        self.ended = 0.0
        self.problem = ""
        self._pace = max(each.pace for each in derived)
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._lock = threading.Lock()

    def has_ended(self, seconds: float = 0.0) -> bool:
        """Whether it ended, or does within this time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        with self._lock:
            if not self.ended:
                self.ended = time.monotonic()
                assert self._process.stdout is not None
                with self._process.stdout as said:
                    self.problem = said.read().decode("utf-8", "replace").strip()
                if self._process.returncode and not self.problem:
                    self.problem = f"The process that makes this ended with code {self._process.returncode}."
        return True

    def is_time(self, mark: str, *, is_missing: bool) -> bool:
        """Whether another one may follow; what is missing, though the last one made it, is made at once."""
        if not self.has_ended() or (is_missing and not self.problem):
            return self.has_ended()
        pause = max(_LEAST_S, self._pace * (self.ended - self.began))
        if self.problem and self.mark == mark:
            pause = max(pause, _AFTER_FAILURE_S)
        return time.monotonic() - self.ended > pause

    def end(self) -> None:
        """End it; what it did is kept."""
        self._process.terminate()
        self._process.communicate()


_runs: dict[tuple[str, Path], _Run] = {}
_lock = threading.Lock()


def make_in_background(
    derived: Sequence[Derived], folder: Path, *, wait_s: float = 0.0, is_missing: bool = False
) -> Progress:
    """Have derived data brought up to date one after the other, and wait for it if it began less than so long ago.

    `is_missing`: some of it was never complete.
    """
    key = " ".join(each.name for each in derived), folder
    with _lock:
        run = _runs.get(key)
        if run is None or run.is_time(_mark(derived, folder), is_missing=is_missing):
            if sum(not each.has_ended() for each in _runs.values()) >= AT_ONCE:
                return Progress(is_due=True)  # the next look starts it
            run = _runs[key] = _Run(derived, folder, place_of(derived[0], folder))
    if not run.has_ended(max(0.0, run.began + wait_s - time.monotonic())):
        return Progress(is_due=True, is_running=True)
    return Progress(problem=run.problem)


def _mark(derived: Sequence[Derived], folder: Path) -> str:
    return mark_of(folder, [name for each in derived for name in each.files])


def end_all() -> None:
    """End the processes that this program started."""
    with _lock:
        for key, run in [*_runs.items()]:
            if not run.has_ended():
                run.end()
                del _runs[key]


def main(text: str, folder: str, place: str) -> int:
    """Main program of the process; says on its standard output why it failed."""
    os.nice(NICE)
    watch = _Watch(Path(place))
    threading.Thread(target=watch.run, daemon=True).start()
    try:
        for derived in msgspec.json.decode(text, type=list[Derived]):
            watch.needs_free = derived.needs_free
            with Collection(folder) as collection:
                bring_up_to_date(derived, collection, place=Path(place)).close()
    except (LycosaError, KeyboardInterrupt) as problem:
        print(watch.problem or problem or "It was interrupted.")
        return 1
    return 0


class _Watch:
    """Interrupts the work, as Ctrl-C would, when who started it has ended, or the disk is nearly full."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._parent = os.getppid()
        self.needs_free = 0
        self.problem = ""

    def run(self) -> None:
        """Watch, until the process ends."""
        while os.getppid() == self._parent and not self.problem:
            if self.needs_free and shutil.disk_usage(self._place).free < self.needs_free:
                self.problem = "The disk is nearly full: this is not made."
            else:
                time.sleep(_WATCH_S)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_GRACE_S)
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
