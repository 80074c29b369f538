"""Whole crawls over a small web on loopback: limits, scope, order, robots, redirects, retries, resuming."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import time
from collections import Counter
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.crawl_runs import chain, command, crawl, rows, states, stored
from support.loopback import Reply, Web, html
from support.processes import find_children

from lycosa import Collection


def test_a_site_is_collected_whole_and_once(web: Web, tmp_path: Path) -> None:
    """Every page is fetched exactly once, robots.txt first; the collection has its files."""
    chain(web, "a.test", 30)
    crawl(web, tmp_path / "c", "http://a.test/")
    assert web.asked[0].path == "/robots.txt"
    assert sorted(web.paths()) == sorted(set(web.paths()))
    assert len(stored(tmp_path / "c")) == 30
    assert {p.name for p in (tmp_path / "c").iterdir()} >= {"lycosa.toml", "crawl.db", "archive", "logs"}
    assert len((tmp_path / "c/logs/crawl.log").read_text().splitlines()) == 30


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limit=st.integers(1, 45), workers=st.integers(1, 4), hosts=st.integers(1, 5))
def test_the_page_limit_is_exact(
    web: Web, tmp_path_factory: pytest.TempPathFactory, limit: int, workers: int, hosts: int
) -> None:
    """Exactly as many pages as asked for, with any number of workers; copies of others count, missing ones do not."""
    folder = tmp_path_factory.mktemp("limit") / "c"
    for h in range(hosts):
        chain(web, f"h{h}.test", 20)
        others = [f"http://h{k}.test/" for k in range(hosts)]
        web[f"h{h}.test/"] = html("/1", "/2", "/missing", "/copy", *others, title=str(h))
        web[f"h{h}.test/copy"] = web.pages[f"h{h}.test/1"]
    code = 5 if limit <= 21 * hosts else 0
    size = ("--limit", str(limit), "--workers", str(workers))
    crawl(web, folder, "http://h0.test/", "--scope", "free", *size, code=code)
    kept = [state for state in states(folder).values() if state in ("fetched", "duplicate")]
    assert len(kept) == min(limit, 21 * hosts)


def test_a_limit_is_continued_with_a_higher_one(web: Web, tmp_path: Path) -> None:
    """A crawl that a limit ended goes on where it stopped, fetching nothing twice."""
    chain(web, "a.test", 30)
    crawl(web, tmp_path / "c", "http://a.test/", "--limit", "10", code=5)
    crawl(web, tmp_path / "c", "http://a.test/", "--limit", "25", code=5)
    crawl(web, tmp_path / "c", "http://a.test/")
    assert len(stored(tmp_path / "c")) == 30
    assert sorted(web.paths()) == sorted(set(web.paths()))


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(depth=st.integers(0, 5), workers=st.integers(1, 3))
def test_the_depth_limit_is_exact(web: Web, tmp_path_factory: pytest.TempPathFactory, depth: int, workers: int) -> None:
    """A page is fetched if and only if some path of at most `depth` links leads to it, however late that is found."""
    folder = tmp_path_factory.mktemp("depth") / "c"
    # The long way /a1 … /a8 is fast, the short way over slow.test is late: depths must be lowered afterwards.
    for n in range(8):
        web[f"fast.test/a{n}"] = html(f"/a{n + 1}", title=f"a{n}")
    web["fast.test/"] = html("/a0", "http://slow.test/", title="root")
    web["slow.test/"] = html("http://fast.test/a4", title="slow")
    web.pages["slow.test/"].delay_s = 0.4
    web["fast.test/a8"] = html(title="end")
    crawl(web, folder, "http://fast.test/", "--scope", "free", "--depth", str(depth), "--workers", str(workers))
    graph = {"/": 0, "slow": 1, **{f"/a{n}": min(n + 1, n - 4 + 2 if n >= 4 else 99) for n in range(9)}}
    near = [place for place, steps in graph.items() if steps <= depth]
    expected = {"http://slow.test/" if place == "slow" else f"http://fast.test{place}" for place in near}
    assert stored(folder) == expected


def test_scopes_are_exact(web: Web, tmp_path: Path) -> None:
    """Each scope opens just what it says; what lies outside is recorded as such and never asked for."""
    links = ("/p/x", "/q/y", "http://sub.a.test/", "http://other.test/", "http://not-a.test/")
    web["a.test/p/"] = html(*links, title="p")
    for address in ("a.test/p/x", "a.test/q/y", "sub.a.test/", "other.test/", "not-a.test/"):
        web[address] = html(title=address)
    expected = {"path": {"http://a.test/p/x"}}
    expected["host"] = expected["path"] | {"http://a.test/q/y"}
    expected["domain"] = expected["host"] | {"http://sub.a.test/"}
    expected["free"] = expected["domain"] | {"http://other.test/", "http://not-a.test/"}
    for scope, urls in expected.items():
        crawl(web, tmp_path / scope, "http://a.test/p/", "--scope", scope)
        assert stored(tmp_path / scope) == urls | {"http://a.test/p/"}
        outside = {url for url, state in states(tmp_path / scope).items() if state == "rejected scope"}
        assert outside == expected["free"] - urls


@pytest.mark.parametrize("order", ["bfs", "dfs"])
def test_order(web: Web, tmp_path: Path, order: str) -> None:
    """bfs goes level by level, dfs down the newest branch first, both in the order of the page."""
    web["a.test/"] = html("/1", "/2")
    web["a.test/1"] = html("/11", "/12", title="1")
    web["a.test/2"] = html("/21", title="2")
    for n in ("11", "12", "21"):
        web[f"a.test/{n}"] = html(title=n)
    crawl(web, tmp_path / "c", "http://a.test/", "--order", order, "--per-host", "1", "--workers", "1")
    paths = [path.removeprefix("a.test") for path in web.paths()]
    expected = {"bfs": ["/", "/1", "/2", "/11", "/12", "/21"], "dfs": ["/", "/1", "/11", "/12", "/2", "/21"]}
    assert paths == expected[order]


def test_accept_and_reject(web: Web, tmp_path: Path) -> None:
    """Only what an accept pattern matches and no reject pattern does; the seed always."""
    web["a.test/"] = html("/keep.html", "/keep-not.html", "/file.pdf")
    for path in ("keep.html", "keep-not.html", "file.pdf"):
        web[f"a.test/{path}"] = html(title=path)
    crawl(web, tmp_path / "c", "http://a.test/", "--include", r"\.html$", "--exclude", "not")
    assert states(tmp_path / "c") == {
        "http://a.test/": "fetched",
        "http://a.test/keep.html": "fetched",
        "http://a.test/keep-not.html": "rejected reject-list",
        "http://a.test/file.pdf": "rejected accept-list",
    }


def test_robots_is_obeyed_and_its_sitemap_followed(web: Web, tmp_path: Path) -> None:
    """What robots.txt forbids is recorded and not asked for; pages that only the sitemap knows are found."""
    web["a.test/robots.txt"] = Reply(b"User-agent: *\nDisallow: /no\nSitemap: http://a.test/map.xml\n")
    sitemap = b"<urlset><url><loc>http://a.test/hidden</loc></url></urlset>"
    web["a.test/map.xml"] = Reply(sitemap, headers={"Content-Type": "text/xml"})
    web["a.test/"] = html("/no/1", "/yes")
    web["a.test/yes"] = html(title="yes")
    web["a.test/hidden"] = html(title="hidden")
    crawl(web, tmp_path / "c", "http://a.test/")
    assert states(tmp_path / "c")["http://a.test/no/1"] == "rejected robots"
    assert "a.test/no/1" not in web.paths()
    assert "http://a.test/hidden" in stored(tmp_path / "c")


def test_a_folder_is_found_in_the_sitemap_of_its_site(web: Web, tmp_path: Path) -> None:
    """The list lies at the root of its host, outside of the path that is crawled; what it names is judged as ever."""
    web["a.test/robots.txt"] = Reply(b"Sitemap: http://a.test/map.xml\n")
    sitemap = b"<urlset><url><loc>http://a.test/docs/b</loc></url><url><loc>http://a.test/news/c</loc></url></urlset>"
    web["a.test/map.xml"] = Reply(sitemap, headers={"Content-Type": "text/xml"})
    web["a.test/docs/"] = html(title="docs")
    web["a.test/docs/b"] = html(title="b")
    crawl(web, tmp_path / "c", "http://a.test/docs/", "--scope", "path")
    assert "http://a.test/docs/b" in stored(tmp_path / "c")
    assert states(tmp_path / "c")["http://a.test/news/c"] == "rejected scope"
    with Collection(tmp_path / "c") as collection:
        assert collection.why("http://a.test/map.xml").visited


def test_a_robots_of_a_wrong_length_is_read_in_the_end(web: Web, tmp_path: Path) -> None:
    """Its server sends no more however often it is asked; what it forbids holds. One without a body says nothing."""
    wrong = {"Content-Length": "99", "Connection": "close"}
    web["a.test/robots.txt"] = Reply(b"User-agent: *\nDisallow: /no\nAllow: /n", headers=wrong)
    web["a.test/"] = html("/no/1", "/yes")
    web["a.test/yes"] = html(title="yes")
    web["b.test/robots.txt"] = Reply(headers=wrong)
    web["b.test/"] = html()
    crawl(web, tmp_path / "c", "http://a.test/", "http://b.test/", "--set", "fetch.retries=0")
    assert states(tmp_path / "c") == {
        "http://a.test/": "fetched",
        "http://a.test/no/1": "rejected robots",
        "http://a.test/yes": "fetched",
        "http://b.test/": "failed robots-cut-short",
    }


def test_a_seed_that_moves_by_a_refresh_opens_where_it_moves_to(web: Web, tmp_path: Path) -> None:
    """As one that redirects does; one that refreshes itself after a while has not moved."""
    stub = '<meta http-equiv="refresh" content="{}; url=http://portal.test/{}">'
    web["a.test/"] = html(head=stub.format(0, ""))
    web["b.test/"] = html(head=stub.format(300, "later"))
    web["portal.test/"] = html("/more")
    web["portal.test/more"] = html(title="more")
    crawl(web, tmp_path / "c", "http://a.test/")
    assert "http://portal.test/more" in stored(tmp_path / "c")
    crawl(web, tmp_path / "d", "http://b.test/")
    assert states(tmp_path / "d")["http://portal.test/later"] == "rejected scope"


def test_an_unreachable_robots_forbids_everything(web: Web, tmp_path: Path) -> None:
    """RFC 9309: a server error on robots.txt means keep out; the crawl says why nothing could be fetched."""
    web["a.test/robots.txt"] = Reply(status=503)
    web["a.test/"] = html()
    said = crawl(web, tmp_path / "c", "http://a.test/", code=4)
    assert states(tmp_path / "c") == {"http://a.test/": "failed robots-http-503"}
    assert web.paths() == []
    assert "http://a.test/" in said and "robots" in said


def test_a_robots_that_leads_to_a_private_address(web: Web, tmp_path: Path) -> None:
    """It is not followed there, and the reason says whose address it is."""
    web["a.test/robots.txt"] = Reply(status=302, headers={"Location": "http://169.254.169.254/robots.txt"})
    web["a.test/"] = html()
    arguments = command(web, tmp_path / "c", "http://a.test/")
    arguments[arguments.index(web.connect_to)] = web.connect_to.replace("*", "a.test")
    assert subprocess.run(arguments, capture_output=True, timeout=60).returncode == 4
    assert states(tmp_path / "c") == {"http://a.test/": "failed robots-address"}


def test_redirects(web: Web, tmp_path: Path) -> None:
    """Each hop is a target of its own: chains are followed, loops end, other hosts are judged by scope."""
    web["a.test/"] = html("/r1", "/loop1", "/out", "/self")
    web["a.test/r1"] = Reply(status=301, headers={"Location": "r2"})
    web["a.test/r2"] = Reply(status=302, headers={"Location": "http://a.test/end"})
    web["a.test/end"] = html(title="end")
    web["a.test/loop1"] = Reply(status=302, headers={"Location": "/loop2"})
    web["a.test/loop2"] = Reply(status=302, headers={"Location": "/loop1"})
    web["a.test/out"] = Reply(status=302, headers={"Location": "http://evil.test/"})
    web["a.test/self"] = Reply(status=302, headers={"Location": "/self"})
    crawl(web, tmp_path / "c", "http://a.test/")
    found = states(tmp_path / "c")
    assert found["http://a.test/r1"].startswith("redirected for good")
    assert found["http://a.test/r2"].startswith("redirected for now")
    assert found["http://a.test/end"] == "fetched"
    assert found["http://evil.test/"] == "rejected scope"
    assert found["http://a.test/self"] == "failed redirect-loop"
    assert web.paths().count("a.test/loop1") == 1
    assert "failed redirect-loop" in (found["http://a.test/loop1"], found["http://a.test/loop2"])


def test_a_page_that_waits_for_its_cookie(web: Web, tmp_path: Path) -> None:
    """A redirect to itself that sets a cookie is followed once where cookies are kept, and is a loop elsewhere."""
    web["a.test/"] = Reply(status=302, headers={"Location": "/", "Set-Cookie": "seen=1"})
    crawl(web, tmp_path / "c", "http://a.test/", code=4)
    assert web.paths() == ["a.test/"]
    web.asked.clear()
    crawl(web, tmp_path / "d", "http://a.test/", "--set", "fetch.cookies=true", code=4)
    assert [asked.headers.get("cookie") for asked in web.asked if asked.path == "/"] == [None, "seen=1"]
    assert states(tmp_path / "d") == {"http://a.test/": "failed redirect-loop"}


def test_a_page_that_waits_for_its_cookie_behind_another_address(web: Web, tmp_path: Path) -> None:
    """The way of cookie walls: the page leads to an address that leads back, and then wants to see the cookie."""

    def answer(address: str) -> Reply | None:
        if address != "a.test/":
            return None
        if "seen=1" in web.asked[-1].headers.get("cookie", ""):
            return html("/deep", title="open")
        return Reply(status=302, headers={"Location": "/wall", "Set-Cookie": "seen=1"})

    web.make = answer
    web["a.test/wall"] = Reply(status=302, headers={"Location": "/"})
    web["a.test/deep"] = html(title="deep")
    crawl(web, tmp_path / "c", "http://a.test/", code=4)
    assert web.paths() == ["a.test/", "a.test/wall"]
    crawl(web, tmp_path / "d", "http://a.test/", "--set", "fetch.cookies=true")
    found = states(tmp_path / "d")
    assert found["http://a.test/"] == found["http://a.test/deep"] == "fetched"
    web["a.test/"] = Reply(status=302, headers={"Location": "/wall", "Set-Cookie": "seen=1"})
    web.asked.clear()
    crawl(web, tmp_path / "e", "http://a.test/", "--set", "fetch.cookies=true", code=4)
    assert web.paths() == ["a.test/", "a.test/wall", "a.test/"]
    assert states(tmp_path / "e")["http://a.test/"] == "failed redirect-loop"


def test_a_redirect_that_adds_a_session_id_is_followed(web: Web, tmp_path: Path) -> None:
    """Without the id it leads to itself; what is dropped from links is not dropped from what the server asks for."""
    web["a.test/"] = Reply(status=302, headers={"Location": "/;jsessionid=A1B2C3"})
    web["a.test/;jsessionid=A1B2C3"] = html("/next;jsessionid=A1B2C3")
    web["a.test/next"] = html()
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "urls.drop_session=true")
    found = states(tmp_path / "c")
    assert found["http://a.test/;jsessionid=A1B2C3"] == found["http://a.test/next"] == "fetched"


def test_what_cannot_be_decoded_is_no_page(web: Web, tmp_path: Path) -> None:
    """Nothing of it can be read, so it failed; its bytes are in the archive all the same."""
    web["a.test/"] = Reply(b"\x1f\x8b\x08\0broken from the first byte", headers={"Content-Encoding": "gzip"})
    crawl(web, tmp_path / "c", "http://a.test/", code=4)
    assert states(tmp_path / "c") == {"http://a.test/": "failed corrupt"}
    (archive,) = (tmp_path / "c/archive").iterdir()
    assert b"broken from the first byte" in gzip.decompress(archive.read_bytes())


def test_equal_bytes_under_different_codings(web: Web, tmp_path: Path) -> None:
    """What is stored once is read as each page's own header says."""
    packed = gzip.compress(html(title="packed").body, mtime=0)
    web["a.test/"] = html("/file", "/page")
    web["a.test/file"] = Reply(packed, headers={"Content-Type": "application/gzip"})
    web["a.test/page"] = Reply(packed, headers={"Content-Type": "text/html", "Content-Encoding": "gzip"})
    crawl(web, tmp_path / "c", "http://a.test/")
    with Collection(tmp_path / "c") as collection:
        file, page = collection.page("http://a.test/file"), collection.page("http://a.test/page")
        assert file and page and file.duplicate + page.duplicate == 1
        assert (file.body, page.body) == (packed, gzip.decompress(packed))


