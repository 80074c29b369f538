"""What is known of the documents of a site, from themselves, from its pages and from each other."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import msgspec
import pytest
from msgspec.structs import replace

from lycosa import Collection
from lycosa.errors import UsageError
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.evidence.directory import Directory, Mention
from lycosa.missions.documents.evidence.fusion import Fusion
from lycosa.missions.documents.evidence.labels import find_label, find_subcategory, kind_of_words, parse_labels
from lycosa.missions.documents.evidence.site_graph import SiteDocument, SiteGraph
from lycosa.missions.documents.export.rows import row_of, write_rows
from lycosa.missions.documents.model import (
    DocumentDescription,
    DocumentFacts,
    Evidence,
    Finding,
    PageFacts,
    Person,
)
from lycosa.missions.documents.settings import DocumentSettings

SITE = "http://www.faculty.test"


@pytest.fixture(scope="module")
def documents(crawled: Path) -> dict[str, DocumentDescription]:
    with Collection(crawled) as collection, open_catalogue(collection) as catalogue:
        return {document.url.removeprefix(SITE): document for document in catalogue.documents(unwanted=True)}


def addresses(document: DocumentDescription, *, current: bool) -> set[str]:
    return {
        address.email for author in document.authors for address in author.addresses if address.is_current is current
    }


def test_every_document_is_found(documents: dict[str, DocumentDescription]) -> None:
    """Also one that is broken: it is there with its problem."""
    assert len(documents) == 9
    assert documents["/hidrologia/roto.pdf"].problem


def test_a_document_that_ended_its_reader_stands_on_the_list(collection: Path) -> None:
    """With what happened as its problem, and what the pages say of it; a page of HTML is no document."""
    with closing(sqlite3.connect(collection / "crawl.db")) as database, database:
        for path in ("/hidrologia/practica1.pdf", "/"):
            found = database.execute("SELECT n FROM url WHERE url = ?", (SITE + path,)).fetchone()
            database.execute("UPDATE extracted SET outcome = 'crash', records = 0 WHERE n = ?", found)
            database.execute("DELETE FROM record WHERE n = ?", found)
    with Collection(collection) as source, open_catalogue(source) as catalogue:
        assert catalogue.count(unwanted=True) == 9
        sheet = catalogue.document(f"{SITE}/hidrologia/practica1.pdf")
    assert sheet is not None and sheet.format == "pdf" and sheet.fetched
    assert "the process ended over it" in sheet.problem
    assert sheet.linked_from
    row = row_of(replace(sheet, title=None))
    write_rows(iter([row]), out := io.StringIO(), form="table")
    assert "it could not be read" in out.getvalue()


def test_a_paper_has_its_header(documents: dict[str, DocumentDescription]) -> None:
    """Title, authors and grouped addresses as printed, and today's addresses beside them."""
    paper = documents["/~acasali/caudales.pdf"]
    assert paper.title is not None and paper.title.value == "Caudales mínimos en cuencas de montaña"
    assert [author.name for author in paper.authors] == ["Ana Casali", "Luis Gil"]
    assert addresses(paper, current=False) == {"acasali@antigua.example.edu", "lgil@antigua.example.edu"}
    assert addresses(paper, current=True) == {"acasali@villaverde.example.edu", "lgil@villaverde.example.edu"}


def test_a_sheet_without_names_has_the_teachers_of_its_course(documents: dict[str, DocumentDescription]) -> None:
    """Their names and addresses come from the pages, and the evidence says so."""
    sheet = documents["/hidrologia/practica1.pdf"]
    assert [author.name for author in sheet.authors] == ["Ana Casali", "Luis Gil"]
    assert all(each.source == "page" for author in sheet.authors for each in author.evidence)
    assert addresses(sheet, current=True) == {"acasali@villaverde.example.edu", "lgil@villaverde.example.edu"}


def test_strangers_are_attached_to_nothing(documents: dict[str, DocumentDescription]) -> None:
    """Neither the dean, whom the first page names, nor a namesake of an author."""
    everyone = {each.value for document in documents.values() for each in document.emails}
    assert "decanato@villaverde.example.edu" not in everyone
    assert "lucia.gil@villaverde.example.edu" not in everyone


