"""The form of a crawl and the editor of queries in a real browser, with no terminal."""

from __future__ import annotations

import time
from pathlib import Path

from support.loopback import Web, html
from support.serve_browser import browsing, expect, needs_browser, viewing
from support.serve_client import serving

from lycosa.collection.status import running_crawl
from lycosa.serve.schedules import read_schedule
from lycosa.serve.server_state import ServeSettings

pytestmark = needs_browser


def test_a_site_is_kept_by_a_schedule_and_asked_from_the_empty_home(tmp_path: Path) -> None:
    """The job, seeds, a rule that is tried, a schedule; then a change of settings, and a query: by clicks and keys."""
    web = Web()
    web["site.example/"] = html("/a", "/private/b", title="Site")
    web["site.example/a"] = html(title="A")
    options = (f"--connect-to={web.connect_to}", "--workers=1")
    settings = ServeSettings(folder=tmp_path, crawl_options=options)
    with serving(tmp_path, settings) as client, browsing() as browser, viewing(browser) as view:
        page = view.open(client.address)
        page.get_by_role("link", name="A site to keep").click()
        expect(page.locator("input[name=mission][value=mirror]")).to_be_checked()
        assert page.get_by_text("Of documents alone").is_hidden()
        page.get_by_role("textbox", name="Seeds").fill("http://site.example/")
        page.get_by_label("Name of the collection").fill("site")
        page.get_by_label("Delay", exact=True).fill("0")
        page.get_by_text("What to visit and what to leave out").click()
        page.locator("[name=reject]").fill("/private/")
        page.get_by_label("Address", exact=True).fill("http://site.example/private/x")
        expect(page.locator("#verdict .note")).to_contain_text("No: reject-list.")
        page.get_by_label("Address", exact=True).fill("http://site.example/a")
        expect(page.locator("#verdict .note")).to_contain_text("Yes, if robots.txt allows it.")
        assert view.find_barriers() == []
        page.get_by_label("When it is visited").select_option("daily")
        page.get_by_role("button", name="Start the crawl").click()
        page.wait_for_url("**/c/site/crawl")
        until = time.monotonic() + 60
        while running_crawl(tmp_path / "site"):
            assert time.monotonic() < until
            time.sleep(0.1)
        schedule = read_schedule(tmp_path, tmp_path / "site")
        assert (schedule.kind, schedule.at) == ("daily", "06:00") and schedule.due > time.time()
        assert client.get("/c/site/pages.json").json["total"] == 2

        page.get_by_role("link", name="Settings").click()
        page.get_by_text("What to visit and what to leave out").click()
        page.locator("[name=reject]").fill("")
        page.get_by_role("button", name="See what that changes").click()
        expect(page.get_by_text("It reopens 1 address.")).to_be_visible()
        page.get_by_role("button", name="Change the settings").click()
        page.wait_for_url("**/c/site/crawl")

        page.get_by_role("link", name="Query").click()
        page.locator("#text").press_sequentially("SELECT count(*) FROM pa")
        expect(page.get_by_role("button", name="pages")).to_be_visible()
        page.keyboard.press("Tab")
        assert page.locator("#text").input_value() == "SELECT count(*) FROM pages"
        page.keyboard.press("Control+Enter")
        expect(page.locator("td.number")).to_have_text("2")
        assert view.find_barriers() == []
        view.check()
    web.close()
