"""Parts of lists on missions' pages: the number of a page, and facets with how many items have each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from lycosa.errors import UsageError
from lycosa.missions.web import WebRequest, read_number, rows_at_once

FACET_VALUES = 15
_ROWS = 100


class ListPart(Struct, frozen=True):
    """The part of a list that one page shows."""

    page: int  # its number
    pages: int
    size: int  # rows on a page

    @property
    def offset(self) -> int:
        """How many rows come before it."""
        return (self.page - 1) * self.size


class CountedFacet(Struct, frozen=True):
    """A facet: its values with how many of the chosen items have each."""

    name: str
    values: tuple[tuple[str, int, bool], ...]  # value, how many, whether it is chosen
    more: bool


def count_pages(total: int, size: int) -> int:
    """How many pages a list has; an empty one has one."""
    return max(1, -(-total // size))


def find_part(request: WebRequest, total: int) -> ListPart:
    """The part that an address asks for, of a list of so many rows."""
    size = rows_at_once(request, _ROWS)
    pages = count_pages(total, size)
    return ListPart(min(read_number(request.query, "page", 1, least=1), pages), pages, size)


def read_page(query: Mapping[str, Sequence[str]], pages: int) -> int:
    """The number of the page in an address, between the first and the last."""
    text = (query.get("page") or ("1",))[0]
    if not text.isdecimal():
        raise UsageError(f"page is {text[:40]!r}; allowed: a number from 1 to {pages}.")
    return min(max(int(text[:9]), 1), pages)


def rank_values(name: str, counts: Mapping[str, int], chosen: Sequence[str]) -> CountedFacet | None:
    """A facet with its commonest values, the chosen ones first; None where there is nothing to choose."""
    every = {value[:200]: 0 for value in chosen} | dict(counts)
    ranked = sorted(every.items(), key=lambda pair: (pair[0] not in chosen, -pair[1], pair[0]))
    shown = tuple((value, count, value in chosen) for value, count in ranked[:FACET_VALUES])
    return CountedFacet(name, shown, len(ranked) > FACET_VALUES) if len(shown) > 1 or chosen else None
