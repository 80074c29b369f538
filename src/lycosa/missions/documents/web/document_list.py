"""The list of documents: a short row of each, facets, words, an order, page by page."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.missions.documents.catalogue import ShownCatalogue, kept_catalogue
from lycosa.missions.documents.decisions import permissions
from lycosa.missions.documents.model import DocumentDescription
from lycosa.missions.web_lists import CountedFacet, count_pages, rank_values, read_page
from lycosa.text.fold import fold_words
from lycosa.urls import host_of

PAGE_SIZE = 50
#: Catalogues whose rows are kept between two requests.
_KEPT = 4
FACETS = ("category", "language", "year", "permission", "format", "wanted", "host")
SORTS = ("title", "authors", "category", "language", "year", "confidence")
_NONE = "none"  # in an address: documents without a value


class DocumentRow(Struct, frozen=True):
    """A document in the list."""

    url: str
    title: str
    authors: tuple[str, ...]
    category: str
    subcategory: str
    language: str
    year: str
    format: str
    host: str
    wanted: str  # yes, no
    confidence: float
    has_address: bool
    problem: str
    permission: str = ""


class DocumentList(Struct, frozen=True):
    """A page of the list."""

    documents: tuple[DocumentRow, ...]
    total: int
    whole: int
    page: int
    pages: int
    facets: tuple[CountedFacet, ...]
    q: str
    sort: str
    is_current: bool


_rows: OrderedDict[str, tuple[DocumentRow, ...]] = OrderedDict()
_lock = threading.Lock()


def list_documents(
    collection: Collection, query: Mapping[str, Sequence[str]], *, at_once: int = PAGE_SIZE
) -> DocumentList:
    """The documents that the values of an address choose."""
    catalogue, is_current = kept_catalogue(collection)
    rows = _read_rows(collection, catalogue)
    states = permissions(collection.path)
    rows = tuple(_with_permission(row, states) for row in rows)
    chosen = {name: tuple(query.get(name, ())) for name in FACETS}
    words = (query.get("q") or ("",))[0][:200].strip()
    tests: dict[str, Callable[[DocumentRow], bool]] = {
        name: (lambda row, name=name, values=values: (getattr(row, name) or _NONE) in values)  # type: ignore[misc]
        for name, values in chosen.items()
        if values
    }
    if words:
        sought = fold_words(words).split()
        fitting = {row.url for row in rows if all(word in _words_of(row) for word in sought)}
        tests["q"] = lambda row: row.url in fitting
    fit = [row for row in rows if all(test(row) for test in tests.values())]
    sort = (query.get("sort") or ("",))[0]
    if sort:
        fit = _sort(fit, sort)
    pages = count_pages(len(fit), at_once)
    number = read_page(query, pages)
    return DocumentList(
        documents=tuple(fit[(number - 1) * at_once : number * at_once]),
        total=len(fit),
        whole=len(rows),
        page=number,
        pages=pages,
        facets=tuple(_count(rows, tests, chosen)),
        q=words,
        sort=sort,
        is_current=is_current,
    )


def _read_rows(collection: Collection, catalogue: ShownCatalogue) -> tuple[DocumentRow, ...]:
    """A short row of every document, kept until the catalogue or a correction changes."""
    key = f"{collection.path}\0{catalogue.state}"
    with _lock:
        if key in _rows:
            _rows.move_to_end(key)
            return _rows[key]
    made = tuple(_row(document) for document in catalogue.documents)
    with _lock:
        _rows[key] = made
        while len(_rows) > _KEPT:
            _rows.popitem(last=False)
    return made


def _row(document: DocumentDescription) -> DocumentRow:
    return DocumentRow(
        url=document.url,
        title=document.title.value[:500] if document.title else "",
        authors=tuple(author.name[:200] for author in document.authors[:50]),
        category=document.category,
        subcategory=document.subcategory,
        language=document.language.value if document.language else "",
        year=document.year,
        format=document.format,
        host=host_of(document.url),
        wanted="yes" if document.wanted else "no",
        confidence=document.confidence,
        has_address=any(author.addresses for author in document.authors),
        problem=document.problem[:300],
    )


@lru_cache(maxsize=50_000)
def _words_of(row: DocumentRow) -> str:
    return fold_words(f"{row.title} {' '.join(row.authors)} {row.url}")


def _with_permission(row: DocumentRow, states: Mapping[str, str]) -> DocumentRow:
    from msgspec.structs import replace

    return replace(row, permission=states[row.url]) if row.url in states else row


def _sort(rows: list[DocumentRow], sort: str) -> list[DocumentRow]:
    name = sort.removeprefix("-")
    if name not in SORTS:
        raise UsageError(f"sort is {sort[:40]!r}; allowed: {', '.join(SORTS)}, with - for the last first.")

    def key(row: DocumentRow) -> Any:
        value = getattr(row, name)
        return (
            value if isinstance(value, float) else fold_words("; ".join(value) if isinstance(value, tuple) else value)
        )

    return sorted(rows, key=key, reverse=sort.startswith("-"))


def _count(
    rows: Sequence[DocumentRow],
    tests: Mapping[str, Callable[[DocumentRow], bool]],
    chosen: Mapping[str, Sequence[str]],
) -> Iterator[CountedFacet]:
    """Each facet as counted among what the other filters leave."""
    for name in FACETS:
        others = [test for other, test in tests.items() if other != name]
        counts = Counter(getattr(row, name) or _NONE for row in rows if all(test(row) for test in others))
        if facet := rank_values(name, counts, chosen[name]):
            yield facet
