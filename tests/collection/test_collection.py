"""Reading collections: the Python interface, status, queries, listings."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import msgspec
import pytest

from lycosa import Collection, urls
from lycosa.archive.writer import ArchiveWriter
from lycosa.collection.listing import RowFilter, list_rows, state_name
from lycosa.collection.query import select
from lycosa.collection.status import format_status, read_status
from lycosa.errors import CollectionError, LycosaError, UsageError
from lycosa.frontier import link_codec
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Answer, Batch, Discovery, Outcome, PageRow, State, Target

HOME = "http://site.test/"
TEXT = "http://site.test/notes.txt"
COPY = "http://site.test/copy"
GONE = "http://site.test/gone"
FAR = "http://far.test/"
AT = 1_700_000_000.0

HOME_BODY = b"<html><title>=HYPERLINK(1)</title><p>Hello <b>world</b> <a href=/notes.txt>Notes</a></p></html>"


def found(url: str, *, state: State = State.PENDING, reason: str = "", parent: int = 0) -> Discovery:
    return Discovery(
        urls.url_id(url), url, urls.host_of(url), state=int(state), reason=reason, depth=int(parent > 0), parent=parent
    )


def answer(target: Target, body: bytes, *, mime: str, coding: str = "") -> Answer:
    fields = {"content-type": mime, "date": "Tue, 14 Nov 2023 22:13:20 GMT"} | (
        {"content-encoding": coding} if coding else {}
    )
    head = "HTTP/1.1 200 OK\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
    return Answer(target, status=200, head=head.encode(), headers=fields, body=body, size=len(body), began=AT)


def keep(
    archive: ArchiveWriter, got: Answer, *, title: str = "", rows: list[tuple[str, str, bool]] | None = None
) -> Outcome:
    digest = hashlib.sha1(got.body).digest()
    mime = got.headers["content-type"].partition(";")[0]
    warc, offset, length = archive.add(got, digest=digest, mime=mime)
    page = PageRow(
        AT, 200, mime=mime, charset="utf-8", title=title, size=got.size, digest=digest, warc=warc, offset=offset,
        length=length, links=link_codec.pack(rows or []),
    )  # fmt: skip
    return Outcome(got.target.row, got.target.host, int(State.FETCHED), http=200, at=AT, page=page)


def keep_copy(archive: ArchiveWriter, got: Answer, first: Outcome) -> Outcome:
    assert first.page is not None
    warc, offset, length = archive.add_revisit(
        got, refers_to_url=HOME, refers_to_date=AT, digest=first.page.digest, profile="identical"
    )
    page = msgspec.structs.replace(first.page, warc=warc, offset=offset, length=length, links=b"")
    return Outcome(got.target.row, got.target.host, int(State.DUPLICATE), http=200, at=AT, page=page)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of two pages and a copy, one URL that is gone, one that was rejected, one that waits."""
    folder = tmp_path_factory.mktemp("look") / "collection"
    (folder / "archive").mkdir(parents=True)
    SqliteFrontier.create(folder / "crawl.db", mission_toml="", now=AT)
    frontier = SqliteFrontier(
        folder / "crawl.db", unpack_links=lambda packed: [row[0] for row in link_codec.unpack(packed)]
    )
    frontier.seeds.add([msgspec.structs.replace(found(HOME), seed=True)])
    frontier.leases.acquire("me:0", want=256, now=AT, ttl_s=1e9)
    (seed,) = frontier.targets.load("site.test", limit=10)
    rest = [found(url, parent=seed.row) for url in (TEXT, COPY, GONE, HOME + "later")]
    with ArchiveWriter(folder / "archive", prefix="test", max_bytes=1 << 30, software="test", info={}) as archive:
        rows = [(TEXT, "Notes", True), (FAR, "Far \u202e\x1b[31maway", False)]
        home = keep(archive, answer(seed, HOME_BODY, mime="text/html; charset=utf-8"), title="=HYPERLINK(1)", rows=rows)
        outside = found(FAR, state=State.REJECTED, reason="scope", parent=seed.row)
        commit(frontier, archive, [*rest, outside], [home])
        targets = {target.url: target for target in frontier.targets.load("site.test", limit=10)}
        packed = gzip.compress("Plain text, größer".encode())
        text = keep(archive, answer(targets[TEXT], packed, mime="text/plain; charset=utf-8", coding="gzip"))
        copy = keep_copy(archive, answer(targets[COPY], HOME_BODY, mime="text/html; charset=utf-8"), home)
        gone = Outcome(targets[GONE].row, "site.test", int(State.GONE), reason="http-404", http=404, at=AT)
        commit(frontier, archive, [], [text, copy, gone])
    frontier.set_meta("last_run", '{"pages": 3, "seconds": 1.5, "requests": 4, "ended_by": "", "stored": 3}')
    frontier.close()
    return folder


