"""Map: the boxes of services or layers over coastlines; and files of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct
from starlette.responses import FileResponse

from lycosa.errors import UsageError
from lycosa.missions.geo.bounds import Box
from lycosa.missions.geo.export import writers
from lycosa.missions.geo.inventory.inventory import Layer
from lycosa.missions.geo.inventory.listing import ServiceFilter
from lycosa.missions.geo.web.known_services import KnownServices, known_services
from lycosa.missions.geo.web.map_drawing import (
    WORLD,
    MapDrawing,
    area,
    draw_box,
    draw_map,
    find_view,
    origin_of,
    read_view,
    zoom_view,
)
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
MOST_SHAPES = 1_000  # boxes on one map, the largest first


class FilterValue(Struct, frozen=True):
    """A value, and how many have it."""

    value: str
    count: int
    chosen: bool = False


class MapShape(Struct, frozen=True):
    """A box on the map, of a service or of a layer."""

    title: str
    type: str  # of the service
    service: str  # its id
    box: Box
    path: str = ""  # as SVG draws it; empty for programs


class MapPage(Struct, frozen=True):
    """What the map shows."""

    what: str  # "services" or "layers"
    q: str
    kinds: list[FilterValue]
    view: Box
    shapes: list[MapShape]
    total: int  # of all that fit
    without_box: int
    zooms: dict[str, str]  # addresses of other views
    drawing: MapDrawing | None = None  # none for programs
    tiles: str = ""


def show_map(request: WebRequest) -> View:
    """Boxes of services or layers over coastlines."""
    known = known_services(request.collection)
    what = "layers" if request.query.get("what", "") == "layers" else "services"
    q, kind = request.query.get("q", "")[:200], request.query.get("kind", "")
    things = [*_map_layers(known, q)] if what == "layers" else [*_map_services(known, q)]
    kinds = count_values((thing[1] for thing in things), kind)
    chosen = [thing for thing in things if not kind or thing[1] == kind]
    boxed = sorted((thing for thing in chosen if thing[3]), key=lambda thing: -area(thing[3] or WORLD))
    view = read_view(request.query.get("box", "")) or find_view(thing[3] for thing in boxed if thing[3])
    drawing = None if request.as_json else draw_map(view, request.tiles)
    shapes = [
        MapShape(title, type_, service, box, draw_box(box, drawing.projection) if drawing else "")
        for title, type_, service, box in boxed[:MOST_SHAPES]
        if box
    ]
    page = MapPage(
        what=what,
        q=q,
        kinds=kinds,
        view=view,
        shapes=shapes,
        total=len(chosen),
        without_box=len(chosen) - len(boxed),
        zooms={
            name: request.here(box=_name_view(other))
            for name, other in (
                ("in", zoom_view(view, 0.5)),
                ("out", zoom_view(view, 2.0)),
                ("world", WORLD),
            )
        },
        drawing=drawing,
        tiles=request.tiles,
    )
    return View("map.html", page, images=origin_of(request.tiles))


_Thing = tuple[str, str, str, Box | None]  # title, type of the service, its id, box


def _map_services(known: KnownServices, q: str) -> Iterable[_Thing]:
    wanted = ServiceFilter(text=q)
    for entry in known.entries:
        if entry.sources and wanted.admits(entry):
            yield entry.service.title or entry.service.endpoint, entry.service.type, entry.id, entry.service.box


def _map_layers(known: KnownServices, q: str) -> Iterable[_Thing]:
    for layer in search_layers(known.layers, q):
        yield layer.item.title or layer.item.name, layer.entry.service.type, layer.entry.id, layer.item.box


def count_values(values: Iterable[str], chosen: str) -> list[FilterValue]:
    """The values of a list with how many have each, the commonest first; the chosen one is always there."""
    counted = Counter(values)
    if chosen:
        counted.setdefault(chosen, 0)
    return [FilterValue(value, count, value == chosen) for value, count in counted.most_common()]


def search_layers(layers: Iterable[Layer], q: str) -> list[Layer]:
    """The layers that have all the words, in what they or their services say of themselves."""
    words = q.casefold().split()
    if not words:
        return list(layers)
    return [layer for layer in layers if all(word in _words_of(layer) for word in words)]


def _words_of(layer: Layer) -> str:
    item, service = layer.item, layer.entry.service
    texts = (item.title, item.name, item.abstract, *item.path, *item.keywords, service.title, service.provider)
    return "\n".join(texts).casefold()


def _name_view(view: Box) -> str:
    return ",".join(f"{side:.4f}" for side in view)


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
