"""Server tables: what to select in PostgreSQL for the columns of a crawl.db, and how rows are found by their keys.

Names, order and types of columns are those of the crawl.db, taken from its own schema.

A join asks for one row at a time. What it asks for next is known: the keys that came in one piece with this one. So a
lookup brings the rows of all of them, and the following ones are answered from memory. What is remembered is bounded,
and rows are forgotten with their snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import apsw
from msgspec import Struct

from lycosa.frontier.postgres.schema import NUMBER_BITS, NUMBERS, NUMBERS_AT_ONCE
from lycosa.frontier.postgres.snapshot_reader import Row, SnapshotReader
from lycosa.frontier.sqlite import schema as sqlite_schema

ROUND_BITS = 20  # of the keys that are made of a row number and a round
_KEY = f'("n" & {NUMBERS}) << {ROUND_BITS} | "round"'
_LAST = f"(SELECT last_value + {NUMBERS_AT_ONCE} FROM number)"
#: The highest row number that is in use.
_MAX_NUMBER = f"""
    (SELECT coalesce(max(one.n & {NUMBERS}), 0) FROM generate_series(0, 255) AS part(part)
     CROSS JOIN LATERAL (SELECT n FROM url WHERE url.part = part.part::smallint ORDER BY n DESC LIMIT 1) AS one)"""
LAST_NUMBER = f"SELECT {_LAST}"
#: Rows of each table, as the server last estimated them.
ESTIMATES = """
    SELECT relname, reltuples::bigint FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"""

_COUNTS = "(SELECT {0}, sum(count)::bigint AS count FROM {1} GROUP BY {0} HAVING sum(count) <> 0)"
#: What stands after FROM where it is not the table of the same name.
_SOURCES = {
    "known": "url",
    "holder": "content",
    "stat": _COUNTS.format("state, reason", "stat"),
    "figure": _COUNTS.format("name, key", "figure"),
    "moved": f"""(SELECT * FROM (VALUES ('url', {NUMBERS}::bigint, ''), ('content', {(1 << 63) - 1}, ''))
        AS indexes (name, upto, mover))""",
    "part": "(SELECT part::int, ''::text AS owner, 0 AS epoch, 0::float8 AS lease_until FROM lease)",
    "record": f"(SELECT *, row_number() OVER (ORDER BY n & {NUMBERS}, round, quarry, ctid) AS id FROM record)",
    "guest": """(SELECT 0 AS id, ''::text AS url, 0::float8 AS fetched_at, ''::bytea AS digest, ''::text AS warc,
        0 AS "offset", 0 AS length WHERE false)""",
}
_EXPRESSIONS = {
    ("link", "key"): _KEY,
    ("content", "seq"): _KEY,
    ("holder", "seq"): _KEY,
    ("host", "part"): '"part"::int',
    ("round", "upto"): _MAX_NUMBER,
    ("round", "opened"): _MAX_NUMBER,
}
_BOOLS = {("url", "seed"), ("seed", "given"), ("page", "rendered"), ("round", "everything")}
#: Tables whose keys begin with the partition and the row number; those with row numbers and without partitions.
_PARTED = frozenset({"url", "page", "link", "lastmod", "lowered", "visit", "wish"})
_NUMBERED = frozenset({"seed", "strike", "record", "extracted"})
_HEAVY = frozenset({("link", "links"), ("robots", "body")})
#: What the server finds by an index, beside row numbers; the first columns of its keys.
_INDEXED = {
    "url": ("host",),
    "known": ("host",),
    "tally": ("host",),
    "content": ("digest",),
    "holder": ("digest",),
    "robots": ("origin",),
    "warc": ("name",),
    "lesson": ("key",),
    "round": ("round",),
    "meta": ("key",),
    "visit": ("round",),
    "wish_set": ("key",),
}


class ServerColumn(Struct, frozen=True):
    """A column: its name and type in a crawl.db, and the expression of PostgreSQL."""

    name: str
    kind: str  # INTEGER REAL TEXT BLOB, or empty
    expression: str
    is_number: bool = False  # holds row numbers
    is_heavy: bool = False


class ServerTable(Struct, frozen=True):
    """A table of a crawl.db, read from the server."""

    name: str
    source: str
    columns: tuple[ServerColumn, ...]
    declaration: str
    rowid: int  # the column that is SQLite's row number; -1: it has none
    number: int  # the column `n`; -1: it has none
    is_parted: bool  # keys begin with the partition, which follows from n
    indexed: tuple[str, ...]

    def position(self, name: str) -> int:
        """The place of a column; -1 where there is none of this name."""
        return next((at for at, column in enumerate(self.columns) if column.name == name), -1)


@cache
def server_tables() -> dict[str, ServerTable]:
    """All tables of a crawl.db by name."""
    scratch = apsw.Connection(":memory:")
    scratch.execute(sqlite_schema.TABLES)
    names = scratch.execute(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT GLOB 'sqlite*'"
    ).fetchall()
    return {str(name): _describe(scratch, str(name), without_rowid=bool(wr)) for name, wr in names}


def _describe(scratch: apsw.Connection, name: str, *, without_rowid: bool) -> ServerTable:
    columns, declared = [], []
    keys: list[tuple[int, int]] = []
    rows = scratch.execute("SELECT name, type, pk FROM pragma_table_xinfo(?) ORDER BY cid", (name,))
    for at, (column, kind, key) in enumerate(rows):
        columns.append(_describe_column(name, str(column), str(kind).split(" ")[0]))
        declared.append(f'"{column}" {kind}'.replace(" GENERATED ALWAYS", ""))
        if key:
            keys.append((int(str(key)), at))
    if without_rowid:
        names = ", ".join(f'"{columns[at].name}"' for _, at in sorted(keys))
        declared.append(f"PRIMARY KEY ({names})")
    declaration = f"CREATE TABLE x ({', '.join(declared)}){' WITHOUT ROWID' if without_rowid else ''}"
    is_numbered = name in _PARTED or name in _NUMBERED or name in ("content", "known")
    return ServerTable(
        name=name,
        source=_SOURCES.get(name, name),
        columns=tuple(columns),
        declaration=declaration,
        rowid=-1 if without_rowid or len(keys) != 1 else keys[0][1],
        number=next((at for at, one in enumerate(columns) if one.name == "n" and is_numbered), -1),
        is_parted=name in _PARTED,
        indexed=_INDEXED.get(name, ()),
    )


def _describe_column(table: str, name: str, kind: str) -> ServerColumn:
    expression = _EXPRESSIONS.get((table, name), f'"{name}"')
    is_number = name in ("n", "parent")
    if is_number:
        expression = f'"{name}" & {NUMBERS}'
    elif (table, name) in _BOOLS:
        expression = f'"{name}"::int'
    return ServerColumn(name, kind, expression, is_number, (table, name) in _HEAVY)


def candidates(number: int) -> list[int]:
    """The row numbers of the server that one of a crawl.db may stand for: one for each partition."""
    return [part << NUMBER_BITS | number for part in range(256)]


_REMEMBERED = 200_000  # row numbers with their partitions
_COMPANIONS = 50_000  # keys that came together
_ROWS, _HEAVY_ROWS = 8192, 256  # keys whose rows are kept for one form of lookup
_AT_ONCE, _HEAVY_AT_ONCE = 4096, 64

_BY_NUMBER = "JOIN {source} AS t ON t.n = given.wanted"
_BY_PARTED_NUMBER = f"{_BY_NUMBER} AND t.part = (given.wanted >> {NUMBER_BITS})::smallint"
#: Who brought a body first is found by its digest alone, which the page of this number and round has.
_CONTENT_BY_NUMBER = f"""
    CROSS JOIN LATERAL (
        SELECT content.* FROM page JOIN content ON content.part = get_byte(page.digest, 0)
            AND content.digest = page.digest AND content.n = page.n AND content.round = page.round
        WHERE page.n = given.wanted AND page.part = (given.wanted >> {NUMBER_BITS})::smallint) AS t"""
_BY_HOST = "JOIN {source} AS t ON t.part = ((given.wanted >> 56) + 128)::smallint AND t.host = given.wanted"
_BY_DIGEST = "JOIN {source} AS t ON t.part = get_byte(given.wanted, 0) AND t.digest = given.wanted"
_RESOLVE = f"""
    SELECT url.n FROM unnest(%s::bigint[]) AS given(wanted)
    JOIN url ON url.part = (given.wanted >> {NUMBER_BITS})::smallint AND url.n = given.wanted"""


class ColumnChoice(Struct, frozen=True):
    """The columns of a table that a question needs; row numbers a second time, as the server has them."""

    table: ServerTable
    columns: tuple[int, ...]
    has_spare: bool = False  # the last column is there for SQLite alone, and leads nowhere

    @property
    def numbers(self) -> tuple[int, ...]:
        """The places of row numbers in a row."""
        wanted = self.columns[:-1] if self.has_spare else self.columns
        return tuple(at for at, column in enumerate(wanted) if self.table.columns[column].is_number)

    @property
    def is_heavy(self) -> bool:
        return any(self.table.columns[column].is_heavy for column in self.columns)

    def sql(self) -> str:
        """What stands after SELECT."""
        chosen = [self.table.columns[column] for column in self.columns]
        raw = (f'"{chosen[at].name}"' for at in self.numbers)
        return ", ".join((*(column.expression for column in chosen), *raw)) or "1"

    def place(self, name: str) -> int:
        """Where a column is in a row; -1: it is not."""
        at = self.table.position(name)
        return self.columns.index(at) if at in self.columns else -1


class KeyLookup:
    """Finds the rows of keys, and remembers which keys came together."""

    def __init__(self, reader: SnapshotReader) -> None:
        self._reader = reader
        self._server_numbers: dict[int, int] = {}
        self._companions: dict[str, dict[Any, list[Any]]] = {"n": {}, "host": {}, "digest": {}}
        self._rows: dict[tuple[object, ...], dict[Any, list[Row]]] = {}
        reader.on_end.append(self._rows.clear)

    def note(self, selection: ColumnChoice, rows: Sequence[Row]) -> None:
        """Remember the keys of rows that came in one piece."""
        raw = len(selection.columns)
        for at in selection.numbers:
            numbers = [row[at] for row in rows]
            if len(self._server_numbers) > _REMEMBERED:
                self._server_numbers.clear()
            self._server_numbers.update(zip(numbers, (row[raw] for row in rows), strict=True))
            self._note_keys("n", numbers)
            raw += 1
        for kind in ("host", "digest"):
            at = selection.place(kind)
            if at >= 0 and selection.table.name != "host":
                self._note_keys(kind, [row[at] for row in rows])

    def _note_keys(self, kind: str, keys: Iterable[Any]) -> None:
        together = list(dict.fromkeys(key for key in keys if key))
        known = self._companions[kind]
        if len(known) > _COMPANIONS:
            known.clear()
        if len(together) > 1:
            known.update(dict.fromkeys(together, together))

    def note_numbers(self, numbers: Iterable[int]) -> None:
        """Remember row numbers that are asked for together."""
        self._note_keys("n", numbers)

    def find(
        self, selection: ColumnChoice, kind: str, key: Any, where: str = "", values: tuple[object, ...] = ()
    ) -> list[Row]:
        """The rows of a key, of those that fulfil the condition."""
        known = self.rows_of(selection, kind, where, values)
        found = known.get(key)
        if found is not None:
            return found
        if len(known) > (_HEAVY_ROWS if selection.is_heavy else _ROWS):
            known.clear()
        together = self._companions[kind].get(key, [])
        at = together.index(key) if together else 0
        keys = [one for one in together[at:] if one not in known][: _HEAVY_AT_ONCE if selection.is_heavy else _AT_ONCE]
        keys = keys or [key]
        for one in keys:
            known[one] = []
        given = self._resolve(keys) if kind == "n" else keys
        if given:
            self._load(selection, kind, given, known, where, values)
        return known[key]

    def rows_of(
        self, selection: ColumnChoice, kind: str, where: str = "", values: tuple[object, ...] = ()
    ) -> dict[Any, list[Row]]:
        """What is remembered of one form of lookup."""
        return self._rows.setdefault(
            (selection.table.name, selection.columns, selection.has_spare, kind, where, values), {}
        )

    def _load(
        self,
        selection: ColumnChoice,
        kind: str,
        given: list[Any],
        known: dict[Any, list[Row]],
        where: str,
        values: tuple[object, ...],
    ) -> None:
        table = selection.table
        join = {"host": _BY_HOST, "digest": _BY_DIGEST}.get(kind, _BY_PARTED_NUMBER if table.is_parted else _BY_NUMBER)
        if kind == "n" and table.name == "content":
            join = _CONTENT_BY_NUMBER
        order = {"page": "ORDER BY round", "link": "ORDER BY round", "record": "ORDER BY id"}.get(table.name, "")
        key = f"given.wanted & {NUMBERS}" if kind == "n" else "given.wanted"
        array = "bytea[]" if kind == "digest" else "bigint[]"
        rows = self._reader.rows(
            f"SELECT {selection.sql()}, {key} FROM unnest(%s::{array}) AS given(wanted)"
            f" {join.format(source=table.source)} {f'WHERE {where}' if where else ''} {order}",
            [given, *values],
        )
        for row in rows:
            known[row[-1]].append(row)
        self.note(selection, rows)

    def _resolve(self, numbers: list[int]) -> list[int]:
        """Row numbers as the server has them; those that were met before are known, others are looked for."""
        book = self._server_numbers
        unknown = [number for number in numbers if number not in book and 0 < number <= NUMBERS]
        if unknown:
            tried = [one for number in unknown for one in candidates(number)]
            for (raw,) in self._reader.rows(_RESOLVE, [tried]):
                book[raw & NUMBERS] = raw
        return [book[number] for number in numbers if number in book]
