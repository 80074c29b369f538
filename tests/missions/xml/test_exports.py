"""Documents chosen by what was found of them leave as folder, archive, addresses, WARC, graph, or offline schema."""

from __future__ import annotations

import csv
import gzip
import io
import shutil
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from lxml import etree
from support.make_collection import make_collection
from warcio.archiveiterator import ArchiveIterator

from lycosa import Collection
from lycosa.analysis.package import escape_key, escape_value, write_package
from lycosa.cli.main import main, program

XSD = "http://www.w3.org/2001/XMLSchema"
SITE = "http://site.test/"
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


def schema(inner: str) -> bytes:
    return f'<xs:schema xmlns:xs="{XSD}">{inner}</xs:schema>'.encode()


PAGES = {
    "a.xsd": schema('<xs:include schemaLocation="parts/b.xsd"/><xs:include schemaLocation="http://other.test/x?v=1"/>'),
    "parts/b.xsd": schema('<xs:include schemaLocation="c.xsd"/>'),
    "more/a.xsd": schema("<!-- another -->"),
    "parts": schema("<!-- a file where a folder is -->"),
    "broken.xml": b"<a>&nbsp;",
    "x=y.xml": b"<b>\xc3\xa9</b>",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = [(SITE + name, "text/xml", body) for name, body in PAGES.items()]
    pages.append(("http://other.test/x?v=1", "text/xml", schema("")))
    folder = make_collection(tmp_path_factory.mktemp("xml") / "c", pages)
    run("analyse", "xml", str(folder), "--workers", "1")
    return folder


def run(*arguments: str) -> str:
    result = CliRunner().invoke(program, list(arguments))
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def complaint(*arguments: str) -> str:
    result = CliRunner().invoke(program, list(arguments))
    assert result.exception is not None
    return str(result.exception)


def test_a_folder_with_its_index(made: Path, tmp_path: Path) -> None:
    """Each document under a name of its own; the index tells the address of each."""
    out = tmp_path / "out"
    run("export", "folder", "-c", str(made), "-o", str(out), "--select", "kind = xsd and host = site.test")
    index = (out / "_INDEX_METADATA").read_text("latin-1").splitlines()[1:]
    names = dict(line.split("=", 1) for line in index)
    assert sorted(names.values()) == [f"{SITE}{name}" for name in ("a.xsd", "more/a.xsd", "parts", "parts/b.xsd")]
    assert {(out / name).read_bytes() for name in names} == {PAGES[url.removeprefix(SITE)] for url in names.values()}
    run("export", "folder", "-c", str(made), "-o", str(out), "--select", "kind = xml")
    assert sorted(path.name for path in out.iterdir()) == ["_INDEX_METADATA", "broken.xml", "x=y.xml"]
    assert f"x\\=y.xml={SITE}x=y.xml" in (out / "_INDEX_METADATA").read_text()


def test_broken_documents_as_they_were_put_right(made: Path, tmp_path: Path) -> None:
    """With --corrected every file can be read."""
    run("export", "folder", "-c", str(made), "-o", str(tmp_path / "f"), "--corrected", "--select", "not well_formed")
    assert etree.parse(tmp_path / "f/broken.xml").getroot().text == "\xa0"


def test_archives(made: Path, tmp_path: Path) -> None:
    """The same as zip and tar."""
    run("export", "folder", "-c", str(made), "-o", str(tmp_path / "a.zip"), "--cluster", "kind/xml")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert sorted(archive.namelist()) == ["_INDEX_METADATA", "broken.xml", "x=y.xml"]
        assert archive.testzip() is None
    run("export", "folder", "-c", str(made), "-o", str(tmp_path / "a.tar.gz"), "--cluster", "kind/xml")
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        assert sorted(tar.getnames()) == ["_INDEX_METADATA", "broken.xml", "x=y.xml"]


def test_addresses_for_fetching(made: Path) -> None:
    """What is there, and what would be needed."""
    assert run("export", "addresses", "-c", str(made), "--select", "kind = xml").split() == [
        f"{SITE}broken.xml", f"{SITE}x=y.xml",
    ]  # fmt: skip
    assert run("export", "addresses", "-c", str(made), "--missing").split() == [f"{SITE}parts/c.xsd"]


def test_a_part_of_the_archive(made: Path, tmp_path: Path) -> None:
    """The answers of the chosen documents, as another tool reads them."""
    run("export", "warc", "-c", str(made), "-o", str(tmp_path / "x.warc.gz"), "--select", "kind = xml")
    with open(tmp_path / "x.warc.gz", "rb") as file:
        addresses = [record.rec_headers["WARC-Target-URI"] for record in ArchiveIterator(file)]
    assert addresses == [f"{SITE}broken.xml", f"{SITE}x=y.xml"]


def test_the_graph_of_needs(made: Path, tmp_path: Path) -> None:
    """Typed links as a table and as GraphML; what is missing is a node too."""
    rows = list(csv.reader(io.StringIO(run("export", "dependencies", "-c", str(made), "--format", "csv"))))
    assert rows[0][:3] == ["source", "source_kind", "link"]
    assert [f"{SITE}parts/b.xsd", "xsd", "xsd:include", "c.xsd", f"{SITE}parts/c.xsd", "", "0", ""] in rows
    run("export", "dependencies", "-c", str(made), "-o", str(tmp_path / "g.graphml"))
    graph = etree.parse(tmp_path / "g.graphml").getroot()
    assert len(list(graph.iter(f"{GRAPHML}edge"))) == 3
    kinds = [data.text for data in graph.iter(f"{GRAPHML}data") if data.get("key") == "n_kind"]
    assert sorted(kinds) == ["missing", "xsd", "xsd", "xsd"]
    nodes = {node.get("id") for node in graph.iter(f"{GRAPHML}node")}
    assert all({edge.get("source"), edge.get("target")} <= nodes for edge in graph.iter(f"{GRAPHML}edge"))


def test_a_schema_for_use_offline(made: Path, tmp_path: Path) -> None:
    """Files where their addresses say, a catalog for the rest, and a list of what is missing."""
    out = tmp_path / "off"
    said = complaint("export", "schema", f"{SITE}a.xsd", "-c", str(made), "-o", str(out))
    assert "the schema is site.test/a.xsd" in said and f"{SITE}parts/c.xsd" in said
    assert (out / "site.test/parts/b.xsd").read_bytes() == PAGES["parts/b.xsd"]
    catalog = etree.parse(out / "catalog.xml").getroot()
    uris = {entry.get("name"): entry.get("uri") for entry in catalog if entry.get("name")}
    assert uris["http://other.test/x?v=1"] == "other.test/x@v=1" and (out / "other.test/x@v=1").exists()
    assert (out / "missing.txt").read_text() == f"{SITE}parts/c.xsd\n"


def test_a_document_type_is_found_by_its_public_identifier(tmp_path: Path) -> None:
    """As documents ask for it that name another address, or none that answers."""
    page = b'<!DOCTYPE a PUBLIC "-//X//DTD  A//EN" "a.dtd"><a/>'
    folder = make_collection(
        tmp_path / "c", [(f"{SITE}a.xml", "text/xml", page), (f"{SITE}a.dtd", "text/plain", b"<!ELEMENT a EMPTY>")]
    )
    run("analyse", "xml", str(folder), "--workers", "1")
    run("export", "schema", f"{SITE}a.dtd", "-c", str(folder), "-o", str(tmp_path / "off"))
    catalog = etree.parse(tmp_path / "off/catalog.xml").getroot()
    (public,) = catalog.iter("{*}public")
    assert (public.get("publicId"), public.get("uri")) == ("-//X//DTD A//EN", "site.test/a.dtd")
    assert public.getparent().get("prefer") == "public"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("schema", "http://nowhere.test/", "-o", "x"), "was not collected"),
        (("schema", "-o", "x"), "Name the schema"),
        (("folder",), "cannot go into a pipe"),
        (("mirror", "--select", "kind = xsd", "-o", "x"), "not with mirror"),
        (("folder", "--cluster", "nosuch", "-o", "x"), "There is no cluster 'nosuch'; there is closure"),
        (("folder", "--select", "kinds = xsd", "-o", "x"), "did you mean kind?"),
        (("addresses", "--corrected"), "--corrected goes with folder"),
    ],
)
def test_mistakes_are_explained(made: Path, arguments: tuple[str, ...], said: str) -> None:
    """And nothing is written."""
    assert said in complaint("export", *arguments, "-c", str(made))
    assert not Path("x").exists()


