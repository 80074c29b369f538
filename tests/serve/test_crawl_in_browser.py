"""A crawl from the page, in a real browser: started, watched, stopped, continued, visited again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import run
from support.loopback import Reply, Web, html
from support.pdf import make_pdf
from support.serve_browser import browsing, needs_browser, viewing
from support.serve_client import ServeClient, serving

from lycosa.collection.status import running_crawl
from lycosa.output.plain import counted
from lycosa.serve.server_state import ServeSettings

pytestmark = needs_browser

COUNT = 400


@pytest.fixture
def site() -> Iterator[Web]:
    """A host of many pages, each a little slow, and one that is always busy."""
    web = Web()

    def page(address: str) -> Reply | None:
        host, _, path = address.partition("/")
        if host == "busy.example":
            return Reply(b"", 503, {"Retry-After": "600"})
        if host != "site.example" or not (path.isdigit() or path == ""):
            return None
        n = int(path or 0)
        reply = html(
            *(f"/{m}" for m in range(n * 4 + 1, n * 4 + 5) if m < COUNT), "http://busy.example/", title=f"Page {n}"
        )
        reply.delay_s = 0.02
        return reply

    web.make = page
    yield web
    web.close()


@pytest.fixture
def client(site: Web, tmp_path: Path) -> Iterator[ServeClient]:
    options = (f"--connect-to={site.connect_to}", "--per-host=2", "--workers=1", "--set=fetch.retry_delay_s=1")
    with serving(tmp_path, ServeSettings(folder=tmp_path, crawl_options=options)) as client:
        yield client


def wait_until_ended(folder: Path, seconds: float = 40.0) -> None:
    deadline = time.monotonic() + seconds
    while running_crawl(folder):
        assert time.monotonic() < deadline, "the crawl did not end"
        time.sleep(0.05)


def test_a_crawl_is_started_watched_stopped_and_continued(client: ServeClient, tmp_path: Path) -> None:
    """By clicks alone; the figures change without a reload, and the crawl ends as by Ctrl-C."""
    folder = tmp_path / "first"
    with browsing() as browser, viewing(browser) as view:
        page = view.open(f"{client.address}/new")
        page.get_by_role("textbox", name="Seeds").fill("http://site.example/\nhttp://busy.example/")
        page.get_by_label("Name of the collection").fill("first")
        page.get_by_label("Scope", exact=True).select_option("host")
        page.get_by_label("Delay", exact=True).fill("0.02")
        page.get_by_label("Contact", exact=True).fill("mailto:test@lycosa.test")
        page.get_by_role("button", name="Start the crawl").click()
        page.wait_for_url("**/c/first/crawl")
        page.get_by_text("running").wait_for()
        assert running_crawl(folder)

        # The figures come by themselves.
        page.wait_for_function("() => /fetched\\s*\\d\\d/.test(document.querySelector('[data-part=counts]').innerText)")
        page.locator("[data-part=log] pre", has_text="site.example").first.wait_for()
        page.locator("svg.chart").wait_for()
        page.get_by_text("Hosts that back off").wait_for()
        assert view.find_barriers() == []

        page.get_by_role("button", name="Stop").click()
        page.get_by_text("It was stopped; it can be continued.").wait_for()
        wait_until_ended(folder)
        pages = client.get("/c/first/crawl.json").json["figures"]["pages"]
        assert 0 < pages < COUNT
        assert view.find_barriers() == []

        page.get_by_label("Pages at most").fill(str(pages + 20))
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("The page limit was reached; a higher one continues from here.", exact=True).wait_for()
        wait_until_ended(folder)
        figures = client.get("/c/first/crawl.json").json["figures"]
        assert figures["pages"] == pages + 20
        assert figures["state"] == "limit"

        # From home as well.
        page = view.open(client.address)
        page.get_by_text("limit reached").wait_for()
        assert view.find_barriers() == []
        view.check()


def test_the_page_tells_what_a_mission_found(site: Web, client: ServeClient, tmp_path: Path) -> None:
    """Without a reload: the tabs of the mission, and how much its lists have, the same as the terminal's."""
    papers = {
        "paper.pdf": ("On the growth of rivers", "Ana Ruiz", "ana.ruiz@site.example", "Abstract", "Rivers grow. " * 30),
        "cv.pdf": ("Curriculum Vitae", "Ana Ruiz", "Education", "Teaching", "Employment history", "References"),
    }
    site["papers.example/"] = html(*papers, title="Papers")
    for name, lines in papers.items():
        site[f"papers.example/{name}"] = Reply(make_pdf(*lines), headers={"Content-Type": "application/pdf"})
    with browsing() as browser, viewing(browser) as view:
        page = view.open(f"{client.address}/new")
        page.get_by_role("textbox", name="Seeds").fill("http://papers.example/")
        page.get_by_label("Name of the collection").fill("papers")
        page.locator("input[name=mission][value=documents]").check()
        page.get_by_role("button", name="Start the crawl").click()
        page.wait_for_url("**/c/papers/crawl")
        tab = page.get_by_role("navigation", name="Collection").get_by_role("link", name="Documents")
        tab.wait_for()
        found = page.locator("[data-part=found]")
        found.get_by_text("author").wait_for()
        listed = run("documents", "-c", str(tmp_path / "papers"), "--format", "jsonl").output.splitlines()
        people = run("contacts", "-c", str(tmp_path / "papers"), "--format", "jsonl").output.splitlines()
        said = f"{counted(len(listed), 'document')}, {counted(len(people), 'author')}"
        assert said in found.inner_text() and len(listed) < len(papers)
        tab.click()
        assert client.get("/c/papers/m/documents/index.json").json["total"] == len(listed)
        page.get_by_text("On the growth of rivers").first.wait_for()
        view.check()


