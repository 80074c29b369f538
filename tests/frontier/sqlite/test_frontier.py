"""The frontier on disk: what lasts, what several processes do to it, and what it says when it cannot be used."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.memory_frontier import MemoryFrontier

from lycosa.errors import CollectionError, DiskFull
from lycosa.frontier.contract import Frontier
from lycosa.frontier.partitions import PARTITIONS, host_key, part_of, spans
from lycosa.frontier.seen import Seen
from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.sqlite.integrity import find_damage
from lycosa.frontier.sqlite.key_index import KeyFilter
from lycosa.model import Batch, Discovery, LastmodHint, Outcome, PageRow, State, VisitHistory, WarcRow
from lycosa.urls import host_of, url_id

ME = "here:0"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.db"
    SqliteFrontier.create(path, mission_toml="name = 'test'", now=1.0)
    return path


def found(url: str, *, score: float = 0.0, depth: int = 0, state: int = 0, reason: str = "") -> Discovery:
    return Discovery(url_id(url), url, host_of(url), state, reason, score, depth)


def batch(founds: list[Discovery], dones: list[Outcome] | None = None) -> Batch:
    return Batch(discoveries=founds, outcomes=dones or [], hosts=[], robots=[], trap_counts={})


def leased(path: Path, *, recent_max: int = 500_000) -> SqliteFrontier:
    frontier = SqliteFrontier(path, recent_max=recent_max, unpack_links=lambda packed: packed.decode().split())
    frontier.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=1e9)
    return frontier


# What lasts


def test_what_is_known_stays_known_after_a_transaction_that_was_rolled_back(path: Path) -> None:
    """Also one in which keys were moved from memory to the sorted table: they are in neither otherwise."""
    addresses = [found(f"http://a.test/{n}") for n in range(140)]
    frontier = leased(path, recent_max=100)
    frontier.commit(batch(addresses[:100]), owner=ME, now=0.0)
    page = PageRow(5.0, 200, digest=b"1" * 20, title="\ud800")  # half a character: it is written a second time, without
    frontier.commit(
        batch(addresses[100:], [Outcome(1, "a.test", State.FETCHED, http=200, page=page)]), owner=ME, now=0.0
    )
    frontier.commit(batch(addresses), owner=ME, now=0.0)
    assert apsw.Connection(str(path)).execute("SELECT count(*), count(DISTINCT id) FROM url").fetchall() == [(140, 140)]


def test_everything_is_there_after_opening_again(path: Path) -> None:
    """URLs, results, seeds and settings survive closing; known URLs stay known."""
    first = leased(path, recent_max=4)
    first.seeds.add([found("http://a.test/")])
    first.commit(batch([found(f"http://a.test/{n}") for n in range(20)]), owner=ME, now=0.0)
    page = PageRow(5.0, 200, digest=b"d", etag='"1"', links=b"x")
    first.commit(batch([], [Outcome(1, "a.test", State.FETCHED, http=200, page=page)]), owner=ME, now=0.0)
    first.close()
    second = leased(path, recent_max=4)
    assert second.seeds.all() == ["http://a.test/"]
    assert second.meta("mission") == "name = 'test'"
    assert second.known.content_holder(b"d") == (1, "http://a.test/", 5.0)
    assert second.commit(batch([found(f"http://a.test/{n}") for n in range(21)]), owner=ME, now=0.0).woken_hosts == {
        "a.test"
    }
    assert second.figures.counts() == {State.FETCHED: 1, State.PENDING: 21}
    second.close()


KILLED = """
import sys
from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Batch, Discovery, Outcome, PageRow
from lycosa.urls import url_id

frontier = SqliteFrontier(sys.argv[1], recent_max=64)
frontier.leases.clear()
frontier.leases.acquire("here:0", want=PARTITIONS, now=0.0, ttl_s=1e9)
start = int(sys.argv[2])
for number in range(start, start + 100_000):
    urls = [f"http://host{link % 5}.test/{number}/{link}" for link in range(10)]
    found = [Discovery(url_id(url), url, url.split("/")[2]) for url in urls]
    targets = frontier.targets.load("host1.test", limit=3)
    page = lambda n: PageRow(1.0, 200, digest=n.to_bytes(20, "big"), links=b"links" * 100)
    done = [Outcome(target.row, target.host, 1, page=page(target.row)) for target in targets]
    batch = Batch(discoveries=found, outcomes=done, hosts=[], robots=[], trap_counts={}, warc="w", warc_size=number)
    frontier.commit(batch, owner="here:0", now=0.0)
    print(number, *(target.row for target in targets), flush=True)
