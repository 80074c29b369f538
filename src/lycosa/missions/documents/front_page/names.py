"""Names of people: whether words are one, and lists of them taken apart."""

from __future__ import annotations

import re

from lycosa.missions.documents.front_page.vocabulary import (
    ADDRESS,
    GIVEN_NAMES,
    HONORIFIC,
    INSTITUTION,
    NOT_NAMES,
    PARTICLES,
)
from lycosa.missions.documents.reading.letters import RAISED, fold
from lycosa.missions.documents.reading.names import is_numbered

#: Marks that tie a name to a footnote or an affiliation.
MARK = re.compile(
    rf"(?:{RAISED}\s?[^\s{RAISED},;]{{1,6}}(?:\s?,\s?{RAISED}?(?:[0-9a-z*†‡§¶∗]{{1,2}}|[IVX]{{1,4}})(?=[\s,;{RAISED}]|$))*)|[*†‡§¶∗⋆♣♦♠♥✉#]+|\[\d\]|\(\d{{1,2}}\)|[ⁱ]"
)
_DIGITS_AFTER = re.compile(r"(?<=[^\W\d_])\.?\s?\d{1,2}(?:\s?,\s?\d{1,2})*(?=[\s,;\x00]|$)")
_AND = r"(?:and|AND|y|Y|e|u|et|und|i)"
_SEPARATOR = re.compile(rf"\s*(?:[,;·•|]+(?:\s*{_AND}\s+|\s*&)?|\s[–—-]\s|\s{_AND}\s|&|^{_AND}\s)\s*")
MEMBERSHIP = re.compile(r",?\s*(?:(?:Senior|Student|Life|Graduate Student) )?(?:Member|Fellow), (?:IEEE|ACM|AAAI|OSA)")
_INITIAL = re.compile(r"^[^\W\d_]\.?(?:-?[^\W\d_]\.)*$")
_SIMPLE_WORD = re.compile(r"^[^\W\d_][^\W\d_'’´`.-]*(?:[-'’´`.][^\W\d_]+)*\.?$")


def strip_titles(text: str) -> str:
    """A name without the titles before and after it."""
    previous = None
    while previous != text:
        previous = text
        text = HONORIFIC.sub("", text, count=1) if HONORIFIC.match(text.strip()) else text
        text = text.strip(" ,;.:") if not re.search(r"\b[A-Z]\.$", text.strip()) else text.strip(" ,;:")
    return re.sub(r",\s*(?:ph\.?\s?d|m\.?sc|md|m\.d|mba|frs|bsc|dr|jr)\b\.?.*$", "", text, flags=re.I)


def name_score(text: str) -> float:
    """How much words look like one person's name, 0 to 1."""
    text = strip_titles(re.sub(r"\s+", " ", MARK.sub(" ", text)).strip(" ,;:."))
    words = text.split()
    if (
        not 2 <= len(words) <= 7
        or len(text) > 60
        or any(letter.isdigit() or letter in '@/\\=+<>{}[]()?¿!¡:"“”' for letter in text)
    ):
        return 0.0
    folded = fold(text)
    if (
        is_numbered(text)
        or NOT_NAMES.search(folded)
        or INSTITUTION.search(folded)
        or folded.split()[0] in PARTICLES - {"san", "santa"}
    ):
        return 0.0
    if ADDRESS.search(folded) and not re.search(r"[a-z]{3}", ADDRESS.sub(" ", folded)):
        return 0.0  # "Buenos Aires"
    capitals = initials = full = known = 0
    loud = [word.isupper() and len(word) > 3 for word in words]
    shouted = text.isupper() or loud[-1] and loud == sorted(loud)  # "Ana PÉREZ"
    for word in words:
        plain = fold(word).strip(".")
        if plain in PARTICLES and (word.islower() or text.isupper()):
            continue
        if not word[0].isupper() or (not shouted and _is_acronym(word)):
            return 0.0
        if len(word) <= 4 and _INITIAL.match(word) and (len(word) <= 2 or "." in word):
            initials += 1
        elif _SIMPLE_WORD.match(word):
            full += 1
        else:
            return 0.0
        capitals += 1
        known += any(part in GIVEN_NAMES for part in plain.split("-"))
    if not full or capitals < 2 or (words[-1].lower() in PARTICLES and words[-1].islower()):
        return 0.0
    if words[-1] in ("I", "II", "III", "IV", "V", "VI") and not known:
        return 0.0  # "Álgebra Lineal I"
    score = 0.45
    if known:
        score += 0.4
    if initials and full:
        score += 0.3
    if 2 <= capitals <= 4:
        score += 0.1
    elif capitals > 5:
        score -= 0.2
    if ADDRESS.search(folded):
        score -= 0.25
    return max(0.0, min(1.0, score))


