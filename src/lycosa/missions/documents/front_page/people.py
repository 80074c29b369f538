"""People and their institutions on the first page of a text, by what the line model says of each line."""

from __future__ import annotations

import re

from msgspec import Struct

from lycosa.missions.documents.front_page.names import MARK, MEMBERSHIP, name_score, split_names, tidy_name
from lycosa.missions.documents.front_page.roles import role_of
from lycosa.missions.documents.front_page.vocabulary import (
    ABSTRACT,
    ADDRESS,
    DEGREE,
    HONORIFIC,
    INSTITUTION,
    KEYWORDS,
    PARTICLES,
    SECTION,
)
from lycosa.missions.documents.model import Role
from lycosa.missions.documents.reading.layout import Line
from lycosa.missions.documents.reading.letters import RAISED, fold, join_lines, plain

CONTACT = re.compile(r"@|\[at\]|\(at\)|\barroba\b|https?:|www\.|\btel[.:]|\bfax\b|orcid|e-?mail|correo|phone", re.I)
NO_HEADER = re.compile(
    r"^(?:permission to|copyright|©|categories and subject|general terms|keywords|this work|supported by|received|"
    r"accepted|recibido|citation|cite this|how to cite|"
    r"como citar|editor|funding|disclosure|the authors?|los autores|agradec|acknowledg|tabla de|indice|"
    r"licen[cs]ia\b|esta obra|this is an open)"
)


class Named(Struct):
    """A person as a line names them."""

    name: str
    role: Role
    line: Line | None  # none: not printed
    marks: tuple[str, ...]
    score: float
    rule: str
    order: int  # of the line


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


def read_header(
    lines: list[Line], *, title: list[Line], chances: dict[int, dict[str, float]], levels: bool = False
) -> tuple[list[Named], list[Institution]]:
    """The people and institutions that the first page of a text names, by what the line model says of each line.

    `levels`: each line of an institution is one of its levels, as on covers; else lines are joined, as in articles.
    """
    people: list[Named] = []
    places: list[Institution] = []
    titles = {id(line) for line in title}
    began = False  # the text: after the heading of the abstract or the introduction
    top = max((nth for nth, line in enumerate(lines) if id(line) in titles), default=0)
    pending: Role | None = None
    broken: tuple[int, str] = (-9, "")  # the end of a line of authors that is no name yet
    for order, line in enumerate(lines):
        text = line.text.strip()
        folded = fold(plain(text))
        if ABSTRACT.match(folded) or SECTION.match(folded) or KEYWORDS.match(folded):
            began = True
            pending = None
            continue
        said = chances.get(id(line), {})
        author, place = said.get("author", 0.0), said.get("affiliation", 0.0)
        if not folded or id(line) in titles:
            continue
        role, rest = role_of(text)
        labelled = role is not None and not began and order < top + 12
        above = people[-1].line if people and people[-1].line else title[-1] if title else None
        if author < 0.5 and not began and above is not None and _is_below(line, above) and _is_name(text):
            author = 0.5  # names just below the title or other names, whatever the model says
        if author + place + said.get("email", 0.0) < 0.15 and not labelled:
            pending = None
            continue
        if role is not None and (author > 0.3 or place > 0.3 or labelled):
            names = split_names(rest)
            people += [
                Named(name, role, line, marks, name_confidence(name, 0.85), f"label: {role}", order)
                for name, marks in names
            ]
            pending = role if not rest else None
            if names or not rest:
                continue
        if NO_HEADER.match(folded):
            continue
        if CONTACT.search(folded) and not has_names(text):
            continue
        whole = f"{broken[1]} {text}" if broken[0] == order - 1 else text
        if people and people[-1].order == order - 1 and text.split()[0] in PARTICLES:  # "Ana Ruiz", "de Sousa and …"
            whole = f"{people.pop().name} {text}"
        names, rests = names_and_places(whole)
        enough = 0.25 if not began else 0.75
        if rests and not began and order > top:
            author = max(author, 0.4)  # a name with its institution
        elif names and max(name_score(name) for name, _ in names) < 0.6:
            enough = max(enough, 0.5)
        starts = order == 0 or lines[order - 1].block != line.block
        if (
            names
            and author < enough
            and starts
            and not began
            and order > top
            and min(name_score(n) for n, _ in names) > 0.5
        ):
            author = max(author, 0.3)  # a block that begins with a name
        if (
            names
            and author >= enough
            and (not INSTITUTION.search(folded) or rests or author > 0.8)
            and not DEGREE.match(folded)
        ):
            who: Role = pending or "author"
            base = 0.45 + 0.5 * author - (0.25 if order < top else 0.0)
            for name, marks in names:
                people.append(Named(name, who, line, marks, name_confidence(name, base), "line model", order))
            places += [Institution(tidy_place(one), line, (), 0.75, order) for one in rests]
            tail = re.split(r"[,;&]|\b(?:and|y|e)\b", text)[-1].strip()
            cut = tail != text and RAISED not in tail and re.search(r"[a-z]{2}", tail) and not split_names(tail)
            broken = (order, tail) if cut and not rests else (-9, "")
            continue
        pending = None
        if (
            is_sentence(text)
            and not _leading_mark(line.text)[0]
            and not re.match(r"^\W*(?:del? |d[ao] |y |e |and )", folded)
        ):
            continue
        if INSTITUTION.search(folded) and place >= 0.2 or place > 0.7:
            _add_place(places, lines, order, place, levels=levels)
        elif places and places[-1].order == order - 1 and len(text) < 90 and (
            ADDRESS.search(folded) or places[-1].text.endswith((",", "-"))
        ):  # fmt: skip
            places[-1].text = tidy_place(f"{places[-1].text} {plain(text)}")
            places[-1].order = order
    return people, [one for one in places if _is_place(one)]