def test_a_crawl_delay_means_one_request_at_a_time(web: Web, tmp_path: Path) -> None:
    """Who asks for pauses gets them whatever --per-host says, robots.txt counted as a request."""
    chain(web, "a.test", 5)
    web["a.test/robots.txt"] = Reply(b"User-agent: *\nCrawl-delay: 0.3")
    for page in web.pages.values():
        page.delay_s = 0.1
    crawl(web, tmp_path / "c", "http://a.test/", "--per-host", "8")
    times = sorted((asked.began, asked.ended) for asked in web.asked)
    assert all(later[0] - earlier[1] >= 0.29 for earlier, later in zip(times, times[1:], strict=False))


def test_a_seed_that_moved_takes_its_scope_along(web: Web, tmp_path: Path) -> None:
    """The seed's redirect to another host is followed, and that host is crawled like a seed's."""
    web["a.test/"] = Reply(status=301, headers={"Location": "http://www.b.test/"})
    web["www.b.test/"] = html("/in")
    web["www.b.test/in"] = html(title="in")
    crawl(web, tmp_path / "c", "http://a.test/")
    assert stored(tmp_path / "c") == {"http://www.b.test/", "http://www.b.test/in"}


def test_passing_failures_are_tried_again(web: Web, tmp_path: Path) -> None:
    """503 then fine is fetched; 500 for ever ends as failed after the last retry."""
    answers = iter([Reply(status=503, headers={"Retry-After": "0"}), html(title="fine")])
    web.make = lambda address: next(answers, html(title="fine")) if address == "a.test/flaky" else None
    web["a.test/"] = html("/flaky", "/broken")
    web["a.test/broken"] = Reply(status=500)
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "fetch.retries=2")
    found = states(tmp_path / "c")
    assert found["http://a.test/flaky"] == "fetched"
    assert found["http://a.test/broken"] == "failed http-500"
    assert web.paths().count("a.test/broken") == 3


