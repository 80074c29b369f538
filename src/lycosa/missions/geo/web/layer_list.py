"""Layers in a list: what the services offer, by words and kind of service."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from lycosa.missions.geo.bounds import Box
from lycosa.missions.geo.inventory.inventory import Layer
from lycosa.missions.geo.web.filter_values import FilterValue, count_values
from lycosa.missions.geo.web.known_services import known_services
from lycosa.missions.geo.web.service_list import ServiceRow, make_service_row
from lycosa.missions.web import NotFound, WebRequest
from lycosa.missions.web_lists import find_part

MOST_CRS = 40
MOST_TEXT = 4_000  # characters


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
    kinds: list[FilterValue]
    total: int
    page: int
    pages: int
    layers: list[LayerRow]


def list_layers(request: WebRequest) -> LayerList:
    """The layers that the address asks for."""
    known = known_services(request.collection)
    query = request.query
    q, kind, number = query.get("q", "")[:200], query.get("kind", ""), query.get("service", "")
    entry = known.find(number) if number else None
    if number and entry is None:
        raise NotFound(f"There is no service {number[:40]} in this collection.")
    found = search_layers((layer for layer in known.layers if not entry or layer.entry.id == entry.id), q)
    chosen = [layer for layer in found if not kind or layer.entry.service.type == kind]
    part = find_part(request, len(chosen))
    return LayerList(
        q=q,
        service=make_service_row(entry) if entry else None,
        kinds=count_values((layer.entry.service.type for layer in found), kind),
        total=len(chosen),
        page=part.page,
        pages=part.pages,
        layers=[make_layer_row(layer) for layer in chosen[part.offset : part.offset + part.size]],
    )


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


def make_layer_row(layer: Layer) -> LayerRow:
    """A layer as lists show it."""
    item, service = layer.item, layer.entry.service
    return LayerRow(
        id=layer.id,
        service=layer.entry.id,
        service_type=service.type,
        service_title=service.title,
        type=item.type,
        name=item.name,
        title=item.title,
        abstract=item.abstract[:MOST_TEXT],
        path=list(item.path),
        box=item.box,
        crs=list(item.crs[:MOST_CRS]),
        crs_count=max(item.crs_count, len(item.crs)),
        styles=[style.name for style in item.styles[:MOST_CRS]],
        licence=item.licence,
        time=item.time,
        offers=len(layer.offers),
    )
