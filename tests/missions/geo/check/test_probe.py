"""The small request for each kind of service, and what its answer may be."""

from __future__ import annotations

import json

import pytest

from lycosa.missions.geo.check.check_run import OUTCOMES, judge_description, judge_probe
from lycosa.missions.geo.check.probe import Probe, fill_search, find_tile, has_probe, make_probe, project
from lycosa.missions.geo.describe.describe import describe_service
from lycosa.parse import Doc, read
from lycosa.politeness.single_requests import Reply

OWS = 'xmlns:ows="http://www.opengis.net/ows/1.1" xmlns:xlink="http://www.w3.org/1999/xlink"'
WMS_OLD = """<WMT_MS_Capabilities version="1.1.1"><Service><Title>t</Title></Service><Capability><Request><GetMap>
  <Format>image/gif</Format><DCPType><HTTP><Get><OnlineResource xmlns:xlink="http://www.w3.org/1999/xlink"
  xlink:href="http://maps.example.org/cgi?map=a.map&amp;"/></Get></HTTP></DCPType></GetMap></Request>
  <Layer><Layer><Name>land use</Name><SRS>EPSG:25830</SRS><BoundingBox SRS="EPSG:25830" minx="0" miny="0" maxx="800"
  maxy="400"/></Layer></Layer></Capability></WMT_MS_Capabilities>"""
WCS = f"""<wcs:Capabilities version="2.0.1" xmlns:wcs="http://www.opengis.net/wcs/2.0" {OWS}><wcs:Contents>
  <wcs:CoverageSummary><wcs:CoverageId>dem</wcs:CoverageId></wcs:CoverageSummary></wcs:Contents></wcs:Capabilities>"""
WPS = f"""<wps:Capabilities version="1.0.0" service="WPS" xmlns:wps="http://www.opengis.net/wps/1.0.0" {OWS}>
  <wps:ProcessOfferings><wps:Process><ows:Identifier>buffer</ows:Identifier></wps:Process></wps:ProcessOfferings>
  </wps:Capabilities>"""
CSW = f"""<csw:Capabilities version="2.0.2" xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" {OWS}>
  <ows:OperationsMetadata><ows:Operation name="GetRecords"><ows:DCP><ows:HTTP><ows:Get
  xlink:href="http://internal.local/csw"/></ows:HTTP></ows:DCP></ows:Operation></ows:OperationsMetadata>
  </csw:Capabilities>"""
SOS = f"""<sos:Capabilities version="2.0.0" xmlns:sos="http://www.opengis.net/sos/2.0" {OWS}
  xmlns:swes="http://www.opengis.net/swes/2.0"><sos:contents><sos:Contents><swes:offering><sos:ObservationOffering>
  <swes:identifier>o1</swes:identifier><swes:procedure>http://e.org/p1</swes:procedure>
  <swes:procedureDescriptionFormat>http://f/1</swes:procedureDescriptionFormat></sos:ObservationOffering>
  </swes:offering></sos:Contents></sos:contents></sos:Capabilities>"""
WMTS = f"""<Capabilities version="1.0.0" xmlns="http://www.opengis.net/wmts/1.0" {OWS}><Contents><Layer>
  <ows:Identifier>base</ows:Identifier><Style isDefault="true"><ows:Identifier>day</ows:Identifier></Style>
  <Format>image/jpeg</Format><TileMatrixSetLink><TileMatrixSet>g</TileMatrixSet><TileMatrixSetLimits>
  <TileMatrixLimits><TileMatrix>7</TileMatrix><MinTileRow>10</MinTileRow><MaxTileRow>14</MaxTileRow>
  <MinTileCol>20</MinTileCol><MaxTileCol>22</MaxTileCol></TileMatrixLimits></TileMatrixSetLimits></TileMatrixSetLink>
  RESOURCE</Layer><TileMatrixSet><ows:Identifier>g</ows:Identifier><TileMatrix><ows:Identifier>0</ows:Identifier>
  <MatrixWidth>2</MatrixWidth><MatrixHeight>1</MatrixHeight></TileMatrix></TileMatrixSet></Contents></Capabilities>"""
