"""List page: views of pages, URLs, hosts and records, with facets, columns and an order, all in the address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from starlette.responses import Response

from lycosa.lists.definition import LISTS, ListDefinition
from lycosa.lists.files import FILE_TYPES, send_file
from lycosa.lists.index import index_folder, opened_index
from lycosa.lists.indexed_query import ListQuery, read_choice
from lycosa.serve.indexing import IndexState
from lycosa.serve.page_request import NotFound, PageRequest, View, with_query
from lycosa.serve.translations import mark

#: What people read for the columns and facets.
LABELS = {
    "url": mark("Address"), "title": mark("Title"), "host": mark("Host"), "mime": mark("Type"), "size": mark("Size"),
    "language": mark("Language"), "kind": mark("Kind"), "status": mark("Status"), "charset": mark("Charset"),
    "fetched": mark("Fetched"), "last_modified": mark("Last modified"), "server_date": mark("Date of the server"),
    "digest": mark("Digest"), "warc": mark("Archive file"), "offset": mark("Offset"), "length": mark("Length"),
    "round": mark("Round"), "rendered": mark("Rendered"), "state": mark("State"), "reason": mark("Reason"),
    "http": mark("HTTP"), "depth": mark("Depth"), "score": mark("Score"), "via": mark("Found by"),
    "parent": mark("Found on"), "anchor": mark("Link text"), "original": mark("As written"),
    "retries": mark("Retries"), "redirect": mark("Redirects to"), "hops": mark("Hops"),
    "modified": mark("Last-Modified"), "etag": mark("ETag"), "interval_h": mark("Hours between visits"),
    "data": mark("Data"), "mission": mark("Mission"), "quarry": mark("Quarry"), "version": mark("Version of the rules"),
    "id": mark("Number"), "pages": mark("Pages"), "errors": mark("Errors in a row"),
    "delay": mark("Back-off in seconds"), "next": mark("Not before"), "condition": mark("Condition"),
}  # fmt: skip
TITLES = {"pages": mark("Pages"), "urls": mark("Addresses"), "hosts": mark("Hosts"), "records": mark("Records")}
_NUMBERS = {
    "size", "offset", "length", "http", "status", "depth", "score", "retries", "hops", "interval_h", "pages", "errors",
    "delay", "round", "id",
}  # fmt: skip


class ColumnHead(Struct, frozen=True):
    """A column as it is shown: how to sort by it, where that can be done."""

    name: str
    label: str
    is_number: bool
    sorted: str  # "ascending", "descending", or nothing
    sort: str  # address of the list sorted by it; empty: it cannot be


class ShownValue(Struct, frozen=True):
    """A value of a facet, with the address that chooses or drops it."""

    value: str
    count: int
    chosen: bool
    address: str


class ShownFacet(Struct, frozen=True):
    """A facet as it is shown."""

    name: str
    label: str
    values: list[ShownValue]
    more: bool
    exact: bool


class ListView(Struct, frozen=True):
    """A page of a list; `rows` have the order of `columns`."""

    list: str
    title: str
    total: int
    total_is_exact: bool
    whole: int
    columns: tuple[str, ...]
    rows: list[list[Any]]  # type: ignore[valid-type]
    heads: tuple[ColumnHead, ...]
    facets: tuple[ShownFacet, ...]
    q: str
    looked_at: int
    next: str
    next_page: str
    first_page: str  # empty: this is it
    files: dict[str, str]
    all_columns: tuple[tuple[str, str, bool], ...]  # name, label, whether it is shown
    kept: tuple[tuple[str, str], ...]  # what the forms of the page keep of the address
    index: IndexState


def show_pages(request: PageRequest) -> View | Response:
    """The stored pages."""
    return _show(request, LISTS["pages"])


def show_urls(request: PageRequest) -> View | Response:
    """Every URL ever found."""
    return _show(request, LISTS["urls"])


def show_hosts(request: PageRequest) -> View | Response:
    """The hosts."""
    return _show(request, LISTS["hosts"])


def show_records(request: PageRequest) -> View | Response:
    """What missions extracted."""
    return _show(request, LISTS["records"])


def download(request: PageRequest) -> Response:
    """A whole list as a file: /c/NAME/lists/pages.csv."""
    name, _, ending = request.path["file"].rpartition(".")
    if name not in LISTS or ending not in FILE_TYPES:
        kinds = ", ".join(f"{each}.{type_}" for each in LISTS for type_ in FILE_TYPES)
        raise NotFound(f"There is no file {request.path['file'][:100]}; there is {kinds}.")
    one = LISTS[name]
    request.server_state.indexing.prepare(request.folder).require()
    choice = read_choice(one, query_lists(request))
    return send_file(request.folder, one, choice, ending, name=f"{request.label.replace('/', '-')}-{name}")


def query_lists(request: PageRequest) -> dict[str, list[str]]:
    """The query of an address, each name with all its values."""
    found: dict[str, list[str]] = {}
    for name, value in request.query.multi_items():
        found.setdefault(name, []).append(value)
    return found


def _show(request: PageRequest, one: ListDefinition) -> View:
    query = query_lists(request)
    choice = read_choice(one, query)
    state = request.server_state.indexing.prepare(request.folder)
    state.require()
    with opened_index(index_folder(request.folder)) as index:
        page = ListQuery(index, one, choice).read(request.collection)
    place = quote(request.address, safe="/~")
    chosen = {name: value for name, value in query.items() if name != "after"}

    def address(**changed: object) -> str:
        return with_query(place, {**chosen, **changed})

    heads = tuple(_head(one, name, page.sort, address, request) for name in page.columns)
    facets = tuple(
        ShownFacet(
            facet.name,
            request.translate(LABELS[facet.name]),
            [
                ShownValue(
                    value.value,
                    value.count,
                    value.chosen,
                    address(**{facet.name: _toggle(chosen.get(facet.name, ()), value.value)}),
                )
                for value in facet.values
            ],
            facet.more,
            facet.exact,
        )
        for facet in page.facets
    )
    files = {
        ending: with_query(
            request.link(f"lists/{one.name}.{ending}"), {k: v for k, v in chosen.items() if k != "limit"}
        )
        for ending in FILE_TYPES
    }
    shown = ListView(
        list=one.name,
        title=request.translate(TITLES[one.name]),
        total=page.total,
        total_is_exact=page.total_is_exact,
        whole=page.whole,
        columns=page.columns,
        rows=page.rows,
        heads=heads,
        facets=facets,
        q=choice.words,
        looked_at=page.looked_at,
        next=page.next,
        next_page=address(after=page.next) if page.next else "",
        first_page=address() if choice.after else "",
        files=files,
        all_columns=tuple((name, request.translate(LABELS[name]), name in page.columns) for name in one.columns),
        kept=tuple((name, value) for name, values in chosen.items() for value in values),
        index=state,
    )
    return View("list.html", shown)


def _head(one: ListDefinition, name: str, sort: str, address: Any, request: PageRequest) -> ColumnHead:
    label = request.translate(LABELS[name])
    if name not in one.keys:
        return ColumnHead(name, label, name in _NUMBERS, "", "")
    now = "descending" if sort == f"-{name}" else "ascending" if sort == name else ""
    largest_first = one.keys[name] != "TEXT"
    onward = {"descending": name, "ascending": f"-{name}"}.get(now, f"-{name}" if largest_first else name)
    return ColumnHead(name, label, name in _NUMBERS, now, address(sort=onward))


def _toggle(values: Sequence[str], value: str) -> list[str] | None:
    """The values of a facet with one more, or one less."""
    rest = [each for each in values if each != value]
    return (rest if len(rest) < len(values) else [*rest, value]) or None
