"""Digest, newspaper and statistics in a real browser: nothing runs, nothing is asked for, all can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command_line import run
from support.record_stores import NASTY, filled_store, make_article

from lycosa.render.browser_processes import find_browser

SEAT = find_browser()
pytestmark = pytest.mark.skipif(bool(SEAT.missing), reason=f"no browser: {SEAT.missing}")
READERS = """
[[readers]]
name = "<b>Ana</b>"
interests = [{ name = "<script>alert(2)</script>", terms = ["río"] }, { kind = "article" }]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pages of a collection that holds a hostile article."""
    place = tmp_path_factory.mktemp("pages")
    nasty = make_article(
        1, NASTY, authors=[NASTY], section=NASTY, text=f"</style></title>{NASTY}\n{{{{ 7 * 7 }}}}", more=NASTY
    )
    others = [make_article(n, f"Article {n} {'verylongword' * (n % 3 * 4)}") for n in range(2, 30)]
    with filled_store(place / "c", nasty, *others):
        pass
    (place / "readers.toml").write_text(READERS)
    readers, collection = str(place / "readers.toml"), str(place / "c")
    for words in (
        ("digest", readers, "-c", collection, "-o", str(place / "digests")),
        ("newspaper", readers, "-c", collection, "-o", str(place / "paper")),
        ("report", "records", "--template", "statistics", "-c", collection, "-o", str(place / "statistics.html")),
    ):
        assert run(*words).code == 0
    return place


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=SEAT.path)
        yield launched
        launched.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_pages_open_without_script_and_network(folder: Path, browser: Any, theme: str, width: int) -> None:
    """In both themes, wide and narrow: no dialog, no request, no complaint, no line that is too long."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=theme, offline=True)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    article = next((folder / "paper/article").glob("1-*.html"))
    opened = [folder / "digests/b-ana-b/digest.html", folder / "statistics.html", article]
    opened += [folder / "paper" / name for name in ("index.html", "archive/index.html", "archive/2026-09-20.html")]
    for path in opened:
        page.goto(path.as_uri())
        assert page.evaluate("document.scripts.length") == 0, path
        assert page.evaluate("document.images.length") == 0, path
        assert page.title() != "broken", path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert asked == [path.as_uri() for path in opened]
    assert said == []
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (colour == "rgb(255, 255, 255)") is (theme == "light")
    context.close()


def test_a_reader_finds_an_article(folder: Path, browser: Any) -> None:
    """From the front page to the article, its day, and back; hostile text is shown as it is."""
    page = browser.new_page()
    page.goto((folder / "paper/index.html").as_uri())
    page.get_by_role("link", name=NASTY).first.click()
    assert page.locator("h1").inner_text() == NASTY
    assert "{{ 7 * 7 }}" in page.locator(".text").inner_text()
    assert page.get_by_role("link", name="Read it at news.example").get_attribute("href") == "https://news.example/1"
    page.get_by_role("link", name="20 September 2026").first.click()
    assert "archive/2026-09-20" in page.url
    page.locator(".masthead .name a").click()
    assert page.url.endswith("paper/index.html")
    page.close()


def test_pages_can_be_used_by_everybody(folder: Path, browser: Any) -> None:
    """axe finds nothing to complain about."""
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_context(bypass_csp=True).new_page()
    for path in ("digests/b-ana-b/digest.html", "statistics.html", "paper/index.html", "paper/archive/index.html"):
        page.goto((folder / path).as_uri())
        found = Axe().run(page)
        assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found.response["violations"]] == [], path
    page.close()
