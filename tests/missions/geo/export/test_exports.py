"""The inventory for other programs: GeoJSON, STAC, ISO 19139, GeoHealthCheck, originals, and the page with the map."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from lycosa import Collection
from lycosa.cli.main import main
from lycosa.missions.geo.bounds import make_box
from lycosa.missions.geo.describe.describe import describe_service
from lycosa.missions.geo.export import coastline, geojson, iso, stac
from lycosa.missions.geo.export.map_page import write_map
from lycosa.missions.geo.inventory.inventory import DescriptionSource, Layer, ServiceEntry, ServiceInventory
from lycosa.missions.geo.model import LayerItem, Service
from lycosa.missions.geo.vocabulary import name_language, write_language
from lycosa.parse import read

NASTY = "</script><script>alert(1)</script><!--\u2028\x00\x1b[31m&\ud800"


@pytest.fixture(scope="module")
def inventory(atlas: Path) -> Iterator[ServiceInventory]:
    with Collection(atlas) as collection, collection.snapshot():
        yield ServiceInventory(collection)


def hostile() -> tuple[ServiceEntry, Layer]:
    """A service whose every text tries to be something else."""
    text = NASTY.replace("\ud800", "")  # which JSON cannot hold, so that no record has it
    service = Service("WMS", "1.3.0", "ogc:wms/1.3.0", f"javascript:{text}", title=text, provider=text, abstract=text)
    service.keywords, service.box, service.licence = (text,), (0.0, 0.0, 1.0, 1.0), text
    source = DescriptionSource(1, 1, f"http://a.org/{text}", service, 0.0, "", {})
    entry = ServiceEntry("0" * 16, service, endpoints=(service.endpoint,), addresses=(source.url,), sources=[source])
    item = LayerItem("layer", text, text, text, box=(0.0, 0.0, 1.0, 1.0), box_from="own", time=text, address=text)
    return entry, Layer("1" * 16, entry, item, "2" * 16, (entry.id,))


def export(atlas: Path, *words: str) -> int:
    return main(["export", *words, "-c", str(atlas)])


def test_boxes_become_geometries() -> None:
    """Anticlockwise rings; cut at the antimeridian; points and lines where a box has no area."""
    box = geojson.draw((1.0, 2.0, 3.0, 4.0))
    assert box == {"type": "Polygon", "coordinates": [[[1, 2], [3, 2], [3, 4], [1, 4], [1, 2]]]}
    crossing = geojson.draw((176.0, -20.0, -178.0, -12.0))
    assert crossing is not None and crossing["type"] == "MultiPolygon"
    assert [ring[0][0] for (ring,) in crossing["coordinates"]] == [176.0, -180.0]
    assert geojson.draw((180.0, 0.0, -178.0, 1.0)) == geojson.draw((-180.0, 0.0, -178.0, 1.0))
    assert geojson.draw((5.0, 5.0, 5.0, 5.0)) == {"type": "Point", "coordinates": [5.0, 5.0]}
    assert geojson.draw((5.0, 5.0, 6.0, 5.0)) == {"type": "LineString", "coordinates": [[5.0, 5.0], [6.0, 5.0]]}
    assert geojson.draw(None) is None


@given(*[st.floats(-400, 400)] * 4)
def test_geometries_stay_in_the_world(west: float, south: float, east: float, north: float) -> None:
    """Whatever numbers a service states, no point lies beyond the poles or past 180 degrees."""
    box = make_box(west, south, east, north)
    drawn = geojson.draw(box)
    assert (box is None) == (drawn is None)
    for x, y in _points(drawn["coordinates"]) if drawn else ():
        assert -180 <= x <= 180 and -90 <= y <= 90


def _points(nested: Any) -> Iterator[tuple[float, float]]:
    if isinstance(nested[0], float):
        yield nested[0], nested[1]
    else:
        for part in nested:
            yield from _points(part)


def test_geojson(atlas: Path, tmp_path: Path) -> None:
    """One feature a layer, or a service; what has no box is there without a geometry and says why."""
    path = tmp_path / "a.geojson"
    assert export(atlas, "footprints", "-o", str(path)) == 0
    found = json.loads(path.read_text())
    assert found["type"] == "FeatureCollection" and len(found["features"]) == 13
    reefs = next(f for f in found["features"] if f["properties"]["title"] == "Coral reefs of Fiji")
    assert reefs["geometry"]["type"] == "MultiPolygon" and reefs["bbox"] == [176, -20, -178, -12]
    assert export(atlas, "footprints", "--by", "service", "--kind", "CSW", "-o", str(path)) == 0
    (catalogue,) = json.loads(path.read_text())["features"]
    assert catalogue["geometry"] is None and catalogue["properties"]["problem"] == "no box is stated"
    assert "".join(geojson.write_geojson([])) == '{"type":"FeatureCollection","features":[\n]}\n'


def test_why_there_is_no_footprint() -> None:
    """Degrees of China are degrees; a box in a system that is not converted is told with its name."""
    box = '<BoundingBox CRS="{}" minx="{}" miny="{}" maxx="{}" maxy="{}"/>'
    boxes = {
        "china": box.format("EPSG:4490", 30, 110, 35, 115),
        "europe": box.format("urn:ogc:def:crs:EPSG::3035", 2500000, 4000000, 3000000, 4500000),
        "nonsense": box.format("EPSG:4326", 900, 900, 901, 901),
        "none": "",
    }
    layers = "".join(f"<Layer><Name>{name}</Name>{stated}</Layer>" for name, stated in boxes.items())
    body = (
        '<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms"><Service/><Capability>'
        f"<Layer>{layers}</Layer></Capability></WMS_Capabilities>"
    )
    description = describe_service(read("http://a.org/wms?service=WMS&request=GetCapabilities", {}, body.encode()))
    assert description is not None
    found = {item.name: (item.box, geojson.explain(item)) for item in description.items if item.name}
    assert found == {
        "china": ((110.0, 30.0, 115.0, 35.0), ""),
        "europe": (None, "the box that is stated is in EPSG:3035, which is not converted"),
        "nonsense": (None, "the box that is stated is not in degrees"),
        "none": (None, "no box is stated"),
    }


def test_a_time_without_end_lasts_until_it_was_fetched() -> None:
    """It is a period, not the instant at which it begins."""
    fetched = 1_700_000_000.0
    source = DescriptionSource(1, 1, "http://a.org/", Service("WMS"), fetched, "", {})
    entry = ServiceEntry("e", Service("WMS"), sources=[source], at=fetched)

    def time_of(text: str) -> tuple[str | None, ...]:
        said = stac.make_item(Layer("l", entry, LayerItem("layer", "n", time=text), "d", ("e",)))["properties"]
        return tuple(said.get(key) for key in ("datetime", "start_datetime", "end_datetime"))

    period = (None, "2019-01-01T00:00:00Z", "2023-11-14T22:13:20Z")
    assert time_of("2019-01-01T00:00:00Z/present/PT5M") == time_of("2019-01-01/..") == period
    assert time_of("2019-01-01T10:00Z") == ("2019-01-01T10:00:00Z", None, None)
    assert time_of("2050-01-01/..") == ("2050-01-01T00:00:00Z", None, None)
    assert time_of("") == ("2023-11-14T22:13:20Z", None, None)


def test_stac(atlas: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A static catalogue whose every link leads somewhere; in a pipe, one document a line."""
    folder = tmp_path / "stac"
    assert export(atlas, "stac", "-o", str(folder)) == 0
    catalogue = json.loads((folder / "catalog.json").read_text())
    collections = [link for link in catalogue["links"] if link["rel"] == "child"]
    assert len(collections) == 8
    items = 0
    for child in collections:
        place = folder / child["href"]
        collection = json.loads(place.read_text())
        assert collection["description"] and collection["extent"]["spatial"]["bbox"][0]
        for link in collection["links"]:
            assert link["href"].startswith("http") or (place.parent / link["href"]).exists()
            if link["rel"] == "item":
                item = json.loads((place.parent / link["href"]).read_text())
                assert item["collection"] == collection["id"] and ("bbox" in item) == (item["geometry"] is not None)
                assert item["properties"]["datetime"] or item["properties"]["start_datetime"]
                items += 1
    assert items == 13
    capfdbinary.readouterr()
    assert export(atlas, "stac") == 0
    lines = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert len(lines) == 21 and {line["type"] for line in lines} == {"Collection", "Feature"}


