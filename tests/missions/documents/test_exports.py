"""Documents as files for repositories, reference managers, graphs and harvesters."""

from __future__ import annotations

import contextlib
import csv
import json
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl
from xml.etree import ElementTree

import bibtexparser
import pyoxigraph
import pytest
from lxml import etree
from msgspec.structs import replace
from sickle import Sickle
from support.command_line import run

from lycosa import Collection
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.export.dublin_core import publishers, write_dc, write_metadata
from lycosa.missions.documents.model import DocumentDescription, Finding
from lycosa.missions.documents.oai import PAGE_SIZE, Repository

SITE = "http://www.faculty.test"
_OAI_SCHEMA = etree.RelaxNG(etree.parse(Path(__file__).parents[2] / "support/oai_pmh.rng"))
OAI = "{http://www.openarchives.org/OAI/2.0/}"


def export(collection: Path, *words: str) -> None:
    said = run("export", *words, "-c", str(collection))
    assert said.code == 0, said.output


def test_a_row_per_document(crawled: Path, tmp_path: Path) -> None:
    """Lists are lists in JSON and joined in CSV; unwanted kinds come only when they are asked for."""
    export(crawled, "documents", "-o", str(tmp_path / "d.jsonl"))
    rows = {row["url"]: row for row in map(json.loads, (tmp_path / "d.jsonl").read_text().splitlines())}
    assert len(rows) == 7
    row = rows[f"{SITE}/~acasali/caudales.pdf"]
    assert row["authors"] == ["Ana Casali", "Luis Gil"]
    assert row["emails_current"] == ["acasali@villaverde.example.edu", "lgil@villaverde.example.edu"]
    assert {each["field"] for each in row["evidence"]} >= {"title", "author", "email", "category"}
    export(crawled, "documents", "--all", "-o", str(tmp_path / "d.csv"))
    with (tmp_path / "d.csv").open(newline="") as file:
        cells = {row["url"]: row for row in csv.DictReader(file)}
    assert len(cells) == 9
    assert cells[f"{SITE}/~acasali/caudales.pdf"]["authors"] == "Ana Casali; Luis Gil"


def test_an_export_is_a_gold(crawled: Path, tmp_path: Path) -> None:
    """Evaluated against itself, everything is right; a changed value is a mistake."""
    export(crawled, "documents", "--all", "-o", str(tmp_path / "gold.csv"))
    figures = json.loads(run("evaluate", str(tmp_path / "gold.csv"), "--json", "-c", str(crawled)).output)
    assert figures["documents"] == 9 and figures["missing"] == []
    assert figures["fields"]["authors"]["precision"] == figures["fields"]["authors"]["recall"] == 1.0
    text = (tmp_path / "gold.csv").read_text().replace("Ana Casali; Luis Gil", "Eva Sanz; Luis Gil")
    (tmp_path / "gold.csv").write_text(text)
    shown = run("evaluate", str(tmp_path / "gold.csv"), "-c", str(crawled)).output
    assert "wanted Eva Sanz; Luis Gil" in shown


def test_the_institution_of_a_paper_is_not_its_publisher() -> None:
    """That of a thesis is, without the people and addresses of its line."""
    places = (Finding("Eva Ruiz, Universidad de Villaverde, eruiz@x.edu", 0.9),)
    thesis = DocumentDescription(url="http://x/", format="pdf", kind=Finding("thesis", 0.9), affiliations=places)
    assert publishers(replace(thesis, category="thesis")) == ["Universidad de Villaverde"]
    paper = replace(thesis, category="article")
    assert "Villaverde" not in write_metadata(paper) and "Villaverde" not in write_dc(paper)


def test_dspace_loads_it(crawled: Path, tmp_path: Path) -> None:
    """Simple Archive Format: each item has its metadata, its contents and the file that they name."""
    export(crawled, "dspace", "-o", str(tmp_path / "saf"))
    items = sorted(path for path in (tmp_path / "saf").iterdir() if path.is_dir())
    assert len(items) == 7
    for item in items:
        root = ElementTree.parse(item / "dublin_core.xml").getroot()
        assert (root.tag, root.get("schema")) == ("dublin_core", "dc")
        for value in root:
            assert value.tag == "dcvalue" and value.get("element") and value.get("qualifier") and value.text
        for line in (item / "contents").read_text().splitlines():
            name, *options = line.split("\t")
            assert (item / name).read_bytes().startswith(b"%PDF")
            assert options == ["bundle:ORIGINAL", "primary:true"]
    creators = [
        value.text
        for item in items
        for value in ElementTree.parse(item / "dublin_core.xml").getroot()
        if value.get("element") == "contributor" and value.get("qualifier") == "author"
    ]
    assert "Ruiz Gómez, Marta" in creators


