"""A failure of the disk goes in; the error that tells a person of it comes out."""

from __future__ import annotations

import errno

from lycosa.errors import CollectionError, DiskFull

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def make_fault(error: OSError, what: str) -> DiskFull | CollectionError:
    """The error for a `what` ("The index a.txt") that cannot be written."""
    if error.errno in _FULL:
        return DiskFull(f"{what} has no room on its disk; nothing is lost: make room and run the same command again.")
    return CollectionError(f"{what} cannot be written: {error.strerror or error}.")
