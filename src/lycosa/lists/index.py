"""List index: `serve.db` beside the crawl's database, which holds nothing but what can be made from that one again.

Each list has items, sorted by each of its keys. Items with the same host and the same facets make a cell, which knows
how many they are: so any selection is counted without a look at its items. Cells of all hosts with the same facets make
a kind. `refresh` compares a stretch of items at a time, first by a checksum, and writes only what differs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from lycosa.collection.collection import Collection
from lycosa.collection.reading_source import mark_source
from lycosa.derived.store import Derived, open_derived, place_of, translated
from lycosa.lists.definition import LISTS, IndexedList

_CACHE_KIB = 16 * 1024
_PAUSE_S = 0.01  # after each stretch, for whoever waits for the disk


def _tables(one: IndexedList) -> str:
    facets = "".join(f"{name}, " for name in one.facets)
    keys = "".join(f", key_{name} {kind}" for name, kind in one.keys.items())
    return f"""
CREATE TABLE {one.name}_kind (id INTEGER PRIMARY KEY, {facets}count INTEGER DEFAULT 0, UNIQUE ({facets[:-2]}));
CREATE TABLE {one.name}_cell (id INTEGER PRIMARY KEY, host TEXT, kind INTEGER, count INTEGER DEFAULT 0);
CREATE INDEX {one.name}_cell_host ON {one.name}_cell (host, kind, count);
CREATE INDEX {one.name}_cell_kind ON {one.name}_cell (kind, host, count);
CREATE TABLE {one.name}_item (n INTEGER PRIMARY KEY, cell INTEGER, kind INTEGER{keys});
CREATE TABLE {one.name}_host (host TEXT PRIMARY KEY, count INTEGER) WITHOUT ROWID;
CREATE INDEX {one.name}_host_count ON {one.name}_host (count);
"""


def _indexes(one: IndexedList) -> dict[str, str]:
    """The indexes of the items; a new list gets them when it is full, which is much faster."""
    columns = {"cell": "cell", "kind": "kind", **{key: f"key_{key}" for key in one.keys}}
    return {f"{one.name}_by_{name}": f"{one.name}_item ({column})" for name, column in columns.items()}


_TABLES = f"""
CREATE TABLE stretch (list TEXT, nth INTEGER, checksum TEXT, PRIMARY KEY (list, nth)) WITHOUT ROWID;
CREATE TABLE inlink (target INTEGER, source INTEGER, PRIMARY KEY (target, source)) WITHOUT ROWID;
CREATE TABLE linked (n INTEGER PRIMARY KEY, key INTEGER);
CREATE TABLE host_edge (source TEXT, target TEXT, links INTEGER, pages INTEGER, PRIMARY KEY (source, target))
    WITHOUT ROWID;
