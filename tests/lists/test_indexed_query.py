"""Lists: any selection in any order, page after page, is what a plain look at all of it gives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.make_collection import add, make_collection

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.frontier.sqlite import schema
from lycosa.lists import indexed_query
from lycosa.lists.definition import LISTS, PAGES, URLS
from lycosa.lists.index import INDEX, ListIndex, opened_index
from lycosa.lists.indexed_query import IndexedQuery
from lycosa.lists.query import Choice, read_choice

HOSTS = 7
COUNT = 600


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of several hosts, and states, scores and depths that make many cells."""
    random.seed(3)
    pages = [
        (
            f"https://h{n % HOSTS}.example/{'river' if n % 3 else 'lake'}/{n}",
            "text/html",
            f"<p>{n}".encode() * (n % 9 + 1),
        )
        for n in range(COUNT)
    ]
    folder = make_collection(tmp_path_factory.mktemp("lists") / "c", pages)
    db = schema.connect(folder / "crawl.db")
    for n in range(1, COUNT + 1):
        values = (random.choice((0, 1, 6, 8)), random.choice(("", "robots", "scope")), random.random(), n % 5, n)
        db.execute("UPDATE url SET state = ?, reason = ?, score = ?, depth = ? WHERE n = ?", values)
    db.close()
    return folder


@pytest.fixture
def index(folder: Path) -> Iterator[ListIndex]:
    with opened_index(folder) as index, Collection(folder) as collection:
        index.refresh(collection)
        yield index


def collect(index: ListIndex, folder: Path, choice: Choice, *, limit: int = 37) -> list[str]:
    """The addresses of all pages of a list, one page after the other."""
    found: list[str] = []
    with Collection(folder) as collection:
        for _ in range(2000):
            query = IndexedQuery(
                index, URLS, Choice(choice.filters, choice.words, choice.sort, ("url",), choice.after, limit)
            )
            page = query.read(collection)
            found += [row[0] for row in page.rows]
            if not page.next:
                return found
            choice = Choice(choice.filters, choice.words, choice.sort, ("url",), page.next, limit)
    raise AssertionError("the list has no end")


CHOICES = (
    {},
    {"state": ("8",)},
    {"state": ("8", "6"), "reason": ("robots",)},
    {"host": ("h3.example",)},
    {"host": ("h3.example",), "state": ("1",)},
    {"depth": ("2",), "reason": ("",)},
)
SORTS = {
    "": "n",
    "url": "host, url",
    "-score": "score DESC, n DESC",
    "depth": "depth, n",
    "-fetched": "fetched_at DESC, n DESC",
}


@pytest.mark.parametrize("way", ["whole", "merge", "walk"])
@pytest.mark.parametrize("sort", SORTS)
def test_paging_gives_each_item_once_and_in_order(
    index: ListIndex, folder: Path, monkeypatch: pytest.MonkeyPatch, sort: str, way: str
) -> None:
    """Whichever of the three ways finds them, and also where a walk ends before a page is full."""
    if way != "whole":
        monkeypatch.setattr(indexed_query, "SMALL", 0)
        monkeypatch.setattr(indexed_query, "_MERGED", 400 if way == "merge" else 0)
        monkeypatch.setattr(indexed_query, "WALK", 50)
    for filters in CHOICES:
        where = " AND ".join(
            f"{'host.name' if name == 'host' else f'CAST(url.{name} AS TEXT)'} IN ({str(list(values))[1:-1]})"
            for name, values in filters.items()
        )
        order = SORTS[sort].replace("host, url", "host.name || ' ' || url.url")
        with Collection(folder) as collection:
            sql = f"SELECT url.url FROM url JOIN host USING (host) WHERE {where or 1} ORDER BY {order}"
            expected = [row[0] for row in collection.rows(sql)]
        assert collect(index, folder, Choice(filters, sort=sort)) == expected


def test_facets_count_the_selection_without_their_own_filter(index: ListIndex, folder: Path) -> None:
    """Exactly, from the cells alone."""
    with Collection(folder) as collection:
        page = IndexedQuery(index, URLS, Choice({"state": ("8",), "host": ("h1.example",)})).read(collection)
        facets = {facet.name: facet for facet in page.facets}
        sql = "SELECT state, count(*) FROM url JOIN host USING (host) WHERE host.name = 'h1.example' GROUP BY 1"
        states = {URLS.words["state"][state]: count for state, count in collection.rows(sql)}
        assert {value.value: value.count for value in facets["state"].values} == states
        sql = "SELECT host.name, count(*) FROM url JOIN host USING (host) WHERE state = 8 GROUP BY 1"
        assert {value.value: value.count for value in facets["host"].values} == dict(collection.rows(sql))
    assert all(facet.exact for facet in page.facets)
    assert [value.value for value in facets["state"].values if value.chosen] == ["rejected"]


