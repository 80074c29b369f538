"""Views of one thing: a page with all that is kept of it, a URL with its story, a host with its manners.

Of a stored page only the first bytes are read, as a few bytes of an archive may become very many.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, field
from starlette.responses import Response

from lycosa import urls
from lycosa.collection.collection import HOLDER, Collection, Page
from lycosa.collection.graph import InLink
from lycosa.content.page_content import read_page_content
from lycosa.errors import LycosaError, UsageError
from lycosa.explain.narrative import conclude
from lycosa.explain.why import Host, Why, explain
from lycosa.extract.quarry_loader import load_quarry
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite import schema
from lycosa.lists.definition import LISTS
from lycosa.lists.index import index_folder, opened_index
from lycosa.lists.indexed_query import IndexedQuery
from lycosa.lists.query import Choice, ListFacet, read_count
from lycosa.missions import registry
from lycosa.missions.api import RecordHistory
from lycosa.parse import Doc, charset, read
from lycosa.quarry import Quarry
from lycosa.serve.indexing import count_inlinks, list_inlinks
from lycosa.serve.list_page import LABELS
from lycosa.serve.page_request import NotFound, PageRequest, View
from lycosa.serve.translations import mark


def first_bytes(page: Page, most: int) -> bytes:
    """The first bytes of a page's content, not more than `most` of them."""
    found = bytearray()
    for piece in page.stream():
        found += piece
        if len(found) >= most:
            break
    return bytes(found[:most])


def decode_start(page: Page, most: int) -> str:
    """The text of the first bytes of a page."""
    return charset.decode(first_bytes(page, most), charset.resolve_label(page.charset) or "utf-8")


def read_start(page: Page, most: int) -> Doc:
    """The document that the first bytes of a page make."""
    return read(page.url, page.headers, first_bytes(page, most))


def read_markdown(page: Page, *, whole: bool = False) -> str:
    """A page as Markdown: its main content, or the `whole` of it."""
    doc = read_start(page, _BODY_BYTES)
    if not whole:
        return read_page_content(doc).markdown
    return doc.tree.to_markdown() if doc.tree is not None else doc.text


def send_markdown(request: PageRequest) -> Response:
    """A stored page as Markdown: ?url=…, with &whole=1 all of it, with &round=… an older copy."""
    url = asked_value(request, "url")
    page = request.collection.page(url, round=asked_round(request, "round"))
    if page is None:
        raise NotFound(f"There is no page {url[:500]} in this collection.")
    text = read_markdown(page, whole=request.query.get("whole", "") == "1")
    return Response(text.encode("utf-8", "replace"), media_type="text/markdown; charset=utf-8")


def find_problem(page: Page, most: int) -> str:
    """Why the first bytes of a page cannot be read; empty where they can."""
    stream = page.stream()
    for piece in stream:
        most -= len(piece)
        if most < 0:
            return ""
    return stream.problem


_SHOWN_LINKS = 200
_SHOWN_CONTEXTS = 20  # of links to a page, each of which is read for them
_SHOWN_RECORDS = 50
_SHOWN_COPIES = 200
_TEXT_CHARS = 100_000
_SOURCE_CHARS = 200_000
_DIFF_LINES = 1500  # of each of two copies
_LINE_CHARS = 300
_BODY_BYTES = 4 << 20  # of a page that is read for a view of it
_ROBOTS_CHARS = 50_000
_LAST_ROUND = (1 << 20) - 1

#: The parts of a page's view: the word in the address, and the name.
PARTS = {
    "facts": mark("Facts"),
    "archived": mark("Archived page"),
    "text": mark("Text"),
    "source": mark("Source"),
    "links": mark("Links"),
    "records": mark("Records"),
    "copies": mark("Copies"),
}


class PageCopy(Struct, frozen=True):
    """One copy of a page."""

    round: int
    fetched_at: float
    status: int
    mime: str
    size: int
    title: str
    digest: str
    changed: bool  # its content is not that of the copy before it


class PageRecord(Struct, frozen=True):
    """A record of a page."""

    id: int
    kind: str
    mission: str
    data: dict[str, Any]


class OutLink(Struct, frozen=True):
    """A link of a page."""

    url: str
    text: str
    accepted: bool
    context: str = ""


class PageView(Struct):
    """What is shown of a page; only the part that was asked for is filled."""

    url: str
    title: str
    part: str
    round: int
    host: str
    fetched_at: float
    facts: dict[str, Any]
    headers: dict[str, str]
    problem: str
    copies: list[PageCopy]
    compared_with: int = 0
    difference: list[tuple[str, str]] = []  # "+", "-", " " or "@", and the line
    difference_is_cut: bool = False
    text: str = ""
    is_cut: bool = False
    links: list[OutLink] = []
    link_count: int = 0
    inlinks: list[InLink] = []
    inlink_count: int | None = 0  # None: they are not all known yet
    records: list[PageRecord] = []
    history: list[RecordHistory] = []
    parts: dict[str, str] = field(default_factory=lambda: PARTS)


