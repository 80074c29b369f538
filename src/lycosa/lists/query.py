"""List query: what an address asks of a list goes in, one page of items with its facets comes out.

What is the same for all lists stands here: how an address is read, the cursor, the page. How items are counted and
found is told by `IndexedQuery` for the lists of a crawl and by `TableQuery` for those of missions.
"""

from __future__ import annotations

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.derived.store import translated
from lycosa.errors import UsageError
from lycosa.lists.definition import NONE, IndexedList, ListDefinition, TableList
from lycosa.text.fold import fold

SHOWN = 15  # values of a facet
MOST = 1000  # items of one page
_MAX_WORDS = 200
_MAX_COLUMNS = 100

Cursor = tuple[Any, int]


class Choice(Struct, frozen=True):
    """What a reader asks of a list; it stands in the address."""

    filters: Mapping[str, tuple[str, ...]] = {}  # facet, or "host": the values that fit
    words: str = ""  # that an item must contain
    sort: str = ""  # a key, "-key" for the largest first; empty: as found
    columns: tuple[str, ...] = ()
    after: str = ""  # cursor
    limit: int = 50
    page: int = 0  # its number, where the address has no cursor; 0: the first
    conditions: Mapping[str, str] = {}


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


class ListCounts(Struct, frozen=True):
    """How many items a selection has, and of how many."""

    total: int
    whole: int
    is_exact: bool = True


class FoundItems(Struct, frozen=True):
    """Numbers of items in their order; where the next ones begin."""

    numbers: list[int]
    following: Cursor | None = None
    looked_at: int = 0  # items passed over where the page is not full, and the search ended; 0: it did not
    skipped: int = 0  # items that stand before the first of them


class ListPage(Struct):
    """One page of a list."""

    columns: tuple[str, ...]
    all_columns: tuple[str, ...]
    rows: list[list[Any]]
    entries: list[dict[str, Any]]  # the same items with all that is known of them; empty where that is no more
    total: int  # of the selection
    total_is_exact: bool
    whole: int  # of the list
    facets: list[ListFacet]
    next: str  # cursor of the page after it; empty: this is the last
    looked_at: int
    sort: str
    skipped: int  # items of the selection before this page


def read_choice(one: ListDefinition, query: Mapping[str, Sequence[str]]) -> Choice:
    """Read what an address asks for; UsageError names what it may ask for."""
    named = one.conditions if isinstance(one, TableList) else {}
    return Choice(
        filters=dict(_read_filters(one, query)),
        words=_last(query, "q")[:_MAX_WORDS],
        sort=_read_sort(one, query),
        columns=_read_columns(one, query),
        after=_last(query, "after"),
        limit=read_count("limit", _last(query, "limit") or str(one.page_size), most=MOST),
        page=read_count("page", _last(query, "page") or "1", most=999_999_999),
        conditions={name: value[:2000] for name in named if (value := _last(query, name))},
    )


