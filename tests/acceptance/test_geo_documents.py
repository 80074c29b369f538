"""Recognition, inventory and inference over collected service documents and look-alikes, with the figures measured."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from lycosa.missions.geo.describe.describe import describe_service
from lycosa.missions.geo.export import geojson, iso, stac
from lycosa.missions.geo.export.map_page import write_map
from lycosa.missions.geo.inventory.identity import make_id
from lycosa.missions.geo.inventory.inventory import DescriptionSource, Layer, ServiceEntry
from lycosa.missions.geo.recognise.endpoint_inference import infer
from lycosa.missions.geo.recognise.kinds import recognise
from lycosa.missions.geo.recognise.service_hints import find_hints
from lycosa.parse import Doc, read

pytestmark = pytest.mark.acceptance

_FAMILIES = {
    "ATOM": "atom-download",
    "ESRI-REST": "arcgis",
    "OGCAPI": "ogcapi",
    "OpenSearch": "opensearch",
    "STAC": "stac",
    "TMS": "tms",
    "TileJSON": "tilejson",
}
#: What servers call documents, rightly or wrongly.
_MIMES = ("", "text/html", "text/plain", "application/octet-stream", "image/png")
Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows(shared: Path) -> list[tuple[Row, bytes]]:
    """The rows of the manifest with the bytes they describe."""
    folder = shared / "data/ogc"
    if not folder.is_dir():
        pytest.skip(f"no service documents at {folder}")
    return [(row, (folder / row["file"]).read_bytes()) for row in json.loads((folder / "manifest.json").read_text())]


def _read(body: bytes, mime: str = "") -> Doc:
    return read(
        "http://maps.example.org/ows?service=X&request=GetCapabilities", {"content-type": mime} if mime else {}, body
    )


def _expected(row: Row) -> tuple[str, str] | None:
    if not row["is_service"]:
        return None
    family = _FAMILIES.get(row["service"], f"ogc:{row['service'].lower()}")
    return family, "" if row["service"] == "ATOM" else row["version"] or ""


def _found(kind: str | None) -> tuple[str, str] | None:
    if kind is None:
        return None
    family, _, version = kind.partition("/")
    family = family if family.startswith("ogc:") else family.partition(":")[0]
    return family, "" if family == "atom-download" else version


def test_recognition(rows: list[tuple[Row, bytes]], say: Callable[[str], None]) -> None:
    """Type and version of nearly every document, whatever it is called, and no look-alike is taken for a service."""
    for mime in _MIMES:
        right = sum(_found(recognise(_read(body, mime))) == _expected(row) for row, body in rows)
        taken = [row["file"] for row, body in rows if not row["is_service"] and recognise(_read(body, mime))]
        say(f"recognition as {mime or 'nothing'}: {right}/{len(rows)}, look-alikes taken for services: {len(taken)}")
        assert right >= 0.99 * len(rows)
        assert taken == []


def test_inventory(rows: list[tuple[Row, bytes]], say: Callable[[str], None]) -> None:
    """Titles, items, boxes and metadata links as counted by others."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row, body in rows:
        inventory = describe_service(_read(body)) if row["is_service"] else None
        if inventory is None:
            continue
        items = inventory.items
        found = {
            "title": inventory.service.title or None,
            "items_named": sum(1 for item in items if item.name),
            "items_all": len(items),
            "with_bbox": inventory.service.boxes,
            "metadata_urls": sum(len(item.metadata) for item in items),
        }
        for key, value in found.items():
            if key in row:
                total[key] += 1
                right[key] += value == row[key]
    say("inventory: " + ", ".join(f"{key} {right[key]}/{total[key]}" for key in total))
    assert all(right[key] >= 0.97 * total[key] for key in total)
    assert total["title"] > 90


