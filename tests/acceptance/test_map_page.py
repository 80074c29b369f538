"""The page with the map in a real browser: opened as a file, filtered, clicked, walked with keys, without network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lycosa.missions.geo.export.map_page import write_map
from lycosa.missions.geo.inventory.inventory import DescriptionSource, Layer, ServiceEntry
from lycosa.missions.geo.model import Contact, LayerItem, Service
from lycosa.render.browser_processes import find_browser

SEAT = find_browser()
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(bool(SEAT.missing), reason=f"no browser: {SEAT.missing}"),
]

SERVICES, LAYERS = 500, 10_000
KINDS = ("WMS", "WFS", "WCS", "WMTS")
NASTY = "</script><img src=http://evil.example/x onerror=alert(1)><b>bold</b>"


def make_world() -> tuple[list[ServiceEntry], list[Layer]]:
    """Services all over the world with twenty layers each; the first is hostile, the last crosses 180 degrees."""
    entries, layers = [], []
    for n in range(SERVICES):
        title = {0: NASTY, 1: "Service 1 of Aragón"}.get(n, f"Service {n}")
        service = Service(KINDS[n % 4], "1.0.0", endpoint=f"http://s{n}.example.org/ows", title=title, items=20)
        service.provider = f"Provider {n % 7}"
        service.endpoint = "javascript:alert(1)" if n == 0 else service.endpoint
        source = DescriptionSource(n, 1, f"{service.endpoint}?request=GetCapabilities", service, 1.7e9, "", {})
        entry = ServiceEntry(
            f"{n:016x}", service, endpoints=(service.endpoint,), addresses=(source.url,), sources=[source]
        )
        entries.append(entry)
        for m in range(LAYERS // SERVICES):
            west, south = (n * 37 + m * 3) % 350 - 180.0, (n * 17 + m * 5) % 160 - 85.0
            box = (176.0, -20.0, -178.0, -12.0) if n == SERVICES - 1 else (west, south, west + 3, south + 2)
            item = LayerItem("layer", f"l{m}", f"Layer {m} of {title}", box=box, language="en")
            layers.append(Layer(f"{n * 100 + m:016x}", entry, item, "", (entry.id,)))
    dead = Service("WMS", endpoint="http://dead.example.org/wms")
    entries.append(ServiceEntry("f" * 16, dead, "dead", "http-404", (dead.endpoint,), (dead.endpoint,)))
    return entries, layers


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page in a browser that has no network; what it asked for and complained of is kept."""
    from playwright.sync_api import sync_playwright

    path = tmp_path_factory.mktemp("map") / "map.html"
    path.write_text("".join(write_map(*make_world())), encoding="utf-8")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=SEAT.path)
        page = browser.new_context(viewport={"width": 1200, "height": 700}, offline=True).new_page()
        page.asked, page.complaints = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (page.complaints.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=20_000)
        page.size = path.stat().st_size
        yield page
        page.asked = [url for url in page.asked if url != path.as_uri()]
        assert (page.asked, page.complaints) == ([], [])
        browser.close()


def summed(page: Any, text: str) -> None:
    """Wait until the sum above the list begins with a text."""
    page.wait_for_function(
        "text => document.getElementById('sum').textContent.startsWith(text)", arg=text, timeout=20_000
    )


def reset(page: Any) -> None:
    page.fill("#text", "")
    for name, value in (("what", "layers"), ("kind", ""), ("provider", ""), ("state", "")):
        page.select_option(f"#{name}", value)
    if page.is_visible("#anywhere"):
        page.click("#anywhere")
    page.click("#home")
    summed(page, "10,000 of 10,000 layers")


