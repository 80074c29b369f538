"""A small web of geographic services on your own machine, to try the geo mission on without asking anybody.

    python examples/geoworld.py                       serves it on 127.0.0.1:8800 until Ctrl-C
    lycosa crawl geo http://portal.geoworld.test/ --connect-to '*=127.0.0.1:8800' --delay 0.1

Six hosts: a portal that only links, a town with a map server and its mirror, a national institute, and an archive of
what goes wrong elsewhere: a service that complains, one that is gone, one that wants a password, one that robots.txt
forbids. Needs nothing but Python.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

XML = "application/xml"
JSON = "application/json"
HTML = "text/html; charset=utf-8"
#: A picture of one point, as an answer to GetMap.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000a49444154789c63000100000500010d0a2db40000000049454e44ae426082"
)


NOTHING = '{"type": "FeatureCollection", "features": []}'


class Answer(NamedTuple):
    """What an address answers."""

    body: str | bytes
    mime: str = HTML
    status: int = 200


class Layer(NamedTuple):
    """A layer, feature type or data set: name, title, and west, south, east, north."""

    name: str
    title: str
    box: tuple[float, float, float, float]
    abstract: str = ""


RIVERS = Layer("rios", "Ríos y arroyos", (-3.9, 40.2, -3.4, 40.6), "La red de agua del municipio.")
PARKS = Layer("parques", "Parques y jardines", (-3.85, 40.25, -3.5, 40.55), "Zonas verdes del municipio.")
PLAN = Layer("plan", "Plan general de ordenación urbana", (-3.9, 40.2, -3.4, 40.6), "Suelo urbano y rústico.")
RELIEF = Layer("relief", "Shaded relief of the world", (-180.0, -90.0, 180.0, 90.0), "Made from public heights.")
REEFS = Layer("reefs", "Coral reefs of Fiji", (176.0, -20.0, -178.0, -12.0), "They lie on both sides of 180 degrees.")
GLACIERS = Layer("glaciers", "Glaciers of Iceland", (-24.6, 63.3, -13.4, 66.6), "Outlines from pictures of 2019.")
STATIONS = Layer("stations", "Weather stations", (-24.6, 63.3, -13.4, 66.6), "Where the weather is measured.")
SOILS = Layer("soils", "Soils", (-9.5, 36.0, 3.4, 43.8), "Kinds of soil by their use.")


def page(title: str, *parts: str) -> Answer:
    """A page of HTML."""
    body = "".join(f"<p>{part}</p>" for part in parts)
    return Answer(f"<!DOCTYPE html><html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>")


def link(url: str, text: str) -> str:
    """A link in a page."""
    return f'<a href="{escape(url)}">{text}</a>'


def wms(address: str, title: str, provider: str, *layers: Layer, version: str = "1.3.0") -> Answer:
    """The capabilities of a WMS."""
    said = "".join(
        f'<Layer queryable="1"><Name>{l.name}</Name><Title>{l.title}</Title><Abstract>{l.abstract}</Abstract>'
        + (
            f"<EX_GeographicBoundingBox><westBoundLongitude>{l.box[0]}</westBoundLongitude>"
            f"<eastBoundLongitude>{l.box[2]}</eastBoundLongitude><southBoundLatitude>{l.box[1]}</southBoundLatitude>"
            f"<northBoundLatitude>{l.box[3]}</northBoundLatitude></EX_GeographicBoundingBox>"
            if version == "1.3.0"
            else f'<LatLonBoundingBox minx="{l.box[0]}" miny="{l.box[1]}" maxx="{l.box[2]}" maxy="{l.box[3]}"/>'
        )
        + f"<Style><Name>default</Name><Title>{l.title}</Title></Style></Layer>"
        for l in layers  # noqa: E741
    )
    root, name = ("WMS_Capabilities", "WMS") if version == "1.3.0" else ("WMT_MS_Capabilities", "OGC:WMS")
    space = ' xmlns="http://www.opengis.net/wms"' if version == "1.3.0" else ""
    crs = "CRS" if version == "1.3.0" else "SRS"
    where = f'<OnlineResource xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="{escape(address)}"/>'
    get = f"<DCPType><HTTP><Get>{where}</Get></HTTP></DCPType>"
    return Answer(
        f'<?xml version="1.0" encoding="UTF-8"?><{root} version="{version}"{space}><Service><Name>{name}</Name>'
        f"<Title>{title}</Title><Abstract>{title}, {provider}.</Abstract><KeywordList><Keyword>maps</Keyword>"
        f"</KeywordList>{where}<ContactInformation><ContactPersonPrimary><ContactPerson>Ana Ruiz</ContactPerson>"
        f"<ContactOrganization>{provider}</ContactOrganization></ContactPersonPrimary>"
        f"<ContactElectronicMailAddress>maps@geoworld.test</ContactElectronicMailAddress></ContactInformation>"
        f"<Fees>none</Fees><AccessConstraints>CC BY 4.0</AccessConstraints></Service><Capability><Request>"
        f"<GetCapabilities><Format>text/xml</Format>{get}</GetCapabilities><GetMap><Format>image/png</Format>{get}"
        f"</GetMap></Request><Layer><Title>{title}</Title><{crs}>EPSG:4326</{crs}><{crs}>EPSG:25830</{crs}>{said}"
        f"</Layer></Capability></{root}>",
        "text/xml",
    )


def ows(kind: str, version: str, address: str, title: str, provider: str, contents: str) -> Answer:
    """The capabilities of a service of the newer kind."""
    spaces = {"WFS": "wfs/2.0", "WMTS": "wmts/1.0", "CSW": "cat/csw/2.0.2"}
    common = "http://www.opengis.net/ows" + ("" if kind == "CSW" else "/1.1")
    root = "WFS_Capabilities" if kind == "WFS" else "Capabilities"
    return Answer(
        f'<?xml version="1.0" encoding="UTF-8"?><{root} version="{version}" xmlns="http://www.opengis.net/{spaces[kind]}"'
        f' xmlns:ows="{common}" xmlns:xlink="http://www.w3.org/1999/xlink"><ows:ServiceIdentification>'
        f"<ows:Title>{title}</ows:Title><ows:Abstract>{title}, {provider}.</ows:Abstract>"
        f"<ows:ServiceType>{kind}</ows:ServiceType><ows:ServiceTypeVersion>{version}</ows:ServiceTypeVersion>"
        f"<ows:Fees>none</ows:Fees></ows:ServiceIdentification><ows:ServiceProvider><ows:ProviderName>{provider}"
        f"</ows:ProviderName></ows:ServiceProvider><ows:OperationsMetadata><ows:Operation name='GetCapabilities'>"
        f"<ows:DCP><ows:HTTP><ows:Get xlink:href='{escape(address)}'/></ows:HTTP></ows:DCP></ows:Operation>"
        f"</ows:OperationsMetadata>{contents}</{root}>",
        XML,
    )


def box_of(layer: Layer) -> str:
    """The box of a layer as newer services write it."""
    west, south, east, north = layer.box
    return (
        f"<ows:WGS84BoundingBox><ows:LowerCorner>{west} {south}</ows:LowerCorner>"
        f"<ows:UpperCorner>{east} {north}</ows:UpperCorner></ows:WGS84BoundingBox>"
    )


def feature_types(*layers: Layer) -> str:
    """What a WFS offers."""
    said = "".join(
        f"<FeatureType><Name>town:{layer.name}</Name><Title>{layer.title}</Title><Abstract>{layer.abstract}</Abstract>"
        f"<DefaultCRS>urn:ogc:def:crs:EPSG::4326</DefaultCRS>{box_of(layer)}</FeatureType>"
        for layer in layers
    )
    return f"<FeatureTypeList>{said}</FeatureTypeList>"


_TILES = "http://gis.institute.geoworld.test/tiles/1.0.0"


def tile_layers(*layers: Layer) -> str:
    """What a WMTS offers."""
    said = "".join(
        f"<Layer><ows:Title>{layer.title}</ows:Title><ows:Identifier>{layer.name}</ows:Identifier>{box_of(layer)}"
        "<Style isDefault='true'><ows:Identifier>default</ows:Identifier></Style><Format>image/png</Format>"
        "<TileMatrixSetLink><TileMatrixSet>world</TileMatrixSet></TileMatrixSetLink><ResourceURL format='image/png' "
        f"resourceType='tile' template='{_TILES}/{layer.name}/{{TileMatrix}}/{{TileRow}}/{{TileCol}}.png'/></Layer>"
        for layer in layers
    )
    matrix = (
        "<TileMatrixSet><ows:Identifier>world</ows:Identifier><ows:SupportedCRS>urn:ogc:def:crs:OGC:1.3:CRS84"
        "</ows:SupportedCRS><TileMatrix><ows:Identifier>0</ows:Identifier><ScaleDenominator>2.795411320143589E8"
        "</ScaleDenominator><TopLeftCorner>-180.0 90.0</TopLeftCorner><TileWidth>256</TileWidth><TileHeight>256"
        "</TileHeight><MatrixWidth>2</MatrixWidth><MatrixHeight>1</MatrixHeight></TileMatrix></TileMatrixSet>"
    )
    return f"<Contents>{said}{matrix}</Contents>"


def feed(address: str, title: str, *layers: Layer) -> Answer:
    """An Atom feed of downloads."""
    said = ""
    for layer in layers:
        west, south, east, north = layer.box
        ring = f"{south} {west} {south} {east} {north} {east} {north} {west} {south} {west}"
        said += (
            f"<entry><title>{layer.title}</title><id>{address}#{layer.name}</id><updated>2024-05-01T00:00:00Z</updated>"
            f'<summary>{layer.abstract}</summary><link rel="alternate" type="application/gml+xml" '
            f'href="/data/{layer.name}.gml"/><georss:polygon>{ring}</georss:polygon><inspire_dls:'
            f"spatial_dataset_identifier_code>{layer.name}</inspire_dls:spatial_dataset_identifier_code></entry>"
        )
    return Answer(
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en" '
        'xmlns:georss="http://www.georss.org/georss" xmlns:inspire_dls="http://inspire.ec.europa.eu/schemas/inspire_dls/1.0">'
        f'<title>{title}</title><id>{address}</id><link rel="self" href="{address}"/><rights>CC BY 4.0</rights>'
        f"<updated>2024-05-01T00:00:00Z</updated><author><name>National institute</name></author>{said}</feed>",
        "application/atom+xml",
    )


def api(address: str, *layers: Layer, whole: bool) -> Answer:
    """The landing page of an OGC API, or the list of its collections."""
    links: list[dict[str, str]] = [
        {"rel": "self", "href": address, "type": JSON},
        {"rel": "conformance", "href": f"{address}/conformance", "type": JSON},
        {"rel": "data", "href": f"{address}/collections", "type": JSON},
        {"rel": "service-desc", "href": f"{address}/api", "type": "application/vnd.oai.openapi+json;version=3.0"},
    ]
    said: dict[str, Any] = {
        "title": "Observations of the weather",
        "description": "Weather stations and what they saw.",
    }
    if whole:
        said = {
            "collections": [
                {
                    "id": layer.name,
                    "title": layer.title,
                    "description": layer.abstract,
                    "extent": {
                        "spatial": {"bbox": [list(layer.box)]},
                        "temporal": {"interval": [["1950-01-01", None]]},
                    },
                    "links": [{"rel": "items", "href": f"{address}/collections/{layer.name}/items", "type": JSON}],
                    "itemType": "feature",
                }
                for layer in layers
            ]
        }
    return Answer(json.dumps(said | {"links": links}, ensure_ascii=False), JSON)


def complain(text: str) -> Answer:
    """An error report."""
    return Answer(
        '<?xml version="1.0"?><ServiceExceptionReport version="1.3.0" xmlns="http://www.opengis.net/ogc">'
        f'<ServiceException code="NoApplicableCode">{text}</ServiceException></ServiceExceptionReport>',
        "text/xml",
    )


TOWN, INSTITUTE = "Ayuntamiento de Villarrubia", "National institute"
Parameters = dict[str, str]


def serve_town(asked: Parameters) -> Answer:
    """The one endpoint of the town's server, which is a WMS and a WFS; its mirror states the same address."""
    stated = "http://maps.villarrubia.geoworld.test/geoserver/ows"
    service, request = asked.get("service", "").upper(), asked.get("request", "").lower()
    if request == "getmap":
        return Answer(PIXEL, "image/png")
    if request == "getfeature":
        return Answer(NOTHING, JSON)
    if request != "getcapabilities":
        return complain("The request is not known.")
    if service == "WFS":
        return ows("WFS", "2.0.0", stated, "Datos de Villarrubia", TOWN, feature_types(RIVERS, PARKS))
    version = "1.1.1" if asked.get("version") == "1.1.1" else "1.3.0"
    return wms(stated, "Mapas de Villarrubia", TOWN, RIVERS, PARKS, PLAN, version=version)


