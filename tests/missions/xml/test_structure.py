"""How a document is built is counted in one pass, whatever its depth."""

from __future__ import annotations

from lycosa.missions.xml.structure import measure, measure_dtd


def test_everything_is_counted() -> None:
    """Elements, attributes, depth, fan-out, recursion, mixed content, text, namespaces, the document type."""
    data = b"""<?xml version="1.0"?><!DOCTYPE a PUBLIC "-//X" "a.dtd" [<!ELEMENT a ANY>]><?style x?>
    <a xmlns="urn:a" xmlns:b="urn:b" k="1"><!-- c --><b:b k="1" b:l="2"/><a>text <a>x</a> tail</a><b:b/></a>"""
    found = measure(data)
    assert (found.elements, found.attributes, found.depth, found.fanout) == (5, 3, 3, 3)
    assert (found.parents, found.recursion, found.mixed, found.text_chars) == (2, 2, 1, 9)
    assert (found.comments, found.instructions, found.names, found.attribute_names) == (1, 1, 2, 2)
    assert found.namespaces == {"urn:a": 3, "urn:b": 2}
    assert (found.doctype, found.public_id, found.system_id, found.internal_subset) == ("a", "-//X", "a.dtd", True)
    assert found.mean_fanout == 2.0 and not found.fault


def test_a_broken_document_is_counted_up_to_the_error() -> None:
    """The error and its line are told."""
    found = measure(b"<a><b/>\n<b></c></a>")
    assert (found.elements, found.depth, found.fanout, found.line) == (3, 2, 2, 2)
    assert found.fault == "mismatched tag"


def test_depth_and_breadth_cost_no_stack() -> None:
    """Two hundred thousand levels, a million siblings, twenty thousand names."""
    deep = measure(b"<a>" * 200_000 + b"</a>" * 200_000)
    assert deep.depth == 200_000 and deep.recursion == 199_999
    assert measure(b"<a>" + b"<b/>" * 100_000 + b"</a>").fanout == 100_000
    names = b"".join(b"<n%d/>" % n for n in range(30_000))
    many = measure(b"<a>" + names + b"</a>")
    assert many.elements == 30_001 and many.names == 20_001


def test_entities_are_not_expanded() -> None:
    """A bomb is a handful of elements."""
    lines = b"".join(b'<!ENTITY e%d "%s">' % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 30))
    bomb = b'<!DOCTYPE a [<!ENTITY e0 "ha">' + lines + b"]><a>&e29;</a>"
    assert measure(bomb).text_chars < 100


def test_a_dtd_is_counted_by_its_declarations() -> None:
    """Comments do not count."""
    found = measure_dtd("<!-- <!ELEMENT x ANY> --><!ELEMENT a ANY><!ATTLIST a b CDATA #IMPLIED>")
    assert (found.elements, found.attributes) == (1, 1)


def test_every_attribute_of_a_list_is_counted() -> None:
    """One list declares several attributes; defaults, enumerations and entities are none."""
    found = measure_dtd(
        """<!ELEMENT a ANY><!ATTLIST a b CDATA #IMPLIED c (x|y) "x" d NMTOKEN #FIXED "CDATA (z)"
           e %type; #REQUIRED %more; f NOTATION (g|h) #IMPLIED><!ATTLIST a.b id ID #IMPLIED b IDREFS #REQUIRED>"""
    )
    assert (found.attributes, found.attribute_names) == (7, 6)


def test_text_is_a_share_of_characters() -> None:
    """Characters are counted, not the bytes that they take."""
    found = measure("<r>日本語</r>".encode())
    assert (found.text_chars, found.chars) == (3, 10)
