"""Read-only connections to the database of a collection, with views that people can read.

The tables and views of a crawl.db, asked in SQLite's SQL, are the contract of all that reads. Behind it stands the file
of a folder, or the database that several machines share (`reading_source.py` chooses), whose tables are virtual here.
Reading never disturbs a crawl that is running: a crawl.db is in WAL mode, a server gives a snapshot, and nothing here
can write. The views are made anew for each connection, in memory, so a collection of any age has them.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import msgspec

from lycosa.collection.folder import lock
from lycosa.collection.reading_source import choose_source, folder_of
from lycosa.collection.unfinished import is_decided
from lycosa.errors import CollectionError
from lycosa.extras import need
from lycosa.frontier import link_codec
from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.errors import translate

if TYPE_CHECKING:
    from lycosa.frontier.postgres.address import SharedCollection
    from lycosa.frontier.postgres.snapshot_reader import SnapshotReader

Row = tuple[Any, ...]

#: Seconds to wait while the crawl's own recovery holds the database for itself.
_BUSY_S = 10

#: Views beside those of the schema: what needs a function of ours, and what people ask for most.
VIEWS = {
    "links": """
        SELECT url.url AS source, item.value ->> 0 AS target, item.value ->> 1 AS anchor, item.value ->> 2 AS accepted,
               host.name AS host, link.n
        FROM link JOIN url USING (n) JOIN host USING (host), json_each(unpack_links(link.links)) AS item
        WHERE link.key = (SELECT max(key) FROM link AS l WHERE l.key BETWEEN link.key AND link.key | 1048575)""",
    "hosts": """
        SELECT host.name AS host, host.pages, host.errors, host.delay_s,
               (SELECT count(*) FROM url WHERE url.host = host.host AND url.state = 0) AS unfetched
        FROM host""",
    "records": """
        SELECT coalesce(url.url, guest.url) AS url, record.kind, record.json AS data, record.mission, record.quarry,
               extracted.version, datetime(nullif(coalesce(page.fetched_at, guest.fetched_at), 0), 'unixepoch')
               AS fetched, coalesce(page.warc, guest.warc) AS warc, coalesce(page.offset, guest.offset) AS offset,
               lower(hex(coalesce(page.digest, guest.digest))) AS digest, host.name AS host, record.round,
               coalesce(url.digest = page.digest, 1) AS current, coalesce(page.fetched_at, guest.fetched_at) AS at,
               record.n, record.id
        FROM record JOIN extracted USING (n, round, quarry) LEFT JOIN page USING (n, round) LEFT JOIN url USING (n)
             LEFT JOIN host USING (host) LEFT JOIN guest ON guest.id = -record.n""",
}

#: What a statement of a user may do; everything else is refused before it runs.
_ALLOWED = {apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE}


#: What quarries extracted here stands in the folder, not in the shared database.
_OWN_TABLES = frozenset({"record", "extracted", "guest"})


class SharedConnection(apsw.Connection):
    """A connection whose tables are those of a shared database."""

    reader: SnapshotReader

    def is_in_block(self) -> bool:
        """Whether statements of now read one state together."""
        try:
            return self.in_transaction
        except apsw.ConnectionClosedError:
            return False

    def interrupt(self) -> None:
        """End what is under way, here and on the server."""
        super().interrupt()
        self.reader.cancel()

    def close(self, force: bool = False) -> None:
        super().close(force)
        self.reader.close()


def connect(place: str | os.PathLike[str]) -> apsw.Connection:
    """Open a collection's database for reading; the caller closes it."""
    folder = folder_of(place)
    source = choose_source(folder)
    if source.shared is not None:
        return _connect_shared(source.shared, folder)
    path = folder / "crawl.db"
    if is_decided(folder):  # by a command that was killed
        with lock(folder, patience_s=_BUSY_S):
            pass
    _refuse_missing(folder, path)
    try:
        connection = _open(path)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)
        connection.set_busy_timeout(_BUSY_S * 1000)
        if schema.read_version(connection, path) < schema.VERSION:
            schema.upgrade(path)
        _add_views(connection)
    except apsw.Error as problem:
        raise translate(problem, path) from None
    return connection


