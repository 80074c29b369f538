"""List queries: a selection goes in, one page of items with the facets comes out, at a bounded cost.

A page is found in one of three ways. A selection of few items is sorted whole. One of few cells or kinds, in the
order of finding, is merged from them. Everything else is a walk along the index of the sort key that passes over what
does not fit: after `WALK` items it ends with the page as it is then, and the cursor leads on from there.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.collection.side_database import translated
from lycosa.errors import UsageError
from lycosa.lists.definition import ListDefinition
from lycosa.lists.index import ListIndex

SMALL = 20_000  # items of a selection that are sorted whole
WALK = 25_000  # items that a walk looks at
_MERGED = 400  # cells or kinds whose items are merged
_SHOWN = 15  # values of a facet
_MOST_CELLS = 400_000  # that are added up by host
_FEW_KINDS = 5  # a selection of fewer than one kind in so many is found by its kinds
PAGE = 50
MOST = 1000  # items of one page
_MAX_WORDS = 200

Cursor = tuple[Any, int]


class Choice(Struct, frozen=True):
    """What a reader asks of a list; it stands in the address."""

    filters: Mapping[str, tuple[str, ...]] = {}  # facet, or "host": the values that fit
    words: str = ""  # that the address must contain
    sort: str = ""  # a key, "-key" for the largest first; empty: as found
    columns: tuple[str, ...] = ()
    after: str = ""  # cursor
    limit: int = PAGE


class FacetValue(Struct, frozen=True):
    """A value of a facet, and how many items of the selection have it."""

    value: str
    label: str
    count: int
    chosen: bool


class ListFacet(Struct, frozen=True):
    """The values of a facet, the most frequent first."""

    name: str
    values: list[FacetValue]
    more: bool  # there are others
    exact: bool  # else the figures are those of what was looked at


class ListPage(Struct):
    """One page of a list."""

    columns: tuple[str, ...]
    rows: list[list[Any]]
    total: int  # of the selection
    total_is_exact: bool
    whole: int  # of the list
    facets: list[ListFacet]
    next: str  # cursor of the page after it; empty: this is the last
    looked_at: int  # items passed over where the page is not full, and the walk ended; 0: it did not
    sort: str


def read_choice(one: ListDefinition, query: Mapping[str, Sequence[str]]) -> Choice:
    """Read what an address asks for; UsageError names what it may ask for."""
    filters = {}
    for facet in one.filters:
        if values := tuple(value for value in query.get(facet, ()) if value is not None):
            if len(values) > 20:
                raise UsageError(f"{facet} is given {len(values)} times; allowed: 20.")
            filters[facet] = tuple(_stored(one, facet, value) for value in values)
    sort = _last(query, "sort")
    if sort.lstrip("-") not in ("", "found", *one.keys):
        raise UsageError(f"The list cannot be sorted by {sort[:50]!r}; allowed: found, {', '.join(one.keys)}.")
    columns = tuple(name for value in query.get("columns", ()) for name in value.split(",") if name)
    if unknown := [name for name in columns if name not in one.columns]:
        raise UsageError(f"The list has no column {unknown[0][:50]!r}; there is {', '.join(one.columns)}.")
    return Choice(
        filters=filters,
        words=_last(query, "q")[:_MAX_WORDS],
        sort=sort,
        columns=tuple(dict.fromkeys(columns)),
        after=_last(query, "after"),
        limit=read_count("limit", _last(query, "limit") or str(PAGE), most=MOST),
    )


def read_count(name: str, text: str, *, most: int) -> int:
    """A number from 1 on of an address; UsageError names the bounds."""
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not 1 <= int(text) <= most:
        raise UsageError(f"{name} is {text[:50]!r}; allowed: 1 to {most:,}.")
    return int(text)


def _last(query: Mapping[str, Sequence[str]], name: str) -> str:
    return (query.get(name) or ("",))[-1].strip()


def _stored(one: ListDefinition, facet: str, value: str) -> str:
    """A value as the index holds it: words of states become numbers."""
    words = one.words.get(facet)
    if words is None:
        return value
    numbers = {word: number for number, word in words.items()}
    if value not in numbers:
        raise UsageError(f"There is no {facet} {value[:50]!r}; there is {', '.join(numbers)}.")
    return str(numbers[value])


class ListQuery:
    """A selection of a list, and what can be asked of it."""

    def __init__(self, index: ListIndex, one: ListDefinition, choice: Choice) -> None:
        self.db = index.db
        self.db.create_scalar_function("casefold", _casefold, 1, deterministic=True)
        self.path = index.path
        self.one = one
        self.choice = choice
        key = choice.sort.removeprefix("-")
        self._descends = choice.sort.startswith("-")
        self._key = "n" if key in ("", "found") else f"key_{key}"
        self._where, self._values = self._condition(skip="")
        self._words = choice.words.casefold()

    def read(self, collection: Collection) -> ListPage:
        """One page with its facets."""
        one, choice = self.one, self.choice
        with translated(self.path):
            whole = int(self.db.execute(f"SELECT total(count) FROM {one.name}_kind").get)
            total = self._count()
            numbers, following, looked_at = self._page(total, _decode_cursor(choice.after), choice.limit)
            exact = not self._words
            facets = self._facets() if exact else self._sampled_facets(total)
        columns = choice.columns or one.shown
        rows = list(fetch_rows(collection, one, [n for n, _ in numbers], columns))
        return ListPage(
            columns=columns,
            rows=rows,
            total=total,
            total_is_exact=exact,
            whole=whole,
            facets=facets,
            next=_encode_cursor(following) if following else "",
            looked_at=looked_at,
            sort=choice.sort,
        )

    def numbers(self, *, at_a_time: int = MOST, most: int = 0) -> Iterator[list[int]]:
        """The numbers of all items of the selection in their order, some at a time; `most` ends it (0: all)."""
        cursor, given = _decode_cursor(self.choice.after), 0
        with translated(self.path):
            total = self._count()
            while True:
                found, following, _ = self._page(total, cursor, at_a_time)
                numbers = [n for n, _ in found]
                if most and given + len(numbers) >= most:
                    yield numbers[: most - given]
                    return
                given += len(numbers)
                if numbers:
                    yield numbers
                if following is None:
                    return
                cursor = following

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

    def _count(self) -> int:
        if not self.choice.filters:
            return int(self.db.execute(f"SELECT total(count) FROM {self.one.name}_kind").get)
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
        column = "key_url" if "url" in self.one.keys else "key_host"
        text = column if "title" not in self.one.keys else f"{column} || ' ' || key_title"
        words = self._words.split()
        fold = "lower" if self._words.isascii() else "casefold"
        return " AND ".join(f"instr({fold}({text}), ?)" for _ in words) or "1", tuple(words)

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

    def _facets(self) -> list[ListFacet]:
        """Facets from the cells, each without its own filter: exact, and without a look at the items."""
        return [self._facet(name) for name in self.one.filters]

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
        rows: list[Any] = self.db.execute(sql, (*values, _SHOWN + 1)).fetchall()
        return self._make_facet(facet, rows, exact=exact)

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
            self._make_facet(facet, counter.most_common(_SHOWN + 1), exact=total <= WALK)
            for facet, counter in facets.items()
        ]

    def _make_facet(self, facet: str, rows: Sequence[tuple[Any, int]], *, exact: bool) -> ListFacet:
        chosen = self.choice.filters.get(facet, ())
        words = self.one.words.get(facet, {})
        values = [
            FacetValue(words.get(value, str(value)), words.get(value, str(value)), int(count), str(value) in chosen)
            for value, count in rows[:_SHOWN]
        ]
        shown = {str(value) for value, _ in rows[:_SHOWN]}
        for value in chosen:
            if value not in shown:
                label = words.get(int(value), value) if words else value
                values.append(FacetValue(label, label, 0, True))
        return ListFacet(facet, values, len(rows) > _SHOWN, exact)


def _casefold(*texts: Any) -> str:
    """A function for SQLite, whose own `lower` knows the letters of ASCII alone."""
    return str(texts[0]).casefold()


def _cut(found: list[Any], limit: int) -> tuple[list[Any], Cursor | None, int]:
    if len(found) <= limit:
        return found, None, 0
    found = found[:limit]
    n, key = found[-1]
    return found, (key, n), 0


def fetch_rows(
    collection: Collection, one: ListDefinition, numbers: Sequence[int], columns: Sequence[str]
) -> Iterator[list[Any]]:
    """What is shown of items, in the order of their numbers as given; as the crawl's database has them now."""
    names = ", ".join(columns)
    places = ", ".join("?" * len(numbers))
    sql = f"SELECT {one.number}, {names} FROM {one.view} WHERE {one.number} IN ({places})"
    found = {row[0]: list(row[1:]) for row in collection.rows(sql, list(numbers))}
    return (found[n] for n in numbers if n in found)


def _encode_cursor(cursor: Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def _decode_cursor(text: str) -> Cursor | None:
    if not text:
        return None
    try:
        padded = text[:4000] + "=" * (-len(text[:4000]) % 4)
        key, n = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=tuple[str | int | float, int])
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise UsageError("The place in the list (after=…) is damaged: begin at the first page again.") from None
    return key, n
