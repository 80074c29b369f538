"""Merging collections: the union of what they hold, the best that is known of each URL, nothing half done."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.loopback import Web, html

from lycosa import Collection, urls
from lycosa.archive.repair import apply_repair, inspect
from lycosa.archive.writer import ArchiveWriter
from lycosa.cli.main import main
from lycosa.collection.folder import lock
from lycosa.config.settings import LimitSettings, Mission
from lycosa.config.toml import to_toml
from lycosa.errors import CollectionError, UsageError
from lycosa.frontier import link_codec
from lycosa.frontier.sqlite import merge as merging
from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Answer, Batch, Discovery, HostRow, Outcome, PageRow, RobotsRow, State, Target
from lycosa.repair.merge import merge_collections
from lycosa.repair.recovery import clear_merge

AT = 1_700_000_000.0
SEED = "http://h0.test/0"


def url_of(n: int) -> str:
    return f"http://h{n % 3}.test/{n}"


def links_of(n: int) -> list[int]:
    """A web in which each page leads to three others."""
    return [(2 * n + 1) % 12, (2 * n + 2) % 12, (n * 5) % 12]


class Half:
    """A crawl of some pages, in the order given, as far as it went."""

    def __init__(self, folder: Path, *, at: float, tag: str = "", mission: Mission = Mission()) -> None:  # noqa: B008
        self.folder, self.at, self.tag = folder, at, tag
        self.pages: Counter[str] = Counter()
        (folder / "archive").mkdir(parents=True)
        SqliteFrontier.create(folder / "crawl.db", mission_toml="", now=at)
        (folder / "lycosa.toml").write_text(to_toml(replace(mission, seeds=(SEED,))))
        self.frontier = SqliteFrontier(folder / "crawl.db")
        self.frontier.seeds.add([Discovery(urls.url_id(SEED), SEED, urls.host_of(SEED), seed=True, via="seed")])
        self.frontier.leases.acquire("me:0", want=256, now=at, ttl_s=1e9)
        self.archive = ArchiveWriter(folder / "archive", prefix="half", max_bytes=1 << 30, software="test", info={})

    def fetch(self, n: int, fate: str = "fetched") -> None:
        """Take the page in if it is known: its links become known, and its body is kept once."""
        url = url_of(n)
        row = self.frontier.known.find(url)
        if row is None or row.state != State.PENDING:
            return
        host = urls.host_of(url)
        founds, page, state = [], None, State.FETCHED
        if fate == "fetched":
            body = f"body {n // 2}{self.tag}".encode()  # neighbours are equal
            target = Target(row.row, urls.url_id(url), url, host)
            answer = Answer(
                target, status=200, head=b"HTTP/1.1 200 OK\r\n\r\n", body=body, size=len(body), began=self.at
            )
            digest = hashlib.sha1(body).digest()
            rows = [(url_of(m), f"to {m}", True) for m in links_of(n)]
            if self.frontier.known.content_holder(digest) is None:
                place = self.archive.add(answer, digest=digest, mime="text/plain")
            else:
                state = State.DUPLICATE
                place = self.archive.add_revisit(
                    answer, digest=digest, refers_to_url=url, refers_to_date=AT, profile="identical"
                )
            warc, offset, length = place
            page = PageRow(
                self.at, 200, mime="text/plain", digest=digest, size=len(body), warc=warc, offset=offset,
                length=length, links=link_codec.pack(rows),
            )  # fmt: skip
            founds = [
                Discovery(
                    urls.url_id(to), to, urls.host_of(to), depth=row.depth + 1, parent=row.row, via="a", anchor=text
                )
                for to, text, _ in rows
            ]
        else:
            state = {"gone": State.GONE, "failed": State.FAILED, "rejected": State.REJECTED}[fate]
        name, size = self.archive.flush()
        reason = "" if fate == "fetched" else {"gone": "http-404", "failed": "timeout", "rejected": "robots"}[fate]
        done = Outcome(row.row, host, int(state), reason=reason, http=200 * (fate == "fetched"), at=self.at, page=page)
        self.pages[host] += state == State.FETCHED
        hosts = [HostRow(host, pages=self.pages[host])]
        batch = Batch(founds, [done], hosts=hosts, robots=[], trap_counts={}, warc=name, warc_size=size)
        self.frontier.commit(batch, owner="me:0", now=self.at)

    def close(self) -> Path:
        self.archive.close()
        self.frontier.close()
        return self.folder


def crawl_half(folder: Path, steps: list[tuple[int, str]], *, at: float = AT, tag: str = "") -> Path:
    half = Half(folder, at=at, tag=tag)
    for n, fate in steps:
        half.fetch(n, fate)
    return half.close()


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


def dump(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What a collection holds, by URL and not by row number."""
    fate = "state, coalesce(reason, ''), http, coalesce(fetched_at, 0), hex(digest), seed, depth, via, anchor"
    return {
        "url": rows(folder, f"SELECT url, {fate} FROM url ORDER BY url"),
        "parent": rows(folder, "SELECT url.url, p.url FROM url LEFT JOIN url AS p ON p.n = url.parent ORDER BY 1"),
        "page": rows(folder, """
            SELECT url, page.round, page.fetched_at, mime, size, hex(page.digest), warc, offset, length
            FROM page JOIN url USING (n) ORDER BY 1, 2"""),
        "link": rows(folder, "SELECT url, link.round, hex(links) FROM link JOIN url USING (n) ORDER BY 1, 2"),
        "content": rows(folder, """
            SELECT hex(content.digest), url, content.round FROM content JOIN url USING (n) ORDER BY 1"""),
        "seed": rows(folder, "SELECT url, given FROM seed JOIN url USING (n) ORDER BY 1"),
        "host": rows(folder, "SELECT name, pages, errors FROM host ORDER BY 1"),
        "stat": rows(folder, "SELECT * FROM stat WHERE count ORDER BY 1, 2"),
        "figure": rows(folder, "SELECT * FROM figure WHERE count ORDER BY 1, 2"),
        "warc": rows(folder, "SELECT name, size FROM warc ORDER BY 1"),
    }  # fmt: skip


