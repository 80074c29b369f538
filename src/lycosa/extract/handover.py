"""Handover: the message that a new process reads from a nameless file which it inherits.

A word on a command line may have 128 KB, and everybody on the machine can read it.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import TypeVar

import msgspec

T = TypeVar("T")


@contextlib.contextmanager
def handed_over(message: object) -> Iterator[int]:
    """A file descriptor with a message for a process that is started in the block, and inherits it."""
    with tempfile.TemporaryFile() as file:
        file.write(msgspec.json.encode(message))
        file.flush()
        yield file.fileno()


def take_over(number: int, kind: type[T]) -> T:
    """The message in an inherited file; it can be read again, and by other processes."""
    size = os.fstat(number).st_size
    return msgspec.json.decode(os.pread(number, size, 0), type=kind)
