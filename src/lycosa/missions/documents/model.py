"""The nouns of the documents mission: what one document says, what one page says, and where each value comes from.

Extraction makes `DocumentFacts` and `PageFacts`, each from one file alone, and they are kept as records. Fusion reads
the facts of a whole site and makes a `DocumentDescription` of each document. Every value carries its evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from msgspec import Struct

#: What a document is, as a repository sorts it. The last four are seldom wanted there.
DocumentKind = Literal[
    "article",
    "thesis",
    "report",
    "proposal",
    "poster",
    "slides",
    "notes",
    "exercises",
    "exam",
    "cv",
    "programme",
    "form",
    "other",
]

#: Where a value was read: in the text of the document, in its embedded metadata, in the words of a link to it, on a
#: page of the site, in another document of the site, or given by a person.
Source = Literal["text", "metadata", "link", "page", "document", "correction"]

#: What a person has to do with a document or a page: only authors are asked for permission. A page has an owner whom it
#: is about, teachers of a course, members of a staff list.
Role = Literal["author", "director", "tutor", "jury", "teacher", "head", "editor", "owner", "member", "other"]


class Box(NamedTuple):
    """A place on a page, in points from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


class Evidence(Struct, frozen=True, omit_defaults=True):
    """Where a value comes from."""

    source: Source
    rule: str  # the name of the rule that took it: "line model", "cover: director", "mailto"
    url: str = ""  # of the page or the other document; empty: the document itself
    page: int = 0  # of the document, counted from 1; 0: none
    box: Box | None = None
    quote: str = ""  # the words as they stand there
    distance: int = 0  # links between that page and the document


class Finding(Struct, frozen=True, omit_defaults=True):
    """A value with how sure it is, 0 to 1, and where it comes from."""

    value: str
    confidence: float
    evidence: tuple[Evidence, ...] = ()


def text_of(found: Finding | None) -> str:
    """The value of a finding; empty where there is none."""
    return found.value if found else ""


class Person(Struct, frozen=True, omit_defaults=True):
    """Someone whom a document or a page names, with what is tied to them there."""

    name: str
    confidence: float
    role: Role = "author"
    emails: tuple[str, ...] = ()
    affiliations: tuple[str, ...] = ()
    orcid: str = ""
    page: str = ""  # where a link with this name leads
    evidence: tuple[Evidence, ...] = ()


class CitedWork(Struct, frozen=True, omit_defaults=True):
    """An entry of a document's bibliography."""

    text: str
    title: str = ""
    authors: tuple[str, ...] = ()
    year: str = ""
    doi: str = ""


