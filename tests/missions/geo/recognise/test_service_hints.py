"""Services that a document leads to: mentioned in pages, scripts, records, complaints, capabilities and directories."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.missions.geo.quarry import Geo
from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint
from lycosa.missions.geo.recognise.service_hints import HOME, find_hints, links
from lycosa.parse import Doc, read

PAGE = "http://www.example.org/mapas/index.html"
ENDPOINT = "http://sig.example.org/mapas/suelos3.aspx"  # an address that tells nothing


def page(body: str, url: str = PAGE, head: str = "") -> list[ServiceHint]:
    return find_hints(
        read(
            url,
            {"content-type": "text/html; charset=utf-8"},
            f"<html><head>{head}</head><body>{body}</body></html>".encode(),
        )
    )


def proposed(hints: list[ServiceHint]) -> dict[str, str]:
    """Addresses and rules, but for the first page of the host, which every service leads to."""
    return {hint.url: hint.rule for hint in hints if hint.rule != HOME}


def caps(endpoint: str, service: str) -> str:
    return f"{endpoint}{'&' if '?' in endpoint else '?'}service={service}&request=GetCapabilities"


def xml(body: str, url: str = "http://example.org/record.xml") -> list[ServiceHint]:
    return find_hints(read(url, {"content-type": "application/xml"}, body.encode()))


def test_an_ordinary_page_tells_nothing() -> None:
    """Words, links and pictures of other pages are not taken for services."""
    body = (
        '<p>Windows shows the shadows of quesos y recursos.</p><a href="/services/">Services</a><img src="/wmark.png">'
    )
    assert page(body) == []
    assert page('<a href="https://www.ogc.org/standards/wms">WMS</a> <a href="/docs/wms">WMS</a>') == []


def test_bare_endpoint() -> None:
    """A link to an endpoint leads to its capabilities; a link to the capabilities is a link already."""
    assert proposed(page('<a href="http://a.org/geoserver/wfs">Rivers</a>')) == {
        caps("http://a.org/geoserver/wfs", "WFS"): "link: endpoint"
    }
    assert page('<a href="http://a.org/wms?request=GetCapabilities&amp;service=WMS">Rivers</a>') == []


def test_named_by_its_text() -> None:
    """Where the address tells nothing, the text of the link may."""
    assert proposed(page(f'<a href="{ENDPOINT}">WMS Soria</a>')) == {caps(ENDPOINT, "WMS"): "link: named by its text"}
    assert page('<a href="/acerca-de-wms.html">What is a WMS?</a>') == []
    assert page('<a href="/servicios/">WMS</a>') == []
    assert page(f'<a href="{ENDPOINT}">WMS and WFS</a>') == []


def test_shared_endpoint() -> None:
    """A link that only guesses is left to its own answer, unless its text says more."""
    assert page('<a href="/cgi-bin/mapserv?map=/a.map">Viewer</a>') == []
    found = proposed(page('<a href="/cgi-bin/mapserv?map=/a.map">WFS Soria</a>'))
    assert list(found) == [caps("http://www.example.org/cgi-bin/mapserv?map=/a.map", "WFS")]
    answer = page("mapserv(): Web application error. No map file.", url="http://a.org/cgi-bin/mapserv?map=/a.map")
    assert [hint.service for hint in answer] == ["WMS"]


def test_picture() -> None:
    """A GetMap picture betrays its server; vendor parameters stay."""
    body = '<img src="/cgi-bin/mapserv?map=/s/a.map&amp;SERVICE=WMS&amp;REQUEST=GetMap&amp;LAYERS=a&amp;BBOX=1,2,3,4">'
    assert proposed(page(body)) == {
        caps("http://www.example.org/cgi-bin/mapserv?map=/s/a.map", "WMS"): "picture: getmap request"
    }


def test_attributes() -> None:
    """An address to be copied from a field, one in an attribute that names the service, and one in a parameter."""
    (field,) = page(f'<td>WMS</td><td><input value="{ENDPOINT}"></td>')
    assert (field.url, field.rule) == (ENDPOINT, "value: an address among services")
    (named,) = page(f"<div data-wms-url='{ENDPOINT}'></div>")
    assert (named.url, named.service) == (caps(ENDPOINT, "WMS"), "WMS")
    (nested,) = page(f'<iframe src="http://v.example.org/viewer?wms={quote(ENDPOINT, safe="")}&layers=a"></iframe>')
    assert (nested.url, nested.rule) == (caps(ENDPOINT, "WMS"), "picture: wms= in a parameter")
    assert page('<input value="http://www.w3.org/x"><a data-url="http://a.org/help">WMS</a>') == []
    assert page('<p>WMS</p><iframe src="http://v.example.org/?wms=http://a.org/doc.pdf"></iframe>') == []


def test_plain_text() -> None:
    """Addresses in the text of a page are proposed: as what they tell, or to see what they are."""
    text = f"<p>WMS: <code>http://a.org/wms?service=WMS&amp;request=GetCapabilities</code>, and ({ENDPOINT}).</p>"
    assert proposed(page(text)) == {
        caps("http://a.org/wms", "WMS"): "text: capabilities request",
        ENDPOINT: "text: an address among services",
    }
    assert page(f"<p>Our shop: {ENDPOINT}</p>") == []
    assert page("<p>WMS: http://www.opengis.net/wms and http://a.org/page.html</p>") == []


@pytest.mark.parametrize("quote", ["&quot;", "&#34;", "&#x22;", "&apos;", "&gt;"])
def test_markup_that_a_page_shows(quote: str) -> None:
    """An address in markup that a page shows as text ends where its quote does, however that is written."""
    shown = f"WMS: &lt;Online href={quote}{ENDPOINT}{quote}/&gt;&lt;/Get&gt;"
    assert proposed(page(f"<pre>{shown}</pre>")) == {ENDPOINT: "text: an address among services"}


@pytest.mark.parametrize(
    ("script", "service", "endpoint"),
    [
        (f'map.addLayer(new OpenLayers.Layer.WMS("Soils", "{ENDPOINT}", {{layers: "a"}}));', "WMS", ENDPOINT),
        (f"L.tileLayer.wms('{ENDPOINT}?', {{layers: 'a', attribution: 'http://b.org/x'}}).addTo(map)", "WMS", ENDPOINT),
        (f"new ol.source.TileWMS({{ url: '{ENDPOINT}', params: {{LAYERS: 'a'}} }})", "WMS", ENDPOINT),
        (
            f"new ol.layer.Image({{source: new ol.source.ImageWMS({{params: {{}}, url: `{ENDPOINT}`}})}})",
            "WMS",
            ENDPOINT,
        ),
        (f'{{"catalog": [{{"type": "wms", "name": "S", "url": "{ENDPOINT}", "layers": "a"}}]}}', "WMS", ENDPOINT),
        (
            f'{{"services": [{{"url": "{ENDPOINT}", "title": "S", "type": "wfs"}}]}}'.replace("/", "\\/"),
            "WFS",
            ENDPOINT,
        ),
        (f"var wmsUrl = '{ENDPOINT}';", "WMS", ENDPOINT),
        (f"const layer = new WMSLayer({{ url: '{ENDPOINT}' }});", "WMS", ENDPOINT),
        (f"new Cesium.WebMapServiceImageryProvider({{ url : '{ENDPOINT}' }})", "WMS", ENDPOINT),
        (
            "var u = '/geoserver/ows?service=WFS&version=1.0.0&request=GetFeature&typeName=a';",
            "WFS",
            "http://www.example.org/geoserver/ows",
        ),
        (
            "source: {tiles: ['https://a.org/wms?bbox={bbox-epsg-3857}&service=WMS&request=GetMap']}",
            "WMS",
            "https://a.org/wms",
        ),
        (
            "L.tileLayer('https://{s}.a.org/wmts/1.0.0/o/{z}/{y}/{x}.png')",
            "WMTS",
            "https://a.a.org/wmts/1.0.0/WMTSCapabilities.xml",
        ),
    ],
)
def test_configuration_in_a_script(script: str, service: str, endpoint: str) -> None:
    """Maps are configured in scripts: what is named a service, in any library's way, has its address beside it."""
    found = page(f"<script>\nvar x;\n{script}\n</script>")
    assert [(hint.service, hint.endpoint) for hint in found] == [(service, endpoint)]
    assert found[0].rule.startswith("script: ")


