"""`lycosa extract` and extraction beside a crawl, from the command line: resumed, repeated, interrupted, killed."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.crawl_runs import command, crawl
from support.loopback import Reply, Web, html
from support.processes import descendants, is_alive

from lycosa import Collection
from lycosa.errors import Partial

ROOT = Path(__file__).resolve().parents[2]

TITLES = """
import os, time
from lycosa.model import Link, Record
from lycosa.quarry import Quarry

class Titles(Quarry):
    version = "VERSION"

    def extract(self, doc):
        if "bad" in doc.url:
            raise ValueError("a bad page")
        if "kill" in doc.url:
            os.abort()
        time.sleep(SLEEP)
        yield Record("title", {"title": doc.title, "words": len(doc.text.split())})
        yield Record("size", {"bytes": len(doc.body)})
"""


def quarry(folder: Path, *, version: str = "1", sleep_s: float = 0.0, more: str = "") -> str:
    path = folder / "titles.py"
    path.write_text(TITLES.replace("VERSION", version).replace("SLEEP", str(sleep_s)) + more)
    return f"{path}:Titles"


def extract(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run an extraction to its end; returns what it wrote for people."""
    done = subprocess.run(
        [sys.executable, "-m", "lycosa", "extract", "--collection", str(folder), *arguments],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr + done.stdout


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True) as database:
        found = database.execute(sql).fetchall()
    database.close()
    return found


def outcomes(folder: Path) -> dict[str, int]:
    return dict(rows(folder, "SELECT outcome, count(*) FROM extracted GROUP BY outcome"))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A collection of 40 pages, one of them a copy of another; its web is gone."""
    web = Web()
    names = [str(n) for n in range(36)]
    web["a.test/"] = html(*names, "copy", "bad", "kill", title="root")
    for name in [*names, "bad", "kill"]:
        web[f"a.test/{name}"] = html(title=f"page {name}", text=f"about {name}")
    web["a.test/copy"] = web.pages["a.test/7"]
    folder = tmp_path_factory.mktemp("crawled") / "c"
    crawl(web, folder, "http://a.test/")
    web.close()
    yield folder


@pytest.fixture
def folder(crawled: Path, tmp_path: Path) -> Path:
    shutil.copytree(crawled, tmp_path / "c")
    return tmp_path / "c"


@pytest.fixture(scope="module")
def extracted(crawled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same collection after an extraction; all.jsonl beside it has the records. To be read only."""
    folder = tmp_path_factory.mktemp("extracted")
    shutil.copytree(crawled, folder / "c")
    extract(folder / "c", "--quarry", quarry(folder), "-o", str(folder / "all.jsonl"))
    return folder / "c"


def test_a_second_run_does_only_what_is_new(folder: Path, tmp_path: Path) -> None:
    """Records come once; set aside is told; a new version does everything again, `--again` and `--retry` likewise."""
    name = quarry(tmp_path)
    said = extract(folder, "--quarry", name)
    assert "74 records from 39 documents" in said
    assert "set aside http://a.test/bad: error: ValueError: a bad page (titles.py:11)" in said
    assert "set aside http://a.test/kill: crash: the process was ended by SIGABRT" in said
    assert outcomes(folder) == {"done": 37, "error": 1, "crash": 1}
    before = rows(folder, "SELECT id, json FROM record")
    assert "0 records from 0 documents" in extract(folder, "--quarry", name)
    assert rows(folder, "SELECT id, json FROM record") == before
    assert "0 records from 2 documents" in extract(folder, "--quarry", name, "--retry")
    name = quarry(tmp_path, version="2")
    assert "74 records from 39 documents" in extract(folder, "--quarry", name, "--workers", "1")
    assert "74 records from 39 documents" in extract(folder, "--quarry", name, "--again")
    assert rows(folder, "SELECT count(*) FROM record") == [(74,)]
    assert rows(folder, "SELECT DISTINCT version FROM extracted") == [("2",)]


