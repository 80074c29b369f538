"""Graph page: a part of the graph, laid out here and drawn by the browser, with a table for who sees no drawing."""

from __future__ import annotations

from collections import Counter

import msgspec
from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.derived.reading import reading
from lycosa.errors import UsageError
from lycosa.explain.why import explain
from lycosa.lists.index import index_folder, opened_index
from lycosa.lists.query import read_count
from lycosa.missions import registry
from lycosa.serve.graph_data import (
    MOST_NODES,
    GraphPart,
    domain_of,
    place_nodes,
    read_hosts,
    read_pages,
    read_property_graph,
)
from lycosa.serve.page_request import PageRequest, View
from lycosa.serve.translations import mark

#: What can be drawn: the word in the address, and the name.
GRAPHS = {
    "host": mark("Hosts"),
    "domain": mark("Domains"),
    "page": mark("Pages"),
    "mission": mark("What the mission found"),
}
_USUAL = 300
_IN_TABLE = 500


class GraphView(Struct):
    """A part of a graph; edges are [source, target, weight, kind] by the places of their nodes."""

    by: str
    start: str
    host: str
    limit: int
    kinds: list[tuple[str, int, bool]]  # what sorts of nodes there are, how many, whether they were asked for
    part: GraphPart
    graphs: dict[str, str]
    table: list[int]  # places of the nodes with most links, which the table shows

    @property
    def graph_text(self) -> str:
        """What the script that draws a graph reads."""
        return msgspec.json.encode({"part": self.part, "table": self.table}).decode()


def show_graph(request: PageRequest) -> View:
    """The graph: ?by=host|domain|page|mission, &start=…, &host=…, &kind=…, &limit=…"""
    query = request.query
    by = query.get("by", "host")
    if by not in GRAPHS:
        raise UsageError(f"by is {by[:50]!r}; allowed: {', '.join(GRAPHS)}.")
    limit = read_count("limit", query.get("limit", str(_USUAL)), most=MOST_NODES)
    start, host = query.get("start", "").strip()[:10_000], query.get("host", "").strip().lower()
    kinds = frozenset(kind for kind in query.getlist("kind") if kind)
    graphs = GRAPHS if has_own_graph(request) else {name: label for name, label in GRAPHS.items() if name != "mission"}
    by = by if by in graphs else "page"
    part = _read(request, by, start=start, host=host, kinds=kinds, limit=limit)
    place_nodes(part)
    counts = Counter(node.kind for node in part.nodes)
    table = sorted(range(len(part.nodes)), key=lambda at: (-part.nodes[at].degree, part.nodes[at].label))[:_IN_TABLE]
    shown = [(kind, count, kind in kinds) for kind, count in counts.most_common(30)]
    view = GraphView(by=by, start=start, host=host, limit=limit, kinds=shown, part=part, graphs=graphs, table=table)
    return View("graph.html", view)


def has_own_graph(request: PageRequest) -> bool:
    """Whether one of the collection's missions brings a graph; that of pages needs no mission."""
    return any(mission.graph for mission in registry.missions_of(request.collection.mission))


def _read(request: PageRequest, by: str, *, start: str, host: str, kinds: frozenset[str], limit: int) -> GraphPart:
    state = request.server_state.indexing.prepare(request.folder)
    collection = request.collection
    if by == "mission":
        for derived in registry.derived_for_graph(collection.mission):
            with reading(derived, request.folder):  # or it is made in this request
                pass
        with registry.graph_of(collection) as graph:
            part = read_property_graph(graph, start=start, kinds=kinds, limit=limit)
        for node in part.nodes:
            around = request.link("graph", by="mission", start=node.label)  # of what has no page: an author
            node.address = request.link("page", url=node.address) if node.address else around
        return part
    state.require(links=True)
    start = _find_start(collection, by, start)
    with opened_index(index_folder(request.folder)) as index:
        if by == "page":
            part = read_pages(collection, index, start=start, host=host, limit=limit)
        else:
            part = read_hosts(index, start=start, limit=limit, by_domain=by == "domain")
    for node in part.nodes:
        if by == "page":
            node.address = request.link("url" if node.kind == "not stored" else "page", url=node.key)
        elif by == "host":
            node.address = request.link("host", name=node.key)
        else:
            node.address = request.link("graph", by="domain", start=node.key)
    return part


def _find_start(collection: Collection, by: str, typed: str) -> str:
    """The node that an address means, however it was typed: the page as it is known, its host, or its domain."""
    if not typed:
        return ""
    try:
        why = explain(collection, typed)
    except UsageError:  # a host without a point in its name
        return typed if by == "page" else typed.lower()
    if by == "page":
        return why.url
    return domain_of(why.host.name) if by == "domain" else why.host.name
