"""From the bytes of a document to what it says of itself."""

from __future__ import annotations

import pytest
from support.pdf_files import Words, lines_down, make_pdf

from lycosa.missions.documents.front_page.reading import facts_of, read_facts
from lycosa.missions.documents.model import Box
from lycosa.missions.documents.reading.layout import Layout, Line

PROSE = "we show that the proposed method improves on known solutions in all the cases that were studied"


def article_page() -> list[Words]:
    return [
        Words(100, 80, "Efficient Parsing of Dependency", 18, 1),
        Words(100, 102, "Structures in Practice", 18, 1),
        *[Words(100, 140, "Ana Ruiz", 12), Words(148, 135, "1", 7), Words(152, 140, " and Peter Smith", 12)],
        *[Words(240, 135, "2", 7)],
        *[Words(100, 158, "1", 7), Words(106, 160, "Department of Computer Science, University of Granada, Spain", 10)],
        *[Words(100, 173, "2", 7), Words(106, 175, "School of Engineering, University of Oxford, UK", 10)],
        Words(100, 195, "{aruiz,psmith}@uni.edu", 10),
        Words(100, 230, "Abstract", 12, 1),
        *lines_down(*[PROSE] * 6, x=100, y=250, size=9),
        Words(100, 335, "Keywords: parsing, dependency grammar, semantics", 9),
        Words(100, 365, "1 Introduction", 12, 1),
        *lines_down(*[PROSE] * 20, x=100, y=385),
    ]


def article() -> bytes:
    last = [
        *lines_down(*[PROSE] * 6, x=100, y=80),
        Words(100, 200, "References", 12, 1),
        Words(100, 220, "[1] E. Sanz. A theory of trees. Journal of Things, 2010. doi:10.1234/abc.5", 9),
        Words(100, 232, "[2] J. Blanco and M. Roca. Other trees. 2011.", 9),
        Words(100, 300, "© 2020 The Authors. Licensed under CC BY-NC 4.0", 8),
    ]
    return make_pdf(article_page(), last)


def test_an_article() -> None:
    """Its header, tied together, with evidence for each value."""
    facts = read_facts(article())
    assert facts.kind.value == "article"
    assert facts.language is not None and facts.language.value == "en"
    assert facts.titles[0].value == "Efficient Parsing of Dependency Structures in Practice"
    ana, peter = facts.people
    assert (ana.name, ana.role, ana.emails) == ("Ana Ruiz", "author", ("aruiz@uni.edu",))
    assert ana.affiliations == ("Department of Computer Science, University of Granada, Spain",)
    assert (peter.name, peter.emails) == ("Peter Smith", ("psmith@uni.edu",))
    assert peter.affiliations == ("School of Engineering, University of Oxford, UK",)
    assert ana.evidence[0].page == 1 and ana.evidence[0].box is not None
    assert [word.value for word in facts.keywords] == ["parsing", "dependency grammar", "semantics"]
    assert facts.abstract is not None and facts.abstract.value.startswith("we show")
    assert [(one.title, one.year, one.doi) for one in facts.references] == [
        ("A theory of trees", "2010", "10.1234/abc.5"),
        ("Other trees", "2011", ""),
    ]
    assert [right.value for right in facts.rights][0] == "CC BY-NC 4.0"


def test_a_life_is_no_article() -> None:
    """Headings of a life outweigh the journals and references that it lists."""
    sections = ("Education", "Academic positions", "Publications", "Awards", "References")
    lines = [Words(100, 80, "Eva Ruiz Sanz", 18, 1)]
    for at, section in enumerate(sections):
        lines.append(Words(100, 120 + 110 * at, section, 12, 1))
        entries = [
            f"20{10 + n}  Journal of Things, volume {n}, proceedings of the conference on trees" for n in range(6)
        ]
        lines += lines_down(*entries, x=100, y=140 + 110 * at, size=9)
    assert read_facts(make_pdf(lines)).kind.value == "cv"
    assert read_facts(article()).kind.value == "article"


