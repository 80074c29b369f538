"""The collection as Python sees it: its pages, URLs and links; bytes are read from the archive only when asked for.

for page in Collection("collection"):
    print(page.url, page.title, len(page.body))
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from itertools import chain, groupby, repeat
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msgspec.structs import replace

from lycosa import urls
from lycosa.archive.reader import StoredAnswer, opened_record, read_record
from lycosa.collection import database, graph
from lycosa.collection.changes import PageChange, Round, copies_after, list_changes, list_rounds, resolve_span
from lycosa.collection.database import Row
from lycosa.collection.graph import InLink
from lycosa.collection.listing import state_name
from lycosa.collection.page_stream import PageStream
from lycosa.collection.query import select
from lycosa.collection.reading_source import folder_of
from lycosa.collection.records import RecordFilter, RecordInfo, list_records
from lycosa.config.loading import load
from lycosa.config.settings import Mission
from lycosa.disk import mark_file
from lycosa.errors import CollectionError, LycosaError, UsageError
from lycosa.fetch.decode import DecodedBody, decode
from lycosa.frontier import link_codec as links
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite import schema
from lycosa.model import IS_PAGE, REQUISITE, STATE_NAMES, ArchivePlace
from lycosa.output.plain import counted, fit_html
from lycosa.output.rows import Rows, html_table
from lycosa.output.table import Value
from lycosa.parse import Doc, read

if TYPE_CHECKING:
    import apsw

    from lycosa.content.page_content import MainContent


#: Bytes of one body in memory, as stored and after decompression; what is longer is cut, and `Page.problem` says so.
BODY_BYTES = 256 << 20

_PAGES = """
    SELECT page.n, page.round, page.warc, page.offset, page.length, page.digest, page.fetched_at,
           url.url, url.depth, iif(url.state IN (1, 2, 3), url.state, url.was) = 3,
           page.status, page.mime, page.charset, page.title, page.language, page.kind, page.size,
           page.etag, page.last_modified, page.server_date, page.rendered,
           coalesce(nullif(url.original, ''), url.url)
    FROM page JOIN url USING (n) WHERE """

#: The first page that brought a body.
HOLDER = f"FROM content JOIN page USING (n, round) WHERE content.seq = ({schema.FIND_CONTENT.format('?1')})"

_URLS = "SELECT url, state, reason, http, depth, score, fetched_at, redirect FROM url"


_CONTEXT_BYTES = 2_000_000  # of a page that is read for the contexts of its links


class PageLink(NamedTuple):
    """A link of a stored page."""

    url: str
    text: str
    accepted: bool  # whether the rules let the crawl follow it


class UrlInfo(NamedTuple):
    """What is known of a URL, whether it is stored or not."""

    url: str
    state: str  # a word of model.STATE_NAMES
    reason: str
    http: int
    depth: int
    score: float
    fetched: datetime | None
    redirect: str


@dataclass(eq=False, repr=False)
class Page:
    """A stored page: what the database says of it at once, what the archive holds when it is asked for."""

    _source: Collection
    _n: int
    _round: int
    _warc: str
    _offset: int
    _length: int
    _digest: bytes
    _fetched_at: float
    url: str
    depth: int  # links from a seed
    duplicate: int  # 1 if another page brought the same content before it
    status: int
    mime: str
    charset: str
    title: str
    language: str
    kind: str  # as a mission refined the type
    size: int  # bytes as received
    etag: str
    last_modified: str  # as the header gave it
    server_date: str
    rendered: int  # 1 if text and links are what its scripts made of it in a browser
    original: str  # the address as it was written, before it was normalised

    def __repr__(self) -> str:
        return f"<Page {self.url}>"

    def _repr_html_(self) -> str:
        """Title, address and facts, as notebooks show them."""
        facts = (self.url, self.title, self.status, self.mime, f"{self.fetched:%Y-%m-%d %H:%M}", self.round)
        return html_table(("url", "title", "status", "type", "fetched", "round"), [facts])

    @property
    def fetched(self) -> datetime:
        """When it was fetched, in UTC."""
        return datetime.fromtimestamp(self._fetched_at, UTC)

    @property
    def round(self) -> int:
        """The round that brought this copy."""
        return self._round

    @property
    def place(self) -> tuple[str, int, int]:
        """Where its record stands: archive file, offset, length."""
        return os.path.basename(self._warc), self._offset, self._length

    @property
    def digest(self) -> str:
        """The SHA-1 of its body, as hexadecimal digits."""
        return self._digest.hex()

    @property
    def holder(self) -> tuple[str, int, int] | None:
        """Where the record stands that holds its bytes, if that is another one."""
        place = self._source._holder_place(self._digest)
        return place if place not in (None, self.place) else None

    @property
    def headers(self) -> dict[str, str]:
        """The fields of the answer's header by lower-case name; repeated ones joined with a comma."""
        if "_record" in vars(self):
            return self._record.headers
        place = ArchivePlace(*self.place)  # its head alone: a small record may unpack to a large body
        with opened_record(self._source.archive / place.file, place.offset, length=place.length) as (record, _):
            return record.headers

    @property
    def body(self) -> bytes:
        """The content without its content coding, at most the first 256 MiB; empty where the archive does not hold it.

        Where that is not all of it, `problem` says so; `stream` gives content of any size.
        """
        return self._content.body

    @property
    def problem(self) -> str:
        """Why its bytes, or all of them, cannot be read; empty where they can."""
        holder = self._body_record
        if holder is None:
            return "no record holds its bytes"
        if holder.problem or holder.kind == "unreadable":
            return holder.problem or "damaged"
        return f"only the first {BODY_BYTES:,} bytes were read" if self._content.problem == "too-large" else ""

    def stream(self, *, name: str = "") -> PageStream:
        """The content in pieces, however long it is; for a file of this `name`, as `data.gz`, in the form it promises.

        Only what grows when it is decompressed has a bound: 256 MiB, or what the mission allows an answer.
        """
        return PageStream(
            self._source.archive,
            ArchivePlace(*self.place),
            find_holder=lambda: self._source._holder_place(self._digest),
            limit=self._source._decoded_bytes,
            name=name,
        )

    @cached_property
    def doc(self) -> Doc:
        """The page as the crawl read it: links as written, base, tree."""
        return read(self.url, self._record.headers, self.body)

    @property
    def text(self) -> str:
        """The text that a reader sees, without markup."""
        return self.doc.text

    @cached_property
    def content(self) -> MainContent:
        """What the page says, without what stands around it: kind, title, authors, date, and its blocks."""
        from lycosa.content.page_content import read_page_content

        return read_page_content(self.doc)

    @property
    def markdown(self) -> str:
        """Its main content as Markdown."""
        return self.content.markdown

    @cached_property
    def links(self) -> list[PageLink]:
        """The links of the page, resolved and normalised."""
        return self._source._links(self._n, self._round)

    def records(self, *, kind: str = "", quarry: str = "") -> Iterator[RecordInfo]:
        """What quarries extracted from this page's content, whichever page brought it first."""
        return self._source._records_of(self._digest, kind=kind, quarry=quarry)

    @cached_property
    def _record(self) -> StoredAnswer:
        return self._source._read(ArchivePlace(*self.place))

    @cached_property
    def _body_record(self) -> StoredAnswer | None:
        """The record that holds its bytes: they stand once, with the first page that had them."""
        return self._source._holder(self._digest) if self._record.kind == "revisit" else self._record

    @cached_property
    def _content(self) -> DecodedBody:
        holder = self._body_record or self._record
        # Each page says for itself how equal bytes are to be read; but "not modified" says nothing of them.
        speaker = holder if self._record.status == 304 else self._record
        return decode(holder.body_raw, speaker.headers.get("content-encoding", ""), limit=BODY_BYTES)


