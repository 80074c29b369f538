"""What landing pages of repositories and journals say of their works, and that it counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from support.crawl_runs import crawl
from support.loopback import Reply, Web
from support.pdf_files import lines_down, make_pdf
from support.repositories import DSPACE, EPRINTS, WORKS, WorkPage, serve

from lycosa import Collection
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.evidence.site_graph import SiteDocument, SiteGraph
from lycosa.missions.documents.model import (
    DocumentDescription,
    DocumentFacts,
    DocumentLink,
    Finding,
    PageFacts,
    PresentedWork,
)
from lycosa.missions.documents.pages.landing import find_oai, links_to_files, read_landing, turn_name
from lycosa.parse import Doc, read


def read_page(work: WorkPage) -> Doc:
    headers = {
        "content-type": "text/html; charset=utf-8",
        **{key.lower(): value for key, value in work.headers.items()},
    }
    return read(f"http://{work.host}{work.path}", headers, work.html.encode())


@pytest.mark.parametrize("page", WORKS, ids=lambda page: page.program)
def test_a_landing_page_is_the_record_of_its_work(page: WorkPage) -> None:
    work = read_landing(doc := read_page(page))
    assert work is not None and work.program == page.program
    assert work.title is not None and work.title.value == page.title and work.title.evidence[0].source == "page"
    assert [author.name for author in work.authors] == page.authors
    assert (work.year, work.doi, work.kind or "") == (page.year, page.doi, page.kind)
    institutions = [each.value for each in work.institutions] + [
        name for one in work.authors for name in one.affiliations
    ]
    assert institutions[:1] == [page.institution][: bool(page.institution)]
    assert (work.abstract.value if work.abstract else "") == page.abstract
    assert [each.value for each in work.rights][:1] == [page.licence][: bool(page.licence)]
    assert work.authors[0].orcid == page.orcid
    assert f"http://{page.host}{page.file}" in work.files
    assert page.oai in find_oai(doc)
    named = {link.href for link in links_to_files(doc)} | {link.href for link in doc.links}
    assert f"http://{page.host}{page.file}" in named


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, DocumentDescription]]:
    """The catalogue of a crawl of all of them; each file prints a heading and a name that are not the work's."""
    folder, web = tmp_path_factory.mktemp("repositories") / "c", Web()
    pdf = make_pdf(
        lines_down("1. Introduction and motivation of the work", "Department of Everything", "Words follow.")
    )
    seeds = [serve(web, work, pdf + f"% {work.host}".encode()) for work in WORKS]
    told = crawl(web, folder, "documents", *seeds)
    web.close()
    assert "OAI-PMH" in told and "http://eprints.test/cgi/oai2" in told
    with Collection(folder) as collection, open_catalogue(collection) as catalogue:
        yield {document.url: document for document in catalogue.documents(unwanted=True)}


@pytest.mark.parametrize("page", WORKS, ids=lambda page: page.program)
def test_its_word_wins_over_what_the_file_prints(documents: dict[str, DocumentDescription], page: WorkPage) -> None:
    """The file is found though no <a> leads to it; what it prints instead stays among the evidence."""
    document = documents[f"http://{page.host}{page.file}"]
    assert document.title is not None and document.title.value == page.title and document.title.confidence >= 0.9
    assert any(piece.rule.startswith("otherwise: ") for piece in document.title.evidence)
    assert [author.name for author in document.authors] == page.authors
    assert (document.year, document.doi) == (page.year, page.doi)
    assert document.kind.value == (page.kind or document.kind.value)
    if page.institution:
        assert document.affiliations[0].value == page.institution
    assert len(documents) == len(WORKS)


def test_a_page_that_presents_no_work_says_nothing_of_one() -> None:
    """Dublin Core alone stands on many a page; a list of works names no file as its own."""
    headers = {"content-type": "text/html"}
    head = '<meta name="DC.title" content="Courses"><meta name="DC.creator" content="Office">'
    assert read_landing(read("http://a.test/", headers, f"<html><head>{head}</head>".encode())) is None
    assert read_landing(read("http://a.test/", headers, b"<title>Papers</title><a href=a.pdf>A</a>")) is None


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("Casali, Ana", "Ana Casali"),
        ("Núñez Gómez, M. Luisa, 1961-", "M. Luisa Núñez Gómez"),
        ("Ana Casali", "Ana Casali"),
        ("Sato, Yuki [0000-0001-5109-3700]", "Yuki Sato"),
        ("van der Berg, Jan", "Jan van der Berg"),
        ("World Health Organization", "World Health Organization"),
    ],
)
def test_names_are_written_as_people_do(told: str, name: str) -> None:
    assert turn_name(told) == name