RESOURCE = (
    '<ResourceURL resourceType="tile" format="image/png"'
    ' template="http://t.example.org/{Style}/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}.png"/>'
)
COLLECTIONS = json.dumps(
    {
        "links": [{"rel": "self", "href": "/api/collections"}],
        "collections": [
            {
                "id": "rivers",
                "extent": {},
                "links": [{"rel": "items", "href": "http://localhost:5000/collections/rivers/items"}],
            }
        ],
    }
)
MAPSERVER = json.dumps(
    {
        "currentVersion": 10.9,
        "mapName": "Layers",
        "layers": [{"id": 0, "name": "a"}],
        "fullExtent": {"xmin": 0, "ymin": 40, "xmax": 4, "ymax": 44, "spatialReference": {"wkid": 4326}},
    }
)
FEATURESERVER = json.dumps(
    {"currentVersion": 10.9, "serviceDescription": "x", "syncEnabled": False, "layers": [{"id": 3, "name": "a"}]}
)
TILEJSON = json.dumps(
    {"tilejson": "2.0.0", "tiles": ["http://t.example.org/{z}/{x}/{y}.png"], "minzoom": 4, "bounds": [0, 40, 4, 42]}
)
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:inspire_dls="http://inspire.ec.europa.eu/schemas/inspire_dls/1.0">
  <title>d</title><entry><title>a</title><inspire_dls:spatial_dataset_identifier_code>x
  </inspire_dls:spatial_dataset_identifier_code><link rel="alternate" href="a.gml" type="application/gml+xml"/></entry>
  </feed>"""


def document(text: str, url: str = "http://maps.example.org/cgi?map=a.map&service=X&request=GetCapabilities") -> Doc:
    kind = "application/json" if text.startswith("{") else "text/xml"
    return read(url, {"content-type": kind}, text.encode())


def probe_of(text: str, url: str = "") -> Probe | None:
    doc = document(text, url) if url else document(text)
    found = describe_service(doc)
    assert found is not None
    return make_probe(found, doc)


BASE = "http://maps.example.org/cgi?map=a.map&service="


LANDING = json.dumps(
    {"links": [{"rel": rel, "href": f"/api/{name}"} for rel, name in (("conformance", "c"), ("data", "collections"))]}
)


@pytest.mark.parametrize(
    ("text", "url", "asked"),
    [
        (
            WMS_OLD,
            "",
            (
                f"{BASE}WMS&version=1.1.1&request=GetMap&layers=land%20use&styles=&srs=EPSG:25830&bbox=200,100,600,300"
                "&width=64&height=64&format=image/gif"
            ),
        ),
        (WCS, "", f"{BASE}WCS&version=2.0.1&request=DescribeCoverage&coverageid=dem"),
        (WPS, "", f"{BASE}WPS&version=1.0.0&request=DescribeProcess&identifier=buffer"),
        (
            CSW,
            "",
            (
                f"{BASE}CSW&version=2.0.2&request=GetRecords&typenames=csw:Record&elementsetname=brief&resulttype=results"
                "&maxrecords=1&startposition=1&namespace=xmlns(csw%3Dhttp://www.opengis.net/cat/csw/2.0.2)"
            ),
        ),
        (
            SOS,
            "",
            (
                f"{BASE}SOS&version=2.0.0&request=DescribeSensor&procedure=http://e.org/p1"
                "&proceduredescriptionformat=http://f/1"
            ),
        ),
        (
            WMTS.replace("RESOURCE", ""),
            "",
            (
                f"{BASE}WMTS&version=1.0.0&request=GetTile&layer=base&style=day&format=image/jpeg&tilematrixset=g"
                "&tilematrix=7&tilerow=12&tilecol=21"
            ),
        ),
        (WMTS.replace("RESOURCE", RESOURCE), "", "http://t.example.org/day/g/7/12/21.png"),
        (
            COLLECTIONS,
            "http://maps.example.org/api/collections?f=json",
            "http://maps.example.org/api/collections/rivers/items?f=json&limit=1",
        ),
        (LANDING, "http://maps.example.org/api", "http://maps.example.org/api/collections?f=json"),
        (
            MAPSERVER,
            "http://maps.example.org/arcgis/rest/services/a/MapServer?f=json",
            (
                "http://maps.example.org/arcgis/rest/services/a/MapServer/export?bbox=1,41,3,43&bboxSR=4326&size=64,64"
                "&format=png&f=image"
            ),
        ),
        (
            FEATURESERVER,
            "http://maps.example.org/arcgis/rest/services/a/FeatureServer?f=json",
            (
                "http://maps.example.org/arcgis/rest/services/a/FeatureServer/3/query?where=1%3D1&returnGeometry=false"
                "&resultRecordCount=1&f=json"
            ),
        ),
        (TILEJSON, "http://maps.example.org/t.json", "http://t.example.org/4/8/5.png"),
        (ATOM, "http://maps.example.org/feeds/ds.xml", "http://maps.example.org/feeds/a.gml"),
    ],
)
def test_what_is_asked(text: str, url: str, asked: str) -> None:
    """Something small within what is offered, at the service's own address, not at one that only the server knows."""
    probe = probe_of(text, url)
    assert probe is not None and probe.url == asked


