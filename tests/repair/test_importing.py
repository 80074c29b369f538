"""Import: what other tools kept comes in as if it had been crawled, once, whatever it is and whenever it is killed."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from support.crawl_runs import chain, crawl, rows, states
from support.killed_commands import run_to_moment
from support.loopback import Reply, Web, html

from lycosa import Collection
from lycosa.archive.writer import ArchiveWriter
from lycosa.cli.main import main
from lycosa.model import Answer, Target
from lycosa.urls import host_of, url_id

AT = 1_400_000_000.0
SAME = (
    "SELECT url, state, reason, http, redirect FROM urls WHERE state <> 'unfetched' ORDER BY url",
    "SELECT url, digest, mime, title, size, status, fetched FROM pages ORDER BY url",
    "SELECT url, links FROM link JOIN url USING (n) ORDER BY url",
    "SELECT origin, status, body FROM robots ORDER BY 1",
)


def held(folder: Path) -> list[list[tuple[object, ...]]]:
    return [rows(folder, sql) for sql in SAME]


def bring(*words: object, code: int = 0) -> None:
    assert main(["import", *map(str, words)]) == code


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A crawled collection with everything an archive holds, and its WACZ."""
    folder, web = tmp_path_factory.mktemp("crawled"), Web()
    try:
        web["a.test/robots.txt"] = Reply(b"Sitemap: http://a.test/map.xml\n")
        page = b"<urlset><url><loc>http://a.test/hidden</loc></url></urlset>"
        web["a.test/map.xml"] = Reply(page, headers={"Content-Type": "text/xml"})
        chain(web, "a.test", 20)
        web["a.test/"] = html("/1", "/2", "/copy", "/moved", "/gone", "http://other.test/", title="root")
        web["a.test/copy"] = web.pages["a.test/1"]
        web["a.test/moved"] = Reply(status=301, headers={"Location": "/new"})
        web["a.test/new"] = html("/4", title="new")
        web["a.test/hidden"] = html(title="hidden", head='<link rel=stylesheet href="/s.css">')
        web["a.test/s.css"] = Reply(b"body { background: url(/b.png) }", headers={"Content-Type": "text/css"})
        web["a.test/b.png"] = Reply(b"\x89PNG\r\n\x1a\n", headers={"Content-Type": "image/png"})
        crawl(web, folder / "c", "http://a.test/", "--per-host", "1", "--requisites", "page")
    finally:
        web.close()
    assert main(["export", "wacz", "-c", str(folder / "c"), "-o", str(folder / "c.wacz")]) == 0
    return folder / "c", folder / "c.wacz"


def test_a_collection_comes_back_from_its_wacz(crawled: tuple[Path, Path], tmp_path: Path) -> None:
    """The same pages, digests, links, redirects, refusals and robots.txt; done twice it is as done once."""
    folder, wacz = crawled
    bring(wacz, "-c", tmp_path / "b")
    before = held(tmp_path / "b")
    assert before == held(folder)
    bring(wacz, "-c", tmp_path / "b")
    assert held(tmp_path / "b") == before
    assert len(list((tmp_path / "b/archive").glob("*.warc.gz"))) == 1
    assert main(["verify", "-c", str(tmp_path / "b")]) == 0