def test_reference_managers_read_it(crawled: Path, tmp_path: Path) -> None:
    """BibTeX by its parser, RIS by its lines."""
    export(crawled, "bibtex", "-o", str(tmp_path / "d.bib"))
    library = bibtexparser.parse_file(str(tmp_path / "d.bib"))
    assert len(library.entries) == 7 and not library.failed_blocks
    thesis = next(entry for entry in library.entries if entry.entry_type == "phdthesis")
    assert thesis["author"] == "Ruiz Gómez, Marta"
    export(crawled, "ris", "-o", str(tmp_path / "d.ris"))
    text = (tmp_path / "d.ris").read_bytes().decode()
    assert text.count("TY  - ") == text.count("ER  - ") == 7
    assert "AU  - Casali, Ana\r\n" in text


def test_the_graph_leaves_in_three_forms(crawled: Path, tmp_path: Path) -> None:
    """GraphML, Neo4j's CSV files with their headers, RDF that parses."""
    export(crawled, "document-graph", "-o", str(tmp_path / "g.graphml"))
    ElementTree.parse(tmp_path / "g.graphml")
    export(crawled, "neo4j", "-o", str(tmp_path / "neo"))
    heads = {path.name: path.read_text().splitlines()[0] for path in (tmp_path / "neo").glob("*.csv")}
    assert heads["Pdf.csv"].startswith("key:ID(Pdf),url:string,title:string") and heads["Pdf.csv"].endswith(",:LABEL")
    assert heads["Pdf_HasAuthor_Author.csv"] == ":START_ID(Pdf),:END_ID(Author),confidence:double,:TYPE"
    assert heads["Author_HasConnection_Affiliation.csv"].startswith(":START_ID(Author),:END_ID(Affiliation)")
    export(crawled, "rdf", "-o", str(tmp_path / "d.ttl"))
    store = pyoxigraph.Store()
    store.load(path=str(tmp_path / "d.ttl"), format=pyoxigraph.RdfFormat.TURTLE)
    found = store.query("SELECT ?n { ?d <http://purl.org/dc/terms/creator> [ <http://xmlns.com/foaf/0.1/name> ?n ] }")
    assert {row["n"].value for row in found} >= {"Ana Casali", "Luis Gil", "Marta Ruiz Gómez"}  # type: ignore[union-attr, index]


def test_cypher_asks_the_graph(collection: Path) -> None:
    """Paths and counts; what would write or leave the database is refused; a correction is seen at once."""

    def ask(text: str) -> tuple[int, str]:
        return run("query", "--cypher", text, "--format", "csv", "-c", str(collection))

    asked = (
        "MATCH (:Html)-[:Links]->(p:Pdf)-[:HasAuthor]->(a:Author) WHERE a.name = 'Ana Casali' RETURN count(DISTINCT p)"
    )
    code, said = ask(asked)
    assert code == 0 and said.splitlines()[1] == "5", said
    for text in (
        "CREATE (:Pdf {key: '1'})",
        "COPY (MATCH (a) RETURN a) TO 'x.csv'",
        "LOAD FROM 'x' RETURN *",
        "MATCH (a:Nope) RETURN a",
    ):
        code, said = ask(text)
        assert code != 0 and "Traceback" not in said
    assert ask("MATCH (a:Author) WHERE a.name = 'SET CREATE' RETURN a")[0] == 0
    assert run("correct", f"{SITE}/hidrologia/practica1.pdf", "authors", "Eva Sanz", "-c", str(collection)).code == 0
    assert ask(asked)[1].splitlines()[1] == "4"


def repository(collection: Path) -> Repository:
    with Collection(collection) as source, open_catalogue(source) as catalogue:
        return Repository(list(catalogue.documents()), name="faculty", contact="mailto:ana@x.edu")


def answer(source: Repository, query: str) -> ElementTree.Element:
    """The answer to a request, which must be as the protocol's schema has it."""
    text = source.answer(parse_qsl(query), base="http://x/")
    _OAI_SCHEMA.assertValid(etree.fromstring(text))
    return ElementTree.fromstring(text)


