"""Web graph of a collection as tables, for a file of it.

A temporary database gathers the edges first, because a file names its nodes before them; memory holds nothing of the
graph. A page that neither links nor is linked to is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import apsw

from lycosa import urls
from lycosa.collection import database, graph
from lycosa.collection.graph import By
from lycosa.frontier.partitions import host_key
from lycosa.graph.properties import ColumnType, GraphRow, NodeTable, PropertyGraph, RelationTable
from lycosa.model import STATE_NAMES, State

Rows = Callable[[], Iterator[GraphRow]]
_PAGE: dict[str, ColumnType] = {
    "id": "INT64", "url": "STRING", "state": "STRING", "reason": "STRING", "depth": "INT64", "mime": "STRING",
    "title": "STRING",
}  # fmt: skip
_LINK: dict[str, ColumnType] = {"weight": "DOUBLE", "text": "STRING", "accepted": "BOOLEAN", "kind": "STRING"}
_HOST: dict[str, ColumnType] = {"id": "INT64", "name": "STRING", "pages": "INT64"}
_SUM: dict[str, ColumnType] = {"weight": "DOUBLE", "pages": "INT64"}

_RECENT = "SELECT id, n FROM url WHERE n > (SELECT upto FROM moved WHERE name = 'url') ORDER BY id"
_HOST_PAGES = "SELECT pages FROM host WHERE host = ?"
_SUMS = """
    SELECT source.n, target.n, links, pages
    FROM edge JOIN node AS source ON source.name = source JOIN node AS target ON target.name = target"""
_NODE = """
    SELECT url.url, url.state, coalesce(url.reason, ''), url.depth, coalesce(page.mime, ''), coalesce(page.title, '')
    FROM url LEFT JOIN page ON page.n = url.n AND page.round = (SELECT max(round) FROM page AS p WHERE p.n = url.n)
    WHERE url.n = ?"""


@contextmanager
def opened_graph(connection: apsw.Connection, *, by: By = "page", host: str = "") -> Iterator[PropertyGraph]:
    """The graph between pages, hosts or domains."""
    with graph.scratch() if by == "page" else graph.summed(connection, by, host=host) as scratch:
        if by == "page":
            tables = _gather_pages(connection, scratch, host), _PAGE, _LINK
        else:
            tables = _gather_sums(connection, scratch), _HOST, _SUM
        (nodes, edges), columns, values = tables
        label = by.capitalize()
        yield PropertyGraph(
            (NodeTable(label, columns, nodes),), (RelationTable("Links", label, label, values, edges),), state=""
        )


def _gather_pages(connection: apsw.Connection, scratch: apsw.Connection, host: str) -> tuple[Rows, Rows]:
    # A target that was only ever named under nofollow has no row: it gets a number below zero.
    scratch.execute("CREATE TABLE edge (source INTEGER, target INTEGER, links, text, accepted, kind)")
    scratch.execute("CREATE TABLE extra (n INTEGER PRIMARY KEY, url TEXT UNIQUE)")
    scratch.execute("BEGIN")
    scratch.executemany("INSERT INTO edge VALUES (?, ?, ?, ?, ?, ?)", _numbered(connection, scratch, host))

    def pages() -> Iterator[GraphRow]:
        for (n,) in scratch.execute("SELECT source FROM edge UNION SELECT target FROM edge"):
            if n < 0:
                yield n, scratch.execute("SELECT url FROM extra WHERE n = ?", (-n,)).get, None, None, None, None, None
            else:
                url, state, *values = connection.execute(_NODE, (n,)).get
                yield n, url, STATE_NAMES[State(state)], *values

    def links() -> Iterator[GraphRow]:
        for source, target, count, text, accepted, kind in scratch.execute("SELECT * FROM edge"):
            yield source, target, count, text, bool(accepted), kind

    return pages, links


def _numbered(
    connection: apsw.Connection, scratch: apsw.Connection, host: str
) -> Iterator[tuple[int, int, int, str, bool, str]]:
    """The edges with row numbers in place of URLs."""
    known: dict[str, int] = {}
    # The frontier's index lags behind; without one of their own, each of the latest URLs would cost a pass over them.
    scratch.execute("CREATE TABLE recent (id INTEGER PRIMARY KEY, n INTEGER)")
    scratch.executemany("INSERT OR IGNORE INTO recent VALUES (?, ?)", database.rows(connection, _RECENT))

    def number(url: str) -> int:
        n = known.get(url)
        if n is None:
            ident = urls.url_id(url)
            n = connection.execute(
                "SELECT n FROM known WHERE host = ? AND id = ?", (host_key(urls.host_of(url)), ident)
            ).get
            n = n or scratch.execute("SELECT n FROM recent WHERE id = ?", (ident,)).get
            if n is None:
                scratch.execute("INSERT OR IGNORE INTO extra (url) VALUES (?)", (url,))
                n = -scratch.execute("SELECT n FROM extra WHERE url = ?", (url,)).get
            if len(known) >= graph.REMEMBERED:
                known.clear()
            known[url] = n
        return n

    for edge in graph.find_edges(connection, host=host):
        yield number(edge.source), number(edge.target), edge.links, edge.text, edge.accepted, edge.kind


def _gather_sums(connection: apsw.Connection, scratch: apsw.Connection) -> tuple[Rows, Rows]:
    scratch.execute("CREATE TABLE node (n INTEGER PRIMARY KEY, name TEXT UNIQUE)")
    scratch.execute("INSERT INTO node (name) SELECT source FROM edge UNION SELECT target FROM edge ORDER BY 1")

    def places() -> Iterator[GraphRow]:
        for n, name in scratch.execute("SELECT n, name FROM node ORDER BY n"):
            yield n, name, next(database.rows(connection, _HOST_PAGES, [host_key(name)]), (0,))[0]

    return places, partial(scratch.execute, _SUMS)
