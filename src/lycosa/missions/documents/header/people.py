"""People and their institutions: lines of a header or a cover, one after another, with the roles that labels give."""

from __future__ import annotations

import re

from msgspec import Struct

from lycosa.missions.documents.header.names import MARK, name_score, split_names, tidy_name
from lycosa.missions.documents.header.vocabulary import ABSTRACT, ADDRESS, DEGREE, INSTITUTION, KEYWORDS, SECTION
from lycosa.missions.documents.model import Role
from lycosa.missions.documents.text.layout import Line
from lycosa.missions.documents.text.letters import RAISED, fold, plain

_LABELS: tuple[tuple[Role, str], ...] = (
    ("head",
    (r"rector(?:a)?|vicerrector\w*|decan[oa]|dean|jef[ea] de (?:departamento|carrera|estudios)|"
    r"director(?:a)? de (?:carrera|departamento|escuela|la (?:carrera|escuela|licenciatura))|"
    r"coordinador(?:a)?(?: de \w+)*|"
     r"head of department|chair(?:man|person)?|chefe de departamento|coordenador(?:a)?")),
    ("tutor",
    (r"co-?tutor(?:a|es)?|tutor(?:a|es|as)?(?: academic\w*| profesional| de tesis| del tfg)?|asesor(?:a|es)?|"
    r"co-?asesor(?:a)?|"
     r"tutelad[oa] por|tutorizad[oa] por|bajo la tutela de")),
    ("director",
    (r"(?:co-?)?director(?:a|es|as)?(?:/es|\(es\)|/a)?(?: de (?:tesis|tesina|proyecto|trabajo)(?: \w+)?|"
    r" del (?:tfg|tfm|trabajo))?|dirigid[oa] por|bajo la direccion de|"
     r"(?:co-?)?orientador(?:a|es)?|orientad[oa] por|(?:thesis |research |faculty |"
     r"project )?(?:co-?)?(?:advis[oe]r|supervisor)s?|supervised by|advised by|under the (?:supervision|"
     r"direction) of|profesor(?:a)? guia|promotor(?:a)?|ponente")),
    ("jury",
    (r"tribunal|jurados?|banca(?: examinadora)?|comision(?: evaluadora| examinadora)?|comite|"
    r"committee(?: members?)?|president[ea](?: del tribunal)?|vocal(?:es)?(?: \d)?|secretari[oa]|examin(?:er|"
    r"ador)[ae]?s?|(?:second |first )?reader|"
     r"members?|miembros?|revisor(?:a|es)?|evaluador(?:a|es)?|opponent|referees?|reviewers?")),
    ("teacher",
    (r"profesor(?:a|es|as)?(?: titular| adjunto| responsable)?|prof(?:a)?\b|docentes?|catedratic[oa]|"
    r"instructor(?:a|es)?s?|lecturers?|teachers?|professor(?:a|es|s)?|jtp|jefe de trabajos practicos|ayudantes?|"
     r"(?:teaching )?assistants?|responsables?|equipo docente")),
    ("editor", r"edit(?:or|ora|ores|ed by|ors|ado por)|coord(?:s|\.|inadores)|eds?\b|(?:compil|organiz)ador(?:a|es)?"),
    ("other",
    (r"traducid[oa] (?:por|al \w+ por)|traduccion|translated by|traduzido por|traducao|revisad[oa] por|reviewed by|"
    r"revisao|disen[oa]|design(?:ed by)?|tapa|illustrat\w+ by|ilustra\w+")),
    ("author",
    (r"autor(?:a|es|as|ia)?(?:/a|\(a\)|/es|\(es\))?|authors?|alumn[oa]s?|alun[oa]s?|estudiantes?|students?|"
    r"tesistas?|doctorand[oa]|presentad[oa] (?:por|a)|presentad[oa]s? por|realizad[oa] por|elaborad[oa] por|"
     r"desarrollad[oa] por|apresentad[oa] por|candidat[oa]|presenta[n]?|por|by|written by|prepared by|"
     r"preparad[oa] por|postulante|autoria|bachiller|nombre(?: y apellidos?)?(?: del alumno)?|expositor(?:a|es)?|"
     r"submitted by|speakers?|presenters?|escrito por")),
)  # fmt: skip
_ROLE = tuple((role, re.compile(rf"^(?:{pattern})(?:\s*[:.：-]\s*|\s+(?=\S)|$)", re.I)) for role, pattern in _LABELS)
_CONTACT = re.compile(r"@|\[at\]|\(at\)|\barroba\b|https?:|www\.|\btel[.:]|\bfax\b|orcid|e-?mail|correo|phone", re.I)
_STOP = re.compile(
    r"^(?:permission to|copyright|©|categories and subject|general terms|keywords|this work|supported by|received|"
    r"accepted|recibido|citation|cite this|how to cite|"
    r"como citar|editor|funding|disclosure|the authors?|los autores|agradec|acknowledg|tabla de|indice|"
    r"licen[cs]ia\b|esta obra|this is an open)"
)


