"""Database connection of a PostgreSQL frontier: transactions that survive deadlocks and servers that come back.

A transaction is a function of the connection. It is run again where the server chose it as the victim of a deadlock,
and where the connection broke before it was committed. Whether a commit that broke off went through is asked of the
server by the number of the transaction. A server that was killed may have lost that number, and give it to another.

A pooler such as PgBouncer lends a session of the server for one transaction: there every question is one, which begins
with the settings, and nothing is prepared.

How new a collection is and where its archive files are is asked by a short connection of its own.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, LiteralString, ParamSpec, TypeVar

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus
from psycopg.types.array import ListBinaryDumper

from lycosa.errors import CollectionError, DiskFull, LycosaError
from lycosa.frontier.consequences import ChangeCounts
from lycosa.frontier.postgres import schema
from lycosa.frontier.postgres.address import SharedCollection, check_name
from lycosa.frontier.postgres.schema import SHARDS

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="PostgresFacet")
Values = Sequence[object] | Mapping[str, object]

#: How long a server that does not answer is waited for. Who waits says so, so that a worker is not taken for hung.
PATIENCE_S = 120.0
_PAUSE_S = 0.5
_PASSING = (errors.DeadlockDetected, errors.SerializationFailure)
_BROKEN = (psycopg.OperationalError, psycopg.InterfaceError, errors.IdleInTransactionSessionTimeout)
_FINAL = (
    errors.InvalidPassword,
    errors.InvalidAuthorizationSpecification,
    errors.InvalidCatalogName,
    errors.DiskFull,
)
_PASSWORD = "into the environment as PGPASSWORD, or into the file ~/.pgpass"
#: What to do where a server does not let us in.
_ADVICE = {
    r"password authentication failed": f"put the right password {_PASSWORD}",
    r"no password supplied": f"put the password {_PASSWORD}",
    r"database .* does not exist": "make it with createdb, or name another",
    r"role .* does not exist": "make it with createuser, or name another user",
    r"no pg_hba": "let this machine in by the server's pg_hba.conf",
    r"too many clients|connection slots": "raise max_connections of the server",
    r"": "see that the server runs and that its address is right, then give the same command again",
}
#: A connection to a server that vanished without a word breaks within half a minute.
_ALIVE: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
_SETTINGS = {
    "client_min_messages": "warning",
    "idle_in_transaction_session_timeout": "60000",
    "lock_timeout": "30000",
}

#: What a server says that recovers from its end: it is there, and will answer.
RECOVERING = "database system is (starting up|shutting down|in recovery mode|not (yet )?accepting connections)"

_ROUND = "SELECT value FROM meta WHERE key = 'round'"
_NUMBER = "SELECT pg_current_xact_id_if_assigned()::text, clock_timestamp()"
#: A server that came up again since has made a checkpoint, with the first number that no transaction had before it.
_STATUS = """
SELECT CASE WHEN greatest(checkpoint_time, pg_postmaster_start_time()) > %(at)s AND
    split_part(next_xid, ':', 1)::bigint << 32 | split_part(next_xid, ':', 2)::bigint <= %(number)s::bigint
