"""What a crawl keeps of the wishes of sites, and what it does by them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import run
from support.crawl_runs import crawl, rows, states, stored
from support.loopback import Reply, Web

from lycosa import Collection

ROBOTS = b"User-agent: GPTBot\nDisallow: /closed\n\nUser-agent: *\nAllow: /\nLicense: http://law.test/licence.xml\n"
LICENCE = (
    b'<rsl xmlns="https://rslstandard.org/rsl"><content url="http://sand.test/paid"><license><permits type="usage">'
    b'ai-input</permits><payment type="purchase"/></license></content></rsl>'
)
TDMREP = b'[{"location": "/mined", "tdm-reservation": 1}]'
PAGES = ("closed", "paid", "mined", "own", "field", "free")


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    server["sand.test/robots.txt"] = Reply(ROBOTS, headers={"Content-Type": "text/plain"})
    server["law.test/licence.xml"] = Reply(LICENCE, headers={"Content-Type": "application/rsl+xml"})
    server["sand.test/.well-known/tdmrep.json"] = Reply(TDMREP, headers={"Content-Type": "application/json"})
    server["sand.test/"] = page("".join(f"<a href=/{name}>{name}</a>" for name in PAGES))
    for name in PAGES:
        server[f"sand.test/{name}"] = page(name)
    server["sand.test/own"] = page("own", head='<meta name="robots" content="noai">')
    server["sand.test/field"] = page("field", usage="train-ai=n")
    yield server
    server.close()


def page(text: str, *, head: str = "", usage: str = "") -> Reply:
    body = f"<html><head><title>{text[:9]}</title>{head}</head><body><p>{text}</p></body></html>".encode()
    return Reply(body, headers={"Content-Type": "text/html", **({"Content-Usage": usage} if usage else {})})


def asked(web: Web, path: str) -> int:
    return sum(request.path == path for request in web.asked)


def test_each_page_has_its_wishes_with_their_places_and_times(web: Web, tmp_path: Path) -> None:
    """Of pages that say nothing nothing is kept; a licence that robots.txt names is asked for, tdmrep.json is not."""
    crawl(web, tmp_path / "c", "http://sand.test/")
    with Collection(tmp_path / "c") as collection:
        found = set(collection.rows("SELECT url, use, allowed, place FROM wishes WHERE at IS NOT NULL"))
        forbids = dict(collection.rows("SELECT url, forbids FROM pages WHERE forbids <> ''"))
    base = "http://sand.test"
    assert found == {
        (f"{base}/closed", "train", 0, "robots.txt User-agent: gptbot"),
        *((f"{base}/paid", use, 0, "RSL") for use in ("input", "train", "search")),
        *((f"{base}/own", use, 0, "meta robots") for use in ("train", "input")),
        (f"{base}/field", "train", 0, "header Content-Usage"),
    }
    assert forbids == {
        f"{base}/closed": "train",
        f"{base}/paid": "search train input",
        f"{base}/own": "train input",
        f"{base}/field": "train",
    }
    assert (asked(web, "/licence.xml"), asked(web, "/.well-known/tdmrep.json")) == (1, 0)
    told = run("query", "-c", str(tmp_path / "c"), "SELECT count(*) AS n FROM wishes WHERE use = 'train'").output
    assert "4" in told


def test_what_a_use_is_forbidden_for_is_not_fetched_or_not_kept(web: Web, tmp_path: Path) -> None:
    crawl(web, tmp_path / "c", "http://sand.test/", "--set", "fetch.uses=train,mining")
    assert stored(tmp_path / "c") == {"http://sand.test/", "http://sand.test/free"}
    reasons = dict(rows(tmp_path / "c", "SELECT url, reason FROM url WHERE state = 8"))
    assert set(reasons.values()) == {"wishes"}
    assert [asked(web, f"/{name}") for name in PAGES] == [0, 0, 0, 1, 1, 1]
    assert asked(web, "/.well-known/tdmrep.json") == 1
    why = run("why", "-c", str(tmp_path / "c"), "--format", "text", "http://sand.test/mined").output
    assert "wishes" in why and "tdmrep.json /mined forbids mining" in why
    why = run("why", "-c", str(tmp_path / "c"), "--format", "text", "http://sand.test/own").output
    assert "It was read for its links and not kept" in why
    crawl(web, tmp_path / "c", "http://sand.test/", "--set", "fetch.uses=")
    assert len(stored(tmp_path / "c")) == 7


def test_wishes_that_change_are_kept_as_they_are_now(web: Web, tmp_path: Path) -> None:
    """In a new round robots.txt forbids more, one page says nothing any more, and the others have not changed."""
    crawl(web, tmp_path / "c", "http://sand.test/")
    web["sand.test/robots.txt"] = Reply(b"User-agent: *\nContent-Signal: search=no\n")
    web["sand.test/own"] = page("own, new")
    crawl(web, tmp_path / "c", "--recrawl", "--full")
    with Collection(tmp_path / "c") as collection:
        forbids = dict(collection.rows("SELECT url, forbids FROM pages"))
    base = "http://sand.test"
    assert forbids == {
        **{f"{base}/{name}": "search" for name in ("", *PAGES)},
        f"{base}/field": "search train",
    }


def test_a_file_of_wishes_out_of_reach_holds_up_nothing(web: Web, tmp_path: Path) -> None:
    web["law.test/licence.xml"] = Reply(status=503)
    crawl(web, tmp_path / "c", "http://sand.test/", "--set", "fetch.retries=0")
    assert len(stored(tmp_path / "c")) == 7 and set(states(tmp_path / "c").values()) == {"fetched"}


def test_a_sitemap_is_tried_where_robots_names_none(web: Web, tmp_path: Path) -> None:
    """If it is wanted; where there is none nobody is told of an error."""
    sitemap = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://sand.test/far</loc></url>"
    web["sand.test/sitemap.xml"] = Reply(sitemap + b"</urlset>", headers={"Content-Type": "text/xml"})
    web["sand.test/far"] = page("far")
    web["mute.test/"] = page("mute")
    crawl(web, tmp_path / "c", "http://sand.test/", "http://mute.test/", "--set", "fetch.guess_sitemaps=true")
    found = states(tmp_path / "c")
    assert found["http://sand.test/far"] == "fetched"
    assert not any("mute.test/sitemap.xml" in url for url in found)
    assert sum(request.host == "mute.test" for request in web.asked) == 3


def test_markdown_is_asked_for_and_the_key_of_a_site_is_no_page(web: Web, tmp_path: Path) -> None:
    key = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    web["sand.test/"] = page(f"<a href=/{key}.txt>key</a><a href=/notes.txt>notes</a>")
    web[f"sand.test/{key}.txt"] = Reply(key.encode(), headers={"Content-Type": "text/plain"})
    web["sand.test/notes.txt"] = Reply(b"notes", headers={"Content-Type": "text/plain"})
    crawl(web, tmp_path / "c", "http://sand.test/", "--set", "fetch.markdown=true")
    assert states(tmp_path / "c")[f"http://sand.test/{key}.txt"] == "rejected key-file"
    assert "http://sand.test/notes.txt" in stored(tmp_path / "c")
    accepted = [
        request.headers.get("accept", request.headers.get("Accept", "")) for request in web.asked if request.path == "/"
    ]
    assert accepted[0].startswith("text/markdown,")
