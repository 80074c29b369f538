"""The records database: what it takes from the crawl's, and what became of records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import pytest
from support.make_collection import AT, make_collection

from lycosa.errors import CollectionError, Damaged
from lycosa.frontier.sqlite.extraction_store import ExtractedDocument, ExtractionStore, Label
from lycosa.missions.records.database import NewRecord, RecordStore, open_store
from lycosa.missions.records.database.model import RecordChange
from lycosa.missions.records.record_changes import net_changes

Records = Iterable[tuple[str, dict[str, Any]]]


def make(folder: Path, count: int = 3) -> Path:
    pages = ((f"https://a.example/{n}", "text/html", f"<p>{n}".encode()) for n in range(count))
    return make_collection(folder / "collection", pages)


def extract(
    folder: Path, found: dict[str, Records], *, version: str = "1", quarry: str = "toy", at: float = AT + 10
) -> None:
    """Commit what a quarry found, by the path of the page."""
    store = ExtractionStore(folder / "crawl.db", Label(quarry, version, quarry))
    due = store.due(after=0, limit=1000)
    rows = [
        ExtractedDocument(
            one, "done", records=tuple((kind, json.dumps(data)) for kind, data in found.get(one.url[18:], ()))
        )
        for one in due
    ]
    store.commit(rows, now=at)
    store.close()


def visit(folder: Path, path: str, event: str, *, round: int, body: bytes = b"") -> None:
    """Note what a later round found at a page."""
    database = apsw.Connection(str(folder / "crawl.db"))
    (n,) = database.execute("SELECT n FROM url WHERE url = ?", (f"https://a.example/{path}",)).fetchone()
    at = AT + 100 * round
    with database:
        database.execute("INSERT OR IGNORE INTO round (round, at, started, ended) VALUES (?1, ?2, ?2, ?2)", (round, at))
        database.execute("INSERT INTO visit VALUES (?, ?, ?, ?, 200, '', 0, 0)", (round, n, event, at))
        if body:
            digest = body.ljust(20, b".")
            row = (n, round, at, digest)
            database.execute(
                "INSERT INTO page (n, round, fetched_at, digest, warc, offset) VALUES (?,?,?,?,'w',7)", row
            )
            database.execute("UPDATE url SET digest = ? WHERE n = ?", (digest, n))
            if database.execute("SELECT 1 FROM content WHERE digest = ?", (digest,)).get is None:
                database.execute("INSERT INTO content (digest, n, round) VALUES (?, ?, ?)", (digest, n, round))
    database.close()


def told(changes: Iterable[RecordChange]) -> list[tuple[str, str, str, str]]:
    return [(change.what, change.cause, change.record.url[18:], change.record.key) for change in changes]


def test_records_come_with_their_provenance(tmp_path: Path) -> None:
    """Page, archive record, rules version; a second look brings nothing new."""
    folder = make(tmp_path)
    extract(folder, {"0": [("album", {"title": "Blue", "@category": "music", "@range": "shop"})]})
    with open_store(folder) as store:
        (record,) = store.records("album")
        assert (record.url, record.host, record.category, record.range) == (
            "https://a.example/0", "a.example", "music", "shop",
        )  # fmt: skip
        assert record.warc.endswith(".warc.gz") and record.offset > 0 and record.fetched_at == AT
        assert (record.rules_version, record.quarry, record.number, record.gone) == ("1", "toy", 1, False)
        assert record.fields == {"title": "Blue"}
        assert store.refresh() == {"new": 0, "changed": 0, "gone": 0, "back": 0}
        assert told(store.changes()) == [("new", "page", "0", "")]


def test_other_rules_make_versions(tmp_path: Path) -> None:
    """The cause is told; a record whose fields are the same has no new version, but the new rules."""
    folder = make(tmp_path)
    extract(folder, {"0": [("album", {"title": "Blue"})], "1": [("album", {"title": "Red"})]})
    open_store(folder).close()
    extract(
        folder, {"0": [("album", {"title": "Blue", "price": 9.5})], "1": [("album", {"title": "Red"})]}, version="2"
    )
    with open_store(folder) as store:
        (change,) = store.changes(after=2)
        assert (change.what, change.cause, change.record.number) == ("changed", "rules", 2)
        assert [(field.name, field.before, field.after) for field in change.fields] == [("price", None, 9.5)]
        assert [record.rules_version for record in store.records()] == ["2", "2"]
        assert [version.data for version in store.versions(1)] == [{"title": "Blue"}, {"title": "Blue", "price": 9.5}]


def test_a_page_that_changes_goes_and_comes_back(tmp_path: Path) -> None:
    """Each event is a version, in its round."""
    folder = make(tmp_path)
    extract(folder, {"0": [("album", {"title": "Blue"})]})
    open_store(folder).close()
    visit(folder, "0", "changed", round=2, body=b"new")
    open_store(folder).close()  # not extracted yet: the record stays as it is
    extract(folder, {"0": [("album", {"title": "Azure"})]}, at=AT + 250)
    open_store(folder).close()
    visit(folder, "0", "gone", round=3)
    open_store(folder).close()
    visit(folder, "0", "back", round=4)
    with open_store(folder) as store:
        changes = list(store.changes())
        assert [(change.what, change.round) for change in changes] == [
            ("new", 1),
            ("changed", 2),
            ("gone", 3),
            ("back", 4),
        ]
        assert changes[1].before == {"title": "Blue"} and changes[2].after is None
        assert changes[3].before == changes[3].after == {"title": "Azure"}
        assert told(change for change in store.changes() if change.round > 2) == [
            ("gone", "page", "0", ""),
            ("back", "page", "0", ""),
        ]


def test_a_collection_without_a_records_database_gets_the_versions_of_its_rounds(tmp_path: Path) -> None:
    """The copies of a page are gone through in their order."""
    folder = make(tmp_path)
    visit(folder, "0", "changed", round=2, body=b"new")
    extract(folder, {"0": [("album", {"title": "Blue"})]})
    database = apsw.Connection(str(folder / "crawl.db"))
    database.execute('UPDATE record SET json = \'{"title": "Azure"}\' WHERE round = 2')
    database.close()
    with open_store(folder) as store:
        assert [(change.what, change.round) for change in store.changes()] == [("new", 1), ("changed", 2)]


def test_pages_with_the_same_content_share_a_record(tmp_path: Path) -> None:
    """When the page that has it changes, the next one with that content has it."""
    pages = [("https://a.example/0", "text/html", b"<p>same"), ("https://a.example/1", "text/html", b"<p>same")]
    folder = make_collection(tmp_path / "collection", pages)
    extract(folder, {"0": [("album", {"title": "Blue"})]})
    with open_store(folder) as store:
        assert [record.url for record in store.records()] == ["https://a.example/0"]
    visit(folder, "0", "changed", round=2, body=b"other")
    extract(folder, {"0": [("album", {"title": "Red"})]}, at=AT + 250)
    with open_store(folder) as store:
        found = {record.url: record.fields["title"] for record in store.records()}
        assert found == {"https://a.example/0": "Red", "https://a.example/1": "Blue"}


def test_records_of_one_page_are_known_again(tmp_path: Path) -> None:
    """By the key of their rules, else by the first value, else by what they hold and their place."""
    folder = make(tmp_path, 1)
    extract(
        folder,
        {"0": [("a", {"name": "x", "n": 1}), ("a", {"name": "y", "n": 2}), ("b", {"v": 1}), ("b", {"v": 1, "w": 2})]},
    )
    open_store(folder).close()
    extract(
        folder,
        {
            "0": [
                ("a", {"name": "y", "n": 3}),
                ("a", {"name": "z", "n": 1}),
                ("b", {"v": 1, "w": 2}),
                ("b", {"v": 1, "w": 3}),
            ]
        },
        version="2",
    )
    with open_store(folder) as store:
        found = [(change.what, change.record.kind, change.before, change.after) for change in store.changes(after=4)]
        assert ("changed", "a", {"name": "y", "n": 2}, {"name": "y", "n": 3}) in found
        assert ("new", "a", None, {"name": "z", "n": 1}) in found
        assert ("gone", "a", {"name": "x", "n": 1}, None) in found
        assert ("changed", "b", {"v": 1}, {"v": 1, "w": 3}) in found
        assert len(found) == 4


def test_an_only_record_is_known_by_its_page(tmp_path: Path) -> None:
    """Also when its first field changes."""
    folder = make(tmp_path, 1)
    extract(folder, {"0": [("a", {"title": "Old title", "n": 1})]})
    open_store(folder).close()
    extract(folder, {"0": [("a", {"title": "New title", "n": 1})]}, version="2")
    with open_store(folder) as store:
        assert [change.what for change in store.changes()] == ["new", "changed"]


def test_records_of_several_quarries_stand_side_by_side(tmp_path: Path) -> None:
    """Each replaces its own."""
    folder = make(tmp_path, 1)
    extract(folder, {"0": [("a", {"n": 1})]}, quarry="one")
    extract(folder, {"0": [("a", {"n": 2})]}, quarry="two")
    extract(folder, {}, quarry="one", version="2")
    with open_store(folder) as store:
        assert [(record.quarry, record.gone) for record in store.records(gone=True)] == [("two", False)]


def test_an_extraction_that_failed_takes_nothing_away(tmp_path: Path) -> None:
    """A page that was set aside keeps the records that are known."""
    folder = make(tmp_path, 1)
    extract(folder, {"0": [("a", {"n": 1})]})
    open_store(folder).close()
    store = ExtractionStore(folder / "crawl.db", Label("toy", "2"))
    store.commit([ExtractedDocument(store.due(after=0, limit=1)[0], "error", error="boom")], now=AT + 20)
    store.close()
    with open_store(folder) as records:
        assert [record.gone for record in records.records()] == [False]


def test_records_are_put_and_asked_for(tmp_path: Path) -> None:
    """By kind, host, time and a condition in SQL; the same record again changes nothing."""
    with open_store(tmp_path) as store:
        new = [
            NewRecord(kind="album", url=f"https://{host}/", data={"price": price}, key=str(price))
            for host, price in (("a.example", 5), ("b.example", 15))
        ]
        assert store.put(new, at=10.0)["new"] == 2
        assert sum(store.put(new, at=20.0).values()) == 0
        cheap = store.records("album", where="json_extract(data, '$.price') < ?", values=(10,))
        assert [record.host for record in cheap] == ["a.example"]
        store.put([NewRecord(kind="album", url="https://a.example/", data={}, key="5", gone=True)], at=30.0)
        assert [record.host for record in store.records()] == ["b.example"]
        assert [record.host for record in store.records(where="changed_at >= ?", values=(25.0,), gone=True)] == [
            "a.example"
        ]


def test_a_package_makes_its_tables_once(tmp_path: Path) -> None:
    """A higher version runs the upgrades in between; a lower one is refused."""
    with open_store(tmp_path) as store:
        store.ensure("toy", 1, "CREATE TABLE toy_a (x)")
        store.ensure("toy", 1, "CREATE TABLE toy_a (x)")
        store.ensure("toy", 2, "", upgrades={1: "ALTER TABLE toy_a ADD COLUMN y"})
        store.connection.execute("INSERT INTO toy_a VALUES (1, 2)")
        with pytest.raises(CollectionError, match="newer lycosa"):
            store.ensure("toy", 1, "")


def test_a_damaged_a_newer_and_a_foreign_database_are_told_of(tmp_path: Path) -> None:
    """A sentence each; nothing is made anew in silence."""
    (tmp_path / "records.db").write_bytes(b"no database at all" * 1000)
    with pytest.raises(Damaged, match="move it away"):
        open_store(tmp_path)
    (tmp_path / "records.db").unlink()
    with open_store(tmp_path) as store:
        store.connection.execute("PRAGMA user_version = 99")
    with pytest.raises(CollectionError, match="newer lycosa .its version is 99"):
        open_store(tmp_path)
    (tmp_path / "records.db").unlink()
    other = apsw.Connection(str(tmp_path / "records.db"))
    other.execute("CREATE TABLE x (y)")
    other.close()
    with pytest.raises(CollectionError, match="no records database"):
        open_store(tmp_path)


def test_a_refresh_that_is_killed_is_continued(tmp_path: Path) -> None:
    """At any moment: every record is there once afterwards."""
    folder = make(tmp_path, 300)
    extract(folder, {str(n): [("a", {"n": n})] for n in range(300)})
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from lycosa.missions.records.database import record_refresh as refresh, writer, open_store\n"
        "refresh._BATCH = 50; done = 0; write = writer.VersionWriter.write\n"
        "def count(*a):\n    global done; done += 1; write(*a)\n"
        "    if done == 120: os.kill(os.getpid(), signal.SIGKILL)\n"
        "writer.VersionWriter.write = count; open_store(Path(sys.argv[1]))"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(folder)], env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL
    with RecordStore(folder / "records.db", apsw.Connection(str(folder / "records.db"))) as before:
        assert len(list(before.records())) == 100
    with open_store(folder) as store:
        assert sorted(record.data["n"] for record in store.records()) == list(range(300))
        assert store.last_change() == 300


def test_a_record_of_60_mb_is_kept(tmp_path: Path) -> None:
    """Whole."""
    with open_store(tmp_path) as store:
        store.put([NewRecord(kind="a", url="https://a.example/", data={"text": "x" * (60 << 20)})])
        assert len(next(store.records()).data["text"]) == 60 << 20


TEXT = "The council decided to close the old bridge over the river for repairs until the end of May. " * 3


def test_a_change_without_meaning_is_no_version(tmp_path: Path) -> None:
    """Counters and blanks renew what the version holds, with the place where it stands; other words make the next."""
    folder = make(tmp_path)
    extract(folder, {"0": [("article", {"title": "Bridge", "text": f"{TEXT}\n5140 views"})]})
    open_store(folder).close()
    visit(folder, "0", "changed", round=2, body=b"counted")
    extract(folder, {"0": [("article", {"title": "The  bridge"[4:], "text": f"{TEXT}\n5233 views"})]}, at=AT + 250)
    with open_store(folder) as store:
        (version,) = store.versions(1)
        (record,) = store.records()
        assert record.data["text"].endswith("5233 views") and version.data == record.data
        assert version.fetched_at == record.fetched_at == AT + 200 and version.offset == record.offset == 7
    visit(folder, "0", "changed", round=3, body=b"edited")
    data = {"title": "Bridge", "text": TEXT.replace("May", "June") + "\n5301 views"}
    extract(folder, {"0": [("article", data)]}, at=AT + 350)
    with open_store(folder) as store:
        assert [(version.what, version.round) for version in store.versions(1)] == [("new", 1), ("changed", 3)]


def test_what_people_import_is_taken_as_it_is(tmp_path: Path) -> None:
    """A corrected capital is a version of an import, as it is none of a page; counters by name have versions always."""
    folder = make(tmp_path)
    with open_store(folder) as store:
        for title, views in (("el río", 3), ("El río", 3), ("El río", 4)):
            store.put([NewRecord(kind="a", url="https://a.example/0", data={"title": title, "views": views})], at=AT)
        assert store.last_change() == 3
        store.put([NewRecord(kind="a", url="https://a.example/0", data={"title": "EL RÍO", "views": 4})], cause="page")
        assert store.last_change() == 3
        store.put([NewRecord(kind="a", url="https://a.example/0", data={"title": "EL RÍO", "views": 5})], cause="page")
        assert store.last_change() == 4
        assert list(net_changes(store, after=3)) == []  # and are no news
