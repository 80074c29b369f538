"""What a landing page says of a document: the work's own record, which wins over what the text suggests.

What the text says otherwise stays among the evidence, so that people see where the two contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace
from rapidfuzz import fuzz

from lycosa.missions.documents.model import DocumentDescription, Evidence, Finding, Person, PresentedWork
from lycosa.missions.documents.names import same_person
from lycosa.text.fold import fold_words

#: From here on two texts are the same, but for slips and signs.
_SAME = 88
_MOST = 0.98


def overlay(document: DocumentDescription, work: PresentedWork) -> DocumentDescription:
    """A description in which the landing page's word counts; its authors were weighed with all the others."""
    institutions = list(work.institutions)
    for author in work.authors:
        for name in author.affiliations:
            if all(fold_words(name) != fold_words(each.value) for each in institutions):
                institutions.append(Finding(name, author.confidence, author.evidence[:1]))
    kind = document.kind
    if work.kind is not None:
        kind = prefer(Finding(work.kind, 0.95, _proof(work)), kind) or kind
    changed = replace(
        document,
        title=prefer(work.title, document.title),
        kind=kind,
        category=kind.value if document.category == document.kind.value else document.category,
        affiliations=(*institutions, *_without(document.affiliations, institutions)),
        abstract=prefer(work.abstract, document.abstract),
        keywords=work.keywords or document.keywords,
        doi=work.doi or document.doi,
        year=work.year or document.year,
        rights=work.rights or document.rights,
    )
    of_title = changed.title.confidence if changed.title else 0.0
    of_authors = max((author.confidence for author in changed.authors), default=0.0)
    return replace(changed, confidence=round(min(of_title, of_authors), 3))


def reconcile(work: PresentedWork, harvested: PresentedWork) -> PresentedWork:
    """A work field by field: the landing page's word, surer where its repository sends the same, else its."""
    authors = told_authors(work, harvested.authors) if work.authors else harvested.authors
    return replace(
        work,
        title=prefer(work.title, harvested.title),
        authors=tuple(authors),
        doi=work.doi or harvested.doi,
        year=work.year or harvested.year,
        abstract=prefer(work.abstract, harvested.abstract),
        keywords=work.keywords or harvested.keywords,
        rights=work.rights or harvested.rights,
        language=work.language or harvested.language,
        kind=work.kind or harvested.kind,
    )


def prefer(told: Finding | None, found: Finding | None) -> Finding | None:
    """The first of two values, surer where they agree; the other stays as evidence."""
    if told is None or found is None:
        return told or found
    if fuzz.ratio(fold_words(told.value), fold_words(found.value)) >= _SAME:
        sure = min(_MOST, 1 - (1 - told.confidence) * (1 - 0.5 * found.confidence))
        return Finding(told.value, round(sure, 3), (*told.evidence, *found.evidence)[:5])
    said = found.evidence[0] if found.evidence else Evidence(source="text", rule="")
    other = replace(said, rule=f"otherwise: {said.rule}", quote=found.value[:200])
    return replace(told, evidence=(*told.evidence, other))


def told_authors(work: PresentedWork, printed: Iterable[Person]) -> list[Person]:
    """The authors whom a landing page names, with what the document prints of each."""
    people = list(printed)
    return [_with_print(person, people) for person in work.authors]


def _with_print(person: Person, people: list[Person]) -> Person:
    other = max(people, key=lambda one: same_person(one.name, person.name), default=None)
    if other is None or same_person(other.name, person.name) < 0.75:
        return person
    return replace(
        person,
        confidence=min(_MOST, person.confidence + 0.01),
        emails=tuple(dict.fromkeys((*person.emails, *other.emails))),
        affiliations=person.affiliations or other.affiliations,
        orcid=person.orcid or other.orcid,
        page=person.page or other.page,
        evidence=(*person.evidence, *other.evidence)[:5],
    )


def _without(found: Iterable[Finding], told: Iterable[Finding]) -> list[Finding]:
    """What is not told already, in the same words or in fewer or more."""
    known = [fold_words(each.value) for each in told]
    return [
        each for each in found if not any((word := fold_words(each.value)) in other or other in word for other in known)
    ]


def _proof(work: PresentedWork) -> tuple[Evidence, ...]:
    first = work.title or work.abstract
    pieces = first.evidence[:1] if first else ()
    return tuple(replace(each, rule="type of the landing page", quote="") for each in pieces)
