"""Limits of an extract worker: memory for its whole life, time by the clock and by the processor for each document.

The kernel keeps these limits, so they hold inside native code that never returns to Python: a timer that runs out ends
the process by its signal, which shows the pool what it was.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal

from lycosa.extract.messages import Setup

#: Exit code of a worker that ran out of memory where Python could still say so.
MEMORY_CODE = 87

_SIGNALS = {signal.SIGALRM: "timeout", signal.SIGPROF: "cpu", signal.SIGXCPU: "cpu", signal.SIGKILL: "memory"}
_PAGE_BYTES = resource.getpagesize()


def confine(setup: Setup) -> None:
    """Bind this process for good: no core dumps, no more memory than allowed, behind others for the processor."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = setup.memory_bytes if hard == resource.RLIM_INFINITY else min(setup.memory_bytes, hard)
    with contextlib.suppress(ValueError, OSError):  # a system without such a limit
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    if setup.nice:
        os.nice(setup.nice)
    for name in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(name, signal.SIG_DFL)


def arm(setup: Setup) -> None:
    """Let the kernel end the process when the time of one document is over."""
    signal.setitimer(signal.ITIMER_REAL, setup.timeout_s)
    signal.setitimer(signal.ITIMER_PROF, setup.cpu_s)


def disarm() -> None:
    """Stop the timers: the document is done."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)


def explain(status: int, setup: Setup) -> tuple[str, str]:
    """The outcome, and a sentence, for the document at which a worker ended with this exit code or -signal."""
    if status == MEMORY_CODE:
        return "memory", f"more than {setup.memory_bytes >> 20} MiB of memory"
    if status >= 0:
        return "crash", f"the process ended with exit code {status}"
    try:
        name = signal.Signals(-status)
    except ValueError:
        return "crash", f"the process was ended by signal {-status}"
    outcome = _SIGNALS.get(name, "crash")
    if outcome == "timeout":
        return outcome, f"not done after {setup.timeout_s:g} s"
    if outcome == "memory":
        return outcome, "the process was killed from outside, most likely for want of memory"
    if outcome == "cpu":
        return outcome, f"not done after {setup.cpu_s:g} s of processor time"
    return outcome, f"the process was ended by {name.name}"


def resident_bytes() -> int:
    """Memory that this process holds now; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0
