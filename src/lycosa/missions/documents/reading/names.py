"""Names of persons in running text: how sure a piece of text is one, and where they stand.

No model is asked: the shape of the words decides, a list of given names, titles before a name, and words that no name
has.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lycosa.text.fold import fold_words

_TITLE = r"(?:Dr|Dra|Prof|Profa|Lic|Ing|Mag|Mg|MSc|Sr|Sra|Mr|Mrs|Ms|Doctor|Doctora|Profesor|Profesora|D|Dña|Don|Doña)"
_PART = r"[A-ZÀ-ÖØ-ÞĀ-Ž][a-zß-öø-ÿā-ž]+(?:[-'’][A-ZÀ-ÖØ-Þa-zß-öø-ÿ][a-zß-öø-ÿ]+)*"
_UPPER = r"[A-ZÀ-ÖØ-ÞĀ-Ž]{2,}(?:-[A-ZÀ-ÖØ-Þ]{2,})*"
_MIXED = r"(?:Mc|Mac|O['’]|De|Di|Le|La)[A-Z][a-zß-öø-ÿ]+"
_INITIAL = r"[A-ZÀ-ÖØ-Þ]\.(?:[ -]?[A-Z]\.)*|[A-ZÀ-ÖØ-Þ](?=\s)"
_PARTICLE = r"(?:de la|de las|de los|de|del|da|das|do|dos|di|van der|van den|van|von|y|e|la|le|al|el|bin|ben|ter)"
_WORD = rf"(?:{_MIXED}|{_PART}|{_INITIAL}|{_UPPER})"
_NAME = re.compile(
    rf"(?<!\w)(?:(?P<title>{_TITLE})\b\.?\s+)?"
    rf"(?P<name>{_WORD}(?:[ \u00a0]+(?:{_PARTICLE}[ \u00a0]+)?{_WORD}){{1,5}})"
)

_ROMAN = re.compile(r"(?=[IVX])(?:X{0,2})(?:IX|IV|V?I{0,3})")
_JOINED = re.compile(r"(?<=\b[A-ZÀ-ÖØ-Þ]\.)(?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])")


class FoundName(NamedTuple):
    """A name in a text: how it is written, where, and how sure it is that of a person, 0 to 1."""

    name: str
    start: int
    end: int
    confidence: float


@cache
def _read_words(file: str) -> frozenset[str]:
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def given_names() -> frozenset[str]:
    """Frequent given names, folded."""
    return _read_words("given_names.txt")


def no_names() -> frozenset[str]:
    """Words that stand in titles, offices and headings, never in the name of a person; folded."""
    return _read_words("no_names.txt")


def is_numbered(text: str) -> bool:
    """Whether a text has a Roman number, as courses and volumes have and people have not."""
    words = text.split()
    return any(_ROMAN.fullmatch(word) for word in words[1:]) or bool(_ROMAN.fullmatch(words[-1].rstrip(".")))


def judge_name(text: str) -> float:
    """How sure a text is the name of a person, by itself: 0 to 1."""
    words = fold_words(text).split()
    if not 2 <= len(words) <= 8 or len(text) > 80 or any(char.isdigit() for char in text):
        return 0.0
    if any(word in no_names() for word in words) or is_numbered(text):
        return 0.0
    if not _NAME.fullmatch(text.strip()):
        return 0.0
    long_words = [word for word in words if len(word) > 1]
    if not long_words:
        return 0.0
    known = given_names()
    if words[0] in known or (len(words) > 2 and words[1] in known and len(words[0]) == 1):
        return 0.95
    if any(word in known for word in words):
        return 0.75
    return 0.6 if any(len(word) == 1 for word in words) else 0.45


def find_names(text: str) -> list[FoundName]:
    """The names in a text, in their order; "E.Baro" counts as "E. Baro"."""
    found = []
    text = _JOINED.sub(" ", text)
    for match in _NAME.finditer(text):
        start, end = match.span("name")
        name, start, end = _trim(text, start, end)
        if not name:
            continue
        sure = judge_name(name)
        if match["title"] and sure:
            sure = max(sure, 0.9)
        if sure:
            found.append(FoundName(" ".join(name.split()), start, end, sure))
    return found


def _trim(text: str, start: int, end: int) -> tuple[str, int, int]:
    """A run of capitalised words without those at its ends that no name has: "Profesor Juan Pérez Madrid"."""
    spans = [(match.start() + start, match.end() + start) for match in re.finditer(r"\S+", text[start:end])]
    while spans and fold_words(text[slice(*spans[0])]) in no_names():
        spans.pop(0)
    for at, span in enumerate(spans):
        if fold_words(text[slice(*span)]) in no_names():
            spans = spans[:at]
            break
    if len(spans) < 2:
        return "", start, end
    return text[spans[0][0] : spans[-1][1]], spans[0][0], spans[-1][1]
