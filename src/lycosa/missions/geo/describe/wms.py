"""Reader of capabilities in the forms before OWS Common: WMS 1.0 to 1.3, WFS 1.0, WCS 1.0 and early WCTS.

A tree flows in, a service and its items flow out.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from lycosa.missions.geo.bounds import Box, Extent, convert, make_box, name_crs, read_numbers
from lycosa.missions.geo.model import (
    MAX_ITEM_CRS,
    MAX_ITEMS,
    MAX_LIST,
    MAX_NAME,
    MAX_SERVICE_CRS,
    Contact,
    Dimension,
    LayerItem,
    MetadataLink,
    Operation,
    Service,
    Style,
)
from lycosa.missions.geo.xml_access import (
    children,
    find,
    language_of,
    link_of,
    local,
    one_line,
    prose_at,
    read_keywords,
    seek,
    text_at,
    text_of,
    texts,
    unique,
)

if TYPE_CHECKING:
    Element = Any

#: Titles of groups around a layer that are kept.
_MAX_PATH = 12
#: Boxes in other systems that a layer inherits: one is enough for a request of a map.
_MAX_HANDED = 2
_BOXES = ("EX_GeographicBoundingBox", "LatLonBoundingBox", "LatLongBoundingBox", "lonLatEnvelope")
_EDGES = ("westBoundLongitude", "southBoundLatitude", "eastBoundLongitude", "northBoundLatitude")


class Inherited(Struct, frozen=True):
    """The properties that a layer passes on to the layers in it."""

    path: tuple[str, ...] = ()
    box: Box | None = None
    extents: tuple[Extent, ...] = ()
    crs: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()  # the same, for asking
    styles: tuple[Style, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    attribution: str = ""


def read_service(root: Element, service: Service) -> None:
    """Fill in what the Service and Capability sections say."""
    section = seek(root, "Service")
    if section is not None:
        service.title = text_at(section, "Title") or text_at(section, "label")
        service.abstract = prose_at(section, "Abstract") or prose_at(section, "description")
        for name in ("KeywordList", "Keywords", "keywords"):
            service.keywords = service.keywords or read_keywords(find(section, name))
        service.fees = text_at(section, "Fees") or text_at(section, "fees")
        service.constraints = prose_at(section, "AccessConstraints") or prose_at(section, "accessConstraints")
        service.provider_site = link_of(find(section, "OnlineResource"))
        party = find(section, "responsibleParty")
        service.contact = read_contact(find(section, "ContactInformation"), _CONTACT) or read_contact(
            party, _PARTY, url=link_of(find(party, "contactInfo", "onlineResource"))
        )
        service.provider = service.contact.organisation if service.contact else ""
        metadata = [_read_reference(e) for e in children(section, "metadataLink", "MetadataURL")]
        service.metadata = tuple(filter(lambda found: found.url, metadata))[:MAX_LIST]
    capability = seek(root, "Capability")
    if capability is not None:
        request = find(capability, "Request")
        if request is not None:
            service.operations = tuple(_read_operation(e) for e in list(children(request))[:MAX_LIST])
        _read_inspire(capability, service)
    service.languages = unique([*service.languages, language_of(root)])
    service.formats = next(
        (op.formats for op in service.operations if op.name in ("GetMap", "Map", "GetFeature", "GetCoverage")), ()
    )


def _read_inspire(capability: Element, service: Service) -> None:
    """The extension of INSPIRE: the service's own metadata, and its languages."""
    for extension in children(capability, "ExtendedCapabilities", "_ExtendedCapabilities"):
        read_inspire(extension, service)


def read_inspire(extension: Element, service: Service) -> None:
    """Fill in what an INSPIRE extension says, wherever it stands."""
    found = []
    for holder in extension.iter("{*}MetadataUrl"):
        if url := text_at(holder, "URL") or link_of(holder):
            found.append(MetadataLink(url, "inspire", text_at(holder, "MediaType")))
    service.metadata = (*service.metadata, *found)[:MAX_LIST]
    stated = [text_of(e) for e in extension.iter("{*}Language")][:MAX_LIST]
    service.languages = unique([*service.languages, *stated])


class ContactForm(NamedTuple):
    """How a contact is written: the path to each of its fields, that to its address, and the parts of this."""

    fields: Mapping[str, str]
    address: str
    parts: str