class DocumentValues(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a document says of itself, and what is known of it after everything was weighed."""

    format: str  # "pdf", "docx"…
    kind: Finding
    pages: int = 0
    language: Finding | None = None
    affiliations: tuple[Finding, ...] = ()
    emails: tuple[Finding, ...] = ()
    abstract: Finding | None = None
    keywords: tuple[Finding, ...] = ()
    references: tuple[CitedWork, ...] = ()
    doi: str = ""
    year: str = ""
    rights: tuple[Finding, ...] = ()
    head: str = ""  # the text of its first pages, in which names of others are looked for
    problem: str = ""  # what could not be read, and why


class DocumentFacts(DocumentValues, frozen=True, omit_defaults=True, kw_only=True):
    """What a document says of itself."""

    titles: tuple[Finding, ...] = ()  # best first
    people: tuple[Person, ...] = ()  # of every role, in the order of the document
    metadata: dict[str, str] = {}  # embedded: title, author, subject, keywords, rights, creator…
    tail: str = ""  # the text of its last two pages
    scanned: bool = False  # its pages are pictures


class DocumentLink(Struct, frozen=True, omit_defaults=True):
    """A link on a page, with the words around it."""

    url: str
    anchor: str = ""
    item: str = ""  # the list item, row or paragraph around it
    heading: str = ""  # the headings above it, outermost first, " / " between them


class PresentedWork(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a landing page says of the one work that it presents."""

    title: Finding | None = None
    authors: tuple[Person, ...] = ()
    institutions: tuple[Finding, ...] = ()
    doi: str = ""
    year: str = ""
    abstract: Finding | None = None
    keywords: tuple[Finding, ...] = ()
    rights: tuple[Finding, ...] = ()
    language: str = ""
    kind: DocumentKind | None = None
    files: tuple[str, ...] = ()  # that it names as those of the work
    is_told: bool = False  # it is surely such a page: the one document that it links to is the work, named or not
    program: str = ""  # that sent the page, if it is known


class HarvestedWork(Struct, frozen=True, omit_defaults=True):
    """A work as its repository describes it by OAI-PMH."""

    identifiers: tuple[str, ...]  # addresses, DOIs and others
    work: PresentedWork


class PageFacts(Struct, frozen=True, omit_defaults=True):
    """What a page of a site says of people and documents."""

    title: str = ""
    language: str = ""
    people: tuple[Person, ...] = ()
    organisations: tuple[Finding, ...] = ()
    emails: tuple[Finding, ...] = ()  # all, also those tied to no person
    keywords: tuple[str, ...] = ()
    documents: tuple[DocumentLink, ...] = ()  # links that may lead to documents
    work: PresentedWork | None = None
    oai: tuple[str, ...] = ()  # where its repository may answer by OAI-PMH


class MailAddress(Struct, frozen=True, omit_defaults=True):
    """An e-mail address of a person: as a document prints it, or as the site gives it today."""

    email: str
    confidence: float
    is_current: bool = False
    evidence: tuple[Evidence, ...] = ()


class Author(Struct, frozen=True, omit_defaults=True):
    """An author of a document, in all that is known of them."""

    name: str
    confidence: float
    person: int = 0  # the number of the person in the collection; 0: not yet known
    addresses: tuple[MailAddress, ...] = ()  # best first
    affiliations: tuple[str, ...] = ()
    orcid: str = ""
    evidence: tuple[Evidence, ...] = ()


class DocumentDescription(DocumentValues, frozen=True, omit_defaults=True, kw_only=True):
    """What is known of a document after everything was weighed."""

    url: str
    wanted: bool = True
    category: str = ""
    subcategory: str = ""
    title: Finding | None = None
    authors: tuple[Author, ...] = ()
    contributors: tuple[Person, ...] = ()  # directors, teachers, juries: not to be asked
    linked_from: tuple[str, ...] = ()
    fetched: str = ""  # when, in ISO form
    confidence: float = 0.0  # of title and authors, the lower of both


class KnownPerson(Struct, frozen=True, omit_defaults=True):
    """One person of a collection under all their spellings."""

    number: int
    name: str  # the fullest spelling
    names: tuple[str, ...] = ()
    addresses: tuple[MailAddress, ...] = ()
    affiliations: tuple[Finding, ...] = ()
    orcid: str = ""
    pages: tuple[str, ...] = ()  # about them
    documents: tuple[str, ...] = ()


class ToldValue(NamedTuple):
    """A value of a document as people are told of it; `note`: the role of a person, or whether an address is of now."""

    field: str
    value: str
    confidence: float | None
    evidence: tuple[Evidence, ...] = ()
    note: str = ""


def values_of(document: DocumentDescription) -> Iterator[ToldValue]:
    """Every value of a document, in the order in which people read them."""
    for name in ("title", "language", "abstract"):
        if (found := getattr(document, name)) is not None:
            yield ToldValue(name, *_parts_of(found))
    for author in document.authors:
        yield ToldValue("authors", author.name, author.confidence, author.evidence, author.orcid)
        for address in author.addresses:
            note = "now" if address.is_current else "printed"
            yield ToldValue("address", address.email, address.confidence, address.evidence, note)
    for person in document.contributors:
        yield ToldValue("contributors", person.name, person.confidence, person.evidence, person.role)
    kind = document.kind
    yield ToldValue("category", document.category or kind.value, kind.confidence, kind.evidence)
    if document.subcategory:
        yield ToldValue("subcategory", document.subcategory, None)
    for name in ("affiliations", "emails", "keywords", "rights"):
        yield from (ToldValue(name, *_parts_of(found)) for found in getattr(document, name))
    for name in ("year", "doi"):
        if value := getattr(document, name):
            yield ToldValue(name, value, None)


def _parts_of(found: Finding) -> tuple[str, float, tuple[Evidence, ...]]:
    return found.value, found.confidence, found.evidence