def test_arcgis_in_a_script() -> None:
    """The layers of ArcGIS maps name their services by address."""
    body = "<script>new FeatureLayer({url: 'https://a.org/arcgis/rest/services/P/FeatureServer/0'})</script>"
    assert proposed(page(body)) == {"https://a.org/arcgis/rest/services/P/FeatureServer?f=json": "script: rest service"}


def test_script_files() -> None:
    """A script file is read like a script in a page, and pages with maps name theirs."""
    body = f"var overlays = [L.tileLayer.wms('{ENDPOINT}', {{}})];".encode()
    doc = read("http://a.org/map.js", {"content-type": "application/javascript"}, body)
    assert proposed(find_hints(doc)) == {caps(ENDPOINT, "WMS"): "script: WMS configuration"}
    files = '<script src="/lib/leaflet.js"></script><script src="js/layers.js?v=2"></script><script>// wms</script>'
    assert proposed(page(files)) == {"http://www.example.org/mapas/js/layers.js?v=2": "script of a map"}


def test_pages_in_other_encodings() -> None:
    """Addresses with letters of the page's language come out as the page means them."""
    body = "<script>L.tileLayer.wms('http://a.org/mapas/niños')</script>"
    for charset in ("utf-8", "iso-8859-1", "utf-16-le"):
        mark = "\ufeff" if charset == "utf-16-le" else ""
        doc = read(
            PAGE, {"content-type": f"text/html; charset={charset}"}, f"{mark}<html>{body}</html>".encode(charset)
        )
        assert [hint.endpoint for hint in find_hints(doc)] == ["http://a.org/mapas/ni%C3%B1os"]


