"""Pages of the XML mission: report, documents, one schema with what it needs, collections, files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.make_collection import make_collection
from support.mission_webs import make_library
from support.serve_client import ServeClient, serving

PAGE = "/c/library/m/xml/"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeClient]:
    root: Path = tmp_path_factory.mktemp("xml-pages")
    make_library(root / "library")
    page = ("https://a.example/", "text/html", b"<title>A</title><p>one")
    made = make_collection(root / "bare", [page])
    (made / "lycosa.toml").write_text('name = "xml"\nmissions = ["xml"]\n')
    with serving(root) as client:
        yield client


def test_the_report_has_kinds_validity_and_namespaces(client: ServeClient) -> None:
    """And what was put right, what is wrong, and what is missing."""
    twin = client.get(f"{PAGE}index.json").json
    kinds = {row["kind"]: row for row in twin["kinds"]}
    assert kinds["xsd"]["documents"] == 2 and kinds["xsd"]["validity"]["usable"] == 1
    assert twin["figures"]["valid"] == 2
    assert {row["what"] for row in twin["corrections"]} == {"encoding", "ampersand", "entity", "truncated"}
    assert "http://xml.test/books/wrong.xml" in [row["url"] for row in twin["wrong"]]
    text = client.get(PAGE).text
    assert 'href="/c/library/m/xml/documents?kind=xsd"' in text


def test_documents_are_filtered(client: ServeClient) -> None:
    """By kind, validity, host, namespace, words of the address; counts of a facet leave its own choice out."""
    twin = client.get(f"{PAGE}documents.json?validity=valid").json
    assert sorted(row["url"] for row in twin["documents"]) == [
        "http://xml.test/books/loans.xml",
        "http://xml.test/books/spiders.xml",
    ]
    facets = {facet["name"]: facet["values"] for facet in twin["facets"]}
    assert any(value["value"] == "invalid" for value in facets["validity"])
    two = client.get(f"{PAGE}documents.json?validity=valid&validity=invalid").json
    assert two["total"] == sum(value["count"] for value in facets["validity"] if value["value"] in ("valid", "invalid"))
    for choice in ("well_formed=0", "size=1:+<+1+kB&well_formed=1", "depth=1&depth=2"):
        some = client.get(f"{PAGE}documents.json?{choice}&sort=-depth").json["documents"]
        assert 0 < len(some) < len(client.get(f"{PAGE}documents.json").json["documents"]), choice
    assert client.get(f"{PAGE}documents.json?q=spiders+books").json["total"] == 1
    assert client.get(f"{PAGE}documents.json?kind=x';DROP+TABLE+document").json["total"] == 0


def test_a_schema_has_what_it_needs_and_who_uses_it(client: ServeClient) -> None:
    """Its closure, the documents that are checked against it, and those that link to it."""
    twin = client.get(f"{PAGE}document.json?url=http://xml.test/schemas/library.xsd").json
    assert [row["url"] for row in twin["needs"]] == ["http://xml.test/schemas/types.xsd"]
    assert twin["missing"] == [] and twin["needs_all"]
    assert "http://xml.test/books/spiders.xml" in [row["url"] for row in twin["checked"]]
    text = client.get(f"{PAGE}document?id={twin['document']['id']}").text
    assert 'href="/c/library/page?url=http%3A%2F%2Fxml.test%2Fschemas%2Flibrary.xsd"' in text
    part = client.get(f"{PAGE}document.json?url=http://xml.test/schemas/types.xsd").json
    assert [row["url"] for row in part["needed_by"]] == ["http://xml.test/schemas/library.xsd"]


def test_a_document_has_its_faults_and_corrections(client: ServeClient) -> None:
    """What is wrong, what was put right, what it lacks."""
    twin = client.get(f"{PAGE}document.json?url=http://xml.test/books/old.xml").json
    assert twin["document"]["validity"] == "invalid" and twin["fault"]
    assert twin["missing"] and twin["corrections"]
    assert client.get(f"{PAGE}document?url=http://xml.test/books/old.xml").status == 200


def test_the_graph_shows_what_schemas_need_and_who_is_checked_against_them(client: ServeClient) -> None:
    """Schemas, documents and missing addresses with their relations; a node leads to its page."""
    twin = client.get("/c/library/graph.json?by=mission").json["part"]
    names = [node["label"] for node in twin["nodes"]]
    related = {(names[one], kind, names[other]) for one, other, _, kind in twin["edges"]}
    assert ("library.xsd", "Needs", "types.xsd") in related
    assert ("spiders.xml", "CheckedAgainst", "library.xsd") in related
    assert ("books.dtd", "Lacks", "http://xml.test/schemas/names.mod") in related
    assert {node["kind"] for node in twin["nodes"]} == {"Document", "Schema", "Missing"}
    schema = twin["nodes"][names.index("library.xsd")]
    assert client.get(schema["address"]).status == 200
    assert client.get("/c/bare/graph.json?by=mission").status == 200


def test_schemas_come_by_their_use(client: ServeClient) -> None:
    """The most used first, with what they need."""
    rows = client.get(f"{PAGE}schemas.json").json["schemas"]
    assert rows[0]["url"] == "http://xml.test/schemas/library.xsd" and rows[0]["uses"] >= 2
    assert {row["kind"] for row in client.get(f"{PAGE}schemas.json?kind=rng").json["schemas"]} == {"rng"}


def test_collections_lead_to_their_documents(client: ServeClient) -> None:
    """Each cluster of the analysis with its collections."""
    twin = client.get(f"{PAGE}groups.json?cluster=kind").json
    kinds = {row["name"]: row["documents"] for row in twin["groups"]}
    assert kinds["xsd"] == 2
    assert client.get(f"{PAGE}documents.json?cluster=kind&collection=xsd").json["total"] == 2


def test_files_are_those_of_exports(client: ServeClient) -> None:
    """The report, a schema with its closure, the documents of a collection, lists; another name is refused."""
    assert client.get(f"{PAGE}file?name=report.html").text.startswith("<!DOCTYPE html>")
    packed = client.get(f"{PAGE}file?name=schema.zip&url=http://xml.test/schemas/library.xsd")
    names = zipfile.ZipFile(io.BytesIO(packed.body)).namelist()
    assert "catalog.xml" in names and any(name.endswith("types.xsd") for name in names)
    documents = client.get(f"{PAGE}file?name=documents.zip&cluster=kind&collection=xsd")
    assert any(name.endswith("library.xsd") for name in zipfile.ZipFile(io.BytesIO(documents.body)).namelist())
    assert "http://xml.test/books/loans.xml" in client.get(f"{PAGE}file?name=addresses.txt").text
    assert "library.xsd" in client.get(f"{PAGE}file?name=dependencies.csv").text
    for name in ("", "../../x", "schema.zip"):
        assert client.get(f"{PAGE}file?name={name}").status == 400


def test_what_was_not_analysed_says_so(client: ServeClient) -> None:
    """On every page, with the button that does it."""
    for page in ("", "documents", "document", "schemas", "groups"):
        answer = client.get(f"/c/bare/m/xml/{page}")
        assert answer.status == 200 and "Analyse it" in answer.text
    assert client.get("/c/bare/m/xml/index.json").json == {"analysed": False}
    assert client.get("/c/bare/m/xml/file?name=report.html").status == 503


def test_what_is_not_there_is_a_page(client: ServeClient) -> None:
    """404, whatever is asked for."""
    for asked in ("", "id=999999", "id=x", "id=99999999999999999999", "url=%3Cscript%3E", "url=../../etc"):
        assert client.get(f"{PAGE}document?{asked}").status == 404


def test_hostile_texts_are_text(client: ServeClient) -> None:
    """Namespaces and addresses are shown, and nothing else."""
    evil = client.get(f"{PAGE}documents.json?host=evil.test").json["documents"]
    assert evil
    for page in ("", "documents", "schemas", "groups", *(f"document?id={row['id']}" for row in evil)):
        text = client.get(f"{PAGE}{page}").text
        assert "<script>alert" not in text and "<script>window" not in text and "<img src=x" not in text, page
