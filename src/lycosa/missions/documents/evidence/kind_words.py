"""Kinds of documents by the words of links to them and of the headings above: "Práctica 3", "Apuntes", "Tesis"."""

from __future__ import annotations

import re

from lycosa.missions.documents.text.words import fold

#: The first that matches counts: what is narrow stands before what is wide.
_KINDS: tuple[tuple[str, str], ...] = (
    ("cv", r"curriculum(?: vitae)?|curriculo|cv|resume|hoja de vida"),
    ("programme", r"programa(?: de (?:la )?(?:asignatura|materia|curso))?|guia (?:docente|de la asignatura)|syllabus|course programme"
     r"|course outline|plano de ensino|ementa|temario|ficha docente|cronograma|calendario(?: de examenes)?|libro de curso"),
    ("form", r"formulario|solicitud|inscripcion|application form|form|requerimento|impreso"),
    ("exam", r"examen(?:es)?|parcial(?:es)?|exams?|midterms?|quiz|provas?|evaluacion final|convocatoria"),
    ("exercises", r"ejercicios?|problemas?|hoja (?:de )?(?:problemas|ejercicios|\d+)|hojas? \d+|practicas? ?\d*|practico|trabajos? practicos?|tp ?\d+|guia (?:de )?"
     r"(?:ejercicios|problemas|\d+)|exercises?|exercise sheet|problem sets?|homework|assignments?|worksheets?|listas? (?:de )?exercicios|boletin"),
    ("slides", r"diapositivas|transparencias|slides|presentacion(?:es)?|presentation|apresentacao|laminas|filminas|powerpoint"),
    ("thesis", r"tesis(?: doctoral)?|tesina|thesis|theses|dissertation|dissertacao|tese|trabajo (?:de )?fin de (?:grado|master|carrera)|tf[gm]"
     r"|proyecto (?:de )?fin de carrera|tcc|monografia"),
    ("notes", r"apuntes?|notas de clase|notas|lecture notes|notes|apostila|resumen de|handouts?|material teorico|teoricas?|teoria"),
    ("poster", r"poster(?:es|s)?|cartel"),
    ("article", r"articulos?|publicacion(?:es)?|papers?|articles?|preprints?|published|publications|artigos?|journal|proceedings|conference|to appear"),
    ("report", r"informes?|reports?|relatorios?|memoria|technical report"),
)
_PATTERNS = [(kind, re.compile(rf"\b(?:{words})\b")) for kind, words in _KINDS]


def kind_of_words(text: str) -> str:
    """The kind that a few words speak of; empty where they speak of none."""
    folded = fold(text[:300])
    return next((kind for kind, pattern in _PATTERNS if pattern.search(folded)), "")
