"""XML documents: the root, the tree, and what is refused."""

from __future__ import annotations

import pytest

from lycosa.parse import Doc, Root, read
from lycosa.parse import xml as reader

URL = "http://example.org/data"


def _read(text: str, mime: str = "application/xml") -> Doc:
    return read(URL, {"content-type": mime}, text.encode())


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("<r/>", ("", "r")),
        ("<?xml version='1.0'?><!-- c --><a:r xmlns:a='urn:x'/>", ("urn:x", "r")),
        ("\n  <?xml version='1.0'?><r xmlns='urn:x'>", ("urn:x", "r")),
        ("<!DOCTYPE r SYSTEM 'http://example.org/r.dtd'><r/>", ("", "r")),
        ("<!DOCTYPE a:R [<!ENTITY x 'urn:x'>]><a:R xmlns:a='&x;'/>", ("urn:x", "R")),
        ("<r a=1><b></r>", ("", "r")),
        ("<u:r>unbound</u:r>", ("", "r")),
        ("<é xmlns='urn:é'/>", ("urn:é", "é")),
    ],
)
def test_root(text: str, root: tuple[str, str]) -> None:
    """The root is told by namespace and local name, whatever follows it."""
    doc = _read(text)
    assert (doc.kind, doc.root) == ("xml", Root(*root))


def test_root_in_other_encodings() -> None:
    """UTF-16 with and without a mark, and declared encodings that expat does not know."""
    text = "<?xml version='1.0'?><r xmlns='urn:日本'/>"
    for body in (text.encode("utf-16"), text.encode("utf-16-le"), text.encode("utf-16-be")):
        assert read(URL, {}, body).root == Root("urn:日本", "r")
    declared = "<?xml version='1.0' encoding='shift_jis'?><r xmlns='urn:日本'/>".encode("shift_jis")
    doc = read(URL, {"content-type": "text/xml"}, declared)
    assert (doc.root, doc.charset) == (Root("urn:日本", "r"), "shift_jis")


BILLION = "<!DOCTYPE l [<!ENTITY a 'lol'>" + "".join(
    f"<!ENTITY {name} '{f'&{previous};' * 10}'>" for previous, name in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        f"{BILLION}]><l>&j;</l>",
        f"{BILLION}]><l x='&j;' xmlns='&j;'/>",
        f"<!DOCTYPE l [<!ENTITY a '{'a' * 50_000}'>]><l>{'&a;' * 50_000}</l>",
        "<!DOCTYPE l [<!ENTITY a '&b;'><!ENTITY b '&a;'>]><l>&a;</l>",
        "<!DOCTYPE l [" + "".join(f"<!ENTITY a{i} 'x'>" for i in range(1000)) + "]><l/>",
    ],
    ids=["laughs", "attributes", "quadratic", "recursive", "many"],
)
def test_entities(text: str) -> None:
    """Entities that expand or recur are refused: the root is found, nothing is expanded."""
    doc = _read(text)
    assert doc.root is not None
    assert doc.root.name == "l"
    assert doc.problem == "xml: entity declarations refused"
    assert len(doc.text) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE l [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><l xmlns='urn:x'>&a;</l>",
        "<!DOCTYPE l [<!ENTITY % a SYSTEM 'http://example.org/a.dtd'> %a;]><l xmlns='urn:x'/>",
    ],
    ids=["file", "parameter"],
)
def test_external_entities(text: str) -> None:
    """Nothing outside a document is read, and that is said."""
    doc = _read(text)
    assert (doc.root, doc.problem) == (Root("urn:x", "l"), "xml: external entities are not read")
    assert doc.text in ("", "&a;")


def test_unparsed_entities() -> None:
    """A picture that a document names as an entity is no danger."""
    doc = _read("<!DOCTYPE l [<!NOTATION g SYSTEM 'g'><!ENTITY a SYSTEM 'a.gif' NDATA g>]><l/>")
    assert (doc.root, doc.problem) == (Root("", "l"), "")


