"""Databases and stores that a shared crawl cannot use: one sentence each, and nothing is fetched."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import Said, run
from support.loopback import Reply, Web, html
from support.postgres_server import PostgresServer, running_server

from lycosa.errors import CollectionError

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def web() -> Iterator[Web]:
    site = Web()
    site["a.test/"] = html("/1")
    site["a.test/1"] = html()
    site["b.test/"] = html()
    yield site
    site.close()


def crawl(web: Web, folder: Path, address: str, *more: str, seed: str = "http://a.test/") -> Said:
    words = ["crawl", seed, "-c", str(folder), "--database", address, "--connect-to", web.connect_to]
    return run(*words, "--delay", "0", "--workers", "1", "--quiet", *more)


def ask(postgres: PostgresServer, *statements: str) -> None:
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def hamper(postgres: PostgresServer, name: str, body: str) -> None:
    """Have a function run for every statement that stores pages."""
    ask(
        postgres,
        f"CREATE FUNCTION {name}.hamper() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$",
        f"CREATE TRIGGER hamper BEFORE INSERT ON {name}.page EXECUTE FUNCTION {name}.hamper()",
    )


def refused(said: Said, web: Web, sentence: str) -> None:
    assert said.code == 2 and sentence in said.output, said.output
    assert said.output.count("\n") == 1 and not web.asked


def test_a_database_that_is_down(web: Web, tmp_path: Path) -> None:
    """It says that it cannot be reached, why, and what to do; no folder is left."""
    said = crawl(web, tmp_path / "c", f"postgresql://me@/x?host={tmp_path}")
    refused(said, web, "The database cannot be reached: connection")
    assert said.output.endswith(
        "see that the server runs and that its address is right, then give the same command again.\n"
    )
    assert not (tmp_path / "c").exists()


def test_an_address_that_names_a_collection(web: Web, tmp_path: Path) -> None:
    """The collection of a crawl is named as its folder, which is not taken for a part of the database's name."""
    said = crawl(web, tmp_path / "c", "postgresql://me@host/crawls#press")
    refused(said, web, "is named as its folder (--collection DIR); allowed: postgresql://[USER@]HOST[:PORT]/DATABASE.")


def test_an_address_with_a_password(web: Web, tmp_path: Path) -> None:
    """It is refused before anything is written, and not repeated."""
    said = crawl(web, tmp_path / "c", "postgresql://me:secret@host/x")
    refused(said, web, "has a password in it")
    assert "secret" not in said.output and not (tmp_path / "c" / "lycosa.toml").exists()


