"""Readers of Atom feeds of downloads, OpenSearch and tile map services.

A tree flows in, a service and its items flow out.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from lycosa.missions.geo.bounds import MAX_CHARS, Box, name_crs, read_numbers, read_ring
from lycosa.missions.geo.model import (
    MAX_ITEM_CRS,
    MAX_ITEMS,
    MAX_LIST,
    Contact,
    LayerItem,
    MetadataLink,
    Operation,
    Service,
)
from lycosa.missions.geo.xml_access import (
    attribute,
    children,
    find,
    language_of,
    one_line,
    prose_at,
    text_at,
    text_of,
    texts,
    unique,
)

if TYPE_CHECKING:
    Element = Any

_FEED, _PAGE = "application/atom+xml", ("text/html", "application/xhtml+xml")


def read_feed(root: Element, service: Service) -> list[LayerItem]:
    """An Atom feed of downloads: one item per entry."""
    service.title = text_at(root, "title")
    service.abstract = prose_at(root, "subtitle")
    service.constraints = prose_at(root, "rights")
    author = find(root, "author")
    service.provider = text_at(author, "name")
    contact = Contact(organisation=service.provider, email=text_at(author, "email"), url=text_at(author, "uri"))
    service.contact = contact if contact != Contact() else None
    links = list(children(root, "link"))[:MAX_LIST]
    service.advertised = next((attribute(e, "href") for e in links if e.get("rel") == "self"), "")
    service.metadata = tuple(_read_references(root))
    linked = [e.get("hreflang", "")[:35] for e in links if e.get("rel") in ("self", "alternate")]
    service.languages = unique([language_of(root), *linked])
    systems: dict[str, None] = {}
    items = [_read_entry(entry, systems) for entry in islice(children(root, "entry"), MAX_ITEMS)]
    service.crs = tuple(systems)[:MAX_LIST]
    service.formats = unique([name for item in items[:100] for name in item.formats])
    return items


def _read_references(element: Element) -> list[MetadataLink]:
    found = [e for e in children(element, "link") if e.get("rel") == "describedby"][:MAX_LIST]
    return [MetadataLink(attribute(e, "href"), "", one_line(e.get("type", ""), 120)) for e in found]


def _read_entry(entry: Element, systems: dict[str, None]) -> LayerItem:
    links = list(children(entry, "link"))[:MAX_LIST]
    data = [e for e in links if e.get("rel", "alternate") in ("alternate", "section", "enclosure")]
    data.sort(key=_rate_link)
    name = text_at(entry, "spatial_dataset_identifier_code") or text_at(entry, "id")
    item = LayerItem("dataset", name, text_at(entry, "title"), prose_at(entry, "summary") or prose_at(entry, "content"))
    item.metadata = tuple(_read_references(entry))
    item.formats = unique([one_line(e.get("type", ""), 120) for e in data])
    item.address, *others = unique([attribute(e, "href") for e in data]) or ("",)
    item.addresses = tuple(others)
    item.licence = prose_at(entry, "rights")
    terms = [e.get("term", "") for e in children(entry, "category")][:MAX_LIST]
    crs = unique([name_crs(term) for term in terms if "crs" in term.lower() or "epsg" in term.lower()])
    item.crs, item.crs_count = crs[:MAX_ITEM_CRS], len(crs)
    systems.update(dict.fromkeys(crs))
    item.keywords = unique(
        [one_line(term) for term in terms if "crs" not in term.lower() and "epsg" not in term.lower()]
    )
    item.box, item.box_from = _read_place(entry)
    return item


def _rate_link(link: Element) -> int:
    """The feed of a data set comes first, its files next, and pages about it last."""
    kind = link.get("type", "").strip().lower()
    if kind.startswith(_FEED):
        return 0
    return 2 if kind.startswith(_PAGE) else 1


def _read_place(entry: Element) -> tuple[Box | None, str]:
    """The box around the shape in GeoRSS, and where it is from; a part of a ring would have the wrong box."""
    cut = ""
    for shape in children(entry, "polygon", "box", "line", "point", "where"):
        if sum(map(len, shape.itertext("{*}*"))) > MAX_CHARS:
            cut = "cut"
            continue
        numbers = read_numbers(text_of(shape, MAX_CHARS), MAX_CHARS)
        if len(numbers) >= 2 and (box := read_ring(numbers[: len(numbers) // 2 * 2])):
            return box, "own"
    return None, cut


def read_opensearch(root: Element, service: Service) -> list[LayerItem]:
    """An OpenSearch description: its templates are its operations."""
    service.title = text_at(root, "LongName") or text_at(root, "ShortName")
    service.abstract = prose_at(root, "Description")
    service.keywords = unique(text_at(root, "Tags").split())
    service.constraints = text_at(root, "SyndicationRight")
    service.languages = unique(texts(root, "Language"))
    service.provider = text_at(root, "Developer")
    email = text_at(root, "Contact")
    service.contact = Contact(person=text_at(root, "Developer"), email=email) if email else None
    found = list(children(root, "Url"))[:MAX_LIST]
    service.operations = tuple(
        Operation(
            one_line(e.get("rel", "results"), 60), (attribute(e, "template"),), (), (one_line(e.get("type", ""), 120),)
        )
        for e in found
    )
    service.formats = unique([one_line(e.get("type", ""), 120) for e in found])
    return []


def read_tile_maps(root: Element, service: Service) -> list[LayerItem]:
    """A tile map service: one item per tile map."""
    service.title = text_at(root, "Title")
    service.abstract = prose_at(root, "Abstract")
    items: list[LayerItem] = []
    maps = find(root, "TileMaps")
    for e in [] if maps is None else islice(children(maps, "TileMap"), MAX_ITEMS):
        address = attribute(e, "href")
        crs = (name_crs(e.get("srs", "")),)
        title = one_line(e.get("title", ""))
        items.append(LayerItem("tile-map", title, title, crs=crs, crs_count=1, address=address))
    service.crs = unique([item.crs[0] for item in items])
    return items
