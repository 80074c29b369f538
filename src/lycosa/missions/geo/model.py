"""The data model of services: structs for a service and what it offers, and how they become records.

Every field may be empty: servers leave out whatever they can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from lycosa.missions.geo.bounds import Box, Extent
from lycosa.model import Record

#: Items of one service that are read at most.
MAX_ITEMS = 50_000
#: Reference systems that one item lists; GeoServer offers all 6,000 for each layer.
MAX_ITEM_CRS = 64
MAX_SERVICE_CRS = 10_000
#: Of any other list.
MAX_LIST = 200
MAX_TEXT = 8_000
MAX_NAME = 1_000
#: The types of services that descriptions are read as.
TYPES = (
    "WMS", "WFS", "WCS", "WMTS", "WPS", "CSW", "SOS", "WCTS", "SPS", "STA", "ATOM", "OGCAPI", "STAC", "ARCGIS",
    "TILEJSON", "TMS", "OPENSEARCH",
)  # fmt: skip
#: Types of items that a directory lists: services of their own, and nothing that can be asked of the directory.
DIRECTORY = ("folder", "service")
#: Services that are nothing without layers, feature types or coverages.
_OFFERING = ("WMS", "WFS", "WCS", "WMTS")


class Contact(Struct, omit_defaults=True):
    """The person or organisation responsible for a service."""

    person: str = ""
    position: str = ""
    organisation: str = ""
    email: str = ""
    phone: str = ""
    address: str = ""
    url: str = ""


class Operation(Struct, omit_defaults=True):
    """A request that a service answers, and at which addresses."""

    name: str
    get: tuple[str, ...] = ()
    post: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()


class MetadataLink(Struct, omit_defaults=True):
    """A link from a service or an item to what describes it."""

    url: str
    type: str = ""  # the standard of the record: "TC211", "FGDC", "ISO19115:2003"
    format: str = ""


class Style(Struct, omit_defaults=True):
    """A style in which a service draws a layer."""

    name: str
    title: str = ""
    legend: str = ""


class Dimension(Struct, omit_defaults=True):
    """A dimension along which a layer varies: time, elevation…"""

    name: str
    extent: str = ""  # as written: 2019-01-01/2019-12-31/P1D
    default: str = ""
    units: str = ""


class LayerItem(Struct, omit_defaults=True):
    """A layer, feature type, coverage, process, offering, collection or data set."""

    type: str  # layer, feature-type, coverage, process, offering, collection, dataset, tile-map, service, folder
    name: str = ""  # by which it is asked for; empty for groups that only hold others
    title: str = ""
    abstract: str = ""
    path: tuple[str, ...] = ()  # titles of the groups around it, outermost first
    group: bool = False  # it holds other items
    keywords: tuple[str, ...] = ()
    box: Box | None = None  # WGS 84
    #: own, parent, computed (from a box in another system), unusable (stated, not in degrees), cut (too long to read)
    box_from: str = ""
    extents: tuple[Extent, ...] = ()
    crs: tuple[str, ...] = ()  # with the inherited ones, the first MAX_ITEM_CRS
    crs_count: int = 0
    styles: tuple[Style, ...] = ()
    formats: tuple[str, ...] = ()
    metadata: tuple[MetadataLink, ...] = ()
    time: str = ""
    dimensions: tuple[Dimension, ...] = ()
    queryable: bool = False
    address: str = ""  # of the item itself, where it has one
    addresses: tuple[str, ...] = ()  # further ones: in other languages and formats
    attribution: str = ""
    licence: str = ""
    language: str = ""  # of title and abstract, by their words; two letters


class Service(Struct, omit_defaults=True):
    """A service as its description presents it."""

    type: str  # WMS, WFS, … ATOM, OGCAPI, STAC, ARCGIS, TILEJSON, OPENSEARCH, TMS
    version: str = ""
    kind: str = ""  # as recognised: "ogc:wms/1.3.0"
    endpoint: str = ""  # where it answered, without the parameters of the request
    advertised: str = ""  # where it says that it answers
    title: str = ""
    abstract: str = ""
    provider: str = ""
    provider_site: str = ""
    contact: Contact | None = None
    fees: str = ""
    constraints: str = ""
    licence: str = ""  # a known licence that fees or constraints name
    keywords: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # as declared
    language: str = ""  # of what it says, by its words; two letters
    operations: tuple[Operation, ...] = ()
    formats: tuple[str, ...] = ()
    crs: tuple[str, ...] = ()
    box: Box | None = None
    metadata: tuple[MetadataLink, ...] = ()
    versions: tuple[str, ...] = ()  # others that it says it speaks
    items: int = 0
    boxes: int = 0  # items that state a box of their own
    problem: str = ""

    @property
    def empty(self) -> bool:
        """Whether it offers nothing of what such a service is for: programs answer for kinds that nobody configured."""
        return self.type in _OFFERING and not self.items and not self.problem


class Description(Struct):
    """The content of a service's description: the service, and the items that it offers."""

    service: Service
    items: list[LayerItem]

    def records(self) -> Iterator[Record]:
        """One record of the service, then one per item, each naming its service."""
        service = self.service
        yield Record("service", msgspec.to_builtins(service))
        for item in self.items:
            data = msgspec.to_builtins(item)
            data["service"] = service.type
            data["endpoint"] = service.endpoint
            yield Record("layer", data)


