"""Bodies larger than what is held in memory: whatever reads the archive gives all of them, or says that it does not."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crawl_runs import crawl, rows
from support.loopback import Reply, Web, html

from lycosa import Collection
from lycosa.collection.collection import BODY_BYTES

SIZE = BODY_BYTES + 1000
MEMORY = """
import re, sys
from lycosa.cli.main import main
code = main(sys.argv[1:])
print(code, re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A collection with a page, and a file that is larger than what is held in memory."""
    web = Web()
    web["a.test/"] = html("/data.bin")
    web["a.test/data.bin"] = Reply(_content(), headers={"Content-Type": "application/octet-stream"})
    folder = tmp_path_factory.mktemp("large") / "c"
    crawl(web, folder, "http://a.test/", "--workers", "1", "--set", f"limits.body_bytes={SIZE + 1}")
    web.close()
    yield folder


def _content() -> bytes:
    return (b"wolf spiders hunt " * (SIZE // 18 + 1))[:SIZE]


def _run_small(*arguments: str) -> str:
    """Run a command that must not hold the body in memory; returns what it wrote."""
    command = [sys.executable, "-c", MEMORY, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    code, peak = done.stdout.split()[-2:]
    assert (code, int(peak) < 150_000) == ("0", True), done.stdout + done.stderr
    return done.stdout


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest()


def test_a_mirror_has_all_of_it(folder: Path, tmp_path: Path) -> None:
    """The file in the mirror is the file of the server, and memory holds a small part of it at a time."""
    _run_small("export", "mirror", "-c", str(folder), "-o", str(tmp_path / "mirror"))
    assert _digest(tmp_path / "mirror/a.test/data.bin") == hashlib.sha1(_content()).hexdigest()


def test_an_intact_archive_is_not_called_damaged(folder: Path) -> None:
    """However large its bodies are, `verify` reads them to the end."""
    out = _run_small("verify", "-c", str(folder), "--format", "jsonl")
    assert json.loads(out.splitlines()[0])["problems"] == []


def test_a_body_in_memory_says_that_it_is_cut(folder: Path) -> None:
    """`Page.body` gives the beginning and `problem` says so; `stream` gives everything."""
    with Collection(folder) as collection:
        page = collection.page("http://a.test/data.bin")
        small = collection.page("http://a.test/")
        assert page is not None and small is not None
        # The limit bounds the record, of which the head of the answer is a part.
        assert BODY_BYTES - 1000 < len(page.body) <= BODY_BYTES
        assert "only the first" in page.problem
        assert small.problem == ""
        stream = page.stream()
        assert sum(map(len, stream)) == SIZE
        assert (stream.problem, stream.is_cut) == ("", False)


def test_a_lost_database_has_it_again(folder: Path) -> None:
    """What is made anew from the archive is the same page, and is not fetched again."""
    sql = "SELECT url, size, hex(digest), mime, state FROM pages JOIN urls USING (url) ORDER BY url"
    before = rows(folder, sql)
    for path in folder.glob("crawl.db*"):
        path.unlink()
    web = Web()
    crawl(web, folder, "http://a.test/", "--workers", "1", "--set", f"limits.body_bytes={SIZE + 1}")
    assert web.asked == []
    web.close()
    assert rows(folder, sql) == before
    assert {path.name for path in folder.iterdir()}.isdisjoint({"crawl.db.records", "crawl.db.records.body"})