def test_rest_directory() -> None:
    """A page of a directory lists extensions; its JSON lists folders, services, extensions and tiles."""
    url = "http://a.org/arcgis/rest/services/F/R/MapServer"
    found = proposed(page("<p>Supported Extensions: WMSServer, KmlServer</p>", url=url))
    assert found[caps("http://a.org/arcgis/services/F/R/MapServer/WMSServer", "WMS")] == "rest extension"
    directory = {"currentVersion": 10.9, "folders": ["F G"], "services": [{"name": "F/R", "type": "MapServer"}]}
    doc = read("http://a.org/arcgis/rest/services/F?f=json", {}, json.dumps(directory).encode())
    assert proposed(find_hints(doc)) == {
        "http://a.org/arcgis/rest/services/F%20G?f=json": "rest directory",
        "http://a.org/arcgis/rest/services/F/R/MapServer?f=json": "rest service",
    }
    service = {
        "currentVersion": 10.9,
        "mapName": "M",
        "layers": [],
        "serviceDescription": "",
        "singleFusedMapCache": True,
    }
    service["supportedExtensions"] = "KmlServer, WFSServer"
    doc = read(f"{url}?f=json", {}, json.dumps(service).encode())
    assert [hint.service for hint in find_hints(doc) if hint.rule != HOME] == ["WFS", "WMTS"]


def online(url: str, protocol: str) -> str:
    return f"""<gmd:onLine><gmd:CI_OnlineResource><gmd:linkage><gmd:URL>{url}</gmd:URL></gmd:linkage><gmd:protocol>
    <gco:CharacterString>{protocol}</gco:CharacterString></gmd:protocol></gmd:CI_OnlineResource></gmd:onLine>"""


