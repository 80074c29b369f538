"""Titles: runs of lines in one letter, weighed by size, place, words, the line model and the embedded title."""

from __future__ import annotations

import math
import re
from collections import Counter

from msgspec import Struct
from rapidfuzz import fuzz

from lycosa.missions.documents.front_page.names import name_score, split_names
from lycosa.missions.documents.front_page.roles import role_of
from lycosa.missions.documents.front_page.vocabulary import ABSTRACT, DEGREE, INSTITUTION, KEYWORDS, REFERENCES, SECTION
from lycosa.missions.documents.reading.layout import Layout, Line
from lycosa.missions.documents.reading.letters import fold, join_lines, plain

_FURNITURE = re.compile(
    r"https?:|www\.|@|\bissn\b|\bisbn\b|\bdoi\b|\bvol\.? ?\d|\bpp?\. ?\d|\b(?:19|20)\d\d\)?$|©|arxiv:|copyright|"
    r"^page \d|^pag\.? \d|licen[cs]e|"
    r"^(?:revista|journal|proceedings|actas|transactions|annals|anales|boletin|bulletin|cuadernos|letters in|"
    r"advances in|international journal)\b"
)
_LABELLED = re.compile(r"^(?:t[ií]tulo|title)(?: (?:del?|of|da|do|the) ?(?:la )?\w+){0,2}\s?:\s*(\S.{7,})$", re.I)
_COLLECTED = re.compile(
    r"^\W*(?:coordinador[ae]?s?|coord(?:s|\.)|editor[ae]?s?|eds?\.|compilador[ae]?s?|comps?\.|organizador[ae]?s?|"
    r"orgs?\.)\W*$"
)
_FILE_TITLE = re.compile(
    r"microsoft word|\.(?:docx?|tex|dvi|pdf|pptx?|indd|qxd|odt|rtf|p65)\b|untitled|sin titulo|"
    r"presentacion de powerpoint|powerpoint presentation|^diapositiva|^slide 1|^documento?\d*$|latex|^title$|"
    r"^\W*$|^template",
    re.I,
)


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


def find_titles(layout: Layout, *, weights: dict[int, float]) -> list[TitleCandidate]:
    """Candidates, best first. `weights`: by a line's id, how probable it is of a title by the line model."""
    opening = layout.opening
    lines = [line for line in layout.lines if line.page < opening + 3 and line.size]
    body = body_size(layout.lines)
    found: list[TitleCandidate] = []
    largest = {
        page: max((line.size for line in lines if line.page == page), default=0.0)
        for page in range(opening, opening + 3)
    }
    cover = sum(len(line.text.split()) for line in lines if line.page == opening) < 150
    collected = any(_COLLECTED.search(fold(line.text)) for line in lines if line.page == opening) and cover
    known = layout.text[:20_000].lower()
    embedded = embedded_title(layout)
    for group in _groups(lines):
        if sum(len(line.text) for line in group) > 450:
            continue  # running text
        text = tidy_title(join_lines([line.text for line in group], known=known))
        score = _score(group, text, body=body, largest=largest[group[0].page], height=layout.page_height)
        page = group[0].page
        labelled = _LABELLED.match(text)
        if labelled:
            text = labelled[1]
            score += 4.0
        score -= (1.2 if cover else 2.2) * (page - opening)
        if collected and page > opening and group[0].size > 1.2 * body:
            score += 4.5  # a chapter after the cover of its book
        if weights:
            score += (
                3.0 * (sum(weights.get(id(line), 0.0) for line in group) / len(group) - 0.4)
                if page == opening and not cover
                else 0.0
            )
        rule = (
            "label: title"
            if labelled
            else "largest letters"
            if group[0].size >= 0.97 * largest[page]
            else "letters and place"
        )
        if embedded:
            likeness = fuzz.ratio(fold(embedded), fold(text))
            if likeness > 85:
                score += 3.0
                rule += ", embedded title"
        found.append(TitleCandidate(text, group, score, rule))
    if embedded and not any("embedded" in one.rule for one in found):
        found += _embedded_in_text(embedded, lines)
    found.sort(key=lambda one: -one.score)
    if found:
        _prefer_first(found)
        _extend(found, cover=cover)
    return found[:6]


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
        if not other.lines or other.lines[0].page != best.lines[0].page or other.score < 1.0:
            continue
        last, first = best.lines[-1], other.lines[0]
        if last.box is None or first.box is None or last.bold != first.bold:
            continue
        gap = first.box.top - last.box.top
        alike = abs(last.size - first.size) <= 0.06 * last.size and first.column == last.column
        if (
            0 < gap < 3.6 * last.size
            and (alike and cover or best.text.endswith(":"))
            and len(best.text) + len(other.text) < 250
        ):
            best.text = tidy_title(f"{best.text} {other.text}")
            best.lines = best.lines + other.lines
            found.remove(other)


