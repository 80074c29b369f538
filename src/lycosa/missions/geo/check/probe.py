"""Probe: the smallest request that shows whether a service works. A description flows in, one address flows out.

A map of 64 × 64 pixels, one feature, one tile, one record, the description of one coverage, process or sensor: what a
client would request, and what a server answers without effort. Templates of tiles and searches are filled for it. This
module sends nothing itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import Struct

from lycosa import urls
from lycosa.missions.geo.bounds import CRS84, GEOGRAPHIC, MERCATOR, Box
from lycosa.missions.geo.describe.json_services import Table, numbers, read_object, table, tables, word, words
from lycosa.missions.geo.model import Description, LayerItem, Service
from lycosa.missions.geo.recognise.endpoint_inference import keep_form
from lycosa.missions.geo.xml_access import attribute, children, find, read_tree, text_at, text_of, texts
from lycosa.parse import Doc

if TYPE_CHECKING:
    Element = Any

_RADIUS_M = 6378137.0
_MAX_LATITUDE = 85.0
_MAX_ZOOM = 30
_SLOT = re.compile(r"\{([^{}]*)\}")


def project(longitude: float, latitude: float) -> tuple[float, float]:
    """A point in Web Mercator, in metres."""
    latitude = min(max(latitude, -_MAX_LATITUDE), _MAX_LATITUDE)
    y = _RADIUS_M * math.log(math.tan(math.pi / 4 + math.radians(latitude) / 2))
    return _RADIUS_M * math.radians(longitude), y


def find_tile(box: Box | None, zoom: int) -> tuple[int, int]:
    """Column and row of the tile in the middle of a box, in the usual scheme of the web."""
    west, south, east, north = box or (-180.0, -_MAX_LATITUDE, 180.0, _MAX_LATITUDE)
    x, y = project((west + east) / 2, (south + north) / 2)
    size = 2 * math.pi * _RADIUS_M
    count = 1 << min(max(zoom, 0), _MAX_ZOOM)
    column = int((x / size + 0.5) * count)
    row = int((0.5 - y / size) * count)
    return min(max(column, 0), count - 1), min(max(row, 0), count - 1)


def find_tile_json(doc: Doc, service: Service) -> str:
    """The address of a tile in the middle of a TileJSON's box, at its lowest zoom; "" for none."""
    found = read_object(doc.body)
    templates = words(found.get("tiles"))
    if not templates:
        return ""
    zoom = found.get("minzoom")
    zoom = zoom if isinstance(zoom, int) and 0 <= zoom <= _MAX_ZOOM else 0
    column, row = find_tile(service.box, zoom)
    if found.get("scheme") == "tms":
        row = (1 << zoom) - 1 - row
    values = {"z": str(zoom), "x": str(column), "y": str(row), "-y": str((1 << zoom) - 1 - row), "s": "a", "r": ""}
    return urls.normalise(fill(templates[0], values), doc.url) or ""


def find_cached(doc: Doc, service: Service) -> str:
    """Level, row and column of a tile in the middle of an ArcGIS cache, the coarsest; "" for none."""
    found = read_object(doc.body)
    info = table(found.get("tileInfo"))
    origin = table(info.get("origin"))
    grid = numbers([origin.get("x"), origin.get("y"), info.get("cols"), info.get("rows")])
    (highest,) = numbers([found.get("minScale")]) or (0.0,)
    point = _find_middle(found, info, service.box)
    for lod in tables(info.get("lods")):
        scales = numbers([lod.get("resolution"), lod.get("scale")])
        if len(grid) == 4 and len(scales) == 2 and point and not 0 < highest < scales[1]:
            width, height = grid[2] * scales[0], grid[3] * scales[0]
            if min(width, height) > 0:
                column, row = (point[0] - grid[0]) / width, (grid[1] - point[1]) / height
                return f"{word(lod.get('level'), 12)}/{_count(row)}/{_count(column)}"
    return ""


def _find_middle(found: Table, info: Table, box: Box | None) -> tuple[float, float] | None:
    """The middle of a service of ArcGIS in the system of its tiles."""
    reference = table(info.get("spatialReference")) or table(found.get("spatialReference"))
    crs = f"EPSG:{word(reference.get('latestWkid')) or word(reference.get('wkid'))}"
    if box and (crs in MERCATOR or crs in GEOGRAPHIC):
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        return project(x, y) if crs in MERCATOR else (x, y)
    extent = table(found.get("fullExtent"))
    sides = numbers([extent.get(key) for key in ("xmin", "ymin", "xmax", "ymax")])
    return ((sides[0] + sides[2]) / 2, (sides[1] + sides[3]) / 2) if len(sides) == 4 else None