def serve_world(asked: Parameters) -> Answer:
    """A WMS of MapServer, which wants to know its map file."""
    if asked.get("map") != "/srv/world.map":
        return Answer("mapserv(): Web application error. No such map file.", "text/html")
    if asked.get("request", "").lower() == "getmap":
        return Answer(PIXEL, "image/png")
    if asked.get("service", "WMS").upper() != "WMS":
        return complain("The service is not known.")
    address = "http://gis.institute.geoworld.test/cgi-bin/mapserv?map=/srv/world.map&"
    return wms(address, "Maps of the world", INSTITUTE, RELIEF, REEFS, GLACIERS)


def serve_soils(asked: Parameters) -> Answer:
    """The WMS that only the catalogue knows."""
    if asked.get("request", "").lower() == "getmap":
        return Answer(PIXEL, "image/png")
    return wms("http://archive.geoworld.test/soils/wms", "Soil maps", "Archive", SOILS)


def serve_catalogue(asked: Parameters) -> Answer:
    """A CSW whose records lead to one more service."""
    if asked.get("request", "").lower() == "getrecords":
        return Answer(
            '<csw:GetRecordsResponse xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" version="2.0.2" '
            'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dct="http://purl.org/dc/terms/"><csw:SearchResults '
            'numberOfRecordsMatched="1" numberOfRecordsReturned="1" nextRecord="0"><csw:Record><dc:title>Soils'
            '</dc:title><dct:references scheme="OGC:WMS">http://archive.geoworld.test/soils/wms</dct:references>'
            "</csw:Record></csw:SearchResults></csw:GetRecordsResponse>",
            XML,
        )
    return ows("CSW", "2.0.2", "http://gis.institute.geoworld.test/csw", "Catalogue of the institute", INSTITUTE, "")


