"""Selected parts of a collection's graphs: at most some thousand nodes around a start, or the best linked ones; and
their layout, in which nodes repel each other and edges draw them together.

Pages come from the links of each page, hosts and domains from the sums of the index, anything else from the
property graph that a mission brings. Repulsion is a field over a grid, found by a Fourier transform, so that each
step takes time in proportion to nodes and edges: five thousand nodes in about a second, where comparing all pairs
takes a minute.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.frontier import link_codec
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite import schema
from lycosa.graph.properties import PropertyGraph
from lycosa.lists.index import ListIndex
from lycosa.serve.indexing import find_sources

_CELLS = 128  # of the grid, in each direction; half as many for a small graph
_SMALL = 1500
_SEED = 7
_Floats = NDArray[np.float64]


def lay_out(count: int, edges: Sequence[tuple[int, int]], *, steps: int = 0) -> list[tuple[float, float]]:
    """Places of `count` nodes between 0 and 1; the same graph always looks the same."""
    if count == 0:
        return []
    random = np.random.default_rng(_SEED)
    places = _begin(count, edges, random)
    if count > 1:
        ends = np.array([edge for edge in edges if edge[0] != edge[1]], dtype=np.int64).reshape(-1, 2)
        degrees = np.maximum(np.bincount(ends.ravel(), minlength=count), 1).astype(np.float64)
        steps = steps or (200 if count <= _SMALL else 150)
        # A node among many friends is pulled by each a little less, or a clique would be a point.
        pulls = 0.5 / np.minimum(degrees[ends[:, 0]], degrees[ends[:, 1]]) ** 0.8
        kernel = _kernel(_CELLS if count > _SMALL else _CELLS // 2)
        step, ideal = 0.1, 0.6 / np.sqrt(count)
        for nth in range(steps):
            force = _repel(places, degrees, kernel) * ideal**2 * 0.5
            _attract(force, places, ends, pulls / ideal)
            force -= places * 0.3 * ideal  # parts that nothing holds together stay in sight
            length = np.maximum(np.hypot(force[:, 0], force[:, 1]), 1e-9)
            places += force / length[:, None] * np.minimum(length, step)[:, None]
            step = 0.1 * (1 - nth / steps) ** 1.5 + 1e-4
    low, high = places.min(axis=0), places.max(axis=0)
    span = max(float((high - low).max()), 1e-9)
    middle = (low + high) / 2
    scaled = (places - middle) / span + 0.5
    return [(round(float(x), 4), round(float(y), 4)) for x, y in scaled]


def _begin(count: int, edges: Sequence[tuple[int, int]], random: np.random.Generator) -> _Floats:
    """Nodes on a spiral in the order of a walk over the graph, so that neighbours begin near each other."""
    near: list[list[int]] = [[] for _ in range(count)]
    for left, right in edges:
        near[left].append(right)
        near[right].append(left)
    order: list[int] = []
    seen = [False] * count
    for root in sorted(range(count), key=lambda node: -len(near[node])):
        if seen[root]:
            continue
        seen[root] = True
        waiting = [root]
        for node in waiting:
            order.append(node)
            for other in near[node]:
                if not seen[other]:
                    seen[other] = True
                    waiting.append(other)
    places = np.empty((count, 2))
    turn = np.arange(count)
    radius = 0.5 * np.sqrt(turn / count)
    places[order, 0] = radius * np.cos(turn * 2.399963)
    places[order, 1] = radius * np.sin(turn * 2.399963)
    places += random.normal(scale=1e-3, size=places.shape)
    return places


def _kernel(cells: int) -> NDArray[np.complex128]:
    """The transform of the force that a unit in one cell has in each other, as x + iy."""
    distance = np.fft.fftfreq(2 * cells) * 2 * cells
    x, y = np.meshgrid(distance, distance, indexing="ij")
    squared = x * x + y * y
    squared[0, 0] = 1.0
    field = (x + 1j * y) / squared
    field[0, 0] = 0.0
    found: NDArray[np.complex128] = np.fft.fft2(field)
    return found


def _repel(places: _Floats, weights: _Floats, kernel: NDArray[np.complex128]) -> _Floats:
    """The repulsion at each node: nodes are spread over the four cells around them, the field is read there again."""
    cells = len(kernel) // 2
    low = places.min(axis=0)
    cell = max(float((places.max(axis=0) - low).max()), 1e-9) / (cells - 2)
    at = (places - low) / cell
    corner = at.astype(np.int64)
    part = at - corner
    mass = np.zeros((2 * cells, 2 * cells))
    shares = []
    for dx in (0, 1):
        for dy in (0, 1):
            share = np.where(dx, part[:, 0], 1 - part[:, 0]) * np.where(dy, part[:, 1], 1 - part[:, 1])
            shares.append((corner[:, 0] + dx, corner[:, 1] + dy, share))
            np.add.at(mass, shares[-1][:2], share * np.sqrt(weights))
    field = np.fft.ifft2(np.fft.fft2(mass) * kernel) / cell
    found = sum((field[x, y] * share for x, y, share in shares), np.zeros(len(places), dtype=np.complex128))
    return np.stack((found.real, found.imag), axis=1)


def _attract(force: _Floats, places: _Floats, ends: NDArray[np.int64], strength: _Floats) -> None:
    """Add the pull of the edges to the forces."""
    if not len(ends):
        return
    apart = places[ends[:, 0]] - places[ends[:, 1]]
    length = np.maximum(np.hypot(apart[:, 0], apart[:, 1]), 1e-9)
    pull = apart * (length * strength)[:, None]
    for axis in (0, 1):
        force[:, axis] -= np.bincount(ends[:, 0], pull[:, axis], len(places))
        force[:, axis] += np.bincount(ends[:, 1], pull[:, axis], len(places))


MOST_NODES = 5000
MOST_EDGES = 25_000
_LOOKED_AT = 200_000  # rows of a mission's graph
_SUMMED = 50_000  # edges between hosts, the strongest first, that make those between domains
_FANOUT = 300  # neighbours of one node that are followed


class GraphNode(Struct):
    """A node: what it is called, what sort it is, how many links it has here."""

    key: str
    label: str
    kind: str
    address: str = ""  # of the page about it
    degree: int = 0
    x: float = 0.0
    y: float = 0.0


class GraphEdge(Struct, frozen=True, array_like=True):
    """An edge between the nodes at two places of the list."""

    source: int
    target: int
    weight: int = 1
    kind: str = ""


class GraphPart(Struct):
    """A part of a graph."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    is_cut: bool  # there is more than this


