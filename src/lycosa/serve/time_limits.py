"""Time limits of SQLite: a statement that a page waits for ends with the page, whatever the database makes of it.

A database may be somebody else's, and a table of it a view that never ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import apsw

_STEPS = 100_000  # of SQLite between two looks at the clock
_VALUE_BYTES = 256 << 20


class _TimeLimit:
    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def is_over(self) -> bool:
        return time.monotonic() > self.end


_limit: ContextVar[_TimeLimit | None] = ContextVar("time_limit", default=None)


@contextmanager
def limited_time(seconds: float) -> Iterator[None]:
    """End statements of databases that are opened in the block when its time is over; what outlives it has more."""
    limit, outer = _TimeLimit(seconds), _limit.get()
    if outer is not None:
        limit.end = min(limit.end, outer.end)
    token = _limit.set(limit)
    try:
        yield
    finally:
        limit.end = math.inf
        _limit.reset(token)


def _bind(connection: apsw.Connection) -> None:
    """Bind a connection that is being opened to the limit that holds now."""
    if (limit := _limit.get()) is not None:
        connection.set_progress_handler(limit.is_over, _STEPS)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)


apsw.connection_hooks.append(_bind)
