"""People and their institutions: lines of a header or a cover read one after another, with the roles that labels give."""

from __future__ import annotations

import re

from msgspec import Struct

from lycosa.missions.documents.header.names import MARK, name_score, split_names, tidy_name
from lycosa.missions.documents.header.vocabulary import ABSTRACT, ADDRESS, INSTITUTION, KEYWORDS, SECTION
from lycosa.missions.documents.model import Role
from lycosa.missions.documents.text.layout import Line
from lycosa.missions.documents.text.letters import RAISED, fold, plain

_LABELS: tuple[tuple[Role, str], ...] = (
    ("head", r"rector(?:a)?|vicerrector\w*|decan[oa]|dean|jef[ea] de (?:departamento|carrera|estudios)|director(?:a)? de (?:carrera|departamento|escuela|la (?:carrera|escuela|licenciatura))|coordinador(?:a)?(?: de \w+)*|"
     r"head of department|chair(?:man|person)?|chefe de departamento|coordenador(?:a)?"),
    ("tutor", r"co-?tutor(?:a|es)?|tutor(?:a|es|as)?(?: academic\w*| profesional| de tesis| del tfg)?|asesor(?:a|es)?|co-?asesor(?:a)?|"
     r"tutelad[oa] por|tutorizad[oa] por|bajo la tutela de"),
    ("director", r"(?:co-?)?director(?:a|es|as)?(?:/es|\(es\)|/a)?(?: de (?:tesis|tesina|proyecto|trabajo)(?: \w+)?| del (?:tfg|tfm|trabajo))?|dirigid[oa] por|bajo la direccion de|"
     r"(?:co-?)?orientador(?:a|es)?|orientad[oa] por|(?:thesis |research |faculty |project )?(?:co-?)?(?:advis[oe]r|supervisor)s?|supervised by|advised by|under the (?:supervision|direction) of|profesor(?:a)? guia|promotor(?:a)?|ponente"),
    ("jury", r"tribunal|jurados?|banca(?: examinadora)?|comision(?: evaluadora| examinadora)?|comite|committee(?: members?)?|president[ea](?: del tribunal)?|vocal(?:es)?(?: \d)?|secretari[oa]|examin(?:er|ador)[ae]?s?|(?:second |first )?reader|"
     r"members?|miembros?|revisor(?:a|es)?|evaluador(?:a|es)?|opponent|referees?|reviewers?"),
    ("teacher", r"profesor(?:a|es|as)?(?: titular| adjunto| responsable)?|prof(?:a)?\b|docentes?|catedratic[oa]|instructor(?:a)?s?|lecturer|teacher|professor(?:a|es)?|jtp|jefe de trabajos practicos|ayudantes?|"
     r"(?:teaching )?assistants?|responsables?|equipo docente"),
    ("editor", r"edit(?:or|ora|ores|ed by|ors|ado por)|coord(?:s|\.|inadores)|eds?\b|compilador(?:a|es)?|handling editor"),
    ("author", r"autor(?:a|es|as|ia)?(?:/a|\(a\)|/es|\(es\))?|authors?|alumn[oa]s?|alun[oa]s?|estudiantes?|students?|tesistas?|doctorand[oa]|presentad[oa] (?:por|a)|presentad[oa]s? por|realizad[oa] por|elaborad[oa] por|"
     r"desarrollad[oa] por|apresentad[oa] por|candidat[oa]|presenta[n]?|por|by|written by|prepared by|preparad[oa] por|postulante|autoria|bachiller|nombre(?: y apellidos?)?(?: del alumno)?|expositor(?:a|es)?|submitted by|speakers?|presenters?|escrito por"),
)  # fmt: skip
_ROLE = tuple((role, re.compile(rf"^(?:{pattern})(?:\s*[:.：-]\s*|\s+(?=\S)|$)", re.I)) for role, pattern in _LABELS)
_CONTACT = re.compile(r"@|\[at\]|\(at\)|\barroba\b|https?:|www\.|\btel[.:]|\bfax\b|orcid|e-?mail|correo|phone", re.I)
_STOP = re.compile(
    r"^(?:permission to|copyright|©|categories and subject|general terms|keywords|this work|supported by|received|accepted|recibido|citation|cite this|how to cite|"
    r"como citar|editor|funding|disclosure|the authors?|los autores|agradec|acknowledg|tabla de|indice|licen[cs]ia|esta obra|this is an open)"
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


class Place(Struct):
    """An institution as a line, or several, name it."""

    text: str
    line: Line
    marks: tuple[str, ...]
    score: float
    order: int


def role_of(text: str) -> tuple[Role | None, str]:
    """The role that a label at the beginning of a line gives, and what stands after the label."""
    stripped = plain(text).strip(" •·-–—")
    folded = fold(stripped)
    for role, pattern in _ROLE:
        found = pattern.match(folded)
        if found:
            rest = stripped[found.end() :].strip() if len(folded) == len(stripped) else ""
            explicit = ":" in found[0] or not rest
            if not explicit and not split_names(rest):
                continue
            if role == "author" and not explicit and found[0].strip() in ("por", "by") and not split_names(rest):
                continue
            return role, rest
    return None, text


def read_people(
    lines: list[Line], *, cover: bool, chances: dict[int, dict[str, float]] | None = None
) -> tuple[list[Named], list[Place]]:
    """The people and institutions that header lines name, in their order.

    `cover`: each line of an institution is one of its levels; else lines that follow each other are one institution.
    `chances`: what the line model says of each line, by its id.
    """
    people: list[Named] = []
    places: list[Place] = []
    pending: Role | None = None
    pending_age = 0
    broken: tuple[int, str] = (-9, "")  # the end of a line of authors that is no name yet
    for order, line in enumerate(lines):
        text = line.text.strip()
        folded = fold(plain(text))
        if not folded or SECTION.match(folded):
            pending = None
            continue
        said = (chances or {}).get(id(line), {})
        author, place = said.get("author", 0.5), said.get("affiliation", 0.5)
        if said and author + place + said.get("email", 0.0) < 0.12:
            continue
        role, rest = role_of(text)
        if role is not None:
            names = split_names(rest) if rest else []
            for name, marks in names:
                people.append(Named(name, role, line, marks, _confidence(name, 0.9), f"label: {role}", order))
            pending, pending_age = (role, 0)
            if rest and not names:
                pending = None
            if names or not rest:
                continue
        if _CONTACT.search(folded) and not _has_names(text):
            continue
        if broken[0] == order - 1 and broken[1]:
            text = f"{broken[1]} {text}"
        names, rests = _names_and_places(text)
        if names and (not INSTITUTION.search(folded) or rests or author > 0.8) and author >= 0.1:
            who: Role = pending if pending is not None and pending_age < 3 else "author"
            labelled = pending is not None and pending_age < 3
            pending_age += 1
            base = 0.9 if labelled else 0.75 if not said else 0.45 + 0.5 * author
            for name, marks in names:
                rule = f"label: {who}" if labelled else "line model" if said else "name near the title"
                people.append(Named(name, who, line, marks, _confidence(name, base), rule, order))
            for rest_text in rests:
                places.append(Place(_tidy_place(rest_text), line, (), 0.75, order))
            tail = re.split(r"[,;&]|\b(?:and|y|e)\b", text)[-1].strip()
            broken = (order, tail) if tail and tail != text and not split_names(tail) and RAISED not in tail else (-9, "")
            continue
        if INSTITUTION.search(folded) and place >= 0.15 or said and place > 0.7 and author < 0.2:
            if pending_age or not cover:
                pending = None
            marks, body = _leading_mark(text)
            joined = not cover and places and places[-1].order == order - 1 and not marks and _goes_on(line, lines[order - 1])
            if joined and not _marked_parts(text):
                places[-1].text = _tidy_place(f"{places[-1].text} {body}")
                places[-1].order = order
            else:
                for part_marks, part in _marked_parts(text) or [(marks, body)]:
                    if part_marks or part == body:
                        score = 0.8 if not said else 0.4 + 0.5 * place
                        places.append(Place(_tidy_place(part), line, part_marks, round(score, 2), order))
                    elif joined:
                        places[-1].text = _tidy_place(f"{places[-1].text} {part}")
        elif not cover and places and places[-1].order == order - 1 and len(text) < 90 and not _CONTACT.search(folded):
            if ADDRESS.search(folded) or places[-1].text.endswith((",", "-")) or re.search(r"\d{4}", text):
                places[-1].text = _tidy_place(f"{places[-1].text} {plain(text)}")
                places[-1].order = order
        elif len(folded.split()) > 3:
            pending = None
    return people, [one for one in places if INSTITUTION.search(fold(one.text)) or len(one.text) > 12]


def _confidence(name: str, base: float) -> float:
    return round(base * (0.55 + 0.45 * name_score(name)), 2)


def _has_names(text: str) -> bool:
    return any(name_score(name) > 0.6 for name, _ in split_names(text))


def _names_and_places(text: str) -> tuple[list[tuple[str, tuple[str, ...]]], list[str]]:
    """The names of a line that is made of names, and what follows the last of them: "Ana Pérez (Universidad de X)"."""
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
    parts = re.split(rf"(?:^|(?<=[\s,;.])){RAISED}?\s*(\d{{1,2}}|[a-z](?=\s?[A-Z])|[†‡§¶∗*])\s*(?=[A-Z][a-z])", text)
    if len(parts) < 3:
        return []
    found = [((mark,), part.strip(" ,;")) for mark, part in zip(parts[1::2], parts[2::2], strict=True) if part.strip()]
    return [((), parts[0].strip(" ,;")), *found] if parts[0].strip() else found


def _goes_on(line: Line, above: Line) -> bool:
    """Whether a line of an institution belongs to the one above it."""
    return line.block == above.block and abs(line.size - above.size) < 0.6


def _tidy_place(text: str) -> str:
    text = re.sub(r"\s+", " ", plain(text)).strip(" ,;:.·•|-–—*†‡§¶∗")
    return re.sub(r"\s*(?:e-?mail|correo)\b.*$", "", text, flags=re.I)


def header_lines(lines: list[Line], title: list[Line]) -> list[Line]:
    """The lines between the title and the text: where authors stand; lines above the title come last."""
    if not lines:
        return []
    page = title[0].page if title else 1
    on_page = [line for line in lines if line.page == page]
    marked = {id(line) for line in title}
    last = max((nth for nth, line in enumerate(on_page) if id(line) in marked), default=-1)
    first = min((nth for nth, line in enumerate(on_page) if id(line) in marked), default=0)
    after: list[Line] = []
    for line in on_page[last + 1 :]:
        folded = fold(plain(line.text)).strip()
        if (
            ABSTRACT.match(folded)
            or KEYWORDS.match(folded)
            or SECTION.match(folded)
            or re.match(r"^1\.?\s+[a-z]", folded)
        ):
            break
        if _STOP.match(folded):
            break
        if len(folded.split()) > 14 and not INSTITUTION.search(folded) and not split_names(line.text):
            break
        after.append(line)
    before = [line for line in on_page[:first] if not _STOP.match(fold(line.text))]
    return after + before