def test_a_page_that_asks_for_a_pause_does_not_stop_its_host(web: Web, tmp_path: Path) -> None:
    """Pages that say 503 and name ten minutes cost the others of their host seconds."""
    busy = [f"/busy/{n}" for n in range(3)]
    web["a.test/"] = html(*busy, *(f"/{n}" for n in range(30)))
    web.make = lambda address: html(title=address)
    for path in busy:
        web[f"a.test{path}"] = Reply(status=503, headers={"Retry-After": "600"})
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "fetch.retries=0")
    assert len(stored(tmp_path / "c")) == 31


def test_equal_content_is_stored_once(web: Web, tmp_path: Path) -> None:
    """The second URL of the same content is a duplicate; its links are followed all the same."""
    web["a.test/"] = html("/x/page", "/y/page")
    web["a.test/x/page"] = web["a.test/y/page"] = html("next", title="same")
    web["a.test/x/next"] = html(title="xn")
    web["a.test/y/next"] = html(title="yn")
    crawl(web, tmp_path / "c", "http://a.test/", "--per-host", "1")
    found = states(tmp_path / "c")
    assert sorted([found["http://a.test/x/page"], found["http://a.test/y/page"]]) == ["duplicate", "fetched"]
    assert found["http://a.test/y/next"] == "fetched"