THEN 'lost' ELSE pg_xact_status(%(number)s::text::xid8) END FROM pg_control_checkpoint()"""


class RefusedValue(CollectionError):
    """A text or number that the database cannot hold, such as NUL."""


class PostgresConnection:
    """One open connection to a collection; opens itself anew where it broke."""

    def __init__(self, address: str, name: str, *, patience_s: float = PATIENCE_S) -> None:
        self.address = address
        self.name = check_name(name)
        self.patience_s = patience_s
        self.round = 1
        self.opened = 0  # how often; what was made for one connection is gone with it
        self.on_wait: Callable[[], object] = lambda: None  # called again and again while the server is waited for
        self.suspended = False  # open within single calls alone, so that the process may fork
        self._calls = 0  # under way
        self._db: psycopg.Connection | None = None
        self._reader: psycopg.Cursor | None = None
        self._pipeline: psycopg.Pipeline | None = None
        self._is_known = False
        self._is_lent = False  # by a pooler, for one transaction at a time

    @property
    def db(self) -> psycopg.Connection:
        """The open connection."""
        if self._db is None or self._db.closed:
            self._db = self._open()
        return self._db

    def _open(self) -> psycopg.Connection:
        db = connect(self.address)
        try:
            with db.transaction():
                if self._is_known:
                    schema.select(db, self.name, _SETTINGS)
                else:
                    schema.enter(db, self.name, _SETTINGS)
                    schema.check_version(db, self.name)
                    self._is_known = True
                self.round = int(db.execute(_ROUND).fetchone()[0])  # type: ignore[index]
            self._is_lent = is_lent(db)
            if not self._is_lent:
                schema.select(db, self.name, _SETTINGS, for_session=True)
        except BaseException:
            db.close()
            raise
        self.opened += 1
        return db

    def another(self, *, patience_s: float | None = None) -> PostgresConnection:
        """A second connection to the same collection."""
        patience_s = self.patience_s if patience_s is None else patience_s
        return PostgresConnection(self.address, self.name, patience_s=patience_s)

    def learn_round(self) -> None:
        """Let the round be the one of now."""
        self.round = int(self.value(_ROUND))

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def rows(self, statement: str, values: Values = (), *, binary: bool = False) -> list[Any]:
        """The rows that a statement gives; many columns are read faster in their `binary` form."""
        return self.db.execute(literal(statement), values or None, binary=binary).fetchall()

    def row(self, statement: str, values: Values = ()) -> Any:
        """The first row that a statement gives, or None."""
        db = self.db
        if self._reader is None or self._reader.connection is not db:
            self._reader = db.cursor()  # one for all: to make one costs as much as to ask
        return self._reader.execute(literal(statement), values or None).fetchone()

    def value(self, statement: str, values: Values = ()) -> Any:
        """The first value that a statement gives, or None."""
        row = self.row(statement, values)
        return None if row is None else row[0]

    def run(self, statement: str, values: Values = ()) -> int:
        """Run a statement; returns how many rows it changed."""
        cursor = self.db.execute(literal(statement), values or None)
        if self._pipeline is not None:
            self._pipeline.sync()
        return cursor.rowcount

    def send(self, statement: str, values: Values = ()) -> None:
        """Run a statement whose answer nobody needs."""
        self.db.execute(literal(statement), values or None)

    def run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement for each row, in one round trip."""
        with self.db.cursor() as cursor:
            cursor.executemany(literal(statement), list(rows))

    @contextmanager
    def pipelined(self) -> Iterator[None]:
        """Wait only for the answers that are asked for: the others come together, at the end of the block."""
        with self.db.pipeline() as self._pipeline:
            try:
                yield
            finally:
                self._pipeline = None

    def read(self, function: Callable[[], R]) -> R:
        """Run statements that only read, again where the connection broke."""

        def attempt() -> R:
            db = self.db
            if not self._is_lent or db.info.transaction_status != TransactionStatus.IDLE:
                return function()
            with self._transaction(db):
                return function()

        return self._patiently(attempt)

    def hold(self, question: str, values: Values, *, for_s: float) -> bool:
        """Ask for a lock in a transaction that stays open: it is held until this connection is closed."""

        def attempt() -> bool:
            if self.db.info.transaction_status == TransactionStatus.IDLE:
                self.db.execute("BEGIN")
                idle = {"idle_in_transaction_session_timeout": str(int(for_s * 1000))}
                schema.select(self.db, self.name, _SETTINGS | idle)
            return bool(self.value(question, values))

        return self._patiently(attempt)

    @contextmanager
    def _transaction(self, db: psycopg.Connection) -> Iterator[None]:
        with db.transaction():
            if self._is_lent:
                schema.select(db, self.name, _SETTINGS)
            yield

    def write(self, function: Callable[[], R]) -> R:
        """Run a transaction: all of the function or nothing, once."""
        begun: list[tuple[str | None, datetime, R]] = []  # number, time and result of what is not surely committed

        def attempt() -> R:
            if begun:
                number, at, result = begun[0]
                if number and self._is_committed(number, at):
                    return result
                begun.clear()
            with self._transaction(self.db):
                result = function()
                begun.append((*self.row(_NUMBER), result))
            begun.clear()
            return result

        return self._patiently(attempt)

    def _is_committed(self, number: str, at: datetime) -> bool:
        """Whether a transaction whose commit broke off went through; its server may still be about it."""
        while True:
            try:
                status = self.value(_STATUS, {"number": number, "at": at})
            except errors.InvalidParameterValue:  # the number is still to come: the server was killed and has lost it
                return False
            if status != "in progress":
                return bool(status == "committed")
            self.on_wait()
            time.sleep(_PAUSE_S)

    def _patiently(self, function: Callable[[], R]) -> R:
        self._calls += 1
        try:
            return patiently(function, patience_s=self.patience_s, on_break=self._await_server)
        finally:
            self._calls -= 1
            if self.suspended and not self._calls:
                self.close()

    def _await_server(self) -> None:
        self.close()
        self.on_wait()
        time.sleep(_PAUSE_S)


