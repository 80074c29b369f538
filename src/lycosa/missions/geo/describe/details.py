"""Details: documents in which a service tells of single items what its description leaves out.

Coverages of a WCS (DescribeCoverage) and tile maps of a TMS flow in, items with title, box and systems flow out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lycosa.missions.geo.bounds import Box, Extent, convert, make_box, name_crs, read_numbers
from lycosa.missions.geo.describe.ows import place_box
from lycosa.missions.geo.model import MAX_ITEMS, LayerItem
from lycosa.missions.geo.xml_access import attribute, children, find, fold, prose_at, read_tree, text_at
from lycosa.parse import Doc

if TYPE_CHECKING:
    Element = Any

_ROOTS = {"CoverageDescriptions": "WCS", "CoverageDescription": "WCS", "TileMap": "TMS"}
#: What servers call the axes of an envelope, east first.
_EAST = ("long", "lon", "longitude", "e", "x", "easting", "east")
_NORTH = ("lat", "latitude", "n", "y", "northing", "north")
_MAX_AXES = 8


def name_detailed(doc: Doc) -> str:
    """The type of the service of whose items a document tells: WCS, TMS; "" for any other document."""
    return _ROOTS.get(doc.root.name, "") if doc.root is not None else ""


def read_details(doc: Doc) -> list[LayerItem]:
    """The items of which a document tells; a tile map is known by its address, a coverage by its name."""
    kind = name_detailed(doc)
    root, _ = read_tree(doc) if kind else (None, "")
    if root is None:
        return []
    if kind == "TMS":
        return [_read_tile_map(root, doc.url)]
    found = [root] if root.tag.endswith("}CoverageDescription") else []
    found += children(root, "CoverageDescription")
    return [item for item in map(_read_coverage, found[:MAX_ITEMS]) if item.name]


def _read_tile_map(root: Element, url: str) -> LayerItem:
    item = LayerItem("tile-map", "", text_at(root, "Title"), prose_at(root, "Abstract"), address=url)
    crs = name_crs(text_at(root, "SRS"))
    item.crs, item.crs_count = ((crs,), 1) if crs else ((), 0)
    stated = find(root, "BoundingBox")
    values = [n for side in ("minx", "miny", "maxx", "maxy") for n in read_numbers(attribute(stated, side), 1)]
    if len(values) == 4:
        item.extents = (Extent(crs, tuple(values)),)
        item.box = convert(crs, tuple(values), latitude_first=False)
        item.box_from = "own" if item.box else "unusable"
    return item


def _read_coverage(element: Element) -> LayerItem:
    """A coverage of WCS 1.1, which has boxes of OWS Common, or of 2.0, which has an envelope of GML."""
    item = LayerItem(
        "coverage",
        text_at(element, "CoverageId") or text_at(element, "Identifier"),
        text_at(element, "Title") or text_at(element, "name"),
        prose_at(element, "Abstract") or prose_at(element, "description"),
    )
    domain = find(element, "Domain", "SpatialDomain")
    if domain is not None:
        place_box(item, domain, None)
    envelope = next(element.iter("{*}Envelope", "{*}EnvelopeWithTimePeriod"), None)
    if envelope is not None and item.box is None:
        crs = fold(envelope.get("srsName", ""), 300)
        item.crs, item.crs_count = ((name_crs(crs),), 1) if crs else ((), 0)
        item.box, values = _read_envelope(envelope, crs)
        item.box_from = "own" if item.box else "unusable"
        item.extents = (Extent(name_crs(crs), values),) if values else ()
    return item


def _read_envelope(envelope: Element, crs: str) -> tuple[Box | None, tuple[float, ...]]:
    """The box of an envelope, and its numbers; the labels of its axes say which is which, also beside time."""
    lower, upper = (read_numbers(text_at(envelope, name), _MAX_AXES) for name in ("lowerCorner", "upperCorner"))
    if len(lower) < 2 or len(lower) != len(upper):
        return None, ()
    labels = [label.lower() for label in envelope.get("axisLabels", "")[:200].split()]
    east = next((at for at, label in enumerate(labels[: len(lower)]) if label in _EAST), -1)
    north = next((at for at, label in enumerate(labels[: len(lower)]) if label in _NORTH), -1)
    if east < 0 or north < 0:
        values = (lower[0], lower[1], upper[0], upper[1])
        return convert(crs, values, latitude_first=True), values
    values = (lower[east], lower[north], upper[east], upper[north])
    degrees = labels[north].startswith("lat")
    return make_box(*values) if degrees else convert(name_crs(crs), values, latitude_first=False), values
