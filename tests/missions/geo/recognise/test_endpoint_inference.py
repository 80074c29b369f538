"""Addresses of services, inferred from one address."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.missions.geo.recognise.endpoint_inference import (
    description_url,
    find_endpoint,
    infer,
    is_reserved,
    name_service,
    strip_request,
)


def told(url: str) -> list[tuple[str, str]]:
    return [(hint.service, hint.endpoint) for hint in infer(url)]


@pytest.mark.parametrize(
    ("url", "service", "endpoint"),
    [
        ("http://x.org/wms", "WMS", "http://x.org/wms"),
        ("http://x.org/geo/WFS?", "WFS", "http://x.org/geo/WFS"),
        ("http://x.org/inspire_wms/lu?", "WMS", "http://x.org/inspire_wms/lu"),
        ("http://x.org/ows?SERVICE=wcs&request=getCapabilities", "WCS", "http://x.org/ows"),
        ("http://x.org/cgi?REQUEST=GetMap&Layers=a&map=/m.map&BBOX=1,2,3,4", "WMS", "http://x.org/cgi?map=/m.map"),
        ("http://x.org/s?request=GetFeature&typeName=a&key=7", "WFS", "http://x.org/s?key=7"),
        ("http://x.org/s?request=GetTile&layer=a&TileMatrix=1&Service=WMTS", "WMTS", "http://x.org/s"),
        ("http://x.org/s?service=WMS&service=WFS&request=GetFeature&Version=1&version=2", "WFS", "http://x.org/s"),
        ("http://x.org/s?id=4&service=CSW", "CSW", "http://x.org/s?id=4"),
        ("http://x.org/s?service=CSW&request=GetRecordById&id=4", "CSW", "http://x.org/s"),
        ("http://x.org/wms;jsessionid=1?jsessionid=2&a=b", "WMS", "http://x.org/wms;jsessionid=1?a=b"),
        ("http://x.org/cgi-bin/mapserv?map=/srv/a.map", "WMS", "http://x.org/cgi-bin/mapserv?map=/srv/a.map"),
        (
            "http://x.org/cgi-bin/mapserv.exe?mode=map&map=d:/b.map&layers=x&mapext=1+2+3+4&key=7",
            "WMS",
            "http://x.org/cgi-bin/mapserv.exe?map=d:/b.map&key=7",
        ),
        ("http://x.org/geoserver/wms/reflect?layers=a", "WMS", "http://x.org/geoserver/wms"),
        ("http://x.org/geoserver/web/", "WMS", "http://x.org/geoserver/ows"),
        ("http://x.org/geonetwork/srv/spa/catalog.search", "CSW", "http://x.org/geonetwork/srv/eng/csw"),
        ("http://x.org/wmts/1.0.0/a/default/g/3/2/1.png", "WMTS", "http://x.org/wmts/1.0.0/WMTSCapabilities.xml"),
        ("http://x.org/wmts/1.0.0/a/{Style}/{z}/{y}/{x}.png", "WMTS", "http://x.org/wmts/1.0.0/WMTSCapabilities.xml"),
        ("http://x.org/tms/1.0.0/a/{z}/{x}/{y}.png", "TMS", "http://x.org/tms/1.0.0"),
        ("http://x.org/wms?service=WMS&request=GetMap&bbox={bbox-epsg-3857}&k={key}", "WMS", "http://x.org/wms"),
        (
            "http://x.org/a/rest/services/F/R/MapServer/0/query?f=json",
            "ESRI-REST",
            "http://x.org/a/rest/services/F/R/MapServer",
        ),
        (
            "http://x.org/a/rest/services/R/MapServer/tile/{z}/{y}/{x}",
            "ESRI-REST",
            "http://x.org/a/rest/services/R/MapServer",
        ),
        (
            "http://x.org/a/rest/services/Trees/OGCFeatureServer/collections/0",
            "OGCAPI",
            "http://x.org/a/rest/services/Trees/OGCFeatureServer",
        ),
        (
            "http://x.org/a/rest/services/F/Wires/KnowledgeGraphServer/x",
            "ESRI-REST",
            "http://x.org/a/rest/services/F/Wires/KnowledgeGraphServer",
        ),
        ("http://x.org/a/rest/services/OurServer", "ESRI-REST", "http://x.org/a/rest/services/OurServer"),
        ("http://x.org/a/rest/services/F?f=html", "ESRI-REST", "http://x.org/a/rest/services/F"),
        ("http://x.org/a/services/R/MapServer/WFSServer", "WFS", "http://x.org/a/services/R/MapServer/WFSServer"),
        ("http://x.org/api/collections/rivers/items?f=json&limit=1", "OGCAPI", "http://x.org/api"),
        ("http://x.org/ogcapi/", "OGCAPI", "http://x.org/ogcapi/"),
        ("http://x.org/stac/v1", "STAC", "http://x.org/stac/v1"),
        ("http://x.org/v?url=http%3A%2F%2Fy.org%2Fwfs%3Fkey%3D1&z=3", "WFS", "http://y.org/wfs?key=1"),
        ("http://x.org/proxy?http://y.org/wms?service=WMS&request=GetMap", "WMS", "http://y.org/wms"),
        (
            "http://x.org/q.fcgi?MAP=/a.qgs&SERVICE=WMS&REQUEST=GetPrint&TEMPLATE=A4&map0:EXTENT=1,2&map0:LAYERS=a",
            "WMS",
            "http://x.org/q.fcgi?MAP=/a.qgs",
        ),
        ("http://x.org/s?request=GetMap&sld_version=1.1.0&_t=7&dim_run=2&key=7", "WMS", "http://x.org/s?key=7"),
        ("http://x.org/s?request=GetMap&layers=a&v=1699999999999&id=1699999999", "WMS", "http://x.org/s?id=1699999999"),
        ("http://x.org/wms?map=a&layers=b&styles=&bbox=1,2,3,4", "WMS", "http://x.org/wms?map=a"),
        ("http://x.org/q?MAP=/a.qgs?request=DescribeFeatureType&service=WFS", "WFS", "http://x.org/q?MAP=/a.qgs"),
        (
            "http://x.org/geoserver/gwc/service/wmts/rest/a:b/raster/EPSG:900913/EPSG:900913:5/12/17?format=image/png",
            "WMTS",
            "http://x.org/geoserver/gwc/service/wmts",
        ),
        ("http://x.org/geoserver/gwc/service/tms/1.0.0/a:b", "TMS", "http://x.org/geoserver/gwc/service/tms/1.0.0"),
        ("http://x.org/wmts/a/g/5/12/17", "WMTS", "http://x.org/wmts/1.0.0/WMTSCapabilities.xml"),
        ("http://x.org/wms/GetMap?layers=a", "WMS", "http://x.org/wms"),
        ("http://x.org/wms/GetMaps-of-1900", "WMS", "http://x.org/wms/GetMaps-of-1900"),
        ("http://x.org/a/services/R/MapServer/WmsServer?", "WMS", "http://x.org/a/services/R/MapServer/WMSServer"),
        ("http://wms.x.org", "WMS", "http://wms.x.org/"),
        ("https://inspire-wfs2.x.org/?map=a", "WFS", "https://inspire-wfs2.x.org/?map=a"),
    ],
)
def test_what_an_address_tells(url: str, service: str, endpoint: str) -> None:
    """Requests, endpoints, tiles and pages of servers lead to one endpoint, vendor parameters kept."""
    assert told(url) == [(service, endpoint)]


@pytest.mark.parametrize(
    "url",
    [
        "http://www.opengis.net/wms",
        "http://schemas.opengis.net/wms/1.3.0/capabilities_1_3_0.xsd",
        "https://www.w3.org/TR/wms",
        "https://epsg.io/4326?service=WMS",
        "https://en.wikipedia.org/wiki/WMS",
        "http://x.org/docs/wms",
        "http://docs.x.org/en/wms",
        "http://x.org/about-wms.html",
        "http://x.org/tag/wfs",
        "http://x.org/swms/index",
        "http://x.org/sos-children/help-us",
        "http://x.org/recursos/sos-racismo",
        "https://shop.org/collections/shoes",
        "https://x.org/login?service=https%3A%2F%2Fx.org%2F",
        "https://a.tile.org/{z}/{x}/{y}.png",
        "https://{host}/wms",
        "http://x.org/data/rivers.gml",
        "ftp://x.org/wms",
        "http://x.org/",
        "http://wms.org/",
        "http://wms.x.org/products",
        "wms",
        "",
    ],
)
def test_what_tells_nothing(url: str) -> None:
    """Namespaces, schemas, documentation, data, templates and words that only look alike are never proposed."""
    assert told(url) == []


def test_a_picture_of_a_rest_service_has_a_twin() -> None:
    """What ArcGIS exports as pictures may be a WMS too: a guess of little trust."""
    rest, twin = infer("http://x.org/arcgis/rest/services/A/B/MapServer/export?bbox=1,2,3,4&f=image")
    assert (rest.service, rest.url) == ("ESRI-REST", "http://x.org/arcgis/rest/services/A/B/MapServer?f=json")
    assert twin.endpoint == "http://x.org/arcgis/services/A/B/MapServer/WMSServer"
    assert twin.trust < rest.trust


def test_every_hint_says_why() -> None:
    """A hint names its rule, and the request that will show whether it holds."""
    (hint,) = infer("http://x.org/wms?map=a&request=GetMap&layers=b")
    assert hint.rule == "getmap request"
    assert hint.url == "http://x.org/wms?map=a&service=WMS&request=GetCapabilities"
    assert description_url("http://x.org/wms", "WMS", beside=True) != description_url("http://x.org/wms", "WMS")


def test_broken_escapes_are_mended() -> None:
    """Ampersands that pages escape wrongly separate parameters all the same."""
    assert told("http://x.org/wms?map=x&amp;amp;service=WMS&amp;request=GetMap") == [("WMS", "http://x.org/wms?map=x")]
    assert told("http://x.org/wms?SERVICE=WMS%26REQUEST=GetCapabilities") == [("WMS", "http://x.org/wms")]


def test_endpoints() -> None:
    """The endpoint of a description is its address without the request."""
    assert (
        strip_request("http://x.org/ows?Map=a&SERVICE=WMS&REQUEST=GetCapabilities&layers=b") == "http://x.org/ows?Map=a"
    )
    assert strip_request("http://x.org/ows?layers=b") == "http://x.org/ows?layers=b"
    assert (
        find_endpoint("http://x.org/a/rest/services/R/MapServer/3?f=json", "ARCGIS")
        == "http://x.org/a/rest/services/R/MapServer"
    )
    assert find_endpoint("http://x.org/api/collections?f=json", "OGCAPI") == "http://x.org/api"
    assert find_endpoint("http://x.org/api?f=json", "OGCAPI") == "http://x.org/api"
    assert find_endpoint("http://x.org/api/tileMatrixSets", "OGCAPI") == "http://x.org/api"
    assert find_endpoint("http://x.org/api/map/tiles", "OGCAPI") == "http://x.org/api"
    assert find_endpoint("http://x.org/api/collections/a/tiles?f=json", "OGCAPI") == "http://x.org/api"
    assert told("http://x.org/t/tileMatrixSets/WebMercatorQuad") == [("OGCAPI", "http://x.org/t")]


def test_what_tells_services_of_one_program_apart() -> None:
    """Feeds and descriptions of tiles keep their query, without format, page and session; records drop id."""
    feed = "http://x.org/feed.php?id=11&type=SERVICE"
    assert find_endpoint(feed, "ATOM") == feed
    assert find_endpoint("http://x.org/feed.php?f=atom&id=11&PHPSESSID=5&type=SERVICE&page=2", "ATOM") == feed
    tiles = "http://x.org/tilejson.json?url=https%3A%2F%2Fy.org%2Fa.tif"
    assert find_endpoint(tiles, "TILEJSON") == tiles
    assert (
        find_endpoint("http://x.org/s.xml?parentIdentifier=A", "OPENSEARCH") == "http://x.org/s.xml?parentIdentifier=A"
    )
    assert find_endpoint("http://x.org/feed.xml?format=atom", "ATOM") == "http://x.org/feed.xml"
    assert strip_request("http://x.org/wms.php?id=1&service=WMS&request=GetCapabilities") == "http://x.org/wms.php?id=1"
    assert strip_request("http://x.org/csw?service=CSW&request=GetRecordById&id=4") == "http://x.org/csw"
    stored = "http://x.org/wfs?request=GetFeature&storedQuery_id=urn:ogc:def:query:OGC-WFS::GetFeatureById&id=4"
    assert strip_request(stored) == "http://x.org/wfs"


def test_names_of_services() -> None:
    """Protocols and types of configurations are spelled in many ways."""
    spelled = {
        "OGC:WMS-1.3.0-http-get-map": "WMS",
        "urn:x-esri:specification:ServiceType:ArcGIS": "ESRI-REST",
        "WebMapServiceImageryProvider": "WMS",
        "OGC Web Feature Service": "WFS",
        "INSPIRE Atom": "ATOM",
        "WWW:LINK-1.0-http--link": "",
        "": "",
    }
    assert {text: name_service(text) for text in spelled} == spelled


def test_reserved_hosts() -> None:
    """Hosts of standards are reserved with all below them; those of software only themselves."""
    assert is_reserved("schemas.opengis.net")
    assert is_reserved("mapserver.org")
    assert not is_reserved("demo.mapserver.org")
    assert not is_reserved("notopengis.net")


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=80), st.sampled_from(["", "http://x.org/", "http://x.org/wms?", "http://x.org/a/rest/services/"])
)
def test_no_address_raises(text: str, prefix: str) -> None:
    """Any string may be asked, and what is proposed can be asked again with the same result."""
    for hint in infer(prefix + text):
        assert hint.url.startswith("http")
        assert hint.rule
    strip_request(prefix + text)
