"""Service hints: where the services are that a document leads to, as hypotheses and as links for the crawl."""

from __future__ import annotations

from lycosa import urls
from lycosa.missions.geo.recognise import document_links, manuals, page_scan, qgis_files
from lycosa.missions.geo.recognise.catalogue_paging import CataloguePaging
from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint, is_unreachable
from lycosa.missions.geo.recognise.exception_report import EXCEPTION_ROOTS
from lycosa.missions.geo.recognise.kinds import recognise
from lycosa.model import Link
from lycosa.parse import Doc

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
    if qgis_files.is_qgis(doc):
        found = page_scan.ScanHints(doc)
        found.extend(qgis_files.read_qgis(doc))
        return found.hints
    kind = kind or recognise(doc)
    if doc.kind == "xml" or doc.kind == "feed":
        return [*document_links.read_xml(doc, kind, paging), *_go_home(doc, kind)]
    if doc.kind == "json":
        return [*document_links.read_json(doc, kind), *_go_home(doc, kind)]
    if doc.kind == "pdf":
        return manuals.read_manual(doc)
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
