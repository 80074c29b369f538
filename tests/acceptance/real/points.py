"""Some points on a map, as GeoJSON, for servers of geographic data; and the page that links to such a server."""

from __future__ import annotations

import json
from pathlib import Path


def write_points(path: Path, *, count: int = 20) -> None:
    """Springs around a lake in the Alps."""
    features = [
        {
            "type": "Feature",
            "id": n,
            "properties": {"id": n, "name": f"Spring {n}", "depth_m": 3 * n},
            "geometry": {"type": "Point", "coordinates": [9 + n / 100, 47 + n / 200]},
        }
        for n in range(1, count + 1)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def write_portal(path: Path, *links: str) -> None:
    """A page of a portal, as offices have them: some words, and links to services."""
    items = "".join(
        f'<li><a href="{link.replace("&", "&amp;")}">Springs and wells, web service</a></li>' for link in links
    )
    path.write_text(f"<!DOCTYPE html><title>Geodata portal</title><h1>Maps of springs</h1><ul>{items}</ul>")