def test_a_director_is_no_author(documents: dict[str, DocumentDescription]) -> None:
    """The cover of a thesis says who wrote it and who directed it."""
    thesis = documents["/tesis/ruiz.pdf"]
    assert [author.name for author in thesis.authors] == ["Marta Ruiz Gómez"]
    assert [(person.name, person.role) for person in thesis.contributors] == [("Ana Casali", "director")]
    assert thesis.subcategory == "doctoral thesis"
    assert addresses(thesis, current=True) == {"mruiz@villaverde.example.edu"}


def test_kinds_say_what_is_wanted(documents: dict[str, DocumentDescription]) -> None:
    """CVs and programmes are not."""
    kinds = {url: document.category for url, document in documents.items()}
    assert kinds["/~lgil/cv.pdf"] == "cv"
    assert kinds["/hidrologia/programa.pdf"] == "programme"
    assert kinds["/hidrologia/practica2.pdf"] == "exercises"
    assert kinds["/hidrologia/unidad3.pdf"] == "slides"
    assert {url for url, document in documents.items() if not document.wanted} == {
        "/~lgil/cv.pdf",
        "/hidrologia/programa.pdf",
    }


def test_settings_count_without_the_network(collection: Path) -> None:
    """Without the pages, the document alone says what it says; labels and stop words are applied at once."""
    file = collection / "lycosa.toml"
    own = '\n[documents]\npasses = []\nunwanted = ["slides"]\nlabels = ["deberes / hoja [3000]: ejercicio, práctica"]\n'
    file.write_text(file.read_text() + own + 'author_stop_words = ["casali"]\n')
    with Collection(collection) as source, open_catalogue(source) as catalogue:
        found = {document.url.removeprefix(SITE): document for document in catalogue.documents(unwanted=True)}
    assert found["/hidrologia/practica1.pdf"].authors == ()
    assert found["/hidrologia/practica1.pdf"].category == "deberes"
    assert not found["/hidrologia/unidad3.pdf"].wanted
    assert [author.name for author in found["/~acasali/caudales.pdf"].authors] == ["Luis Gil"]


def test_the_catalogue_is_made_once(collection: Path) -> None:
    """It is read again as it is until something changes; a damaged one is made anew."""
    with Collection(collection) as source:
        with open_catalogue(source) as catalogue:
            state, count = catalogue.state, catalogue.count()
        (collection / "documents.db").write_bytes(b"nonsense" * 1000)
        with open_catalogue(source) as catalogue:
            assert (catalogue.state, catalogue.count()) == (state, count)
    with sqlite3.connect(collection / "documents.db") as database:
        assert database.execute("SELECT count(*) FROM document").fetchone() == (9,)


def mention(name: str, *emails: str, url: str = "http://x/", role: str = "member") -> Mention:
    return Mention(Person(name=name, confidence=0.9, role=role, emails=emails), url)  # type: ignore[arg-type]


def test_short_spellings_find_the_one_they_fit() -> None:
    """A spelling that fits two persons is tied to neither."""
    directory = Directory()
    directory.add_all(
        [mention("Juan García", "juan@x.edu"), mention("Julia García", "julia@x.edu"), mention("Ana Casali")]
    )
    assert [entry.name for entry in directory.find("A. Casali")] == ["Ana Casali"]
    assert len(directory.find("J. García")) == 2
    assert directory.find("Pedro Romero") == []


def test_two_people_of_one_name_stay_two() -> None:
    """Two pages about two persons with their own addresses at one domain are two persons."""
    directory = Directory()
    directory.add_all(
        [
            mention("Ana Gil", "agil@x.edu", url="http://x/a", role="owner"),
            mention("Ana Gil", "agil2@x.edu", url="http://x/b", role="owner"),
        ]
    )
    assert len(directory.find("Ana Gil")) == 2


def test_an_address_is_of_whom_it_names() -> None:
    """A page that ties it to somebody else is not believed; held by two whom it does not tell apart, it is nobody's."""
    directory = Directory()
    directory.add_all(
        [
            mention("Ana Casali", "acasali@x.edu", "pedro.romero@x.edu"),
            mention("Pedro Romero", "promero@x.edu"),
            mention("Luis Gil", "grupo7@x.edu", url="http://x/a"),
            mention("Eva Sanz", "grupo7@x.edu", "esanz@x.edu", url="http://x/b"),
        ]
    )
    held = {entry.name: set(entry.addresses) for entry in directory.entries}
    assert held == {
        "Ana Casali": {"acasali@x.edu"},
        "Pedro Romero": {"promero@x.edu"},
        "Luis Gil": set(),
        "Eva Sanz": {"esanz@x.edu"},
    }


