"""Errors that reach a person, and the exit code with which each ends the program.

    LycosaError              1
    ├── UsageError           2   a wrong option, file, value; nothing was written
    ├── DiskFull             3
    ├── NothingFetched       4   no seed could be fetched
    ├── Partial              7   done, but for what its text names
    └── CollectionError      2   a collection that is locked, newer, not writable
        ├── Damaged          2   its database cannot be read; a crawl makes it anew from the archive
        └── BeingMade        2   what is derived from it is not complete yet

Content of the network never raises: what is wrong with it becomes a recorded reason.
"""

from __future__ import annotations


class LycosaError(Exception):
    """An error for a person. Its text is a whole sentence: what was found, where, what is allowed, what to do."""

    exit_code = 1


class UsageError(LycosaError):
    exit_code = 2


class DiskFull(LycosaError):
    exit_code = 3


class NothingFetched(LycosaError):
    exit_code = 4


class Partial(LycosaError):
    exit_code = 7


class CollectionError(LycosaError):
    exit_code = 2


class Damaged(CollectionError):
    pass


class BeingMade(CollectionError):
    """What is derived from a collection is being made, so nobody can tell yet what there is and what is not."""

    retry_after_s = 3

    def __init__(self, said: str = "This is being made from the collection: ask again in a moment.") -> None:
        super().__init__(said)
