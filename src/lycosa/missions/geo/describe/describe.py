"""Service description: the document in which a service describes itself, read as a `Service` and its `LayerItem`s.

Every element is optional, every version of every kind takes the same way, and nothing raises on content. What a
description leaves out of single items stands in other documents: those of coverages of a WCS (DescribeCoverage) and of
tile maps of a TMS give items with title, box and systems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from lycosa import text
from lycosa.missions.geo.bounds import Box, Extent, convert, make_box, name_crs, read_numbers, unite
from lycosa.missions.geo.describe import feeds, json_services, metadata_records, ows, wms
from lycosa.missions.geo.describe.ows import place_box
from lycosa.missions.geo.model import DIRECTORY, MAX_ITEMS, Description, LayerItem, Service, find_licence
from lycosa.missions.geo.recognise.answers import read_exception_report
from lycosa.missions.geo.recognise.endpoint_inference import find_endpoint, strip_request
from lycosa.missions.geo.recognise.kinds import inflate, recognise
from lycosa.missions.geo.vocabulary import name_language
from lycosa.missions.geo.xml_access import attribute, children, find, one_line, prose_at, read_tree, text_at
from lycosa.model import Record
from lycosa.parse import Doc

if TYPE_CHECKING:
    Element = Any

_Read = Callable[[Any, Service], list[LayerItem]]

_JSON: dict[str, _Read] = {
    "ogcapi": json_services.read_api,
    "stac": json_services.read_stac,
    "arcgis": json_services.read_arcgis,
    "tilejson": json_services.read_tiles,
    "sta": json_services.read_api,
}
_XML: dict[str, _Read] = {
    "wfs": ows.read_feature_types,
    "wcs": ows.read_coverages,
    "wmts": ows.read_tile_layers,
    "wps": ows.read_processes,
    "sos": ows.read_offerings,
    "wcts": ows.read_transformations,
    "atom-download": feeds.read_feed,
    "opensearch": feeds.read_opensearch,
    "tms": feeds.read_tile_maps,
}
_NO_SECTIONS = frozenset(("atom-download", "opensearch", "tms"))
#: Bytes of JSON that are read at most: descriptions are far smaller.
_JSON_BYTES = 32 << 20
#: Bytes of the records of one document, which may have 64 MiB, and the number of items that never takes as much.
_RECORD_BYTES = 40 << 20
_SAFE_ITEMS = 200
#: Items whose words show the language of a service.
_LANGUAGE_ITEMS = 100


def describe_service(doc: Doc, kind: str | None = None) -> Description | None:
    """What a service offers, as its description says; None for a document that describes none.

    `kind` saves recognising the document again.
    """
    kind = kind or recognise(doc)
    if kind is None:
        return None
    family, _, version = kind.partition("/")
    family = family.removeprefix("ogc:").partition(":")[0]
    named = {"atom-download": "ATOM"}.get(family, family.upper())
    version = "" if named == "ATOM" else version
    service = Service(type=named, version=version, kind=kind, endpoint=find_endpoint(doc.url, named))
    if family in _JSON:
        body = doc.body if doc.body[:2] != b"\x1f\x8b" else inflate(doc.body, _JSON_BYTES)
        found = json_services.read_object(body) if doc.kind not in ("html", "xhtml") else {}
        items = _JSON[family](found, service)
        service.title = service.title or (doc.title if not found else "")
    else:
        items = _read_xml(doc, family, service)
    _complete(service, items)
    return Description(service, items)


def extract(doc: Doc) -> Iterator[Record]:
    """One record of the service, and one per layer, feature type, coverage, process…

    Of documents that describe no service: details of its items, records of a catalogue, or its exception report.
    """
    description = describe_service(doc)
    if description is not None:
        _limit_records(description)
        yield from description.records()
    elif detailed := name_detailed(doc):
        stands = {"service": detailed, "endpoint": find_endpoint(doc.url, detailed)}
        yield from (Record("detail", msgspec.to_builtins(item) | stands) for item in read_details(doc))
    elif doc.root is not None and doc.root.name in metadata_records.ROOTS:
        yield from _limit_size(Record("metadata", msgspec.to_builtins(r)) for r in metadata_records.read_records(doc))
    elif (report := read_exception_report(doc)) is not None:
        yield Record("exception", msgspec.to_builtins(report))


def _limit_size(records: Iterator[Record]) -> Iterator[Record]:
    """The first records, as many as may be kept of one document."""
    room = _RECORD_BYTES
    for record in records:
        room -= len(msgspec.json.encode(record.data))
        if room < 0:
            return
        yield record


def _limit_records(description: Description) -> None:
    """Leave items out where a small document makes very much of them: each repeats what it inherits."""
    items, room = description.items, _RECORD_BYTES
    for number, item in enumerate(items if len(items) >= _SAFE_ITEMS else ()):
        room -= len(msgspec.json.encode(item))
        if room < 0:
            service = description.service
            service.problem = service.problem or f"only the first {number:,} of {len(items):,} items are kept"
            description.items = items[:number]
            service.items = _count(description.items)
            return


def _read_xml(doc: Doc, family: str, service: Service) -> list[LayerItem]:
    root, service.problem = read_tree(doc)
    if root is None:
        return []
    if family not in _NO_SECTIONS:
        # WMS never took to OWS Common; the others show by their first section which form they have.
        old = family == "wms" or (find(root, "Service") is not None and find(root, "ServiceIdentification") is None)
        (wms if old else ows).read_service(root, service)
        if family == "wms":
            return wms.read_layers(root, service)
        if family == "wcs" and find(root, "ContentMetadata") is not None:
            return wms.read_coverages(root, service)
    read = _XML.get(family)
    return read(root, service) if read is not None else []


def _complete(service: Service, items: list[LayerItem]) -> None:
    """Fill in what follows from all that was read: counts, licence, box, languages and the stated address."""
    service.items = _count(items)
    service.boxes = sum(1 for item in items if item.box_from in ("own", "unusable", "cut"))
    service.licence = service.licence or find_licence(service.constraints, service.fees)
    service.box = service.box or unite([item.box for item in items if item.box])
    if len(items) >= MAX_ITEMS:
        service.problem = service.problem or f"only the first {MAX_ITEMS:,} items are read"
    _find_languages(service, items)
    if not service.advertised:
        capabilities = [op for op in service.operations if op.name in ("GetCapabilities", "Capabilities")]
        addresses = [address for op in capabilities or service.operations for address in op.get]
        service.advertised = strip_request(addresses[0]) if addresses else ""


def _count(items: list[LayerItem]) -> int:
    """How many things a service offers: one that it lists twice by the same name counts once, a heading not at all."""
    offered = [item for item in items if (item.name or not item.group) and item.type not in DIRECTORY]
    named = {(item.type, item.name) for item in offered if item.name}
    return len(named) + sum(1 for item in offered if not item.name)


def _find_languages(service: Service, items: list[LayerItem]) -> None:
    """Fill in the languages of service and items: as declared, unless their stop words clearly say otherwise."""
    said = [service.title, service.abstract, service.constraints, service.fees]
    said += [f"{item.title}. {item.abstract}" for item in items[:_LANGUAGE_ITEMS]]
    declared = next(filter(None, map(name_language, service.languages)), "")
    service.language = text.extract(". ".join(said), declared).language
    for item in items:
        item.language = text.extract(f"{item.title}. {item.abstract}", service.language).language


_ROOTS = {"CoverageDescriptions": "WCS", "CoverageDescription": "WCS", "TileMap": "TMS"}
#: What servers call the axes of an envelope, east first.
_EAST = ("long", "lon", "longitude", "e", "x", "easting", "east")
_NORTH = ("lat", "latitude", "n", "y", "northing", "north")
_MAX_AXES = 8


def name_detailed(doc: Doc) -> str:
    """The type of the service of whose items a document tells: WCS, TMS; "" for any other document."""
    return _ROOTS.get(doc.root.name, "") if doc.root is not None else ""


def read_details(doc: Doc) -> list[LayerItem]:
    """The items of which a document tells; a tile map is known by its address, a coverage by its name."""
    kind = name_detailed(doc)
    root, _ = read_tree(doc) if kind else (None, "")
    if root is None:
        return []
    if kind == "TMS":
        return [_read_tile_map(root, doc.url)]
    found = [root] if root.tag.endswith("}CoverageDescription") else []
    found += children(root, "CoverageDescription")
    return [item for item in map(_read_coverage, found[:MAX_ITEMS]) if item.name]


def _read_tile_map(root: Element, url: str) -> LayerItem:
    item = LayerItem("tile-map", "", text_at(root, "Title"), prose_at(root, "Abstract"), address=url)
    crs = name_crs(text_at(root, "SRS"))
    item.crs, item.crs_count = ((crs,), 1) if crs else ((), 0)
    stated = find(root, "BoundingBox")
    values = [n for side in ("minx", "miny", "maxx", "maxy") for n in read_numbers(attribute(stated, side), 1)]
    if len(values) == 4:
        item.extents = (Extent(crs, tuple(values)),)
        item.box = convert(crs, tuple(values), latitude_first=False)
        item.box_from = "own" if item.box else "unusable"
    return item


def _read_coverage(element: Element) -> LayerItem:
    """A coverage of WCS 1.1, which has boxes of OWS Common, or of 2.0, which has an envelope of GML."""
    item = LayerItem(
        "coverage",
        text_at(element, "CoverageId") or text_at(element, "Identifier"),
        text_at(element, "Title") or text_at(element, "name"),
        prose_at(element, "Abstract") or prose_at(element, "description"),
    )
    domain = find(element, "Domain", "SpatialDomain")
    if domain is not None:
        place_box(item, domain, None)
    envelope = next(element.iter("{*}Envelope", "{*}EnvelopeWithTimePeriod"), None)
    if envelope is not None and item.box is None:
        crs = one_line(envelope.get("srsName", ""), 300)
        item.crs, item.crs_count = ((name_crs(crs),), 1) if crs else ((), 0)
        item.box, values = _read_envelope(envelope, crs)
        item.box_from = "own" if item.box else "unusable"
        item.extents = (Extent(name_crs(crs), values),) if values else ()
    return item


def _read_envelope(envelope: Element, crs: str) -> tuple[Box | None, tuple[float, ...]]:
    """The box of an envelope, and its numbers; the labels of its axes say which is which, also beside time."""
    lower, upper = (read_numbers(text_at(envelope, name), _MAX_AXES) for name in ("lowerCorner", "upperCorner"))
    if len(lower) < 2 or len(lower) != len(upper):
        return None, ()
    labels = [label.lower() for label in envelope.get("axisLabels", "")[:200].split()]
    east = next((at for at, label in enumerate(labels[: len(lower)]) if label in _EAST), -1)
    north = next((at for at, label in enumerate(labels[: len(lower)]) if label in _NORTH), -1)
    if east < 0 or north < 0:
        values = (lower[0], lower[1], upper[0], upper[1])
        return convert(crs, values, latitude_first=True), values
    values = (lower[east], lower[north], upper[east], upper[north])
    degrees = labels[north].startswith("lat")
    return make_box(*values) if degrees else convert(name_crs(crs), values, latitude_first=False), values