def site(
    documents: dict[str, DocumentFacts],
    pages: dict[str, PageFacts] | None = None,
    *,
    settings: DocumentSettings = DocumentSettings(),  # noqa: B008
) -> list[DocumentDescription]:
    """The documents of a small site as they are described; no page links to them."""
    graph = SiteGraph(apsw.Connection(":memory:"))
    graph._store.execute("CREATE TABLE page (url TEXT PRIMARY KEY, data BLOB)")
    for url, facts in (pages or {}).items():
        graph._store.execute("INSERT INTO page VALUES (?, ?)", (url, msgspec.json.encode(facts)))
    found = [SiteDocument(url, facts, (url,), "", "") for url, facts in documents.items()]
    fusion = Fusion(settings, graph)
    fusion.learn_pages()
    for document in found:
        fusion.learn_document(document)
    return [fusion.describe(document) for document in found]


def facts(*authors: str, emails: tuple[str, ...] = (), kind: str = "article", head: str = "") -> DocumentFacts:
    """What a document says that prints these authors and addresses."""
    proof = (Evidence(source="text", rule="line model", page=1),)
    return DocumentFacts(
        format="pdf",
        kind=Finding(kind, 0.9),
        people=tuple(Person(name=name, confidence=0.9, emails=emails[:1], evidence=proof) for name in authors),
        emails=tuple(Finding(email, 0.9, proof) for email in emails),
        head=head or "\n".join((*authors, *emails)),
    )


def test_addresses_of_a_document_are_weighed_over_all_its_authors() -> None:
    """Whatever was tied to an author before: the local part decides, and each author has their own."""
    emails = ("hannah@x.edu", "bh7@x.edu")
    (paper,) = site({"http://x.edu/a.pdf": facts("Bo Han", "Hannah Smith", emails=emails)})
    assert [[each.email for each in author.addresses] for author in paper.authors] == [["bh7@x.edu"], ["hannah@x.edu"]]


HOME = {
    "http://x.edu/~ana/index.html": PageFacts(
        people=(Person(name="Ana Casali", confidence=0.95, role="owner", emails=("acasali@x.edu",)),)
    )
}
SHEETS = [f"http://x.edu/~ana/docencia/al/h{n}.pdf" for n in range(4)]


def authors(found: list[DocumentDescription]) -> list[list[str]]:
    return [[author.name for author in document.authors] for document in found]


def test_what_names_nobody_is_of_the_owner_of_its_folder() -> None:
    """Also where no page that links to it is theirs; less surely than what is printed, and with their address."""
    (sheet,) = site({SHEETS[0]: facts(kind="exercises", head="Hoja 1")}, HOME)
    assert [(one.name, [each.email for each in one.addresses]) for one in sheet.authors] == [
        ("Ana Casali", ["acasali@x.edu"])
    ]
    assert sheet.authors[0].confidence <= 0.5


def test_a_folder_of_several_people_has_no_owner() -> None:
    """Nor has what prints the address of somebody else, or stands elsewhere."""
    second = Person(name="Luis Gil", confidence=0.95, role="owner")
    both = {**HOME, "http://x.edu/~ana/": PageFacts(people=(second,))}
    assert authors(site({SHEETS[0]: facts(kind="exercises")}, both)) == [[]]
    assert authors(site({SHEETS[0]: facts(emails=("mruiz@x.edu",), kind="notes")}, HOME)) == [[]]
    assert authors(site({"http://x.edu/~luis/h1.pdf": facts(kind="notes")}, HOME)) == [[]]


def test_the_name_of_a_course_is_no_author() -> None:
    """It stands in the head of several sheets and is nobody's, whether the site has an owner or not."""
    sheets = {url: facts("Optimización Convexa", kind="exercises") for url in SHEETS}
    assert authors(site(sheets, HOME)) == [["Ana Casali"]] * 4
    assert authors(site(sheets)) == [[]] * 4


