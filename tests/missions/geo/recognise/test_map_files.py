"""Files of maps: configurations in JSON and files of QGIS, and the services that they name."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint
from lycosa.missions.geo.recognise.service_hints import find_hints
from lycosa.parse import read

U = "http://g.example.org/geology"  # an address that tells nothing
V = "http://g.example.org/rivers"


def config(found: object) -> list[ServiceHint]:
    return find_hints(read("http://p.org/c.json", {"content-type": "application/json"}, json.dumps(found).encode()))


def script(text: str, url: str = "http://p.org/js/map.js") -> list[ServiceHint]:
    return find_hints(read(url, {"content-type": "application/javascript"}, text.encode()))


def told(hints: list[ServiceHint]) -> list[tuple[str, str]]:
    return [(hint.service, hint.endpoint) for hint in hints]


@pytest.mark.parametrize(
    ("found", "services"),
    [
        ({"type": "wms", "info": [{"name": "Licence", "url": "http://l.org/cc"}], "url": U}, [("WMS", U)]),
        ({"url": U, "info": [{"name": "Licence", "content": "CC"}], "type": "wms"}, [("WMS", U)]),
        ({"operationalLayers": [{"type": "WMS", "layers": [{"name": "0"}], "url": U}]}, [("WMS", U)]),
        ({"layers": [{"type": "wms", "url": [U, V], "name": "x"}]}, [("WMS", U), ("WMS", V)]),
        ({"format": "OGC API - Features", "url": U}, [("OGCAPI", U)]),
        ({"format": "ATOM", "url": U}, [("ATOM", U)]),
        (
            {
                "@type": "dcat:DataService",
                "dct:conformsTo": {"@id": "http://www.opengis.net/def/serviceType/ogc/wfs"},
                "dcat:endpointURL": {"@id": U},
            },
            [("WFS", U)],
        ),
        ({"title": "Our WMS", "href": U, "logo": "http://p.org/logo"}, [("WMS", U)]),
        ({"geoserverWmsUrl": U, "wfs_url": V, "url": "http://p.org/"}, [("WMS", U), ("WFS", V)]),
        ({"type": "wms", "url": U, "legendUrl": "http://p.org/legend"}, [("WMS", U)]),
        ({"type": "atom", "title": "wms", "url": "feed"}, []),
        ({"type": "shop", "url": U, "text": [{"type": "wms"}]}, []),
        (["wms", 1, None, {"type": {"a": 1}, "url": {"@id": 3}}], []),
    ],
)
def test_objects(found: object, services: list[tuple[str, str]]) -> None:
    """An object names a service for the addresses that are its own, in whatever order and however deep."""
    assert told(config(found)) == services


def test_long_configurations_are_read_to_their_end() -> None:
    """Portals list all the services of a country in one file; what lists more than ten thousand is cut."""
    listed = [{"id": str(n), "url": f"https://g.de/d{n}", "typ": "WMS", "x": "y" * 250} for n in range(5_000)]
    assert len(config(listed)) == 5_000
    assert len(config(listed[:1] * 50_000)) == 1
    assert len(config([{"url": f"https://g.de/d{n}", "typ": "WMS"} for n in range(12_000)])) == 10_000


@pytest.mark.parametrize("body", ['{"wms":' * 100_000, "[" * 500_000 + '"wms"', '["wms"' + ",[]" * 600_000 + "]"])
def test_hostile_json(body: str) -> None:
    """What is nested or long without end is no configuration, and costs no more than its size."""
    assert find_hints(read("http://p.org/c.json", {"content-type": "application/json"}, body.encode())) == []


@pytest.mark.parametrize(
    ("text", "services"),
    [
        (f'var c = {{"type": "wms", "info": [{{"a": {{}}}}], "url": "{U}"}};', [("WMS", U)]),
        (f'var c = {{url: "{U}", info: [{{url: "http://l.org/cc"}}], type: "wms"}};', [("WMS", U)]),
        (f'var c = [{{url: "{V}", a: {{b: 1}}}}, {{type: "wms", o: {{a: {{b: 1}}, url: "{U}"}}}}];', [("WMS", U)]),
        (f'new ol.source.ImageWMS({{ url : ["{U}", "{V}"], params: {{}}}})', [("WMS", U), ("WMS", V)]),
        (f'var c = {{type: "wms", url: ["{U}"], more: ["{V}"]}};', [("WMS", U)]),
        ("wms }}}} {{{{ wms", []),
    ],
)
def test_objects_in_scripts(text: str, services: list[tuple[str, str]]) -> None:
    """Braces are matched: an object's own address counts before one in it, and lists are read as a whole."""
    assert told(script(text)) == services


def page(body: str) -> list[str]:
    html = f"<html><body>{body}</body></html>".encode()
    return [hint.url for hint in find_hints(read("http://p.org/m/", {"content-type": "text/html"}, html))]


def test_the_configuration_of_a_page_that_says_nothing() -> None:
    """A viewer's page may hold no word of a service: its configuration is looked at, other scripts are not."""
    others = ["jquery.js", "app.js", "/lib/leaflet-map.min.js", "service-worker.js", "http://cdn.net/config.js"]
    body = "".join(f'<script src="{name}"></script>' for name in ["config.js", *others])
    assert page(f"<h1>Karten</h1>{body}") == ["http://p.org/m/config.js"]
    assert page("<script src='init.js'></script><p>The map, configured.</p>") == []