def commit(frontier: SqliteFrontier, archive: ArchiveWriter, founds: list[Discovery], dones: list[Outcome]) -> None:
    name, size = archive.flush()
    batch = Batch(founds, dones, hosts=[], robots=[], trap_counts={}, warc=name, warc_size=size)
    frontier.commit(batch, owner="me:0", now=AT)


@pytest.fixture
def collection(made: Path) -> Iterator[Collection]:
    with Collection(made) as opened:
        yield opened


def test_a_collection_gives_its_pages_in_the_order_of_their_finding(collection: Collection) -> None:
    """Iterating gives every stored page once, with what the database says of it."""
    assert [page.url for page in collection] == [HOME, TEXT, COPY]
    assert len(collection) == 3
    home = next(iter(collection))
    assert (home.title, home.mime, home.charset, home.status, home.depth) == (
        "=HYPERLINK(1)",
        "text/html",
        "utf-8",
        200,
        0,
    )
    assert home.fetched.isoformat() == "2023-11-14T22:13:20+00:00"


def test_a_collection_knows_which_pages_are_in_it(collection: Collection) -> None:
    """`url in collection` is true of what is stored, in any spelling, and of nothing else."""
    assert HOME in collection and "HTTP://Site.test:80/notes.txt" in collection
    assert not any(url in collection for url in (GONE, FAR, HOME + "later", "http://never.test/", "no address", "", 7))


def test_a_page_reads_its_bytes_from_the_archive(collection: Collection) -> None:
    """Body, headers, text and links come from the archive and the link table."""
    home = collection.page(HOME)
    assert home is not None
    assert home.body == HOME_BODY
    assert home.headers["content-type"] == "text/html; charset=utf-8"
    assert " ".join(home.text.split()) == "Hello world Notes"
    assert [link.url for link in home.links] == [TEXT, FAR]
    assert (home.links[0].text, home.links[0].accepted, home.links[1].accepted) == ("Notes", True, False)


def test_a_body_comes_without_its_content_coding(collection: Collection) -> None:
    """What the server compressed is read as the author wrote it."""
    page = collection.page(TEXT)
    assert page is not None
    assert page.body.decode() == "Plain text, größer" == page.text


def test_a_duplicate_reads_the_bytes_of_the_first(collection: Collection) -> None:
    """Equal content is stored once; both pages have it."""
    page = collection.page(COPY)
    assert page is not None
    assert page.body == HOME_BODY


def test_an_address_is_normalised_before_it_is_looked_up(collection: Collection) -> None:
    """Any spelling of a stored URL finds it; unknown and impossible ones give None."""
    assert collection.page("HTTP://SITE.test:80/#top") is not None
    assert collection.page(GONE) is None
    assert collection.page("http://never.test/") is None
    assert collection.page("not an address") is None


def test_every_url_has_a_state(collection: Collection) -> None:
    """`urls` tells of stored and other URLs alike; `url` of one."""
    states = {known.url: known.state for known in collection.urls()}
    assert states[GONE] == "gone" and states[FAR] == "rejected" and states[COPY] == "duplicate"
    assert [known.url for known in collection.urls(state="unfetched")] == [HOME + "later"]
    gone = collection.url(GONE)
    assert gone is not None and (gone.reason, gone.http) == ("http-404", 404)


def test_pages_can_be_chosen_by_host_and_type(collection: Collection) -> None:
    """`pages` takes a host and a MIME type."""
    assert [page.url for page in collection.pages(mime="text/plain")] == [TEXT]
    assert list(collection.pages(host="far.test")) == []


def test_a_state_is_known_by_several_names() -> None:
    """The words people read, with or without hyphens, and the names in the code."""
    assert state_name("not-modified") == state_name("unchanged") == state_name("Not modified") == "not modified"
    with pytest.raises(UsageError, match="allowed: unfetched, fetched"):
        state_name("lost")


def test_a_query_reads(collection: Collection) -> None:
    """Tables and views, with values bound."""
    assert list(collection.query("SELECT count(*) FROM pages WHERE mime = ?", ["text/html"])) == [(2,)]
    assert list(collection.query("SELECT target, accepted FROM links WHERE source = ? ORDER BY 1", [HOME])) == [
        (FAR, 0),
        (TEXT, 1),
    ]
    assert dict(collection.query("SELECT host, unfetched FROM hosts"))["site.test"] == 1


