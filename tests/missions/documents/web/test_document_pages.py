"""The documents' pages: the list, one document beside its page, corrections, decisions, contacts, harvesters."""

from __future__ import annotations

import csv
import io
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from lxml import etree
from support.command_line import run
from support.held_processes import held_processes
from support.serve_client import PageAnswer, ServeClient, serving

from lycosa.collection.collection import Collection
from lycosa.errors import CollectionError
from lycosa.missions.documents.web import page_image

SITE = "http://www.faculty.test"
SHEET = f"{SITE}/hidrologia/practica1.pdf"
BROKEN = f"{SITE}/hidrologia/roto.pdf"
PAGES = "/c/c/m/documents"
_OAI_SCHEMA = etree.RelaxNG(etree.parse(Path(__file__).parents[3] / "support/oai_pmh.rng"))


@pytest.fixture
def client(collection: Path) -> Iterator[ServeClient]:
    with serving(collection.parent) as client:
        yield client


def document(client: ServeClient, url: str, more: str = "") -> str:
    return client.get(f"{PAGES}/document?url={quote(url, safe='')}{more}").text


def test_the_list_has_facets_words_and_an_order(client: ServeClient) -> None:
    """Facets are counted among what the other filters leave; the address holds all of it but that they are wanted."""
    assert client.get(f"{PAGES}/index.json").json["total"] == 7
    whole = client.get(f"{PAGES}/index.json?wanted=yes&wanted=no").json
    assert whole["total"] == whole["whole"] == 9 and whole["is_current"]
    facets = {facet["name"]: {value["value"]: value["count"] for value in facet["values"]} for facet in whole["facets"]}
    assert facets["category"]["exercises"] == 2 and facets["language"]["none"] == 1
    sheets = client.get(f"{PAGES}/index.json?category=exercises&sort=-title").json
    assert [row["title"] for row in sheets["documents"]] == [
        "Práctica 2: infiltración",
        "Práctica 1: balance hídrico",
    ]
    two = client.get(f"{PAGES}/index.json?category=exercises&category=thesis").json
    assert two["total"] == 3
    assert client.get(f"{PAGES}/index.json?q=casali+caudales").json["total"] == 1
    assert client.get(f"{PAGES}/index.json?authors=Ana+Casali").json["total"] == facets["authors"]["Ana Casali"] > 1
    lines = client.get(f"{PAGES}/documents.csv?category=exercises&columns=title,authors").text.splitlines()
    assert lines[0] == "title,authors" and len(lines) == 3
    page = client.get(f"{PAGES}/?category=exercises").text
    assert "Práctica 1: balance hídrico" in page and "Curriculum" not in page.split("<tbody>")[1]


@pytest.mark.parametrize("query", ["sort=nothing", "page=x", "page=%00"])
def test_a_wrong_address_is_told_in_a_sentence(client: ServeClient, query: str) -> None:
    """What was found, and what is allowed."""
    answer = client.get(f"{PAGES}/?{query}")
    assert answer.status == 400 and "allowed:" in answer.text
    assert client.get(f"{PAGES}/document?url=http%3A%2F%2Fnone.example%2F").status == 404


def test_a_document_shows_where_each_value_was_read(client: ServeClient) -> None:
    """The rule, the page, the words; places on the page are rectangles over its picture, in points."""
    told = client.get(f"{PAGES}/document.json?url={quote(SHEET, safe='')}").json["document"]
    title = next(value for value in told["values"] if value["field"] == "title")
    assert title["value"] == "Práctica 1: balance hídrico"
    assert title["evidence"][0]["page"] == 1 and title["evidence"][0]["box"][1] > 0
    address = next(value for value in told["values"] if value["field"] == "address")
    assert address["note"] == "now" and address["evidence"][0]["url"] == f"{SITE}/personal.html"
    page = document(client, SHEET, "&field=title")
    assert 'viewBox="0 0 595.00 842.00"' in page and 'class="place chosen"' in page
    assert "largest letters" in page


def test_a_page_is_drawn_as_png(client: ServeClient) -> None:
    """Its size is bounded; a page that is not there is told."""
    address = f"{PAGES}/page-image?url={quote(SHEET, safe='')}"
    answer = client.get(f"{address}&page=1")
    assert answer.status == 200 and answer.headers["content-type"] == "image/png"
    width, height = struct.unpack(">II", answer.body[16:24])
    assert (width, height) == (952, 1348)
    missing = client.get(f"{address}&page=7")
    assert missing.status != 200 and "the file has 1 pages" in missing.text
    assert client.get(f"{PAGES}/page-image?url=http%3A%2F%2Fnone.example%2F").status == 404
    broken = client.get(f"{PAGES}/page-image?url={quote(BROKEN, safe='')}")
    assert broken.status != 200 and "cannot be drawn" in broken.text
    assert client.get(f"{PAGES}/page-image?url=http%3A%2F%2Felsewhere.test%2F..%2F..").status != 200
    assert "cannot be drawn" in document(client, BROKEN)


