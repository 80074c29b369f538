"""Transfer of all tables of a collection between a crawl.db and PostgreSQL, whichever way, as streams of rows.

The number of a row is the same on both sides, but for the partition, which PostgreSQL puts in front. Both sides are
whole or not there: the target is one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import psycopg
from msgspec import Struct
from psycopg import sql

from lycosa.errors import CollectionError
from lycosa.frontier.postgres import schema
from lycosa.frontier.postgres.schema import NUMBER_BITS, NUMBERS
from lycosa.frontier.sqlite import schema as sqlite_schema

CHUNK = 5_000
_MIDDLE_SHIFT = 56  # of a host's key: see partitions.py


class CopiedTable(Struct, frozen=True):
    """A table that both sides have, with the columns that are the same in both."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]  # of PostgreSQL
    key: str = ""  # what the partition follows from: "n", "host" or "digest"; empty: the table has none

    @property
    def has_number(self) -> bool:
        return "n" in self.columns


def _table(name: str, columns: str, *, key: str = "") -> CopiedTable:
    pairs = [column.split(":") for column in columns.split()]
    return CopiedTable(name, tuple(one for one, _ in pairs), tuple(kind for _, kind in pairs), key)


_URL = _table(
    "url",
    "n:int8 host:int8 id:int8 url:text state:int2 reason:text score:float8 depth:int4 hops:int4 parent:int8 seed:bool"
    " via:text anchor:text context:text original:text lore:bytea http:int4 fetched_at:float8 due:float8 retries:int4"
    " interval:float8 redirect:text modified:text etag:text digest:bytea round:int4 was:int2 changes:float8"
    " watched:float8 checked:int4",
    key="host",
)
_TABLES = (
    _table(
        "host",
        "host:int8 name:text next_at:float8 delay_s:float8 pages:int8 errors:int4 visited:int4 round:int4 told:int4"
        " wrong:int4",
        key="host",
    ),
    _table(
        "page",
        "n:int8 round:int4 fetched_at:float8 status:int4 mime:text charset:text title:text language:text kind:text"
        " size:int8 digest:bytea etag:text last_modified:text server_date:text warc:text offset:int8 length:int8"
        " rendered:bool",
        key="n",
    ),
    _table("link", "n:int8 round:int4 links:bytea", key="n"),
    _table("content", "digest:bytea n:int8 round:int4", key="digest"),
    _table("robots", "origin:text fetched_at:float8 status:int4 body:bytea"),
    _table("tally", "host:int8 key:text count:int8", key="host"),
    _table("seed", "n:int8 given:bool"),
    _table("warc", "name:text size:int8 synced:int8 stamp:int8"),
    _table("strike", "n:int8 count:int4"),
    _table("lesson", "key:int8 weight:float8 energy:float8 stamp:int8"),
    _table(
        "visit",
        "round:int4 n:int8 event:text at:float8 http:int4 warc:text offset:int8 length:int8",
        key="n",
    ),
    _table("lastmod", "n:int8 modified:float8", key="n"),
    _table("wish_set", "key:int8 forbids:int4 allows:int4 signals:text"),
    _table("wish", "n:int8 at:float8 site:int8 own:int8", key="n"),
    _table("round", "round:int4 at:float8 started:float8 ended:float8 why:text everything:bool"),
    _table("record", "n:int8 round:int4 quarry:text mission:text kind:text json:text"),
    _table(
        "extracted",
        "n:int8 round:int4 quarry:text version:text outcome:text error:text strikes:int4 records:int4 at:float8",
    ),
)
_NULL_TEXTS = frozenset({"reason", "via", "anchor", "context", "original"})


def from_file(path: Path, connection: psycopg.Connection, name: str) -> int:
    """Put what a crawl.db holds into an empty collection of a database; returns how many URLs."""
    source = sqlite_schema.connect(path)
    try:
        with connection.transaction():
            schema.select(connection, name)
            refuse_filled(connection, name)
            parts = _PartsOfRows(source)
            urls = _send(connection, _URL, _number_urls(source))
            for table in _TABLES:
                _send(connection, table, parts.number(table, _read_file(source, table)))
            connection.execute("UPDATE round SET upto = 256, opened = 256")
            _send_counters(connection, source)
            last = source.execute("SELECT coalesce(max(n), 0) FROM url").get
            connection.execute("SELECT setval('number', %s)", (int(last) + 1,))
            stamp = source.execute("SELECT coalesce(max(stamp), 0) + 1 FROM lesson").get
            connection.execute("SELECT setval('lesson_stamp', %s)", (stamp,))
            connection.execute("ANALYZE url")  # so that the first statements are planned for what there is now
    finally:
        source.close()
    return urls