def test_links_by_which_viewers_draw() -> None:
    """A map in a format that the service has, by its name; tiles by their description."""

    def link(kind: str, *formats: str) -> list[dict[str, Any]]:
        service = Service(kind, endpoint="http://a.test/ows", formats=formats)
        entry = ServiceEntry("e", service, sources=[DescriptionSource(1, 1, "http://a.test/d", service, 1.7e9, "", {})])
        links = stac.make_item(Layer("l", entry, LayerItem("layer", "x"), "", ("e",)))["links"]
        return [one for one in links if one["rel"] in ("wms", "wmts", "tilejson")]

    assert link("WMS", "image/gif", "image/png") == [
        {"rel": "wms", "href": "http://a.test/ows", "type": "image/png", "wms:layers": ["x"]}
    ]
    assert [one["type"] for one in link("WMTS", "image/jpeg")] == ["image/jpeg"]
    assert link("TILEJSON") == [{"rel": "tilejson", "href": "http://a.test/d", "type": "application/json"}]
    assert link("WFS", "text/xml") == []


def test_times_of_layers() -> None:
    """However a service writes a time, first and last instant come out, or nothing."""
    assert stac.read_time("2019-01-01/2019-12-31/P1D") == ("2019-01-01T00:00:00Z", "2019-12-31T23:59:59Z")
    assert stac.read_time("2019,2020-02") == ("2019-01-01T00:00:00Z", "2020-02-29T23:59:59Z")
    assert stac.read_time("1950-01-01/..") == ("1950-01-01T00:00:00Z", None)
    assert stac.read_time("2020-01-01T01:00:00+02:00") == ("2019-12-31T23:00:00Z", "2019-12-31T23:00:00Z")
    assert stac.read_time("2020-01-01T10:00Z") == ("2020-01-01T10:00:00Z", "2020-01-01T10:00:00Z")
    for nonsense in ("", "now", "2020-13-45", "2021/2020", "../..", NASTY):
        assert stac.read_time(nonsense) is None


