"""Database connection of a SQLite frontier, with the indexes and caches that it keeps between transactions.

All facets of a frontier have one `Session`. While it is suspended, the database is open for single calls alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw

from lycosa.frontier.consequences import Unpack
from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.errors import translate
from lycosa.frontier.sqlite.key_index import CONTENTS, URLS, KeyIndex

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="SqliteFacet")


class Connection:
    """One open database; `write` is the only way to change it."""

    def __init__(self, path: Path, *, unpack: Unpack, recent_max: int) -> None:
        self.db = schema.connect(path)
        self.urls: KeyIndex[int] = KeyIndex(self.db, URLS, most=recent_max)
        self.contents: KeyIndex[bytes] = KeyIndex(self.db, CONTENTS, most=recent_max)
        self.leases_stale = True  # the table may say something else than this worker knows
        self.hosts: set[str] = set()  # names that are surely in the table of hosts
        self.unpack = unpack
        self.round = int(self.db.execute("SELECT value FROM meta WHERE key = 'round'").get)
        self.read_inbox_at = 0  # the version of the database when the inbox was last found empty
        self._version = 0
        self._durable = False

    def version(self) -> int:
        """A number that changes when another connection has committed something."""
        return int(self.db.execute("PRAGMA data_version").get)

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[None]:
        """Run a transaction: all of the block or nothing; `durable`: it and all before it survive a loss of power."""
        db = self.db
        if durable != self._durable:
            db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable
        db.execute("BEGIN IMMEDIATE")
        try:
            version = self.version()
            if version != self._version:
                self.urls.stale = self.contents.stale = self.leases_stale = True
                self._version = version
            yield
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            self.urls.forget()
            self.contents.forget()
            self.leases_stale = True
            self.hosts.clear()
            raise


class Session:
    """The connection that the facets of one frontier share."""

    def __init__(self, path: Path, *, unpack: Unpack, recent_max: int) -> None:
        self.path = path
        self.connection: Connection | None = None
        self._unpack = unpack
        self._recent_max = recent_max
        self._suspended = self._closed = False
        self.open()

    def open(self) -> None:
        """Open the database."""
        if self._closed:
            raise RuntimeError(f"{self.path} was closed")
        self.connection = Connection(self.path, unpack=self._unpack, recent_max=self._recent_max)

    def _shut(self) -> None:
        if self.connection is not None:
            self.connection.db.close()
            self.connection = None

    def suspend(self) -> None:
        """Keep the database open within single calls alone."""
        self._suspended = True
        self._shut()

    def resume(self) -> None:
        """Keep the database open."""
        self._suspended = False
        if self.connection is None:
            self.open()

    def close(self) -> None:
        """Close the database for good."""
        self._closed = True
        self._shut()

    def end_call(self) -> None:
        """Close what was opened for one call."""
        if self._suspended:
            self._shut()


def translated(method: Callable[Concatenate[F, P], R]) -> Callable[Concatenate[F, P], R]:
    """Turn errors of SQLite into ours, which a person understands; while suspended, open for this call alone."""

    @wraps(method)
    def call(self: F, *args: P.args, **kwargs: P.kwargs) -> R:
        session = self._session
        brief = session.connection is None
        try:
            if brief:
                session.open()
            return method(self, *args, **kwargs)
        except apsw.Error as problem:
            raise translate(problem, session.path) from problem
        finally:
            if brief:
                session.end_call()

    return call  # type: ignore[return-value]  # wraps() names the first argument


class SqliteFacet:
    """One facet of a frontier in a file."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def _conn(self) -> Connection:
        """The open connection."""
        connection = self._session.connection
        assert connection is not None
        return connection

    @translated
    def _ask(self, sql: str, *values: object) -> list[Any]:
        """The rows that a statement gives which only reads."""
        rows: list[Any] = self._conn.db.execute(sql, values).fetchall()
        return rows
