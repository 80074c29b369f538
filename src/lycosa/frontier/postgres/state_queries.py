"""State queries: how new a collection in PostgreSQL is and where its archive files are, asked by a short connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import psycopg

from lycosa.frontier.postgres import schema
from lycosa.frontier.postgres.address import SharedCollection
from lycosa.frontier.postgres.connection import connect, translate

T = TypeVar("T")

CONNECT_S = 5
_OPTIONS = "-c statement_timeout=10000 -c lock_timeout=5000"
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
_TOLD = "SELECT coalesce(max(at), 0) FROM machine"
#: Every commit of a worker changes one of these.
_MARK = """
    SELECT (SELECT coalesce(sum(count), 0) FROM figure), (SELECT coalesce(sum(size), 0) FROM warc),
           (SELECT last_value FROM number), (SELECT value FROM meta WHERE key = 'round')"""
_PLACES = "SELECT name, size, place FROM warc WHERE place <> ''"


def read_clock(connection: psycopg.Connection) -> float:
    """The server's time."""
    return float(_row(connection.execute(_CLOCK))[0])


def read_news(shared: SharedCollection) -> tuple[float, float]:
    """When a machine last told of itself, and the server's time now."""
    return _ask(shared, lambda db: (float(_row(db.execute(_TOLD))[0]), read_clock(db)))


def read_mark(shared: SharedCollection) -> str:
    """A short text that is another one when something was written to the collection."""
    return _ask(shared, lambda db: " ".join(map(str, _row(db.execute(_MARK)))))


def read_segment_places(shared: SharedCollection) -> list[tuple[str, int, str]]:
    """The archive files that are in a store: name, size, place."""
    return _ask(shared, lambda db: db.execute(_PLACES).fetchall())


def _ask(shared: SharedCollection, question: Callable[[psycopg.Connection], T]) -> T:
    try:
        with connect(shared.address, options=_OPTIONS, timeout_s=CONNECT_S) as db:
            schema.enter(db, shared.name)
            return question(db)
    except psycopg.Error as problem:
        raise translate(problem) from None


def _row(cursor: psycopg.Cursor[Any]) -> tuple[Any, ...]:
    return next(iter(cursor))
