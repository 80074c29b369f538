"""Graphs: the part that was asked for, within its bounds, and a layout that keeps neighbours near."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest
from support.looked_at_web import make_looked_at
from support.serve_client import ServeClient, serving

from lycosa.graph.properties import ColumnType, NodeTable, PropertyGraph, RelationTable
from lycosa.serve.graph_data import lay_out, read_property_graph


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeClient]:
    root = tmp_path_factory.mktemp("drawn")
    make_looked_at(root / "web")
    with serving(root) as client:
        yield client


def test_neighbours_are_near_each_other() -> None:
    """On a ring each node is nearer to its neighbours than to most others."""
    count = 60
    places = lay_out(count, [(n, (n + 1) % count) for n in range(count)])
    beside = sum(math.dist(places[n], places[(n + 1) % count]) for n in range(count)) / count
    any_two = sum(math.dist(places[n], places[(n + 29) % count]) for n in range(count)) / count
    assert beside < any_two / 3


@pytest.mark.parametrize("count", [0, 1, 2, 500, 2000])
def test_places_are_numbers_within_the_square(count: int) -> None:
    """Whatever the edges: none, loops, the same twice."""
    random.seed(count)
    edges = [(random.randrange(count), random.randrange(count)) for _ in range(count)] * 2 if count else []
    places = lay_out(count, edges)
    assert len(places) == count
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in places)
    assert places == lay_out(count, edges)


def test_hosts_pages_and_the_missions_own_are_drawn(client: ServeClient) -> None:
    """Each with a way to the page about it."""
    hosts = client.get("/c/web/graph.json?by=host").json["part"]
    assert {node["label"] for node in hosts["nodes"]} == {"site.example", "other.example", "outside.example"}
    assert all(node["address"].startswith("/c/web/host?name=") for node in hosts["nodes"])
    assert client.get("/c/web/graph.json?by=domain").json["part"]["nodes"]
    pages = client.get("/c/web/graph.json?by=page").json["part"]
    labels = {node["label"] for node in pages["nodes"]}
    assert {"Rivers of the plain", "About us", "Other lake"} <= labels
    assert any(node["kind"] == "not stored" for node in pages["nodes"])
    assert client.get("/c/web/graph.json?by=mission").json["by"] == "page"  # this mission brings none


def test_the_part_around_a_start_is_bounded(client: ServeClient) -> None:
    """The start is in it, and it says that there is more."""
    graph = client.get("/c/web/graph.json?by=page&start=http://site.example/about&limit=3").json["part"]
    assert len(graph["nodes"]) == 3 and graph["is_cut"]
    assert graph["nodes"][0]["key"] == "http://site.example/about"
    around = client.get("/c/web/graph.json?by=host&start=other.example").json["part"]
    assert "site.example" in {node["key"] for node in around["nodes"]}
    assert client.get("/c/web/graph.json?by=domain&start=http://other.example/x").json["part"]["edges"]
    typed = client.get("/c/web/graph.json?by=page&start=site.example").json["part"]
    assert typed["nodes"][0]["key"] == "http://site.example/"
    for by in ("host", "domain", "page"):
        nothing = client.get(f"/c/web/graph?by={by}&start=nothing.invalid").text
        assert "Nothing of this name is in the graph." in nothing
    assert client.get("/c/web/graph.json?by=page&host=other.example").json["part"]["nodes"][0]["label"] == "Other lake"


def test_a_missions_graph_is_cut_to_what_was_asked_for() -> None:
    """Around a name, of some kinds, or the best linked nodes."""
    people = NodeTable(
        "Author", {"key": "STRING", "name": "STRING"}, lambda: iter([(f"a{n}", f"Ana {n}") for n in range(9)])
    )
    papers = NodeTable(
        "Pdf",
        {"key": "STRING", "title": "STRING", "url": "STRING"},
        lambda: iter([("p", "Rivers", "https://a.example/")]),
    )
    wrote = RelationTable("HasAuthor", "Pdf", "Author", {}, lambda: iter([("p", f"a{n}") for n in range(8)]))
    graph = PropertyGraph((people, papers), (wrote,), "1")
    part = read_property_graph(graph, start="", kinds=frozenset(), limit=4)
    assert part.nodes[0].label == "Rivers" and part.nodes[0].address == "https://a.example/" and part.is_cut
    part = read_property_graph(graph, start="ana 3", kinds=frozenset(), limit=100)
    assert [node.label for node in part.nodes[:2]] == ["Ana 3", "Rivers"] and len(part.edges) == 8
    part = read_property_graph(graph, start="", kinds=frozenset({"Author"}), limit=100)
    assert {node.kind for node in part.nodes} == {"Author"} and part.edges == []


def test_what_was_hunted_comes_before_the_pages_around_it() -> None:
    """However many links pages have among each other; those that lead to it come before the others."""
    key: dict[str, ColumnType] = {"key": "STRING"}
    pages = NodeTable("Html", key, lambda: iter([(f"h{n}",) for n in range(460)]), is_around=True)
    papers = NodeTable("Pdf", key, lambda: iter([(f"p{n}",) for n in range(9)]))
    links = RelationTable(
        "Links", "Html", "Html", {}, lambda: ((f"h{n}", f"h{m}") for n in range(460) for m in range(460))
    )
    gathered = RelationTable("Links", "Html", "Pdf", {}, lambda: iter([(f"h{50 + n}", f"p{n}") for n in range(5)]))
    graph = PropertyGraph((pages, papers), (links, gathered), "1")
    part = read_property_graph(graph, start="", kinds=frozenset(), limit=14)
    assert {node.key for node in part.nodes} == {f"Pdf:p{n}" for n in range(9)} | {f"Html:h{50 + n}" for n in range(5)}
    assert part.is_cut


def test_the_table_tells_what_the_drawing_shows(client: ServeClient) -> None:
    """For people who see no drawing, and without scripts."""
    text = client.get("/c/web/graph?by=page").text
    assert "Rivers of the plain</a>" in text and "<script>window" not in text
