"""People and institutions as lines name them: what is one, which are the same, and what belongs to whom."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from msgspec import Struct, structs

from lycosa.missions.documents.front_page.names import JUNIOR, MARK, MEMBERSHIP, name_score, split_names, tidy_name
from lycosa.missions.documents.front_page.vocabulary import (
    ADDRESS,
    COMPANY,
    DEGREE,
    GIVEN_NAMES,
    HONORIFIC,
    INSTITUTION,
    PARTICLES,
    TEACHER,
    table_pattern,
)
from lycosa.missions.documents.model import Role
from lycosa.missions.documents.names import fits_address
from lycosa.missions.documents.reading.layout import Line, plain
from lycosa.text.fold import fold, fold_in_place

CONTACT = re.compile(r"@|\[at\]|\(at\)|\barroba\b|https?:|www\.|\btel[.:]|\bfax\b|orcid|e-?mail|correo|phone", re.I)
NO_HEADER = table_pattern("no_header")


_TEXT_CHARS = 200_000  # of a text whose words are compared with names


class Named(Struct):
    """A person as a line names them."""

    name: str
    role: Role
    line: Line | None  # none: not printed
    marks: tuple[str, ...]
    score: float
    rule: str
    order: int  # of the line
    titled: bool = False  # a professor or a doctor, as those are who direct a work


class Institution(Struct):
    """An institution as a line, or several, name it."""

    text: str
    line: Line
    marks: tuple[str, ...]
    score: float
    order: int


def acronyms(text: str) -> list[str]:
    """The institutions of a line that names them by letters alone: "UTalca – PUC – UChile", "UBA/UNGS"."""
    parts = [part for part in re.split(r"\s*[–—/,;|·-]\s*|\s+y\s+", plain(text).strip(" ().")) if part]
    if not 2 <= len(parts) <= 5:
        return []
    return (
        parts
        if all(re.fullmatch(r"(?=[^\W\d_]*[A-ZÁÉÍÓÚ][^\W\d_]*[A-ZÁÉÍÓÚ])[A-Z][^\W\d_]{1,9}", part) for part in parts)
        else []
    )


def is_sentence(text: str) -> bool:
    """Whether words are of a sentence and not of a name: most of them are small."""
    words = re.findall(r"[^\W\d_]{2,}", text)
    return len(words) > 9 and sum(word.islower() for word in words) > 0.6 * len(words)


def once(people: list[Named]) -> list[Named]:
    """Each person once: under the longest name, in the role that a label gave, with all marks."""
    kept: list[Named] = []
    for one in people:
        twin = next((other for other in kept if same_person(one.name, other.name)), None)
        if twin is None:
            kept.append(one)
            continue
        if twin.rule.startswith("name") and one.rule.startswith("label"):
            twin.role, twin.rule, twin.score = one.role, one.rule, max(one.score, twin.score)
        if twin.role == one.role:
            twin.name = max(twin.name, one.name, key=len)
            twin.marks += one.marks
    return kept


def without_strangers(people: list[Named], text: str, *, title: str) -> list[Named]:
    """The people without those who have no frequent given name and are terms, headings or institutions.

    The text writes their words small as well, its title has them, or other names stand in other letters.
    """
    prose = re.sub(r"(?m)^.*@.*$|(?<!\S)\S*[/\\]\S*", " ", text[:_TEXT_CHARS])
    common = {fold(word) for word in re.findall(r"(?<![\w.-])[^\W\d_]{2,}", prose) if word.islower()}
    common.update(re.findall(r"\w+", fold(title)))
    sure = [one for one in people if one.rule.startswith("label") or not GIVEN_NAMES.isdisjoint(_telling(one.name))]
    others = [one for one in sure if one.rule in ("line model", "name on the cover")]
    letters = {(one.line.size, one.line.bold) for one in others if one.line}

    def is_strange(one: Named) -> bool:
        if common.issuperset(_telling(one.name)):
            return True
        if not others or one.line is None or others[0].line is None:
            return False
        above = one.rule == "name on the cover" and one.order < others[0].order
        return (one.line.size, one.line.bold) not in letters or above and one.line.block != others[0].line.block

    return [one for one in people if one in sure or not is_strange(one)]


def _telling(name: str) -> list[str]:
    return [word for word in re.findall(r"[^\W\d_]{2,}", fold(name)) if word not in PARTICLES] or [fold(name)]


def sort_out_directors(people: list[Named]) -> list[Named]:
    """Those of a thesis: beside its author, whom no title marks, professors and later names direct it or judge it."""
    unlabelled = [one for one in people if one.role == "author" and not one.rule.startswith("label") and one.line]
    plain = [one for one in unlabelled if not one.titled]
    if not plain and len(unlabelled) == sum(one.role == "author" for one in people):
        return people
    first = plain[0] if plain else None
    for one in unlabelled:
        if one.titled:
            one.role, one.rule = "director", "a title beside the author's name"
        elif first is not None and not _stands_beside(one, first):
            one.role, one.score = "other", min(one.score, 0.3)
    return people


def _stands_beside(one: Named, first: Named) -> bool:
    """Whether a name stands near the first one and in its letters: that of a second author."""
    if one.line is None or first.line is None or one.line.page != first.line.page:
        return False
    return one.order - first.order <= 6 and abs(one.line.size - first.line.size) < 0.6


def same_person(one: str, other: str) -> bool:
    """Whether two names are of one person: the words of the shorter, or their initials, are in the longer."""
    first, second = sorted((fold(one).replace(".", " ").split(), fold(other).replace(".", " ").split()), key=len)
    left = list(second)
    for word in first:
        hit = next((w for w in left if w == word), None) or next(
            (w for w in left if (len(word) == 1 or len(w) == 1) and w[0] == word[0]), None
        )
        if hit is None:
            return False
        left.remove(hit)
    return any(len(word) > 2 and word in second for word in first)


def name_confidence(name: str, base: float) -> float:
    return round(base * (0.55 + 0.45 * name_score(name)), 2)


def has_names(text: str) -> bool:
    """Whether a line with an address names somebody as well."""
    return any(name_score(name) > 0.5 for name, _ in split_names(ADDRESSES.sub(" ", text)))


#: Words beside names.
_BESIDE = re.compile(rf"and|AND|y|e|by|por|don|{HONORIFIC.pattern}", re.I)
ADDRESSES = re.compile(
    r"\S{1,80}@\S{1,80}|https?:\S+|\{[^}]{0,200}\}@\S{1,80}|\S{1,60}\s?[\[(](?:at|arroba)[\])]\s?\S{1,80}", re.I
)


_Marked = tuple[str, tuple[str, ...]]


def names_in_groups(text: str) -> tuple[list[_Marked], list[_Marked]]:
    """The names and institutions of a line of groups, tied by marks: "Ana Ruiz and Eva Sanz, MIT; Ida Bo, Y"."""
    names: list[_Marked] = []
    places: list[_Marked] = []
    for nth, part in enumerate(text.split(";")):
        pieces = re.split(r"\s*,\s*(?:and\s+|&\s*)?|\s+and\s+", part.strip(" ."))
        people = list(takewhile(lambda piece: name_score(tidy_name(piece)) > 0.4, pieces))
        place = part[part.find(people[-1]) + len(people[-1]) :].strip(" ,.") if people else ""
        if people and len(place) > 2:
            names += [(tidy_name(piece), (f";{nth}",)) for piece in people]
            places.append((place, (f";{nth}",)))
    surely = len(places) > 1 or bool(places) and text.rstrip().endswith(";")
    return (names, places) if surely and INSTITUTION.search(fold(" ".join(place for place, _ in places))) else ([], [])


def names_and_places(text: str) -> tuple[list[_Marked], list[_Marked]]:
    """The names of a line that is made of names, and what follows the last of them: "Ana Pérez (Universidad de X)"."""
    text = JUNIOR.sub(r"\1", MEMBERSHIP.sub("", ADDRESSES.sub(" ", text))).strip(" |,·<>")
    if ";" in text and (groups := names_in_groups(text))[0]:
        return groups
    text = text.strip(" ;")
    inner = re.match(r"^([^()]{4,60})\s*\(([^()]{2,80})\)\s*$", text)
    if inner and name_score(tidy_name(inner[1])) > 0.5:
        rest = [inner[2]] if INSTITUTION.search(fold(inner[2])) or inner[2].isupper() else []
        return [(tidy_name(inner[1]), ())], [(one, ()) for one in rest]
    names = split_names(text)
    if not names:
        return [], []
    words = sum(len(name.split()) for name, _ in names)
    all_words = re.sub(r"[^\w\s.'’-]", " ", MARK.sub(" ", text)).split()
    counted = [word for word in all_words if not word.isdigit() and not _BESIDE.fullmatch(word)]
    if words >= 0.75 * len(counted):
        return names, []
    first = text.split(",", 1)
    sure = name_score(tidy_name(first[0])) > (0.5 if first[0].isupper() else 0.8)  # not "Menlo Park, University of X"
    if len(first) == 2 and sure and INSTITUTION.search(fold(first[1])):
        return split_names(first[0]), [(first[1].strip(), ())]
    return [], []


NO_PLACE_LABEL = table_pattern("no_place_label")
CUT = re.compile(r"\b(?:e|y|de|da|do|del|and|of|the|en|em)$")


def is_place(place: Institution) -> bool:
    folded = fold(place.text)
    letters = sum(letter.isalpha() for letter in folded)
    if letters < 0.6 * len(folded.replace(" ", "")) or len(folded) > 350:
        return False
    if NO_PLACE_LABEL.match(folded) or CUT.search(folded) or DEGREE.match(folded) or TEACHER.match(folded):
        return False
    if place.text[:1].islower() and not place.marks:  # the middle of a sentence
        return False
    if any(mark.startswith(";") for mark in place.marks):
        return True
    near = bool(place.marks) or bool(ADDRESS.search(folded)) or "," in folded
    return (
        bool(INSTITUTION.search(folded))
        or len(folded) > 12
        and " " in folded
        and place.score > 0.8
        and near
        or bool(acronyms(place.text))
    )


def tidy_place(text: str) -> str:
    text = re.sub(r"\s+", " ", plain(text)).strip(" ,;:.·•|-–—*†‡§¶∗◦")
    return re.sub(r"\s*(?:e-?mail|correo)\b.*$", "", text, flags=re.I)


_PLACE_LABEL = table_pattern("place_label")
_AFTER_PLACE = table_pattern("after_place")
_STREET = table_pattern("street")
_BY_INITIALS = re.compile(r"\s*\((?:[A-Z]\.[A-Z.\s-]{0,8}(?:,\s*|\sand\s|\))){1,12}\)?")


def tidy_institutions(places: Sequence[Institution], people: Sequence[Named]) -> list[Institution]:
    """The institutions without people, streets, telephones and addresses beside them; what a semicolon parts is two."""
    out: list[Institution] = []
    for place in places:
        for text in re.split(r"\s*;\s*(?:and\s+)?", _BY_INITIALS.sub("", place.text)):
            folded = fold_in_place(text)
            label, end = _PLACE_LABEL.match(folded), _AFTER_PLACE.search(folded)
            text = text[label.end() if label else 0 : end.start() if end else None]
            kept = tidy_place(_without_streets(ADDRESSES.sub(" ", text), people))
            named = INSTITUTION.search(fold(kept)) is not None
            if named or len(kept) > 2 and (kept == tidy_place(place.text) or place.marks) and not _is_town(kept):
                out.append(structs.replace(place, text=kept))
    return out


def _is_town(text: str) -> bool:
    """Whether words that name no institution are a town with its state or country: "Berkeley, CA, USA"."""
    *before, last = re.split(r"\s*,\s*", text)
    middle = all(re.fullmatch(r"[A-Z]{2}", one) for one in before[1:])
    is_known = COMPANY.search(fold(text)) is not None
    return (
        len(before) in (1, 2)
        and middle
        and not is_known
        and bool(ADDRESS.fullmatch(fold(last)) or re.fullmatch(r"[A-Z]{2}", last))
    )


def _without_streets(text: str, people: Sequence[Named]) -> str:
    """An institution's parts between commas, up to the first that is a street or a number; people are left out."""
    kept: list[str] = []
    for piece in re.split(r"\s*,\s*", text):
        street = _STREET.search(fold_in_place(piece))
        piece = piece[: street.start()] if street else piece
        for one in people:
            if len(piece) > len(one.name) and piece.startswith(f"{one.name} "):
                piece = piece[len(one.name) :].strip()
        named = INSTITUTION.search(fold(piece)) is not None
        if street or not named and re.search(r"\d", piece):
            kept += [piece] if named and street else []
            if any(INSTITUTION.search(fold(one)) for one in kept):
                break
        elif named or not any(same_person(piece, one.name) for one in people):
            kept.append(piece)
    return ", ".join(kept)


