"""Rules learned from small pages: what they are, what they find on other pages, what they cost."""

from __future__ import annotations

import tomllib

import pytest

from lycosa.missions.records.learning import Example, Learned, learn
from lycosa.parse import Doc, read

BOOK = """<html><body><div id="menu"><a href="/">Home</a> <a href="/new">New</a></div>
<div class="product"><h1 class="t{number}">{title}</h1>
<p>by {authors}</p>
<ul><li><b>Publisher:</b> {publisher}</li>{extra}<li><b>ISBN-13:</b> {isbn}</li></ul></div>
<div class="others"><h2>Others</h2><p>by <a href="/author/9">Somebody Else</a></p></div></body></html>"""


def page(body: str) -> Doc:
    return read("http://books.example/", {"content-type": "text/html; charset=utf-8"}, body.encode())


def book(number: int, *authors: str, extra: str = "") -> Example:
    """A page of a book shop with what stands on it."""
    values = {"title": [f"Title {number}"], "author": list(authors), "publisher": [f"House {number}"]}
    values["isbn"] = [f"978-{number}"]
    links = ", ".join(f'<a href="/author/{number}{place}">{name}</a>' for place, name in enumerate(authors))
    written = BOOK.format(
        number=number,
        title=f"Title {number}",
        authors=links,
        publisher=f"House {number}",
        isbn=f"978-{number}",
        extra=extra,
    )
    return Example(page(written), values)


def found(learned: Learned, example: Example) -> dict[str, list[str]]:
    return learned.extract(example.page)


def test_labels_hold_where_positions_change() -> None:
    """A value behind a label is found although another line stands before it."""
    learned = learn([book(1, "Ann"), book(2, "Bob")], name="book")
    other = book(3, "Cleo", extra="<li><b>Pages:</b> 300</li>")
    assert found(learned, other) == other.values


def test_one_example_is_enough_for_a_plain_page() -> None:
    """From one page the label that says the field's name, and the heading, are trusted most."""
    learned = learn([book(1, "Ann")], name="book")
    other = book(2, "Bob", extra="<li><b>Pages:</b> 300</li>")
    assert {field: found(learned, other)[field] for field in ("title", "publisher", "isbn")} == {
        field: other.values[field] for field in ("title", "publisher", "isbn")
    }
    assert learned.scores["isbn"].left_out is None


def test_several_values_make_a_list_without_strangers() -> None:
    """A field with several values on a page is a list; what looks alike elsewhere on the page does not belong to it."""
    learned = learn([book(1, "Ann", "Bob"), book(2, "Cleo")], name="book")
    other = book(3, "Dora", "Emil", "Fay")
    assert learned.rules["author"].several
    assert found(learned, other)["author"] == ["Dora", "Emil", "Fay"]


def test_an_optional_field_is_left_empty_where_it_is_not() -> None:
    """A page without the field teaches that there is not always one."""
    with_pages, without = book(1, "Ann", extra="<li><b>Pages:</b> 300</li>"), book(2, "Bob")
    with_pages.values = {**with_pages.values, "pages": ["300"]}
    learned = learn([with_pages, without], name="book")
    assert found(learned, book(3, "Cleo"))["pages"] == []
    assert found(learned, book(4, "Dora", extra="<li><b>Pages:</b> 77</li>"))["pages"] == ["77"]


def test_two_layouts_give_alternatives() -> None:
    """Pages of another layout add a rule, tried where the first gives nothing."""
    plain = [Example(page(f"<h1 class='name'>Name {n}</h1>"), {"name": [f"Name {n}"]}) for n in (1, 2)]
    table = [
        Example(page(f"<table><tr><th>Known as<td>Name {n}<tr><th>Other<td>x</table>"), {"name": [f"Name {n}"]})
        for n in (3, 4)
    ]
    learned = learn(plain + table, name="thing")
    assert len(learned.rules["name"].rules) == 2
    for example in (*plain, *table):
        assert found(learned, example) == example.values


def test_values_of_one_field_in_several_places_are_united() -> None:
    """Parts of an address that stand in different elements are all found."""
    body = "<p class='street'>Street {0}</p><p>x</p><div><span id='zip'>8000{0}</span> <i>Town</i></div>"
    examples = [Example(page(body.format(n)), {"address": [f"Street {n}", f"8000{n}"]}) for n in (1, 2, 3)]
    assert found(learn(examples, name="place"), examples[2])["address"] == ["Street 3", "80003"]


