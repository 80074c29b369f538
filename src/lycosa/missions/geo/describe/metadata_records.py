"""Metadata records: what catalogues say of data sets and services, in whatever standard.

Answers of catalogues and single records flow in (Dublin Core, ISO 19139 and 19115-3, FGDC, DIF, DCAT),
one `MetadataRecord` each flows out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from lycosa.missions.geo.bounds import Box, make_box, read_numbers, unite
from lycosa.missions.geo.describe.ows import place_box, read_corners
from lycosa.missions.geo.model import MAX_LIST, LayerItem, MetadataLink
from lycosa.missions.geo.recognise.endpoint_inference import strip_request
from lycosa.missions.geo.xml_access import (
    attribute,
    children,
    find,
    link_of,
    local,
    prose_at,
    read_tree,
    text_at,
    text_of,
    texts,
    unique,
)
from lycosa.parse import Doc

if TYPE_CHECKING:
    Element = Any

_NAMES = """
    MD_Metadata MI_Metadata GetRecordsResponse GetRecordByIdResponse Record SummaryRecord BriefRecord metadata DIF RDF
    OAI-PMH
"""
#: The roots of documents that hold records.
ROOTS = frozenset(_NAMES.split())
#: A catalogue answers with some hundred.
_MAX_RECORDS = 1_000
_WEB = ("http://", "https://", "ftp://")


class MetadataRecord(Struct, omit_defaults=True):
    """A record of a catalogue: what a data set or a service is, where it lies, and where it is to be had."""

    standard: str  # Dublin Core, ISO 19115, FGDC, DIF, DCAT
    id: str = ""
    title: str = ""
    abstract: str = ""
    type: str = ""  # dataset, series, service…
    provider: str = ""
    language: str = ""
    modified: str = ""  # as written
    keywords: tuple[str, ...] = ()
    box: Box | None = None
    links: tuple[MetadataLink, ...] = ()  # the type of each is its protocol
    catalogue: str = ""  # the endpoint that gave it; empty for a file


def read_records(doc: Doc) -> Iterator[MetadataRecord]:
    """The records that a document holds, those with a name."""
    root, _ = read_tree(doc) if doc.root is not None and doc.root.name in ROOTS else (None, "")
    if root is None:
        return
    asked = "request=getrecord" in doc.url.lower() or "verb=" in doc.url.lower()
    catalogue = strip_request(doc.url).partition("verb=")[0].rstrip("?&") if asked else ""
    count = 0
    for element in root.iter(*_READERS):
        read = _READERS[f"{{*}}{local(element)}"]
        record = read(element)
        if record is None or not (record.id or record.title):
            continue
        record.catalogue = catalogue
        yield record
        count += 1
        if count == _MAX_RECORDS:
            return


def _links(found: Iterator[tuple[str, str]]) -> tuple[MetadataLink, ...]:
    """Addresses, each once, with the protocol or format that is named beside it."""
    kept: dict[str, MetadataLink] = {}
    for url, kind in found:
        if url.lower().startswith(_WEB) and len(kept) < MAX_LIST:
            kept.setdefault(url, MetadataLink(url, kind))
    return tuple(kept.values())


def _read_dublin_core(element: Element) -> MetadataRecord | None:
    """A record of CSW, or the one of OAI-PMH, whose element is called dc."""
    if element.tag.startswith("{http://www.opengis.net/cat/csw") or local(element) == "dc":
        place = LayerItem("dataset")
        place_box(place, element, None)
        corners = read_corners(stated) if (stated := find(element, "BoundingBox")) is not None else ()
        holders = children(element, "references", "URI", "source", "relation")
        written = [*texts(element, "identifier")]
        return MetadataRecord(
            standard="Dublin Core",
            id=written[0] if written else "",
            title=text_at(element, "title"),
            abstract=prose_at(element, "abstract") or prose_at(element, "description"),
            type=text_at(element, "type"),
            provider=text_at(element, "publisher") or text_at(element, "creator"),
            language=text_at(element, "language"),
            modified=text_at(element, "modified") or text_at(element, "date"),
            keywords=unique(texts(element, "subject")),
            box=place.box or (make_box(*corners) if len(corners) == 4 else None),
            links=_links((text_of(e), attribute(e, "protocol") or attribute(e, "scheme")) for e in holders)
            or _links((url, "") for url in written),
        )
    return None


def _read_iso(element: Element) -> MetadataRecord:
    """ISO 19115 in the XML of 19139 or 19115-3, which differ in namespaces and at the edges."""
    about = next((part for part in children(_find_or(element, "identificationInfo"))), element)
    scope = next(element.iter("{*}MD_ScopeCode"), None)
    named = (text_of(e) for e in _below(about, "MD_Keywords", "keyword"))
    boxes = (
        _read_sides(e, "westBoundLongitude", "southBoundLatitude", "eastBoundLongitude", "northBoundLatitude")
        for e in about.iter("{*}EX_GeographicBoundingBox")
    )
    return MetadataRecord(
        standard="ISO 19115",
        id=text_at(element, "fileIdentifier") or text_at(element, "metadataIdentifier", "MD_Identifier", "code"),
        title=text_of(next(_below(about, "citation", "title"), None)),
        abstract=prose_at(about, "abstract"),
        type=attribute(scope, "codeListValue") or text_of(scope),
        provider=text_of(next(about.iter("{*}organisationName"), None)) or text_of(_first_organisation(element)),
        language=attribute(next(element.iter("{*}LanguageCode"), None), "codeListValue")
        or text_at(element, "language"),
        modified=text_at(element, "dateStamp") or text_of(next(_below(element, "dateInfo", "date"), None)),
        keywords=unique(list(named)),
        box=unite([box for box in boxes if box]),
        links=_links(
            (link_of(find(e, "linkage")), text_at(e, "protocol"))
            for part in ("distributionInfo", "identificationInfo")
            for e in _below(element, part, "CI_OnlineResource")
            if local(e.getparent()) in ("onLine", "connectPoint", "onlineResource")
        ),
    )


def _find_or(element: Element, name: str) -> Element:
    """A child of this name, or the element itself where there is none."""
    found = find(element, name)
    return element if found is None else found


def _first_organisation(element: Element) -> Element | None:
    """Who is responsible for a record, by the edition of the standard."""
    for part in children(element, "contact"):
        return next(part.iter("{*}organisationName", "{*}CI_Organisation"), None)
    return None


def _below(element: Element, around: str, name: str) -> Iterator[Element]:
    """The elements of a name within those of another."""
    return (e for part in element.iter(f"{{*}}{around}") for e in part.iter(f"{{*}}{name}"))


def _read_sides(element: Element | None, *names: str) -> Box | None:
    """A box of four elements, in the order west, south, east, north."""
    if element is None:
        return None
    values = [n for name in names for n in read_numbers(text_at(element, name), 1)]
    return make_box(*values) if len(values) == 4 else None


def _read_fgdc(element: Element) -> MetadataRecord | None:
    about = find(element, "idinfo")
    if about is None:
        return None
    citation = find(about, "citation", "citeinfo")
    return MetadataRecord(
        standard="FGDC",
        title=text_at(citation, "title"),
        abstract=prose_at(about, "descript", "abstract"),
        provider=text_at(citation, "origin"),
        modified=text_at(element, "metainfo", "metd"),
        keywords=unique([text_of(e) for e in _below(about, "keywords", "themekey")]),
        box=_read_sides(find(about, "spdom", "bounding"), "westbc", "southbc", "eastbc", "northbc"),
        links=_links((text_of(e), "") for e in element.iter("{*}onlink", "{*}networkr")),
    )


def _read_dif(element: Element) -> MetadataRecord:
    sides = ("Westernmost_Longitude", "Southernmost_Latitude", "Easternmost_Longitude", "Northernmost_Latitude")
    return MetadataRecord(
        standard="DIF",
        id=text_at(element, "Entry_ID"),
        title=text_at(element, "Entry_Title"),
        abstract=prose_at(element, "Summary", "Abstract") or prose_at(element, "Summary"),
        provider=text_at(element, "Data_Center", "Data_Center_Name", "Short_Name"),
        modified=text_at(element, "Last_DIF_Revision_Date"),
        keywords=unique(texts(element, "Keyword")),
        box=_read_sides(find(element, "Spatial_Coverage"), *sides),
        links=_links(
            (text_at(e, "URL"), text_at(e, "URL_Content_Type", "Type")) for e in children(element, "Related_URL")
        ),
    )


def _read_dcat(element: Element) -> MetadataRecord | None:
    if "/dcat#" not in element.tag:
        return None
    addresses = element.iter("{*}accessURL", "{*}downloadURL", "{*}landingPage", "{*}endpointURL")
    return MetadataRecord(
        standard="DCAT",
        id=text_at(element, "identifier") or attribute(element, "about"),
        title=text_at(element, "title"),
        abstract=prose_at(element, "description"),
        type="service" if local(element) == "DataService" else "dataset",
        provider=text_at(element, "publisher"),
        language=attribute(find(element, "language"), "resource") or text_at(element, "language"),
        modified=text_at(element, "modified"),
        keywords=unique(texts(element, "keyword")),
        links=_links((attribute(e, "resource") or text_of(e), "") for e in addresses),
    )


_READERS: dict[str, Callable[[Element], MetadataRecord | None]] = {
    "{*}Record": _read_dublin_core,
    "{*}SummaryRecord": _read_dublin_core,
    "{*}BriefRecord": _read_dublin_core,
    "{*}dc": _read_dublin_core,
    "{*}MD_Metadata": _read_iso,
    "{*}MI_Metadata": _read_iso,
    "{*}metadata": _read_fgdc,
    "{*}DIF": _read_dif,
    "{*}Dataset": _read_dcat,
    "{*}DataService": _read_dcat,
}
