"""Reference systems and bounding boxes: names like EPSG:4326, and boxes in WGS 84, however services write them.

A box is always west, south, east, north.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from msgspec import Struct

Box = tuple[float, float, float, float]
"""West, south, east and north in degrees; west is greater than east where the box crosses the antimeridian."""

CRS84 = "OGC:CRS84"

#: Characters of a text in which numbers are read: a ring of some 40,000 points.
MAX_CHARS = 1 << 20
_MAX_NAME = 120
#: The version before the code may itself hold a colon (6.18:3); codes of eight digits name the order of axes too.
_EPSG = re.compile(r"epsg\D{0,16}?(?:[0-9.]{1,6}[:/]){0,2}([0-9]{4,8})(?![0-9])\W*", re.IGNORECASE)
_CRS84 = re.compile(
    r"(?:urn:(?:x-)?ogc:def:crs:ogc:[0-9.]*:?|.{0,60}/crs/ogc/[0-9.]+/|ogc:|crs:|crs)(?:crs)?84h?|epsg:wgs84\(dd\)",
    re.IGNORECASE,
)
_URI = ("urn:", "http:", "https:")
#: Geographic systems that differ from WGS 84 by metres at most, which no footprint shows. EPSG names latitude first.
GEOGRAPHIC = frozenset(
    f"EPSG:{code}"
    for code in (4326, 4258, 4269, 4171, 4283, 4674, 4167, 4617, 4148, 4612, 4669, 4979, 4490, 7844, 6318, 9057)
)
MERCATOR = frozenset(f"EPSG:{code}" for code in (3857, 900913, 3785, 102100, 102113)) | {"ESRI:102100", "ESRI:102113"}
_RADIUS_M = 6378137.0
#: Zones of UTM: from code to code, the first zone, and whether they are southern. Of whatever datum: they differ by
#: less than a footprint shows.
_ZONES = (
    (32601, 32660, 1, False), (32701, 32760, 1, True), (25828, 25838, 28, False), (23028, 23038, 28, False),
    (26901, 26923, 1, False), (26701, 26722, 1, False), (6330, 6348, 1, False), (31965, 31976, 11, False),
    (31977, 31985, 17, True), (29187, 29195, 17, True), (24817, 24821, 17, False), (24877, 24882, 17, True),
    (28348, 28358, 48, True), (7846, 7859, 46, True), (3097, 3101, 51, False),
)  # fmt: skip
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
    for found in _NUMBER.finditer(text[:MAX_CHARS]):
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
    if name in GEOGRAPHIC:
        swapped = latitude_first or crs.lstrip().lower().startswith(_URI)
        first, second = (make_box(b, a, d, c), make_box(a, b, c, d))
        return (first or second) if swapped else (second or first)
    if a > c or b > d:
        return None
    if name in MERCATOR:
        return make_box(*_unproject(a, b), *_unproject(c, d))
    zone = _find_zone(name)
    return _read_zone(values, *zone) if zone else None


def is_converted(crs: str) -> bool:
    """Whether boxes in a system can be converted."""
    name = name_crs(crs)
    return name == CRS84 or name in GEOGRAPHIC or name in MERCATOR or _find_zone(name) is not None


def _find_zone(name: str) -> tuple[int, bool] | None:
    """The zone of UTM that a system is, and whether it is a southern one."""
    code = int(name[5:]) if name.startswith("EPSG:") and name[5:].isdecimal() else 0
    return next(((code - first + zone, south) for first, last, zone, south in _ZONES if first <= code <= last), None)


def _read_zone(values: tuple[float, ...], zone: int, south: bool) -> Box | None:
    """The box around one in metres of UTM, by its corners, the middle of its sides and where it meets the meridian."""
    a, b, c, d = values
    if max(map(abs, values)) <= 360 or a < -1.5e6 or c > 2.5e6 or b < -1e6 or d > 1.1e7:
        return None  # degrees after all, or nothing that UTM is for
    columns = [a, (a + c) / 2, c, *([5e5] if a < 5e5 < c else [])]
    points = [_unproject_utm(x, y - 1e7 * south) for x in columns for y in (b, (b + d) / 2, d)]
    middle = 6 * zone - 183
    east = [middle + longitude for longitude, _ in points]
    north = [latitude for _, latitude in points]
    return make_box(min(east), min(north), max(east), max(north))


def _unproject_utm(x: float, y: float) -> tuple[float, float]:
    """Degrees from the middle meridian, and latitude, of a point in metres (Snyder, Map projections, 8-12 and on)."""
    e2 = 0.00669438
    e1 = (1 - math.sqrt(1 - e2)) / (1 + math.sqrt(1 - e2))
    prime = e2 / (1 - e2)
    mu = y / 0.9996 / (_RADIUS_M * (1 - e2 / 4 - 3 * e2**2 / 64 - 5 * e2**3 / 256))
    foot = mu + (3 * e1 / 2 - 27 * e1**3 / 32) * math.sin(2 * mu)
    foot += (21 * e1**2 / 16 - 55 * e1**4 / 32) * math.sin(4 * mu) + 151 * e1**3 / 96 * math.sin(6 * mu)
    sine, cosine, tangent = math.sin(foot), math.cos(foot), math.tan(foot)
    c, t, root = prime * cosine**2, tangent**2, math.sqrt(1 - e2 * sine**2)
    n, r = _RADIUS_M / root, _RADIUS_M * (1 - e2) / root**3
    q = (x - 5e5) / (n * 0.9996)
    latitude = q**2 / 2 - (5 + 3 * t + 10 * c - 4 * c**2 - 9 * prime) * q**4 / 24
    latitude += (61 + 90 * t + 298 * c + 45 * t**2 - 252 * prime - 3 * c**2) * q**6 / 720
    longitude = q - (1 + 2 * t + c) * q**3 / 6
    longitude += (5 - 2 * c + 28 * t - 3 * c**2 + 8 * prime + 24 * t**2) * q**5 / 120
    return math.degrees(longitude / cosine), math.degrees(foot - n * tangent / r * latitude)


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