def test_a_quarry_that_fails_with_every_document_does_not_end_well(folder: Path, tmp_path: Path) -> None:
    """Its mistake is told, and the exit code says that nothing came of it."""
    name = quarry(tmp_path, more="\n    def extract(self, doc):\n        raise KeyError('price')\n")
    said = extract(folder, "--quarry", name, code=Partial.exit_code)
    assert "0 records from 39 documents" in said and "KeyError: 'price'" in said


def test_records_are_reached_from_every_page_that_has_the_content(extracted: Path) -> None:
    """Python: all, by kind, by URL; both addresses of a page that was met twice have its records."""
    with Collection(extracted) as collection:
        titles = {record.url: record for record in collection.records(kind="title")}
        assert len(titles) == 37
        found = titles.get("http://a.test/7") or titles["http://a.test/copy"]
        assert found.data == {"title": "page 7", "words": 2}
        assert set(found.pages) == {"http://a.test/7", "http://a.test/copy"}
        assert (found.mission, found.quarry, found.version) == ("mirror", "Titles", "1")
        page = collection.page(found.url)
        assert page
        assert found.fetched == page.fetched
        assert (found.warc, found.offset) == page.place[:2]
        for url in found.pages:
            assert [record.kind for record in collection.records(url=url)] == ["title", "size"]
        assert [record.data["bytes"] for record in page.records(kind="size")] == [len(page.body)]
        assert list(collection.records(url="http://a.test/none")) == list(collection.records(kind="no")) == []
        assert len(list(collection.records(kind="*i*"))) == 74


def test_records_are_exported(extracted: Path) -> None:
    """One line a record: JSON with its data as it is, or one column for each of its keys."""
    lines = [json.loads(line) for line in (extracted.parent / "all.jsonl").read_text().splitlines()]
    assert len(lines) == 74
    root = next(line for line in lines if line["url"] == "http://a.test/" and line["kind"] == "title")
    assert root["data"] == {"title": "root", "words": 78}
    assert set(root) == {
        "url", "kind", "data", "mission", "quarry", "version", "fetched", "warc", "offset", "digest", "pages"
    }  # fmt: skip
    run = [sys.executable, "-m", "lycosa", "export", "records", "-c", str(extracted), "--kind", "title"]
    done = subprocess.run([*run, "--format", "csv"], capture_output=True, text=True, timeout=60)
    head, first, *rest = done.stdout.splitlines()
    assert head == "url,kind,title,words,mission,quarry,version,fetched,warc,offset,digest,pages"
    assert first.startswith("http://a.test/,title,root,78,mirror,Titles,1,")
    assert len(rest) == 36
    done = subprocess.run([*run, "--mime", "x"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (2, "lycosa: --mime goes with pages, not with records.\n")


def test_status_tells_what_was_extracted(extracted: Path) -> None:
    """Figures for each quarry, and the documents that were set aside."""
    run = [sys.executable, "-m", "lycosa", "status", "-c", str(extracted)]
    found = json.loads(subprocess.run(run, capture_output=True, text=True, timeout=60).stdout)["extracted"]
    assert [(one["quarry"], one["documents"], one["records"]) for one in found] == [("Titles", 39, 74)]
    assert {url for url, _ in found[0]["aside"]} == {"http://a.test/bad", "http://a.test/kill"}
    text = subprocess.run([*run, "--format", "text"], capture_output=True, text=True, timeout=60).stdout
    assert "Titles: 74 records from 39 documents (done 37, crash 1, error 1)" in text


def test_kill_9_at_any_instant_loses_and_doubles_nothing(folder: Path, tmp_path: Path) -> None:
    """After each kill the rest is done; no worker stays behind."""
    name = quarry(tmp_path, sleep_s=0.01)
    moments = random.Random(3)
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-m", "lycosa", "extract", "-q", "-c", str(folder), "--quarry", name, "--workers", "2"]
        )
        time.sleep(moments.uniform(0.3, 0.8))
        children = list(descendants(process.pid))
        process.kill()
        process.wait()
        limit = time.monotonic() + 10
        while any(is_alive(pid) for pid in children):
            assert time.monotonic() < limit
            time.sleep(0.02)
    extract(folder, "--quarry", name)
    assert outcomes(folder) == {"done": 37, "error": 1, "crash": 1}
    doubled = rows(folder, "SELECT n, kind FROM record GROUP BY n, kind HAVING count(*) > 1")
    assert (rows(folder, "SELECT count(*) FROM record"), doubled) == ([(74,)], [])
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]