def test_ten_thousand_layers_are_listed_and_drawn(window: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """All are there, a few rows of them in the document; how long filters and drawing take is printed."""
    summed(window, "10,000 of 10,000 layers")
    assert window.locator(".item").count() < 60
    times = window.evaluate(
        """() => { const time = (work) => { const from = performance.now(); work(); return performance.now() - from; };
        const all = time(() => { fresh = false; draw(); });
        document.getElementById('text').value = 'layer 7';
        return { draw: all, filter: time(apply) }; }"""
    )
    colours = window.evaluate(
        """() => new Set(new Uint32Array(document.getElementById('map').getContext('2d').getImageData(0, 0, 800, 700)
        .data.buffer)).size"""
    )
    with capsys.disabled():
        print(
            f"\nmap of {LAYERS:,} layers, {window.size / 1e6:.1f} MB: filter {times['filter']:.0f} ms, draw"
            f" {times['draw']:.0f} ms, {colours} colours"
        )
    assert colours > 20
    reset(window)


def test_filters_go_together(window: Any) -> None:
    """Words, kind, provider and state narrow the list; services can be listed instead, dead ones too."""
    window.fill("#text", "service 123 layer")
    summed(window, "20 of 10,000 layers")
    window.fill("#text", "ARAGON")
    summed(window, "20 of 10,000 layers")
    window.fill("#text", "")
    window.select_option("#kind", "WFS")
    summed(window, "2,500 of 10,000 layers")
    window.select_option("#provider", "Provider 1")
    summed(window, "360 of 10,000 layers")
    reset(window)
    window.select_option("#what", "services")
    window.select_option("#state", "dead")
    summed(window, "1 of 501 services, 1 without a box")
    assert "dead.example.org" in window.text_content(".item")
    reset(window)


def test_a_row_leads_to_its_place(window: Any) -> None:
    """A click on a row zooms there and tells what is known; across 180 degrees too."""
    window.fill("#text", "s42.example layer 3")
    summed(window, "2 of 10,000 layers")
    before = window.evaluate("() => ({ ...view })")
    window.locator(".item").first.click()
    after = window.evaluate("() => ({ ...view })")
    assert after["k"] > 10 * before["k"]
    assert "Layer 3 of Service 42" in window.text_content("#details h2")
    assert window.get_attribute("#details a", "href") == "http://s42.example.org/ows"
    window.fill("#text", f"s{SERVICES - 1}.example layer")
    summed(window, "20 of 10,000 layers")
    window.locator(".item").first.click()
    assert window.evaluate("() => Math.abs(view.x - 179) < 0.1 && view.k > 50")
    reset(window)


def test_the_map_tells_what_is_there(window: Any) -> None:
    """A click on the map lists the layers whose boxes hold the place, the smallest first, until told otherwise."""
    place = window.evaluate(
        "() => { const r = canvas.getBoundingClientRect(); return [r.x + px(-179), r.y + py(-15)]; }"
    )
    window.mouse.click(*place)
    summed(window, window.text_content("#sum").split(" of ")[0])
    held = window.evaluate("() => [here, shown.map((one) => [one.name, one.box])]")
    assert abs(held[0][0] + 179) < 1 and len(held[1]) >= 20
    assert any(box[0] > box[2] for _, box in held[1])
    for _, (west, south, east, north) in held[1]:
        inside = west <= held[0][0] <= east if west <= east else held[0][0] >= west or held[0][0] <= east
        assert inside and south <= held[0][1] <= north
    assert " at 1" in window.text_content("#sum")
    reset(window)


def test_keys_are_enough(window: Any) -> None:
    """The list is walked and chosen from with keys; so is the map moved, zoomed and asked."""
    window.focus("#list")
    for key in ("ArrowDown", "ArrowDown", "End", "Home", "ArrowDown"):
        window.keyboard.press(key)
    assert window.get_attribute("#list", "aria-activedescendant") == "item-1"
    assert window.get_attribute("#item-1", "aria-selected") == "true"
    assert window.get_attribute("#item-1 b", "lang") == "en"
    window.keyboard.press("Enter")
    assert window.evaluate("() => view.k") > 20
    window.focus("#map")
    window.keyboard.press("0")
    scale = window.evaluate("() => view.k")
    window.keyboard.press("+")
    window.keyboard.press("ArrowRight")
    assert window.evaluate("() => view.k") > scale and window.evaluate("() => view.x") > 0
    window.keyboard.press("Enter")
    assert window.is_visible("#anywhere")
    window.keyboard.press("Escape")
    assert not window.is_visible("#anywhere")
    reset(window)


def test_hostile_texts_are_only_shown(window: Any) -> None:
    """Markup in a title is its text; an address that is none of the web is no link; nothing ran or was fetched."""
    window.fill("#text", "onerror layer")
    summed(window, "20 of 10,000 layers")
    window.locator(".item").first.click()
    assert window.text_content("#details h2") == f"Layer 0 of {NASTY}"
    assert window.locator("#details a, #details img, .item img").count() == 0
    assert "javascript:alert(1)" in window.text_content("#details")
    reset(window)


def test_it_opens_on_what_it_shows(window: Any, tmp_path: Path) -> None:
    """On the box around all that is smaller than the world; and it tells systems, licence, contact and last check."""
    service = Service("WMS", "1.3.0", endpoint="http://fiji.example.org/ows", title="Fiji", items=2, crs=("EPSG:3857",))
    service.licence, service.contact = "CC-BY-4.0", Contact(person="Ana Ruiz", email="ana@example.org")
    source = DescriptionSource(1, 1, f"{service.endpoint}?request=GetCapabilities", service, 1.7e9, "", {})
    entry = ServiceEntry("0" * 16, service, endpoints=(service.endpoint,), addresses=(source.url,), sources=[source])
    entry.outcome, entry.checked_at = "alive", 1.7e9
    boxes = ((176.0, -20.0, 179.0, -16.0), (-180.0, -18.0, -178.0, -12.0), (-180.0, -90.0, 180.0, 90.0))
    items = [LayerItem("layer", f"l{n}", f"Layer {n}", box=box, crs=("EPSG:4326",)) for n, box in enumerate(boxes)]
    path = tmp_path / "fiji.html"
    layers = (Layer(f"{n:016x}", entry, item, "", (entry.id,)) for n, item in enumerate(items))
    path.write_text("".join(write_map([entry], layers)), encoding="utf-8")
    page = window.context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=20_000)
    west, south, east, north = page.evaluate("() => [lon(0), lat(size[1]), lon(size[0]), lat(0)]")
    assert abs(abs((west + east) / 2) - 179) < 1 and east - west < 40 and south < -20 and north > -12
    drawn = page.evaluate(
        """() => { draw(); const ratio = window.devicePixelRatio || 1, at = (x, y) => [...context.getImageData(
        Math.round(px(x) * ratio), Math.round(py(y) * ratio), 1, 1).data].join();
        return [at(177.5, -17.5), at(181, -17.5), at(185, -13)]; }"""
    )
    assert drawn[0] != drawn[2] and drawn[1] != drawn[2]  # on both sides of the antimeridian
    assert "alive on 2023-11-14" in page.text_content(".item span")
    page.locator(".item").first.click()
    told = page.text_content("#details")
    for fact in ("EPSG:4326", "CC-BY-4.0", "Ana Ruiz, ana@example.org", "alive on 2023-11-14"):
        assert fact in told
    page.close()


def test_the_theme_can_be_changed(window: Any) -> None:
    """Light becomes dark, on the map as well."""
    look = "() => [getComputedStyle(document.body).backgroundColor, paper.land]"
    light = window.evaluate(look)
    window.click("#theme")
    dark = window.evaluate(look)
    assert light[0] != dark[0] and light[1] != dark[1]
    window.click("#theme")
