"""Health: the share of pages on which each field is found, drops, and rules that mend them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import run
from support.make_collection import AT, make_collection

from lycosa import Collection
from lycosa.frontier.sqlite.extraction_store import ExtractedDocument, ExtractionStore, Label
from lycosa.missions.records.database import open_store
from lycosa.missions.records.health import FieldHealth, HealthStep, find_drops, measure_health
from lycosa.missions.records.schema import Schema, load_schema
from lycosa.parse import read

OLD = """
[schema]
name = "book"
[fields.title]
rule = "css:h1"
[fields.price]
rule = "css:b.price"
"""
NEW = OLD.replace("b.price", "b.amount")


def page(n: int) -> bytes:
    return (
        f"<title>Shop</title><h1>Book number {n}</h1><p>Price: <b class=price>{n + 10}.50 EUR</b><p>Stock: {n}".encode()
    )


def extract(folder: Path, schema: Schema, version: str, at: float) -> None:
    """Extract the pages of a collection by a schema."""
    import msgspec

    store = ExtractionStore(folder / "crawl.db", Label("toy", version))
    rows = []
    with Collection(folder) as collection:
        for due in store.due(after=0, limit=1000):
            found = collection.page(due.url)
            assert found is not None
            records = schema.extract(read(due.url, {"content-type": "text/html"}, found.body))
            texts = tuple((record.schema, msgspec.json.encode(record.as_dict()).decode()) for record in records)
            rows.append(ExtractedDocument(due, "done", records=texts))
    store.commit(rows, now=at)
    store.close()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Twenty pages that are read by a schema, then by one whose rule for the price finds nothing."""
    pages = [(f"https://shop.example/{n}", "text/html", page(n)) for n in range(20)]
    folder = make_collection(tmp_path / "collection", pages)
    extract(folder, load_schema(OLD), "1", AT + 10)
    open_store(folder).close()
    extract(folder, load_schema(NEW), "2", AT + 20)
    return folder


def test_shares_are_told_over_time(shop: Path) -> None:
    """By kind, host, field, round and version of the rules."""
    with open_store(shop) as store:
        found = {each.field: each for each in measure_health(store)}
    assert found["title"].steps == (HealthStep(1, "1", 20, 1.0), HealthStep(1, "2", 20, 1.0))
    assert found["price"].steps == (HealthStep(1, "1", 20, 1.0), HealthStep(1, "2", 20, 0.0))
    assert found["price"].has_dropped and not found["title"].has_dropped


def test_a_drop_is_told_with_pages_and_a_rule(shop: Path) -> None:
    """The rule is learned from the pages and what they gave before, and tried on the other pages."""
    with Collection(shop) as collection, open_store(shop) as store:
        (drop,) = find_drops(store, collection)
    assert drop.health.field == "price" and len(drop.examples) == 5
    assert drop.proposal is not None
    assert drop.proposal.pages == drop.proposal.right > 0
    assert "book.price in shop.example was found on 0% of 20 pages" in drop.tell()
    assert "with other rules (2)" in drop.tell()


def test_a_value_that_was_converted_is_found_as_the_page_writes_it(tmp_path: Path) -> None:
    """The rule before is told, too, where the rules are kept."""
    old = OLD + 'convert = "price"\n'
    pages = [(f"https://shop.example/{n}", "text/html", page(n)) for n in range(8)]
    folder = make_collection(tmp_path / "collection", pages)
    extract(folder, load_schema(old), "1", AT + 10)
    with open_store(folder) as store:
        fields = {"price": {"rule": "css:b.price", "convert": "price"}}
        store.describe("1", {"schemas": {"book": {"fields": fields}}})
        store.describe("2", {"schemas": {"book": {"fields": {"price": {"rule": "css:b.amount"}}}}})
    extract(folder, load_schema(NEW), "2", AT + 20)
    with Collection(folder) as collection, open_store(folder) as store:
        (drop,) = find_drops(store, collection)
    assert drop.former == ("css:b.price",)
    assert drop.proposal is not None and drop.proposal.right == drop.proposal.pages == 4


def test_a_page_that_loses_its_record_counts(tmp_path: Path) -> None:
    """None of its fields is found there."""
    pages = [(f"https://shop.example/{n}", "text/html", page(n)) for n in range(4)]
    folder = make_collection(tmp_path / "collection", pages)
    extract(folder, load_schema(OLD), "1", AT + 10)
    open_store(folder).close()
    extract(folder, load_schema(OLD.replace("css:b.price", "css:i") + "required = true\n"), "2", AT + 20)
    with Collection(folder) as collection, open_store(folder) as store:
        assert {drop.health.field for drop in find_drops(store, collection)} == {"title", "price"}


@pytest.mark.parametrize(
    ("steps", "dropped"),
    [
        ([(20, 1.0)], False),
        ([(20, 1.0), (2, 0.0)], False),
        ([(20, 1.0), (20, 0.95)], False),
        ([(20, 1.0), (20, 0.5)], True),
        ([(20, 0.5), (10, 0.4)], False),
        ([(100, 0.3), (100, 0.05)], True),
        ([(20, 0.0), (20, 1.0)], False),
    ],
)
def test_chance_is_no_drop(steps: list[tuple[int, float]], dropped: bool) -> None:
    """Few pages, or a share that varies anyway, are not told."""
    history = tuple(HealthStep(n, "1", pages, share) for n, (pages, share) in enumerate(steps, 1))
    assert FieldHealth("a", "b", "c", history).has_dropped is dropped


def test_the_verb_tells_people_and_programs(shop: Path) -> None:
    """A table with the drops under it; rows with examples and the rule."""
    said = run("health", "--collection", str(shop), "--format", "table")
    assert said.code == 0
    assert "was found on 0% of 20 pages" in said.output
    said = run("health", "--collection", str(shop), "--drops", "--format", "csv")
    assert said.code == 0
    assert said.output.splitlines()[0] == "kind,area,field,round,rules,pages,share,before,examples,rule"
    assert said.output.splitlines()[2].startswith("book,shop.example,price,1,2,20,0.0,1.0,https://shop.example/")


def test_the_report_has_the_health(shop: Path, tmp_path: Path) -> None:
    """As a section of the page about the records."""
    file = tmp_path / "report.html"
    assert run("report", "records", "--collection", str(shop), "-o", str(file)).code == 0
    assert "was found on 0% of 20 pages" in file.read_text()