"""


def test_kill_loses_nothing_that_was_acknowledged(path: Path) -> None:
    """Ten times killed at a random moment: every acknowledged batch is there whole, and the file is sound."""
    randomness = random.Random(2)
    acknowledged: list[int] = []
    done: set[int] = set()
    for _ in range(10):
        start = acknowledged[-1] + 2 if acknowledged else 0  # the batch after the last may have been written
        command = [sys.executable, "-c", KILLED, str(path), str(start)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            lines = [child.stdout.readline()]
            time.sleep(randomness.random() * 0.15)
            child.send_signal(signal.SIGKILL)
            lines += child.stdout.readlines()
        for line in lines:
            if line.endswith("\n"):
                number, *ns = map(int, line.split())
                acknowledged.append(number)
                done.update(ns)
    assert len(acknowledged) > 20
    frontier = SqliteFrontier(path)
    for number in acknowledged:
        assert all(frontier.known.find(f"http://host{link % 5}.test/{number}/{link}") for link in range(10))
    frontier.close()
    db = apsw.Connection(str(path))
    assert db.execute("PRAGMA integrity_check").get == "ok"
    assert done <= {
        n for (n,) in db.execute("SELECT n FROM url JOIN page USING (n) JOIN link USING (n) WHERE state = 1")
    }
    assert int(db.execute("SELECT size FROM warc").get) >= acknowledged[-1]
    assert_consistent(db)
    db.close()


OPENER = """
import sys
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.sqlite import changes
changes.ROUND_CHUNK = 20
frontier = SqliteFrontier(sys.argv[1])
if len(frontier.rounds.listing()) == 1:
    frontier.rounds.begin(now=100.0, step_s=10.0, everything=False)
print("begun", flush=True)
frontier.rounds.open_due(max_s=1e9)
print("opened", flush=True)
"""


def test_the_start_of_a_round_is_killed_and_goes_on(path: Path) -> None:
    """Deciding what a round visits can be interrupted anywhere: nothing is left out, and nothing counted twice."""
    frontier = leased(path)
    urls = [found(f"http://host{number % 7}.test/{number}") for number in range(4000)]
    frontier.commit(batch(urls), owner=ME, now=0.0)
    dones = [
        Outcome(
            n,
            host_of(url.url),
            State.FETCHED if n % 3 else State.GONE,
            http=200,
            history=VisitHistory(interval=n % 2 * 1e6),
        )
        for n, url in enumerate(urls, 1)
    ]
    frontier.commit(batch([], dones), owner=ME, now=0.0)
    frontier.close()
    opened = []
    for attempt in range(8):
        with subprocess.Popen([sys.executable, "-c", OPENER, str(path)], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None and child.stdout.readline() == "begun\n"
            time.sleep(0.003 * attempt)
            child.kill()
        db = apsw.Connection(str(path))
        opened.append(db.execute("SELECT opened FROM round WHERE round = 2").get)
        assert_consistent(db)
        db.close()
    assert opened == sorted(opened)
    frontier = leased(path)
    frontier.rounds.open_due(max_s=1e9)
    assert frontier.figures.counts() == {State.PENDING: 2000, State.FETCHED: 1333, State.GONE: 667}
    assert frontier.rounds.open_due(max_s=1e9) == 0
    frontier.close()


def assert_consistent(db: apsw.Connection) -> None:
    """No URL twice, and every counter as if it had been counted."""
    assert db.execute("SELECT count(*) - count(DISTINCT id) FROM url").get == 0
    counted = dict(Counter((state, reason) for state, reason in db.execute("SELECT state, reason FROM url")))
    kept = {(state, reason): count for state, reason, count in db.execute("SELECT * FROM stat WHERE count <> 0")}
    assert kept == counted
    moved = "(SELECT upto FROM moved WHERE name = 'url')"
    missing = (
        f"SELECT count(*) FROM url LEFT JOIN known USING (host, id) WHERE known.n IS NOT url.n AND url.n <= {moved}"
    )
    assert db.execute(missing).get == 0
    number = db.execute("SELECT max(round) FROM round").get
    seen = "SELECT count(*) FROM url WHERE state IN (1, 2) AND digest <> x'' AND round = ? AND via <> 'sitemap'"
    stored = db.execute("SELECT count FROM figure WHERE name = 'stored' AND key = ?", (str(number),)).get
    assert (stored or 0) == db.execute(seen, (number,)).get
    pages = db.execute("SELECT count FROM figure WHERE name = 'pages'").get
    assert (pages or 0) == db.execute("SELECT total(pages) FROM host").get


# Several processes

CROWD = """
import random, sys
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Batch, Discovery, Outcome, PageRow
from lycosa.urls import url_id

