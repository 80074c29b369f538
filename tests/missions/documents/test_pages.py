"""What pages say of people, and the words around their links."""

from __future__ import annotations

import pytest

from lycosa.missions.documents.model import PageFacts, Person
from lycosa.missions.documents.pages.reading import read_page
from lycosa.parse import read


def page(body: str, url: str = "http://www.example.edu/people.html") -> PageFacts:
    return read_page(read(url, {"content-type": "text/html; charset=utf-8"}, body.encode()))


def person(facts: PageFacts, name: str) -> Person:
    return next(each for each in facts.people if each.name == name)


def test_rows_of_a_staff_list() -> None:
    """Each row ties a name to its own address."""
    facts = page(
        """<h1>Personal</h1><table><tr><td>Ana Casali</td><td>Profesora titular</td><td>acasali [at] x.edu</td></tr>
        <tr><td>Luis Gil</td><td>Becario</td><td><a href="mailto:lgil@x.edu">correo</a></td></tr></table>"""
    )
    assert person(facts, "Ana Casali").emails == ("acasali@x.edu",)
    assert person(facts, "Luis Gil").emails == ("lgil@x.edu",)


def test_the_owner_of_a_page() -> None:
    """A heading that is a name makes an owner, who has the address below it."""
    facts = page("<title>Ana Casali</title><h1>Ana Casali</h1><p>Despacho 3</p><p>E-mail: acasali(at)x.edu</p>")
    owner = person(facts, "Ana Casali")
    assert (owner.role, owner.emails) == ("owner", ("acasali@x.edu",))
    assert owner.evidence[0].url == "http://www.example.edu/people.html"


@pytest.mark.parametrize(
    "head",
    [
        "<h1>Welcome to Ana Casali's homepage</h1>",
        "<h1>Hi, I'm Ana Casali</h1>",
        "<title>Dr. Ana Casali, PhD - University of Villaverde</title>",
        "<title>Teaching / Ana Casali @ UVI</title>",
        "<title>Página web de la profesora Ana Casali</title>",
    ],
)
def test_words_of_a_home_page_stand_beside_its_owner(head: str) -> None:
    """A heading, or a piece of the title, has the name and words that say whose page it is."""
    assert [(each.name, each.role) for each in page(f"{head}<p>Rivers").people] == [("Ana Casali", "owner")]


def test_a_page_about_somebody_s_work_is_not_theirs() -> None:
    """Other words beside the name speak of something else."""
    assert [each.role for each in page("<h1>Interview with Ana Casali</h1><p>Rivers").people] == ["other"]


def test_a_course_is_no_person() -> None:
    """A page about a course has teachers and no owner."""
    facts = page(
        """<title>Hidrología I</title><h1>Hidrología I</h1><p>Equipo docente: <a href="/a">Ana Casali</a>
        <a href="/b">Luis Gil</a></p>"""
    )
    assert {each.name: each.role for each in facts.people} == {"Ana Casali": "teacher", "Luis Gil": "teacher"}


def test_an_address_beside_a_name_may_be_of_somebody_else() -> None:
    """One that has another given name is not tied to whom the page names beside it."""
    facts = page("<h1>Ana Casali</h1><ul><li>Pedro Romero, secretary: lucia.gil@x.edu</li></ul><p>marta.sanz@x.edu</p>")
    assert [each.emails for each in facts.people] == [(), ()]
    assert len(facts.emails) == 2


def test_an_office_is_nobodys_address() -> None:
    """An address of an office is listed, and tied to no person."""
    facts = page("<p>Decana: Inés Romero Sanz (decanato@x.edu)</p>")
    assert [each.value for each in facts.emails] == ["decanato@x.edu"]
    assert all(not each.emails for each in facts.people)


def test_marked_up_people() -> None:
    """JSON-LD and hCards count."""
    facts = page(
        """<script type="application/ld+json">{"@type": "Person", "name": "Ana Casali", "email": "mailto:ana@x.edu",
        "affiliation": {"@type": "Organization", "name": "UNR"}}</script>
        <div class="h-card"><span class="p-name">Luis Gil</span>
        <a class="u-email" href="mailto:lgil@x.edu">m</a></div>"""
    )
    assert person(facts, "Ana Casali").affiliations == ("UNR",)
    assert person(facts, "Luis Gil").emails == ("lgil@x.edu",)


def test_words_around_links() -> None:
    """A link to a document keeps its words, its list item and the headings above."""
    facts = page(
        '<h1>Ana Casali</h1><h2>Publicaciones</h2><ul><li>A. Casali: Ríos. <a href="rios.pdf">PDF</a></li></ul>'
    )
    (link,) = facts.documents
    assert (link.url, link.anchor) == ("http://www.example.edu/rios.pdf", "PDF")
    assert (link.item, link.heading) == ("A. Casali: Ríos. PDF", "Ana Casali / Publicaciones")


def test_hostile_pages_are_read_within_bounds() -> None:
    """Depth, length and number of blocks are bounded."""
    assert page("<div>" * 20_000 + "Ana Casali").documents == ()
    assert len(page("<p>Ana Casali" * 20_000).people) == 1
    assert page("") == PageFacts()
    facts = page("".join(f'<p><a href="{n}.pdf">{n}</a></p>' for n in range(5_000)))
    assert len(facts.documents) == 1_000