def test_what_servers_of_arcgis_are_asked() -> None:
    """A cache is asked for a tile, tools for one of them, a geocoder for nothing, and no more is expected of it."""
    root = "http://maps.example.org/arcgis/rest/services"
    lods = [{"level": n, "resolution": 156543.03392800014 / 2**n, "scale": 591657527.591555 / 2**n} for n in range(9)]
    origin = {"x": -20037508.342787, "y": 20037508.342787}
    cache = {
        **json.loads(MAPSERVER), "capabilities": "Map,TilesOnly,Tilemap", "spatialReference": {"wkid": 102100},
        "minScale": 1e8, "tileInfo": {"rows": 256, "cols": 256, "origin": origin, "lods": lods},
    }  # fmt: skip
    probe = probe_of(json.dumps(cache), f"{root}/a/MapServer?f=json")
    assert probe is not None and (probe.url, probe.expects) == (f"{root}/a/MapServer/tile/3/2/4", "tile")
    probe = probe_of(json.dumps({**cache, "tileInfo": None}), f"{root}/a/MapServer?f=json")
    assert probe is not None and probe.operation == "export"
    tools = {"currentVersion": 11.1, "serviceDescription": "x", "tasks": ["Buffer it"]}
    probe = probe_of(json.dumps(tools), f"{root}/b/GPServer?f=json")
    assert probe is not None and probe.url == f"{root}/b/GPServer/Buffer%20it?f=json"
    geocoder = json.dumps({"currentVersion": 11.1, "serviceDescription": "x", "addressFields": []})
    address = f"{root}/c/GeocodeServer?f=json"
    found = describe_service(document(geocoder, address))
    assert probe_of(geocoder, address) is None and found is not None and not has_probe(found.service)
    empty = describe_service(
        document(FEATURESERVER.replace('[{"id": 3, "name": "a"}]', "[]"), f"{root}/d/FeatureServer")
    )
    assert empty is not None and has_probe(empty.service)


def test_a_directory_lives_though_its_first_service_is_not_for_everybody() -> None:
    """What a child complains of is not said of the directory; that nothing is there is."""
    listed = '{"currentVersion": 10.9, "folders": [], "services": [{"name": "a", "type": "MapServer"}]}'
    probe = probe_of(listed, "http://maps.example.org/arcgis/rest/services?f=json")
    assert probe is not None
    secret = reply(b'{"error": {"code": 499, "message": "Token Required"}}', "application/json")
    assert judge_probe(secret, probe) == ("alive", "")
    assert judge_probe(reply(b"", status=404, reason="http-404"), probe).outcome == "capabilities only"


def test_a_service_that_offers_nothing_is_asked_nothing() -> None:
    """There is no layer to draw."""
    assert probe_of('<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms"/>') is None