ISO = '<gmd:MD_Metadata xmlns:gmd="http://www.isotc211.org/2005/gmd" xmlns:gco="http://www.isotc211.org/2005/gco">{}</gmd:MD_Metadata>'


def test_metadata_record() -> None:
    """A record names the protocol of each address; what is no service may still lead to one."""
    parts = [
        online(ENDPOINT, "OGC:WMS"),
        online("http://a.org/ows?service=WFS&amp;request=GetFeature&amp;typeName=a", "WWW:LINK"),
        online("http://a.org/feeds/7", "INSPIRE Atom"),
        online("http://a.org/portal", "WWW:LINK-1.0-http--link"),
        online("http://a.org/preview.png", "WWW:LINK"),
        online("http://www.opengis.net/def/x", "OGC:WMS"),
    ]
    found = proposed(xml(ISO.format("".join(parts))))
    assert found == {
        caps(ENDPOINT, "WMS"): "record",
        caps("http://a.org/ows", "WFS"): "record: getfeature request",
        "http://a.org/feeds/7": "record",
        "http://a.org/portal": "record: a link",
    }


RECORDS = """<csw:GetRecordsResponse xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" xmlns:dct="http://purl.org/dc/terms/"
 xmlns:dc="http://purl.org/dc/elements/1.1/">
    <csw:SearchResults nextRecord="{}" numberOfRecordsMatched="{}" numberOfRecordsReturned="100">
 <csw:Record><dct:references scheme="OGC:WCS">{}</dct:references><dc:URI protocol="OGC:WMS">http://b.org/m</dc:URI>
    </csw:Record>
 </csw:SearchResults></csw:GetRecordsResponse>"""


def test_catalogue() -> None:
    """A catalogue is asked for its records, each answer for the next ones, until it is through."""
    capabilities = '<csw:Capabilities version="2.0.2" xmlns:csw="http://www.opengis.net/cat/csw/2.0.2"/>'
    first, _ = xml(capabilities, caps("http://a.org/csw", "CSW"))
    assert first.rule == "records of a catalogue"
    assert "request=GetRecords" in first.url and first.url.endswith("startPosition=1")
    found = proposed(xml(RECORDS.format(101, 250, ENDPOINT), first.url))
    assert found[caps(ENDPOINT, "WCS")] == "record"
    assert found[caps("http://b.org/m", "WMS")] == "record"
    following = first.url.replace("startPosition=1", "startPosition=101")
    assert found[following] == "next records of a catalogue"
    for upcoming, matched in ((0, 250), (251, 250), (101, 100), (101, 250)):
        rules = {hint.rule for hint in xml(RECORDS.format(upcoming, matched, ENDPOINT), following)}
        assert "next records of a catalogue" not in rules
    silent = re.sub(r'nextRecord="\d+"', "", RECORDS.format(0, 250, ENDPOINT))
    following = re.sub("startPosition=1$", "startPosition=101", first.url)
    assert proposed(xml(silent, first.url))[following] == "next records of a catalogue"
    last = re.sub("startPosition=1$", "startPosition=250", first.url)
    assert "next records of a catalogue" not in proposed(xml(silent, last)).values()


def test_long_lists_are_followed_to_their_end() -> None:
    """Directories of thousands of services, and pages of records with many addresses each."""
    services = [{"name": f"S{n}", "type": "MapServer"} for n in range(3000)]
    body = json.dumps({"currentVersion": 11, "folders": [], "services": services}).encode()
    assert len(proposed(find_hints(read("http://a.org/arcgis/rest/services?f=json", {}, body)))) == 3000
    others = "".join(f"<dc:URI>http://a.org/page{n}</dc:URI>" for n in range(9))
    records = "".join(
        f'<csw:Record>{others.replace("page", f"{n}-")}<dc:URI protocol="OGC:WMS">http://b{n}.org/m</dc:URI></csw:Record>'
        for n in range(100)
    )
    start, _, rest = RECORDS.format(101, 250, ENDPOINT).partition("<csw:Record>")
    found = xml(f"{start}{records}</csw:SearchResults></csw:GetRecordsResponse>", "http://a.org/csw?startPosition=1")
    assert sum(hint.service == "WMS" for hint in found) == 100


