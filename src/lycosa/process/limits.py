"""Limits of a process: memory for its whole life, time by the clock and by the processor for each task.

The kernel keeps these limits, so they hold inside native code that never returns to Python: a timer that runs out ends
the process by its signal, which shows whoever started it what it was.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal

from msgspec import Struct

#: Exit code of a process that ran out of memory where Python could still say so.
MEMORY_CODE = 87

_SIGNALS = {signal.SIGALRM: "timeout", signal.SIGPROF: "cpu", signal.SIGXCPU: "cpu", signal.SIGKILL: "memory"}
_PAGE_BYTES = resource.getpagesize()


class Limits(Struct, frozen=True, kw_only=True):
    """What a process may take; 0: as much as it likes."""

    timeout_s: float = 0.0  # by the clock
    cpu_s: float = 0.0  # of all its threads together
    memory_bytes: int = 0  # of addresses, also of those that native code reserves and never uses
    nice: int = 0  # how much other processes go before
    no_files: bool = False  # it opens neither file nor connection


def confine(limits: Limits) -> None:
    """Bind this process for good: no core dumps, no more memory than allowed, behind others for the processor."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits.memory_bytes:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = limits.memory_bytes if hard == resource.RLIM_INFINITY else min(limits.memory_bytes, hard)
        with contextlib.suppress(ValueError, OSError):  # a system without such a limit
            resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    if limits.nice:
        os.nice(limits.nice)
    if limits.no_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    for name in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(name, signal.SIG_DFL)


def arm(limits: Limits) -> None:
    """Let the kernel end the process when the time of one task is over."""
    signal.setitimer(signal.ITIMER_REAL, limits.timeout_s)
    signal.setitimer(signal.ITIMER_PROF, limits.cpu_s)


def disarm() -> None:
    """Stop the timers: the task is done."""
    arm(Limits())


def explain(status: int, limits: Limits) -> tuple[str, str]:
    """The outcome, and a sentence, for the task at which a process ended with this exit code or -signal."""
    if status == MEMORY_CODE:
        return "memory", f"more than {limits.memory_bytes >> 20} MiB of memory"
    if status >= 0:
        return "crash", f"the process ended with exit code {status}"
    try:
        name = signal.Signals(-status)
    except ValueError:
        return "crash", f"the process was ended by signal {-status}"
    outcome = _SIGNALS.get(name, "crash")
    if outcome == "timeout":
        return outcome, f"not done after {limits.timeout_s:g} s"
    if outcome == "memory":
        return outcome, "the process was killed from outside, most likely for want of memory"
    if outcome == "cpu":
        return outcome, f"not done after {limits.cpu_s:g} s of processor time"
    return outcome, f"the process was ended by {name.name}"


def resident_bytes(pid: int | None = None) -> int:
    """Memory that a process, without a number this one, holds now; 0 where the system does not say."""
    try:
        with open(f"/proc/{pid or 'self'}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0