class Named(Struct):
    """A person as a line names them."""

    name: str
    role: Role
    line: Line
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


def role_of(text: str) -> tuple[Role | None, str]:
    """The role that a label at the beginning of a line gives, and what stands after the label."""
    stripped = plain(text).strip(" •·-–—()")
    folded = fold(stripped)
    for role, pattern in _ROLE:
        found = pattern.match(folded)
        if found:
            rest = stripped[found.end() :].strip() if len(folded) == len(stripped) else ""
            explicit = found[0].rstrip().endswith((":", "-")) or not rest
            if not explicit and not split_names(rest):
                continue
            if role == "author" and not explicit and found[0].strip() in ("por", "by") and not split_names(rest):
                continue
            return role, rest
    return None, text


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
            if not folded or id(line) in titles or SECTION.match(folded) or _STOP.match(folded):
                pending = None
                continue
            role, rest = role_of(text)
            if role is None:
                role, rest = _role_within(text)
            if role is not None:
                rest, place = _name_part(rest)
                names = split_names(rest)
                people += [
                    Named(name, role, line, marks, _confidence(name, 0.92), f"label: {role}", order)
                    for name, marks in names
                ]
                if not rest and people and _is_label_below(lines, order):
                    several = bool(re.search(r"e?s\)?$", folded))
                    for above in people:
                        if above.line is lines[order - 1] or several and above.line.block == line.block:
                            above.role, above.rule = role, f"label below: {role}"
                    pending = None
                else:
                    pending, plural = role, 0
                if names or not rest:
                    continue
                pending = None
            if DEGREE.match(folded) or _CONTACT.search(folded) and not _has_names(text):
                pending = None if DEGREE.match(folded) else pending
                continue
            names, rests = _names_and_places(text)
            if names and not INSTITUTION.search(folded):
                near = pending is not None and plural < 4
                who: Role = pending if near and pending is not None else "author" if nth == 0 else "other"
                plural += 1
                for name, marks in names:
                    rule = f"label: {who}" if near else "name on the cover"
                    base = 0.9 if near else 0.8 if nth == 0 else 0.4
                    people.append(Named(name, who, line, marks, _confidence(name, base), rule, order))
                places += [Institution(_tidy_place(one), line, (), 0.7, order) for one in rests]
                continue
            if nth == 0 and people:
                places += [Institution(part, line, (), 0.6, order) for part in acronyms(text)]
            if (
                INSTITUTION.search(folded)
                and len(folded) < 120
                and role is None
                and not _is_prose(lines, order)
                and not _is_sentence(text)
            ):
                if (
                    places
                    and places[-1].order == order - 1
                    and re.search(r"\b(?:de|da|do|of|la|del|y|e|and)$", places[-1].text)
                ):
                    places[-1].text = _tidy_place(f"{places[-1].text} {text}")
                else:
                    places.append(Institution(_tidy_place(text), line, (), 0.85 if nth == 0 else 0.7, order))
            pending = None
    return people, places


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


