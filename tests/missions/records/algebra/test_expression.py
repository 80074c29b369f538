"""Expressions: WebL's worked examples, what is read, and what is refused with its column."""

from __future__ import annotations

import pytest
import turbohtml

from lycosa.errors import UsageError
from lycosa.missions.records.algebra import PieceSet, TaggedPage, parse_expression
from lycosa.missions.records.algebra import page as pages
from lycosa.parse import read


def page_of(html: str) -> TaggedPage:
    return TaggedPage(turbohtml.parse(html))


def find(source: str, page: TaggedPage) -> PieceSet:
    return parse_expression(source).evaluate(page)


#: One element per line: its number is its text.
LINES = ["h1", "i", "i", "b", "h1", "i", "i", "h1", "i", "i", "h1", "i", "i", "h1"]
PAGE_A = page_of("\n".join(f"<{name}>{line}</{name}>" for line, name in enumerate(LINES, 1)))
#: Nested lists; each element says on which lines it stands.
PAGE_B = page_of(
    """<ul lines=1-11><li lines=2>Intro</li>
<li lines=3>Model</li>
<li lines=4-9>Sections
<ul lines=5-8>
<li lines=6>First Subsection</li>
<li lines=7>Second Subsection</li>
</ul></li>
<li lines=10>End</li></ul>"""
)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('elem("i") directlybefore elem("h1")', "3 7 10 13"),
        ('elem("i") !directlybefore elem("h1")', "2 6 9 12"),
        ('elem() directlybefore elem("h1")', "4 7 10 13"),
        ('elem() directlybefore (elem() directlybefore elem("h1"))', "3 6 9 12"),
        ('elem("i") directlyafter elem("h1")', "2 6 9 12"),
        ('elem("i") !directlyafter elem("h1")', "3 7 10 13"),
        ('elem("i") directly after elem("h1")', "2 6 9 12"),
        ('Elem("i") not directly after Elem("h1")', "3 7 10 13"),
    ],
)
def test_neighbours_in_a_row(source: str, lines: str) -> None:
    """The first page of the manual, beside the elements that every page has."""
    named = find(source, PAGE_A) - PAGE_A.elem("html") - PAGE_A.elem("body") - PAGE_A.elem("head")
    assert " ".join(named.texts()) == lines


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('elem("li") inside elem("ul")', "2 3 4-9 6 7 10"),
        ('elem("li") directlyinside elem("ul")[0]', "2 3 4-9 10"),
        ('elem("li") directlyinside elem("ul")', "2 3 4-9 6 7 10"),
        ('elem("ul") contain pat("First Subsection")', "1-11 5-8"),
        ('elem("ul") directlycontain pat("First Subsection")', "5-8"),
    ],
)
def test_nested_lists(source: str, lines: str) -> None:
    """The second page of the manual."""
    assert [piece.attribute("lines") for piece in find(source, PAGE_B)] == lines.split()


def test_the_same_search_twice_gives_equal_pieces() -> None:
    """Also a search by another pattern, and one in a part of the page."""
    assert find('pat("Sub") + pat("Sub")', PAGE_B) == find('pat("Sub")', PAGE_B)
    assert len(find('pat("S[u]b") - pat(elem("li"), "Sub")', PAGE_B)) == 0


def test_text_in_scripts_templates_and_comments() -> None:
    """Scripts and templates are in the text, comments are not; attributes of whatever kind stay as written."""
    page = page_of("<script>if (a<b) x()</script><template><p>t</p></template><!-- x() --><input disabled value='\"'>")
    assert find('pat("x")', page).texts() == ["x"]
    assert find('pat("a<b")', page)[0].markup == "a<b"
    assert find('parent(elem("p"))', page)[0].name == "template"
    assert find('elem("input")[@value = \'"\']', page)[0].attribute("disabled") == ""


def test_sequences_and_paragraphs_need_their_places() -> None:
    """White space between tags is text; a region that holds but an image is a paragraph."""
    page = page_of("<body><h1>a</h1>\n<br><h1>b</h1><br><p> <img> </p><p>&nbsp;\n</p></body>")
    assert [piece.markup for piece in find('seq("h1 br")', page)] == ["<h1>b</h1><br>"]
    assert [piece.markup for piece in find('seq("h1 # br")', page)] == ["<h1>a</h1>\n<br>"]
    assert find('seq("")', page) == page.empty
    assert [piece.markup for piece in find('para(elem("body"), "p h1 br")', page)] == ["a", "b", " <img> "]
    assert find('seq(content(elem("p")), "# img #")', page).texts() == ["  "]


