"""Schemas: what rules find on a page, in every language, and what is said of wrong ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lycosa.errors import UsageError
from lycosa.missions.records.schema import FoundRecord, load_schema
from lycosa.parse import Doc, read

PAGE = """<html lang="en"><head><title>Shop</title></head><body>
<h1 class="title">Two &amp; three books</h1>
<div class="product"><h2>First <i>book</i></h2>
<table><tr><td>Author:</td><td><a href="/a/1">Ann</a>, <a href="/a/2">Bob</a>, <a href="/a/1">Ann</a></td></tr>
<tr><td>Pages:</td><td>about 120 pages</td></tr></table>
<ul><li class="review"><b>Eve</b> <q>good</q></li><li class="review"><b>Dan</b></li><li class="review"></li></ul></div>
<div class="product"><h2>Second book</h2>
<dl><dt>Author</dt><dd><a href="/a/3">Cid</a></dd><dd><a href="/a/4">Dee</a></dd><dt>Pages</dt><dd>7</dd></dl></div>
<div class="product"><p>An advertisement</p></div>
</body></html>"""


def page_of(html: str = PAGE) -> Doc:
    return read("http://example.org/shop/", {"content-type": "text/html; charset=utf-8"}, html.encode())


def extract(schema: str, html: str = PAGE) -> list[FoundRecord]:
    return load_schema(schema).extract(page_of(html))


BOOKS = """
[schema]
name = "book"
version = "2"
records = "css:div.product"
[fields.title]
rule = ["css:h3", "xpath://h2"]
required = true
[fields.authors]
rule = "css:a"
after = "Author"
list = true
[fields.pages]
rule = ["algebra:pat('[0-9]+ pages')", "css:dd"]
pattern = '(\\d+)'
convert = "integer"
[fields.reviews]
rule = "css:li.review"
[fields.reviews.fields.by]
rule = "css:b"
required = true
[fields.reviews.fields.words]
rule = "xpath://q/text()"
"""


def test_several_records_on_a_page() -> None:
    """Each match is a record; one without a required field is none; nested records likewise."""
    found = extract(BOOKS)
    assert [record.as_dict() for record in found] == [
        {
            "title": "First book",
            "authors": ["Ann", "Bob"],
            "pages": 120,
            "reviews": [{"by": "Eve", "words": "good"}, {"by": "Dan"}],
        },
        {"title": "Second book", "authors": ["Cid", "Dee"], "pages": 7},
    ]
    assert [(record.schema, record.version) for record in found] == [("book", "2")] * 2
    every = load_schema(BOOKS).extract(page_of(), incomplete=True)
    assert [record.missing for record in every] == [[], [], ["title"]]


def test_values_know_their_rule_and_their_place() -> None:
    """Line and column in the source, of elements, of texts of XPath, of pieces of the algebra."""
    first, second = extract(BOOKS)
    title, pages = first.values["title"][0], first.values["pages"][0]
    assert (title.rule, title.place) == ("xpath://h2", (3, 22))
    assert (pages.rule, pages.place) == ("algebra:pat('[0-9]+ pages')", (5, 30))
    assert [author.place for author in first.values["authors"]] == [(4, 32), (4, 56)]
    review = first.values["reviews"][0].value
    assert review.values["words"][0].place == (6, 35)
    assert str(second.values["title"][0].place) == "7:22"


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("algebra:pat('three')", (2, 29)),  # behind an entity
        ("algebra:pat(' Bob')", (4, 55)),
        ("algebra:pat('pages')", (5, 34)),
        ("algebra:content(elem('h2')[1])", (7, 26)),
        ("algebra:elem('dd')[1]", (8, 51)),
        ("css:html", (1, 1)),
        ("xpath:string(//h1)", None),
    ],
)
def test_places(source: str, place: tuple[int, int] | None) -> None:
    """Also with Windows' line ends; what stands nowhere by itself has no place."""
    schema = load_schema(f'[schema]\nname = "x"\n[fields.x]\nrule = """{source}"""')
    for html in (PAGE, PAGE.replace("\n", "\r\n")):
        found = schema.extract(page_of(html))
        assert [value.place for record in found for value in record.values["x"]] == [place]