def connect(address: str, *, timeout_s: int = 10) -> psycopg.Connection:
    """Connect to a server, or to a pooler: what is set there is set for one transaction."""
    db = psycopg.connect(
        address,
        autocommit=True,
        connect_timeout=timeout_s,
        application_name="lycosa",
        client_encoding="utf8",  # where the database has none, texts would come as bytes
        **_ALIVE,
    )
    db.adapters.register_dumper(list, ListBinaryDumper)  # as text, columns of values cost half of a commit's CPU here
    if is_lent(db):
        db.prepare_threshold = None
    return db


def patiently(
    function: Callable[[], R],
    *,
    patience_s: float = PATIENCE_S,
    on_break: Callable[[], object] = lambda: time.sleep(_PAUSE_S),
    among: str = "",
) -> R:
    """Run a function again where the server was away, for a reason that matches."""
    until = time.monotonic() + patience_s
    while True:
        try:
            return function()
        except _PASSING:
            if time.monotonic() > until:
                raise
        except _BROKEN as problem:
            if not _is_passing(problem) or time.monotonic() > until or not re.search(among, str(problem)):
                raise translate(problem) from problem
            on_break()
        except psycopg.Error as problem:
            raise translate(problem) from problem


def is_lent(db: psycopg.Connection) -> bool:
    """Whether a pooler lends the session: then another process answers than the one that greeted us."""
    return int(_first_row(db.execute("SELECT pg_backend_pid()"))[0]) != db.info.backend_pid


def literal(statement: str) -> LiteralString:
    """A statement that was put together from our own texts."""
    return statement  # type: ignore[return-value, unused-ignore]


def _is_passing(problem: psycopg.Error) -> bool:
    """Whether a server that is down, or starts, or was cut off, may come back."""
    if isinstance(problem, _FINAL):
        return False
    return re.search(r"password authentication|no password|does not exist|no pg_hba", str(problem)) is None


def translate(problem: psycopg.Error) -> LycosaError:
    """An error of the server as one sentence for people, without the password."""
    text = " ".join(str(problem).split())
    text = re.sub(r"://[^@/ ]*@", "://…@", text)[:300]
    if isinstance(problem, errors.ReadOnlySqlTransaction):
        return CollectionError("The database is read-only: a crawl must be able to write to it.")
    if isinstance(problem, errors.DiskFull):
        return DiskFull("The disk of the database is full: make room there, then continue the crawl.")
    if isinstance(problem, errors.InsufficientPrivilege):
        return CollectionError(
            f"The database does not permit it: {text}; who crawls must own the collection, who reads it must have been"
            " granted SELECT on all its tables and sequences."
        )
    if isinstance(problem, psycopg.DataError):
        return RefusedValue(f"The database refused a value: {text}.")
    if isinstance(problem, _BROKEN):
        text = re.sub(r",? Is the server running.*", "", text)
        advice = next(what for found, what in _ADVICE.items() if re.search(found, text))
        return CollectionError(f"The database cannot be reached: {text}: {advice}.")
    return CollectionError(f"The database refused a statement: {text}.")


