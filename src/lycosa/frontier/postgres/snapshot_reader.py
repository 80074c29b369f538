"""Snapshot reader: statements that only read a collection in PostgreSQL, all those of one question in one state.

A snapshot begins with the first table that a question opens and ends with the last one that it closes, so that an idle
reader never keeps the server from cleaning up. The connection is opened when it is first needed, and anew where the
server came back in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

import apsw
import psycopg
from psycopg import errors

from lycosa.errors import CollectionError
from lycosa.frontier.postgres import schema
from lycosa.frontier.postgres.address import check_name
from lycosa.frontier.postgres.connection import connect, literal, translate

Row = tuple[Any, ...]

#: Tables are joined by keys, a few rows at a time; a reader that was frozen in a question lets go after an hour.
_SETTINGS = {
    "jit": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "idle_in_transaction_session_timeout": "3600000",
    "lock_timeout": "10000",
}
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
CONNECT_S = 5
_FIRST_ROWS, _MOST_ROWS = 64, 4096  # of one answer to a statement that streams


class TimeIsUp(apsw.InterruptError):
    """A question took longer than it may, or was ended."""


class SnapshotReader:
    """Reads one collection of a database."""

    def __init__(self, address: str, name: str) -> None:
        self.address = address
        self.name = check_name(name)
        self.holds: Callable[[], bool] = lambda: False  # whether a snapshot outlives its tables
        self.on_end: list[Callable[[], object]] = []  # what forgets what was true of a snapshot
        self._db: psycopg.Connection | None = None
        self._tables = 0
        self._is_begun = False
        self._streams = 0
        self._seconds = 0.0
        self._until = 0.0

    def enter(self) -> None:
        """A table is opened."""
        self._tables += 1

    def leave(self) -> None:
        """A table is closed."""
        self._tables -= 1
        if self._tables <= 0 and not self.holds():
            self.end_snapshot()

    def limit_time(self, seconds: float) -> None:
        """End questions that take longer, counted from now; 0: never."""
        self._seconds = seconds
        self._until = time.monotonic() + seconds if seconds > 0 else 0.0
        if self._db is not None and self._is_begun:
            self._set(self._db)

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """The rows that a statement gives."""
        try:
            with self._begun().cursor(binary=True) as cursor:
                return cursor.execute(literal(statement), list(values) or None).fetchall()
        except psycopg.Error as problem:
            raise self._translate(problem) from None

    def stream(self, statement: str, values: Sequence[object] = ()) -> Generator[list[Row], None, None]:
        """The same in pieces, which grow as more of them are wanted."""
        self._streams += 1
        try:
            with self._begun().cursor(name=f"lycosa_{self._streams}", binary=True) as cursor:
                cursor.execute(literal(statement), list(values) or None)
                count = _FIRST_ROWS
                while rows := cursor.fetchmany(count):
                    yield rows
                    count = min(2 * count, _MOST_ROWS)
                    self._check_time()
        except psycopg.Error as problem:
            raise self._translate(problem) from None

    def end_snapshot(self) -> None:
        """Let go of the state that was read; the next question sees a new one."""
        if not self._is_begun:
            return
        self._is_begun = False
        for forget in self.on_end:
            forget()
        if self._db is not None and not self._db.closed:
            try:
                self._db.execute("ROLLBACK")
            except psycopg.Error:
                self._disconnect()

    def cancel(self) -> None:
        """Stop the statement under way; another thread calls this."""
        if self._db is not None and not self._db.closed:
            self._db.cancel_safe(timeout=2.0)

    def close(self) -> None:
        self._is_begun = False
        self._disconnect()

    def _begun(self) -> psycopg.Connection:
        self._check_time()
        if not self._is_begun:
            try:
                self._begin(self._connected())
            except psycopg.OperationalError:  # a server that was restarted since
                self._disconnect()
                self._begin(self._connected())
            self._is_begun = True
        if self._db is None:
            raise CollectionError("The collection was closed while it was being read: read it before that.")
        return self._db

    def _check_time(self) -> None:
        if self._until and time.monotonic() > self._until:
            raise TimeIsUp

    def _connected(self) -> psycopg.Connection:
        if self._db is None or self._db.closed:
            db = connect(self.address, timeout_s=CONNECT_S)
            try:
                with db.transaction():
                    schema.enter(db, self.name, _SETTINGS)
                    schema.check_version(db, self.name)
            except BaseException:
                db.close()
                raise
            self._db = db
        return self._db

    def _begin(self, db: psycopg.Connection) -> None:
        db.execute(_BEGIN)
        self._set(db)

    def _set(self, db: psycopg.Connection) -> None:
        timeout = str(max(0, int(self._seconds * 1000)))
        schema.select(db, self.name, {**_SETTINGS, "statement_timeout": timeout})

    def _disconnect(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _translate(self, problem: psycopg.Error) -> Exception:
        if isinstance(problem, errors.QueryCanceled):
            return TimeIsUp()
        if self._is_begun and isinstance(problem, psycopg.OperationalError):
            self._disconnect()
            return CollectionError("The database went away while it was being read: ask again when it is back.")
        return translate(problem)