def to_file(connection: psycopg.Connection, name: str, path: Path) -> int:
    """Put what a collection of a database holds into an empty crawl.db; returns how many URLs."""
    target = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        with connection.transaction(), target:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            schema.select(connection, name)
            count = _fill_file(connection, target)
    finally:
        target.close()
    return count


def _fill_file(connection: psycopg.Connection, target: apsw.Connection) -> int:
    target.execute("DELETE FROM round")
    count = 0
    for table in (_URL, *_TABLES):
        statement = _file_insert(table)
        for rows in _chunks(_read_database(connection, table)):
            target.executemany(statement, rows)
            count += len(rows) if table is _URL else 0
    _write_counters(connection, target)
    target.execute("INSERT INTO known SELECT host, id, n FROM url ORDER BY host, id")
    target.execute("INSERT INTO holder SELECT digest, seq FROM content ORDER BY digest")
    target.execute("UPDATE moved SET upto = (SELECT coalesce(max(n), 0) FROM url) WHERE name = 'url'")
    target.execute("UPDATE moved SET upto = (SELECT coalesce(max(seq), 0) FROM content) WHERE name = 'content'")
    target.execute("UPDATE round SET upto = (SELECT coalesce(max(n), 0) FROM url)")
    target.execute("UPDATE round SET opened = upto")
    return count


def _file_insert(table: CopiedTable) -> str:
    """The statement that puts a row into a crawl.db."""
    if table.name == "link":
        return "INSERT INTO link (key, links) VALUES (? << 20 | ?, ?)"
    if table.name == "content":
        return "INSERT INTO content (seq, digest, n, round) VALUES (?2 << 20 | ?3, ?1, ?2, ?3)"
    return f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({', '.join('?' * len(table.columns))})"


def _read_database(connection: psycopg.Connection, table: CopiedTable) -> Iterator[tuple[Any, ...]]:
    """The rows of a table in the order of finding, with the numbers that they have in a crawl.db."""
    masked = (f'"{column}" & {NUMBERS}' if column in ("n", "parent") else f'"{column}"' for column in table.columns)
    order = f"n & {NUMBERS}" if table.has_number else "1"
    if table.name == "record":
        order += ", round, quarry, ctid"
    with connection.cursor(name=f"copy_{table.name}", binary=True) as cursor:
        cursor.itersize = CHUNK
        cursor.execute(f"SELECT {', '.join(masked)} FROM {table.name} ORDER BY {order}".encode())
        yield from cursor


def _read_file(source: apsw.Connection, table: CopiedTable) -> Iterator[tuple[Any, ...]]:
    columns = ", ".join(table.columns)
    rows: Any = source.execute(f"SELECT {columns} FROM {table.name}")
    return iter(rows)


def _part_of_host(key: int) -> int:
    return (key >> _MIDDLE_SHIFT) + 128