class UrlView(Struct):
    """The story of a URL."""

    asked: str
    conclusion: str
    why: Why | None
    has_page: bool
    inlinks: list[InLink]
    inlink_count: int | None  # None: they are not all known yet
    problem: str = ""


class RobotsFile(Struct, frozen=True):
    """A robots.txt as it was fetched."""

    origin: str
    fetched_at: float
    status: int
    text: str


class HostView(Struct):
    """What is known of a host."""

    name: str
    host: Host
    robots: list[RobotsFile]
    counters: list[tuple[str, int]]  # what the crawl counts of it: traps, parameters, pages by folder
    facets: list[ListFacet]
    total: int
    labels: dict[str, str]


def show_page(request: PageRequest) -> View:
    """A stored page: ?url=…, with &round=… an older copy, and &show=… one of the parts."""
    url = asked_value(request, "url")
    part = request.query.get("show", "facts")
    if part not in PARTS:
        raise UsageError(f"There is no part {part[:50]!r} of a page; there is {', '.join(PARTS)}.")
    number = asked_round(request, "round")
    collection = request.collection
    page = collection.page(url, round=number)
    if page is None:
        raise NotFound(f"There is no page {url[:500]} in this collection.")
    view = _describe(collection, page, part)
    if part in ("text", "source"):
        text = read_start(page, _BODY_BYTES).text if part == "text" else decode_start(page, _SOURCE_CHARS * 4)
        most = _TEXT_CHARS if part == "text" else _SOURCE_CHARS
        view.text, view.is_cut = text[:most], len(text) > most
    elif part == "links":
        links = page.links
        view.link_count = len(links)
        around = collection.contexts(page.url, [link[:2] for link in links[:_SHOWN_LINKS]])
        view.links = [OutLink(*link, context) for link, context in zip(links, around, strict=False)]
        view.inlink_count, view.inlinks = _find_inlinks(request, page.url)
    elif part == "records":
        view.records = list(_records(collection, view))
        view.history = list(registry.histories_of(collection, page.url))
    elif part == "copies":
        _compare(collection, page, view, asked_round(request, "with"))
    return View("page.html", view)


def asked_value(request: PageRequest, name: str) -> str:
    value = request.query.get(name, "").strip()
    if not value:
        raise UsageError(f"The address names no {name}: …?{name}=… is missing.")
    return value


def asked_round(request: PageRequest, name: str) -> int | None:
    value = request.query.get(name, "")
    return read_count(name, value, most=_LAST_ROUND) if value else None


_COPIES = """
    SELECT round, fetched_at, status, mime, size, title, lower(hex(digest)) FROM page
    WHERE n = (SELECT n FROM url WHERE n = ?) ORDER BY round DESC LIMIT ?"""


def _number(collection: Collection, url: str) -> int:
    row = next(collection.rows(schema.FIND_URL, [host_key(urls.host_of(url)), urls.url_id(url)]), (0,))
    return int(row[0])


def _describe(collection: Collection, page: Page, part: str) -> PageView:
    n = _number(collection, page.url)
    rows = list(collection.rows(_COPIES, [n, _SHOWN_COPIES + 1]))
    older = [*rows[1:], (None,) * 7]
    copies = [
        PageCopy(*row, row[6] != before[6])  # type: ignore[call-arg]  # as many as the statement gives
        for row, before in zip(rows, older, strict=True)
    ][:_SHOWN_COPIES]
    warc, offset, length = page.place
    facts = {
        "status": page.status, "mime": page.mime, "charset": page.charset, "language": page.language,
        "kind": page.kind, "size": page.size, "depth": page.depth, "duplicate": bool(page.duplicate),
        "rendered": bool(page.rendered), "etag": page.etag, "last_modified": page.last_modified,
        "server_date": page.server_date, "original": page.original, "warc": warc, "offset": offset, "length": length,
        "digest": next((copy.digest for copy in copies if copy.round == page.round), ""),
    }  # fmt: skip
    return PageView(
        url=page.url,
        title=page.title,
        part=part,
        round=page.round,
        host=urls.host_of(page.url),
        fetched_at=page.fetched.timestamp(),
        facts=facts,
        headers=page.headers if part == "facts" else {},
        problem=find_problem(page, _BODY_BYTES) if part != "facts" else "",
        copies=copies,
    )