def _is_label_below(lines: list[Line], order: int) -> bool:
    """Whether a line that is only a label speaks of the name above it, and not of names below it."""
    if order == 0:
        return False
    line, above = lines[order], lines[order - 1]
    below = lines[order + 1] if order + 1 < len(lines) else None
    named = above.block == line.block and bool(_names_and_places(above.text)[0])
    follows = below is not None and below.block == line.block and bool(_names_and_places(below.text)[0])
    return named and not follows and ":" not in line.text


def _is_sentence(text: str) -> bool:
    """Whether words are of a sentence and not of a name: most of them are small."""
    words = re.findall(r"[^\W\d_]{2,}", text)
    return len(words) > 9 and sum(word.islower() for word in words) > 0.6 * len(words)


def _is_prose(lines: list[Line], order: int) -> bool:
    """Whether a line is of a running sentence: "… presented to the University of X as …"."""
    text = lines[order].text
    above = lines[order - 1].text if order and lines[order - 1].block == lines[order].block else ""
    return (
        text[:1].islower()
        or above.endswith("-")
        or bool(re.search(r"\b(?:de|da|do|of|the|la|el|en|em|ao|a|para)$", fold(above)))
    )


_WITHIN = re.compile(
    r"\b(presentad[oa]|realizad[oa]|elaborad[oa]|escrit[oa]|apresentad[oa]|dirigid[oa]|orientad[oa]|tutelad[oa]|"
    r"supervised|advised|written|"
    r"submitted|prepared|thesis|tesis|trabajo)\s+(?:por|by|de:?)\s*:?(?:\s+|$)(?:(?:d|dna|don|dona|el|la|"
    r"alumn[oa])\.?\s+)*",
    re.I,
)


def _role_within(text: str) -> tuple[Role | None, str]:
    """The role within a line: "Tesis presentada por Ana Pérez"."""
    stripped = plain(text)
    folded = fold(stripped)
    for found in _WITHIN.finditer(folded) if len(folded) == len(stripped) else ():
        rest = stripped[found.end() :]
        if split_names(rest) if rest else re.search(r"(?:por|by)\s*:?\s*$", found[0]):
            director = re.match(r"dirigid|orientad|tutelad|supervised|advised", found[1])
            return ("director" if director else "author"), rest
    return None, text


def _name_part(rest: str) -> tuple[str, str]:
    """A name and the institution after it: "Ana Pérez (Universidad de X)", "Ana Pérez, Universidad de X"."""
    found = re.match(r"^([^(,]+)(?:\(([^)]*)\)?|,\s*(.*))$", rest)
    if found and INSTITUTION.search(fold(found[2] or found[3] or "")):
        return found[1].strip(), (found[2] or found[3]).strip()
    return rest, ""


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
        below = order in (top + 1, *(person.order + 1 for person in people[-1:]))
        if below and not began and said.get("title", 0.0) > 0.3 and _is_name(text):
            author = max(author, 0.5)  # the model took it for another line of the title, the letters say no
        if author + place + said.get("email", 0.0) < 0.15 and not labelled:
            pending = None
            continue
        if role is not None and (author > 0.3 or place > 0.3 or labelled):
            names = split_names(rest)
            people += [
                Named(name, role, line, marks, _confidence(name, 0.85), f"label: {role}", order)
                for name, marks in names
            ]
            pending = role if not rest else None
            if names or not rest:
                continue
        if _STOP.match(folded):
            continue
        if _CONTACT.search(folded) and not _has_names(text):
            continue
        whole = f"{broken[1]} {text}" if broken[0] == order - 1 else text
        names, rests = _names_and_places(whole)
        enough = 0.25 if not began else 0.75
        if names and max(name_score(name) for name, _ in names) < 0.6:
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
                people.append(Named(name, who, line, marks, _confidence(name, base), "line model", order))
            places += [Institution(_tidy_place(one), line, (), 0.75, order) for one in rests]
            tail = re.split(r"[,;&]|\b(?:and|y|e)\b", text)[-1].strip()
            broken = (
                (order, tail) if tail and tail != text and not split_names(tail) and RAISED not in tail else (-9, "")
            )
            continue
        pending = None
        if (
            _is_sentence(text)
            and not _leading_mark(line.text)[0]
            and not re.match(r"^\W*(?:del? |d[ao] |y |e |and )", folded)
        ):
            continue
        if INSTITUTION.search(folded) and place >= 0.2 or place > 0.7:
            _add_place(places, lines, order, place, levels=levels)
        elif places and places[-1].order == order - 1 and len(text) < 90 and (
            ADDRESS.search(folded) or places[-1].text.endswith((",", "-"))
        ):  # fmt: skip
            places[-1].text = _tidy_place(f"{places[-1].text} {plain(text)}")
            places[-1].order = order
    return people, [one for one in places if _is_place(one)]


