"""Pages of missions in a real browser: open to everybody, narrow and wide, light and dark, and nothing runs there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.looked_at_web import PIXEL
from support.loopback import Reply, Web
from support.mission_webs import make_atlas, make_library
from support.serve_browser import browsing, expect, needs_browser, viewing
from support.serve_client import ServeClient, serving

from lycosa.serve.server_state import ServeSettings

pytestmark = needs_browser

GEO = "/c/atlas/m/geo/"
XML = "/c/library/m/xml/"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("missions")
    make_atlas(root / "atlas")
    make_library(root / "library")
    return root


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[ServeClient]:
    with serving(folder) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="module")
def paths(client: ServeClient) -> list[str]:
    """Every page of both missions, and each that shows a hostile text."""
    services = client.get(f"{GEO}services.json").json["services"]
    shown = {row["host"]: row["id"] for row in services}
    documents = client.get(f"{XML}documents.json").json["documents"]
    numbers = {row["url"].partition("?")[0].rpartition("/")[2]: row["id"] for row in documents}
    return [
        *(f"{GEO}{page}" for page in ("", "?what=layers", "services", "layers", "checks")),
        *(f"{GEO}service?id={shown[host]}" for host in ("evil.test", "archive.geoworld.test")),
        *(f"{XML}{page}" for page in ("", "documents", "schemas", "groups")),
        *(f"{XML}document?id={numbers[name]}" for name in ("library.xsd", "old.xml", "0.xml", "6.xml")),
    ]


def test_pages_are_open_to_everybody(client: ServeClient, browser: Any, paths: list[str]) -> None:
    """Also with hostile texts, of which none runs or leads out of the machine."""
    with viewing(browser, language="es") as view:
        for path in paths:
            view.check_for_everybody(f"{client.address}{path}")
            view.check()


def test_the_map_is_moved_zoomed_and_asked(client: ServeClient, browser: Any) -> None:
    """By buttons, keys, dragging and wheel; the address keeps the view; a click tells what is there."""
    with viewing(browser) as view:
        page = view.open(f"{client.address}{GEO}?what=layers&box=-10,35,5,45")
        page.wait_for_selector("html[data-map=ready]")
        frame = "document.querySelector('.mapbox svg').getAttribute('viewBox').split(' ').map(Number)"
        page.click("[data-zoom='0.5']")
        assert page.evaluate(frame)[2] == pytest.approx(7.5)
        page.focus("#mapbox")
        page.keyboard.press("-")
        assert page.evaluate(frame)[2] == pytest.approx(12.5)
        before = page.evaluate(frame)[0]
        page.keyboard.press("ArrowRight")
        assert page.evaluate(frame)[0] > before
        page.wait_for_url(re.compile(r"box=-7\."))
        page.keyboard.press("0")
        assert page.evaluate(frame) == [-180, -90, 360, 180]
        sides = page.locator(".mapbox svg").bounding_box()
        middle = (sides["x"] + sides["width"] / 2, sides["y"] + sides["height"] / 2)
        page.mouse.move(*middle)
        page.mouse.wheel(0, -300)
        assert page.evaluate(frame)[2] < 360
        page.mouse.down()
        page.mouse.move(middle[0] + 100, middle[1], steps=4)
        page.mouse.up()
        assert page.evaluate(frame)[0] + page.evaluate(frame)[2] / 2 < 0
        page.goto(f"{client.address}{GEO}?what=layers&box=-3.95,40.15,-3.35,40.65")
        page.wait_for_selector("html[data-map=ready]")
        page.click(".mapbox svg")
        assert "Ríos y arroyos" in page.inner_text("#picked")
        page.click("#picked >> text=Ríos y arroyos")
        assert "Villarrubia" in page.inner_text("h1")
        view.check()


def test_the_map_can_be_used_without_scripts(client: ServeClient, browser: Any) -> None:
    """Its buttons are links, and the list below leads to the services."""
    with viewing(browser, java_script_enabled=False) as view:
        page = view.page
        page.goto(f"{client.address}{GEO}?box=-10,35,5,45")
        page.click("[data-zoom='2']")
        assert "box=-17.5000" in page.url
        expect(page.locator(".mapbox svg path.land").first).to_be_attached()
        page.click("#drawn >> text=Mapas de Villarrubia")
        assert "Mapas de Villarrubia" in page.inner_text("h1")


def test_services_and_schemas_are_reached_by_clicks(client: ServeClient, browser: Any) -> None:
    """From a collection over the tabs to a dead service, and to what a schema needs."""
    with viewing(browser) as view:
        page = view.open(f"{client.address}/c/atlas/")
        page.click("nav >> text=Map")
        page.click("nav.mission >> text=Services")
        page.click(".facets >> text=dead >> nth=-1")
        page.click("text=Soil maps")
        expect(page.locator(".strip li")).to_have_count(2)
        page.goto(f"{client.address}/c/library/")
        page.click("nav >> text=XML")
        page.click("nav.mission >> text=Schemas")
        page.click("text=library.xsd")
        page.click("text=types.xsd >> nth=0")
        expect(page.locator("h1")).to_contain_text("types.xsd")
        view.check()


def test_tiles_are_asked_of_the_server_that_the_user_named(folder: Path, browser: Any) -> None:
    """The map shows them, also after it was moved; no other page asks."""
    tiles = Web()
    tiles.make = lambda address: Reply(PIXEL, headers={"Content-Type": "image/png"})
    there = f"http://127.0.0.1:{tiles.port}/{{z}}/{{x}}/{{y}}.png"
    try:
        with serving(folder, ServeSettings(folder=folder, tiles=there)) as own, viewing(browser) as view:
            page = view.open(f"{own.address}{GEO}?box=-10,35,5,45")
            page.wait_for_selector("html[data-map=ready]")
            page.wait_for_load_state("networkidle")
            first = len(tiles.asked)
            assert first > 4
            with page.expect_response(re.compile(rf":{tiles.port}/8/")):
                page.click("[data-zoom='0.5']")
                page.click("[data-zoom='0.5']")
            page.wait_for_url(re.compile(r"box=-4\.37"))
            view.check()
            view.requests.clear()
            view.open(f"{own.address}{GEO}services")
            assert [url for url in view.requests if f":{tiles.port}/" in url] == []
    finally:
        tiles.close()