def test_the_host_budget_is_exact(web: Web, tmp_path: Path) -> None:
    """No host gives more pages than its budget; what is left is recorded with the reason."""
    for host in ("a.test", "b.test"):
        chain(web, host, 20)
    web["a.test/"] = html("/1", "/2", "http://b.test/")
    crawl(web, tmp_path / "c", "http://a.test/", "--scope", "free", "--max-host-pages", "7", "--per-host", "3")
    kept = stored(tmp_path / "c")
    assert sum("a.test" in url for url in kept) == 7
    assert sum("b.test" in url for url in kept) == 7
    assert "rejected host-budget" in states(tmp_path / "c").values()


def test_politeness(web: Web, tmp_path: Path) -> None:
    """One request to a host at a time, and the delay between them, robots.txt included."""
    chain(web, "a.test", 6)
    crawl(web, tmp_path / "c", "http://a.test/", "--delay", "0.2", "--per-host", "1")
    asked = [a for a in web.asked if a.host == "a.test"]
    assert len(asked) == 7
    # From beginnings: the end of an answer is noted after the client may have it, on a busy machine much later.
    gaps = [later.began - earlier.began for earlier, later in zip(asked, asked[1:], strict=False)]
    assert min(gaps) >= 0.2


def test_a_host_that_is_down_is_given_up(web: Web, tmp_path: Path) -> None:
    """A host that never answers ends as failed with its reason and does not hold up the rest."""
    web["a.test/"] = html("http://down.invalid/1", "http://down.invalid/2", "/ok")
    web["a.test/ok"] = html(title="ok")
    closed = ("--connect-to", "down.invalid=127.0.0.1:9", "--set", "fetch.retries=1")
    crawl(web, tmp_path / "c", "http://a.test/", "--scope", "free", *closed)
    found = states(tmp_path / "c")
    assert found["http://a.test/ok"] == "fetched"
    assert found["http://down.invalid/1"].startswith(("failed", "rejected"))