def _count(tiles: float) -> int:
    return int(min(max(tiles, 0), 1 << _MAX_ZOOM)) if math.isfinite(tiles) else 0


def find_wmts(root: Element) -> tuple[str, dict[str, str]] | None:
    """The template of the first layer's tiles, if it has one, and the values that make a tile: one in the middle of its
    limits, or of its coarsest matrix. None where there is nothing to ask for.
    """
    content = find(root, "Contents")
    layer = next(children(content, "Layer"), None) if content is not None else None
    link = next(children(layer, "TileMatrixSetLink"), None) if layer is not None else None
    wanted = text_at(link, "TileMatrixSet") if link is not None else ""
    sets = [e for e in children(content, "TileMatrixSet") if text_at(e, "Identifier") == wanted] if wanted else []
    matrix = next(children(sets[0], "TileMatrix"), None) if sets else None
    if layer is None or link is None or matrix is None:
        return None
    styles = list(children(layer, "Style"))
    style = next((e for e in styles if e.get("isDefault") == "true"), styles[0] if styles else None)
    values = {text_at(e, "Identifier").lower(): _default_of(e) for e in children(layer, "Dimension")}
    values |= {
        "layer": text_at(layer, "Identifier"),
        "style": text_at(style, "Identifier") or "default",
        "format": next(iter(texts(layer, "Format")), "image/png"),
        "tilematrixset": wanted,
        **_find_middle_tile(matrix, next(link.iter("{*}TileMatrixLimits"), None)),
    }
    resources = [e for e in children(layer, "ResourceURL") if e.get("resourceType") == "tile"]
    return attribute(resources[0], "template") if resources else "", values


def _find_middle_tile(matrix: Element, limits: Element | None) -> dict[str, str]:
    """The tile in the middle of a matrix, or of the limits within which a layer has tiles."""
    name = text_at(matrix, "Identifier")
    if limits is None:
        column, row = _number(matrix, "MatrixWidth") // 2, _number(matrix, "MatrixHeight") // 2
    else:
        name = text_at(limits, "TileMatrix") or name
        column = (_number(limits, "MinTileCol") + _number(limits, "MaxTileCol")) // 2
        row = (_number(limits, "MinTileRow") + _number(limits, "MaxTileRow")) // 2
    return {"tilematrix": name, "tilerow": str(row), "tilecol": str(column)}


def fill(template: str, values: dict[str, str]) -> str:
    """A template with its slots filled; names in lower case."""
    return _SLOT.sub(lambda slot: values.get(slot[1].lower(), ""), template)


def _default_of(dimension: Element) -> str:
    return text_at(dimension, "Default") or next(iter(texts(dimension, "Value")), "")


def _number(element: Element, name: str) -> int:
    text = text_at(element, name)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0


def fill_search(template: str) -> str:
    """An OpenSearch template with one word to search for; "" where it requires what a client cannot know."""
    values = {"searchTerms": "water", "count": "1", "startIndex": "1", "startPage": "1", "language": "en"}
    values |= {"inputEncoding": "UTF-8", "outputEncoding": "UTF-8"}
    needed = [slot for slot in _SLOT.findall(template) if not slot.endswith("?") and slot not in values]
    return "" if needed else _SLOT.sub(lambda slot: values.get(slot[1].rstrip("?"), ""), template)


PIXELS = 64
#: Bytes of an answer that are read: a description, a record, a tile are smaller; of a download the beginning is enough.
MAX_BYTES = 4 << 20
_DOWNLOAD_BYTES = 1 << 16
_EARTH: Box = (-180.0, -90.0, 180.0, 90.0)

#: Servers of ArcGIS that a probe can ask; others calculate, and require parameters.
_SERVERS = ("mapserver", "featureserver", "imageserver", "vectortileserver", "layer")

#: What an answer must be.
IMAGE, XML, JSON, TILE, ANY = "image", "xml", "json", "tile", "any"


class Probe(Struct, frozen=True):
    """A small request to a service, and the answer that it expects."""

    url: str
    operation: str  # GetMap, GetFeature… as people call it
    expects: str  # image, xml, json, tile (an image, or a tile of vectors) or any
    roots: tuple[str, ...] = ()  # names that the root of an XML answer may have; empty: any but an exception
    max_bytes: int = MAX_BYTES
    elsewhere: bool = False  # it asks another service, whose exception reports say nothing of this one


