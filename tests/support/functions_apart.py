"""Functions that misbehave in every way, to be run in a process of their own."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lycosa.errors import UsageError
from lycosa.process.limits import resident_bytes


def double(number: int) -> int:
    """Twice a number, with a word on the standard output between the answers."""
    print("a line that is no answer", flush=True)
    return 2 * number


def count(to: int) -> Iterator[tuple[int, str]]:
    """Numbers with their words, one after the other; a negative number: without end."""
    number = 0
    while number != to:
        yield number, str(number)
        number += 1


def refuse(what: str) -> None:
    """Raise an error for people, or another."""
    raise UsageError(f"{what} is refused.") if what != "bug" else ZeroDivisionError(what)


def loop(seconds: float) -> None:
    """Use the processor for so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def sleep(seconds: float) -> None:
    """Wait for so long."""
    time.sleep(seconds)


def fill(size: int) -> int:
    """Take so much memory."""
    return len(bytearray(size)) + resident_bytes()


def abort(_: None) -> None:
    """End as native code does that finds itself broken."""
    os.abort()


def slow_preparation(seconds: float) -> float:
    """Take longer to prepare than the function may."""
    time.sleep(seconds)
    return 0.0


def reach(place: str) -> list[str]:
    """What can be opened: a file, or a connection."""
    reached = []
    for open_it in (lambda: Path(place).read_text(), lambda: socket.socket().close()):
        try:
            open_it()
            reached.append("opened")
        except OSError as error:
            reached.append(error.strerror or "")
    return reached


def tell_process(_: Any) -> tuple[int, int]:
    """The number of the process, and how much others go before."""
    return os.getpid(), os.nice(0)


def stay(note: str) -> int:
    """Write down the number of the process, and stay for long."""
    Path(note).write_text(f"{os.getpid()} {os.nice(0)}")
    time.sleep(60)
    return 0
