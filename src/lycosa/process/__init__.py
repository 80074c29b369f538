"""Processes: end with the parent, signals, an error log, and an allocator that fits the loop of a worker."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from lycosa.clock import iso_time

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_OOM_SCORE = 300  # of 1000: where memory is short, a worker is to die before the supervisor or another program


def die_with_parent(parent: int) -> None:
    """End when the parent ends, however it ends: no orphan may go on writing. Only Linux has it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(_OOM_SCORE))


@contextlib.contextmanager
def interruptible(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Call the handler on Ctrl-C, SIGTERM and the end of the terminal, as long as this context lasts."""

    def hang_up(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # shell and system both send it, and a second one means haste
        handler(number, frame)

    try:
        before = {name: signal.signal(name, handler) for name in (signal.SIGINT, signal.SIGTERM)}
        if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # but not below nohup
            before[signal.SIGHUP] = signal.signal(signal.SIGHUP, hang_up)
    except ValueError:  # not in the main thread: the caller stops us otherwise
        yield
        return
    try:
        yield
    finally:
        for name, former in before.items():
            if signal.getsignal(name) != signal.SIG_IGN:
                signal.signal(name, former)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Keep Ctrl-C and the end of a terminal from what is started in the block, also before it ignores them itself."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def log_exception(folder: Path) -> None:
    """Append the present exception to the collection's error log: an unexpected end of a process is a bug of ours."""
    path = folder / "logs" / "errors.log"
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{iso_time(time.time())}\n{traceback.format_exc()}\n")


def tune() -> None:
    """Fit the allocator and the collector to a loop that makes and drops a page's objects thousands of times a second.

    Buffers of 128 KB and more would be mapped and unmapped anew for each page (a fifth of the cost of a fetch), and
    what a page leaves behind has no cycles worth looking for every 700 objects.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    with contextlib.suppress(OSError, AttributeError):  # only glibc has it
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, 64 << 20)
        mallopt(_M_MMAP_THRESHOLD, 16 << 20)