def test_a_cover_tells_the_author_from_the_others() -> None:
    """Labels give the roles, before, within or below the names; each line of the institution is a level of it."""
    cover = [
        Words(150, 80, "UNIVERSIDAD DE BUENOS AIRES", 14),
        Words(150, 110, "Facultad de Ingeniería", 12),
        Words(120, 250, "Una teoría de los grafos aleatorios", 22, 1),
        Words(120, 276, "en redes complejas", 22, 1),
        Words(120, 330, "Tesis presentada por ANA RUIZ", 12),
        Words(120, 346, "para optar al título de Licenciada en Informática", 12),
        Words(120, 420, "Director: Dr. Juan Blanco", 12),
        Words(120, 500, "Tribunal", 12),
        Words(120, 516, "Dra. Eva Sanz", 12),
        Words(120, 600, "Dr. Luis Roca", 12),
        Words(120, 616, "Jefe de Departamento", 12),
        Words(120, 700, "2019", 12),
    ]
    pages = [lines_down(*[PROSE] * 30) for _ in range(12)]
    facts = read_facts(make_pdf(cover, *pages))
    assert facts.kind.value == "thesis"
    assert facts.titles[0].value == "Una teoría de los grafos aleatorios en redes complejas"
    assert [(person.name, person.role) for person in facts.people] == [
        ("Ana Ruiz", "author"),
        ("Juan Blanco", "director"),
        ("Eva Sanz", "jury"),
        ("Luis Roca", "head"),
    ]
    assert [place.value for place in facts.affiliations] == ["UNIVERSIDAD DE BUENOS AIRES", "Facultad de Ingeniería"]
    assert facts.year == "2019"


def test_a_labelled_author_leaves_no_room_for_other_names() -> None:
    """Where "by" names the author, towns and members of a committee are none; roles may stand after names."""
    cover = [
        Words(150, 80, "UNIVERSITY OF CALIFORNIA", 14),
        Words(150, 98, "Santa Barbara", 12),
        Words(120, 200, "Scalable Graph Analytics on Commodity Hardware", 20, 1),
        Words(120, 260, "A dissertation submitted in partial satisfaction of the requirements", 11),
        Words(120, 330, "by", 11),
        Words(120, 346, "Nadia Petrosyan", 13),
        Words(120, 420, "Committee in Charge:", 11),
        Words(120, 435, "Professor Amr Habib, Chair", 11),
        Words(120, 450, "Dr. Lucas Brandt (University of Utah)", 11),
        Words(120, 600, "September 2013", 11),
    ]
    facts = read_facts(make_pdf(cover, *[lines_down(*[PROSE] * 30) for _ in range(12)]))
    assert [person.name for person in facts.people if person.role == "author"] == ["Nadia Petrosyan"]
    assert [person.name for person in facts.people if person.role == "jury"] == ["Amr Habib", "Lucas Brandt"]


def cover_of(*texts: str) -> Layout:
    """A thesis of many pages: a blank text sets blocks apart, the one that begins with "#" is the title."""
    lines: list[Line] = []
    block = 0
    for nth, text in enumerate(texts):
        block += not text
        size = 20.0 if text.startswith("#") else 12.0
        box = Box(100.0, 60.0 + 24 * nth, 500.0, 60.0 + 24 * nth + size)
        lines += [Line(text=text.lstrip("# "), page=1, box=box, size=size, block=block)] if text else []
    text = "\f".join(["\n".join(line.text for line in lines), *["\n".join([PROSE] * 30)] * 5])
    return Layout(format="pdf", page_count=60, page_width=595.0, page_height=842.0, lines=lines, text=text)


