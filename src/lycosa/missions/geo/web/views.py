"""Views of the geo mission: the map, the services, one service, the layers, liveness over time, and files."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from lycosa.errors import UsageError
from lycosa.missions.geo.bounds import Box
from lycosa.missions.geo.check import check_history
from lycosa.missions.geo.check.check_history import CheckHistory, CheckRound
from lycosa.missions.geo.export import writers
from lycosa.missions.geo.export.kinds import FootprintOptions, InventoryOptions, ListingOptions
from lycosa.missions.geo.inventory.inventory import Layer, ServiceEntry
from lycosa.missions.geo.inventory.listing import ServiceFilter
from lycosa.missions.geo.model import Contact, Operation
from lycosa.missions.geo.web.known_services import CHECKS, KnownServices, known_services, stamp_of
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
from lycosa.missions.web import NotFound, View, WebRequest, mark, read_number, rows_at_once
from lycosa.missions.web_lists import count_pages

T = TypeVar("T")

_A_PAGE = 100
_MOST_SHAPES = 1_000  # boxes on one map, the largest first
_MOST_CRS = 40
_MOST_OPERATIONS = 100
_MOST_DIFFERENCES = 300
_TEXT = 4_000

#: States of services, outcomes of checks and changes, which templates translate, in the order in which they are shown.
WORDS = (
    mark("live"),
    mark("alive"),
    mark("empty"),
    mark("capabilities only"),
    mark("exception"),
    mark("error"),
    mark("refused"),
    mark("forbidden"),
    mark("wrong type"),
    mark("dead"),
    mark("other"),
    mark("unvisited"),
    mark("appeared"),
    mark("changed"),
    mark("vanished"),
)


class WordCount(Struct, frozen=True):
    """A value by which services can be filtered, and how many have it."""

    value: str
    count: int
    chosen: bool = False


class ServiceRow(Struct, frozen=True):
    """A service in a list."""

    id: str
    type: str
    version: str
    title: str
    provider: str
    host: str
    endpoint: str
    state: str
    reason: str
    layers: int
    outcome: str  # of the last check; empty: it was never checked
    checked: str
    box: Box | None


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
    kinds: list[WordCount]
    view: Box
    shapes: list[MapShape]
    total: int  # of all that fit
    without_box: int
    zooms: dict[str, str]  # addresses of other views
    drawing: MapDrawing | None = None  # none for programs
    tiles: str = ""


class ServiceList(Struct, frozen=True):
    """Services that fit a filter, a hundred at a time."""

    q: str
    host: str
    guesses: bool
    kinds: list[WordCount]
    states: list[WordCount]
    outcomes: list[WordCount]
    total: int
    page: int
    pages: int
    services: list[ServiceRow]
    filters: dict[str, str]  # for files


class LayerRow(Struct, frozen=True):
    """A layer in a list."""

    id: str
    service: str
    service_type: str
    service_title: str
    type: str
    name: str
    title: str
    abstract: str
    path: list[str]
    box: Box | None
    crs: list[str]
    crs_count: int
    styles: list[str]
    licence: str
    time: str
    offers: int  # services that offer the same


class LayerList(Struct, frozen=True):
    """Layers that fit a search, a hundred at a time."""

    q: str
    service: ServiceRow | None
    kinds: list[WordCount]
    total: int
    page: int
    pages: int
    layers: list[LayerRow]


class ServiceCheck(Struct, frozen=True):
    """What one check found of a service."""

    round: int
    at: float
    outcome: str
    reason: str
    answer_s: float | None
    request_s: float | None
    items: int | None
    version: str


class ServiceDocument(Struct, frozen=True):
    """A collected document that describes a service."""

    url: str
    round: int
    version: str
    at: float
    layers: int
    part: bool


class ServicePage(Struct, frozen=True):
    """One service."""

    service: ServiceRow
    versions: list[str]
    abstract: str
    provider_site: str
    contact: Contact | None
    fees: str
    constraints: str
    licence: str
    keywords: list[str]
    languages: list[str]
    endpoints: list[str]
    advertised: str
    found_on: str
    rule: str
    problem: str
    formats: list[str]
    crs: list[str]
    crs_count: int
    operations: list[Operation]
    documents: list[ServiceDocument]
    addresses: list[str]
    layers: list[LayerRow]
    layer_count: int
    checks: list[ServiceCheck]
    drawing: MapDrawing | None = None
    shapes: list[MapShape] = []


class CheckRoundRow(Struct, frozen=True):
    """A round of checks."""

    round: int
    started: float
    ended: float  # 0: it is unfinished
    filter: str
    outcomes: dict[str, int]
    total: int


class ServiceChange(Struct, frozen=True):
    """What became of a service between the last two rounds."""

    change: str
    detail: str
    service: str
    type: str
    title: str
    endpoint: str


class ChecksPage(Struct, frozen=True):
    """Liveness over time."""

    rounds: list[CheckRoundRow]  # the last one first
    changes: list[ServiceChange]


def show_map(request: WebRequest) -> View:
    """Boxes of services or layers over coastlines."""
    known = known_services(request.collection)
    what = "layers" if request.query.get("what", "") == "layers" else "services"
    q, kind = request.query.get("q", "")[:200], request.query.get("kind", "")
    things = [*_map_layers(known, q)] if what == "layers" else [*_map_services(known, q)]
    kinds = _count((thing[1] for thing in things), kind)
    chosen = [thing for thing in things if not kind or thing[1] == kind]
    boxed = sorted((thing for thing in chosen if thing[3]), key=lambda thing: -area(thing[3] or WORLD))
    view = read_view(request.query.get("box", "")) or find_view(thing[3] for thing in boxed if thing[3])
    drawing = None if request.as_json else draw_map(view, request.tiles)
    shapes = [
        MapShape(title, type_, service, box, draw_box(box, drawing.projection) if drawing else "")
        for title, type_, service, box in boxed[:_MOST_SHAPES]
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
    for layer in _search_layers(known.layers, q):
        yield layer.item.title or layer.item.name, layer.entry.service.type, layer.entry.id, layer.item.box


def _name_view(view: Box) -> str:
    return ",".join(f"{side:.4f}" for side in view)


def show_services(request: WebRequest) -> View:
    """All services: those that were found, then those that were not."""
    known = known_services(request.collection)
    query = request.query
    q, host = query.get("q", "")[:200], query.get("host", "")[:300]
    kind, state, outcome = query.get("kind", ""), query.get("state", ""), query.get("outcome")
    guesses = query.get("guesses", "") == "yes"
    wanted = ServiceFilter(host=host, text=q, guesses=guesses)
    found = [entry for entry in known.entries if wanted.admits(entry)]

    tests: dict[str, Callable[[ServiceEntry], bool]] = {
        "kind": lambda entry: not kind or entry.service.type == kind,
        "state": lambda entry: not state or entry.state == state,
        "outcome": lambda entry: not outcome or entry.outcome == ("" if outcome == "never" else outcome),
    }

    def others(name: str) -> list[ServiceEntry]:
        return [entry for entry in found if all(test(entry) for key, test in tests.items() if key != name)]

    chosen = others("")
    page, pages, shown = _cut(request, chosen)
    data = ServiceList(
        q=q,
        host=host,
        guesses=guesses,
        kinds=_count((entry.service.type for entry in others("kind")), kind),
        states=_count((entry.state for entry in others("state")), state),
        outcomes=_count((entry.outcome or "never" for entry in others("outcome")), outcome or ""),
        total=len(chosen),
        page=page,
        pages=pages,
        services=[_row(entry) for entry in shown],
        filters={"kind": kind, "state": state, "host": host},
    )
    return View("services.html", data, rows="services", row=ServiceRow)


def show_layers(request: WebRequest) -> View:
    """What the services offer; `?service=` of one of them."""
    known = known_services(request.collection)
    query = request.query
    q, kind, number = query.get("q", "")[:200], query.get("kind", ""), query.get("service", "")
    entry = known.find(number) if number else None
    if number and entry is None:
        raise NotFound(f"There is no service {number[:40]} in this collection.")
    found = _search_layers((layer for layer in known.layers if not entry or layer.entry.id == entry.id), q)
    chosen = [layer for layer in found if not kind or layer.entry.service.type == kind]
    page, pages, shown = _cut(request, chosen)
    data = LayerList(
        q=q,
        service=_row(entry) if entry else None,
        kinds=_count((layer.entry.service.type for layer in found), kind),
        total=len(chosen),
        page=page,
        pages=pages,
        layers=[_layer_row(layer) for layer in shown],
    )
    return View("layers.html", data, rows="layers", row=LayerRow)


def show_service(request: WebRequest) -> View:
    """One service: what it says of itself, its documents and layers, and what checks found."""
    known = known_services(request.collection)
    entry = known.find(request.query.get("id", ""))
    if entry is None:
        raise NotFound("There is no such service in this collection; its list has those there are.")
    service = entry.service
    layers = [layer for layer in known.layers if layer.entry.id == entry.id]
    boxes = [layer.item.box for layer in layers if layer.item.box]
    boxes = boxes[:_MOST_SHAPES] or ([service.box] if service.box else [])
    drawing = draw_map(find_view(boxes), "") if boxes and not request.as_json else None
    data = ServicePage(
        service=_row(entry),
        versions=list(entry.versions),
        abstract=service.abstract[:_TEXT],
        provider_site=service.provider_site,
        contact=service.contact,
        fees=service.fees[:_TEXT],
        constraints=service.constraints[:_TEXT],
        licence=service.licence,
        keywords=list(service.keywords),
        languages=list(service.languages) or ([service.language] if service.language else []),
        endpoints=list(entry.endpoints),
        advertised=service.advertised,
        found_on=entry.found_on,
        rule=entry.rule,
        problem=service.problem,
        formats=list(service.formats),
        crs=list(service.crs[:_MOST_CRS]),
        crs_count=len(service.crs),
        operations=list(service.operations[:_MOST_OPERATIONS]),
        documents=[
            ServiceDocument(
                url=source.url,
                round=source.round,
                version=source.service.version,
                at=source.at or 0.0,
                layers=source.service.items,
                part=source.part,
            )
            for source in entry.sources[:_A_PAGE]
        ],
        addresses=list(entry.addresses[:_A_PAGE]),
        layers=[_layer_row(layer) for layer in layers[:_A_PAGE]],
        layer_count=len(layers),
        checks=_read_checks(request.folder, entry.id),
        drawing=drawing,
        shapes=[
            MapShape(
                title=layer.item.title or layer.item.name,
                type=service.type,
                service=entry.id,
                box=layer.item.box,
                path=draw_box(layer.item.box, drawing.projection),
            )
            for layer in layers[:_MOST_SHAPES]
            if layer.item.box and drawing
        ],
    )
    return View("service.html", data)


def show_checks(request: WebRequest) -> View:
    """The rounds of checks, and what changed between the last two."""
    if not (request.folder / check_history.NAME).exists():
        data = ChecksPage(rounds=[], changes=[])
    else:
        data = _read_rounds(request.folder, stamp_of(request.folder, CHECKS))
    return View("checks.html", data, rows="rounds", row=CheckRoundRow)


@lru_cache(maxsize=8)
def _read_rounds(folder: Path, stamp: object) -> ChecksPage:
    """The page of the rounds, kept until there is another result."""
    with closing(CheckHistory(folder, write=False)) as history:
        rounds = history.rounds()
        changes = []
        if len(rounds) > 1:
            since, until = history.find_span(None, None)
            changes = [
                ServiceChange(
                    change=found.change,
                    detail=found.detail,
                    service=found.result.id,
                    type=found.result.type,
                    title=found.result.title,
                    endpoint=found.result.endpoint,
                )
                for _, found in zip(range(_MOST_DIFFERENCES), history.differences(since, until), strict=False)
            ]
    return ChecksPage([_round_row(row) for row in rounds[:-_A_PAGE:-1]], changes)


def _round_row(row: CheckRound) -> CheckRoundRow:
    outcomes = {word: row.outcomes[word] for word in WORDS if word in row.outcomes}
    return CheckRoundRow(row.round, row.started, row.ended or 0.0, row.filter, outcomes, sum(outcomes.values()))


def _read_checks(folder: Path, service: str) -> list[ServiceCheck]:
    if not (folder / check_history.NAME).exists():
        return []
    with closing(CheckHistory(folder, write=False)) as history:
        return [
            ServiceCheck(
                round=number,
                at=result.at,
                outcome=result.outcome,
                reason=result.reason,
                answer_s=result.answer_s,
                request_s=result.request_s,
                items=result.items,
                version=result.version,
            )
            for number, result in history.results_of(service)
        ]


#: Files that can be had, each with what writes it, by its name in the address.
_FILES = {
    "services.csv": (writers.write_services, ListingOptions),
    "services.jsonl": (writers.write_services, ListingOptions),
    "layers.csv": (writers.write_layers, ListingOptions),
    "layers.jsonl": (writers.write_layers, ListingOptions),
    "footprints.geojson": (writers.write_footprints, FootprintOptions),
    "map.html": (writers.write_map, InventoryOptions),
    "healthcheck.json": (writers.write_healthcheck, InventoryOptions),
}


def send_file(request: WebRequest) -> FileResponse:
    """An export as a file: `?name=services.csv`, of the services of a kind, a state, a host."""
    name = request.query.get("name", "")
    if name not in _FILES:
        raise UsageError(f"There is no file {name[:40]!r}; allowed: {', '.join(_FILES)}.")
    write, options = _FILES[name]
    chosen = {key: request.query.get(key, "")[:300] for key in ("kind", "state", "host")}
    folder = tempfile.TemporaryDirectory(prefix="lycosa-serve-")
    try:
        target = Path(folder.name) / name
        write(request.collection, str(target), options(**chosen))  # type: ignore[operator]
    except BaseException:
        folder.cleanup()
        raise
    media = "text/plain; charset=utf-8" if name.endswith((".csv", ".jsonl")) else "application/octet-stream"
    return FileResponse(target, filename=name, media_type=media, background=BackgroundTask(partial(folder.cleanup)))


def _search_layers(layers: Iterable[Layer], q: str) -> list[Layer]:
    """The layers that have all the words, in what they or their services say of themselves."""
    words = q.casefold().split()
    if not words:
        return list(layers)
    return [layer for layer in layers if all(word in _words_of(layer) for word in words)]


def _words_of(layer: Layer) -> str:
    item, service = layer.item, layer.entry.service
    texts = (item.title, item.name, item.abstract, *item.path, *item.keywords, service.title, service.provider)
    return "\n".join(texts).casefold()


def _count(values: Iterable[str], chosen: str) -> list[WordCount]:
    counted = Counter(values)
    if chosen:
        counted.setdefault(chosen, 0)
    return [WordCount(value, count, value == chosen) for value, count in counted.most_common()]


def _cut(request: WebRequest, found: list[T]) -> tuple[int, int, list[T]]:
    """The page of a list that is asked for: its number, how many there are, and what is on it."""
    size = rows_at_once(request, _A_PAGE)
    pages = count_pages(len(found), size)
    page = min(read_number(request.query, "page", 1, least=1), pages)
    return page, pages, found[(page - 1) * size : page * size]


def _row(entry: ServiceEntry) -> ServiceRow:
    service = entry.service
    return ServiceRow(
        id=entry.id,
        type=service.type,
        version=service.version,
        title=service.title,
        provider=service.provider,
        host=entry.host,
        endpoint=service.endpoint,
        state=entry.state,
        reason=entry.reason,
        layers=service.items,
        outcome=entry.outcome,
        checked=entry.checked,
        box=service.box,
    )


def _layer_row(layer: Layer) -> LayerRow:
    item, service = layer.item, layer.entry.service
    return LayerRow(
        id=layer.id,
        service=layer.entry.id,
        service_type=service.type,
        service_title=service.title,
        type=item.type,
        name=item.name,
        title=item.title,
        abstract=item.abstract[:_TEXT],
        path=list(item.path),
        box=item.box,
        crs=list(item.crs[:_MOST_CRS]),
        crs_count=max(item.crs_count, len(item.crs)),
        styles=[style.name for style in item.styles[:_MOST_CRS]],
        licence=item.licence,
        time=item.time,
        offers=len(layer.offers),
    )
