"""The XML quarry: what the core asks the XML mission of each document and link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from lycosa import urls
from lycosa.missions.xml.archives import Inspection, find_inside, index_members, inspect
from lycosa.missions.xml.kinds import SUFFIXES, Kind, is_page
from lycosa.missions.xml.links import OF_MEDIA, RELATIONS, Reference, Trace, name_part
from lycosa.model import Link, Record
from lycosa.parse import Doc
from lycosa.quarry import Quarry

#: Addresses that are tried for one that is missing: each is a request to somebody.
MOST = 5
#: Folders in which sites keep what others refer to, most frequent first.
_USUAL = {
    "xsd": ("schemas", "xsd"),
    "dtd": ("dtd", "dtds"),
    "mod": ("dtd",),
    "ent": ("dtd",),
    "xsl": ("xsl", "xslt"),
    "xslt": ("xslt", "xsl"),
    "rng": ("rng", "schemas"),
    "rnc": ("rng", "schemas"),
}
#: The kinds of documents that are looked for, and by which folders are known.
SUFFIXED = frozenset({"xsd", "dtd", "xslt", "rng", "rnc"})
#: Schemas in one folder from which on it counts as a repository.
_REPOSITORY = 5
_MAX_FOLDERS = 10_000
#: Guesses about one host that may all be wrong.
_MAX_GUESSES = 25
_MAX_PROPOSED = 100_000


class GuessHistory:
    """What guesses depend on: the folders in which schemas were found, and the guesses made so far per host.

    It bounds the requests that guesses cost: no address twice, and no more on a host where all of them were wrong.
    """

    def __init__(self) -> None:
        self._folders: Counter[str] = Counter()  # schemas found in each
        self._guessed: Counter[str] = Counter()  # guesses on each host since the last that held
        self._proposed: set[str] = set()

    def note_schema(self, url: str) -> None:
        """A schema was found at an address."""
        if url in self._proposed:
            self._guessed[urls.host_of(url)] = 0  # guesses are worth their requests there
        if len(self._folders) > _MAX_FOLDERS:
            self._folders = Counter(dict(self._folders.most_common(_MAX_FOLDERS // 2)))
        self._folders[url[: url.rfind("/") + 1]] += 1

    def guess(self, url: str) -> Iterator[str]:
        """Where else the document of an address may be, without what was guessed before."""
        host = urls.host_of(url)
        if self._guessed[host] >= _MAX_GUESSES or len(self._guessed) > _MAX_FOLDERS:
            return
        repositories = [folder for folder, count in self._folders.most_common(2) if count >= _REPOSITORY]
        for address in guess(url, repositories):
            if address not in self._proposed and len(self._proposed) < _MAX_PROPOSED:
                self._proposed.add(address)
                self._guessed[host] += 1
                yield address


def guess(url: str, folders: Iterable[str]) -> list[str]:
    """Where else a document may be, the likeliest first; `folders` are those in which others were found."""
    parts = urlsplit(url)
    *above, name = parts.path.split("/")[1:]
    suffix = name.rpartition(".")[2].lower()
    if suffix not in _USUAL:
        return []
    origin = f"{parts.scheme}://{parts.netloc}"
    found = [f"{origin}/{'/'.join([*above[:depth], name])}" for depth in range(len(above) - 1, -1, -1)][:2]
    found += [folder + name for folder in folders]
    found += [f"{origin}/{folder}/{name}" for folder in _USUAL[suffix]]
    return list(dict.fromkeys(address for address in found if address != url))[:MOST]


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
    insistent_kinds = RELATIONS - frozenset(OF_MEDIA)

    def __init__(self) -> None:
        self._guesses = GuessHistory()

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
            if found.kind in SUFFIXED:
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

    def score_change(self, doc: Doc) -> float:
        """An address whose suffix promised XML, which it is not, is worth less."""
        return MISLEADING if has_suffix(doc.url) and not inspect(doc).is_quarry else 0.0

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
