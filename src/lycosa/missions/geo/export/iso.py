"""ISO export: the inventory as ISO 19139 metadata records, as catalogues load them.

One record per service, with its items as coupled resources; or one per layer, as a data set whose parent is the record
of its service. `pycsw-admin.py` loads them as files; any catalogue that takes insertions accepts them as one CSW-T
transaction.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from lxml import etree
from msgspec import Struct

from lycosa import urls
from lycosa.missions.geo.bounds import Box
from lycosa.missions.geo.inventory.inventory import Layer, ServiceEntry
from lycosa.missions.geo.model import LayerItem, Service
from lycosa.missions.geo.vocabulary import write_language

if TYPE_CHECKING:
    Element = Any

GMD = "http://www.isotc211.org/2005/gmd"
GCO = "http://www.isotc211.org/2005/gco"
SRV = "http://www.isotc211.org/2005/srv"
GMX = "http://www.isotc211.org/2005/gmx"
XLINK = "http://www.w3.org/1999/xlink"
GML = "http://www.opengis.net/gml"
CSW = "http://www.opengis.net/cat/csw/2.0.2"
_SPACES = {"gmd": GMD, "gco": GCO, "srv": SRV, "gmx": GMX, "xlink": XLINK, "gml": GML}
_CODES = (
    "http://standards.iso.org/ittf/PubliclyAvailableStandards/ISO_19139_Schemas/resources/codelist/gmxCodelists.xml"
)
#: Names of all records of ours, so that a service has the same one in every export.
_NAMESPACE = uuid.UUID("6f1d1d0a-51f2-5b0e-9a6b-2d1f0f6f7c11")
#: Characters that XML cannot hold.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Coupled resources of one record; nobody reads fifty thousand of them that way.
_MAX_COUPLED = 1_000
#: Items that are no data.
_NO_DATA = frozenset(("process", "folder", "service"))


class Subject(Struct):
    """The subject of a record, service or layer alike."""

    identifier: str
    level: str  # service, dataset
    title: str
    abstract: str
    code: str  # what it is called at home
    language: str
    crs: tuple[str, ...]
    keywords: tuple[str, ...]
    limits: tuple[str, ...]  # licence, constraints, fees


def identify(name: str) -> str:
    """The identifier of the record of a service or a layer, by its id: always the same one."""
    return str(uuid.uuid5(_NAMESPACE, name))


def list_records(entries: Iterable[ServiceEntry], layers: Iterable[Layer]) -> Iterator[tuple[str, Element]]:
    """Identifier and record of each service; layers come service by service, in the order of the services."""
    for entry, items in _couple(entries, layers):
        yield identify(entry.id), make_record(entry, items)


def list_layer_records(layers: Iterable[Layer]) -> Iterator[tuple[str, Element]]:
    """Identifier and record of each layer that is data, with its service as parent."""
    for layer in layers:
        if layer.item.type not in _NO_DATA:
            yield identify(layer.id), make_layer_record(layer)


def write_files(records: Iterable[tuple[str, Element]]) -> Iterator[tuple[str, bytes]]:
    """Records as files by their names."""
    for name, record in records:
        yield f"{name}.xml", etree.tostring(record, encoding="utf-8", xml_declaration=True, pretty_print=True)


def write_transaction(records: Iterable[tuple[str, Element]]) -> Iterator[bytes]:
    """One CSW-T transaction that inserts all of them, in parts."""
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<csw:Transaction xmlns:csw="{CSW}" service="CSW" version="2.0.2">\n'.encode()
    for _, record in records:
        yield b"<csw:Insert>\n" + etree.tostring(record, encoding="utf-8") + b"\n</csw:Insert>\n"
    yield b"</csw:Transaction>\n"


def _couple(entries: Iterable[ServiceEntry], layers: Iterable[Layer]) -> Iterator[tuple[ServiceEntry, list[LayerItem]]]:
    waiting = iter(layers)
    layer = next(waiting, None)
    for entry in entries:
        items: list[LayerItem] = []
        while layer is not None and layer.entry.id == entry.id:
            if len(items) < _MAX_COUPLED:
                items.append(layer.item)
            layer = next(waiting, None)
        yield entry, items


def make_record(entry: ServiceEntry, items: list[LayerItem]) -> Element:
    """The record of a service; `items` are what it offers."""
    service = entry.service
    title = service.title or f"{service.type} {service.endpoint}"
    subject = Subject(
        identifier=identify(entry.id),
        level="service",
        title=title,
        abstract=service.abstract,
        code=service.endpoint,
        language=service.language,
        crs=service.crs,
        keywords=service.keywords,
        limits=(service.licence, service.constraints, service.fees),
    )
    root = _begin(subject, entry)
    found = _add(root, "gmd:identificationInfo", "srv:SV_ServiceIdentification")
    _describe(found, subject, entry)
    _offer(found, entry, items)
    _distribute(root, entry, name=title)
    _state_origin(root, entry, subject.level)
    return root


def make_layer_record(layer: Layer) -> Element:
    """The record of a layer as a data set that its service distributes."""
    item, entry = layer.item, layer.entry
    service = entry.service
    title = item.title or item.name or service.title or service.endpoint
    subject = Subject(
        identifier=identify(layer.id),
        level="dataset",
        title=title,
        abstract=item.abstract,
        code=item.name or layer.id,
        language=item.language,
        crs=item.crs,
        keywords=item.keywords,
        limits=(item.licence or service.licence, item.attribution, service.constraints, service.fees),
    )
    root = _begin(subject, entry)
    found = _add(root, "gmd:identificationInfo", "gmd:MD_DataIdentification")
    _describe(found, subject, entry)
    language = _add(found, "gmd:language")
    if code := write_language(item.language):
        _code(language, "LanguageCode", code)
    else:
        language.set(f"{{{GCO}}}nilReason", "unknown")
    if item.box:
        _extent(_add(found, "gmd:extent", "gmd:EX_Extent"), item.box)
    _distribute(root, entry, name=item.name or title, about=title)
    _state_origin(root, entry, subject.level)
    return root


def _begin(subject: Subject, entry: ServiceEntry) -> Element:
    """The root with all that stands before the identification."""
    root = etree.Element(f"{{{GMD}}}MD_Metadata", nsmap=_SPACES)
    _text(root, "gmd:fileIdentifier", subject.identifier)
    if language := write_language(subject.language):
        _code(_add(root, "gmd:language"), "LanguageCode", language)
    _code(_add(root, "gmd:characterSet"), "MD_CharacterSetCode", "utf8")
    service = subject.level == "service"
    if not service:
        _text(root, "gmd:parentIdentifier", identify(entry.id))
    _code(_add(root, "gmd:hierarchyLevel"), "MD_ScopeCode", subject.level)
    _text(root, "gmd:hierarchyLevelName", subject.level)
    _party(_add(root, "gmd:contact"), entry.service, "pointOfContact")
    _add(root, "gmd:dateStamp", "gco:Date").text = _date(entry)
    _text(root, "gmd:metadataStandardName", "ISO 19119/2005" if service else "ISO 19115:2003")
    _text(root, "gmd:metadataStandardVersion", "ISO 19119/2005 Amd 1:2008" if service else "ISO 19139:2007")
    for crs in islice(subject.crs, 50):
        system = _add(root, "gmd:referenceSystemInfo", "gmd:MD_ReferenceSystem")
        _text(_add(system, "gmd:referenceSystemIdentifier", "gmd:RS_Identifier"), "gmd:code", crs)
    return root


def _describe(found: Element, subject: Subject, entry: ServiceEntry) -> None:
    """Add the properties that services and data sets have alike."""
    citation = _add(found, "gmd:citation", "gmd:CI_Citation")
    _text(citation, "gmd:title", subject.title)
    date = _add(citation, "gmd:date", "gmd:CI_Date")
    _add(date, "gmd:date", "gco:Date").text = _date(entry)
    _code(_add(date, "gmd:dateType"), "CI_DateTypeCode", "revision")
    _text(_add(citation, "gmd:identifier", "gmd:MD_Identifier"), "gmd:code", subject.code)
    _text(found, "gmd:abstract", subject.abstract or subject.title)
    _party(_add(found, "gmd:pointOfContact"), entry.service, "pointOfContact")
    if subject.keywords:
        keywords = _add(found, "gmd:descriptiveKeywords", "gmd:MD_Keywords")
        for word in subject.keywords:
            _text(keywords, "gmd:keyword", word)
    if limits := [text for text in subject.limits if text]:
        legal = _add(found, "gmd:resourceConstraints", "gmd:MD_LegalConstraints")
        _code(_add(legal, "gmd:accessConstraints"), "MD_RestrictionCode", "otherRestrictions")
        for text in limits:
            _text(legal, "gmd:otherConstraints", text)


def _offer(found: Element, entry: ServiceEntry, items: list[LayerItem]) -> None:
    """Add the properties that only services have: type, versions, items, operations."""
    service = entry.service
    _add(found, "srv:serviceType", "gco:LocalName").text = _clean(_protocol(service))
    for version in entry.versions or ((service.version,) if service.version else ()):
        _text(found, "srv:serviceTypeVersion", version)
    if service.box:
        _extent(_add(found, "srv:extent", "gmd:EX_Extent"), service.box)
    for item in items:
        if item.name:
            coupled = _add(found, "srv:coupledResource", "srv:SV_CoupledResource")
            _text(coupled, "srv:operationName", _OPERATIONS.get(service.type, "Get"))
            _text(coupled, "srv:identifier", _record_of(item))
            _add(coupled, "gco:ScopedName").text = _clean(item.name)
    _add(found, "srv:couplingType", "srv:SV_CouplingType").attrib.update(
        {"codeList": f"{_CODES}#SV_CouplingType", "codeListValue": "tight" if items else "loose"}
    )
    _operations(found, service)
    records = dict.fromkeys(urls.normalise(one.url) for item in items for one in item.metadata)
    for address in filter(None, records):
        _add(found, "srv:operatesOn").set(f"{{{XLINK}}}href", _clean(address))


def _protocol(service: Service) -> str:
    """The name of a kind of service in catalogues."""
    return f"OGC:{service.type}" if service.kind.startswith("ogc:") else service.type


#: The request that gives the data of an item.
_OPERATIONS = {"WMS": "GetMap", "WFS": "GetFeature", "WCS": "GetCoverage", "WMTS": "GetTile", "WPS": "Execute"} | {
    "SOS": "GetObservation",
    "CSW": "GetRecords",
}


def _record_of(item: LayerItem) -> str:
    return next((one.url for one in item.metadata if one.url), item.name)


def _operations(found: Element, service: Service) -> None:
    listed = [(operation.name, _addresses(operation.get or operation.post)) for operation in service.operations]
    for name, addresses in [pair for pair in listed if pair[1]] or [("GetCapabilities", [service.endpoint])]:
        operation = _add(found, "srv:containsOperations", "srv:SV_OperationMetadata")
        _text(operation, "srv:operationName", name)
        _add(operation, "srv:DCP", "srv:DCPList").attrib.update(
            {"codeList": f"{_CODES}#DCPList", "codeListValue": "WebServices"}
        )
        for address in addresses:
            _linkage(_add(operation, "srv:connectPoint", "gmd:CI_OnlineResource"), address)


def _addresses(stated: Iterable[str]) -> list[str]:
    """The first of those that are addresses: schemas check them, and templates are full of http://hostname:port."""
    return [normal for address in islice(stated, 3) if (normal := urls.normalise(address))]


