"""A real family of schemas (OGC's WFS 2.0) analysed, exported with all that it needs, and used by xmllint offline."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.make_collection import make_collection

from lycosa.cli.main import program
from lycosa.errors import Partial

XMLLINT = shutil.which("xmllint")
pytestmark = pytest.mark.skipif(XMLLINT is None, reason="no xmllint (libxml2-utils)")

OGC = "http://schemas.opengis.net/"
XSD = "http://www.w3.org/2001/XMLSchema"
#: What the family takes from the W3C, as much of it as it uses.
XML = f"""<xs:schema xmlns:xs="{XSD}" targetNamespace="http://www.w3.org/XML/1998/namespace">
<xs:attribute name="lang" type="xs:language"/></xs:schema>"""
XLINK = f"""<xs:schema xmlns:xs="{XSD}" targetNamespace="http://www.w3.org/1999/xlink"
 xmlns:xlink="http://www.w3.org/1999/xlink">
<xs:attribute name="href" type="xs:anyURI"/><xs:attribute name="role" type="xs:anyURI"/>
<xs:attribute name="arcrole" type="xs:anyURI"/><xs:attribute name="title" type="xs:string"/>
<xs:attribute name="show" type="xs:string"/><xs:attribute name="actuate" type="xs:string"/>
<xs:attributeGroup name="simpleAttrs"><xs:attribute name="type" fixed="simple" form="qualified"/>
<xs:attribute ref="xlink:href"/><xs:attribute ref="xlink:role"/><xs:attribute ref="xlink:arcrole"/>
<xs:attribute ref="xlink:title"/><xs:attribute ref="xlink:show"/><xs:attribute ref="xlink:actuate"/></xs:attributeGroup>
</xs:schema>"""
REQUEST = '<wfs:{} xmlns:wfs="http://www.opengis.net/wfs/2.0" service="WFS" version="2.0.0"{}/>'


def run(*arguments: str) -> str:
    result = CliRunner().invoke(program, list(arguments))
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def run_partly(*arguments: str) -> str:
    result = CliRunner().invoke(program, list(arguments))
    assert isinstance(result.exception, Partial), (result.output, result.exception)
    return str(result.exception)


def lint(folder: Path, schema: str, document: Path) -> subprocess.CompletedProcess[str]:
    """What xmllint says of a document, with no network and no catalog but ours."""
    assert XMLLINT
    command = [XMLLINT, "--noout", "--nonet", "--schema", str(folder / schema), str(document)]
    environment = {**os.environ, "XML_CATALOG_FILES": str(folder / "catalog.xml")}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)


def test_a_family_is_used_offline(shared: Path, tmp_path: Path) -> None:
    """With the catalog xmllint tells a valid document from an invalid one; a part that is missing is told."""
    tree = shared / "data/xml/trees/ogc-wfs20"
    pages = [(OGC + str(path.relative_to(tree)), "text/xml", path.read_bytes()) for path in sorted(tree.rglob("*.xsd"))]
    folder = make_collection(tmp_path / "lacking", pages)
    run("analyse", "xml", str(folder))
    wanted = ("export", "schema", f"{OGC}wfs/2.0/wfs.xsd")
    assert "2 documents that it needs" in run_partly(*wanted, "-c", str(folder), "-o", str(tmp_path / "part"))

    w3c = [("http://www.w3.org/2001/xml.xsd", "text/xml", XML), ("http://www.w3.org/1999/xlink.xsd", "text/xml", XLINK)]
    moved = {"http://www.w3.org/1999/xlink.xsd": "https://www.w3.org/XML/2008/06/xlink.xsd"}
    more = [(moved.get(url, url), mime, text.encode()) for url, mime, text in w3c]
    folder = make_collection(tmp_path / "whole", [*pages, *more], redirects=moved)
    run("analyse", "xml", str(folder))
    out = tmp_path / "offline"
    said = run(*wanted, "-c", str(folder), "-o", str(out))
    print(said.strip())
    assert "complete" in said and not (out / "missing.txt").exists()
    good, bad = tmp_path / "good.xml", tmp_path / "bad.xml"
    good.write_text(REQUEST.format("ListStoredQueries", ""))
    bad.write_text(REQUEST.format("ListStoredQueries", ' colour="red"'))
    schema = "schemas.opengis.net/wfs/2.0/wfs.xsd"
    assert lint(out, schema, good).stderr.strip() == f"{good} validates"
    assert "colour" in lint(out, schema, bad).stderr
    (out / "catalog.xml").unlink()
    assert lint(out, schema, good).returncode != 0  # the proof that it is the catalog which leads there
