"""List definitions: what each list counts, sorts by and shows, as data; and those of what a crawl knows.

A list stands over the crawl's database, counted by the index beside it (`IndexedList`), or over a table of whatever
database a mission opens for it (`TableList`). Both have the same page, the same addresses and the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from lycosa.frontier.sqlite import schema
from lycosa.model import IS_PAGE, STATE_NAMES, USES

#: Links from a seed that are told apart when URLs are counted; what is deeper counts as this.
DEEPEST = 30
#: In an address: items that have no value.
NONE = "none"


class ListDefinition(Struct, frozen=True, kw_only=True):
    """One list, wherever it stands."""

    name: str  # of its files
    items_name: str = ""  # of its items in JSON; empty: the same
    columns: tuple[str, ...]
    shown: tuple[str, ...]  # of them, where the reader asks for no others
    lead: str = ""  # what stands before the columns on the page, and leads to the item; empty: nothing does
    facets: tuple[str, ...] = ()
    unasked: Mapping[str, tuple[str, ...]] = {}  # values of facets where the address has none of them
    keys: Mapping[str, str] = {}  # what can be sorted by, with its type in SQL
    sort: str = ""  # unasked: a key, "-key" for the largest first; empty: as found
    title: str = ""
    search: str = ""  # what its field for words is called; empty: it has none, or that of addresses
    template: str = "listing_parts.html"  # with the macros that draw its values, as `list.html` tells
    labels: Mapping[str, str] = {}  # of columns and facets that other lists do not have, or name otherwise
    numbers: frozenset[str] = frozenset()  # columns whose values stand at the right
    counted: tuple[str, str] = ("", "")  # how many there are, where that is told of a crawl: "{n} page", "{n} pages"
    page_size: int = 50
    is_open: bool = False  # its items have fields that no definition knows: they can be columns and keys

    @property
    def filters(self) -> tuple[str, ...]:
        """What a selection can be narrowed by, with how many items have each value."""
        return self.facets


class IndexedList(ListDefinition, frozen=True, kw_only=True):
    """A list of the crawl. `rows` gives, for a span of numbers, each item with its host, its facets and its keys."""

    rows: str
    span: str  # the first and last number
    checksum: str  # of the items of a span: changes when one of them does
    view: str  # of crawl.db, or a SELECT: what is shown of each item
    number: str  # the column of the view that holds the number
    by_host: bool = True  # its items belong to hosts
    stride: int = 20_000  # items that are compared at a time
    words: Mapping[str, Mapping[int, str]] = {}  # facets that are stored as numbers, with their names

    @property
    def filters(self) -> tuple[str, ...]:
        """The host, where items have one, and the facets."""
        return ("host", *self.facets) if self.by_host else self.facets


class ListCondition(Struct, frozen=True, kw_only=True):
    """A value of an address that narrows a list without being a facet."""

    label: str
    sql: str = "1"  # over the items; ? is the value
    otherwise: str = "1"  # what holds where the address has no such value
    is_input: bool = False  # the page has a field of its own for it


class OpenTable(Struct, frozen=True):
    """A database with the table of a list, open for reading."""

    db: apsw.Connection
    path: Path
    is_current: bool = True  # else it is being made anew, and this is its last state


class TableList(ListDefinition, frozen=True, kw_only=True):
    """A list over a table that a mission opens. It is counted in one look at all its items: some ten thousand."""

    #: Opens the table of a collection, which stands in a folder; None: there is none yet, and the page is `absent`, a
    #: template with its data.
    open: Callable[[Path], AbstractContextManager[OpenTable | None]]
    absent: tuple[str, Any] = ("", None)
    items: str  # the table, or a SELECT in parentheses; its column n is the number of an item, the others are `columns`
    expressions: Mapping[str, str] = {}  # facets and keys that are no columns of the items, in SQL
    many: Mapping[str, str] = {}  # facets of which an item may have several values: a SELECT of n and value
    wide: frozenset[str] = frozenset()  # facets of so many values that each is counted by itself, not with the others
    conditions: Mapping[str, ListCondition] = {}
    text: str = ""  # in SQL: where words are looked for
    json: frozenset[str] = frozenset()  # columns that hold JSON
    flags: frozenset[str] = frozenset()  # columns that hold 0 and 1 for no and yes
    query: Callable[..., Any] | None = None  # a class that extends `TableQuery`, and knows more of these items
    #: Reads the query of an address of an earlier version.
    read_former: Callable[[Mapping[str, Sequence[str]]], Mapping[str, Sequence[str]]] | None = None
    more: Callable[[Any], Mapping[str, Any]] | None = None  # what the page of a request shows beside the list


_ADDRESS = "host.name || ' ' || substr(url.url, 1, 300)"
STATES = {int(state): name for state, name in STATE_NAMES.items()}

URLS = IndexedList(
    name="urls",
    facets=("state", "reason", "http", "via", "depth"),
    keys={"url": "TEXT", "fetched": "REAL", "score": "REAL", "depth": "INTEGER"},
    rows=f"""
        SELECT url.n, host.name, url.state, coalesce(url.reason, ''), coalesce(url.http, 0), coalesce(url.via, ''),
               min(coalesce(url.depth, 0), {DEEPEST}), {_ADDRESS}, coalesce(url.fetched_at, 0),
               coalesce(url.score, 0), coalesce(url.depth, 0)
        FROM url JOIN host USING (host) WHERE url.n BETWEEN ? AND ?""",
    span="SELECT min(n), max(n) FROM url",
    checksum="""
        SELECT count(*), total((n % 1021 + 1) * (state * 8191 + coalesce(http, 0))), total(fetched_at), total(score),
               total(depth), total(length(reason))
        FROM url WHERE n BETWEEN ? AND ?""",
    view="urls",
    number="n",
    columns=(
        "url", "host", "state", "reason", "http", "depth", "score", "via", "parent", "anchor", "original", "fetched",
        "retries", "redirect", "hops", "round", "modified", "etag", "interval_h",
    ),
    shown=("url", "state", "reason", "http", "depth", "fetched"),
    words={"state": STATES},
)  # fmt: skip

#: For each use what holds for a page: a refusal outweighs all permissions.
_USE_FACETS = ", ".join(
    f"CASE WHEN {schema.FORBIDDEN} & {1 << at} THEN 'no' WHEN {schema.ALLOWED} & {1 << at} THEN 'yes' ELSE '' END"
    for at in range(len(USES))
)

PAGES = IndexedList(
    name="pages",
    facets=("mime", "language", "kind", "status", "round", *USES),
    keys={"url": "TEXT", "size": "INTEGER", "fetched": "REAL", "title": "TEXT"},
    rows=f"""
        WITH sets AS MATERIALIZED (SELECT * FROM wish_set)
        SELECT page.n, host.name, coalesce(page.mime, ''), coalesce(page.language, ''), coalesce(page.kind, ''),
               page.status, page.round, {_USE_FACETS}, {_ADDRESS}, coalesce(page.size, 0), coalesce(page.fetched_at, 0),
               substr(coalesce(page.title, ''), 1, 200)
        FROM page JOIN url USING (n) JOIN host USING (host) LEFT JOIN wish USING (n)
             LEFT JOIN sets AS site ON site.key = wish.site LEFT JOIN sets AS own ON own.key = wish.own
        WHERE page.n BETWEEN ? AND ? AND {IS_PAGE} AND {schema.NEWEST_COPY}""",
    span="SELECT min(n), max(n) FROM page",
    checksum="""
        SELECT count(*), total((n % 1021 + 1) * (round * 31 + size)), total(fetched_at), total(length(title)),
               (SELECT total(at + (n % 1021 + 1) * (site % 8191 + coalesce(own, 0) % 8179))
                FROM wish WHERE wish.n BETWEEN ?1 AND ?2)
        FROM page WHERE n BETWEEN ?1 AND ?2""",
    view="pages",
    number="n",
    columns=(
        "url", "title", "host", "mime", "size", "language", "kind", "status", "charset", "fetched", "last_modified",
        "server_date", "digest", "warc", "offset", "length", "round", "rendered", "forbids",
    ),
    shown=("title", "url", "mime", "size", "language", "fetched"),
    stride=50_000,
)  # fmt: skip

RECORDS = IndexedList(
    name="records",
    facets=("kind", "mission", "round"),
    keys={"url": "TEXT", "fetched": "REAL"},
    rows="""
        SELECT record.id, coalesce(host.name, ''), record.kind, coalesce(record.mission, ''), record.round,
               coalesce(host.name, '') || ' ' || substr(coalesce(url.url, guest.url, ''), 1, 300),
               coalesce(page.fetched_at, guest.fetched_at, 0)
        FROM record LEFT JOIN page USING (n, round) LEFT JOIN url USING (n) LEFT JOIN host USING (host)
             LEFT JOIN guest ON guest.id = -record.n
        WHERE record.id BETWEEN ? AND ? AND coalesce(url.digest = page.digest, 1)""",
    span="SELECT min(id), max(id) FROM record",
    checksum="SELECT count(*), total(id % 1021 * n), total(round), total(length(json)) FROM record"
    " WHERE id BETWEEN ? AND ?",
    view="records",
    number="id",
    columns=(
        "url", "kind", "data", "host", "mission", "quarry", "version", "fetched", "round", "digest", "warc", "offset",
        "id",
    ),
    shown=("kind", "data", "url", "fetched"),
)  # fmt: skip

HOSTS = IndexedList(
    name="hosts",
    facets=("condition",),
    keys={"host": "TEXT", "pages": "INTEGER", "errors": "INTEGER", "delay": "REAL"},
    rows="""
        SELECT host.host, host.name, iif(errors > 0, 'failing', iif(pages > 0, 'answering', 'without pages')),
               host.name, pages, errors, delay_s
        FROM host WHERE host.host BETWEEN ? AND ?""",
    span="SELECT min(host), max(host) FROM host",
    checksum="""
        SELECT count(*), total(pages), total(errors), total(delay_s), total(pages * (host % 1021)) FROM host
        WHERE host BETWEEN ? AND ?""",
    view="""(
        SELECT host.host AS number, host.name AS host, host.pages, host.errors, host.delay_s AS delay,
               datetime(nullif(host.next_at, 0), 'unixepoch') AS next
        FROM host)""",
    number="number",
    columns=("host", "pages", "errors", "delay", "next"),
    shown=("host", "pages", "errors", "delay"),
    by_host=False,
    stride=0,
)

LISTS = {each.name: each for each in (PAGES, URLS, HOSTS, RECORDS)}