@pytest.mark.parametrize(
    ("texts", "people"),
    [
        (
            (
                "Bachelorarbeit", "", "# Ein Compiler für Graphen", "", "Lena Hofmann", "Matrikelnummer 345678", "",
                "Prof. Dr. Peter Sander", "Dr. Dorothea Wagenbach", "", "Hochschule Mannheim",
            ),
            {"author": ["Lena Hofmann"], "director": ["Peter Sander", "Dorothea Wagenbach"]},
        ),
        (
            (
                "ΕΘΝΙΚΟ ΜΕΤΣΟΒΙΟ ΠΟΛΥΤΕΧΝΕΙΟ", "ΣΧΟΛΗ ΗΛΕΚΤΡΟΛΟΓΩΝ ΜΗΧΑΝΙΚΩΝ", "ΚΑΙ ΜΗΧΑΝΙΚΩΝ ΥΠΟΛΟΓΙΣΤΩΝ",
                "ΤΟΜΕΑΣ ΤΕΧΝΟΛΟΓΙΑΣ ΠΛΗΡΟΦΟΡΙΚΗΣ", "", "# Ανάλυση Δικτύων", "", "ΔΙΠΛΩΜΑΤΙΚΗ ΕΡΓΑΣΙΑ", "",
                "Παπαδόπουλος Νικόλαος", "", "Επιβλέπων : Αναστάσιος Βλάχος", "Αναπληρωτής Καθηγητής",
            ),
            {"author": ["Παπαδόπουλος Νικόλαος"], "director": ["Αναστάσιος Βλάχος"]},
        ),
        (
            (
                "ESCUELA DE POSGRADO", "GESTIÓN AMBIENTAL", "DESARROLLO SOSTENIBLE", "", "# Manejo de cuencas", "",
                "Tesis", "", "ROSA ELENA QUISPE MAMANI", "", "Luis Castillo Vidal", "Catedrático",
            ),
            {"author": ["Rosa Elena Quispe Mamani"], "teacher": ["Luis Castillo Vidal"]},
        ),
        (
            (
                "UNIVERSIDAD NACIONAL", "SEDE NORTE", "FACULTAD DE MINAS", "", "# Demanda de energía", "",
                "Yesid Ospina", "", "2017", "", "Dirigida por", "Ph.D. Luis Arango",
            ),
            {"author": ["Yesid Ospina"], "director": ["Luis Arango"]},
        ),
        (
            ("Tripos", "", "# Compilers", "", "Rhian Bevan", "", "2019", "", "Thesis", "Supervisor: Eva Sanz PhD"),
            {"author": ["Rhian Bevan"], "director": ["Eva Sanz"]},
        ),
        (
            ("Tesi di Laurea Magistrale", "", "# Reti neurali", "", "Relatore:", "Prof. Ugo Cerri",
             "Candidato:", "Enzo Bo"),
            {"author": ["Enzo Bo"], "director": ["Ugo Cerri"]},
        ),
    ],
)  # fmt: skip
def test_who_wrote_a_thesis_and_who_directed_it(texts: tuple[str, ...], people: dict[str, list[str]]) -> None:
    """By labels in many languages, by titles beside names, and by what is no person: degrees, schools, subjects."""
    found: dict[str, list[str]] = {}
    for person in facts_of(cover_of(*texts)).people:
        found.setdefault(person.role, []).append(person.name)
    assert found == people


def test_terms_of_the_text_and_institutions_are_no_authors() -> None:
    """Words that the text writes small, and a second line under each author, in other letters."""
    page = [
        Words(100, 80, "A Study of Cells", 18, 1),
        *[
            Words(100, 120, "Ana Ruiz", 11, 1),
            Words(100, 134, "Quorum Labora", 11),
            Words(100, 148, "a@quorum.test", 11),
        ],
        *[Words(300, 120, "Peter Smith", 11, 1), Words(300, 134, "University of Oxford", 11)],
        Words(300, 148, "psmith@oxford.test", 11),
        Words(100, 170, "Quick Foxes", 11, 1),
        Words(100, 200, "Abstract", 11, 1),
        *lines_down(*["the quick foxes jump over the lazy dog, as we show in this long study"] * 24, x=100, y=220),
    ]
    facts = read_facts(make_pdf(page, lines_down(*[PROSE] * 30)))
    assert [person.name for person in facts.people] == ["Ana Ruiz", "Peter Smith"]


def test_authors_in_groups_with_their_institutions() -> None:
    """Names before a comma and an institution, groups between semicolons, over several lines."""
    cover = cover_of(
        "# Fast Storage for Small Things", "",
        "Ana Ruiz, University of Granada; Peter Smith and Eva Sanz, Massachusetts Institute",
        "of Technology; Ida Blom, Quorum", "", "https://conference.test/presentation",
    )  # fmt: skip
    facts = facts_of(cover)
    assert [(person.name, person.affiliations) for person in facts.people] == [
        ("Ana Ruiz", ("University of Granada",)),
        ("Peter Smith", ("Massachusetts Institute of Technology",)),
        ("Eva Sanz", ("Massachusetts Institute of Technology",)),
        ("Ida Blom", ("Quorum",)),
    ]


