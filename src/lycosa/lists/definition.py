"""List definitions: what each list of a collection counts, sorts by and shows, as data."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from lycosa.frontier.sqlite import schema
from lycosa.model import STATE_NAMES

#: Links from a seed that are told apart when URLs are counted; what is deeper counts as this.
DEEPEST = 30


class ListDefinition(Struct, frozen=True):
    """One list. `rows` gives the number of an item, its host, its facets and its sort keys, for a span of numbers."""

    name: str
    facets: tuple[str, ...]  # beside the host
    keys: Mapping[str, str]  # what can be sorted by, with its type in SQL
    rows: str
    span: str  # the first and last number
    checksum: str  # of the items of a span: changes when one of them does
    view: str  # of crawl.db, or a SELECT: what is shown of each item
    number: str  # the column of the view that holds the number
    columns: tuple[str, ...]  # of the view
    shown: tuple[str, ...]  # of them, where the reader asks for no others
    by_host: bool = True  # its items belong to hosts
    stride: int = 20_000  # items that are compared at a time
    words: Mapping[str, Mapping[int, str]] = {}  # facets that are stored as numbers, with their names

    @property
    def filters(self) -> tuple[str, ...]:
        """What a selection can be narrowed by: the host, where items have one, and the facets."""
        return ("host", *self.facets) if self.by_host else self.facets


_ADDRESS = "host.name || ' ' || substr(url.url, 1, 300)"
STATES = {int(state): name for state, name in STATE_NAMES.items()}

URLS = ListDefinition(
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

PAGES = ListDefinition(
    name="pages",
    facets=("mime", "language", "kind", "status", "round"),
    keys={"url": "TEXT", "size": "INTEGER", "fetched": "REAL", "title": "TEXT"},
    rows=f"""
        SELECT page.n, host.name, coalesce(page.mime, ''), coalesce(page.language, ''), coalesce(page.kind, ''),
               page.status, page.round, {_ADDRESS}, coalesce(page.size, 0), coalesce(page.fetched_at, 0),
               substr(coalesce(page.title, ''), 1, 200)
        FROM page JOIN url USING (n) JOIN host USING (host)
        WHERE page.n BETWEEN ? AND ? AND url.via IS NOT 'sitemap' AND {schema.NEWEST_COPY}""",
    span="SELECT min(n), max(n) FROM page",
    checksum="""
        SELECT count(*), total((n % 1021 + 1) * (round * 31 + size)), total(fetched_at), total(length(title))
        FROM page WHERE n BETWEEN ? AND ?""",
    view="pages",
    number="n",
    columns=(
        "url", "title", "host", "mime", "size", "language", "kind", "status", "charset", "fetched", "last_modified",
        "server_date", "digest", "warc", "offset", "length", "round", "rendered",
    ),
    shown=("title", "url", "mime", "size", "language", "fetched"),
    stride=50_000,
)  # fmt: skip

RECORDS = ListDefinition(
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

HOSTS = ListDefinition(
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
