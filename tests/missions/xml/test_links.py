"""What a document of the XML family refers to (X2, X3)."""

from __future__ import annotations

from lycosa.missions.xml.links import Trace, trace

URL = "http://a.org/dir/doc.xml"


def strong(body: bytes | str, url: str = URL) -> set[tuple[str, str]]:
    return {(link.relation, link.href) for link in read(body, url).strong}


def read(body: bytes | str, url: str = URL) -> Trace:
    return trace(body.encode() if isinstance(body, str) else body, url)


def test_schemas_refer_to_schemas() -> None:
    """Import, include, redefine and override, with their lines; an import without a place is no link."""
    found = read("""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
        <xs:import namespace="urn:a" schemaLocation="a.xsd"/><xs:import namespace="urn:b"/>
        <xs:include schemaLocation="../b.xsd"/><xs:redefine schemaLocation="c.xsd"/>
        <xs:override schemaLocation="http://b.org/d.xsd"/></xs:schema>""")
    assert [(link.relation, link.url, link.line) for link in found.strong] == [
        ("xsd:import", "http://a.org/dir/a.xsd", 2),
        ("xsd:include", "http://a.org/b.xsd", 3),
        ("xsd:redefine", "http://a.org/dir/c.xsd", 3),
        ("xsd:override", "http://b.org/d.xsd", 4),
    ]
    assert found.fault is None


def test_every_language_of_the_family_has_its_links() -> None:
    """XSLT, RELAX NG, Schematron, WSDL, XInclude, catalogs, OWL, instructions, instances."""
    assert strong(
        '<x:transform version="2.0" xmlns:x="http://www.w3.org/1999/XSL/Transform"><x:import href="a"/>'
        '<x:include href="b"/><x:import-schema schema-location="c"/></x:transform>'
    ) == {("xsl:import", "a"), ("xsl:include", "b"), ("xsl:import-schema", "c")}
    assert strong(
        '<grammar xmlns="http://relaxng.org/ns/structure/1.0"><include href="a"/><externalRef href="b"/></grammar>'
    ) == {("rng:include", "a"), ("rng:externalRef", "b")}
    assert strong(
        '<?xml-stylesheet type="text/xsl" href="a.xsl"?><?xml-model href=\'b.rnc\'?><?other href="c"?>'
        '<r xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:a a.xsd\n urn:b b.xsd">'
        '<s xsi:noNamespaceSchemaLocation="c.xsd"/>'
        '<i:include xmlns:i="http://www.w3.org/2001/XInclude" href="d.xml"/></r>'
    ) == {
        ("pi:xml-stylesheet", "a.xsl"),
        ("pi:xml-model", "b.rnc"),
        ("xsi:schemaLocation", "a.xsd"),
        ("xsi:schemaLocation", "b.xsd"),
        ("xsi:noNamespaceSchemaLocation", "c.xsd"),
        ("xi:include", "d.xml"),
    }
    assert strong(
        '<o:Ontology xmlns:o="http://www.w3.org/2002/07/owl#"><o:Import>http://b/c</o:Import></o:Ontology>'
    ) == {("owl:imports", "http://b/c")}


def test_a_base_inside_the_document_counts() -> None:
    """Catalogs put xml:base on groups, and it ends with them."""
    found = read(
        '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog"><group xml:base="sub/">'
        '<system systemId="x" uri="a"/></group><nextCatalog catalog="b"/></catalog>'
    )
    assert [link.url for link in found.strong] == ["http://a.org/dir/sub/a", "http://a.org/dir/b"]


def test_external_entities_are_links_and_nothing_more() -> None:
    """Those behind a reference that is not followed as well; comments and values are passed over."""
    assert strong("""<!DOCTYPE a PUBLIC "-//X" "a.dtd" [
        <!ENTITY % mod SYSTEM 'mod.ent'> %mod; <!-- <!ENTITY no SYSTEM "no"> -->
        <!ENTITY text PUBLIC "-//Y" "text.xml"> <!ENTITY pic SYSTEM "pic.gif" NDATA gif>
        <!ENTITY inner "<!ENTITY no SYSTEM 'no'>"> ]><a>&text;</a>""") == {
        ("doctype-system", "a.dtd"),
        ("parameter-entity", "mod.ent"),
        ("external-entity", "text.xml"),
        ("ndata-entity", "pic.gif"),
    }
    assert strong("<!ELEMENT a EMPTY>\n<![%on;[<!ENTITY % b PUBLIC 'c' 'd.mod'>%b;]]>") == {
        ("parameter-entity", "d.mod")
    }