def test_ctrl_c_finishes_the_batch(folder: Path, tmp_path: Path) -> None:
    """The first one ends with 130 and what was begun is kept; the same command continues."""
    name = quarry(tmp_path, sleep_s=0.1)
    process = subprocess.Popen(
        [sys.executable, "-m", "lycosa", "extract", "-c", str(folder), "--quarry", name, "--workers", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    limit = time.monotonic() + 20
    while not outcomes(folder):
        assert time.monotonic() < limit
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Finishing what is under way" in err
    assert "Interrupted; `lycosa extract` continues from here." in out
    done = outcomes(folder).get("done", 0)
    assert 0 < done < 37
    extract(folder, "--quarry", quarry(tmp_path))
    assert outcomes(folder)["done"] == 37


def test_two_at_once_are_refused(folder: Path, tmp_path: Path) -> None:
    """One extraction of a collection at a time; the second says who is first."""
    name = quarry(tmp_path, sleep_s=0.2)
    first = subprocess.Popen([sys.executable, "-m", "lycosa", "extract", "-q", "-c", str(folder), "--quarry", name])
    limit = time.monotonic() + 20
    while not (folder / "extract.lock").exists() or not (folder / "extract.lock").read_text():
        assert time.monotonic() < limit
        time.sleep(0.02)
    said = extract(folder, "--quarry", name, code=2)
    assert f"is being extracted from (process {first.pid})" in said
    first.send_signal(signal.SIGINT)
    first.send_signal(signal.SIGINT)
    assert first.wait(60) == 130


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "No quarry is named that says what to extract: --quarry FILE.py:CLASS"),
        (("--quarry", "none.py:X"), "there is no file"),
        (("--quarry", "x y"), 'quarry is "x y"; allowed: FILE.py:CLASS or package.module:CLASS'),
        (("--quarry", "lycosa.quarry:Quarry"), "has no method extract(self, doc)"),
        (("--quarry", "lycosa.quarry:Quarry", "none.warc.gz"), "The file none.warc.gz cannot be found."),
        (("--set", "extract.memory_bytes=1MB"), "extract.memory_bytes is"),
    ],
)
def test_mistakes_are_explained(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    """With exit code 2, and nothing written."""
    assert said in extract(folder, *arguments, code=2)
    assert outcomes(folder) == {}


def test_a_missing_collection_is_told(tmp_path: Path) -> None:
    """Without files there is nothing to make one of."""
    assert "cannot be found; name one with --collection" in extract(
        tmp_path / "no", "--quarry", quarry(tmp_path), code=2
    )
    assert not (tmp_path / "no").exists()


# Archive files of other tools


def write_foreign(path: Path, *, form: str = "records") -> None:
    """An archive as another tool writes it: requests, a redirect, a revisit, chunks, a resource."""
    html_head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    records = [record("warcinfo", "", "software: another\r\n", "application/warc-fields")]
    for n in range(5):
        page, url = f"<title>foreign {n}</title>", f"http://b.test/{n}"
        records.append(record("request", url, f"GET /{n} HTTP/1.1\r\nHost: b.test\r\n\r\n"))
        chunks = f"Transfer-Encoding: chunked\r\n\r\n{len(page):x}\r\n{page}\r\n0\r\n\r\n" if n == 3 else f"\r\n{page}"
        records.append(record("response", url, html_head + chunks))
    records.append(record("response", "http://b.test/old", "HTTP/1.1 301 Moved\r\nLocation: /1\r\n\r\n"))
    records.append(record("revisit", "http://b.test/same", html_head + "\r\n"))
    records.append(record("resource", "http://b.test/resource", "<title>plain</title>", "text/html"))
    if form == "records":
        records = [gzip.compress(one) for one in records]
    whole = b"".join(records)
    path.write_bytes(gzip.compress(whole) if form == "whole" else whole)


def record(kind: str, url: str, block: str, mime: str = "application/http") -> bytes:
    target = f"WARC-Target-URI: {url}\r\n" if url else ""
    fields = f"WARC-Type: {kind}\r\nWARC-Date: 2020-01-02T03:04:05Z\r\n{target}Content-Type: {mime}\r\n"
    return f"WARC/1.0\r\n{fields}Content-Length: {len(block)}\r\n\r\n{block}\r\n\r\n".encode()


@pytest.mark.parametrize("form", ["records", "whole", "plain"])
def test_archives_of_other_tools_are_read(tmp_path: Path, form: str) -> None:
    """Gzipped by the record, as a whole, or not at all: lines of JSON in the order of the file, with no collection."""
    path = tmp_path / f"x.warc{'' if form == 'plain' else '.gz'}"
    write_foreign(path, form=form)
    run = [sys.executable, "-m", "lycosa", "extract", "--quarry", quarry(tmp_path), str(path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    titles = [line["data"]["title"] for line in lines if line["kind"] == "title"]
    assert titles == [*(f"foreign {n}" for n in range(5)), "plain"]
    assert {line["warc"] for line in lines} == {str(path)}
    assert len({line["offset"] for line in lines}) == 6
    assert lines[0]["fetched"] == "2020-01-02T03:04:05Z"
    assert "12 records from 6 documents" in done.stderr
    assert "1 record has no body" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["titles.py", path.name])


def test_archives_of_other_tools_go_into_a_collection(folder: Path, tmp_path: Path) -> None:
    """Beside the records of its own pages, or into a new one; a second time nothing is done."""
    write_foreign(tmp_path / "x.warc.gz")
    name = quarry(tmp_path)
    for where in (folder, tmp_path / "fresh"):
        assert "12 records from 6 documents" in extract(where, "--quarry", name, str(tmp_path / "x.warc.gz"))
        with Collection(where) as collection:
            found = [record for record in collection.records(kind="title") if "b.test" in record.url]
            assert len(found) == 6
            assert found[0].warc == str(tmp_path / "x.warc.gz")
    assert "0 records from 0 documents" in extract(folder, "--quarry", name, str(tmp_path / "x.warc.gz"))
    assert "39 documents" in extract(folder, "--quarry", name)


def test_a_broken_archive_gives_what_it_has(tmp_path: Path) -> None:
    """Cut in the middle, or nothing of the kind: told, and the exit code says that not all was read."""
    write_foreign(tmp_path / "x.warc.gz")
    whole = (tmp_path / "x.warc.gz").read_bytes()
    (tmp_path / "cut.warc.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "none.warc").write_bytes(b"no archive at all\n" * 5)
    run = [sys.executable, "-m", "lycosa", "extract", "--quarry", quarry(tmp_path), "cut.warc.gz", "none.warc"]
    done = subprocess.run([*run, "-o", "out.jsonl"], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 7, done.stderr
    assert "cut.warc.gz: 1 place cannot be read." in done.stderr
    assert "none.warc: " in done.stderr
    assert 2 <= len((tmp_path / "out.jsonl").read_text().splitlines()) < 12


@pytest.mark.parametrize("form", ["records", "whole", "plain"])
@pytest.mark.parametrize("share", [0.2, 0.45, 0.6, 0.95])
def test_an_archive_that_was_cut_is_told(tmp_path: Path, form: str, share: float) -> None:
    """Wherever it was cut, what is whole is read, half a page becomes no record, and the exit code says so."""
    path = tmp_path / f"x.warc{'' if form == 'plain' else '.gz'}"
    write_foreign(path, form=form)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    run = [sys.executable, "-m", "lycosa", "extract", "--quarry", quarry(tmp_path), path.name, "-o", "out.jsonl"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 7, done.stderr
    assert path.name in done.stderr
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    titles = [record["data"]["title"] for record in found if record["kind"] == "title"]
    assert titles == [f"foreign {n}" for n in range(5)][: len(titles)]


# Beside the crawl


def site(web: Web, count: int = 30) -> None:
    web["a.test/"] = html(*(str(n) for n in range(count)), title="root")
    for n in range(count):
        web[f"a.test/{n}"] = html(title=f"page {n}")


def mission(folder: Path, name: str, more: str = "") -> str:
    path = folder / "mission.toml"
    path.write_text(f'name = "titles"\nseeds = ["http://a.test/"]\nquarry = "{name}"\n{more}')
    return str(path)


def test_a_crawl_extracts_while_it_runs(web: Web, tmp_path: Path) -> None:
    """The quarry's file is looked up beside the mission; at the end nothing is left; a second round does only news."""
    site(web)
    quarry(tmp_path)
    file = mission(tmp_path, "titles.py:Titles")
    said = crawl(web, tmp_path / "c", file)
    assert "62 records from 31 documents" in said
    assert "by Titles 1. Nothing is left to extract." in said
    assert outcomes(tmp_path / "c") == {"done": 31}
    web["a.test/3"] = html(title="changed")
    assert "2 records from 1 document in" in crawl(web, tmp_path / "c", "--recrawl", "--full")
    assert rows(tmp_path / "c", "SELECT mission, count(*) FROM record GROUP BY 1") == [("titles", 64)]
    with Collection(tmp_path / "c") as collection:
        assert len(list(collection.records())) == 62  # those of the pages as they are now
        (now,) = collection.records(url="http://a.test/3", kind="title")
        assert now.data["title"] == "changed"
    assert "0 records from 0 documents" in extract(tmp_path / "c")  # the collection knows its quarry


def test_with_no_workers_it_is_left_for_later(web: Web, tmp_path: Path) -> None:
    """`extract.workers = 0`, and a quarry without extract: the crawl starts nothing."""
    site(web, 3)
    quarry(tmp_path)
    said = crawl(web, tmp_path / "c", mission(tmp_path, "titles.py:Titles", "[extract]\nworkers = 0\n"))
    assert "record" not in said
    assert not (tmp_path / "c/extract.lock").exists()
    assert "8 records from 4 documents" in extract(tmp_path / "c")


def test_the_crawl_does_not_wait_for_slow_pages(web: Web, tmp_path: Path) -> None:
    """Ctrl-C ends both; what was not extracted is left for `lycosa extract`."""
    site(web, 20)
    quarry(tmp_path, sleep_s=0.5)
    process = subprocess.Popen(
        command(web, tmp_path / "c", mission(tmp_path, "titles.py:Titles")),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    limit = time.monotonic() + 20
    while len(web.paths()) < 21:
        assert time.monotonic() < limit
        time.sleep(0.05)
    time.sleep(1.0)
    children = list(descendants(process.pid))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "Interrupted; `lycosa extract` continues from here." in out
    assert not any(is_alive(pid) for pid in children)
    quarry(tmp_path)
    extract(tmp_path / "c")
    assert outcomes(tmp_path / "c") == {"done": 21}


def test_a_killed_crawl_leaves_nothing_behind_and_continues(web: Web, tmp_path: Path) -> None:
    """kill -9 of the crawl ends the extraction beside it; the next crawl does what is left, and nothing twice."""
    site(web)
    quarry(tmp_path, sleep_s=0.03)
    file = mission(tmp_path, "titles.py:Titles")
    process = subprocess.Popen(command(web, tmp_path / "c", "-q", file), stdout=subprocess.DEVNULL)
    limit = time.monotonic() + 20
    while not (tmp_path / "c/crawl.db").exists() or not outcomes(tmp_path / "c"):
        assert time.monotonic() < limit
        time.sleep(0.02)
    children = list(descendants(process.pid))
    process.kill()
    process.wait()
    while any(is_alive(pid) for pid in children):
        assert time.monotonic() < limit + 20
        time.sleep(0.05)
    crawl(web, tmp_path / "c", file)
    assert outcomes(tmp_path / "c") == {"done": 31}
    assert rows(tmp_path / "c", "SELECT count(*), count(DISTINCT n || kind) FROM record") == [(62, 62)]


def test_a_quarry_that_raises_does_not_stop_the_crawl(web: Web, tmp_path: Path) -> None:
    """recognise, links and score: the crawl goes on without their answer, counts, and writes the first ones down."""
    site(web, 5)
    web["a.test/extra"] = html(title="extra")
    more = """
    def recognise(self, doc):
        if doc.url.endswith("3"):
            raise KeyError("odd")
        return "page:" + doc.kind

    def links(self, doc):
        yield Link("/extra")
        if doc.url.endswith("2"):
            raise SystemExit("no")

    def score(self, link, doc):
        return 1 / (len(link.href) - 1)

    def explain(self, link, doc):
        return {"length": len(link.href)}
"""
    name = quarry(tmp_path, more=more)
    said = crawl(web, tmp_path / "c", mission(tmp_path, name), "--order", "best")
    assert outcomes(tmp_path / "c") == {"done": 7}
    assert "see logs/errors.log" in said
    log = (tmp_path / "c/logs/errors.log").read_text()
    assert "quarry recognise http://a.test/3 KeyError: 'odd' (titles.py:" in log
    assert "quarry links http://a.test/2 SystemExit: no" in log
    assert "quarry score http://a.test/ ZeroDivisionError" in log
    run = [sys.executable, "-m", "lycosa", "why", "-c", str(tmp_path / "c"), "http://a.test/3"]
    told = json.loads(subprocess.run(run, capture_output=True, text=True, timeout=60).stdout)
    assert told["score"]["parts"] == {"length": 1.0}
    kinds = dict(rows(tmp_path / "c", "SELECT url, kind FROM pages"))
    assert (kinds["http://a.test/3"], kinds["http://a.test/4"]) == ("", "page:html")


def test_a_wrong_quarry_stops_a_crawl_before_it_begins(web: Web, tmp_path: Path) -> None:
    """Exit code 2, and nothing is written or fetched."""
    said = crawl(web, tmp_path / "c", mission(tmp_path, "none.py:X"), code=2)
    assert f"there is no file {tmp_path}/none.py" in said
    assert not (tmp_path / "c").exists()
    assert web.asked == []


def test_a_crawl_from_python_takes_a_class(web: Web, tmp_path: Path) -> None:
    """A class of the program itself; without the usual guard the program is told what is missing."""
    site(web, 3)
    program = tmp_path / "program.py"
    text = f"""
from lycosa import crawl
from lycosa.model import Record
from lycosa.quarry import Quarry

class Sizes(Quarry):
    def extract(self, doc):
        yield Record("size", {{"bytes": len(doc.body)}})

GUARD
    with crawl("http://a.test/", collection="c", quarry=Sizes, connect_to=["{web.connect_to}"], delay=0) as found:
        print(len(list(found.records(kind="size"))))
"""
    program.write_text(text.replace("GUARD", 'if __name__ == "__main__":'))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.stdout == "4\n", done.stderr
    program.write_text(text.replace("GUARD", "if True:").replace('"c"', '"d"'))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert 'put the call under `if __name__ == "__main__":`' in done.stderr


def test_the_example(web: Web, tmp_path: Path) -> None:
    """The mission in examples/ runs as its comment says."""
    for path in sorted((ROOT / "examples/site").rglob("*")):
        if path.is_file() and path.suffix in (".html", ".txt"):
            name = str(path.relative_to(ROOT / "examples/site")).removesuffix("index.html")
            kind = "text/html" if path.suffix == ".html" else "text/plain"
            web[f"localhost/{name}"] = Reply(path.read_bytes(), headers={"Content-Type": kind})
    said = crawl(web, tmp_path / "c", str(ROOT / "examples/outline.toml"))
    assert "4 records from 5 documents" in said
    with Collection(tmp_path / "c") as collection:
        (wolf,) = collection.records(url="http://localhost:8000/spiders/wolf.html")
    assert wolf.data == {"title": "Wolf spiders", "language": "en", "headings": ["h1 Wolf spiders"], "words": 15}
    assert os.path.basename(wolf.warc) == wolf.warc
