"""One document: each value with its evidence and its place on the page, corrections, and what was decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import asdict

from lycosa.collection.collection import Collection
from lycosa.missions.documents.catalogue import shown_catalogue
from lycosa.missions.documents.decisions import (
    SEVERAL,
    SINGLE,
    STATES,
    Decision,
    list_decisions,
    permissions,
    read_corrections,
)
from lycosa.missions.documents.model import DocumentDescription, Evidence, ToldValue, text_of, values_of
from lycosa.missions.web import NotFound

_SHOWN_EVIDENCE = 8
_SHOWN_REFERENCES = 200
_SHOWN_LINKS = 20


class ShownEvidence(Evidence, frozen=True, omit_defaults=False):
    """Where a value comes from, with all its fields."""


class DocumentValue(Struct, frozen=True):
    """A value of a field with how sure it is; `note` tells an author's address from a printed one."""

    field: str
    value: str
    confidence: float | None
    evidence: tuple[ShownEvidence, ...]
    note: str = ""
    is_corrected: bool = False


class EditableField(Struct, frozen=True):
    """A field that a person may correct, with its values as they are."""

    name: str
    values: tuple[str, ...]
    is_list: bool
    is_corrected: bool


class DocumentDetail(Struct, frozen=True):
    """All that is known of a document."""

    url: str
    title: str
    format: str
    pages: int
    fetched: str
    problem: str
    confidence: float
    wanted: bool
    permission: str
    values: tuple[DocumentValue, ...]
    authors: tuple[str, ...]
    editable: tuple[EditableField, ...]
    decisions: tuple[Decision, ...]
    states: tuple[str, ...]
    linked_from: tuple[str, ...]
    references: tuple[str, ...]
    is_current: bool


def describe_document(collection: Collection, url: str) -> DocumentDetail:
    """What is known of a document of the collection."""
    with shown_catalogue(collection.path) as (catalogue, is_current):
        document = catalogue.document(url)
    if document is None:
        raise NotFound(f"{url[:300] or 'An empty address'} is no document of this collection: see the list.")
    corrected = read_corrections(collection.path).get(document.url, {})
    return DocumentDetail(
        url=document.url,
        title=text_of(document.title),
        format=document.format,
        pages=document.pages,
        fetched=document.fetched,
        problem=document.problem,
        confidence=document.confidence,
        wanted=document.wanted,
        permission=permissions(collection.path).get(document.url, ""),
        values=tuple(map(_shown, values_of(document))),
        authors=tuple(author.name for author in document.authors),
        editable=tuple(_editable(document, corrected)),
        decisions=tuple(each for each in list_decisions(collection.path) if each.url == document.url),
        states=STATES,
        linked_from=document.linked_from[:_SHOWN_LINKS],
        references=tuple(reference.text for reference in document.references[:_SHOWN_REFERENCES]),
        is_current=is_current,
    )


def _shown(told: ToldValue) -> DocumentValue:
    proofs = told.evidence[:_SHOWN_EVIDENCE]
    return DocumentValue(
        field=told.field,
        value=told.value,
        confidence=told.confidence,
        evidence=tuple(ShownEvidence(**asdict(each)) for each in proofs),
        note=told.note,
        is_corrected=any(each.source == "correction" for each in proofs),
    )


def _editable(document: DocumentDescription, corrected: Iterable[str]) -> Iterator[EditableField]:
    for name in (*SINGLE, *SEVERAL):
        values: tuple[str, ...]
        if name == "authors":
            values = tuple(author.name for author in document.authors)
        elif name == "wanted":
            values = ("true" if document.wanted else "false",)
        elif name in SEVERAL:
            values = tuple(found.value for found in getattr(document, name))
        elif name in ("title", "language", "abstract"):
            found = getattr(document, name)
            values = (found.value,) if found else ()
        else:
            values = (value,) if (value := str(getattr(document, name))) else ()
        yield EditableField(name, values, name in SEVERAL, name in corrected)
