"""Files that no crawl collected: `lycosa analyse xml` imports a folder, a zip file, a WARC file of others."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lycosa.cli.main import program
from lycosa.collection.file_import import FileSource, ImportLimits

XSI = "http://www.w3.org/2001/XMLSchema-instance"
FILES = {
    "schemas/a.xsd": b'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
    b'<xs:include schemaLocation="parts/n.xsd"/><xs:element name="a" type="n"/></xs:schema>',
    "schemas/parts/n.xsd": b'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:simpleType name="n">'
    b'<xs:restriction base="xs:int"/></xs:simpleType></xs:schema>',
    "docs/good.xml": f'<a xmlns:xsi="{XSI}" xsi:noNamespaceSchemaLocation="../schemas/a.xsd">7</a>'.encode(),
    "docs/bad.xml": f'<a xmlns:xsi="{XSI}" xsi:noNamespaceSchemaLocation="../schemas/a.xsd">x</a>'.encode(),
    "docs/d.xml": b'<!DOCTYPE d SYSTEM "../my schemas/d.dtd"><d/>',
    "my schemas/d.dtd": b"<!ELEMENT d EMPTY>",
    "docs/i.xml": b'<i xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="t.txt" parse="text"/></i>',
    "docs/t.txt": b"a text",
    "docs/same.txt": b"a text",
}
FOUND = {
    "schemas/a.xsd": ("xsd", "usable", "complete"),
    "schemas/parts/n.xsd": ("xsd", None, "complete"),
    "docs/good.xml": ("xml", "valid", "complete"),
    "docs/bad.xml": ("xml", "invalid", "complete"),
    "docs/d.xml": ("xml", "valid", "complete"),
    "my%20schemas/d.dtd": ("dtd", "usable", "complete"),
    "docs/i.xml": ("xml", None, "complete"),
    "docs/t.txt": ("text", None, None),
    "docs/same.txt": ("text", None, None),
}


def make_folder(folder: Path) -> Path:
    for name, body in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    return folder


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(program, [*map(str, words)])


def test_imported_documents_are_counted_as_what_they_are(tmp_path: Path) -> None:
    """What the mission looks for is the target of the report on media types, as after a crawl."""
    make_folder(tmp_path / "files")
    assert run("analyse", "xml", tmp_path / "files", "-c", tmp_path / "c").exit_code == 0
    table = run("report", "mime", "-c", tmp_path / "c", "--by", "category", "--format", "csv").output
    assert "TARGET,7," in table


def test_a_part_of_a_folder_under_the_hosts_that_it_came_from(tmp_path: Path) -> None:
    """Only what fits a pattern; what stood on a host of the web has its address there, so that links lead to it."""
    lead = '<a xmlns:xsi="{}" xsi:noNamespaceSchemaLocation="http://b.test/schemas/a.xsd">7</a>'
    for name, body in {f"b.test/{name}": body for name, body in FILES.items()}.items():
        (tmp_path / "web" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "web" / name).write_bytes(body)
    (tmp_path / "web/a.test").mkdir()
    (tmp_path / "web/a.test/x.xml").write_text(lead.format(XSI))
    words = ("--hosts", "--files", "*.xsd", "--files", "a.test/*")
    assert run("analyse", "xml", tmp_path / "web", "-c", tmp_path / "c", *words).exit_code == 0
    found = facts(tmp_path / "c", "validity", base="http://")
    assert found.pop("a.test/x.xml") == ("valid",)
    assert found == {"b.test/schemas/a.xsd": ("usable",), "b.test/schemas/parts/n.xsd": (None,)}
    assert "not with a collection" in str(run("analyse", "xml", tmp_path / "c", "--hosts").exception)


def facts(collection: Path, *names: str, base: str) -> dict[str, Any]:
    db = sqlite3.connect(collection / "analysis.db")
    found = db.execute(f"SELECT url, {', '.join(names)} FROM document").fetchall()
    db.close()
    return {row[0].removeprefix(base): row[1:] for row in found}


def test_a_folder_is_imported_with_the_relations_of_its_files(tmp_path: Path) -> None:
    """Schemas, document types and included texts are found in the folder; a second run takes what changed."""
    folder, collection = make_folder(tmp_path / "f"), tmp_path / "c"
    done = run("analyse", "xml", folder, "-c", collection, "--workers", "1")
    assert done.exit_code == 0, (done.output, done.exception)
    base = "http://folder.invalid/"
    assert facts(collection, "kind", "validity", "closure", base=base) == FOUND
    (folder / "docs/bad.xml").write_bytes(FILES["docs/good.xml"].replace(b"7", b"8"))
    (folder / "docs/new.xml").write_bytes(b"<new/>")
    done = run("analyse", "xml", folder, "-c", collection, "--workers", "1")
    assert "2 of them new or changed" in done.output and "2 pages analysed" in done.output
    assert facts(collection, "validity", base=base)["docs/bad.xml"] == ("valid",)
    found = run("search", "-c", collection, "--format", "csv", "kind:xsd")
    assert f"{base}schemas/a.xsd" in found.output
    assert run("report", "xml", "-c", collection, "-o", tmp_path / "r.html").exit_code == 0
    off = run("export", "schema", f"{base}schemas/a.xsd", "-c", collection, "-o", tmp_path / "off")
    assert off.exit_code == 0 and "complete" in off.output


def test_a_zip_file_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a collection of its name, where nobody says into which."""
    shutil.make_archive(str(tmp_path / "f"), "zip", make_folder(tmp_path / "f"))
    monkeypatch.chdir(tmp_path)
    assert run("analyse", "xml", tmp_path / "f.zip", "--workers", "1").exit_code == 0
    assert facts(tmp_path / "f.collection", "kind", "validity", "closure", base="http://zip.invalid/") == FOUND


