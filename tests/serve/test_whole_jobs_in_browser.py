"""Whole jobs in a real browser, from the empty home, without a terminal: each in 25 clicks and fields at most."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import pytest
from support.loopback import Reply, Web, html
from support.mail_servers import mail_server
from support.mission_webs import FACULTY, answering, load_example, serving_world
from support.serve_browser import browsing, needs_browser, viewing
from support.serve_client import ServeClient, serving

from lycosa.collection.status import running_crawl
from lycosa.serve.server_state import ServeSettings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Page

pytestmark = needs_browser

MOST = 25
PATIENCE_MS = 120_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


class CountedHand:
    """A person's hand: clicks and fields, which are counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0
        page.set_default_timeout(PATIENCE_MS)

    def click(self, name: str, role: str = "link", *, within: Page | FrameLocator | None = None) -> None:
        self.count += 1
        (within or self.page).get_by_role(role, name=name, exact=True).first.click()  # type: ignore[arg-type]

    def press(self, name: str) -> None:
        self.click(name, "button")

    def fill(self, label: str, text: str) -> None:
        self.count += 1
        self.page.get_by_label(label, exact=True).first.fill(text)

    def point(self, text: str) -> None:
        """Click a text of the archived page."""
        self.count += 1
        self.page.frame_locator("iframe").get_by_text(text, exact=True).first.click()

    def begin(self, mission: str, name: str, *seeds: str) -> None:
        """A crawl from the empty home."""
        self.count += 1
        self.page.locator(f"a[href='/new?mission={mission}']").click()
        self.fill("Seeds", "\n".join(seeds))
        self.fill("Name of the collection", name)
        self.press("Start the crawl")
        self.page.wait_for_url(f"**/c/{name}/crawl")


@contextmanager
def serving_jobs(folder: Path, there: str) -> Iterator[ServeClient]:
    options = (f"--connect-to={there}", "--delay=0.01", "--workers=1", "--contact=mailto:test@lycosa.test")
    with serving(folder, ServeSettings(folder=folder, crawl_options=options)) as client:
        yield client


def wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def wait_until_ended(folder: Path) -> None:
    wait_for(lambda: (folder / "crawl.db").exists() and not running_crawl(folder))


def test_two_newspapers_become_a_mail(browser: Browser, tmp_path: Path) -> None:
    """A reader gets what is new to them by mail, after the round of the next day."""
    newsstand = load_example("newsstand").make_server(0)
    with answering(newsstand) as there, mail_server() as (mailbox, port), serving_jobs(tmp_path, there) as client:
        with viewing(browser) as view:
            hand = CountedHand(view.open(client.address))
            hand.begin("records", "press", "http://herald.newsstand.test/", "http://faro.newsstand.test/")
            wait_until_ended(tmp_path / "press")
            hand.click("Records")
            hand.click("Readers")
            hand.fill("Mail server", "127.0.0.1")
            hand.fill("Port", str(port))
            hand.fill("Sender", "desk@example.org")
            hand.press("Save")
            hand.click("New reader")
            hand.fill("Name", "Ana")
            hand.fill("Mail", "ana@example.org")
            hand.fill("Words", "Ebro, river")
            hand.page.locator("[data-found] a").first.wait_for()
            hand.press("Save")
            urlopen(Request(f"http://127.0.0.1:{newsstand.server_port}/next-edition", method="POST")).close()
            hand.click("Crawl")
            hand.click("every page, due or not", "checkbox")
            hand.press("Recrawl")
            wait_for(lambda: mailbox.mails)
            assert mailbox.recipients == ["ana@example.org"] and "Ebro" in str(mailbox.mails[0].get_body(("plain",)))
            assert hand.count <= MOST, hand.count
            view.check()
        wait_until_ended(tmp_path / "press")