NO_PLACE_LABEL = re.compile(r"^(?:correspond|(?:catedra|asignatura|materia|titulacion|carrera|curso)\s?:)")
_CUT = re.compile(r"\b(?:e|y|de|da|do|del|and|of|the|en|em)$")


def _is_place(place: Institution) -> bool:
    folded = fold(place.text)
    letters = sum(letter.isalpha() for letter in folded)
    if letters < 0.6 * len(folded.replace(" ", "")) or len(folded) > 350:
        return False
    if NO_PLACE_LABEL.match(folded) or _CUT.search(folded):
        return False
    near = bool(place.marks) or bool(ADDRESS.search(folded)) or "," in folded
    return (
        bool(INSTITUTION.search(folded))
        or len(folded) > 12
        and place.score > 0.8
        and near
        or bool(acronyms(place.text))
    )


#: An institution that stands by itself; a second one after it is another.
WHOLE = re.compile(
    r"\b(?:universi\w+|politecnic\w+|polytechnic\w*|institute of technology|national lab\w+|microsoft|google|ibm|"
    r"conicet|csic|inria|cnrs|corporation|"
    r"\binc\b|\bgmbh\b|\bllc\b|\bltd\b)"
)


def _add_place(places: list[Institution], lines: list[Line], order: int, chance: float, *, levels: bool) -> None:
    """Adds the institutions of a line, or its words to the one that the line above began."""
    line = lines[order]
    marks, body = _leading_mark(line.text)
    goes_on = bool(places) and places[-1].order == order - 1 and not marks and _goes_on(line, lines[order - 1])
    for nth, (part_marks, part) in enumerate(_marked_parts(line.text) or [(marks, body)]):
        before = fold(places[-1].text) if places else ""
        another = (
            bool(WHOLE.search(before) and WHOLE.search(fold(part))) or levels and bool(INSTITUTION.search(fold(part)))
        )
        if nth == 0 and goes_on and not part_marks and (not another or _CUT.search(before)):
            own = INSTITUTION.match(fold(part)) or ADDRESS.search(fold(part))
            link = "" if before.endswith("-") else ", " if own and not _CUT.search(before) else " "
            places[-1].text = tidy_place(places[-1].text + link + part)
            places[-1].order = order
        else:
            places.append(Institution(tidy_place(part), line, part_marks, round(0.4 + 0.5 * chance, 2), order))


_DETAILS = re.compile(
    r"^(?:author details|author affiliations|authors?[’']? affiliations|filiacion|afiliaciones)\W*\d?$"
)