def one(rule: str, more: str = "", html: str = PAGE) -> object:
    """The value of a schema with one field."""
    found = extract(f'[schema]\nname = "x"\n[fields.x]\nrule = {rule!r}\n{more}', html)
    return found[0].as_dict()["x"] if found else None


def test_taking() -> None:
    """Text with its white space folded, markup, an attribute; what the expression of the algebra says itself."""
    assert one("css:h1") == "Two & three books"
    assert one("css:h2", 'take = "markup"') == "<h2>First <i>book</i></h2>"
    assert one("css:a", 'take = "attribute href"\nlist = true') == ["/a/1", "/a/2", "/a/3", "/a/4"]
    assert one('algebra:attribute(elem("a"), "href")') == "/a/1"
    assert one('algebra:attribute(elem("a"), "href")', 'take = "text"') == "Ann"
    assert one("xpath://a/@href", 'take = "markup"') == "/a/1"
    assert one("xpath:count(//a)") == "5"
    assert one("xpath:boolean(//table)") == "true"
    assert one("css:a", 'take = "attribute title"') is None


def test_patterns() -> None:
    """The first group, or the whole match; without a match there is no value."""
    assert one("css:h1", "pattern = '^(\\w+) '") == "Two"
    assert one("css:h1", "pattern = 'thr..'") == "three"
    assert one("css:h1", "pattern = 'four'") is None
    assert one("css:h1", "pattern = '(four)?three'") is None


def test_labels() -> None:
    """The match follows its label in the line, the row, or the list of terms; another label between is a wall."""
    assert one("css:td", 'after = "Pages:"') == "about 120 pages"
    assert one("css:dd", 'after = "pages"') == "7"
    assert one("css:dd", 'after = "author"\nlist = true') == ["Cid", "Dee"]
    line = "<p>Author: <b>Ann</b> | Pages: <b>12</b><br>Price: <i>3</i></p><p>Author: nobody</p><p><b>x</b></p>"
    assert one("css:b", 'after = "Author:"\nlist = true', line) == ["Ann"]
    assert one("css:b, i", 'after = "Pages:"\nlist = true', line) == ["12"]
    assert one("css:i", 'after = "Pages:"', line) is None
    assert one('algebra:pat("[0-9]+")', 'after = "Price:"', line) == "3"


def test_built_in_fields() -> None:
    """What needs no rule: of any page, and of articles."""
    assert one("built-in:url") == "http://example.org/shop/"
    assert "Two & three" in str(one("built-in:text"))
    pytest.importorskip("lycosa.content.article")
    assert one("built-in:language") == "en"
    assert one("built-in:title")


def test_rules_of_the_algebra_cost_the_same_in_few_and_many_records() -> None:
    """Each record has what is inside it, though the page is searched once."""
    html = "".join(f"<div class=product><h2>{n}</h2><p>Pages: {n} pages</p></div>" for n in range(2000))
    found = extract(BOOKS, html)
    assert [record.as_dict()["pages"] for record in found] == list(range(2000))


def test_structured_data() -> None:
    """A path into it, whatever its syntax, with or without the type in front."""
    pytest.importorskip("lycosa.content.structured")
    html = """<script type="application/ld+json">{"@type": "Book", "name": "Dune",
        "author": [{"@type": "Person", "name": "Frank"}, {"@type": "Person", "name": "Ann"}]}</script>"""
    assert one("json:Book.name", "", html) == "Dune"
    assert one("json:Book.author.name", "list = true", html) == ["Frank", "Ann"]
    assert one("json:author", "", html) == "Frank"
    assert one("json:Film.name", "", html) is None


def test_records_in_pieces_without_a_name() -> None:
    """Regions between headings, which are no elements: rules look inside each."""
    html = "<body><h2>A</h2><p>one <b>1</b></p><h2>B</h2><p>two <b>2</b></p></body>"
    schema = """[schema]
name = "part"
records = 'algebra:para(elem("body"), "h2") contain elem("p")'
[fields.a]
rule = "css:b"
[fields.b]
rule = 'algebra:pat("[a-z]+")'
"""
    assert [record.as_dict() for record in extract(schema, html)] == [{"a": "1", "b": "one"}, {"a": "2", "b": "two"}]


