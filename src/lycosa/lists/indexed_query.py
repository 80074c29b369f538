"""Queries of the lists of a crawl: a selection of its index is counted and found at a bounded cost.

A page is found in one of three ways. A selection of few items is sorted whole. One of few cells or kinds, in the
order of finding, is merged from them. Everything else is a walk along the index of the sort key that passes over what
does not fit: after `WALK` items it ends with the page as it is then, and the cursor leads on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Any

from lycosa.collection.collection import Collection
from lycosa.derived.store import translated
from lycosa.lists.definition import IndexedList
from lycosa.lists.index import ListIndex
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

SMALL = 20_000  # items of a selection that are sorted whole
WALK = 25_000  # items that a walk looks at
_MERGED = 400  # cells or kinds whose items are merged
_MOST_CELLS = 400_000  # that are added up by host
_FEW_KINDS = 5  # a selection of fewer than one kind in so many is found by its kinds


class IndexedQuery(ListQuery):
    """A selection of a list that the index counts."""

    def __init__(self, index: ListIndex, one: IndexedList, choice: Choice) -> None:
        super().__init__(one, choice, index.path)
        self.db = index.db
        add_folding(self.db)
        self.path = index.path
        self.one = one
        self._key = f"key_{self._sorted_by}" if self._sorted_by else "n"
        self._where, self._values = self._condition(skip="")
        self._words = fold(choice.words)

    def numbers(self, *, at_a_time: int = MOST) -> Iterator[list[int]]:
        """The numbers of all items of the selection in their order, some at a time."""
        cursor, _ = self._read_cursor() or (None, 0)
        with translated(self.path):
            total = self._count().total
            while True:
                found, cursor, _ = self._page(total, cursor, at_a_time)
                if found:
                    yield [n for n, _ in found]
                if cursor is None:
                    return

    def _count(self) -> ListCounts:
        whole = int(self.db.execute(f"SELECT total(count) FROM {self.one.name}_kind").get)
        return ListCounts(self._count_chosen() if self.choice.filters else whole, whole, not self._words)

    def _find(self, total: int, after: tuple[Cursor, int] | None, limit: int) -> FoundItems:
        cursor, skipped = after or (None, 0)
        found, following, looked_at = self._page(total, cursor, limit)
        return FoundItems([n for n, _ in found], following, looked_at, skipped)

    def _facets(self, total: int) -> list[ListFacet]:
        """Facets from the cells, each without its own filter: exact, and without a look at the items."""
        return self._sampled_facets(total) if self._words else [self._facet(name) for name in self.one.filters]

    def _fetch(
        self, collection: Collection | None, numbers: Sequence[int], columns: Sequence[str]
    ) -> tuple[list[list[Any]], list[dict[str, Any]]]:
        """What is shown of items, as the crawl's database has them now."""
        assert collection is not None
        one = self.one
        places = ", ".join("?" * len(numbers))
        sql = f"SELECT {one.number}, {', '.join(columns)} FROM {one.view} WHERE {one.number} IN ({places})"
        found = {row[0]: list(row[1:]) for row in collection.rows(sql, list(numbers))}
        return [found[n] for n in numbers if n in found], []

    # Selection

    def _condition(self, *, skip: str) -> tuple[str, list[Any]]:
        """The filters over a join of cells and kinds, without that of one facet."""
        parts, values = ["1"], list[Any]()
        for facet, wanted in self.choice.filters.items():
            if facet == skip:
                continue
            column = "cell.host" if facet == "host" else f"CAST(kind.{facet} AS TEXT)"
            parts.append(f"{column} IN ({', '.join('?' * len(wanted))})")
            values += wanted
        return " AND ".join(parts), values

    def _from(self) -> str:
        name = self.one.name
        if "host" in self.choice.filters:
            return f"{name}_cell AS cell CROSS JOIN {name}_kind AS kind ON kind.id = cell.kind"
        return f"{name}_kind AS kind CROSS JOIN {name}_cell AS cell ON cell.kind = kind.id"

    def _count_chosen(self) -> int:
        if "host" not in self.choice.filters:
            sql = f"SELECT total(count) FROM {self.one.name}_kind AS kind WHERE {self._where}"
        else:
            sql = f"SELECT total(cell.count) FROM {self._from()} WHERE {self._where}"
        return int(self.db.execute(sql, self._values).get)

    def _page(self, total: int, after: Cursor | None, limit: int) -> tuple[list[Any], Cursor | None, int]:
        """Numbers with their keys; the cursor of what follows; how much was looked at where it is not full."""
        if total == 0:
            return [], None, 0
        if self.choice.filters and total <= SMALL:
            return self._sort_whole(after, limit)
        if self.choice.filters and self._key == "n" and not self._words:
            groups = self._groups(_MERGED + 1)
            if len(groups) <= _MERGED:
                return self._merge_groups(groups, after, limit)
        return self._walk(after, limit)

    @property
    def _group(self) -> str:
        """What tells the items of the selection: their cells where a host is chosen, else their kinds."""
        return "cell" if "host" in self.choice.filters else "kind"

    def _chosen(self) -> str:
        """The numbers of the selection's cells or kinds."""
        if self._group == "kind":
            return f"SELECT id FROM {self.one.name}_kind AS kind WHERE {self._where} AND count > 0"
        return f"SELECT cell.id FROM {self._from()} WHERE {self._where} AND cell.count > 0"

    def _groups(self, limit: int) -> list[int]:
        return [row[0] for row in self.db.execute(f"{self._chosen()} LIMIT {limit}", self._values)]

    def _beyond(self, after: Cursor | None) -> tuple[str, tuple[Any, ...]]:
        """The condition for what follows a cursor."""
        if after is None:
            return "1", ()
        sign = "<" if self._descends else ">"
        if self._key == "n":
            return f"n {sign} ?", (after[1],)
        return f"({self._key}, n) {sign} (?, ?)", after

    @property
    def _order(self) -> str:
        way = " DESC" if self._descends else ""
        return f"{self._key}{way}" if self._key == "n" else f"{self._key}{way}, n{way}"

    def _fits_words(self) -> tuple[str, tuple[str, ...]]:
        """The condition for the words of the address; each list has a key that holds it."""
        if not self._words:
            return "1", ()
        address = "key_url" if "url" in self.one.keys else "key_host"
        fits = f"instr(lower({address}), ?)"
        if "title" in self.one.keys:
            fits = f"({fits} OR instr({folded('key_title')}, ?))"
        words = self._words.split()
        return " AND ".join(fits for _ in words) or "1", tuple(word for word in words for _ in range(fits.count("?")))

    def _sort_whole(self, after: Cursor | None, limit: int) -> tuple[list[Any], Cursor | None, int]:
        beyond, values = self._beyond(after)
        fits, words = self._fits_words()
        order = self._order.replace(self._key, f"+{self._key}", 1)  # by the cells, not by the index of the key
        sql = f"""
            SELECT n, {self._key} FROM {self.one.name}_item INDEXED BY {self.one.name}_by_{self._group}
            WHERE {self._group} IN ({self._chosen()}) AND {beyond} AND {fits} ORDER BY {order} LIMIT ?"""
        found = self.db.execute(sql, (*self._values, *values, *words, limit + 1)).fetchall()
        return _cut(found, limit)

    def _merge_groups(
        self, groups: Sequence[int], after: Cursor | None, limit: int
    ) -> tuple[list[Any], Cursor | None, int]:
        beyond, values = self._beyond(after)
        sql = (
            f"SELECT n, n FROM {self.one.name}_item WHERE {self._group} = ? AND {beyond} ORDER BY {self._order} LIMIT ?"
        )
        each = (self.db.execute(sql, (group, *values, limit + 1)).fetchall() for group in groups)
        return _cut(list(islice(merge(*each, reverse=self._descends), limit + 1)), limit)

    def _walk(self, after: Cursor | None, limit: int) -> tuple[list[Any], Cursor | None, int]:
        beyond, values = self._beyond(after)
        fits, words = self._fits_words()
        near, span = self._near_hosts()
        stretch = f"""
            FROM {self.one.name}_item WHERE {beyond} AND {near} ORDER BY {self._order} LIMIT {WALK}"""
        chosen = f"{self._group} IN ({self._chosen()})" if self.choice.filters else "1"
        sql = f"SELECT n, key FROM (SELECT *, {self._key} AS key {stretch}) WHERE {chosen} AND {fits} LIMIT ?"
        found = self.db.execute(sql, (*values, *span, *self._values, *words, limit + 1)).fetchall()
        if len(found) > limit:
            return _cut(found, limit)
        # The walk ended before the page was full: where, and is there more?
        sql = f"SELECT {self._key}, n {stretch.removesuffix(str(WALK))} 1 OFFSET {WALK - 1}"
        last: list[Any] = self.db.execute(sql, (*values, *span)).fetchall()
        return (found, last[0], WALK) if last else (found, None, 0)

    def _near_hosts(self) -> tuple[str, tuple[str, ...]]:
        """The part of the addresses that a selected host has, where they are sorted by address."""
        hosts = self.choice.filters.get("host", ())
        if self._key != "key_url" or len(hosts) != 1:
            return "1", ()
        return "key_url >= ? AND key_url < ?", (f"{hosts[0]} ", f"{hosts[0]}!")

    # Facets

    def _facet(self, facet: str) -> ListFacet:
        where, values = self._condition(skip=facet)
        others = set(self.choice.filters) - {facet}
        name, exact = self.one.name, True
        if facet == "host" and not others:
            sql = f"SELECT host, count FROM {name}_host WHERE count > 0 ORDER BY count DESC, host LIMIT ?"
        elif facet == "host":
            cells = f"SELECT host, count FROM {self._cells_of_kinds(where, values)} AND count > 0 LIMIT {_MOST_CELLS}"
            sql = f"SELECT host, sum(count) FROM ({cells}) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"
            exact = int(self.db.execute(f"SELECT max(id) FROM {name}_cell").get or 0) <= _MOST_CELLS
        elif "host" in others:
            sql = f"""SELECT kind.{facet}, sum(cell.count) FROM {self._from()} WHERE {where} AND cell.count > 0
                      GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"""
        else:
            sql = f"""SELECT {facet}, sum(count) FROM {name}_kind AS kind WHERE {where} AND count > 0
                      GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"""
        rows: list[Any] = self.db.execute(sql, (*values, SHOWN + 1)).fetchall()
        return self._make_facet(facet, rows, words=self.one.words.get(facet), exact=exact)

    def _cells_of_kinds(self, where: str, values: Sequence[Any]) -> str:
        """The cells of some kinds; where those are many, it is cheaper to pass all cells in the order of hosts."""
        name = self.one.name
        sql = f"SELECT total({where}), count(*) FROM {name}_kind AS kind"
        chosen, kinds = self.db.execute(sql, values).get
        index = f"{name}_cell_{'host' if chosen * _FEW_KINDS > kinds else 'kind'}"
        return f"{name}_cell INDEXED BY {index} WHERE kind IN (SELECT id FROM {name}_kind AS kind WHERE {where})"

    def _sampled_facets(self, total: int) -> list[ListFacet]:
        """Facets of the first items that fit words: nobody has counted those."""
        beyond, values = self._beyond(None)
        fits, words = self._fits_words()
        name = self.one.name
        if self.choice.filters and total <= SMALL:
            source = f"SELECT * FROM {name}_item WHERE {self._group} IN ({self._chosen()}) AND {beyond}"
            bound: tuple[Any, ...] = tuple(self._values)
        else:
            source, bound = f"SELECT * FROM {name}_item WHERE {beyond} LIMIT {WALK}", ()
        sql = f"SELECT cell, count(*) FROM ({source}) WHERE {fits} GROUP BY cell"
        rows: list[Any] = self.db.execute(sql, (*bound, *values, *words)).fetchall()
        counts: dict[int, int] = dict(rows)
        facets = {facet: Counter[Any]() for facet in self.one.filters}
        sql = f"""SELECT cell.host, {", ".join(f"kind.{facet}" for facet in self.one.facets)}
                  FROM {name}_cell AS cell JOIN {name}_kind AS kind ON kind.id = cell.kind WHERE cell.id = ?"""
        for cell, count in counts.items():
            host, *rest = self.db.execute(sql, (cell,)).fetchall()[0]
            for facet, value in (("host", host), *zip(self.one.facets, rest, strict=True)):
                if facet in facets:
                    facets[facet][value] += count
        return [
            self._make_facet(
                facet, counter.most_common(SHOWN + 1), words=self.one.words.get(facet), exact=total <= WALK
            )
            for facet, counter in facets.items()
        ]


def _cut(found: list[Any], limit: int) -> tuple[list[Any], Cursor | None, int]:
    if len(found) <= limit:
        return found, None, 0
    found = found[:limit]
    n, key = found[-1]
    return found, (key, n), 0
