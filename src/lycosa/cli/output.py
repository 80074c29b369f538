"""Where a listing goes and in which format: `-o FILE` or the pipe, for people on a terminal and programs elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO

from lycosa.errors import UsageError
from lycosa.look.table import FORMATS, Format
from lycosa.outlet import refuse_own, whole_file


@contextmanager
def opened(output: str, form: str | None) -> Iterator[tuple[TextIO, Format]]:
    """The stream to write to and the format; a file appears under its name only when it is whole."""
    if output == "-":
        yield sys.stdout, _settle(form, "table" if sys.stdout.isatty() else "jsonl")
        return
    suffix = os.path.splitext(output)[1].removeprefix(".").lower()
    settled = _settle(form, suffix if suffix in FORMATS else "jsonl")
    with whole_file(output) as part, open(part, "w", encoding="utf-8", newline="") as out:
        yield out, settled


@contextmanager
def opened_bytes(output: str) -> Iterator[BinaryIO]:
    """The same for what is not text; a terminal does not get it."""
    if output != "-":
        with whole_file(output) as part, open(part, "wb") as out:
            yield out
    elif sys.stdout.isatty():
        raise UsageError("This is not for a terminal: name a file with -o, or a program with |.")
    else:
        yield sys.stdout.buffer


def check_place(output: str) -> None:
    """Refuse a file that could not be written, before the work is done."""
    if output == "-":
        return
    if os.path.isdir(output):
        raise UsageError(f"{output} is a folder; name a file.")
    if os.path.exists(output) and not os.path.isfile(output):
        return
    refuse_own(output)
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        raise UsageError(f"{output} cannot be written: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{output} cannot be written: no permission to write to {folder}.")


def _settle(form: str | None, default: str) -> Format:
    word = form or default
    return next(known for known in FORMATS if known == word)