class _PartsOfRows:
    """Finds the row number that a row of a crawl.db has in a database."""

    def __init__(self, source: apsw.Connection) -> None:
        self._source = source

    def number(self, table: CopiedTable, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        if not table.has_number:
            yield from rows
            return
        at = table.columns.index("n")
        for row in rows:
            n = self._find(row[at])
            if n is not None:
                yield (*row[:at], n, *row[at + 1 :])

    def _find(self, n: int) -> int | None:
        if n < 0:
            return None  # a document of an archive that is not the collection's own
        host = self._source.execute("SELECT host FROM url WHERE n = ?", (n,)).get
        return None if host is None else _part_of_host(host) << NUMBER_BITS | n


def _number_urls(source: apsw.Connection) -> Iterator[tuple[Any, ...]]:
    columns = ", ".join(f"url.{column}" for column in _URL.columns)
    statement = (
        f"SELECT {columns}, origin.host FROM url LEFT JOIN url AS origin ON origin.n = url.parent ORDER BY url.n"
    )
    parent = _URL.columns.index("parent")
    rows: Any = source.execute(statement)
    for *row, origin in rows:
        row[0] = _part_of_host(row[1]) << NUMBER_BITS | row[0]
        if row[parent]:
            row[parent] = 0 if origin is None else _part_of_host(origin) << NUMBER_BITS | row[parent]
        yield tuple(row)


def _send(connection: psycopg.Connection, table: CopiedTable, rows: Iterable[tuple[Any, ...]]) -> int:
    """Copy rows into a table of the database, with the partition where it has one."""
    if table.name == "round":
        connection.execute("DELETE FROM round")
    columns = [*table.columns, *(["part"] if table.key else [])]
    types = [*table.types, *(["int2"] if table.key else [])]
    key = table.columns.index(table.key) if table.key else -1
    part_of = _PART_OF.get(table.key)
    mend = _make_mender(table)
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    count = 0
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(types)
        for row in rows:
            values = list(row)
            mend(values)
            if part_of is not None:
                values.append(part_of(values[key]))
            copy.write_row(values)
            count += 1
    return count


#: By the column that it depends on, the partition of a row.
_PART_OF: dict[str, Callable[[Any], int]] = {
    "host": lambda host: _part_of_host(host),
    "n": lambda n: int(n) >> NUMBER_BITS,
    "digest": lambda digest: int(digest[0]),
}


def _make_mender(table: CopiedTable) -> Callable[[list[Any]], None]:
    """Makes of the values of a row, in their place, such as the columns of the database take."""
    bools = [i for i, kind in enumerate(table.types) if kind == "bool"]
    texts = [i for i, kind in enumerate(table.types) if kind == "text"]
    empty = [i for i, column in enumerate(table.columns) if column in _NULL_TEXTS or column == "lore"]

    def mend(values: list[Any]) -> None:
        for i in bools:
            values[i] = bool(values[i])
        for i in texts:
            if values[i] is not None:
                values[i] = str(values[i]).replace("\0", "?")
        for i in empty:
            if values[i] is None:
                values[i] = b"" if table.types[i] == "bytea" else ""

    return mend


def _send_counters(connection: psycopg.Connection, source: apsw.Connection) -> None:
    with connection.cursor() as cursor:
        stats: Any = source.execute("SELECT state, reason, count FROM stat").fetchall()
        cursor.executemany("INSERT INTO stat VALUES (0, %s, %s, %s)", stats)
        figures: Any = source.execute("SELECT name, key, count FROM figure").fetchall()
        cursor.executemany("INSERT INTO figure VALUES (0, %s, %s, %s)", figures)
        metas: Any = source.execute(
            "SELECT key, CAST(value AS TEXT) FROM meta WHERE key NOT IN ('schema', 'copied')"
        ).fetchall()
        cursor.executemany(
            "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value", metas
        )


def _write_counters(connection: psycopg.Connection, target: apsw.Connection) -> None:
    stats = connection.execute("SELECT state, reason, sum(count)::bigint FROM stat GROUP BY 1, 2").fetchall()
    target.executemany("INSERT OR REPLACE INTO stat VALUES (?, ?, ?)", [row for row in stats if row[2]])
    figures = connection.execute("SELECT name, key, sum(count)::bigint FROM figure GROUP BY 1, 2").fetchall()
    target.executemany("INSERT OR REPLACE INTO figure VALUES (?, ?, ?)", [row for row in figures if row[2]])
    for key, value in connection.execute("SELECT key, value FROM meta WHERE key <> 'schema'"):
        target.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, read_meta(key, value)))


def read_meta(key: str, value: str) -> object:
    """A value of the table of facts as a crawl.db has it."""
    return {"round": int, "created": float}.get(key, str)(value)


def refuse_filled(connection: psycopg.Connection, name: str) -> None:
    """Refuse to put a collection where there is one with URLs."""
    schema.select(connection, name)
    if connection.execute("SELECT 1 FROM url LIMIT 1").fetchone():
        raise CollectionError(f"The collection {name} of the database holds URLs already: name another one.")


def _chunks(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk
