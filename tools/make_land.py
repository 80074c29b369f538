"""Makes the land that maps are drawn on from Natural Earth: python tools/make_land.py COUNTRIES [-o FILE]

COUNTRIES is "Admin 0 – Countries", 1:110m (https://www.naturalearthdata.com/downloads/110m-cultural-vectors/, public
domain): the downloaded .zip, its .shp, or the same as GeoJSON. Neighbours share the points of their border, so that the
countries become one land when each stretch that two of them have is left out; what remains is the coast, and the shores
of what lies within the land. FILE, land.json of the geo mission where none is named, then holds rounded rings.
"""

from __future__ import annotations

import argparse
import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

from lycosa.missions.geo.export import coastline

Point = tuple[float, float]
Ring = list[Point]

_POLYGON = 5  # the type of shape in a shapefile
_DIGITS = 2
_LEAST_WATER = 1.0  # square degrees; smaller holes are crumbs between borders that do not quite meet


def read_rings(path: Path) -> Iterator[Ring]:
    """The rings of all countries: land runs clockwise, holes the other way round."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".shp"))
            yield from read_shapes(archive.read(name))
    elif path.suffix == ".shp":
        yield from read_shapes(path.read_bytes())
    else:
        yield from read_geojson(json.loads(path.read_bytes()))


def read_shapes(data: bytes) -> Iterator[Ring]:
    """The rings of a shapefile, which has them in this order already."""
    at = 100
    while at < len(data):
        _, words = struct.unpack_from(">ii", data, at)
        (kind,) = struct.unpack_from("<i", data, at + 8)
        if kind != _POLYGON:
            raise SystemExit(f"The shapefile holds shapes of type {kind}; allowed: {_POLYGON}, polygons.")
        parts, points = struct.unpack_from("<ii", data, at + 44)
        starts = struct.unpack_from(f"<{parts}i", data, at + 52)
        flat = struct.unpack_from(f"<{2 * points}d", data, at + 52 + 4 * parts)
        places = list(zip(flat[::2], flat[1::2], strict=True))
        for start, end in zip(starts, (*starts[1:], points), strict=True):
            yield places[start:end]
        at += 8 + 2 * words


def read_geojson(data: dict[str, object]) -> Iterator[Ring]:
    """The rings of a feature collection, turned where they run the other way."""
    features = data["features"]
    assert isinstance(features, list)
    for feature in features:
        shape = feature["geometry"]
        for polygon in [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]:
            for nth, ring in enumerate(polygon):
                places = [(float(x), float(y)) for x, y, *_ in ring]
                yield places if (area(places) < 0) == (nth == 0) else places[::-1]


def area(ring: Ring) -> float:
    """The area of a ring in square degrees; below zero where it runs clockwise."""
    following = ring[1:] + ring[:1]
    return sum(x * v - u * y for (x, y), (u, v) in zip(ring, following, strict=True)) / 2


def dissolve(rings: Iterator[Ring]) -> list[Ring]:
    """The outlines of what all rings cover together: stretches that two of them run along, each its own way, go."""
    stretches: dict[tuple[Point, Point], None] = {}
    for ring in rings:
        for stretch in zip(ring, ring[1:], strict=False):
            if stretch[::-1] in stretches:
                del stretches[stretch[::-1]]
            elif stretch[0] != stretch[1]:
                stretches[stretch] = None
    onward: dict[Point, list[Point]] = {}
    for start, end in stretches:
        onward.setdefault(start, []).append(end)
    found = []
    while onward:
        start = next(iter(onward))
        ring = [start]
        while True:
            ends = onward[ring[-1]]
            ring.append(ends.pop())
            if not ends:
                del onward[ring[-2]]
            if ring[-1] == start or ring[-1] not in onward:
                break
        found.append(ring)
    return found


def simplify(ring: Ring) -> list[float]:
    """A ring as numbers, rounded, without points that fall together; it ends where it began, which is not said."""
    rounded = [(round(x, _DIGITS), round(y, _DIGITS)) for x, y in ring]
    kept = [place for nth, place in enumerate(rounded) if place != rounded[nth - 1]]
    return [number for place in kept for number in place]


def make_land(path: Path) -> dict[str, list[list[float]]]:
    """Land, and the water in it."""
    rings = dissolve(read_rings(path))
    land = [ring for ring in rings if area(ring) < 0]
    water = [ring for ring in rings if area(ring) > _LEAST_WATER]
    return {"land": [simplify(ring) for ring in land], "water": [simplify(ring) for ring in water]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Makes the land that maps are drawn on.")
    parser.add_argument("countries", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path(coastline.__file__).with_name("land.json"))
    chosen = parser.parse_args()
    made = make_land(chosen.countries)
    chosen.output.write_text(json.dumps(made, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{chosen.output}: {len(made['land'])} rings of land, {len(made['water'])} of water")