def place_nodes(part: GraphPart) -> None:
    """Give each node its place in the drawing."""
    places = lay_out(len(part.nodes), [(edge.source, edge.target) for edge in part.edges])
    for node, (x, y) in zip(part.nodes, places, strict=True):
        node.x, node.y = x, y


def read_pages(collection: Collection, index: ListIndex, *, start: str, host: str, limit: int) -> GraphPart:
    """Pages: those around a start, of a host, or around the seeds; links lead also to what was not stored."""
    chosen: dict[str, int] = {}  # URL, and its number
    is_cut = False
    if host and not start:
        sql = """SELECT n FROM pages_item WHERE cell IN (SELECT id FROM pages_cell WHERE host = ? AND count > 0)
                 ORDER BY n LIMIT ?"""
        numbers = [row[0] for row in index.db.execute(sql, (host, limit + 1))]
        is_cut = len(numbers) > limit
        for n in numbers[:limit]:
            for (url,) in collection.rows("SELECT url FROM url WHERE n = ?", [n]):
                chosen[url] = n
    else:
        begin = [start] if start else collection.seeds()[:50] or _first_pages(collection)
        is_cut = _walk_pages(collection, index, begin, chosen, limit, both_ways=bool(start))
        if start and chosen == {start: 0}:  # nobody ever saw it
            chosen.clear()
    places = {url: at for at, url in enumerate(chosen)}
    edges: list[GraphEdge] = []
    for url, n in chosen.items():
        if not n or len(edges) >= MOST_EDGES:
            continue
        counts = Counter(target for target in _targets(collection, n) if target in places and target != url)
        edges += [GraphEdge(places[url], places[target], count) for target, count in counts.items()]
    nodes = [_page_node(collection, url, n) for url, n in chosen.items()]
    return _finish(nodes, edges, is_cut)


