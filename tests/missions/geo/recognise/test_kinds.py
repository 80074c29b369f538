"""Which service a document describes: by its content, whatever the server calls it."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.missions.geo.recognise.kinds import recognise
from lycosa.parse import read

WMS = '<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms"><Service><Title>T</Title></Service></WMS_Capabilities>'
INSPIRE = (
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:i="http://inspire.ec.europa.eu/schemas/inspire_dls/1.0">'
    "<title>Downloads</title><entry><title>Rivers</title>"
    "<i:spatial_dataset_identifier_code>r1</i:spatial_dataset_identifier_code></entry></feed>"
)


def kind_of(body: bytes | str, mime: str = "", url: str = "http://maps.example.org/ows") -> str | None:
    data = body.encode() if isinstance(body, str) else body
    return recognise(read(url, {"content-type": mime} if mime else {}, data))


def root(name: str, namespace: str, version: str = "", inner: str = "") -> str:
    stated = f' version="{version}"' if version else ""
    prefix, _, local = name.rpartition(":")
    declared = f"xmlns:{prefix}" if prefix else "xmlns"
    return f'<?xml version="1.0"?>\n<{name}{stated} {declared}="{namespace}">{inner}</{name}>'


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        (WMS, "ogc:wms/1.3.0"),
        ('<WMT_MS_Capabilities version="1.1.1"><Service/></WMT_MS_Capabilities>', "ogc:wms/1.1.1"),
        (root("wfs:WFS_Capabilities", "http://www.opengis.net/wfs/2.0", "2.0.0"), "ogc:wfs/2.0.0"),
        (root("WFS_Capabilities", "http://www.opengis.net/wfs", "1.0.0"), "ogc:wfs/1.0.0"),
        (root("WCS_Capabilities", "http://www.opengis.net/wcs", "1.0.0"), "ogc:wcs/1.0.0"),
        (root("wcs:Capabilities", "http://www.opengis.net/wcs/2.0", "2.0.1"), "ogc:wcs/2.0.1"),
        (root("Capabilities", "http://www.opengis.net/wmts/1.0", "1.0.0"), "ogc:wmts/1.0.0"),
        (root("wps:Capabilities", "http://www.opengis.net/wps/1.0.0", "1.0.0"), "ogc:wps/1.0.0"),
        (root("wps:Capabilities", "http://www.opengeospatial.net/wps", "0.4.0"), "ogc:wps/0.4.0"),
        (root("csw:Capabilities", "http://www.opengis.net/cat/csw/2.0.2", "2.0.2"), "ogc:csw/2.0.2"),
        (root("sos:Capabilities", "http://www.opengis.net/sos/2.0", "2.0.0"), "ogc:sos/2.0.0"),
        (root("wcts:Capabilities", "http://www.opengis.net/wcts/0.0", "0.4.0"), "ogc:wcts/0.4.0"),
        (root("Capabilities", "http://www.opengis.net/wmts/1.0"), "ogc:wmts"),
        (INSPIRE, "atom-download"),
        ('<TileMapService version="1.0.0"><Title>T</Title></TileMapService>', "tms/1.0.0"),
        (
            root(
                "OpenSearchDescription", "http://a9.com/-/spec/opensearch/1.1/", inner='<Url template="?b={geo:box}"/>'
            ),
            "opensearch/1.1",
        ),
    ],
)
def test_services_in_xml(document: str, kind: str) -> None:
    """The root element and its namespace tell the service, its attribute the version."""
    assert kind_of(document) == kind


def test_service_type_where_the_namespace_is_wrong() -> None:
    """Capabilities in a namespace of nobody are what they call themselves, with the version they state inside."""
    inner = (
        "<ServiceIdentification><ServiceType>OGC:WPS</ServiceType><ServiceTypeVersion>1.0.0</ServiceTypeVersion>"
        "</ServiceIdentification>"
    )
    assert kind_of(root("Capabilities", "http://example.org/ours", inner=inner)) == "ogc:wps/1.0.0"
    assert kind_of(root("Capabilities", "http://example.org/ours", "3.1", inner="<Engine>diesel</Engine>")) is None


def test_soap_envelope() -> None:
    """Capabilities in a SOAP envelope are capabilities."""
    for namespace in ("http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope"):
        body = f'<s:Envelope xmlns:s="{namespace}"><s:Header/><s:Body>{WMS}</s:Body></s:Envelope>'
        assert kind_of(body) == "ogc:wms/1.3.0"
    assert kind_of('<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body/></s:Envelope>') is None


@pytest.mark.parametrize("mime", ["", "text/html", "text/plain", "image/png", "application/octet-stream", "text/css"])
def test_whatever_the_server_calls_it(mime: str) -> None:
    """Wrong media types, byte-order marks, other encodings, junk before and a cut behind do not matter."""
    declared = '<?xml version="1.0" encoding="ISO-8859-1"?>' + WMS
    doctype = '<!DOCTYPE WMT_MS_Capabilities SYSTEM "http://x.org/w.dtd" [<!ELEMENT V EMPTY>]>'
    doctype += '<WMT_MS_Capabilities version="1.1.0"/>'
    assert kind_of(WMS, mime) == "ogc:wms/1.3.0"
    assert kind_of(declared.encode("latin-1"), mime) == "ogc:wms/1.3.0"
    assert kind_of(b"\xef\xbb\xbf" + WMS.encode(), mime) == "ogc:wms/1.3.0"
    assert kind_of(b"\r\n \xef\xbb\xbf<?xml version='1.0'?>" + WMS.encode(), mime) == "ogc:wms/1.3.0"
    assert kind_of("\ufeff" + WMS.replace("T<", "Ñ<"), mime) == "ogc:wms/1.3.0"
    assert kind_of(("\ufeff<?xml version='1.0' encoding='utf-16'?>" + WMS).encode("utf-16-le"), mime) == "ogc:wms/1.3.0"
    assert kind_of(doctype, mime) == "ogc:wms/1.1.0"
    assert kind_of("<?xml version='1.0'?>" + WMS[: WMS.index("<Title>") + 8], mime) == "ogc:wms/1.3.0"
    assert kind_of("Content-Type: text/xml\n\n<?xml version='1.0'?>" + WMS, mime) == "ogc:wms/1.3.0"
    assert kind_of(gzip.compress(WMS.encode()), mime) == "ogc:wms/1.3.0"
    warning = "<br />\n<b>Warning</b>: include() in <b>/srv/wms.php</b> on line <b>3</b><br />\n"
    assert kind_of(f"{warning}<?xml version='1.0'?>{WMS}\n", mime or "text/html") == "ogc:wms/1.3.0"
    assert kind_of(f"Notice: undefined\n<?xml version='1.0'?>{WMS}\n", "text/plain") == "ogc:wms/1.3.0"


def test_very_large_capabilities() -> None:
    """Of a large document only the beginning is looked at."""
    layers = "<Layer><Name>a</Name></Layer>" * 300_000
    assert kind_of(WMS.replace("</WMS_Cap", f"{layers}</WMS_Cap")) == "ogc:wms/1.3.0"


@pytest.mark.parametrize(
    "document",
    [
        '<ServiceExceptionReport version="1.3.0"><ServiceException>no</ServiceException></ServiceExceptionReport>',
        root("ows:ExceptionReport", "http://www.opengis.net/ows/1.1", "1.1.0"),
        root("wfs:FeatureCollection", "http://www.opengis.net/wfs/2.0"),
        root("GetCapabilities", "http://www.opengis.net/wms"),
        root("kml", "http://www.opengis.net/kml/2.2"),
        root("gmd:MD_Metadata", "http://www.isotc211.org/2005/gmd"),
        root("csw:GetRecordsResponse", "http://www.opengis.net/cat/csw/2.0.2", "2.0.2"),
        root("StyledLayerDescriptor", "http://www.opengis.net/sld", "1.0.0"),
        root("schema", "http://www.w3.org/2001/XMLSchema", inner='<element name="WMS_Capabilities"/>'),
        "<?xml version='1.0'?><!-- <WMS_Capabilities version='1.3.0'> --><report>WFS_Capabilities</report>",
        root(
            "OpenSearchDescription", "http://a9.com/-/spec/opensearch/1.1/", inner='<Url template="?q={searchTerms}"/>'
        ),
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>Blog</title><entry><id>inspire_dls</id></entry></feed>',
        "<html><title>WMS_Capabilities</title><body>&lt;WMS_Capabilities version='1.3.0'&gt;</body></html>",
        "<rss version='2.0'><channel><title>WMS</title></channel></rss>",
        "WMS_Capabilities version 1.3.0",
        "see <WMS_Capabilities version='1.3.0'> in the answer",
        f"<html><body><xmp><?xml version='1.0'?>{WMS}",
        f"<p>An answer:</p><?xml version='1.0'?>{WMS}<p>And more.</p>",
        "",
    ],
)
def test_what_is_no_service(document: str) -> None:
    """Complaints, answers to other requests, data, records, schemas, news and writings about services are none."""
    assert kind_of(document) is None


def test_feeds_of_data_sets() -> None:
    """A feed whose entries are files in a reference system is a download, a context document is not."""
    entry = (
        '<entry><title>GML</title><link href="http://x.org/a.gml" type="application/gml+xml"/>'
        '<category term="http://www.opengis.net/def/crs/EPSG/0/25830"/></entry>'
    )
    feed = '<feed xmlns="http://www.w3.org/2005/Atom"{}><title>T</title>{}</feed>'
    assert kind_of(feed.format("", entry)) == "atom-download/dataset"
    assert kind_of(feed.format(' xmlns:owc="http://www.opengis.net/owc/1.0"', entry)) is None


def test_a_spatial_feed_needs_no_elements_of_inspire() -> None:
    """Entries with an area and files of data are downloads; news with a place, and pictures of an area, are none."""
    feed = (
        '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:georss="http://www.georss.org/georss"><title>T</title>'
        '<entry><title>Parcels</title><link href="a" type="{}"/><georss:{}>41 2 42 3</georss:{}></entry></feed>'
    )
    for shape in ("polygon", "box", "where"):
        assert kind_of(feed.format("application/gml+xml", shape, shape)) == "atom-download"
    assert kind_of(feed.format("application/zip", "point", "point")) is None
    assert kind_of(feed.format("image/jpeg", "box", "box")) is None


LINKS = [{"rel": rel, "href": "http://x.org/a"} for rel in ("self", "conformance", "data", "service-desc")]
COLLECTION = {"id": "rivers", "extent": {"spatial": {"bbox": [[0, 1, 2, 3]]}}, "links": [{"rel": "items", "href": "i"}]}


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ({"title": "T", "links": LINKS}, "ogcapi:landing"),
        ({"collections": [COLLECTION], "links": LINKS[:1]}, "ogcapi:collections"),
        (COLLECTION, "ogcapi:collection"),
        ({"conformsTo": ["http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core"]}, "ogcapi:conformance"),
        ({"processes": [{"id": "buffer", "links": []}], "links": []}, "ogcapi:processes"),
        ({"collections": [{"id": "rivers", "extent": {"spatial": {}}}]}, "ogcapi:collections"),
        ({"collections": [{"name": "rivers", "links": []}], "numberMatched": 1}, "ogcapi:collections"),
        ({"collections": [{"id": "rivers", "itemType": "feature", "title": "Rivers"}]}, "ogcapi:collections"),
        ({"conformsTo": ["https://maps.example.org/spec/own-1/1.0/conf/core", "urn:x:conf:a"]}, "ogcapi:conformance"),
        ({"tileMatrixSets": [{"id": "WebMercatorQuad", "links": []}]}, "ogcapi:tilematrixsets"),
        ({"tileMatrixSets": [{"id": "WGS1984Quad", "crs": "http://x/4326"}], "links": []}, "ogcapi:tilematrixsets"),
        ({"tilesets": [{"dataType": "map", "links": [], "crs": "http://x/3857"}]}, "ogcapi:tilesets"),
        ({"stac_version": "1.0.0", "type": "Catalog", "id": "c", "links": []}, "stac:catalog/1.0.0"),
        ({"stac_version": "0.9.0", "id": "c", "extent": {}, "links": []}, "stac:collection/0.9.0"),
        ({"currentVersion": 10.91, "folders": ["a"], "services": []}, "arcgis:directory/10.91"),
        ({"folders": [], "services": [{"name": "A", "type": "MapServer"}]}, "arcgis:directory"),
        ({"currentVersion": 10.9, "serviceDescription": "", "tasks": ["Buffer"]}, "arcgis:service/10.9"),
        ({"currentVersion": 10.9, "tiles": ["tile/{z}/{y}/{x}.pbf"]}, "arcgis:vectortileserver/10.9"),
        ({"currentVersion": 11, "mapName": "Layers", "layers": [], "serviceDescription": ""}, "arcgis:mapserver/11"),
        (
            {"currentVersion": 10.9, "serviceDescription": "", "layers": [], "syncEnabled": False},
            "arcgis:featureserver/10.9",
        ),
        ({"currentVersion": 10.9, "serviceDescription": "", "pixelType": "U8"}, "arcgis:imageserver/10.9"),
        ({"id": 0, "type": "Feature Layer", "geometryType": "esriGeometryPoint"}, "arcgis:layer"),
        ({"tilejson": "2.2.0", "tiles": ["http://x.org/{z}/{x}/{y}"]}, "tilejson/2.2.0"),
        ({"value": [{"name": n, "url": "u"} for n in ("Things", "Datastreams", "Sensors")]}, "ogc:sta"),
    ],
)
def test_services_in_json(found: object, kind: str) -> None:
    """The keys of an object tell what it describes, whatever the server calls it."""
    for mime in ("application/json", "text/html", "image/png", ""):
        assert kind_of(json.dumps(found), mime) == kind
    assert kind_of(b"\xef\xbb\xbf" + json.dumps(found).encode(), "application/json") == kind


@pytest.mark.parametrize(
    "found",
    [
        {"type": "FeatureCollection", "features": [], "links": LINKS},
        {"type": "Feature", "stac_version": "1.0.0", "id": "i", "geometry": None, "properties": {}},
        {"openapi": "3.0.0", "paths": {}},
        {"conformsTo": ["http://www.opengis.net/spec/json-fg-1/0.3/conf/core"], "type": "MultiCurve", "geometries": []},
        {"version": 8, "layers": [], "sources": {}},
        {"features": [], "geometryType": "esriGeometryPoint", "fields": []},
        {"error": {"code": 499, "message": "Token Required"}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"tilejson": {}}},
        {"collections": ["shoes", "hats"]},
        {"collections": [{"id": 1, "title": "Shoes"}]},
        {"conformsTo": ["https://project-open-data.cio.gov/v1.1/schema"]},
        {"tilesets": [{"name": "dungeon", "image": "a.png"}]},
        {"tileMatrixSets": ["a"]},
        {"folders": ["a"], "services": ["b"]},
        {"tilejson": {"a": 1}},
        {"links": [1, "x", {"rel": 5}], "id": [], "extent": 7},
        [],
    ],
)
def test_json_that_is_no_service(found: object) -> None:
    """Data, items, schemas, styles, errors and shops are none."""
    assert kind_of(json.dumps(found), "application/json") is None


def test_a_list_of_classes_is_known_by_its_address_too() -> None:
    """Vendors name classes as they like."""
    listed = b'{"conformsTo": ["https://maps.example.org/classes/core"]}'
    typed = {"content-type": "application/json"}
    assert recognise(read("https://maps.example.org/api/conformance?f=json", typed, listed)) == "ogcapi:conformance"
    assert recognise(read("https://maps.example.org/api/data", typed, listed)) is None


def test_pages_of_a_rest_directory() -> None:
    """ArcGIS describes itself in HTML too; a page that only looks like it does not count."""
    body = (
        '<html><head><title>Folder: /</title></head><body><a href="/arcgis/rest/services">Home</a>'
        "<b>Current Version:</b> 10.91</body></html>"
    )
    assert kind_of(body) == "arcgis:directory/10.91"
    server = "http://x.org/arcgis/rest/services/A/MapServer"
    assert kind_of(body.replace("Folder: /", "A (MapServer)"), url=server) == "arcgis:mapserver/10.91"
    assert kind_of("<html><title>Folder: photos</title><body>Current Version: 2</body></html>") is None


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=300) | st.text(max_size=200).map(str.encode),
    st.sampled_from(["", "text/xml", "application/json"]),
)
def test_content_never_raises(body: bytes, mime: str) -> None:
    """Whatever comes, there is an answer."""
    for prefix in (b"", b"<WMS_Capabilities ", b'{"links":', b"\x1f\x8b\x08"):
        kind_of(prefix + body, mime)