def _is_acronym(word: str) -> bool:
    """Whether a word is of capitals, as "GDA" and "SVMs"; two are initials, as in "JM Smith"."""
    return word[:3].isupper() and len(word) > 2 and "." not in word or word[:2].isupper() and word[2:] == "s"


def tidy_name(text: str) -> str:
    """A name as it is written down: without marks and titles, "SURNAME, Given" turned round, capitals made ordinary."""
    text = re.sub(r"\s+", " ", MARK.sub(" ", text)).replace(RAISED, "").strip(" ,;:·•|-–—*")
    text = strip_titles(_DIGITS_AFTER.sub("", text))
    if text.count(",") == 1:
        surname, given = (part.strip() for part in text.split(","))
        text = f"{given} {surname}" if surname and given else text
    if text.isupper() and len(text) > 4:
        text = " ".join(
            word.lower()
            if fold(word) in PARTICLES
            else word
            if "." in word
            else "-".join(p.capitalize() for p in word.split("-"))
            for word in text.split()
        )
    return text


def split_names(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The names in a line of authors, each with the marks that stand at it; what is no name is left out."""
    text = MEMBERSHIP.sub("", text)
    text = re.sub(r"(?i)^\s*(?:by|por|autor(?:es|as?)?|authors?|presentado por|presenta)\s*:?\s+(?=\S)", "", text)
    if ";" in text and "," in text:  # "Ruiz, Ana M.; Sanz, Eva"
        return [found for part in text.split(";") for found in split_names(part)]
    found: list[tuple[str, tuple[str, ...]]] = []
    pieces = _pieces(text)
    if (
        len(pieces) >= 2
        and not any(" " in piece[0].strip() for piece in pieces[::2])
        and all(_SIMPLE_WORD.match(piece[0]) for piece in pieces if piece[0])
    ):  # "Zdrojewski, Pablo; Saab, Andrés"
        if len(pieces) % 2 == 0:
            pieces = [(f"{pieces[n + 1][0]} {pieces[n][0]}", pieces[n + 1][1]) for n in range(0, len(pieces), 2)]
    elif (
        len(pieces) == 2
        and "," in text
        and name_score(pieces[0][0]) < 0.6
        and name_score(f"{pieces[1][0]} {pieces[0][0]}") > 0.6
        and (name_score(pieces[1][0]) < 0.6 or " " not in pieces[0][0])
    ):
        pieces = [(f"{pieces[1][0]} {pieces[0][0]}", pieces[1][1])]
    for name, marks in pieces:
        if name_score(name) > 0.3:
            found.append((tidy_name(name), marks))
        elif not name and found and marks:
            found[-1] = (found[-1][0], found[-1][1] + marks)
    return found


def _pieces(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The parts of a line between commas and conjunctions, each without its marks and with them."""
    out: list[tuple[str, tuple[str, ...]]] = []
    marked: list[str] = []

    def keep(found: re.Match[str]) -> str:
        marked.append(found[0])
        return f"\x00{len(marked) - 1}\x00,"

    text = _DIGITS_AFTER.sub(keep, MARK.sub(keep, text.replace("\0", " ")))
    for piece in _apart(_SEPARATOR.split(text)):
        marks = tuple(
            mark
            for nth in re.findall(r"\x00(\d+)\x00", piece)
            for mark in re.findall(
                r"\d+|[a-z](?![a-z])|[IVX]+(?![a-z])|[*†‡§¶∗⋆]+", marked[int(nth)].replace(RAISED, " ")
            )
        )
        name = re.sub(r"\x00\d+\x00", " ", piece).strip(" .:")
        if re.search(r"\b[A-Z]$", name) and piece.strip().endswith("."):
            name += "."
        if name or marks:
            if not name and out:
                out[-1] = (out[-1][0], out[-1][1] + marks)
            else:
                out.append((name, marks))
    return out


def _apart(pieces: list[str]) -> list[str]:
    """Pieces with a wide gap in them made two where a name stands on either side: "Ana Pérez  Eva Ruiz"."""
    out: list[str] = []
    for piece in pieces:
        parts = re.split(r"\s{2,}", piece.strip())
        out += (
            parts
            if len(parts) > 1 and all(name_score(re.sub(r"\x00\d+\x00", " ", part)) > 0.5 for part in parts)
            else [piece]
        )
    return out
