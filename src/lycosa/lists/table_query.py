"""Queries of the lists of missions: a selection of a table is counted and found in one look at its items each.

Items with the same facets are counted together once (`counted`), and each facet is added up from that. A mission that
knows more of its items, as how many there are of each sort, says so in a class that extends `TableQuery`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import apsw
import msgspec

from lycosa.collection.collection import Collection
from lycosa.derived.store import KeptValues, translated
from lycosa.lists.definition import OpenTable, TableList
from lycosa.lists.query import (
    MOST,
    SHOWN,
    Choice,
    Cursor,
    FoundItems,
    ListCounts,
    ListFacet,
    ListQuery,
    add_folding,
    folded,
)
from lycosa.text.fold import fold

_MOST_WORDS = 10  # that are looked for

Bound = tuple[str, list[Any]]  # a condition in SQL, with its values


class TableQuery(ListQuery):
    """A selection of a list that stands over a table."""

    def __init__(self, table: OpenTable, one: TableList, choice: Choice) -> None:
        super().__init__(one, choice, table.path)
        self.db = table.db
        add_folding(self.db)
        self.one = one

    def numbers(self, *, at_a_time: int = MOST) -> Iterator[list[int]]:
        """The numbers of all items of the selection in their order, some at a time."""
        with translated(self.path):
            found = [n for n, _ in self._select(self._read_cursor(), limit=-1, skip=0)]
        for begin in range(0, len(found), at_a_time):
            yield found[begin : begin + at_a_time]

    # ListCounts

    def _count(self) -> ListCounts:
        self._make_counted()
        where, values = self._fit_facets("")
        total = int(self.db.execute(f"SELECT total(count) FROM counted WHERE {where}", values).get)
        is_narrow = self.choice.filters or self.choice.words or self.choice.conditions
        return ListCounts(total, self._count_whole() if is_narrow else total)

    def _count_whole(self) -> int:
        """How many items there are where nothing is chosen."""
        where = " AND ".join(each.otherwise for each in self.one.conditions.values()) or "1"
        return int(self.db.execute(f"SELECT count(*) FROM {self.one.items} AS item WHERE {where}").get)

    def _make_counted(self) -> None:
        """Make the table `counted`: sorts of items, and how many fit all that is no filter of a single value."""
        where, values = join_conditions(self._fit_words(), self._fit_conditions(), self._fit_many(""))
        columns = [f'{self._column(name)} AS "{name}"' for name in self._single]
        groups = f"GROUP BY {', '.join(str(nth) for nth, _ in enumerate(columns, 1))}" if columns else ""
        self.db.execute(
            f"""CREATE TEMP TABLE counted AS SELECT {", ".join([*columns, "count(*) AS count"])}
                FROM {self.one.items} AS item WHERE {where} {groups}""",
            values,
        )

    def _facets(self, total: int) -> list[ListFacet]:
        return [self._count_facet(name) for name in self.one.facets]

    def _count_facet(self, name: str) -> ListFacet:
        if name in self.one.many:
            where, values = self._fit_all(name)
            sql = f"""SELECT value, count(*) FROM ({self.one.many[name]}) AS part
                      WHERE part.n IN (SELECT item.n FROM {self.one.items} AS item WHERE {where})"""
        elif name in self.one.wide:
            where, values = self._fit_all(name)
            sql = f"SELECT {self._column(name)}, count(*) FROM {self.one.items} AS item WHERE {where}"
        else:
            where, values = self._fit_facets(name)
            sql = f'SELECT "{name}", sum(count) FROM counted WHERE {where} AND count > 0'
        order = "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"
        rows: list[Any] = self.db.execute(f"{sql} {order}", [*values, SHOWN + 1]).fetchall()
        return self._make_facet(name, rows)

    # Conditions

    @property
    def _single(self) -> list[str]:
        """The facets of which an item has one value, of not too many."""
        return [name for name in self.one.facets if name not in self.one.many and name not in self.one.wide]

    def _column(self, name: str) -> str:
        """A facet or a key of an item, in SQL."""
        return self.one.expressions.get(name, f'item."{name}"')

    def _fit_facets(self, skip: str) -> Bound:
        """The filters of single values over `counted`, without that of one facet."""
        chosen = {name: self.choice.filters[name] for name in self._single if name in self.choice.filters}
        return join_conditions(*(_fit(f'"{name}"', values) for name, values in chosen.items() if name != skip))

    def _fit_single(self) -> Bound:
        """The same over the items, with all of them."""
        chosen = {name: self.choice.filters[name] for name in self._single if name in self.choice.filters}
        return join_conditions(*(_fit(self._column(name), values) for name, values in chosen.items()))

    def _fit_all(self, skip: str) -> Bound:
        """All that is chosen, over the items, without the filter of one facet of several values."""
        return join_conditions(self._fit_single(), self._fit_words(), self._fit_conditions(), self._fit_many(skip))

    def _fit_many(self, skip: str) -> Bound:
        """The filters of facets that are not counted together, without that of one facet."""
        chosen = {name: self.choice.filters[name] for name in self.one.wide if name in self.choice.filters}
        parts = [_fit(self._column(name), values) for name, values in chosen.items() if name != skip]
        for name, relation in self.one.many.items():
            if name != skip and (wanted := self.choice.filters.get(name)):
                sql, values = _fit("part.value", wanted)
                parts.append((f"item.n IN (SELECT part.n FROM ({relation}) AS part WHERE {sql})", values))
        return join_conditions(*parts)

    def _fit_conditions(self) -> Bound:
        parts = []
        for name, condition in self.one.conditions.items():
            value = self.choice.conditions.get(name)
            sql = condition.otherwise if value is None else condition.sql
            parts.append((sql, [value] * sql.count("?")))
        return join_conditions(*parts)

    def _fit_words(self) -> Bound:
        """Every word stands somewhere in the text of an item."""
        if not self.one.text or not self.choice.words:
            return "1", []
        words = fold(self.choice.words).split()[:_MOST_WORDS]
        return join_conditions(*((f"instr({folded(self.one.text)}, ?)", [word]) for word in words))

    # Items

    def _find(self, total: int, after: tuple[Cursor, int] | None, limit: int) -> FoundItems:
        pages = max(1, -(-total // limit))
        skipped = after[1] if after else (min(max(self.choice.page, 1), pages) - 1) * limit
        found = self._select(after, limit=limit + 1, skip=0 if after else skipped)
        following = (found[limit - 1][1], found[limit - 1][0]) if len(found) > limit else None
        return FoundItems([n for n, _ in found[:limit]], following, skipped=skipped)

    def _select(self, after: tuple[Cursor, int] | None, *, limit: int, skip: int) -> list[tuple[int, Any]]:
        """Numbers with their keys, in the order that was asked for."""
        key = self._column(self._sorted_by) if self._sorted_by else "item.n"
        way, sign = ("DESC", "<") if self._descends else ("", ">")
        where, values = self._fit_all("")
        if after is not None:
            where, values = f"{where} AND ({key}, item.n) {sign} (?, ?)", [*values, *after[0]]
        sql = f"""SELECT item.n, {key} FROM {self.one.items} AS item WHERE {where}
                  ORDER BY {key} {way}, item.n {way} LIMIT ? OFFSET ?"""
        found: list[Any] = self.db.execute(sql, [*values, limit, skip]).fetchall()
        return found

    def _fetch(
        self, collection: Collection | None, numbers: Sequence[int], columns: Sequence[str]
    ) -> tuple[list[list[Any]], list[dict[str, Any]]]:
        entries = self._read_entries(numbers)
        return [[entry.get(name) for name in columns] for entry in entries], entries

    def _read_entries(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """All that is known of items, in the order of their numbers as given."""
        one = self.one
        names = ", ".join(f'item."{name}"' for name in one.columns)
        places = ", ".join("?" * len(numbers))
        sql = f"SELECT item.n, {names} FROM {one.items} AS item WHERE item.n IN ({places})"
        found = {}
        for n, *values in self.db.execute(sql, list(numbers)):
            entry = found[n] = dict(zip(one.columns, values, strict=True))
            for name in one.json:
                entry[name] = msgspec.json.decode(entry[name]) if entry[name] else None
            for name in one.flags:
                entry[name] = bool(entry[name])
        return [found[n] for n in numbers if n in found]


def join_conditions(*parts: Bound) -> Bound:
    return " AND ".join(sql for sql, _ in parts) or "1", [value for _, values in parts for value in values]


def _fit(column: str, values: Sequence[str]) -> Bound:
    """A column has one of these values, in which * stands for anything."""
    plain = [value for value in values if "*" not in value]
    wild = [value for value in values if "*" in value]
    parts = [f"CAST(coalesce({column}, '') AS TEXT) IN ({', '.join('?' * len(plain))})"] if plain else []
    return f"({' OR '.join([*parts, *[f'{column} GLOB ?'] * len(wild)])})", [*plain, *wild]


class KeptTable:
    """Rows that a mission makes of what it knows: tables in memory, of the last few collections, made again when their
    mark is another one.

    Every reader has a copy: it costs a thousandth of a second for ten thousand rows, and nobody waits for another.
    """

    def __init__(self, tables: str, *, most: int = 4) -> None:
        self._tables = tables
        self._kept = KeptValues[bytes](most)

    @contextmanager
    def opened(
        self, key: Hashable, mark: object, fill: Callable[[apsw.Connection], object]
    ) -> Iterator[apsw.Connection]:
        """The tables of a key at a mark, filled now if they are not kept."""

        def make() -> bytes:
            with closing(apsw.Connection(":memory:")) as database:
                with database:
                    database.execute(self._tables)
                    fill(database)
                return database.serialize("main")

        with closing(apsw.Connection(":memory:")) as database:
            database.deserialize("main", self._kept.get(key, mark, make))
            yield database
