"""Files of QGIS: the services that their layers are drawn from."""

from __future__ import annotations

import io
import zipfile

import pytest

from lycosa.missions.geo.recognise.service_hints import find_hints
from lycosa.parse import read

LAYER = (
    "<maplayer><datasource>{}</datasource><layername>x</layername><provider encoding='UTF-8'>{}</provider></maplayer>"
)
PROJECT = """<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis projectname="x" version="3.34.4"><projectlayers>{}</projectlayers></qgis>"""
DEFINITION = "<!DOCTYPE qgis-layer-definition>\n<qlr><maplayers>{}</maplayers></qlr>"


def told(body: str | bytes, mime: str = "application/octet-stream") -> list[tuple[str, str]]:
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
        assert told(body) == [(service, endpoint)]


def test_what_names_no_service() -> None:
    """Files, databases, templates of tiles, and zip files that cannot be read."""
    layers = LAYER.format("./roads.shp", "ogr") + LAYER.format("host=db.org url='http://a.org/x'", "postgres")
    layers += LAYER.format("type=xyz&amp;url=https://a.org/%7Bz%7D/%7Bx%7D/%7By%7D.png", "wms")
    assert told(PROJECT.format(layers)) == []
    for body in (b"PK\x03\x04 project.qgs", b"PK\x05\x06" + b"\0" * 18 + b".qgs"):
        assert told(body) == []


def test_exported_connections() -> None:
    """A list of connections has each address in an attribute; a project may say where it is served."""
    listed = '<!DOCTYPE connections><qgsWMSConnections version="1.0"><wms name="a" url="http://a.org/maps"/></qgsWMSConnections>'
    assert told(listed) == [("WMS", "http://a.org/maps")]
    assert told(PROJECT.format("<WMSUrl type='QString'>http://a.org/project</WMSUrl>")) == [
        ("WMS", "http://a.org/project")
    ]