def test_a_query_without_rows_has_columns(made: Path) -> None:
    """The names of the columns are known even where nothing was found."""
    result = select(made, "SELECT url, title FROM pages WHERE 0")
    assert result.columns == ("url", "title")
    assert list(result.rows) == []


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM url",
        "DROP TABLE url",
        "PRAGMA writable_schema = 1",
        "ATTACH '/tmp/other.db' AS other",
        "CREATE TEMP TABLE t (a)",
        "VACUUM INTO '/tmp/copy.db'",
        "INSERT INTO meta VALUES ('a', 'b') RETURNING key",
        "BEGIN EXCLUSIVE",
    ],
)
def test_a_query_cannot_write(made: Path, sql: str) -> None:
    """Whatever is not a SELECT is refused, and nothing changes."""
    before = (made / "crawl.db").read_bytes()
    with pytest.raises(UsageError, match="only read"):
        list(select(made, sql).rows)
    assert (made / "crawl.db").read_bytes() == before


def test_a_query_is_one_statement(made: Path) -> None:
    """A second statement is refused before the first is run, an empty one as well; comments are none."""
    for sql in ("SELECT 1; SELECT 2", "SELECT '😀'; -- two\nSELECT 2;", ";; SELECT 1; /* two */ SELECT 2"):
        with pytest.raises(UsageError, match="one statement"):
            select(made, sql)
    for sql in ("-- one\n SELECT 1 AS n; -- and only", "SELECT 1 AS n;;; /* done */ ;"):
        assert (select(made, sql).columns, list(select(made, sql).rows)) == (("n",), [(1,)])
    with pytest.raises(UsageError, match="only read"):
        select(made, "SELECT 1; DELETE FROM url")
    with pytest.raises(UsageError, match="empty"):
        select(made, " -- nothing")


def test_a_wrong_query_is_told_what_there_is(made: Path) -> None:
    """The error names SQLite's complaint and the tables and views."""
    with pytest.raises(UsageError, match=r"no such table: page_\. Views: pages, urls, .*, records; tables: .*url"):
        select(made, "SELECT * FROM page_")


def test_a_query_that_takes_too_long_is_ended(made: Path) -> None:
    """A time limit ends what would never end by itself."""
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT sum(x) FROM c"
    with pytest.raises(LycosaError, match="longer than 0.05 s"):
        select(made, endless, seconds=0.05)


def test_hosts_are_asked_for_in_any_spelling(tmp_path: Path) -> None:
    """An international name, alone or in a pattern, is the one that URLs carry as xn--."""
    folder = tmp_path / "c"
    (folder / "archive").mkdir(parents=True)
    SqliteFrontier.create(folder / "crawl.db", mission_toml="", now=AT)
    frontier = SqliteFrontier(folder / "crawl.db", unpack_links=link_codec.targets)
    url = "http://www.xn--bcher-kva.test/"
    frontier.seeds.add([msgspec.structs.replace(found(url), seed=True)])
    frontier.leases.acquire("me:0", want=256, now=AT, ttl_s=1e9)
    (seed,) = frontier.targets.load("www.xn--bcher-kva.test", limit=10)
    with ArchiveWriter(folder / "archive", prefix="test", max_bytes=1 << 30, software="test", info={}) as archive:
        got = answer(seed, HOME_BODY, mime="text/html")
        commit(frontier, archive, [], [keep(archive, got, rows=[(url, "Home", True)])])
    frontier.close()
    with Collection(folder) as made:
        for host in ("www.bücher.test", "WWW.BÜCHER.test", "*.bücher.test", "www.bücher.*", "www.xn--bcher-kva.test"):
            assert [row[0] for row in list_rows(folder, "urls", RowFilter(host=host)).rows] == [url]
            assert [page.url for page in made.pages(host=host)] == [url]
            assert [change.url for change in made.changes(0, host=host)] == [url]
            assert [edge.target for edge in made.graph(host=host)] == [url]
        assert not list(made.pages(host="bücher.test"))


def test_listings_take_filters(made: Path) -> None:
    """`*` stands for anything; a filter that does not fit the list is refused."""
    assert [row[0] for row in list_rows(made, "pages", RowFilter(mime="text/*", host="*.test")).rows] == [
        HOME,
        TEXT,
        COPY,
    ]
    assert [row[0] for row in list_rows(made, "urls", RowFilter(state="gone")).rows] == [GONE]
    assert [row[1] for row in list_rows(made, "links", RowFilter(host="site.test")).rows] == [TEXT, FAR]
    with pytest.raises(UsageError, match="--mime goes with pages"):
        list_rows(made, "urls", RowFilter(mime="text/html"))


def test_status_tells_what_is_there(made: Path) -> None:
    """Counts by state, hosts, archive and the speed of the last run."""
    status = read_status(made)
    assert (status.pages, status.urls, status.unfetched, status.hosts_waiting) == (2, 6, 1, 1)
    assert status.states == {"unfetched": 1, "fetched": 2, "duplicate": 1, "gone": 1, "rejected": 1}
    assert status.archive_files == 1
    assert status.archive_bytes == sum(file.stat().st_size for file in (made / "archive").iterdir())
    assert (status.running, status.pages_per_s) == (0, 2.0)
    assert "2 pages" in format_status(status) and "2.0 pages/s" in format_status(status)


