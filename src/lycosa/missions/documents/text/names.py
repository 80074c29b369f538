"""Names of persons in running text: how sure a piece of text is one, and where they stand.

No model is asked: the shape of the words decides, a list of given names, titles before a name, and words that no name
has.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lycosa.missions.documents.text.words import fold

#: Words that stand in titles, offices and headings, never in the name of a person.
_NO_NAME = frozenset(
    "universidad universitat universidade university universite universita facultad faculdade faculty facultat departamento"
    " department departament instituto institute institut escuela school escola college colegio centro center centre"
    " laboratorio laboratory lab catedra grupo group research investigacion pesquisa ciencias sciences science ingenieria"
    " engineering engenharia matematica matematicas mathematics fisica physics quimica chemistry historia history"
    " informatica computing computer computacion computacao sistemas systems system economia economics geografia geography"
    " filosofia filologia linguistica medicina derecho direito law arte artes letras humanidades politecnica"
    " nacional national federal estado state ciudad city calle street avenida avenue plaza campus edificio building"
    " despacho office aula room piso floor telefono phone fax correo electronico email mail web pagina page home inicio"
    " contacto contact publicaciones publications docencia teaching asignatura asignaturas curso cursos course courses"
    " apuntes notes practica practicas ejercicios exercises problemas problems examen exam tema temas unidad unit capitulo"
    " chapter seccion section tesis thesis trabajo work fin grado master doctorado doctoral phd doctor licenciatura"
    " introduccion introduction resumen abstract palabras clave keywords conclusiones conclusions referencias references"
    " bibliografia bibliography indice index anexo appendix figura figure tabla table proyecto project informe report"
    " enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre january february march april"
    " june july august september october november december lunes martes miercoles jueves viernes sabado domingo monday"
    " tuesday wednesday thursday friday saturday sunday profesor profesora professor professors teacher teachers lecturer"
    " director directora tutor supervisor advisor autor autores author authors alumno alumna student students estudiantes"
    " rector rectora decano decana dean secretaria secretary jefe jefa head chair coordinador coordinadora equipo team staff"
    " personal members miembros news noticias eventos events agenda material materials download descargar version pdf"
    " spain espana argentina mexico chile colombia peru brasil brazil portugal uruguay usa kingdom united states madrid"
    " barcelona buenos aires london paris york north south east west norte sur este oeste the this that and with for from"
    " into about our your their of in on at to an are is el los las una unos como para por con sin sobre entre desde hasta"
    " que es esta este estos estas muy mas no si ya new nuevo nueva all todos todas view ver leer read more licence license"
    " copyright creative commons rights reserved google scholar github linkedin twitter facebook journal revista"
    " proceedings conference congreso workshop international internacional press editorial volume volumen vol num numero"
    " year ano date fecha hora horario schedule semestre cuatrimestre primer primera segundo segunda tercer first second"
    " third part parte algebra lineal linear geometria geometry calculo calculus analisis analysis estadistica statistics"
    " programacion programming algoritmos algorithms datos data bases redes networks software web services service"
   " aplicada applied general basica advanced superior teoria theory metodos methods modelos models digital biblioteca library guia docente blog articles article symbolic logic math inst geom appl pure amer soc ann"
    " trans proc acad phys rev lett leaving microsoft estructuras".split()
)
_TITLE = r"(?:Dr|Dra|Prof|Profa|Lic|Ing|Mag|Mg|MSc|Sr|Sra|Mr|Mrs|Ms|Doctor|Doctora|Profesor|Profesora|D|Dña|Don|Doña)"
_PART = r"[A-ZÀ-ÖØ-ÞĀ-Ž][a-zß-öø-ÿā-ž]+(?:[-'’][A-ZÀ-ÖØ-Þa-zß-öø-ÿ][a-zß-öø-ÿ]+)*"
_UPPER = r"[A-ZÀ-ÖØ-ÞĀ-Ž]{2,}(?:-[A-ZÀ-ÖØ-Þ]{2,})*"
_MIXED = r"(?:Mc|Mac|O['’]|De|Di|Le|La)[A-Z][a-zß-öø-ÿ]+"
_INITIAL = r"[A-ZÀ-ÖØ-Þ]\.(?:[ -]?[A-Z]\.)*|[A-ZÀ-ÖØ-Þ](?=\s)"
_PARTICLE = r"(?:de la|de las|de los|de|del|da|das|do|dos|di|van der|van den|van|von|y|e|la|le|al|el|bin|ben|ter)"
_NAME = re.compile(
    rf"(?<!\w)(?:(?P<title>{_TITLE})\b\.?\s+)?"
    rf"(?P<name>(?:{_MIXED}|{_PART}|{_INITIAL}|{_UPPER})(?:[ \u00a0]+(?:{_PARTICLE}[ \u00a0]+)?(?:{_MIXED}|{_PART}|{_INITIAL}|{_UPPER})){{1,5}})"
)

#: Courses and volumes are numbered so, people are not.
_ROMAN = re.compile(r"(?=[IVX])(?:X{0,2})(?:IX|IV|V?I{0,3})")
_JOINED = re.compile(r"(?<=\b[A-ZÀ-ÖØ-Þ]\.)(?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])")


class FoundName(NamedTuple):
    """A name in a text: how it is written, where, and how sure it is that of a person, 0 to 1."""

    name: str
    start: int
    end: int
    confidence: float


@cache
def given_names() -> frozenset[str]:
    """Frequent given names, folded."""
    lines = Path(__file__).with_name("given_names.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def judge_name(text: str) -> float:
    """How sure a text is the name of a person, by itself: 0 to 1."""
    words = fold(text).split()
    if not 2 <= len(words) <= 8 or len(text) > 80 or any(char.isdigit() for char in text):
        return 0.0
    if any(word in _NO_NAME for word in words) or _ROMAN.fullmatch(text.split()[-1]):
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
    while spans and fold(text[slice(*spans[0])]) in _NO_NAME:
        spans.pop(0)
    for at, span in enumerate(spans):
        if fold(text[slice(*span)]) in _NO_NAME:
            spans = spans[:at]
            break
    if len(spans) < 2:
        return "", start, end
    return text[spans[0][0] : spans[-1][1]], spans[0][0], spans[-1][1]