def test_iso_records(atlas: Path, inventory: ServiceInventory, tmp_path: Path) -> None:
    """One record a service, with the elements in the order of the schema, the same identifier each time."""
    folder = tmp_path / "iso"
    assert export(atlas, "iso", "-o", str(folder)) == 0
    files = sorted(folder.glob("*.xml"))
    assert len(files) == 8
    spaces = {"gmd": iso.GMD, "srv": iso.SRV, "gco": iso.GCO}
    titles = {}
    for file in files:
        root = etree.parse(file).getroot()
        assert root.findtext("gmd:fileIdentifier/gco:CharacterString", namespaces=spaces) == file.stem
        service = root.find("gmd:identificationInfo/srv:SV_ServiceIdentification", spaces)
        assert service is not None
        titles[service.findtext("gmd:citation/*/gmd:title/*", namespaces=spaces)] = service
    town = titles["Mapas de Villarrubia"]
    assert town.findtext("srv:serviceType/gco:LocalName", namespaces=spaces) == "OGC:WMS"
    assert [e.text for e in town.iterfind("srv:coupledResource//gco:ScopedName", spaces)] == ["rios", "parques", "plan"]
    assert [e.text for e in town.iterfind("srv:serviceTypeVersion/*", spaces)] == ["1.3.0", "1.1.1"]
    again = {iso.identify(entry.id) for entry in inventory.live}
    assert again == {file.stem for file in files}
    whole = tmp_path / "all.xml"
    assert export(atlas, "iso", "-o", str(whole)) == 0
    assert len(etree.parse(whole).findall(f"{{{iso.CSW}}}Insert/{{{iso.GMD}}}MD_Metadata")) == 8


