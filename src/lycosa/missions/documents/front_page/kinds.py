"""The kind of a document, by its pages' form and its words, and its language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, get_args

from lycosa.missions.documents.front_page.vocabulary import (
    ABSTRACT,
    KEYWORDS,
    LIFE,
    REFERENCES,
    SECTION,
    TABLES,
    table_pattern,
)
from lycosa.missions.documents.model import DocumentKind, Evidence, Finding
from lycosa.missions.documents.names import join_table
from lycosa.missions.documents.reading.layout import Layout, Line
from lycosa.text.fold import fold

LANGUAGES = ("es", "en", "pt", "ca", "gl", "eu", "fr", "it", "de")
SAMPLE_CHARS = 5000


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(LANGUAGES))
    return identifier


def identify_language(text: str) -> tuple[str, float]:
    """The language and how sure it is; nothing where there are too few words."""
    text = " ".join(text[: 4 * SAMPLE_CHARS].split())
    start = max(0, min(len(text) - SAMPLE_CHARS, SAMPLE_CHARS))  # after abstracts in other languages
    sample = text[start : start + SAMPLE_CHARS]
    if sum(letter.isalpha() for letter in sample[:400]) < 40:
        return "", 0.0
    language, probability = _identifier().classify(sample)
    return str(language), min(0.99, float(probability))


#: Words that speak for a kind, with their weight.
_COMPILED: tuple[tuple[DocumentKind, float, re.Pattern[str]], ...] = tuple(
    (one["kind"], one["weight"], re.compile(rf"\b(?:{join_table(one['words'])})\b", re.M)) for one in TABLES["kinds"]
)
_JOURNAL = table_pattern("journal")
_QUESTION = table_pattern("question", re.M)
_POINTS = re.compile(r"[(\[]\s?\d+(?:[.,]\d+)?\s?(?:puntos?|pts?|points?|pontos?|p)\b\.?\s?[)\]]")
_BIBLIOGRAPHY = re.compile(r"^(?:\d+\.?\s*)?(?:references|bibliograf\w+|referencias|bibliography)", re.M)
_INTRODUCTION = re.compile(r"^(?:1\.?|i\.)?\s*introdu(?:ccion|ction|cao)\W*\d?$")
_CONTENTS = table_pattern("contents")
_CHAPTERS = re.compile(r"^(?:capitulo|chapter|tema|unidad|leccion|lecture|parte) \w+", re.M)


def recognise_kind(layout: Layout) -> Finding:
    """The kind with how sure it is; "other" where nothing speaks for any."""
    opening = layout.opening
    head_lines = [line for line in layout.lines if line.page == opening]
    scores: dict[str, float] = dict.fromkeys((kind for kind in get_args(DocumentKind) if kind != "other"), 0.0)
    reasons: dict[str, str] = {}
    _score_words(layout, head_lines, scores=scores, reasons=reasons)
    _score_form(layout, head_lines, scores=scores, reasons=reasons)
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    (best, score), (_, second) = ranked[0], ranked[1]
    if score < 1.0:
        cited = any(REFERENCES.match(fold(line.strip())) for line in layout.text.split("\n"))
        cited = (
            cited or layout.page_count < 45 and any(_INTRODUCTION.match(fold(line.text)) for line in head_lines[2:20])
        )
        best, score = ("article" if cited else "notes" if layout.page_count > 4 else "other", 0.5)
    confidence = min(0.97, 0.35 + 0.12 * score + 0.08 * (score - second))
    evidence = Evidence(source="text", rule=f"kind: {reasons.get(best, 'form of the pages')}", page=1)
    return Finding(value=best, confidence=round(max(0.2, confidence), 2), evidence=(evidence,))


def _score_words(layout: Layout, head: list[Line], *, scores: dict[str, float], reasons: dict[str, str]) -> None:
    places = _telling_places(layout, head)
    for kind, weight, pattern in _COMPILED:
        for place, share in places:
            found = pattern.search(place)
            if found:
                scores[kind] += weight * share
                reasons.setdefault(kind, found[0][:40])
                break


def _telling_places(layout: Layout, head: list[Line]) -> tuple[tuple[str, float], ...]:
    """The places whose words tell the kind, with how much they count: large letters, first lines, cover, subject."""
    top_size = max((line.size for line in head), default=0.0)
    page_words = sum(len(line.text.split()) for line in head)
    # Prose speaks of all kinds: what stands behind the first heading of a text, and long lines, do not count.
    opening = head[: min(20, _count_opening(head))]
    short = [line for line in opening if len(line.text.split()) <= 10 or page_words < 150]
    early = fold("\n".join(line.text for line in short[:14]))
    loud = [line.text for line in head if line.size >= 0.85 * top_size and len(line.text.split()) <= 14]
    cover = early
    if page_words < 150:
        end = layout.opening + 3
        pages = [line.text for line in layout.lines if line.page < end]
        cover = fold("\n".join(text for text in pages if len(text.split()) <= 12))
    subject = fold(f"{layout.metadata.get('title', '')}\n{layout.metadata.get('subject', '')}")
    return (fold("\n".join(loud)[:600]), 1.2), (early, 1.0), (cover[:1800], 0.7), (subject, 0.5)


def _count_opening(head: list[Line]) -> int:
    """How many lines of a first page stand before its text: before an abstract, or a first section."""
    for at, line in enumerate(head):
        folded = fold(line.text.strip())
        if at > 1 and (ABSTRACT.match(folded) or KEYWORDS.match(folded) or SECTION.match(folded)):
            return at
    return len(head)


class _Form(NamedTuple):
    """What a document looks like, whatever its words say."""

    pages: int
    landscape: bool
    words_a_page: float
    area: float
    creator: str  # the programs that made it
    page_words: int  # on its first page
    has_abstract: bool
    has_keywords: bool
    has_references: bool
    journal: int  # different words that journals and conferences print
    questions: int
    points: int
    chapters: int
    has_blanks: bool  # to be filled in
    has_contents: bool  # on the first page
    life: int  # different headings of a life


def _form_of(layout: Layout, head: list[Line]) -> _Form:
    folded = [fold(line.text.strip()) for line in layout.lines]
    text = fold(layout.text[:60_000])
    end = layout.opening + 2
    pages = max(1, layout.page_count)
    return _Form(
        pages=pages,
        landscape=layout.page_width > 1.15 * layout.page_height > 0,
        words_a_page=len(layout.text.split()) / max(1, layout.text.count("\f") + 1),
        area=layout.page_width * layout.page_height,
        creator=fold(layout.metadata.get("creator", "") + " " + layout.metadata.get("producer", "")),
        page_words=sum(len(line.text.split()) for line in head),
        has_abstract=any(ABSTRACT.match(line) for line in folded[:120]),
        has_keywords=any(KEYWORDS.match(line) for line in folded[:160]),
        has_references=any(REFERENCES.match(line) for line in folded) or bool(_BIBLIOGRAPHY.search(text)),
        journal=len(set(_JOURNAL.findall(fold("\n".join(line.text for line in layout.lines if line.page < end))))),
        questions=len(_QUESTION.findall(text)),
        points=len(_POINTS.findall(text)),
        chapters=len(_CHAPTERS.findall(text)) if pages > 25 else 0,
        has_blanks="________" in text or text.count(".....") > 8 and pages < 4,
        has_contents=any(_CONTENTS.match(fold(line.text.strip())) for line in head),
        life=len({line.strip(" :") for line in text.split("\n") if LIFE.match(line.strip())}),
    )


def _score_form(layout: Layout, head: list[Line], *, scores: dict[str, float], reasons: dict[str, str]) -> None:
    form = _form_of(layout, head)
    for weigh in (_weigh_shape, _weigh_article, _weigh_tasks, _weigh_life, _weigh_length):
        for kind, weight, reason in weigh(form, scores):
            scores[kind] += weight
            if reason:
                reasons.setdefault(kind, reason)


_IN_TITLE = 4.5  # the score of a kind that the largest letters name
#: Of each kind, what is added to its score, and the reason that is given.
_Weights = Iterator[tuple[DocumentKind, float, str]]


def _weigh_shape(form: _Form, scores: Mapping[str, float]) -> _Weights:
    """Slides and posters, by their sheets and the programs that made them."""
    if form.landscape and form.pages > 2 and form.words_a_page < 230:
        yield "slides", 6.0, "landscape pages with few words"
    elif form.landscape and form.pages <= 2:
        yield "poster", 1.5, ""
    if any(program in form.creator for program in ("beamer", "powerpoint", "impress")):
        yield "slides", 3.0, "made by a program for slides"
    if form.area > 1_400_000 and form.pages <= 2:
        yield "poster", 6.0, "one large sheet"


def _weigh_article(form: _Form, scores: Mapping[str, float]) -> _Weights:
    """Articles, by the parts that they have; a cover before many pages speaks for a thesis."""
    if form.page_words > 150:
        parts = 2.0 * form.has_abstract + 1.5 * form.has_keywords + 1.3 * form.has_references
        length = 0.5 if 3 <= form.pages <= 45 else -1.0
        reason = "abstract, references" if form.has_abstract else "form of the pages"
        yield "article", parts + min(3.0, 1.0 * form.journal) + length, reason
    elif form.pages > 40:
        yield "thesis", 1.0, ""
        yield "notes", 0.5, ""
    elif 3 < form.pages <= 45 and not form.landscape:
        parts = 0.7 * (form.has_abstract + form.has_keywords + form.has_references)
        yield "article", parts + min(1.5, 0.5 * form.journal), ""


def _weigh_tasks(form: _Form, scores: Mapping[str, float]) -> _Weights:
    """Exams and sheets of exercises, by their questions and what each is worth."""
    if form.questions < (1 if scores["exercises"] > _IN_TITLE else 2) and form.pages > 8:
        yield "exercises", -0.8 * scores["exercises"], ""
    if form.points >= 2:
        yield "exam", min(3.0, 0.8 * form.points), "points for each question"
    if form.questions >= 3 and form.pages < 40:
        yield "exercises", min(3.0, 0.5 * form.questions), "numbered tasks"
        if scores["exam"] > 0:
            yield "exam", 1.0, ""


def _weigh_life(form: _Form, scores: Mapping[str, float]) -> _Weights:
    """The life of somebody, by its headings; a short text with its contents on the first page is no article."""
    if form.life > 2 and form.pages < 30:
        yield "cv", 1.5 * min(5, form.life), "headings of a life"
    if form.has_contents and not form.has_abstract and 3 < form.pages < 45:
        yield "notes", 2.5, "contents on the first page"


def _weigh_length(form: _Form, scores: Mapping[str, float]) -> _Weights:
    """What is too long for a kind, or too short, and what has room to write in."""
    if form.pages > 25:
        yield "exam", -2.0, ""
        yield "notes", 0.5 * min(3, form.chapters), ""
    if form.pages > 6:
        excess: tuple[DocumentKind, ...] = ("cv", "form", "poster")
        yield from ((kind, -0.3 * (form.pages - 6), "") for kind in excess)
    if form.pages < 8:
        yield "thesis", -2.5, ""
    if form.has_blanks:
        yield "form", 1.0, ""