def check(folder: Path) -> None:
    """The database is sound, its counters are right, everything in it is found, and every body is there."""
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    counted = rows(folder, "SELECT state, coalesce(reason, ''), count(*) FROM url GROUP BY 1, 2 ORDER BY 1, 2")
    assert counted == rows(folder, "SELECT * FROM stat WHERE count ORDER BY 1, 2")
    frontier = SqliteFrontier(folder / "crawl.db")
    for n, url in rows(folder, "SELECT n, url FROM url"):
        found = frontier.known.find(url)
        assert found is not None and found.row == n
    for digest, n in rows(folder, "SELECT digest, n FROM content"):
        holder = frontier.known.content_holder(digest)
        assert holder is not None and holder[0] == n
    number = len(frontier.rounds.listing())
    assert (
        number
        == int(frontier.meta("round") or 0)
        == max(1, *(row[0] for row in rows(folder, "SELECT round FROM page")))
    )
    frontier.close()
    with Collection(folder) as collection:
        for page in collection:
            assert hashlib.sha1(page.body).hexdigest() == page._digest.hex()


FATES = st.sampled_from(["fetched", "fetched", "fetched", "gone", "failed", "rejected"])
STEPS = st.lists(st.tuples(st.integers(0, 11), FATES), max_size=14).map(lambda steps: [(0, "fetched"), *steps])


@settings(max_examples=20, deadline=None)
@given(one=STEPS, two=STEPS, same=st.booleans())
def test_a_merge_holds_the_union(
    tmp_path_factory: pytest.TempPathFactory, one: list[tuple[int, str]], two: list[tuple[int, str]], same: bool
) -> None:
    """Every URL and every copy of a page of both; what is known best wins; the way from the seed is one of theirs."""
    folder = tmp_path_factory.mktemp("merge")
    first = crawl_half(folder / "a", one)
    second = crawl_half(folder / "b", two, at=AT + 1000, tag="" if same else " new")
    merged = folder / "c"
    merge_collections([first, second], into=merged)
    check(merged)
    was = [dump(first), dump(second)]
    now = dump(merged)
    assert {row[0] for row in now["url"]} == {row[0] for side in was for row in side["url"]}
    copies = {row[:1] + row[2:6] for side in was for row in side["page"]}
    assert {row[:1] + row[2:6] for row in now["page"]} == copies
    assert len({row[5] for row in now["page"]}) == len(now["content"])
    rank = {1: 3, 2: 3, 3: 3, 4: 3, 5: 3, 6: 3, 7: 2, 0: 1, 9: 1, 8: 0}
    known = [{row[0]: row for row in side["url"]} for side in was]
    for url, state, reason, _, at, *_ in now["url"]:
        sides = [side[url] for side in known if url in side]
        best = max(sides, key=lambda row: (rank[row[1]], row[4] if rank[row[1]] > 1 else 0))
        assert (rank[state], reason, at) == (rank[best[1]], best[2], best[4])
    ways = {row for side in was for row in side["parent"]}
    assert set(now["parent"]) <= ways
    held = {row[0]: row[5] for row in now["url"] if row[5]}
    newest = {url: digest for url, _, _, _, _, digest, *_ in now["page"]}  # sorted by round: the last one counts
    latest = {url: digest for side in was for url, _, _, _, _, digest, *_ in side["page"]}
    assert newest == latest == held


