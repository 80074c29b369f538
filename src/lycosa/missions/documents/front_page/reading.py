"""From the bytes of one document to what it says of itself; pure, and never raising on content."""

from __future__ import annotations

import re

from msgspec import structs
from rapidfuzz import fuzz

from lycosa.missions.documents.front_page.abstracts import find_abstract, find_keywords
from lycosa.missions.documents.front_page.covers import read_cover
from lycosa.missions.documents.front_page.emails import find_emails
from lycosa.missions.documents.front_page.kinds import recognise_kind
from lycosa.missions.documents.front_page.language import identify_language
from lycosa.missions.documents.front_page.line_model import label_lines
from lycosa.missions.documents.front_page.names import name_score, split_names
from lycosa.missions.documents.front_page.people import Institution, Named, once, read_details, read_header, same_person
from lycosa.missions.documents.front_page.references import DOI, find_references
from lycosa.missions.documents.front_page.rights import find_rights
from lycosa.missions.documents.front_page.ties import address_fits, find_orcids, mend_underscore, tie_emails, tie_places
from lycosa.missions.documents.front_page.titles import TitleCandidate, find_titles
from lycosa.missions.documents.front_page.vocabulary import SECTION
from lycosa.missions.documents.model import DocumentFacts, Evidence, Finding, Person
from lycosa.missions.documents.reading.layout import Layout, Line
from lycosa.missions.documents.reading.letters import fold, plain
from lycosa.missions.documents.reading.reading import read_layout

HEAD_CHARS = 20_000
LINE_CHARS_MAX = 1000  # no printed line has more: what does is hostile, or a paragraph
#: Kinds that have an abstract, also without a heading.
_WITH_ABSTRACT = ("article", "report", "thesis", "proposal")
COVER_WORDS = 150  # a first page with fewer is a cover
EARLY_PAGES = 9  # in which abstract and keywords are looked for


def read_facts(body: bytes, *, format: str = "pdf") -> DocumentFacts:
    """What a document says of itself; what could not be read stands in `problem`."""
    return facts_of(read_layout(body, format=format))


def facts_of(layout: Layout) -> DocumentFacts:
    """What a document says of itself, from its layout."""
    if any(len(line.text) > LINE_CHARS_MAX for line in layout.lines):
        layout = structs.replace(layout, lines=[_cut(line) for line in layout.lines])
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
    opening = layout.opening
    first_page = [line for line in layout.lines if line.page == opening]
    cover = sum(len(line.text.split()) for line in first_page) < COVER_WORDS
    chances = {} if cover else {id(line): said for line, said in zip(first_page, label_lines(first_page), strict=False)}
    titles = find_titles(layout, weights={key: said.get("title", 0.0) for key, said in chances.items()})
    language, sureness = identify_language(layout.text)
    title_lines = titles[0].lines if titles else []
    if title_lines and title_lines[0].page > opening:  # a text after a cover that is not its own
        page = [line for line in layout.lines if line.page == title_lines[0].page]
        if sum(len(line.text.split()) for line in page) >= COVER_WORDS:
            first_page, cover = page, False
            chances = {id(line): said for line, said in zip(page, label_lines(page), strict=False)}
    if cover:
        people, places = read_cover(_cover_pages(layout), title=title_lines)
    else:
        people, places = read_header(first_page, title=title_lines, chances=chances, levels=kind.value != "article")
        places += read_details([line for line in layout.lines if line.page > opening])
    people = once(people)
    people = _with_embedded(people, layout.metadata.get("author", ""), head=layout.lines)
    emails = _emails(layout, [one.name for one in people])
    head = "\n".join(plain(line.text) for line in layout.lines if line.page < opening + 3)[:HEAD_CHARS]
    tail = "\n".join(plain(line.text) for line in layout.lines if line.page > max(opening + 2, layout.page_count - 2))[
        :HEAD_CHARS
    ]
    doi = DOI.search(head)
    places = _places_once(places)
    early = [line for line in layout.lines if line.page < opening + EARLY_PAGES]
    return DocumentFacts(
        format=layout.format,
        kind=kind,
        pages=layout.page_count,
        language=_language(language, sureness),
        titles=tuple(_title(one) for one in titles if one.score > 0),
        people=_people(people, places, [one.value for one in emails], lines=early),
        affiliations=tuple(_place(one) for one in places),
        emails=emails,
        abstract=find_abstract(early, language=language, chances=chances if kind.value in _WITH_ABSTRACT else {}),
        keywords=find_keywords(
            early, language=language, text=layout.text, embedded=layout.metadata.get("keywords", "")
        ),
        references=find_references(layout.text),
        doi=doi[0] if doi else "",
        year=_year(first_page, layout.metadata, chances=chances),
        rights=find_rights(layout.lines, layout.metadata),
        metadata=layout.metadata,
        head=head,
        tail=tail,
        scanned=layout.image_pages >= max(1, len({line.page for line in layout.lines})),
        problem=layout.problem,
    )