class Collection:
    """What a crawl left in a folder, or in a shared database (postgresql://HOST/DATABASE#NAME).

    Reading works while it is still running. Can be used with `with`.
    """

    def __init__(self, path: str | os.PathLike[str] = "collection") -> None:
        self.path = folder_of(path)
        self.archive = self.path / "archive"
        self._database = database.connect(self.path)
        self._closed = False

    def __iter__(self) -> Iterator[Page]:
        return self.pages()

    def __len__(self) -> int:
        """How many pages there are, those of equal content included."""
        return int(self._value(f"SELECT count(DISTINCT page.n) FROM page JOIN url USING (n) WHERE {IS_PAGE}"))

    def __contains__(self, url: object) -> bool:
        """Whether the page at this URL is stored."""
        return isinstance(url, str) and self.page(url) is not None

    def __repr__(self) -> str:
        return f"<Collection {self.path}>"

    def _repr_html_(self) -> str:
        """Its last rounds, as notebooks show them."""
        names = ("round", "started", "answers", "new", "changed", "unchanged", "gone", "back")
        rounds = [[getattr(each, name) for name in names] for each in self.rounds[-5:]]
        return f"<p>{fit_html(str(self.path))}: {counted(len(self), 'page')}</p>{html_table(names, rounds)}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; pages that were handed out can then no longer read their bytes."""
        self._closed = True
        self._database.close()

    @property
    def database(self) -> apsw.Connection:
        """The connection to its database, which can only read."""
        if self._closed:
            raise CollectionError(f"The collection {self.path} is closed: open it again with Collection(…).")
        return self._database

    def requisites(self, *, round: int | None = None) -> Iterator[Page]:
        """What the pages need to be shown, kept beside them: pictures, style sheets, scripts."""
        for row in self.rows(f"{_PAGES}{self._copies(round)} AND via = '{REQUISITE}' ORDER BY page.n"):
            yield Page(self, *row)

    def pages(self, *, host: str = "", mime: str = "", round: int | None = None) -> Iterator[Page]:
        """The stored pages in the order in which their URLs were found; of a host, of a type (`*`: anything).

        Each in its newest copy, also those that are gone since; with a `round`, as they were after it and without those
        that were gone then.
        """
        where = f"{self._copies(round)} AND {IS_PAGE}"
        values: list[Value] = []
        if host:
            where += " AND url.host IN (SELECT host FROM host WHERE name GLOB ?)"
            values.append(urls.host_pattern(host))
        if mime:
            where += " AND page.mime GLOB ?"
            values.append(mime.lower())
        for row in self.rows(f"{_PAGES}{where} ORDER BY page.n", values):
            yield Page(self, *row)

    def page(self, url: str, *, round: int | None = None) -> Page | None:
        """The stored page at this URL, or None: its newest copy, or the one that was there after a `round`."""
        row = self._find(f"{_PAGES}{self._copies(round)} AND", url)
        return Page(self, *row) if row else None

    def url(self, url: str) -> UrlInfo | None:
        """What is known of this URL, or None when it was never found."""
        row = self._find(_URLS + " WHERE", url)
        return _url_info(row) if row else None

    def urls(self, *, state: str = "") -> Iterator[UrlInfo]:
        """The URLs ever found, in the order of their discovery; all, or those of one state ("fetched", "gone"…)."""
        numbers = {name: int(number) for number, name in STATE_NAMES.items()}
        where, values = (" WHERE state = ?", [numbers[state_name(state)]]) if state else ("", [])
        for row in self.rows(f"{_URLS}{where} ORDER BY n", values):
            yield _url_info(row)

    @property
    def rounds(self) -> list[Round]:
        """The rounds of the collection, with what each found."""
        return list_rounds(self.database)

    def changes(self, since: int | None = None, until: int | None = None, *, host: str = "") -> Iterator[PageChange]:
        """The pages that are new, changed, gone or back after round `until` (the last one), compared to `since`.

        By default `since` is the round before; 0 stands for before the first one.
        """
        return list_changes(self.database, *resolve_span(self.database, since, until), host=host)

    def records(self, *, kind: str = "", quarry: str = "", url: str = "") -> Iterator[RecordInfo]:
        """What quarries extracted: all, of a kind (`*`: anything), by one quarry, or from the page at one URL."""
        if not url:
            return list_records(self.database, RecordFilter(kind=kind, quarry=quarry))
        page = self.page(url)
        return page.records(kind=kind, quarry=quarry) if page else iter(())

    def query(self, sql: str, values: Sequence[Value] = (), *, seconds: float = 0.0) -> Rows:
        """The rows of a SELECT over tables and views (`pages`, `urls`, `links`, `hosts`, `records`); it can only read.

        `seconds` ends a statement that takes longer; 0 lets it run. `to_arrow()`, `to_pandas()` and `to_polars()` make
        tables of them.
        """
        return Rows(*select(self.path, sql, values, seconds=seconds))

    def inlinks(self, url: str, *, contexts: bool = False) -> Iterator[InLink]:
        """The links to this URL, in the order in which their pages were found; takes one pass over all links."""
        normal = urls.normalise(url)
        found = iter(()) if normal is None else graph.find_inlinks(self.database, normal)
        return self.with_contexts(found, url) if contexts else found

    def with_contexts(self, links: Iterable[InLink], url: str) -> Iterator[InLink]:
        """Links to one URL with the text around each."""
        for source, found in groupby(links, key=attrgetter("source")):
            own = list(found)
            for link, context in zip(own, self.contexts(source, [(url, link.text) for link in own]), strict=True):
                yield replace(link, context=context)

    def contexts(self, source: str, links: Sequence[tuple[str, str]]) -> list[str]:
        """The text around links of a stored page, given as address and anchor text in their order on it.

        It is read again from the page; empty where that does not stand in the archive, or is longer than 2 MB.
        """
        page, found = self.page(source), dict[tuple[str, str], list[str]]()
        if page is None or page.size > _CONTEXT_BYTES:
            return [""] * len(links)
        wanted, chars = set(links), self.mission.keep.context_chars
        resolver = urls.Resolver(urls.Cleaner(self.mission.urls))
        for index, link in enumerate(page.doc.links):
            url = resolver.resolve(link.href, page.doc.base)
            if url is not None and (url, link.text) in wanted:
                found.setdefault((url, link.text), []).append(page.doc.context(index, chars))
        around = {link: chain(contexts, repeat(contexts[-1])) for link, contexts in found.items()}
        return [next(around[link]) if link in around else "" for link in links]

    def graph(self, *, by: graph.By = "page", host: str = "") -> Iterator[graph.Edge]:
        """The edges of the web graph between pages, hosts or registered domains; from the pages of a host, or all."""
        if by not in graph.NODES:
            raise UsageError(f"by is {by!r}; allowed: {', '.join(graph.NODES)}.")
        return graph.find_edges(self.database, by, host=host)

    @cached_property
    def mission(self) -> Mission:
        """The mission that made it, as the crawl last ran it."""
        file = self.path / "lycosa.toml"
        if file.is_file():
            return _read_mission(file.absolute(), mark_file(file))
        return _parse_mission(str(self._value("SELECT value FROM meta WHERE key = 'mission'") or ""))

    @cached_property
    def _decoded_bytes(self) -> int:
        """Bytes that an answer may have after decompression."""
        with suppress(LycosaError):  # a mission whose plug-in is not here any more
            return max(BODY_BYTES, self.mission.limits.body_bytes)
        return BODY_BYTES

    def seeds(self) -> list[str]:
        """The URLs of all seeds, and of what they moved to."""
        return [url for (url,) in self.rows("SELECT url FROM seed CROSS JOIN url USING (n) ORDER BY n")]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read everything in the block as of one instant, also while a crawl is writing."""
        with database.snapshot(self.database):
            yield

    def page_at(self, n: int) -> Page | None:
        """The stored page in a row of the database, or None."""
        row = next(self.rows(f"{_PAGES}{schema.NEWEST_COPY} AND page.n = ?", [n]), None)
        return Page(self, *row) if row else None

    def rows(self, sql: str, values: Sequence[Value] = ()) -> Iterator[Row]:
        """The rows of a statement of ours; `query` is for those of a user."""
        return database.rows(self.database, sql, values)

    def _copies(self, number: int | None) -> str:
        """The condition for the newest copy of each page, or for the one that was there after a round."""
        return schema.NEWEST_COPY if number is None else copies_after(self.database, number)

    def _value(self, sql: str, values: Sequence[Value] = ()) -> Any:
        return next((row[0] for row in self.rows(sql, values)), None)

    def _find(self, select: str, url: str) -> Row | None:
        normal = urls.normalise(url)
        if normal is None:
            return None
        n = self._value(schema.FIND_URL, [host_key(urls.host_of(normal)), urls.url_id(normal)])
        return None if n is None else next(self.rows(f"{select} url.n = ?", [n]), None)

    def _links(self, n: int, round_: int) -> list[PageLink]:
        packed = self._value("SELECT links FROM link WHERE key = ? << 20 | ?", [n, round_])
        return [PageLink(*link) for link in links.unpack(packed)] if isinstance(packed, bytes) else []

    def _holder(self, digest: bytes) -> StoredAnswer | None:
        """The answer that holds the bytes of this digest."""
        place = self._holder_place(digest)
        return self._read(place) if place else None

    def _holder_place(self, digest: bytes) -> ArchivePlace | None:
        row = next(self.rows(f"SELECT page.warc, page.offset, page.length {HOLDER}", [digest]), None)
        # The name comes from a database that may have been handed on: it must not lead out of the collection.
        return ArchivePlace(os.path.basename(row[0]), row[1], row[2]) if row else None

    def _records_of(self, digest: bytes, *, kind: str, quarry: str) -> Iterator[RecordInfo]:
        holder = next(self.rows(f"SELECT content.n, content.round {HOLDER}", [digest]), None)
        return (
            list_records(self.database, RecordFilter(kind=kind, quarry=quarry, holder=holder)) if holder else iter(())
        )

    def _read(self, place: ArchivePlace) -> StoredAnswer:
        return read_record(self.archive / place.file, place.offset, length=place.length, limit=BODY_BYTES)


@lru_cache(maxsize=32)
def _read_mission(file: Path, mark: str) -> Mission:
    """The mission in a file, parsed once as long as the file keeps its mark."""
    return load(file, check_own=False).mission


@lru_cache(maxsize=32)
def _parse_mission(text: str) -> Mission:
    return load(text=text).mission


def _url_info(row: Row) -> UrlInfo:
    url, state, reason, http, depth, score, fetched_at, redirect = row
    fetched = datetime.fromtimestamp(fetched_at, UTC) if fetched_at else None
    return UrlInfo(
        url=url,
        state=STATE_NAMES.get(state, str(state)),
        reason=reason or "",
        http=http or 0,
        depth=depth,
        score=score,
        fetched=fetched,
        redirect=redirect or "",
    )