def _distribute(root: Element, entry: ServiceEntry, *, name: str, about: str = "") -> None:
    """Add the addresses at which the service answers."""
    service = entry.service
    options = _add(
        root, "gmd:distributionInfo", "gmd:MD_Distribution", "gmd:transferOptions", "gmd:MD_DigitalTransferOptions"
    )
    protocol = _protocol(service)
    for endpoint in entry.endpoints:
        resource = _add(options, "gmd:onLine", "gmd:CI_OnlineResource")
        _linkage(resource, endpoint)
        _text(resource, "gmd:protocol", f"{protocol}-{service.version}" if service.version else protocol)
        _text(resource, "gmd:name", name)
        if about:
            _text(resource, "gmd:description", about)


def _state_origin(root: Element, entry: ServiceEntry, level: str) -> None:
    quality = _add(root, "gmd:dataQualityInfo", "gmd:DQ_DataQuality")
    _code(_add(quality, "gmd:scope", "gmd:DQ_Scope", "gmd:level"), "MD_ScopeCode", level)
    address = entry.sources[0].url if entry.sources else entry.service.endpoint
    statement = f"Made by lycosa from the description at {address}."
    _text(_add(quality, "gmd:lineage", "gmd:LI_Lineage"), "gmd:statement", statement)


def _linkage(resource: Element, address: str) -> None:
    _add(resource, "gmd:linkage", "gmd:URL").text = _clean(address)