def test_pieces_that_cross_elements_are_written_with_the_tags_in_them() -> None:
    """A piece may hold one tag of an element without the other."""
    page = page_of('<p class="a&quot;b">one <b>two</b> <i title="x">three</i></p>')
    assert find('pat("ne two th")', page)[0].markup == 'ne <b>two</b> <i title="x">th'
    assert page.span(find('pat("wo")', page)[0], page.elem("i")[0]).markup == 'wo</b> <i title="x">three</i>'


def test_python_and_expressions_agree() -> None:
    """And pieces of two pages do not mix."""
    lists = PAGE_B.elem("ul")
    assert PAGE_B.elem("li").inside(lists[0], directly=True) == find('elem("li") directlyinside elem("ul")[0]', PAGE_B)
    with pytest.raises(UsageError, match="of two"):
        lists.inside(PAGE_A.elem())
    with pytest.raises(UsageError, match="several"):
        PieceSet(PAGE_A, lists)
    with pytest.raises(IndexError):
        lists[7]


def test_documents_without_a_tree_are_empty_pages() -> None:
    """A picture, a text, nothing at all."""
    for kind, body in (("image/png", b"\x89PNG\r\n"), ("text/plain", b"word"), ("text/html", b"")):
        page = TaggedPage(read("http://example.org/", {"content-type": kind}, body))
        assert find('pat("word") + css("p") + seq("#")', page).texts() == []
        assert find("content(page) without elem()", page).texts() in ([""], [])


@pytest.mark.parametrize(
    ("source", "column", "said"),
    [
        ("", 1, "found the end"),
        ('elem("a"', 9, '"\\)"'),
        ('elem("a") insid elem("b")', 11, "directlyinside"),
        ('elem("a") !without elem("b")', 11, "all but without and intersect"),
        ('elem("a") directly overlap elem("b")', 11, "directlybefore"),
        ('elem("a) inside', 6, "closing quote"),
        ('elem("a")[', 11, "a condition such as"),
        ('elem("a")[x]', 11, "a condition such as"),
        ('elem("a")[1', 12, '"]"'),
        ('elem("a") elem("b")', 11, "inside"),
        ('pat("(")', 5, "RE2"),
        ('pat("")', 5, "1 to 2,000 characters"),
        ('css("p[")', 5, "a CSS selector"),
        ('elem("a") inside text(elem("b"))', 18, "only around the whole"),
        ("os.system", 3, "names, numbers"),
        ("__import__", 1, "elem, pat"),
        ("eval(1)", 1, "elem, pat"),
        ('elem("a") § elem("b")', 11, "names, numbers"),
        ('attribute(elem("a"))', 20, '","'),
        ('part(elem("a"), "1")', 17, "a number"),
        ('elem("a") -1', 11, "behind the minus"),
        ('elem("a"))', 10, "or the end"),
    ],
)
def test_wrong_expressions_are_refused_with_their_column(source: str, column: int, said: str) -> None:
    """In one sentence: what was found, what is allowed."""
    with pytest.raises(UsageError, match=f"(?s)^Column {column} .*{said}"):
        parse_expression(source)


@pytest.mark.parametrize(
    "source",
    [
        "(" * 100_000,
        "(" * 1000 + 'elem("a")' + ")" * 1000,
        "content(" * 300 + "page" + ")" * 300,
        " + ".join(['elem("a")'] * 300),
        'elem("a")' + "[0]" * 500,
        'pat("' + "(" * 1900 + ")" * 1900 + '")',
        "elem(" * 2000,
        '"' * 3999,
        "!" * 3999,
        'seq("' + "p " * 1000 + '")',
        "-" * 3000,
    ],
)
def test_hostile_expressions_are_refused(source: str) -> None:
    """Deep, long, with many operators: never a traceback, never long."""
    with pytest.raises(UsageError):
        parse_expression(source)


def test_work_is_bounded() -> None:
    """A rule that looks through the text of each of many nested elements ends and says why; the page stays usable."""
    page = page_of("<div>word " * 500)
    rule = parse_expression('pat(elem("div"), "w[o]rd")')
    with pytest.raises(pages.WorkExceeded, match="touches more than"):
        rule.evaluate(page, max_work=10_000)
    assert len(rule.evaluate(page)) == 500