def test_fields_that_are_pointed_at_become_a_price_alert(browser: Browser, tmp_path: Path) -> None:
    """On three pages; the rules find all products, and a feed tells of the price that changed."""
    prices = {number: f"{number}.50 EUR" for number in range(11, 19)}
    web = Web()

    def page(address: str) -> Reply | None:
        host, _, path = address.partition("/")
        if host != "shop.example":
            return None
        if not path:
            return html(*(f"/tools/{number}" for number in prices), title="Shop")
        number = int(path.rpartition("/")[2]) if path.rpartition("/")[2].isdigit() else 0
        text = f"<h1>Hammer {number}</h1><p>Only <b class='price'>{prices.get(number)}</b> each</p>"
        return (
            Reply(f"<html><body>{text}</body></html>".encode(), 200, {"content-type": "text/html"}) if number else None
        )

    web.make = page
    with serving_jobs(tmp_path, web.connect_to) as client, viewing(browser) as view:
        hand = CountedHand(view.open(client.address))
        hand.begin("records", "shop", "http://shop.example/")
        wait_until_ended(tmp_path / "shop")
        hand.click("Records")
        hand.click("Rules")
        hand.fill("What the pages are", "product")
        hand.fill("A page of them", "http://shop.example/tools/11")
        hand.press("Begin")
        hand.point(prices[11])
        hand.fill("Field", "price")
        hand.press("Keep it")
        hand.click("Point on another page")
        for number in (12, 13):
            hand.page.frame_locator("iframe").get_by_text(f"Hammer {number}", exact=True).wait_for()
            hand.point(prices[number])
            hand.press("price")
        hand.press("Learn the rules")
        hand.page.get_by_text("15.50 EUR").wait_for()
        hand.press("Save and extract from all pages")
        wait_for(lambda: client.get("/c/shop/m/records/index.json?kind=product").json.get("total") == len(prices))
        hand.click("Records")
        hand.click("Readers")
        hand.click("New alert")
        hand.fill("Fields", "price")
        hand.fill("A feed", "prices.atom")
        hand.press("Save")
        hand.page.get_by_role("link", name="price").wait_for()
        assert hand.count <= MOST, hand.count
        view.check()
        for _ in range(2):  # the rounds of two days: the first knows what is there
            client.post("/c/shop/crawl/recrawl", {"full": "1"}, page="/c/shop/m/records/readers")
            wait_until_ended(tmp_path / "shop")
            prices[15] = "9.99 EUR"
        feed = tmp_path / "shop" / "prices.atom"
        wait_for(lambda: feed.exists() and "9.99" in feed.read_text())
    web.close()


def test_a_faculty_becomes_packages_and_letters(browser: Browser, tmp_path: Path) -> None:
    """Documents with their authors leave as DSpace packages, and each author gets a letter."""
    module = load_example("faculty")
    with (
        answering(ThreadingHTTPServer(("127.0.0.1", 0), module.Handler)) as there,
        serving_jobs(tmp_path, there) as client,
        viewing(browser) as view,
    ):
        hand = CountedHand(view.open(client.address))
        hand.begin("documents", "faculty", f"{FACULTY}/")
        wait_until_ended(tmp_path / "faculty")
        hand.click("Exports")
        hand.press("Make it dspace")
        with hand.page.expect_download() as download:
            hand.click("Get the file")
        packed = zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes()))
        assert any(name.endswith("dublin_core.xml") for name in packed.namelist())
        hand.click("Documents")
        hand.click("Contacts")
        hand.press("All letters as files")
        with hand.page.expect_download() as download:
            hand.click("Get the file")
        letters = zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes())).namelist()
        assert any("casali" in name for name in letters)
        assert hand.count <= MOST, hand.count
        view.check()


def test_services_are_checked_mapped_and_exported(browser: Browser, tmp_path: Path) -> None:
    """Each is asked whether it works; the map shows them, and their boxes leave as GeoJSON."""
    with (
        serving_world(load_example("geoworld")) as there,
        serving_jobs(tmp_path, there) as client,
        viewing(browser) as view,
    ):
        hand = CountedHand(view.open(client.address))
        hand.begin("geo", "region", "http://portal.geoworld.test/")
        wait_until_ended(tmp_path / "region")
        hand.click("Map")
        hand.page.locator("svg path.shape").first.wait_for(state="attached")
        hand.click("Liveness")
        hand.press("Check all services now")
        wait_for(lambda: not any(one["work"]["is_running"] for one in client.get("/c/region/work.json").json["works"]))
        assert client.get("/c/region/m/geo/checks.json").json["whole"] == 1
        hand.click("Exports")
        hand.press("Make it footprints")
        with hand.page.expect_download() as download:
            hand.click("Get the file")
        assert b"FeatureCollection" in Path(download.value.path()).read_bytes()
        assert hand.count <= MOST, hand.count
