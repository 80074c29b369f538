"""Alerts as an Atom feed (RFC 4287): the newest items, in a file that is replaced as a whole."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from lycosa.missions.records.alerts.alert_log import AlertItem
from lycosa.missions.records.alerts.telling import describe, write_fragment
from lycosa.output.atomic_file import whole_file
from lycosa.version import __version__

_ATOM = "http://www.w3.org/2005/Atom"
#: What XML 1.0 cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MAX_ENTRIES = 100


def make_feed(name: str, items: Sequence[AlertItem], *, now: float) -> bytes:
    """The feed of a name with these items, the newest first; a feed without items was made `now`."""
    ET.register_namespace("", _ATOM)
    feed = ET.Element(f"{{{_ATOM}}}feed")
    _add(feed, "id", f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'lycosa:alerts:{name}')}")
    _add(feed, "title", f"Alerts: {name}")
    _add(feed, "updated", _timestamp(max((item.at for item in items), default=now)))
    _add(_add(feed, "author", ""), "name", "lycosa")
    _add(feed, "generator", "lycosa").set("version", __version__)
    for item in items[:MAX_ENTRIES]:
        entry = _add(feed, "entry", "")
        _add(entry, "id", item.id)
        _add(entry, "title", describe(item))
        _add(entry, "updated", _timestamp(item.at))
        _add(entry, "category", "").set("term", _clean(item.alert))
        if item.url.startswith(("http://", "https://")):
            link = _add(entry, "link", "")
            link.set("href", _clean(item.url))
            link.set("rel", "alternate")
        _add(entry, "content", write_fragment(item)).set("type", "html")
    return bytes(ET.tostring(feed, encoding="utf-8", xml_declaration=True))


def write_feed(path: Path, items: Sequence[AlertItem], *, now: float) -> None:
    """Replace a feed's file."""
    with whole_file(path) as part:
        Path(part).write_bytes(make_feed(path.stem, items, now=now))


def _add(parent: ET.Element, name: str, text: str) -> ET.Element:
    element = ET.SubElement(parent, f"{{{_ATOM}}}{name}")
    element.text = _clean(text) or None
    return element


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


def _timestamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
