"""Service hints: where the services are that a document leads to, as hypotheses and as links for the crawl."""

from __future__ import annotations

import re
from itertools import islice

from lycosa import urls
from lycosa.missions.geo.recognise import document_links, map_files, page_scan
from lycosa.missions.geo.recognise.answers import EXCEPTION_ROOTS, CataloguePaging
from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint, is_unreachable
from lycosa.missions.geo.recognise.kinds import recognise
from lycosa.model import Link
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


#: What the kind of an inferred link begins with; the rest is the rule, which `lycosa why` shows.
PREFIX = "geo: "
HOME = "host of a service"
#: The answer of a server to a request without parameters is shorter.
_BARE_BYTES = 1_000
#: Errors with which servers answer what they do not understand; others say that nobody is to ask, or not now.
_SPEECHLESS = frozenset((400, 404, 405, 406, 422, 500, 501))


def find_hints(doc: Doc, kind: str | None = None, paging: CataloguePaging | None = None) -> list[ServiceHint]:
    """The services that a document leads to, other than by links that the core follows; `kind` as recognised."""
    return [hint for hint in _read(doc, kind, paging) if not is_unreachable(hint.url, doc.url)]


def _read(doc: Doc, kind: str | None, paging: CataloguePaging | None) -> list[ServiceHint]:
    if doc.kind == "html" or doc.kind == "xhtml":
        # What a server says to a request that it does not understand, in a few words.
        said = document_links.ask_next_kind(doc.url) if len(doc.body) < _BARE_BYTES else []
        return said or page_scan.read_page(doc)
    if map_files.is_qgis(doc):
        found = page_scan.ScanHints(doc)
        found.extend(map_files.read_qgis(doc))
        return found.hints
    kind = kind or recognise(doc)
    if doc.kind == "xml" or doc.kind == "feed":
        return [*document_links.read_xml(doc, kind, paging), *_go_home(doc, kind)]
    if doc.kind == "json":
        return [*document_links.read_json(doc, kind), *_go_home(doc, kind)]
    if doc.kind == "pdf":
        return read_manual(doc)
    if doc.kind == "text":
        return page_scan.read_script(doc) if "script" in doc.mime else page_scan.read_addresses(doc)
    return []


def _go_home(doc: Doc, kind: str | None) -> list[ServiceHint]:
    """The first page of a host that has a service: it has more services than the page that linked to this one names."""
    home = urls.normalise("/", doc.url) if kind else None
    return [ServiceHint(home, rule=HOME, trust=0.5)] if home and home != doc.url else []


def links(doc: Doc, kind: str | None = None, paging: CataloguePaging | None = None) -> list[Link]:
    """The same as links, the likeliest first; the kind of each says by which rule it was inferred."""
    return _to_links(find_hints(doc, kind, paging))


def _to_links(hints: list[ServiceHint]) -> list[Link]:
    hints = sorted(hints, key=lambda hint: -hint.trust)
    return [Link(hint.url, hint.text, f"{PREFIX}{hint.rule}", trust=hint.trust) for hint in hints]


def links_of_error(doc: Doc, status: int) -> list[Link]:
    """The links of a document that came with an error status: of exception reports, and of shared endpoints."""
    root = doc.root
    if root is None or root.name not in EXCEPTION_ROOTS:
        return _to_links(document_links.ask_next_kind(doc.url)) if status in _SPEECHLESS else []
    return links(doc)
