"""List page: every list of the core and of missions, with facets, columns and an order, all in the address.

`show_list` answers for `/c/NAME/pages` and for `/c/NAME/m/MISSION/services` alike: as a page, as JSON, or as a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct, structs
from starlette.responses import Response

from lycosa.collection.collection import Collection
from lycosa.lists.definition import LISTS, IndexedList, ListDefinition, TableList
from lycosa.lists.files import AT_ONCE, FILE_TYPES, send_rows
from lycosa.lists.query import Choice, ListFacet, ListPage, read_choice
from lycosa.missions.lists import opened_query
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
    "search": mark("Use: search"), "train": mark("Use: training"), "input": mark("Use: input for AI"),
    "mining": mark("Use: mining"), "archive": mark("Use: archiving"), "forbids": mark("Forbids"),
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


class Chip(Struct, frozen=True):
    """Something that narrows the list, and the address without it."""

    name: str  # of the facet or the condition; "q": words
    label: str
    value: str
    address: str


class ListView(Struct, frozen=True):
    """A page of a list; `rows` have the order of `columns`, `entries` are the same items with all that is known."""

    list: str
    title: str
    total: int
    total_is_exact: bool
    whole: int
    page: int
    pages: int
    columns: tuple[str, ...]
    rows: list[list[Any]]  # type: ignore[valid-type]
    entries: list[dict[str, Any]]  # type: ignore[valid-type]
    lead: ColumnHead | None  # of what stands before the columns
    heads: tuple[ColumnHead, ...]
    facets: tuple[ShownFacet, ...]
    chips: tuple[Chip, ...]
    q: str
    search: str
    sort: str
    looked_at: int
    next: str
    next_page: str
    previous_page: str
    first_page: str  # empty: this is it
    here: str  # the address of the whole list
    files: dict[str, str]
    all_columns: tuple[tuple[str, str, bool], ...]  # name, label, whether it is shown
    kept: tuple[tuple[str, str], ...]  # what the forms of the page keep of the address
    is_plain: bool  # nothing narrows it that the address asks for
    is_current: bool
    parts: str  # the template with the macros of its cells
    index: IndexState | None = None
    more: Mapping[str, Any] = {}  # what a mission shows beside it


def view_of(name: str) -> Callable[[PageRequest], View | Response]:
    """The view of a list of the core."""
    return lambda request: show_list(request, LISTS[name])


def download(request: PageRequest) -> Response:
    """A whole list of the core as a file: /c/NAME/lists/pages.csv."""
    name, _, ending = request.path["file"].rpartition(".")
    if name not in LISTS or ending not in FILE_TYPES:
        kinds = ", ".join(f"{each}.{type_}" for each in LISTS for type_ in FILE_TYPES)
        raise NotFound(f"There is no file {request.path['file'][:100]}; there is {kinds}.")
    request.file_type = ending
    found = show_list(request, LISTS[name])
    assert isinstance(found, Response)
    return found


def show_list(request: PageRequest, one: ListDefinition) -> View | Response:
    """A list as the address selects and sorts it."""
    query = _read_query(request)
    if isinstance(one, TableList) and one.read_former is not None:
        query = one.read_former(query)
    is_plain = not any(query.get(name) for name in (*one.filters, "q"))
    query = {**{name: values for name, values in one.unasked.items() if not any(query.get(name, ()))}, **query}
    choice = read_choice(one, query)
    state = request.server_state.indexing.prepare(request.folder) if isinstance(one, IndexedList) else None
    if state is not None:
        state.require()
    if request.file_type:
        return _send_file(request, one, choice)
    collection = request.collection if isinstance(one, IndexedList) else None
    with opened_query(request.folder, one, choice) as (found, is_current):
        if found is None:
            assert isinstance(one, TableList)
            return View(*one.absent)
        page = found.read(collection)
    more = one.more(request) if isinstance(one, TableList) and one.more is not None else {}
    shown = _make_view(
        request, one, choice, page, query, is_plain=is_plain, is_current=is_current, state=state, more=more
    )
    if not request.as_json:
        return View("list.html", shown)
    data = {name: value for name, value in structs.asdict(shown).items() if name not in ("entries", "more", "parts")}
    return View(
        "list.html",
        {**data, **more, **({one.items_name or one.name: page.entries} if isinstance(one, TableList) else {})},
    )


def count_items(folder: Path, one: TableList) -> int:
    """How many items a list has where nothing is chosen."""
    with opened_query(folder, one, read_choice(one, one.unasked)) as (found, _):
        return 0 if found is None else found.total()


def _send_file(request: PageRequest, one: ListDefinition, choice: Choice) -> Response:
    """The whole selection in its order."""
    folder = request.folder
    with opened_query(folder, one, choice) as (found, _):
        if found is None:
            raise NotFound("This page has no list that leaves as a file.")
        columns = found.columns_of_file()

    def rows() -> Iterator[list[Any]]:
        with Collection(folder) as collection, opened_query(folder, one, choice) as (found, _):
            if found is not None:
                yield from found.rows(collection, columns, at_a_time=AT_ONCE)

    return send_rows(rows(), columns, request.file_type, name=f"{request.label.replace('/', '-')}-{one.name}")


def _read_query(request: PageRequest) -> Mapping[str, Sequence[str]]:
    """The query of an address, each name with all its values."""
    found: dict[str, list[str]] = {}
    for name, value in request.query.multi_items():
        found.setdefault(name, []).append(value)
    return found


class _ListWords:
    """The words and the addresses of a list as it is shown."""

    def __init__(self, request: PageRequest, one: ListDefinition, query: Mapping[str, Sequence[str]]) -> None:
        self._request = request
        self._one = one
        self.place = quote(request.address, safe="/~")
        self.chosen = {name: value for name, value in query.items() if name not in ("after", "page")}

    def address(self, **changed: object) -> str:
        """The address of the first page of another selection."""
        return with_query(self.place, {**self.chosen, **changed})

    def label(self, name: str) -> str:
        """What people call a column or a facet."""
        return self._request.translate(self._one.labels.get(name) or LABELS.get(name, name))

    def facet(self, facet: ListFacet) -> ShownFacet:
        """A facet whose values lead to the selection with, or without, each of them."""
        chosen = self.chosen.get(facet.name, ())
        values = [
            ShownValue(each.value, each.count, each.chosen, self.address(**{facet.name: _toggle(chosen, each.value)}))
            for each in facet.values
        ]
        return ShownFacet(facet.name, self.label(facet.name), values, facet.more, facet.exact)

    def chips(self, facets: Iterable[ShownFacet], choice: Choice) -> Iterator[Chip]:
        """What was chosen, each with the address of the selection without it."""
        for facet in facets:
            yield from (Chip(facet.name, facet.label, one.value, one.address) for one in facet.values if one.chosen)
        conditions = self._one.conditions if isinstance(self._one, TableList) else {}
        for name, value in choice.conditions.items():
            label = self._request.translate(conditions[name].label)
            yield Chip(name, label, value, self.address(**{name: None}))
        if choice.words:
            yield Chip("q", self._request.translate(mark("Words")), choice.words, self.address(q=None))

    def kept(self) -> Iterator[tuple[str, str]]:
        """What was chosen elsewhere than in the form for words, which sends it along."""
        conditions = self._one.conditions if isinstance(self._one, TableList) else {}
        inputs = {"q", "columns", *(name for name, each in conditions.items() if each.is_input)}
        for name, values in self.chosen.items():
            if name not in inputs:
                yield from ((name, value) for value in values)


def _make_view(
    request: PageRequest,
    one: ListDefinition,
    choice: Choice,
    page: ListPage,
    query: Mapping[str, Sequence[str]],
    *,
    is_plain: bool,
    is_current: bool,
    state: IndexState | None,
    more: Mapping[str, Any],
) -> ListView:
    words = _ListWords(request, one, query)
    address, label, chosen = words.address, words.label, words.chosen
    facets = tuple(map(words.facet, page.facets))
    number = page.skipped // choice.limit + 1
    return ListView(
        list=one.name,
        title=request.translate(one.title or TITLES[one.name]),
        total=page.total,
        total_is_exact=page.total_is_exact,
        whole=page.whole,
        page=number,
        pages=max(1, -(-page.total // choice.limit)),
        columns=page.columns,
        rows=page.rows,
        entries=page.entries or [{} for _ in page.rows],
        lead=_head(one, one.lead, label(one.lead), page.sort, address) if one.lead not in ("", *page.columns) else None,
        heads=tuple(_head(one, name, label(name), page.sort, address) for name in page.columns),
        facets=facets,
        chips=tuple(words.chips(facets, choice)),
        q=choice.words,
        search=request.translate(one.search or (mark("Words in the address") if isinstance(one, IndexedList) else "")),
        sort=page.sort,
        looked_at=page.looked_at,
        next=page.next,
        next_page=address(after=page.next) if page.next else "",
        previous_page=address(page=number - 1) if number > 2 and isinstance(one, TableList) else "",
        first_page=address() if page.skipped or choice.after else "",
        here=words.place,
        files=_file_links(request, one, chosen),
        all_columns=tuple((name, label(name), name in page.columns) for name in page.all_columns if name != one.lead),
        kept=tuple(words.kept()),
        is_plain=is_plain and not choice.conditions,
        is_current=is_current,
        parts=one.template,
        index=state,
        more=more,
    )


def _file_links(request: PageRequest, one: ListDefinition, chosen: Mapping[str, object]) -> dict[str, str]:
    """The addresses of the whole selection as files."""
    query = {name: value for name, value in chosen.items() if name != "limit"}
    if isinstance(one, IndexedList):
        base = request.link(f"lists/{one.name}")
    else:
        base = quote(request.address + (one.name if request.address.endswith("/") else ""), safe="/~")
    return {ending: with_query(f"{base}.{ending}", query) for ending in FILE_TYPES}


def _head(one: ListDefinition, name: str, label: str, sort: str, address: Callable[..., str]) -> ColumnHead:
    is_number = name in _NUMBERS or name in one.numbers
    if name not in one.keys and (not one.is_open or name in one.columns):
        return ColumnHead(name, label, is_number, "", "")
    now = "descending" if sort == f"-{name}" else "ascending" if sort == name else ""
    largest_first = one.keys.get(name, "TEXT") != "TEXT"
    onward = {"descending": name, "ascending": f"-{name}"}.get(now, f"-{name}" if largest_first else name)
    return ColumnHead(name, label, is_number, now, address(sort=onward))


def _toggle(values: Sequence[str], value: str) -> list[str] | None:
    """The values of a facet with one more, or one less."""
    rest = [each for each in values if each != value]
    return (rest if len(rest) < len(values) else [*rest, value]) or None