def record(url: str, head: str, body: bytes) -> bytes:
    block = f"HTTP/1.1 {head}\r\n\r\n".encode() + body
    fields = f"WARC-Type: response\r\nWARC-Target-URI: {url}\r\nContent-Type: application/http; msgtype=response\r\n"
    return f"WARC/1.0\r\n{fields}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"


def test_an_archive_of_others_is_imported_with_its_addresses(tmp_path: Path) -> None:
    """Redirects included; what it breaks off in is told."""
    records = [
        record("http://s.test/d.xml", "200 OK\r\nContent-Type: text/xml", b'<!DOCTYPE d SYSTEM "old.dtd"><d/>'),
        record("http://s.test/old.dtd", "301 Moved\r\nLocation: /d.dtd", b""),
        record("http://s.test/d.dtd", "200 OK\r\nContent-Type: text/plain", b"<!ELEMENT d EMPTY>"),
        record("http://s.test/no.xml", "404 Not Found\r\nContent-Type: text/xml", b"<no/>"),
    ]
    (tmp_path / "x.warc.gz").write_bytes(b"".join(map(gzip.compress, records)))
    assert run("analyse", "xml", tmp_path / "x.warc.gz", "-c", tmp_path / "c", "--workers", "1").exit_code == 0
    assert facts(tmp_path / "c", "kind", "validity", base="http://s.test/") == {
        "d.xml": ("xml", "valid"), "d.dtd": ("dtd", "usable"),
    }  # fmt: skip
    whole = (tmp_path / "x.warc.gz").read_bytes()
    (tmp_path / "cut.warc.gz").write_bytes(whole[: len(whole) - 40])
    source = FileSource(tmp_path / "cut.warc.gz")
    assert [file.url for file in source][:1] == ["http://s.test/d.xml"] and "cannot be read" in source.notes()[0]


def test_nothing_leads_out_of_a_folder(tmp_path: Path) -> None:
    """Links out of it, loops, pipes and files that cannot be read are left out and told; links within it count."""
    folder = make_folder(tmp_path / "f")
    (tmp_path / "secret.xml").write_text("<secret/>")
    (folder / "out.xml").symlink_to(tmp_path / "secret.xml")
    (folder / "up").symlink_to(tmp_path)
    (folder / "docs" / "loop").symlink_to(folder)
    (folder / "inside").symlink_to(folder / "schemas")
    (folder / "nowhere").symlink_to(folder / "nothing")
    os.mkfifo(folder / "pipe")
    (folder / "self").symlink_to("self")
    (folder / "bad\x1bname.xml").symlink_to(tmp_path / "secret.xml")
    source = FileSource(folder)
    names = [file.url.removeprefix("http://folder.invalid/") for file in source]
    assert sorted(names) == sorted([*FOUND, "inside/a.xsd", "inside/parts/n.xsd"])
    said = " ".join(source.notes())
    assert "3 files are left out, a link out of the folder: bad" in said and "\x1b" not in said
    assert "docs/loop" in said and "pipe" in said and "nowhere" in said and "self" in said
    done = run("analyse", "xml", folder, "-c", tmp_path / "c", "--workers", "1", "-q")
    assert getattr(done.exception, "exit_code", 0) == 7 and "out.xml" in str(done.exception)
    assert "secret" not in str(facts(tmp_path / "c", "root", base=""))


def test_everything_is_bounded(tmp_path: Path) -> None:
    """Large files, many files, bombs and names that lead elsewhere are left out and told."""
    folder = make_folder(tmp_path / "f")
    (folder / "huge.xml").write_bytes(b"<a>" + b" " * 5000 + b"</a>")
    source = FileSource(folder, ImportLimits(file_bytes=4000))
    assert len(list(source)) == len(FILES) and "huge.xml" in source.notes()[0]
    source = FileSource(folder, ImportLimits(files=3))
    assert len(list(source)) == 3 and "beyond 3 files" in source.notes()[0]
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xml", b"<a/>")
        for name in ("../evil.xml", "/etc/evil.xml", "C:\\evil.xml", "x/../../evil.xml"):
            archive.writestr(name, b"<evil/>")
        for number in range(3):
            archive.writestr(f"bomb{number}.xml", b" " * (30 << 20))
    source = FileSource(tmp_path / "bomb.zip")
    assert [file.url for file in source] == ["http://zip.invalid/a.xml"]
    said = " ".join(source.notes())
    assert "4 files are left out, its name leads out of the zip file" in said and "grows more than 200-fold" in said
    (tmp_path / "broken.zip").write_bytes((tmp_path / "bomb.zip").read_bytes()[:200] + b"PK\x05\x06" + bytes(18))
    list(FileSource(tmp_path / "broken.zip"))


def test_mistakes_are_told(tmp_path: Path) -> None:
    """A file of another kind, a target that holds other things, or that lies in the folder itself."""
    folder = make_folder(tmp_path / "f")
    for words in (
        ("analyse", "xml", folder / "docs/good.xml", "-c", tmp_path / "c"),
        ("analyse", "xml", folder, "-c", folder / "inner"),
        ("analyse", "xml", folder, "-c", folder / "docs"),
    ):
        assert getattr(run(*words).exception, "exit_code", 0) == 2
    assert not (folder / "inner").exists()
