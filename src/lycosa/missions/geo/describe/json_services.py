"""Reader of services that describe themselves in JSON: OGC API, STAC, ArcGIS REST and TileJSON.

Bytes flow in, a service and its items flow out. Every value is checked before it is used: anything may stand anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import unquote

import msgspec

from lycosa.missions.geo.bounds import Box, Extent, convert, make_box, name_crs
from lycosa.missions.geo.model import (
    MAX_ITEM_CRS,
    MAX_ITEMS,
    MAX_LIST,
    MAX_NAME,
    MAX_TEXT,
    LayerItem,
    MetadataLink,
    Operation,
    Service,
)
from lycosa.missions.geo.recognise.kinds import FAULTS, strip_json
from lycosa.missions.geo.xml_access import one_line, unique

Table = dict[str, Any]

#: What ArcGIS calls a map that nobody named.
_UNNAMED = "Layers"
_MAX_PATH = 12
#: Lists of an OGC API that offer nothing by themselves.
_TILED = ("ogcapi:tilematrixsets", "ogcapi:tilesets")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>")


def read_object(body: bytes) -> Table:
    """A JSON object; empty for what is none."""
    try:
        found = msgspec.json.decode(strip_json(body))
    except FAULTS:
        return {}
    return found if isinstance(found, dict) else {}


def word(value: object, limit: int = MAX_NAME) -> str:
    """A text in one line; "" for what is none; numbers as they are written."""
    if isinstance(value, str):
        return one_line(value, limit)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def words(value: object) -> tuple[str, ...]:
    """The texts of a list, or of a text with commas."""
    if isinstance(value, str):
        value = value.split(",")
    return unique([word(part) for part in value[: 4 * MAX_LIST]]) if isinstance(value, list) else ()


def tables(value: object, limit: int = MAX_ITEMS) -> Iterator[Table]:
    """The objects of a list."""
    if isinstance(value, list):
        for part in value[:limit]:
            if isinstance(part, dict):
                yield part


def table(value: object) -> Table:
    """An object; empty for what is none."""
    return value if isinstance(value, dict) else {}


def numbers(value: object) -> tuple[float, ...]:
    """The numbers of a list, if it holds nothing else."""
    if not isinstance(value, list) or not value or len(value) > 12:
        return ()
    if not all(isinstance(n, int | float) and not isinstance(n, bool) for n in value):
        return ()
    return tuple(map(float, value))


def read_api(found: Table, service: Service) -> list[LayerItem]:
    """A landing page, a list of collections or processes, or one of them, of an OGC API.

    What a collection says of itself is not said of the service.
    """
    if service.kind == "ogcapi:collection":
        item = _read_collection(found)
        service.crs = item.crs
        return [item]
    service.title = word(found.get("title"))
    service.abstract = word(found.get("description"), MAX_TEXT)
    service.keywords = words(found.get("keywords"))
    service.languages = words(found.get("languages"))
    _read_links(found, service)
    items = [_read_collection(part) for part in tables(found.get("collections"))]
    items += [_read_process(part) for part in tables(found.get("processes"))]
    if service.kind in _TILED:
        service.title = service.abstract = ""  # of a list, or of one set of tiles, and not of the service
        listed = (*tables(found.get("tileMatrixSets"), MAX_LIST), *tables(found.get("tilesets"), MAX_LIST))
        service.crs = unique([name_crs(word(part.get("crs"))) for part in listed])
        return []
    service.crs = unique([name for item in items for name in item.crs])
    return items


def _read_links(found: Table, service: Service) -> None:
    links = list(tables(found.get("links"), MAX_LIST))
    service.operations = tuple(
        Operation(word(link.get("rel")).rpartition("/")[2] or "link", (word(link.get("href")),), (), _formats(link))
        for link in links
        if word(link.get("href"))
    )
    service.advertised = next((word(link.get("href")) for link in links if link.get("rel") == "self"), "")
    licences = [word(link.get("href")) for link in links if link.get("rel") == "license"]
    service.constraints = word(found.get("license")) or next(iter(licences), "")
    service.metadata = _read_references(found)


def _formats(link: Table) -> tuple[str, ...]:
    kind = word(link.get("type"), 120)
    return (kind,) if kind else ()


def _read_references(found: Table) -> tuple[MetadataLink, ...]:
    links = tables(found.get("links"), MAX_LIST)
    return tuple(
        MetadataLink(word(link.get("href")), word(link.get("rel")), word(link.get("type"), 120))
        for link in links
        if link.get("rel") in ("describedby", "via", "about", "license") and word(link.get("href"))
    )


def _read_collection(found: Table) -> LayerItem:
    item = LayerItem(
        "collection",
        word(found.get("id")) or word(found.get("name")),
        word(found.get("title")),
        word(found.get("description"), MAX_TEXT),
        keywords=words(found.get("keywords")),
        metadata=_read_references(found),
    )
    crs = unique([name_crs(name) for name in [*words(found.get("crs")), *words(found.get("storageCrs"))]])
    item.crs, item.crs_count = crs[:MAX_ITEM_CRS], len(crs)
    _place_extent(item, table(found.get("extent")))
    data = [
        link for link in tables(found.get("links"), MAX_LIST) if word(link.get("rel")).rpartition("/")[2] == "items"
    ]
    data.sort(key=lambda link: "json" not in word(link.get("type")))  # others are pages, or large
    item.formats = unique([word(link.get("type"), 120) for link in data])
    item.address = next((word(link.get("href")) for link in data), "")
    item.licence = word(found.get("license"))
    item.attribution = word(found.get("attribution"))
    return item


def _place_extent(item: LayerItem, extent: Table) -> None:
    """The box and the time of a collection: the first of its boxes is the one around all.

    Drafts of both standards had lists where objects with lists of lists are now, and many forget the outer list.
    """
    spatial = extent.get("spatial")
    values = _read_first(table(spatial).get("bbox") if isinstance(spatial, dict) else spatial or extent.get("bbox"))
    values = (*values[0:2], *values[3:5]) if len(values) == 6 else values
    if len(values) == 4:
        item.box = convert(word(table(spatial).get("crs")) or "OGC:CRS84", values, latitude_first=False)
        item.box_from = "own" if item.box else "unusable"
    temporal = extent.get("temporal")
    interval = table(temporal).get("interval") if isinstance(temporal, dict) else temporal
    if isinstance(interval, list) and interval and isinstance(interval[0], list):
        interval = interval[0]
    if isinstance(interval, list):
        begin, end = (word(moment) for moment in [*interval, None, None][:2])
        item.time = f"{begin or '..'}/{end or '..'}" if begin or end else ""


def _read_first(boxes: object) -> tuple[float, ...]:
    """The numbers of a box, or of the first of several."""
    return numbers(boxes) or (numbers(boxes[0]) if isinstance(boxes, list) and boxes else ())


def _read_process(found: Table) -> LayerItem:
    name, title = word(found.get("id")), word(found.get("title"))
    abstract = word(found.get("description"), MAX_TEXT)
    return LayerItem("process", name, title, abstract, keywords=words(found.get("keywords")))


def read_stac(found: Table, service: Service) -> list[LayerItem]:
    """A STAC catalogue or collection: its children, or itself."""
    service.title = word(found.get("title")) or word(found.get("id"))
    service.abstract = word(found.get("description"), MAX_TEXT)
    service.keywords = words(found.get("keywords"))
    providers = list(tables(found.get("providers"), MAX_LIST))
    if providers:
        service.provider = word(providers[0].get("name"))
        service.provider_site = word(providers[0].get("url"))
    _read_links(found, service)
    service.operations = ()
    if "extent" in found:
        return [_read_collection(found)]
    if listed := [_read_collection(part) for part in tables(found.get("collections"))]:
        service.title = ""  # it is a page of a list, of which the API's own title says more
        return listed
    names = {"child": "collection", "item": "item"}
    return [
        LayerItem(names[link["rel"]], "", word(link.get("title")), address=word(link.get("href")))
        for link in tables(found.get("links"))
        if link.get("rel") in ("child", "item")
    ]


def read_arcgis(found: Table, service: Service) -> list[LayerItem]:
    """A directory, a service or a layer of ArcGIS REST."""
    information = table(found.get("documentInfo"))
    named = word(found.get("mapName"))
    service.title = word(information.get("Title")) or ("" if named == _UNNAMED else named) or word(found.get("name"))
    service.title = service.title or _name_server(service.endpoint) or named
    described = (found.get(key) for key in ("serviceDescription", "description"))
    service.abstract = next((text for text in map(_prose, described) if text), "")
    service.keywords = words(information.get("Keywords"))
    service.provider = word(information.get("Author"))
    service.constraints = _prose(found.get("copyrightText"))
    service.operations = tuple(map(Operation, words(found.get("capabilities"))))
    service.formats = words(found.get("supportedImageFormatTypes")) or words(found.get("supportedQueryFormats"))
    service.box, extent = _read_envelope(found.get("fullExtent") or found.get("initialExtent") or found.get("extent"))
    service.crs = (name_crs(extent.crs),) if extent else ()
    if service.kind.startswith("arcgis:layer"):
        item = _read_layer(found)
        if extent:
            item.box, item.box_from = service.box, "own" if service.box else "unusable"
            item.extents = (extent,)
        item.crs, item.crs_count = service.crs, len(service.crs)
        return [item]
    items = [LayerItem("folder", word(name), word(name)) for name in words(found.get("folders"))]
    items += [_read_child(part) for part in tables(found.get("services"))]
    items += _read_layers(found, service, extent)
    items += [_read_layer({**part, "type": "Table"}) for part in tables(found.get("tables"))]
    return items[:MAX_ITEMS]


def _read_layers(found: Table, service: Service, extent: Extent | None) -> Iterator[LayerItem]:
    """The layers of a service of ArcGIS, which have its extent, systems and formats."""
    groups = {part.get("id"): part for part in tables(found.get("layers")) if isinstance(part.get("id"), int)}
    for part in tables(found.get("layers")):
        layer = _read_layer(part)
        layer.path = _climb(part, groups)
        layer.crs, layer.crs_count, layer.formats = service.crs, len(service.crs), service.formats
        layer.box, layer.box_from = service.box, "parent" if service.box else ""
        layer.extents = (extent,) if extent and not service.box else ()
        yield layer


def _climb(part: Table, groups: dict[Any, Table]) -> tuple[str, ...]:
    """The names of the groups around a layer, the outermost first."""
    path: list[str] = []
    while isinstance(above := part.get("parentLayerId"), int) and above in groups and len(path) < _MAX_PATH:
        part = groups[above]
        path.append(word(part.get("name")))
    return tuple(reversed(path))


def _name_server(endpoint: str) -> str:
    """The name of a service in its address: Wells of …/rest/services/Water/Wells/MapServer."""
    parts = endpoint.rstrip("/").split("/")
    return unquote(parts[-2]) if len(parts) > 2 and parts[-1].endswith("Server") else ""


def _prose(value: object) -> str:
    """A text without the markup that ArcGIS lets people write in it."""
    text = word(value, MAX_TEXT)
    return one_line(unescape(_TAG.sub(" ", text)), MAX_TEXT) if "<" in text or "&" in text else text


def _read_child(found: Table) -> LayerItem:
    name, kind = word(found.get("name")), word(found.get("type"))
    return LayerItem(
        "service", f"{name}/{kind}" if kind else name, name.rpartition("/")[2], address=word(found.get("url"))
    )


def _read_layer(found: Table) -> LayerItem:
    below = found.get("subLayerIds") or found.get("subLayers")
    return LayerItem(
        "table" if found.get("type") == "Table" else "layer",
        word(found.get("id")),
        word(found.get("name")),
        _prose(found.get("description")),
        group=bool(below),
        attribution=_prose(found.get("copyrightText"))[:MAX_NAME],
    )


def _read_envelope(value: object) -> tuple[Box | None, Extent | None]:
    """The box of an envelope of ArcGIS, whose axes are always x, y."""
    found = table(value)
    values = numbers([found.get(key) for key in ("xmin", "ymin", "xmax", "ymax")])
    if len(values) != 4:
        return None, None
    reference = table(found.get("spatialReference"))
    code = word(reference.get("latestWkid")) or word(reference.get("wkid"))
    crs = f"EPSG:{code}" if code else word(reference.get("wkt"), 120)
    return convert(crs, values, latitude_first=False), Extent(crs, values)


def read_tiles(found: Table, service: Service) -> list[LayerItem]:
    """A TileJSON: a layer, or several vector layers."""
    service.title = word(found.get("name"))
    service.abstract = word(found.get("description"), MAX_TEXT)
    service.constraints = word(found.get("attribution"), MAX_TEXT)
    templates = words(found.get("tiles"))
    service.operations = (Operation("tiles", templates),) if templates else ()
    kind = word(found.get("format"), 60)
    service.formats = (kind,) if kind else ()
    service.crs = ("EPSG:3857",)
    values = numbers(found.get("bounds"))
    service.box = make_box(*values) if len(values) == 4 else None
    layers = list(tables(found.get("vector_layers")))
    items = [
        LayerItem("layer", word(part.get("id")), word(part.get("id")), word(part.get("description"), MAX_TEXT))
        for part in layers
    ]
    items = items or [LayerItem("layer", word(found.get("name")), service.title, service.abstract)]
    for item in items:
        item.box, item.box_from = service.box, "parent" if service.box else ""
        item.crs, item.crs_count, item.formats = service.crs, 1, service.formats
    return items
