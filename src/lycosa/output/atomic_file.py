"""Atomic output files: a file gets its name when it is whole; until then the old file is there.

Nothing that belongs to a collection, whichever it is, is ever written over: its archive cannot be brought back.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lycosa.disk import is_full, make_fault
from lycosa.errors import UsageError

#: The folder of bodies that are being received. It is removed with all that is in it, so its name is one of our own.
SPOOL = "lycosa.tmp"
#: What a crawl makes in its folder, by which a crawl that was killed before it had a database is recognised; the first
#: versions had their spool in tmp.
CRAWL_MAKES = frozenset({"archive", "damaged", "lock", "logs", "lycosa.toml", "lycosa.toml.new", SPOOL, "tmp"})
#: How databases end that stand beside that of the crawl, made by other verbs and by missions.
_DATABASES = (".db", ".db-wal", ".db-shm")


def refuse_collection_path(output: str | os.PathLike[str], *, new: str = "", log: bool = False) -> None:
    """Refuse a path that is a collection, or something of one that lycosa itself made and needs.

    The folder `new`, which is to become a collection, counts as one; a `log` may be where logs are.
    """
    place = Path(os.path.realpath(output))
    unborn = Path(os.path.realpath(new)) if new else None
    if place == unborn or os.path.isfile(place / "crawl.db"):
        raise UsageError(f"{output} is a collection: name another folder.")
    for folder in place.parents:
        first = place.relative_to(folder).parts[0]
        if not (first in CRAWL_MAKES or first.startswith("crawl.db") or first.endswith(_DATABASES)) or (
            log and first == "logs"
        ):
            continue
        if folder == unborn or os.path.isfile(folder / "crawl.db"):
            raise UsageError(f"{output} belongs to the collection {folder}: name another place.")


@contextmanager
def whole_file(output: str | os.PathLike[str]) -> Iterator[str]:
    """A path to write to that gets its name only when everything went well."""
    if os.path.isdir(output):
        raise UsageError(f"{output} is a folder; name a file.")
    if os.path.exists(output) and not os.path.isfile(output):
        yield os.fspath(output)  # a device or a pipe, whose place no file may take: /dev/null
        return
    refuse_collection_path(output)
    place = os.path.realpath(output)  # what a link points to is written, the link stays
    part = f"{place}.lycosa-part"
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as problem:
        raise make_fault(problem, str(output)) from None
    try:
        lock_exclusively(handle, output)
        try:
            with suppress(OSError):  # the mode of an old file stays
                os.fchmod(handle, stat.S_IMODE(os.stat(place).st_mode))
            with exit_on_signals():
                yield part
            os.replace(part, place)
        except BaseException as problem:
            with suppress(OSError):
                os.unlink(part)
            if isinstance(problem, OSError) and is_full(problem):
                raise make_fault(problem, str(output)) from None
            raise
    finally:
        os.close(handle)


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise as Ctrl-C does, so that half-written files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    own = os.getpid()

    def end(number: int, _: object) -> None:
        if os.getpid() != own:  # a process that was forked in the meantime has nothing to remove
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        raise SystemExit(128 + number)  # as shells count it

    numbers = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def lock_exclusively(handle: int, output: str | os.PathLike[str]) -> None:
    """Lock an open file or folder; refuse where another process writes there at this moment."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(f"{output} is being written by another lycosa: wait for it to end.") from None
    except OSError:  # a disk that has no locks
        return
