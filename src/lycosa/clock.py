"""Clock of a run: the time when the run begins, and from then on the time that really passed.

A system's clock may be set while a crawl runs, by a day or by years. Pauses of hosts, retries and leases use this clock
instead, which never jumps. Forked workers inherit their parent's. Machines that share a crawl begin with the time of
their database server.
"""

from __future__ import annotations

import time

#: CLOCK_BOOTTIME also counts the time for which a machine sleeps; not every system has it.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_read = time.clock_gettime
_start = time.time() - _read(_CLOCK)


#: The last second that has four digits for its year.
_LAST_S = 253_402_300_799


def iso_time(at: float) -> str:
    """A Unix time as ISO 8601 has it, in UTC and whole seconds: "2026-11-18T22:31:36Z"."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(min(max(at, 0.0), _LAST_S)))


def set_now(at: float | None = None) -> None:
    """Set the clock to a time, or to the system's, at the beginning of a run."""
    global _start
    _start = (time.time() if at is None else at) - _read(_CLOCK)


def now() -> float:
    """Unix time in seconds, as if nobody had set the system's clock since the run began."""
    return _start + _read(_CLOCK)
