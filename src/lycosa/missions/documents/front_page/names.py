"""Names of people on printed lines: whether words are one, lists of them taken apart, and roles by labels."""

from __future__ import annotations

import re
from typing import NamedTuple

from lycosa.missions.documents.front_page.vocabulary import (
    ADDRESS,
    GIVEN_NAMES,
    HONORIFIC,
    INSTITUTION,
    MONTH,
    NOT_NAMES,
    PARTICLES,
    TABLES,
    table_pattern,
)
from lycosa.missions.documents.model import Role
from lycosa.missions.documents.names import is_numbered, join_table, no_names
from lycosa.missions.documents.reading.layout import RAISED, plain
from lycosa.text.fold import fold, fold_in_place

#: Marks that tie a name to a footnote or an affiliation.
MARK = re.compile(
    rf"(?:{RAISED}\s?[^\s{RAISED},;]{{1,6}}(?:\s?,\s?{RAISED}?(?:[0-9a-z*†‡§¶∗]{{1,2}}|[IVX]{{1,4}})(?=[\s,;{RAISED}]|$))*)|[*†‡§¶∗⋆♣♦♠♥✉#]+|\[\d\]|\(\d{{1,2}}\)|[ⁱ]"
)
_DIGITS_AFTER = re.compile(r"(?<=[^\W\d_])\.?\s?\d{1,2}(?:\s?,\s?\d{1,2})*(?=[\s,;\x00]|$)")
_AND = r"(?:and|AND|y|Y|e|u|et|und|i)"
_BY = re.compile(r"^\s*(?:by|por|autor(?:es|as?)?|authors?|presentado por|presenta)\s*:?\s+(?=\S)", re.I)
#: The date of a text behind its author: "by Ana Ruiz on May 3, 2019".
_DATE_BEHIND = re.compile(
    r"(?:\s+(?:on|am|el|em|le|il)|\s*[,|(–—-])\s+(?:\w+, )?"
    rf"(?=(?:\d{{1,2}}\S{{0,2}} (?:de )?)?{MONTH}\b.*\d{{4}}|[\d./-]{{8,10}}\W*$).*$"
)
_SEPARATOR = re.compile(rf"\s*(?:[,;·•|]+(?:\s*{_AND}\s+|\s*&)?|\s[–—-]\s|\s{_AND}\s|&|^{_AND}\s)\s*")
MEMBERSHIP = re.compile(r",?\s*(?:(?:Senior|Student|Life|Graduate Student) )?(?:Member|Fellow), (?:IEEE|ACM|AAAI|OSA)")
#: What stands behind the names of sons and grandsons.
JUNIOR = re.compile(r"(?:(?<=[a-z])|(?<=[A-Z]{3})),?\s+(?:Jr|Sr)\b\.?|(?<=\b[A-Z]\. )([A-Z]\w+),? (?:III|II|IV)\b")
_NO_LETTER = re.compile(r"[\d@/\\=+<>{}\[\]()?¿!¡:\"“”²³¹]")
_NEVER_FIRST = PARTICLES - {"san", "santa"}
_ROMAN = frozenset({"I", "II", "III", "IV", "V", "VI"})
_INITIAL = re.compile(r"^[^\W\d_]\.?(?:-?[^\W\d_]\.)*$")
#: Ends of long words that are terms and no names.
_TERM = re.compile(
    r"[a-z]{4}(?:ally|[a-z]{2}ing|tions?|tional|[a-z]ments?|ware|log(?:y|ies|ia|ie)|ics|isms?|[a-z]it(?:y|ies)|graph(?:y|ic|ia)|"
    r"cion(?:es)?|mientos?|idad(?:es)?|istic[ao]s?|coes|cao|dade|keit|schaft|zione|iques?)\b"
)
_SIMPLE_WORD = re.compile(r"^[^\W\d_][^\W\d_'’´`.-]*(?:[-'’´`.][^\W\d_]+)*\.?$")


