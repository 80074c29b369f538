"""The web graph and its inverse: edges of pages, hosts and domains, and who links to a URL."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa import Collection, urls
from lycosa.cli.main import main
from lycosa.collection import graph
from lycosa.export.web_graph import opened_graph
from lycosa.frontier import link_codec
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.graph.files import write_graphml
from lycosa.model import Batch, Discovery, Outcome, PageRow, State

AT = 1_700_000_000.0
Pages = dict[str, list[tuple[str, str, bool]]]
NS = "{http://graphml.graphdrawing.org/xmlns}"

WEB: Pages = {
    "http://a.test/": [
        ("http://a.test/1", "one", True), ("http://a.test/1", "", True), ("http://b.example.org/", "b & <b>", True),
    ],
    "http://a.test/1": [("http://a.test/", "", True), ("http://c.example.org/x", "named\x00 only", False)],
    "http://b.example.org/": [("http://a.test/1", "from b", True)],
}  # fmt: skip


def make(folder: Path, pages: Pages, *, moved: dict[str, str] | None = None) -> Path:
    """A collection that holds these pages with their links, and redirects."""
    (folder / "archive").mkdir(parents=True)
    SqliteFrontier.create(folder / "crawl.db", mission_toml="", now=AT)
    frontier = SqliteFrontier(folder / "crawl.db")
    every = dict.fromkeys((*pages, *(moved or {}), *(row[0] for rows in pages.values() for row in rows if row[2])))
    frontier.seeds.add([Discovery(urls.url_id(url), url, urls.host_of(url), seed=True) for url in every])
    frontier.leases.acquire("me:0", want=256, now=AT, ttl_s=1e9)
    done = []
    for url in [*pages, *(moved or {})]:
        row = frontier.known.find(url)
        assert row is not None
        page = PageRow(AT, 200, mime="text/html", title=f"Title of {url}", links=link_codec.pack(pages.get(url, [])))
        state = State.MOVED if url in (moved or {}) else State.FETCHED
        onward = (moved or {}).get(url, "")
        kept = page if state == State.FETCHED else None
        done.append(Outcome(row.row, urls.host_of(url), int(state), http=200, at=AT, page=kept, redirect=onward))
    frontier.commit(Batch([], done, hosts=[], robots=[], trap_counts={}), owner="me:0", now=AT)
    frontier.close()
    (folder / "lycosa.toml").write_text("")
    return folder


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Collection(make(tmp_path / "c", WEB, moved={"http://old.test/": "http://a.test/1"})) as opened:
        yield opened


def test_who_links_to_a_url(collection: Collection) -> None:
    """Every link with its page and text, redirects included; an address that nobody links to has none."""
    found = [(link.source, link.text, link.accepted, link.kind) for link in collection.inlinks("http://A.test/1")]
    assert found == [
        ("http://a.test/", "one", True, "link"),
        ("http://a.test/", "", True, "link"),
        ("http://b.example.org/", "from b", True, "link"),
        ("http://old.test/", "", True, "redirect"),
    ]
    assert [link.accepted for link in collection.inlinks("http://c.example.org/x")] == [False]
    assert not list(collection.inlinks("http://a.test/1/")) and not list(collection.inlinks("nonsense"))


def test_the_graph_of_pages(collection: Collection) -> None:
    """Links from one page to the same target are one edge with their number and the first text."""
    edges = {(edge.source, edge.target): (edge.links, edge.text, edge.kind) for edge in collection.graph()}
    assert edges["http://a.test/", "http://a.test/1"] == (2, "one", "link")
    assert edges["http://old.test/", "http://a.test/1"] == (1, "", "redirect")
    assert len(edges) == 6
    assert {edge.source for edge in collection.graph(host="*.example.org")} == {"http://b.example.org/"}


@pytest.mark.parametrize("spill", [1, 200_000])
def test_the_graph_of_hosts_and_domains(collection: Collection, spill: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links are added up between groups, also when the sums do not fit into memory."""
    monkeypatch.setattr(graph, "SPILL", spill)
    hosts = {(edge.source, edge.target): (edge.links, edge.pages) for edge in collection.graph(by="host")}
    assert hosts == {
        ("a.test", "a.test"): (3, 2),
        ("a.test", "b.example.org"): (1, 1),
        ("a.test", "c.example.org"): (1, 1),
        ("b.example.org", "a.test"): (1, 1),
        ("old.test", "a.test"): (1, 1),
    }
    domains = {(edge.source, edge.target): edge.links for edge in collection.graph(by="domain")}
    assert domains["a.test", "example.org"] == 2