def _party(parent: Element, service: Service, role: str) -> None:
    party = _add(parent, "gmd:CI_ResponsibleParty")
    contact = service.contact
    if contact and contact.person:
        _text(party, "gmd:individualName", contact.person)
    _text(party, "gmd:organisationName", service.provider or (contact.organisation if contact else "") or "unknown")
    if contact and contact.position:
        _text(party, "gmd:positionName", contact.position)
    if contact and (contact.email or contact.phone or contact.address):
        information = _add(party, "gmd:contactInfo", "gmd:CI_Contact")
        if contact.phone:
            _text(_add(information, "gmd:phone", "gmd:CI_Telephone"), "gmd:voice", contact.phone)
        if contact.email or contact.address:
            address = _add(information, "gmd:address", "gmd:CI_Address")
            if contact.address:
                _text(address, "gmd:deliveryPoint", contact.address)
            if contact.email:
                _text(address, "gmd:electronicMailAddress", contact.email)
    _code(_add(party, "gmd:role"), "CI_RoleCode", role)


def _extent(extent: Element, box: Box) -> None:
    """A box that crosses the antimeridian is two, because catalogues do not know others, and some only the first."""
    west, south, east, north = box
    parts = [(west, east)] if west <= east else [(west, 180.0), (-180.0, east)]
    for left, right in sorted(parts, key=lambda part: part[0] - part[1]):
        found = _add(extent, "gmd:geographicElement", "gmd:EX_GeographicBoundingBox")
        sides = {"westBoundLongitude": left, "eastBoundLongitude": right}
        for name, value in (sides | {"southBoundLatitude": south, "northBoundLatitude": north}).items():
            _add(found, f"gmd:{name}", "gco:Decimal").text = f"{value:.6f}".rstrip("0").rstrip(".")


def _date(entry: ServiceEntry) -> str:
    return (entry.fetched or datetime.fromtimestamp(0, UTC).isoformat())[:10]


def _add(parent: Element, *path: str) -> Element:
    """A new element below another, and those between them."""
    for name in path:
        prefix, _, local = name.partition(":")
        parent = etree.SubElement(parent, f"{{{_SPACES[prefix]}}}{local}")
    return parent


def _text(parent: Element, name: str, text: str) -> None:
    _add(parent, name, "gco:CharacterString").text = _clean(text)


def _code(parent: Element, name: str, value: str) -> None:
    found = _add(parent, f"gmd:{name}")
    found.set("codeList", f"{_CODES}#{name}")
    found.set("codeListValue", value)
    found.text = value


def _clean(text: str) -> str:
    return _ILLEGAL.sub("", text)