owner = sys.argv[2]
frontier = SqliteFrontier(sys.argv[1], recent_max=200)
parts = frontier.leases.acquire(owner, want=86, now=0.0, ttl_s=1e9)
randomness = random.Random(owner)
hosts = [row.host for row in frontier.targets.hosts(parts)]
fetched = 0
for turn in range(60):
    hosts += frontier.targets.inbox(parts)
    targets = [target for host in set(hosts) for target in frontier.targets.load(host, limit=2)]
    numbers = [randomness.randrange(3000) for _ in range(60)]
    urls = [f"http://host{number % 50}.test/{number}" for number in numbers]
    found = [Discovery(url_id(url), url, url.split("/")[2]) for url in urls]
    page = lambda n: PageRow(1.0, 200, digest=(n % 500).to_bytes(20, "big"))
    done = [Outcome(target.row, target.host, 1, page=page(target.row)) for target in targets]
    batch = Batch(discoveries=found, outcomes=done, hosts=[], robots=[], trap_counts={("h.test", "k"): 1})
    hosts += frontier.commit(batch, owner=owner, now=0.0).woken_hosts
    fetched += len(done)
print(fetched)
"""


def test_processes_share_one_file(path: Path) -> None:
    """Three workers find the same URLs at the same time: each is kept once, fetched once, and told to its owner."""
    first = leased(path)
    first.seeds.add([found(f"http://host{n}.test/{n}") for n in range(50)])
    first.leases.clear()
    first.close()
    commands = [[sys.executable, "-c", CROWD, str(path), f"here:{n}"] for n in range(3)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    fetched = [int(child.communicate(timeout=60)[0]) for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    db = apsw.Connection(str(path))
    assert_consistent(db)
    assert db.execute("SELECT count(*) FROM page").get == sum(fetched) > 1000
    assert db.execute("SELECT count(*) FROM page WHERE n IN (SELECT n FROM url WHERE state = 1)").get == 500
    assert db.execute("SELECT count(*) - count(DISTINCT digest) FROM content").get == 0
    assert db.execute("SELECT count FROM tally").get == 180
    db.close()


def test_what_another_worker_bars_meanwhile_is_not_taken_for_open(path: Path) -> None:
    """A worker that begins reads the table without holding it; whatever is committed then, links may still lift it."""
    one, two = leased(path), SqliteFrontier(path)
    one.commit(batch([found("http://a.test/open")]), owner=ME, now=0.0)
    index, barred = two._conn.urls, found("http://a.test/barred", state=State.REJECTED, reason="nofollow")

    class Between:
        """The connection; between the two statements that read keys, the other worker commits."""

        read = 0

        def execute(self, sql: str, *values: object) -> apsw.Cursor:
            self.read += sql in (index._log.recent, index._log.closed)
            if self.read == 2:
                one.commit(batch([barred]), owner=ME, now=0.0)
            return db.execute(sql, *values)  # type: ignore[arg-type]

    db, index._db = index._db, Between()  # type: ignore[assignment]
    two.known.recall("http://a.test/open")
    assert two.known.holds(url_id("http://a.test/open")) and not two.known.holds(barred.url_hash)


def test_a_dead_mover_is_replaced(path: Path) -> None:
    """A worker that died while it moved keys to the sorted table leaves nothing that others could stumble over."""
    one = leased(path, recent_max=10)
    one.commit(batch([found(f"http://a.test/{n}") for n in range(1000)]), owner=ME, now=0.0)
    one.commit(batch([found("http://a.test/one more")]), owner=ME, now=0.0)
    one._conn.db.close()  # without a word
    two = leased(path, recent_max=10)
    for n in range(1000, 1200):
        two.commit(batch([found(f"http://a.test/{n}"), found(f"http://a.test/{n - 1000}")]), owner=ME, now=0.0)
    db = apsw.Connection(str(path))
    assert db.execute("SELECT upto FROM moved WHERE name = 'url'").get > 1000
    assert two.figures.counts() == {State.PENDING: 1201}
    assert_consistent(db)
    db.close()
    two.close()


# The same as in memory

URLS = [f"http://host{number % 4}.test/{number}" for number in range(24)]
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("commit"),
            st.lists(st.tuples(st.integers(0, 23), st.integers(0, 4), st.sampled_from([0, 0, 0, 8])), max_size=6),
            st.lists(
                st.tuples(st.integers(0, 3), st.sampled_from([1, 1, 1, 2, 4, 6, 7, 9]), st.integers(0, 5)), max_size=3
            ),
        ),
        st.tuples(st.just("due"), st.integers(0, 20)),
        st.tuples(st.just("reject"), st.integers(0, 3)),
        st.tuples(st.just("requeue"), st.integers(0, 23)),
        st.tuples(st.just("seed"), st.integers(0, 23)),
        st.tuples(st.just("round"), st.integers(0, 30), st.booleans()),
        st.tuples(st.just("hint"), st.lists(st.tuples(st.integers(0, 23), st.integers(1, 3)), max_size=12)),
    ),
    max_size=25,
)


def play(frontier: Frontier, step: tuple, max_depth: int) -> object:  # type: ignore[type-arg]
    """Do one step; returns what the frontier answered."""
    verb, *rest = step
    if verb == "due":
        return sorted(frontier.targets.wake_due(range(PARTITIONS), rest[0]))
    if verb == "reject":
        return frontier.changes.end_host(f"host{rest[0]}.test", "host-budget")
    if verb == "requeue":
        row = frontier.known.find(URLS[rest[0]])
        return None if row is None else frontier.losses.requeue([row.row])
    if verb == "round":
        number = frontier.rounds.begin(
            now=frontier.rounds.listing()[-1].started + rest[0], step_s=10, everything=rest[1]
        )
        return number, frontier.rounds.open_due(max_s=40), frontier.rounds.open_due(max_s=40)
    if verb == "hint":
        hints = [LastmodHint(url_id(URLS[number]), host_of(URLS[number]), float(date)) for number, date in rest[0]]
        told = Batch(discoveries=[], outcomes=[], hosts=[], robots=[], trap_counts={}, hints=hints)
        return frontier.commit(told, owner=ME, now=0.0).woken_hosts
    if verb == "seed":
        return frontier.seeds.add([found(URLS[rest[0]])], max_depth=max_depth), frontier.seeds.all()
    founds = []
    for number, depth, state in rest[0]:
        deep = max_depth >= 0 and depth > max_depth
        reason = "depth" if deep else "scope" if state else ""
        founds.append(found(URLS[number], depth=depth, state=8 if deep else state, reason=reason, score=float(depth)))
    dones = []
    for host, state, digest in rest[1]:
        for target in frontier.targets.load(f"host{host}.test", limit=1, skip=[done.row for done in dones]):
            links = " ".join(URLS[(target.row * 7 + link) % 24] for link in range(3)).encode()
            page = PageRow(1.0, 200, "text/html", digest=bytes([digest]), links=links) if state == 1 else None
            redirect = URLS[target.row * 5 % 24] if state == 4 else ""
            if redirect:
                founds.append(found(redirect))
                founds[-1].seed = target.seed
            past = VisitHistory(interval=digest * 10.0)
            dones.append(Outcome(target.row, target.host, state, "r", 200 + state, 1.0, 10.0, 1, page, redirect, past))
    committed = frontier.commit(batch(founds, dones), owner=ME, now=0.0, max_depth=max_depth)
    return committed.woken_hosts, committed.duplicates, committed.stored


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps, max_depth=st.integers(-1, 3), recent_max=st.sampled_from([2, 5, 1000]))
def test_disk_and_memory_agree(
    tmp_path_factory: pytest.TempPathFactory, steps, max_depth: int, recent_max: int
) -> None:  # type: ignore[no-untyped-def]
    """Any sequence of steps has the same answers on disk as in the plain model of it."""
    path = tmp_path_factory.mktemp("agree") / "crawl.db"
    SqliteFrontier.create(path, mission_toml="", now=0.0)
    disk = leased(path, recent_max=recent_max)
    memory = MemoryFrontier(unpack_links=lambda packed: packed.decode().split())
    memory.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=1e9)
    for step in steps:
        assert play(disk, step, max_depth) == play(memory, step, max_depth), step
        assert disk.figures.counts() == memory.figures.counts()
        assert (disk.figures.stored(), disk.figures.pages()) == (memory.figures.stored(), memory.figures.pages())
        assert disk.rounds.listing()[1:] == memory.rounds.listing()[1:]
        assert disk.figures.summary(top=99) == memory.figures.summary(top=99)
        for host in range(4):
            assert disk.targets.load(f"host{host}.test", limit=99) == memory.targets.load(f"host{host}.test", limit=99)
    assert [disk.known.find(url) for url in URLS] == [memory.known.find(url) for url in URLS]
    disk.close()
    db = apsw.Connection(str(path))
    assert_consistent(db)
    db.close()


# What it says when it cannot be used


def message(path: Path) -> str:
    with pytest.raises(CollectionError) as refused:
        SqliteFrontier(path)
    text = str(refused.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def test_it_refuses_what_is_not_its_own(tmp_path: Path, path: Path) -> None:
    """Another program's database, a text file, nothing at all, an existing database to create: one sentence each."""
    other = tmp_path / "other.db"
    db = apsw.Connection(str(other))
    db.execute("CREATE TABLE mine (x)")
    db.close()
    assert "is not a lycosa crawl database" in message(other)
    (tmp_path / "text").write_text("this is no database at all\n" * 100)
    assert "is not a lycosa crawl database" in message(tmp_path / "text")
    assert "There is no crawl database at" in message(tmp_path / "nothing")
    (tmp_path / "empty").touch()
    assert "is not a lycosa crawl database" in message(tmp_path / "empty")
    with pytest.raises(CollectionError, match="exists already"):
        SqliteFrontier.create(path, mission_toml="", now=0.0)