def make_probe(found: Description, doc: Doc) -> Probe | None:
    """The request that tests a service; None where there is nothing to ask for."""
    make = _MAKERS.get(found.service.type)
    return make(found, doc) if make is not None else None


def has_probe(service: Service) -> bool:
    """Whether such a service should offer more than its description; directories do not, nor tools of ArcGIS."""
    if service.type == "ARCGIS":
        return _name_server(service) in _SERVERS
    return service.type in _MAKERS and not service.kind.startswith("ogcapi:conformance")


def _join(address: str, **parameters: str) -> str:
    """An address with parameters, in place of those of the same names that it has."""
    head, _, query = address.partition("#")[0].partition("?")
    names = {name.lower() for name in parameters}
    kept = [pair for pair in query.split("&") if pair and pair.partition("=")[0].lower() not in names]
    kept += [f"{name}={quote(value, safe=':,/()')}" for name, value in parameters.items()]
    return f"{head}?{'&'.join(kept)}"


def _find_address(service: Service, *operations: str) -> str:
    """Where an operation is offered, if that is where the service itself is; else its endpoint.

    Servers behind proxies advertise names that nobody else can resolve, or the hosts of their makers.
    """
    home = _domain_of(service.endpoint)
    for operation in service.operations:
        if operation.name in operations:
            for address in operation.get:
                resolved = urls.normalise(address, service.endpoint)
                if resolved and _domain_of(resolved) == home:
                    return resolved
    return service.endpoint


def _domain_of(url: str) -> str:
    host = urls.host_of(url)
    return urls.registered_domain(host) or host


def _choose(items: list[LayerItem], *, boxed: bool = False) -> LayerItem | None:
    """An item that can be asked for: one with a box and nothing below it, if there is one."""
    named = [item for item in items if item.name]
    plain = [item for item in named if not item.group] or named
    first = plain[0] if plain else None
    return next((item for item in plain if item.box), first) if boxed else first


def _shrink(box: Box | None) -> Box:
    """The middle half of a box, which is not empty."""
    west, south, east, north = box or _EARTH
    if west > east:  # across the antimeridian
        east = 180.0
    width, height = max(east - west, 0.02), max(north - south, 0.02)
    x, y = (west + east) / 2, (south + north) / 2
    west, east = max(x - width / 4, -180.0), min(x + width / 4, 180.0)
    return west, max(y - height / 4, -85.0), east, min(y + height / 4, 85.0)


def _spell(*values: float) -> str:
    return ",".join(f"{value:.6f}".rstrip("0").rstrip(".") for value in values)


def _ask_map(found: Description, _doc: Doc) -> Probe | None:
    service = found.service
    layer = _choose(found.items, boxed=True)
    if layer is None:
        return None
    version = service.version or "1.1.1"
    modern = version >= "1.3"
    crs, box = _place(layer, modern=modern)
    formats = [name for name in service.formats if name.lower().startswith("image/") or "/" not in name]
    form = next((name for name in formats if "png" in name.lower()), formats[0] if formats else "image/png")
    address = _find_address(service, "GetMap", "Map")
    old = version < "1.1" and not modern
    parameters = {
        "service": "WMS",
        "version" if not old else "wmtver": version,
        "request": "GetMap" if not old else "map",
        "layers": layer.name,
        "styles": "",
        "crs" if modern else "srs": crs,
        "bbox": box,
        "width": str(PIXELS),
        "height": str(PIXELS),
        "format": form,
    }
    return Probe(_join(address, **parameters), "GetMap", IMAGE)


def _place(layer: LayerItem, *, modern: bool) -> tuple[str, str]:
    """A reference system that a layer has, and a box within the layer in it."""
    west, south, east, north = _shrink(layer.box)
    names = set(layer.crs)
    if modern and CRS84 in names:
        return "CRS:84", _spell(west, south, east, north)
    if "EPSG:4326" in names or not names:
        return "EPSG:4326", _spell(south, west, north, east) if modern else _spell(west, south, east, north)
    if "EPSG:3857" in names:
        return "EPSG:3857", _spell(*project(west, south), *project(east, north))
    for extent in layer.extents:
        if len(extent.values) == 4:
            a, b, c, d = extent.values
            x, y = (c - a) / 4, (d - b) / 4
            return extent.crs, _spell(a + x, b + y, c - x, d - y)
    return "EPSG:4326", _spell(south, west, north, east) if modern else _spell(west, south, east, north)


