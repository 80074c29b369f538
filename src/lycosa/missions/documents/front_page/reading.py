"""From the bytes of one document to what it says of itself; pure, and never raising on content."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec import structs

from lycosa.missions.documents.front_page.header import join_groups, read_cover, read_details, read_header
from lycosa.missions.documents.front_page.kinds import identify_language, recognise_kind
from lycosa.missions.documents.front_page.line_model import label_lines
from lycosa.missions.documents.front_page.matter import DOI, find_abstract, find_keywords, find_references, find_rights
from lycosa.missions.documents.front_page.names import name_score, split_names
from lycosa.missions.documents.front_page.people import (
    Institution,
    Named,
    find_orcids,
    mend_first_letter,
    mend_underscore,
    once,
    same_person,
    sort_out_directors,
    tidy_institutions,
    tie_places,
    without_strangers,
)
from lycosa.missions.documents.front_page.titles import TitleCandidate, find_titles
from lycosa.missions.documents.front_page.vocabulary import SECTION
from lycosa.missions.documents.model import DocumentFacts, Evidence, Finding, Person
from lycosa.missions.documents.names import fits_address, share_addresses
from lycosa.missions.documents.reading.emails import find_emails
from lycosa.missions.documents.reading.layout import RAISED, Layout, Line, plain
from lycosa.missions.documents.reading.reading import read_layout
from lycosa.missions.documents.text_similarity import fuzz
from lycosa.text.fold import fold

HEAD_CHARS = 20_000
LINE_CHARS_MAX = 1000  # no printed line has more: what does is hostile, or a paragraph
#: Kinds that have an abstract, also without a heading.
_WITH_ABSTRACT = ("article", "report", "thesis", "proposal")
COVER_WORDS = 150  # a first page with fewer is a cover
_RAISED_MARKS = re.compile(rf"{RAISED}[\d,*†‡§¶]*")  # at an address, of what it belongs to
EARLY_PAGES = 9  # in which abstract and keywords are looked for


def read_facts(body: bytes, *, format: str = "pdf") -> DocumentFacts:
    """What a document says of itself; what could not be read stands in `problem`."""
    return facts_of(read_layout(body, format=format))


def facts_of(layout: Layout) -> DocumentFacts:
    """What a document says of itself, from its layout."""
    layout = structs.replace(layout, lines=[_cut(line) for line in layout.lines])
    if not layout.lines:
        return DocumentFacts(
            format=layout.format,
            kind=Finding(value="other", confidence=0.1),
            pages=layout.page_count,
            metadata=layout.metadata,
            scanned=layout.image_pages > 0,
            problem=layout.problem,
        )
    opening, metadata = layout.opening, layout.metadata
    kind = recognise_kind(layout)
    front, titles = _find_front(layout)
    people, places = _people_and_places(layout, front, title=titles[0].lines if titles else [], kind=kind.value)
    people = without_strangers(once(people), layout.text, title=titles[0].text if titles else "")
    people = sort_out_directors(people) if kind.value in ("thesis", "cv") else people
    people = _with_embedded(people, metadata.get("author", ""), head=layout.lines)
    places = _places_once(tidy_institutions(places, people))
    emails = _emails(layout, [one.name for one in people])
    early = [line for line in layout.lines if line.page < opening + EARLY_PAGES]
    head = _text_of(layout, (opening, opening + 2))
    doi = DOI.search(head)
    language, sureness = identify_language(layout.text)
    return DocumentFacts(
        format=layout.format,
        kind=kind,
        pages=layout.page_count,
        language=_language(language, sureness),
        titles=tuple(_title(one) for one in titles if one.score > 0),
        people=_people(people, places, [one.value for one in emails], lines=early),
        affiliations=tuple(_place(one) for one in places),
        emails=emails,
        abstract=find_abstract(early, language=language, chances=front.chances if kind.value in _WITH_ABSTRACT else {}),
        keywords=find_keywords(early, language=language, text=layout.text, embedded=metadata.get("keywords", "")),
        references=find_references(layout.text),
        doi=doi[0] if doi else "",
        year=_year(front.lines, metadata, chances=front.chances),
        rights=find_rights(layout.lines, metadata),
        metadata=metadata,
        head=head,
        tail=_text_of(layout, (max(opening + 3, layout.page_count - 1), layout.page_count)),
        scanned=layout.image_pages >= max(1, len({line.page for line in layout.lines})),
        problem=layout.problem,
    )


class _Front(NamedTuple):
    """The page that names a document's authors, with what the line model says of each of its lines."""

    lines: list[Line]
    chances: dict[int, dict[str, float]]  # by a line's id; empty: a cover
    is_cover: bool