def test_iso_records_of_layers(atlas: Path, inventory: ServiceInventory, tmp_path: Path) -> None:
    """One record a layer, as a data set with its box and where it is to be had; its parent is the service's record."""
    folder = tmp_path / "iso"
    assert export(atlas, "iso", "--by", "layer", "-o", str(folder)) == 0
    files = sorted(folder.glob("*.xml"))
    assert len(files) == 13
    spaces = {"gmd": iso.GMD, "gco": iso.GCO}
    parents = {iso.identify(entry.id) for entry in inventory.live}
    crossing = 0
    for file in files:
        root = etree.parse(file).getroot()
        assert root.findtext("gmd:parentIdentifier/*", namespaces=spaces) in parents
        data = root.find("gmd:identificationInfo/gmd:MD_DataIdentification", spaces)
        assert data is not None and data.find("gmd:language", spaces) is not None
        crossing += len(data.findall("gmd:extent/*/gmd:geographicElement", spaces)) == 2
        assert root.findtext(".//gmd:onLine//gmd:URL", namespaces=spaces)
    assert crossing == 1


def test_originals(atlas: Path, tmp_path: Path) -> None:
    """Each description byte by byte, and a catalogue that names file, address and service of each."""
    folder = tmp_path / "kept"
    for _ in range(2):  # again, in place of what is there
        assert export(atlas, "originals", "-o", str(folder)) == 0
    with open(folder / "catalogue.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [{k: str(v) for k, v in row.items()} for row in json.loads((folder / "catalogue.json").read_text())]
    assert len(rows) == 10  # the town's WMS in two versions, the API in two documents
    with Collection(atlas) as collection:
        for row in rows:
            body = (folder / row["file"]).read_bytes()
            page = collection.page(row["url"])
            assert page is not None and body == page.body
            assert hashlib.sha256(body).hexdigest() == row["sha256"] and len(body) == int(row["bytes"])


def test_originals_that_cannot_be_read_are_left_out(
    atlas: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No empty file stands for one; the others are there, and the exit code says so."""
    shutil.copytree(atlas, tmp_path / "c")
    with Collection(tmp_path / "c") as collection, collection.snapshot():
        sources = [source for entry in ServiceInventory(collection).live for source in entry.sources]
        page = collection.page_at(sources[0].n)
        assert page is not None
        name, offset, _ = page.place
    file = tmp_path / "c/archive" / name
    data = file.read_bytes()
    file.write_bytes(data[:offset] + bytes(100) + data[offset + 100 :])
    assert main(["export", "originals", "-c", str(tmp_path / "c"), "-o", str(tmp_path / "kept")]) == 7
    assert "1 page is left out" in capsys.readouterr().err
    rows = json.loads((tmp_path / "kept/catalogue.json").read_text())
    assert len(rows) == len(sources) - 1 and all(row["bytes"] for row in rows)


def test_a_catalogue_of_somebody_else_stays(atlas: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Originals do not replace a catalogue that they did not write."""
    (tmp_path / "catalogue.csv").write_text("mine")
    assert export(atlas, "originals", "-o", str(tmp_path)) == 2
    assert "holds catalogue.csv" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["catalogue.csv"]


def test_hostile_texts_stay_texts() -> None:
    """What a service says cannot leave its place in a page, in XML or in JSON."""
    entry, layer = hostile()
    page = "".join(write_map([entry], [layer]))
    assert page.count("</script>") == 2 and page.count("<script") == 2 and "<!--" not in page
    held = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert held is not None
    data = json.loads(held[1])
    assert data["services"][0][4] == entry.service.title and data["layers"][0][1] == layer.item.title
    (name, record), = iso.write_files(iso.list_records([entry], [layer]))  # fmt: skip
    root = etree.fromstring(record)
    assert name.endswith(".xml") and "alert(1)" in (root.findtext(f".//{{{iso.GMD}}}title/*") or "")
    document = stac.make_item(layer)
    assert "data" not in document["assets"] and document["properties"]["datetime"]


def test_the_page_lets_only_its_own_script_run() -> None:
    """Its policy names the hash of the script in it, and lets nothing be fetched."""
    page = "".join(write_map([], []))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    script = re.search(r"<script>(.*)</script>", page, re.DOTALL)
    assert policy and script
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy[1] and policy[1].startswith("default-src 'none'")
    assert not re.search(r'(?:src|href)="', page) and "{{" not in page


def test_land_is_where_it_should_be() -> None:
    """The outline knows land from sea, and the Caspian from both."""
    outlines = coastline.outlines()

    def on_land(lon: float, lat: float) -> bool:
        return any(_inside(ring, lon, lat) for ring in outlines["land"]) and not any(
            _inside(ring, lon, lat) for ring in outlines["water"]
        )

    dry = [
        (-3.7, 40.4),
        (37.6, 55.7),
        (116, 40),
        (-99, 40),
        (-58, -10),
        (134, -25),
        (20, 0),
        (-42, 72),
        (0, -85),
        (-175, 67),
    ]
    wet = [(-30, 40), (-150, 0), (80, -20), (3, 57), (0, 0), (5, 38), (34, 43), (51, 40), (-85, 60), (-88, 25)]
    assert [place for place in dry if not on_land(*place)] == []
    assert [place for place in wet if on_land(*place)] == []


def _inside(ring: list[float], x: float, y: float) -> bool:
    points = list(zip(ring[0::2], ring[1::2], strict=True))
    odd = False
    for (x1, y1), (x2, y2) in zip(points, points[1:] + points[:1], strict=True):
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            odd = not odd
    return odd


def test_wrong_usage(atlas: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that do not fit are refused with what they go with; nothing is written."""
    cases: dict[tuple[str, ...], str] = {
        ("stac", "--format", "csv", "-o", str(tmp_path / "x")): "--format goes with services, layers",
        ("originals",): "cannot go into a pipe",
        ("map", "--by", "service"): "--by service go with footprints and iso",
        ("iso", "--by", "host"): "not --by host with iso",
        ("map", "--mime", "text/html"): "--mime goes with pages",
        ("graph", "--by", "layer"): "--by layer goes with footprints and iso",
        ("map", "--state", "well"): "There is no state 'well' of services",
        ("map", "-o", str(tmp_path / "no/such/map.html")): "cannot be written",
    }
    for words, complaint in cases.items():
        assert export(atlas, *words) == 2
        assert complaint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_empty_inventory(tmp_path: Path, geoworld: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A collection without services gives empty files, and says what to do."""
    from lycosa.frontier.sqlite import schema

    folder = tmp_path / "c"
    (folder / "archive").mkdir(parents=True)
    schema.create(folder / "crawl.db", mission_toml="", now=0.0)
    for kind, name in (
        ("map", "m.html"),
        ("footprints", "f.geojson"),
        ("stac", "s"),
        ("iso", "i"),
        ("services", "s.csv"),
    ):
        assert export(folder, kind, "-o", str(tmp_path / name)) == 0
        assert "has no description of a service" in capsys.readouterr().err


def test_names_of_languages() -> None:
    """However a service declares its language, records get the three letters that catalogues know."""
    assert [name_language(name) for name in ("eng", "en-GB", "ES_es", "deu", "ger", " spa ", "xx", "")] == [
        "en", "en", "es", "de", "de", "es", "", "",
    ]  # fmt: skip
    assert [write_language(code) for code in ("de", "es", "xx", "")] == ["ger", "spa", "", ""]
