"""Collection lock: one process at a time writes to a collection, and records in what state it left the database."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lycosa.errors import CollectionError

_RETRY_S = 0.05
ORPHANS_S = 5.0  # workers outlive a supervisor that was killed for less than this


class CollectionLock:
    """A collection that this process holds for itself."""

    def __init__(self, handle: int, before: str) -> None:
        self._handle = handle
        self.before = before  # what the last holder left

    def restore(self) -> None:
        """Restore what the last holder recorded."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, self.before.encode(), 0)

    def record_state(self, database: Path) -> None:
        """Record how the database is left, so that the next run knows whether to check it."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, stamp_of(database).encode(), 0)


def stamp_of(database: Path) -> str:
    """The state of a database: its size and when it was last written."""
    state = database.stat()
    return f"ended {state.st_size} {state.st_mtime_ns}"


@contextmanager
def lock(
    folder: Path, *, name: str = "lock", what: str = "in use by another crawl", patience_s: float = 0.0
) -> Iterator[CollectionLock]:
    """Hold the collection for this process alone; the kernel frees it if we die.

    `patience_s` is how long to wait for a holder that is at work; one that was killed is always waited for.
    """
    try:
        handle = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise CollectionError(f"The collection {folder} cannot be written to: {error.strerror}.") from None
    try:
        before = _acquire(handle, f"The collection {folder} is {what}", patience_s)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield CollectionLock(handle, before)
    finally:
        os.close(handle)


def _acquire(handle: int, fault: str, patience_s: float) -> str:
    """Acquire the lock and return what stood there; the workers of a crawl that was killed release it in a moment."""
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return _read(handle)
        except OSError:
            before = _read(handle)
            patience = max(ORPHANS_S, patience_s) if _is_gone(before) else patience_s
            if time.monotonic() - began >= patience:
                raise CollectionError(f"{fault} (process {before or 'unknown'}): wait for it to end.") from None
        time.sleep(_RETRY_S)


def _read(handle: int) -> str:
    return os.pread(handle, 100, 0).decode("ascii", "replace").strip()


def _is_gone(holder: str) -> bool:
    try:
        os.kill(int(holder), 0)
    except ProcessLookupError:
        return True
    except (ValueError, OSError, OverflowError):
        return False
    return False