def _embedded_in_text(embedded: str, lines: list[Line]) -> list[TitleCandidate]:
    """The embedded title as a candidate where the first pages print it."""
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
    groups: list[list[Line]] = []
    for line in lines:
        if groups:
            last = groups[-1][-1]
            size = max(last.size, line.size, 1.0)
            near = last.box is None or line.box is None or -0.3 * size < line.box.top - last.box.top < 2.3 * size
            beside = last.box is None or line.box is None or line.box.top - last.box.top < 0.5 * size
            same = abs(last.size - line.size) <= 0.06 * size and (last.bold == line.bold or size > 13)
            apart = (
                beside and line.column != last.column or name_score(line.text) > 0.85 or name_score(last.text) > 0.85
            )
            if last.page == line.page and near and same and not apart:
                groups[-1].append(line)
                continue
        groups.append([line])
    return groups


def _score(group: list[Line], text: str, *, body: float, largest: float, height: float) -> float:
    folded = fold(text)
    words = text.split()
    first = group[0]
    score = 2.2 * math.log(max(first.size, 1.0) / max(body, 1.0)) * 2 if body else 0.0
    score = min(score, 4.0)
    score += 1.5 if first.size >= 0.97 * largest else -1.0 * (1 - first.size / max(largest, 1.0))
    score += 0.7 if first.bold else 0.0
    if first.box is not None and height:
        score += 1.0 if first.box.top < 0.5 * height else -1.0 if first.box.top > 0.75 * height else 0.0
    letters = sum(letter.isalpha() for letter in text)
    if len(words) > 45 or letters < 4:
        score -= 4.0
    elif len(words) > 28:
        score -= 1.0
    elif len(words) < 3:
        score -= 1.2
    elif len(words) < 4:
        score -= 0.3
    if letters < 0.6 * len(text.replace(" ", "")):
        score -= 2.0
    if ABSTRACT.match(folded) or SECTION.match(folded) or REFERENCES.match(folded) or KEYWORDS.match(folded):
        score -= 5.0
    if DEGREE.match(folded):
        score -= 3.5
    if _FURNITURE.search(folded):
        score -= 2.5
    institution = INSTITUTION.search(folded)
    if institution and institution.start() < 4 and len(words) < 14:
        score -= 5.0
    if role_of(text)[0] is not None:
        score -= 3.0
    names = split_names(text) if score > 0 else []
    if names and sum(len(name.split()) for name, _ in names) >= 0.7 * len(words) and len(words) < 40:
        score -= 1.0 + 2.5 * max(name_score(name) for name, _ in names)
    if text[:1].islower() and len(group) == 1:
        score -= 0.8
    if re.match(r"^(?:[-–•▪*]|\(?\d+[.)]\s|[a-z]\))", folded):
        score -= 1.2
    if text.endswith((".", ";")) and len(words) > 14:
        score -= 0.8
    return score


def tidy_title(text: str) -> str:
    """A title without footnote marks at its end and without spaces that printing added."""
    text = re.sub(r"\u2060\s?[^\s\u2060]{1,3}(?=\s|$)", "", text)
    text = plain(text).strip(" *†‡∗⋆§¶|")
    text = re.sub(r"\s*\((?:versi[oó]n|vers[aã]o|version|draft|borrador|v\.)[^()]*\)$", "", text, flags=re.I)
    return re.sub(r"\s+", " ", text)