def test_it_refuses_a_newer_version(path: Path) -> None:
    """A database of a later schema is left alone."""
    db = apsw.Connection(str(path))
    db.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (schema.VERSION + 1,))
    db.close()
    assert "was made by a newer lycosa" in message(path)


def test_it_brings_an_older_version_up_to_date(tmp_path: Path) -> None:
    """A collection of the first release has all that this one looks for, and its next round visits all of it."""
    path = tmp_path / "old.db"
    db = apsw.Connection(str(path))
    db.execute((Path(__file__).parents[2] / "support/version1.sql").read_text()).fetchall()
    db.close()
    assert find_damage(path, thorough=True, unpack=lambda packed: []) == ""
    frontier = leased(path)
    db = frontier._conn.db
    assert int(db.execute("SELECT value FROM meta WHERE key = 'schema'").get) == schema.VERSION
    assert frontier.segments.here() == [WarcRow("w.warc.gz", 10)]
    assert list(db.execute("SELECT n, round, links FROM link")) == [(1, 1, b"\1")]
    assert db.execute(schema.NEWEST_LINKS, (1,)).get == b"\1"
    assert db.execute("SELECT count(*) FROM record LEFT JOIN extracted USING (n, round, quarry)").get == 0
    (first,) = frontier.rounds.listing()
    assert (first.started, first.ended, first.why, first.answers, first.new) == (1000.0, 1020.5, "", 4, 2)
    assert (frontier.figures.pages(), frontier.figures.stored(), frontier.known.host("a.test").pages) == (1, 1, 1)
    frontier.rounds.begin(now=2000.0, step_s=60.0, everything=False)
    assert frontier.rounds.open_due(max_s=1e6) == 4
    assert frontier.known.host("a.test").pages == 0
    targets = frontier.targets.load("a.test", limit=9)
    assert [target.etag for target in targets] == ['"e1"', "", "", ""]
    unchanged = [Outcome(target.row, target.host, State.UNCHANGED, http=304) for target in targets if target.digest]
    frontier.commit(batch([], unchanged), owner=ME, now=0.0)
    assert frontier.figures.counts() == {State.PENDING: 1, State.UNCHANGED: 2, State.DUPLICATE: 1, State.REJECTED: 1}
    assert (frontier.rounds.listing()[1].unchanged, frontier.figures.pages(), frontier.figures.stored()) == (2, 1, 1)
    frontier.close()


