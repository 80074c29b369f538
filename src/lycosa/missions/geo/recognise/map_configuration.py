"""Map configurations, lists of resources and linked data in JSON: the services that they name.

The scan reads objects one by one, however deep: the type of service in an object holds for the addresses in it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec
import re2

from lycosa import urls
from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint, name_service
from lycosa.missions.geo.recognise.kinds import FAULTS, strip_json
from lycosa.missions.geo.recognise.page_scan import WORDS, propose
from lycosa.missions.geo.vocabulary import SERVICES
from lycosa.parse import Doc

Table = dict[str, Any]

#: A list of some ten thousand services has less; what is larger is data.
_DECODED_BYTES = 1 << 23
#: Objects and lists that the scan reads in one document, and addresses in them.
_MAX_HELD = 200_000
_MAX_ADDRESSES = 20_000
#: Values of one key: types, or addresses of one service.
_MAX_VALUES = 50
_TYPE_CHARS = 200

#: Documents in which nothing of this occurs are not decoded.
_TELLING = re2.compile((rf'(?i){WORDS}|ogc api|\batom\b|"sources"').encode())
#: What stands before the name of a key in linked data.
_PREFIX = re.compile(r".*[:#/]")
_TYPES = ("type", "typ", "servicetype", "protocol", "format", "conformsto")
_URLS = ("url", "urls", "endpointurl", "accessurl", "uri")
#: Other keys of an address, where there is none of those.
_OTHERS = re.compile(r"\w{0,20}url|href|endpoint|server|address|host|service|src|onlineresource")
_ADDRESS = re.compile(r"(?:https?:)?//[^\s<>\"'`]{4,2000}|/[^\s<>\"'`/*][^\s<>\"'`]{2,2000}", re.IGNORECASE)
_NAMED = re.compile(r"wmts|wms|wfs|wcs|wps|csw|wcts")
#: Services that only their type shows, and no request in their address.
_FETCHED = ("ATOM", "OGCAPI", "STAC")


def decode_objects(doc: Doc) -> Table | list[Any] | None:
    """A JSON document that may name services, decoded; None for any other, and for what is too large."""
    if len(doc.body) > _DECODED_BYTES or _TELLING.search(doc.body) is None:
        return None
    try:
        found = msgspec.json.decode(strip_json(doc.body))
    except FAULTS:
        return None
    return found if isinstance(found, dict | list) else None


def read_objects(held: Table | list[Any], base: str) -> Iterator[ServiceHint]:
    """The services that the objects of a JSON document name."""
    waiting, addresses = deque([held]), 0
    for _ in range(_MAX_HELD):
        if not waiting or addresses > _MAX_ADDRESSES:
            return
        found = waiting.popleft()
        if isinstance(found, dict):
            own = _find_addresses(found)
            addresses += sum(map(len, own.values()))
            yield from _read_object(found, own, base)
            found = list(found.values())
        waiting.extend(part for part in found if isinstance(part, dict | list))


def _simplify(key: str) -> str:
    """A key without what linked data puts before it, in lower case."""
    return _PREFIX.sub("", key[-60:]).lower()


def _texts_of(value: object) -> list[str]:
    """The texts of a value: itself, those in a list, those that linked data wraps."""
    parts = value[:_MAX_VALUES] if isinstance(value, list) else [value]
    plain = (part.get("@id") or part.get("@value") if isinstance(part, dict) else part for part in parts)
    return [part for part in plain if isinstance(part, str)]


def _find_addresses(found: Table) -> dict[str, list[str]]:
    """The addresses that an object holds itself, by key."""
    own: dict[str, list[str]] = {}
    for key, value in found.items():
        if isinstance(value, str | list | dict) and (
            written := [text for text in _texts_of(value) if _ADDRESS.fullmatch(text)]
        ):
            own[key] = written
    return own


def _read_object(found: Table, own: dict[str, list[str]], base: str) -> Iterator[ServiceHint]:
    """The services of one object: a style names its tiles; others name a service in their type, a text or a key."""
    if found.get("version") == 8 and isinstance(found.get("sources"), dict):
        yield from _read_style(found["sources"], base)
    if not own:
        return
    simple = {key: _simplify(key) for key in own}
    address_keys = [key for key, name in simple.items() if name in _URLS]
    address_keys = address_keys or [key for key, name in simple.items() if _OTHERS.fullmatch(name)][:1]
    service = _name_type(found, own) if address_keys else ""
    for key, addresses in own.items():
        named = _NAMED.search(simple[key])
        if named:
            kind = named[0].upper()
        else:
            kind = service if key in address_keys else ""
        rule = f"script: {kind} configuration" if kind else "script"
        for written in addresses:
            yield from propose(kind, written, base, rule=rule, trust=0.7 if kind in SERVICES else 0.5)


def _name_type(found: Table, own: dict[str, list[str]]) -> str:
    """The service that an object is about: by its type, else by any short text in it."""
    simple = {_simplify(key): value for key, value in found.items()}
    for key in _TYPES:
        for text in _texts_of(simple.get(key)):
            service = name_service(text)
            if service in SERVICES or service in _FETCHED:
                return service
    loose = (value for key, value in found.items() if isinstance(value, str) and key not in own)
    return next((name for text in loose if len(text) < _TYPE_CHARS and (name := name_service(text)) in SERVICES), "")


def _read_style(sources: Table, base: str) -> Iterator[ServiceHint]:
    """The TileJSON of each source of a style."""
    for source in list(sources.values())[:_MAX_VALUES]:
        written = source.get("url") if isinstance(source, dict) else None
        url = urls.normalise(written, base) if isinstance(written, str) else None
        if url:
            yield ServiceHint(url, "", "", "tiles of a map", 0.6)
