"""Reader of capabilities in the form of OWS Common: WFS, WCS, WMTS, WPS, CSW, SOS and WCTS.

A tree flows in, a service and its items flow out.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from lycosa.missions.geo.bounds import Box, Extent, convert, make_box, name_crs, read_numbers, unite
from lycosa.missions.geo.describe import wms
from lycosa.missions.geo.describe.wms import ContactForm, find_box, read_contact, read_inspire, read_references
from lycosa.missions.geo.model import (
    MAX_ITEM_CRS,
    MAX_ITEMS,
    MAX_LIST,
    MAX_SERVICE_CRS,
    Dimension,
    LayerItem,
    Operation,
    Service,
    Style,
)
from lycosa.missions.geo.xml_access import (
    attribute,
    children,
    find,
    language_of,
    one_line,
    prose_at,
    read_keywords,
    text_at,
    text_of,
    texts,
    unique,
)

if TYPE_CHECKING:
    Element = Any

_FORMATS = ("outputformat", "format", "responseformat", "infoformat")
_RESULTS = ("GetFeature", "GetCoverage", "GetTile", "GetRecords", "GetObservation", "Execute", "Transform")


def read_service(root: Element, service: Service) -> None:
    """Fill in what ServiceIdentification, ServiceProvider and OperationsMetadata say."""
    if find(root, "serviceIdentification") is not None or find(root, "capabilities") is not None:
        root = next(iter(root.iter("{*}Capabilities")), root)
    section = find(root, "ServiceIdentification")
    if section is not None:
        service.title = text_at(section, "Title")
        service.abstract = prose_at(section, "Abstract")
        service.keywords = unique([word for e in children(section, "Keywords") for word in read_keywords(e)])
        service.fees = text_at(section, "Fees")
        service.constraints = "; ".join(dict.fromkeys(texts(section, "AccessConstraints")))[:8000]
        service.versions = unique(texts(section, "ServiceTypeVersion"))
        service.metadata = read_references(section)
    _read_provider(find(root, "ServiceProvider"), service)
    operations = find(root, "OperationsMetadata")
    if operations is not None:
        found = list(children(operations, "Operation"))[:MAX_LIST]
        service.operations = tuple(_read_operation(operation) for operation in found)
        for extension in children(operations, "ExtendedCapabilities"):
            read_inspire(extension, service)
        common = [_read_values(e) for e in children(operations, "Parameter") if _is_format(e)]
        service.formats = unique([name for names in common for name in names])
    service.formats = service.formats or _choose_formats(service)
    stated = [text_of(e) for e in root.iterfind("{*}Languages//{*}Language")][:MAX_LIST]
    service.languages = unique([*service.languages, *stated, language_of(root)])


_CONTACT = ContactForm(
    {
        "person": "IndividualName",
        "position": "PositionName",
        "email": "ContactInfo Address ElectronicMailAddress",
        "phone": "ContactInfo Phone Voice",
    },
    "ContactInfo Address",
    "DeliveryPoint PostalCode City AdministrativeArea Country",
)


def _read_provider(section: Element | None, service: Service) -> None:
    if section is None:
        return
    service.provider = text_at(section, "ProviderName")
    service.provider_site = attribute(find(section, "ProviderSite"), "href")
    contact = find(section, "ServiceContact")
    address = attribute(find(contact, "ContactInfo", "OnlineResource"), "href")
    service.contact = read_contact(contact, _CONTACT, url=address)
    if service.contact:
        service.contact.organisation = service.provider


def _read_item(element: Element, kind: str, *names: str) -> LayerItem:
    """What all items say of themselves; the first of the elements of these names that has a text holds the name."""
    return LayerItem(
        kind,
        next(filter(None, (text_at(element, name) for name in names)), ""),
        text_at(element, "Title"),
        prose_at(element, "Abstract"),
        keywords=unique([word for e in children(element, "Keywords") for word in read_keywords(e)]),
        metadata=read_references(element),
    )


def _is_format(parameter: Element) -> bool:
    return parameter.get("name", "").lower() in _FORMATS


def _read_values(parameter: Element) -> list[str]:
    return [text_of(e) for e in parameter.iter("{*}Value")][:MAX_LIST]


def _read_operation(element: Element) -> Operation:
    get = [attribute(e, "href") for e in element.iter("{*}Get")]
    post = [attribute(e, "href") for e in element.iter("{*}Post")]
    formats = [name for e in children(element, "Parameter") if _is_format(e) for name in _read_values(e)]
    return Operation(one_line(element.get("name", ""), 120), unique(get), unique(post), unique(formats))


def _choose_formats(service: Service) -> tuple[str, ...]:
    return next((op.formats for op in service.operations if op.name in _RESULTS and op.formats), ())


def read_feature_types(root: Element, service: Service) -> list[LayerItem]:
    """The feature types of a WFS of any version."""
    items: list[LayerItem] = []
    systems: dict[str, None] = {}
    listed = (e for part in children(root, "FeatureTypeList") for e in children(part, "FeatureType"))
    for element in islice(listed, MAX_ITEMS):
        item = _read_item(element, "feature-type", "Name")
        crs = texts(element, "DefaultCRS", "DefaultSRS", "SRS", "OtherCRS", "OtherSRS")
        _place_crs(item, crs, systems)
        item.formats = unique(texts(find(element, "OutputFormats"), "Format")) or service.formats
        stated = find(element, "WGS84BoundingBox")
        if stated is None:
            stated = find_box(element)
            if stated is not None and item.crs:
                values = [n for name in ("minx", "miny", "maxx", "maxy") for n in read_numbers(stated.get(name, ""), 1)]
                # WFS 1.0 can be read to want it in the system of the feature type, and many do.
                item.extents = (Extent(item.crs[0], tuple(values)),)
            wms.place_box(item, stated, None, latitude_first=False)
            item.extents = item.extents if item.box_from == "unusable" else ()
        else:
            place_box(item, element, None)
        items.append(item)
    service.crs = tuple(systems)[:MAX_SERVICE_CRS]
    return items


def _place_crs(item: LayerItem, names: list[str], systems: dict[str, None]) -> None:
    crs = unique([name_crs(name) for name in names], MAX_SERVICE_CRS)
    item.crs, item.crs_count = crs[:MAX_ITEM_CRS], len(crs)
    if len(systems) < MAX_SERVICE_CRS:
        systems.update(dict.fromkeys(crs))


def place_box(item: LayerItem, element: Element, inherited: Box | None) -> None:
    """Fill in an item's box from WGS84BoundingBox and BoundingBox elements."""
    stated = [read_corners(e) for e in list(children(element, "WGS84BoundingBox"))[:MAX_LIST]]
    boxes = [make_box(*values) for values in stated if len(values) == 4]
    extents = []
    for e in list(children(element, "BoundingBox"))[:MAX_ITEM_CRS]:
        values = read_corners(e)
        if len(values) == 4 and (crs := e.get("crs") or e.get("CRS")):
            extents.append(Extent(one_line(crs, 120), values))
    item.extents = tuple(extents)
    item.box = unite([box for box in boxes if box])
    item.box_from = ""
    if stated:
        item.box_from = "own" if item.box else "unusable"
    if item.box is None:
        # The sample documents and most servers name systems by URNs here, so that EPSG's order of axes holds.
        computed = (convert(e.crs, e.values, latitude_first=False) for e in extents)
        item.box = next(filter(None, computed), None) or inherited
        if item.box and not item.box_from:
            item.box_from = "parent" if item.box is inherited else "computed"