def test_links_to_a_closed_port_do_not_harm_a_host(web: Web, tmp_path: Path) -> None:
    """Anybody can link to ports of another host where nobody answers; its pages are fetched all the same."""
    chain(web, "good.test", 12)
    web["bad.test/"] = html("http://good.test/", *(f"http://good.test:9/{n}" for n in range(30)))
    closed = ("--connect-to", "good.test:9=127.0.0.1:9")
    crawl(web, tmp_path / "c", "--scope", "free", *closed, "http://bad.test/")
    found = states(tmp_path / "c")
    assert len(stored(tmp_path / "c")) == 13
    assert {found[f"http://good.test:9/{n}"] for n in range(30)} == {"failed connect"}


def test_no_seed_reachable(tmp_path: Path, web: Web) -> None:
    """Exit code 4, and why, for each seed."""
    said = crawl(web, tmp_path / "c", "http://gone.test/a", "http://gone.test/b", code=4)
    assert "http://gone.test/a" in said and "404" in said


@pytest.mark.parametrize("who", ["group", "worker"])
def test_kill_nine_loses_nothing(web: Web, tmp_path: Path, who: str) -> None:
    """Killed at any moment and started again, the crawl ends with the same pages; little is fetched twice."""
    chain(web, "a.test", 150)
    for page in web.pages.values():
        page.delay_s = 0.004
    arguments = command(web, tmp_path / "c", "http://a.test/", "--workers", "2")
    for _ in range(3):
        running = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(0.75)
        if who == "group":
            os.killpg(running.pid, signal.SIGKILL)
        else:
            for child in find_children(running.pid)[:1]:
                os.kill(child, signal.SIGKILL)
        if who == "worker":
            assert running.wait(30) == 0
            break
        running.wait(60)
    crawl(web, tmp_path / "c", "http://a.test/", "--workers", "2")
    assert len(stored(tmp_path / "c")) == 150
    assert rows(tmp_path / "c", "PRAGMA integrity_check") == [("ok",)]
    twice = len(web.paths()) - len(set(web.paths()))
    assert twice <= 3 * (50 + 8)


@pytest.mark.parametrize("who", ["worker", "all"])
def test_a_kill_does_not_widen_the_bounds_of_an_endless_site(web: Web, tmp_path: Path, who: str) -> None:
    """A calendar gives as many days as it may, and a sample, however few were counted when its worker was killed."""

    def answer(address: str) -> Reply | None:
        day = date.fromisoformat(address.rpartition("/")[2]) if "/agenda/" in address else None
        if day is None:
            return None
        if len(web.paths()) in (6, 12):
            time.sleep(0.3)  # what was found before is committed
            for pid in find_children(running.pid)[:1] if who == "worker" else [running.pid]:
                os.kill(pid, signal.SIGKILL)
        return html(*(f"/agenda/{day + timedelta(n)}" for n in (1, 2, 3)), title=str(day))

    web["a.test/"] = html("/agenda/2024-01-01")
    web.make = answer
    words = command(web, tmp_path / "c", "http://a.test/", "--set", "traps.calendar=15", "--workers", "1", "--quiet")
    for _ in range(4):
        running = subprocess.Popen([*words, "--delay", "0.05", "--per-host", "1"], stderr=subprocess.DEVNULL)
        if running.wait(60) == 0:
            break
    assert running.returncode == 0
    days = [url for url in stored(tmp_path / "c") if "/agenda/" in url]
    assert 15 < len(days) < 24


def test_a_crawl_killed_before_it_had_a_database(web: Web, tmp_path: Path) -> None:
    """What a crawl leaves that was killed as soon as it began is no foreign folder: the same command goes on."""
    chain(web, "a.test", 3)
    (tmp_path / "c/archive").mkdir(parents=True)
    for name in ("lock", "crawl.db.new", "crawl.db.new-wal", "lycosa.toml.new"):
        (tmp_path / "c" / name).write_bytes(b"half")
    crawl(web, tmp_path / "c", "http://a.test/")
    assert len(stored(tmp_path / "c")) == 3
    (tmp_path / "d").mkdir()
    (tmp_path / "d/thesis.txt").touch()
    assert "not a collection" in crawl(web, tmp_path / "d", "http://a.test/", code=2)