def test_a_killed_attempt_to_make_one_is_begun_anew(tmp_path: Path) -> None:
    """A database has its name only when it is whole."""
    (tmp_path / "crawl.db.new").write_bytes(b"half of one")
    (tmp_path / "crawl.db.new-wal").write_bytes(b"and its log")
    SqliteFrontier.create(tmp_path / "crawl.db", mission_toml="", now=0.0)
    assert [path.name for path in tmp_path.iterdir()] == ["crawl.db"]
    SqliteFrontier(tmp_path / "crawl.db").close()


def test_it_says_that_it_is_damaged(path: Path) -> None:
    """A file with overwritten pages is reported, when it is opened or when the page is read."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    with pytest.raises(CollectionError, match="damaged"):
        SqliteFrontier(path).figures.counts()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_it_says_what_is_forbidden(path: Path) -> None:
    """No permission to read, or only to read."""
    path.chmod(0o000)
    assert "Permission denied" in message(path)
    path.chmod(0o400)
    assert "read-only" in message(path)


def test_a_full_disk_is_said_and_survived(path: Path) -> None:
    """When no room is left the batch is refused whole; with room again the same batch is taken."""
    frontier = leased(path)
    frontier._conn.db.execute("PRAGMA max_page_count = 60")
    rows = batch([found(f"http://a.test/{n}/{'x' * 200}") for n in range(2000)])
    with pytest.raises(DiskFull):
        frontier.commit(rows, owner=ME, now=0.0)
    assert frontier.figures.counts() == {} and not frontier.known.holds(rows.discoveries[0].url_hash)
    frontier._conn.db.execute("PRAGMA max_page_count = 100000")
    frontier.commit(rows, owner=ME, now=0.0)
    assert frontier.figures.counts() == {State.PENDING: 2000} and frontier.known.holds(rows.discoveries[0].url_hash)
    frontier.close()


# Small parts


def test_the_next_target_is_read_from_the_index(path: Path) -> None:
    """Neither loading nor the look for work sorts or scans."""
    from lycosa.frontier.sqlite import changes, targets

    frontier = leased(path)
    statements = {
        targets._LOAD: ("h", 1, 1, 0.0),
        targets._LOAD_OTHERS: ("h", 1, 1, 0.0, None),
        targets._NEXT_DUE: (1,),
        targets._LEFT: (),
        targets._INBOX: (1, 2),
        targets._BUSY_HOSTS: (1, 2, 1),
        targets._DUE: (1, 1.0, 1),
        changes._HEAD: (1, "http:", 1),
    }
    for sql, bindings in statements.items():
        plan = " ".join(str(row) for row in frontier._conn.db.execute(f"EXPLAIN QUERY PLAN {sql}", bindings))
        assert "TEMP B-TREE" not in plan, sql
        assert "SCAN url'" not in plan, sql
        assert "SCAN host'" not in plan, sql
    frontier.close()


def test_people_can_read_the_tables(path: Path) -> None:
    """The views speak of states by name and of hosts by name."""
    frontier = leased(path)
    frontier.commit(
        batch([found("http://a.test/"), found("http://a.test/x", state=8, reason="scope")]), owner=ME, now=0
    )
    page = PageRow(5.0, 200, "text/html", title="T", digest=b"\x01\xff")
    frontier.commit(batch([], [Outcome(1, "a.test", State.FETCHED, http=200, at=5.0, page=page)]), owner=ME, now=0)
    db = frontier._conn.db
    assert db.execute("SELECT host, state, reason FROM urls ORDER BY n").fetchall() == [
        ("a.test", "fetched", ""),
        ("a.test", "rejected", "scope"),
    ]
    assert db.execute("SELECT url, title, digest, fetched FROM pages").fetchall() == [
        ("http://a.test/", "T", "01ff", "1970-01-01 00:00:05")
    ]
    frontier.close()


def test_partitions_are_ranges_of_keys() -> None:
    """Every host lies in the range of its partition, and neighbours form one range."""
    for number in range(1000):
        name = f"host{number}.test"
        ((low, high),) = spans([part_of(name)])
        assert low <= host_key(name) <= high
    assert spans(range(PARTITIONS)) == [(-(2**63), 2**63 - 1)]
    assert len(spans([3, 1, 2, 9])) == 2


def test_a_filter_never_forgets() -> None:
    """What was added is always found; of the rest nearly nothing."""
    keys = [random.Random(5).getrandbits(64) - 2**63 for _ in range(1)] + [url_id(str(n)) for n in range(2000)]
    filter_ = KeyFilter(bits=16)
    filter_.add(keys)
    assert all(key in filter_ for key in keys)
    assert sum(url_id(f"other {n}") in filter_ for n in range(2000)) < 150


def test_seen_is_bounded_and_keeps_what_repeats() -> None:
    """An id is new once; after two generations without a sign of it, it may be new again."""
    seen = Seen(size=100)
    assert seen.add(-1)
    for number in range(1000):
        assert seen.add(number)
        assert not seen.add(number)
        assert not seen.add(-1)
        assert len(seen) <= 200
    assert seen.add(0)
