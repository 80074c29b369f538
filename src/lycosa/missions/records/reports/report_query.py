"""Queries of reports: SELECT statements over records.db that can only read, for a short time, a bounded answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from lycosa.collection.database import guard
from lycosa.errors import UsageError

MAX_ROWS = 10_000
MAX_CELL = 20_000
SECONDS = 20.0


def run_query(path: Path, sql: str, values: Mapping[str, Any], *, seconds: float = SECONDS) -> list[dict[str, Any]]:
    """The rows of a statement, each by the names of its columns."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        connection.set_busy_timeout(10_000)
        guard(connection, seconds=seconds)
        try:
            cursor = connection.execute(sql, {**values})
            columns = [name for name, *_ in cursor.get_description()]
            if not columns:
                raise UsageError("a query can only read: SELECT … or WITH … SELECT")
            rows = []
            for row in cursor:
                rows.append({name: _plain(cell) for name, cell in zip(columns, row, strict=True)})
                if len(rows) >= MAX_ROWS:
                    break
            cursor.close(True)
            return rows
        except apsw.ExecutionCompleteError:
            return []
        except apsw.InterruptError:
            raise UsageError(f"the query took longer than {seconds:g} s and was ended") from None
        except (apsw.AuthError, apsw.ReadOnlyError):
            raise UsageError("a query can only read: SELECT … or WITH … SELECT") from None
        except (apsw.Error, ValueError, TypeError) as problem:
            raise UsageError(f"the query cannot be run: {problem}; views are records and record_versions") from None


def _plain(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell[:MAX_CELL].hex()
    return cell[:MAX_CELL] if isinstance(cell, str) else cell