def test_nothing_of_others_is_removed(web: Web, tmp_path: Path) -> None:
    """A folder named tmp may be anybody's, and an empty file named crawl.db makes no collection of a home folder."""
    chain(web, "a.test", 3)
    home = tmp_path / "home"
    (home / "tmp").mkdir(parents=True)
    (home / "tmp/thesis.txt").touch()
    (home / "crawl.db").touch()
    (home / "letter.txt").touch()
    assert "not a collection" in crawl(web, home, "http://a.test/", code=2)
    for name in ("letter.txt", "crawl.db"):
        (home / name).unlink()
    crawl(web, home, "http://a.test/")
    assert (home / "tmp/thesis.txt").exists() and len(stored(home)) == 3


def test_no_worker_outlives_its_supervisor(web: Web, tmp_path: Path) -> None:
    """If the parent alone is killed, its workers end with it; nobody goes on writing, the next run begins at once."""
    chain(web, "a.test", 60)
    for page in web.pages.values():
        page.delay_s = 0.1
    running = subprocess.Popen(command(web, tmp_path / "c", "http://a.test/", "--workers", "2"))
    while len(web.asked) < 6:
        time.sleep(0.05)
    workers = [int(pid) for pid in Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()]
    running.kill()
    running.wait(60)
    assert len(workers) == 2
    crawl(web, tmp_path / "c", "http://a.test/", "--workers", "2")
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert len(stored(tmp_path / "c")) == 60


def test_ctrl_c_finishes_and_continues(web: Web, tmp_path: Path) -> None:
    """The first Ctrl-C finishes what is under way and exits with 130; the same command goes on."""
    chain(web, "a.test", 120)
    for page in web.pages.values():
        page.delay_s = 0.02
    running = subprocess.Popen(command(web, tmp_path / "c", "http://a.test/"), stdout=subprocess.PIPE, text=True)
    while len(web.asked) < 10:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Interrupted" in said
    crawl(web, tmp_path / "c", "http://a.test/")
    assert len(stored(tmp_path / "c")) == 120
    assert sorted(web.paths()) == sorted(set(web.paths()))


@pytest.mark.parametrize("again", [1, 3])
def test_a_closed_terminal_finishes_and_continues(web: Web, tmp_path: Path, again: int) -> None:
    """Its signal goes to all processes, perhaps more than once; what is under way is finished, nothing asked twice."""
    chain(web, "a.test", 120)
    for page in web.pages.values():
        page.delay_s = 0.02
    words = command(web, tmp_path / "c", "http://a.test/")
    running = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    while len(web.asked) < 10:
        time.sleep(0.05)
    for _ in range(again):
        os.killpg(running.pid, signal.SIGHUP)
        time.sleep(0.01)
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Interrupted" in said
    crawl(web, tmp_path / "c", "http://a.test/")
    assert len(stored(tmp_path / "c")) == 120
    assert sorted(web.paths()) == sorted(set(web.paths()))


def test_nohup_keeps_a_crawl_alive(web: Web, tmp_path: Path) -> None:
    """Who has the signal ignored wants the crawl to go on without the terminal."""
    chain(web, "a.test", 30)
    for page in web.pages.values():
        page.delay_s = 0.02
    words = ["nohup", *command(web, tmp_path / "c", "http://a.test/")]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while len(web.asked) < 5:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGHUP)
    assert running.wait(60) == 0
    assert len(stored(tmp_path / "c")) == 30


def test_bad_usage_writes_nothing(web: Web, tmp_path: Path) -> None:
    """A wrong option or value: exit 2, one message, no folder."""
    for wrong in (["--scope", "galaxy"], ["--include", "("], ["--set", "limits.pagse=3"], ["--depth", "x"]):
        crawl(web, tmp_path / "c", "http://a.test/", *wrong, code=2)
        assert not (tmp_path / "c").exists()


