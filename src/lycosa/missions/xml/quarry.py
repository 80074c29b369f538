"""The XML mission as the core knows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from lycosa import urls
from lycosa.missions.xml import schema_guesses
from lycosa.missions.xml.inspection import Inspection, find_inside, index_members, survey
from lycosa.missions.xml.kinds import SUFFIXES, Kind
from lycosa.missions.xml.links import RELATIONS, Reference, Trace
from lycosa.model import Link, Record
from lycosa.parse import Doc
from lycosa.quarry import Quarry

#: The parts of a score (X4). A seed has 1 from the core.
KNOWN_SUFFIX = 0.5
FROM_XML = 0.5
MISLEADING = -0.5

#: References of one document that a record holds.
_MAX_LISTED = 2_000
#: How often a guess holds, as far as a policy asks.
GUESS_TRUST = 0.1
_MISSING = frozenset({404, 410})
#: Schemas in one folder from which on it counts as a repository.
_REPOSITORY = 5
_MAX_FOLDERS = 10_000
#: Guesses about one host that may all be wrong.
_MAX_GUESSES = 25
_MAX_PROPOSED = 100_000
#: Kinds of documents whose plain links the core reads itself.
_READ_BY_CORE = frozenset({"feed", "sitemap", "xhtml"})


class Xml(Quarry):
    """Hunts the XML family: what is recognised by its content, and what such documents refer to."""

    name = "xml"
    version = "1"
    trusted_kinds = RELATIONS

    def __init__(self) -> None:
        # Nothing but guesses depends on these: where schemas were found, and how often guesses were made of a host.
        self._folders: Counter[str] = Counter()
        self._guessed: Counter[str] = Counter()
        self._proposed: set[str] = set()

    def recognise(self, doc: Doc) -> str | None:
        """The kind ("xsd", "dtd"…), or the format of an archive that holds such documents; XHTML is none."""
        found = survey(doc)
        return found.kind if found.is_quarry else None

    def links(self, doc: Doc) -> Iterable[Link]:
        """Strong links by their relation, then the others; of an archive those that lead out of it."""
        found = survey(doc)
        if found.bundle is not None:
            yield from _bundle_links(found)
        elif found.trace is not None:
            if found.kind in schema_guesses.SUFFIXED:
                self._note_folder(doc.url)
            yield from (_link(reference) for reference in found.trace.strong)
            if found.kind not in _READ_BY_CORE:
                yield from (_link(reference) for reference in found.trace.weak)

    def score(self, link: Link, doc: Doc) -> float:
        """How promising a link is (X4)."""
        score = KNOWN_SUFFIX if has_suffix(link.href) else 0.0
        if doc.kind != "html":
            if survey(doc).is_quarry:
                score += FROM_XML
            elif has_suffix(doc.url):
                score += MISLEADING
        elif has_suffix(doc.url):
            score += MISLEADING
        return score

    def explain(self, link: Link, doc: Doc) -> Mapping[str, float]:
        """The parts of that score."""
        quarry = survey(doc).is_quarry
        return {
            "known suffix": KNOWN_SUFFIX if has_suffix(link.href) else 0.0,
            "found in XML": FROM_XML if quarry else 0.0,
            "found where XML was promised": MISLEADING if not quarry and has_suffix(doc.url) else 0.0,
        }

    def links_of_error(self, doc: Doc, status: int) -> Iterable[Link]:
        """Where a schema that is missing at its address may be: guesses, and marked as such."""
        host = urls.host_of(doc.url)
        if status not in _MISSING or self._guessed[host] >= _MAX_GUESSES or len(self._guessed) > _MAX_FOLDERS:
            return
        for url in schema_guesses.guess(doc.url, self._repositories()):
            if url not in self._proposed and len(self._proposed) < _MAX_PROPOSED:
                self._proposed.add(url)
                self._guessed[host] += 1
                yield Link(url, kind="guess", trust=GUESS_TRUST)

    def extract(self, doc: Doc) -> Iterable[Record]:
        """What a document is and refers to: one record, and one for each member of an archive."""
        found = survey(doc)
        if found.bundle is not None:
            yield Record("archive", _tell_bundle(found))
            for part in found.parts:
                yield Record("xml", {"member": part.member.address, **tell(part.kind, part.trace, part.member.body)})
        elif found.trace is not None and found.trace.kind is not None:
            yield Record("xml", tell(found.trace.kind, found.trace, doc.body))

    def _note_folder(self, url: str) -> None:
        if url in self._proposed:
            self._guessed[urls.host_of(url)] = 0  # guesses are worth their requests there
        if len(self._folders) > _MAX_FOLDERS:
            self._folders = Counter(dict(self._folders.most_common(_MAX_FOLDERS // 2)))
        self._folders[url[: url.rfind("/") + 1]] += 1

    def _repositories(self) -> list[str]:
        """The folders in which most schemas were found."""
        return [folder for folder, count in self._folders.most_common(2) if count >= _REPOSITORY]


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


def _bundle_links(found: Inspection) -> Iterator[Link]:
    index = index_members(found.parts)
    for part in found.parts:
        for reference in part.trace.strong:
            if find_inside(reference, part, index) is None:
                yield _link(reference)


def tell(kind: Kind, trace: Trace, body: bytes) -> dict[str, object]:
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


def _tell_bundle(found: Inspection) -> dict[str, object]:
    bundle = found.bundle
    assert bundle is not None
    return {
        "format": bundle.format,
        "members": len(bundle.members) + bundle.skipped,
        "xml": len(found.parts),
        "problem": bundle.problem,
    }
