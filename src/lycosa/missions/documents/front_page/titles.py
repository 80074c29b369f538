"""Titles: runs of lines in one letter, weighed by size, place, words, the line model and the embedded title."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import NamedTuple

from msgspec import Struct

from lycosa.missions.documents.front_page.names import name_score, role_of, split_names
from lycosa.missions.documents.front_page.vocabulary import (
    ABSTRACT,
    DEGREE,
    INSTITUTION,
    KEYWORDS,
    REFERENCES,
    SECTION,
    table_pattern,
)
from lycosa.missions.documents.reading.layout import Layout, Line, join_lines, plain
from lycosa.missions.documents.text_similarity import fuzz
from lycosa.text.fold import fold

_FURNITURE = table_pattern("furniture")
#: How a journal numbers an article.
_VOLUME = re.compile(
    r"\bvol(?:ume|\.)? ?\d|\bdoi\b|\bissn\b|\b\w{1,10},? \d+, \w?\d+(?:[-–]\d+)? \((?:19|20)\d\d\)|"
    r"\(\d+\),? ?\d+[-–]\d+"
)
_LABELLED = re.compile(r"^(?:t[ií]tulo|title)(?: (?:del?|of|da|do|the) ?(?:la )?\w+){0,2}\s?:\s*(\S.{7,})$", re.I)
_COLLECTED = table_pattern("collected")
_FILE_TITLE = table_pattern("file_title", re.I)


_ITEM = re.compile(r"^(?:[-–•▪*]|\(?\d+[.)]\s|[a-z]\))")
#: What the length of a title in words takes from its score: more than so many words.
_LENGTHS = ((45, -4.0), (28, -1.0), (3, 0.0), (2, -0.3))


_RUN_CHARS_MAX = 450  # what is longer is running text


class TitleCandidate(Struct):
    """Lines that may be the title."""

    text: str
    lines: list[Line]
    score: float
    rule: str


def embedded_title(layout: Layout) -> str:
    """The embedded title, where it is one and not the name of a file."""
    title = plain(layout.metadata.get("title", "")).strip()
    title = re.sub(r"^(?:microsoft (?:word|powerpoint) - )", "", title, flags=re.I)
    if len(title) < 8 or " " not in title or _FILE_TITLE.search(fold(title)) or len(title) > 400:
        return ""
    return title


def body_size(lines: list[Line]) -> float:
    """The size of most letters."""
    sizes: Counter[float] = Counter()
    for line in lines:
        if line.size:
            sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


class _Page(NamedTuple):
    """What a candidate is compared with."""

    number: int  # counted from that on which the document begins
    body: float  # the size of most letters of the document
    largest: float  # of the page's letters
    height: float
    after_cover: bool  # the document begins with a cover
    of_book: bool  # the cover names editors: it is of a book of which the document may be a chapter


def find_titles(layout: Layout, *, weights: dict[int, float]) -> list[TitleCandidate]:
    """Candidates, best first. `weights`: by a line's id, how probable it is of a title by the line model."""
    lines = [line for line in layout.lines if line.page < layout.opening + 3 and line.size]
    pages = _pages(layout, lines)
    known = layout.text[:20_000].lower()
    embedded = embedded_title(layout)
    found: list[TitleCandidate] = []
    groups = _groups(lines)
    for nth, group in enumerate(groups):
        page = pages[group[0].page]
        text = tidy_title(join_lines([line.text for line in group], known=known))
        found.append(_candidate(group, text, page, embedded=embedded))
        found[-1].score += _score_page(group, page, weights=weights)
        found[-1].score -= 3.0 if _is_masthead(text, group, groups[max(0, nth - 4) : nth + 4]) else 0.0
    found += _embedded_in_text(embedded, lines, known=found)
    found.sort(key=lambda one: -one.score)
    if found:
        _prefer_first(found)
        _extend(found, cover=any(page.after_cover for page in pages.values()))
    return found[:6]


def _is_masthead(text: str, group: list[Line], others: list[list[Line]]) -> bool:
    """Whether a word or three are the name of a journal: its volume or its numbers stand just below, or beside."""
    if len(text.split()) > 3 or group[0].box is None or group[-1].box is None:
        return False
    top, foot = group[0].box.top, group[-1].box.bottom
    for line in (line for other in others if other is not group for line in other):
        below = line.box is not None and top - (20 if line.column != group[0].column else 0) < line.box.top < foot + 30
        if below and line.page == group[0].page and _VOLUME.search(fold(line.text)):
            return True
    return False


