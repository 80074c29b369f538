"""What is due for a quarry, what was done, and how that survives: the tables behind `lycosa extract`."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.sqlite.extraction_store import (
    DueDocument,
    ExtractedDocument,
    ExtractionStore,
    ForeignDocument,
    Label,
)
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Batch, Discovery, Outcome, PageRow, State
from lycosa.urls import host_of, url_id

ME = "here:0"
LABEL = Label("Spiders", "1", "hunt")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A collection of six pages: two with the same content, one of them a sitemap, one gone."""
    path = tmp_path / "crawl.db"
    SqliteFrontier.create(path, mission_toml="name = 'test'", now=1.0)
    frontier = SqliteFrontier(path)
    frontier.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=1e9)
    names = ["one", "two", "twin", "map", "gone", "six"]
    founds = [
        Discovery(url_id(url), url, host_of(url), via="sitemap" if "map" in url else "a") for url in map(at, names)
    ]
    frontier.commit(Batch(founds, [], [], [], {}), owner=ME, now=0.0)
    dones = []
    for n, name in enumerate(names, 1):
        page = PageRow(5.0, 200, digest=(b"two" if name == "twin" else name.encode()), warc="w", offset=n, length=1)
        if name == "gone":
            dones.append(Outcome(n, "a.test", State.GONE, http=404))
        else:
            dones.append(Outcome(n, "a.test", State.FETCHED, http=200, page=page))
    frontier.commit(Batch([], dones, [], [], {}), owner=ME, now=0.0)
    frontier.close()
    return path


def at(name: str) -> str:
    return f"http://a.test/{name}"


def names(due: list[DueDocument]) -> list[str]:
    return [one.url.rpartition("/")[2] for one in due]


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY) as db:
        return list(db.execute(sql))


def test_each_content_is_due_once(path: Path) -> None:
    """Not the page that repeats another, not a sitemap, not what is gone; in the order of arrival."""
    records = ExtractionStore(path, LABEL)
    assert names(records.due(after=0, limit=9)) == ["one", "two", "six"]
    assert records.count_due() == 3
    first = records.due(after=0, limit=1)[0]
    assert names(records.due(after=first.seq, limit=9)) == ["two", "six"]
    assert (first.warc, first.offset, first.length) == ("w", 1, 1)
    records.close()


def test_what_is_done_is_not_due_until_the_version_changes(path: Path) -> None:
    """Another version, `forget`, and a first strike make it due; the records are replaced, never doubled."""
    records = ExtractionStore(path, LABEL)
    one, two, six = records.due(after=0, limit=9)
    done = [
        ExtractedDocument(one, "done", records=(("k", '{"a":1}'), ("k", '{"a":2}'))),
        ExtractedDocument(two, "strike", "crash", 1),
        ExtractedDocument(six, "error", "ValueError: x"),
    ]
    records.commit(done, now=9.0)
    (again,) = records.due(after=0, limit=9)
    assert (again.url, again.strikes) == (at("two"), 1)
    records.commit([ExtractedDocument(two, "crash", "SIGSEGV", 1)], now=9.0)
    assert records.due(after=0, limit=9) == []
    records.forget(aside_only=True)
    assert names(records.due(after=0, limit=9)) == ["two", "six"]
    assert [due.strikes for due in records.due(after=0, limit=9)] == [0, 0]
    newer = ExtractionStore(path, Label("Spiders", "2", "hunt"))
    assert newer.count_due() == 3
    newer.commit([ExtractedDocument(one, "done", records=(("k", '{"a":3}'),))], now=9.0)
    assert rows(path, "SELECT json FROM record") == [('{"a":3}',)]
    other = ExtractionStore(path, Label("Flies", "1"))
    assert other.count_due() == 3
    other.commit([ExtractedDocument(one, "done", records=(("k", "{}"),))], now=9.0)
    assert rows(path, "SELECT count(*) FROM record") == [(2,)]
    newer.forget()
    assert newer.count_due() == 3
    assert rows(path, "SELECT count(*) FROM record") == [(2,)]  # until there are new ones
    for each in (records, newer, other):
        each.close()


def test_a_page_that_is_lost_takes_its_records_with_it(path: Path) -> None:
    """It is fetched again, and then due; a result that comes too late for it is not kept."""
    records = ExtractionStore(path, LABEL)
    one, two, _ = records.due(after=0, limit=9)
    records.commit([ExtractedDocument(one, "done", records=(("k", "{}"),))], now=9.0)
    frontier = SqliteFrontier(path)
    frontier.losses.requeue([one.row, two.row])
    assert rows(path, "SELECT count(*) FROM record") == rows(path, "SELECT count(*) FROM extracted") == [(0,)]
    records.commit([ExtractedDocument(two, "done", records=(("k", "{}"),))], now=9.0)
    assert rows(path, "SELECT count(*) FROM record") == [(0,)]
    frontier.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=1e9)
    page = PageRow(5.0, 200, digest=b"new", warc="w", offset=99, length=1)
    frontier.commit(Batch([], [Outcome(one.row, "a.test", State.FETCHED, page=page)], [], [], {}), owner=ME, now=0.0)
    assert names(records.due(after=0, limit=9)) == ["six", "one"]
    frontier.close()
    records.close()


def test_documents_of_other_archives_have_numbers_of_their_own(path: Path) -> None:
    """The same place is the same document, whenever it is met; done ones are not due."""
    records = ExtractionStore(path, LABEL)
    guests = [ForeignDocument(f"http://b.test/{n}", 5.0, b"d", "/x/y.warc.gz", n, 1) for n in range(3)]
    first = records.add_foreign(guests)
    assert [due.row for due in first if due] == [-1, -2, -3]
    assert first[0]
    records.commit([ExtractedDocument(first[0], "done", records=(("k", "{}"),))], now=9.0)
    again = records.add_foreign(guests)
    assert [due and due.row for due in again] == [None, -2, -3]
    records.close()