_API = "http://gis.institute.geoworld.test/ogcapi"
_TILED = ows("WMTS", "1.0.0", "http://gis.institute.geoworld.test/tiles", "Tiles", INSTITUTE, tile_layers(RELIEF))
_DATA = Answer('<gml:FeatureCollection xmlns:gml="http://www.opengis.net/gml/3.2"/>', "application/gml+xml")
_FEED = "http://gis.institute.geoworld.test/download/feed.xml"
_MAPS = "http://maps.villarrubia.geoworld.test/geoserver/ows"
_MIRROR = "http://mapas2.villarrubia.geoworld.test/geoserver/ows"
_ASK = "service=WMS&request=GetCapabilities"

#: What each address answers, whatever is asked there.
PAGES: dict[str, Answer | Callable[[Parameters], Answer]] = {
    "portal.geoworld.test/": page(
        "Maps of the world",
        "A list of " + link("http://www.villarrubia.geoworld.test/", "towns with maps") + " and of "
        + link("http://gis.institute.geoworld.test/", "geographic services of the institute") + ".",
        "Old things are in the " + link("http://archive.geoworld.test/", "archive of geographic services") + ".",
        link("/recipes.html", "Recipes") + " " + link("/weather.html", "Weather"),
    ),
    "portal.geoworld.test/recipes.html": page("Recipes", "Soup.", link("/weather.html", "Weather")),
    "portal.geoworld.test/weather.html": page("Weather", "Rain.", link("/recipes.html", "Recipes")),
    "www.villarrubia.geoworld.test/": page(
        "Geoportal de Villarrubia",
        "Servicio WMS: "
        + link(f"{_MAPS}?{_ASK}", "GetCapabilities"),
        "Lo mismo: "
        + link(f"{_MAPS}?REQUEST=GetCapabilities&VERSION=1.1.1&SERVICE=WMS", "1.1.1")
        + " y en el " + link(f"{_MIRROR}?{_ASK}", "espejo WMS"),
        "Servicio WFS: http://maps.villarrubia.geoworld.test/geoserver/ows?service=WFS",
    ),
    "maps.villarrubia.geoworld.test/geoserver/ows": serve_town,
    "mapas2.villarrubia.geoworld.test/geoserver/ows": serve_town,
    "gis.institute.geoworld.test/": page(
        "Geographic services",
        '<img alt="a map of the world" src="/cgi-bin/mapserv?map=/srv/world.map&amp;SERVICE=WMS&amp;VERSION=1.3.0&amp;'
        'REQUEST=GetMap&amp;LAYERS=relief&amp;BBOX=-90,-180,90,180&amp;WIDTH=80&amp;HEIGHT=40&amp;FORMAT=image/png">',
        link("/tiles/1.0.0/WMTSCapabilities.xml", "WMTS"), link("/csw?service=CSW&request=GetCapabilities", "CSW"),
        link("/download/feed.xml", "Atom download service") + " " + link("/ogcapi", "OGC API Features"),
    ),
    "gis.institute.geoworld.test/cgi-bin/mapserv": serve_world,
    "gis.institute.geoworld.test/tiles/1.0.0/WMTSCapabilities.xml": _TILED,
    "gis.institute.geoworld.test/tiles/1.0.0/relief/0/0/0.png": Answer(PIXEL, "image/png"),
    "gis.institute.geoworld.test/tiles/1.0.0/relief/0/0/1.png": Answer(PIXEL, "image/png"),
    "gis.institute.geoworld.test/data/glaciers.gml": _DATA,
    "gis.institute.geoworld.test/data/stations.gml": _DATA,
    "gis.institute.geoworld.test/csw": serve_catalogue,
    "gis.institute.geoworld.test/download/feed.xml": feed(_FEED, "Downloads of the institute", GLACIERS, STATIONS),
    "gis.institute.geoworld.test/ogcapi": api(_API, STATIONS, whole=False),
    "gis.institute.geoworld.test/ogcapi/collections": api(_API, STATIONS, whole=True),
    "gis.institute.geoworld.test/ogcapi/collections/stations/items": Answer(NOTHING, "application/geo+json"),
    "archive.geoworld.test/": page(
        "Archive of geographic services",
        link(f"/broken/wms?{_ASK}", "WMS of the floods"),
        link(f"/lost/wms?{_ASK}", "WMS of 2009"),
        link(f"/closed/wms?{_ASK}", "WMS for members"),
        link(f"/private/wms?{_ASK}", "WMS, internal"),
    ),
    "archive.geoworld.test/robots.txt": Answer("User-agent: *\nDisallow: /private/\n", "text/plain"),
    "archive.geoworld.test/broken/wms": complain("msLoadMap(): Unable to access file."),
    "archive.geoworld.test/closed/wms": Answer("Members only.", status=401),
    "archive.geoworld.test/private/wms": wms("http://archive.geoworld.test/private/wms", "Internal", "Archive", SOILS),
    "archive.geoworld.test/soils/wms": serve_soils,
}  # fmt: skip


def respond(host: str, target: str) -> Answer:
    """What a host answers to a request."""
    path, _, query = target.partition("?")
    found = PAGES.get(f"{host}{path}")
    if found is None:
        return Answer("Not found.", status=404)
    if callable(found):
        return found({name.lower(): value for name, value in parse_qsl(query, keep_blank_values=True)})
    return found


class Handler(BaseHTTPRequestHandler):
    """Answers for every host, by the name that the request gives."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        answer = respond((self.headers.get("Host") or "").partition(":")[0].lower(), self.path)
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.mime)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def main() -> None:
    """Serve until Ctrl-C."""
    port = sys.argv[1] if len(sys.argv) > 1 else "8800"
    try:
        server = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    except (OSError, ValueError, OverflowError) as problem:
        sys.exit(f"geoworld: cannot listen on port {port}: {problem}")
    with server:
        print(f"geoworld: http://portal.geoworld.test/ on 127.0.0.1:{server.server_port}; Ctrl-C ends it", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
