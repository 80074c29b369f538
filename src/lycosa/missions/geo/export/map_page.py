"""Map page: one HTML file that shows all footprints, and needs no server and no network.

The texts of services are data in the page, which only ever shows them as text; its content security policy lets its
own script run, no other, and lets nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from lycosa.missions.geo.bounds import Box
from lycosa.missions.geo.export.coastline import outlines
from lycosa.missions.geo.inventory.inventory import Layer, ServiceEntry
from lycosa.missions.geo.model import Contact

_TEMPLATE = Path(__file__).with_name("map_page.html")
_SCRIPT = Path(__file__).with_name("map_page.js")
#: What the map in the browser does with hands, too.
_HANDS = Path(__file__).parents[1] / "web/static/map_hands.js"
#: Characters of an abstract in the page; with more layers than this it leaves theirs out, so that it opens quickly.
_MAX_ABSTRACT = 400
_MANY = 20_000
#: Reference systems that the page names of one thing, and characters of terms of use.
_MAX_CRS = 8
_MAX_TERMS = 200
#: Decimals of a degree: ten metres, which no screen shows of a whole layer.
_DIGITS = 4
#: What could end a script element or begin a comment in it, and line ends of old JavaScript.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_encode = msgspec.json.Encoder().encode


def write_map(
    entries: list[ServiceEntry], layers: Iterable[Layer], *, title: str = "Geographic services"
) -> Iterator[str]:
    """The page, in parts."""
    hands = _HANDS.read_text(encoding="utf-8").replace("export function", "function")
    script = f"{_SCRIPT.read_text(encoding='utf-8')}{hands}"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    before, _, after = _TEMPLATE.read_text(encoding="utf-8").partition("{{data}}")
    yield before.replace("{{script-hash}}", digest).replace("{{title}}", _escape_html(title))
    yield '{"land":' + _pack(outlines()) + ',"services":['
    numbers = {}
    for number, entry in enumerate(entries):
        numbers[entry.id] = number
        yield (",\n" if number else "\n") + _pack(_pack_service(entry))
    yield '],"layers":['
    room = _MAX_ABSTRACT if sum(entry.service.items for entry in entries) <= _MANY else 0
    for number, layer in enumerate(layers):
        yield (",\n" if number else "\n") + _pack(_pack_layer(layer, numbers[layer.entry.id], room))
    yield "]}"
    yield after.replace("{{script}}", script)


def _pack(value: Any) -> str:
    return _encode(value).decode().translate(_ESCAPES)


def _escape_html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _pack_service(entry: ServiceEntry) -> list[Any]:
    """The values of a service, in the order in which the script of the page reads them."""
    service = entry.service
    described_at = entry.sources[0].url if entry.sources else entry.addresses[0]
    return [
        service.type,
        service.version,
        entry.state,
        entry.reason,
        service.title,
        service.provider,
        service.endpoint,
        service.items,
        _pack_box(service.box),
        service.abstract[:_MAX_ABSTRACT],
        service.licence or " ".join(filter(None, (service.constraints, service.fees)))[:_MAX_TERMS],
        entry.fetched[:10],
        described_at,
        service.language,
        _pack_crs(service.crs, len(service.crs)),
        _name_contact(service.contact),
        f"{entry.outcome} on {entry.checked[:10]}" if entry.outcome else "",
    ]


def _pack_crs(names: tuple[str, ...], count: int) -> str:
    """The first reference systems, and how many more there are."""
    more = max(count, len(names)) - _MAX_CRS
    return ", ".join(names[:_MAX_CRS]) + (f" and {more:,} more" if more > 0 else "")


def _name_contact(contact: Contact | None) -> str:
    """Who is responsible, and how to reach them."""
    if contact is None:
        return ""
    who = contact.person or contact.organisation or contact.position
    return ", ".join(filter(None, (who, contact.email or contact.phone or contact.url)))


def _pack_layer(layer: Layer, service: int, room: int) -> list[Any]:
    item = layer.item
    box, abstract = _pack_box(item.box), item.abstract[:room]
    crs = "" if item.crs == layer.entry.service.crs else _pack_crs(item.crs, item.crs_count)
    terms = (item.licence or item.attribution)[:_MAX_TERMS]
    return [service, item.title, item.name, box, len(layer.offers), item.type, abstract, item.language, crs, terms]


def _pack_box(box: Box | None) -> list[float] | int:
    return 0 if box is None else [round(side, _DIGITS) for side in box]
