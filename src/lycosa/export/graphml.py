"""Web graph of a collection as GraphML, the format that Gephi, igraph, NetworkX and yEd open.

A temporary database gathers the edges first, because a file names its nodes before them; memory holds nothing of the
graph. A page that neither links nor is linked to is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO
from xml.sax.saxutils import escape

import apsw

from lycosa import urls
from lycosa.collection import database, graph
from lycosa.collection.graph import By
from lycosa.frontier.partitions import host_key
from lycosa.model import STATE_NAMES, State
from lycosa.output.table import printable

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
_TYPES = {"links": "int", "pages": "int", "depth": "int", "accepted": "boolean"}
_PAGE_KEYS = (("url", "state", "reason", "depth", "mime", "title"), ("weight", "text", "accepted", "kind"))
_HOST_KEYS = (("name", "pages"), ("weight", "pages"))

_RECENT = "SELECT id, n FROM url WHERE n > (SELECT upto FROM moved WHERE name = 'url') ORDER BY id"
_NODE = """
    SELECT url.url, url.state, coalesce(url.reason, ''), url.depth, coalesce(page.mime, ''), coalesce(page.title, '')
    FROM url LEFT JOIN page ON page.n = url.n AND page.round = (SELECT max(round) FROM page AS p WHERE p.n = url.n)
    WHERE url.n = ?"""


def write_graphml(connection: apsw.Connection, out: TextIO, *, by: By = "page", host: str = "") -> int:
    """Write the graph between pages, hosts or domains; returns the number of edges."""
    out.write(_HEAD)
    node_keys, edge_keys = _PAGE_KEYS if by == "page" else _HOST_KEYS
    for name in node_keys:
        out.write(f'<key id="n_{name}" for="node" attr.name="{name}" attr.type="{_TYPES.get(name, "string")}"/>\n')
    for name in edge_keys:
        kind = "double" if name == "weight" else _TYPES.get(name, "string")
        out.write(f'<key id="e_{name}" for="edge" attr.name="{name}" attr.type="{kind}"/>\n')
    out.write('<graph edgedefault="directed">\n')
    count = _write_pages(connection, out, host) if by == "page" else _write_sums(connection, out, by=by, host=host)
    out.write("</graph>\n</graphml>\n")
    return count


def _write_pages(connection: apsw.Connection, out: TextIO, host: str) -> int:
    with graph.scratch() as scratch:
        # A target that was only ever named under nofollow has no row: it gets a number below zero.
        scratch.execute("CREATE TABLE edge (source INTEGER, target INTEGER, links, text, accepted, kind)")
        scratch.execute("CREATE TABLE extra (n INTEGER PRIMARY KEY, url TEXT UNIQUE)")
        scratch.execute("BEGIN")
        scratch.executemany("INSERT INTO edge VALUES (?, ?, ?, ?, ?, ?)", _numbered(connection, scratch, host))
        for (n,) in scratch.execute("SELECT source FROM edge UNION SELECT target FROM edge"):
            if n < 0:
                row = (scratch.execute("SELECT url FROM extra WHERE n = ?", (-n,)).get, None, "", "", "", "")
            else:
                row = connection.execute(_NODE, (n,)).get
            state = "" if row[1] is None else STATE_NAMES[State(row[1])]
            _put(out, f'<node id="{_id(n)}">', "n_", _PAGE_KEYS[0], (row[0], state, *row[2:]), end="</node>")
        for source, target, *values in scratch.execute("SELECT * FROM edge"):
            start = f'<edge source="{_id(source)}" target="{_id(target)}">'
            _put(out, start, "e_", _PAGE_KEYS[1], (*values[:2], bool(values[2]), values[3]), end="</edge>")
        return int(scratch.execute("SELECT count(*) FROM edge").get)


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


def _write_sums(connection: apsw.Connection, out: TextIO, *, by: By, host: str) -> int:
    with graph.summed(connection, by, host=host) as scratch:
        scratch.execute("CREATE TABLE node (n INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        scratch.execute("INSERT INTO node (name) SELECT source FROM edge UNION SELECT target FROM edge ORDER BY 1")
        for n, name in scratch.execute("SELECT n, name FROM node ORDER BY n"):
            pages = next(database.rows(connection, "SELECT pages FROM host WHERE host = ?", [host_key(name)]), (0,))[0]
            _put(out, f'<node id="{_id(n)}">', "n_", _HOST_KEYS[0], (name, pages), end="</node>")
        sql = """
            SELECT source.n, target.n, links, pages
            FROM edge JOIN node AS source ON source.name = source JOIN node AS target ON target.name = target"""
        for source, target, *values in scratch.execute(sql):
            start = f'<edge source="{_id(source)}" target="{_id(target)}">'
            _put(out, start, "e_", _HOST_KEYS[1], tuple(values), end="</edge>")
        return int(scratch.execute("SELECT count(*) FROM edge").get)


def _id(n: int) -> str:
    return f"n{n}" if n > 0 else f"x{-n}"


def _put(out: TextIO, start: str, prefix: str, names: tuple[str, ...], values: tuple[Any, ...], *, end: str) -> None:
    """Write one element with its data; XML 1.0 has no control characters."""
    for name, value in zip(names, values, strict=True):
        if isinstance(value, str):
            if value:
                start += f'<data key="{prefix}{name}">{escape(printable(value))}</data>'
        elif value is not None:
            start += f'<data key="{prefix}{name}">{str(value).lower()}</data>'
    out.write(f"{start}{end}\n")
