"""Structured data of pages: four syntaxes, one model."""

from __future__ import annotations

import json

import pytest
import turbohtml

from lycosa.content.microformats import read_microformats
from lycosa.content.rdfa import TYPE, read_triples
from lycosa.content.structured import (
    StructuredItem,
    load_json_ld,
    read_json_ld,
    read_microdata,
    read_rdfa,
    read_structured,
    walk_items,
)
from lycosa.content.things import load_schemas, read_things

JSON_LD = """<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Book", "name": "Moby-Dick",
 "author": {"@type": "Person", "name": "Herman Melville"}, "numberOfPages": 635}</script>"""
MICRODATA = """<div itemscope itemtype="https://schema.org/Book"><h1 itemprop="name">Moby-Dick</h1>
<p itemprop="author" itemscope itemtype="https://schema.org/Person"><a itemprop="url" href="/melville">x</a>
<span itemprop="name">Herman Melville</span></p><meta itemprop="numberOfPages" content="635"></div>"""
RDFA = """<div vocab="https://schema.org/" typeof="Book"><h1 property="name">Moby-Dick</h1>
<p property="author" typeof="Person"><span property="name">Herman Melville</span></p>
<span property="numberOfPages" content="635">many</span></div>"""


@pytest.mark.parametrize(("page", "syntax"), [(JSON_LD, "json-ld"), (MICRODATA, "microdata"), (RDFA, "rdfa")])
def test_three_syntaxes_say_the_same(page: str, syntax: str) -> None:
    """Types and properties of schema.org have the same names in all of them, and one path reads them."""
    items = read_structured(turbohtml.parse(page), base="http://a.test/")
    assert [(item.syntax, item.types) for item in items if item.syntax != "meta"] == [(syntax, ["Book"])]
    assert select_values(items, "Book/name") == ["Moby-Dick"]
    assert select_values(items, "Book/author") == ["Herman Melville"]
    assert select_values(items, "Book/numberOfPages") == ["635"]


def select_values(items: list[StructuredItem], path: str) -> list[str]:
    """The texts of a property of the things of a type or a syntax, as in `Book/name`."""
    kind, name = path.split("/")
    found = [item for item in walk_items(items) if kind in (item.syntax, *item.types)]
    return [text for item in found for text in item.texts(name)]


def test_open_graph_and_other_meta_elements() -> None:
    """Names in lower case, every value kept."""
    items = read_structured(
        turbohtml.parse(
            '<meta property="og:title" content="T"><meta property="og:image" content="a"><meta property="og:image"'
            ' content="b"><meta property="og:type" content="article"><meta name="DC.Creator" content="Ann">'
        )
    )
    assert select_values(items, "article/og:title") == ["T"]
    assert select_values(items, "opengraph/og:image") == ["a", "b"]
    assert select_values(items, "meta/dc.creator") == ["Ann"]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "A",}',
        '<!-- a book --> {"name": "A"}',
        '/* x */ {"name": "A"} // y',
        '{"name": "A"};',
        '{"name": "A"\n "other": "B"}',
        '//<![CDATA[\n{"name": "A"}\n//]]>',
        '{"name": "A", "text": "two\nlines"}',
        "{&quot;name&quot;: &quot;A&quot;}",
    ],
)
def test_json_that_people_wrote_wrong_is_mended(text: str) -> None:
    """Comments, stray and missing commas, line ends in strings, escaped quotes."""
    tree = turbohtml.parse(f'<script type="application/ld+json">{text}</script>')
    assert [value["name"] for value in load_json_ld(tree)] == ["A"]


def test_references_within_a_graph_are_followed() -> None:
    """An author that is only named by its address gets the name that stands elsewhere."""
    graph = [
        {"@id": "#b", "@type": "Book", "author": {"@id": "#m"}},
        {"@id": "#m", "@type": "Person", "name": "Melville"},
    ]
    page = f'<script type="application/ld+json">{json.dumps({"@graph": graph})}</script>'
    book = read_json_ld(turbohtml.parse(page))[0]
    assert book.texts("author") == ["Melville"]


def test_microdata_follows_references_and_resolves_addresses() -> None:
    """`itemref` brings in what stands elsewhere, once; a ring of references ends."""
    page = """<div itemscope itemref="x y" id="z"><a itemprop="url" href="../p">p</a></div>
    <p id="x" itemprop="price">9</p><div id="y" itemprop="part" itemscope itemref="z"></div>"""
    item = read_microdata(turbohtml.parse(page), base="http://a.test/b/c/")[0]
    assert item.texts("url") == ["http://a.test/b/p"]
    assert item.texts("price") == ["9"]
    assert isinstance(item.properties["part"][0], StructuredItem)


def test_rdfa_states_triples() -> None:
    """Prefixes, types, languages, chains and lists of RDFa 1.1."""
    page = """<html lang="en"><body prefix="ex: http://ex.test/"><div about="/a" typeof="ex:T" rel="ex:knows">
    <p about="/b"><b property="ex:name">Bea</b></p></div><ul about="/c"><li property="ex:l" inlist>one</li></ul>"""
    triples = {
        (t.subject, t.predicate, t.object, t.language)
        for t in read_triples(turbohtml.parse(page), base="http://h.test/")
    }
    assert ("http://h.test/a", TYPE, "http://ex.test/T", "") in triples
    assert ("http://h.test/a", "http://ex.test/knows", "http://h.test/b", "") in triples
    assert ("http://h.test/b", "http://ex.test/name", "Bea", "en") in triples
    assert any(predicate.endswith("#first") and value == "one" for _, predicate, value, _ in triples)


