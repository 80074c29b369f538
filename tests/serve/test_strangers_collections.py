"""Collections that a stranger made: whatever they hold, looking at them runs, reads and writes nothing else."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from support.make_collection import make_collection
from support.serve_client import ServeClient, serving

from lycosa import urls
from lycosa.collection.database import _VALUE_BYTES
from lycosa.derived import background
from lycosa.serve import application, indexing

PAGE = ("https://a.example/", "text/html", b"<title>A</title><a href=/b>b</a>")


@pytest.fixture
def served(tmp_path: Path) -> Path:
    (tmp_path / "served").mkdir()
    return tmp_path / "served"


@pytest.fixture
def client(served: Path) -> Iterator[ServeClient]:
    with serving(served) as client:
        yield client


@pytest.mark.parametrize("order", ["best", "bfs"])
def test_looking_runs_no_code_of_the_collection(client: ServeClient, served: Path, order: str) -> None:
    """Its mission may name a class in a file that came along: the story of an address is told without it."""
    folder = make_collection(served / "code", [PAGE])
    trace = served / "it-ran"
    (folder / "evil.py").write_text(f"open({str(trace)!r}, 'w')\nfrom lycosa import Quarry\nclass Evil(Quarry): ...\n")
    (folder / "lycosa.toml").write_text(f'order = "{order}"\nmissions = ["records"]\nquarry = "evil.py:Evil"\n')
    for page in ("", "url?url=https://a.example/", "url?url=https://a.example/b", "host?name=a.example", "search?q=a"):
        assert client.get(f"/c/code/{page}").status == 200
        assert not trace.exists(), page


@pytest.mark.parametrize(
    "mission",
    [
        'quarry = "evil.py:Evil"\n#' + "x" * (1 << 20),
        'quarry = "evil.py:Evil"\n#' + "é" * (1 << 19),
        '[render]\nbrowser = "./evil.sh"\n',
        '[log]\nfile = "{out}/.profile"\n',
        '[keep]\nmirror = "{out}/mirror"\n',
        '[keep]\nindex = "../outside.txt"\n',
        '[hosts."evil.example"]\nuser = "me"\npassword = "env:HOME"\n',
        '[hosts."evil.example"]\nuser = "me"\npassword = "file:{out}/secret"\n',
        '[hosts."evil.example"]\nuser = "me"\npassword = "file:{out}/served/.lycosa/passwords/c-bank.example"\n',
    ],
)
def test_a_mission_that_does_more_than_crawl_is_not_continued(client: ServeClient, served: Path, mission: str) -> None:
    """It is read as the crawl reads it: whole."""
    folder = make_collection(served / "risky", [PAGE])
    (folder / "lycosa.toml").write_text(mission.replace("{out}", str(served.parent)))
    answer = client.post("/c/risky/crawl/continue", {})
    assert answer.status == 400 and "lycosa crawl --collection" in answer.text
    assert not (folder / "logs").exists()


SECRET = "-----BEGIN PRIVATE KEY-----"
FILES = ("crawl.db", "serve.db", "search.db", "lycosa.toml", "saved-queries.json", "lock", "logs/console.log")
PAGES = ("", "crawl", "pages", "query", "search?q=a", "index.json", f"replay?url={PAGE[0]}")


@pytest.mark.parametrize("kind", ["link", "device", "pipe"])
@pytest.mark.parametrize("name", [*FILES, "logs/crawl.log", "records.db", "archive/test-00-00000.warc.gz"])
def test_what_is_no_file_is_not_opened(client: ServeClient, served: Path, kind: str, name: str) -> None:
    """A link would show or change a file out of the folder, a device has no end, and a pipe has no beginning."""
    outside = served.parent / "secret"
    outside.write_text(SECRET)
    make_collection(served / "good", [PAGE])
    folder = make_collection(served / "odd", [PAGE])
    (folder / "lycosa.toml").write_text("")
    (folder / "logs").mkdir()
    (folder / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(outside if kind == "link" else "/dev/zero")
    for page in PAGES:
        answer = client.get(f"/c/odd/{page}")
        assert SECRET not in answer.text
        assert answer.status in (503, 404) or name.startswith("archive")
    answer = client.post("/c/odd/crawl/continue", {})
    assert answer.status in (503, 404, 303, 400), answer.text  # 400: its mission has no seed
    states = {one["name"]: one["state"] for one in client.get("/index.json").json["collections"]}
    assert states["good"] == "finished"
    assert outside.read_text() == SECRET


def test_an_archive_may_be_on_another_disk(client: ServeClient, served: Path) -> None:
    """It is only read, and only what is an archive."""
    folder = make_collection(served / "large", [PAGE])
    shutil.move(folder / "archive", served.parent / "disk")
    (folder / "archive").symlink_to(served.parent / "disk")
    assert "<title>A</title>" in client.get(f"/c/large/replay?url={PAGE[0]}").text


def test_a_name_that_is_no_text_hides_nothing_else(client: ServeClient, served: Path) -> None:
    """No address can name it; home shows the others."""
    folder = make_collection(served / "good", [PAGE])
    shutil.copytree(os.fsencode(folder), os.fsencode(served) + b"/bad\xff")
    assert [one["name"] for one in client.get("/index.json").json["collections"]] == ["good"]
    assert client.get("/").status == 200


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
TRAPS = {
    "figure": f"{ENDLESS} 'pages' AS name, '' AS key, sum(i) AS count FROM n",
    "url": f"{ENDLESS} i AS n, 1 AS host, 'http://a.example/' AS url, sum(i) AS state FROM n",
    "page": f"{ENDLESS} i AS n, max(i) AS round FROM n",
    "round": f"{ENDLESS} 1 AS round, sum(i) AS at, 0 AS started FROM n",
}


@pytest.mark.parametrize("table", TRAPS)
def test_a_table_that_never_ends_ends_with_the_page(
    client: ServeClient, served: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a view, and would keep a processor and a thread of the server for ever."""
    monkeypatch.setattr(application, "VIEW_S", 1.0)
    database = apsw.Connection(str(make_collection(served / "trap", [PAGE]) / "crawl.db"))
    database.execute(f"DROP VIEW urls; DROP VIEW pages; DROP TABLE {table}; CREATE VIEW {table} AS {TRAPS[table]}")
    database.close()
    for path in ("/", "/c/trap/", "/c/trap/crawl", "/c/trap/pages", f"/c/trap/page?url={PAGE[0]}"):
        assert client.get(path).status in (200, 404, 500, 503), path
    time.sleep(1.5)
    used = time.process_time()
    time.sleep(1.0)
    assert time.process_time() - used < 0.5
    assert client.get("/about").status == 200


