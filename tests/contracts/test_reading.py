"""The reading contract: tables and views say the same of a crawl, whether a file or a server stands behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from msgspec import to_builtins
from support.command_line import run
from support.loopback import Reply, Web, html
from support.postgres_server import PostgresServer

from lycosa import crawl
from lycosa.collection import database
from lycosa.collection.collection import Collection
from lycosa.collection.query import select
from lycosa.errors import CollectionError, LycosaError, UsageError
from lycosa.explain.why import explain

psycopg = pytest.importorskip("psycopg")

#: What says how far the indexes of a file go, and as of when it is a copy: a server has nothing of it.
OF_FILES = {"moved", "part"}
VIEWS = ("urls", "pages", "wishes", *database.VIEWS)


@pytest.fixture(scope="module")
def shared(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a machine that crawled two rounds into a database, with the copy of its end."""
    base = tmp_path_factory.mktemp("reading")
    web = Web()
    names = [f"/{n}" for n in range(30)]
    web["a.test/"] = html(*names, "http://b.test/", "/gone", "/moved", "/not-there", title="a 'quoted' \u00e9 title")
    web["b.test/"] = html("http://a.test/3", "http://a.test/4", text="b")
    web["a.test/gone"] = html("/", text="soon gone")
    web["a.test/robots.txt"] = Reply(b"User-agent: GPTBot\nDisallow: /1\n\nUser-agent: *\nAllow: /\n")
    web["b.test/"] = html("http://a.test/3", "http://a.test/4", text="b", head='<meta name="robots" content="noai">')
    for name in names:
        web[f"a.test{name}"] = html("/", f"{name}/deeper", text=f"page {int(name[1:]) // 2}")
    options = {
        "connect_to": [web.connect_to],
        "delay": 0,
        "scope": "free",
        "quiet": True,
        "workers": 1,
        "database": postgres.address,
        "archive": str(base / "store"),
    }
    folder = base / "reading"
    crawl("http://a.test/", collection=folder, limit=40, **options)
    web["a.test/3"] = html("/new", text="another text")
    web["a.test/gone"] = Reply(b"", 404)
    web["a.test/robots.txt"] = Reply(b"User-agent: CCBot\nDisallow: /2\n\nUser-agent: *\nAllow: /\n")
    crawl("http://a.test/", collection=folder, recrawl=True, full=True, **options)
    web.close()
    yield folder


@pytest.fixture
def address(postgres: PostgresServer, shared: Path) -> str:
    return f"{postgres.address}#reading"


@pytest.fixture
def both(shared: Path, address: str) -> Iterator[tuple[apsw.Connection, apsw.Connection]]:
    file, server = database.connect(shared), database.connect(address)
    assert file.filename
    assert not server.filename
    yield file, server
    file.close()
    server.close()


def tables(connection: apsw.Connection) -> list[str]:
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite*'")
    return sorted(str(name) for (name,) in rows)


def columns(connection: apsw.Connection, name: str) -> list[str]:
    rows = connection.execute("SELECT name, type FROM pragma_table_xinfo(?) ORDER BY cid", (name,))
    return [f"{column} {kind}".strip() for column, kind in rows]


def test_every_table_and_view_has_the_same_rows(both: tuple[apsw.Connection, apsw.Connection]) -> None:
    """Columns, types, bytes and row numbers are equal; the crawl left something in each that matters."""
    file, server = both
    assert tables(file) == tables(server)
    filled = set()
    for name in (*tables(file), *VIEWS):
        rows = server.execute(f"SELECT * FROM {name}").fetchall()
        expected = file.execute(f"SELECT * FROM {name}").fetchall()
        if name == "meta":
            expected = [row for row in expected if row[0] != "copied"]
        if name not in OF_FILES:
            assert sorted(rows, key=repr) == sorted(expected, key=repr), name
        if rows:
            filled.add(name)
            assert columns(server, name) == columns(file, name)
    assert {
        "url",
        "page",
        "link",
        "content",
        "host",
        "visit",
        "round",
        "warc",
        "figure",
        "stat",
        "urls",
        "wish",
        "wish_set",
    } <= filled


