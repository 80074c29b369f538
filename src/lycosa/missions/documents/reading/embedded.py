"""Embedded metadata: a PDF's information dictionary and its XMP packet, under common names."""

from __future__ import annotations

import re

from lxml import etree

from lycosa.missions.documents.reading.letters import clean

PACKET_MAX = 500_000
VALUE_MAX = 2000
_INFO = {
    "Title": "title",
    "Author": "author",
    "Subject": "subject",
    "Keywords": "keywords",
    "Creator": "creator",
    "Producer": "producer",
    "CreationDate": "created",
}
_DC = "{http://purl.org/dc/elements/1.1/}"
_XMP = {
    f"{_DC}title": "title",
    f"{_DC}creator": "author",
    f"{_DC}description": "subject",
    f"{_DC}subject": "keywords",
    f"{_DC}rights": "rights",
    f"{_DC}language": "language",
    f"{_DC}identifier": "identifier",
    "{http://ns.adobe.com/xap/1.0/rights/}UsageTerms": "rights",
    "{http://ns.adobe.com/xap/1.0/rights/}WebStatement": "licence",
    "{http://creativecommons.org/ns#}license": "licence",
    "{http://ns.adobe.com/pdf/1.3/}Keywords": "keywords",
}
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"


def read_embedded(info: dict[str, str], body: bytes) -> dict[str, str]:
    """Title, author, subject, keywords, rights, licence, creator, producer, created, language: those that are given."""
    found = {name: clean(info[key]).strip()[:VALUE_MAX] for key, name in _INFO.items() if info.get(key, "").strip()}
    for name, value in _read_xmp(body).items():
        found.setdefault(name, value)
    return found


def _read_xmp(body: bytes) -> dict[str, str]:
    end = len(body)
    for _ in range(5):  # pictures have packets of their own; the document's is the one that names a title or a creator
        end = body.rfind(b"</x:xmpmeta>", 0, end)
        if end < 0:
            return {}
        start = body.rfind(b"<x:xmpmeta", max(0, end - PACKET_MAX), end)
        if start >= 0:
            values = _parse(body[start : end + 12])
            if values:
                return values
    return {}


def _parse(packet: bytes) -> dict[str, str]:
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(packet, parser)
    except (etree.XMLSyntaxError, ValueError):
        return {}
    found: dict[str, str] = {}
    for node in root.iter() if root is not None else ():
        if not isinstance(node.tag, str):
            continue
        if node.tag == f"{_RDF}Description":
            for key, value in node.attrib.items():
                if key in _XMP:
                    found.setdefault(_XMP[key], clean(value).strip()[:VALUE_MAX])
        name = _XMP.get(node.tag)
        if name is None:
            continue
        items = [item.text or "" for item in node.iter(f"{_RDF}li")]
        text = ("; " if name in ("author", "keywords") else " ").join(items) if items else "".join(node.itertext())
        text = re.sub(r"\s+", " ", clean(text)).strip()[:VALUE_MAX]
        if text:
            found.setdefault(name, text)
    return {name: value for name, value in found.items() if value}
