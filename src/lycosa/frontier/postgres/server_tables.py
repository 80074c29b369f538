"""Table mapping: what to select in PostgreSQL for each column of a crawl.db, and what each table is keyed by.

Names, order and types of columns are those of the crawl.db, taken from its own schema.
"""

from __future__ import annotations

from functools import cache

import apsw
from msgspec import Struct

from lycosa.frontier.postgres.schema import NUMBER_BITS, NUMBERS, NUMBERS_AT_ONCE
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
_PARTED = frozenset({"url", "page", "link", "lastmod", "lowered", "visit"})
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