@settings(max_examples=8, deadline=None)
@given(steps=STEPS)
def test_a_collection_merged_with_itself_is_itself(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]]
) -> None:
    """Nothing is doubled, nothing is lost; into a new one or into itself."""
    folder = tmp_path_factory.mktemp("merge")
    first = crawl_half(folder / "a", steps)
    before = dump(first)
    shutil.copytree(first, folder / "b")
    report = merge_collections([first, folder / "b"], into=folder / "c")
    assert dump(folder / "c") == before
    assert [done.new for done in report.merged.values()] == [0]
    merge_collections([first, folder / "b"])
    assert dump(first) == before
    check(first)


def test_rounds_keep_the_newest_copy_on_top(tmp_path: Path) -> None:
    """Different copies of one page become rounds of it, oldest first, whichever collection is named first."""
    old = crawl_half(tmp_path / "old", [(0, "fetched"), (1, "fetched")])
    new = crawl_half(tmp_path / "new", [(0, "fetched")], at=AT + 5, tag=" new")
    for name, order in (("x", [old, new]), ("y", [new, old])):
        merge_collections(order, into=tmp_path / name)
        check(tmp_path / name)
        assert [row[:3] for row in dump(tmp_path / name)["page"]] == [
            (url_of(0), 1, AT), (url_of(0), 2, AT + 5), (url_of(1), 1, AT),
        ]  # fmt: skip
        with Collection(tmp_path / name) as collection:
            page = collection.page(SEED)
            assert page is not None and page.body == b"body 0 new"
            fate = collection.why(SEED).fate
            assert fate is not None and fate.copies == 2
            assert [(visit.round, visit.event) for visit in fate.visits] == [(2, "changed")]
            assert rows(tmp_path / name, "SELECT value FROM meta WHERE key = 'round'") == [(2,)]


def test_small_things_are_united(tmp_path: Path) -> None:
    """The newer robots.txt, the higher trap counter, seeds, strikes, records of each content and quarry once."""
    folders = []
    for at, name in ((AT, "a"), (AT + 10, "b")):
        half = Half(tmp_path / name, at=at)
        half.fetch(0)
        robots = RobotsRow("http://h0.test:80", at, 200, name.encode())
        tallies = {("h0.test", "queries:/"): 20 if name == "a" else 30}
        half.frontier.commit(Batch([], [], hosts=[], robots=[robots], trap_counts=tallies), owner="me:0", now=at)
        half.frontier.changes.strike(2)
        folders.append(half.close())
        with closing(apsw.Connection(str(tmp_path / name / "crawl.db"))) as db:
            for n, quarry in ((1, "both"), (1, name), (-1, name)):
                at_round = 1 if n > 0 else 0
                db.execute(
                    "INSERT INTO extracted (n, round, quarry, outcome) VALUES (?, ?, ?, 'done')", (n, at_round, quarry)
                )
                cells = (n, at_round, quarry, name)
                db.execute("INSERT INTO record (n, round, quarry, kind, json) VALUES (?, ?, ?, ?, '{}')", cells)
            db.execute("INSERT INTO guest (url, warc, offset) VALUES ('http://g.test/', ?, 5)", (f"/{name}.warc",))
    merge_collections(folders, into=tmp_path / "c")
    merged = tmp_path / "c"
    assert rows(merged, "SELECT body FROM robots") == [(b"b",)]
    assert rows(merged, "SELECT count FROM tally") == [(30,)]
    assert rows(merged, "SELECT count FROM strike") == [(1,)]
    assert rows(merged, "SELECT url, given FROM seed JOIN url USING (n)") == [(SEED, 1)]
    found = rows(merged, "SELECT quarry, kind, n > 0 FROM record ORDER BY 1, 3 DESC")
    assert found == [("a", "a", 1), ("a", "a", 0), ("b", "b", 1), ("b", "b", 0), ("both", "a", 1)]
    assert rows(merged, "SELECT quarry, n > 0 FROM extracted ORDER BY 1, 2 DESC") == [
        ("a", 1), ("a", 0), ("b", 1), ("b", 0), ("both", 1)
    ]  # fmt: skip
    assert rows(merged, "SELECT quarry, warc FROM extracted JOIN guest ON id = -n ORDER BY 1") == [
        ("a", "/a.warc"), ("b", "/b.warc")
    ]  # fmt: skip


