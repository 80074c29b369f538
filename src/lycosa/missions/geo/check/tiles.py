"""URL templates: the tile of a WMTS, a TileJSON or an ArcGIS cache that a probe requests, and the word it searches."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from lycosa import urls
from lycosa.missions.geo.bounds import GEOGRAPHIC, MERCATOR, Box
from lycosa.missions.geo.describe.json_services import Table, numbers, read_object, table, tables, word, words
from lycosa.missions.geo.model import Service
from lycosa.missions.geo.xml_access import attribute, children, find, text_at, texts
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