def test_files_that_a_script_names() -> None:
    """Configurations are named by scripts, in files and in pages, whether or not they speak of services."""
    text = 'const Config = {layerConf: "./resources/services-internet.json", a: "data.json", b: "x/${y}/map.json"};'
    assert [hint.url for hint in script(text)] == ["http://p.org/js/resources/services-internet.json"]
    assert page(f"<script>{text}</script>") == ["http://p.org/m/resources/services-internet.json"]
    assert page(f"<p>WMS</p><script>{text}</script>") == ["http://p.org/m/resources/services-internet.json"]
    assert len(script("".join(f"'map{n}.json'" for n in range(100_000)))) == 20


def test_tiles() -> None:
    """Maps of vector tiles name a style, the style its sources, and scripts name sources themselves."""
    text = """var map = new maplibregl.Map({style: "/styles/basic/style.json", a: {url: "x"}});
        map.addSource("r", {type: "vector", promoteId: {a: 1}, url: "http://t.org/roads.json"});
        map.addSource("s", {url: "mapbox://a.b", type: "raster"}); map.addSource("t", {type: "raster", tiles: []});"""
    expected = ["http://t.org/roads.json", "http://p.org/styles/basic/style.json"]
    assert page(f"<script>{text}</script>") == expected
    assert [hint.url for hint in script(text)] == expected
    sources = {
        "a": {"type": "vector", "url": "../data/v3.json"},
        "b": {"type": "vector", "url": "mapbox://a.b"},
        "c": 1,
    }
    style = {"version": 8, "sources": sources, "layers": []}
    assert [(hint.url, hint.rule) for hint in config(style)] == [("http://p.org/data/v3.json", "tiles of a map")]
    assert config({**style, "version": 7}) == []
    assert len(script('type:"vector",' * 50_000 + 'url:"http://t.org/a"')) <= 20


LAYER = (
    "<maplayer><datasource>{}</datasource><layername>x</layername><provider encoding='UTF-8'>{}</provider></maplayer>"
)
PROJECT = """<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis projectname="x" version="3.34.4"><projectlayers>{}</projectlayers></qgis>"""
DEFINITION = "<!DOCTYPE qgis-layer-definition>\n<qlr><maplayers>{}</maplayers></qlr>"


def told_by_qgis(body: str | bytes, mime: str = "application/octet-stream") -> list[tuple[str, str]]:
    body = body if isinstance(body, bytes) else body.encode()
    doc = read("http://files.org/a.qgs", {"content-type": mime}, body)
    return [(hint.service, hint.endpoint) for hint in find_hints(doc)]


@pytest.mark.parametrize(
    ("source", "provider", "service", "endpoint"),
    [
        (
            "contextualWMSLegend=0&amp;crs=EPSG:4326&amp;layers=a&amp;styles&amp;url=http://a.org/maps",
            "wms",
            "WMS",
            "http://a.org/maps",
        ),
        (
            "crs=EPSG:4326&amp;url=http%3A%2F%2Fa.org%2Fcgi%3Fmap%3D/m.map%26x%3D1&amp;layers=a",
            "wms",
            "WMS",
            "http://a.org/cgi?map=/m.map&x=1",
        ),
        (
            "crs=EPSG:3857&amp;tileMatrixSet=g&amp;layers=a&amp;url=http://a.org/tiles",
            "wms",
            "WMTS",
            "http://a.org/tiles",
        ),
        (
            "pagingEnabled='true' typename='a:b' url='http://a.org/data' version='auto'",
            "WFS",
            "WFS",
            "http://a.org/data",
        ),
        ("typename='a' url='http://a.org/oapi'", "OAPIF", "OGCAPI", "http://a.org/oapi"),
        ("http://a.org/f?SERVICE=WFS&amp;REQUEST=GetFeature&amp;TYPENAME=b", "WFS", "WFS", "http://a.org/f"),
        ("cache=AlwaysNetwork&amp;identifier=dem&amp;url=http://a.org/cover", "wcs", "WCS", "http://a.org/cover"),
        (
            "crs='EPSG:3857' url='http://a.org/rest/services/R/MapServer'",
            "arcgismapserver",
            "ESRI-REST",
            "http://a.org/rest/services/R/MapServer",
        ),
    ],
)
def test_layers_name_their_services(source: str, provider: str, service: str, endpoint: str) -> None:
    """However the source is written, in a project, a definition, and a project in a zip file."""
    layer = LAYER.format(source, provider)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as held:
        held.writestr("project.qgs", PROJECT.format(layer))
        held.writestr("project.qgd", b"data")
    for body in (PROJECT.format(layer), DEFINITION.format(layer), zipped.getvalue()):
        assert told_by_qgis(body) == [(service, endpoint)]


def test_what_names_no_service() -> None:
    """Files, databases, templates of tiles, and zip files that cannot be read."""
    layers = LAYER.format("./roads.shp", "ogr") + LAYER.format("host=db.org url='http://a.org/x'", "postgres")
    layers += LAYER.format("type=xyz&amp;url=https://a.org/%7Bz%7D/%7Bx%7D/%7By%7D.png", "wms")
    assert told_by_qgis(PROJECT.format(layers)) == []
    for body in (b"PK\x03\x04 project.qgs", b"PK\x05\x06" + b"\0" * 18 + b".qgs"):
        assert told_by_qgis(body) == []


def test_exported_connections() -> None:
    """A list of connections has each address in an attribute; a project may say where it is served."""
    listed = '<!DOCTYPE connections><qgsWMSConnections version="1.0"><wms name="a" url="http://a.org/maps"/></qgsWMSConnections>'
    assert told_by_qgis(listed) == [("WMS", "http://a.org/maps")]
    assert told_by_qgis(PROJECT.format("<WMSUrl type='QString'>http://a.org/project</WMSUrl>")) == [
        ("WMS", "http://a.org/project")
    ]