def test_a_feed_of_downloads_leads_to_its_search() -> None:
    """INSPIRE's feeds name an OpenSearch description."""
    dls = "http://inspire.ec.europa.eu/schemas/inspire_dls/1.0"
    feed = f"""<feed xmlns="http://www.w3.org/2005/Atom" xmlns:d="{dls}"><link rel="self" href="f.xml"/>
        <link rel="search" type="application/opensearchdescription+xml" href="os.php?a=1&amp;b=2"/></feed>"""
    assert proposed(xml(feed, "http://a.org/f.xml")) == {"http://a.org/os.php?a=1&b=2": "search of a feed"}


def test_contexts() -> None:
    """Map contexts of three forms name services and where they are."""
    wmc = f"""<ViewContext xmlns="http://www.opengis.net/context" xmlns:xlink="http://www.w3.org/1999/xlink">
    <LayerList><Layer>
    <Server service="OGC:WMS" version="1.1.1"><OnlineResource xlink:href="{ENDPOINT}"/></Server></Layer>
    </LayerList></ViewContext>"""
    assert proposed(xml(wmc)) == {caps(ENDPOINT, "WMS"): "record"}
    owc = f"""<feed xmlns="http://www.w3.org/2005/Atom" xmlns:owc="http://www.opengis.net/owc/1.0"><title>T</title>
    <entry>
    <owc:offering code="http://www.opengis.net/spec/owc-atom/1.0/req/wfs">
    <owc:operation code="GetFeature" href="{ENDPOINT}"/>
    </owc:offering></entry></feed>"""
    assert proposed(xml(owc)) == {caps(ENDPOINT, "WFS"): "record"}
    kml = """<kml xmlns="http://www.opengis.net/kml/2.2"><GroundOverlay><Icon>
    <href>http://a.org/wms?service=WMS&amp;request=GetMap</href>
    </Icon></GroundOverlay></kml>"""
    assert proposed(xml(kml)) == {caps("http://a.org/wms", "WMS"): "text: getmap request"}


OLD = (
    '<ServiceExceptionReport version="1.3.0"><ServiceException code="{}">{}</ServiceException></ServiceExceptionReport>'
)
NEW = """<ows:ExceptionReport xmlns:ows="http://www.opengis.net/ows/1.1"><ows:Exception exceptionCode="{}">
    <ows:ExceptionText>{}
</ows:ExceptionText></ows:Exception></ows:ExceptionReport>"""


def test_complaints() -> None:
    """What complains is a service: it is asked as what it names, else as the likeliest, one kind after the other."""
    assert [hint.service for hint in xml(OLD.format("x", ""), ENDPOINT)] == ["WMS", "WFS"]
    assert [hint.service for hint in xml(NEW.format("x", ""), ENDPOINT)] == ["WFS", "WMTS"]
    assert [hint.url for hint in xml(NEW.format("x", "no WPS request"), ENDPOINT)] == [caps(ENDPOINT, "WPS")]
    assert [hint.service for hint in xml(NEW.format("x", ""), "http://a.org/csw/3")] == ["CSW"]
    wrong = NEW.format("OperationNotSupported", "")
    asked, seen = caps(ENDPOINT, "WFS"), []
    while asked not in seen:
        seen.append(asked)
        (hint,) = xml(wrong, asked)
        asked = hint.url
    assert len(seen) == 8
    assert xml(NEW.format("NoApplicableCode", "out of order"), caps(ENDPOINT, "WFS")) == []
    assert xml(wrong, caps("http://a.org/wfs", "WFS")) == []


