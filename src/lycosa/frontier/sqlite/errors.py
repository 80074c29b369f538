"""Errors of SQLite in, ours out: one sentence for a person."""

from __future__ import annotations

from pathlib import Path

import apsw

from lycosa.errors import CollectionError, Damaged, DiskFull, LycosaError

#: What SQLite says when the disk, the quota or the size limit of files has no room, beside SQLITE_FULL itself.
_NO_ROOM = {apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP}
#: Less in the file than there must be.
_BROKEN = {apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS}

#: What to do about a damaged database.
CURE = ": the next `lycosa crawl` makes it anew from the archive"


def translate(problem: apsw.Error, path: Path) -> LycosaError:
    """What an error of SQLite means for the collection, and what to do."""
    cause = problem.__context__
    if isinstance(problem, apsw.SQLError) and isinstance(cause, apsw.Error):
        problem = cause  # SQLite rolled back by itself, so that we could not
    extended = getattr(problem, "extendedresult", 0)
    if isinstance(problem, apsw.FullError) or extended in _NO_ROOM:
        return DiskFull(f"There is no room left to write {path}: make room and run the same command again.")
    if isinstance(problem, apsw.NotADBError):
        return Damaged(f"{path} is not a lycosa crawl database, or its beginning is damaged{CURE}.")
    if isinstance(problem, apsw.CorruptError) or extended in _BROKEN:
        return Damaged(f"{path} is damaged ({problem}){CURE}.")
    if isinstance(problem, apsw.IOError):
        return CollectionError(f"{path} cannot be read from its disk, or not be written to it ({problem}).")
    if isinstance(problem, apsw.BusyError):
        return CollectionError(f"{path} has been locked by another program for a minute: end that one and try again.")
    if isinstance(problem, apsw.ReadOnlyError):
        return CollectionError(f"{path} is read-only: a crawl must be able to write to it and to its folder.")
    if isinstance(problem, apsw.CantOpenError | apsw.PermissionsError):
        return CollectionError(f"{path} cannot be opened: check the permissions of the file and its folder.")
    return CollectionError(f"{path} cannot be used ({problem}).")
