"""Every sort of page, of the core and of missions, on collections that fill it: in Spanish, for everybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.serve_browser import browsing, expect, needs_browser, viewing
from support.serve_client import ServeClient, serving
from support.served_pages import CORE_PAGES, MISSION_PAGES, make_busy_web, make_served

from lycosa.serve.translations import catalogue, mission_catalogue

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PAGES = {**CORE_PAGES, **MISSION_PAGES}
MISSIONS = ("documents", "geo", "records", "xml")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeClient]:
    web = make_busy_web()
    folder = make_served(tmp_path_factory.mktemp("every") / "served", web)
    with serving(folder) as client:
        yield client
    web.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


class VisibleText(HTMLParser):
    """The texts of a page that people read or hear, but for those that are marked as English, code and data."""

    QUIET = frozenset({"script", "style", "template", "code", "pre", "textarea"})
    VOID = frozenset({"meta", "link", "input", "img", "br", "wbr", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.texts: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        for name in ("aria-label", "title", "placeholder"):
            self.texts.add(values.get(name) or "")
        if tag not in self.VOID:
            self.open.append((tag, tag in self.QUIET or values.get("lang") == "en"))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not any(is_quiet for _, is_quiet in self.open):
            self.texts.add(" ".join(data.split()))


def english_words() -> set[str]:
    """The texts of the interface that are otherwise in Spanish, and long enough to be no value of the web by chance."""
    texts = dict(catalogue("es"))
    for mission in MISSIONS:
        texts |= mission_catalogue("es", f"lycosa.missions.{mission}.web")
    return {
        english for english, spanish in texts.items() if english != spanish and " " in english and "{" not in english
    }


@pytest.mark.parametrize("name", PAGES)
def test_a_spanish_page_has_no_english_of_ours(client: ServeClient, name: str) -> None:
    """No text of the interface is left in English, and sentences of the core are told, or marked as English."""
    page = client.get(PAGES[name], accept_language="es")
    assert page.status < 500 or name == "damaged"
    assert '<html lang="es">' in page.text
    reader = VisibleText()
    reader.feed(page.text)
    assert sorted(reader.texts & english_words()) == []
    assert '<span lang="en"></span>' not in page.text


@needs_browser
def test_every_page_is_open_to_everybody(browser: Browser, client: ServeClient) -> None:
    """In light and dark, wide and narrow, in Spanish, whose words are longer; nothing leaves the machine."""
    with viewing(browser, language="es") as view:
        for path in PAGES.values():
            view.check_for_everybody(client.address + path)
        assert [url for url in view.requests if not url.startswith(("http://127.0.0.1:", "data:"))] == []


@needs_browser
def test_the_keyboard_alone_leads_from_home_to_the_graph(browser: Browser, client: ServeClient) -> None:
    """Home, collection, list, page, graph, each reached by Tab and Enter; every stop can be seen, none is a trap."""
    with viewing(browser) as view:
        page = view.open(client.address)

        def go(name: str) -> None:
            """Press Tab until the focus is on a link of this name, then Enter."""
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.className") == "skip"
            for _ in range(150):
                page.keyboard.press("Tab")
                seen = page.evaluate(
                    "(() => { const at = document.activeElement, box = at.getBoundingClientRect();"
                    " return [at.textContent.trim(), getComputedStyle(at).outlineStyle, box.width * box.height]; })()"
                )
                assert seen[1] != "none" and seen[2] > 0, seen
                if seen[0] == name:
                    break
            else:
                raise AssertionError(f"{name} was not reached")
            page.keyboard.press("Enter")

        go("newspaper")
        expect(page.locator("h1")).to_have_text("newspaper")
        go("Pages")
        expect(page.locator("h1")).to_have_text("Pages")
        go("http://newspaper.example/")
        expect(page.locator("nav.inner")).to_be_visible()
        go("Its neighbours")
        expect(page.locator("canvas[data-ready]")).to_be_visible()
        page.focus("canvas")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#said")).not_to_be_empty()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") != "CANVAS"
        page.focus("canvas")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/(page|url)\?"))
        view.check()


def test_nothing_moves_by_itself() -> None:
    """No style sheet of ours has an animation or a transition, so that there is nothing to reduce."""
    import lycosa

    root = Path(lycosa.__file__).parent
    sheets = [*root.glob("serve/static/*.css"), *root.glob("missions/*/web/static/*.css")]
    assert len(sheets) > 4
    for sheet in sheets:
        found = re.findall(r"(?:animation|transition)[\w-]*:(?!\s*none)", sheet.read_text())
        assert found == [], sheet.name