def test_capabilities_lead_on() -> None:
    """Capabilities lead to services beside them, on other hosts, and to records of their layers, not to themselves."""
    body = """<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms" xmlns:xlink="http://www.w3.org/1999/xlink"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.opengis.net/wms http://schemas.opengis.net/wms/1.3.0/c.xsd">
    <Capability><Request><GetMap><DCPType><HTTP><Get><OnlineResource xlink:href="http://a.org/ows?"/></Get></HTTP>
    </DCPType></GetMap></Request>
    <Layer><Name>a</Name><MetadataURL type="TC211"><Format>text/xml</Format>
    <OnlineResource xlink:href="http://a.org/md/1?id=2&amp;x=3"/>
    </MetadataURL></Layer></Capability></WMS_Capabilities>"""
    found = proposed(xml(body, caps("http://a.org/ows", "WMS")))
    assert found == {
        **{
            f"http://a.org/ows?request=GetCapabilities&service={kind}": f"beside a WMS: {kind}"
            for kind in ("WFS", "WCS", "WMTS", "WPS")
        },
        "http://a.org/md/1?id=2&x=3": "metadata of a layer",
    }
    elsewhere = proposed(xml(body.replace("http://a.org/ows?", "http://b.org/wms?"), caps("http://a.org/maps", "WMS")))
    assert elsewhere[caps("http://b.org/wms", "WMS")] == "link: endpoint"


def test_what_a_program_serves_at_one_endpoint() -> None:
    """MapServer has no tiles, QGIS Server also an OGC API, whatever its path; who was asked beside leads to no more."""
    body = '<WMS_Capabilities version="1.3.0"{}/>'

    def beside(endpoint: str, more: str = "") -> list[str]:
        hints = xml(body.format(more), caps(endpoint, "WMS"))
        return [hint.service if hint.service != "OGCAPI" else hint.url for hint in hints if "beside" in hint.rule]

    assert beside("http://a.org/cgi-bin/mapserv?map=/a.map") == ["WFS", "WCS"]
    assert beside("http://a.org/service") == ["WFS", "WCS", "WMTS", "WPS"]
    assert beside("http://a.org/cgi-bin/qgis_mapserv.fcgi?map=/a.qgs") == [
        "WFS",
        "WCS",
        "WMTS",
        "http://a.org/cgi-bin/qgis_mapserv.fcgi/wfs3?map=/a.qgs&f=json",
    ]
    signed = ' xmlns:qgs="http://www.qgis.org/wms"'
    assert beside("http://a.org/town", signed) == ["WFS", "WCS", "WMTS", "http://a.org/town/wfs3?f=json"]
    assert beside("http://a.org/town") == beside("http://a.org/wms") == []
    assert proposed(xml(body.format(""), "http://a.org/ows?request=GetCapabilities&service=WMS")) == {}


@pytest.mark.parametrize("status", [400, 404, 500])
def test_an_error_of_a_shared_endpoint(status: int) -> None:
    """A bare endpoint that answers with an error is asked for maps, then for features; others are not asked again."""

    def asked(url: str) -> list[str]:
        doc = read(url, {"content-type": "text/html"}, b"<html><body><h1>Error</h1></body></html>")
        return [link.href for link in Geo().links_of_error(doc, status)]

    features = caps("http://a.org/ows", "WFS")
    assert asked("http://a.org/ows") == [caps("http://a.org/ows", "WMS")]
    assert asked(caps("http://a.org/ows", "WMS")) == [features]
    assert asked(features) == asked(caps("http://a.org/wms", "WMS")) == asked("http://a.org/x") == []
    assert asked("http://wms.a.org/") == [caps("http://wms.a.org/", "WMS")]


def test_a_service_that_is_not_enabled_has_others() -> None:
    """MapServer complains of the request, not of the service."""
    said = "msWMSGetCapabilities(): WMS server error. WMS request not enabled. Check wms/ows_enable_request settings."
    report = f"<ServiceExceptionReport><ServiceException>{said}</ServiceException></ServiceExceptionReport>"
    endpoint = "http://a.org/cgi-bin/mapserv?map=/a.map"
    assert list(proposed(xml(report, caps(endpoint, "WMS")))) == [caps(endpoint, "WFS")]


