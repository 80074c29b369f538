"""Manuals: the services that a PDF names, by the links on its pages and by the addresses in its text."""

from __future__ import annotations

import re
from itertools import islice

from lycosa.missions.geo.recognise import page_scan
from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint
from lycosa.parse import Doc, read

_MAX_LINKS = 5_000
#: An address that is broken at the end of a line goes on where a part of it ends, or where the next line begins one.
_BROKEN = re.compile(
    r"(https?://[^\s<>\"]{4,300}[?&=_%-])\n(?=[\w/?&=%.])"
    r"|(https?://[^\s<>\"]{4,300}/)\n(?=[\w.-]{1,60}[/?&=])"
    r"|(https?://[^\s<>\"]{4,300})\n(?=[/?&][\w/])"
)


def read_manual(doc: Doc) -> list[ServiceHint]:
    """The services that a PDF names; none where it is not read."""
    if doc.pdf is None:
        return []
    joined = doc.text
    for _ in range(3):  # an address of four lines
        joined = _BROKEN.sub(lambda found: found[1] or found[2] or found[3], joined)
    said = "\n".join((*islice(doc.pdf.links(), _MAX_LINKS), joined))
    plain = read(doc.url, {"content-type": "text/plain; charset=utf-8"}, said.encode("utf-8", "replace"))
    return page_scan.read_addresses(plain)