def strip_titles(text: str) -> str:
    """A name without the titles before and after it."""
    previous = None
    while previous != text:
        previous = text
        text = HONORIFIC.sub("", text, count=1) if HONORIFIC.match(text.strip()) else text
        text = text.strip(" ,;.:") if not re.search(r"\b[A-Z]\.$", text.strip()) else text.strip(" ,;:")
    text = re.sub(r",\s*(?:md|m\.d|mba|frs|bsc|dr|jr)\b\.?.*$", "", text, flags=re.I)
    return re.sub(r"[,\s]\s*(?:ph\.?\s?d|m\.?sc)\b\.?.*$", "", text, flags=re.I)


class _Shape(NamedTuple):
    """What the words of a name are, by their letters."""

    capitals: int
    initials: int
    full: int
    known: int  # given names


def name_score(text: str) -> float:
    """How much words look like one person's name, 0 to 1."""
    text = strip_titles(re.sub(r"\s+", " ", MARK.sub(" ", text)).strip(" ,;:."))
    words = text.split()
    if not 2 <= len(words) <= 7 or len(text) > 60 or _NO_LETTER.search(text) or is_numbered(text):
        return 0.0
    folded = fold(text)
    if NOT_NAMES.search(folded) or INSTITUTION.search(folded) or fold(words[0]) in _NEVER_FIRST:
        return 0.0
    address = ADDRESS.search(folded) is not None
    if address and not re.search(r"[a-z]{3}", ADDRESS.sub(" ", folded)):
        return 0.0  # "Buenos Aires"
    shape = _shape_of(text, words)
    if shape is None:
        return 0.0
    strange = address or not no_names().isdisjoint(folded.split()) or not shape.initials and _TERM.search(folded)
    if strange and not shape.known:
        return 0.0
    weights = (
        (0.45, True),
        (0.4, shape.known),
        (0.3, shape.initials),
        (0.1, shape.capitals <= 4),
        (-0.2, shape.capitals > 5),
        (-0.25, address),
    )
    return max(0.0, min(1.0, sum(weight for weight, holds in weights if holds)))


def _shape_of(text: str, words: list[str]) -> _Shape | None:
    """The words of a name counted; None where they are none, or one of them is in no name."""
    if words[-1].islower() and words[-1] in PARTICLES:
        return None
    capitals_only = text.isupper()
    shouted = capitals_only or _is_surname_shouted(words)
    initials = full = known = 0
    for word in words:
        plain = fold(word).strip(".")
        if plain in PARTICLES and (word.islower() or capitals_only and "." not in word):
            continue
        if _is_initial(word):
            initials += 1
        elif _SIMPLE_WORD.match(word):
            full += 1
        else:
            return None
        if not word[0].isupper() or not shouted and _is_acronym(word):
            return None
        known += not GIVEN_NAMES.isdisjoint(plain.split("-"))
    is_numbered_title = words[-1] in _ROMAN and not known  # "Álgebra Lineal I"
    if not full or initials + full < 2 or is_numbered_title:
        return None
    return _Shape(initials + full, initials, full, known)


def _is_surname_shouted(words: list[str]) -> bool:
    """Whether words end in capitals, and only there: "Ana PÉREZ"."""
    loud = [word.isupper() and len(word) > 3 for word in words]
    return loud[-1] and loud == sorted(loud)


def _is_initial(word: str) -> bool:
    return len(word) <= 6 and (len(word) <= 2 or "." in word) and _INITIAL.match(word) is not None


