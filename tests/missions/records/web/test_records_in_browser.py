"""The records' pages in a real browser: light, dark and narrow, for people with disabilities, used and attacked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.record_stores import NASTY, filled_store, make_article
from support.serve_browser import browsing, expect, needs_browser, viewing
from support.serve_client import ServeClient, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

PLACE = '<b onclick="alert(7)">'
FILE = f"""
[[readers]]
name = '''{PLACE}'''
interests = [ {{ name = '''{NASTY}''', terms = ["río"] }} ]
"""


@pytest.fixture(scope="module")
def client(newsstand: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeClient]:
    root = tmp_path_factory.mktemp("served") / "all"
    shutil.copytree(newsstand, root)
    hostile = root / "hostile"
    text = f"{NASTY} en Tudela, con Marta Iribarren y 8340 personas de Castejón y Alfaro. " * 20
    articles = [
        make_article(1, NASTY, text=text, section=NASTY, **{NASTY: NASTY}),
        make_article(2, NASTY, host="other.example", text=text, section="x"),
    ]
    with filled_store(hostile, *articles):
        pass
    with filled_store(hostile, make_article(1, f"{NASTY} again", text="short", **{NASTY: PLACE}), at=1_790_100_000.0):
        pass
    (hostile / "lycosa.toml").write_text('missions = ["records"]\nseeds = ["https://news.example/"]\n')
    (hostile / "readers.toml").write_text(FILE, encoding="utf-8")
    with serving(root) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


def test_from_a_record_to_its_story_and_its_source(browser: Browser, client: ServeClient) -> None:
    """Links lead from the list to a record, to the same story elsewhere, and to the page."""
    with viewing(browser, language="es") as view:
        page = view.open(f"{client.address}/c/press/m/records/")
        page.get_by_role("link", name="El Ebro se desborda").click()
        expect(page.locator("main")).to_contain_text("línea")
        page.get_by_role("link", name="La misma historia en otros sitios").click()
        expect(page.locator(".members li")).to_have_count(3)
        assert "Lo que dicen en conjunto" in page.locator("main").inner_text()
        page.get_by_role("link", name="Lectores").click()
        page.get_by_role("link", name="Lo nuevo Ana").click()
        frame = page.frame_locator("iframe")
        assert frame.locator("h1").inner_text() == "News for Ana"
        view.check()


def test_a_message_is_dropped_in_the_browser(browser: Browser, client: ServeClient) -> None:
    """Chosen by its box; what was dropped is listed as such."""
    with viewing(browser) as view:
        page = view.open(f"{client.address}/c/shop/m/records/outbox")
        page.get_by_role("checkbox").check()
        page.get_by_role("button", name="Try the chosen again").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        page.get_by_role("checkbox").check()
        page.get_by_role("button", name="Drop the chosen").click()
        expect(page.locator("main")).to_contain_text("There is no message.")
        page.get_by_role("link", name="dropped 1").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        view.check()


def test_hostile_records_are_shown_as_text(browser: Browser, client: ServeClient) -> None:
    """In every field, in the differences, the story, the readers and the digest; nothing runs, nothing is tried."""
    base = f"{client.address}/c/hostile/m/records"
    paths = (
        "/",
        "/record?id=1",
        "/stories",
        "/stories?hosts=1",
        "/story?id=1",
        "/readers",
        "/alerts",
        "/health",
        "/outbox",
    )
    with viewing(browser) as view:
        for path in (*paths, "/digest?reader=%3Cb+onclick%3D%22alert%287%29%22%3E"):
            page = view.open(base + path)
            page.wait_for_timeout(200)
            assert page.locator("h1").count() == 1
            assert page.locator("main img, main [onload], main [onerror], main [onclick], main script").count() == 0
            view.check()
        frame = page.frames[-1]
        assert "<script>" in (frame.locator("body").text_content() or "")
        assert frame.locator("img, script, [onclick]").count() == 0
