"""Virtual tables: SQLite reads the tables of a collection in PostgreSQL as if they stood in a crawl.db.

SQLite plans and runs each statement; a table that it opens is answered from the server in one of four ways: rows of a
key (`server_tables.py`), rows of an index, the rows of a range of row numbers in their order, window by window, or all
rows. Conditions that mean the same on both sides are sent along; SQLite checks every row again, so a condition that is
not sent costs time and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from typing import Any

import apsw
from msgspec import Struct

from lycosa.errors import CollectionError
from lycosa.frontier.partitions import host_key
from lycosa.frontier.postgres.schema import NUMBERS
from lycosa.frontier.postgres.server_tables import (
    ESTIMATES,
    LAST_NUMBER,
    ROUND_BITS,
    ColumnChoice,
    KeyLookup,
    ServerColumn,
    ServerTable,
    server_tables,
)
from lycosa.frontier.postgres.snapshot_reader import Row, SnapshotReader, TimeIsUp
from lycosa.frontier.postgres.transfer import read_meta
from lycosa.frontier.sqlite import schema as sqlite_schema
from lycosa.urls import host_of, url_id

Pieces = Generator[list[Row], None, None]

_EQ, _GLOB = apsw.SQLITE_INDEX_CONSTRAINT_EQ, apsw.SQLITE_INDEX_CONSTRAINT_GLOB
_SIGNS = {
    apsw.SQLITE_INDEX_CONSTRAINT_EQ: "=",
    apsw.SQLITE_INDEX_CONSTRAINT_GT: ">",
    apsw.SQLITE_INDEX_CONSTRAINT_GE: ">=",
    apsw.SQLITE_INDEX_CONSTRAINT_LT: "<",
    apsw.SQLITE_INDEX_CONSTRAINT_LE: "<=",
}
_NULLS = {
    apsw.SQLITE_INDEX_CONSTRAINT_ISNULL: "IS NULL",
    apsw.SQLITE_INDEX_CONSTRAINT_ISNOTNULL: "IS NOT NULL",
}

#: Tables with one row for each key.
_ONE_ROW = frozenset({"url", "host", "lastmod", "wish"})
#: A window of row numbers begins with so many, and never spans more than this share of the table.
_WINDOW, _WINDOW_MAX = 256, 65_536
_WANTED_ROWS, _WANTED_BYTES = 2_000, 4 << 20
_HEAVY_FIRST = 64
_FEW = 2000  # rows of an index that come in one answer

#: Costs as SQLite's planner compares them: one for a row that comes with others.
_LOOKUP_COST, _INDEX_ROW_COST, _STATEMENT_COST = 1.5, 4.0, 60.0
#: By table, the columns whose values name one row, how it is read by them, and what that costs.
_ROW_KEYS: dict[str, tuple[tuple[set[str], str, float], ...]] = {
    "host": (({"host"}, "host", _LOOKUP_COST), ({"name"}, "name", _STATEMENT_COST)),
    "content": (({"digest"}, "digest", _LOOKUP_COST),),
    "holder": (({"digest"}, "digest", _LOOKUP_COST),),
    "known": (({"host", "id"}, "index", _STATEMENT_COST),),
    "url": (({"host", "id"}, "index", _STATEMENT_COST), ({"url"}, "url", _STATEMENT_COST)),
}


class SentCondition(Struct, frozen=True):
    """A condition of a statement that a table is given: its column, its operator."""

    column: int
    operator: int
    has_set: bool = False  # IN


class ReadPlan(Struct, frozen=True):
    """How a table is read for one place of a statement."""

    way: str  # number, host, name, digest, url, index, windows, scan
    columns: tuple[int, ...]
    conditions: tuple[SentCondition, ...]
    is_descending: bool = False
    has_spare: bool = False  # the last column is SQLite's row number, which the statement does not name


class VirtualTables:
    """The module of virtual tables over one reader; SQLite makes a table of each name from it."""

    def __init__(self, reader: SnapshotReader) -> None:
        self.reader = reader
        self.lookup = KeyLookup(reader)
        self._estimates: dict[str, int] = {}
        self._last: list[int] = []
        reader.on_end.append(self._last.clear)

    def Create(self, _connection: apsw.Connection, _module: str, _schema: str, name: str, *_: Any) -> tuple[str, Any]:
        table = server_tables()[name]
        return table.declaration, VirtualTable(self, table)

    Connect = Create

    def estimate(self, name: str) -> int:
        """About how many rows a table has."""
        if not self._estimates:
            self.reader.enter()
            try:
                self._estimates = {str(one): int(count) for one, count in self.reader.rows(ESTIMATES)}
            finally:
                self.reader.leave()
        name = {"known": "url", "holder": "content"}.get(name, name)
        return max(100, self._estimates.get(name, 100))

    def last_number(self) -> int:
        """No row number is higher."""
        if not self._last:
            self._last.append(int(self.reader.rows(LAST_NUMBER)[0][0]))
        return self._last[0]


class VirtualTable:
    """One table."""

    def __init__(self, tables: VirtualTables, table: ServerTable) -> None:
        self.tables = tables
        self.table = table
        self.plans: list[ReadPlan] = []
        self._numbered: dict[ReadPlan, int] = {}

    def Open(self) -> VirtualCursor:
        return VirtualCursor(self)

    def Disconnect(self) -> None:
        """Nothing is held."""

    Destroy = Disconnect

    def BestIndexObject(self, info: apsw.IndexInfo) -> bool:
        given = [
            (at, SentCondition(self._column(info, at), info.get_aConstraint_op(at), info.get_aConstraintUsage_in(at)))
            for at in range(info.nConstraint)
            if info.get_aConstraint_usable(at) and self._is_sent(info, at)
        ]
        conditions = tuple(condition for _, condition in given)
        for position, (at, condition) in enumerate(given, 1):
            info.set_aConstraintUsage_argvIndex(at, position)
            if condition.has_set:
                info.set_aConstraintUsage_in(at, True)
        way, cost, rows = self._choose(conditions)
        descending = self._takes_order(info, way)
        if way == "scan" and (descending is not None or self._has_span(conditions)):
            way = "windows"
        info.orderByConsumed = descending is not None
        info.estimatedCost, info.estimatedRows = cost, max(1, int(rows))
        if self.table.name in _ONE_ROW and way in ("number", "host") and not any(one.has_set for one in conditions):
            info.idxFlags = apsw.SQLITE_INDEX_SCAN_UNIQUE
        columns = tuple(sorted(at for at in info.colUsed if at < len(self.table.columns)))
        has_spare = self.table.rowid >= 0 and self.table.rowid not in columns
        if has_spare:
            columns = (*columns, self.table.rowid)
        info.idxNum = self._remember(ReadPlan(way, columns, conditions, bool(descending), has_spare))
        return True

    def _column(self, info: apsw.IndexInfo, at: int) -> int:
        column = info.get_aConstraint_iColumn(at)
        return self.table.rowid if column == -1 else column

    def _is_sent(self, info: apsw.IndexInfo, at: int) -> bool:
        operator = info.get_aConstraint_op(at)
        column = self._column(info, at)
        if column < 0:
            return False
        if operator == _GLOB:
            return self.table.name == "host" and self.table.columns[column].name == "name"
        if operator in _SIGNS and self.table.columns[column].kind == "TEXT":
            return info.get_aConstraint_collation(at) == "BINARY"
        return operator in _SIGNS or operator in _NULLS

    def _choose(self, conditions: tuple[SentCondition, ...]) -> tuple[str, float, float]:
        """The way to read, its cost and its rows."""
        table, count = self.table, float(self.tables.estimate(self.table.name))
        equal = {table.columns[one.column].name: one for one in conditions if one.operator == _EQ}
        if self._by_number(equal):
            return "number", _LOOKUP_COST, 1.0 if table.name in ("url", "content", "lastmod", "wish") else 2.0
        for names, way, cost in _ROW_KEYS.get(table.name, ()):
            if names <= equal.keys():
                return way, cost, 1.0
        if table.name == "host" and any(one.operator == _GLOB for one in conditions):
            return "name", _STATEMENT_COST + count, max(1.0, count / 50)
        share = math.prod(0.1 if one.operator in (_EQ, _GLOB) else 0.3 for one in conditions)
        if table.indexed and table.indexed[0] in equal:
            rows = self._rows_of_index(equal, count)
            return ("windows" if table.name == "visit" else "index"), _STATEMENT_COST + _INDEX_ROW_COST * rows, rows
        return "scan", _STATEMENT_COST + count * (0.2 + share), count * share

    def _by_number(self, equal: dict[str, SentCondition]) -> bool:
        keyed = {"link": "key", "content": "seq"}.get(self.table.name, "n")
        return self.table.number >= 0 and self.table.name != "known" and ("n" in equal or keyed in equal)

    def _rows_of_index(self, equal: dict[str, SentCondition], count: float) -> float:
        if self.table.name == "url":
            rows = count / self.tables.estimate("host")
            return rows / 4 if "state" in equal else rows
        return count / 10 if self.table.name in ("visit", "tally") else 1.0

    def _takes_order(self, info: apsw.IndexInfo, way: str) -> bool | None:
        """Whether rows come in the order that is wanted, the last first (True) or not; None: they do not."""
        if way != "scan" or not info.nOrderBy or not self._has_windows():
            return None
        names = [self._order_name(info, at) for at in range(info.nOrderBy)]
        directions = {info.get_aOrderBy_desc(at) for at in range(info.nOrderBy)}
        key = {"link": ["key"], "page": ["n", "round"]}.get(self.table.name, ["n"])
        return directions.pop() if len(directions) == 1 and names == key[: len(names)] else None

    def _has_windows(self) -> bool:
        """Whether the rows of a range of row numbers lie together on the server."""
        return self.table.is_parted and self.table.name != "visit"

    def _has_span(self, conditions: tuple[SentCondition, ...]) -> bool:
        """Whether conditions bound the row numbers."""
        names = {self.table.columns[one.column].name for one in conditions if one.operator in _SIGNS}
        return self._has_windows() and bool({"n", "key"} & names)

    def _order_name(self, info: apsw.IndexInfo, at: int) -> str:
        column = info.get_aOrderBy_iColumn(at)
        return self.table.columns[self.table.rowid if column == -1 else column].name

    def _remember(self, plan: ReadPlan) -> int:
        number = self._numbered.get(plan)
        if number is None:
            number = self._numbered[plan] = len(self.plans)
            self.plans.append(plan)
        return number


def _without_last(rows: list[Row], begin: int, end: int, *, descending: bool) -> tuple[list[Row], int, int]:
    """Rows that a limit cut off without those of the last number, of which some may lack; and the window they fill."""
    last = rows[-1][-1]
    return [row for row in rows if row[-1] != last], *((last + 1, end) if descending else (begin, last - 1))


class VirtualCursor:
    """A table as one place of a statement reads it."""

    def __init__(self, owner: VirtualTable) -> None:
        self._owner = owner
        self._tables = owner.tables
        self._table = owner.table
        self._tables.reader.enter()
        self._rows: list[Row] = []
        self._at = 0
        self._pieces: Pieces | None = None
        self._places: dict[int, int] = {}
        self._plan: ReadPlan | None = None
        self._selection = ColumnChoice(self._table, ())
        self._known: dict[Any, list[Row]] | None = None  # rows by the one value that a lookup has

    def Close(self) -> None:
        self._stop()
        self._tables.reader.leave()

    def Filter(self, number: int, _name: str, values: tuple[Any, ...] | None) -> None:
        plan = self._owner.plans[number]
        self._at = 0
        self._stop()
        if plan is not self._plan:
            self._prepare(plan)
        elif self._known is not None and values:
            known = self._known.get(values[0])
            if known is not None:
                self._rows = known
                return
        found = _WAYS[plan.way](self, plan, values or ())
        if isinstance(found, list):
            self._rows = found
        else:
            self._pieces = found
            self._rows = next(found, [])

    def _stop(self) -> None:
        """Let go of rows that are not wanted any more, also where the server is gone."""
        if self._pieces is not None:
            with suppress(CollectionError, TimeIsUp):
                self._pieces.close()
            self._pieces = None

    def _prepare(self, plan: ReadPlan) -> None:
        self._plan = plan
        self._selection = ColumnChoice(self._table, plan.columns, plan.has_spare)
        self._places = {column: at for at, column in enumerate(plan.columns)}
        if self._table.rowid >= 0:
            self._places[-1] = self._places[self._table.rowid]
        names = [self._table.columns[one.column].name for one in plan.conditions]
        is_alone = len(names) == 1 and plan.conditions[0].operator == _EQ and not plan.conditions[0].has_set
        is_simple = is_alone and (plan.way, names[0]) in (("number", "n"), ("host", "host"), ("digest", "digest"))
        kind = names[0] if is_simple else ""
        self._known = self._tables.lookup.rows_of(self._selection, kind) if is_simple else None

    def Eof(self) -> bool:
        return self._at >= len(self._rows)

    def Next(self) -> None:
        self._at += 1
        if self._at >= len(self._rows) and self._pieces is not None:
            self._at = 0
            self._rows = next(self._pieces, [])

    def Column(self, number: int) -> Any:
        return self._rows[self._at][self._places[number]]

    def Rowid(self) -> int:
        return int(self.Column(-1))

    # How rows are found: a list, or pieces of rows as they are wanted.

    def _by_number(self, plan: ReadPlan, values: tuple[Any, ...]) -> list[Row] | Pieces:
        shift = {"key": ROUND_BITS, "seq": ROUND_BITS}
        for condition, value in zip(plan.conditions, values, strict=True):
            name = self._table.columns[condition.column].name
            if condition.operator != _EQ or name not in ("n", "key", "seq"):
                continue
            wanted = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else [value]
            if not all(isinstance(one, int) for one in wanted):
                return self._scan(plan, values)
            numbers = [one >> shift.get(name, 0) for one in wanted]
            if len(numbers) > 1:
                self._tables.lookup.note_numbers(numbers)
            where, sent = self._event_condition(plan, values)
            rows: list[Row] = []
            for number in sorted(set(numbers)):
                rows += self._tables.lookup.find(self._selection, "n", number, where, sent)
            return rows
        raise AssertionError

    def _event_condition(self, plan: ReadPlan, values: tuple[Any, ...]) -> tuple[str, tuple[object, ...]]:
        """What narrows the rows of one page in the table of visits, in the words of its indexes."""
        if self._table.name != "visit":
            return "", ()
        for condition, value in zip(plan.conditions, values, strict=True):
            name = self._table.columns[condition.column].name
            if condition.operator != _EQ:
                continue
            if name == "round" and isinstance(value, int):
                return "round = %s", (value,)
            if name == "event" and set(value if condition.has_set else [value]) <= {"gone", "back"}:
                return "event IN ('gone', 'back')", ()
        return "", ()

    def _by_key(self, plan: ReadPlan, values: tuple[Any, ...]) -> list[Row] | Pieces:
        kind = {int: "host", bytes: "digest"}
        for condition, value in zip(plan.conditions, values, strict=True):
            name = self._table.columns[condition.column].name
            if condition.operator == _EQ and name in ("host", "digest"):
                wanted = list(value) if condition.has_set else [value]
                if not all(kind.get(type(one)) == name for one in wanted):
                    return self._scan(plan, values)
                found: list[Row] = []
                for one in wanted:
                    found += self._tables.lookup.find(self._selection, name, one) if one != b"" else []
                return found
        raise AssertionError

    def _by_name(self, plan: ReadPlan, values: tuple[Any, ...]) -> list[Row] | Pieces:
        for condition, value in zip(plan.conditions, values, strict=True):
            if self._table.columns[condition.column].name != "name" or not isinstance(value, str):
                continue
            if condition.operator == _EQ or (condition.operator == _GLOB and not set("*?[") & set(value)):
                return self._tables.lookup.find(self._selection, "host", host_key(value))
        return self._scan(plan, values)

    def _by_url(self, plan: ReadPlan, values: tuple[Any, ...]) -> list[Row] | Pieces:
        for condition, value in zip(plan.conditions, values, strict=True):
            if self._table.columns[condition.column].name == "url" and condition.operator == _EQ:
                wanted = list(value) if condition.has_set else [value]
                if not all(isinstance(one, str) and _is_plain(one) for one in wanted):
                    return self._scan(plan, values)
                keys = [(host_key(host_of(one)), url_id(one)) for one in wanted]
                sql = f"""
                    SELECT {self._selection.sql()} FROM unnest(%s::bigint[], %s::bigint[]) AS given(at, ident)
                    JOIN url ON part = ((given.at >> 56) + 128)::smallint AND host = given.at AND id = given.ident"""
                rows = self._tables.reader.rows(sql, [[one for one, _ in keys], [one for _, one in keys]])
                self._tables.lookup.note(self._selection, rows)
                return rows
        raise AssertionError

    def _scan(self, plan: ReadPlan, values: tuple[Any, ...]) -> Pieces:
        """All rows that fulfil the conditions, as the server finds them."""
        if self._table.name == "meta":
            yield [tuple(row[at] for at in plan.columns) for row in _read_meta(self._tables.reader)]
            return
        where, sent = self._where(plan, values)
        if where is None:
            return
        host = self._host_of(plan, values)
        if self._table.name in ("url", "known", "tally") and host is not None:
            where.append(f"part = {(host >> 56) + 128}")
        sql = f"SELECT {self._selection.sql()} FROM {self._table.source} AS t{_condition(where)}"
        order = {"visit": "round, n", "record": "id", "round": "round"}.get(self._table.name)
        with closing(self._tables.reader.stream(f"{sql} ORDER BY {order}" if order else sql, sent)) as pieces:
            for rows in pieces:
                self._tables.lookup.note(self._selection, rows)
                yield rows

    def _by_index(self, plan: ReadPlan, values: tuple[Any, ...]) -> list[Row] | Pieces:
        """The rows of an index, at once where they are few."""
        where, sent = self._where(plan, values)
        host = self._host_of(plan, values)
        if where is None or host is None:
            return self._scan(plan, values)
        where.append(f"part = {(host >> 56) + 128}")
        sql = f"SELECT {self._selection.sql()} FROM {self._table.source}{_condition(where)} LIMIT {_FEW}"
        rows = self._tables.reader.rows(sql, sent)
        if len(rows) == _FEW:
            return self._scan(plan, values)
        self._tables.lookup.note(self._selection, rows)
        return rows

    def _host_of(self, plan: ReadPlan, values: tuple[Any, ...]) -> int | None:
        """The one host whose rows are wanted; None: there is none, or more."""
        for condition, value in zip(plan.conditions, values, strict=True):
            if self._table.columns[condition.column].name == "host" and condition.operator == _EQ:
                return value if isinstance(value, int) else None
        return None

    def _by_windows(self, plan: ReadPlan, values: tuple[Any, ...]) -> Pieces:
        """Rows in the order of their numbers: windows grow where there are few, and shrink where there are many."""
        low, high = self._span(plan, values)
        where, sent = self._where(plan, values)
        if where is None or low > high:
            return
        if low == high and self._table.name != "visit":
            rows = self._tables.lookup.find(self._selection, "n", low)
            yield rows[::-1] if plan.is_descending else rows
            return
        high = min(high, self._tables.last_number())
        estimate = self._tables.estimate
        widest = _WINDOW_MAX * max(1, estimate("url") // estimate(self._table.name))
        width, wanted = _WINDOW, _HEAVY_FIRST if self._selection.is_heavy else _WANTED_ROWS
        while low <= high:
            begin, end = (max(low, high - width + 1), high) if plan.is_descending else (low, min(high, low + width - 1))
            most = 4 * wanted if end > begin else 0
            rows = self._window(begin, end, most, where, sent, descending=plan.is_descending)
            if most and len(rows) == most:  # there are more
                rows, begin, end = _without_last(rows, begin, end, descending=plan.is_descending)
                width = max(1, (end - begin + 1) // 2) if rows else 1
            elif len(rows) < wanted // 2:
                width = min(4 * width, widest)
            if rows:
                if self._selection.is_heavy:
                    wanted = _rows_for_bytes(rows)
                self._tables.lookup.note(self._selection, rows)
                yield rows
            if begin <= end:
                low, high = (low, begin - 1) if plan.is_descending else (end + 1, high)

    def _window(
        self, low: int, high: int, most: int, where: list[str], sent: list[object], *, descending: bool
    ) -> list[Row]:
        limit = f" LIMIT {most}" if most else ""
        way = " DESC" if descending else ""
        order = f"ORDER BY n & {NUMBERS}{way}" + (f", round{way}" if self._table.name in ("page", "link") else "")
        span = "t.n BETWEEN (parts.part::bigint << 44) + %s AND (parts.part::bigint << 44) + %s"
        conditions = " AND ".join(("t.part = parts.part::smallint", span, *where))
        return self._tables.reader.rows(
            f"""SELECT {self._selection.sql()}, n & {NUMBERS} FROM generate_series(0, 255) AS parts(part)
                CROSS JOIN LATERAL (SELECT * FROM {self._table.name} AS t WHERE {conditions}) AS t {order}{limit}""",
            [low, high, *sent],
        )

    def _span(self, plan: ReadPlan, values: tuple[Any, ...]) -> tuple[int, int]:
        """The lowest and the highest row number that the conditions leave."""
        low, high = 1, NUMBERS
        for condition, value in zip(plan.conditions, values, strict=True):
            name = self._table.columns[condition.column].name
            if name not in ("n", "key") or not isinstance(value, (int, float)) or condition.operator not in _SIGNS:
                continue
            sign = _SIGNS[condition.operator]
            if value != value or abs(value) > 1 << 63:
                continue
            bottom, top = math.floor(value), math.ceil(value)
            if name == "key":
                bottom, top, sign = bottom >> ROUND_BITS, top >> ROUND_BITS, sign if "=" in sign else f"{sign}="
            if sign.startswith(">"):
                low = max(low, bottom + (sign == ">"))
            elif sign.startswith("<"):
                high = min(high, top - (sign == "<"))
        return low, high

    def _where(self, plan: ReadPlan, values: tuple[Any, ...]) -> tuple[list[str] | None, list[object]]:
        """The conditions that mean the same to the server, and what they compare with; None: no row fulfils them."""
        where: list[str] = []
        sent: list[object] = []
        for condition, value in zip(plan.conditions, values, strict=True):
            column = self._table.columns[condition.column]
            if condition.operator in _NULLS:
                where.append(f"({column.expression}) {_NULLS[condition.operator]}")
            elif value is None and condition.operator in _SIGNS:
                return None, []
            elif condition.operator in _SIGNS and not (plan.way == "windows" and column.name in ("n", "key")):
                wanted = list(value) if condition.has_set else [value]
                if all(_fits(column, one) for one in wanted):
                    text, compared = _compare(column, condition, value if not condition.has_set else wanted)
                    where.append(text)
                    sent.append(compared)
        return where, sent


_WAYS: dict[str, Callable[[VirtualCursor, ReadPlan, tuple[Any, ...]], list[Row] | Pieces]] = {
    "number": VirtualCursor._by_number,
    "host": VirtualCursor._by_key,
    "digest": VirtualCursor._by_key,
    "name": VirtualCursor._by_name,
    "url": VirtualCursor._by_url,
    "index": VirtualCursor._by_index,
    "windows": VirtualCursor._by_windows,
    "scan": VirtualCursor._scan,
}


def add_tables(connection: apsw.Connection, reader: SnapshotReader, *, but: frozenset[str] = frozenset()) -> None:
    """Give a connection the tables and views of a crawl.db, read from the server."""
    tables: Any = VirtualTables(reader)
    connection.create_module("lycosa_server", tables, use_bestindex_object=True, read_only=True)
    for name in server_tables():
        if name not in but:
            connection.execute(f"CREATE VIRTUAL TABLE {name} USING lycosa_server")
    connection.execute(sqlite_schema.VIEWS)


def _read_meta(reader: SnapshotReader) -> list[Row]:
    rows = reader.rows("SELECT key, value FROM meta ORDER BY key")
    facts = ((key, read_meta(key, value)) for key, value in rows if key != "schema")
    return sorted([("schema", sqlite_schema.VERSION), *facts])


def _condition(where: list[str]) -> str:
    return f" WHERE {' AND '.join(where)}" if where else ""


def _compare(column: ServerColumn, condition: SentCondition, value: object) -> tuple[str, object]:
    kind = {"INTEGER": "bigint", "REAL": "float8", "TEXT": "text", "BLOB": "bytea"}[column.kind]
    if condition.has_set:
        return f"({column.expression}) = ANY(%s::{kind}[])", value
    # Texts are in the order of their bytes, whatever the language of the database.
    collation = ' COLLATE "C"' if column.kind == "TEXT" and condition.operator != _EQ else ""
    return f"({column.expression}){collation} {_SIGNS[condition.operator]} %s::{kind}", value


def _fits(column: ServerColumn, value: object) -> bool:
    """Whether a value can be compared by the server as SQLite would."""
    if column.kind == "INTEGER":
        return isinstance(value, int)
    if column.kind == "REAL":
        return isinstance(value, (int, float))
    if column.kind == "TEXT":
        return isinstance(value, str) and _is_plain(value)
    return column.kind == "BLOB" and isinstance(value, bytes)


def _is_plain(text: str) -> bool:
    """Whether a text can be one of the server's."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _rows_for_bytes(rows: list[Row]) -> int:
    """How many rows like these to ask for, so that a piece stays small."""
    size = sum(len(value) for row in rows for value in row if isinstance(value, bytes))
    return max(16, min(_WANTED_ROWS, _WANTED_BYTES * len(rows) // max(size, 1)))