@pytest.mark.parametrize("byline", ["By Maria Olsen on January 3, 2019", "por Maria Olsen, 12 de mayo de 2015"])
def test_an_author_before_a_date(byline: str) -> None:
    """The date of a text behind its author."""
    page = [Words(100, 80, "A Note on Tables", 18, 1), Words(100, 110, byline), *lines_down(*[PROSE] * 30, y=140)]
    assert [person.name for person in read_facts(make_pdf(page)).people] == ["Maria Olsen"]


@pytest.mark.parametrize(
    ("lines", "places"),
    [
        (
            ("Ana Ruiz, Departamento de Suelos, Universidad de Chile, Santiago, Chile. ana@uchile.test",),
            ["Departamento de Suelos, Universidad de Chile, Santiago, Chile"],
        ),
        (
            ("Departamento de Suelos, Universidad de Chile, Av. Santa Rosa 11315, Santiago. Correspondence: A. Ruiz",),
            ["Departamento de Suelos, Universidad de Chile"],
        ),
        (
            ("From the Department of Soils, University of Chile (A.R.); and the Institute of Rocks, Leeds (E.S.)",),
            ["Department of Soils, University of Chile", "Institute of Rocks, Leeds"],
        ),
        (("University of Chile", "Santiago, Chile"), ["University of Chile, Santiago, Chile"]),
        (
            ("Institute of Rocks, University of Leeds, 24400 Leeds; aruiz@leeds.test",),
            ["Institute of Rocks, University of Leeds"],
        ),
    ],
)
def test_institutions_stand_alone(lines: tuple[str, ...], places: list[str]) -> None:
    """Without people, streets, addresses and telephones; what a semicolon parts is two."""
    page = [Words(80, 80, "Soil Erosion in the Hills of Chile", 18, 1), Words(80, 110, "Ana Ruiz and Eva Sanz", 12)]
    page += [*lines_down(*lines, x=80, y=130, size=9), Words(80, 190, "Abstract", 12, 1)]
    page += lines_down(*[PROSE] * 24, x=80, y=210)
    facts = read_facts(make_pdf(page, lines_down(*[PROSE] * 30)))
    assert [place.value for place in facts.affiliations] == places


def test_numbers_of_institutions_are_no_line_numbers() -> None:
    """Marks below each other rise as line numbers do, but not with every line."""
    page = [Words(80, 80, "Soil Erosion in the Hills of Chile", 18, 1), *lines_down(*[PROSE] * 20, x=200, y=160)]
    for nth in range(9):
        page += [Words(60, 158 + 40 * nth, str(nth + 1), 5), Words(66, 160 + 40 * nth, "University of", 9)]
        page += [Words(66, 171 + 40 * nth, f"{'ABCDEFGHI'[nth]}town, Chile", 9)]
    head = read_facts(make_pdf(page, lines_down(*[PROSE] * 30))).head
    assert "8 University" in head or "8University" in head


def test_a_life_is_of_one_person() -> None:
    """Its headings tell what it is; directors, languages and stations are neither authors nor institutions."""
    page = [
        *[Words(72, 60, "Eva Sanz", 20, 1), Words(72, 90, "Department of Linguistics, University of Leeds")],
        *[Words(72, 130, "Education", 12, 1), Words(72, 146, "Ph.D. in Linguistics, University of Oslo, 2010")],
        *[Words(72, 170, "Academic Positions", 12, 1), Words(72, 186, "University of York, 2009-2011")],
        *[Words(72, 210, "Awards and Honors", 12, 1), Words(72, 226, "Best Thesis, directed by Juan Blanco")],
        *[Words(72, 250, "Languages", 12, 1), Words(72, 266, "English, French")],
    ]
    facts = read_facts(make_pdf(page))
    assert facts.kind.value == "cv"
    assert [person.name for person in facts.people if person.role == "author"] == ["Eva Sanz"]
    assert [place.value for place in facts.affiliations] == ["Department of Linguistics, University of Leeds"]


def test_the_name_of_a_journal_is_no_title() -> None:
    """Though it is in the largest letters: its volume stands beside it or below."""
    for x, y in ((60, 82), (100, 104)):
        masthead = [Words(100, 36, "Geology", 20), Words(100, 58, "&", 14), Words(100, 80, "Geophysics", 24, 1)]
        masthead += [Words(x, y, "G&G 587, A62 (2016)", 8)]
        lower = [words._replace(y=words.y + 60) for words in article_page()]
        titles = read_facts(make_pdf(masthead + lower, lines_down(*[PROSE] * 30))).titles
        assert titles[0].value == "Efficient Parsing of Dependency Structures in Practice"