def test_hostile_heads_are_read_in_bounds() -> None:
    head = '<meta name="citation_author" content="A, B">' * 5_000 + '<meta name="citation_title" content="T">'
    ring = '<script type="application/ld+json">{"@id": "x", "@type": "Thesis", "author": {"@id": "x"}}</script>'
    work = read_landing(read(f"http://{DSPACE.host}/", {"content-type": "text/html"}, f"<head>{head}{ring}".encode()))
    assert work is None or len(work.authors) <= 2_000


def record(number: int, title: str, *creators: str) -> str:
    names = "".join(f"<dc:creator>{name}</dc:creator>" for name in creators)
    return (
        f"<record><header><identifier>oai:eprints.test:{number}</identifier></header><metadata><oai_dc:dc"
        ' xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title>{names}<dc:identifier>http://eprints.test/{number}/</dc:identifier>"
        "<dc:rights>cc_by</dc:rights></oai_dc:dc></metadata></record>"
    )


def answer(*parts: str) -> Reply:
    body = f'<?xml version="1.0"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>{"".join(parts)}'
    return Reply(f"{body}</ListRecords></OAI-PMH>".encode(), headers={"Content-Type": "text/xml"})


def test_records_of_a_repository_are_weighed_field_by_field(tmp_path: Path) -> None:
    """The list goes on by its token, leads to works that no page links to, and fills in what their pages leave out."""
    web = Web()
    base = "eprints.test/cgi/oai2?verb=ListRecords&"
    web[f"{base}metadataPrefix=oai_dc"] = answer(
        record(1234, "Trust in machines", "O'Neill, Mary"), "<resumptionToken>next/1</resumptionToken>"
    )
    web[f"{base}resumptionToken=next%2F1"] = answer(record(5, "Another title", "Ruiz, Eva"))
    head = '<meta name="eprints.title" content="A title"><meta name="eprints.document_url" content="/5/5.pdf">'
    web["eprints.test/5/"] = Reply(f"<html><head>{head}</head>".encode(), headers={"Content-Type": "text/html"})
    pdf = make_pdf(lines_down("Chapter 1", "Words follow."))
    web["eprints.test/5/5.pdf"] = Reply(pdf, headers={"Content-Type": "application/pdf"})
    crawl(web, tmp_path / "c", "documents", serve(web, EPRINTS, pdf + b"%"), "--set", "documents.oai=true")
    web.close()
    with Collection(tmp_path / "c") as collection, open_catalogue(collection) as catalogue:
        assert [(each.base, each.records) for each in catalogue.repositories()] == [("http://eprints.test/cgi/oai2", 2)]
        trust = catalogue.document("http://eprints.test/1234/1/thesis_final.pdf")
        other = catalogue.document("http://eprints.test/5/5.pdf")
    assert trust is not None and trust.title is not None and trust.title.confidence > 0.97
    assert {piece.rule for piece in trust.title.evidence} >= {"eprints.title", "OAI-PMH dc:title"}
    assert [each.value for each in trust.rights] == ["cc_by"]
    assert other is not None and other.title is not None and other.title.value == "A title"
    assert ("otherwise: OAI-PMH dc:title", "Another title") in [(one.rule, one.quote) for one in other.title.evidence]
    assert [author.name for author in other.authors] == ["Eva Ruiz"]


def test_what_the_pages_of_several_works_link_to_is_none_of_them() -> None:
    """A page that names no file presents the one document that it links to, unless others do, too."""
    graph = SiteGraph(apsw.Connection(":memory:"))
    addresses = {f"http://a.test/{name}.pdf" for name in ("form", "thesis")}
    for number, name in ((1, "form"), (2, "form"), (3, "thesis")):
        work = PresentedWork(title=Finding(f"Work {number}", 0.9), is_told=True)
        link = DocumentLink(url=f"http://a.test/{name}.pdf")
        graph.add_work(f"http://a.test/{number}", PageFacts(documents=(link,), work=work), addresses)
    facts = DocumentFacts(format="pdf", kind=Finding("other", 0.1))
    form, thesis = (graph.work_of(SiteDocument(address, facts, (address,), "", "")) for address in sorted(addresses))
    assert form is None
    assert thesis is not None and thesis.title is not None and thesis.title.value == "Work 3"
