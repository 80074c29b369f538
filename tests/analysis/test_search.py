"""Words, namespaces and elements are found in every document of a collection, and shown with what stands around."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.make_collection import add, make_collection

from lycosa.analysis.search import MARK, mark_words, read_question
from lycosa.cli.main import program
from lycosa.errors import UsageError

SITE = "http://site.test/"
WOLF = "<s xmlns='urn:spiders'><title>Wolf spiders</title>They hunt, Größe 3 cm.</s>"
SCHEMA = (
    "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' targetNamespace='urn:spiders' xmlns='urn:spiders'>"
    "<xs:element name='spinneret'/></xs:schema>"
)
PAGES = [
    (f"{SITE}wolf.xml", "text/xml", WOLF.encode()),
    (f"{SITE}net.xml", "text/xml", b"<s xmlns='urn:spiders'><net kind='orb web'/>They wait and do not hunt.</s>"),
    (f"{SITE}s.xsd", "text/xml", SCHEMA.encode()),
    (f"{SITE}page.html", "text/html", b"<html><title>Hunting</title><body>How they hunt at night</body></html>"),
    ("http://other.test/d.dtd", "text/plain", b"<!ELEMENT spider (leg*)> <!-- that hunt -->"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_collection(tmp_path_factory.mktemp("xml") / "c", PAGES)
    find(folder, "hunt")
    return folder


def find(folder: Path, *words: str) -> list[str]:
    result = CliRunner().invoke(program, ["search", "-c", str(folder), "-q", "--workers", "1", *words])
    assert result.exit_code == 0, (result.output, result.exception)
    return [json.loads(line)["url"].rpartition("/")[2] for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "urls"),
    [
        ("hunt", {"wolf.xml", "net.xml", "page.html", "d.dtd"}),
        ("they hunt", {"wolf.xml", "net.xml", "page.html"}),
        ("hunt -wait", {"wolf.xml", "page.html", "d.dtd"}),
        ("GROSSE", {"wolf.xml"}),
        ("große", {"wolf.xml"}),
        ("Größe", {"wolf.xml"}),
        ("grosse*", {"wolf.xml"}),
        ("spin*", {"s.xsd"}),
        ("orb web", {"net.xml"}),
        ("hunt kind:xml", {"wolf.xml", "net.xml"}),
        ("kind:xsd", {"s.xsd"}),
        ("hunt -kind:xml", {"page.html", "d.dtd"}),
        ("ns:urn:spi*", {"wolf.xml", "net.xml", "s.xsd"}),
        ("element:net", {"net.xml"}),
        ("hunt host:other.*", {"d.dtd"}),
        ("title:wolf", {"wolf.xml"}),
        ("hunt url:*.html", {"page.html"}),
        ("http://www.w3.org/2001/XMLSchema", set()),
    ],
)
def test_words_and_filters(made: Path, words: str, urls: set[str]) -> None:
    """All must be there, in text or attributes; filters narrow it; what has a minus must not be there."""
    assert set(find(made, *words.split())) == urls


def test_every_encoding_and_what_is_broken_is_read(tmp_path: Path) -> None:
    """EBCDIC and UTF-32, which no page of HTML is in, and the words behind an error."""
    declared = '<?xml version="1.0" encoding="{}"?><a>tarantula</a>'
    pages = [
        (f"{SITE}e.xml", "text/xml", declared.format("IBM037").encode("cp037")),
        (f"{SITE}u.xml", "text/xml", declared.format("UTF-32").encode("utf-32")),
        (f"{SITE}b.xml", "text/xml", b"<a>this & that <b>tarantula</a>"),
    ]
    folder = make_collection(tmp_path / "c", pages)
    assert set(find(folder, "tarantula")) == {"e.xml", "u.xml", "b.xml"}


def test_a_phrase(made: Path) -> None:
    """What the shell gives as one word is one."""
    assert find(made, "they wait") == ["net.xml"]
    assert find(made, '"they wait"') == ["net.xml"]
    assert find(made, "wait they") == []


def test_what_stands_around_is_shown(made: Path) -> None:
    """With the words marked; control characters do not reach a terminal."""
    result = CliRunner().invoke(program, ["search", "-c", str(made), "--format", "table", "hunt", "kind:xml"])
    assert f"{SITE}wolf.xml  xml  Wolf spiders\n    Wolf spiders They hunt, Größe 3 cm.\n" in result.stdout
    assert "2 documents fit" in result.stderr


def test_the_index_takes_what_is_new(made: Path, tmp_path: Path) -> None:
    """And nothing twice."""
    folder = tmp_path / "c"
    shutil.copytree(made, folder)
    add(folder, [(f"{SITE}new.xml", "text/xml", b"<a>jumping</a>")])
    assert find(folder, "jumping") == ["new.xml"]
    assert len(find(folder, "hunt")) == 4
    (folder / "search.db").write_bytes(b"damaged, which is no loss")
    assert len(find(folder, "hunt")) == 4


def test_letters_are_found_as_they_are_folded() -> None:
    """With accents or without them, and letters of single alphabets by those of ASCII."""
    open_, close = MARK
    assert mark_words("gestern in Łódź am Fluß", ["lodz"]) == f"gestern in {open_}Łódź{close} am Fluß"
    assert mark_words("am Fluß", ["fluss"]) == f"am {open_}Fluß{close}"
    assert mark_words("Garcia y García", ["García"]) == f"{open_}Garcia{close} y {open_}García{close}"


def test_marking() -> None:
    """The piece around the first phrase, ellipses where it was cut."""
    open_, close = MARK
    assert mark_words("a b c", ["b"]) == f"a {open_}b{close} c"
    text = "x " * 100 + "the wolf spider hunts " + "y " * 100
    piece = mark_words(text, ["wolf spider"])
    assert piece.startswith("…x") and piece.endswith("y…") and f"{open_}wolf spider{close}" in piece
    assert mark_words("a" * 500, ["b"]) == "a" * 160 + "…"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at least one word"),
        ("--", "at least one word"),
        ("-only", "goes with words"),
        ('x:"y"', "no filter x:"),
        ("elment:x", "did you mean element:"),
        ("kinds:xsd", "did you mean kind:"),
    ],
)
def test_mistakes_are_explained(text: str, said: str) -> None:
    """In one sentence."""
    with pytest.raises(UsageError, match=said):
        read_question(text)


@pytest.mark.parametrize("text", ['a"b', "a AND", "NEAR(", "*", "a* b:c ^d", "(", "a)", "kind:[", "text : x", "'"])
def test_no_question_breaks_the_index(made: Path, text: str) -> None:
    """Whatever a person types is words, or explained."""
    result = CliRunner().invoke(program, ["search", "-c", str(made), "-q", "x", text])
    assert result.exit_code == 0, (result.output, result.exception)


def test_a_kind_that_nothing_has_is_told(made: Path) -> None:
    """With the kinds that there are; a word that only looks like a filter stays a word."""
    said = CliRunner().invoke(program, ["search", "-c", str(made), "kind:foo"]).output
    assert "0 documents fit" in said and "no document is of kind foo (there is dtd, html, " in said
    assert "did you mean xsd?" in CliRunner().invoke(program, ["search", "-c", str(made), "kind:xds"]).output
    assert find(made, "xs:element") == find(made, '"elment:x"') == []


def test_a_host_is_asked_for_as_people_write_it() -> None:
    """An international name has the form that URLs carry."""
    assert read_question("host:*.Bücher.test").values == ("*.xn--bcher-kva.test",)
