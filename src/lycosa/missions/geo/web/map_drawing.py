"""Map drawing: land and boxes as paths of SVG, in degrees, or in the projection of tiles where there are some.

The unit of a drawing is a degree of longitude; north is up, so that y is the negative of latitude.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from urllib.parse import urlsplit

from msgspec import Struct

from lycosa.missions.geo.bounds import Box, unite
from lycosa.missions.geo.export.coastline import outlines

WORLD: Box = (-180.0, -90.0, 180.0, 90.0)
_MERCATOR_EDGE = 85.0511287798  # latitude at which the world of tiles ends
_TILES_ACROSS = 4
_DEEPEST = 19
#: Degrees that a view shows at least.
_LEAST = 0.02
_ALL_ROUND = 359.0
_LARGE = 0.85  # of the world: such boxes say nothing of where one should look


class MapTile(Struct, frozen=True):
    """A tile: its address, and where it stands in the drawing."""

    address: str
    x: float
    y: float
    side: float


class MapDrawing(Struct, frozen=True):
    """The parts of a drawing that do not depend on what is found."""

    frame: str  # the viewBox of the view
    land: str
    water: str
    grid: str
    projection: str  # "flat" or "mercator"
    tiles: list[MapTile]


def flat(latitude: float) -> float:
    """The place of a latitude where degrees are alike."""
    return -latitude


def mercator(latitude: float) -> float:
    """The place of a latitude on the map of tiles, which is as high as wide."""
    bounded = math.radians(max(-_MERCATOR_EDGE, min(_MERCATOR_EDGE, latitude)))
    return -math.degrees(math.asinh(math.tan(bounded)))


def draw_map(view: Box, tiles: str) -> MapDrawing:
    """The background of a view; `tiles` is the address of tiles, if there are any."""
    name = "mercator" if tiles else "flat"
    land, water, grid = _background(name)
    place = _place(name)
    left, right = view[0], view[2] if view[2] > view[0] else view[2] + 360.0
    top, bottom = place(view[3]), place(view[1])
    frame = " ".join(f"{value:.4f}" for value in (left, top, right - left, max(bottom - top, _LEAST)))
    wanted = list_tiles(tiles, left, top, right, bottom) if tiles else []
    return MapDrawing(frame=frame, land=land, water=water, grid=grid, projection=name, tiles=wanted)


def _place(projection: str) -> Callable[[float], float]:
    return mercator if projection == "mercator" else flat


@cache
def _background(projection: str) -> tuple[str, str, str]:
    place = _place(projection)
    known = outlines()
    edge = _MERCATOR_EDGE if projection == "mercator" else 90.0
    lines = [f"M{x} {place(edge):.2f}V{place(-edge):.2f}" for x in range(-180, 181, 30)]
    lines += [f"M-180 {place(y):.2f}H180" for y in range(-60, 61, 30)]
    return _draw_rings(known["land"], place), _draw_rings(known["water"], place), "".join(lines)


def _draw_rings(rings: Iterable[list[float]], place: Callable[[float], float]) -> str:
    parts = []
    for ring in rings:
        points = zip(ring[::2], ring[1::2], strict=True)
        parts.append("M" + " ".join(f"{x:g} {round(place(y), 2):g}" for x, y in points) + "z")
    return "".join(parts)


def draw_box(box: Box, projection: str) -> str:
    """The path of a box; one that crosses the antimeridian goes on beyond it."""
    place = _place(projection)
    west, south, east, north = box
    width = east - west if east >= west else east + 360.0 - west
    top = place(north)
    height = place(south) - top
    if width >= _ALL_ROUND:  # it has neither a western nor an eastern end
        return f"M{west:.4f} {top:.4f}h{width:.4f}m{-width:.4f} {height:.4f}h{width:.4f}"
    return f"M{west:.4f} {top:.4f}h{width:.4f}v{height:.4f}h{-width:.4f}z"


def find_view(boxes: Iterable[Box]) -> Box:
    """The view that shows boxes, with some room around; those of most of the world do not count where there are others.

    The world where there are none.
    """
    small = [box for box in boxes if area(box) < _LARGE * area(WORLD)]
    found = unite(small) if small else None
    if found is None:
        return WORLD
    west, south, east, north = found
    width = east - west if east >= west else east + 360.0 - west
    room = max(0.12 * max(width, north - south), 0.05)
    if width + 2 * room >= 360.0:
        west, east = -180.0, 180.0
    else:
        west, east = west - room, west + width + room
    return west, max(-90.0, south - room), east, min(90.0, north + room)


def area(box: Box) -> float:
    """The size of a box in square degrees."""
    width = box[2] - box[0] if box[2] >= box[0] else box[2] + 360.0 - box[0]
    return width * (box[3] - box[1])


def read_view(text: str) -> Box | None:
    """The view that an address names: west, south, east, north; None where it names none."""
    try:
        west, south, east, north = (float(part) for part in text[:200].split(","))
    except ValueError:
        return None
    if not all(map(math.isfinite, (west, south, east, north))) or not -540 <= west < east <= 540 or east - west > 720:
        return None
    south, north = max(-90.0, south), min(90.0, north)
    return (west, south, east, north) if north - south >= _LEAST / 2 else None


def zoom_view(view: Box, factor: float) -> Box:
    """A view of more or less of the same place."""
    west, south, east, north = view
    width, height = (east - west) * factor, (north - south) * factor
    if width < _LEAST or height < _LEAST:
        return view
    if width >= 360.0:
        return WORLD
    x, y = (west + east) / 2, (south + north) / 2
    return x - width / 2, max(-90.0, y - height / 2), x + width / 2, min(90.0, y + height / 2)


def list_tiles(address: str, left: float, top: float, right: float, bottom: float) -> list[MapTile]:
    """The tiles that cover a part of the drawing."""
    depth = round(math.log2(360.0 * _TILES_ACROSS / max(right - left, _LEAST)))
    depth = max(0, min(_DEEPEST, depth))
    count = 1 << depth
    side = 360.0 / count
    columns = range(math.floor((left + 180.0) / side), math.floor((right + 180.0) / side) + 1)
    rows = range(max(0, math.floor((top + 180.0) / side)), min(count - 1, math.floor((bottom + 180.0) / side)) + 1)
    found = []
    for column in columns:
        for row in rows:
            place = address.replace("{z}", str(depth)).replace("{x}", str(column % count)).replace("{y}", str(row))
            found.append(MapTile(place, round(column * side - 180.0, 6), round(row * side - 180.0, 6), round(side, 6)))
    return found


def origin_of(address: str) -> str:
    """The origin of an address: what a browser may be allowed to ask."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else ""
