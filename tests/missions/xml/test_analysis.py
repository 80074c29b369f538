"""The Analyzer over a collection: kinds, corrections, links, closures, validity, clusters; resumable; plugins."""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.crawl_runs import crawl as run_crawl
from support.loopback import Reply, Web, html
from support.make_collection import add, make_collection

from lycosa import Collection, crawl
from lycosa.analysis.analyzer import Task
from lycosa.analysis.store import Store
from lycosa.cli.main import program
from lycosa.collection.status import format_status, read_status
from lycosa.errors import UsageError
from lycosa.missions.xml.analysis import XmlAnalyzer

XSD = "http://www.w3.org/2001/XMLSchema"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
CATALOG = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
SITE = "http://site.test/"


def schema(inner: str, target: str = "") -> bytes:
    space = f' targetNamespace="{target}" xmlns="{target}" elementFormDefault="qualified"' if target else ""
    return f'<xs:schema xmlns:xs="{XSD}"{space}>{inner}</xs:schema>'.encode()


def instance(inner: str, location: str) -> bytes:
    return f'<a xmlns="urn:a" xmlns:xsi="{XSI}" xsi:schemaLocation="urn:a {location}">{inner}</a>'.encode()


TYPES = '<xs:simpleType name="n"><xs:restriction base="xs:int"/></xs:simpleType>'
A = '<xs:include schemaLocation="parts/types.xsd"/><xs:element name="a" type="n"/>'
RNG = "http://relaxng.org/ns/structure/1.0"
DEEP = b"<b>" * 5000 + b"</b>" * 5000
PAGES = {
    "a.xsd": schema(A, "urn:a"),
    "parts/types.xsd": schema(TYPES, "urn:a"),
    "good.xml": instance("7", "a.xsd"),
    "bad.xml": instance("seven", "a.xsd"),
    "moved.xml": instance("7", "old/a.xsd"),
    "broken.xml": b"<a xmlns='urn:a'>&nbsp;<b></a>",
    "lacking.xsd": schema('<xs:include schemaLocation="nowhere.xsd"/>', "urn:l"),
    "lacking.xml": instance("7", "lacking.xsd"),
    "d.dtd": b'<!ENTITY % m SYSTEM "m.mod">%m;<!ELEMENT d (e*)>',
    "m.mod": b"<!ELEMENT e (#PCDATA)>",
    "good-d.xml": b'<!DOCTYPE d SYSTEM "d.dtd"><d><e>x</e></d>',
    "bad-d.xml": b'<!DOCTYPE d SYSTEM "d.dtd"><d><f/></d>',
    "own-d.xml": b'<!DOCTYPE d SYSTEM "d.dtd" [<!ELEMENT f EMPTY><!ENTITY x "y">]><d><e>&x;</e></d>',
    "r.rng": f'<grammar xmlns="{RNG}"><include href="q.rng"/><start><ref name="x"/></start></grammar>'.encode(),
    "q.rng": f'<grammar xmlns="{RNG}"><define name="x"><element name="x"><text/></element></define></grammar>'.encode(),
    "good-r.xml": b'<?xml-model href="r.rng"?><x>y</x>',
    "bad-r.xml": b'<?xml-model href="r.rng"?><x><y/></x>',
    "passwd.xsd": schema('<xs:include schemaLocation="file:///etc/passwd"/>'),
    "one.xsd": schema('<xs:include schemaLocation="two.xsd"/>'),
    "two.xsd": schema('<xs:include schemaLocation="one.xsd"/>'),
    "deep.xml": f'<a xmlns:xsi="{XSI}" xsi:noNamespaceSchemaLocation="one.xsd">'.encode() + b"<b/>" + DEEP + b"</a>",
    "silent.xml": b'<a xmlns="urn:a">eight</a>',
    "by-name.xsd": schema('<xs:include schemaLocation="urn:x:types"/>'),
    "catalog.xml": f'<catalog xmlns="{CATALOG}"><uri name="urn:x:types" uri="two.xsd"/></catalog>'.encode(),
    "page.html": b"<html><body>hello</body></html>",
}


#: Like DITA's, it says the same long thing for every element.
CROWDED = (
    '<!ENTITY % any "(#PCDATA|{})*">'.format("|".join(f"element{n}" for n in range(300)))
    + "<!ELEMENT d (e|f)*>"
    + "".join(f"<!ELEMENT element{n} %any;>" for n in range(700))
    + "<!ELEMENT e %any;>"
)
TWIN = '<b xmlns="urn:w" xmlns:xsi="{}" xsi:schemaLocation="urn:w {} urn:w w2.xsd">1</b>'
KEY = '<xs:element name="k" type="xs:string" nillable="true"/>'
NIL = f'<xs:element name="r"><xs:complexType><xs:sequence>{KEY}</xs:sequence>'
UNIQUE = '</xs:complexType><xs:unique name="u"><xs:selector xpath="k"/><xs:field xpath="."/></xs:unique></xs:element>'
CASES = {
    "d.dtd": b"<!ELEMENT d (e*)><!ELEMENT e (#PCDATA)><!ATTLIST e k CDATA 'x'><?a:b c?>",
    "good.xml": b'<!DOCTYPE d SYSTEM "d.dtd"><d><e/></d>',
    "other-root.xml": b'<!DOCTYPE d SYSTEM "d.dtd"><e/>',
    "alone.xml": b'<?xml version="1.0" standalone="yes"?><!DOCTYPE d SYSTEM "d.dtd"><d><e/></d>',
    "chapter.xml": b'<!DOCTYPE d SYSTEM "d.dtd" [<!ENTITY c SYSTEM "gone.xml">]><d>&c;</d>',
    "crowded.dtd": CROWDED.encode(),
    "crowded-good.xml": b'<!DOCTYPE d SYSTEM "crowded.dtd"><d><e>[<element5/>]</e></d>',
    "crowded-bad.xml": b'<!DOCTYPE d SYSTEM "crowded.dtd"><d><e><d/></e></d>',
    "own-good.xml": b"<!DOCTYPE d [<!ELEMENT d EMPTY>]><d/>",
    "own-bad.xml": b"<!DOCTYPE d [<!ELEMENT d EMPTY>]><d>x</d>",
    "own-entity.xml": b"<!DOCTYPE d [<!ENTITY x 'y'>]><d>&x;</d>",
    "w1.xsd": schema('<xs:element name="a" type="xs:int"/>', "urn:w"),
    "w2.xsd": schema('<xs:element name="b" type="xs:int"/>', "urn:w"),
    "twin.xml": TWIN.format(XSI, "w1.xsd").encode(),
    "nil.xsd": schema(NIL + UNIQUE),
    "nil.xml": f'<r xmlns:xsi="{XSI}" xsi:noNamespaceSchemaLocation="nil.xsd"><k xsi:nil="true"/></r>'.encode(),
}