def test_names_that_are_words_stay_names() -> None:
    """One word of a name may be in the text as well."""
    page = [Words(100, 80, "A Study of Cells", 18, 1), Words(100, 120, "Long Quux, Drew Sands and Ola Brown", 11)]
    page += [
        Words(100, 160, "Abstract", 11, 1),
        *lines_down(*["the long brown fox drew a line in sands"] * 24, x=100, y=180),
    ]
    people = read_facts(make_pdf(page, lines_down(*[PROSE] * 30))).people
    assert [person.name for person in people] == ["Long Quux", "Drew Sands", "Ola Brown"]


def test_the_navigation_of_slides_is_no_author() -> None:
    """What stands at the edge of the first slide and of others again."""
    parts = [
        Words(20, 12, "Xylo Quark", 7, 1),
        Words(120, 12, "Zeta Plumb", 7, 1),
        Words(220, 12, "Final Remarks", 7, 1),
    ]
    first = [*parts, Words(60, 120, "Rudiments of Things", 26, 1), Words(60, 190, "Ana Ruiz", 14)]
    pages = [[*parts, Words(40, 80, "An example", 20), Words(40, 140, "three loose words", 14)] for _ in range(6)]
    facts = read_facts(make_pdf(first, *pages, width=500, height=400))
    assert [person.name for person in facts.people] == ["Ana Ruiz"]


def test_slides() -> None:
    """Wide pages with few words; the author of the first page is told once, though the foot repeats the name."""
    first = [
        Words(60, 100, "Grafos y redes complejas", 28, 1),
        Words(60, 160, "Ana Ruiz", 16),
        Words(60, 190, "Universidad de Granada", 12),
        Words(20, 390, "Ana Ruiz", 7),
    ]
    pages = [[Words(40, 60, "Un ejemplo", 24), Words(40, 120, "tres palabras sueltas", 16)] for _ in range(6)]
    facts = read_facts(make_pdf(first, *pages, width=600, height=400))
    assert facts.kind.value == "slides"
    assert [person.name for person in facts.people] == ["Ana Ruiz"]
    assert facts.titles[0].value == "Grafos y redes complejas"


def test_what_cannot_be_read_has_no_values() -> None:
    """Files that are broken, and pages without words, give a reason and nothing else."""
    for body in (b"", b"%PDF-1.4 nothing", make_pdf([]), article()[:700]):
        facts = read_facts(body)
        assert facts.problem
        assert not facts.titles and not facts.people and not facts.emails
        assert facts.kind.confidence < 0.3
    assert read_facts(b"x", format="xyz").problem == "xyz: no reader for this format"


def test_a_document_begins_after_the_cover_of_a_network() -> None:
    """A page that a network puts before an article is not the article's."""
    before = [
        Words(60, 80, "See discussions, stats, and author profiles for this publication at: https://network.test/1", 8),
        Words(60, 140, "Other words in large letters", 24, 1),
        Words(60, 180, "Luis Roca", 12),
    ]
    facts = read_facts(make_pdf(before, article_page(), lines_down(*[PROSE] * 30)))
    assert facts.titles[0].value == "Efficient Parsing of Dependency Structures in Practice"
    assert facts.titles[0].evidence[0].page == 2
    assert [person.name for person in facts.people] == ["Ana Ruiz", "Peter Smith"]


def test_the_embedded_author_is_a_weak_witness() -> None:
    """Alone it is told with little confidence; beside printed authors it makes its own surer and adds nobody."""
    sheet = [Words(100, 80, "Hoja 3: grafos y redes", 16, 1), *lines_down(*[PROSE] * 20, y=120)]
    (alone,) = read_facts(make_pdf(sheet, info={"Author": "Ana Ruiz"})).people
    assert (alone.name, alone.evidence[0].source) == ("Ana Ruiz", "metadata")
    assert alone.confidence < 0.5
    printed = read_facts(make_pdf(article_page(), info={"Author": "Luis Roca; Ana Ruiz"}))
    assert [person.name for person in printed.people] == ["Ana Ruiz", "Peter Smith"]
    assert printed.people[0].confidence > printed.people[1].confidence - 0.1
