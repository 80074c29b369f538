"""What a crawl leaves in the archive, read with another's tool: every answer, and what revisit records refer to."""

from __future__ import annotations

import csv
import gzip
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from support.crawl_runs import crawl, rows, states
from support.loopback import Reply, Web, html
from warcio.archiveiterator import ArchiveIterator

from lycosa import Collection
from lycosa.collection.listing import RowFilter
from lycosa.export.files import export_index, export_wacz, export_warc, read_index
from lycosa.output.table import write
from lycosa.politeness.disposition import truncation_of

WORDS = b"<title>words</title><p>the same words</p>" * 20


class Record(NamedTuple):
    kind: str
    url: str
    ident: str
    digest: str | None
    refers: tuple[str | None, str | None]
    date: str
    truncated: str | None
    body: bytes


def read(*paths: Path) -> list[Record]:
    found = []
    for path in paths:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                get = record.rec_headers.get_header
                body = record.raw_stream.read()
                found.append(
                    Record(
                        record.rec_type, get("WARC-Target-URI"), get("WARC-Record-ID"), get("WARC-Payload-Digest"),
                        (get("WARC-Refers-To-Target-URI"), get("WARC-Refers-To-Date")), get("WARC-Date"),
                        get("WARC-Truncated"), body,
                    )
                )  # fmt: skip
    return found


def archive_of(folder: Path) -> list[Record]:
    return read(*sorted((folder / "archive").iterdir()))


def stamped(mtime: int, **headers: str) -> Reply:
    """A page as servers send it that write the time into what they compress."""
    fields = {"Content-Type": "text/html", "Content-Encoding": "gzip", **headers}
    return Reply(gzip.compress(WORDS, mtime=mtime), headers=fields)


def test_content_with_a_stamp_is_found_again(web: Web, tmp_path: Path) -> None:
    """A revisit states the digest of the record that it refers to, in the same run, a later one, and a new database."""
    folder = tmp_path / "c"
    web["a.test/"] = html("/one", "/two")
    web["a.test/one"], web["a.test/two"] = stamped(1), stamped(2)
    crawl(web, folder, "http://a.test/", "--per-host", "1", "--workers", "1")
    web["a.test/one"], web["a.test/two"] = stamped(3), stamped(4)
    crawl(web, folder, "--recrawl")
    records = archive_of(folder)
    held = {(record.url, record.date): record.digest for record in records if record.kind == "response"}
    revisits = [record for record in records if record.kind == "revisit"]
    assert sorted(record.url[14:] for record in revisits) == ["", "one", "two", "two"]
    assert all(record.digest and held[record.refers] == record.digest for record in revisits)  # type: ignore[index]
    (folder / "crawl.db").unlink()
    web.asked.clear()
    crawl(web, folder, "http://a.test/")
    assert set(web.paths()) <= {"/robots.txt"}
    with Collection(folder) as collection:
        assert {page.url: page.body for page in collection}["http://a.test/two"] == WORDS


def test_what_was_not_modified_states_no_wrong_digest(web: Web, tmp_path: Path) -> None:
    """A 304 tells nothing of the bytes: where content is recognised by its core, the record states none."""
    folder = tmp_path / "c"
    web["a.test/"] = stamped(1, ETag='"1"')
    crawl(web, folder, "http://a.test/")
    web["a.test/"] = Reply(status=304, headers={"ETag": '"1"'})
    crawl(web, folder, "--recrawl")
    assert states(folder) == {"http://a.test/": "not modified"}
    (revisit,) = (record for record in archive_of(folder) if record.kind == "revisit")
    assert revisit.digest is None and revisit.refers[0] == "http://a.test/"
    with Collection(folder) as collection:
        assert export_wacz(collection, tmp_path / "c.wacz").records == 3  # the page, and what there was of robots.txt


