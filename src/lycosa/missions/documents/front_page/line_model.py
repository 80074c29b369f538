"""The line model: a conditional random field that says what each line of a first page is.

It was trained by `tools/train_header_model.py`; the features here are the same there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    MONTH,
    REFERENCES,
    SECTION,
    table_pattern,
)
from lycosa.missions.documents.reading.layout import RAISED, Line, plain
from lycosa.text.fold import fold

MODEL_FILE = Path(__file__).with_name("lines.crfsuite")
#: Lines of a first page that the model looks at: a header seldom has more.
LINES_MAX = 90
LABELS = ("title", "author", "affiliation", "email", "abstract", "keyword", "date", "note", "body")

_DATE = re.compile(rf"\b(?:(?:19|20)\d\d|{MONTH})\b")
_SERIAL = table_pattern("serial")
_NOTICE = table_pattern("notice")
_CONTACT = re.compile(r"@|https?:|www\.|\bemail\b|e-mail|\bcorreo\b")
_WORD = re.compile(r"[^\W\d_]+")


#: What is looked for in a line, and how.
_SEEN = (
    ("inst", INSTITUTION.search),
    ("place", ADDRESS.search),
    ("contact", _CONTACT.search),
    ("date", _DATE.search),
    ("serial", _SERIAL.search),
    ("notice", _NOTICE.search),
    ("abstract", ABSTRACT.match),
    ("keywords", KEYWORDS.match),
    ("section", SECTION.match),
    ("references", REFERENCES.match),
    ("degree", DEGREE.match),
)


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
    seen = [
        f"names={_bin(in_names, (0.01, 0.4, 0.75))}",
        *(name for name, found in _SEEN if found(folded)),
        f"words={_bin(len(words), (2, 3, 5, 8, 12, 18))}",
    ]
    own = [
        f"capitals={_bin(capitals, (0.2, 0.4, 0.6, 0.8, 0.99))}",
        f"digits={_bin(digits, (0.01, 0.1, 0.3))}",
        f"commas={min(4, text.count(','))}",
        f"end={text[-1:] if not text[-1:].isalnum() else 'a'}",
        f"start={_shape(text[:1])}",
    ]
    marks = (("upper", text.isupper()), ("raised", RAISED in line.text[1:]), ("raised first", line.text[:1] == RAISED))
    own += [name for name, holds in marks if holds]
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
        row += [name for name, holds in (("bold", line.bold), ("italic", line.italic)) if holds]
        for shift in (-2, -1, 1, 2):
            if not 0 <= nth + shift < len(lines):
                row.append(f"{shift}:none")
                continue
            row += [f"{shift}:{feature}" for feature in own[nth + shift][1]]
            if abs(shift) == 1:
                row += [f"{shift}:{feature}" for feature in _beside(line, lines[nth + shift])]
        rows.append(row)
    return rows


def _beside(line: Line, other: Line) -> Iterator[str]:
    """How a line differs from the one above or below it."""
    ratio = line.size / other.size if line.size and other.size else 1.0
    yield f"size={'up' if ratio > 1.05 else 'down' if ratio < 0.95 else 'same'}"
    if line.bold != other.bold:
        yield "weight"
    if line.block != other.block:
        yield "block"


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