_PRIMARY = "ContactPersonPrimary"
_CONTACT = ContactForm(
    {
        "person": f"{_PRIMARY} ContactPerson",
        "position": "ContactPosition",
        "organisation": f"{_PRIMARY} ContactOrganization",
        "email": "ContactElectronicMailAddress",
        "phone": "ContactVoiceTelephone",
    },
    "ContactAddress",
    "Address PostCode City StateOrProvince Country",
)
#: The responsible party of WCS 1.0.
_PARTY = ContactForm(
    {
        "person": "individualName",
        "position": "positionName",
        "organisation": "organisationName",
        "email": "contactInfo address electronicMailAddress",
        "phone": "contactInfo phone voice",
    },
    "contactInfo address",
    "deliveryPoint postalCode city administrativeArea country",
)


def read_contact(section: Element | None, form: ContactForm, *, url: str = "") -> Contact | None:
    """Whom to ask about a service; None where nobody is named."""
    place = find(section, *form.address.split())
    contact = Contact(
        **{name: text_at(section, *path.split()) for name, path in form.fields.items()},
        address=", ".join(unique([text_at(place, part) for part in form.parts.split()])),
        url=url,
    )
    return contact if contact != Contact() else None


def _read_operation(element: Element) -> Operation:
    formats: list[str] = []
    for holder in children(element, "Format", "ResultFormat"):
        # Before WMS 1.1, and in WFS 1.0, each format is an element.
        formats += [local(child) for child in children(holder)] or [text_of(holder)]
    get = [link_of(e) for e in element.iter("{*}Get")]
    post = [link_of(e) for e in element.iter("{*}Post")]
    return Operation(local(element), unique(get), unique(post), unique(formats))


def read_layers(root: Element, service: Service) -> list[LayerItem]:
    """The layers of a WMS, each with what it inherits, in the order of the document."""
    items: list[LayerItem] = []
    capability = seek(root, "Capability")
    top = capability if capability is not None else root
    stack = [(layer, Inherited()) for layer in reversed(list(children(top, "Layer")))]
    systems: dict[str, None] = {}
    latitude_first = service.version.startswith("1.3")
    while stack and len(items) < MAX_ITEMS:
        layer, given = stack.pop()
        below = list(children(layer, "Layer"))
        item = _read_layer(layer, given, latitude_first)
        named = _read_systems(layer)
        _place_systems(item, named, given)
        item.group = bool(below)
        item.formats = () if item.group and not item.name else service.formats
        items.append(item)
        if len(systems) < MAX_SERVICE_CRS:
            systems.update(dict.fromkeys(named))
        if below:
            passed = _pass_on(item, named, given)
            stack += [(child, passed) for child in reversed(below)]
    service.crs = tuple(systems)[:MAX_SERVICE_CRS]
    return items


def _read_systems(layer: Element) -> tuple[str, ...]:
    """The reference systems that a layer states itself."""
    own = [name for e in children(layer, "CRS", "SRS") for name in (e.text or "")[:100_000].split()]
    return unique([name_crs(name) for name in own], MAX_SERVICE_CRS)


def _place_systems(item: LayerItem, named: tuple[str, ...], given: Inherited) -> None:
    """Fill in its own systems, then the inherited ones: GeoServer has thousands, too many to read for every layer."""
    own = frozenset(named)
    inherited = islice((name for name in given.crs if name not in own), MAX_ITEM_CRS)
    item.crs = (*named, *inherited)[:MAX_ITEM_CRS]
    item.crs_count = min(MAX_SERVICE_CRS, len(given.crs) + len(own - given.known))


def _pass_on(item: LayerItem, named: tuple[str, ...], given: Inherited) -> Inherited:
    """The properties that a group passes on to the layers in it."""
    path = (*given.path, item.title or item.name)[:_MAX_PATH]
    crs, known = given.crs, given.known
    if named:
        crs = unique([*named, *given.crs], MAX_SERVICE_CRS)
        known = frozenset(crs)
    return Inherited(
        path=path,
        box=item.box,
        extents=item.extents,
        crs=crs,
        known=known,
        styles=item.styles,
        dimensions=item.dimensions,
        attribution=item.attribution,
    )


def _read_layer(layer: Element, given: Inherited, latitude_first: bool) -> LayerItem:
    item = LayerItem(
        "layer",
        text_at(layer, "Name"),
        text_at(layer, "Title"),
        prose_at(layer, "Abstract"),
        path=given.path,
        keywords=read_keywords(next(children(layer, "KeywordList", "Keywords"), None)),
        metadata=read_references(layer),
        queryable=layer.get("queryable") in ("1", "true"),
    )
    item.attribution = text_at(layer, "Attribution", "Title") or given.attribution
    item.address = link_of(find(layer, "DataURL"))
    item.extents = _read_extents(layer)
    place_box(item, find_box(layer), given.box, latitude_first=latitude_first)
    item.extents = item.extents or given.extents[:_MAX_HANDED]
    styles = [_read_style(style) for style in children(layer, "Style")][:MAX_LIST]
    item.styles = (*styles, *given.styles)[:MAX_LIST]
    item.dimensions = _read_dimensions(layer, given.dimensions)
    item.time = next((d.extent for d in item.dimensions if d.name.lower() == "time"), "")
    return item


