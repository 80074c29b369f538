"""A SELECT statement of a user in, rows out; whatever it says, it can only read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from lycosa.errors import LycosaError, UsageError
from lycosa.look import database
from lycosa.look.database import Row
from lycosa.look.table import Value


class Result(NamedTuple):
    """The answer to a query: the names of its columns, and its rows as they are found."""

    columns: tuple[str, ...]
    rows: Iterator[Row]


def select(folder: str | os.PathLike[str], sql: str, values: Sequence[Value] = (), *, seconds: float = 0.0) -> Result:
    """Run one statement over a collection; more than `seconds` (0: any time) end it with an error."""
    connection = database.connect(folder)
    if "analysis." in sql and (found := Path(folder) / "analysis.db").exists():
        connection.execute("ATTACH ? AS analysis", (str(found),))  # what `lycosa analyse` left
    database.guard(connection, seconds=seconds)
    columns: list[tuple[str, ...]] = []

    def meet(cursor: apsw.Cursor, statement: str, bindings: object) -> bool:
        # Here the names are known even where no row follows.
        if columns:
            raise UsageError("A query is one statement; this is more than one.")
        columns.append(tuple(name for name, *_ in cursor.get_description()))
        return True

    cursor = connection.cursor()
    cursor.exec_trace = meet
    rows = _rows(connection, cursor, sql, values, seconds=seconds)
    first = next(rows, None)
    if not columns or not columns[0]:
        raise UsageError("The query is empty.")
    return Result(columns[0], iter(()) if first is None else _chain(first, rows))


def _names(connection: apsw.Connection) -> str:
    """What can stand after FROM."""
    found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    return f"Views: pages, urls, {', '.join(database.VIEWS)}; tables: {', '.join(name for (name,) in found)}."


def _chain(first: Row, rows: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rows


def _rows(
    connection: apsw.Connection, cursor: apsw.Cursor, sql: str, values: Sequence[Value], *, seconds: float
) -> Iterator[Row]:
    try:
        yield from cursor.execute(sql, values)
    except apsw.InterruptError:
        raise LycosaError(f"The query took longer than {seconds:g} s and was ended; --timeout allows more.") from None
    except (apsw.AuthError, apsw.ReadOnlyError):
        raise UsageError("A query can only read: SELECT … or WITH … SELECT.") from None
    except apsw.BindingsError as problem:
        raise UsageError(f"The query needs other values than it was given ({problem}).") from None
    except apsw.SQLError as problem:
        raise UsageError(f"The query cannot be run: {problem}. {_names(connection)}") from None
    except apsw.Error as problem:
        raise LycosaError(f"The query ended with an error: {problem}.") from None
    finally:
        cursor.close(True)
        connection.close(True)
