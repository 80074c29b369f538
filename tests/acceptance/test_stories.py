"""Stories of the synthetic web's newspapers against its events, and the impact page in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.story_scores import score_stories, world_articles
from support.told_stories import FLOOD, FLOOD_EN, article, filled_store

from lycosa.missions.records.database import NewRecord, open_store
from lycosa.missions.records.stories import refresh_stories
from lycosa.missions.records.stories.impact import find_stories, measure_impact, write_impact
from lycosa.render.browser_processes import find_browser

SEAT = find_browser()
pytestmark = pytest.mark.acceptance
NASTY = "</script><img src=http://evil.example/x onerror=alert(1)><b>bold</b>"


@pytest.mark.parametrize("seed", [7, 11])
def test_events_of_the_newspapers_are_recognised(
    shared: Path, tmp_path: Path, say: Callable[[str], None], seed: int
) -> None:
    """Told in own words and four languages; articles without an event stay alone. No threshold was set on them."""
    articles = list(world_articles(shared / "world", seed))
    with open_store(tmp_path) as store:
        store.put(NewRecord(kind="article", url=each.url, data=each.data) for each in articles)
        refresh_stories(store)
        found = dict(store.rows("SELECT url, story FROM story_member JOIN records ON records.id = record"))
    scores = score_stories({each.url: each.event for each in articles}, found)
    say(
        f"stories, seed {seed}: {len(articles):,} articles, pairs P {scores.precision:.3f} R {scores.recall:.3f} "
        f"F {scores.f:.3f}, B-cubed P {scores.b_cubed_precision:.4f} R {scores.b_cubed_recall:.4f}"
    )
    assert scores.precision >= 0.97
    assert scores.recall >= 0.97
    assert min(scores.b_cubed_precision, scores.b_cubed_recall) >= 0.99


@pytest.fixture
def window() -> Iterator[Any]:
    """A browser that has no network; what it asked for and complained of is kept."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=SEAT.path)
        page = browser.new_context(viewport={"width": 1000, "height": 800}, offline=True).new_page()
        page.asked, page.complaints = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (page.complaints.append(dialog.message), dialog.dismiss()))
        yield page
        browser.close()


@pytest.mark.skipif(bool(SEAT.missing), reason=f"no browser: {SEAT.missing}")
def test_the_impact_page_opens_in_a_browser(window: Any, tmp_path: Path) -> None:
    """Figures, charts and articles are there; a hostile title is its text; nothing runs and nothing is fetched."""
    hostile = article("http://evil.example/1", NASTY, FLOOD_EN, "2024-03-05", section=NASTY, language="en")
    with filled_store(tmp_path, [*FLOOD, hostile]) as store:
        refresh_stories(store)
        page = write_impact(measure_impact(find_stories(store, "")))
    path = tmp_path / "impact.html"
    path.write_text("".join(page), encoding="utf-8")
    window.goto(path.as_uri())
    assert window.text_content("h1") == "Impact: El Ebro se desborda en Tudela"
    assert window.text_content(".tiles div b") == "5"
    assert window.locator("svg.chart").count() == 4
    assert window.locator("svg.chart rect").count() >= 12
    assert all(box["width"] > 300 for each in window.locator("svg.chart").all() if (box := each.bounding_box()))
    rows = window.locator("#s4 tbody tr")
    assert rows.count() == 5
    assert NASTY in "".join(rows.all_text_contents())
    window.click("#s4 th:nth-child(2) button")
    assert rows.first.locator("td").nth(1).text_content() == "copy.example"
    assert window.locator("img, b > b, section script").count() == 0
    assert window.asked == [path.as_uri()] and window.complaints == []
