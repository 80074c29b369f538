"""What is stored and what is only read for its links (X5): by what the quarry recognises, by media type."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from support.crawl_runs import command, crawl, holdings, rows
from support.loopback import Reply, Web, html
from support.make_collection import make_collection

from lycosa.archive import unstored_log
from lycosa.archive.reader import iter_records
from lycosa.archive.writer import ArchiveWriter
from lycosa.cli.main import main
from lycosa.config.settings import KeepSettings, Mission
from lycosa.errors import UsageError
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.sqlite.targets import SqliteSegments
from lycosa.judge.admission.fetch_rules import make_storage_rules
from lycosa.model import WarcRow
from lycosa.repair.recovery import LOOKED_AT, _gather_side_files, reconcile_archive
from lycosa.repair.replay import CollectionSetup

NOTES = """
from lycosa.quarry import Quarry

class Notes(Quarry):
    def recognise(self, doc):
        return "note" if doc.kind == "text" else None
"""
ONLY = ("--set", "keep.what=recognised")


def make_site(web: Web) -> None:
    web["a.test/"] = html("/1", "/2", "/note.txt", "/moved", "/gone", title="root")
    web["a.test/1"] = html("/", "/deep", title="one")
    web["a.test/2"] = Reply(
        gzip.compress(html("/1").body), headers={"Content-Type": "text/html", "Content-Encoding": "gzip"}
    )
    web["a.test/deep"] = html("/deep.txt")
    web["a.test/moved"] = Reply(status=302, headers={"Location": "/2"})
    for name in ("note", "deep"):
        web[f"a.test/{name}.txt"] = Reply(name.encode(), headers={"Content-Type": "text/plain"})


def quarry(folder: Path) -> tuple[str, ...]:
    path = folder / "notes.py"
    path.write_text(NOTES)
    return "--set", f"quarry={path}:Notes"


def test_only_what_is_recognised_is_stored(web: Web, tmp_path: Path) -> None:
    """Other pages are read, their links followed and kept as links; the archive has a line on each of them."""
    make_site(web)
    folder = tmp_path / "c"
    said = crawl(web, folder, "http://a.test/", *quarry(tmp_path), *ONLY)
    assert "2 pages stored" in said
    assert rows(folder, "SELECT url, kind FROM pages ORDER BY url") == [
        ("http://a.test/deep.txt", "note"),
        ("http://a.test/note.txt", "note"),
    ]
    states = {
        url.removeprefix("http://a.test"): row for url, *row in rows(folder, "SELECT url, state, reason FROM urls")
    }
    assert states["/1"] == states["/"] == ["fetched", "not-quarry"]
    assert states["/gone"] == ["gone", "http-404"]
    assert [url for (url,) in rows(folder, "SELECT url FROM link JOIN url USING (n) ORDER BY url")] == [
        f"http://a.test/{name}" for name in ("", "1", "2", "deep")
    ]
    figures = rows(folder, "SELECT name, key, count FROM figure WHERE name LIKE 'read%' ORDER BY name")
    assert figures[0] == ("read", "\ttext/html", 4)
    assert figures[1][2] == sum(len(web.pages[f"a.test/{name}"].body) for name in ("", "1", "2", "deep"))
    (path,) = (folder / "archive").iterdir()
    records = list(iter_records(path))
    assert sorted(record.url for record in records if record.kind == "response") == [
        "http://a.test/deep.txt",
        "http://a.test/note.txt",
    ]
    lines = [line for record in records if record.kind == "metadata" for line in unstored_log.decode(record.body_raw)]
    noted = {line.url.removeprefix("http://a.test"): line for line in lines if line}
    assert (noted["/moved"].status, noted["/moved"].location) == (302, "/2")
    assert noted["/deep"].links == [("http://a.test/deep.txt", "to /deep.txt", "")]


def test_a_database_is_made_anew_from_the_lines(web: Web, tmp_path: Path) -> None:
    """The same URLs and counters, nothing is asked for again; verify finds nothing wrong.

    Of links, those are known that led to addresses not known before.
    """
    make_site(web)
    folder = tmp_path / "c"
    options = ("http://a.test/", *quarry(tmp_path), *ONLY, "--per-host", "1")
    crawl(web, folder, *options)
    before = holdings(folder)
    assert main(["verify", "--collection", str(folder)]) == 0
    (folder / "crawl.db").unlink()
    web.asked.clear()
    assert "made anew" in crawl(web, folder, *options)
    after = holdings(folder)
    assert {row[0] for row in after.pop(2)} < {row[0] for row in before.pop(2)}
    for found, expected in zip(after, before, strict=True):
        assert found == expected
    assert web.paths() == []


def test_types_are_dropped_by_pattern(web: Web, tmp_path: Path) -> None:
    """The black list needs no quarry; without it, the pages are fetched once more and stored."""
    make_site(web)
    folder = tmp_path / "c"
    crawl(web, folder, "http://a.test/", "--set", "keep.drop=^text/html$")
    assert len(rows(folder, "SELECT 1 FROM pages")) == 2
    assert {reason for (reason,) in rows(folder, "SELECT reason FROM urls WHERE state = 'fetched'")} == {
        "",
        "dropped-type",
    }
    web.asked.clear()
    said = crawl(web, folder, "http://a.test/", "--set", "keep.drop=[]")
    assert "Of what was read and not stored, 4 pages are fetched again" in said
    assert len(rows(folder, "SELECT 1 FROM pages")) == 6
    assert len(web.paths()) == 4


def test_the_next_round_reads_them_again(web: Web, tmp_path: Path) -> None:
    """A page without a copy is visited in every round, for the links that it may have got."""
    make_site(web)
    folder = tmp_path / "c"
    options = ("http://a.test/", *quarry(tmp_path), *ONLY)
    crawl(web, folder, *options)
    web["a.test/1"] = html("/new.txt")
    web["a.test/new.txt"] = Reply(b"new", headers={"Content-Type": "text/plain"})
    web.asked.clear()
    crawl(web, folder, *options, "--recrawl")
    assert {"a.test/", "a.test/1", "a.test/2", "a.test/new.txt"} <= set(web.paths())
    assert len(rows(folder, "SELECT 1 FROM pages")) == 3


def test_the_lines_of_a_later_round_name_all_that_waits(web: Web, tmp_path: Path) -> None:
    """The newest line of a page is the one that is read when the database is lost: it must not rely on older ones."""
    web["a.test/"] = html("/h0", "/h1")
    for page in range(2):
        web[f"a.test/h{page}"] = html(*(f"/p{page}-{n}.txt" for n in range(5)))
    web.make = lambda address: Reply(address.encode(), headers={"Content-Type": "text/plain"})
    folder = tmp_path / "c"
    options = ("http://a.test/", *quarry(tmp_path), *ONLY, "--per-host", "1")
    crawl(web, folder, *options, "--limit", "2", code=5)
    crawl(web, folder, *options, "--limit", "2", "--recrawl", code=5)
    before = rows(folder, "SELECT url FROM urls ORDER BY url")
    (folder / "crawl.db").unlink()
    crawl(web, folder, *options, "--limit", "1", code=5)
    assert rows(folder, "SELECT url FROM urls ORDER BY url") == before and len(before) == 13


def test_a_white_list_needs_a_quarry() -> None:
    """Without one nothing would ever be stored."""
    assert make_storage_rules(Mission()) is None
    with pytest.raises(UsageError, match="there is none"):
        make_storage_rules(Mission(keep=KeepSettings(what="recognised")))
    with pytest.raises(UsageError, match="keep.drop"):
        make_storage_rules(Mission(keep=KeepSettings(drop=("(",))))


def test_lines_survive_what_the_network_writes() -> None:
    """Half a surrogate pair, a line that is none."""
    entry = unstored_log.UnstoredAnswer("http://a/", 1.0, 200, links=[("http://b/", "half \ud800", "")])
    assert unstored_log.decode(unstored_log.encode(entry) + b"nonsense\n\xff\n")[1:] == [None, None]
    assert unstored_log.decode(unstored_log.encode(entry))[0].links == [("http://b/", "half ?", "")]


def test_lines_of_both_forms_are_read() -> None:
    """Addresses of the same origin are written without it and come back whole; what was an object is read as before."""
    links = [
        ("http://a.b/c", "one", ""),
        ("http://a.b//", "", "img"),
        ("http://a.bc/", "", ""),
        ("https://a.b/", "", ""),
    ]
    entry = unstored_log.UnstoredAnswer("http://a.b/", 1.0625, 200, "not-quarry", "text/html", "", 7, "", links)
    line = unstored_log.encode(entry)
    assert b'["/c","one",""]' in line
    (row,) = unstored_log.decode(line)
    assert row is not None
    assert msgspec.structs.astuple(row) == msgspec.structs.astuple(msgspec.structs.replace(entry, at=1.062))
    assert unstored_log.decode(msgspec.json.encode(entry)) == [entry]


@pytest.mark.parametrize("lost", [False, True])
def test_a_killed_crawl_has_its_lines(lost: bool, web: Web, tmp_path: Path) -> None:
    """What was read is known after kill -9, even if the database is lost as well: it stands in the second file.

    The next run puts it where it would have been.
    """
    make_site(web)
    web["a.test/2"] = Reply(b"late", headers={"Content-Type": "text/plain"}, delay_s=30.0)
    folder = tmp_path / "c"
    options = ("http://a.test/", *quarry(tmp_path), *ONLY, "--workers", "1", "--delay", "0")
    running = subprocess.Popen(command(web, folder, *options), start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    count = "SELECT count(*) FROM url WHERE state <> 0"
    while time.monotonic() < deadline:
        if (folder / "crawl.db").exists() and rows(folder, count) == [(7,)]:
            break
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert rows(folder, count) == [(7,)]
    assert [path.name for path in (folder / "archive").glob("*-notes-*")] == [
        name for (name,) in rows(folder, "SELECT name FROM warc WHERE name LIKE '%-notes-%'")
    ]
    web["a.test/2"] = html("/1")
    if lost:
        (folder / "crawl.db").unlink()
    web.asked.clear()
    crawl(web, folder, *options)
    assert web.paths() == ["a.test/2"]
    assert rows(folder, count) == [(8,)]
    assert main(["verify", "--collection", str(folder)]) == 0
    assert list((folder / "archive").glob("*-notes-*")) == []
    assert rows(folder, "SELECT name FROM warc WHERE name LIKE '%-notes-%'") == []
    (folder / "crawl.db").unlink()
    web.asked.clear()
    crawl(web, folder, *options)
    assert (web.paths(), rows(folder, count)) == ([], [(8,)])


@pytest.mark.parametrize("count", [10, 600])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_lines_of_a_killed_crawl_are_gathered(moment: str, count: int, tmp_path: Path) -> None:
    """Whenever that is killed in its turn, the next run has every line, and knows the same of each address."""
    folder = make_collection(tmp_path / "c", [(f"http://a.test/{n}", "text/html", b"x") for n in range(count)])
    known_urls = rows(folder, "SELECT url, state, reason, http, fetched FROM urls ORDER BY n")
    wanted = [
        unstored_log.encode(unstored_log.UnstoredAnswer(f"http://a.test/{n}", float(n), 404)) for n in range(count)
    ]
    side = ArchiveWriter(folder / "archive", prefix="lycosa-01-notes", max_bytes=0, software="", info={})
    for line in wanted:
        side.add_unstored(line)
    name, size = side.flush(last=True)
    side.close()
    frontier = SqliteFrontier(folder / "crawl.db")
    frontier.segments.record([WarcRow(name, size, size)])

    class Killed(BaseException):
        pass

    def record_warcs(rows: Iterable[WarcRow]) -> None:
        if moment == "after":
            SqliteSegments.record(frontier.segments, rows)
        raise Killed

    frontier.segments.record = record_warcs  # type: ignore[method-assign]
    with pytest.raises(Killed):
        _gather_side_files(folder / "archive", frontier, "lycosa-00")
    del frontier.segments.record
    plan = CollectionSetup(folder, Mission(), None, SqliteFrontier)
    reconcile_archive(plan, frontier)
    known = {row.name for row in frontier.segments.here()}
    frontier.close()
    assert {path.name for path in (folder / "archive").iterdir()} == known and name not in known
    records = [record for path in (folder / "archive").iterdir() for record in iter_records(path)]
    lines = b"".join(each.body_raw for each in records if each.kind == "metadata").splitlines(keepends=True)
    assert set(lines) == set(wanted)
    assert len(lines) == count or count > LOOKED_AT  # so many are taken in without a look at each
    assert rows(folder, "SELECT url, state, reason, http, fetched FROM urls ORDER BY n") == known_urls


def test_limits_count_what_is_stored(web: Web, tmp_path: Path) -> None:
    """A page that is read and not stored takes nothing of a limit; continued, the next ones are stored."""
    web["a.test/"] = html(*(f"/{n}" for n in range(20)), *(f"/{n}.txt" for n in range(20)))
    for n in range(20):
        web[f"a.test/{n}"] = html(title=str(n))
        web[f"a.test/{n}.txt"] = Reply(f"note {n}".encode(), headers={"Content-Type": "text/plain"})
    options = ("http://a.test/", *quarry(tmp_path), *ONLY)
    said = crawl(web, tmp_path / "c", *options, "--limit", "3", code=5)
    assert "3 pages stored" in said
    assert len(rows(tmp_path / "c", "SELECT 1 FROM pages")) == 3
    assert "5 pages stored" in crawl(web, tmp_path / "c", *options, "--limit", "8", code=5)


def test_lines_that_were_not_committed_are_taken_in(web: Web, tmp_path: Path) -> None:
    """What the archive tells and the database does not know is not fetched again: pages read, moved and gone."""
    make_site(web)
    folder = tmp_path / "c"
    options = ("http://a.test/", *quarry(tmp_path), *ONLY, "--workers", "1", "--per-host", "1")
    crawl(web, folder, *options, "--depth", "0")
    known = (folder / "crawl.db").read_bytes()
    crawl(web, folder, *options, "--depth", "-1")
    expected = holdings(folder)[0]
    (folder / "crawl.db").write_bytes(known)  # as if the log had been lost
    web.asked.clear()
    crawl(web, folder, *options, "--depth", "-1")
    assert holdings(folder)[0] == expected
    assert web.paths() == []
