"""Query process: a user's query in a process of its own, so that the server keeps its memory and its time.

It is ended when it takes too long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lycosa.errors import LycosaError, UsageError
from lycosa.graph import cypher
from lycosa.process import apart
from lycosa.process.limits import Limits
from lycosa.text import sparql

#: The languages, and what a query in them may take.
LIMITS = {"sql": Limits(memory_bytes=3 << 30), "cypher": cypher.LIMITS, "sparql": sparql.LIMITS}
LANGUAGES = tuple(LIMITS)
SECONDS = 15.0
_BUILD_S = 10.0  # for what comes before and after a query: the snapshot of a graph, the answer on its way
_GRACE_S = 1.0  # SQLite ends a query itself, and says so
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


#: Gives the names of the columns, then rows.
Ask = Callable[[], Iterator[Sequence[Any]]]


def run_query(task: QueryTask) -> QueryAnswer:
    """Ask a query in a process of its own; UsageError says what is wrong with it."""
    if not _AT_ONCE.acquire(timeout=_PATIENCE_S):
        raise UsageError("Other queries are running: try it again when they have ended.")
    grace_s = _GRACE_S if task.language == "sql" else 0.0
    limits = replace(LIMITS[task.language], timeout_s=task.seconds + grace_s, cpu_s=4 * (task.seconds + _BUILD_S))
    try:
        return apart.run(answer_query, task, limits, prepare=open_query, prepare_s=_BUILD_S, quiet=True)
    except apart.Ended as ended:
        if ended.reason in ("timeout", "cpu"):
            raise UsageError(f"The query took longer than {task.seconds:g} s and was ended: narrow it.") from None
        raise UsageError("The query needed more memory than it may have, and was ended: narrow it.") from None
    except LycosaError as problem:
        text = str(problem).replace("; --timeout allows more", ": narrow it").replace("--timeout", "the limit")
        raise UsageError(text) from None
    finally:
        _AT_ONCE.release()


def open_query(task: QueryTask) -> tuple[QueryTask, Ask]:
    """A query, and how it gives the names of its columns and then its rows; within the process."""
    if task.language == "sql":
        from lycosa.collection.query import select

        def ask() -> Iterator[Sequence[Any]]:
            columns, rows = select(task.folder, task.text, seconds=task.seconds)
            return chain([columns], rows)

        return task, ask
    if task.language == "cypher":
        from lycosa.missions import graph_query

        return task, partial(graph_query.find, graph_query.open_graph(graph_query.GraphQuery(task.folder, task.text)))
    from lycosa.text import thesaurus_library

    sparql.check_query(task.text)
    if task.thesaurus and task.thesaurus not in thesaurus_library.names():
        raise UsageError(f"There is no thesaurus {task.thesaurus[:50]!r} here.")
    query = sparql.SparqlQuery(task.thesaurus, task.text)
    return task, partial(sparql.answer, sparql.load_statements(query))


def answer_query(asked: tuple[QueryTask, Ask]) -> QueryAnswer:
    """As much of the answer to a query as is wanted; within the process."""
    task, ask = asked
    rows = ask()
    answer = QueryAnswer([str(name) for name in next(rows)])
    room = _ANSWER_BYTES
    for row in islice(rows, task.rows):
        cells = [_cell(value) for value in row]
        room -= sum(len(cell) if isinstance(cell, str) else 8 for cell in cells)
        if room < 0:
            answer.more = True
            return answer
        answer.rows.append(cells)
    answer.more = next(rows, None) is not None
    return answer


def _cell(value: Any) -> Any:
    if isinstance(value, bytes):
        return value[:_CELL_CHARS].hex()
    if isinstance(value, str):
        return value[:_CELL_CHARS]
    if isinstance(value, float) and value != value:
        return None
    return value if isinstance(value, int | float) or value is None else str(value)[:_CELL_CHARS]