_ORCID = re.compile(r"\b(\d{4}-\d{4}-\d{4}-\d{3}[\dX])\b")


def tie_places(people: Sequence[Named], places: Sequence[Institution]) -> dict[int, tuple[str, ...]]:
    """The institutions of each person, by their place in the list: by marks, by what follows the name, or all."""
    tied: dict[int, tuple[str, ...]] = {}
    marked = any(place.marks for place in places)
    orders = sorted({person.order for person in people})
    alone = 1 in (len(places), len(people)) or len(orders) == 1 and not marked
    for nth, person in enumerate(people):
        found = [place for place in places if set(place.marks) & set(person.marks)]
        if not marked and len(orders) > 1:
            found = _places_between(person, min(filter(person.order.__lt__, orders), default=10_000), places)
        if found or alone:
            tied[nth] = tuple(place.text for place in found or places)
    return tied


def _places_between(person: Named, end: int, places: Sequence[Institution]) -> list[Institution]:
    """The institutions between a name and the next one."""
    page = person.line.page if person.line else 1
    return [place for place in places if person.order <= place.order < end and place.line.page == page]


def find_orcids(lines: Sequence[Line], people: Sequence[Named]) -> dict[int, str]:
    """The ORCID of each person: on the name's line or on the nearest line after it; checked by its last figure."""
    found: dict[int, str] = {}
    for nth, line in enumerate(lines):
        for match in _ORCID.finditer(plain(line.text)):
            if not _is_valid(match[1]):
                continue
            here = [n for n, person in enumerate(people) if person.line is line]
            before = [
                n for n, person in enumerate(people) if any(one is person.line for one in lines[max(0, nth - 6) : nth])
            ]
            named = [n for n in (*here, *before[::-1]) if n not in found]
            if not named and len(people) == 1:
                named = [0]
            if named:
                found[named[0]] = match[1]
    return found