class PostgresFacet:
    """One facet of a frontier in a database."""

    def __init__(self, connection: PostgresConnection, machine: str) -> None:
        self._connection = connection
        self.machine = machine

    def _ask(self, sql: str, *values: object) -> list[Any]:
        """The rows that a statement gives which only reads, with `?` or `%s` for each value."""
        return self._connection.read(lambda: self._connection.rows(sql.replace("?", "%s"), values))


def reading(method: Callable[Concatenate[F, P], R]) -> Callable[Concatenate[F, P], R]:
    """Run a method that only reads again where the connection broke."""

    @wraps(method)
    def call(self: F, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._connection.read(lambda: method(self, *args, **kwargs))

    return call  # type: ignore[return-value]  # wraps() names the first argument


def writing(method: Callable[Concatenate[F, P], R]) -> Callable[Concatenate[F, P], R]:
    """Run a method as one transaction: all of it or nothing."""

    @wraps(method)
    def call(self: F, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._connection.write(lambda: method(self, *args, **kwargs))

    return call  # type: ignore[return-value]  # wraps() names the first argument


_STATE = """
INSERT INTO stat SELECT %s, * FROM unnest(%s::smallint[], %s::text[], %s::bigint[])
ON CONFLICT (shard, state, reason) DO UPDATE SET count = stat.count + excluded.count"""
_FIGURE = """
INSERT INTO figure SELECT %s, * FROM unnest(%s::text[], %s::text[], %s::bigint[])
ON CONFLICT (shard, name, key) DO UPDATE SET count = figure.count + excluded.count"""


class ShardedCounts(ChangeCounts):
    """What one transaction changes in the counters; `write` puts it into the database."""

    __slots__ = ()

    def write(self, connection: PostgresConnection) -> None:
        """Add everything to the database, within the transaction that made the changes."""
        shard = os.getpid() % SHARDS
        states = sorted((int(state), reason, change) for (state, reason), change in self._states.items() if change)
        if states:
            connection.send(_STATE, (shard, *map(list, zip(*states, strict=True))))
        figures = sorted((*key, change) for key, change in self._figures.items() if change)
        if figures:
            connection.send(_FIGURE, (shard, *map(list, zip(*figures, strict=True))))


T = TypeVar("T")

CONNECT_S = 5
_BRIEF = {"statement_timeout": "10000", "lock_timeout": "5000"}
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
_TOLD = "SELECT coalesce(max(at), 0) FROM machine"
#: Every commit of a worker changes one of these.
_MARK = """
    SELECT (SELECT coalesce(sum(count), 0) FROM figure), (SELECT coalesce(sum(size), 0) FROM warc),
           (SELECT last_value FROM number), (SELECT value FROM meta WHERE key = 'round')"""
_PLACES = "SELECT name, size, place FROM warc WHERE place <> ''"


def read_clock(connection: psycopg.Connection) -> float:
    """The server's time."""
    return float(_first_row(connection.execute(_CLOCK))[0])


def read_news(shared: SharedCollection) -> tuple[float, float]:
    """When a machine last told of itself, and the server's time now."""
    return _ask(shared, lambda db: (float(_first_row(db.execute(_TOLD))[0]), read_clock(db)))


def read_mark(shared: SharedCollection) -> str:
    """A short text that is another one when something was written to the collection."""
    return _ask(shared, lambda db: " ".join(map(str, _first_row(db.execute(_MARK)))))


def read_segment_places(shared: SharedCollection) -> list[tuple[str, int, str]]:
    """The archive files that are in a store: name, size, place."""
    return _ask(shared, lambda db: db.execute(_PLACES).fetchall())


def _ask(shared: SharedCollection, question: Callable[[psycopg.Connection], T]) -> T:
    try:
        with connect(shared.address, timeout_s=CONNECT_S) as db, db.transaction():
            schema.enter(db, shared.name, _BRIEF)
            return question(db)
    except psycopg.Error as problem:
        raise translate(problem) from None


def _first_row(cursor: psycopg.Cursor[Any]) -> tuple[Any, ...]:
    return next(iter(cursor))
