"""Lists over a table: any selection in any order, page after page, is what a plain look at all of it gives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace
from support.make_collection import make_collection

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.lists.definition import ListCondition, OpenTable, TableList
from lycosa.lists.query import ListPage, read_choice
from lycosa.lists.table_query import KeptTable, TableQuery

COUNT = 300
BIRDS = TableList(
    name="birds",
    columns=("name", "colour", "weight", "songs", "rare"),
    shown=("name", "weight"),
    facets=("colour", "songs"),
    keys={"name": "TEXT", "weight": "REAL", "age": "INTEGER"},
    sort="name",
    page_size=20,
    open=lambda folder: None,  # type: ignore[arg-type, return-value]
    items="bird",
    expressions={"age": "item.n % 7"},
    many={"songs": "SELECT bird AS n, value FROM song"},
    conditions={"least": ListCondition(label="At least", sql="item.weight >= ?", otherwise="item.weight >= 0")},
    text="item.name",
    json=frozenset({"songs"}),
    flags=frozenset({"rare"}),
    unasked={"colour": ()},
)


#: The same, with one facet that is counted by itself.
WIDE_BIRDS = replace(BIRDS, wide=frozenset({"colour"}))


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = make_collection(tmp_path_factory.mktemp("tables") / "c", [("https://a.example/", "text/html", b"x")])
    with Collection(folder) as collection:
        yield collection


@pytest.fixture
def birds() -> Iterator[apsw.Connection]:
    """Birds in colours, with songs of which each may have several, or none."""
    random.seed(5)
    with closing(apsw.Connection(":memory:")) as db:
        db.execute("CREATE TABLE bird (n INTEGER PRIMARY KEY, name, colour, weight REAL, songs, rare)")
        db.execute("CREATE TABLE song (bird, value)")
        for n in range(1, COUNT + 1):
            name = f"{random.choice(('Río', 'Lake', 'ÁRBOL'))} bird {random.randrange(50)}"
            row = (n, name, random.choice(("red", "grey", "")), random.randrange(-3, 30), '["a"]', n % 2)
            db.execute("INSERT INTO bird VALUES (?, ?, ?, ?, ?, ?)", row)
            for value in {random.choice("abcd") for _ in range(n % 3)}:
                db.execute("INSERT INTO song VALUES (?, ?)", (n, value))
        yield db


def read(db: apsw.Connection, collection: Collection, one: TableList = BIRDS, **query: list[str]) -> ListPage:
    db.execute("DROP TABLE IF EXISTS temp.counted")
    return TableQuery(OpenTable(db, Path("birds.db")), one, read_choice(one, query)).read(collection)


def counts(page: ListPage, facet: str) -> dict[str, int]:
    return {value.value: value.count for each in page.facets if each.name == facet for value in each.values}


@pytest.mark.parametrize("sort", ["", "found", "-found", "-name", "weight", "-weight", "-age"])
def test_paging_gives_each_item_once_and_in_order(birds: apsw.Connection, collection: Collection, sort: str) -> None:
    """By cursor as by the number of the page, where many have the same key."""
    key = {"": "name", "name": "name", "weight": "weight", "age": "n % 7"}.get(sort.removeprefix("-"), "n")
    way = "DESC" if sort.startswith("-") else ""
    sql = f"SELECT name, weight FROM bird WHERE weight >= 0 ORDER BY {key} {way}, n {way}"
    expected = [[name, weight] for name, weight in birds.execute(sql)]
    found: list[list[Any]] = []
    after = ""
    for number in range(1, COUNT):
        page = read(birds, collection, sort=[sort], after=[after])
        assert page.skipped == (number - 1) * 20
        assert page.rows == read(birds, collection, sort=[sort], page=[str(number)]).rows
        found += page.rows
        if not (after := page.next):
            break
    assert found == expected and page.total == len(expected)


@pytest.mark.parametrize("one", [BIRDS, WIDE_BIRDS], ids=["together", "by itself"])
def test_facets_count_the_selection_without_their_own_filter(
    birds: apsw.Connection, collection: Collection, one: TableList
) -> None:
    """Also those of which an item has several values, or none."""
    page = read(birds, collection, one, colour=["red", "none"], songs=["a"])
    where = "weight >= 0 AND n IN (SELECT bird FROM song WHERE value = 'a')"
    colours = Counter(row[0] or "none" for row in birds.execute(f"SELECT colour FROM bird WHERE {where}"))
    assert counts(page, "colour") == colours
    where = "weight >= 0 AND colour IN ('red', '')"
    songs = birds.execute(f"SELECT value, count(*) FROM song JOIN bird ON n = bird WHERE {where} GROUP BY 1")
    assert counts(page, "songs") == dict(songs)
    assert page.total == colours["red"] + colours["none"] and page.whole > page.total


def test_conditions_and_words_narrow_a_list(birds: apsw.Connection, collection: Collection) -> None:
    """A condition holds otherwise where it is not asked for; words stand anywhere, in any letters."""
    assert read(birds, collection, least=["20"]).total == birds.execute("SELECT sum(weight >= 20) FROM bird").get
    page = read(birds, collection, q=["arbol BIRD"])
    assert page.total == sum(counts(page, "colour").values()) > 0
    assert all(row[0].startswith("ÁRBOL") for row in page.rows)


def test_an_item_has_all_that_is_known_of_it(birds: apsw.Connection, collection: Collection) -> None:
    """Whatever columns are shown; JSON is read, and a flag is yes or no."""
    entry = read(birds, collection, columns=["colour"], limit=["1"]).entries[0]
    assert set(entry) == set(BIRDS.columns) and entry["songs"] == ["a"] and isinstance(entry["rare"], bool)


def test_a_number_of_a_page_beyond_the_last_is_the_last(birds: apsw.Connection, collection: Collection) -> None:
    """What is no number is a sentence."""
    assert read(birds, collection, page=["999"]).rows and not read(birds, collection, page=["999"]).next
    with pytest.raises(UsageError, match="allowed"):
        read(birds, collection, page=["x"])


def test_a_kept_table_is_made_again_when_its_mark_changes() -> None:
    """Every reader has a copy of its own."""
    made: list[int] = []
    kept = KeptTable("CREATE TABLE t (n)")

    def fill(database: apsw.Connection) -> None:
        made.append(1)
        database.execute("INSERT INTO t VALUES (?)", (len(made),))

    for mark, expected in (("a", 1), ("a", 1), ("b", 2)):
        with kept.opened("place", mark, fill) as database:
            assert database.execute("SELECT n FROM t").get == expected
            database.execute("DELETE FROM t")