def _records(collection: Collection, view: PageView) -> Iterator[PageRecord]:
    digest = bytes.fromhex(str(view.facts["digest"]))
    for n, round_ in collection.rows(f"SELECT content.n, content.round {HOLDER}", [digest]):
        sql = "SELECT id, kind, mission, json FROM record WHERE n = ? AND round = ? ORDER BY id LIMIT ?"
        for number, kind, mission, data in collection.rows(sql, [n, round_, _SHOWN_RECORDS]):
            try:
                yield PageRecord(number, kind, mission or "", msgspec.json.decode(data, type=dict[str, Any]))
            except msgspec.MsgspecError:
                yield PageRecord(number, kind, mission or "", {"": str(data)[:1000]})


def _compare(collection: Collection, page: Page, view: PageView, other: int | None) -> None:
    """Compare the text of two copies, line by line."""
    older = [copy.round for copy in view.copies if copy.round < view.round]
    if other is None and not older:
        return
    view.compared_with = other or older[0]
    before = collection.page(page.url, round=view.compared_with)
    if before is None:
        raise NotFound(f"There is no copy of the page in round {view.compared_with}.")
    left, right = (_lines(read_start(copy, _BODY_BYTES).text) for copy in (before, page))
    view.difference_is_cut = max(len(left), len(right)) > _DIFF_LINES
    matched = difflib.unified_diff(left[:_DIFF_LINES], right[:_DIFF_LINES], lineterm="", n=2)
    view.difference = [(line[:1], line[1:]) for line in list(matched)[2:]]


def _lines(text: str) -> list[str]:
    """Sentences of a text, each a line: what is written without line ends is compared as well."""
    parts = re.split(r"\n+|(?<=[.!?…]) +", text)
    return [part[at : at + _LINE_CHARS] for part in parts if part.strip() for at in range(0, len(part), _LINE_CHARS)]


def show_url(request: PageRequest) -> View:
    """The story of any URL: ?url=…"""
    asked = request.query.get("url", "").strip()
    collection = request.collection
    if not asked:
        return View("url.html", UrlView(asked, "", None, False, [], 0))
    try:
        why = explain(collection, asked[:20_000], quarry=_quarry(collection))
    except UsageError as problem:
        return View("url.html", UrlView(asked, "", None, False, [], 0, str(problem)), 400)
    count, found = _find_inlinks(request, why.url)
    has_page = why.fate is not None and why.fate.page is not None
    return View("url.html", UrlView(asked, conclude(why), why, has_page, found, count))


def _find_inlinks(request: PageRequest, url: str) -> tuple[int | None, list[InLink]]:
    """How many pages link to a URL, and some of them; None while the links are being indexed."""
    if not request.server_state.indexing.prepare(request.folder).has_links:
        return None, []
    with opened_index(index_folder(request.folder)) as index:
        found = list(list_inlinks(index, request.collection, url, limit=_SHOWN_LINKS))
        found[:_SHOWN_CONTEXTS] = request.collection.with_contexts(found[:_SHOWN_CONTEXTS], url)
        return count_inlinks(index, url), found


def _quarry(collection: Collection) -> Quarry | None:
    """The quarry, whose scores order the links; None where it does not matter or cannot be loaded."""
    mission = collection.mission
    if mission.order != "best" or not mission.hunted:
        return None
    try:
        return load_quarry(mission)
    except LycosaError:
        return None


def show_host(request: PageRequest) -> View:
    """A host: ?name=…"""
    name = asked_value(request, "name").lower()
    collection = request.collection
    if next(collection.rows("SELECT 1 FROM host WHERE host = ?", [host_key(name)]), None) is None:
        raise NotFound(f"The host {name[:300]} is not known: nothing of it was ever found.")
    host = explain(collection, f"https://{name}/").host
    robots = [
        RobotsFile(origin, at or 0.0, status or 0, bytes(body or b"")[:_ROBOTS_CHARS].decode("utf-8", "replace"))
        for scheme in ("https", "http")
        for origin, at, status, body in collection.rows(
            "SELECT origin, fetched_at, status, body FROM robots WHERE origin >= ?1 AND origin < ?1 || ';' LIMIT 10",
            [f"{scheme}://{name}"],
        )
        if re.fullmatch(re.escape(f"{scheme}://{name}") + r"(:\d+)?", origin)
    ]
    counters = list(
        collection.rows(
            "SELECT key, count FROM tally WHERE host = ? ORDER BY count DESC, key LIMIT 50", [host_key(name)]
        )
    )
    request.server_state.indexing.prepare(request.folder).require()
    with opened_index(index_folder(request.folder)) as index:
        page = IndexedQuery(index, LISTS["urls"], Choice(filters={"host": (name,)}, limit=1)).read(collection)
    facets = [facet for facet in page.facets if facet.name != "host"]
    labels = {facet.name: request.translate(LABELS[facet.name]) for facet in facets}
    return View("host.html", HostView(name, host, robots, counters, facets, page.total, labels))