def test_a_host_is_named_after_its_service() -> None:
    """A link to a host that is called after a service, or its name in a text, is worth one request."""
    wanted = [caps("http://wms.a.org/", "WMS")]
    assert list(proposed(page('<a href="http://wms.a.org/">Maps</a>'))) == wanted
    assert list(proposed(page("<p>Use http://wms.a.org/ in your program.</p>"))) == wanted


def test_names_that_look_like_addresses() -> None:
    """Namespaces and places of schemas are no services; a request for the schema of features is one."""
    schema = "http://a.org/s?service=WFS&amp;request=DescribeFeatureType"
    found = xml(
        f"""<a:c xmlns:a="http://geo.test/wms" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
        xsi:schemaLocation="http://geo.test/wfs http://geo.test/wfs/a.xsd
            http://geo.test/csw {schema}" targetNamespace='http://geo.test/wcs'><b codeSpace="http://geo.test/wps"/></a:c>"""
    )
    assert list(proposed(found)) == [caps("http://a.org/s", "WFS")]


def test_private_addresses() -> None:
    """What a server behind another calls itself cannot be asked; in a network of its own it can."""
    private = ["http://10.1.2.3:8080/wms", "http://localhost/wms", "http://mapproxy:8080/wms", "http://gis.local/wms"]
    body = "".join(f'<a href="{address}">maps</a>' for address in (*private, "http://b.org/wms"))
    assert list(proposed(page(body))) == [caps("http://b.org/wms", "WMS")]
    assert len(page(body, "http://192.168.0.7/index.html")) == 5


def test_a_page_is_no_service_of_its_own() -> None:
    """A button of a demonstration names a service and leads to the page itself."""
    demo = "http://a.org/demo/?wmts_layer=wells&amp;srs=EPSG:3857"
    assert page(f'<a href="#">WMTS layer</a><a href="{demo}#map">WMTS</a>', demo.replace("&amp;", "&")) == []


def test_a_definition_of_an_api_leads_to_the_api() -> None:
    """Of a document in OpenAPI only the servers are addresses; an API without collections is none of OGC."""
    paths: dict[str, object] = {f"/{name}": {} for name in ("stac/info", "cog/WMTSCapabilities.xml", "wms", "{id}/wms")}
    content = {"openapi": "3.0.2", "servers": [{"url": "/api"}], "paths": paths}

    def defined() -> dict[str, str]:
        doc = read("http://a.org/api/openapi", {"content-type": "application/json"}, json.dumps(content).encode())
        return proposed(find_hints(doc))

    assert defined() == {}
    paths["/collections"] = {}
    assert defined() == {"http://a.org/api": "definition of an api"}


def test_a_service_leads_to_its_host() -> None:
    """The first page of the host, with its port, is looked at; what is no service, or is that page, leads nowhere."""
    body = '<WMS_Capabilities version="1.3.0"/>'
    homes = [hint.url for hint in xml(body, caps("http://a.org:8080/maps", "WMS")) if hint.rule == HOME]
    assert homes == ["http://a.org:8080/"]
    assert xml(body, "http://a.org/") == xml("<other/>", "http://a.org/x") == []
    catalogue = b'{"stac_version": "1.0.0", "type": "Catalog", "id": "c", "links": []}'
    api = read("https://a.org/stac/catalog.json", {}, catalogue)
    assert [hint.url for hint in find_hints(api)] == ["https://a.org/"]


