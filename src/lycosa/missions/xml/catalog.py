"""An OASIS catalog goes in; the names that it knows and the address of each come out."""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from lycosa import urls
from lycosa.parse import xml

NAMESPACE = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
_NAMES = {"system": "systemId", "uri": "name", "public": "publicId"}
_BASE = "http://www.w3.org/XML/1998/namespace base"
_MAX_ENTRIES = 50_000


class _Full(Exception):
    """There are more entries than any honest catalog has."""


def read_catalog(body: bytes, url: str) -> Iterator[tuple[str, str]]:
    """The entries of a catalog up to the first error: a name, and the address that it stands for."""
    found: list[tuple[str, str]] = []
    bases = [url]

    def start(name: str, attributes: dict[str, str]) -> None:
        base = attributes.get(_BASE)
        bases.append((urls.normalise(base, bases[-1]) if base else None) or bases[-1])
        space, _, local = name.rpartition(" ")
        if space == NAMESPACE and local in _NAMES:
            alias, target = attributes.get(_NAMES[local]), urls.normalise(attributes.get("uri", ""), bases[-1])
            if alias and target:
                found.append((alias, target))
                if len(found) >= _MAX_ENTRIES:
                    raise _Full

    parser = xml.open_parser(namespaces=True)
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _name: bases.pop()
    try:
        parser.Parse(xml.transcode(body, xml.find_charset(body, "")), True)
    except (expat.ExpatError, ValueError, _Full):
        pass
    return iter(found)
