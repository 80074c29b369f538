"""What services tell of single items in documents of their own: it completes the inventory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.loopback import Reply, Web, html

from lycosa import Collection
from lycosa.missions.geo.describe.describe import read_details
from lycosa.missions.geo.inventory.inventory import ServiceInventory
from lycosa.missions.geo.recognise.service_hints import find_hints
from lycosa.parse import read

WCS = """<wcs:Capabilities xmlns:wcs="http://www.opengis.net/wcs/2.0" xmlns:ows="http://www.opengis.net/ows/2.0"
version="2.0.1"><ows:ServiceIdentification><ows:Title>Relief</ows:Title></ows:ServiceIdentification><wcs:Contents>
{}</wcs:Contents></wcs:Capabilities>"""
SUMMARY = "<wcs:CoverageSummary><wcs:CoverageId>{}</wcs:CoverageId></wcs:CoverageSummary>"
COVERAGE = """<wcs:CoverageDescription xmlns:wcs="http://www.opengis.net/wcs/2.0" xmlns:gml="http://www.opengis.net/gml/3.2"
gml:id="{0}"><gml:description>What lies below.</gml:description><gml:name>Title of {0}</gml:name><gml:boundedBy>
<gml:Envelope srsName="{1}" axisLabels="{2}" srsDimension="2"><gml:lowerCorner>{3}</gml:lowerCorner>
<gml:upperCorner>{4}</gml:upperCorner></gml:Envelope></gml:boundedBy><wcs:CoverageId>{0}</wcs:CoverageId>
</wcs:CoverageDescription>"""
DEGREES = "http://www.opengis.net/def/crs/EPSG/0/4326"
TMS = """<TileMapService version="1.0.0"><Title>Tiles</Title><TileMaps>
<TileMap title="Base" srs="EPSG:3857" profile="global-mercator" href="http://tiles.test/tms/1.0.0/base"/>
</TileMaps></TileMapService>"""
TILE_MAP = """<TileMap version="1.0.0" tilemapservice="http://tiles.test/tms/1.0.0"><Title>Base map</Title>
<Abstract>Of a town.</Abstract><SRS>EPSG:3857</SRS>
<BoundingBox minx="0" miny="0" maxx="111319.49" maxy="111325.14"/></TileMap>"""


def xml(text: str) -> Reply:
    return Reply(text.encode(), headers={"Content-Type": "text/xml"})


def describe(*coverages: str) -> str:
    return f'<w:CoverageDescriptions xmlns:w="http://www.opengis.net/wcs/2.0">{"".join(coverages)}</w:CoverageDescriptions>'


def test_coverages_and_tile_maps_get_titles_and_boxes(crawl_geo: Callable[[Web, str], Collection]) -> None:
    """One request for all coverages, one for each tile map; none of them is a service."""
    web = Web()
    ask = "/wcs?service=WCS&request=GetCapabilities"
    web["relief.test/"] = html(f"http://relief.test{ask}", "http://tiles.test/tms/1.0.0/")
    web[f"relief.test{ask}"] = xml(WCS.format(SUMMARY.format("dem") + SUMMARY.format("slope")))
    web["relief.test/wcs?service=WCS&version=2.0.1&request=DescribeCoverage&coverageId=dem,slope"] = xml(
        describe(
            COVERAGE.format("dem", DEGREES, "Lat Long", "40 -4", "41 -3"),
            COVERAGE.format(
                "slope", "http://www.opengis.net/def/crs/EPSG/0/25830", "E N", "400000 4400000", "500000 4500000"
            ),
        )
    )
    web["tiles.test/tms/1.0.0/"] = xml(TMS)
    web["tiles.test/tms/1.0.0/base"] = xml(TILE_MAP)
    collection = crawl_geo(web, "http://relief.test/")
    with collection.snapshot():
        inventory = ServiceInventory(collection)
        assert sorted(entry.service.type for entry in inventory.entries if not entry.guess) == ["TMS", "WCS"]
        found = {layer.item.title: layer.item for layer in inventory.layers()}
        boxes = {entry.service.type: entry.service.box for entry in inventory.live}
    assert (
        found["Title of dem"].box == (-4.0, 40.0, -3.0, 41.0) and found["Title of dem"].abstract == "What lies below."
    )
    assert found["Title of slope"].box == pytest.approx((-4.18, 39.74, -3.0, 40.65), abs=0.01)
    assert found["Base"].box == pytest.approx((0, 0, 1, 1), abs=0.001) and found["Base"].abstract == "Of a town."
    assert boxes["WCS"] == pytest.approx((-4.18, 39.74, -3.0, 41.0), abs=0.01) and boxes["TMS"]
    web.close()


def test_the_requests_are_bounded() -> None:
    """Of a thousand coverages some are asked for, many at once; none where the description says all, or is older."""
    many = "".join(SUMMARY.format(f"coverage_{number:04}") for number in range(5_000))
    told = [hint.url for hint in find_hints(read("http://a.org/wcs?service=WCS", {}, WCS.format(many).encode()))]
    asked = [url for url in told if "DescribeCoverage" in url]
    assert len(asked) == 20 and max(map(len, asked)) < 2_000
    assert sum(url.count("coverage_") for url in asked) > 2_000


@pytest.mark.parametrize(
    ("labels", "lower", "upper", "box"),
    [
        ("Long Lat", "-4 40", "-3 41", (-4.0, 40.0, -3.0, 41.0)),
        ("ansi Lat Long", "700000 40 -4", "700001 41 -3", (-4.0, 40.0, -3.0, 41.0)),
        ("", "40 -4", "41 -3", (-4.0, 40.0, -3.0, 41.0)),
        ("Lat Long", "40 x", "41", None),
        ("Lat Long", "400 40", "410 41", None),
    ],
)
def test_axes_are_known_by_their_labels(labels: str, lower: str, upper: str, box: object) -> None:
    """Whatever their order, and beside time; what cannot be is no box."""
    text = describe(COVERAGE.format("dem", DEGREES, labels, lower, upper))
    (item,) = read_details(read("http://a.org/wcs", {}, text.encode()))
    assert item.box == box and item.name == "dem"