def _first_pages(collection: Collection) -> list[str]:
    return [row[0] for row in collection.rows("SELECT url FROM page JOIN url USING (n) ORDER BY page.n LIMIT 10")]


def _walk_pages(
    collection: Collection,
    index: ListIndex,
    begin: Iterable[str],
    chosen: dict[str, int],
    limit: int,
    *,
    both_ways: bool,
) -> bool:
    """Choose pages breadth first; True where there are more."""
    waiting: deque[str] = deque()

    def meet(url: str) -> bool:
        if url not in chosen:
            if len(chosen) >= limit:
                return False
            chosen[url] = _number(collection, url)
            waiting.append(url)
        return True

    for url in begin:
        meet(url)
    while waiting:
        url = waiting.popleft()
        n = chosen[url]
        found = list(islice(dict.fromkeys(_targets(collection, n)), _FANOUT)) if n else []
        if both_ways:
            for source in find_sources(index, url, limit=_FANOUT):
                found += [row[0] for row in collection.rows("SELECT url FROM url WHERE n = ?", [source])]
        if not all(meet(target) for target in found):
            return True
    return False


def _number(collection: Collection, url: str) -> int:
    row = next(collection.rows(schema.FIND_URL, [host_key(urls.host_of(url)), urls.url_id(url)]), (0,))
    return int(row[0])


def _targets(collection: Collection, n: int) -> list[str]:
    packed = next((row[0] for row in collection.rows(schema.NEWEST_LINKS, [n])), None)
    return link_codec.targets(packed) if packed else []


def _page_node(collection: Collection, url: str, n: int) -> GraphNode:
    sql = "SELECT title, mime FROM page WHERE n = ? ORDER BY round DESC LIMIT 1"
    row = next(collection.rows(sql, [n]), None) if n else None
    if row is None:
        return GraphNode(url, url, "not stored")
    return GraphNode(url, row[0] or url, row[1] or "page")


def read_hosts(index: ListIndex, *, start: str, limit: int, by_domain: bool) -> GraphPart:
    """Hosts or registered domains: those around a start, or those with most links between them."""
    edges, is_cut = _find_host_edges(index, start=start, limit=limit, by_domain=by_domain)
    sums = _add_up(edges, domain_of if by_domain else str)
    if start and by_domain:
        near = {start, *(end for pair in sums if start in pair for end in pair)}
        sums = Counter({pair: count for pair, count in sums.items() if near.issuperset(pair)})
    places, kept, is_more = _keep_strongest(sums, start=start, limit=limit)
    if start and not kept and not _knows_host(index, start, below=by_domain):
        return GraphPart([], [], False)
    kind = "domain" if by_domain else "host"
    return _finish([GraphNode(each, each, kind) for each in places], kept, is_cut or is_more)


def _find_host_edges(index: ListIndex, *, start: str, limit: int, by_domain: bool) -> tuple[list[Any], bool]:
    """The links between hosts that a drawing begins with, and whether there are more."""
    if start and not by_domain:
        return _hosts_around(index, start, limit)
    if by_domain:
        sql = "SELECT source, target, links FROM host_edge WHERE source <> target ORDER BY links DESC LIMIT ?"
        strongest: list[Any] = index.db.execute(sql, (_SUMMED,)).fetchall()
        return strongest, len(strongest) >= _SUMMED
    return _strongest_hosts(index, limit)


