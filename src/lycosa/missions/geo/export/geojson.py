"""Footprints: the boxes of services and layers as GeoJSON (RFC 7946).

A box that crosses the antimeridian is cut there; one that is a point or a line becomes one; where there is no usable
box, the geometry is null and `problem` says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lycosa.missions.geo.bounds import Box, is_converted, name_crs
from lycosa.missions.geo.inventory.inventory import Layer, ServiceEntry
from lycosa.missions.geo.model import LayerItem

#: Decimals of a degree: a tenth of a metre.
_DIGITS = 6
_PROBLEMS = {
    "unusable": "the box that is stated is not in degrees",
    "cut": "the shape that is stated is too long to be read",
    "": "no box is stated",
}
_encode = msgspec.json.Encoder().encode


def draw(box: Box | None) -> dict[str, Any] | None:
    """The geometry of a box."""
    if box is None:
        return None
    west, south, east, north = (round(side, _DIGITS) for side in box)
    if west > east:
        halves = [(west, 180.0), (-180.0, east)]
        rings = [_ring(left, south, right, north) for left, right in halves if left < right]
        if south < north and rings:
            if len(rings) == 1:
                return {"type": "Polygon", "coordinates": [rings[0]]}
            return {"type": "MultiPolygon", "coordinates": [[ring] for ring in rings]}
        east = 180.0 if west < 180.0 else west
    if west == east and south == north:
        return {"type": "Point", "coordinates": [west, south]}
    if west == east or south == north:
        return {"type": "LineString", "coordinates": [[west, south], [east, north]]}
    return {"type": "Polygon", "coordinates": [_ring(west, south, east, north)]}


def _ring(west: float, south: float, east: float, north: float) -> list[list[float]]:
    """Anticlockwise, as exterior rings are."""
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def round_box(box: Box) -> list[float]:
    """The box as `bbox` holds it; west is greater than east where it crosses the antimeridian."""
    return [round(side, _DIGITS) for side in box]


def explain(item: LayerItem) -> str:
    """Why an item has no footprint."""
    if item.box:
        return ""
    if foreign := [extent.crs for extent in item.extents if extent.crs and not is_converted(extent.crs)]:
        return f"the box that is stated is in {name_crs(foreign[0])}, which is not converted"
    return _PROBLEMS.get(item.box_from or ("unusable" if item.extents else ""), _PROBLEMS[""])


def layer_features(layers: Iterable[Layer]) -> Iterator[dict[str, Any]]:
    """One feature per layer."""
    for layer in layers:
        item, entry = layer.item, layer.entry
        properties = {
            "name": item.name,
            "title": item.title,
            "abstract": item.abstract,
            "type": item.type,
            "service": entry.id,
            "service_type": entry.service.type,
            "service_title": entry.service.title,
            "provider": entry.service.provider,
            "endpoint": entry.service.endpoint,
            "state": entry.state,
            "dataset": layer.dataset,
            "services": len(layer.offers),
            "problem": explain(item),
        }
        yield _feature(layer.id, item.box, properties)


def service_features(entries: Iterable[ServiceEntry]) -> Iterator[dict[str, Any]]:
    """One feature per service."""
    for entry in entries:
        service = entry.service
        properties = {
            "title": service.title,
            "abstract": service.abstract,
            "type": service.type,
            "version": service.version,
            "provider": service.provider,
            "endpoint": service.endpoint,
            "state": entry.state,
            "reason": entry.reason,
            "layers": service.items,
            "licence": service.licence,
            "problem": "" if service.box else _PROBLEMS[""],
        }
        yield _feature(entry.id, service.box, properties)


def _feature(name: str, box: Box | None, properties: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "Feature", "id": name}
    if box:
        found["bbox"] = round_box(box)
    return found | {"geometry": draw(box), "properties": {k: v for k, v in properties.items() if v not in ("", None)}}


def write_geojson(features: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A feature collection as text, one feature per line."""
    before = '{"type":"FeatureCollection","features":[\n'
    count = 0
    for feature in features:
        yield before + _encode(feature).decode()
        before = ",\n"
        count += 1
    yield (before if not count else "\n") + "]}\n"