def _pages(layout: Layout, lines: list[Line]) -> dict[int, _Page]:
    """What the lines of each page are compared with."""
    body = body_size(layout.lines)
    first = [line for line in lines if line.page == layout.opening]
    cover = sum(len(line.text.split()) for line in first) < 150
    collected = cover and any(_COLLECTED.search(fold(line.text)) for line in first)
    largest: dict[int, float] = {}
    for line in lines:
        largest[line.page] = max(largest.get(line.page, 0.0), line.size)
    return {
        page: _Page(page - layout.opening, body, size, layout.page_height, cover, collected)
        for page, size in largest.items()
    }


def _score_page(group: list[Line], page: _Page, *, weights: dict[int, float]) -> float:
    """What speaks for a run of lines by the page that it stands on, and by the line model."""
    if page.number:
        is_chapter = page.of_book and group[0].size > 1.2 * page.body  # after the cover of its book
        return (4.5 if is_chapter else 0.0) - (1.2 if page.after_cover else 2.2) * page.number
    if page.after_cover or not weights:
        return 0.0
    return 3.0 * (sum(weights.get(id(line), 0.0) for line in group) / len(group) - 0.4)


def _candidate(group: list[Line], text: str, page: _Page, *, embedded: str) -> TitleCandidate:
    """A run of lines as a title, weighed by itself, by its label and by the embedded title."""
    score = _score(group, text, page)
    rule = "largest letters" if group[0].size >= 0.97 * page.largest else "letters and place"
    labelled = _LABELLED.match(text)
    if labelled:
        text, score, rule = labelled[1], score + 4.0, "label: title"
    if embedded and fuzz.ratio(fold(embedded), fold(text)) > 85:
        score, rule = score + 3.0, f"{rule}, embedded title"
    return TitleCandidate(text, group, score, rule)


def _prefer_first(found: list[TitleCandidate]) -> None:
    """Of two titles in the same letter, one a translation of the other, the first printed comes first."""
    best = found[0]
    for nth, other in enumerate(found[1:4], 1):
        if not best.lines or not other.lines or "embedded" in best.rule or best.score - other.score > 1.2:
            continue
        one, two = best.lines[0], other.lines[0]
        alike = one.page == two.page and abs(one.size - two.size) < 0.3 and one.bold == two.bold
        if not alike or one.column != two.column or one.box is None or two.box is None:
            continue
        if 0 < one.box.top - two.box.top < 6 * one.size:
            found.insert(0, found.pop(nth))
            return


def _extend(found: list[TitleCandidate], *, cover: bool) -> None:
    """Joins the best candidate with runs in the same letter just below it: covers set title and subtitle apart."""
    best = found[0]
    if not best.lines or "embedded" in best.rule:
        return
    for other in sorted(found[1:], key=lambda one: one.lines[0].box.top if one.lines and one.lines[0].box else 0.0):
        if other.score >= 1.0 and _goes_on(best, other, cover=cover):
            best.text = tidy_title(f"{best.text} {other.text}")
            best.lines = best.lines + other.lines
            found.remove(other)


def _goes_on(best: TitleCandidate, other: TitleCandidate, *, cover: bool) -> bool:
    """Whether a run of lines is more of the title above it."""
    if not other.lines or other.lines[0].page != best.lines[0].page:
        return False
    last, first = best.lines[-1], other.lines[0]
    if last.box is None or first.box is None or last.bold != first.bold or len(best.text) + len(other.text) >= 250:
        return False
    alike = abs(last.size - first.size) <= 0.06 * last.size and first.column == last.column
    near = 0 < first.box.top - last.box.top < 3.6 * last.size
    return near and (alike and cover or best.text.endswith(":"))