def pages() -> list[tuple[str, str, bytes]]:
    return [(SITE + name, "text/html" if name.endswith("html") else "text/xml", body) for name, body in PAGES.items()]


def analyse(folder: Path, *arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(program, ["analyse", "xml", str(folder), "--workers", "1", *arguments])
    assert getattr(result.exception, "exit_code", result.exit_code) == code, (result.output, result.exception)
    return result.output


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    db = sqlite3.connect(folder / "analysis.db")
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def facts(folder: Path, *names: str) -> dict[str, Any]:
    found = rows(folder, f"SELECT url, {', '.join(names)} FROM document")
    return {row[0].removeprefix(SITE): row[1] if len(names) == 1 else row[1:] for row in found}


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_collection(
        tmp_path_factory.mktemp("xml") / "c", pages(), redirects={f"{SITE}old/a.xsd": f"{SITE}a.xsd"}
    )
    analyse(folder)
    return folder


def test_kinds_and_structure(analysed: Path) -> None:
    """Each document has its kind from its content and its figures."""
    kinds = facts(analysed, "kind")
    assert (kinds["a.xsd"], kinds["m.mod"], kinds["r.rng"], kinds["good.xml"], kinds["page.html"]) == (
        "xsd", "dtd", "rng", "xml", "html",
    )  # fmt: skip
    assert facts(analysed, "root", "namespace", "elements", "depth", "namespaces")["good.xml"] == (
        "a", "urn:a", 1, 1, 1,
    )  # fmt: skip
    assert facts(analysed, "target_namespace")["a.xsd"] == "urn:a"


def test_what_was_corrected_is_reported(analysed: Path) -> None:
    """With what, where and how often."""
    found = rows(analysed, "SELECT url, what, change.detail FROM change JOIN document ON id = document")
    assert [(url.removeprefix(SITE), what) for url, what, _ in found] == [
        ("broken.xml", "entity"), ("broken.xml", "tag"),
    ]  # fmt: skip
    assert facts(analysed, "well_formed", "changes")["broken.xml"] == (0, 2)
    assert facts(analysed, "well_formed")["good.xml"] == 1


def test_verdicts_are_those_of_the_recommendations(tmp_path: Path) -> None:
    """Also where libxml2 is too strict, too lax or fails; what cannot be told is unknown."""
    folder = make_collection(tmp_path / "c", [(SITE + name, "text/xml", body) for name, body in CASES.items()])
    analyse(folder)
    found = facts(folder, "validity", "validity_error")
    verdicts = {name: found[name][0] for name in CASES}
    assert verdicts == {
        "d.dtd": "usable", "good.xml": "valid", "other-root.xml": "invalid", "alone.xml": "invalid",
        "chapter.xml": "unknown", "crowded.dtd": "usable", "crowded-good.xml": "valid", "crowded-bad.xml": "invalid",
        "own-good.xml": "valid", "own-bad.xml": "invalid", "own-entity.xml": None,
        "w1.xsd": "usable", "w2.xsd": "usable", "twin.xml": "valid", "nil.xsd": "usable", "nil.xml": "unknown",
    }  # fmt: skip
    assert found["other-root.xml"][1] == "line 1: The root is e, but the document type says d"
    assert found["chapter.xml"][1] == f"not collected: {SITE}gone.xml"


def test_closures(analysed: Path) -> None:
    """Complete, or how much is missing; a redirect leads on."""
    found = facts(analysed, "closure", "closure_size", "missing")
    assert found["a.xsd"] == found["a.xsd"] == ("complete", 2, 0)
    assert found["good.xml"] == found["moved.xml"] == ("complete", 3, 0)
    assert found["lacking.xml"] == ("incomplete", 2, 1)
    assert found["by-name.xsd"] == ("complete", 3, 0)  # through a catalog
    assert found["d.dtd"] == ("complete", 2, 0) and found["r.rng"] == ("complete", 2, 0)


def test_validity_against_what_was_collected(analysed: Path) -> None:
    """XML Schema, DTD (with the document's own declarations), RELAX NG; what is not known is told."""
    found = facts(analysed, "validity")
    good = ["good.xml", "moved.xml", "good-d.xml", "own-d.xml", "good-r.xml"]
    assert {name: found[name] for name in good} == dict.fromkeys(good, "valid")
    bad = ["bad.xml", "bad-d.xml", "bad-r.xml"]
    assert {name: found[name] for name in bad} == dict.fromkeys(bad, "invalid")
    errors = facts(analysed, "validity_error")
    assert "seven" in errors["bad.xml"] and "f" in errors["bad-d.xml"]
    assert found["lacking.xml"] == "unknown" and "nowhere.xsd" in errors["lacking.xml"]
    assert (found["a.xsd"], found["lacking.xsd"], found["parts/types.xsd"]) == ("usable", "unusable", None)
    assert found["by-name.xsd"] == "usable"
    assert found["silent.xml"] == "invalid" and facts(analysed, "schema_use")["silent.xml"] == "namespace"
    assert (found["one.xsd"], found["two.xsd"], found["deep.xml"]) == ("usable", None, "unknown")
    assert found["passwd.xsd"] == "unusable" and "root:" not in errors["passwd.xsd"]


def test_a_second_run_takes_what_is_new(analysed: Path, tmp_path: Path) -> None:
    """And what follows from it: the missing part makes the schema whole, and its documents are checked."""
    folder = tmp_path / "c"
    shutil.copytree(analysed, folder)
    assert analyse(folder).startswith("0 pages analysed")
    add(folder, [(f"{SITE}nowhere.xsd", "text/xml", schema('<xs:element name="a"/>', "urn:l"))])
    assert analyse(folder).startswith("1 page analysed")
    assert facts(folder, "closure")["lacking.xml"] == "complete"
    assert facts(folder, "validity")["lacking.xsd"] == "usable"
    # The schema is for another namespace than the document's.
    assert facts(folder, "validity")["lacking.xml"] == "unknown"


def test_what_is_not_in_the_collection_any_more_is_forgotten(analysed: Path, tmp_path: Path) -> None:
    """As after a database that was made anew with fewer pages."""
    folder = tmp_path / "c"
    shutil.copytree(analysed, folder)
    crawl = sqlite3.connect(folder / "crawl.db")
    crawl.execute("DELETE FROM page WHERE n = (SELECT n FROM url WHERE url = ?)", (f"{SITE}parts/types.xsd",))
    crawl.commit()
    crawl.close()
    assert analyse(folder).startswith("0 pages analysed")
    assert "parts/types.xsd" not in facts(folder, "kind")
    assert facts(folder, "closure", "missing")["good.xml"] == ("incomplete", 1)
    assert facts(folder, "validity")["good.xml"] == "unknown"


def test_what_is_packed_in_archives(tmp_path: Path) -> None:
    """Each member is a document of its own, and links lead from one to the other."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("a.xsd", "parts/types.xsd", "good.xml"):
            archive.writestr(f"x/{name}", PAGES[name])
        archive.writestr("readme.txt", "nothing of interest")
    folder = make_collection(tmp_path / "c", [(f"{SITE}all.zip", "application/zip", packed.getvalue())])
    analyse(folder)
    found = facts(folder, "member", "kind", "closure", "validity")
    assert found["all.zip"] == ("", "archive", None, None)
    assert found["all.zip!/x/a.xsd"] == ("x/a.xsd", "xsd", "complete", "usable")
    assert found["all.zip!/x/good.xml"] == ("x/good.xml", "xml", "complete", "valid")
    run = CliRunner().invoke(
        program, ["export", "folder", "-c", str(folder), "-o", str(tmp_path / "o"), "--select", "member"]
    )
    assert run.exit_code == 0 and (tmp_path / "o/types.xsd").read_bytes() == PAGES["parts/types.xsd"]


def test_links_that_leave_an_archive(tmp_path: Path) -> None:
    """They lead to where they would if the archive were unpacked where it lies."""
    packed = gzip.compress(instance("7", "../a.xsd"))
    pages = [(f"{SITE}get/good.xml.gz", "application/gzip", packed)]
    pages += [(SITE + name, "text/xml", PAGES[name]) for name in ("a.xsd", "parts/types.xsd")]
    folder = make_collection(tmp_path / "c", pages)
    for _ in range(2):
        analyse(folder)
        assert facts(folder, "closure", "validity")["get/good.xml.gz!/good.xml"] == ("complete", "valid")


FAR = "http://far.test/"
ENTRIES = f"""<catalog xmlns="{CATALOG}" xml:base="dtds/">
    <public publicId="-//X//DTD  P//EN" uri="p.dtd"/>
    <rewriteSystem systemIdStartString="{FAR}" rewritePrefix="wrong/"/>
    <rewriteSystem systemIdStartString="{FAR}moved/" rewritePrefix="here/"/>
    <systemSuffix systemIdSuffix="end.dtd" uri="e.dtd"/></catalog>"""


@pytest.mark.parametrize("packed", [False, True])
def test_what_catalogs_say(tmp_path: Path, packed: bool) -> None:
    """Public identifiers, beginnings (the longest counts) and ends of addresses; also in an archive."""
    pages = {
        "catalog.xml": ENTRIES.encode(),
        "dtds/p.dtd": b"<!ELEMENT p EMPTY>",
        "dtds/here/r.dtd": b"<!ELEMENT r EMPTY>",
        "dtds/e.dtd": b"<!ELEMENT e EMPTY>",
        "p.xml": f'<!DOCTYPE p PUBLIC "-//X//DTD P//EN" "{FAR}p.dtd"><p/>'.encode(),
        "r.xml": f'<!DOCTYPE r SYSTEM "{FAR}moved/r.dtd"><r/>'.encode(),
        "e.xml": f'<!DOCTYPE e SYSTEM "{FAR}the-end.dtd"><e>no</e>'.encode(),
        "none.xml": f'<!DOCTYPE n SYSTEM "{FAR}none.dtd"><n/>'.encode(),
    }
    stored = [(SITE + name, "text/xml", body) for name, body in pages.items()]
    if packed:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name, body in pages.items():
                archive.writestr(name, body)
        stored = [(f"{SITE}all.zip", "application/zip", file.getvalue())]
    folder = make_collection(tmp_path / "c", stored)
    analyse(folder)
    found = facts(folder, "closure", "validity")
    lead = "all.zip!/" if packed else ""
    assert found[f"{lead}p.xml"] == found[f"{lead}r.xml"] == ("complete", "valid")
    assert found[f"{lead}e.xml"] == ("complete", "invalid")
    assert found[f"{lead}none.xml"] == ("incomplete", None)
    add(folder, [(f"{FAR}moved/r.dtd", "text/plain", b"<!ELEMENT r (r)>")])  # what stands at the address itself counts
    analyse(folder)
    assert facts(folder, "closure", "validity")[f"{lead}r.xml"] == ("complete", "invalid")


def test_what_was_found_elsewhere_stands_for_what_is_missing(tmp_path: Path) -> None:
    """A guess of the crawl is used, if it is for the same namespace, and told as such."""
    web = Web()
    other = schema('<xs:include schemaLocation="parts/types.xsd"/>', "urn:other")
    for name, body in (("a.xsd", PAGES["a.xsd"]), ("good.xml", PAGES["good.xml"]), ("other.xsd", other)):
        web[f"site.test/{name}"] = Reply(body, headers={"Content-Type": "text/xml"})
    web["site.test/schemas/types.xsd"] = Reply(PAGES["parts/types.xsd"], headers={"Content-Type": "text/xml"})
    web["site.test/"] = html("good.xml", "other.xsd")
    wishes = {"scope": "host", "delay": 0.0, "workers": 1, "connect_to": [web.connect_to], "contact": "a@b.org"}
    crawl(SITE, collection=tmp_path / "c", quarry="lycosa.missions.xml.quarry:Xml", **wishes).close()
    analyse(tmp_path / "c")
    found = facts(tmp_path / "c", "closure", "validity")
    assert found["a.xsd"] == ("guessed", "usable") and found["good.xml"] == ("guessed", "valid")
    assert found["other.xsd"] == ("incomplete", "unusable")
    command = ["export", "schema", f"{SITE}a.xsd", "-c", str(tmp_path / "c"), "-o", str(tmp_path / "off")]
    assert "complete, but for what was guessed" in CliRunner().invoke(program, command).output
    assert (tmp_path / "off/site.test/parts/types.xsd").read_bytes() == PAGES["parts/types.xsd"]
    web.close()


def test_whatever_a_strong_link_leads_to_is_kept(tmp_path: Path) -> None:
    """Modules of comments, entities that are fragments or texts, included texts; but no page of HTML.

    A listing names most of them before a document does, so they are read once in vain.
    """
    bare = {"Content-Type": "application/octet-stream"}
    book = b"""<!DOCTYPE book SYSTEM "book.dtd" [<!ENTITY one SYSTEM "one.frag"><!ENTITY two SYSTEM "two.frag">
        <!ENTITY none SYSTEM "none.frag">]>
        <book>&one;</book>"""
    code = b"""<code xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="code.c" parse="text"/></code>"""
    files = {
        "book.dtd": b'<!ENTITY % m SYSTEM "local.module">%m;<!ENTITY % r SYSTEM "moved">%r;'
        b"<!ELEMENT book ANY><!ELEMENT para ANY>",
        "local.module": b"<!-- Declare <html> and the like here. -->\n",
        "moved.module": b"\n\n",
        "one.frag": b"<para>One</para><para>Two</para>",
        "two.frag": b"a text & more <",
        "code.c": b"int main(void) { return 1 < 2; }",
        "plain.module": b"<!-- nobody needs it -->",
    }
    with closing(Web()) as web:
        web["site.test/book.xml"] = Reply(book, headers={"Content-Type": "text/xml"})
        for name, body in files.items():
            web[f"site.test/{name}"] = Reply(body, headers=bare)
        web["site.test/moved"] = Reply(status=301, headers={"Location": "/moved.module"})
        web["site.test/none.frag"] = html("x", text="Not here")
        web["site.test/"] = html(*files, "none.frag", "list.html")
        web["site.test/code.xml"] = Reply(code, headers={"Content-Type": "text/xml"})
        web["site.test/list.html"] = html("book.xml", "code.xml")
        words = ("xml", SITE, "--scope", "host", "--workers", "1", "--per-host", "1", "--set", "policy.name=bfs")
        run_crawl(web, tmp_path / "c", *words)
        asked = web.paths()
    assert asked.index("site.test/code.c") < asked.index("site.test/book.xml")
    analyse(tmp_path / "c")
    assert facts(tmp_path / "c", "kind", "validity") == {
        "book.xml": ("xml", "valid"), "book.dtd": ("dtd", "usable"), "local.module": ("dtd", None),
        "moved.module": ("dtd", None), "one.frag": ("entity", None), "two.frag": ("entity", None),
        "code.xml": ("xml", None), "code.c": ("text", None),
    }  # fmt: skip
    found = facts(tmp_path / "c", "closure", "well_formed", "changes")
    assert found["book.dtd"][0] == found["code.xml"][0] == "complete" and found["one.frag"][1:] == (None, 0)
    assert asked.count("site.test/none.frag") <= 2


def test_a_schema_of_version_11_is_told_as_such(tmp_path: Path) -> None:
    """libxml2 knows 1.0 alone: nobody is told that such a schema is wrong."""
    newer = schema('<xs:complexType name="t"><xs:sequence/><xs:assert test="true()"/></xs:complexType>')
    folder = make_collection(tmp_path / "c", [(f"{SITE}a.xsd", "text/xml", newer)])
    analyse(folder)
    assert facts(folder, "validity_error")["a.xsd"].startswith("it is XML Schema 1.1")


def test_what_is_missing_is_what_is_needed(tmp_path: Path) -> None:
    """Pictures and stylesheets, without which a document can be used, are not fetched for it."""
    page = f'<?xml-stylesheet href="a.css"?><a xmlns:xsi="{XSI}" xsi:noNamespaceSchemaLocation="a.xsd"/>'
    folder = make_collection(tmp_path / "c", [(f"{SITE}a.xml", "text/xml", page.encode())])
    analyse(folder)
    run = CliRunner().invoke(program, ["export", "addresses", "--missing", "-c", str(folder), "-o", "-"])
    assert run.output.split() == [f"{SITE}a.xsd"]


PLAN = """
[phases]
analyse = ["built-in", "mine.py:count"]

[kinds.xsd]
correct = []
trace = []

[clusters.health]
broken = "not well_formed and kind = xml"
small = "kind = xsd|dtd and bytes < 1kB"
foreign = "uses = urn:*"

[clusters]
roots = "root"
"""
MINE = """
def count(case):
    return {"vowels": sum(case.body.count(v) for v in (b"a", b"e"))}
"""


def test_a_plan_of_the_user(tmp_path: Path) -> None:
    """Phases by kind, a plugin of one function, clusters by any result."""
    folder = make_collection(tmp_path / "c", pages())
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "mine.py").write_text(MINE)
    out = analyse(folder, "--plan", str(tmp_path / "plan.toml"))
    assert "by health" in out and "broken" in out
    extra = dict(rows(folder, "SELECT url, extra ->> 'vowels' FROM document"))
    assert extra[f"{SITE}good-r.xml"] == PAGES["good-r.xml"].count(b"a") + PAGES["good-r.xml"].count(b"e")
    assert rows(folder, "SELECT count(*) FROM link JOIN document ON id = document WHERE document.kind = 'xsd'") == [
        (0,)
    ]
    health = dict(
        rows(folder, "SELECT url, collection FROM membership JOIN document ON id = document WHERE cluster = 'health'")
    )
    assert health[f"{SITE}broken.xml"] == "broken" and health[f"{SITE}a.xsd"] == "small"
    assert health[f"{SITE}good.xml"] == "foreign" and f"{SITE}good-r.xml" not in health
    assert analyse(folder, "--plan", str(tmp_path / "plan.toml")).startswith("0 pages")
    (tmp_path / "mine.py").write_text(MINE.replace("vowels", "letters"))
    assert analyse(folder, "--plan", str(tmp_path / "plan.toml")).startswith(f"{len(PAGES)} pages")


def test_a_plan_is_kept_with_the_collection(tmp_path: Path) -> None:
    """A run that names none goes by the last one; one that names functions is no part of what a stranger gives."""
    folder = make_collection(tmp_path / "c", [(f"{SITE}a.xml", "text/xml", b"<a/>")])
    for text, groups in (('[clusters]\nroots = "root"\n', ["roots"]), ('[clusters]\nf = "f.py:f"\n', [])):
        (tmp_path / "plan.toml").write_text(text)
        (tmp_path / "f.py").write_text("def f(document):\n    return 'x'\n")
        analyse(folder, "--plan", str(tmp_path / "plan.toml"))
        analyse(folder)
        found = {name for (name,) in rows(folder, "SELECT cluster FROM membership")} - set(XmlAnalyzer.clusters)
        assert sorted(found) == groups


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("[phase]\n", "unknown field `phase`"),
        ("[phases]\nanalyse = ['nosuch.py:f']\n", "there is no file"),
        ("[phases]\nanalyse = ['two.py:two']\n", "takes 2 arguments"),
        ("[clusters.x]\ny = 'kimd = xsd'\n", "did you mean kind?"),
        ("[clusters.x]\ny = 'bytes > many'\n", "is not a number"),
        ("[clusters]\nx = 'nosuch'\n", "is by 'nosuch'"),
        ("clusters = ", "cannot be used"),
    ],
)
def test_mistakes_in_a_plan_are_explained(tmp_path: Path, plan: str, said: str) -> None:
    """Before anything is done."""
    folder = make_collection(tmp_path / "c", pages()[:1])
    (tmp_path / "plan.toml").write_text(plan)
    (tmp_path / "two.py").write_text("def two(a, b): ...\n")
    result = CliRunner().invoke(program, ["analyse", "xml", str(folder), "--plan", str(tmp_path / "plan.toml")])
    assert result.exception is not None and said in str(result.exception)
    assert not (folder / "analysis.db").exists()


SORTING = """
from lycosa.output.html_page import Section, table

def shape(document):
    if document["url"].endswith("deep.xml"):
        raise ValueError("too deep")
    return "flat" if (document["depth"] or 0) < 2 else "tall"

def figures(collection):
    rows = collection.query("SELECT kind, count(*) FROM analysis.document GROUP BY kind")
    return Section("Figures <of mine>", [table(("kind", "documents"), rows)])

def broken(collection):
    raise KeyError("x")
"""


def test_a_collector_and_a_section_in_python(tmp_path: Path) -> None:
    """A function sorts documents into a cluster, another makes a section of the report; one that fails is told."""
    folder = make_collection(tmp_path / "c", pages())
    plan = tmp_path / "plan.toml"
    plan.write_text('report = ["mine.py:figures"]\n[clusters]\nshapes = "mine.py:shape"\n')
    (tmp_path / "mine.py").write_text(SORTING)
    out = analyse(folder, "--plan", str(plan), code=7)
    assert "by shapes" in out and "deep.xml: mine.py:shape: ValueError: too deep" in out
    sql = "SELECT url, collection FROM membership JOIN document ON id = document WHERE cluster = 'shapes'"
    shapes = dict(rows(folder, sql))
    assert shapes[f"{SITE}good.xml"] == "flat" and shapes[f"{SITE}a.xsd"] == "tall" and f"{SITE}deep.xml" not in shapes
    words = ["report", "xml", "-c", str(folder), "-o", str(tmp_path / "r.html"), "--plan", str(plan)]
    assert CliRunner().invoke(program, words).exit_code == 0
    page = (tmp_path / "r.html").read_text()
    assert "Figures &lt;of mine&gt;" in page and "Cluster shapes" in page
    plan.write_text('report = ["mine.py:broken"]\n')
    assert "mine.py:broken" in str(CliRunner().invoke(program, words).exception)


def test_the_report_says_what_was_checked(analysed: Path, tmp_path: Path) -> None:
    """Schemas that are no documents of others have no schema of their own; lists that are cut say so."""
    folder, page = tmp_path / "c", tmp_path / "r.html"
    shutil.copytree(analysed, folder)
    add(folder, [(f"{SITE}x{n}.xml", "text/xml", f'<x xmlns="urn:x:{n}"/>'.encode()) for n in range(210)])
    analyse(folder)
    assert CliRunner().invoke(program, ["report", "xml", "-c", str(folder), "-o", str(page)]).exit_code == 0
    text = page.read_text()
    assert "The first 200 of " in text and "All 200" not in text
    assert re.search(r"dtd: not checked: 1<", text) and not re.search(r"(?:dtd|xsd|rng): no schema", text)


RUDE = """
from lycosa.analysis.analyzer import Corrected, Correction
def f(case):
    if case.url.endswith("good.xml"):
        raise ValueError("rude")
    return {"polite": 1}
def wrong(case):
    return {"a thing": object()}
def shout(case):
    return Corrected(case.data.replace(b"7", b"8"), [Correction("shout", "7", 1)]) if b"7" in case.data else None
"""


def test_a_plugin_that_raises_loses_nothing_that_others_found(tmp_path: Path) -> None:
    """What it said stands with the document, and the command says so and ends with 7."""
    folder = make_collection(tmp_path / "c", pages())
    plan = tmp_path / "plan.toml"
    plan.write_text("[phases]\nanalyse = ['built-in', 'rude.py:f', 'rude.py:wrong']\n")
    (tmp_path / "rude.py").write_text(RUDE)
    out = analyse(folder, "--plan", str(plan), code=7)
    assert f"{SITE}good.xml: rude.py:f: ValueError: rude" in out
    found = facts(folder, "kind", "validity", "extra", "error")
    assert found["good.xml"][:3] == ("xml", "valid", "{}")
    assert found["bad.xml"][:3] == ("xml", "invalid", '{"polite":1}') and "rude.py:wrong" in found["bad.xml"][3]
    assert analyse(folder, "--plan", str(plan), "--retry", code=7).startswith(f"{len(PAGES)} pages")
    (tmp_path / "rude.py").write_text("def f(case): return None\ndef wrong(case): return {}\n")
    assert analyse(folder, "--plan", str(plan)).startswith(f"{len(PAGES)} pages")


def test_an_export_corrects_as_the_plan_does(tmp_path: Path) -> None:
    """Documents that plugins put right leave so; without their plan the export is refused."""
    folder = make_collection(tmp_path / "c", pages())
    plan = tmp_path / "plan.toml"
    plan.write_text("[phases]\ncorrect = ['built-in', 'rude.py:shout']\n")
    (tmp_path / "rude.py").write_text(RUDE)
    analyse(folder, "--plan", str(plan))
    words = ["export", "folder", "-c", str(folder), "-o", str(tmp_path / "out"), "--select", "url = *good.xml"]
    result = CliRunner().invoke(program, [*words, "--corrected"])
    assert (
        isinstance(result.exception, UsageError)
        and "rude.py:shout" in str(result.exception)
        and "--plan" in str(result.exception)
    )
    assert CliRunner().invoke(program, [*words, "--corrected", "--plan", str(plan)]).exit_code == 0
    assert b">8<" in (tmp_path / "out/good.xml").read_bytes()
    assert CliRunner().invoke(program, words).exit_code == 0
    assert (tmp_path / "out/good.xml").read_bytes() == PAGES["good.xml"]


def test_what_is_no_fault(tmp_path: Path) -> None:
    """Blanks before an instruction, names of XML's fifth edition, ignored sections of DTDs, pictures nobody wants."""
    name = "a\U00010400\u0b71"
    body = f'<{name} {name}="1" xmlns:xi="http://www.w3.org/2001/XInclude"><{name}/><xi:include href="x.txt"/></{name}>'
    files = {
        "styled.xml": b'\n<?xml-stylesheet href="#here"?><a/>',
        "names.xml": body.encode(),
        "wrong.xml": "<a\u2000b/>".encode(),
        "prefixed.xml": b'<!DOCTYPE l:a SYSTEM "prefixed.dtd"><l:a xmlns:l="urn:l"/>',
        "prefixed.dtd": b'<!ELEMENT l:a EMPTY><!ATTLIST l:a xmlns:l CDATA #FIXED "urn:l">',
        "switch.dtd": b"""<!ENTITY % off "IGNORE"><!ENTITY % on "INCLUDE"><![IGNORE[<!ENTITY % a SYSTEM "a.mod">%a;]]>
            <![%off;[<![%on;[<!ENTITY % b SYSTEM "b.mod">%b;]]>]]><![ %on; [<!ENTITY % c SYSTEM "c.mod">%c;]]>""",
        "c.mod": b"<!ELEMENT c EMPTY>",
        "x.txt": b"a text",
        "rules.nvdl": b'<rules xmlns="http://purl.oclc.org/dsdl/nvdl/ns/structure/1.0"/>',
    }
    folder = make_collection(tmp_path / "c", [(SITE + path, "text/plain", body) for path, body in files.items()])
    analyse(folder)
    found = facts(folder, "kind", "well_formed", "closure", "validity", "changes", "elements")
    assert found["styled.xml"][:2] == ("xml", 1) and found["styled.xml"][4] == 0
    assert found["names.xml"] == ("xml", 1, "complete", None, 0, 3)
    assert found["wrong.xml"][1] == 0
    assert found["prefixed.xml"][3] == "valid"
    assert found["switch.dtd"][:4] == ("dtd", None, "complete", "usable")
    assert found["rules.nvdl"][0] == "nvdl"
    broken = CliRunner().invoke(program, ["export", "addresses", "-c", str(folder), "--select", "not well_formed"])
    assert broken.output.splitlines()[0] == f"{SITE}wrong.xml" and "prefixed.dtd" not in broken.output


def test_pictures_that_are_refused_are_not_missing(web: Web, tmp_path: Path) -> None:
    """The mission does not collect them, so nothing is wrong with a document that shows one."""
    body = b'<a xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="p.png" parse="text"/></a>'
    web["site.test/"] = Reply(body, headers={"Content-Type": "text/xml"})
    run_crawl(web, tmp_path / "c", "xml", SITE, "--scope", "host", "--workers", "1")
    analyse(tmp_path / "c")
    assert facts(tmp_path / "c", "closure", "missing")[""] == (None, None)
    assert rows(tmp_path / "c", "SELECT how FROM link") == [("refused",)]


def test_strong_links_win_over_the_reject_list(web: Web, tmp_path: Path) -> None:
    """A schema is fetched wherever it lies, also if a page led there before; a page's own link is not followed."""
    listing = {"Content-Type": "text/xml"}
    web["site.test/"] = html("/get[1].js", "/get[2].js", "/good.xml")
    web["site.test/good.xml"] = Reply(instance("7", "/get%5B1%5D.js"), headers=listing)
    web["site.test/get%5B1%5D.js"] = web["site.test/get[1].js"] = Reply(schema(A[55:], "urn:a"), headers=listing)
    run_crawl(web, tmp_path / "c", "xml", SITE, "--scope", "host", "--workers", "1")
    assert [path for path in web.paths() if "get" in path] == ["site.test/get%5B1%5D.js"]


def test_sitemaps_are_documents_of_the_family(web: Web, tmp_path: Path) -> None:
    """What the crawl keeps of them stands in the analysis, and so in its lists and exports."""
    web["site.test/robots.txt"] = Reply(b"Sitemap: http://site.test/map.xml\n")
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    site_map = f'<urlset xmlns="{space}"><url><loc>{SITE}good.xml</loc></url></urlset>'.encode()
    web["site.test/map.xml"] = Reply(site_map, headers={"Content-Type": "text/xml"})
    web["site.test/good.xml"] = Reply(b"<a/>", headers={"Content-Type": "text/xml"})
    web["site.test/"] = html(title="x")
    told = run_crawl(web, tmp_path / "c", "xml", SITE, "--scope", "host", "--workers", "1")
    analyse(tmp_path / "c")
    assert facts(tmp_path / "c", "kind") == {"map.xml": "sitemap", "good.xml": "xml"}
    assert "1 page stored" in told and "beside pages, to list them: 1 sitemap" in told
    assert "beside pages, to list them: 1 sitemap" in format_status(read_status(tmp_path / "c"))


def test_what_was_cut_off_is_fetched_again_when_more_is_taken(web: Web, tmp_path: Path) -> None:
    """It says that its rest was not looked at."""
    web["site.test/"] = html("/long.txt")
    late = b"x" * 3000 + b"<a/>"
    web["site.test/long.txt"] = Reply(late, headers={"Content-Type": "application/octet-stream"})
    words = ("xml", SITE, "--scope", "host", "--workers", "1", "--set")
    run_crawl(web, tmp_path / "c", *words, "limits.probe_bytes=1000")
    with Collection(tmp_path / "c") as collection:
        assert list(collection.query("SELECT reason FROM urls WHERE url GLOB '*long*'")) == [("too-large",)]
    run_crawl(web, tmp_path / "c", *words, "limits.probe_bytes=0")
    with Collection(tmp_path / "c") as collection:
        assert list(collection.query("SELECT reason FROM urls WHERE url GLOB '*long*'")) == [("not-quarry",)]
    assert web.paths().count("site.test/long.txt") == 2


def test_a_schema_that_only_we_could_read_judges_nobody(tmp_path: Path) -> None:
    """It became well-formed by a correction of ours; what is checked against it is said to be unknown, and why."""
    broken = PAGES["a.xsd"].replace(b"</xs:schema>", b"&nbsp;</xs:schema>")
    pages = {**PAGES, "a.xsd": broken}
    names = ("a.xsd", "parts/types.xsd", "good.xml")
    folder = make_collection(tmp_path / "c", [(f"{SITE}{name}", "text/xml", pages[name]) for name in names])
    analyse(folder)
    found = facts(folder, "validity", "validity_error")
    assert found["a.xsd"][0] == "unusable" and found["good.xml"][0] == "unknown"
    assert f"{SITE}a.xsd is not well-formed: line 1" in found["good.xml"][1]


def test_a_stylesheet_that_is_missing_counts(tmp_path: Path) -> None:
    """One that transforms; one that only says how a document looks does not."""
    body = b'<?xml-stylesheet href="%s"?><a/>'
    pages = [(f"{SITE}{name}.xml", "text/xml", body % f"{name}.{name}".encode()) for name in ("xsl", "css")]
    folder = make_collection(tmp_path / "c", pages)
    analyse(folder)
    assert facts(folder, "closure", "missing") == {"xsl.xml": ("incomplete", 1), "css.xml": (None, None)}


def test_what_a_page_led_to_stands_for_what_is_missing_too(web: Web, tmp_path: Path) -> None:
    """A schema where one would have been guessed needs no guess."""
    for name, body in (("a.xsd", PAGES["a.xsd"]), ("schemas/types.xsd", PAGES["parts/types.xsd"])):
        web[f"site.test/{name}"] = Reply(body, headers={"Content-Type": "text/xml"})
    web["site.test/"] = html("/schemas/types.xsd", "/a.xsd")
    words = ("xml", SITE, "--scope", "host", "--workers", "1", "--per-host", "1", "--set", "policy.name=bfs")
    run_crawl(web, tmp_path / "c", *words)
    analyse(tmp_path / "c")
    assert facts(tmp_path / "c", "closure")["a.xsd"] == "guessed"


def test_no_message_names_a_file_of_the_moment(tmp_path: Path) -> None:
    """A schema of RELAX NG is laid out in a folder to be compiled: it is called by its address."""
    grammar = (
        f'<grammar xmlns="{RNG}"><start><element name="a"><empty/></element></start><include href="%s.rng"/></grammar>'
    )
    pages = [(f"{SITE}{one}.rng", "text/xml", (grammar % other).encode()) for one, other in ("ab", "ba")]
    folder = make_collection(tmp_path / "c", pages)
    analyse(folder)
    said = facts(folder, "validity_error")["a.rng"]
    assert SITE in said and "lycosa-rng" not in said


def test_what_is_set_aside_has_a_name(analysed: Path, tmp_path: Path) -> None:
    """People know a schema and a document by their addresses; schemas with many parts are compiled first."""
    folder, analyzer = tmp_path / "c", XmlAnalyzer()
    shutil.copytree(analysed, folder)
    with closing(Store(folder, analyzer)) as store, Collection(folder) as collection:
        names = dict(store.rows("SELECT url, id FROM document"))
        roots = f"[{names[f'{SITE}a.xsd']}]"
        number = store.value("SELECT id FROM grammar WHERE roots = ?", (roots,))
        assert analyzer.describe_task(store, Task(f"grammar {number}")) == f"the schema {SITE}a.xsd"
        task = Task(f"check {number}", names[f"{SITE}good.xml"])
        assert analyzer.describe_task(store, task) == f"the check of {SITE}good.xml"
        store.db.execute("UPDATE grammar SET state = ''")
        tasks = [task for task in analyzer.relate(store, collection) if task.subject.startswith("grammar")]
        sizes = dict(store.rows("SELECT 'the schema ' || url, closure_size FROM document"))
        order = [sizes.get(analyzer.describe_task(store, task), 0) for task in tasks]
        assert len(order) > 3 and order == sorted(order, reverse=True)


def test_a_schema_that_was_set_aside_is_tried_again(analysed: Path, tmp_path: Path) -> None:
    """Its documents are not known until --retry."""
    folder = tmp_path / "c"
    shutil.copytree(analysed, folder)
    db = sqlite3.connect(folder / "analysis.db")
    db.execute("UPDATE grammar SET state = 'timeout', error = 'not done after 60 s'")
    db.execute("UPDATE document SET checked = NULL")
    db.commit()
    db.close()
    analyse(folder)
    assert facts(folder, "validity", "validity_error")["good.xml"] == (
        "unknown", "its schema cannot be used: not done after 60 s",
    )  # fmt: skip
    analyse(folder, "--retry")
    assert facts(folder, "validity")["good.xml"] == "valid"


def test_kill_9_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Whenever it is killed, the same command ends with the same rows."""
    many = [(f"{SITE}{n}.xml", "text/xml", b"<a>" + b"<b/>" * n + b"</a>") for n in range(600)]
    folder = make_collection(tmp_path / "c", many)
    command = [sys.executable, "-m", "lycosa", "analyse", "xml", str(folder), "--workers", "2", "-q"]
    for pause in (0.4, 0.7):
        process = subprocess.Popen(command, start_new_session=True)
        time.sleep(pause)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert subprocess.run(command, timeout=60).returncode == 0
    assert rows(folder, "SELECT count(*), count(DISTINCT url), total(elements) FROM document") == [
        (600, 600, sum(n + 1 for n in range(600)))
    ]


def test_a_query_that_goes_wrong_names_the_tables_of_the_analysis(analysed: Path, tmp_path: Path) -> None:
    """With their columns; before an analysis it says how to come by them."""
    for sql in ("SELECT * FROM documents", "SELECT nope FROM analysis.document"):
        said = str(CliRunner().invoke(program, ["query", "-c", str(analysed), sql]).exception)
        assert "analysis.document (id, n, digest, url, host" in said and "analysis.link (document, nth, kind" in said
    folder = make_collection(tmp_path / "c", pages())
    said = str(CliRunner().invoke(program, ["query", "-c", str(folder), "SELECT * FROM analysis.document"]).exception)
    assert "lycosa analyse" in said


def test_a_missing_collection_is_told(tmp_path: Path) -> None:
    """Nothing is made."""
    result = CliRunner().invoke(program, ["analyse", "xml", str(tmp_path / "none")])
    assert "There is no collection" in str(result.exception)


def test_the_library_of_the_tour(tmp_path: Path) -> None:
    """examples/xml has what docs/xml.md says of it."""
    site = Path(__file__).resolve().parents[3] / "examples/xml"
    files = sorted(path for path in site.rglob("*.*") if path.suffix != ".html")
    folder = make_collection(
        tmp_path / "c", [(SITE + str(path.relative_to(site)), "text/xml", path.read_bytes()) for path in files]
    )
    analyse(folder)
    found = facts(folder, "validity", "closure")
    assert found["books/spiders.xml"] == ("valid", "complete") and found["books/loans.xml"] == ("valid", "complete")
    assert found["books/wrong.xml"] == ("invalid", "complete") and found["books/old.xml"] == ("invalid", "incomplete")
    assert found["schemas/library.xsd"][0] == "usable" and found["schemas/books.dtd"] == ("unusable", "incomplete")
    assert [row[0] for row in rows(folder, "SELECT what FROM change")] == [
        "encoding",
        "ampersand",
        "entity",
        "truncated",
    ]
