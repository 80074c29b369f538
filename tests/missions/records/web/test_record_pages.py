"""The records' pages: the list, one record, stories, health, readers and digests, alerts, the outbox."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import run
from support.held_processes import held_processes
from support.make_collection import make_collection
from support.serve_client import ServeClient, serving

from lycosa.missions.records.database import NewRecord, open_store
from lycosa.missions.records.stories import refresh_stories

PRESS, SHOP = "/c/press/m/records", "/c/shop/m/records"


@pytest.fixture
def client(served: Path) -> Iterator[ServeClient]:
    with serving(served) as client:
        yield client


def find(client: ServeClient, base: str, words: str) -> int:
    """The number of the record that has these words."""
    (row,) = client.get(f"{base}/index.json?q={words.replace(' ', '+')}").json["records"]
    return int(row["id"])


def test_records_are_listed_by_facets_words_and_columns(client: ServeClient) -> None:
    """The address holds all of it; the order may be that of a field, prices by their amount."""
    whole = client.get(f"{PRESS}/index.json").json
    assert whole["total"] == whole["whole"] == 10 and whole["is_current"]
    facets = {facet["name"]: {value["value"]: value["count"] for value in facet["values"]} for facet in whole["facets"]}
    assert facets["host"] == {"faro.newsstand.test": 5, "herald.newsstand.test": 5}
    assert client.get(f"{PRESS}/index.json?host=faro.newsstand.test&q=Ebro").json["total"] == 1
    assert client.get(f"{PRESS}/index.json?q=100%25").json["total"] == 0
    tools = client.get(f"{SHOP}/index.json?sort=-price&columns=price&columns=name").json
    prices = [float(row["values"][0].split()[0]) for row in tools["records"]]
    assert prices == sorted(prices, reverse=True) and tools["columns"] == ["price", "name"]
    assert [row[0] for row in tools["rows"]] == [row["values"][0] for row in tools["records"]]
    assert client.get(f"{SHOP}/?sort=%40rules").status == 400
    assert client.get(f"{SHOP}/?sort=no%22such%27field").status == 200


def test_what_other_missions_found_stands_on_their_pages(served: Path, tmp_path: Path) -> None:
    """Neither the list nor stories, health and the report have their records; queries have all."""
    layer = {"name": "Rivers", "text": "The rivers of the plain, drawn to scale by the office. " * 20, "title": "Ebro"}
    with open_store(served / "press") as store:
        records = (NewRecord(kind="layer", url=f"http://{n}.test/", data=layer, quarry="geo") for n in range(5))
        store.put(records, at=1.0)
        key = (2, "1", "layer", "0.test")
        store.connection.execute("INSERT INTO health VALUES (?, ?, ?, ?, 5, 1.0)", key)
        store.connection.execute("INSERT INTO field_health VALUES (?, ?, ?, ?, 'name', 5)", key)
    with serving(served) as client:
        assert client.get(f"{PRESS}/index.json").json["whole"] == 10
        assert {row["kind"] for row in client.get(f"{PRESS}/index.json?sort=changed").json["records"]} == {"article"}
        assert {each["kind"] for each in client.get(f"{PRESS}/health.json").json["fields"]} == {"@links", "article"}
    with open_store(served / "press") as store:
        refresh_stories(store)
        sql = "SELECT count(*) FROM story_member JOIN record ON record.id = record WHERE quarry = 'geo'"
        assert store.connection.execute(sql).get == 0 and len(list(store.records("layer"))) == 5
    file = tmp_path / "report.html"
    assert run("report", "records", "-c", str(served / "press"), "-o", str(file)).code == 0
    assert "layer" not in file.read_text()


@pytest.mark.parametrize("sort", ["changed", "-changed", "url", "-title", "found", "-found", "section", "-place"])
def test_a_cursor_leads_through_all_records(client: ServeClient, sort: str) -> None:
    """Each comes once, also those without the field that is sorted by, in the order of one long page."""
    whole = [row["id"] for row in client.get(f"{PRESS}/index.json?sort={sort}").json["records"]]
    found, after = [], ""
    for number in range(1, 6):
        page = client.get(f"{PRESS}/index.json?sort={sort}&limit=3&after={after}").json
        assert page["page"] == number
        numbered = client.get(f"{PRESS}/index.json?sort={sort}&limit=3&page={number}").json["records"]
        assert page["records"] == numbered or number == 5
        found += [row["id"] for row in page["records"]]
        if not (after := page["next"]):
            break
    assert found == whole and len(found) == 10


def test_what_is_chosen_can_be_taken_away(client: ServeClient) -> None:
    """Each value of a facet and the words, one by one."""
    query = "host=faro.newsstand.test&host=herald.newsstand.test&q=Ebro"
    twin = client.get(f"{PRESS}/index.json?{query}").json
    assert {chip["value"] for chip in twin["chips"]} == {"faro.newsstand.test", "herald.newsstand.test", "Ebro"}
    text = client.get(f"{PRESS}/?{query}").text
    for chip in twin["chips"]:
        left = client.get(chip["address"].replace("/records/?", "/records/index.json?")).json["chips"]
        assert {each["value"] for each in left} == {each["value"] for each in twin["chips"] if each != chip}
        assert chip["address"].replace("&", "&amp;") in text


def test_the_selection_leaves_as_a_file(client: ServeClient) -> None:
    """CSV, JSONL and Parquet, with all fields or those that were asked for."""
    answer = client.get(f"{SHOP}/records.csv?q=mallet")
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert row["number"] == "H-200" and row["price"] == "16.5 EUR"
    assert len(client.get(f"{PRESS}/records.jsonl?columns=title").text.splitlines()) == 10
    assert client.get(f"{PRESS}/records.parquet").body[:4] == b"PAR1"
    page = client.get(f"{SHOP}/?q=mallet").text
    assert f"{SHOP}/records.csv?q=mallet" in page


def test_a_record_tells_rules_places_and_versions(client: ServeClient) -> None:
    """The rule that gave a value, line and column in the source, what changed and why, the archive record."""
    number = find(client, SHOP, "mallet")
    told = client.get(f"{SHOP}/record.json?id={number}").json
    price = next(field for field in told["fields"] if field["name"] == "price")
    assert price["rule"] == "css:.price" and price["places"][0]["at"].startswith('<p class="price">')
    assert [version["what"] for version in told["versions"]] == ["changed", "new"]
    (change,) = told["versions"][0]["changes"]
    assert change["name"] == "price" and told["versions"][0]["cause"] == "page"
    assert told["warc"].endswith(".warc.gz") and told["offset"] > 0
    page = client.get(f"{SHOP}/record?id={number}").text
    assert "<del>" in page and "<ins>" in page


@pytest.mark.parametrize("path", ["record?id=999", "record?id=..%2F..", "record", "story?id=x", "digest?reader=Nobody"])
def test_what_is_not_there_is_told(client: ServeClient, path: str) -> None:
    """In a sentence."""
    answer = client.get(f"{PRESS}/{path}.json" if "?" not in path else f"{PRESS}/{path.replace('?', '.json?')}")
    assert answer.status == (400 if "reader" in path else 404) and answer.json["detail"]


def test_stories_tell_their_members_and_what_they_say_together(client: ServeClient) -> None:
    """Why each is there, the completed record, the impact."""
    listed = client.get(f"{PRESS}/stories.json").json
    assert listed["total"] >= 1 and listed["stories"][0]["hosts"] == 2
    number = next(one["id"] for one in listed["stories"] if "Tudela" in one["title"])
    told = client.get(f"{PRESS}/story.json?id={number}").json
    assert len(told["members"]) == 3 and any("shares" in member["why"] for member in told["members"])
    together = {field["name"]: field for field in told["together"]}
    assert len(together["place"]["hosts"]) == 2 and together["authors"]["others"]
    assert told["impact"]["media"] == 2 and told["impact"]["over_time"]
    member = told["members"][0]["record"]
    assert client.get(f"{PRESS}/record.json?id={member}").json["story"] == number
    assert client.get(f"{PRESS}/story?id={number}").status == 200
    assert client.get(f"{PRESS}/stories.json?hosts=3").json["total"] == 0


def test_a_field_that_drops_is_told_with_a_rule(client: ServeClient, served: Path) -> None:
    """The rule is looked for when it is asked for."""
    calm = client.get(f"{SHOP}/health.json").json
    fields = {field["field"] for field in calm["fields"] if field["kind"] == "product"}
    assert calm["drops"] == 0 and fields == {"number", "name", "price", "stock"}
    navigation = {field["field"]: field["share"] for field in calm["fields"] if field["kind"] == "@links"}
    assert navigation == {"css:li a": 1.0, "addresses in ranges": 1.0}
    mission = served / "shop.toml"
    mission.write_text(mission.read_text().replace('rule = "css:.stock"', 'rule = "css:.nothing"'))
    run("extract", str(mission), "--collection", str(served / "shop"))
    with serving(served) as later:
        dropped = later.get(f"{SHOP}/health.json").json
        assert dropped["drops"] == 1
        field = dropped["fields"][0]
        assert field["field"] == "stock" and field["share"] == 0 and field["base"] == 1 and not field["was_sought"]
        assert field["former"] == ["css:.stock"] and field["examples"]
        asked = later.get(f"{SHOP}/health.json?kind=product&area=product&field=stock").json["fields"][0]
        assert asked["was_sought"] and asked["proposal"] and asked["right"] == asked["tried"]
        assert "Look for a rule" in later.get(f"{SHOP}/health").text


def test_readers_and_their_digests_are_shown_without_delivery(client: ServeClient) -> None:
    """The file beside the collections counts; looking changes nothing."""
    readers = client.get(f"{PRESS}/readers.json").json
    assert [reader["name"] for reader in readers["readers"]] == ["Ana", "Desk"]
    assert readers["alerts"] == ["prices"] and readers["readers"][0]["interests"] == ["The river", "Tools"]
    for _ in range(2):
        preview = client.get(f"{PRESS}/digest.json?reader=Ana").json
        assert preview["issue"] == 1 and preview["total"] == 3
    frame = client.get(f"{PRESS}/digest-frame?reader=Ana")
    assert "The river" in frame.text
    assert frame.headers["content-security-policy"].startswith("sandbox;")
    assert frame.headers["x-frame-options"] == "SAMEORIGIN"
    assert client.get(f"{PRESS}/readers.json").json["readers"][0]["delivered"] == 0


def test_where_readers_are_looked_for_is_told(client: ServeClient, served: Path) -> None:
    """And what is wrong with the file, with its line; one in the collection goes first."""
    (served / "press" / "readers.toml").write_text("[[readers]]\nname = 'Eva'\n")
    assert [one["name"] for one in client.get(f"{PRESS}/readers.json").json["readers"]] == ["Eva"]
    (served / "press" / "readers.toml").write_text("[[readers]]\nnam = 'Eva'\n")
    assert "readers.toml:2:" in client.get(f"{PRESS}/readers").text
    (served / "press" / "readers.toml").unlink()
    (served / "readers.toml").unlink()
    twin = client.get(f"{PRESS}/readers.json").json
    assert twin["places"] == [str(served / "press" / "readers.toml"), str(served / "readers.toml")]
    assert "New reader" in client.get(f"{PRESS}/readers").text
    assert "There is no readers file" in client.get(f"{PRESS}/digest?reader=Ana").text


def test_alerts_show_the_difference(client: ServeClient) -> None:
    """What went and what came."""
    told = client.get(f"{SHOP}/alerts.json").json
    alerts = next(facet for facet in told["facets"] if facet["name"] == "alert")
    assert [value["value"] for value in alerts["values"]] == ["prices"] and len(told["items"]) == 4
    page = client.get(f"{SHOP}/alerts?alert=prices").text
    assert "<del>40 in stock</del>" in page and "<ins>38 in stock</ins>" in page
    assert client.get(f"{SHOP}/alerts.json?alert=other").json["items"] == []


def test_messages_are_tried_again_or_dropped(client: ServeClient, served: Path) -> None:
    """With our token only; the verb sees the same."""
    waiting = client.get(f"{SHOP}/outbox.json").json["messages"]
    assert [message["state"] for message in waiting] == ["waiting"] and waiting[0]["reason"]
    number = waiting[0]["number"]
    forged = {"token": "0" * 64, "action": "drop", "number": number}
    assert client.post(f"{SHOP}/outbox", forged).status == 403
    assert client.post(f"{SHOP}/outbox", {"action": "burn", "number": number}).status == 400
    assert client.post(f"{SHOP}/outbox", {"action": "drop"}).status == 400
    assert client.post(f"{SHOP}/outbox", {"action": "retry", "number": number}).status == 303
    assert client.get(f"{SHOP}/outbox.json").json["messages"][0]["tries"] == 0
    assert client.post(f"{SHOP}/outbox", {"action": "drop", "number": number}).status == 303
    assert client.get(f"{SHOP}/outbox.json").json["messages"] == []
    assert len(client.get(f"{SHOP}/outbox.json?state=dropped").json["messages"]) == 1
    listed = run("outbox", "--all", "--collection", str(served / "shop"), "--format", "jsonl").output
    assert '"state":"dropped"' in listed.replace(" ", "")


def test_a_collection_without_records_has_empty_pages(tmp_path: Path) -> None:
    """Each page says that there is nothing yet."""
    folder = make_collection(tmp_path / "served" / "bare", [("https://a.example/", "text/html", b"<p>x</p>")])
    (folder / "lycosa.toml").write_text('missions = ["records"]\nseeds = ["https://a.example/"]\n')
    with serving(tmp_path / "served") as client:
        for page in ("", "stories", "health", "readers", "alerts", "outbox"):
            assert client.get(f"/c/bare/m/records/{page}").status == 200, page


def test_records_have_one_tab(client: ServeClient) -> None:
    """The mission's list takes the place of the core's, in its place in the row, on every page of the collection."""
    for path in ("/c/press/", "/c/press/pages", "/c/press/m/records/stories"):
        tabs = client.get(path).text.partition('<nav class="tabs"')[2].partition("</nav>")[0]
        names = re.findall(r">([^<>\n]+)</a>", tabs)
        assert names.count("Records") == 1 and names.index("Records") == names.index("Hosts") + 1
        assert '"/c/press/m/records/"' in tabs and '"/c/press/records"' not in tabs
    assert client.get("/c/press/records").status == 200


_BEING_MADE = ["", "index.json", "records.csv", "records.jsonl", "records.parquet", "stories.json", "health.json"]


def test_no_record_is_missing_while_they_are_taken_over(served: Path, tmp_path: Path) -> None:
    """Neither records, stories nor measures are told of as none; and what came later is told of as not shown yet."""
    with serving(served) as client, held_processes(tmp_path / "held") as let_go:
        client.is_patient = False
        for path in _BEING_MADE:
            answer = client.get(f"{PRESS}/{path}")
            assert (answer.status, "retry-after" in answer.headers) == (503, True), path
        let_go()
        client.is_patient = True
        assert client.get(f"{PRESS}/index.json").json["total"] == 10
        for path in _BEING_MADE:
            assert client.get(f"{PRESS}/{path}").status == 200, path
    shutil.copytree(served / "press", served / "later")
    with serving(served) as client, held_processes(tmp_path / "again"):
        whole = client.get(f"{PRESS.replace('press', 'later')}/index.json").json
        assert whole["total"] == 10 and not whole["is_current"]