def test_apis() -> None:
    """The links of an API or a catalogue that lead to more of it are followed, others not."""
    relations = ["self", "conformance", "data", "service-desc", "license"]
    body = {"links": [{"rel": rel, "href": f"/api/{rel}", "type": "application/json"} for rel in relations]}
    doc = read("http://a.org/api?f=json", {}, json.dumps(body).encode())
    assert proposed(find_hints(doc)) == {"http://a.org/api/data?f=json": "ogcapi data"}  # as the page itself was asked
    doc = read("http://a.org/api", {}, json.dumps(body).encode())
    assert proposed(find_hints(doc)) == {"http://a.org/api/data": "ogcapi data"}
    stac = {
        "stac_version": "1.0.0",
        "type": "Catalog",
        "id": "c",
        "links": [{"rel": "child", "href": "./s/collection.json"}],
    }
    doc = read("http://a.org/stac/catalog.json", {}, json.dumps(stac).encode())
    assert proposed(find_hints(doc)) == {"http://a.org/stac/s/collection.json": "stac child"}


def test_links_say_their_rule() -> None:
    """For the crawl hints are links, the likeliest first, whose kind says by which rule each was inferred."""
    body = f'<a href="{ENDPOINT}">WMS</a><img src="http://a.org/x?request=GetMap">'
    doc = read(PAGE, {"content-type": "text/html"}, f"<html><body>{body}</body></html>".encode())
    assert [(link.href, link.kind) for link in links(doc)] == [
        (caps("http://a.org/x", "WMS"), "geo: picture: getmap request"),
        (caps(ENDPOINT, "WMS"), "geo: link: named by its text"),
    ]


def test_the_quarry_of_the_mission() -> None:
    """The core sees one object with pure methods."""
    quarry = Geo()
    body = (
        b'<?xml version="1.0"?><WMS_Capabilities version="1.3.0"><Service><Title>T</Title></Service></WMS_Capabilities>'
    )
    doc = read("http://a.org/ows?service=WMS&request=GetCapabilities", {}, body)
    assert quarry.recognise(doc) == "ogc:wms/1.3.0"
    assert [record.data["title"] for record in quarry.extract(doc)] == ["T"]
    assert [link.kind for link in quarry.links(doc)] == [
        "geo: host of a service",
        *(f"geo: beside a WMS: {kind}" for kind in ("WFS", "WCS", "WMTS", "WPS")),
    ]


def doc_of(body: bytes, mime: str) -> Doc:
    return read("http://a.org/ows?service=WMS&request=GetCapabilities", {"content-type": mime}, body)


@pytest.mark.parametrize(
    "body",
    [
        "wms " * 100_000,
        "<script>" + "wms('" * 50_000,
        "<script>" * 50_000 + "wms",
        "<script wms" * 50_000,
        "<p>wms http://a.org/" + "a" * 500_000,
        "<p>wms " + "http://a.org/x " * 50_000,
        "<script>" + "{url:" * 50_000 + "'wms'",
        '<a href="' + "/wms" * 100_000,
        "<p>" + "request=get" * 50_000,
    ],
)
def test_hostile_pages(body: str) -> None:
    """Mentions without end are looked at up to a limit, in time that grows with the page and no faster."""
    assert len(find_hints(doc_of(body.encode(), "text/html"))) <= 500


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "<a href='",
                "'>",
                "</a>",
                "<script>",
                "</script>",
                "http://a.org/",
                "wms",
                "?",
                "request=GetMap",
                "&amp;",
                "{",
                "}",
            ]
            + [
                "'",
                '"',
                "(",
                ")",
                "url:",
                "WFS",
                " ",
                "\\/",
                "/rest/services/",
                "MapServer",
                "%26",
                "é",
                "\n",
                "<",
                "//",
                "ows",
            ]
        ),
        max_size=30,
    ).map("".join),
    st.sampled_from(["text/html", "application/json", "text/xml", "application/javascript", "text/plain"]),
)
def test_no_content_raises(body: str, mime: str) -> None:
    """Whatever a page says, every proposal is an address with a reason."""
    for hint in find_hints(doc_of(body.encode(), mime)):
        assert re.match(r"https?://", hint.url)
        assert hint.rule