def _is_place(place: Institution) -> bool:
    folded = fold(place.text)
    letters = sum(letter.isalpha() for letter in folded)
    if letters < 0.6 * len(folded.replace(" ", "")) or len(folded) > 350 or re.match(r"^correspond", folded):
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
_WHOLE = re.compile(
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
        whole = goes_on and _WHOLE.search(fold(places[-1].text)) and _WHOLE.search(fold(part))
        whole = whole or levels and INSTITUTION.search(fold(part))
        if nth == 0 and goes_on and not part_marks and not whole:
            joined = places[-1].text + ("" if places[-1].text.endswith("-") else " ") + part
            places[-1].text = _tidy_place(joined)
            places[-1].order = order
        else:
            places.append(Institution(_tidy_place(part), line, part_marks, round(0.4 + 0.5 * chance, 2), order))


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


def _confidence(name: str, base: float) -> float:
    return round(base * (0.55 + 0.45 * name_score(name)), 2)


def _is_name(text: str) -> bool:
    """Whether a line is one name or several, of which one is surely a name."""
    names, _ = _names_and_places(text)
    return bool(names) and max(name_score(name) for name, _ in names) > 0.7


def _has_names(text: str) -> bool:
    return any(name_score(name) > 0.6 for name, _ in split_names(text))


_ADDRESSES = re.compile(r"\S+@\S+|https?:\S+|\{[^}]*\}@\S+|\S+\s?[\[(](?:at|arroba)[\])]\s?\S+", re.I)


def _names_and_places(text: str) -> tuple[list[tuple[str, tuple[str, ...]]], list[str]]:
    """The names of a line that is made of names, and what follows the last of them: "Ana Pérez (Universidad de X)"."""
    text = _ADDRESSES.sub(" ", text).strip(" |,;·()<>")
    inner = re.match(r"^([^()]{4,60})\s*\(([^()]{2,80})\)\s*$", text)
    if inner and name_score(tidy_name(inner[1])) > 0.5:
        rest = [inner[2]] if INSTITUTION.search(fold(inner[2])) or inner[2].isupper() else []
        return [(tidy_name(inner[1]), ())], rest
    names = split_names(text)
    if not names:
        return [], []
    words = sum(len(name.split()) for name, _ in names)
    total = len(
        [
            word
            for word in re.sub(r"[^\w\s.'’-]", " ", MARK.sub(" ", text)).split()
            if word.lower() not in ("and", "y", "e", "by", "por") and not word.isdigit()
        ]
    )
    if words >= 0.75 * total:
        return names, []
    first = text.split(",", 1)
    if len(first) == 2 and INSTITUTION.search(fold(first[1])) and name_score(tidy_name(first[0])) > 0.55:
        return split_names(first[0]), [first[1].strip()]
    return [], []


def _leading_mark(text: str) -> tuple[tuple[str, ...], str]:
    found = re.match(rf"^\s*{RAISED}?\s*(\(?(?:\d{{1,2}}|[a-z]|[*†‡§¶∗]+)\)?){RAISED}?[.\s]*(?=[^\W\d_]{{2,}})", text)
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


def _tidy_place(text: str) -> str:
    text = re.sub(r"\s+", " ", plain(text)).strip(" ,;:.·•|-–—*†‡§¶∗")
    return re.sub(r"\s*(?:e-?mail|correo)\b.*$", "", text, flags=re.I)
