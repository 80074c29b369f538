"""Lists, search, one page, one address and one host, as a program and a browser without scripts get them."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from arro3.io import read_parquet
from support.looked_at_web import HOSTILE, make_looked_at
from support.serve_client import ServeClient, serving

BASE = "/c/web"
SITE = quote("http://site.example/", safe="")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("looked")
    make_looked_at(root / "web")
    return root


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[ServeClient]:
    with serving(folder) as client:
        yield client


def wait_for_words(client: ServeClient) -> None:
    """Wait until the words of all pages are in the index."""
    deadline = time.monotonic() + 60
    while client.get(f"{BASE}/search.json").json["index"]["words"] < 1:
        assert time.monotonic() < deadline, "the words were not indexed"
        time.sleep(0.2)


def test_every_choice_of_a_list_stands_in_the_address(client: ServeClient) -> None:
    """Filter, order and columns; the page has links that change one of them."""
    answer = client.get(f"{BASE}/urls.json?state=gone&sort=-url&columns=url,http")
    assert answer.json["columns"] == ["url", "http"]
    assert answer.json["rows"] == [["http://site.example/x?q=%3Cscript%3E", 404], ["http://site.example/gone", 404]]
    text = client.get(f"{BASE}/urls?state=gone&columns=url,http").text
    assert "sort=url" in text and 'aria-current="true"' in text


def test_a_list_goes_on_where_a_page_ends(client: ServeClient) -> None:
    """By a cursor that stands in the address of the next page."""
    found, address = [], f"{BASE}/urls.json?sort=url&limit=4&columns=url"
    while address:
        page = client.get(address).json
        found += [row[0] for row in page["rows"]]
        address = page["next_page"].replace("/urls?", "/urls.json?") if page["next"] else ""
    whole = [row[0] for row in client.get(f"{BASE}/urls.json?sort=url&limit=1000&columns=url").json["rows"]]
    assert found == whole and len(whole) == page["whole"]


@pytest.mark.parametrize("name", ["pages", "urls", "hosts", "records"])
def test_each_list_leaves_as_files(client: ServeClient, name: str) -> None:
    """CSV, lines of JSON and Parquet hold the same rows, in the order of the address."""
    rows = list(csv.DictReader(io.StringIO(client.get(f"{BASE}/lists/{name}.csv").text)))
    lines = [json.loads(line) for line in client.get(f"{BASE}/lists/{name}.jsonl").text.splitlines()]
    answer = client.get(f"{BASE}/lists/{name}.parquet")
    assert "attachment" in answer.headers["content-disposition"]
    table = read_parquet(io.BytesIO(answer.body)).read_all()
    total = client.get(f"{BASE}/{name}.json").json["total"]
    assert len(rows) == len(lines) == table.num_rows == total
    assert not lines or [*lines[0]] == [*rows[0]] == table.column_names


def test_a_file_holds_the_selection(client: ServeClient) -> None:
    """Not the whole list."""
    text = client.get(f"{BASE}/lists/urls.csv?state=gone&columns=url&sort=url").text
    assert text.splitlines() == ["url", "http://site.example/gone", "http://site.example/x?q=%3Cscript%3E"]
    assert client.get(f"{BASE}/lists/nothing.csv").status == 404
    assert client.get(f"{BASE}/lists/urls.exe").status == 404


def test_words_of_title_address_and_text_are_found(client: ServeClient) -> None:
    """In a collection of any mission, without an analysis; what was found is marked, and escaped."""
    wait_for_words(client)
    found = {hit["url"] for hit in client.get(f"{BASE}/search.json?q=river").json["hits"]}
    assert "http://site.example/" in found
    assert client.get(f"{BASE}/search.json?q=title:rivers").json["total"] == 1
    assert client.get(f"{BASE}/search.json?q=odd").json["total"] == len(HOSTILE) + 1  # by addresses, and a link's text
    text = client.get(f"{BASE}/search?q=lake").text
    assert "<mark>lake</mark>" in text and "<script>window" not in text and "<svg onload" not in text


@pytest.mark.parametrize("words", ['"', "*", "-x", "NEAR(", "a AND", "kind:", "ns:[", "a\0b", "‮", "xyz:1", "(" * 900])
def test_any_words_are_a_question_or_a_sentence(client: ServeClient, words: str) -> None:
    """Never an error of the index."""
    answer = client.get(f"{BASE}/search?q={quote(words)}")
    assert answer.status in (200, 400) and "Traceback" not in answer.text


def test_copies_of_two_rounds_are_compared(client: ServeClient) -> None:
    """Line by line: what went and what came."""
    page = client.get(f"{BASE}/page.json?url={SITE}about&show=copies").json
    assert [copy["round"] for copy in page["copies"]] == [2, 1] and page["compared_with"] == 1
    assert ["-", "Another one was here before."] in [
        [sign, line.split(" to /")[0]] for sign, line in page["difference"]
    ]
    assert any(sign == "+" and "A new one stands here now." in line for sign, line in page["difference"])
    older = client.get(f"{BASE}/page.json?url={SITE}about&round=1").json
    assert older["title"] == "About" and page["title"] == "About us"


def test_links_lead_in_and_out(client: ServeClient) -> None:
    """With redirects, and what was refused is marked."""
    page = client.get(f"{BASE}/page.json?url={SITE}about&show=links").json
    sources = {(link["source"], link["kind"]) for link in page["inlinks"]}
    assert ("http://site.example/", "link") in sources and ("http://site.example/move", "redirect") in sources
    assert [link["url"] for link in page["links"]] == ["http://site.example/"]
    home = client.get(f"{BASE}/page.json?url={SITE}&show=links").json
    assert {link["url"]: link["accepted"] for link in home["links"]}["http://outside.example/"] is False


@pytest.mark.parametrize("part", ["facts", "archived", "text", "source", "links", "records", "copies"])
@pytest.mark.parametrize("nth", range(len(HOSTILE)))
def test_no_title_becomes_markup(client: ServeClient, part: str, nth: int) -> None:
    """In no part of a page."""
    text = client.get(f"{BASE}/page?url={SITE}odd/{nth}&show={part}").text
    for danger in ("<script>window", "<img src=x", "<svg onload", "\x07", "\x1b", "\u202e"):
        assert danger not in text
    assert "49" not in text.partition("<h1>")[2].partition("</h1>")[0]


def test_the_archived_page_holds_nothing_that_runs_or_loads(client: ServeClient) -> None:
    """Scripts, frames and forms are gone, pictures and style sheets of the collection are in it, links lead to us."""
    answer = client.get(f"{BASE}/replay?url={SITE}")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox") and "allow-scripts" not in policy and "default-src 'none'" in policy
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    text = answer.text
    for danger in (
        "<script",
        "onerror",
        "javascript:",
        "outside.example/track",
        "outside.example/x.png",
        "<iframe",
        "action=",
    ):
        assert danger not in text, danger
    assert 'src="data:image/png;base64,' in text and "rgb(1, 2, 3)" in text and 'url("data:image/png' in text
    assert f'href="{BASE}/url?url=http%3A%2F%2Fsite.example%2Fabout"' in text


def test_the_story_of_any_address_is_told(client: ServeClient) -> None:
    """Known or not, and what is none is said."""
    assert client.get(f"{BASE}/url.json?url={SITE}gone").json["why"]["fate"]["state"] == "gone"
    unknown = client.get(f"{BASE}/url.json?url=https://never.example/x").json
    assert unknown["why"].get("fate") is None and "never seen" in unknown["conclusion"]
    assert "host?name=" not in client.get(f"{BASE}/url?url=https://never.example/x").text  # nothing is known of it
    answer = client.get(f"{BASE}/url?url=%00%00")
    assert answer.status == 400 and 'class="note bad"' in answer.text
    assert client.get(f"{BASE}/url").status == 200


def test_a_host_shows_its_robots_file(client: ServeClient) -> None:
    """Escaped, with what is counted of the host."""
    text = client.get(f"{BASE}/host?name=site.example").text
    assert "Disallow: /private" in text and "<script>alert" not in text
    assert client.get(f"{BASE}/host.json?name=site.example").json["host"]["pages"] > 5
    assert client.get(f"{BASE}/host?name=nobody.example").status == 404


@pytest.mark.parametrize(
    "address",
    [
        "page", "page?url=", "page?url=nothing", "page?url=../../etc/passwd", f"page?url={SITE}&show=all",
        f"page?url={SITE}&round=0", f"page?url={SITE}about&show=copies&with=9", f"page?url={SITE}&round=9999999999",
        "host", "host?name=../", "replay?url=file:///etc/passwd", "urls?sort=;", "urls?after=%00", "graph?by=all",
        "graph?limit=99999", "query?language=perl", "search?q=a&page=0", "pages?mime=" + "x" * 5000, "lists/..%2fx.csv",
        f"page?url={SITE}&round=000000001{'9' * 30}", f"urls?limit=000000001{'9' * 30}", f"urls?reason={'1' * 5000}",
        "pages?limit=0000000019999999", f"page?url={SITE}&round=00000000199999999999999999999",
    ],
)  # fmt: skip
def test_bad_addresses_are_pages_that_say_so(client: ServeClient, address: str) -> None:
    """Never an error of ours."""
    answer = client.get(f"{BASE}/{address}")
    assert answer.status < 500 and "Traceback" not in answer.text


def test_a_collection_that_cannot_be_written_has_lists(tmp_path: Path) -> None:
    """The index is then kept as long as the server runs."""
    from support.make_collection import make_collection

    from lycosa.lists.index import index_folder

    folder = make_collection(tmp_path / "c", [("https://a.example/", "text/html", b"<title>A</title>")])
    assert index_folder(folder) == folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.access", lambda path, mode: False)
        assert index_folder(folder) != folder


def test_records_show_their_versions(tmp_path: Path) -> None:
    """What a record of the page held before, escaped, where the collection keeps it."""
    from support.make_collection import make_collection

    from lycosa.missions.records.database import NewRecord, open_store

    url = "https://a.example/1"
    folder = make_collection(tmp_path / "c", [(url, "text/html", b"<title>A</title>")])
    with open_store(folder) as store:
        for at, price in ((1e9, "<b>10</b>"), (1.1e9, "12")):
            store.put([NewRecord(kind="album", url=url, data={"title": "A", "price": price})], at=at, cause="import")
    with serving(tmp_path) as client:
        (record,) = client.get(f"/c/c/page.json?url={url}&show=records").json["history"]
        assert [version["data"]["price"] for version in record["versions"]] == ["12", "<b>10</b>"]
        assert "&lt;b&gt;10" in client.get(f"/c/c/page?url={url}&show=records").text
