"""Abstract and keywords: those that the document prints under their headings first, statistical ones second."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from lycosa.missions.documents.front_page.language import identify_language
from lycosa.missions.documents.front_page.vocabulary import (
    ABSTRACT,
    KEYWORDS,
    OTHER_TERMS,
    REFERENCES,
    SECTION,
    STOP_WORDS,
)
from lycosa.missions.documents.model import Evidence, Finding
from lycosa.missions.documents.reading.layout import Line
from lycosa.missions.documents.reading.letters import join_lines, plain
from lycosa.text.fold import fold, fold_in_place

ABSTRACT_LINES_MAX = 70
ABSTRACT_CHARS_MAX = 5000
KEYWORDS_MAX = 15
_NUMBERED = re.compile(r"^(?:\d{1,2}|[ivx]{1,4})\.?\s{1,3}[a-z]")


def _ends(folded: str) -> bool:
    return bool(
        KEYWORDS.match(folded)
        or OTHER_TERMS.match(folded)
        or SECTION.match(folded)
        or REFERENCES.match(folded)
        or ABSTRACT.match(folded)
        or len(folded) < 60
        and _NUMBERED.match(folded)
        or re.match(r"^(?:permission to make|copyright|©|received|recibido|doi:)", folded)
    )


def find_abstract(lines: list[Line], *, language: str, chances: dict[int, dict[str, float]]) -> Finding | None:
    """The abstract in the document's language where there are several; without a heading, what the line model says."""
    found: list[tuple[float, str, Line]] = []
    for nth, line in enumerate(lines):
        rest = _behind_heading(line)
        if rest is None:
            continue
        abstract = join_lines(_abstract_below(line, rest, lines[nth + 1 : nth + 1 + ABSTRACT_LINES_MAX]))
        abstract = abstract[:ABSTRACT_CHARS_MAX]
        if len(abstract) > 80:
            own, _ = identify_language(abstract)
            found.append((0.9 if own == language else 0.6, abstract, line))
    if found:
        confidence, abstract, line = max(found, key=lambda one: one[0])
        return _finding(abstract, confidence, line, "heading of the abstract")
    run = [line for line in lines if chances.get(id(line), {}).get("abstract", 0.0) > 0.7]
    if 3 <= len(run) <= ABSTRACT_LINES_MAX:
        abstract = join_lines([plain(line.text) for line in run])[:ABSTRACT_CHARS_MAX]
        if len(abstract) > 150:
            return _finding(abstract, 0.5, run[0], "line model")
    return None


def _behind_heading(line: Line) -> str | None:
    """What stands on the line of an abstract's heading behind it; None where it is none: "Summary of results"."""
    text = plain(line.text).strip()
    heading = ABSTRACT.match(fold_in_place(text))
    if not heading:
        return None
    rest = text[heading.end() :]
    is_heading = not rest or re.search(r"[:.—–\-(]\s*$", heading[0]) or text.isupper() or rest[:1].isupper()
    return rest if is_heading else None


def _abstract_below(heading: Line, rest: str, lines: list[Line]) -> list[str]:
    """The words of an abstract: up to the next heading, the end of its column, or that of its page."""
    body = [rest] if rest else []
    for line in lines:
        if _ends(fold(plain(line.text).strip())) or (line.page != heading.page and len(body) > 8):
            break
        beside = line.page == heading.page and line.column != heading.column
        if beside and body and heading.size and line.size:
            break
        body.append(plain(line.text))
    return body


def _finding(value: str, confidence: float, line: Line, rule: str) -> Finding:
    evidence = Evidence(source="text", rule=rule, page=line.page, box=line.box, quote=value[:120])
    return Finding(value=value, confidence=confidence, evidence=(evidence,))


def find_keywords(lines: list[Line], *, language: str, text: str, embedded: str) -> tuple[Finding, ...]:
    """Keywords: printed ones in the document's language, else those embedded, else the commonest words of the text."""
    printed = _printed(lines, language=language)
    if printed:
        return printed
    if embedded:
        words = [word.strip() for word in re.split(r"[,;]", embedded) if 2 < len(word.strip()) < 60]
        evidence = (Evidence(source="metadata", rule="embedded keywords"),)
        if words:
            return tuple(Finding(value=word, confidence=0.7, evidence=evidence) for word in words[:KEYWORDS_MAX])
    evidence = (Evidence(source="text", rule="commonest words"),)
    return tuple(Finding(value=word, confidence=0.3, evidence=evidence) for word in common_words(text))


def _printed(lines: list[Line], *, language: str) -> tuple[Finding, ...]:
    best: tuple[int, list[str], Line] | None = None
    for nth, line in enumerate(lines):
        text = plain(line.text).strip()
        heading = KEYWORDS.match(fold_in_place(text))
        if not heading:
            continue
        rest = text[heading.end() :].strip()
        if rest and not re.search(r"[:.—–-]\s*$", heading[0]) and not rest[:1].isupper() and "," not in rest:
            continue
        words = split_keywords(join_lines(_keywords_below(line, rest, lines[nth + 1 : nth + 6])))
        score = 2 * _speaks(fold(heading[0]), language) + (len(words) > 1)
        if words and (best is None or score > best[0]):
            best = (score, words, line)
    if best is None:
        return ()
    _, words, line = best
    evidence = Evidence(
        source="text", rule="heading of the keywords", page=line.page, box=line.box, quote=plain(line.text)[:200]
    )
    return tuple(Finding(value=word, confidence=0.92, evidence=(evidence,)) for word in words)


def _keywords_below(heading: Line, rest: str, lines: list[Line]) -> list[str]:
    """The lines of a list of keywords: up to a full stop, a heading, or the end of the block."""
    body = [rest] if rest else []
    for line in lines:
        apart = line.block != heading.block or line.page != heading.page
        if _ends(fold(plain(line.text).strip())) or body and (body[-1].endswith(".") or apart):
            break
        body.append(plain(line.text))
    return body


def _speaks(heading: str, language: str) -> bool:
    spoken = (
        "es"
        if heading.startswith(("palabra", "descriptores", "termino"))
        else "pt"
        if "palavra" in heading or heading.startswith("descritores")
        else "en"
    )
    return spoken == language


def split_keywords(text: str) -> list[str]:
    """A printed list of keywords taken apart."""
    text = re.sub(r"\s+", " ", text).strip(" .:")
    parts = re.split(r"\s*[;•·|]\s*|\s[–—-]\s", text)
    if len(parts) < 2:
        parts = re.split(r"\s*,\s*", text)
    if len(parts) < 2:
        parts = re.split(r"\.\s+", text)
    words = [re.sub(r"^(?:and|y|e)\s+", "", part.strip(" .,:")) for part in parts]
    return [word for word in words if 1 < len(word) < 70][:KEYWORDS_MAX]


def common_words(text: str, count: int = 6) -> list[str]:
    """The pairs and words that a text uses most; those of a pair are not told again."""
    words = re.findall(r"[^\W\d_]{3,}|[.;:()]", text[:60_000].lower())
    telling = [word if len(word) > 3 and fold(word) not in STOP_WORDS else "" for word in words]
    single = Counter(word for word in telling if len(word) > 4)
    pairs = Counter(f"{one} {two}" for one, two in pairwise(telling) if one and two)
    chosen: list[str] = [pair for pair, times in pairs.most_common(count // 2) if times >= 4]
    used = " ".join(chosen).split()
    chosen += [word for word, times in single.most_common(3 * count) if times >= 4 and word not in used]
    return chosen[:count]
