"""Roles: what people have to do with a document, by the labels that stand before, within or after their names."""

from __future__ import annotations

import re

from lycosa.missions.documents.front_page.names import name_score, split_names, tidy_name
from lycosa.missions.documents.front_page.vocabulary import alternatives
from lycosa.missions.documents.model import Role
from lycosa.missions.documents.reading.letters import plain
from lycosa.text.fold import fold_in_place

#: The labels of each role, without accents.
_LABELS: dict[Role, str] = {
    "head": r"""
        rector(?:a)?|vicerrector\w*|decan[oa]|dean|jef[ea] de (?:departamento|carrera|estudios)
        |director(?:a)? de (?:carrera|departamento|escuela|la (?:carrera|escuela|licenciatura))
        |coordinador(?:a)?(?: de \w+)*|head of department|chefe de departamento
        |coordenador(?:a)?""",
    "tutor": r"""
        co-?tutor(?:a|es)?|tutor(?:a|es|as)?(?: academic\w*| profesional| de tesis| del tfg)?|asesor(?:a|es)?
        |co-?asesor(?:a)?|tutelad[oa] por|tutorizad[oa] por|bajo la tutela de""",
    "director": r"""
        (?:co-?)?director(?:a|es|as)?(?:/es|\(es\)|/a)?(?: de (?:tesis|tesina|proyecto|trabajo)(?: \w+)?)?
        |(?:co-?)?director(?:a|es|as)? del (?:tfg|tfm|trabajo)
        |dirigid[oa] por|bajo la direccion de|(?:co-?)?orientador(?:a|es)?|orientad[oa] por
        |(?:thesis |research |faculty |project )?(?:co-?)?(?:advis[oe]r|supervisor)s?|supervised by|advised by
        |under the (?:supervision|direction) of|profesor(?:a)? guia|promotor(?:a)?|ponente""",
    "jury": r"""
        tribunal|jurados?|banca(?: examinadora)?|comision(?: evaluadora| examinadora)?|comite
        |(?:thesis |doctoral |examining )?committee(?: members?| in charge)?|chair(?:man|person)?
        |president[ea](?: del tribunal)?|vocal(?:es)?(?: \d)?|secretari[oa]
        |examin(?:er|ador)[ae]?s?|(?:second |first )?reader
        |(?:committee )?members?|miembros?(?: de la comision| del (?:tribunal|jurado))?|revisor(?:a|es)?
        |evaluador(?:a|es)?|opponent|referees?|reviewers?""",
    "teacher": r"""
        profesor(?:a|es|as)?(?: titular| adjunto| responsable)?|docentes?|catedratic[oa]|instructor(?:a|es)?s?
        |lecturers?|teachers?|professor(?:a|es|s)?|jtp|jefe de trabajos practicos|ayudantes?
        |(?:teaching )?assistants?|responsables?|equipo docente""",
    "editor": r"""
        edit(?:or|ora|ores|ed by|ors|ado por)|coord(?:s|\.|inadores)|eds?\b|(?:compil|organiz)ador(?:a|es)?""",
    "other": r"""
        traducid[oa] (?:por|al \w+ por)|traduccion|translated by|traduzido por|traducao|revisad[oa] por
        |reviewed by|revisao|disen[oa]|design(?:ed by)?|tapa|illustrat\w+ by|ilustra\w+""",
    "author": r"""
        autor(?:a|es|as|ia)?(?:/a|\(a\)|/es|\(es\))?|authors?|alumn[oa]s?|alun[oa]s?|estudiantes?|students?
        |tesistas?|doctorand[oa]|presentad[oa] (?:por|a)|presentad[oa]s? por|realizad[oa] por|elaborad[oa] por
        |desarrollad[oa] por|apresentad[oa] por|candidat[oa]|presenta[n]?|por|by|written by|prepared by
        |preparad[oa] por|postulante|autoria|bachiller|nombre(?: y apellidos?)?(?: del alumno)?|expositor(?:a|es)?
        |submitted by|speakers?|presenters?|escrito por""",
}
_BEFORE = r"(?:(?:nombre|name)(?: y apellidos?)? (?:del?|of(?: the)?)(?: la)? )?"
_ROLE = tuple(
    (role, re.compile(rf"^{_BEFORE}{alternatives(table)}(?:\s*[:.：-]\s*|\s+(?=\S)|$)", re.I))
    for role, table in _LABELS.items()
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


_WITHIN = re.compile(
    r"\b(presentad[oa]|realizad[oa]|elaborad[oa]|escrit[oa]|apresentad[oa]|dirigid[oa]|orientad[oa]|tutelad[oa]|"
    r"supervised|advised|written|"
    r"submitted|prepared|thesis|tesis|trabajo)\s+(?:por|by|de:?)\s*:?(?:\s+|$)(?:(?:d|dna|don|dona|el|la|"
    r"alumn[oa])\.?\s+)*",
    re.I,
)


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