def test_names_made_of_the_value_are_not_rules() -> None:
    """An id that repeats the value would hold on this page alone."""
    body = "<p>Team: <span class='team' id='{0}'>{1}</span></p>"
    learned = learn([Example(page(body.format("Red_Lions", "Red Lions")), {"team": ["Red Lions"]})], name="player")
    assert learned.extract(page(body.format("Blue_Bears", "Blue Bears")))["team"] == ["Blue Bears"]


def test_values_in_attributes_are_found() -> None:
    """What no text says may stand in an attribute."""
    body = "<html><head><meta name='price' content='{0}'></head><body>x</body></html>"
    learned = learn([Example(page(body.format(n)), {"price": [n]}) for n in ("10", "20")], name="thing")
    assert learned.extract(page(body.format("30")))["price"] == ["30"]


def test_references_in_values_are_read() -> None:
    """A value that was cut from the source, with its references, is the text of the page."""
    learned = learn([Example(page("<h1>Smith &amp; Sons</h1>"), {"name": ["Smith &amp; Sons"]})], name="firm")
    assert learned.extract(page("<h1>A &amp; B</h1>"))["name"] == ["A & B"]


def test_the_schema_is_toml_with_scores() -> None:
    """The file has the schema's name, a rule for each field, and how good it was on pages left out and on the rest."""
    learned = learn([book(n, "Ann", f"Bob {n}") for n in range(1, 6)], name="book", teaching=3)
    data = tomllib.loads(learned.schema_toml)
    assert data["schema"] == {"name": "book", "version": "1"}
    assert data["fields"]["author"]["list"] is True
    assert set(data["fields"]) == {"title", "author", "publisher", "isbn"}
    assert "# on 3 of 3 pages, F 1.000 there, 1.000 on pages left out, 1.000 on the rest" in learned.schema_toml


def test_spaces_that_nobody_sees_are_written_out() -> None:
    """An unbreakable space of a label is an escape in the file, and the same rule when it is read."""
    body = "<p><b>Maker:&nbsp;</b><a>{0}</a></p><p><b>Seller:&nbsp;</b><a>x</a></p>"
    learned = learn([Example(page(body.format(n)), {"maker": [n]}) for n in ("Ann", "Bob")], name="thing")
    assert "\xa0" not in learned.schema_toml
    rule = tomllib.loads(learned.schema_toml)["fields"]["maker"]["rule"]
    assert rule == learned.rules["maker"].rules[0] or rule == list(learned.rules["maker"].rules)
    assert any("Maker:\xa0" in one for one in learned.rules["maker"].rules)


def test_a_score_on_pages_left_out_tells_what_one_page_hides() -> None:
    """Two pages of two templates: each rule is right on its page, and wrong on the other when that is left out."""
    one = Example(page("<h1 class='a'>First</h1><p>x</p>"), {"name": ["First"]})
    two = Example(page("<div><i class='b'>Second</i></div>"), {"name": ["Second"]})
    scores = learn([one, two], name="thing").scores["name"]
    assert scores.examples.f == 1.0
    assert scores.left_out is not None and scores.left_out.f < 0.5


def test_values_that_stand_nowhere_have_no_rule() -> None:
    """The schema says so, and the other fields are learned."""
    learned = learn([Example(page("<h1>A</h1>"), {"title": ["A"], 'od\nd "name"': ["not there"]})], name="x")
    data = tomllib.loads(learned.schema_toml)
    assert list(data["fields"]) == ["title"]
    assert "no rule was found" in learned.schema_toml


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<div class=a>" * 5000 + "value" + "</div>" * 5000,
        '<p class="it\'s &quot;x&quot;"><b>it\'s "L":</b> value</p>',
        "<p>" + "<i>v</i>" * 5000 + "value</p>",
        "<p id='//*[' class=']]]' itemprop='\"'>value</p>",
    ],
)
def test_no_page_breaks_learning(body: str) -> None:
    """Empty pages, deep ones, names full of quotes: rules or none, never an exception."""
    learned = learn([Example(page(body), {"n": ["value", "va'l\"ue", "", "v" * 100_000]})], name="x")
    tomllib.loads(learned.schema_toml)


def test_what_is_no_html_is_left_out() -> None:
    """A picture among the pages teaches nothing."""
    picture = read("http://x.example/a.png", {"content-type": "image/png"}, b"\x89PNG\r\n\x1a\n" + bytes(50))
    learned = learn([Example(picture, {"n": ["A"]}), Example(page("<h1>A</h1>"), {"n": ["A"]})], name="x")
    assert learned.scores["n"].teaching == 1
    assert learned.extract(picture) == {"n": []}
