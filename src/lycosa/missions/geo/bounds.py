"""Reference systems and bounding boxes: as services write them they flow in; names like EPSG:4326 and boxes in
WGS 84 flow out, always west, south, east, north.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from msgspec import Struct

Box = tuple[float, float, float, float]
"""West, south, east and north in degrees; west is greater than east where the box crosses the antimeridian."""

CRS84 = "OGC:CRS84"

_MAX_NAME = 120
#: The version before the code may itself hold a colon (6.18:3); codes of eight digits name the order of axes too.
_EPSG = re.compile(r"epsg\D{0,16}?(?:[0-9.]{1,6}[:/]){0,2}([0-9]{4,8})(?![0-9])\W*", re.IGNORECASE)
_CRS84 = re.compile(
    r"(?:urn:(?:x-)?ogc:def:crs:ogc:[0-9.]*:?|.{0,60}/crs/ogc/[0-9.]+/|ogc:|crs:|crs)(?:crs)?84h?|epsg:wgs84\(dd\)",
    re.IGNORECASE,
)
_URI = ("urn:", "http:", "https:")
#: Geographic systems that differ from WGS 84 by metres at most, which no footprint shows. EPSG names latitude first.
_GEOGRAPHIC = frozenset(
    f"EPSG:{code}"
    for code in (4326, 4258, 4269, 4171, 4283, 4674, 4167, 4617, 4148, 4612, 4669, 4979, 7844, 6318, 9057)
)
_MERCATOR = frozenset(f"EPSG:{code}" for code in (3857, 900913, 3785, 102100, 102113)) | {"ESRI:102100", "ESRI:102113"}
_RADIUS_M = 6378137.0
_LONGITUDES = 540.5  # maps that show the world one and a half times
_LONGITUDE_SLACK = 0.5
_ALL_ROUND = 359.0
_LATITUDE_SLACK = 0.6  # servers write 90.5 for the pole of a grid of whole degrees
#: How MapServer and GeoServer write that a layer has no extent.
_EMPTY = frozenset(((-1.0, -1.0, -1.0, -1.0), (-1.0, -1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, -1.0, -1.0)))
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")


class Extent(Struct, frozen=True, omit_defaults=True):
    """A box in a reference system of its own, its numbers in the order in which they are written."""

    crs: str
    values: tuple[float, ...]


@lru_cache(maxsize=16_384)
def name_crs(text: str) -> str:
    """The short name of a reference system, however it is written; what is not known stays as it is."""
    text = text.strip()[:_MAX_NAME]
    if found := _EPSG.fullmatch(text) or _EPSG.search(text):
        return f"EPSG:{found[1]}"
    return CRS84 if _CRS84.fullmatch(text) else text


def read_numbers(text: str, limit: int = 12) -> list[float]:
    """The numbers in a text, at most `limit`."""
    numbers: list[float] = []
    if limit == 1 and "." not in text:
        text = text.replace(",", ".", 1)  # as servers write a decimal point in some countries
    for found in _NUMBER.finditer(text[:8000]):
        numbers.append(float(found[0]))
        if len(numbers) == limit:
            break
    return numbers


def make_box(west: float, south: float, east: float, north: float) -> Box | None:
    """A box in degrees, or None where the numbers are none."""
    if not all(map(math.isfinite, (west, south, east, north))):
        return None
    if max(abs(south), abs(north)) > 90 + _LATITUDE_SLACK or max(abs(west), abs(east)) > _LONGITUDES:
        return None
    if south > north or (west, south, east, north) in _EMPTY:
        return None
    if max(abs(west), abs(east)) > 180 + _LONGITUDE_SLACK:  # from 0 to 360, or counted on beyond the antimeridian
        if east - west >= _ALL_ROUND:
            west, east = -180.0, 180.0
        else:
            west, east = _turn(west), -_turn(-east)
    west, east = _clip(west, 180.0), _clip(east, 180.0)
    if west == 180 and east == -180:  # from the antimeridian to itself
        return None
    return west, _clip(south, 90.0), east, _clip(north, 90.0)


def _turn(longitude: float) -> float:
    """The same meridian, at least -180 and less than 180."""
    return longitude if -180 <= longitude < 180 else (longitude + 180) % 360 - 180


def _clip(side: float, limit: float) -> float:
    return min(max(side, -limit), limit)


def convert(crs: str, values: tuple[float, ...], *, latitude_first: bool) -> Box | None:
    """The box in WGS 84 of one in another system, where that needs no projection library; None elsewhere.

    `latitude_first` says how the axes of geographic systems are ordered in this kind of document for a short name;
    URNs and addresses of systems always follow EPSG's order, except in the hands of those who got it wrong, which
    shows where a latitude is beyond the poles.
    """
    if len(values) != 4:
        return None
    a, b, c, d = values
    name = name_crs(crs)
    if name == CRS84:
        return make_box(a, b, c, d)
    if name in _GEOGRAPHIC:
        swapped = latitude_first or crs.lstrip().lower().startswith(_URI)
        first, second = (make_box(b, a, d, c), make_box(a, b, c, d))
        return (first or second) if swapped else (second or first)
    if name in _MERCATOR and a <= c and b <= d:
        return make_box(*_unproject(a, b), *_unproject(c, d))
    return None


def _unproject(x: float, y: float) -> tuple[float, float]:
    """Longitude and latitude of a point in Web Mercator."""
    if abs(x) > 4e7 or abs(y) > 4e8:
        return math.nan, math.nan
    return math.degrees(x / _RADIUS_M), math.degrees(2 * math.atan(math.exp(y / _RADIUS_M)) - math.pi / 2)


def unite(boxes: list[Box]) -> Box | None:
    """The smallest box around all; it crosses the antimeridian only where one of them does."""
    if not boxes:
        return None
    west, east = min(box[0] for box in boxes), max(box[2] for box in boxes)
    if any(box[0] > box[2] for box in boxes):
        west, east = _span(sorted((box[0], box[2] + 360 * (box[0] > box[2])) for box in boxes))
    return west, min(box[1] for box in boxes), east, max(box[3] for box in boxes)


def _span(arcs: list[tuple[float, float]]) -> tuple[float, float]:
    """West and east of the shortest arc that holds all, which is the one opposite to the largest gap."""
    reached = max(east for _, east in arcs) - 360
    gap, sides = 0.0, (-180.0, 180.0)
    for west, east in arcs:
        if west - reached > gap:
            gap, sides = west - reached, (west, reached)
        reached = max(reached, east)
    return sides[0], -_turn(-sides[1])


def read_ring(numbers: list[float]) -> Box | None:
    """The box around latitude-longitude pairs, as GeoRSS writes them."""
    latitudes, longitudes = numbers[0::2], numbers[1::2]
    if not longitudes or len(latitudes) != len(longitudes):
        return None
    return make_box(min(longitudes), min(latitudes), max(longitudes), max(latitudes))
