"""OASIS XML catalogs: the names that a catalog knows, and the address of each.

Of entries that match an address by how it begins or ends, the longest counts, as the specification says (7.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from xml.parsers import expat

from lycosa import urls
from lycosa.parse import xml

NAMESPACE = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
NAME, PUBLIC, START, END = "name", "public", "start", "end"
#: By the name of an element: what it is about, and the attributes that hold the name and the address.
_ENTRIES = {
    "system": (NAME, "systemId", "uri"),
    "uri": (NAME, "name", "uri"),
    "public": (PUBLIC, "publicId", "uri"),
    "rewriteSystem": (START, "systemIdStartString", "rewritePrefix"),
    "rewriteURI": (START, "uriStartString", "rewritePrefix"),
    "systemSuffix": (END, "systemIdSuffix", "uri"),
    "uriSuffix": (END, "uriSuffix", "uri"),
}
_BASE = "http://www.w3.org/XML/1998/namespace base"
_MAX_ENTRIES = 50_000
#: Beginnings and ends, each of which is tried on every address that is looked for.
_MAX_PATTERNS = 500


class CatalogEntry(NamedTuple):
    """An entry of a catalog: a name, and the address that it stands for."""

    kind: str  # NAME, PUBLIC, START or END
    name: str
    address: str


class _Full(Exception):
    """There are more entries than any honest catalog has."""


def read_catalog(body: bytes, url: str) -> list[CatalogEntry]:
    """The entries of a catalog up to the first error."""
    found: list[CatalogEntry] = []
    bases = [url]

    def start(name: str, attributes: dict[str, str]) -> None:
        base = attributes.get(_BASE)
        bases.append((urls.normalise(base, bases[-1]) if base else None) or bases[-1])
        space, _, local = name.rpartition(" ")
        if space == NAMESPACE and local in _ENTRIES:
            kind, named, where = _ENTRIES[local]
            alias, target = attributes.get(named), urls.normalise(attributes.get(where, ""), bases[-1])
            if alias and target:
                found.append(CatalogEntry(kind, fold_public(alias) if kind == PUBLIC else alias, target))
                if len(found) >= _MAX_ENTRIES:
                    raise _Full

    parser = xml.open_parser(namespaces=True)
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _name: bases.pop()
    try:
        parser.Parse(xml.transcode(body, xml.find_charset(body, "")), True)
    except (expat.ExpatError, ValueError, _Full):
        pass
    return found


def fold_public(name: str) -> str:
    """A public identifier as it is compared: blanks make no difference."""
    return " ".join(name.split())


def resolve(entries: Iterable[CatalogEntry], wanted: set[str]) -> Iterator[tuple[str, str]]:
    """For the addresses that are looked for: where else each may be, exact entries first, then the longest."""
    patterns: list[CatalogEntry] = []
    for entry in entries:
        if entry.kind == NAME:
            name = urls.normalise(entry.name) or entry.name
            if name in wanted:
                yield name, entry.address
        elif entry.kind in (START, END) and len(patterns) < _MAX_PATTERNS:
            patterns.append(entry)
    patterns.sort(key=lambda entry: -len(entry.name))
    for address in wanted if patterns else ():
        for kind, name, target in patterns:
            if kind == END and address.endswith(name):
                yield address, target
            elif kind == START and address.startswith(name):
                moved = urls.normalise(target + address[len(name) :])
                if moved:
                    yield address, moved
