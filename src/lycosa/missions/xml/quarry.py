"""The XML quarry: what the core asks the XML mission of each document and link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lycosa import urls
from lycosa.missions.xml import schema_guesses
from lycosa.missions.xml.inspection import Inspection, find_inside, index_members, inspect
from lycosa.missions.xml.kinds import SUFFIXES, Kind, is_page
from lycosa.missions.xml.links import RELATIONS, Reference, Trace, name_part
from lycosa.model import Link, Record
from lycosa.parse import Doc
from lycosa.quarry import Quarry

#: The parts of a score. A seed has 1 from the core.
KNOWN_SUFFIX = 0.5
FROM_XML = 0.5
MISLEADING = -0.5

#: References of one document that a record holds.
_MAX_LISTED = 2_000
#: How often a guess holds, as far as a policy asks.
GUESS_TRUST = 0.1
_MISSING = frozenset({404, 410})
#: Kinds of documents whose plain links the core reads itself.
_READ_BY_CORE = frozenset({"feed", "sitemap", "xhtml"})


class Xml(Quarry):
    """The quarry of the XML family: documents recognised by their content, and what they refer to.

    Not all of it is pure. `links` notes the folders of schemas, and `links_of_error` the guesses that it made, in a
    `GuessHistory` that lives as long as the worker: so what is guessed depends on the documents that this worker has
    read before. Kinds, links, scores and records do not.
    """

    name = "xml"
    version = "1"
    trusted_kinds = RELATIONS

    def __init__(self) -> None:
        self._guesses = schema_guesses.GuessHistory()

    def recognise(self, doc: Doc) -> str | None:
        """The kind ("xsd", "dtd"…), or the format of an archive that holds such documents; XHTML is none."""
        found = inspect(doc)
        return found.kind if found.is_quarry else None

    def recognise_part(self, doc: Doc, relation: str) -> str | None:
        """What a strong link leads to is kept, whatever its content says: a text, an entity; a page of HTML is none."""
        return None if is_page(doc) else name_part(relation)

    def links(self, doc: Doc) -> Iterable[Link]:
        """Strong links by their relation, then the others; of an archive those that lead out of it."""
        found = inspect(doc)
        if found.archive is not None:
            yield from _archive_links(found)
        elif found.trace is not None:
            if found.kind in schema_guesses.SUFFIXED:
                self._guesses.note_schema(doc.url)
            yield from (_link(reference) for reference in found.trace.strong)
            if found.kind not in _READ_BY_CORE:
                yield from (_link(reference) for reference in found.trace.weak)

    def score(self, link: Link, doc: Doc) -> float:
        """How promising a link is, by its suffix and the document that it stands in."""
        score = KNOWN_SUFFIX if has_suffix(link.href) else 0.0
        if doc.kind != "html":
            if inspect(doc).is_quarry:
                score += FROM_XML
            elif has_suffix(doc.url):
                score += MISLEADING
        elif has_suffix(doc.url):
            score += MISLEADING
        return score

    def explain(self, link: Link, doc: Doc) -> Mapping[str, float]:
        """The parts of that score."""
        quarry = inspect(doc).is_quarry
        return {
            "known suffix": KNOWN_SUFFIX if has_suffix(link.href) else 0.0,
            "found in XML": FROM_XML if quarry else 0.0,
            "found where XML was promised": MISLEADING if not quarry and has_suffix(doc.url) else 0.0,
        }

    def links_of_error(self, doc: Doc, status: int) -> Iterable[Link]:
        """Where a schema that is missing at its address may be: guesses, and marked as such."""
        if status in _MISSING:
            for url in self._guesses.guess(doc.url):
                yield Link(url, kind="guess", trust=GUESS_TRUST)

    def extract(self, doc: Doc) -> Iterable[Record]:
        """What a document is and refers to: one record, and one per member of an archive."""
        found = inspect(doc)
        if found.archive is not None:
            yield Record("archive", _describe_archive(found))
            for part in found.parts:
                data = describe_document(part.kind, part.trace, part.member.body)
                yield Record("xml", {"member": part.member.address, **data})
        elif found.trace is not None and found.trace.kind is not None:
            yield Record("xml", describe_document(found.trace.kind, found.trace, doc.body))


def has_suffix(href: str) -> bool:
    """Whether an address ends as those of the family do."""
    path = href[:mark] if (mark := href.find("?")) >= 0 else href
    path = path[:mark] if (mark := path.find("#")) >= 0 else path
    dot = path.rfind(".")
    return dot >= 0 and len(path) - dot < 8 and SUFFIXES.get(path[dot + 1 :].lower(), "xhtml") != "xhtml"


def _link(reference: Reference) -> Link:
    href = reference.href.strip()
    # The core resolves against the document; where another base counts, or none, it is done here.
    return Link(urls.normalise(href, reference.base) or href, kind=reference.relation)


def _archive_links(found: Inspection) -> Iterator[Link]:
    index = index_members(found.parts)
    for part in found.parts:
        for reference in part.trace.strong:
            if find_inside(reference, part, index) is None:
                yield _link(reference)


def describe_document(kind: Kind, trace: Trace, body: bytes) -> dict[str, object]:
    """What is known of a document, as a record holds it."""
    data: dict[str, object] = {
        "kind": kind.name,
        "encoding": kind.encoding,
        "bytes": len(body),
        "namespaces": trace.namespaces,
        "links": [
            {"relation": link.relation, "href": link.href, "url": link.url, "line": link.line}
            | ({"recovered": True} if link.recovered else {})
            for link in trace.strong[:_MAX_LISTED]
        ],
        "strong": len(trace.strong),
        "weak": len(trace.weak),
    }
    if kind.root is not None:
        data["root"] = {"namespace": kind.root.namespace, "name": kind.root.name}
    if trace.fault is not None:
        fault = trace.fault
        data["error"] = {"message": fault.message, "line": fault.line, "column": fault.column}
    return data


def _describe_archive(found: Inspection) -> dict[str, object]:
    archive = found.archive
    assert archive is not None
    return {
        "format": archive.format,
        "members": len(archive.members) + archive.skipped,
        "xml": len(found.parts),
        "problem": archive.problem,
    }