def test_tiles_and_templates() -> None:
    """The tile in the middle of a box; a search for one word, if nothing else is needed."""
    assert find_tile(None, 0) == (0, 0)
    assert find_tile((0.0, 40.0, 4.0, 42.0), 4) == (8, 5)
    assert project(180.0, 0.0)[0] == pytest.approx(20037508.34, abs=0.01)
    assert fill_search("http://a.org/?q={searchTerms}&n={count?}&x={geo:box?}") == "http://a.org/?q=water&n=1&x="
    assert fill_search("http://a.org/?q={searchTerms}&id={eop:id}") == ""


def reply(body: bytes, kind: str = "text/xml", *, status: int = 200, reason: str = "") -> Reply:
    return Reply("http://a.org/ows", reason, status, {"content-type": kind}, body, 1.0, 0.1)


MAP = Probe("http://a.org/ows", "GetMap", "image")
FEATURE = Probe("http://a.org/ows", "GetFeature", "xml", ("FeatureCollection",))
ITEMS = Probe("http://a.org/ows", "items", "json")
REPORT = b"""<ows:ExceptionReport xmlns:ows="http://www.opengis.net/ows">
<ows:Exception exceptionCode="NoApplicableCode"/>
</ows:ExceptionReport>"""


@pytest.mark.parametrize(
    ("probe", "answer", "outcome", "reason"),
    [
        (MAP, reply(b"\x89PNG\r\n\x1a\n..", "image/png"), "alive", ""),
        (MAP, reply(b"\xff\xd8\xff..", "application/octet-stream"), "alive", ""),
        (MAP, reply(b"Unable to open file", "image/png"), "capabilities only", "GetMap: "),
        (MAP, reply(b"<html><body>no</body></html>", "text/html"), "capabilities only", "GetMap: text/html"),
        (MAP, reply(b"", "image/png"), "capabilities only", "GetMap: empty-answer"),
        (MAP, reply(REPORT), "exception", "NoApplicableCode"),
        (MAP, reply(REPORT, status=400, reason="http-400"), "exception", "NoApplicableCode"),
        (MAP, reply(b"", status=401, reason="http-401"), "refused", "http-401"),
        (MAP, reply(b"", status=0, reason="timeout"), "capabilities only", "GetMap: timeout"),
        (FEATURE, reply(b'<a:FeatureCollection xmlns:a="x"/>'), "alive", ""),
        (FEATURE, reply(b'{"type": "FeatureCollection", "features": []}', "application/json"), "alive", ""),
        (FEATURE, reply(b"<nonsense/>"), "capabilities only", "GetFeature: "),
        (ITEMS, reply(b'{"features": []}', "application/geo+json"), "alive", ""),
        (ITEMS, reply(b'{"code": "NotFound", "description": "no"}', "application/json"), "exception", "NotFound: no"),
        (ITEMS, reply(b'{"error": {"code": 499, "message": "Token Required"}}', "text/plain"), "refused", "499"),
    ],
)
def test_what_an_answer_means(probe: Probe, answer: Reply, outcome: str, reason: str) -> None:
    """A picture is known by its bytes, a report by its root, whatever the server announces."""
    verdict = judge_probe(answer, probe)
    assert verdict.outcome == outcome and verdict.outcome in OUTCOMES
    assert verdict.reason.startswith(reason) and bool(verdict.reason) == bool(reason)


def test_what_a_description_must_be() -> None:
    """Of the type that is known; another type is told, an error is kept apart from silence."""
    verdict, doc, found = judge_description(reply(WCS.encode()), "WCS")
    assert verdict == ("", "") and doc is not None and found is not None and found.service.items == 1
    assert judge_description(reply(WCS.encode()), "WMS")[0] == ("wrong type", "it is WCS now")
    assert judge_description(reply(REPORT), "WMS")[0] == ("exception", "NoApplicableCode")
    assert judge_description(reply(b"", status=503, reason="http-503"), "WMS")[0] == ("error", "http-503")
    assert judge_description(reply(b"", status=404, reason="http-404"), "WMS")[0] == ("dead", "http-404")
    assert judge_description(reply(b""), "WMS")[0] == ("wrong type", "empty-answer")
    assert judge_description(Reply("http://a.org/", "robots"), "WMS")[0] == ("forbidden", "robots")
    assert judge_description(Reply("http://a.org/", "robots-http-503"), "WMS")[0] == ("forbidden", "robots-http-503")
