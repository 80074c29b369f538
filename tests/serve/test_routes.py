"""The table of routes: each page is documented, and what has no twin is marked so."""

from __future__ import annotations

from pathlib import Path

from lycosa.missions import registry
from lycosa.serve.application import NAVIGATION, ROUTES

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "serve.md").read_text()


def test_every_page_is_documented() -> None:
    """In the table for programs, whose twins follow from a rule."""
    for route in ROUTES:
        if route.method == "GET" and route.has_twin:
            path = route.path.replace("{name}", "NAME")
            assert f"| `{path}` |" in DOCS, path


def test_every_page_of_a_mission_is_documented() -> None:
    """In the same table."""
    for mission in registry.BUILT_IN:
        for page in registry.find(mission).pages:
            if page.method == "GET":
                path = f"/c/NAME/m/{mission}/{page.path}"
                assert f"| `{path}` {'' if page.has_twin else '· '}|" in DOCS, path


def test_the_navigation_leads_to_pages() -> None:
    """Each entry is the page of a collection, once."""
    assert len({page for page, _ in NAVIGATION}) == len(NAVIGATION)
    assert ("crawl", "Crawl") in NAVIGATION