def test_words_are_looked_for_in_the_address(index: ListIndex, folder: Path) -> None:
    """All of them, whatever their case; the facets count what fits."""
    found = collect(index, folder, Choice(words="LAKE h2.example"))
    assert found and all("lake" in url and "h2.example" in url for url in found)
    with Collection(folder) as collection:
        page = IndexedQuery(index, URLS, Choice(words="lake h2.example")).read(collection)
    hosts = next(facet for facet in page.facets if facet.name == "host")
    assert [(value.value, value.count) for value in hosts.values] == [("h2.example", len(found))]


@pytest.mark.parametrize("words", ["ÁRBOL", "Árbol", "árbol", "ñandú Árbol", "nandu arbol", "lodz", "weiss A.EXAMPLE"])
def test_words_of_titles_have_any_letters(tmp_path: Path, words: str) -> None:
    """Whatever the case and the accents of those that ASCII does not have."""
    folder = make_collection(tmp_path / "c", [("https://a.example/", "text/html", b"")])
    db = schema.connect(folder / "crawl.db")
    db.execute("UPDATE page SET title = 'ÑANDÚ en su Árbol, Łódź Weiß'")
    db.close()
    with opened_index(folder) as index, Collection(folder) as collection:
        index.refresh(collection)
        assert IndexedQuery(index, PAGES, Choice(words=words)).read(collection).rows


def test_a_refresh_follows_what_changes(tmp_path: Path) -> None:
    """New items, other states and lost items; and nothing is written where nothing changed."""
    folder = make_collection(tmp_path / "c", [(f"https://a.example/{n}", "text/html", b"%d" % n) for n in range(30)])
    with opened_index(folder) as index, Collection(folder) as collection:
        assert index.refresh(collection) == 30 + 30 + 1
        assert index.refresh(collection) == 0
        add(folder, [("https://b.example/", "text/plain", b"x")])
        db = schema.connect(folder / "crawl.db")
        db.execute("UPDATE url SET state = 6 WHERE n <= 10")
        db.close()
        index.refresh(collection)
        page = IndexedQuery(index, URLS, Choice()).read(collection)
        counts = {facet.name: {value.value: value.count for value in facet.values} for facet in page.facets}
        assert counts["state"] == {"fetched": 21, "gone": 10}
        assert counts["host"] == {"a.example": 30, "b.example": 1}
        db = schema.connect(folder / "crawl.db")
        db.execute("DELETE FROM page WHERE n > 20")
        db.execute("DELETE FROM url WHERE n > 20")
        db.close()
        index.refresh(collection)
        assert IndexedQuery(index, URLS, Choice()).read(collection).total == 20
        assert IndexedQuery(index, PAGES, Choice()).read(collection).total == 20


def test_the_index_may_be_deleted_or_damaged(tmp_path: Path) -> None:
    """It is made anew."""
    folder = make_collection(tmp_path / "c", [("https://a.example/", "text/html", b"x")])
    (folder / INDEX.name).write_bytes(b"no database " * 1000)
    with opened_index(folder) as index, Collection(folder) as collection:
        index.refresh(collection)
        assert IndexedQuery(index, URLS, Choice()).read(collection).total == 1


def test_every_cell_counts_its_items(index: ListIndex) -> None:
    """The sums of cells, kinds and hosts are those of the items."""
    for name in LISTS:
        items = Counter(row[0] for row in index.db.execute(f"SELECT cell FROM {name}_item"))
        cells = {row[0]: row[1] for row in index.db.execute(f"SELECT id, count FROM {name}_cell WHERE count <> 0")}
        assert items == cells
        for table in ("kind", "host"):
            assert index.db.execute(f"SELECT total(count) FROM {name}_{table}").get == sum(items.values())


@pytest.mark.parametrize(
    "query",
    [
        {"sort": ["size; DROP TABLE url"]},
        {"columns": ["url,nothing"]},
        {"state": ["asleep"]},
        {"limit": ["0"]},
        {"limit": ["1001"]},
        {"limit": ["٣"]},
    ],
)
def test_what_an_address_cannot_ask_for_is_said(query: dict[str, list[str]]) -> None:
    """With what it may ask for."""
    with pytest.raises(UsageError, match="allowed|there is"):
        read_choice(URLS, query)


@pytest.mark.parametrize("cursor", ["x", "bnVsbA", "W10", "!!!", "WyJhIiwiYiJd" * 500])
def test_a_damaged_cursor_is_a_sentence(index: ListIndex, folder: Path, cursor: str) -> None:
    """It came out of an address that somebody changed."""
    with Collection(folder) as collection, pytest.raises(UsageError, match="damaged"):
        IndexedQuery(index, URLS, Choice(after=cursor)).read(collection)