def test_a_wrong_password(postgres: PostgresServer, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told at once, without waiting for the server to change its mind."""
    ask(postgres, "CREATE ROLE guarded LOGIN PASSWORD 'right'")
    rules = postgres.folder / "data" / "pg_hba.conf"
    rules.write_text(f"local all guarded scram-sha-256\n{rules.read_text()}")
    ask(postgres, "SELECT pg_reload_conf()", "SELECT pg_sleep(0.3)")
    monkeypatch.setenv("PGPASSWORD", "wrong")
    said = crawl(web, tmp_path / "c", postgres.address.replace("postgres@", "guarded@"))
    refused(said, web, "password authentication failed")
    assert "put the right password into the environment as PGPASSWORD" in said.output and "wrong" not in said.output
    monkeypatch.delenv("PGPASSWORD")
    said = crawl(web, tmp_path / "c", postgres.address.replace("postgres@", "guarded@"))
    refused(said, web, "no password supplied: put the password into the environment as PGPASSWORD")


def test_a_database_that_does_not_exist(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """It is told at once."""
    said = crawl(web, tmp_path / "c", postgres.address.replace("/postgres?", "/nothing?"))
    refused(said, web, 'database "nothing" does not exist')


def test_a_database_without_an_encoding(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """It holds all texts all the same; one whose encoding cannot is refused, and nothing is left in it."""
    web["a.test/1"] = html(title="Αράχνη")
    for name, encoding in (("plain", "SQL_ASCII"), ("latin", "LATIN1")):
        ask(postgres, f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    plain, latin = (postgres.address.replace("/postgres?", f"/{name}?") for name in ("plain", "latin"))
    assert crawl(web, tmp_path / "c", plain).code == 0
    said = run("query", "SELECT title FROM pages WHERE title <> ''", "-c", f"{plain}#c")
    assert said.code == 0 and "Αράχνη" in said.output, said.output
    assert run("status", "-c", f"{plain}#c").code == 0
    web.asked.clear()
    refused(crawl(web, tmp_path / "d", latin), web, "The database is in LATIN1, which cannot hold all texts: make one")
    assert run("status", "-c", f"{latin}#d").output.endswith("there are: none.\n")


def test_a_database_that_recovers(web: Web, tmp_path: Path) -> None:
    """A machine that is started meanwhile waits for it, as one at work does."""
    with running_server() as server:
        server.stop("fast")
        go_on = server.folder / "go_on"
        with (server.folder / "data/postgresql.conf").open("a") as file:
            file.write(f"restore_command = 'until [ -e {go_on} ]; do sleep 0.1; done; false'\nhot_standby = off\n")
        (server.folder / "data/recovery.signal").touch()
        server.start(is_awaited=False)
        until = time.monotonic() + 60
        while not server.socket.exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        crawls: list[Said] = []
        thread = threading.Thread(target=lambda: crawls.append(crawl(web, tmp_path / "c", server.address)))
        thread.start()
        while "FATAL:  the database system is" not in (server.folder / "log").read_text():
            assert thread.is_alive() and time.monotonic() < until, crawls
            time.sleep(0.05)
        go_on.touch()
        thread.join()
    assert crawls[0].code == 0 and len(web.paths()) == 2, crawls[0].output


def test_a_read_only_database(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """It says that a crawl must write."""
    ask(postgres, "CREATE DATABASE frozen", "ALTER DATABASE frozen SET default_transaction_read_only = on")
    said = crawl(web, tmp_path / "c", postgres.address.replace("/postgres?", "/frozen?"))
    refused(said, web, "The database is read-only: a crawl must be able to write to it.")


def test_a_user_that_may_only_read(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """It is told what it lacks; with SELECT on tables and sequences it reads all, and cannot crawl."""
    assert crawl(web, tmp_path / "lent", postgres.address).code == 0
    ask(postgres, "CREATE ROLE reader LOGIN")
    address = postgres.address.replace("postgres@", "reader@")
    words = ("export", "pages", "-c", f"{address}#lent", "-o", str(tmp_path / "pages.csv"))
    assert "does not let reader look into the collection lent: its owner can GRANT USAGE" in run(*words).output
    ask(postgres, "GRANT USAGE ON SCHEMA lent TO reader", "GRANT SELECT ON ALL TABLES IN SCHEMA lent TO reader")
    said = run(*words)
    assert said.code == 2 and "granted SELECT on all its tables and sequences" in said.output, said.output
    ask(postgres, "GRANT SELECT ON ALL SEQUENCES IN SCHEMA lent TO reader")
    assert run(*words).code == 0
    web.asked.clear()
    said = crawl(web, tmp_path / "two" / "lent", address)
    refused(said, web, "who crawls must own the collection")


def test_a_collection_that_is_not_there(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """Those that are there are named."""
    assert crawl(web, tmp_path / "there", postgres.address).code == 0
    for words in (("status", "-c"), ("query", "SELECT 1", "-c")):
        said = run(*words, f"{postgres.address}#nowhere")
        assert said.code == 2 and "There is no collection nowhere in the database; there are: " in said.output
        assert "there" in said.output.split("there are: ")[1]


def test_a_slow_database(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """It is waited for, and all is done."""
    assert crawl(web, tmp_path / "slow", postgres.address, "--limit", "1").code == 5
    hamper(postgres, "slow", "PERFORM pg_sleep(0.5); RETURN NULL;")
    assert crawl(web, tmp_path / "slow", postgres.address).code == 0
    assert web.paths() == ["a.test/", "a.test/1"]


def test_a_full_database(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """It says whose disk is full and ends; with room there, the same command goes on."""
    assert crawl(web, tmp_path / "brimful", postgres.address, "--limit", "1").code == 5
    hamper(postgres, "brimful", "RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full';")
    words = ("crawl", "http://a.test/", "-c", str(tmp_path / "brimful"), "--database", postgres.address)
    said = run(*words, "--connect-to", web.connect_to, "--delay", "0", "--workers", "1")
    assert said.code == 3 and "The disk of the database is full: make room there" in said.output, said.output
    assert "Traceback" not in said.output and not (tmp_path / "brimful" / "logs" / "errors.log").exists()
    ask(postgres, "DROP TRIGGER hamper ON brimful.page")
    assert crawl(web, tmp_path / "brimful", postgres.address).code == 0


def test_a_database_that_became_read_only(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """A crawl that was begun says so before it fetches anything."""
    ask(postgres, "CREATE DATABASE standby")
    address = postgres.address.replace("/postgres?", "/standby?")
    assert crawl(web, tmp_path / "standby", address).code == 0
    web.asked.clear()
    ask(postgres, "ALTER DATABASE standby SET default_transaction_read_only = on")
    refused(crawl(web, tmp_path / "standby", address), web, "The database is read-only")


def test_a_schema_of_another_program(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """Nothing is written into it."""
    ask(postgres, "CREATE SCHEMA ledger", "CREATE TABLE ledger.entry (n int)")
    refused(
        crawl(web, tmp_path / "ledger", postgres.address), web, "The schema ledger of the database is not a collection"
    )


def test_a_collection_of_a_newer_version(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """It says which, and to upgrade."""
    assert crawl(web, tmp_path / "newer", postgres.address).code == 0
    web.asked.clear()
    ask(postgres, "UPDATE newer.meta SET value = '99' WHERE key = 'schema'")
    refused(crawl(web, tmp_path / "newer", postgres.address), web, "made by a newer lycosa (its schema is 99")


def test_two_collections_of_one_name(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """A new folder with other seeds does not become part of somebody's collection; one with the same seeds joins it."""
    assert crawl(web, tmp_path / "one" / "press", postgres.address).code == 0
    web.asked.clear()
    said = crawl(web, tmp_path / "two" / "press", postgres.address, seed="http://b.test/")
    refused(said, web, "has a collection press already, which began from other seeds (http://a.test/)")
    assert not (tmp_path / "two" / "press").exists()
    assert crawl(web, tmp_path / "three" / "press", postgres.address).code == 0


def test_stores_that_cannot_be_used(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """An address with credentials, a folder that cannot be made, a store without a database."""
    said = crawl(web, tmp_path / "c", postgres.address, "--archive", "s3://key:secret@bucket/x")
    refused(said, web, "has credentials or options in it")
    assert "secret" not in said.output
    (tmp_path / "file").write_text("")
    said = crawl(web, tmp_path / "c", postgres.address, "--archive", str(tmp_path / "file" / "x"))
    refused(said, web, "cannot be made: Not a directory")
    words = ("crawl", "http://a.test/", "-c", str(tmp_path / "c"), "--archive", str(tmp_path / "x"), "--quiet")
    refused(run(*words), web, "it goes with keep.database (--database)")


def test_clocks_that_differ_by_a_day(postgres: PostgresServer) -> None:
    """Leases end by the server's clock: a machine whose clock is ahead takes nothing from the others."""
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    PostgresFrontier.create(postgres.address, "clocks", mission_toml="")
    slow = PostgresFrontier(postgres.address, "clocks", machine="slow")
    fast = PostgresFrontier(postgres.address, "clocks", machine="fast")
    try:
        assert len(slow.leases.acquire("slow:0", want=256, now=0.0, ttl_s=20.0)) == 256
        assert fast.leases.acquire("fast:0", want=256, now=4e9, ttl_s=20.0) == []
        assert len(slow.leases.renew("slow:0", now=0.0, ttl_s=20.0)) == 256
    finally:
        slow.close()
        fast.close()


def test_a_clock_that_is_a_day_ahead(
    postgres: PostgresServer, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a machine writes of pauses and retries counts by the server's clock: the others need not wait for a day."""
    real = time.time
    web["a.test/1"] = Reply(b"", 503)
    monkeypatch.setattr("time.time", lambda: real() + 86_400)
    again = ("--set", "fetch.retry_delay_s=60", "--max-time", "2")
    assert crawl(web, tmp_path / "ahead", postgres.address, *again).code == 5
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        times = connection.execute("SELECT max(next_at) FROM ahead.host UNION ALL SELECT max(due) FROM ahead.url")
        assert all(real() - 60 < at < real() + 3600 for (at,) in times.fetchall())


def test_a_server_that_is_waited_for(tmp_path: Path) -> None:
    """Who waits says so all the time, so that nobody takes it for hung; then it says what is wrong."""
    from lycosa.frontier.postgres.connection import PostgresConnection

    told: list[float] = []
    connection = PostgresConnection(f"postgresql://me@/x?host={tmp_path}", "any", patience_s=1.2)
    connection.on_wait = lambda: told.append(time.monotonic())
    with pytest.raises(CollectionError, match="The database cannot be reached"):
        connection.read(lambda: connection.db)
    assert len(told) >= 2


def test_a_machine_that_is_gone_with_its_archive_files(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """Its name is known; once it is forgotten, the pages that only it held are fetched again."""
    from lycosa.frontier.postgres.address import machine_of

    store = tmp_path / "store"
    assert crawl(web, tmp_path / "one" / "gone", postgres.address).code == 0  # nothing of it is in a store
    lost = machine_of(tmp_path / "one" / "gone")
    words = ["crawl", "http://a.test/", "-c", str(tmp_path / "two" / "gone"), "--database", postgres.address]
    words += ["--connect-to", web.connect_to, "--delay", "0", "--workers", "1", "--archive", str(store)]
    said = run(*words)
    assert said.code == 0 and f"--forget-machine {lost} has their pages fetched again" in said.output, said.output
    assert f"the machine {lost} has 1 archive file that no store has yet" in said.output  # it may be about to move it
    said = run(*words, "--forget-machine", "nobody")
    assert said.code == 2 and f"There is no machine nobody in this collection; there are: {lost}" in said.output
    web.asked.clear()
    said = run(*words, "--forget-machine", lost)
    assert (
        f"The machine {lost} is gone with 1 archive file that no store has: 2 pages are fetched again." in said.output
    )
    assert sorted(web.paths()) == ["a.test/", "a.test/1"]
    assert len(list(store.glob("*.warc.gz"))) == 1
    assert run("verify", "-c", str(tmp_path / "two" / "gone")).code == 0


def test_two_machines_of_one_name(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """The second is refused while the first is at work: each would take the other's hosts, and miss its files."""
    from lycosa.frontier.postgres.address import machine_of
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    folder = tmp_path / "twins"
    PostgresFrontier.create(postgres.address, "twins", mission_toml="")
    twin = PostgresFrontier(postgres.address, "twins", machine=machine_of(folder))
    twin.leases.acquire(f"{twin.machine}:0", want=8, now=0.0, ttl_s=20.0)
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(0.2):
            twin.leases.renew(f"{twin.machine}:0", now=0.0, ttl_s=20.0)

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        refused(crawl(web, folder, postgres.address), web, f"Another machine of the name {twin.machine} is at work")
        assert not folder.exists()
    finally:
        ended.set()
        thread.join()
    said = crawl(web, folder, postgres.address)  # the twin was killed: its leases hold, and nobody renews them
    twin.close()
    assert said.code == 0, said.output


def test_a_commit_of_a_killed_worker_that_comes_late(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """The run after it waits for it, and then finds in the archive what was committed, in place of cutting it off."""
    from lycosa.frontier.postgres.address import machine_of

    folder = tmp_path / "late"
    assert crawl(web, folder, postgres.address).code == 0
    (file,) = (folder / "archive").glob("*.warc.gz")
    file.write_bytes(2 * file.read_bytes())
    size = file.stat().st_size
    with psycopg.connect(postgres.address, options="-c search_path=late") as killed:
        killed.execute("SELECT 1 FROM holder WHERE owner = %s FOR SHARE", (f"{machine_of(folder)}:0",))
        killed.execute("UPDATE warc SET size = %s, synced = %s, stamp = 0", (size, size))
        timer = threading.Timer(2.0, killed.commit)
        timer.start()
        assert crawl(web, folder, postgres.address).code == 0
        timer.join()
    assert file.stat().st_size == size