def _read_filters(one: ListDefinition, query: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for facet in one.filters:
        if values := tuple(value for value in query.get(facet, ()) if value.strip()):
            if len(values) > 50:
                raise UsageError(f"{facet} is given {len(values)} times; allowed: 50.")
            yield facet, tuple(dict.fromkeys(_stored(one, facet, value) for value in values))


def _read_sort(one: ListDefinition, query: Mapping[str, Sequence[str]]) -> str:
    sort = _last(query, "sort") or one.sort
    key = sort.removeprefix("-")
    if key not in ("", "found", *one.keys) and (not one.is_open or key.startswith("@") or len(key) > _MAX_WORDS):
        raise UsageError(f"The list cannot be sorted by {key[:50]!r}; allowed: found, {', '.join(one.keys)}.")
    return sort


def _read_columns(one: ListDefinition, query: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    columns = tuple(name for value in query.get("columns", ()) for name in value.split(",") if name)[:_MAX_COLUMNS]
    if not one.is_open and (unknown := [name for name in columns if name not in one.columns]):
        raise UsageError(f"The list has no column {unknown[0][:50]!r}; there is {', '.join(one.columns)}.")
    return tuple(dict.fromkeys(columns))


def read_count(name: str, text: str, *, most: int) -> int:
    """A number from 1 on of an address; UsageError names the bounds."""
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not 1 <= int(text) <= most:
        raise UsageError(f"{name} is {text[:50]!r}; allowed: 1 to {most:,}.")
    return int(text)


def _last(query: Mapping[str, Sequence[str]], name: str) -> str:
    return (query.get(name) or ("",))[-1].strip()


def _stored(one: ListDefinition, facet: str, value: str) -> str:
    """A value as the items hold it: words of states become numbers, "none" an empty one."""
    words = one.words.get(facet) if isinstance(one, IndexedList) else None
    if words is None:
        return "" if value == NONE else value
    numbers = {word: number for number, word in words.items()}
    if value not in numbers:
        raise UsageError(f"There is no {facet} {value[:50]!r}; there is {', '.join(numbers)}.")
    return str(numbers[value])


def add_folding(db: apsw.Connection) -> None:
    """Let SQL fold letters, of which its own `lower` knows those of ASCII alone."""
    db.create_scalar_function("fold", lambda *texts: fold(str(texts[0])), 1, deterministic=True)


def folded(text: str) -> str:
    """In SQL, a text in folded letters; our function, which costs a microsecond, is asked only where ASCII ends."""
    return f"iif(length({text}) = octet_length({text}), lower({text}), fold({text}))"


class ListQuery(ABC):
    """A selection of a list, and what can be asked of it."""

    def __init__(self, one: ListDefinition, choice: Choice, path: Path) -> None:
        self.choice = choice
        self.path = path  # of the database that is asked
        self._one = one
        self._descends = choice.sort.startswith("-")
        name = choice.sort.removeprefix("-")
        self._sorted_by = "" if name == "found" else name

    def read(self, collection: Collection | None = None) -> ListPage:
        """One page with its facets; lists of a crawl need its collection."""
        with translated(self.path):
            counts = self._count()
            found = self._find(counts.total, self._read_cursor(), self.choice.limit)
            facets = self._facets(counts.total)
            known = self._known_columns()
            columns = self._choose_columns(found.numbers, known)
            rows, entries = self._fetch(collection, found.numbers, columns)
        return ListPage(
            columns=columns,
            all_columns=known,
            rows=rows,
            entries=entries,
            total=counts.total,
            total_is_exact=counts.is_exact,
            whole=counts.whole,
            facets=facets,
            next=_encode_cursor(found.following, found.skipped + len(rows)) if found.following else "",
            looked_at=found.looked_at,
            sort=self.choice.sort,
            skipped=found.skipped,
        )

    def total(self) -> int:
        """How many items are chosen."""
        with translated(self.path):
            return self._count().total

    def columns_of_file(self) -> tuple[str, ...]:
        """The columns that were asked for, or all."""
        with translated(self.path):
            known = self._known_columns()
            return tuple(name for name in self.choice.columns if name in known) or known

    def rows(self, collection: Collection | None, columns: Sequence[str], *, at_a_time: int) -> Iterator[list[Any]]:
        """The rows of all items of the selection in their order."""
        for numbers in self.numbers(at_a_time=at_a_time):
            with translated(self.path):
                yield from self._fetch(collection, numbers, columns)[0]

    @abstractmethod
    def numbers(self, *, at_a_time: int = MOST) -> Iterator[list[int]]:
        """The numbers of all items of the selection in their order, some at a time."""

    @abstractmethod
    def _count(self) -> ListCounts:
        """How many items are chosen."""

    @abstractmethod
    def _find(self, total: int, after: tuple[Cursor, int] | None, limit: int) -> FoundItems:
        """The numbers of one page; the cursor comes with how many items stand before it."""

    @abstractmethod
    def _facets(self, total: int) -> list[ListFacet]:
        """The facets, each counted among what the other filters leave."""

    @abstractmethod
    def _fetch(
        self, collection: Collection | None, numbers: Sequence[int], columns: Sequence[str]
    ) -> tuple[list[list[Any]], list[dict[str, Any]]]:
        """What is shown of items, in the order of their numbers as given, and all that is known of each."""

    def _known_columns(self) -> tuple[str, ...]:
        return self._one.columns

    def _choose_columns(self, numbers: Sequence[int], known: Sequence[str]) -> tuple[str, ...]:
        return self.choice.columns or self._one.shown

    def _read_cursor(self) -> tuple[Cursor, int] | None:
        """Where the page begins, and how many items stand before it."""
        text = self.choice.after[:4000]
        if not text:
            return None
        try:
            data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            key, n, *skipped = msgspec.json.decode(data, type=list[str | int | float | None])
            if not isinstance(n, int) or not all(isinstance(each, int) and each >= 0 for each in skipped):
                raise ValueError(text)
        except (ValueError, binascii.Error, msgspec.MsgspecError):
            raise UsageError("The place in the list (after=…) is damaged: begin at the first page again.") from None
        return (key, n), int(skipped[0] or 0) if skipped else 0

    def _make_facet(
        self, facet: str, rows: Sequence[tuple[Any, int]], *, words: Mapping[int, str] | None = None, exact: bool = True
    ) -> ListFacet:
        """A facet of its most frequent values; the chosen ones are among them."""
        chosen = self.choice.filters.get(facet, ())
        counted = {"" if value is None else str(value): count for value, count in rows[:SHOWN]}
        values = []
        for value, count in (counted | {value: counted.get(value, 0) for value in chosen}).items():
            label = words.get(int(value), value) if words else value or NONE
            values.append(FacetValue(label, label, int(count), value in chosen))
        return ListFacet(facet, values, len(rows) > SHOWN, exact)


def _encode_cursor(cursor: Cursor, skipped: int) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((*cursor, skipped))).decode().rstrip("=")