def test_depths_are_exact_after_a_merge(tmp_path: Path) -> None:
    """Under a depth limit a shorter way in one collection opens what the other one had refused."""
    mission = Mission(limits=LimitSettings(depth=2))
    one = Half(tmp_path / "a", at=AT, mission=mission)
    two = Half(tmp_path / "b", at=AT, mission=mission)
    for n in (0, 1, 3):
        one.fetch(n)
    seven = url_of(7)  # at depth 3 by way of 0, 1, 3
    row = one.frontier.known.find(seven)
    assert row is not None and row.depth == 3
    with closing(apsw.Connection(str(one.folder / "crawl.db"))) as db:
        db.execute("UPDATE url SET state = 8, reason = 'depth' WHERE n = ?", (row.row,))
    three = url_of(3)
    two.frontier.seeds.add([Discovery(urls.url_id(three), three, urls.host_of(three), seed=True, via="seed")])
    merge_collections([one.close(), two.close()], into=tmp_path / "c")
    check(tmp_path / "c")
    merged = {url: (state, depth) for url, state, *_, depth, _, _ in dump(tmp_path / "c")["url"]}
    assert merged[three][1] == 0
    assert merged[seven] == (int(State.PENDING), 1)


def test_archive_names_that_are_taken(tmp_path: Path) -> None:
    """Two different files of one name are both kept; the very same file once; pages find theirs."""
    one = crawl_half(tmp_path / "a", [(0, "fetched"), (1, "fetched")])
    two = crawl_half(tmp_path / "b", [(0, "fetched"), (2, "fetched")], at=AT + 1, tag=" two")
    (name,) = (path.name for path in (one / "archive").iterdir())
    (other,) = (path.name for path in (two / "archive").iterdir())
    if name != other:
        (two / "archive" / other).rename(two / "archive" / name)
        with closing(apsw.Connection(str(two / "crawl.db"))) as db:
            db.execute("UPDATE warc SET name = ?", (name,))
            db.execute("UPDATE page SET warc = ?", (name,))
    merge_collections([one, two], into=tmp_path / "c")
    check(tmp_path / "c")
    assert len(list((tmp_path / "c/archive").iterdir())) == 2
    merge_collections([tmp_path / "c", two, one])
    check(tmp_path / "c")
    files = list((tmp_path / "c/archive").iterdir())
    assert len(files) == 2 and {path.stat().st_nlink for path in files} == {2}
    merge_collections([one, two], into=tmp_path / "d", copy=True)
    check(tmp_path / "d")
    assert {path.stat().st_nlink for path in (tmp_path / "d/archive").iterdir()} == {1}


def test_a_linked_file_is_mended_for_one_collection_alone(tmp_path: Path) -> None:
    """Damage is repaired in the merged collection; the file of the other stays as it is, and it finds it itself."""
    one = crawl_half(tmp_path / "a", [(0, "fetched"), (1, "fetched")])
    two = crawl_half(tmp_path / "b", [(0, "fetched")], at=AT + 1, tag=" two")
    merge_collections([one, two], into=tmp_path / "c")
    (path,) = (one / "archive").iterdir()
    size = path.stat().st_size
    os.truncate(path, size - 10)
    frontier = SqliteFrontier(tmp_path / "c/crawl.db")
    for repair in inspect(tmp_path / "c/archive", frontier.segments.here()):
        apply_repair(tmp_path / "c/archive", repair)
    frontier.close()
    assert path.stat().st_size == size - 10
    assert path.stat().st_nlink == 1