@pytest.mark.parametrize("by", graph.NODES)
def test_graphml_is_well_formed_and_whole(collection: Collection, by: graph.By) -> None:
    """Every edge of the listing is in it, between nodes that it names before, also for a target that has no row."""
    out = io.StringIO()
    with opened_graph(collection.database, by=by) as made:
        count = write_graphml(made, out)
    tree = ElementTree.fromstring(out.getvalue().encode())
    key = "n_url" if by == "page" else "n_name"
    names = {node.get("id"): node.findtext(f"{NS}data[@key='{key}']") for node in tree.iter(f"{NS}node")}
    found = {
        (names[edge.get("source")], names[edge.get("target")]): float(edge.findtext(f"{NS}data[@key='e_weight']") or 0)
        for edge in tree.iter(f"{NS}edge")
    }
    assert found == {(edge.source, edge.target): edge.links for edge in collection.graph(by=by)}
    assert count == len(found)


URLS = st.sampled_from([f"http://h{n % 3}.test/{n}" for n in range(8)])
ROWS = st.lists(st.tuples(URLS, st.text("ab", max_size=2), st.booleans()), max_size=6)


@settings(max_examples=15, deadline=None)
@given(pages=st.dictionaries(URLS, ROWS, max_size=6))
def test_inverse_links_are_the_links_turned_round(tmp_path_factory: pytest.TempPathFactory, pages: Pages) -> None:
    """Whatever the pages, each link is there once, sorted by its target; asking for one URL gives the same."""
    expected = Counter((row[0], url, row[1], row[2]) for url, rows in pages.items() for row in rows)
    with Collection(make(tmp_path_factory.mktemp("graph") / "c", pages)) as collection:
        inverse = list(graph.list_inlinks(collection.database))
        assert Counter(row[:4] for row in inverse) == expected
        assert [row[0] for row in inverse] == sorted(row[0] for row in inverse)
        for target in {row[0] for row in inverse}:
            single = Counter((target, link.source, link.text, link.accepted) for link in collection.inlinks(target))
            assert single == Counter({row: count for row, count in expected.items() if row[0] == target})


def test_exports(collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As lists, as GraphML by the name of the file, of one URL; options that do not belong are refused."""

    def run(*words: str, code: int = 0) -> str:
        assert main(["export", *words, "-c", str(collection.path)]) == code
        said = capsys.readouterr()
        return said.out + said.err

    rows = [json.loads(line) for line in run("graph", "--by", "host").splitlines()]
    assert rows[0] == {"source": "a.test", "target": "a.test", "links": 3, "pages": 2}
    assert run("graph", "--format", "csv").splitlines()[0] == "source,target,links,anchor,accepted,kind"
    assert "6 edges" in run("graph", "-o", str(tmp_path / "g.graphml"))
    assert ElementTree.parse(tmp_path / "g.graphml").getroot().tag == f"{NS}graphml"
    assert len(run("inlinks").splitlines()) == 6
    assert len(run("inlinks", "--url", "a.test/1").splitlines()) == 4
    assert len(run("inlinks", "--host", "*.example.org").splitlines()) == 2
    for words in (["links", "--by", "host"], ["graph", "--url", "a.test"], ["urls", "--format", "graphml"]):
        assert "goes with" in run(*words, code=2)