def _add_up(edges: Iterable[Any], name: Callable[[str], str]) -> Counter[tuple[str, str]]:
    """The links between the names of hosts."""
    sums: Counter[tuple[str, str]] = Counter()
    for source, target, count in edges:
        if (pair := (name(source), name(target))) and pair[0] != pair[1]:
            sums[pair] += count
    return sums


def _keep_strongest(
    sums: Counter[tuple[str, str]], *, start: str, limit: int
) -> tuple[dict[str, int], list[GraphEdge], bool]:
    """The places of nodes, their strongest edges as far as there is room, and whether some were left out."""
    most_edges = min(MOST_EDGES, 10 * limit)  # of those, one sees something
    places: dict[str, int] = {start: 0} if start else {}
    kept: list[GraphEdge] = []
    is_cut = False
    for (source, target), count in sums.most_common():
        if len(places) >= limit and len(kept) >= most_edges:
            return places, kept, True
        fresh = (source not in places) + (target not in places)
        if len(places) + fresh > limit or (len(kept) >= most_edges and not fresh):
            is_cut = True
            continue
        for end in (source, target):
            places.setdefault(end, len(places))
        kept.append(GraphEdge(places[source], places[target], count))
    return places, kept, is_cut


def _knows_host(index: ListIndex, host: str, *, below: bool) -> bool:
    """Whether an address of a host was ever found, or of one below it."""
    sql = "SELECT 1 FROM urls_host WHERE count > 0 AND (host = ?1 OR ?2 AND host GLOB '*.' || ?1) LIMIT 1"
    return index.db.execute(sql, (host, below)).get is not None


def _strongest_hosts(index: ListIndex, limit: int) -> tuple[list[Any], bool]:
    """The edges among the hosts with the strongest ones."""
    chosen: set[str] = set()
    for source, target in index.db.execute("SELECT source, target FROM host_edge ORDER BY links DESC"):
        if source != target:
            if len(chosen) >= limit - 1:
                return _edges_among(index, chosen), True
            chosen |= {str(source), str(target)}
    return _edges_among(index, chosen), False


def _hosts_around(index: ListIndex, start: str, limit: int) -> tuple[list[Any], bool]:
    near = {start}
    for level in range(2):
        for host in list(near):
            if level and len(near) >= limit:
                return _edges_among(index, near), True
            for column, other in (("source", "target"), ("target", "source")):
                sql = f"SELECT {other} FROM host_edge WHERE {column} = ? ORDER BY links DESC LIMIT ?"
                near.update(row[0] for row in index.db.execute(sql, (host, max(0, limit - len(near)))))
    return _edges_among(index, near), False