def test_rules_are_answers_too(web: Web, tmp_path: Path) -> None:
    """The archive holds each robots.txt; of a new database made from it they are rules, not pages."""
    folder = tmp_path / "c"
    web["a.test/robots.txt"] = Reply(b"User-agent: *\nDisallow: /x\nSitemap: http://a.test/map.xml\n")
    web["a.test/map.xml"] = Reply(b"<urlset><url><loc>http://a.test/deep</loc></url></urlset>")
    web["a.test/"] = html("/x", "/way", "http://b.test/")
    web["a.test/way"] = html("/on")
    web["a.test/on"] = html("/deep")
    web["a.test/deep"] = html(title="deep")
    web["b.test/"] = html(title="b")  # which has no robots.txt
    crawl(web, folder, "http://a.test/", "--scope", "free", "--per-host", "1")
    rules = {record.url: record.body for record in archive_of(folder) if record.url and "robots" in record.url}
    assert rules.keys() == {"http://a.test/robots.txt", "http://b.test/robots.txt"}
    known = "SELECT url, state, depth, parent FROM urls ORDER BY url"
    before = rows(folder, known)
    (folder / "crawl.db").unlink()
    crawl(web, folder, "http://a.test/", "--scope", "free", "--per-host", "1")
    assert rows(folder, known) == before


def test_an_answer_that_broke_off_says_so() -> None:
    """Whatever the failure: a record must not claim that what was received is all that was sent."""
    assert [truncation_of(failure) for failure in ("", "too-large", "cut-short", "timeout", "protocol")] == [
        *("", "length", "disconnect", "time", "unspecified")
    ]


def test_large_refusals_are_kept(web: Web, tmp_path: Path) -> None:
    """An error page of megabytes is an answer like any other."""
    web["a.test/"] = html("/gone")
    web["a.test/gone"] = Reply(b"nothing here " * 400_000, status=404)
    crawl(web, tmp_path / "c", "http://a.test/")
    kept = {record.url: record.body for record in archive_of(tmp_path / "c") if record.kind == "response"}
    assert kept["http://a.test/gone"].endswith(web.pages["a.test/gone"].body[-1000:])
    assert len(kept["http://a.test/gone"]) >= 400_000 * 13


@pytest.fixture
def copies(web: Web, tmp_path: Path) -> Path:
    """A collection in which two pages have the content of a third."""
    web["a.test/"] = html("/1", "/2", "/3", "/data")
    for name in "123":
        web[f"a.test/{name}"] = html(title="same")
    web["a.test/data"] = Reply(bytes(range(256)), headers={"Content-Type": "application/octet-stream"})
    crawl(web, tmp_path / "c", "http://a.test/", "--per-host", "1")
    return tmp_path / "c"


def test_no_record_is_exported_twice(copies: Path, tmp_path: Path) -> None:
    """A page that holds the bytes of others is one record in a part of the archive, as it is in the whole."""
    with Collection(copies) as collection, (tmp_path / "part.warc.gz").open("wb") as out:
        export_warc(collection, out, RowFilter(host="a.test"))
    idents = [record.ident for record in read(tmp_path / "part.warc.gz")]
    assert len(idents) == len(set(idents)) == 5


def test_a_type_that_nobody_knows_is_missing(copies: Path, tmp_path: Path) -> None:
    """The index has `-` for it, and gives nothing back."""
    with Collection(copies) as collection:
        export_index(collection, tmp_path / "index")
    assert {entry.url[-4:]: entry.type for entry in read_index(tmp_path / "index")}["data"] == ""
    assert '/data "" - - - -\n' in (tmp_path / "index").read_text()


def test_a_collection_without_html_has_pages_too(web: Web, tmp_path: Path) -> None:
    """Readers of a WACZ file begin with its pages: XHTML among them, and any document where there is no other."""
    web["a.test/"] = Reply(b"<a><b>words</b></a>", headers={"Content-Type": "application/xml"})
    crawl(web, tmp_path / "c", "http://a.test/")
    web["a.test/x"] = Reply(
        b'<html xmlns="http://www.w3.org/1999/xhtml"><p/></html>', headers={"Content-Type": "application/xhtml+xml"}
    )
    crawl(web, tmp_path / "d", "http://a.test/x", "http://a.test/")
    for name in "cd":
        with Collection(tmp_path / name) as collection:
            assert export_wacz(collection, tmp_path / "some.wacz").pages == 1


@pytest.mark.parametrize("text", ['"', '"quoted" words', 'a "b" c', '""'])
def test_tsv_is_read_as_it_was_written(text: str) -> None:
    """A cell that begins with a quotation mark swallows neither its neighbour nor the next row."""
    out = StringIO()
    write([(text, "next"), ("second", "row")], ("a", "b"), out, form="tsv")
    assert list(csv.reader(StringIO(out.getvalue()), delimiter="\t"))[1:] == [[text, "next"], ["second", "row"]]
