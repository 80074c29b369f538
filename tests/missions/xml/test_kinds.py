"""Which member of the XML family a document is (X1)."""

from __future__ import annotations

import pytest

from lycosa.missions.xml.kinds import recognise

XSD = b'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:my="urn:my"/>'


def name(body: bytes, url: str = "", mime: str = "") -> str | None:
    kind = recognise(body, url=url, mime=mime)
    return kind.name if kind else None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (XSD, "xsd"),
        (b'<x:transform version="1.0" xmlns:x="http://www.w3.org/1999/XSL/Transform"/>', "xslt"),
        (b'<p xsl:version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"/>', "xslt"),
        (b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>', "rdf"),
        (
            b"""<!DOCTYPE r:RDF [<!ENTITY owl "http://www.w3.org/2002/07/owl#">]>
            <r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:o="&owl;"><o:Ontology/></r:RDF>""",
            "owl",
        ),
        (b'<Ontology xmlns="http://www.w3.org/2002/07/owl#"/>', "owl"),
        (b'<element name="a" xmlns="http://relaxng.org/ns/structure/1.0"/>', "rng"),
        (b'<pattern xmlns="http://purl.oclc.org/dsdl/schematron"/>', "schematron"),
        (b'<definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>', "wsdl"),
        (b'<w:description xmlns:w="http://www.w3.org/ns/wsdl"/>', "wsdl"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "svg"),
        (b'<html xmlns="http://www.w3.org/1999/xhtml"/>', "xhtml"),
        (b'<?xml version="1.0"?><html/>', "xhtml"),
        (b"<!doctype html><html><p>Hello", None),
        (b'<rss version="2.0"/>', "feed"),
        (b'<feed xmlns="http://www.w3.org/2005/Atom"/>', "feed"),
        (b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>', "sitemap"),
        (b"<!-- a licence -->\n%other;\n<!ELEMENT a (b)>", "dtd"),
        (b"<!ENTITY % a 'b'>", "dtd"),
        (b'(: a (: nested :) comment :)\nxquery version "3.1";\n1', "xquery"),
        (b'module namespace a = "urn:a";', "xquery"),
        (b'# a schema\ndefault namespace = "urn:a"\nstart = element a { text }', "rnc"),
        (b"grammar { start = element a { empty } }", "rnc"),
        (b"<recipe><egg/></recipe>", "xml"),
        (b"<recipe><egg></recipe>", None),
        (b'<?xml version="1.0"?><recipe><egg></recipe>', "xml"),
        (b"start = 1\nend = 2\n", None),
        (b"import module\nfrom a import b", None),
        (b"declare function find(name: string): Thing;\n", None),  # TypeScript
        (b"declare function f($a as xs:string) { $a };", "xquery"),
        (b"declare function my:f() { 1 };", "xquery"),
        (b"App = App || {};\nfor (var element in list) {\n}\n", None),  # JavaScript
        (b"start = element a { attribute x:* { text }, b }\nb = element x:b { empty }\n", "rnc"),
        (b"\x89PNG\r\n\x1a\n\0\0", None),
        (b"", None),
    ],
)
def test_the_content_tells_the_kind(body: bytes, expected: str | None) -> None:
    """Neither suffix nor type is needed where the content speaks."""
    assert name(body) == expected


@pytest.mark.parametrize(
    "codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "cp037", "cp500"]
)
def test_any_encoding_is_read(codec: str) -> None:
    """A document is recognised with and without a byte-order mark, also on a mainframe."""
    declared = f'<?xml version="1.0" encoding="{codec}"?>\n' if codec.startswith("cp") else ""
    kind = recognise((declared + XSD.decode()).encode(codec))
    assert kind is not None
    assert kind.name == "xsd"
    assert kind.encoding.startswith(codec[:6])
    assert kind.root == ("http://www.w3.org/2001/XMLSchema", "schema")
    assert kind.namespaces == ("http://www.w3.org/2001/XMLSchema", "urn:my")


def test_a_suffix_is_only_a_hint() -> None:
    """It is heard where the content says nothing, and not where it speaks."""
    assert name(b"\n", "http://a/b.xq") == "xquery"
    assert name(b"let $a := 1 return $a", "http://a/b.xquery") == "xquery"
    assert name(b"<a>{1 + 1}</a", "http://a/b.xq") == "xquery"
    assert name(b"## licence\n<!DOCTYPE a SYSTEM 'b'>\n<a/>", "http://a/b.xml") == "xml"
    assert name(b"# nothing here\nx = empty", "http://a/b.rnc") == "rnc"
    assert name(b"<!-- all of it -->", "http://a/b.dtd") == "dtd"
    assert name(XSD, "http://a/b.html", "text/html") == "xsd"
    assert name(b"<!doctype html><html>", "http://a/b.xsd", "application/xml") is None
    assert name(b"just words", "http://a/b.xml", "text/xml") is None


def test_a_document_broken_at_its_root_is_still_told() -> None:
    """The start tag is read as it is written where a parser gives up."""
    broken = b'<?xml version="1.0"?><s:schema xmlns:s="http://www.w3.org/2001/XMLSchema" a="1" a="2"><x'
    assert name(broken) == "xsd"