def test_a_doubtful_author_does_not_stop_the_owner() -> None:
    """Of a sheet; a paper has the author whom it prints, however rare the name."""
    (sheet,) = authors(site({SHEETS[0]: facts("Optimización Convexa", kind="exercises")}, HOME))
    assert "Ana Casali" in sheet
    papers = {url: facts("Xinhua Qu", "Ana Casali") for url in SHEETS}
    assert authors(site(papers, HOME)) == [["Xinhua Qu", "Ana Casali"]] * 4
    assert authors(site({SHEETS[0]: facts("Xinhua Qu")}, HOME)) == [["Xinhua Qu"]]


def test_what_is_less_sure_than_asked_is_left_out() -> None:
    """In every list of values, not only among authors."""
    values = (Finding("parsing", 0.9), Finding("trees", 0.3))
    paper = msgspec.structs.replace(facts("Ana Casali"), keywords=values, rights=values, abstract=values[1])
    (found,) = site({"http://x.edu/a.pdf": paper})
    assert [[each.value for each in each_list] for each_list in (found.keywords, found.rights)] == [["parsing"]] * 2
    assert found.abstract is None
    (found,) = site({"http://x.edu/a.pdf": paper}, settings=DocumentSettings(min_confidence=0.2))
    assert len(found.keywords) == 2 and found.abstract is not None


def test_a_cv_is_of_one_person() -> None:
    """Its headings are nobody, and it is not wanted."""
    life = facts("Research Interests", "Ana Casali", "Technical Skills", kind="cv")
    (found,) = site({"http://x.edu/a.pdf": life})
    assert [author.name for author in found.authors] == ["Ana Casali"]
    assert not found.wanted


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("notes/ch1.pdf", "notes"),
        ("docencia/apuntes/tema2.pdf", "notes"),
        ("al/ApuntesAfin.pdf", "notes"),
        ("al/hoja3.pdf", "exercises"),
        ("al/examen_final2019.pdf", "exam"),
        ("al/x.pdf", "other"),
    ],
)
def test_the_address_of_a_document_tells_its_kind(path: str, kind: str) -> None:
    """Where the document itself is unsure: its file, and the folders around it."""
    unsure = msgspec.structs.replace(facts(), kind=Finding("other", 0.3))
    assert [found.kind.value for found in site({f"http://x.edu/{path}": unsure})] == [kind]
    sure = msgspec.structs.replace(facts(), kind=Finding("slides", 0.9))
    assert [found.kind.value for found in site({f"http://x.edu/{path}": sure})] == ["slides"]


def test_a_particle_among_the_stop_words_stops_no_name() -> None:
    """Older files list them; they stand in names of people and places."""
    paper = {"http://x.edu/a.pdf": facts("Juan de la Cruz", "Rector Gil Sanz")}
    assert authors(site(paper, settings=DocumentSettings(author_stop_words=("la", "de", "rector")))) == [
        ["Juan de la Cruz"]
    ]


@pytest.mark.parametrize(
    ("words", "kind"),
    [("Práctica 3", "exercises"), ("Apuntes", "notes"), ("Curriculum", "cv"), ("Programa", "programme"), ("PDF", "")],
)
def test_words_of_links_tell_the_kind(words: str, kind: str) -> None:
    """By the first words only: a title speaks of its subject."""
    assert kind_of_words(words) == kind
    assert kind_of_words(f"Un estudio sobre ríos: {words}") == ""


def test_labels_are_rules_of_words() -> None:
    """The first that matches counts; words further down than its bound do not."""
    labels = parse_labels(["teaching / sheet [20]: ejercicio, práctica", "thesis: tesis doctoral"])
    assert find_label(labels, head="Práctica 1", around="") == labels[0]
    assert find_label(labels, head="x" * 30 + " práctica", around="") is None
    assert find_label(labels, head="", around="una tesis doctoral") == labels[1]
    (label,) = parse_labels(["paper [header]: revista"])
    assert find_label([label], head="Revista", around="", has_header=False) is None
    assert find_label([label], head="Revista", around="", has_header=True) == label
    assert find_subcategory("thesis", "Trabajo de Fin de Grado") == "degree project"
    with pytest.raises(UsageError, match="CATEGORY / SUBCATEGORY"):
        parse_labels(["nonsense"])
