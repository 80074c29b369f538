"""The XML mission as the crawl asks it: what is quarry, where it leads, how promising links are, what is recorded."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

from support.crawl_runs import crawl, rows
from support.loopback import Reply, Web, html

from lycosa import Collection
from lycosa.explain.why import explain
from lycosa.missions.xml.quarry import Xml, guess, has_suffix
from lycosa.model import Link
from lycosa.parse import Doc, read

SCHEMA = b"""<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"><s:include schemaLocation="b.xsd"/>
<s:import schemaLocation="../c.xsd"/><s:import schemaLocation="http://c.org/d.xsd"/></s:schema>"""
PAGE = b'<!doctype html><html><a href="x.xsd">x</a><a href="y">y</a></html>'


def doc(url: str, body: bytes, mime: str = "") -> Doc:
    return read(url, {"content-type": mime} if mime else {}, body)


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, body in members.items():
            archive.writestr(name.replace("__", "/") + ".xsd", body)
    return file.getvalue()


def test_the_family_is_quarry_and_pages_are_not() -> None:
    """HTML and XHTML are read for their links; what only pretends to be XML is no quarry."""
    quarry = Xml()
    assert quarry.recognise(doc("http://a/x", SCHEMA, "text/plain")) == "xsd"
    assert quarry.recognise(doc("http://a/x", b'<feed xmlns="http://www.w3.org/2005/Atom"/>')) == "feed"
    assert quarry.recognise(doc("http://a/x", PAGE)) is None
    assert quarry.recognise(doc("http://a/x.xml", PAGE, "application/xml")) is None
    xhtml = b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><a href="x">x</a></html>'
    assert quarry.recognise(doc("http://a/x", xhtml, "application/xhtml+xml")) is None
    assert quarry.recognise(doc("http://a/x.png", b"\x89PNG\r\n\x1a\n", "image/png")) is None


def test_strong_links_come_with_their_relation() -> None:
    """Resolved against the document, and vouched for."""
    found = list(Xml().links(doc("http://a/d/e.xsd", SCHEMA)))
    assert [(link.href, link.kind) for link in found] == [
        ("http://a/d/b.xsd", "xsd:include"),
        ("http://a/c.xsd", "xsd:import"),
        ("http://c.org/d.xsd", "xsd:import"),
    ]
    assert all(link.kind in Xml.trusted_kinds for link in found)
    assert "weak" not in Xml.trusted_kinds


def test_the_score_is_that_of_the_rules() -> None:
    """A known suffix counts half, an XML document another half, and a page where XML was promised takes half away."""
    quarry = Xml()
    page, schema = doc("http://a/", PAGE), doc("http://a/e.xsd", SCHEMA)
    false = doc("http://a/fake.xml", PAGE, "text/html")
    assert quarry.score(Link("x.xsd?v=1"), page) == 0.5
    assert quarry.score(Link("about"), page) == 0.0
    assert quarry.score(Link("b.xsd"), schema) == 1.0
    assert quarry.score(Link("about"), schema) == 0.5
    assert quarry.score(Link("x.xsd"), false) == 0.0
    for link, on in ((Link("x.xsd"), page), (Link("about"), schema), (Link("x.xsd"), false)):
        assert sum(quarry.explain(link, on).values()) == quarry.score(link, on)
    assert not has_suffix("http://a.rng/dir/page") and not has_suffix("page.xhtml") and has_suffix("/A.XSLT#x")


def test_a_better_link_raises_what_waits_without_a_policy(web: Web, tmp_path: Path) -> None:
    """The score of X4 alone: an address that a page names is worth more once a schema names it."""
    web["a.test/"] = html("/x", "/y", "/b.xsd")
    web["a.test/b.xsd"] = Reply(SCHEMA.replace(b"b.xsd", b"y"), headers={"Content-Type": "text/xml"})
    words = ("xml", "http://a.test/", "--scope", "host", "--workers", "1", "--per-host", "1")
    crawl(web, tmp_path / "c", *words, "--set", "policy.name=quarry", "--limit", "1", code=5)
    found = rows(tmp_path / "c", "SELECT url, score FROM urls WHERE state = 'unfetched' ORDER BY url")
    assert ("http://a.test/x", 0.0) in found and ("http://a.test/y", 0.5) in found
    crawl(web, tmp_path / "s", *words, "http://a.test/s.xsd", "--set", "policy.name=quarry", "--limit", "1", code=5)
    found = rows(tmp_path / "s", "SELECT url, score FROM urls WHERE seed ORDER BY url")
    assert found == [("http://a.test/", 1.0), ("http://a.test/s.xsd", 1.5)]


def test_what_promised_xml_and_is_none_is_worth_less(web: Web, tmp_path: Path) -> None:
    """The address itself, once, when it was fetched."""
    web["a.test/"] = html("/false.xsd", "/true.xsd")
    web["a.test/false.xsd"] = html(title="no")
    web["a.test/true.xsd"] = Reply(SCHEMA, headers={"Content-Type": "text/xml"})
    words = ("xml", "http://a.test/", "--scope", "host", "--set", "policy.name=quarry", "--set", "keep.what=everything")
    sql = "SELECT url, score FROM urls WHERE url GLOB '*e.xsd' ORDER BY url"
    for name, *more in (
        ("c",),
        ("c", "--recrawl"),
        ("d", "--set", "keep.what=recognised"),
        ("d", "--set", "keep.what=recognised", "--recrawl"),
    ):
        crawl(web, tmp_path / name, *words, *more)
        assert rows(tmp_path / name, sql) == [("http://a.test/false.xsd", 0.0), ("http://a.test/true.xsd", 0.5)]
    with Collection(tmp_path / "c") as collection:
        score = explain(collection, "http://a.test/false.xsd").score
    assert score is not None and score.parts["what it turned out to be"] == -0.5


def test_an_archive_is_quarry_for_what_it_holds() -> None:
    """Links between its members stay inside; others are as if it had been unpacked where it lies."""
    quarry = Xml()
    bundle = doc(
        "http://a/get/x.zip", zipped(d__e=SCHEMA, d__b=b'<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"/>')
    )
    assert quarry.recognise(bundle) == "zip"
    assert [link.href for link in quarry.links(bundle)] == ["http://a/get/c.xsd", "http://c.org/d.xsd"]
    records = [(record.kind, record.data) for record in quarry.extract(bundle)]
    assert records[0] == ("archive", {"format": "zip", "members": 2, "xml": 2, "problem": ""})
    assert [data["member"] for _, data in records[1:]] == ["http://a/get/x.zip!/d/e.xsd", "http://a/get/x.zip!/d/b.xsd"]
    assert quarry.recognise(doc("http://a/x.xsd.gz", gzip.compress(SCHEMA))) == "gz"
    assert quarry.recognise(doc("http://a/x.txt.gz", gzip.compress(b"words"))) is None


def test_a_record_tells_what_a_document_is() -> None:
    """Kind, encoding, root, namespaces, links and the place of the first error."""
    (record,) = Xml().extract(doc("http://a/e.xsd", SCHEMA[:-4]))
    data: dict[str, Any] = record.data
    assert (data["kind"], data["encoding"], data["strong"]) == ("xsd", "utf-8", 3)
    assert data["root"] == {"namespace": "http://www.w3.org/2001/XMLSchema", "name": "schema"}
    assert data["links"][0] == {"relation": "xsd:include", "href": "b.xsd", "url": "http://a/b.xsd", "line": 1}
    assert data["error"]["line"] == 2


def test_missing_schemas_are_looked_for() -> None:
    """In the folders above, the usual ones, and where others were found; not for pages, and never endlessly many."""
    assert guess("http://a/x/y/z/t.xsd", ()) == [
        "http://a/x/y/t.xsd",
        "http://a/x/t.xsd",
        "http://a/schemas/t.xsd",
        "http://a/xsd/t.xsd",
    ]
    assert guess("http://a/t.dtd", ["http://b/dtds/"])[0] == "http://b/dtds/t.dtd"
    assert guess("http://a/page.html", ["http://b/"]) == guess("http://a/", ()) == []
    quarry = Xml()
    for n in range(5):
        list(quarry.links(doc(f"http://b/repo/{n}.xsd", SCHEMA)))
    proposed = list(quarry.links_of_error(doc("http://a/q/t.xsd", b"not here"), 404))
    assert {link.kind for link in proposed} == {"guess"}
    assert "http://b/repo/t.xsd" in [link.href for link in proposed]
    assert list(quarry.links_of_error(doc("http://a/q/t.xsd", b""), 403)) == []
