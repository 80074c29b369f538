"""The land on maps: countries become one land, what lies within it is water, and the numbers are rounded."""

from __future__ import annotations

import importlib.util
import json
import struct
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

_TOOL = Path(__file__).resolve().parents[4] / "tools" / "make_land.py"
#: Two neighbours around a lake, with a border of two stretches, and an island.
WEST = [(0.0, 0.0), (0.0, 9.0), (4.0, 9.0), (4.0, 6.0), (2.0, 6.0), (2.0, 3.0), (4.0, 3.0), (4.0, 0.0), (0.0, 0.0)]
EAST = [(4.0, 0.0), (4.0, 3.0), (6.0, 3.0), (6.0, 6.0), (4.0, 6.0), (4.0, 9.0), (9.0, 9.0), (9.0, 0.0), (4.0, 0.0)]
ISLAND = [(20.0, 1.0), (20.0, 2.004), (20.001, 2.001), (21.0, 2.0), (20.0, 1.0)]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_land", _TOOL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_geojson(folder: Path) -> Path:
    shapes = [
        {"type": "Polygon", "coordinates": [WEST[::-1]]},
        {"type": "MultiPolygon", "coordinates": [[EAST], [ISLAND]]},
    ]
    path = folder / "countries.geojson"
    path.write_text(json.dumps({"features": [{"geometry": shape} for shape in shapes]}))
    return path


def as_zip(folder: Path) -> Path:
    records = b""
    for number, rings in enumerate(([WEST], [EAST, ISLAND]), 1):
        starts = [sum(map(len, rings[:nth])) for nth in range(len(rings))]
        points = [number for ring in rings for place in ring for number in place]
        body = struct.pack("<i4d2i", 5, 0, 0, 0, 0, len(rings), len(points) // 2)
        body += struct.pack(f"<{len(starts)}i{len(points)}d", *starts, *points)
        records += struct.pack(">ii", number, len(body) // 2) + body
    path = folder / "countries.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("countries.shp", bytes(100) + records)
        archive.writestr("countries.prj", "")
    return path


@pytest.mark.parametrize("write", [as_geojson, as_zip])
def test_countries_become_one_land(tool: ModuleType, tmp_path: Path, write: object) -> None:
    """Without the border between them, with the lake in it, and the island for itself, of either file."""
    assert callable(write)
    made = tool.make_land(write(tmp_path))
    assert sorted(len(ring) // 2 for ring in made["land"]) == [3, 6]
    (island,) = (ring for ring in made["land"] if 20.0 in ring)
    assert set(zip(island[::2], island[1::2], strict=True)) == {(20.0, 1.0), (20.0, 2.0), (21.0, 2.0)}
    (lake,) = made["water"]
    assert set(lake) == {2.0, 3.0, 4.0, 6.0}


def test_other_shapes_are_refused(tool: ModuleType) -> None:
    """With a sentence that says what was found."""
    record = struct.pack(">ii", 1, 2) + struct.pack("<i", 3)
    with pytest.raises(SystemExit, match="shapes of type 3; allowed: 5"):
        list(tool.read_shapes(bytes(100) + record))