def test_surrogates_do_not_spoil_the_tree() -> None:
    """References to half characters become U+FFFD: the text around them stays readable."""
    doc = _read("<r>a&#xD800;b&#57343;c&#xDFFF d<e/></r>")
    assert doc.text == "a\ufffdb\ufffdc\ufffd d"


def test_declared_utf8_is_latin1() -> None:
    """A wrong declaration neither hides the root nor spoils the text."""
    text = "<?xml version='1.0' encoding='utf-8'?><!-- café --><r xmlns='urn:x'>naïve déjà vu</r>"
    doc = read(URL, {}, text.encode("latin-1"))
    assert (doc.root, doc.text) == (Root("urn:x", "r"), "naïve déjà vu")


def test_dtd() -> None:
    """A DTD is XML without a root."""
    doc = read(URL, {"content-type": "text/plain"}, b"<!-- c -->\n<!ELEMENT a (b)>\n<!ATTLIST a c CDATA ''>")
    assert (doc.kind, doc.mime, doc.root, doc.etree, doc.problem) == ("xml", "application/xml-dtd", None, None, "")
    assert "ELEMENT" in doc.text


def test_attribute_entities_in_the_tree() -> None:
    """A tree with entities in attributes keeps libxml2's own guard."""
    doc = _read(f"<!DOCTYPE q [<!ENTITY a '{'a' * 200}'>]><q x='{'&a;' * 200_000}'/>")
    assert doc.etree is None or len(doc.etree.get("x") or "") < 20_000_000


@pytest.mark.parametrize(
    "text",
    [
        "<r>" + "<a>" * 50_000 + "</a>" * 50_000 + "</r>",
        "<r a='" + "x" * 5_000_000 + "'/>",
        "<r " + " ".join(f"xmlns:n{i}='u{i}'" for i in range(5000)) + "/>",
        "<r>" + "".join(f"<n{i}/>" for i in range(50_000)) + "</r>",
        "<r>" + "x" * 5_000_000 + "</r>",
    ],
    ids=["deep", "attribute", "namespaces", "names", "text"],
)
def test_hostile_documents_end(text: str) -> None:
    """Depth, length and number cost time in proportion, and the root is still found."""
    doc = _read(text)
    assert doc.root == Root("", "r")
    assert doc.etree is not None
    assert isinstance(doc.text, str)


def test_tree_of_broken_document() -> None:
    """The tree holds what could be read, and the problem says what was wrong."""
    doc = _read("<?xml version='1.0'?><r><a>one</a><b>two & three<c></r>")
    assert doc.problem == ""
    assert doc.etree is not None
    assert doc.etree.findtext("a") == "one"
    assert doc.problem.startswith("xml:")
    assert doc.text.startswith("one two")


def test_nothing_is_fetched_for_a_tree() -> None:
    """External entities stay references in the tree."""
    doc = _read("<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><r>before &x; after</r>")
    assert doc.etree is not None
    assert "root:" not in (doc.etree.text or "")


def test_tree_has_a_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document too large for a tree gives none and says so."""
    monkeypatch.setattr(reader, "TREE_BYTES", 10)
    doc = _read("<root>text</root>")
    assert (doc.root, doc.etree, doc.text) == (Root("", "root"), None, "")
    assert doc.problem == "xml: 17 bytes, more than 10 for a tree"


@pytest.mark.parametrize("text", ["", "no markup", "<", "<>", "<?xml", "<!DOCTYPE", "<!-- ", "</r>"])
def test_what_is_no_document(text: str) -> None:
    """Announced as XML, but none: no root, no tree, no links, no exception."""
    doc = _read(text)
    assert (doc.root, doc.etree, doc.links) == (None, None, [])


def test_plain_xml_has_no_links() -> None:
    """Links of XML documents are for missions."""
    doc = _read("<r xmlns:x='http://www.w3.org/1999/xlink' x:href='a'><a href='b'>c</a></r>")
    assert (doc.links, doc.text, doc.context(0)) == ([], "c", "")