def test_an_older_collection_is_only_read(tmp_path: Path) -> None:
    """One of an earlier version is brought up to date in a copy; an archive file that it lacks is told of."""
    one = crawl_half(tmp_path / "a", [(0, "fetched")])
    two = tmp_path / "b"
    two.mkdir()
    with closing(apsw.Connection(str(two / "crawl.db"))) as db:
        db.execute((Path(__file__).parents[1] / "support/version1.sql").read_text()).fetchall()
        db.execute("UPDATE meta SET value = '' WHERE key = 'mission'")
    report = merge_collections([one, two], into=tmp_path / "c")
    assert rows(two, "SELECT value FROM meta WHERE key = 'schema'") == [(1,)]
    assert rows(tmp_path / "c", "SELECT state FROM url WHERE url LIKE 'http://a.test/%' ORDER BY n") == [
        (1,), (3,), (6,), (1,),
    ]  # fmt: skip
    assert any("w.warc.gz is missing" in note for note in report.notes)


def test_what_cannot_be_merged_is_refused(tmp_path: Path) -> None:
    """Too few, not a collection, a newer one, one in use, a folder that is taken: one sentence, nothing written."""
    one = crawl_half(tmp_path / "a", [(0, "fetched")])
    two = crawl_half(tmp_path / "b", [(0, "fetched"), (1, "fetched")])
    before = dump(one)
    into = tmp_path / "c"
    with pytest.raises(UsageError, match="at least two"):
        merge_collections([one], into=into)
    with pytest.raises(CollectionError, match="does not exist"):
        merge_collections([one, tmp_path / "none"], into=into)
    with pytest.raises(CollectionError, match="has no crawl.db"):
        merge_collections([one, tmp_path], into=into)
    with lock(two), pytest.raises(CollectionError, match="in use"):
        merge_collections([one, two], into=into)
    with lock(one), pytest.raises(CollectionError, match="in use"):
        merge_collections([one, two])
    with pytest.raises(UsageError, match="name it first"):
        merge_collections([one, two], into=two)
    (tmp_path / "link").symlink_to("a")
    for same in (one, tmp_path / "b/../a", tmp_path / "link"):
        for target in (None, into, one):
            with pytest.raises(UsageError, match="are the same collection: name each once"):
                merge_collections([one, two, same], into=target)
    with pytest.raises(UsageError, match="belongs to the collection"):
        merge_collections([one, two], into=one / "archive/c")
    with pytest.raises(CollectionError, match="exists already"):
        merge_collections([one, two], into=tmp_path)
    with closing(apsw.Connection(str(two / "crawl.db"))) as db:
        db.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
    with pytest.raises(CollectionError, match="newer lycosa"):
        merge_collections([one, two], into=into)
    assert not into.exists() and not (tmp_path / "c.lycosa-merging").exists()
    assert dump(one) == before


#: Runs a command in a process whose files cannot grow beyond a size, as on a full disk.
CRAMPED = """
import resource, signal, sys
from lycosa.cli.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.exit(main(sys.argv[2:]))"""


def test_a_full_disk_leaves_nothing_half_done(tmp_path: Path) -> None:
    """Exit code 3; the first collection is as it was, a new one is not there, and the same command works later."""
    one = crawl_half(tmp_path / "a", [(0, "fetched")])
    two = crawl_half(tmp_path / "b", [(n, "fetched") for n in range(12)], at=AT + 1, tag=" " + "x" * 2000)
    before = dump(one)
    files = sorted(path.name for path in (one / "archive").iterdir())
    for size in (1 << 13, 1 << 15):
        command = [sys.executable, "-c", CRAMPED, str(size), "merge", str(one), str(two)]
        for extra in ([], ["--into", str(tmp_path / "c"), "--copy"]):
            done = subprocess.run([*command, *extra], capture_output=True, text=True, timeout=60)
            assert done.returncode == 3, done.stderr
            assert dump(one) == before
            assert sorted(path.name for path in (one / "archive").iterdir()) == files
            assert not (tmp_path / "c").exists() and not (tmp_path / "c.lycosa-merging").exists()
    merge_collections([one, two])
    check(one)


