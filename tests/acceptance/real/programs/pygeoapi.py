"""pygeoapi with three collections of points."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acceptance.real.points import write_points
from acceptance.real.site import Site, Truth, environment_of, free_port, running

NAME = "pygeoapi"
COLLECTIONS = ("springs", "wells", "gauges")


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The service that exists: one OGC API, whose landing page the crawl begins with."""
    programs = environment_of(NAME, "pygeoapi")
    base = f"http://127.0.0.1:{(port := free_port())}"
    write_points(folder / "points.json")
    settings = folder / "pygeoapi.yml"
    settings.write_text(json.dumps(make_settings(folder, base, port)))  # YAML has JSON in it
    description = folder / "openapi.yml"
    subprocess.run(
        [programs / "pygeoapi", "openapi", "generate", settings, "--output-file", description],
        check=True, capture_output=True,
    )  # fmt: skip
    names = {"PYGEOAPI_CONFIG": str(settings), "PYGEOAPI_OPENAPI": str(description)}
    with running([programs / "pygeoapi", "serve"], url=base, folder=folder, environment=names):
        yield Site(url=f"{base}/", truth=Truth(services=frozenset({("OGCAPI", base)})))


def make_settings(folder: Path, base: str, port: int) -> dict[str, Any]:
    """What pygeoapi wants to be told."""
    provider = {"type": "feature", "name": "GeoJSON", "data": str(folder / "points.json"), "id_field": "id"}
    return {
        "server": {
            "bind": {"host": "127.0.0.1", "port": port}, "url": base, "mimetype": "application/json; charset=UTF-8",
            "encoding": "utf-8", "gzip": False, "languages": ["en-US"],
            "limits": {"default_items": 10, "max_items": 50},
            "map": {"url": "https://tile.example.org/{z}/{x}/{y}.png", "attribution": "none"},
        },
        "logging": {"level": "ERROR"},
        "metadata": {
            "identification": {
                "title": "Water of the canton", "description": "Springs, wells and gauges", "keywords": ["water"],
                "keywords_type": "theme", "terms_of_service": "none", "url": "https://example.org",
            },
            "license": {"name": "CC-BY 4.0", "url": "https://creativecommons.org/licenses/by/4.0/"},
            "provider": {"name": "Office of water", "url": "https://example.org"},
            "contact": {"name": "Ada", "email": "ada@example.org"},
        },
        "resources": {
            name: {
                "type": "collection", "title": name.title(), "description": f"All {name}", "keywords": [name],
                "links": [],
                "extents": {"spatial": {"bbox": [9, 47, 10, 48]}}, "providers": [provider],
            }
            for name in COLLECTIONS
        },
    }  # fmt: skip