def _is_valid(orcid: str) -> bool:
    """ISO 7064, 11-2."""
    total = 0
    figures = orcid.replace("-", "")
    for figure in figures[:-1]:
        total = (total + int(figure)) * 2
    check = (12 - total % 11) % 11
    return figures[-1] == ("X" if check == 10 else str(check))


def mend_underscore(text: str, email: str, people: Sequence[str]) -> str:
    """An address whose underscore was printed as a rule and so lost: "sahand n@x.edu" beside Sahand Negahban."""
    local, _, domain = email.partition("@")
    found = re.search(rf"(?<![\w.@-])([a-z][a-z0-9]{{1,20}})\s{re.escape(local)}\s?@", text)
    if not found:
        return email
    for name in people:
        words = [word for word in re.split(r"[\s.]+", fold(name)) if word]
        first = [word for word in words if word == found[1] or len(found[1]) > 2 and word.startswith(found[1])]
        if first and any(word.startswith(local) for word in words if word != first[0]):
            return f"{found[1]}_{local}@{domain}"
    return email


def mend_first_letter(email: str, people: Sequence[str]) -> str:
    """An address whose first letter was printed apart and so lost: "va.ruiz@x.edu" beside Eva Ruiz."""
    local, _, domain = email.partition("@")
    joined = re.sub(r"[._-]", "", local)
    if len(joined) < 4 or any(fits_address(name, email) > 0.9 for name in people):
        return email
    parts = [fold(name).replace(".", " ").split() for name in people]
    for words in () if any(joined in words for words in parts) else parts:
        wholes = [words[0] + words[-1], words[-1] + words[0], *words]
        if whole := next((whole for whole in wholes if len(whole) > 4 and whole[1:] == joined), ""):
            return f"{whole[0]}{email}"
    return email