def test_a_killed_import_goes_on(crawled: tuple[Path, Path], tmp_path: Path) -> None:
    """Killed at any moment, the same command brings in the rest, and nothing twice."""
    _, wacz = crawled
    code, moments = run_to_moment(0, "import", str(wacz), "-c", str(tmp_path / "whole"))
    assert code == 0
    start = run_to_moment(0, "import", str(wacz), "-c", str(tmp_path / "whole"))[1] // 2
    for moment in range(start, moments, max(1, (moments - start) // 6)):
        folder = tmp_path / str(moment)
        assert run_to_moment(moment, "import", str(wacz), "-c", str(folder))[0] == -9
        bring(wacz, "-c", folder)
        assert held(folder) == held(tmp_path / "whole")
        with Collection(folder) as collection:
            urls_in = [page.url for page in collection]
        assert len(urls_in) == len(set(urls_in))
        assert main(["verify", "-c", str(folder)]) == 0


def test_a_crawl_goes_on_from_an_archive_of_others(web: Web, tmp_path: Path) -> None:
    """What is in it is not fetched again; what it leads to is."""
    chain(web, "a.test", 12)
    with open(tmp_path / "w.warc.gz", "wb") as out:
        for path in ("/", "/1", "/2"):
            body = web.pages[f"a.test{path}"].body
            request = b"GET %b HTTP/1.1\r\nCookie: secret=1\r\nHost: a.test\r\n\r\n" % path.encode()
            chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
            head = b"HTTP/1.1 200\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
            for kind, block in (("request", request), ("response", head + chunked)):
                out.write(gzip.compress(_record(kind, f"<http://a.test{path}>", block)))
    bring(tmp_path / "w.warc.gz", "-c", tmp_path / "c")
    assert sorted(states(tmp_path / "c").values()).count("fetched") == 3
    crawl(web, tmp_path / "c")
    assert set(web.paths()) - {"a.test/favicon.ico"} == {f"a.test/{n}" for n in range(3, 12)}
    assert list(states(tmp_path / "c").values()).count("fetched") == 12
    archive = b"".join(gzip.decompress(path.read_bytes()) for path in (tmp_path / "c/archive").glob("*.gz"))
    assert b"Host: a.test" in archive and b"secret" not in archive


def _record(kind: str, url: str, block: bytes) -> bytes:
    """A record as wget 1.19 writes it."""
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
    return f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"


def test_har_trees_and_zips(tmp_path: Path) -> None:
    """A HAR file, a tree of hosts as wget writes it, a zip file below an address: pages with types, titles, links."""
    entries = [
        _entry("http://h.test/", "<title>h</title><a href=/p>p</a>"),
        _entry("http://h.test/p", base64.b64encode(b"\x89PNG").decode(), mime="image/png", encoding="base64"),
        _entry("http://h.test/api", "{}", method="POST"),
    ]
    (tmp_path / "x.har").write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    bring(tmp_path / "x.har", "-c", tmp_path / "har")
    assert rows(tmp_path / "har", "SELECT url, mime, title FROM pages ORDER BY 1") == [
        ("http://h.test/", "text/html", "h"),
        ("http://h.test/p", "image/png", ""),
    ]
    tree = tmp_path / "tree"
    (tree / "w.test/d").mkdir(parents=True)
    (tree / "w.test/index.html").write_text("<title>w</title><a href=/d/>d</a><a href=/?q=1>q</a>")
    (tree / "w.test/d/index.html").write_text("<title>d</title>")
    (tree / "w.test/index.html?q=1").write_text("<title>q</title>")
    bring(tree, "-c", tmp_path / "wget")
    assert rows(tmp_path / "wget", "SELECT url, title, depth FROM pages JOIN url USING (url) ORDER BY 1") == [
        ("http://w.test/", "w", 0),
        ("http://w.test/?q=1", "q", 1),
        ("http://w.test/d/", "d", 1),
    ]
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as out:
        out.writestr("a/b.html", "<title>b</title>")
        out.writestr("../evil.html", "<title>evil</title>")
    bring(tmp_path / "x.zip", "-c", tmp_path / "zip", "--base", "https://z.test/", code=7)
    assert rows(tmp_path / "zip", "SELECT url FROM pages") == [("https://z.test/a/b.html",)]


def _entry(url: str, text: str, *, mime: str = "text/html", method: str = "GET", encoding: str = "") -> object:
    content = {"text": text, "mimeType": mime} | ({"encoding": encoding} if encoding else {})
    return {
        "startedDateTime": "2024-01-01T00:00:00.000Z",
        "request": {"url": url, "method": method},
        "response": {"status": 200, "headers": [{"name": "Content-Type", "value": mime}], "content": content},
    }


def test_a_newer_answer_replaces_what_is_known(tmp_path: Path) -> None:
    """A second archive brings what has changed; an older one is kept in the archive, and the page stays."""
    for name, at, text in (("1", AT, b"one"), ("2", AT + 9, b"two"), ("0", AT - 9, b"zero")):
        writer = ArchiveWriter(tmp_path, prefix=f"x{name}", max_bytes=0, software="other", info={})
        url = "http://a.test/"
        answer = Answer(
            Target(0, url_id(url), url, host_of(url)), 200, head=b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n",
            body=text, size=len(text), began=at,
        )  # fmt: skip
        with writer:
            writer.add(answer, digest=bytes(20), mime="")
            writer.flush()
        bring(next(tmp_path.glob(f"x{name}-*")), "-c", tmp_path / "c", "--seed", url)
        with Collection(tmp_path / "c") as collection:
            assert [page.body for page in collection] == [text if name != "0" else b"two"]
    assert main(["verify", "-c", str(tmp_path / "c")]) == 0


@pytest.mark.parametrize("harm", ["cut", "zip bomb", "garbage"])
def test_damaged_files_come_in_as_far_as_they_go(
    crawled: tuple[Path, Path], tmp_path: Path, harm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 7 and a sentence; what can be read is in."""
    source = tmp_path / "x.wacz"
    warc = next((crawled[0] / "archive").glob("*.warc.gz"))
    if harm == "cut":
        source = tmp_path / "x.warc.gz"
        source.write_bytes(warc.read_bytes()[: warc.stat().st_size // 2])
    elif harm == "garbage":
        source.write_bytes(b"nothing")
    else:
        with zipfile.ZipFile(source, "w") as out:
            out.write(warc, "archive/../../x.warc.gz")
            out.writestr("datapackage.json", "[" * 100_000)
            out.writestr("pages/pages.jsonl", b'{"url": 1}\n\xff\n' * 3)
    bring(source, "-c", tmp_path / "c", "--format", "text", code=0 if harm == "zip bomb" else 7)
    said = capsys.readouterr().out
    assert harm == "zip bomb" or "is not imported whole" in said
    assert bool(states(tmp_path / "c")) == (harm != "garbage")
    assert not list(tmp_path.rglob("lycosa.tmp"))


def test_extract_and_analyse_read_a_wacz(crawled: tuple[Path, Path], tmp_path: Path) -> None:
    """The documents of a WACZ, without a collection and with one."""
    quarry = Path(__file__).resolve().parents[2] / "examples/outline.py"
    out = tmp_path / "r.jsonl"
    assert main(["extract", "--quarry", f"{quarry}:Outline", str(crawled[1]), "-o", str(out), "--workers", "1"]) == 0
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert "http://a.test/hidden" in {line["url"] for line in found}
    assert all("#archive/" in line["warc"] for line in found)
    assert main(["analyse", "xml", str(crawled[1]), "-c", str(tmp_path / "x"), "--workers", "1", "-q"]) == 0
    assert rows(tmp_path / "x", "SELECT count(*) FROM pages WHERE url = 'http://a.test/map.xml'") == [(1,)]


def test_wrong_use_is_told(tmp_path: Path, crawled: tuple[Path, Path]) -> None:
    """A collection is no source, nor is what does not exist; nothing is left behind."""
    bring(crawled[0], "-c", tmp_path / "c", code=2)
    bring(tmp_path / "nothing", "-c", tmp_path / "c", code=2)
    bring(crawled[1], "-c", "postgresql://localhost/x#y", code=2)
    assert not (tmp_path / "c").exists()
    shutil.copy(crawled[1], tmp_path / "unnamed.zip")
    bring(tmp_path / "unnamed.zip", "-c", tmp_path / "c")
    assert held(tmp_path / "c") == held(crawled[0])