CREATE INDEX host_edge_links ON host_edge (links);
CREATE INDEX host_edge_target ON host_edge (target);
{"".join(_tables(one) for one in LISTS.values())}
"""
#: Its version is raised when a table or a definition changes.
INDEX = Derived(name="serve.db", version=4, tables=_TABLES)


class ListIndex:
    """The index of one collection's lists, open for reading and writing."""

    def __init__(self, place: Path) -> None:
        self.path = place / INDEX.name
        self.db = open_derived(INDEX, place)
        self.db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")

    def close(self) -> None:
        self.db.close()

    def meta(self, key: str) -> Any:
        """A value of the whole index, or None."""
        return self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get

    def set_meta(self, **values: object) -> None:
        with translated(self.path), self.db:
            self.db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def refresh(self, collection: Collection, *, report: Callable[[float], None] = lambda share: None) -> int:
        """Bring every list up to date; `report` is told how much is done. Returns how many items changed."""
        began = time.time()
        self.db.execute(f"PRAGMA cache_size = -{8 * _CACHE_KIB}")
        mark = mark_source(collection.path)
        changed = 0
        for at, one in enumerate(LISTS.values()):
            for share, count in self._refresh(collection, one):
                changed += count
                report((at + share) / len(LISTS))
        self.set_meta(mark=mark, at=began, took=time.time() - began)
        return changed

    def is_current(self, folder: Path) -> bool:
        """Whether nothing was written to the collection since the last refresh."""
        return bool(self.meta("mark") == mark_source(folder))

    def _refresh(self, collection: Collection, one: IndexedList) -> Iterator[tuple[float, int]]:
        first, last = next(collection.rows(one.span))
        self._make_indexes(one, unless_empty=True)
        known: dict[str, dict[Any, int]] = {"kind": {}, "cell": {}}
        if first is None:
            last = first = 0
        for nth, begin, end in _stretches(first, last, one.stride):
            checksum = msgspec.json.encode(next(collection.rows(one.checksum, [begin, end]))).decode()
            sql = "SELECT checksum FROM stretch WHERE list = ? AND nth = ?"
            if self.db.execute(sql, (one.name, nth)).get != checksum:
                with translated(self.path), self.db:
                    count = self._compare(collection, one, begin, end, known)
                    self.db.execute("INSERT OR REPLACE INTO stretch VALUES (?, ?, ?)", (one.name, nth, checksum))
                time.sleep(_PAUSE_S)
                yield (end - first + 1) / (last - first + 1), count
        self._make_indexes(one)
        if one.stride:
            with translated(self.path), self.db:  # what a collection that was made anew does not have any more
                self._drop(one, "n < ? OR n > ?", (first, last))

    def _make_indexes(self, one: IndexedList, *, unless_empty: bool = False) -> None:
        if unless_empty and self.db.execute(f"SELECT 1 FROM {one.name}_item LIMIT 1").get is None:
            return
        for name, what in _indexes(one).items():
            with translated(self.path), self.db:
                self.db.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {what}")

    def _compare(
        self, collection: Collection, one: IndexedList, begin: int, end: int, known: dict[str, dict[Any, int]]
    ) -> int:
        """Write what differs in a stretch; within a transaction."""
        name, width = one.name, len(one.facets)
        held = {
            row[0]: row for row in self.db.execute(f"SELECT * FROM {name}_item WHERE n BETWEEN ? AND ?", (begin, end))
        }
        places = ", ".join("?" * (3 + len(one.keys)))
        moved: Counter[int] = Counter()
        fresh = []
        for n, host, *rest in collection.rows(one.rows, [begin, end]):
            facets = tuple(rest[:width])
            cell = self._cell(one, host if one.by_host else "", facets, known)
            row = (n, cell, known["kind"][facets], *rest[width:])
            before = held.pop(n, None)
            if before != row:
                fresh.append(row)
                moved[cell] += 1
                if before is not None:
                    moved[before[1]] -= 1
        self.db.executemany(f"INSERT OR REPLACE INTO {name}_item VALUES ({places})", fresh)
        for row in held.values():
            moved[row[1]] -= 1
        self.db.executemany(f"DELETE FROM {name}_item WHERE n = ?", ((n,) for n in held))
        self._count(one, moved)
        return len(fresh) + len(held)

    def _drop(self, one: IndexedList, where: str, values: tuple[int, ...]) -> None:
        sql = f"SELECT cell, -count(*) FROM {one.name}_item WHERE {where} GROUP BY cell"
        rows: list[Any] = self.db.execute(sql, values).fetchall()
        moved: Counter[int] = Counter(dict(rows))
        if moved:
            self.db.execute(f"DELETE FROM {one.name}_item WHERE {where}", values)
            self._count(one, moved)

    def _cell(self, one: IndexedList, host: str, facets: tuple[Any, ...], known: dict[str, dict[Any, int]]) -> int:
        """The number of a cell; a new one has one from now on."""
        kind = known["kind"].get(facets)
        if kind is None:
            where = " AND ".join(f"{facet} IS ?" for facet in one.facets)
            kind = self._number(f"{one.name}_kind", where, one.facets, facets)
            known["kind"][facets] = kind
        if (cell := known["cell"].get((host, kind))) is not None:
            return cell
        cell = self._number(f"{one.name}_cell", "host IS ? AND kind IS ?", ("host", "kind"), (host, kind))
        if len(known["cell"]) > 200_000:
            known["cell"].clear()
        known["cell"][host, kind] = cell
        return cell

    def _number(self, table: str, where: str, columns: tuple[str, ...], values: tuple[Any, ...]) -> int:
        found = self.db.execute(f"SELECT id FROM {table} WHERE {where}", values).get
        if found is None:
            places = ", ".join("?" * len(values))
            self.db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", values)
            found = self.db.last_insert_rowid()
        return int(found)

    def _count(self, one: IndexedList, moved: Counter[int]) -> None:
        """Add up what went into cells and out of them."""
        kinds: Counter[int] = Counter()
        hosts: Counter[str] = Counter()
        changes = {cell: count for cell, count in moved.items() if count}
        for cell, count in changes.items():
            host, kind = self.db.execute(f"SELECT host, kind FROM {one.name}_cell WHERE id = ?", (cell,)).get
            kinds[kind] += count
            hosts[host] += count
        for table, counts in (("cell", changes), ("kind", kinds)):
            sql = f"UPDATE {one.name}_{table} SET count = count + ? WHERE id = ?"
            self.db.executemany(sql, ((count, number) for number, count in counts.items()))
        sql = f"INSERT INTO {one.name}_host VALUES (?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count"
        self.db.executemany(sql, hosts.items())


def _stretches(first: int, last: int, stride: int) -> Iterator[tuple[int, int, int]]:
    """The spans of numbers that are compared at a time; they begin at the same numbers each time."""
    if not stride:
        yield 0, first, last
        return
    for nth in range(first // stride, last // stride + 1):
        yield nth, nth * stride, (nth + 1) * stride - 1


def index_folder(folder: Path) -> Path:
    """Where the index of a collection is: beside it, or for as long as the server runs where nothing can be written."""
    return place_of(INDEX, folder)


@contextmanager
def opened_index(place: Path) -> Iterator[ListIndex]:
    """The index in a folder (see `index_folder`), closed at the end."""
    index = ListIndex(place)
    try:
        yield index
    finally:
        index.close()
