"""Kinds of documents by the words of links to them and of the headings above: "Práctica 3", "Apuntes", "Tesis"."""

from __future__ import annotations

import re

from lycosa.missions.documents.text.words import fold

#: The first that matches counts: what is narrow stands before what is wide.
_KINDS: tuple[tuple[str, str], ...] = (
    ("cv", r"curriculum(?: vitae)?|curriculo|cv|resume|hoja de vida"),
    (
        "programme",
        r"programa(?: de (?:la )?(?:asignatura|materia|curso))?|guia (?:docente|de la asignatura)|syllabus|course programme"
        r"|course outline|plano de ensino|ementa|temario|ficha docente|cronograma|calendario(?: de examenes)?|libro de curso",
    ),
    ("form", r"formulario|solicitud|inscripcion|application form|form|requerimento|impreso"),
    ("exam", r"examen(?:es)?|parcial(?:es)?|exams?|midterms?|quiz|provas?|evaluacion final|convocatoria"),
    (
        "exercises",
        r"ejercicios?|problemas?|hoja (?:de )?(?:problemas|ejercicios|\d+)|hojas? \d+|practicas? ?\d*|practico|trabajos? practicos?|tp ?\d+|guia (?:de )?"
        r"(?:ejercicios|problemas|\d+)|exercises?|exercise sheet|problem sets?|homework|assignments?|worksheets?|listas? (?:de )?exercicios|boletin",
    ),
    (
        "slides",
        r"diapositivas|transparencias|slides|presentacion(?:es)?|presentation|apresentacao|laminas|filminas|powerpoint",
    ),
    (
        "thesis",
        r"tesis(?: doctoral)?|tesina|thesis|theses|dissertation|dissertacao|tese|trabajo (?:de )?fin de (?:grado|master|carrera)|tf[gm]"
        r"|proyecto (?:de )?fin de carrera|tcc|monografia",
    ),
    (
        "notes",
        r"apuntes?|notas de clase|notas|lecture notes|notes|apostila|resumen de|handouts?|material teorico|teoricas?|teoria",
    ),
    ("poster", r"poster(?:es|s)?|cartel"),
    (
        "article",
        r"articulos?|publicacion(?:es)?|papers?|articles?|preprints?|published|publications|artigos?|journal|proceedings|conference|to appear",
    ),
    ("report", r"informes?|reports?|relatorios?|memoria|technical report"),
)
_PATTERNS = [(kind, re.compile(rf"\b(?:{words})\b")) for kind, words in _KINDS]


#: Further words are those of a title, which speaks of its subject.
_FIRST_WORDS = 4


def kind_of_words(text: str) -> str:
    """The kind that a few words begin with; empty where they speak of none."""
    first = " ".join(fold(text[:200]).split()[:_FIRST_WORDS])
    found = [
        (match.start(), at, kind) for at, (kind, pattern) in enumerate(_PATTERNS) if (match := pattern.search(first))
    ]
    return min(found)[2] if found else ""
