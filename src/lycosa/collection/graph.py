"""Web graph of a collection: which page links to which, and the inverse, built from packed links when asked for.

It takes one pass over the links, page after page. What has to be sorted or added up goes through SQLite's own temporary
files, so memory stays flat for any number of links. Of a page that was stored more than once the newest copy counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from fnmatch import fnmatchcase
from itertools import repeat
from typing import Any, Literal

import apsw
from msgspec import Struct

from lycosa import urls
from lycosa.collection import database
from lycosa.frontier import link_codec as links

By = Literal["page", "host", "domain"]
NODES: tuple[By, ...] = ("page", "host", "domain")

#: Gives the contexts of a page's links: `Collection.contexts`.
ReadContexts = Callable[[str, Sequence[tuple[str, str]]], list[str]]

REMEMBERED = 200_000  # URLs held in memory by their row numbers, or the other way round
SPILL = 200_000  # pairs of hosts that are added up in memory before they go to disk
_SORT_KIB = 64 * 1024  # memory of SQLite for sorting, before it uses files

_PACKED = "SELECT n, links FROM link ORDER BY key"
_MOVED = "SELECT url, redirect FROM url WHERE redirect <> ''"
_ADD = """
    INSERT INTO edge VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET links = links + excluded.links, pages = pages + excluded.pages"""


class InLink(Struct, frozen=True):
    """A link to a URL: the page it stands on, its text, and whether the rules let the crawl follow it there."""

    source: str
    text: str
    accepted: bool
    kind: str = "link"  # or "redirect"
    context: str = ""  # the text around it, where that was asked for


class Edge(Struct, frozen=True):
    """All links from one page, host or domain to another."""

    source: str
    target: str
    text: str  # of the first link that has one; empty between hosts and domains
    links: int  # how many
    pages: int  # on how many pages
    accepted: bool  # whether the rules let the crawl follow one of them; True between hosts and domains
    kind: str = "link"  # or "redirect"


def find_inlinks(connection: apsw.Connection, url: str) -> Iterator[InLink]:
    """The links and redirects to a normalised URL, in the order in which their pages were found; one pass."""
    for n, packed in _newest(connection):
        for _, text, accepted in links.find(packed, url):
            yield InLink(_url(connection, n), text, accepted)
    for source, _ in database.rows(connection, f"{_MOVED} AND redirect = ?", [url]):
        yield InLink(source, "", True, "redirect")


def list_inlinks(
    connection: apsw.Connection, *, host: str = "", contexts: ReadContexts | None = None
) -> Iterator[tuple[str, str, str, bool, str]]:
    """Every link as (target, source, text, accepted, context), sorted by its target; of those on these hosts, or all.

    Contexts are empty unless something reads them.
    """
    with scratch() as store:
        store.execute("CREATE TABLE inlink (target TEXT, n INTEGER, text TEXT, accepted INTEGER, context TEXT)")
        store.execute("BEGIN")
        store.executemany("INSERT INTO inlink VALUES (?, ?, ?, ?, ?)", _inverted(connection, host, contexts))
        known: dict[int, str] = {}  # most pages link to many targets
        for target, n, text, accepted, context in store.execute("SELECT * FROM inlink ORDER BY target, n, rowid"):
            source = known.get(n)
            if source is None:
                if len(known) >= REMEMBERED:
                    known.clear()
                source = known[n] = _url(connection, n)
            yield target, source, text, bool(accepted), context


def find_edges(connection: apsw.Connection, by: By = "page", *, host: str = "") -> Iterator[Edge]:
    """The edges of the web graph: of pages in the order of their finding, of hosts and domains sorted.

    `host` (`*` stands for anything) takes only the links of these hosts' pages.
    """
    if by == "page":
        yield from _page_edges(connection, host)
        return
    with summed(connection, by, host=host) as store:
        for row in store.execute("SELECT source, target, links, pages FROM edge ORDER BY source, target"):
            source, target, count, pages = row
            yield Edge(source=source, target=target, text="", links=count, pages=pages, accepted=True)


@contextmanager
def summed(connection: apsw.Connection, by: By, *, host: str = "") -> Iterator[apsw.Connection]:
    """A temporary database whose table `edge` has the links between hosts or domains, added up."""
    with scratch() as store:
        store.execute("CREATE TABLE edge (source, target, links, pages, PRIMARY KEY (source, target)) WITHOUT ROWID")
        store.execute("BEGIN")
        sums: dict[tuple[str, str], list[int]] = {}
        for source, targets in _grouped(connection, by, host):
            for target, count in targets.items():
                pair = sums.setdefault((source, target), [0, 0])
                pair[0] += count
                pair[1] += 1
            if len(sums) >= SPILL:
                _spill(store, sums)
        _spill(store, sums)
        yield store


@contextmanager
def scratch() -> Iterator[apsw.Connection]:
    """A temporary database that is a file as soon as it is large, and is gone with its connection."""
    with closing(apsw.Connection("")) as store:
        store.execute(f"PRAGMA cache_size = -{_SORT_KIB}")
        store.execute("PRAGMA journal_mode = OFF")
        store.execute("PRAGMA temp_store = FILE")
        yield store


def _spill(store: apsw.Connection, sums: dict[tuple[str, str], list[int]]) -> None:
    store.executemany(_ADD, ((*pair, *sums[pair]) for pair in sorted(sums)))
    sums.clear()


def _page_edges(connection: apsw.Connection, host: str) -> Iterator[Edge]:
    for source, rows in _pages(connection, host):
        merged: dict[str, list[Any]] = {}
        for target, text, accepted in rows:
            edge = merged.setdefault(target, ["", 0, False])
            edge[0] = edge[0] or text
            edge[1] += 1
            edge[2] |= accepted
        for target, (text, count, accepted) in merged.items():
            yield Edge(source=source, target=target, text=text, links=count, pages=1, accepted=accepted)
    for source, target in _redirects(connection, host):
        yield Edge(source=source, target=target, text="", links=1, pages=1, accepted=True, kind="redirect")


def _grouped(connection: apsw.Connection, by: By, host: str) -> Iterator[tuple[str, dict[str, int]]]:
    """For each page, and each redirect, its host or domain and those that it leads to, with the number of links."""
    group = urls.host_of if by == "host" else _domain_of
    for source, rows in _pages(connection, host):
        targets: dict[str, int] = {}
        for target, _, _ in rows:
            name = group(target)
            targets[name] = targets.get(name, 0) + 1
        yield group(source), targets
    for source, target in _redirects(connection, host):
        yield group(source), {group(target): 1}


def _domain_of(url: str) -> str:
    host = urls.host_of(url)
    return urls.registered_domain(host) or host


def _inverted(
    connection: apsw.Connection, host: str, contexts: ReadContexts | None
) -> Iterator[tuple[str, int, str, bool, str]]:
    host = urls.host_pattern(host)
    for n, packed in _newest(connection):
        rows = [row for row in links.unpack(packed) if not host or fnmatchcase(urls.host_of(row[0]), host)]
        around = contexts(_url(connection, n), [row[:2] for row in rows]) if contexts and rows else repeat("")
        for (target, text, accepted), context in zip(rows, around, strict=False):
            yield target, n, text, accepted, context


def _pages(connection: apsw.Connection, host: str) -> Iterator[tuple[str, list[links.Row]]]:
    host = urls.host_pattern(host)
    for n, packed in _newest(connection):
        source = _url(connection, n)
        if not host or fnmatchcase(urls.host_of(source), host):
            yield source, links.unpack(packed)


def _redirects(connection: apsw.Connection, host: str) -> Iterator[tuple[str, str]]:
    host = urls.host_pattern(host)
    for source, target in database.rows(connection, _MOVED):
        if not host or fnmatchcase(urls.host_of(source), host):
            yield source, target


def _newest(connection: apsw.Connection) -> Iterator[tuple[int, bytes]]:
    """Row number and packed links of each page's newest copy, in one pass."""
    last, held = 0, b""
    for n, packed in database.rows(connection, _PACKED):
        if n != last and held:
            yield last, held
        last, held = n, packed
    if held:
        yield last, held


def _url(connection: apsw.Connection, n: int) -> str:
    return str(connection.execute("SELECT url FROM url WHERE n = ?", (n,)).get)
