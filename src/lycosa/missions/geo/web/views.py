"""Views of the geo mission that are no lists: the map, one service, and files."""

from __future__ import annotations

from starlette.responses import FileResponse

from lycosa.errors import UsageError
from lycosa.missions.geo.export import writers
from lycosa.missions.geo.web.map_drawing import origin_of
from lycosa.missions.geo.web.map_page import make_map
from lycosa.missions.geo.web.service_detail import describe_service
from lycosa.missions.web import View, WebRequest
from lycosa.missions.web_files import send_made_file

#: Files that can be had, each with its kind of export, by its name in the address.
_FILES = {
    "services.csv": writers.write_services,
    "services.jsonl": writers.write_services,
    "layers.csv": writers.write_layers,
    "layers.jsonl": writers.write_layers,
    "footprints.geojson": writers.write_footprints,
    "map.html": writers.write_map,
}


def show_map(request: WebRequest) -> View:
    """Boxes of services or layers over coastlines."""
    return View("map.html", make_map(request), images=origin_of(request.tiles))


def show_service(request: WebRequest) -> View:
    """One service: ?id=…"""
    return View("service.html", describe_service(request))


def send_file(request: WebRequest) -> FileResponse:
    """An export as a file: `?name=services.csv`, of the services of a kind, a state, a host."""
    name = request.query.get("name", "")
    if name not in _FILES:
        raise UsageError(f"There is no file {name[:40]!r}; allowed: {', '.join(_FILES)}.")
    export = _FILES[name]
    chosen = {key: request.query.get(key, "")[:300] for key in ("kind", "state", "host")}
    return send_made_file(
        name,
        lambda target: export(request.collection, str(target), export.options(**chosen)),
        media_type="text/plain; charset=utf-8" if name.endswith((".csv", ".jsonl")) else "application/octet-stream",
    )