QUESTIONS = [
    "SELECT n, url FROM urls ORDER BY n",
    "SELECT n, url FROM urls ORDER BY n DESC LIMIT 5",
    "SELECT n FROM url WHERE n > 3 AND n <= 9",
    "SELECT n FROM url WHERE n IN (2, 5, 99999, 7) ORDER BY n",
    "SELECT n FROM url WHERE n = '4'",
    "SELECT n FROM url WHERE n = 4.5 OR n = 6.0 OR n = 8",
    "SELECT n FROM url WHERE n BETWEEN 4.5 AND 9.5 ORDER BY n",
    "SELECT n FROM url WHERE n IS NULL",
    "SELECT count(*) FROM url WHERE state IN ('1', 2)",
    "SELECT count(*) FROM url WHERE state = '1'",
    "SELECT count(*), min(score), max(depth) FROM url WHERE fetched_at IS NOT NULL AND http >= 200.0",
    "SELECT n FROM page ORDER BY n, round",
    "SELECT n, round FROM page ORDER BY n DESC, round DESC",
    "SELECT n, max(round) FROM page GROUP BY n ORDER BY n",
    "SELECT max(key), min(key), count(*) FROM link",
    "SELECT key FROM link WHERE key BETWEEN 1 << 20 AND 4 << 20 ORDER BY key",
    "SELECT source, target, anchor FROM links WHERE host = 'b.test'",
    "SELECT url, title FROM pages WHERE host = 'b.test'",
    "SELECT url FROM pages WHERE host GLOB '*.test' ORDER BY url",
    "SELECT url FROM pages WHERE host GLOB 'a.test' ORDER BY n",
    "SELECT state FROM urls WHERE url = 'http://a.test/3'",
    "SELECT url FROM urls WHERE url IN ('http://a.test/3', 'http://b.test/', 'nothing', '') ORDER BY 1",
    "SELECT url FROM url WHERE url > 'http://a.test/2' AND url < 'http://a.test/3' ORDER BY url",
    "SELECT url FROM url WHERE url LIKE '%MOVED'",
    "SELECT name FROM host WHERE name = 'B.TEST' COLLATE NOCASE",
    "SELECT host.name, unfetched FROM hosts JOIN host ON host.name = hosts.host ORDER BY 1",
    "SELECT hex(digest), n FROM content WHERE digest IN (SELECT digest FROM page) ORDER BY 1",
    "SELECT event, count(*) FROM visit GROUP BY event ORDER BY 1",
    "SELECT n FROM visit WHERE round = 2 AND event = 'gone'",
    "SELECT a.url, b.url FROM url AS a JOIN url AS b ON b.n = a.parent WHERE a.depth = 2 ORDER BY a.n LIMIT 7",
    "SELECT count(*) FROM url AS a LEFT JOIN page USING (n) WHERE page.n IS NULL",
    "SELECT n FROM url WHERE reason = '' AND via <> 'a' ORDER BY n",
    "SELECT rowid, n FROM url WHERE rowid = 3",
    "SELECT url.n FROM url, json_each('[1, 5, null, \"x\"]') AS one WHERE url.n = one.value",
]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_question_has_the_same_answer(sql: str, both: tuple[apsw.Connection, apsw.Connection]) -> None:
    """Whatever condition is sent to the server or kept here, the rows are those of the file."""
    file, server = both
    assert server.execute(sql).fetchall() == file.execute(sql).fetchall()


def test_the_library_says_the_same(shared: Path, address: str) -> None:
    """Pages with their bytes, links, changes and explanations come out alike; bytes are read from the store."""
    with Collection(shared) as here, Collection(address) as there:
        pages = {page.url: page for page in there}
        assert len(there) == len(here) == len(pages)
        for page in here:
            assert pages[page.url].body == page.body
            assert pages[page.url].links == page.links
            assert pages[page.url].holder == page.holder
        assert list(there.changes()) == list(here.changes())
        assert there.seeds() == here.seeds()
        assert [page.url for page in there.pages(round=1)] == [page.url for page in here.pages(round=1)]
        assert list(there.graph(by="host")) == list(here.graph(by="host"))
        for url in ("http://a.test/3", "http://a.test/gone", "http://never.test/"):
            one, other = to_builtins(explain(there, url)), to_builtins(explain(here, url))
            assert one | {"at": 0} == other | {"at": 0}
    assert not list((shared / "archive").glob("*.warc.gz"))


def test_a_block_reads_one_state(address: str, postgres: PostgresServer) -> None:
    """What another commits meanwhile is seen after the block, and by the next statement outside of one."""
    with Collection(address) as source, psycopg.connect(postgres.address, autocommit=True) as writer:
        ask = "SELECT value FROM meta WHERE key = 'test'"
        with source.snapshot():
            assert not list(source.rows(ask))
            writer.execute("INSERT INTO reading.meta VALUES ('test', '1')")
            assert not list(source.rows(ask))
        try:
            assert list(source.rows(ask)) == [("1",)]
        finally:
            writer.execute("DELETE FROM reading.meta WHERE key = 'test'")
        assert not list(source.rows(ask))
        idle = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
        assert writer.execute(idle).fetchone() == (0,)


