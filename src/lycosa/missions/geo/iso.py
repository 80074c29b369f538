"""The inventory as ISO 19139 metadata records of services: entries flow in, XML flows out, as catalogues load it.

One record a service, with what it offers as coupled resources. As files they are loaded by `pycsw-admin.py`; as one
CSW-T transaction they are posted to any catalogue that takes insertions.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from lxml import etree

from lycosa import urls
from lycosa.missions.geo.bounds import Box
from lycosa.missions.geo.inventory import Item, Service
from lycosa.missions.geo.stock import Entry, Layer
from lycosa.missions.geo.tongues import write_language

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
#: Coupled resources of one record; what offers fifty thousand is not read that way by anybody.
_MAX_COUPLED = 1_000


def identify(entry: Entry) -> str:
    """The identifier of a service's record: always the same one."""
    return str(uuid.uuid5(_NAMESPACE, entry.id))


def list_records(entries: Iterable[Entry], layers: Iterable[Layer]) -> Iterator[tuple[str, bytes]]:
    """File name and record of each service; layers come service by service, in the order of the services."""
    for entry, items in _couple(entries, layers):
        yield f"{identify(entry)}.xml", _write(make_record(entry, items))


def list_transaction(entries: Iterable[Entry], layers: Iterable[Layer]) -> Iterator[bytes]:
    """One CSW-T transaction that inserts all of them, in parts."""
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<csw:Transaction xmlns:csw="{CSW}" service="CSW" version="2.0.2">\n'.encode()
    for entry, items in _couple(entries, layers):
        yield b"<csw:Insert>\n" + etree.tostring(make_record(entry, items), encoding="utf-8") + b"\n</csw:Insert>\n"
    yield b"</csw:Transaction>\n"


def _couple(entries: Iterable[Entry], layers: Iterable[Layer]) -> Iterator[tuple[Entry, list[Item]]]:
    waiting = iter(layers)
    layer = next(waiting, None)
    for entry in entries:
        items: list[Item] = []
        while layer is not None and layer.entry.id == entry.id:
            if len(items) < _MAX_COUPLED:
                items.append(layer.item)
            layer = next(waiting, None)
        yield entry, items


def _write(record: Element) -> bytes:
    written: bytes = etree.tostring(record, encoding="utf-8", xml_declaration=True, pretty_print=True)
    return written


def make_record(entry: Entry, items: list[Item]) -> Element:
    """The record of a service; `items` are what it offers."""
    service = entry.service
    root = etree.Element(f"{{{GMD}}}MD_Metadata", nsmap=_SPACES)
    _text(root, "gmd:fileIdentifier", identify(entry))
    language = write_language(service.language)
    if language:
        _code(_add(root, "gmd:language"), "LanguageCode", language)
    _code(_add(root, "gmd:characterSet"), "MD_CharacterSetCode", "utf8")
    _code(_add(root, "gmd:hierarchyLevel"), "MD_ScopeCode", "service")
    _text(root, "gmd:hierarchyLevelName", "service")
    _party(_add(root, "gmd:contact"), service, "pointOfContact")
    _add(root, "gmd:dateStamp", "gco:Date").text = _date(entry)
    _text(root, "gmd:metadataStandardName", "ISO 19119/2005")
    _text(root, "gmd:metadataStandardVersion", "ISO 19119/2005 Amd 1:2008")
    for crs in islice(service.crs, 50):
        identifier = _add(
            root,
            "gmd:referenceSystemInfo",
            "gmd:MD_ReferenceSystem",
            "gmd:referenceSystemIdentifier",
            "gmd:RS_Identifier",
        )
        _text(identifier, "gmd:code", crs)
    _identification(_add(root, "gmd:identificationInfo", "srv:SV_ServiceIdentification"), entry, items)
    _distribution(_add(root, "gmd:distributionInfo", "gmd:MD_Distribution"), entry)
    quality = _add(root, "gmd:dataQualityInfo", "gmd:DQ_DataQuality")
    _code(_add(quality, "gmd:scope", "gmd:DQ_Scope", "gmd:level"), "MD_ScopeCode", "service")
    statement = f"Made by lycosa from the description at {entry.sources[0].url if entry.sources else service.endpoint}."
    _text(_add(quality, "gmd:lineage", "gmd:LI_Lineage"), "gmd:statement", statement)
    return root


def _identification(found: Element, entry: Entry, items: list[Item]) -> None:
    service = entry.service
    title = service.title or f"{service.type} {service.endpoint}"
    citation = _add(found, "gmd:citation", "gmd:CI_Citation")
    _text(citation, "gmd:title", title)
    date = _add(citation, "gmd:date", "gmd:CI_Date")
    _add(date, "gmd:date", "gco:Date").text = _date(entry)
    _code(_add(date, "gmd:dateType"), "CI_DateTypeCode", "revision")
    identifier = _add(citation, "gmd:identifier", "gmd:MD_Identifier")
    _text(identifier, "gmd:code", service.endpoint)
    _text(found, "gmd:abstract", service.abstract or title)
    _party(_add(found, "gmd:pointOfContact"), service, "pointOfContact")
    if service.keywords:
        keywords = _add(found, "gmd:descriptiveKeywords", "gmd:MD_Keywords")
        for word in service.keywords:
            _text(keywords, "gmd:keyword", word)
    limits = [text for text in (service.licence, service.constraints, service.fees) if text]
    if limits:
        legal = _add(found, "gmd:resourceConstraints", "gmd:MD_LegalConstraints")
        _code(_add(legal, "gmd:accessConstraints"), "MD_RestrictionCode", "otherRestrictions")
        for text in limits:
            _text(legal, "gmd:otherConstraints", text)
    kind = f"OGC:{service.type}" if service.kind.startswith("ogc:") else service.type
    _add(found, "srv:serviceType", "gco:LocalName").text = _clean(kind)
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


#: The request that gives the data of an item.
_OPERATIONS = {"WMS": "GetMap", "WFS": "GetFeature", "WCS": "GetCoverage", "WMTS": "GetTile", "WPS": "Execute"} | {
    "SOS": "GetObservation",
    "CSW": "GetRecords",
}


def _record_of(item: Item) -> str:
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


def _distribution(found: Element, entry: Entry) -> None:
    service = entry.service
    options = _add(found, "gmd:transferOptions", "gmd:MD_DigitalTransferOptions")
    protocol = f"OGC:{service.type}" if service.kind.startswith("ogc:") else service.type
    for endpoint in entry.endpoints:
        resource = _add(options, "gmd:onLine", "gmd:CI_OnlineResource")
        _linkage(resource, endpoint)
        _text(resource, "gmd:protocol", f"{protocol}-{service.version}" if service.version else protocol)
        _text(resource, "gmd:name", service.title or service.endpoint)


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
    """A box that crosses the antimeridian is two, because catalogues do not know others."""
    west, south, east, north = box
    for left, right in [(west, east)] if west <= east else [(west, 180.0), (-180.0, east)]:
        found = _add(extent, "gmd:geographicElement", "gmd:EX_GeographicBoundingBox")
        sides = {"westBoundLongitude": left, "eastBoundLongitude": right}
        for name, value in (sides | {"southBoundLatitude": south, "northBoundLatitude": north}).items():
            _add(found, f"gmd:{name}", "gco:Decimal").text = f"{value:.6f}".rstrip("0").rstrip(".")


def _date(entry: Entry) -> str:
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