def test_a_page_of_any_size_makes_a_bounded_picture() -> None:
    """Two million pixels, four thousand on a side."""
    body = (
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
        b"2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n"
        b"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 14000 300] >>\nendobj\n"
        b"trailer\n<< /Size 4 /Root 1 0 R >>\n%%EOF\n"
    )
    drawn = page_image.draw(page_image.Drawing(body, 1))
    assert not drawn.problem
    width, height = struct.unpack(">II", drawn.png[16:24])
    assert width <= 4001 and width * height <= 2_100_000


def test_a_picture_that_takes_too_long_costs_one_sentence(collection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel ends the process."""
    from msgspec.structs import replace

    monkeypatch.setattr(page_image, "_LIMITS", replace(page_image._LIMITS, timeout_s=0.001))
    with Collection(collection) as source, pytest.raises(CollectionError, match="not drawn within"):
        page_image.draw_page(source, SHEET, 1)


def test_a_correction_wins_and_can_be_taken_back(client: ServeClient, collection: Path) -> None:
    """It is kept as the verb keeps it, so that the verb, the list and an extraction anew know it."""
    saved = client.post(f"{PAGES}/correct", {"url": BROKEN, "field": "title", "value": " Apuntes \n de hidrología"})
    assert saved.status == 303 and "field=title" in saved.headers["location"]
    people = {"url": BROKEN, "field": "authors", "value": "Ana Casali\r\n\r\nEva Sanz"}
    assert client.post(f"{PAGES}/correct", people).status == 303
    rows = {row["url"]: row for row in client.get(f"{PAGES}/index.json").json["documents"]}
    assert rows[BROKEN]["title"] == "Apuntes de hidrología" and rows[BROKEN]["authors"] == ["Ana Casali", "Eva Sanz"]
    assert "Apuntes de hidrología" in run("documents", "--collection", str(collection), "--format", "csv").output
    run("extract", "--again", "--collection", str(collection))
    assert "Apuntes de hidrología" in document(client, BROKEN)
    assert client.post(f"{PAGES}/correct", {"url": BROKEN, "field": "title", "undo": "1"}).status == 303
    assert "Apuntes de hidrología" not in document(client, BROKEN)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"url": SHEET, "field": "titel", "value": "x"}, "did you mean title"),
        ({"url": SHEET, "field": "emails", "value": "nobody"}, "no e-mail address"),
        ({"url": SHEET, "field": "year", "value": "last"}, "four digits"),
        ({"url": "http://x.test/../../etc/passwd", "field": "title", "value": "x"}, "no document of this collection"),
        ({"url": SHEET, "field": "title", "value": "x" * 30_000}, "too long"),
        ({"url": SHEET, "field": "wanted", "value": "perhaps"}, "allowed: true, false"),
    ],
)
def test_a_wrong_correction_is_refused(client: ServeClient, fields: dict[str, str], said: str) -> None:
    """With a sentence, and nothing is kept."""
    answer = client.post(f"{PAGES}/correct", fields)
    assert answer.status == 400 and said in answer.text
    assert "corrected" not in document(client, SHEET)


@pytest.mark.parametrize("path", ["correct", "decide"])
def test_nothing_changes_without_the_token(client: ServeClient, collection: Path, path: str) -> None:
    """Another site may send a form, but not our token."""
    answer = client.post(f"{PAGES}/{path}", {"token": "0" * 64, "url": SHEET, "field": "title", "value": "x"})
    assert answer.status == 403 and not (collection / "decisions.db").exists()
    assert client.get(f"{PAGES}/{path}?url={quote(SHEET, safe='')}&field=title&value=x").status == 404


def test_answers_of_authors_are_recorded(client: ServeClient, collection: Path) -> None:
    """Of one document or of all of an author; the contact sheet leaves out who has answered."""
    assert [one["name"] for one in client.get(f"{PAGES}/contacts.json").json["people"]] == [
        "Ana Casali",
        "Luis Gil",
        "Marta Ruiz Gómez",
    ]
    answer = client.post(f"{PAGES}/decide", {"author": "Marta Ruiz Gómez", "state": "granted", "note": "mail of 3 May"})
    assert answer.status == 303
    assert client.post(f"{PAGES}/decide", {"url": SHEET, "author": "Luis Gil", "state": "refused"}).status == 303
    assert "Marta" not in str(client.get(f"{PAGES}/contacts.json").json["people"])
    page = document(client, SHEET)
    assert "refused" in page and client.get(f"{PAGES}/index.json?permission=granted").json["total"] == 1
    wrong = client.post(f"{PAGES}/decide", {"url": SHEET, "author": "Nobody Else", "state": "granted"})
    assert wrong.status == 400 and "is no author of" in wrong.text
    assert client.post(f"{PAGES}/decide", {"url": SHEET, "state": "maybe"}).status == 400
    listed = run("documents", "--collection", str(collection), "--format", "jsonl").output
    assert '"permission":"granted"' in listed.replace(" ", "")


def test_the_contact_sheet_leaves_as_csv(client: ServeClient) -> None:
    """As `lycosa contacts` writes it."""
    answer = client.get(f"{PAGES}/contacts.csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert rows[0]["author"] == "Ana Casali" and rows[0]["email"] == "acasali@villaverde.example.edu"
    assert "attachment" in answer.headers["content-disposition"]


@pytest.mark.parametrize(
    ("query", "has"),
    [
        ("verb=Identify", "Identify"),
        ("verb=ListMetadataFormats", "oai_dc"),
        ("verb=ListSets", "setSpec"),
        ("verb=ListRecords&metadataPrefix=oai_dc", "Caudales mínimos"),
        ("verb=ListIdentifiers&metadataPrefix=oai_dc&set=thesis", "header"),
        ("verb=Steal", "badVerb"),
        ("verb=Identify&extra=1", "badArgument"),
        ("verb=Identify&verb=Identify", "badArgument"),
        ("", "badVerb"),
    ],
)
def test_harvesters_get_what_the_protocol_says(client: ServeClient, query: str, has: str) -> None:
    """Every answer is valid, and names the address by which it was asked; a form gets the same as an address."""
    answers = [client.get(f"{PAGES}/oai?{query}"), harvest(client, f"{PAGES}/oai", query)]
    for answer in answers:
        assert answer.status == 200 and answer.headers["content-type"].startswith("text/xml")
        assert has in answer.text
        _OAI_SCHEMA.assertValid(etree.fromstring(answer.body))
        assert f"{client.address}{PAGES}/oai<" in answer.text
    requests = [re.sub("<responseDate>.*?</responseDate>", "", answer.text) for answer in answers]
    assert requests[0] == requests[1]


def harvest(client: ServeClient, path: str, query: str, **headers: str) -> PageAnswer:
    """Ask as harvesters do that send a form: without a token of ours."""
    form = {"content-type": "application/x-www-form-urlencoded", **headers}
    return client.request("POST", path, headers=form, body=query.encode())


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}]
)
def test_no_other_site_harvests(client: ServeClient, headers: dict[str, str]) -> None:
    """A form needs no token only where it reads, and only from programs: a browser says who sent it here."""
    assert harvest(client, f"{PAGES}/oai", "verb=Identify", **headers).status == 403
    for path in ("decide", "correct", "oai/other", "document"):
        assert harvest(client, f"{PAGES}/{path}", "verb=Identify&author=Ana&state=granted").status == 403


def test_harvesters_get_only_what_was_granted(client: ServeClient) -> None:
    """At an address of its own."""
    query = "verb=ListIdentifiers&metadataPrefix=oai_dc"
    assert "noRecordsMatch" in client.get(f"{PAGES}/oai/granted?{query}").text
    client.post(f"{PAGES}/decide", {"author": "Marta Ruiz Gómez", "state": "granted"})
    answer = client.get(f"{PAGES}/oai/granted?{query}")
    assert answer.text.count("<header>") == 1 and f"{PAGES}/oai/granted<" in answer.text


def test_every_node_of_the_graph_leads_on(client: ServeClient) -> None:
    """A document to its page, an author to what is around them."""
    nodes = client.get("/c/c/graph.json?by=mission").json["part"]["nodes"]
    author = next(node for node in nodes if node["kind"] == "Author")
    around = client.get(author["address"].replace("/graph?", "/graph.json?")).json["part"]
    assert author["key"] in {node["key"] for node in around["nodes"]} and around["edges"]
    assert all(node["address"] for node in nodes)


_BEING_MADE = [
    "",
    "index.json",
    "index.csv",
    f"document?url={quote(SHEET, safe='')}",
    f"document.json?url={quote(SHEET, safe='')}",
    "contacts",
    "contacts.json",
    "contacts.csv",
    "oai?verb=ListRecords&metadataPrefix=oai_dc",
    "oai?verb=ListSets",
    "oai/granted?verb=ListIdentifiers&metadataPrefix=oai_dc",
]


def test_no_document_is_missing_while_the_catalogue_is_made(
    client: ServeClient, collection: Path, tmp_path: Path
) -> None:
    """Neither people, programs nor harvesters hear of none: they are told to ask again, and what they send waits."""
    for made in collection.glob("documents.db*"):  # by another test that read the collection which this is a copy of
        made.unlink()
    with held_processes(tmp_path / "held") as let_go:
        client.is_patient = False
        for path in _BEING_MADE:
            answer = client.get(f"{PAGES}/{path}")
            assert (answer.status, "retry-after" in answer.headers) == (503, True), path
        assert client.get("/c/c/graph.json?by=mission").status == 503
        correction = {"url": BROKEN, "field": "title", "value": "Apuntes"}
        assert client.post(f"{PAGES}/correct", correction).status == 503
        assert client.post(f"{PAGES}/decide", {"author": "Luis Gil", "state": "refused"}).status == 503
        let_go()
        client.is_patient = True
        assert client.get(f"{PAGES}/index.json").json["whole"] == 9
        assert client.post(f"{PAGES}/correct", correction).status == 303
        for path in _BEING_MADE:
            assert client.get(f"{PAGES}/{path}").status == 200, path
