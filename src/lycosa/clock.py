"""The time of a run: the system's when the run begins, and from then on as long as it really took.

A system's clock may be set while a crawl runs, by a day or by years. Pauses of hosts, tries again and leases count on
this one instead, which never jumps. Forked workers have their parent's.
"""

from __future__ import annotations

import time

#: This one also counts the time for which a machine sleeps; not every system has it.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_read = time.clock_gettime
_start = time.time() - _read(_CLOCK)


def set_now() -> None:
    """Begin a run: take the system's time for right."""
    global _start
    _start = time.time() - _read(_CLOCK)


def now() -> float:
    """Seconds since 1970, as a system would say whose clock nobody touched since the run began."""
    return _start + _read(_CLOCK)