def test_pages_that_are_none() -> None:
    """No tree, no records; never an error."""
    for body in (b"", b"\x89PNG\r\n\x1a\n", b"%PDF-1.4", b'{"a": 1}', b"\xff\xfe\x00"):
        assert load_schema(BOOKS).extract(read("http://example.org/", {}, body)) == []


def test_a_rule_that_costs_too_much_is_a_problem_of_the_page() -> None:
    """The other fields are found; the record says what went wrong."""
    html = "<title>t</title>" + "<div>" * 500 + "<p>" + "word " * 200_000
    schema = """[schema]
name = "x"
[fields.a]
rule = 'algebra:pat(elem("div"), "w[o]r")'
[fields.b]
rule = "css:title"
"""
    (record,) = extract(schema, html)
    assert record.as_dict() == {"b": "t"}
    assert "touches more" in record.problems[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[schema\n", "is no TOML"),
        ("[schema]\nversion = '1'\n", "line 1: schema: it has no name"),
        ("[schema]\nname = 'x'\n", "fields: there is no field"),
        ("[schema]\nname = 3\n", "line 2: schema.name: found 3"),
        ("[schema]\nname = 'x'\n[fields.a]\n", "line 3: fields.a.rule: allowed"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = 'h1'\n", "line 4: fields.a.rule: .*no language; allowed: css:"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = 'css:h1['\n", "line 4: .*no CSS selector"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = 'xpath://h1['\n", "line 4: .*no XPath"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = 'algebra:elem('\n", "line 4: .*Column 6"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = 'built-in:soul'\n", "allowed: main-text"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = 'json:a..b'\n", "an empty name"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = ['css:p', 3]\n", "or a list of such"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = 'css:p'\npattern = '('\n", "line 5: fields.a.pattern: .*RE2"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = 'css:p'\ntake = 'all'\n", "allowed: text, markup, attribute NAME"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = 'css:p'\nconvert = 'soul'\n", "allowed: text, number"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = 'css:p'\nlist = 'yes'\n", "allowed: true, false"),
        ("[schema]\nname = 'x'\n[fields.a]\nrule = 'css:p'\nrulr = 1\n", "line 5: fields.a.rulr: .*allowed: rule,"),
        ("[schema]\nname = 'x'\n[field.a]\nrule = 'css:p'\n", "line 3: field: .*allowed: schema, fields"),
        (
            "[schema]\nname = 'x'\nrecords = 'div'\n[fields.a]\nrule = 'css:p'\n",
            "line 3: schema.records: .*no language",
        ),
        ("[schema]\nname = 'x'\n[fields]\na = 1\n", "line 4: fields.a: allowed: a table"),
        ("[schema]\nname = 'x'\n[" + "a." * 5000 + "a]\n", "nested"),
        ("a = " + "[" * 100_000 + "\n", "is no TOML"),
        ("[schema]\nname = 'x'\n[fields.a" + ".fields.a" * 9 + "]\nrule = 'css:p'\n", "fields"),
    ],
)
def test_wrong_schemas_are_refused_with_their_line(text: str, said: str) -> None:
    """In one sentence: where, what was found, what is allowed."""
    with pytest.raises(UsageError, match=said):
        load_schema(text)


def test_files(tmp_path: Path) -> None:
    """A file, a built-in name; what is neither is said."""
    (tmp_path / "book.toml").write_text(BOOKS)
    assert load_schema(tmp_path / "book.toml").name == load_schema(str(tmp_path / "book.toml")).name == "book"
    assert [field.name for field in load_schema("article").fields][:2] == ["title", "authors"]
    with pytest.raises(UsageError, match="built in: article"):
        load_schema("nothing")
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="no UTF-8"):
        load_schema(tmp_path / "bad.toml")


def test_the_example_of_the_documentation() -> None:
    """docs/schemas.md shows what its schema gives on its page."""
    text = (Path(__file__).parents[3] / "docs/schemas.md").read_text(encoding="utf-8")
    schema, html, shown = (re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)[1] for kind in ("toml", "html", "json"))  # type: ignore[index]
    doc = read("http://shop.example/", {"content-type": "text/html"}, html.encode())
    (record,) = load_schema(schema).extract(doc)
    expected = json.loads(shown)["record"]
    pytest.importorskip("lycosa.content.converters")
    assert record.as_dict() == expected
