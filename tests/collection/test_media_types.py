"""What was fetched and what of it is stored (X9): by type, by category, as rows and as a chart."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.crawl_runs import crawl
from support.loopback import Reply, Web, html

from lycosa.cli.main import main
from lycosa.collection.media_types import categorise


@pytest.mark.parametrize(
    ("kind", "mime", "has_quarry", "category"),
    [
        ("xsd", "text/plain", True, "TARGET"),
        ("", "text/html", True, "HTML"),
        ("html", "text/html", False, "HTML"),
        ("", "application/xhtml+xml", True, "HTML"),
        ("", "text/plain", True, "POTENTIAL"),
        ("", "application/xml", True, "POTENTIAL"),
        ("xml", "application/xml", False, "TARGET"),
        ("pdf", "application/pdf", False, "OTHER"),
        ("", "image/png", True, "OTHER"),
    ],
)
def test_documents_have_a_category(kind: str, mime: str, has_quarry: bool, category: str) -> None:
    """Quarry, pages, what may be quarry, the rest."""
    assert categorise(kind, mime, has_quarry=has_quarry) == category


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two pages, a schema under two addresses, a text, a picture."""
    web = Web()
    web["a.test/"] = html("/b", "/s.xsd", "/copy.xsd", "/t.txt", "/p")
    web["a.test/b"] = html(title="b")
    schema = Reply(b'<s:schema xmlns:s="http://www.w3.org/2001/XMLSchema"/>', headers={"Content-Type": "text/xml"})
    web["a.test/s.xsd"] = schema
    web["a.test/copy.xsd"] = schema
    web["a.test/t.txt"] = Reply(b"words", headers={"Content-Type": "text/plain"})
    web["a.test/p"] = Reply(b"\x89PNG\r\n\x1a\n", headers={"Content-Type": "image/png"})
    folder = tmp_path_factory.mktemp("types") / "c"
    crawl(web, folder, "xml", "http://a.test/", "--set", "extract.workers=0")
    web.close()
    yield folder


def test_the_report_tells_fetched_and_stored(collection: Path, tmp_path: Path) -> None:
    """By type and by category; what is stored once counts once."""
    done = subprocess.run(
        [sys.executable, "-m", "lycosa", "report", "mime", "-c", str(collection)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    rows = {(row["category"], row["type"]): row for row in map(json.loads, done.stdout.splitlines())}
    assert rows["TARGET", "text/xml"]["fetched"] == 2
    assert rows["TARGET", "text/xml"]["stored"] == 1
    assert rows["HTML", "text/html"]["fetched"] == 2
    assert rows["HTML", "text/html"]["stored_bytes"] == 0
    assert rows["POTENTIAL", "text/plain"]["fetched"] == 1
    assert rows["OTHER", "image/png"]["fetched"] == 1
    assert "6 documents fetched" in done.stderr and "1 stored" in done.stderr
    file = tmp_path / "types.csv"
    assert main(["report", "mime", "-c", str(collection), "--by", "category", "-o", str(file)]) == 0
    lines = file.read_text().splitlines()
    assert lines[0] == "category,fetched,fetched_bytes,stored,stored_bytes"
    assert [line.split(",")[0] for line in lines[1:]] == ["TARGET", "HTML", "POTENTIAL", "OTHER"]


def test_the_chart_is_an_svg(collection: Path, tmp_path: Path) -> None:
    """Well-formed, with a bar for each type; the suffix asks for it."""
    file = tmp_path / "types.svg"
    assert main(["report", "mime", "-c", str(collection), "-o", str(file)]) == 0
    root = ElementTree.parse(file).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = "".join(root.itertext())
    assert "text/xml" in words and "image/png" in words
