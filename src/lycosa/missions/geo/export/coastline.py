"""Coastline: outlines of land and of the Caspian Sea as a background for maps, from Natural Earth 1:110m.

`land.json` holds the countries of Natural Earth (public domain) as one land, to a hundredth of a degree, as
`tools/make_land.py` makes it. Each ring is a list of longitudes and latitudes.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

Rings = list[list[float]]


@cache
def outlines() -> dict[str, Rings]:
    """Land, and the water in it."""
    return msgspec.json.decode(Path(__file__).with_name("land.json").read_bytes(), type=dict[str, Rings])
