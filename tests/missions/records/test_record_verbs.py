"""The verbs over the records database: changes, query, import and export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import Said, run
from support.make_collection import AT, make_collection

from lycosa.frontier.sqlite.extraction_store import ExtractedDocument, ExtractionStore, Label
from lycosa.missions.records.database import NewRecord, open_store

FIRST = {
    "0": {"title": "Blue", "author": ["Joni Mitchell"], "price": 9.5},
    "1": {"title": "Hejira", "price": 12},
    "2": {"title": "Court & Spark"},
}
SECOND = {
    "0": {"title": "Blue", "author": ["Joni Mitchell"], "price": 10},
    "2": {"title": "Court & Spark"},
    "3": {"title": "Ladies of the Canyon"},
}


def extract(folder: Path, found: dict[str, dict[str, object]], version: str, at: float) -> None:
    store = ExtractionStore(folder / "crawl.db", Label("toy", version))
    rows = []
    for due in store.due(after=0, limit=10):
        data = found.get(due.url[18:])
        rows.append(ExtractedDocument(due, "done", records=(("album", json.dumps(data)),) if data else ()))
    store.commit(rows, now=at)
    store.close()


@pytest.fixture
def albums(tmp_path: Path) -> Path:
    """Four pages, read by two versions of rules."""
    pages = [(f"https://a.example/{n}", "text/html", f"<p>{n}".encode()) for n in range(4)]
    folder = make_collection(tmp_path / "collection", pages)
    extract(folder, FIRST, "1", AT + 10)
    open_store(folder).close()
    extract(folder, SECOND, "2", AT + 20)
    return folder


def ask(folder: Path, *words: str) -> Said:
    return run(*words, "--collection", str(folder))


def test_changes_of_records_show_the_difference(albums: Path) -> None:
    """Of the last extraction: what other rules made of the records, field by field."""
    said = ask(albums, "changes", "--records", "--format", "table").output
    assert "Records: 1 new, 1 changed, 1 gone, 0 back" in said
    assert "price: 9.5 → 10" in said
    assert "the rules" in said and "the page" not in said
    lines = [json.loads(line) for line in ask(albums, "changes", "--records").output.splitlines()]
    assert {"what": "changed", "field": "price", "before": 9.5, "after": 10}.items() <= lines[1].items() | lines[
        0
    ].items()


def test_changes_of_records_since_a_time_are_net(albums: Path) -> None:
    """Since before everything, a record that changed twice is new, and one that came and went is not there."""
    said = ask(albums, "changes", "--records", "--since", "1999-12-31", "--format", "table").output
    assert "Records: 3 new, 0 changed, 0 gone, 0 back" in said
    assert ask(albums, "changes", "--records", "--since", "2030-01-01", "--format", "table").output == (
        "Records: 0 new, 0 changed, 0 gone, 0 back\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("changes", "--records", "--since", "soon"), "--since is 'soon'; allowed: the number of a round, or a time"),
        (("changes", "--records", "--since", "7"), "There are rounds 1 to 1: 7 to 1 cannot be compared"),
        (("changes", "--since", "2026-11-18"), "with --records also a time"),
        (("query", "--xpath", "//album["), "The XPath cannot be read: invalid expression, at character 8"),
        (("query", "--xpath", "nosuch(//a)"), "unregistered function: nosuch(//a)"),
        (("query", "--xpath", "//a", "--sparql", "x"), "Give one query"),
        (("query", "SELECT * FROM stored.nothing"), "stored: known_records, record_versions, records"),
        (("query", "DELETE FROM stored.record"), "A query can only read"),
        (("import-records", "nothing.xml"), "nothing.xml cannot be read: No such file or directory"),
    ],
)
def test_mistakes_are_told_in_a_sentence(albums: Path, words: tuple[str, ...], said: str) -> None:
    """What was found, and what is allowed."""
    found = ask(albums, *words)
    assert found.code == 2 or "lycosa:" in found.output
    assert said in found.output
    assert "Traceback" not in found.output


def test_records_are_asked_in_sql(albums: Path) -> None:
    """With their history, and beside the tables of the crawl."""
    sql = "SELECT data ->> 'title' AS title, mime FROM stored.records JOIN pages USING (url) WHERE data ->> 'price' > 9"
    assert ask(albums, "query", sql).output == '{"title":"Blue","mime":"text/html"}\n'
    sql = "SELECT what, count(*) AS n FROM stored.record_versions GROUP BY what ORDER BY what"
    assert ask(albums, "query", sql, "--format", "csv").output == "what,n\nchanged,1\ngone,1\nnew,4\n"


def test_records_are_asked_in_xpath(albums: Path) -> None:
    """Each is a document; elements give their text, conditions the records of which they hold."""
    said = ask(albums, "query", "--xpath", '//album[author="Joni Mitchell"]/title').output
    assert said == '{"url":"https://a.example/0","value":"Blue"}\n'
    said = ask(albums, "query", "--xpath", 'contains(/album/title, "Canyon")').output
    assert said == '{"url":"https://a.example/3","value":"true"}\n'


def test_a_path_without_end_is_ended_with_a_sentence(albums: Path) -> None:
    """One evaluation over one record cannot be interrupted from within; the process of the query is."""
    with open_store(albums) as store:
        words = {"track": [f"song {number}" for number in range(3000)]}
        store.put([NewRecord(kind="album", url="https://music.test/all", data=words)])
    path = "//*[count(//*[count(//*[count(//*) > 1]) > 1]) > 1]"
    found = ask(albums, "query", "--xpath", path, "--timeout", "1")
    assert found.code == 1
    assert found.output.endswith("lycosa: The query took longer than 1 s and was ended; --timeout allows more.\n")


def test_a_path_to_a_field_does_not_find_the_rule_that_gave_it(albums: Path) -> None:
    """A record keeps the numbers of its rules under the names of its fields; a path sees the fields alone."""
    with open_store(albums) as store:
        data = {"title": "Hejira", "@rules": {"title": 1}}
        store.put([NewRecord(kind="album", url="https://music.test/rules", data=data)])
    said = ask(albums, "query", "--xpath", '//title[../title="Hejira"] | //title[.="1"]').output
    assert [json.loads(line)["value"] for line in said.splitlines()] == ["Hejira"]


def test_records_are_asked_in_xquery_where_it_is_installed(albums: Path) -> None:
    """As one document; without the extra, a sentence says how to get it."""
    found = ask(
        albums, "query", "--xquery", "for $a in /records/album order by $a/title descending return string($a/title)"
    )
    if found.code:
        assert "pip install 'lycosa[xquery]'" in found.output
    else:
        assert [json.loads(line)["value"] for line in found.output.splitlines()][0] == "Ladies of the Canyon"


def test_xml_goes_out_and_comes_back(albums: Path, tmp_path: Path) -> None:
    """What is the same changes nothing; what differs is a version that names its file."""
    file = tmp_path / "records.xml"
    assert ask(albums, "export", "records-xml", "-o", str(file)).code == 0
    assert "nothing new" in ask(albums, "import-records", str(file)).output
    file.write_text(file.read_text().replace("Blue", "Bluer"))
    assert "1 changed" in ask(albums, "import-records", str(file)).output
    assert "title: Blue → Bluer" in ask(albums, "changes", "--records", "--format", "table").output
    with open_store(albums) as store:
        newest = store.versions(1)[-1]
    assert (newest.cause, newest.source) == ("import", "records.xml")


def test_a_wrong_file_is_not_taken_in_part(albums: Path, tmp_path: Path) -> None:
    """All of it or nothing."""
    file = tmp_path / "records.xml"
    file.write_text("<records><a url='https://a.example/9'/><a url='https://a.example/8'><b type='x'/></a></records>")
    assert 'found type="x"' in ask(albums, "import-records", str(file)).output
    with open_store(albums) as store:
        assert list(store.records("a")) == []


def test_imported_records_go_along_when_collections_are_merged(albums: Path, tmp_path: Path) -> None:
    """As often as it is done."""
    file = tmp_path / "records.xml"
    file.write_text("<records><a url='https://b.example/'><t>x</t></a></records>")
    assert ask(albums, "import-records", str(file)).code == 0
    other = make_collection(tmp_path / "other", [("https://c.example/", "text/html", b"<p>c")])
    found = run("merge", str(other), str(albums), "--into", str(tmp_path / "both"))
    assert found.code == 0, found.output
    with open_store(tmp_path / "both") as store:
        assert [record.fields for record in store.records("a")] == [{"t": "x"}]
        assert len(list(store.records("album"))) == 3
