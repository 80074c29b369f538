"""Lists, one page, graph and queries in a real browser: by clicks and keys, and nothing of the web runs there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.looked_at_web import HOSTILE, make_looked_at
from support.serve_browser import browsing, expect, needs_browser, viewing
from support.serve_client import ServeClient, serving

pytestmark = needs_browser

SITE = "http%3A%2F%2Fsite.example%2F"
#: Every page that shows something of the web.
PAGES = [
    "pages", "pages?columns=url,title,charset,digest,warc&sort=title", "urls",
    "urls?columns=url,parent,anchor,original", "hosts", "records", "search?q=lake",
    f"page?url={SITE}", *(f"page?url={SITE}odd/{n}" for n in range(len(HOSTILE))),
    *(f"page?url={SITE}&show={part}" for part in ("archived", "text", "source", "links", "records")),
    *(f"page?url={SITE}odd/{n}&show=archived" for n in (0, 1, 7)), f"page?url={SITE}about&show=copies",
    f"url?url={SITE}", "url?url=%3Cscript%3Ealert(1)%3C/script%3E", "host?name=site.example", "graph?by=host",
    "graph?by=page", "graph?by=mission", "query?text=SELECT+title,url+FROM+pages",
    "query?text=SELECT+title,size+FROM+pages&shape=bars", "query?text=SELECT+title,size+FROM+pages&shape=line",
    "query?text=SELECT+title,url+FROM+pages&shape=graph", "query?text=%3Cscript%3E",
]  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeClient]:
    root: Path = tmp_path_factory.mktemp("browsed")
    make_looked_at(root / "web")
    with serving(root) as client:
        deadline = time.monotonic() + 60
        while client.get("/c/web/search.json").json["index"]["words"] < 1 and time.monotonic() < deadline:
            time.sleep(0.2)
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as browser:
        yield browser


def test_nothing_of_the_web_runs_on_any_page(client: ServeClient, browser: Any) -> None:
    """No script, no dialogue, no request to anywhere, no breach of the policy; all of it fits a telephone."""
    with viewing(browser) as view:
        for page in PAGES:
            view.page.set_viewport_size({"width": 1200, "height": 900})
            view.page.goto(f"{client.address}/c/web/{page}")
            assert view.page.evaluate("window.owned") is None, page
            assert view.page.evaluate("window.breaches") == [], page
            view.page.set_viewport_size({"width": 390, "height": 900})
            assert view.overflow() <= 0, page
        answers = [said for said in view.problems if "400 (Bad Request)" not in said]
        blocked = [said for said in answers if "sandboxed" in said]
        assert [said for said in answers if said not in blocked] == []
        view.problems.clear()
        view.check()


def test_a_list_is_filtered_sorted_and_left_by_clicks(client: ServeClient, browser: Any) -> None:
    """Facet, head of a column, columns; then a page and its parts."""
    with viewing(browser) as view:
        page = view.open(f"{client.address}/c/web/urls")
        page.get_by_role("link", name="gone 2").click()
        page.wait_for_url("**state=gone**")
        expect(page.locator("tbody tr")).to_have_count(2)
        page.get_by_role("columnheader", name="Address").get_by_role("link").click()
        page.wait_for_url("**sort=url**")
        page.get_by_text("Columns", exact=True).click()
        page.get_by_label("Retries").check()
        page.get_by_role("button", name="Show these").click()
        page.get_by_role("columnheader", name="Retries").wait_for()
        assert "state=gone" in page.url
        page.goto(f"{client.address}/c/web/pages?q=about")
        page.get_by_role("link", name="http://site.example/about").click()
        page.get_by_role("link", name="Copies").click()
        page.locator(".diff ins").first.wait_for()
        view.check()


def test_the_archived_page_shows_its_picture_and_style(client: ServeClient, browser: Any) -> None:
    """In a frame where nothing runs; a click on a link leads to what we know of its target."""
    with viewing(browser) as view:
        page = view.open(f"{client.address}/c/web/page?url={SITE}&show=archived")
        frame = page.frame_locator("iframe.replay")
        assert frame.locator("body").evaluate("body => getComputedStyle(body).color") == "rgb(1, 2, 3)"
        assert frame.locator("img").first.evaluate("image => image.naturalWidth") == 1
        assert frame.locator("body").evaluate("() => window.owned") is None
        frame.get_by_text("to /about").click()
        page.wait_for_url("**/url?url=http%3A%2F%2Fsite.example%2Fabout")
        assert [url for url in view.requests if not url.startswith((client.address, "data:"))] == []


def test_a_graph_is_searched_walked_and_opened_by_keys(client: ServeClient, browser: Any) -> None:
    """The drawing says in words which node is chosen; Enter leads to it."""
    with viewing(browser) as view:
        page = view.open(f"{client.address}/c/web/graph?by=page")
        canvas = page.locator("canvas[data-ready]")
        canvas.wait_for()
        page.get_by_label("Find a node").fill("other lake")
        assert "Other lake" in page.locator("#said").inner_text()
        canvas.focus()
        for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "+", "-", "0"):
            page.keyboard.press(key)
        assert page.locator("#said").inner_text()
        canvas.hover()
        page.mouse.wheel(0, -300)
        page.get_by_label("text/html").first.uncheck()
        page.get_by_label("text/html").first.check()
        page.get_by_label("Find a node").fill("other lake")
        canvas.focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/page?url=*other.example*")
        view.check()


def test_a_query_is_asked_saved_and_asked_again(client: ServeClient, browser: Any) -> None:
    """From an example to a saved one, with its answer as a chart."""
    with viewing(browser) as view:
        page = view.open(f"{client.address}/c/web/query")
        page.get_by_role("link", name="Pages by type").click()
        page.locator("tbody tr").nth(2).wait_for()
        page.get_by_label("Shown as").select_option("bars")
        page.get_by_role("button", name="Ask").click()
        page.locator(".share").nth(2).wait_for()
        page.get_by_text("Save this query").click()
        page.get_by_label("Name").fill("Types")
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("link", name="Types", exact=True).click()
        page.locator("tbody tr").nth(2).wait_for()
        page.get_by_role("button", name="Delete Types").click()
        page.get_by_role("link", name="Types", exact=True).wait_for(state="detached")
        view.check()
