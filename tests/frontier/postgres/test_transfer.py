"""A collection goes from a file to a database and back, and is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
from support.loopback import Web, html

from lycosa import crawl

psycopg = pytest.importorskip("psycopg")

#: The tables that say all of a crawl, without row numbers.
QUESTIONS = {
    "urls": "SELECT url, state, reason, http, parent, depth, via, anchor, seed, round, redirect FROM urls ORDER BY url",
    "pages": "SELECT url, fetched, status, mime, title, digest, warc, offset, length, round FROM pages ORDER BY url",
    "hosts": "SELECT name, pages, visited, errors FROM host ORDER BY name",
    "rounds": "SELECT round, at, ended, why FROM round ORDER BY round",
    "counters": "SELECT state, reason, count FROM stat WHERE count <> 0 ORDER BY 1, 2",
    "figures": "SELECT name, key, count FROM figure WHERE count <> 0 ORDER BY 1, 2",
    "links": "SELECT url.url, link.round, hex(links) FROM link JOIN url USING (n) ORDER BY 1, 2",
    "contents": "SELECT hex(content.digest), url.url FROM content JOIN url USING (n) ORDER BY 1",
    "robots": "SELECT origin, status, hex(body) FROM robots ORDER BY 1",
    "visits": "SELECT visit.round, url.url, event FROM visit JOIN url USING (n) ORDER BY 1, 2",
}


def ask(folder: Path) -> dict[str, Any]:
    db = apsw.Connection(str(folder / "crawl.db"))
    try:
        return {name: db.execute(sql).fetchall() for name, sql in QUESTIONS.items()}
    finally:
        db.close()


def test_a_collection_goes_to_a_database_and_back(address: str, tmp_path: Path) -> None:
    """Every table is the same, and a crawl goes on there and here without asking for anything twice."""
    from lycosa.frontier.postgres.connection import connect
    from lycosa.frontier.postgres.frontier import PostgresFrontier
    from lycosa.frontier.postgres.transfer import from_file, to_file
    from lycosa.frontier.sqlite.frontier import SqliteFrontier

    web = Web()
    try:
        names = [f"/{n}" for n in range(12)]
        web["a.test/"] = html(*names, "http://b.test/", "/gone", title="a\ufffd")
        web["b.test/"] = html("http://a.test/3")
        for name in names:
            web[f"a.test{name}"] = html("/", text=f"page {name}")
        options = {"connect_to": [web.connect_to], "delay": 0, "scope": "free", "quiet": True, "workers": 1}
        crawl("http://a.test/", collection=tmp_path / "one", limit=9, **options)
        before = ask(tmp_path / "one")
        PostgresFrontier.create(address, "one", mission_toml="")
        with connect(address) as connection:
            assert from_file(tmp_path / "one" / "crawl.db", connection, "one") == len(before["urls"])
            SqliteFrontier.create(tmp_path / "back.db", mission_toml="", now=1.0)
            assert to_file(connection, "one", tmp_path / "back.db") == len(before["urls"])
        (tmp_path / "one" / "crawl.db").unlink()
        (tmp_path / "back.db").rename(tmp_path / "one" / "crawl.db")
        after = ask(tmp_path / "one")
        for name in QUESTIONS:
            assert after[name] == before[name], name
        asked = set(web.paths())
        web.asked.clear()
        crawl("http://a.test/", collection=tmp_path / "one", **options)
        assert not asked & set(web.paths())
        assert asked | set(web.paths()) == {"a.test/", "b.test/", "a.test/gone", *(f"a.test{name}" for name in names)}
    finally:
        web.close()