def place_box(item: LayerItem, stated: Element | None, inherited: Box | None, *, latitude_first: bool) -> None:
    """Fill in an item's box: as stated, from one in another system, or from what is around it."""
    item.box, item.box_from = None, ""
    if stated is not None:
        item.box = read_box(stated)
        item.box_from = "own" if item.box else "unusable"
    if item.box is None:
        computed = (convert(e.crs, e.values, latitude_first=latitude_first) for e in item.extents)
        item.box = next(filter(None, computed), None) or inherited
        if not item.box_from and item.box:
            item.box_from = "parent" if item.box is inherited else "computed"


def find_box(element: Element) -> Element | None:
    """The element that states a box in degrees."""
    return next(children(element, *_BOXES), None)


def read_box(element: Element) -> Box | None:
    """A box in degrees in any of the forms of these documents."""
    if element.get("minx") is not None:
        values = [read_numbers(element.get(name, ""), 1) for name in ("minx", "miny", "maxx", "maxy")]
    elif find(element, _EDGES[0]) is not None:
        values = [read_numbers(text_at(element, name), 1) for name in _EDGES]
    else:
        corners = [read_numbers(text_of(e), 3)[:2] for e in children(element, "pos")]
        values = [[number] for corner in corners[:2] for number in corner]
    numbers = [number for value in values for number in value]
    return make_box(*numbers) if len(numbers) == 4 else None


def _read_extents(layer: Element) -> tuple[Extent, ...]:
    found = []
    for box in children(layer, "BoundingBox"):
        crs = box.get("CRS") or box.get("SRS") or ""
        values = [number for name in ("minx", "miny", "maxx", "maxy") for number in read_numbers(box.get(name, ""), 1)]
        if crs and len(values) == 4:
            found.append(Extent(one_line(crs, 120), tuple(values)))
            if len(found) == MAX_ITEM_CRS:
                break
    return tuple(found)


def _read_style(style: Element) -> Style:
    return Style(text_at(style, "Name"), text_at(style, "Title"), link_of(find(style, "LegendURL")))


def _read_dimensions(layer: Element, given: tuple[Dimension, ...]) -> tuple[Dimension, ...]:
    """The dimensions of a layer; before 1.3 their values stand in Extent elements of their own."""
    found = {dimension.name: dimension for dimension in given}
    for e in children(layer, "Dimension", "Extent"):
        name = one_line(e.get("name", ""), 60)
        if not name or len(found) > MAX_LIST:
            continue
        known = found.get(name) or Dimension(name)
        found[name] = Dimension(
            name,
            _read_values(e) or known.extent,
            one_line(e.get("default", ""), 120) or known.default,
            one_line(e.get("units", ""), 60) or known.units,
        )
    return tuple(found.values())


def _read_values(element: Element) -> str:
    """The values of a dimension as written; of a list that is too long, the first and the last."""
    written = "".join((element.text or "").split()) if len(element.text or "") > MAX_NAME else text_of(element)
    if len(written) <= MAX_NAME:
        return written
    first, last = written.partition(",")[0].split("/"), written.rpartition(",")[2].split("/")
    return f"{first[0]}/{last[min(1, len(last) - 1)]}"[:MAX_NAME]


def _read_reference(element: Element) -> MetadataLink:
    kind = element.get("type") or element.get("metadataType") or ""
    return MetadataLink(
        link_of(element), one_line(kind, 60), one_line(element.get("format") or text_at(element, "Format"), 120)
    )


def read_references(element: Element) -> tuple[MetadataLink, ...]:
    """The metadata that an item refers to."""
    found = (_read_reference(e) for e in children(element, "MetadataURL", "metadataLink", "Metadata"))
    return tuple(reference for reference in found if reference.url)[:MAX_LIST]


def read_coverages(root: Element, service: Service) -> list[LayerItem]:
    """The coverages of WCS 1.0."""
    items: list[LayerItem] = []
    content = find(root, "ContentMetadata")
    for brief in [] if content is None else islice(children(content, "CoverageOfferingBrief"), MAX_ITEMS):
        item = LayerItem(
            "coverage",
            text_at(brief, "name"),
            text_at(brief, "label"),
            prose_at(brief, "description"),
            keywords=read_keywords(find(brief, "keywords")),
            metadata=read_references(brief),
        )
        place_box(item, find_box(brief), None, latitude_first=False)
        moments = texts(find(brief, "lonLatEnvelope"), "timePosition")
        item.time = "/".join(moments[:2])
        items.append(item)
    return items