def _is_acronym(word: str) -> bool:
    """Whether a word is of capitals, as "GDA" and "SVMs"; two are initials, as in "JM Smith"."""
    return (
        word[:3].isupper()
        and word[:3].isalpha()
        and "." not in word[3:]
        and len(word) > 2
        or (word[:2].isupper() and word[2:] == "s")
    )


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
    text = JUNIOR.sub(r"\1", _BY.sub("", MEMBERSHIP.sub("", text)))
    dated = _DATE_BEHIND.search(fold_in_place(text))
    text = text[: dated.start()] if dated else text
    if ";" in text and "," in text:  # "Ruiz, Ana M.; Sanz, Eva"
        return [found for part in text.split(";") for found in split_names(part)]
    found: list[tuple[str, tuple[str, ...]]] = []
    for name, marks in _turned(_pieces(text), has_comma="," in text):
        if name_score(name) > 0.3:
            found.append((tidy_name(name), marks))
        elif not name and found and marks:
            found[-1] = (found[-1][0], found[-1][1] + marks)
    return found


def _turned(pieces: list[tuple[str, tuple[str, ...]]], *, has_comma: bool) -> list[tuple[str, tuple[str, ...]]]:
    """The pieces of a line; where surnames stand before given names, both as one: "Zdrojewski, Pablo; Saab, Andrés"."""
    if len(pieces) < 2:
        return pieces
    single = not any(" " in name.strip() for name, _ in pieces[::2])
    if single and all(_SIMPLE_WORD.match(name) for name, _ in pieces if name):
        if len(pieces) % 2:
            return pieces
        pairs = zip(pieces[::2], pieces[1::2], strict=True)
        return [(f"{given} {surname}", marks) for (surname, _), (given, marks) in pairs]
    if len(pieces) > 2 or not has_comma:
        return pieces
    (surname, _), (given, marks) = pieces
    turned = f"{given} {surname}"
    if name_score(surname) >= 0.6 or name_score(turned) <= 0.6:
        return pieces
    return [(turned, marks)] if " " not in surname or name_score(given) < 0.6 else pieces


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


_BEFORE = r"(?:(?:nombre|name)(?: y apellidos?)? (?:del?|of(?: the)?)(?: la)? )?"
_ROLE: tuple[tuple[Role, re.Pattern[str]], ...] = tuple(
    (role, re.compile(rf"^{_BEFORE}(?:{join_table(table)})(?:\s*[:.：-]\s*|\s+(?=\S)|$)", re.I))
    for role, table in TABLES["labels"].items()
)


def role_of(text: str) -> tuple[Role | None, str]:
    """The role that a label at the beginning of a line gives, and what stands after the label."""
    stripped = plain(text).strip(" •·-–—()")
    folded = fold_in_place(stripped)
    for role, pattern in _ROLE:
        found = pattern.match(folded)
        if found:
            rest = stripped[found.end() :].strip()
            explicit = found[0].rstrip().endswith((":", "-")) or not rest
            if explicit or role != "teacher" and split_names(rest):  # "Profesora Ana Ruiz" is only a title
                return role, rest
    return None, text


_WITHIN = table_pattern("within", re.I)


def role_within(text: str) -> tuple[Role | None, str]:
    """The role within a line: "Tesis presentada por Ana Pérez"."""
    stripped = plain(text)
    folded = fold_in_place(stripped)
    for found in _WITHIN.finditer(folded):
        rest = stripped[found.end() :]
        if split_names(rest) if rest else re.search(r"(?:por|by)\s*:?\s*$", found[0]):
            director = re.match(r"dirigid|orientad|tutelad|supervised|advised", found[1])
            return ("director" if director else "author"), rest
    return None, text


def role_after(text: str) -> tuple[str, Role | None]:
    """A name and the role that stands after it: "Ana Ruiz, Chair", "Ana Ruiz (tutora)"."""
    found = re.match(r"^([^(),]{4,60})(?:\s*\(([^()]{3,40})\)|,\s*([^(),]{3,40}))$", plain(text).strip())
    if found and name_score(tidy_name(found[1])) > 0.5:
        role, rest = role_of((found[2] or found[3]).strip())
        if role is not None and not rest:
            return found[1].strip(), role
    return text, None