@pytest.mark.parametrize("name", ["serve.db", "search.db"])
def test_an_index_with_more_than_its_tables_is_made_anew(client: ServeClient, served: Path, name: str) -> None:
    """A view in the place of a table, or a trigger on one, came with the collection."""
    folder = make_collection(served / "odd", [PAGE])
    assert client.get("/c/odd/pages").status == client.get("/c/odd/search?q=a").status == 200
    end = time.monotonic() + 120
    while client.get("/c/odd/search.json?q=a").json["index"]["running"]:  # it has the tables open
        assert time.monotonic() < end
        time.sleep(0.1)
    database = apsw.Connection(str(folder / name))
    database.execute(f"DROP TABLE meta; CREATE VIEW meta AS {ENDLESS} i AS key, sum(i) AS value FROM n")
    database.close()
    assert client.get("/c/odd/pages.json").json["total"] == 1
    assert client.get("/c/odd/search?q=a").status == 200


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE meta SET value = 7 WHERE key = 'last_run'; INSERT OR REPLACE INTO meta VALUES ('last_run', 7)",
        "INSERT OR REPLACE INTO meta VALUES ('last_run', x'ff00'); UPDATE round SET started = 'soon'",
        "DELETE FROM round; UPDATE OR REPLACE stat SET state = 'x', count = 'y'",
        "DROP VIEW urls; DROP VIEW pages; DROP TABLE figure; CREATE TABLE figure (name, key, count)",
        "UPDATE warc SET size = 9e999; UPDATE figure SET count = 9e999",
    ],
)
def test_strange_values_hide_no_other_collection(client: ServeClient, served: Path, sql: str) -> None:
    """Home shows all of them; a process that cannot be one does not run."""
    make_collection(served / "good", [PAGE])
    folder = make_collection(served / "odd", [PAGE])
    (folder / "lock").write_text("99999999999999999999")
    database = apsw.Connection(str(folder / "crawl.db"))
    database.execute(sql)
    database.close()
    assert client.get("/").status == 200
    states = {one["name"]: one["state"] for one in client.get("/index.json").json["collections"]}
    assert states["good"] == "finished" and len(states) == 2
    for page in ("", "crawl"):
        assert "Traceback" not in client.get(f"/c/odd/{page}").text


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("UPDATE host SET errors = 'x'", "host.errors"),
        ("UPDATE host SET delay_s = 9e999", "host.delay_s"),
        ("UPDATE url SET depth = x'ff00'", "url.depth"),
        ("UPDATE url SET state = NULL", "url.state"),
        ("UPDATE meta SET value = 9e999", "it does not say which version it is"),
    ],
)
def test_values_that_no_lycosa_wrote_are_said(client: ServeClient, served: Path, sql: str, column: str) -> None:
    """What a page cannot be made of is the collection's fault, and not one of the program."""
    folder = make_collection(served / "odd", [PAGE])
    database = apsw.Connection(str(folder / "crawl.db"))
    database.execute(sql)
    database.close()
    said = [client.get(f"/c/odd/{page}") for page in (f"url?url={PAGE[0]}", f"host?name={urls.host_of(PAGE[0])}")]
    assert {answer.status for answer in said} <= {200, 503}
    assert any("This collection is damaged" in answer.text and column in answer.text for answer in said)


def test_a_value_that_is_too_large_is_not_read(client: ServeClient, served: Path) -> None:
    """No column holds as much: whoever looks at one is told, and the server does not grow."""
    folder = make_collection(served / "odd", [PAGE])
    database = apsw.Connection(str(folder / "crawl.db"))
    database.execute("UPDATE page SET title = CAST(zeroblob(?) AS TEXT)", (_VALUE_BYTES + 1,))
    database.close()
    answer = client.get(f"/c/odd/page?url={PAGE[0]}")
    assert answer.status == 503 and len(answer.body) < 100_000


def test_few_indexes_are_made_at_a_time(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many collections are looked at; each is a process, and the next look starts those that wait."""
    monkeypatch.setattr(background, "AT_ONCE", 1)
    folders = [make_collection(served / f"c{nth}", [PAGE]) for nth in range(3)]
    one = indexing.Indexing()
    try:
        assert [one.prepare(folder).running for folder in folders] == [True, False, False]
    finally:
        one.close()
