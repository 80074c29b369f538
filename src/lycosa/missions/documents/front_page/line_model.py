"""The line model: a conditional random field that says what each line of a first page is.

It was trained by `tools/train_header_model.py`; the features here are the same there.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from lycosa.missions.documents.front_page.names import split_names
from lycosa.missions.documents.front_page.vocabulary import (
    ABSTRACT,
    ADDRESS,
    DEGREE,
    INSTITUTION,
    KEYWORDS,
    REFERENCES,
    SECTION,
)
from lycosa.missions.documents.reading.layout import Line
from lycosa.missions.documents.reading.letters import RAISED, fold, plain

MODEL_FILE = Path(__file__).with_name("lines.crfsuite")
#: Lines of a first page that the model looks at: a header seldom has more.
LINES_MAX = 90
LABELS = ("title", "author", "affiliation", "email", "abstract", "keyword", "date", "note", "body")

_DATE = re.compile(
    r"\b(?:(?:19|20)\d\d|january|february|march|april|june|july|august|september|october|november|december|enero|"
    r"febrero|"
    r"marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|janeiro|fevereiro|maio|junho|julho|"
    r"setembro|outubro|novembro|dezembro)\b"
)
_SERIAL = re.compile(r"\b(?:doi|issn|isbn|vol|volume|no|pp|pages?|arxiv|journal|revista|proceedings|issue|numero)\b")
_NOTICE = re.compile(
    r"\b(?:copyright|rights reserved|license|licencia|licenca|permission|received|accepted|recibido|aceptado|recebido|"
    r"published|supported|grant|funded|correspond\w+|citation|cite|available|open access|creative commons)\b|©"
)
_CONTACT = re.compile(r"@|https?:|www\.|\bemail\b|e-mail|\bcorreo\b")
_WORD = re.compile(r"[^\W\d_]+")


def _bin(value: float, edges: tuple[float, ...]) -> int:
    return sum(value >= edge for edge in edges)


def _shape(letter: str) -> str:
    return "l" if letter.islower() else "U" if letter.isupper() else "0" if letter.isdigit() else letter


def _own(line: Line) -> tuple[list[str], list[str]]:
    """The features of a line's own words, and those that its neighbours look at."""
    text = plain(line.text)
    folded = fold(text).strip()
    words = text.split()
    letters = _WORD.findall(text)
    names = split_names(line.text) if len(words) < 40 else []
    in_names = sum(len(name.split()) for name, _ in names) / max(1, len(letters))
    capitals = sum(word[0].isupper() for word in letters) / max(1, len(letters))
    digits = sum(letter.isdigit() for letter in text) / max(1, len(text))
    seen = [f"names={_bin(in_names, (0.01, 0.4, 0.75))}"]
    for name, pattern in (
        ("inst", INSTITUTION),
        ("place", ADDRESS),
        ("contact", _CONTACT),
        ("date", _DATE),
        ("serial", _SERIAL),
        ("notice", _NOTICE),
    ):
        if pattern.search(folded):
            seen.append(name)
    for name, pattern in (
        ("abstract", ABSTRACT),
        ("keywords", KEYWORDS),
        ("section", SECTION),
        ("references", REFERENCES),
        ("degree", DEGREE),
    ):
        if pattern.match(folded):
            seen.append(name)
    seen.append(f"words={_bin(len(words), (2, 3, 5, 8, 12, 18))}")
    own = [
        f"capitals={_bin(capitals, (0.2, 0.4, 0.6, 0.8, 0.99))}",
        f"digits={_bin(digits, (0.01, 0.1, 0.3))}",
        f"commas={min(4, text.count(','))}",
        f"end={text[-1:] if not text[-1:].isalnum() else 'a'}",
        f"start={_shape(text[:1])}",
    ]
    if text.isupper():
        own.append("upper")
    if RAISED in line.text[1:]:
        own.append("raised")
    if line.text.startswith(RAISED):
        own.append("raised first")
    lower = [fold(word) for word in letters]
    own += [f"w{nth}={word}" for nth, word in enumerate(lower[:2])]
    own += [f"last={word}" for word in lower[-1:]]
    own += [f"w={word}" for word in set(lower[:12]) if len(word) > 2]
    return own, seen


def features(lines: list[Line]) -> list[list[str]]:
    """The features of each line, its neighbours' among them."""
    own = [_own(line) for line in lines]
    rows: list[list[str]] = []
    for nth, line in enumerate(lines):
        words, seen = own[nth]
        row = [*words, *seen, f"place={_bin(nth, (1, 2, 3, 5, 8, 12, 20, 35))}"]
        if line.bold:
            row.append("bold")
        if line.italic:
            row.append("italic")
        for shift in (-2, -1, 1, 2):
            if 0 <= nth + shift < len(lines):
                row += [f"{shift}:{feature}" for feature in own[nth + shift][1]]
                if abs(shift) == 1:
                    other = lines[nth + shift]
                    ratio = line.size / other.size if line.size and other.size else 1.0
                    row.append(f"{shift}:size={'up' if ratio > 1.05 else 'down' if ratio < 0.95 else 'same'}")
                    if line.bold != other.bold:
                        row.append(f"{shift}:weight")
                    if line.block != other.block:
                        row.append(f"{shift}:block")
            else:
                row.append(f"{shift}:none")
        rows.append(row)
    return rows


@cache
def _tagger() -> Any:
    import pycrfsuite

    if not MODEL_FILE.is_file():
        return None
    tagger = pycrfsuite.Tagger()
    tagger.open(str(MODEL_FILE))
    return tagger


def label_lines(lines: list[Line]) -> list[dict[str, float]]:
    """For each line the probability of each label; lines after the first `LINES_MAX` are not looked at."""
    looked = lines[:LINES_MAX]
    tagger = _tagger()
    if tagger is None or not looked:
        return [{} for _ in looked]
    tagger.set(features(looked))
    known = tagger.labels()
    return [{label: tagger.marginal(label, nth) for label in known} for nth in range(len(looked))]