def test_a_collection_is_used_by_one_crawl_at_a_time(web: Web, tmp_path: Path) -> None:
    """A second crawl on the same folder is refused in one sentence."""
    chain(web, "a.test", 500)
    for page in web.pages.values():
        page.delay_s = 0.1
    first = subprocess.Popen(
        command(web, tmp_path / "c", "http://a.test/"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not web.asked:
        time.sleep(0.05)
    said = crawl(web, tmp_path / "c", "http://a.test/", code=2)
    assert "in use by another crawl" in said
    first.send_signal(signal.SIGINT)
    assert first.wait(60) == 130


def test_the_archive_is_whole(web: Web, tmp_path: Path) -> None:
    """Every stored page has a response record at its place, valid in warcio, with the right digest."""
    from warcio.archiveiterator import ArchiveIterator

    chain(web, "a.test", 20)
    crawl(web, tmp_path / "c", "http://a.test/")
    found = set()
    for path in (tmp_path / "c/archive").glob("*.warc.gz"):
        with open(path, "rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type == "response":
                    found.add(record.rec_headers.get_header("WARC-Target-URI"))
    assert stored(tmp_path / "c") <= found


def test_the_log_tells_every_action(web: Web, tmp_path: Path) -> None:
    """One line a URL at level 1, none at level 0."""
    chain(web, "a.test", 5)
    crawl(web, tmp_path / "c", "http://a.test/", "--log-level", "0")
    assert not (tmp_path / "c/logs/crawl.log").exists()


def test_a_log_in_json(web: Web, tmp_path: Path) -> None:
    """By the name of the file: an object for each answer, and for each line that is for debugging."""
    web["a.test/"] = html("/gone", "http://b.test/")
    log = tmp_path / "log.jsonl"
    crawl(web, tmp_path / "c", "http://a.test/", "--log-file", str(log), "--log-level", "2")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (gone,) = (line for line in lines if line.get("url") == "http://a.test/gone")
    assert (gone["status"], gone["depth"], gone["via"], gone["state"], gone["reason"]) == (
        404,
        1,
        "a",
        "gone",
        "http-404",
    )
    assert any(line.get("debug") == "refused" and "b.test" in line["text"] for line in lines)


def test_what_was_collected_is_listed_at_the_end(web: Web, tmp_path: Path) -> None:
    """In the form that the file's name asks for, or into the pipe, which then has nothing else."""
    chain(web, "a.test", 3)
    crawl(web, tmp_path / "c", "http://a.test/", "-o", str(tmp_path / "pages.csv"))
    assert (tmp_path / "pages.csv").read_text().startswith("url,status,mime")
    words = command(web, tmp_path / "c", "http://a.test/", "-o", "-")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert [json.loads(line)["status"] for line in done.stdout.splitlines()] == [200, 200, 200]
    assert "0 pages stored" in done.stderr
    assert "no/such" in crawl(web, tmp_path / "d", "http://a.test/", "-o", "no/such/pages.csv", code=2)
    assert not (tmp_path / "d").exists()


def test_reports_are_kept(web: Web, tmp_path: Path) -> None:
    """The figures of the last run stand in the collection for `lycosa status`."""
    chain(web, "a.test", 5)
    said = crawl(web, tmp_path / "c", "http://a.test/")
    assert "5 pages stored" in said
    report = json.loads(str(rows(tmp_path / "c", "SELECT value FROM meta WHERE key = 'last_run'")[0][0]))
    assert report["pages"] == 5


def test_addresses_keep_the_spelling_they_were_found_with(web: Web, tmp_path: Path) -> None:
    """One representation identifies a page; the index file also tells how the link or the seed was written."""
    web["a.test/"] = html("HTTP://A.TEST:80/x/../y#part")
    web["a.test/y"] = html(title="y")
    crawl(web, tmp_path / "c", "A.Test", "http://A.test/b/../z")
    crawl(web, tmp_path / "c")
    found = dict(rows(tmp_path / "c", "SELECT url, original FROM urls"))
    assert found["http://a.test/y"] == "HTTP://A.TEST:80/x/../y#part"
    assert found["http://a.test/"] == "A.Test"
    assert found["http://a.test/z"] == "http://A.test/b/../z"


def test_the_second_level_of_the_log_is_for_debugging(web: Web, tmp_path: Path) -> None:
    """Refused links with their reason, robots.txt, retries and connections: each on a line of its own."""
    web["a.test/robots.txt"] = Reply(b"User-agent: *\nDisallow: /no\n")
    web["a.test/"] = html("http://b.test/", "/no", "/busy")
    web["a.test/busy"] = Reply(b"later", 503)
    crawl(web, tmp_path / "c", "http://a.test/", "--log-level", "2", "--set", "fetch.retries=1")
    lines = (tmp_path / "c/logs/crawl.log").read_text().splitlines()
    facts = [line.split(" ", 2)[2] for line in lines if " debug " in line]
    assert any(fact.startswith("refused http://b.test/ scope: b.test is not a host") for fact in facts)
    assert any(fact.startswith("robots http://a.test/robots.txt 200 ") for fact in facts)
    assert any(fact.startswith("answer http://a.test/ peer 127.0.0.1, ") for fact in facts)
    assert any(fact.startswith("retry http://a.test/busy number 1, not before ") for fact in facts)
    assert any(fact.startswith("rest a.test for ") and fact.endswith(" HTTP 503") for fact in facts)
    assert any(fact.startswith("ended http://a.test/no robots: disallowed by line 2") for fact in facts)
    assert len([line for line in lines if " debug " not in line]) == 3


def test_robots_is_read_as_it_is_sent(web: Web, tmp_path: Path) -> None:
    """A compressed robots.txt and one of several megabytes count like any other."""
    rules = b"User-agent: *\nDisallow: /no\n"
    web["a.test/robots.txt"] = Reply(gzip.compress(rules), headers={"Content-Encoding": "gzip"})
    web["b.test/robots.txt"] = Reply(rules + b"# filler\n" * 300_000)
    web["a.test/"] = html("/no", "http://b.test/", "http://b.test/no")
    web["b.test/"] = html(title="b")
    crawl(web, tmp_path / "c", "http://a.test/", "--scope", "free")
    found = states(tmp_path / "c")
    assert found["http://a.test/no"] == found["http://b.test/no"] == "rejected robots"
    assert stored(tmp_path / "c") == {"http://a.test/", "http://b.test/"}


def test_robots_that_redirect_to_one_place(web: Web, tmp_path: Path) -> None:
    """Several hosts may share one robots.txt, on a host that needs it as well; a redirect to nothing allows all."""
    for host in ("a.test", "b.test", "c.test"):
        web[f"{host}/robots.txt"] = Reply(status=301, headers={"Location": "http://www.test/robots.txt"})
        web[f"{host}/"] = html("/no", "http://www.test/", "http://d.test/", title=host)
    web["www.test/robots.txt"] = Reply(b"User-agent: *\nDisallow: /no\n", delay_s=0.2)
    web["www.test/"] = html("/no", "http://b.test/", "http://c.test/", title="www")
    web["d.test/robots.txt"] = Reply(status=302, headers={"Location": "http://e.test/r"})
    web["e.test/r"] = Reply(status=302, headers={"Location": "mailto:x@y"})
    web["d.test/"] = html(title="d")
    crawl(web, tmp_path / "c", "http://a.test/", "http://b.test/", "--scope", "free", "--workers", "2")
    hosts = ("a", "b", "c", "d", "www")
    assert stored(tmp_path / "c") == {f"http://{host}.test/" for host in hosts}
    assert states(tmp_path / "c")["http://www.test/no"] == "rejected robots"
    assert not (tmp_path / "c/logs/errors.log").exists()


def test_a_seed_that_failed_is_tried_again(web: Web, tmp_path: Path) -> None:
    """Who runs the same command again wants the seed that failed; a robots.txt that failed is not believed either."""
    web["a.test/robots.txt"] = Reply(status=500)
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "fetch.retries=0", code=4)
    assert states(tmp_path / "c") == {"http://a.test/": "failed robots-http-500"}
    del web.pages["a.test/robots.txt"]
    web["a.test/"] = html()
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "fetch.retries=0")
    assert stored(tmp_path / "c") == {"http://a.test/"}


def test_a_large_sitemap_is_read_whole(web: Web, tmp_path: Path) -> None:
    """A sitemap of several megabytes gives all its addresses."""
    rows = "".join(f"<url><loc>http://a.test/{n}{'x' * 100}</loc></url>" for n in range(25_000))
    web["a.test/robots.txt"] = Reply(b"Sitemap: http://a.test/map.xml\n")
    web["a.test/map.xml"] = Reply(f"<urlset>{rows}</urlset>".encode(), headers={"Content-Type": "Text/XML"})
    web["a.test/"] = html()
    crawl(web, tmp_path / "c", "http://a.test/", "--limit", "1", code=5)
    assert len(states(tmp_path / "c")) >= 25_000


def test_sitemaps_as_sites_write_them(web: Web, tmp_path: Path) -> None:
    """Relative addresses, lists in plain text, lists of lists, which are no level down; endless ones end."""
    index = b"<sitemapindex><sitemap><loc>http://a.test/%s</loc></sitemap></sitemapindex>"
    web["a.test/robots.txt"] = Reply(b"Sitemap: /list.txt\nSitemap: index.xml\nSitemap: http://a.test/0.xml")
    web["a.test/list.txt"] = Reply(b"http://a.test/1\r\nhttp://a.test/2\n", headers={"Content-Type": "text/plain"})
    web["a.test/index.xml"] = Reply(index % b"inner.xml.gz")
    web["a.test/inner.xml.gz"] = Reply(gzip.compress(b"<urlset><url><loc>http://a.test/3</loc></url></urlset>"))
    web["a.test/"] = html()
    web.make = lambda address: Reply(index % (b"%d.xml" % (int(address[7:-4]) + 1))) if "xml" in address else html()
    crawl(web, tmp_path / "c", "http://a.test/", "--depth", "1")
    assert {f"http://a.test/{n}" for n in (1, 2, 3)} <= set(states(tmp_path / "c"))
    assert states(tmp_path / "c")["http://a.test/6.xml"] == "rejected trap:sitemaps"
    assert web.paths().count("a.test/5.xml") == 1 and "a.test/6.xml" not in web.paths()


def test_a_seed_that_moves_to_what_was_refused(web: Web, tmp_path: Path) -> None:
    """An address that was out of scope when it was first met is visited when a seed turns out to have moved there."""
    web["a.test/"] = html("http://b.test/", title="a")
    web["late.test/"] = Reply(status=301, headers={"Location": "http://b.test/"}, delay_s=0.5)
    web["b.test/"] = html(title="b")
    crawl(web, tmp_path / "c", "http://a.test/", "http://late.test/", "--workers", "1")
    assert stored(tmp_path / "c") == {"http://a.test/", "http://b.test/"}


def test_pages_that_ask_not_to_be_kept(web: Web, tmp_path: Path) -> None:
    """By setting, a page that says noarchive is read for its links and not kept; without it, it is kept."""
    web["a.test/"] = html("/secret", title="root")
    web["a.test/secret"] = html("/on", title="secret", head='<meta name="robots" content="noarchive">')
    web["a.test/on"] = html(title="on")
    crawl(web, tmp_path / "obey", "http://a.test/", "--set", "fetch.noarchive=obey")
    assert states(tmp_path / "obey")["http://a.test/secret"] == "rejected noarchive"
    assert stored(tmp_path / "obey") == {"http://a.test/", "http://a.test/on"}
    crawl(web, tmp_path / "ignore", "http://a.test/")
    assert "http://a.test/secret" in stored(tmp_path / "ignore")


@pytest.mark.parametrize("limit", ["--limit", "--max-host-pages"])
def test_pages_with_known_content_count_against_a_limit(web: Web, tmp_path: Path, limit: str) -> None:
    """What is fetched as a page counts, whatever it says; a higher limit goes on from there."""
    web["a.test/"] = html(*(f"/{n}" for n in range(200)), text="start")
    web.make = lambda address: html(text="the same everywhere")
    code = 5 if limit == "--limit" else 0
    for most in (30, 50):
        crawl(web, tmp_path / "c", "http://a.test/", limit, str(most), code=code)
        pages = [path for path in web.paths() if path != "/robots.txt"]
        assert len(pages) == len(set(pages)) == most
        states_now = Counter(state for (state,) in rows(tmp_path / "c", "SELECT state FROM urls"))
        assert states_now["fetched"] == 2 and states_now["duplicate"] == most - 2