def _edges_among(index: ListIndex, hosts: set[str]) -> list[Any]:
    """The strongest edges of each of these hosts to another one of them."""
    found: list[Any] = []
    each = max(10, min(20, 2 * MOST_EDGES // max(len(hosts), 1)))
    for host in sorted(hosts):
        sql = "SELECT source, target, links FROM host_edge WHERE source = ? ORDER BY links DESC LIMIT ?"
        rows = index.db.execute(sql, (host, each + 50))
        found += [row for row in rows if row[1] in hosts and row[0] != row[1]][:each]
    return found


def domain_of(host: str) -> str:
    """The registered domain of a host; the host itself where it has none."""
    return urls.registered_domain(host) or host


def read_property_graph(graph: PropertyGraph, *, start: str, kinds: frozenset[str], limit: int) -> GraphPart:
    """Nodes of a mission's graph: those around a start, or those with most relations; of some kinds, or all.

    What was hunted comes first, then the pages that it was found on, those next to it before others.
    """
    around = {table.label for table in graph.nodes if table.is_around}
    near: dict[tuple[str, str], list[tuple[tuple[str, str], str]]] = {}
    looked_at, is_cut = 0, False
    for relation in sorted(graph.relations, key=lambda each: {each.source, each.target} <= around):
        if kinds and not {relation.source, relation.target} <= kinds:
            continue
        for row in relation.rows():
            looked_at += 1
            if looked_at > _LOOKED_AT:
                is_cut = True
                break
            ends = (relation.source, str(row[0])), (relation.target, str(row[1]))
            near.setdefault(ends[0], []).append((ends[1], relation.type))
            near.setdefault(ends[1], [])
    labels, found = _labels(graph, kinds, start)
    alone = sorted((key for key in labels if key not in near), key=lambda key: key[0] in around)
    for key in alone[:limit]:
        near[key] = []
    chosen: dict[tuple[str, str], int] = {}
    if start:
        is_cut |= _walk_relations(near, found, chosen, limit)
    else:
        best = _rank(near, around)
        chosen = {key: place for place, key in enumerate(best[:limit])}
        is_cut |= len(best) > limit
    edges = [
        GraphEdge(chosen[key], chosen[other], 1, kind)
        for key in chosen
        for other, kind in near.get(key, ())
        if other in chosen and other != key
    ]
    nodes = []
    for key in chosen:
        label, url = labels.get(key, (key[1], ""))
        nodes.append(GraphNode(f"{key[0]}:{key[1]}", label, key[0], url))
    return _finish(nodes, edges, is_cut)


def _rank(near: Mapping[tuple[str, str], list[tuple[tuple[str, str], str]]], around: set[str]) -> list[tuple[str, str]]:
    """What was hunted, then the pages next to it, then others; each with the most relations first."""
    degrees: Counter[tuple[str, str]] = Counter({key: len(others) for key, others in near.items()})
    for others in near.values():
        degrees.update(other for other, _ in others)
    best = [key for key, _ in degrees.most_common()]
    hunted = {key for key in best if key[0] not in around}
    beside = {key for key in best if not hunted.isdisjoint(other for other, _ in near[key])}
    return sorted(best, key=lambda key: (key not in hunted, key not in beside))


def _labels(
    graph: PropertyGraph, kinds: frozenset[str], start: str
) -> tuple[dict[tuple[str, str], tuple[str, str]], list[tuple[str, str]]]:
    """What nodes are called and their URLs; and those that the start names."""
    labels: dict[tuple[str, str], tuple[str, str]] = {}
    found: list[tuple[str, str]] = []
    wanted = start.casefold()
    for table in graph.nodes:
        if kinds and table.label not in kinds:
            continue
        columns = list(table.columns)
        at = {name: columns.index(name) for name in ("title", "name", "url") if name in columns}
        for row in islice(table.rows(), _LOOKED_AT):
            key = (table.label, str(row[0]))
            names = [str(row[at[name]]) for name in ("title", "name", "url") if name in at and row[at[name]]]
            labels[key] = (names[0] if names else key[1], str(row[at["url"]] or "") if "url" in at else "")
            if wanted and len(found) < 20 and any(wanted in name.casefold() for name in (*names, ":".join(key))):
                found.append(key)
    return labels, found


def _walk_relations(
    near: Mapping[tuple[str, str], list[tuple[tuple[str, str], str]]],
    begin: Iterable[tuple[str, str]],
    chosen: dict[tuple[str, str], int],
    limit: int,
) -> bool:
    back: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for key, others in near.items():
        for other, _ in others:
            back.setdefault(other, []).append(key)
    waiting = deque(begin)
    for key in waiting:
        chosen.setdefault(key, len(chosen))
    while waiting:
        key = waiting.popleft()
        for other in (*(other for other, _ in near.get(key, ())), *back.get(key, ())):
            if other not in chosen:
                if len(chosen) >= limit:
                    return True
                chosen[other] = len(chosen)
                waiting.append(other)
    return False


def _finish(nodes: list[GraphNode], edges: list[GraphEdge], is_cut: bool) -> GraphPart:
    is_cut |= len(edges) > MOST_EDGES
    edges = edges[:MOST_EDGES]
    for edge in edges:
        nodes[edge.source].degree += 1
        nodes[edge.target].degree += 1
    for node in nodes:
        node.label = node.label[:200]
    return GraphPart(nodes, edges, is_cut)
