"""Single polite requests outside of a crawl: robots.txt, pauses, retries, redirects, the gate, the wish to stop."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.loopback import Reply as Page
from support.loopback import Web, html

from lycosa.config.loading import load
from lycosa.config.settings import Mission
from lycosa.fetch.address_guard import AddressGuard
from lycosa.model import RobotsRow
from lycosa.politeness.single_requests import Reply, SingleRequests
from lycosa.urls import origin_of


def settle(web: Web, **fetch: object) -> Mission:
    usual = {"fetch.connect_to": [web.connect_to], "fetch.delay_s": 0, "fetch.retry_delay_s": 0.01, "fetch.retries": 1}
    return load(overrides=usual | {f"fetch.{name}": value for name, value in fetch.items()}).mission


def ask(mission: Mission, folder: Path, *urls: str, rows: dict[str, RobotsRow] | None = None) -> dict[object, Reply]:
    """The replies by address."""
    gate = AddressGuard(connect_to=mission.fetch.connect_to)
    patrol = SingleRequests(mission, gate, spool_folder=str(folder), robots=(rows or {}).get)
    replies: dict[object, Reply] = {}
    try:
        for url in urls:
            patrol.ask(url, url, max_bytes=100_000)
        patrol.run(lambda tag, reply: replies.update({tag: reply}))
        assert patrol.pending == 0
    finally:
        patrol.close()
    return replies


def test_answers_come_back_whole(web: Web, tmp_path: Path) -> None:
    """Body, status, headers, time; a failure has its reason and what came with it; a bad address has its reason."""
    web["a.test/"] = html(title="here")
    web["a.test/no"] = Page(b"sorry", 403)
    found = ask(
        settle(web), tmp_path, "http://a.test/", "http://a.test/no", "http://a.test/none", "gopher:x", "http://"
    )
    assert (found["http://a.test/"].status, found["http://a.test/"].reason) == (200, "")
    assert b"here" in found["http://a.test/"].body and found["http://a.test/"].took_s > 0
    assert (found["http://a.test/no"].reason, found["http://a.test/no"].body) == ("http-403", b"sorry")
    assert found["http://a.test/none"].reason == "http-404"
    assert found["gopher:x"].reason == found["http://"].reason == "bad-url"


def test_robots_are_asked_first_and_obeyed(web: Web, tmp_path: Path) -> None:
    """Once for each host; what is known already is believed while it is young; what cannot be had forbids."""
    web["a.test/robots.txt"] = Page(b"User-agent: *\nDisallow: /private\n")
    web["a.test/x"] = web["a.test/private"] = web["b.test/x"] = web["c.test/x"] = html()
    web["c.test/robots.txt"] = Page(b"", 503)
    origin = origin_of("http://b.test/")
    known = {origin: RobotsRow(origin, time.time(), 200, b"User-agent: *\nDisallow: /")}
    urls = ("http://a.test/x", "http://a.test/private", "http://b.test/x", "http://c.test/x")
    found = ask(settle(web), tmp_path, *urls, rows=known)
    assert [found[url].reason for url in urls] == ["", "robots", "robots", "robots-http-503"]
    assert web.paths() == ["a.test/x"]
    assert [asked.path for asked in web.asked if asked.host == "a.test"] == ["/robots.txt", "/x"]
    assert not [asked for asked in web.asked if asked.host == "b.test"]


def test_redirects_are_followed_hop_by_hop(web: Web, tmp_path: Path) -> None:
    """Each host's robots.txt counts; circles end."""
    web["a.test/1"] = Page(b"", 302, {"Location": "http://b.test/2"})
    web["b.test/2"] = Page(b"", 301, {"Location": "/3"})
    web["b.test/3"] = html(title="end")
    web["a.test/loop"] = Page(b"", 302, {"Location": "/loop"})
    web["a.test/barred"] = Page(b"", 302, {"Location": "http://c.test/"})
    web["c.test/robots.txt"] = Page(b"User-agent: *\nDisallow: /")
    found = ask(settle(web), tmp_path, "http://a.test/1", "http://a.test/loop", "http://a.test/barred")
    assert (found["http://a.test/1"].url, found["http://a.test/1"].reason) == ("http://b.test/3", "")
    assert found["http://a.test/loop"].reason == "redirect-limit"
    assert found["http://a.test/barred"].reason == "robots"


def test_passing_failures_are_tried_again_and_hosts_have_their_pauses(web: Web, tmp_path: Path) -> None:
    """A 503 once more, and no two requests to a host closer than its delay."""
    web["a.test/busy"] = Page(b"", 503)
    web["a.test/1"] = web["a.test/2"] = html()
    found = ask(settle(web, delay_s=0.1), tmp_path, "http://a.test/busy", "http://a.test/1", "http://a.test/2")
    assert found["http://a.test/busy"].reason == "http-503"
    assert web.paths().count("a.test/busy") == 2
    begun = sorted(asked.began for asked in web.asked)
    assert min(b - a for a, b in zip(begun, begun[1:], strict=False)) >= 0.099


def test_private_addresses_are_refused(web: Web, tmp_path: Path) -> None:
    """The gate stands here as well."""
    found = ask(settle(web, connect_to=[]), tmp_path, f"http://127.0.0.1:{web.port}/")
    assert found[f"http://127.0.0.1:{web.port}/"].reason in ("address", "robots-address")
    assert web.asked == []


def test_a_wish_to_stop_is_heard(web: Web, tmp_path: Path) -> None:
    """What is under way comes back, the rest stays pending."""
    for number in range(5):
        web[f"a.test/{number}"] = html()
    mission = settle(web, delay_s=0.05)
    patrol = SingleRequests(
        mission, AddressGuard(connect_to=mission.fetch.connect_to), spool_folder=str(tmp_path), robots=lambda _: None
    )
    replies: list[Reply] = []
    try:
        for number in range(5):
            patrol.ask(f"http://a.test/{number}", number, max_bytes=1000)
        patrol.run(lambda _, reply: replies.append(reply), stopping=lambda: len(replies) >= 2)
        assert (len(replies), patrol.pending) == (2, 3)
    finally:
        patrol.close()


@pytest.mark.parametrize("coding", ["", "gzip"])
def test_large_answers_are_cut(web: Web, tmp_path: Path, coding: str) -> None:
    """At the limit of the request, before and after decompression."""
    import gzip

    body = gzip.compress(b"x" * 5_000_000) if coding else b"x" * 5_000_000
    web["a.test/big"] = Page(body, headers={"Content-Encoding": coding} if coding else {})
    reply = ask(settle(web), tmp_path, "http://a.test/big")["http://a.test/big"]
    assert reply.reason and 0 < len(reply.body) <= 100_000
    assert list(tmp_path.iterdir()) == []