def _embedded_in_text(embedded: str, lines: list[Line], *, known: list[TitleCandidate]) -> list[TitleCandidate]:
    """The embedded title as a candidate where the first pages print it, unless one of the candidates is it."""
    if not embedded or any("embedded" in one.rule for one in known):
        return []
    letters = re.sub(r"[^a-z0-9]+", "", fold(embedded))
    text = ""
    starts: list[int] = []
    for line in lines:
        starts.append(len(text))
        text += re.sub(r"[^a-z0-9]+", "", fold(plain(line.text)))
    at = text.find(letters)
    if len(letters) < 10 or at < 0:
        return [TitleCandidate(embedded, [], -1.0, "embedded title")]
    group = [line for line, start in zip(lines, starts, strict=True) if at - 1 <= start < at + len(letters)]
    return [TitleCandidate(embedded, group, 2.5, "embedded title, printed")]


def _groups(lines: list[Line]) -> list[list[Line]]:
    """Runs of lines in one letter that stand close below each other; running text is none."""
    groups: list[list[Line]] = []
    for line in lines:
        if groups and _is_in_run(line, groups[-1][-1]):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [group for group in groups if sum(len(line.text) for line in group) <= _RUN_CHARS_MAX]


def _is_in_run(line: Line, last: Line) -> bool:
    size = max(last.size, line.size, 1.0)
    same = abs(last.size - line.size) <= 0.06 * size and (last.bold == line.bold or size > 13)
    if not same or last.page != line.page:
        return False
    if last.box is not None and line.box is not None:
        step = line.box.top - last.box.top
        if not -0.3 * size < step < 2.3 * size or step < 0.5 * size and line.column != last.column:
            return False
    elif line.column != last.column:
        return False
    return name_score(line.text) <= 0.85 and name_score(last.text) <= 0.85


def _score(group: list[Line], text: str, page: _Page) -> float:
    """How much a run of lines looks like a title: its letters and place, its length, and its words."""
    score = _score_letters(group[0], page) + _score_length(text)
    folded = fold(text)
    words = text.split()
    institution = INSTITUTION.search(folded)
    label = role_of(text)[0]
    for weight, holds in (
        (-5.0, any(pattern.match(folded) for pattern in (ABSTRACT, SECTION, REFERENCES, KEYWORDS))),
        (-3.5, DEGREE.match(folded)),
        (-2.5, _FURNITURE.search(folded)),
        (-5.0, institution and institution.start() < 4 and len(words) < 14),
        (-3.0, label is not None),
    ):
        score += weight if holds else 0.0
    score -= _likeness_to_names(text, words) if score > 0 else 0.0
    for weight, holds in (
        (-0.8, text[:1].islower() and len(group) == 1),
        (-1.2, _ITEM.match(folded)),
        (-0.8, text.endswith((".", ";")) and len(words) > 14),
    ):
        score += weight if holds else 0.0
    return score


def _score_letters(first: Line, page: _Page) -> float:
    score = min(4.0, 2.2 * math.log(max(first.size, 1.0) / max(page.body, 1.0)) * 2) if page.body else 0.0
    score += 1.5 if first.size >= 0.97 * page.largest else -1.0 * (1 - first.size / max(page.largest, 1.0))
    score += 0.7 if first.bold else 0.0
    if first.box is not None and page.height:
        score += 1.0 if first.box.top < 0.5 * page.height else -1.0 if first.box.top > 0.75 * page.height else 0.0
    return score


def _score_length(text: str) -> float:
    count = len(text.split())
    letters = sum(letter.isalpha() for letter in text)
    if letters < 4:
        score = -4.0
    else:
        score = next((weight for words, weight in _LENGTHS if count > words), -1.2)
    return score - 2.0 if letters < 0.6 * len(text.replace(" ", "")) else score


def _likeness_to_names(text: str, words: list[str]) -> float:
    """How much is taken from a title that is a list of names."""
    names = split_names(text)
    if names and sum(len(name.split()) for name, _ in names) >= 0.7 * len(words) and len(words) < 40:
        return 1.0 + 2.5 * max(name_score(name) for name, _ in names)
    return 0.0


def tidy_title(text: str) -> str:
    """A title without footnote marks at its end and without spaces that printing added."""
    text = re.sub(r"\u2060\s?[^\s\u2060]{1,3}(?=\s|$)", "", text)
    text = plain(text).strip(" *†‡∗⋆§¶|")
    text = re.sub(r"\s*\((?:versi[oó]n|vers[aã]o|version|draft|borrador|v\.)[^()]*\)$", "", text, flags=re.I)
    return re.sub(r"\s+", " ", text)
