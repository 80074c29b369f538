"""Query process: a user's query in a process of its own, so that the server keeps its memory and its time.

The process reads a `QueryTask` as JSON, writes a `QueryAnswer` as JSON, and ends; it is killed when it takes too long.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lycosa.errors import LycosaError, UsageError

LANGUAGES = ("sql", "cypher", "sparql")
SECONDS = 15.0
_BUILD_S = 10.0  # for what comes before and after a query: the snapshot of a graph, the answer on its way
_MEMORY_BYTES = 3 << 30
_CELL_CHARS = 20_000
_ANSWER_BYTES = 64 << 20
_AT_ONCE = threading.BoundedSemaphore(3)  # each may take its time and memory
_PATIENCE_S = 4.0


class QueryTask(Struct, frozen=True):
    """A query, and how much of its answer is wanted."""

    folder: str
    language: str
    text: str
    thesaurus: str = ""
    seconds: float = SECONDS
    rows: int = 1000


class QueryAnswer(Struct):
    """What a query found."""

    columns: list[str] = []
    rows: list[list[Any]] = []
    more: bool = False
    problem: str = ""


def run_query(task: QueryTask) -> QueryAnswer:
    """Ask a query in a process of its own; UsageError says what is wrong with it."""
    command = [sys.executable, "-P", "-m", __name__]
    if not _AT_ONCE.acquire(timeout=_PATIENCE_S):
        raise UsageError("Other queries are running: try it again when they have ended.")
    try:
        done = subprocess.run(
            command, input=msgspec.json.encode(task), capture_output=True, timeout=task.seconds + _BUILD_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"The query took longer than {task.seconds:g} s and was ended: narrow it.") from None
    finally:
        _AT_ONCE.release()
    try:
        answer = msgspec.json.decode(done.stdout, type=QueryAnswer)
    except msgspec.MsgspecError:
        raise UsageError("The query needed more memory than it may have, and was ended: narrow it.") from None
    if answer.problem:
        raise UsageError(answer.problem)
    return answer


def answer_query(task: QueryTask) -> QueryAnswer:
    """Ask a query here."""
    columns, rows = _ask(task)
    answer = QueryAnswer(list(columns))
    room = _ANSWER_BYTES
    for row in islice(rows, task.rows):
        cells = [_cell(value) for value in row]
        room -= sum(len(cell) if isinstance(cell, str) else 8 for cell in cells)
        if room < 0:
            answer.more = True
            return answer
        answer.rows.append(cells)
    answer.more = next(iter(rows), None) is not None
    return answer


def _ask(task: QueryTask) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
    folder = Path(task.folder)
    if task.language == "sql":
        from lycosa.collection.query import select

        return select(folder, task.text, seconds=task.seconds)
    if task.language == "cypher":
        from lycosa.collection.collection import Collection
        from lycosa.collection.cypher import ask
        from lycosa.missions.registry import graph_of

        with Collection(folder) as collection, graph_of(collection) as graph:
            return ask(folder, graph, task.text, seconds=task.seconds, alone=True)
    from lycosa.text import thesaurus_library
    from lycosa.text.sparql import select_rows

    if task.thesaurus and task.thesaurus not in thesaurus_library.names():
        raise UsageError(f"There is no thesaurus {task.thesaurus[:50]!r} here.")
    return select_rows(thesaurus_library.find_compiled(task.thesaurus), task.text, seconds=task.seconds)


def _cell(value: Any) -> Any:
    if isinstance(value, bytes):
        return value[:_CELL_CHARS].hex()
    if isinstance(value, str):
        return value[:_CELL_CHARS]
    if isinstance(value, float) and value != value:
        return None
    return value if isinstance(value, int | float) or value is None else str(value)[:_CELL_CHARS]


def main() -> int:
    """Main program of the process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=QueryTask)
    seconds = int(task.seconds + _BUILD_S)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds * 4, seconds * 4))
    if task.language == "sql":  # the others reserve addresses that they do not use
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    try:
        answer = answer_query(task)
    except LycosaError as problem:
        answer = QueryAnswer(
            problem=str(problem).replace("; --timeout allows more", ": narrow it").replace("--timeout", "the limit")
        )
    except MemoryError:
        answer = QueryAnswer(problem="The query needed more memory than it may have, and was ended: narrow it.")
    sys.stdout.buffer.write(msgspec.json.encode(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