def _with_embedded(people: list[Named], embedded: str, *, head: list[Line]) -> list[Named]:
    """The people with what the embedded author says: whom it names is surer; alone, it is a weak witness.

    It may be whoever made the file, so that beside printed authors only a name that the first pages print is taken.
    """
    names = [name for name, _ in split_names(embedded) if name_score(name) > 0.7]
    authors = [one for one in people if one.role == "author"]
    text = fold(" ".join(plain(line.text) for line in head if line.page <= 3)) if names else ""
    for name in names:
        twin = next((one for one in people if same_person(one.name, name)), None)
        printed = fold(name) in text
        if twin is not None:
            twin.score = round(min(0.97, twin.score + 0.1), 2) if twin.role == "author" else twin.score
        elif printed or not authors:
            people.append(Named(name, "author", None, (), 0.6 if printed else 0.4, "embedded author", 10_000))
    return people


def _language(language: str, sureness: float) -> Finding | None:
    if not language:
        return None
    evidence = (Evidence(source="text", rule="letters of the text"),)
    return Finding(value=language, confidence=round(sureness, 2), evidence=evidence)


def _year(lines: list[Line], metadata: dict[str, str], *, chances: dict[int, dict[str, float]]) -> str:
    """The year that a short line of the header names, not after the file was made; else that in which it was made."""
    made = re.search(r"(?:19|20)\d\d", metadata.get("created", ""))
    for line in lines:
        said = chances.get(id(line), {})
        if len(line.text) > 90 or said.get("body", 0.0) + said.get("abstract", 0.0) > 0.4 or chances and not said:
            continue
        for found in re.finditer(r"\b(?:19[5-9]|20[0-4])\d\b", line.text):
            if made is None or found[0] <= made[0]:
                return found[0]
    return made[0] if made else ""


def _people(
    people: list[Named], places: list[Institution], emails: list[str], *, lines: list[Line]
) -> tuple[Person, ...]:
    """The people with what is tied to them; institutions are tied to authors only."""
    authors = [one for one in people if one.role == "author"]
    of_places = tie_places(authors, places)
    of_emails = tie_emails([one.name for one in people], emails)
    orcids = find_orcids(lines, authors)
    out: list[Person] = []
    for nth, one in enumerate(people):
        place = authors.index(one) if one.role == "author" else -1
        out.append(
            Person(
                name=one.name,
                confidence=one.score,
                role=one.role,
                emails=of_emails.get(nth, ()),
                affiliations=of_places.get(place, ()),
                orcid=orcids.get(place, ""),
                evidence=_evidence(one.line, one.rule),
            )
        )
    return tuple(out)


def _cut(line: Line) -> Line:
    return structs.replace(line, text=line.text[:LINE_CHARS_MAX]) if len(line.text) > LINE_CHARS_MAX else line


def _cover_pages(layout: Layout) -> list[list[Line]]:
    """The covers: the first page, and those of the next two that have few words and are no list or thanks."""
    pages: list[list[Line]] = []
    opening = layout.opening
    for page in range(opening, opening + 3):
        lines = [line for line in layout.lines if line.page == page]
        words = sum(len(line.text.split()) for line in lines)
        if page > opening and (layout.page_width > layout.page_height or words > 150):
            break
        if page > opening and any(SECTION.match(fold(line.text).strip()) for line in lines[:4]):
            break
        pages.append(lines)
    return pages


def _evidence(line: Line | None, rule: str) -> tuple[Evidence, ...]:
    if line is None:
        return (Evidence(source="metadata", rule=rule),)
    return (Evidence(source="text", rule=rule, page=line.page, box=line.box, quote=plain(line.text)[:200]),)


def _title(one: TitleCandidate) -> Finding:
    confidence = max(0.05, min(0.97, 0.35 + 0.1 * one.score))
    return Finding(
        value=one.text,
        confidence=round(confidence, 2),
        evidence=_evidence(one.lines[0] if one.lines else None, one.rule),
    )


def _place(one: Institution) -> Finding:
    return Finding(value=one.text, confidence=one.score, evidence=_evidence(one.line, "institution's words"))


def _places_once(places: list[Institution]) -> list[Institution]:
    kept: list[Institution] = []
    for one in places:
        twin = next((other for other in kept if fuzz.partial_ratio(fold(one.text), fold(other.text)) > 92), None)
        if twin is None:
            kept.append(one)
        elif len(one.text) > len(twin.text):
            twin.text = one.text
    return kept


def _emails(layout: Layout, names: list[str]) -> tuple[Finding, ...]:
    """The addresses of the pages read, each once; those that fit no name of the document are less sure."""
    found: dict[str, Finding] = {}
    pages: dict[int, list[Line]] = {}
    opening = layout.opening
    for line in layout.lines:
        if line.page < opening + 3 or line.page > layout.page_count - 2:
            pages.setdefault(line.page, []).append(line)
    for page, lines in pages.items():
        text = "\n".join(plain(line.text) for line in lines)
        for address in find_emails(text):
            email = mend_underscore(text, address.email, names)
            sign = address.quote.replace("\n", "")[-12:].lower()
            line = next((line for line in lines if sign in line.text.replace(" ", "").lower()), lines[0])
            fits = max((address_fits(email, name) for name in names), default=0.0)
            confidence = min(0.98, (0.85 if page < opening + 3 else 0.7) + 0.15 * fits)
            evidence = Evidence(
                source="text", rule=f"address: {address.how}", page=page, box=line.box, quote=address.quote[:200]
            )
            found.setdefault(email, Finding(value=email, confidence=round(confidence, 2), evidence=(evidence,)))
    return tuple(found.values())
