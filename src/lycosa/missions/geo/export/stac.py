"""STAC export: the inventory as a static catalogue (STAC 1.1.0), with services as collections and layers as items.

A layer that says which time it covers has that time, up to the fetch of its description if it has no end; `datetime`
of the others is the fetch of their description, because an item must have one. Layers of WMS, WMTS and TileJSON carry
the links of the web-map-links extension, with which a viewer draws them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from lycosa.missions.geo.export.geojson import draw, round_box
from lycosa.missions.geo.inventory.inventory import Layer, ServiceEntry
from lycosa.missions.geo.model import LayerItem

VERSION = "1.1.0"
WEB_MAP_LINKS = "https://stac-extensions.github.io/web-map-links/v1.2.0/schema.json"
_WORLD = [-180.0, -90.0, 180.0, 90.0]
#: Of the licences that are found, those with a version have an SPDX name; CC-BY alone may be any of five.
_SPDX = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*-[0-9]+(?:\.[0-9]+)+")
_EPOCH = "1970-01-01T00:00:00Z"
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T(\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?(Z|[+-]\d{2}:?\d{2})?)?)?)?")
_encode = msgspec.json.Encoder().encode

Table = dict[str, Any]


def list_documents(entries: Iterable[ServiceEntry], layers: Iterable[Layer]) -> Iterator[Table]:
    """Collections, each before its items, without links among them: as databases of STAC load them, one per line."""
    for name, document in _documents(entries, layers):
        if name != "catalog.json":
            document["links"] = [link for link in document["links"] if not link["href"].startswith(".")]
            yield document


def list_files(entries: Iterable[ServiceEntry], layers: Iterable[Layer]) -> Iterator[tuple[str, bytes]]:
    """The files of a static catalogue by their names: `catalog.json` is where to begin."""
    for name, document in _documents(entries, layers):
        yield name, msgspec.json.format(_encode(document), indent=1)


def _documents(entries: Iterable[ServiceEntry], layers: Iterable[Layer]) -> Iterator[tuple[str, Table]]:
    """Layers come service by service, in the order of the services."""
    waiting = iter(layers)
    layer = next(waiting, None)
    children: list[Table] = []
    for entry in entries:
        own: list[Layer] = []
        while layer is not None and layer.entry.id == entry.id:
            own.append(layer)
            layer = next(waiting, None)
        href = f"./{entry.id}/collection.json"
        children.append({"rel": "child", "href": href, "type": "application/json", "title": name_of(entry)})
        yield f"{entry.id}/collection.json", make_collection(entry, own)
        for part in own:
            yield f"{entry.id}/{part.id}.json", make_item(part)
    root = {"rel": "root", "href": "./catalog.json", "type": "application/json"}
    yield (
        "catalog.json",
        {
            "type": "Catalog",
            "stac_version": VERSION,
            "id": "services",
            "title": "Geographic services",
            "description": "Geographic services and what they offer, as lycosa found them.",
            "links": [root, *children],
        },
    )


def name_of(entry: ServiceEntry) -> str:
    """The title of a service, or its type and endpoint where it has none."""
    return entry.service.title or f"{entry.service.type} {entry.service.endpoint}"


def make_collection(entry: ServiceEntry, layers: list[Layer]) -> Table:
    """A service as a collection."""
    service = entry.service
    box = round_box(service.box) if service.box else _WORLD
    times = [span for layer in layers if (span := read_time(layer.item.time))]
    begin = min((span[0] for span in times if span[0]), default=None) if all(s[0] for s in times) else None
    end = max((span[1] for span in times if span[1]), default=None) if all(s[1] for s in times) else None
    found: Table = {
        "type": "Collection",
        "stac_version": VERSION,
        "id": entry.id,
        "title": name_of(entry),
        "description": service.abstract or name_of(entry),
        "license": service.licence if _SPDX.fullmatch(service.licence) else "other",
        "extent": {"spatial": {"bbox": [box]}, "temporal": {"interval": [[begin, end]]}},
        "links": [
            {"rel": "root", "href": "../catalog.json", "type": "application/json"},
            {"rel": "parent", "href": "../catalog.json", "type": "application/json"},
            *({"rel": "item", "href": f"./{layer.id}.json", "type": "application/geo+json"} for layer in layers),
            *_references(entry),
        ],
        "lycosa:service": {"type": service.type, "version": service.version, "endpoint": service.endpoint}
        | {"state": entry.state, "fetched": entry.fetched},
    }
    if service.keywords:
        found["keywords"] = list(service.keywords)
    if service.provider:
        site = {"url": service.provider_site} if service.provider_site.startswith("http") else {}
        found["providers"] = [{"name": service.provider, "roles": ["host"]} | site]
    return found


def _references(entry: ServiceEntry) -> Iterator[Table]:
    for source in entry.sources[:1]:
        yield {"rel": "via", "href": source.url, "title": f"Description of the {entry.service.type}"}
    for reference in entry.service.metadata:
        if reference.url.startswith("http"):
            yield {"rel": "describedby", "href": reference.url}


def make_item(layer: Layer) -> Table:
    """A layer as an item."""
    item, entry = layer.item, layer.entry
    links = [
        {"rel": "root", "href": "../catalog.json", "type": "application/json"},
        {"rel": "parent", "href": "./collection.json", "type": "application/json"},
        {"rel": "collection", "href": "./collection.json", "type": "application/json"},
        *({"rel": "describedby", "href": one.url} for one in item.metadata if one.url.startswith("http")),
    ]
    drawn = _draw_link(layer)
    properties: Table = {
        "title": item.title or item.name,
        "description": item.abstract or item.title or item.name or entry.service.title or "A layer.",
        **_time_of(item, entry),
        "lycosa:name": item.name,
        "lycosa:type": item.type,
        "lycosa:dataset": layer.dataset,
    }
    if item.crs:
        properties["lycosa:crs"] = list(item.crs)
    found: Table = {
        "type": "Feature",
        "stac_version": VERSION,
        "stac_extensions": [WEB_MAP_LINKS] if drawn else [],
        "id": layer.id,
        "collection": entry.id,
        "geometry": draw(item.box),
    }
    if item.box:
        found["bbox"] = round_box(item.box)
    assets = {"service": {"href": entry.sources[0].url, "title": "Description of the service", "roles": ["metadata"]}}
    if item.address.startswith("http"):
        assets["data"] = {"href": item.address, "title": item.title or item.name, "roles": ["data"]}
    return found | {"properties": properties, "links": [*links, *drawn], "assets": assets}


def _draw_link(layer: Layer) -> list[Table]:
    """The links with which a viewer draws a layer."""
    service, item = layer.entry.service, layer.item
    described = layer.entry.sources[0].url
    pictures = [name for name in item.formats or service.formats if name.startswith("image/")]
    drawn = "image/png" if "image/png" in pictures or not pictures else pictures[0]
    if service.type == "WMS" and item.name:
        return [{"rel": "wms", "href": service.endpoint, "type": drawn, "wms:layers": [item.name]}]
    if service.type == "WMTS" and item.name:
        return [{"rel": "wmts", "href": described, "type": drawn, "wmts:layer": item.name}]
    if service.type == "TILEJSON":
        return [{"rel": "tilejson", "href": described, "type": "application/json"}]
    return []


def _time_of(item: LayerItem, entry: ServiceEntry) -> Table:
    begin, end = read_time(item.time) or (None, None)
    fetched = entry.fetched or _EPOCH
    if begin and end:
        if begin == end:
            return {"datetime": begin}
        return {"datetime": None, "start_datetime": begin, "end_datetime": end}
    if begin and begin < fetched:  # and on: …/present, …/..
        return {"datetime": None, "start_datetime": begin, "end_datetime": fetched}
    return {"datetime": begin or end or fetched}


def read_time(text: str) -> tuple[str | None, str | None] | None:
    """First and last instant of a time as services write it (2019-01-01/2019-12-31/P1D, ../2020, a list), or None."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        return None
    first, last = parts[0].split("/"), parts[-1].split("/")
    begin, end = _instant(first[0], last=False), _instant(last[1] if len(last) > 1 else last[0], last=True)
    if begin and end and begin > end:
        return None
    return (begin, end) if begin or end else None


def _instant(text: str, *, last: bool) -> str | None:
    found = _DATE.fullmatch(text.strip())
    if not found:
        return None
    year, month, day, hour, zone = found.groups()
    month = month or ("12" if last else "01")
    day = day or (_last_day(int(year), month) if last else "01")
    clock = hour or ("23:59:59" if last else "00:00:00")
    try:
        instant = datetime.fromisoformat(f"{year}-{month}-{day}T{clock}{zone or 'Z'}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return instant.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _last_day(year: int, month: str) -> str:
    if month == "02":
        return "29" if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else "28"
    return "30" if month in ("04", "06", "09", "11") else "31"
