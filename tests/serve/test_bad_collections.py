"""Collections that cannot be shown: damaged, newer, foreign, vanished, locked; each a page that says what to do."""

from __future__ import annotations

import http.client
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from support.make_collection import make_collection
from support.serve_client import ServeClient, serving

from lycosa.collection.folder import lock

PAGE = ("https://a.example/", "text/html", b"<title>A</title>")
PATHS = ("", "crawl", "index.json", "crawl.json", "crawl/events")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[ServeClient]:
    with serving(tmp_path) as client:
        yield client


def test_a_damaged_collection_offers_its_cure(client: ServeClient, tmp_path: Path) -> None:
    """On each of its pages; home shows it among the others, which work."""
    make_collection(tmp_path / "good", [PAGE])
    (make_collection(tmp_path / "bad", [PAGE]) / "crawl.db").write_bytes(b"nonsense" * 4096)
    for path in PATHS:
        answer = client.get(f"/c/bad/{path}")
        assert answer.status == 503 and "damaged" in answer.text and "Traceback" not in answer.text
    assert 'action="/c/bad/crawl/continue"' in client.get("/c/bad/").text
    states = {one["name"]: one["state"] for one in client.get("/index.json").json["collections"]}
    assert states == {"bad": "damaged", "good": "finished"}


def test_a_database_that_is_cut_off_is_damaged(client: ServeClient, tmp_path: Path) -> None:
    """Also where only its end is missing."""
    database = make_collection(tmp_path / "cut", [PAGE]) / "crawl.db"
    database.write_bytes(database.read_bytes()[:20_000])
    for path in PATHS:
        answer = client.get(f"/c/cut/{path}")
        assert answer.status in (200, 503) and "Traceback" not in answer.text
    assert client.get("/").status == 200


def test_a_lost_database_is_damage(client: ServeClient, tmp_path: Path) -> None:
    """The archive is still there, and a crawl makes it anew."""
    folder = make_collection(tmp_path / "lost", [PAGE])
    (folder / "lycosa.toml").write_text("")
    (folder / "crawl.db").unlink()
    assert client.get("/index.json").json["collections"][0]["state"] == "damaged"
    assert client.get("/c/lost/").status == 503


def test_a_newer_collection_says_what_to_do(client: ServeClient, tmp_path: Path) -> None:
    """Upgrade."""
    folder = make_collection(tmp_path / "newer", [PAGE])
    database = sqlite3.connect(folder / "crawl.db")
    database.execute("UPDATE meta SET value = 999 WHERE key = 'schema'")
    database.commit()
    database.close()
    for path in PATHS:
        answer = client.get(f"/c/newer/{path}")
        assert answer.status == 503 and "upgrade lycosa" in answer.text
    assert client.get("/index.json").json["collections"][0]["state"] == "unreadable"


def test_a_database_of_another_program_is_said(client: ServeClient, tmp_path: Path) -> None:
    """It is not taken for ours."""
    (tmp_path / "other").mkdir()
    database = sqlite3.connect(tmp_path / "other" / "crawl.db")
    database.execute("CREATE TABLE t (x)")
    database.close()
    assert "is not a lycosa crawl database" in client.get("/c/other/").text


def test_a_collection_that_vanishes_is_a_page(client: ServeClient, tmp_path: Path) -> None:
    """While it is shown, and afterwards."""
    folder = make_collection(tmp_path / "short", [PAGE])
    assert client.get("/c/short/crawl").status == 200
    shutil.rmtree(folder)
    for path in PATHS:
        assert client.get(f"/c/short/{path}").status in (404, 503)
    assert client.post("/c/short/crawl/continue", {}).status in (404, 503)


