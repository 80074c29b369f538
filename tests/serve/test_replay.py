"""Archived pages as they looked: with the pictures, styles and fonts that were kept, and nothing from outside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import looked_at_site as site
from support.crawl_runs import crawl
from support.loopback import Reply, Web
from support.serve_browser import browsing, needs_browser, viewing
from support.serve_client import ServeClient, serving


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeClient]:
    """The server over a collection of two rounds: in the second, the page and one picture are others."""
    web, folder = Web(), tmp_path_factory.mktemp("replay")
    try:
        site.fill(web)
        crawl(web, folder / "site", site.START, "--requisites", "page", "--workers", "1")
        for address in (f"{site.HOST}/img/plain.png",):
            web[address] = Reply(site.png(1, 2, 3, size=80), headers={"Content-Type": "image/png"})
        web[f"{site.HOST}/second"] = site.page("Second again", '<img src="/img/plain.png" alt="plain">')
        crawl(web, folder / "site", "--recrawl", "--full")
    finally:
        web.close()
    with serving(folder) as found:
        yield found


@needs_browser
def test_a_page_looks_as_it_did(client: ServeClient) -> None:
    """With styles of sheets that sheets import, pictures in one of their sizes, and what was loaded late."""
    with browsing() as browser, viewing(browser) as view:
        view.page.goto(f"{client.address}/c/site/replay?url={site.START}")
        shown = view.page.evaluate("[...document.images].map((one) => [one.alt, one.naturalWidth])")
        colour = view.page.evaluate("getComputedStyle(document.querySelector('h1')).color")
        background = view.page.evaluate("getComputedStyle(document.body).backgroundImage.slice(0, 20)")
        view.page.goto(f"{client.address}/c/site/page?url={site.START}second&show=archived")
        dates = view.page.locator("nav[aria-label='Copies'] a")
        assert dates.count() == 2
        frame = view.page.frame_locator("iframe.replay")
        now = frame.locator("img").evaluate("(one) => one.naturalWidth")
        dates.last.click()
        before = view.page.frame_locator("iframe.replay").locator("img").evaluate("(one) => one.naturalWidth")
        assert [url for url in view.requests if not url.startswith(("http://127.0.0.1:", "data:"))] == []
    assert dict(shown) == {"plain": 80, "sizes": 40, "lazy": 40, "a blank": 40, "elsewhere": 30, "forbidden": 0} | {
        "plain": dict(shown)["plain"]
    }
    assert colour == "rgb(0, 0, 128)"
    assert background == 'url("data:image/png;'
    assert (now, before) == (80, 40)


def test_requisites_stand_in_no_list_of_pages(client: ServeClient) -> None:
    """They are found by their address, and counted apart."""
    listed = client.get("/c/site/pages.json").text
    assert f"{site.START}second" in listed
    assert "plain.png" not in listed
    assert client.get(f"/c/site/page?url={site.START}img/plain.png").status == 200