def test_exports(rows: list[tuple[Row, bytes]], say: Callable[[str], None]) -> None:
    """Whatever a real service says of itself, every export of it can be read again, and no box leaves the world."""
    entries, layers = _list_all(rows)
    features = json.loads("".join(geojson.write_geojson(geojson.layer_features(layers))))["features"]
    boxed = [feature for feature in features if feature["geometry"]]
    for feature in boxed:
        west, south, east, north = feature["bbox"]
        assert -180 <= west <= 180 and -180 <= east <= 180 and -90 <= south <= north <= 90
    assert all(feature["properties"]["problem"] for feature in features if not feature["geometry"])
    documents = [json.loads(data) for _, data in stac.list_files(entries, layers)]
    records = [etree.fromstring(data) for _, data in iso.write_files(iso.list_records(entries, layers))]
    records += [etree.fromstring(data) for _, data in iso.write_files(iso.list_layer_records(layers))]
    page = "".join(write_map(entries, layers))
    held = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    spoken = Counter(entry.service.language for entry in entries)
    say(
        f"exports of {len(entries)} services: {len(boxed)}/{len(features)} footprints, {len(documents)} STAC documents,"
        f" {len(records)} ISO records, a map of {len(page)} characters; languages {dict(spoken.most_common())}"
    )
    assert len(features) == len(layers) == len(held["layers"]) and len(documents) == len(layers) + len(entries) + 1
    assert len(boxed) > 0.75 * len(features)


def _list_all(rows: list[tuple[Row, bytes]]) -> tuple[list[ServiceEntry], list[Layer]]:
    """The services and layers of all descriptions, as the inventory of a collection holds them."""
    entries: list[ServiceEntry] = []
    layers: list[Layer] = []
    for row, body in rows:
        inventory = describe_service(_read(body)) if row["is_service"] else None
        if inventory is None:
            continue
        service, name = inventory.service, make_id(row["file"])
        source = DescriptionSource(1, 1, service.endpoint, service, 1.7e9, "", {})
        entries.append(ServiceEntry(name, service, endpoints=(service.endpoint,), sources=[source], at=1.7e9))
        for number, item in enumerate(inventory.items):
            layers.append(Layer(make_id(name, str(number)), entries[-1], item, "", (name,)))
    return entries, layers


def test_addresses(shared: Path, say: Callable[[str], None]) -> None:
    """Endpoints inferred from single addresses."""
    path = shared / "data/ogc/url_cases.json"
    if not path.is_file():
        pytest.skip(f"no cases at {path}")
    cases = json.loads(path.read_text())
    wrong = []
    for case in cases:
        expected = {(part["service"], part["endpoint"]) for part in case["expect"]}
        if {(hint.service, hint.endpoint) for hint in infer(case["url"])} != expected:
            wrong.append(case["url"])
    say(f"addresses inferred: {len(cases) - len(wrong)}/{len(cases)}")
    assert len(wrong) <= 2, wrong


def _measure(work: Callable[[Doc], object], docs: list[Doc]) -> float:
    """Microseconds of CPU for one document, the best of three."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        for doc in docs:
            work(doc)
        best = min(best, time.process_time() - start)
    return best / len(docs) * 1e6


def test_cost(rows: list[tuple[Row, bytes]], say: Callable[[str], None]) -> None:
    """What recognition, hints and stock-taking cost is printed, not judged."""
    paragraph = (
        '<p class="c">The map of the river shows land use in the region. <a href="/path/page.html">More</a></p>\n'
    )
    plain = _read(f"<html><body>{paragraph * 185}</body></html>".encode())
    telling = _read(
        f'<html><body>{paragraph * 180}<a href="http://a.org/wms">W</a><script>{"x=1;" * 60}</script></html>'.encode()
    )
    services = [_read(body) for row, body in rows if row["is_service"]]
    size = sum(len(doc.body) for doc in services) / len(services)
    say(
        f"ordinary page of {len(plain.body)} B: recognise {_measure(recognise, [plain] * 200):.1f} µs, "
        f"hints {_measure(find_hints, [plain] * 200):.0f} µs"
    )
    say(f"page of {len(telling.body)} B that names a service: hints {_measure(find_hints, [telling] * 50):.0f} µs")
    say(
        f"{len(services)} descriptions of {size:.0f} B: recognise {_measure(recognise, services):.0f} µs, "
        f"hints {_measure(find_hints, services):.0f} µs, stock {_measure(describe_service, services):.0f} µs"
    )
