"""The story of one document: each value with how sure it is and where it comes from, for people."""

from __future__ import annotations

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.decisions import permissions
from lycosa.missions.documents.model import DocumentDescription, Evidence
from lycosa.output.plain import printable
from lycosa.output.wording import counted


def tell_document(collection: Collection, url: str) -> None:
    """Print everything that is known of one document."""
    with open_catalogue(collection) as catalogue:
        document = catalogue.document(url)
    if document is None:
        raise UsageError(
            f"{url} is no document of this collection; lycosa documents lists them, lycosa why tells of a URL."
        )
    state = permissions(collection.path).get(document.url, "")
    for line in story_lines(document, permission=state):
        print(printable(line))


def story_lines(document: DocumentDescription, *, permission: str = "") -> list[str]:
    """The story line by line."""
    lines = [document.url, f"  {document.format}, {counted(document.pages, 'page')}, fetched {document.fetched}"]
    if document.problem:
        lines.append(f"  problem: {document.problem}")
    lines += _value("kind", document.kind.value, document.kind.confidence, document.kind.evidence)
    if document.subcategory:
        lines.append(f"  {'category':12} {document.category} / {document.subcategory}")
    for name in ("title", "language", "abstract"):
        if (found := getattr(document, name)) is not None:
            lines += _value(name, found.value[:200], found.confidence, found.evidence)
    for author in document.authors:
        lines += _value("author", author.name, author.confidence, author.evidence)
        for address in author.addresses:
            name = "  now" if address.is_current else "  printed"
            lines += _value(name, address.email, address.confidence, address.evidence)
    for person in document.contributors:
        lines += _value(person.role, person.name, person.confidence, person.evidence)
    for found in document.affiliations:
        lines += _value("affiliation", found.value, found.confidence, found.evidence)
    if document.keywords:
        lines.append(f"  {'keywords':12} {', '.join(each.value for each in document.keywords)}")
    for found in document.rights:
        lines += _value("rights", found.value, found.confidence, found.evidence)
    if permission:
        lines.append(f"  {'permission':12} {permission}")
    lines += [f"  {'linked from':12} {url}" for url in document.linked_from[:5]]
    return lines


def _value(name: str, value: str, confidence: float, evidence: tuple[Evidence, ...]) -> list[str]:
    return [f"  {name:12} {value}  ({confidence:.2f})", *(f"  {'':12}   {_place(each)}" for each in evidence[:3])]


def _place(evidence: Evidence) -> str:
    where = evidence.url or (f"page {evidence.page}" if evidence.page else "the document")
    links = f", {evidence.distance} links away" if evidence.distance > 1 else ""
    quote = f': "{evidence.quote[:80]}"' if evidence.quote else ""
    return f"{evidence.source}, {evidence.rule}, {where}{links}{quote}"