def test_queries_and_compact_schemas_are_read() -> None:
    """What is in comments is not meant; documents that a query reads are weak links."""
    found = read(
        """xquery version "3.1"; (: import module "x" at "no"; :)
        import module namespace a = "urn:a" at "a.xqm", 'b.xqm'; import schema "urn:s" at "s.xsd"; doc("d.xml")""",
        "http://a.org/q.xq",
    )
    assert [(link.relation, link.href) for link in found.strong] == [
        ("xq:import-module", "a.xqm"),
        ("xq:import-module", "b.xqm"),
        ("xq:import-schema", "s.xsd"),
    ]
    assert [link.href for link in found.weak] == ["d.xml"]
    compact = read(
        'namespace a = "urn:a"\n# include "no"\ninclude "b" ~ ".rnc" { start = a }\nx = external "c.rnc" | "include"',
        "http://a/s.rnc",
    )
    assert {(link.relation, link.href) for link in compact.strong} == {
        ("rnc:include", "b.rnc"),
        ("rnc:external", "c.rnc"),
    }
    assert compact.namespaces == ["urn:a"]


def test_a_truncated_document_gives_what_it_has() -> None:
    """Links before the cut count, half a tag does not, and the error has its place."""
    found = read(
        '<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema">\n<s:include schemaLocation="a"/><s:include schemaLoc'
    )
    assert [(link.href, link.recovered) for link in found.strong] == [("a", False)]
    assert found.fault is not None
    assert (found.fault.message, found.fault.line, found.fault.column) == ("unclosed token", 2, 32)


def test_links_behind_an_error_are_recovered() -> None:
    """What stands behind the first error is told as such."""
    found = read(
        '<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"><s:include schemaLocation="a"/><b></c>'
        '<!-- <s:include schemaLocation="no"/> --><s:include\n schemaLocation="d"/></s:schema>'
    )
    assert [(link.relation, link.href, link.recovered) for link in found.strong] == [
        ("xsd:include", "a", False),
        ("xsd:include", "d", True),
    ]
    twice = read('<r xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" a="1" a="2" xsi:schemaLocation="urn:a b"/>')
    assert [(link.relation, link.href, link.recovered) for link in twice.strong] == [("xsi:schemaLocation", "b", True)]
    late = read('## licence\n<?xml version="1.0"?><!DOCTYPE a SYSTEM "b.dtd"><a/>')
    assert [(link.href, link.recovered) for link in late.strong] == [("b.dtd", True)]


def test_other_addresses_are_weak() -> None:
    """Those in attributes and in the text, but not the names of namespaces."""
    found = read(
        '<r xmlns="http://ns.org/" xmlns:l="http://www.w3.org/1999/xlink" l:href="b.xml" see="http://c.org/?a=1&amp;b=2">'
        "<u> http://d.org/e. </u><v href='#here'/></r>"
    )
    assert [link.url for link in found.weak] == ["http://c.org/?a=1&b=2", "http://d.org/e", "http://a.org/dir/b.xml"]
    assert found.strong == []
    assert found.namespaces == ["http://ns.org/", "http://www.w3.org/1999/xlink"]


def test_entities_do_not_explode() -> None:
    """Not in the text, and in attributes only so far that the parser ends it; links around them are found."""
    nested = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 20))
    head = f'<!DOCTYPE a SYSTEM "a.dtd" [<!ENTITY e0 "{"lol" * 100}">{nested}]>'
    assert strong(f"{head}<a>&e19;</a>") == {("doctype-system", "a.dtd")}
    bomb = read(f'{head}<a><b c="&e19;"/></a>')
    assert {link.href for link in bomb.strong} == {"a.dtd"}
    assert bomb.fault is not None
    assert "amplification" in bomb.fault.message


def test_depth_is_no_danger() -> None:
    """A document of 200,000 levels is read like any other."""
    found = read(
        b"<a>" * 200_000 + b'<x xmlns="http://www.w3.org/2001/XInclude"><include href="b"/></x>' + b"</a>" * 200_000
    )
    assert [link.href for link in found.strong] == ["b"]