def test_a_sitemap_is_kept_but_is_no_page(tmp_path: Path) -> None:
    """Lists and counts of pages leave it out; who knows its address finds it."""
    address = HOME + "sitemap.xml"
    (tmp_path / "archive").mkdir()
    SqliteFrontier.create(tmp_path / "crawl.db", mission_toml="", now=AT)
    frontier = SqliteFrontier(tmp_path / "crawl.db")
    listed = msgspec.structs.replace(found(address), via="sitemap")
    frontier.seeds.add([msgspec.structs.replace(found(HOME), seed=True, via="seed")])
    frontier.leases.acquire("me:0", want=256, now=AT, ttl_s=1e9)
    with ArchiveWriter(tmp_path / "archive", prefix="test", max_bytes=1 << 30, software="test", info={}) as archive:
        commit(frontier, archive, [listed], [])
        bodies = {HOME: HOME_BODY, address: b"<urlset/>"}
        targets = frontier.targets.load("site.test", limit=10)
        commit(frontier, archive, [], [keep(archive, answer(t, bodies[t.url], mime="text/html")) for t in targets])
    frontier.close()
    assert read_status(tmp_path).pages == 1
    assert [row[0] for row in list_rows(tmp_path, "pages").rows] == [HOME]
    with Collection(tmp_path) as collection:
        assert [page.url for page in collection] == [HOME] and len(collection) == 1
        sitemap = collection.page(address)
        assert sitemap is not None and sitemap.body == b"<urlset/>"


def test_reading_works_beside_a_writer(made: Path, tmp_path: Path) -> None:
    """A collection is read while another connection holds a write transaction."""
    folder = tmp_path / "c"
    shutil.copytree(made, folder)
    writer = apsw.Connection(str(folder / "crawl.db"))
    writer.execute("BEGIN IMMEDIATE; DELETE FROM page")
    with Collection(folder) as opened:
        assert len(opened) == 3
    writer.execute("ROLLBACK")
    writer.close()


def test_a_read_only_folder_can_be_read(made: Path, tmp_path: Path) -> None:
    """A collection on a medium that cannot be written is read all the same."""
    folder = tmp_path / "c"
    shutil.copytree(made, folder)
    for name in ("crawl.db-wal", "crawl.db-shm"):
        (folder / name).unlink(missing_ok=True)
    folder.chmod(0o555)
    try:
        with Collection(folder) as opened:
            assert len(opened) == 3
    finally:
        folder.chmod(0o755)


def test_what_is_no_collection_is_said_in_one_sentence(made: Path, tmp_path: Path) -> None:
    """Absent, empty, foreign, damaged and newer collections each have their sentence."""
    with pytest.raises(CollectionError, match="no collection at"):
        Collection(tmp_path / "absent")
    with pytest.raises(CollectionError, match="no crawl.db"):
        Collection(tmp_path)
    (tmp_path / "crawl.db").write_bytes(b"SQLite format 3\0" + os.urandom(500))
    with pytest.raises(CollectionError):
        Collection(tmp_path)
    (tmp_path / "crawl.db").unlink()
    apsw.Connection(str(tmp_path / "crawl.db")).execute("CREATE TABLE t (a)")
    with pytest.raises(CollectionError, match="not a lycosa crawl database"):
        Collection(tmp_path)
    newer = tmp_path / "newer"
    shutil.copytree(made, newer)
    apsw.Connection(str(newer / "crawl.db")).execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
    with pytest.raises(CollectionError, match="newer lycosa .*99"):
        Collection(newer)


def test_the_speed_of_a_running_crawl_counts_from_its_start(made: Path, tmp_path: Path) -> None:
    """While the lock is held, status names the process and the pages since the run began."""
    import fcntl

    folder = tmp_path / "c"
    shutil.copytree(made, folder)
    lock = folder / "lock"
    lock.write_text(str(os.getpid()))
    os.utime(lock, (time.time() - 10, time.time() - 10))
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert read_status(folder).running == os.getpid()
    assert read_status(folder).running == 0


def test_a_crawl_that_was_killed_has_no_speed(made: Path, tmp_path: Path) -> None:
    """It left no report: the one of the run before it says nothing of it."""
    shutil.copytree(made, tmp_path / "c")
    ended = subprocess.Popen(["true"])
    ended.wait()
    (tmp_path / "c/lock").write_text(str(ended.pid))
    status = read_status(tmp_path / "c")
    assert (status.running, status.killed, status.pages_per_s) == (0, ended.pid, 0.0)
    assert "no crawl is running" in format_status(status) and "pages/s" not in format_status(status)