def test_what_was_not_analysed_is_told(tmp_path: Path) -> None:
    """With what to do."""
    folder = make_collection(tmp_path / "c", [(SITE, "text/xml", b"<a/>")])
    assert "lycosa analyse" in complaint("export", "folder", "-c", str(folder), "-o", str(tmp_path / "o"))


def test_an_analysis_of_another_version_is_told(made: Path, tmp_path: Path) -> None:
    """It is not read as if it were one of this version; analysing again makes it anew."""
    folder = tmp_path / "c"
    shutil.copytree(made, folder)
    database = sqlite3.connect(folder / "analysis.db")
    database.execute("UPDATE meta SET value = '1 ' || substr(value, 3) WHERE key = 'mark'")
    database.commit()
    database.close()
    said = complaint("export", "dependencies", "-c", str(folder), "--format", "csv")
    assert "of another version of lycosa: lycosa analyse xml" in said
    run("analyse", "xml", str(folder), "--workers", "1")
    assert run("export", "dependencies", "-c", str(folder), "--format", "csv").startswith("source,")


def test_a_folder_of_somebody_else_is_left_alone(made: Path, tmp_path: Path) -> None:
    """A folder that no export made is refused; in one of ours, files of others stay."""
    (tmp_path / "mine.txt").write_text("x")
    assert "mine.txt and was not made by such" in complaint("export", "folder", "-c", str(made), "-o", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    out = tmp_path / "out"
    for words in (("folder",), ("schema", SITE + "more/a.xsd")):
        target = out / words[0]
        run("export", *words, "-c", str(made), "-o", str(target))
        (target / "mine.txt").write_text("x")
        before = sorted(path.name for path in target.rglob("*"))
        run("export", *words, "-c", str(made), "-o", str(target))
        assert sorted(path.name for path in target.rglob("*")) == before
        assert (target / "mine.txt").read_text() == "x"


def test_what_cannot_be_read_is_left_out(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither folder nor schema has an empty file in its place, and the exit code says so."""
    shutil.copytree(made, tmp_path / "c")
    (archive,) = (tmp_path / "c/archive").iterdir()
    with Collection(tmp_path / "c") as collection:
        page = collection.page(SITE + "parts/b.xsd")
        assert page is not None
    data = archive.read_bytes()
    archive.write_bytes(data[: page.place[1]] + bytes(100) + data[page.place[1] + 100 :])
    assert main(["export", "folder", "-c", str(tmp_path / "c"), "-o", str(tmp_path / "f")]) == 7
    assert "6 files" in (said := capsys.readouterr().err) and "1 document is left out" in said
    assert not (tmp_path / "f/b.xsd").exists()
    assert main(["export", "schema", SITE + "a.xsd", "-c", str(tmp_path / "c"), "-o", str(tmp_path / "s")]) == 7
    assert "1 document is left out" in (said := capsys.readouterr().err) and "not complete: 1 document that" in said
    assert "b.xsd" not in (tmp_path / "s/catalog.xml").read_text()
    assert not list((tmp_path / "s").rglob("b.xsd"))


def test_the_index_names_what_may_be_replaced(tmp_path: Path) -> None:
    """Names with marks that mean something in the index are found in it again."""
    pages = [("http://e.org/a=b%3A %23!é😀.xml", "text/xml", b"1"), ("http://e.org/%23c.xml", "text/xml", b"2")]
    write_package(pages, str(tmp_path / "f"))
    write_package([], str(tmp_path / "f"))
    assert [path.name for path in (tmp_path / "f").iterdir()] == ["_INDEX_METADATA"]


def test_java_properties() -> None:
    """As java.util.Properties reads them back."""
    assert escape_key("a b=c:d#é\U0001f600\n") == "a\\ b\\=c\\:d\\#\\u00E9\\uD83D\\uDE00\\n"
    assert escape_value(" http://x/?a=b#c\\") == "\\ http://x/?a=b#c\\\\"


def test_names_in_a_package_say_what_the_bytes_are(tmp_path: Path) -> None:
    """A document that came compressed and is exported as it reads loses the ending of a compressed one."""
    packed = gzip.compress(b"<a/>")
    pages = [
        ("http://a.test/x.xml.gz", "text/xml", b"<a/>"),
        ("http://a.test/y.xml.gz", "application/gzip", packed),
        ("http://a.test/z.svgz", "image/svg+xml", b"<svg/>"),
    ]
    write_package(pages, str(tmp_path / "f"))
    assert {path.name for path in (tmp_path / "f").iterdir() if path.suffix} == {"x.xml", "y.xml.gz", "z.svg"}
