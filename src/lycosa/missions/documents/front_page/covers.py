"""Covers: the people and institutions of theses, slides and notes, by their labels."""

from __future__ import annotations

import re

from lycosa.missions.documents.front_page.names import name_score, split_names
from lycosa.missions.documents.front_page.people import (
    CONTACT,
    NO_HEADER,
    NO_PLACE_LABEL,
    Institution,
    Named,
    acronyms,
    has_names,
    is_sentence,
    name_confidence,
    names_and_places,
    tidy_place,
)
from lycosa.missions.documents.front_page.roles import role_after, role_of, role_within
from lycosa.missions.documents.front_page.vocabulary import DEGREE, INSTITUTION, SECTION
from lycosa.missions.documents.model import Role
from lycosa.missions.documents.reading.layout import Line
from lycosa.missions.documents.reading.letters import fold, join_lines, plain


def read_cover(pages: list[list[Line]], *, title: list[Line]) -> tuple[list[Named], list[Institution]]:
    """The people and institutions of covers: one institution a line, names with the roles that labels give.

    A label stands before its names, on their line or above them, or below one name. A name without a label on the
    first of the pages is the author's; on later ones it is somebody's of whom nothing is said.
    """
    people: list[Named] = []
    places: list[Institution] = []
    titles = {id(line) for line in title}
    for nth, lines in enumerate(pages):
        pending: Role | None = None
        plural = 0
        for order, line in enumerate(lines):
            text = line.text.strip()
            folded = fold(plain(text))
            if not folded or id(line) in titles or SECTION.match(folded) or NO_HEADER.match(folded):
                pending = None
                continue
            role, rest = role_of(text)
            if role is None:
                role, rest = role_within(text)
            if role is not None:
                rest, place = _name_part(rest)
                names = split_names(rest)
                people += [
                    Named(name, role, line, marks, name_confidence(name, 0.92), f"label: {role}", order)
                    for name, marks in names
                ]
                if not rest and people and _is_label_below(lines, order):
                    several = bool(re.search(r"e?s\)?$", folded))
                    for above in people:
                        if above.line is lines[order - 1] or several and above.line and above.line.block == line.block:
                            above.role, above.rule = role, f"label below: {role}"
                    pending = None
                else:
                    goes_on = not names or rest.endswith(",") or bool(re.match(r"^\W*\w+(?:es|s)\b", folded))
                    pending, plural = role if goes_on else None, 0
                if names or not rest:
                    continue
                pending = None
            if DEGREE.match(folded) or CONTACT.search(folded) and not has_names(text):
                pending = None if DEGREE.match(folded) else pending
                continue
            text, own_role = role_after(text)
            names, rests = names_and_places(text)
            if names and pending is None and own_role is None and _is_town(lines, order):
                continue
            if names and (rests or not INSTITUTION.search(folded)):
                near = own_role is not None or pending is not None and plural < 4
                who: Role = own_role or (pending if near and pending is not None else "author" if nth == 0 else "other")
                plural += 1
                for name, marks in names:
                    rule = f"label: {who}" if near else "name on the cover"
                    base = 0.9 if near else 0.8 if nth == 0 else 0.4
                    people.append(Named(name, who, line, marks, name_confidence(name, base), rule, order))
                places += [Institution(tidy_place(one), line, (), 0.7, order) for one in rests]
                continue
            if nth == 0 and people:
                places += [Institution(part, line, (), 0.6, order) for part in acronyms(text)]
            if (
                INSTITUTION.search(folded)
                and not NO_PLACE_LABEL.match(folded)
                and not re.search(r"\b(?:19|20)\d\d\b", folded)  # an event
                and len(folded) < 120
                and role is None
                and not _is_prose(lines, order)
                and not is_sentence(text)
            ):
                if (
                    places
                    and places[-1].order == order - 1
                    and re.search(r"\b(?:de|da|do|of|la|del|y|e|and)$", places[-1].text)
                ):
                    places[-1].text = tidy_place(f"{places[-1].text} {text}")
                else:
                    places.append(Institution(tidy_place(text), line, (), 0.85 if nth == 0 else 0.7, order))
            pending = None
        if not places:
            places += _in_prose(lines)
    if any(one.role == "author" and one.rule.startswith("label") for one in people):
        for one in people:
            if one.role == "author" and not one.rule.startswith("label"):
                one.role, one.score = "other", 0.3
    return people, places


def _is_town(lines: list[Line], order: int) -> bool:
    """Whether words that may be a name stand over the date at the foot of a cover: "Porto Alegre", "2017"."""
    after = fold(lines[order + 1].text) if order + 1 < len(lines) else ""
    return (
        bool(re.match(r"^\W*(?:[a-z]+ (?:de |of )?)?(?:19|20)\d\d\W*$", after)) and name_score(lines[order].text) < 0.7
    )


_INSTITUTION_NAME = re.compile(
    r"\b(?:Universi(?:dade?|ty|tat|té)|Instituto|Institute|Facultad|Faculdade|Escuela|Escola)"
    r"(?:\s+(?:de|do|da|dos|das|del|of|the|la|las|los|e|y|and|for)\b|\s+[A-ZÁÉÍÓÚÂÊÔÃÕÇÑ][\w'’-]+)+"
)


def _in_prose(lines: list[Line]) -> list[Institution]:
    """Institutions within a sentence: "presented to the Federal University of X as a requirement"."""
    text = join_lines([plain(line.text) for line in lines])
    found = dict.fromkeys(
        re.sub(r"(?:\s+(?:de|do|da|dos|das|del|of|the|la|las|los|e|y|and|for))+$", "", match[0])
        for match in _INSTITUTION_NAME.finditer(text)
    )
    return [Institution(name, lines[0], (), 0.6, 0) for name in found if " " in name][:3]


def _is_label_below(lines: list[Line], order: int) -> bool:
    """Whether a line that is only a label speaks of the name above it, and not of names below it."""
    if order == 0:
        return False
    line, above = lines[order], lines[order - 1]
    below = lines[order + 1] if order + 1 < len(lines) else None
    named = above.block == line.block and bool(names_and_places(above.text)[0])
    follows = below is not None and below.block == line.block and bool(names_and_places(below.text)[0])
    return named and not follows and ":" not in line.text


def _is_prose(lines: list[Line], order: int) -> bool:
    """Whether a line is of a running sentence: "… presented to the University of X as …"."""
    text = lines[order].text
    above = lines[order - 1].text if order and lines[order - 1].block == lines[order].block else ""
    return (
        text[:1].islower()
        or above.endswith("-")
        or bool(re.search(r"\b(?:de|da|do|of|the|la|el|en|em|ao|a|para)$", fold(above)))
    )


def _name_part(rest: str) -> tuple[str, str]:
    """A name and the institution after it: "Ana Pérez (Universidad de X)", "Ana Pérez, Universidad de X"."""
    found = re.match(r"^([^(,]+)(?:\(([^)]*)\)?|,\s*(.*))$", rest)
    if found and INSTITUTION.search(fold(found[2] or found[3] or "")):
        return found[1].strip(), (found[2] or found[3]).strip()
    return rest, ""