def _ask_feature(found: Description, _doc: Doc) -> Probe | None:
    service = found.service
    item = _choose(found.items)
    if item is None:
        return None
    version = service.version or "1.1.0"
    modern = version >= "2"
    parameters = {"service": "WFS", "version": version, "request": "GetFeature"}
    parameters |= {"typenames" if modern else "typename": item.name, "count" if modern else "maxfeatures": "1"}
    address = _find_address(service, "GetFeature")
    return Probe(_join(address, **parameters), "GetFeature", XML, ("FeatureCollection", "SimpleFeatureCollection"))


def _ask_coverage(found: Description, _doc: Doc) -> Probe | None:
    service = found.service
    item = _choose(found.items)
    if item is None:
        return None
    version = service.version or "1.0.0"
    name = "coverage"
    if version >= "1.1":
        name = "coverageid" if version >= "2" else "identifiers"
    parameters = {"service": "WCS", "version": version, "request": "DescribeCoverage", name: item.name}
    roots = ("CoverageDescription", "CoverageDescriptions")
    return Probe(_join(_find_address(service, "DescribeCoverage"), **parameters), "DescribeCoverage", XML, roots)


def _ask_process(found: Description, _doc: Doc) -> Probe | None:
    service = found.service
    item = _choose(found.items)
    if item is None:
        return None
    parameters = {"service": "WPS", "version": service.version or "1.0.0", "request": "DescribeProcess"}
    parameters["identifier"] = item.name
    roots = ("ProcessDescriptions", "ProcessOfferings")
    return Probe(_join(_find_address(service, "DescribeProcess"), **parameters), "DescribeProcess", XML, roots)


def _ask_record(found: Description, _doc: Doc) -> Probe | None:
    service = found.service
    version = service.version or "2.0.2"
    parameters = {"service": "CSW", "version": version, "request": "GetRecords", "typenames": "csw:Record"}
    parameters |= {"elementsetname": "brief", "resulttype": "results", "maxrecords": "1", "startposition": "1"}
    if version < "3":
        parameters["namespace"] = "xmlns(csw=http://www.opengis.net/cat/csw/2.0.2)"
    address = _find_address(service, "GetRecords")
    return Probe(_join(address, **parameters), "GetRecords", XML, ("GetRecordsResponse",))


def _ask_sensor(found: Description, doc: Doc) -> Probe | None:
    service = found.service
    root, _ = read_tree(doc)
    if root is None:
        return None
    name = next((text_of(e) or attribute(e, "href") for e in root.iter("{*}procedure")), "")
    if not name:
        return None
    modern = (service.version or "1.0.0") >= "2"
    element, parameter = ("procedureDescriptionFormat",) * 2 if modern else ("", "outputformat")
    form = next((text_of(e) for e in root.iter("{*}" + element)), "") if element else ""
    form = form or ("http://www.opengis.net/sensorML/1.0.1" if modern else 'text/xml;subtype="sensorML/1.0.1"')
    parameters = {"service": "SOS", "version": service.version or "1.0.0", "request": "DescribeSensor"}
    parameters |= {"procedure": name, parameter.lower(): form}
    return Probe(_join(_find_address(service, "DescribeSensor"), **parameters), "DescribeSensor", XML)


def _ask_tile(found: Description, doc: Doc) -> Probe | None:
    root, _ = read_tree(doc)
    tile = find_wmts(root) if root is not None else None
    if tile is None:
        return None
    template, values = tile
    if template and (address := urls.normalise(fill(template, values), doc.url)):
        return Probe(address, "GetTile", TILE)
    parameters = {"service": "WMTS", "version": "1.0.0", "request": "GetTile", **values}
    return Probe(_join(_find_address(found.service, "GetTile"), **parameters), "GetTile", TILE)


def _ask_tile_json(found: Description, doc: Doc) -> Probe | None:
    address = find_tile_json(doc, found.service)
    return Probe(address, "tile", TILE) if address else None


def _ask_download(found: Description, doc: Doc) -> Probe | None:
    """The beginning of a download: the check does not wait for the rest."""
    address = next((item.address for item in found.items if item.address), "")
    resolved = urls.normalise(address, doc.url) if address else None
    return Probe(resolved, "download", ANY, max_bytes=_DOWNLOAD_BYTES) if resolved else None


def _ask_api(found: Description, doc: Doc) -> Probe | None:
    """One feature of a collection; where no collection is known yet, the list of them."""
    base = found.service.endpoint.rstrip("/")
    for item in found.items:
        if item.type == "collection" and item.address:
            address = _keep_near(item.address, doc, f"{base}/collections/{quote(item.name)}/items")
            return Probe(_join(keep_form(address, doc.url), limit="1"), "items", JSON)
    # The list of conformance classes is mostly a file, and says nothing of the data.
    for name in ("data", "collections", "processes", "conformance"):
        for operation in found.service.operations:
            address = _keep_near(operation.get[0], doc, "") if operation.name == name and operation.get else ""
            if address and not any("html" in form for form in operation.formats):
                return Probe(_join(address, f="json"), name, JSON)
    return None