_LICENCES = (
    (re.compile(r"\bcc[- ]?0\b|creativecommons\.org/publicdomain/zero", re.IGNORECASE), "CC0-1.0"),
    (
        re.compile(r"\bodbl\b|open ?data ?commons[^.]{0,20}database|opendatacommons\.org/licenses/odbl", re.I),
        "ODbL-1.0",
    ),
    (re.compile(r"\bodc[- ]by\b|opendatacommons\.org/licenses/by", re.IGNORECASE), "ODC-By-1.0"),
    (re.compile(r"open government licen[cs]e|\bogl\b|nationalarchives\.gov\.uk/doc/open-gov", re.IGNORECASE), "OGL"),
    (re.compile(r"dl-de[/ -]zero|govdata\.de/dl-de/zero", re.IGNORECASE), "DL-DE-ZERO-2.0"),
    (re.compile(r"dl-de[/ -]by|datenlizenz deutschland|govdata\.de/dl-de/by", re.IGNORECASE), "DL-DE-BY-2.0"),
    (re.compile(r"licence ouverte|etalab", re.IGNORECASE), "etalab-2.0"),
    (re.compile(r"\biodl\b", re.IGNORECASE), "IODL"),
)
_CREATIVE = re.compile(
    r"\bcc[- ]by((?:[- ](?:nc|sa|nd))*)(?:[- /]v?([1-4]\.[0-9]))?|"
    r"creativecommons\.org/licenses/by((?:-(?:nc|sa|nd))*)/([1-4]\.[0-9])",
    re.IGNORECASE,
)
#: The same written out, in the languages in which services mostly write it.
_SPELLED = re.compile(
    r"creative\s+commons\b.{0,30}?\b(?:by|attribution|reconocimiento|atribuci[oó]n|atribuição|namensnennung|attribuzione)\b"
    r"(.{0,120})",
    re.IGNORECASE | re.DOTALL,
)
_TERMS = (
    (r"\bnc\b|non?[- ]?com+erc|nicht[- ]?kommerz|utilisation commerciale|não[- ]?comerc", "-NC"),
    (r"\bsa\b|share[- ]?alike|compart(?:ir|il)|gleichen bedingungen|m[eê]mes conditions|stesso modo", "-SA"),
    (r"\bnd\b|no[- ]?deriv|sin[- ]?obra|sem[- ]?deriv|keine bearbeitung|pas de modification|non opere", "-ND"),
)
_NUMBER = re.compile(r"\b([1-4]\.[05])\b")


def find_licence(*texts: str) -> str:
    """The known licence that a text names, by its SPDX name where it has one; "" for none."""
    for text in texts:
        text = text[:4000]
        if found := _CREATIVE.search(text):
            parts = [part for part in found.groups() if part]
            extra = next((part for part in parts if part[0] in "- "), "").replace(" ", "-").upper()
            number = next((part for part in parts if part[0].isdigit()), "")
            return f"CC-BY{extra}" + (f"-{number}" if number else "")
        if found := _SPELLED.search(text):
            extra = "".join(name for pattern, name in _TERMS if re.search(pattern, found[1], re.IGNORECASE))
            version = _NUMBER.search(found[1])
            return f"CC-BY{extra}" + (f"-{version[1]}" if version else "")
        for pattern, name in _LICENCES:
            if pattern.search(text):
                return name
    return ""