@pytest.mark.parametrize(
    "sql",
    ["DELETE FROM url", "DROP TABLE url", "CREATE TABLE t (x)", "UPDATE url SET state = 1", "PRAGMA user_version"],
)
def test_a_query_only_reads(address: str, sql: str) -> None:
    """A statement that would write is refused before it runs."""
    with pytest.raises(UsageError, match="can only read"):
        select(address, sql)


def test_a_long_query_is_ended(address: str, postgres: PostgresServer) -> None:
    """The time limit holds here and on the server."""
    with pytest.raises(LycosaError, match="took longer than 0.2 s"):
        list(select(address, "SELECT count(*) FROM url a, url b, url c, url d, url e", seconds=0.2).rows)
    with psycopg.connect(postgres.address) as holder:
        holder.execute("LOCK TABLE reading.robots IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(LycosaError, match="took longer than 0.3 s"):
            list(select(address, "SELECT count(*) FROM robots", seconds=0.3).rows)


def test_point_questions_touch_few_rows(postgres: PostgresServer) -> None:
    """A URL, a page or a host is found by indexes on the server, whatever else is there."""
    from lycosa.frontier.partitions import host_key, part_of
    from lycosa.frontier.postgres.frontier import PostgresFrontier
    from lycosa.urls import url_id

    PostgresFrontier.create(postgres.address, "many", mission_toml='seeds = ["http://h1.test/"]')
    with psycopg.connect(postgres.address, autocommit=True) as server:
        hosts = [f"h{at}.test" for at in range(100)]
        with server.cursor().copy("COPY many.host (part, host, name) FROM STDIN") as copy:
            for name in hosts:
                copy.write_row((part_of(name), host_key(name), name))
        with server.cursor().copy("COPY many.url (part, n, host, id, url, state) FROM STDIN") as copy:
            for n in range(20_000):
                name = hosts[n % 100]
                url = f"http://{name}/{n}"
                part = part_of(name)
                copy.write_row((part, part << 44 | n + 1, host_key(name), url_id(url), url, 1 if n % 4 else 0))
        server.execute(
            "INSERT INTO many.page (part, n, round, digest) SELECT part, n, 1, decode(md5(url), 'hex') FROM many.url"
            " WHERE state = 1"
        )
        server.execute("SELECT setval('many.number', 20000)")
        server.execute("ANALYZE")
        server.execute("SELECT pg_stat_reset()")
        with Collection(f"{postgres.address}#many") as source:
            explain(source, "http://h1.test/101")
            assert len(list(source.query("SELECT * FROM pages WHERE host = 'h2.test'"))) == 200
            assert len(list(source.query("SELECT * FROM urls WHERE url = 'http://h3.test/3'"))) == 1
            assert len(list(source.query("SELECT * FROM urls WHERE n = 5"))) == 1
            assert len(list(source.query("SELECT n, url FROM urls ORDER BY n LIMIT 10"))) == 10
            assert list(source.query("SELECT max(n) FROM page")) == [(20_000,)]
        read = """SELECT relname, seq_scan, idx_tup_fetch FROM pg_stat_user_tables
                  WHERE schemaname = 'many' AND relname IN ('url', 'page', 'link', 'content')"""
        for name, scans, rows in server.execute(read):
            assert not scans or name in ("link", "content"), name  # which are empty
            assert rows < 4_000, name


def test_a_server_that_goes_away_is_one_sentence(tmp_path: Path) -> None:
    """In the middle of a question, and before one; when it is back, the same connection goes on."""
    from support.postgres_server import running_server

    from lycosa.frontier.postgres.frontier import PostgresFrontier

    with running_server() as server:
        PostgresFrontier.create(server.address, "some", mission_toml="")
        with Collection(f"{server.address}#some") as source:
            rows = source.rows("SELECT part, value FROM part JOIN json_each('[1,2,3]')")
            next(rows)
            server.stop()
            with pytest.raises(CollectionError, match=r"cannot be reached|went away"):
                list(source.rows("SELECT count(*) FROM url"))
            rows.close()
            server.start()
            assert list(source.rows("SELECT count(*) FROM url")) == [(0,)]


def test_a_wrong_password_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said that the server does not let us in, and the password is not said."""
    from support.postgres_server import running_server

    from lycosa.frontier.postgres.frontier import PostgresFrontier

    with running_server() as server:
        PostgresFrontier.create(server.address, "guarded", mission_toml="")
        rules = server.folder / "data" / "pg_hba.conf"
        rules.write_text(f"local all guest scram-sha-256\n{rules.read_text()}")
        with psycopg.connect(server.address, autocommit=True) as owner:
            owner.execute("CREATE ROLE guest LOGIN PASSWORD 'right'")
            owner.execute("GRANT USAGE ON SCHEMA guarded TO guest")
            owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA guarded TO guest")
            owner.execute("GRANT SELECT ON ALL SEQUENCES IN SCHEMA guarded TO guest")
            owner.execute("SELECT pg_reload_conf()")
        address = f"{server.address.replace('postgres@', 'guest@')}#guarded"
        monkeypatch.setenv("PGPASSWORD", "not-the-right-one")
        done = run("query", "SELECT n FROM urls ORDER BY n", "-c", address)
        assert done.code
        assert "password authentication failed" in done.output
        assert "not-the-right-one" not in done.output
        assert "Traceback" not in done.output
        monkeypatch.setenv("PGPASSWORD", "right")  # of one who may only read
        assert run("query", "SELECT n FROM urls ORDER BY n", "-c", address).code == 0


def test_what_cannot_be_read_is_one_sentence(postgres: PostgresServer) -> None:
    """Another program's schema, a collection that is not there, a password in the address, one without a name."""
    with psycopg.connect(postgres.address, autocommit=True) as server:
        server.execute("CREATE SCHEMA IF NOT EXISTS foreign_one")
        server.execute("CREATE TABLE IF NOT EXISTS foreign_one.t (x int)")
    for name, said in (("foreign_one", "is not a collection of lycosa"), ("nothing", "There is no collection nothing")):
        done = run("query", "SELECT count(*) FROM url", "-c", f"{postgres.address}#{name}")
        assert done.code
        assert said in done.output
        assert "Traceback" not in done.output
    for address, said in (
        ("postgresql://u:secret@h/d#x", "has a password in it"),
        ("postgresql://h/d", "names no collection"),
    ):
        done = run("why", "http://a.test/", "-c", address)
        assert said in done.output
        assert "secret" not in done.output
    done = run("crawl", "http://a.test/", "-c", f"{postgres.address}#reading")
    assert "is named with --database" in done.output
    done = run("extract", "--quarry", "x.py:X", "-c", f"{postgres.address}#reading")
    assert "lycosa copy ADDRESS DIR --leave-archive" in done.output


def said(output: str) -> list[str]:
    """What a command said, but for where it read it."""
    return [re.sub(r'"at":[0-9.]+,', "", line) for line in output.splitlines() if "Read from" not in line]


def test_verbs_take_an_address(address: str, shared: Path) -> None:
    """`why`, `query`, `export` and `changes` say the same of the address as of the folder, and what they read."""
    for words in (
        ["why", "http://a.test/3", "--format", "jsonl"],
        ["query", "SELECT url, state FROM urls ORDER BY n", "--format", "jsonl"],
        ["export", "pages", "-o", "-"],
        ["export", "graph", "-o", "-"],
        ["changes", "--format", "jsonl"],
        ["report", "mime", "--format", "jsonl"],
    ):
        here, there = run(*words, "-c", str(shared)), run(*words, "-c", address)
        assert there.code == here.code, there.output
        assert "Read from the copy in" in here.output
        assert "Read from the collection reading of the database" in there.output
        assert said(there.output) == said(here.output)
    done = run("status", "-c", address, "--format", "text")
    assert f"{address}: " in done.output
    assert "in the database as reading" in done.output


def test_a_folder_reads_the_database_where_that_is_newer(shared: Path, postgres: PostgresServer) -> None:
    """A machine that told of itself after the copy was made has more to tell."""
    from lycosa.collection import reading_source
    from lycosa.repair.copy import bring_copy

    with psycopg.connect(postgres.address, autocommit=True) as server:
        (was,) = server.execute("SELECT max(at) FROM reading.machine").fetchone() or (0.0,)
        server.execute("UPDATE reading.machine SET at = at + 3600")
        reading_source._choices.clear()
        assert "of the database" in reading_source.choose_source(shared).note
        with Collection(shared) as source:
            assert not source.database.filename
        assert "were copied to" in bring_copy(shared)  # to work on it there
        reading_source._pinned.clear()
        server.execute("UPDATE reading.machine SET at = %s", (was,))
        reading_source._choices.clear()
        with Collection(shared) as source:
            assert source.database.filename
        assert bring_copy(shared) == ""
        reading_source._pinned.clear()
        assert "nothing came since" in reading_source.choose_source(shared).note