def read_details(lines: list[Line]) -> list[Institution]:
    """The institutions under a heading "Author details", as some journals print them at the end."""
    for nth, line in enumerate(lines):
        if _DETAILS.match(fold(plain(line.text)).strip()):
            below = [plain(one.text) for one in lines[nth + 1 : nth + 12]]
            end = next(
                (n for n, text in enumerate(below) if n and len(text) < 35 and not re.search(r"\d|\.$", text)), 12
            )
            text = re.sub(r"(?<=[.,;] )(?=\d{1,2}[A-Z])|^(?=\d{1,2}[A-Z])", " ", join_lines(below[:end]))
            parts = re.split(r"(?:^|(?<=[.,;\s]))(\d{1,2})\s*(?=[A-Z])", text)
            pairs = zip(parts[1::2], parts[2::2], strict=False)
            return [
                Institution(tidy_place(part), line, (mark,), 0.75, 0)
                for mark, part in pairs
                if INSTITUTION.search(fold(part))
            ]
    return []


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


def _is_name(text: str) -> bool:
    """Whether a line is one name or several, of which one is surely a name."""
    names, _ = names_and_places(text)
    return len(names) > 1 or bool(names) and name_score(names[0][0]) > 0.7


def _is_below(line: Line, above: Line) -> bool:
    """Whether a line is printed just below another."""
    if line.box is None or above.box is None or line.page != above.page:
        return False
    beside = line.box.left < above.box.right and above.box.left < line.box.right
    return beside and 0 < line.box.top - above.box.bottom < 3 * max(line.size, above.size)


def has_names(text: str) -> bool:
    """Whether a line with an address names somebody as well."""
    return any(name_score(name) > 0.5 for name, _ in split_names(_ADDRESSES.sub(" ", text)))


#: Words beside names.
_BESIDE = re.compile(rf"and|AND|y|e|by|por|{HONORIFIC.pattern}", re.I)
_ADDRESSES = re.compile(
    r"\S{1,80}@\S{1,80}|https?:\S+|\{[^}]{0,200}\}@\S{1,80}|\S{1,60}\s?[\[(](?:at|arroba)[\])]\s?\S{1,80}", re.I
)


def names_and_places(text: str) -> tuple[list[tuple[str, tuple[str, ...]]], list[str]]:
    """The names of a line that is made of names, and what follows the last of them: "Ana Pérez (Universidad de X)"."""
    text = MEMBERSHIP.sub("", _ADDRESSES.sub(" ", text)).strip(" |,;·<>")
    inner = re.match(r"^([^()]{4,60})\s*\(([^()]{2,80})\)\s*$", text)
    if inner and name_score(tidy_name(inner[1])) > 0.5:
        rest = [inner[2]] if INSTITUTION.search(fold(inner[2])) or inner[2].isupper() else []
        return [(tidy_name(inner[1]), ())], rest
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
        return split_names(first[0]), [first[1].strip()]
    return [], []


def _leading_mark(text: str) -> tuple[tuple[str, ...], str]:
    found = re.match(
        rf"^\s*{RAISED}?\s*(\(?(?:\d{{1,2}}|[a-z]|[IVX]{{1,4}}|[*†‡§¶∗]+)\)?){RAISED}?[.\s]*(?=[^\W\d_]{{2,}})", text
    )
    if found and (RAISED in text[: found.end()] or not found[1].isalpha()):
        return (found[1].strip("()"),), text[found.end() :]
    return (), text


def _marked_parts(text: str) -> list[tuple[tuple[str, ...], str]]:
    """The institutions of one line, each after its mark: "1 University of A 2 University of B"."""
    parts = re.split(
        rf"(?:(?:^|(?<=[\s,;.])){RAISED}?\s*(?=\d|[†‡§¶∗*])|{RAISED}\s*(?=[a-z]\s?[A-Z]))(\d{{1,2}}|[a-z]|[†‡§¶∗*])\s*(?=[A-ZÁÉÍÓÚ][a-zé])",
        text,
    )
    if len(parts) < 3:
        return []
    found: list[tuple[tuple[str, ...], str]] = [
        ((mark,), part.strip(" ,;")) for mark, part in zip(parts[1::2], parts[2::2], strict=True) if part.strip()
    ]
    return [((), parts[0].strip(" ,;")), *found] if parts[0].strip() else found


def _goes_on(line: Line, above: Line) -> bool:
    """Whether a line of an institution belongs to the one above it."""
    return line.block == above.block and abs(line.size - above.size) < 0.6


def tidy_place(text: str) -> str:
    text = re.sub(r"\s+", " ", plain(text)).strip(" ,;:.·•|-–—*†‡§¶∗")
    return re.sub(r"\s*(?:e-?mail|correo)\b.*$", "", text, flags=re.I)