def test_a_served_folder_that_is_gone_is_said(client: ServeClient, tmp_path: Path) -> None:
    """It is not empty, and no crawl makes it anew: its disk may be missing."""
    token = client.token()
    shutil.rmtree(tmp_path)
    assert client.get("/").status == 404 and "its disk is missing" in client.get("/").text
    fields = urlencode({"token": token, "name": "x", "seeds": "http://127.0.0.1:9/"}).encode()
    assert client.request("POST", "/crawls", body=fields).status == 404
    assert not tmp_path.exists()


def test_who_watches_reads_what_is_wrong_as_long_as_it_is(client: ServeClient, tmp_path: Path) -> None:
    """A collection that comes back is shown again, without the note that it is gone."""
    folder = make_collection(tmp_path / "short", [PAGE])
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
    connection.request("GET", "/c/short/crawl/events", headers={"accept-language": "es"})
    answer = connection.getresponse()

    def next_problem() -> str:
        while b'"part":"problem"' not in (line := answer.readline()):
            assert line
        return str(json.loads(line.removeprefix(b"data: "))["html"])

    assert next_problem() == ""
    folder.rename(tmp_path / "moved")
    assert "No hay ninguna colección" in next_problem()
    (tmp_path / "moved").rename(folder)
    assert next_problem() == ""
    connection.close()


def test_a_collection_that_is_locked_can_be_looked_at(client: ServeClient, tmp_path: Path) -> None:
    """Reading disturbs nobody; a second crawl is refused in one sentence."""
    folder = make_collection(tmp_path / "busy", [PAGE])
    with lock(folder):
        assert client.get("/c/busy/").status == 200
        assert client.get("/c/busy/crawl.json").json["figures"]["state"] == "running"
        answer = client.post("/c/busy/crawl/continue", {})
        assert answer.status == 503 and "already runs" in answer.text and "<h1>This was not done</h1>" in answer.text


def test_what_cannot_be_shown_is_not_blamed_on_the_collection(client: ServeClient, tmp_path: Path) -> None:
    """A file beside it is wrong; the rest is fine."""
    folder = make_collection(tmp_path / "news", [PAGE])
    (folder / "saved-queries.json").write_text("nonsense")
    answer = client.get("/c/news/query")
    assert answer.status == 503 and "<h1>This cannot be shown</h1>" in answer.text


def test_a_mission_with_code_of_its_own_is_not_started(client: ServeClient, tmp_path: Path) -> None:
    """A collection that was handed on may name any file."""
    folder = make_collection(tmp_path / "code", [PAGE])
    (folder / "lycosa.toml").write_text('quarry = "/tmp/evil.py:Evil"\n')
    answer = client.post("/c/code/crawl/continue", {})
    assert answer.status == 400 and "code of its own" in answer.text


@pytest.mark.parametrize(
    "toml",
    [
        "",
        "nonsense = [",
        "missions = 7\nseeds = {a=1}\nlimits = 3",
        "\0",
        "missions = ['<i>']",
        "a = " + "[" * 300_000,
        "a" + ".a" * 500_000 + " = 1",
        "[keep]\na" + ' . "a"' * 100_000 + " = 1",
    ],
    ids=range(8),
)
def test_a_strange_mission_file_is_no_obstacle(client: ServeClient, tmp_path: Path, toml: str) -> None:
    """Home, overview and crawl are shown."""
    folder = make_collection(tmp_path / "odd", [PAGE])
    (folder / "lycosa.toml").write_text(toml)
    for path in ("/", "/c/odd/", "/c/odd/crawl", "/c/odd/crawl.json"):
        answer = client.get(path)
        assert answer.status == 200 and "<i>" not in answer.text


def test_wrong_parameters_are_harmless(client: ServeClient, tmp_path: Path) -> None:
    """Numbers that are none, and a limit that is none."""
    make_collection(tmp_path / "news", [PAGE])
    for page in ("-1", "0", "99999999999", "x", "1e9", "%00", "%EF%BC%91"):
        assert client.get(f"/?page={page}").status == 200
    answer = client.post("/c/news/crawl/continue", {"limit": "many"})
    assert answer.status == 400 and "allowed" in answer.text