def test_a_button_that_is_pressed_twice_starts_one_crawl(client: ServeClient) -> None:
    """The second press would find the name taken, and say that nothing was started."""
    with browsing() as browser, viewing(browser) as view:
        page = view.open(f"{client.address}/new")
        page.get_by_role("textbox", name="Seeds").fill("http://site.example/")
        page.get_by_label("Name of the collection").fill("first")
        page.get_by_label("Depth", exact=True).fill("0")
        button = page.get_by_role("button", name="Start the crawl")
        button.scroll_into_view_if_needed()
        box = button.bounding_box()
        assert box
        for _ in range(2):
            page.mouse.click(box["x"] + 5, box["y"] + 5)
            time.sleep(0.15)
        page.wait_for_url("**/c/first/crawl")
        view.check()


def test_a_crawl_outlives_the_server(site: Web, tmp_path: Path) -> None:
    """It is found again by the next server, which stops it."""
    options = (f"--connect-to={site.connect_to}", "--workers=1")
    settings = ServeSettings(folder=tmp_path, crawl_options=options)
    fields = {
        "name": "long",
        "seeds": "http://site.example/",
        "fetch.delay_s": "0.2",
        "agent.contact": "mailto:t@lycosa.test",
    }
    with serving(tmp_path, settings) as client:
        answer = client.post("/crawls", fields)
        assert answer.status == 303 and answer.headers["location"] == "/c/long/crawl"
    process = running_crawl(tmp_path / "long")
    assert process
    with serving(tmp_path, settings) as client:
        assert client.get("/c/long/crawl.json").json["figures"]["process"] == process
        assert client.post("/c/long/crawl/stop", {}).status == 303
        wait_until_ended(tmp_path / "long")
        assert client.get("/c/long/crawl.json").json["figures"]["state"] == "interrupted"


def test_a_finished_collection_is_visited_again(site: Web, client: ServeClient, tmp_path: Path) -> None:
    """Recrawl begins the next round."""
    fields = {
        "name": "small",
        "seeds": "http://site.example/",
        "limits.depth": "1",
        "fetch.delay_s": "0",
        "scope": "host",
    }
    assert client.post("/crawls", fields).status == 303
    wait_until_ended(tmp_path / "small")
    assert client.get("/c/small/crawl.json").json["figures"]["state"] == "finished"
    assert client.post("/c/small/crawl/recrawl", {"full": "1"}).status == 303
    wait_until_ended(tmp_path / "small")
    figures = client.get("/c/small/crawl.json").json["figures"]
    assert (figures["round"], figures["state"], figures["answers"]) == (2, "finished", 5)
