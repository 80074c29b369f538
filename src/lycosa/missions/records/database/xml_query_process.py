"""Query process: XPath and XQuery over records in a process of its own, which the kernel ends when its time is over.

Neither lxml nor Saxon can be interrupted while it evaluates: here a query that has no end costs its time and one
sentence, and Ctrl-C ends any.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal

import msgspec

from lycosa import errors
from lycosa.collection.collection import Collection
from lycosa.errors import LycosaError, UsageError
from lycosa.extras import need
from lycosa.missions.records.database.store import open_store
from lycosa.missions.records.database.xml_queries import Answer, find_xpath, find_xquery
from lycosa.process import die_with_parent

MAX_QUERY = 10_000
_FINDERS = {"xpath": find_xpath, "xquery": find_xquery}


class XmlQuery(msgspec.Struct, frozen=True):
    """A query on its way to the process; 0 seconds: without end."""

    folder: str
    language: Literal["xpath", "xquery"]
    text: str
    seconds: float
    parent: int


class XmlQueryProblem(msgspec.Struct, frozen=True):
    """What was wrong: an error of `lycosa.errors`, by its name and sentence."""

    kind: str
    sentence: str


#: A line of the process: first the names of the columns, then rows; or what was wrong.
_Row = tuple[str | float | None, ...]
_Line = _Row | XmlQueryProblem


def ask_xpath(collection: Collection, query: str, *, seconds: float = 0.0) -> Answer:
    """What a path finds in each record, with the record's page; of a condition, the records of which it holds."""
    return _ask(XmlQuery(str(collection.path), "xpath", query, seconds, os.getpid()))


def ask_xquery(collection: Collection, query: str, *, seconds: float = 0.0) -> Answer:
    """What an XQuery finds in all records: they are the document, /records/KIND."""
    need("saxonche", extra="xquery", what="XQuery")
    return _ask(XmlQuery(str(collection.path), "xquery", query, seconds, os.getpid()))


def _ask(task: XmlQuery) -> Answer:
    if len(task.text) > MAX_QUERY:
        raise UsageError(f"The query has {len(task.text):,} characters; allowed: {MAX_QUERY:,}.")
    lines = _run(task)
    columns = next(lines)
    first = next(lines, None)  # what is wrong with the query is told before anything is written
    return tuple(map(str, columns)), lines if first is None else chain([first], lines)


def _run(task: XmlQuery) -> Iterator[_Row]:
    """The lines of the process; ends it with whoever reads them."""
    command = [sys.executable, "-P", "-m", __name__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(msgspec.json.encode(task))
            process.stdin.close()
            for line in process.stdout:
                found = msgspec.json.decode(line, type=_Line)
                if isinstance(found, XmlQueryProblem):
                    raise getattr(errors, found.kind, LycosaError)(found.sentence)
                yield found
            code = process.wait()
        finally:
            process.kill()
    if code == -signal.SIGALRM:
        raise LycosaError(f"The query took longer than {task.seconds:g} s and was ended; --timeout allows more.")
    if code:
        raise LycosaError(f"The query was ended by the system (exit code {code}), most likely for want of memory.")


def main() -> None:
    """The process: one query."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks hears it too, and ends us
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=XmlQuery)
    die_with_parent(task.parent)
    out = sys.stdout.buffer
    try:
        with open_store(Path(task.folder)) as store:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, task.seconds)
            columns, rows = _FINDERS[task.language](store, task.text)
            for line in chain([columns], rows):
                out.write(msgspec.json.encode(line) + b"\n")
    except LycosaError as problem:
        out.write(msgspec.json.encode(XmlQueryProblem(type(problem).__name__, str(problem))) + b"\n")
    out.flush()


if __name__ == "__main__":
    main()