def read_corners(element: Element) -> tuple[float, ...]:
    """West, south, east and north, or whatever the axes are, of a box with corners."""
    lower, upper = (read_numbers(text_at(element, name), 3) for name in ("LowerCorner", "UpperCorner"))
    return (*lower[:2], *upper[:2]) if len(lower) >= 2 and len(upper) >= 2 else ()


def read_coverages(root: Element, service: Service) -> list[LayerItem]:
    """The coverages of WCS 1.1 and 2.0; groups pass their boxes and systems on."""
    items: list[LayerItem] = []
    systems: dict[str, None] = {}
    content = find(root, "Contents")
    top = [] if content is None else list(children(content, "CoverageSummary"))
    stack: list[tuple[Element, LayerItem | None]] = [(element, None) for element in reversed(top)]
    while stack and len(items) < MAX_ITEMS:
        element, around = stack.pop()
        below = list(children(element, "CoverageSummary"))
        item = _read_item(element, "coverage", "CoverageId", "Identifier")
        item.group = bool(below)
        inherited = around.crs if around else ()
        _place_crs(item, [*texts(element, "SupportedCRS"), *inherited], systems)
        item.formats = unique(texts(element, "SupportedFormat"))
        place_box(item, element, around.box if around else None)
        if around is not None:
            item.path = (*around.path, around.title or around.name)[:12]
        if not below or item.name:
            items.append(item)
        stack += [(child, item) for child in reversed(below)]
    _read_coverage_service(root, service, systems)
    return items


def _read_coverage_service(root: Element, service: Service, systems: dict[str, None]) -> None:
    """Formats and systems that WCS states for all coverages at once."""
    metadata = find(root, "ServiceMetadata")
    if metadata is not None:
        service.formats = unique(texts(metadata, "formatSupported")) or service.formats
        extension = [e.text or "" for e in metadata.iter("{*}crsSupported")][:MAX_SERVICE_CRS]
        systems.update(dict.fromkeys(map(name_crs, extension)))
    content = find(root, "Contents")
    if content is not None:
        service.formats = service.formats or unique(texts(content, "SupportedFormat"))
        systems.update(dict.fromkeys(map(name_crs, texts(content, "SupportedCRS"))))
    service.crs = tuple(filter(None, systems))[:MAX_SERVICE_CRS]