def _connect_shared(shared: SharedCollection, folder: Path) -> SharedConnection:
    need("psycopg", extra="cluster", what="A collection in a database")
    from lycosa.frontier.postgres.snapshot_reader import SnapshotReader
    from lycosa.frontier.postgres.virtual_tables import add_tables

    connection = SharedConnection("", flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI)
    connection.reader = SnapshotReader(shared.address, shared.name)
    connection.reader.holds = connection.is_in_block
    own = folder / "crawl.db"
    but = _OWN_TABLES if own.is_file() else frozenset()
    add_tables(connection, connection.reader, but=but)
    if but:
        connection.execute("ATTACH ? AS copy", (f"{own.resolve().as_uri()}?mode=ro",))
        for name in but:
            connection.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM copy.{name}")
    _add_views(connection)
    return connection


@contextmanager
def snapshot(connection: apsw.Connection) -> Iterator[None]:
    """Read everything in the block as of one instant, also while a crawl is writing."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")
        if isinstance(connection, SharedConnection):
            connection.reader.end_snapshot()


def rows(connection: apsw.Connection, sql: str, values: Sequence[object] = ()) -> Iterator[Row]:
    """The rows of a statement of ours."""
    try:
        yield from connection.execute(sql, values)
    except (apsw.ConnectionClosedError, apsw.CursorClosedError):
        raise CollectionError("The collection was closed while it was being read: read it before that.") from None
    except apsw.Error as problem:
        raise translate(problem, Path(connection.filename or "The database")) from None


#: How the values of a crawl.db's columns are stored, where they are not null.
_STORED = {"INTEGER": "'integer'", "REAL": "'integer', 'real'", "TEXT": "'text'", "BLOB": "'blob'"}
_LEAST: dict[tuple[str, object], int] = {("url", "n"): 1, ("url", "state"): 0}
_LOOK_S = 5.0


def find_odd_value(connection: apsw.Connection) -> str:
    """A column with values that no lycosa wrote there; empty where none was found in some seconds."""
    end = time.monotonic() + _LOOK_S
    connection.set_progress_handler(lambda: time.monotonic() > end, 100_000)
    for table in re.findall(r"CREATE TABLE (\w+)", schema.TABLES):
        columns = connection.execute("SELECT name, type, dflt_value FROM pragma_table_info(?)", (table,)).fetchall()
        for name, kind, default in columns:
            column = f'"{str(name).replace(chr(34), chr(34) * 2)}"'
            stored = _STORED.get(str(kind), "typeof(1)") + ("" if default else ", 'null'")
            odd = f"typeof({column}) NOT IN ({stored})" if kind in _STORED else "0"
            odd += f" OR {column} IN (9e999, -9e999)"
            if (least := _LEAST.get((table, name))) is not None:
                odd += f" OR {column} IS NULL OR {column} < {least}"
            if connection.execute(f"SELECT 1 FROM main.{table} WHERE {odd} LIMIT 1").get:
                return f"{table}.{name}"
    return ""


#: Bytes of one value that is read, or that a statement of a user may make.
_VALUE_BYTES = 64 << 20


def guard(connection: apsw.Connection, *, seconds: float) -> None:
    """Let statements of a user only read, and end one that takes longer (0: as long as it likes)."""
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)
    connection.execute("PRAGMA query_only = 1")
    connection.authorizer = lambda action, *_: apsw.SQLITE_OK if action in _ALLOWED else apsw.SQLITE_DENY
    if seconds > 0:
        end = time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > end, 100_000)
        if isinstance(connection, SharedConnection):
            connection.reader.limit_time(seconds)


def _refuse_missing(folder: Path, path: Path) -> None:
    try:
        path.stat()
    except FileNotFoundError:
        if not folder.exists():
            raise CollectionError(f"There is no collection at {folder}; name one with --collection.") from None
        raise CollectionError(f"{folder} is not a collection: it has no crawl.db.") from None
    except OSError as problem:
        raise CollectionError(f"The collection {folder} cannot be read: {problem.strerror}.") from None
    if not os.access(path, os.R_OK):
        raise CollectionError(f"{path} cannot be read: Permission denied.")


def _open(path: Path) -> apsw.Connection:
    """Open read-only; in a folder where SQLite may not make its -shm file, as a file that nobody changes."""
    if not os.access(path.parent, os.W_OK) and not path.with_name("crawl.db-wal").exists():
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return apsw.Connection(f"{path.resolve().as_uri()}?immutable=1", flags=flags)
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)


def _add_views(connection: apsw.Connection) -> None:
    connection.create_scalar_function("unpack_links", _unpack, 1, deterministic=True)
    for name, select in VIEWS.items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {select}")


def _unpack(*values: Any) -> str:
    (packed,) = values
    return msgspec.json.encode(link_codec.unpack(packed or b"")).decode()