def _keep_near(address: str, doc: Doc, otherwise: str) -> str:
    """An address in a document, unless it leads to another domain, as behind a proxy that rewrites nothing."""
    resolved = urls.normalise(address, doc.url)
    return resolved if resolved and _domain_of(resolved) == _domain_of(doc.url) else otherwise


def _ask_catalogue(found: Description, doc: Doc) -> Probe | None:
    for item in found.items:
        if item.address and (address := urls.normalise(item.address, doc.url)):
            paged = "/items" in address.partition("?")[0]
            return Probe(_join(address, limit="1") if paged else address, "items" if paged else "child", JSON)
    return None


def _ask_things(found: Description, _doc: Doc) -> Probe | None:
    address = found.service.endpoint.rstrip("/")
    return Probe(f"{address}/Things?$top=1", "Things", JSON)


def _name_server(service: Service) -> str:
    return service.kind.partition("/")[0].removeprefix("arcgis:")


def _ask_arcgis(found: Description, doc: Doc) -> Probe | None:
    service = found.service
    kind = _name_server(service)
    endpoint = service.endpoint.rstrip("/")
    tiled = any(operation.name.lower() == "tilesonly" for operation in service.operations)
    if kind in ("mapserver", "imageserver") and tiled and (tile := find_cached(doc, service)):
        return Probe(f"{endpoint}/tile/{tile}", "tile", TILE)
    box = _spell(*_shrink(service.box))
    picture = {"bbox": box, "bboxSR": "4326", "size": f"{PIXELS},{PIXELS}", "format": "png", "f": "image"}
    if kind == "mapserver":
        return Probe(_join(f"{endpoint}/export", **picture), "export", IMAGE)
    if kind == "imageserver":
        return Probe(_join(f"{endpoint}/exportImage", **picture), "exportImage", IMAGE)
    if kind == "vectortileserver":
        return Probe(f"{endpoint}/tile/0/0/0.pbf", "tile", TILE)
    query = {"where": "1=1", "returnGeometry": "false", "resultRecordCount": "1", "f": "json"}
    if kind == "layer":
        return Probe(_join(f"{doc.url.partition('?')[0].rstrip('/')}/query", **query), "query", JSON)
    layer = next((item for item in found.items if item.type in ("layer", "table") and not item.group), None)
    if layer is not None:
        return Probe(_join(f"{endpoint}/{quote(layer.name)}/query", **query), "query", JSON)
    child = next((item for item in found.items if item.type == "service"), None)
    if kind == "directory" and child is not None:
        base = endpoint.partition("/rest/services")[0] + "/rest/services"
        address = child.address or f"{base}/{quote(child.name)}"
        return Probe(_join(address, f="json"), "service", JSON, elsewhere=True)
    if tasks := words(read_object(doc.body).get("tasks")):
        return Probe(_join(f"{endpoint}/{quote(tasks[0])}", f="json"), "task", JSON)
    return None


def _ask_search(found: Description, doc: Doc) -> Probe | None:
    for operation in found.service.operations:
        for template in operation.get:
            if (address := fill_search(template)) and (resolved := urls.normalise(address, doc.url)):
                return Probe(resolved, "search", ANY, max_bytes=_DOWNLOAD_BYTES)
    return None


def _ask_tile_map(found: Description, doc: Doc) -> Probe | None:
    for item in found.items:
        if item.address and (address := urls.normalise(item.address, doc.url)):
            return Probe(address, "TileMap", XML, ("TileMap",))
    return None


_MAKERS: dict[str, Callable[[Description, Doc], Probe | None]] = {
    "WMS": _ask_map,
    "WFS": _ask_feature,
    "WCS": _ask_coverage,
    "WMTS": _ask_tile,
    "WPS": _ask_process,
    "CSW": _ask_record,
    "SOS": _ask_sensor,
    "ATOM": _ask_download,
    "OGCAPI": _ask_api,
    "STAC": _ask_catalogue,
    "STA": _ask_things,
    "ARCGIS": _ask_arcgis,
    "TILEJSON": _ask_tile_json,
    "OPENSEARCH": _ask_search,
    "TMS": _ask_tile_map,
}