def read_tile_layers(root: Element, service: Service) -> list[LayerItem]:
    """The layers of a WMTS, with the systems of their tile matrix sets."""
    items: list[LayerItem] = []
    systems: dict[str, None] = {}
    content = find(root, "Contents")
    if content is None:
        return []
    matrices = {}
    for matrix in list(children(content, "TileMatrixSet"))[:MAX_SERVICE_CRS]:
        matrices[text_at(matrix, "Identifier")] = text_at(matrix, "SupportedCRS")
    for layer in islice(children(content, "Layer"), MAX_ITEMS):
        item = _read_item(layer, "layer", "Identifier")
        item.formats = unique(texts(layer, "Format"))
        linked = [text_at(e, "TileMatrixSet") for e in children(layer, "TileMatrixSetLink")][:MAX_LIST]
        _place_crs(item, [matrices.get(name, "") for name in linked], systems)
        place_box(item, layer, None)
        styles = [_read_style(e) for e in children(layer, "Style")]
        item.styles = tuple(styles)[:MAX_LIST]
        item.dimensions = tuple(_read_dimension(e) for e in list(children(layer, "Dimension"))[:MAX_LIST])
        item.time = next((d.extent for d in item.dimensions if d.name.lower() == "time"), "")
        item.address = next((attribute(e, "template") for e in children(layer, "ResourceURL")), "")
        items.append(item)
    service.formats = service.formats or unique([name for item in items[:100] for name in item.formats])
    service.crs = tuple(filter(None, systems))[:MAX_SERVICE_CRS]
    return items


def _read_style(style: Element) -> Style:
    return Style(text_at(style, "Identifier"), text_at(style, "Title"), attribute(find(style, "LegendURL"), "href"))


def _read_dimension(element: Element) -> Dimension:
    values = texts(element, "Value")
    extent = f"{values[0]}/{values[-1]}" if len(values) > 4 else ",".join(values)
    name = text_at(element, "Identifier")
    return Dimension(name, extent[:1000], text_at(element, "Default"), text_at(element, "UOM"))


def read_processes(root: Element, _service: Service) -> list[LayerItem]:
    """The processes of a WPS of any version."""
    content = next(children(root, "ProcessOfferings", "Contents"), None)
    listed = [] if content is None else islice(children(content, "Process", "ProcessSummary"), MAX_ITEMS)
    return [_read_item(element, "process", "Identifier", "Name") for element in listed]


def read_offerings(root: Element, service: Service) -> list[LayerItem]:
    """The observation offerings of a SOS."""
    items: list[LayerItem] = []
    systems: dict[str, None] = {}
    # They stand in ObservationOfferingList (1.0) or each in an element of its own (2.0).
    for element in islice(root.iter("{*}ObservationOffering"), MAX_ITEMS):
        name = text_at(element, "identifier") or attribute(element, "id") or text_at(element, "name")
        item = LayerItem("offering", name, text_at(element, "name") or name, prose_at(element, "description"))
        observed = [*children(element, "observableProperty", "observedProperty")][:MAX_LIST]
        item.keywords = unique([text_of(e) or attribute(e, "href") for e in observed])
        item.formats = unique(texts(element, "responseFormat"))
        envelope = next(element.iter("{*}Envelope"), None)
        if envelope is not None:
            corners = [read_numbers(text_at(envelope, corner), 3)[:2] for corner in ("lowerCorner", "upperCorner")]
            crs = one_line(envelope.get("srsName", ""), 120)
            if len(corners[0]) == len(corners[1]) == 2:
                item.extents = (Extent(crs, (*corners[0], *corners[1])),)
                item.box = convert(crs or "OGC:CRS84", item.extents[0].values, latitude_first=True)
                item.box_from = "own" if item.box else "unusable"
            _place_crs(item, [crs], systems)
        period = next(element.iter("{*}TimePeriod"), None)
        if period is not None:
            item.time = "/".join((text_at(period, "beginPosition"), text_at(period, "endPosition"))).strip("/")
        items.append(item)
    service.crs = tuple(systems)[:MAX_SERVICE_CRS]
    return items


def read_transformations(root: Element, service: Service) -> list[LayerItem]:
    """A WCTS offers no items but the systems between which it transforms."""
    content = find(root, "Contents")
    service.crs = unique([name_crs(name) for name in texts(content, "SourceCRS", "TargetCRS")])
    return []
