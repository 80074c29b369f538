"""One service: what it says of itself, its documents and layers, and what checks found."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from msgspec import Struct

from lycosa.missions.geo.check import check_history
from lycosa.missions.geo.check.check_history import CheckHistory
from lycosa.missions.geo.model import Contact, Operation
from lycosa.missions.geo.web.known_services import known_services
from lycosa.missions.geo.web.lists import MOST_CRS, MOST_TEXT, LayerRow, ServiceRow, make_layer_row, make_service_row
from lycosa.missions.geo.web.map_drawing import MapDrawing, draw_box, draw_map, find_view
from lycosa.missions.geo.web.map_page import MOST_SHAPES, MapShape
from lycosa.missions.web import NotFound, View, WebRequest

_MOST_OPERATIONS = 100
_MOST_LISTED = 100


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


def show_service(request: WebRequest) -> View:
    """The service that the address names: ?id=…"""
    known = known_services(request.collection)
    entry = known.find(request.query.get("id", ""))
    if entry is None:
        raise NotFound("There is no such service in this collection; its list has those there are.")
    service = entry.service
    layers = [layer for layer in known.layers if layer.entry.id == entry.id]
    boxes = [layer.item.box for layer in layers if layer.item.box]
    boxes = boxes[:MOST_SHAPES] or ([service.box] if service.box else [])
    drawing = draw_map(find_view(boxes), "") if boxes and not request.as_json else None
    page = ServicePage(
        service=make_service_row(entry),
        versions=list(entry.versions),
        abstract=service.abstract[:MOST_TEXT],
        provider_site=service.provider_site,
        contact=service.contact,
        fees=service.fees[:MOST_TEXT],
        constraints=service.constraints[:MOST_TEXT],
        licence=service.licence,
        keywords=list(service.keywords),
        languages=list(service.languages) or ([service.language] if service.language else []),
        endpoints=list(entry.endpoints),
        advertised=service.advertised,
        found_on=entry.found_on,
        rule=entry.rule,
        problem=service.problem,
        formats=list(service.formats),
        crs=list(service.crs[:MOST_CRS]),
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
            for source in entry.sources[:_MOST_LISTED]
        ],
        addresses=list(entry.addresses[:_MOST_LISTED]),
        layers=[make_layer_row(layer) for layer in layers[:_MOST_LISTED]],
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
            for layer in layers[:MOST_SHAPES]
            if layer.item.box and drawing
        ],
    )
    return View("service.html", page)


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