#: Merges into the first collection, and is gone when the archive files are there and the database is next.
KILLED = """
import os, sys
from pathlib import Path
from lycosa.repair import merge
merge.merge = lambda *_, **__: os._exit(9)
merge.merge_collections([Path(word) for word in sys.argv[1:]])"""


def test_a_killed_merge_is_done_anew(tmp_path: Path) -> None:
    """What a killed one left is cleared away, by the next merge or the next crawl."""
    one = crawl_half(tmp_path / "a", [(0, "fetched")])
    two = crawl_half(tmp_path / "b", [(0, "fetched"), (2, "fetched")], at=AT + 1, tag=" two")
    part = tmp_path / "c.lycosa-merging"
    shutil.copytree(one, part)
    (part / "archive/half-20240101000000-00000.warc.gz").write_bytes(b"half")
    merge_collections([one, two], into=tmp_path / "c")
    check(tmp_path / "c")
    assert not part.exists()
    files = sorted(path.name for path in (one / "archive").iterdir())
    done = subprocess.run([sys.executable, "-c", KILLED, str(one), str(two)], timeout=60)
    assert done.returncode == 9
    assert len(list((one / "archive").iterdir())) == len(files) + 1
    clear_merge(one, {name for name, _ in dump(one)["warc"]})
    assert sorted(path.name for path in (one / "archive").iterdir()) == files
    merge_collections([one, two])
    clear_merge(one, set())
    check(one)


def test_what_stays_behind_is_told(tmp_path: Path) -> None:
    """What an analysis found is not merged, whoever had it; a mission brings its own."""
    one = crawl_half(tmp_path / "a", [(0, "fetched")])
    two = crawl_half(tmp_path / "b", [(1, "fetched")])
    (two / "analysis.db").touch()

    def bring(into: Path, folder: Path, name: str) -> list[str]:
        return [f"{folder.name} into {name}"]

    report = merge_collections([one, two], into=tmp_path / "c", beside=bring)
    assert report.notes[:2] == ["a into c", "b into c"] and "analyse found" in report.notes[2]
    assert merge_collections([one, two], beside=bring).notes[0] == "b into a"


def test_two_crawls_become_one_that_goes_on(web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two crawls of half a web each, merged: the crawl goes on where both ended, with what one crawl of all has."""
    for host in ("a.test", "b.test"):
        for n in range(12):
            there = ["http://b.test/", "http://a.test/"] if n == 3 else []
            web[f"{host}/{n or ''}"] = html(
                f"/{(n + 1) % 12 or ''}", f"/{(n + 5) % 12 or ''}", *there, title=f"{host} {n}"
            )
    base = ("--delay", "0", "--contact", "mailto:t@lycosa.test", "--connect-to", web.connect_to, "-q")
    one, two, both, whole = (str(tmp_path / name) for name in ("one", "two", "both", "whole"))
    assert main(["crawl", "http://a.test/", "-c", one, "--limit", "6", *base]) == 5
    assert main(["crawl", "http://b.test/", "-c", two, "--limit", "5", *base]) == 5
    assert main(["crawl", "http://a.test/", "http://b.test/", "-c", whole, *base]) == 0
    capsys.readouterr()
    assert main(["merge", one, two, "-o", both, "--format", "text"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{both}: ") and f"{two} was made with other settings: limits.pages = 5 (now 6)" in said
    asked = len(web.paths())
    assert main(["crawl", "-c", both, "--limit", "0", "-q"]) == 0
    check(tmp_path / "both")
    with Collection(both) as merged, Collection(whole) as full:
        assert sorted(page.url for page in merged) == sorted(page.url for page in full)
        assert len(web.paths()) - asked == len(full) - 11  # what either of them had is not fetched again
        story = merged.why("http://b.test/11")
        assert story.path[0].via == "seed" and story.path[-1].url == "http://b.test/11"
        assert merged.mission.seeds == ("http://a.test/", "http://b.test/")
    assert main(["merge", one, two]) == 0
    assert json.loads(capsys.readouterr().out)["pages"] == 11


def test_every_table_has_its_rule(tmp_path: Path) -> None:
    """Who adds a table says how it is merged."""
    schema.create(tmp_path / "crawl.db", mission_toml="", now=AT)
    tables = rows(tmp_path, "SELECT name FROM sqlite_schema WHERE type = 'table'")
    assert {name for (name,) in tables} == merging.TABLES.keys()
