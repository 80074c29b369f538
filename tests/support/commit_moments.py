"""The moment right before a transaction of PostgreSQL is committed: what tests do there comes at the worst time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def before_commit(connection: Any, then: Callable[[], object]) -> None:
    """Do something when the next transaction of a connection is complete, right before it is committed, once."""
    row, waiting = connection.row, [then]

    def ask(statement: str, *values: Any) -> Any:
        found = row(statement, *values)
        if "pg_current_xact_id" in statement and waiting:
            waiting.pop()()
        return found

    connection.row = ask
