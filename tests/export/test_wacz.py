"""WACZ files and copies of the archive: what the specification requires, and that the index leads to the records."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from lycosa.archive.surt import surt_of
from lycosa.archive.writer import ArchiveWriter
from lycosa.errors import CollectionError, UsageError
from lycosa.export.wacz import WaczAbout, WaczCount, WaczPage, copy_warcs, write_wacz
from lycosa.model import Answer, Target

ABOUT = WaczAbout(title="Spiders", software="lycosa/0.1", description="All of *them*", main_url="https://example.org/")
BEGAN = 1_700_000_000.25


@pytest.fixture
def warcs(tmp_path: Path) -> list[tuple[Path, int]]:
    """Two archive files with three pages, a missing one and a revisit; one has a tail that was never committed."""
    folder = tmp_path / "archive"
    folder.mkdir()
    archive = ArchiveWriter(folder, prefix="test", max_bytes=1, software="lycosa/0.1", info={})
    sizes = {}
    for batch in (("/b", "/a?z=1&b=2"), ("/", "/gone")):
        for path in batch:
            answer = make_answer(path)
            archive.add(answer, digest=hashlib.sha1(answer.body).digest(), mime="text/html")
        if "/" in batch:
            digest = hashlib.sha1(b"body of /b").digest()
            archive.add_revisit(
                make_answer("/copy"), refers_to_url="https://www.example.org/b", refers_to_date=BEGAN,
                digest=digest, profile="identical",
            )  # fmt: skip
        name, size = archive.flush()
        sizes[name] = size
    archive.close()
    first = folder / min(sizes)
    with open(first, "ab") as file:
        file.write(first.read_bytes())
    return [(folder / name, size) for name, size in sizes.items()]


def make_answer(path: str) -> Answer:
    body = f"body of {path}".encode()
    return Answer(
        target=Target(row=1, url_hash=1, url=f"https://www.example.org{path}", host="www.example.org"),
        status=404 if path == "/gone" else 200,
        head=b"HTTP/1.1 %b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
        % (b"404 Not Found" if path == "/gone" else b"200 OK", len(body)),
        body=body,
        request=b"GET / HTTP/1.1\r\n\r\n",
        began=BEGAN,
    )


PAGES = [WaczPage("https://www.example.org/", BEGAN, 'A "title"\n'), WaczPage("https://www.example.org/b", BEGAN)]


def test_a_wacz_has_every_required_part(tmp_path: Path, warcs: list[tuple[Path, int]]) -> None:
    """Archive and gzipped index are stored as they are, and the manifest holds the right hash and size of all files."""
    path = tmp_path / "out" / "spiders.wacz"
    count = write_wacz(path, warcs, PAGES, ABOUT)
    assert count == WaczCount(records=5, pages=2, bytes=path.stat().st_size)
    with zipfile.ZipFile(path) as package:
        assert package.testzip() is None
        members = {info.filename: info for info in package.infolist()}
        manifest = json.loads(package.read("datapackage.json"))
        assert manifest["profile"] == "data-package"
        assert manifest["wacz_version"] == "1.1.1"
        assert (manifest["title"], manifest["software"]) == ("Spiders", "lycosa/0.1")
        assert manifest["mainPageUrl"] == "https://example.org/"
        assert manifest["created"].endswith("Z")
        listed = {resource["path"]: resource for resource in manifest["resources"]}
        assert listed.keys() == members.keys() - {"datapackage.json", "datapackage-digest.json"}
        for name, resource in listed.items():
            data = package.read(name)
            assert resource["hash"] == "sha256:" + hashlib.sha256(data).hexdigest()
            assert resource["bytes"] == len(data)
            assert resource["name"] == name.rpartition("/")[2]
            if name.endswith(".gz"):
                assert members[name].compress_type == zipfile.ZIP_STORED
        digest = json.loads(package.read("datapackage-digest.json"))
        assert digest["path"] == "datapackage.json"
        assert digest["hash"] == "sha256:" + hashlib.sha256(package.read("datapackage.json")).hexdigest()
        assert {f"archive/{warc.name}" for warc, _ in warcs} <= members.keys()
    assert not list(path.parent.glob("*part"))


def test_the_index_leads_to_every_record(tmp_path: Path, warcs: list[tuple[Path, int]]) -> None:
    """Blocks are found through the listing, lines are sorted by their bytes, and offsets are those of the records."""
    path = tmp_path / "spiders.wacz"
    write_wacz(path, warcs, PAGES, ABOUT)
    with zipfile.ZipFile(path) as package:
        meta, *blocks = package.read("indexes/index.idx").decode().splitlines()
        assert json.loads(meta.split(" ", 2)[2]) == {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
        packed = package.read("indexes/index.cdx.gz")
        lines = []
        for block in blocks:
            key, stamp, place = block.split(" ", 2)
            at = json.loads(place)
            piece = packed[at["offset"] : at["offset"] + at["length"]]
            assert at["digest"] == "sha256:" + hashlib.sha256(piece).hexdigest()
            lines += gzip.decompress(piece).splitlines()
            assert f"{key} {stamp} ".encode() in gzip.decompress(piece)
        assert lines == sorted(lines)
        keys = [line.split(b" ")[0].decode() for line in lines]
        assert keys == [f"org,example){rest}" for rest in ("/", "/a?b=2&z=1", "/b", "/copy", "/gone")]
        for line in lines:
            _, stamp, block = line.decode().split(" ", 2)
            entry = json.loads(block)
            assert stamp == "20231114221320"
            data = package.read(f"archive/{entry['filename']}")[entry["offset"] : entry["offset"] + entry["length"]]
            (record,) = ArchiveIterator(io.BytesIO(data))
            assert record.rec_headers.get_header("WARC-Target-URI") == entry["url"]
            assert entry["digest"].startswith("sha1:")
            assert entry["status"] == (404 if entry["url"].endswith("/gone") else 200)
            assert entry["mime"] == ("warc/revisit" if entry["url"].endswith("/copy") else "text/html")


def test_what_cannot_be_read_is_counted(tmp_path: Path, warcs: list[tuple[Path, int]]) -> None:
    """A damaged record is not in the index, and said to be missing there; the others are."""
    path, size = warcs[1]
    whole = write_wacz(tmp_path / "whole.wacz", warcs, [], ABOUT)
    assert (whole.records, whole.lost, whole.lack) == (5, 0, "")
    data = bytearray(path.read_bytes())
    start = data.index(b"\x1f\x8b\x08", 10)  # the first page, behind what the file says of itself
    data[start + 60 : start + 70] = bytes(10)
    path.write_bytes(data)
    harmed = write_wacz(tmp_path / "harmed.wacz", warcs, [], ABOUT)
    assert (harmed.records, harmed.lost) == (4, 1)
    assert harmed.lack.startswith("; 1 damaged place of the archive")
    data[:4] = bytes(4)  # and the first record of all: what follows is still found
    path.write_bytes(data)
    worse = write_wacz(tmp_path / "worse.wacz", warcs, [], ABOUT)
    assert (worse.records, worse.lost) == (4, 1)


def test_the_pages_are_listed(tmp_path: Path, warcs: list[tuple[Path, int]]) -> None:
    """One JSON object a line behind the header, each with url and ts."""
    path = tmp_path / "spiders.wacz"
    write_wacz(path, warcs, iter(PAGES), ABOUT)
    with zipfile.ZipFile(path) as package:
        header, *pages = map(json.loads, package.read("pages/pages.jsonl").splitlines())
    assert header["format"] == "json-pages-1.0"
    assert [page["url"] for page in pages] == [page.url for page in PAGES]
    assert {page["ts"] for page in pages} == {"2023-11-14T22:13:20Z"}
    assert pages[0]["title"] == 'A "title"\n'
    assert len({page["id"] for page in pages}) == 2


def test_only_what_was_committed_is_exported(tmp_path: Path, warcs: list[tuple[Path, int]]) -> None:
    """Bytes that a running crawl has not committed are in neither form of export."""
    assert warcs[0][0].stat().st_size > warcs[0][1]
    write_wacz(tmp_path / "x.wacz", warcs, [], ABOUT)
    with zipfile.ZipFile(tmp_path / "x.wacz") as package:
        assert package.getinfo(f"archive/{warcs[0][0].name}").file_size == warcs[0][1]
    assert copy_warcs(warcs, tmp_path / "copy") == 2
    assert [(tmp_path / "copy" / path.name).stat().st_size for path, _ in warcs] == [size for _, size in warcs]


def test_archive_files_can_be_joined(tmp_path: Path, warcs: list[tuple[Path, int]]) -> None:
    """One file with the records of all, valid in warcio."""
    path = tmp_path / "new" / "all.warc.gz"
    assert copy_warcs(warcs, path) == 2
    assert copy_warcs(warcs, path) == 2
    with open(path, "rb") as file:
        kinds = [record.rec_type for record in ArchiveIterator(file, check_digests="raise")]
    assert kinds.count("warcinfo") == 2
    assert kinds.count("response") == 4
    assert [entry.name for entry in path.parent.iterdir()] == ["all.warc.gz"]


def test_what_cannot_be_written_is_said(tmp_path: Path, warcs: list[tuple[Path, int]]) -> None:
    """A wrong name is refused, and a failure leaves no half of a file."""
    with pytest.raises(UsageError, match=r"ends in \.wacz"):
        write_wacz(tmp_path / "x.zip", warcs, PAGES, ABOUT)
    with pytest.raises(CollectionError, match="cannot be written"):
        write_wacz(tmp_path / "x.wacz", [(tmp_path / "absent.warc.gz", 10)], PAGES, ABOUT)
    assert not list(tmp_path.glob("x.*"))
    with pytest.raises(CollectionError, match="cannot be written"):
        copy_warcs([(tmp_path / "absent.warc.gz", 10)], tmp_path / "copy")


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.example.org/index.html", "org,example)/index.html"),
        ("http://Example.ORG", "org,example)/"),
        ("http://www2.example.org:8080/A", "org,example:8080)/a"),
        ("https://user:pw@a.b.example.org/x?c=1&A=2&b", "org,example,b,a)/x?a=2&b&c=1"),
        ("http://www.org/", "org)/"),
        ("http://example.org/x?", "org,example)/x"),
        ("http://[::1]:81/", "::1:81)/"),
        ("http://example.org:80/a/./b//%7Ec/%3cD%253E/", "org,example)/a/b/~c/<d>"),
        ("http://example.org/caf%C3%A9%25", "org,example)/caf%c3%a9%25"),
        ("http://example.org/?b&a=2&PHPSESSID=0123456789abcdef0123456789ABCDEF&a=1", "org,example)/?a=1&a=2&b"),
        ("http://example.org/(S(4hqa0555fwsecu455xqckv45))/x.aspx", "org,example)/x.aspx"),
        ("dns:example.org", "dns:example.org"),
        ("", "-"),
    ],
)
def test_urls_are_sorted_by_host_from_the_right(url: str, key: str) -> None:
    """Pages of one domain stand together, whatever scheme, case or www they were fetched with."""
    assert surt_of(url) == key