def test_hostile_data_is_bounded() -> None:
    """Depth, rings and rubbish give what can be read, or nothing."""
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    for text in (deep, "[" * 100_000, "/*" * 50_000, '"' + "\n" * 50_000, '{"@graph": 1}', "[1, null, [2]]"):
        read_json_ld(turbohtml.parse(f'<script type="application/ld+json">{text}</script>'))
    for page in (
        "<div itemscope itemprop=a>" * 2000,
        '<div typeof="a" property="b" vocab="c">' * 2000,
        '<p about="http://[" property="ex:a" href="http://[">x',
        "<div itemscope id=a itemref=a><p itemprop=x>1",
    ):
        assert isinstance(read_structured(turbohtml.parse(page), base="http://a.test/"), list)
    many = "".join(f'<i id=r{n} itemprop=p itemscope itemref="r{(n + 1) % 50} r{(n + 2) % 50}"></i>' for n in range(50))
    read_microdata(turbohtml.parse(f'<div itemscope itemref="r0"></div>{many}'))
    own = '<script type="application/ld+json">{"@id": "#a", "@type": "T", "name": {"@id": "#a"}}</script>'
    assert select_values(read_json_ld(turbohtml.parse(own)), "T/name") == ["#a"]
    ring = '<p vocab="http://v/" resource="#a"><a property="x" href="#b"></a></p><p resource="#b" vocab="http://v/">'
    assert read_rdfa(turbohtml.parse(ring + '<a property="x" href="#a"></a>'), base="http://a.test/")


def test_microformats_are_read_with_what_they_imply() -> None:
    """Name, photo and address of an item that is one link; values by their prefixes; older names by the newer ones."""
    page = (
        '<a class="h-card" href="/ann"><img src="a.png" alt="">Ann Lee</a>'
        '<div class="h-event"><p class="p-name">Fair <script>x</script></p><span class="dt-start"><span class="value">'
        '2026-05-01</span> <span class="value">7:30pm</span></span><p class="e-content"><b>Come</b></p>'
        '<span class="p-location h-adr"><i class="p-locality">Oakham</i></span></div>'
        '<div class="vcard"><span class="fn">Bob Ray</span><a class="url" href="/bob">home</a></div>'
        '<a rel="me license" href="/me">I</a>'
    )
    found = read_microformats(turbohtml.parse(page), base="http://a.test/x/")
    ann, fair, bob = found["items"]
    assert ann["properties"] == {
        "name": ["Ann Lee"], "photo": [{"value": "http://a.test/x/a.png", "alt": ""}], "url": ["http://a.test/ann"],
    }  # fmt: skip
    assert fair["properties"]["start"] == ["2026-05-01 19:30"] and fair["properties"]["name"] == ["Fair"]
    assert fair["properties"]["content"] == [{"html": "<b>Come</b>", "value": "Come"}]
    assert fair["properties"]["location"][0]["properties"] == {"locality": ["Oakham"]}
    assert bob["type"] == ["h-card"] and bob["properties"] == {"name": ["Bob Ray"], "url": ["http://a.test/bob"]}
    assert found["rels"] == {"me": ["http://a.test/me"], "license": ["http://a.test/me"]}
    assert read_microformats(turbohtml.parse('<div class="h-card p-x">' * 3000))["items"]


def test_things_of_all_syntaxes_are_records_of_one_form() -> None:
    """What several syntaxes say of a thing is one record, which the page completes; without a name it is none."""
    page = (
        '<head><meta property="og:title" content="Lamp – Shop">'
        '<meta property="og:description" content="It &amp;amp; glows">'
        '<script type="application/ld+json">{"@type": "Product", "name": "Lamp", "offers": [{"price": 12.5,'
        ' "priceCurrency": "EUR", "availability": "https://schema.org/InStock"}]}</script></head>'
        '<div itemscope itemtype="https://schema.org/Product"><b itemprop="name">Lamp</b><i itemprop="sku">L1</i></div>'
        '<div itemscope itemtype="https://schema.org/Product"><i itemprop="sku">L2</i></div>'
        '<div class="h-recipe"><p class="p-name">Soup</p><i class="p-ingredient">Leek</i>'
        '<i class="p-ingredient">Salt</i></div>'
    )
    product, recipe = read_things(turbohtml.parse(page))
    assert product == {
        "kind": "product", "syntax": ["json-ld", "microdata"], "name": "Lamp", "price": "12.5", "currency": "EUR",
        "availability": "InStock", "sku": "L1", "description": "It & glows",
    }  # fmt: skip
    assert (recipe["kind"], recipe["ingredients"]) == ("recipe", ["Leek", "Salt"])
    wanted = "product event recipe job review person organisation place dataset software"
    assert list(load_schemas()) == wanted.split()