def _front_of(lines: list[Line]) -> _Front:
    if sum(len(line.text.split()) for line in lines) < COVER_WORDS:
        return _Front(lines, {}, is_cover=True)
    return _Front(lines, {id(line): said for line, said in zip(lines, label_lines(lines), strict=False)}, False)


def _find_front(layout: Layout) -> tuple[_Front, list[TitleCandidate]]:
    """The front page with the titles; a text after a cover that is not its own begins on the title's page."""
    front = _front_of([line for line in layout.lines if line.page == layout.opening])
    titles = find_titles(layout, weights={key: said.get("title", 0.0) for key, said in front.chances.items()})
    if titles and titles[0].lines and titles[0].lines[0].page > layout.opening:
        own = _front_of([line for line in layout.lines if line.page == titles[0].lines[0].page])
        if not own.is_cover:
            return own, titles
    return front, titles


def _people_and_places(
    layout: Layout, front: _Front, *, title: list[Line], kind: str
) -> tuple[list[Named], list[Institution]]:
    lines = [line for line in front.lines if not line.running]
    if front.is_cover:
        return read_cover([join_groups(page, {}) for page in _cover_pages(layout)], title=title)
    chances = dict(front.chances)
    people, places = read_header(join_groups(lines, chances), title=title, chances=chances, levels=kind != "article")
    return people, places + read_details([line for line in layout.lines if line.page > layout.opening])


def _text_of(layout: Layout, pages: tuple[int, int]) -> str:
    """The beginning of the text of these pages, from the first to the last."""
    first, last = pages
    return "\n".join(plain(line.text) for line in layout.lines if first <= line.page <= last)[:HEAD_CHARS]


def _with_embedded(people: list[Named], embedded: str, *, head: list[Line]) -> list[Named]:
    """The people with what the embedded author says: whom it names is surer; alone, it is a weak witness.

    It may be whoever made the file, so that beside printed authors only a name that the first pages print is taken.
    """
    names = [name for name, _ in split_names(embedded) if name_score(name) > 0.7]
    if not names:
        return people
    has_authors = any(one.role == "author" for one in people)
    text = fold(" ".join(plain(line.text) for line in head if line.page <= 3))
    for name in names:
        twin = next((one for one in people if same_person(one.name, name)), None)
        printed = fold(name) in text
        if twin is not None and twin.role == "author":
            twin.score = round(min(0.97, twin.score + 0.1), 2)
        elif twin is None and (not has_authors or printed):
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
    of_emails = share_addresses([one.name for one in people], emails)
    orcids = find_orcids(lines, authors)
    out: list[Person] = []
    for nth, one in enumerate(people):
        place = authors.index(one) if one.role == "author" else -1
        out.append(
            Person(
                name=one.name,
                confidence=one.score,
                role=one.role,
                emails=of_emails[nth],
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
        lines = [line for line in layout.lines if line.page == page and not line.running]
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
    return line.evidence(rule)


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
        text = "\n".join(_RAISED_MARKS.sub(" ", line.text) for line in lines)
        for address in find_emails(text, names):
            email = mend_first_letter(mend_underscore(text, address.email, names), names)
            sign = address.quote.replace("\n", "")[-12:].lower()
            line = next((line for line in lines if sign in line.text.replace(" ", "").lower()), lines[0])
            fits = max((fits_address(name, email) for name in names), default=0.0)
            confidence = min(0.98, (0.85 if page < opening + 3 else 0.7) + 0.15 * fits)
            evidence = line.evidence(f"address: {address.how}", address.quote[:200])
            found.setdefault(email, Finding(value=email, confidence=round(confidence, 2), evidence=evidence))
    return tuple(found.values())
