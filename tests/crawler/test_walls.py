"""Walls met by a crawl: kept as answers and never as pages; what was known before stays, and the end tells of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crawl_runs import crawl, rows, states
from support.loopback import Reply, Web, html
from support.walls import WALLS

from lycosa.archive.reader import iter_records

ANUBIS, CLOUDFLARE = WALLS[0], next(sample for sample in WALLS if sample.status == 403)
STORY = "<p>" + "The harbour of Sand was closed on Monday, as the ice had come early this year. " * 9 + "</p>"


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.close()


def wall() -> Reply:
    return Reply(ANUBIS.body.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def grown(web: Web) -> None:
    web["sand.test/"] = html("/news/1", "/news/2", text=STORY)
    for n in (1, 2):
        web[f"sand.test/news/{n}"] = html("/", title=f"News {n}", text=f"{STORY} Number {n}.")


def test_a_challenge_is_no_page_and_is_asked_again(web: Web, tmp_path: Path) -> None:
    """It is tried as often as any passing failure, and the end says whose it was and what the user can do."""
    grown(web)
    web["sand.test/news/1"] = wall()
    told = crawl(web, tmp_path / "c", "http://sand.test/", "--set", "fetch.retries=2")
    assert states(tmp_path / "c")["http://sand.test/news/1"] == "failed challenge:anubis"
    assert [asked.path for asked in web.asked].count("/news/1") == 3
    assert "challenge:anubis 1" in told
    assert "1 page behind a wall" in told
    assert "Making sure" not in str(rows(tmp_path / "c", "SELECT title FROM pages"))


def test_a_page_behind_a_wall_in_the_next_round_stays_as_it_was(web: Web, tmp_path: Path) -> None:
    """It is neither gone nor changed; when the wall falls it is the page that it was."""
    folder = tmp_path / "c"
    grown(web)
    crawl(web, folder, "http://sand.test/")
    web["sand.test/news/1"] = wall()
    web["sand.test/news/2"] = html(title="Page not found", text="<p>Sorry, this page does not exist.</p>")
    told = crawl(web, folder, "http://sand.test/", "--recrawl", "--set", "fetch.retries=0")
    assert ", 0 gone" in told
    assert "0 changed" in told
    assert states(folder)["http://sand.test/news/2"] == "rejected soft-404"
    grown(web)
    told = crawl(web, folder, "http://sand.test/", "--recrawl")
    assert "0 gone" in told
    assert "0 changed" in told
    assert states(folder)["http://sand.test/news/1"].startswith(("fetched", "not modified"))


def test_a_wall_that_comes_as_an_error_is_told_by_its_name(web: Web, tmp_path: Path) -> None:
    grown(web)
    web["sand.test/news/1"] = Reply(CLOUDFLARE.body.encode(), 403, {"Content-Type": "text/html", **CLOUDFLARE.headers})
    crawl(web, tmp_path / "c", "http://sand.test/", "--set", "fetch.retries=0")
    assert states(tmp_path / "c")["http://sand.test/news/1"] == "failed challenge:cloudflare"
    why = subprocess.run(
        [sys.executable, "-m", "lycosa", "why", "-c", str(tmp_path / "c"), "http://sand.test/news/1"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    fate = json.loads(why.stdout)["fate"]
    assert "no robot" in fate["meaning"]
    assert "--contact" in fate["remedy"]


def test_the_archive_keeps_a_wall_as_it_came(web: Web, tmp_path: Path) -> None:
    """Beside the answer there is nothing: no page, no text, no links."""
    grown(web)
    web["sand.test/news/1"] = wall()
    crawl(web, tmp_path / "c", "http://sand.test/", "--set", "fetch.retries=0")
    bodies = [
        stored.body_raw
        for path in sorted((tmp_path / "c" / "archive").glob("*.warc.gz"))
        for stored in iter_records(path)
    ]
    assert ANUBIS.body.encode() in bodies
    assert rows(tmp_path / "c", "SELECT count(*) FROM pages") == [(2,)]
