"""Queries: a SELECT statement of a user in, rows out; whatever it says, it can only read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from lycosa.collection import database
from lycosa.collection.database import Row
from lycosa.collection.reading_source import folder_of
from lycosa.errors import LycosaError, UsageError
from lycosa.output.table import Value

ANALYSIS = "analysis.db"
_READS = "A query can only read: SELECT … or WITH … SELECT."
#: Text without a statement: blanks, comments, semicolons.
_BLANK = re.compile(r"(?:[\s;]|--[^\n]*|(?>/\*.*?(?:\*/|\Z)))*", re.DOTALL)


class QueryResult(NamedTuple):
    """The answer to a query: the names of its columns, and its rows as they are found."""

    columns: tuple[str, ...]
    rows: Iterator[Row]


def select(
    folder: str | os.PathLike[str],
    sql: str,
    values: Sequence[Value] = (),
    *,
    seconds: float = 0.0,
    beside: Mapping[str, Path] | None = None,
) -> QueryResult:
    """Run one statement over a collection; more than `seconds` (0: any time) end it with an error.

    `beside` has databases of missions by the name before their tables.
    """
    folder = folder_of(folder)
    connection = database.connect(folder)
    if "analysis." in sql and (analysis := folder / ANALYSIS).exists():
        connection.execute("ATTACH ? AS analysis", (str(analysis),))  # what `lycosa analyse` left
    for name, path in (beside or {}).items():
        with _translated(connection, folder, seconds):
            connection.execute(f"ATTACH ? AS {name}", (str(path),))
    database.guard(connection, seconds=seconds)
    cursor = connection.cursor()
    try:
        with _translated(connection, folder, seconds):
            statement, columns = _find_statement(cursor, sql, values)
    except BaseException:
        connection.close(True)
        raise
    rows = _rows(connection, cursor, statement, values, folder=folder, seconds=seconds)
    first = next(rows, None)
    return QueryResult(columns, iter(()) if first is None else _chain(first, rows))


def _find_statement(cursor: apsw.Cursor, sql: str, values: Sequence[Value]) -> tuple[str, tuple[str, ...]]:
    """The one statement of a text with the names of its columns, before it is run; comments around it do not count."""
    statements: list[tuple[str, tuple[str, ...]]] = []
    rest = sql

    def collect(cursor: apsw.Cursor, statement: str, bindings: object) -> bool:
        nonlocal rest
        rest = rest[max(len(statement), 1) :]  # or it would never end
        if not _BLANK.fullmatch(statement):
            statements.append((statement, tuple(name for name, *_ in cursor.get_description())))
        return False

    cursor.exec_trace = collect
    while rest:
        with suppress(apsw.ExecTraceAbort):
            cursor.execute(rest, values)
    cursor.exec_trace = None
    if len(statements) != 1:
        raise UsageError("A query is one statement; this is more than one." if statements else "The query is empty.")
    if not statements[0][1]:
        raise UsageError(_READS)
    return statements[0]


def _names(connection: apsw.Connection, folder: Path) -> str:
    """What can stand after FROM."""
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    names = f"Views: pages, urls, wishes, {', '.join(database.VIEWS)}; tables: {', '.join(name for (name,) in tables)}"
    beside = "".join(_describe_attached(connection))
    return f"{names}; {beside}{_describe_analysis(folder / ANALYSIS)}."


def _describe_attached(connection: apsw.Connection) -> Iterator[str]:
    """The views of databases that missions brought."""
    for name in connection.db_names():
        if name not in ("main", "temp", "copy", "analysis"):
            views = connection.execute(f"SELECT name FROM {name}.sqlite_schema WHERE type = 'view' ORDER BY name")
            yield f"{name}: {', '.join(view for (view,) in views)}; "


def _describe_analysis(path: Path) -> str:
    """The tables that `lycosa analyse` left, with the columns of each."""
    if not path.exists():
        return "after `lycosa analyse MISSION` also analysis.document and its kin"
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            sql = """SELECT sqlite_schema.name, group_concat(column.name, ', ')
                     FROM sqlite_schema JOIN pragma_table_info(sqlite_schema.name) AS column
                     WHERE sqlite_schema.type = 'table' GROUP BY 1 ORDER BY 1 = 'document' DESC, 1"""
            return ", ".join(f"analysis.{name} ({columns})" for name, columns in db.execute(sql))
    except apsw.Error:
        return f"{path} cannot be read"


def _chain(first: Row, rows: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rows


def _rows(
    connection: apsw.Connection, cursor: apsw.Cursor, sql: str, values: Sequence[Value], *, folder: Path, seconds: float
) -> Iterator[Row]:
    try:
        with _translated(connection, folder, seconds):
            yield from cursor.execute(sql, values)
    finally:
        cursor.close(True)
        connection.close(True)


@contextmanager
def _translated(connection: apsw.Connection, folder: Path, seconds: float) -> Iterator[None]:
    """Turn errors of SQLite into sentences."""
    try:
        yield
    except apsw.InterruptError:
        raise LycosaError(f"The query took longer than {seconds:g} s and was ended; --timeout allows more.") from None
    except (apsw.AuthError, apsw.ReadOnlyError):
        raise UsageError(_READS) from None
    except apsw.BindingsError as problem:
        raise UsageError(f"The query needs other values than it was given ({problem}).") from None
    except apsw.SQLError as problem:
        if "may not be modified" in str(problem) or "cannot modify" in str(problem):  # what stands on a server, a view
            raise UsageError(_READS) from None
        raise UsageError(f"The query cannot be run: {problem}. {_names(connection, folder)}") from None
    except UnicodeDecodeError:
        raise UsageError("The query gives bytes as text that is none in UTF-8: ask for hex(…) of them.") from None
    except apsw.Error as problem:
        raise LycosaError(f"The query ended with an error: {problem}.") from None
