"""From the bytes of one document to what it says of itself; pure, and never raising on content."""

from __future__ import annotations

import re

from lycosa.missions.documents.header.emails import find_emails
from lycosa.missions.documents.header.kinds import recognise_kind
from lycosa.missions.documents.header.language import identify_language
from lycosa.missions.documents.header.line_model import label_lines
from lycosa.missions.documents.header.people import Named, Place, header_lines, read_people
from lycosa.missions.documents.header.titles import Candidate, find_titles
from lycosa.missions.documents.model import DocumentFacts, Evidence, Finding, Person
from lycosa.missions.documents.text.layout import Layout, Line
from lycosa.missions.documents.text.letters import fold, plain
from lycosa.missions.documents.text.reading import read_layout

HEAD_CHARS = 20_000
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>,;)\]]+[^\s\"<>,;.)\]]")


def read_facts(body: bytes, *, format: str = "pdf") -> DocumentFacts:
    """What a document says of itself; what could not be read stands in `problem`."""
    return facts_of(read_layout(body, format=format))


def facts_of(layout: Layout) -> DocumentFacts:
    """What a document says of itself, from its layout."""
    if not layout.lines:
        kind = Finding(value="other", confidence=0.1)
        return DocumentFacts(
            format=layout.format,
            kind=kind,
            pages=layout.page_count,
            metadata=layout.metadata,
            scanned=layout.image_pages > 0,
            problem=layout.problem,
        )
    kind = recognise_kind(layout)
    first_page = [line for line in layout.lines if line.page == 1]
    cover = sum(len(line.text.split()) for line in first_page) < 150
    chances = {} if cover else {id(line): said for line, said in zip(first_page, label_lines(first_page), strict=False)}
    titles = find_titles(layout, weights={key: said.get("title", 0.0) for key, said in chances.items()})
    language, sureness = identify_language(layout.text)
    title_lines = titles[0].lines if titles else []
    people, places = read_people(header_lines(layout.lines, title_lines), cover=cover, chances=chances)
    emails = _emails(layout)
    head = "\n".join(plain(line.text) for line in layout.lines if line.page <= 3)[:HEAD_CHARS]
    tail = "\n".join(plain(line.text) for line in layout.lines if line.page > max(3, layout.page_count - 2))[
        :HEAD_CHARS
    ]
    doi = _DOI.search(head)
    return DocumentFacts(
        format=layout.format,
        kind=kind,
        pages=layout.page_count,
        language=Finding(value=language, confidence=round(sureness, 2)) if language else None,
        titles=tuple(_title(one) for one in titles if one.score > 0),
        people=tuple(_person(one) for one in people),
        affiliations=tuple(_place(one) for one in places),
        emails=emails,
        doi=doi[0] if doi else "",
        metadata=layout.metadata,
        head=head,
        tail=tail,
        scanned=layout.image_pages > 0,
        problem=layout.problem,
    )


def _evidence(line: Line | None, rule: str) -> tuple[Evidence, ...]:
    if line is None:
        return (Evidence(source="metadata", rule=rule),)
    return (Evidence(source="text", rule=rule, page=line.page, box=line.box, quote=plain(line.text)[:200]),)


def _title(one: Candidate) -> Finding:
    confidence = max(0.05, min(0.97, 0.35 + 0.1 * one.score))
    return Finding(
        value=one.text,
        confidence=round(confidence, 2),
        evidence=_evidence(one.lines[0] if one.lines else None, one.rule),
    )


def _person(one: Named) -> Person:
    return Person(name=one.name, confidence=one.score, role=one.role, evidence=_evidence(one.line, one.rule))


def _place(one: Place) -> Finding:
    return Finding(value=one.text, confidence=one.score, evidence=_evidence(one.line, "institution's words"))


def _emails(layout: Layout) -> tuple[Finding, ...]:
    found: dict[str, Finding] = {}
    pages: dict[int, list[Line]] = {}
    for line in layout.lines:
        pages.setdefault(line.page, []).append(line)
    for page, lines in pages.items():
        for address in find_emails("\n".join(plain(line.text) for line in lines)):
            local = fold(address.quote.split("@")[0])[:8].strip("{([ ")
            line = next((line for line in lines if local and local in fold(line.text)), lines[0])
            evidence = Evidence(
                source="text", rule=f"address: {address.how}", page=page, box=line.box, quote=address.quote[:200]
            )
            confidence = 0.95 if page <= 3 else 0.8
            found.setdefault(address.email, Finding(value=address.email, confidence=confidence, evidence=(evidence,)))
    return tuple(found.values())