def test_harvesters_get_records(crawled: Path) -> None:
    """Identify, formats, sets, records and single ones, as OAI-PMH has them."""
    source = repository(crawled)
    identity = answer(source, "verb=Identify").find(f"{OAI}Identify")
    assert identity is not None
    assert [each.tag.removeprefix(OAI) for each in identity] == [
        "repositoryName",
        "baseURL",
        "protocolVersion",
        "adminEmail",
        "earliestDatestamp",
        "deletedRecord",
        "granularity",
    ]
    assert identity.findtext(f"{OAI}adminEmail") == "ana@x.edu"
    records = answer(source, "verb=ListRecords&metadataPrefix=oai_dc").findall(f"{OAI}ListRecords/{OAI}record")
    assert len(records) == 7
    identifier = records[0].findtext(f"{OAI}header/{OAI}identifier")
    single = answer(source, f"verb=GetRecord&metadataPrefix=oai_dc&identifier={identifier}")
    assert single.find(f"{OAI}GetRecord/{OAI}record") is not None
    theses = answer(source, "verb=ListIdentifiers&metadataPrefix=oai_dc&set=thesis")
    assert len(theses.findall(f"{OAI}ListIdentifiers/{OAI}header")) == 1


def test_long_lists_come_in_pages(crawled: Path) -> None:
    """Each token leads to the next page, and the last one has none."""
    with Collection(crawled) as source, open_catalogue(source) as catalogue:
        documents = [
            replace(document, url=f"{document.url}?{n}") for n in range(40) for document in catalogue.documents()
        ]
    many = Repository(documents, name="faculty", contact="")
    query, seen = "verb=ListIdentifiers&metadataPrefix=oai_dc", 0
    while query:
        page = answer(many, query).find(f"{OAI}ListIdentifiers")
        assert page is not None
        seen += len(page.findall(f"{OAI}header"))
        token = page.findtext(f"{OAI}resumptionToken")
        query = f"verb=ListIdentifiers&resumptionToken={token}" if token else ""
    assert seen == 280 > PAGE_SIZE


def test_a_real_harvester_reads_it(collection: Path) -> None:
    """Sickle takes every record over HTTP from the server that `lycosa oai` starts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "lycosa", "oai", "--port", str(port), "-c", str(collection)]
    server = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        said = server.stderr.readline()
        assert f"OAI-PMH at http://127.0.0.1:{port}/c/c/m/documents/oai" in said
        while server.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
        harvester = Sickle(said.split()[-1], max_retries=20, default_retry_after=1)
        records = list(harvester.ListRecords(metadataPrefix="oai_dc"))
        assert len(records) == 7
        assert {name for record in records for name in record.metadata["creator"]} >= {
            "Casali, Ana",
            "Ruiz Gómez, Marta",
        }
    finally:
        server.terminate()
        server.communicate()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "badVerb"),
        ("verb=Nope", "badVerb"),
        ("verb=ListRecords", "badArgument"),
        ("verb=ListRecords&metadataPrefix=oai_dc&x=1", "badArgument"),
        ("verb=ListRecords&metadataPrefix=marc", "cannotDisseminateFormat"),
        ("verb=ListRecords&metadataPrefix=oai_dc&from=2999-01-01", "noRecordsMatch"),
        ("verb=ListRecords&metadataPrefix=oai_dc&from=nonsense", "badArgument"),
        ("verb=ListRecords&resumptionToken=nonsense", "badResumptionToken"),
        ("verb=GetRecord&metadataPrefix=oai_dc&identifier=x", "idDoesNotExist"),
    ],
)
def test_wrong_requests_have_their_error(crawled: Path, query: str, code: str) -> None:
    """Each by the code of the protocol."""
    error = answer(repository(crawled), query).find(f"{OAI}error")
    assert error is not None and error.get("code") == code


def test_the_report_stands_alone(crawled: Path, tmp_path: Path) -> None:
    """One page with documents, people, what is missing and the evidence, and nothing from the network."""
    assert run("report", "documents", "-o", str(tmp_path / "r.html"), "-c", str(crawled)).code == 0
    text = (tmp_path / "r.html").read_text()
    assert "Caudales mínimos" in text and "What is missing" in text and "mruiz@villaverde.example.edu" in text
    assert "<script src" not in text and "<link " not in text
