"""Kinds of documents by the words of links to them and of the headings above: "Práctica 3", "Apuntes", "Tesis"."""

from __future__ import annotations

import re

from lycosa.text.fold import fold_words

#: Folded words and phrases, one or several a line; of two that match, the one that stands first counts.
_KINDS = {
    "cv": """
        curriculum(?: vitae)?|curriculo|cv|resume|hoja de vida""",
    "programme": """
        programa(?: de (?:la )?(?:asignatura|materia|curso))?|guia (?:docente|de la asignatura)|syllabus
        |course programme|course outline|plano de ensino|ementa|temario|ficha docente|cronograma
        |calendario(?: de examenes)?
        |libro de curso""",
    "form": """
        formulario|solicitud|inscripcion|application form|form|requerimento|impreso""",
    "exam": """
        examen(?:es)?|parcial(?:es)?|exams?|midterms?|quiz|provas?|evaluacion final|convocatoria""",
    "exercises": r"""
        ejercicios?|problemas?|hoja (?:de )?(?:problemas|ejercicios|\d+)|hojas? \d+|practicas? ?\d*|practico
        |trabajos? practicos?|tp ?\d+|guia (?:de )?(?:ejercicios|problemas|\d+)|exercises?|exercise sheet|problem sets?
        |homework|assignments?|worksheets?|listas? (?:de )?exercicios|boletin""",
    "slides": """
        diapositivas|transparencias|slides|presentacion(?:es)?|presentation|apresentacao|laminas|filminas|powerpoint""",
    "thesis": """
        tesis(?: doctoral)?|tesina|thesis|theses|dissertation|dissertacao|tese
        |trabajo (?:de )?fin de (?:grado|master|carrera)|tf[gm]|proyecto (?:de )?fin de carrera|tcc|monografia""",
    "notes": """
        apuntes?|notas de clase|notas|lecture notes|notes|apostila|resumen de|handouts?|material teorico|teoricas?
        |teoria""",
    "poster": """
        poster(?:es|s)?|cartel""",
    "article": """
        articulos?|publicacion(?:es)?|papers?|articles?|preprints?|published|publications|artigos?|journal|proceedings
        |conference|to appear""",
    "report": """
        informes?|reports?|relatorios?|memoria|technical report""",
}
_PATTERNS = {
    kind: re.compile(rf"\b(?:{''.join(line.strip() for line in words.splitlines())})\b")
    for kind, words in _KINDS.items()
}
#: Further words are those of a title, which speaks of its subject.
_FIRST_WORDS = 4


def kind_of_words(text: str) -> str:
    """The kind that a few words begin with; empty where they speak of none."""
    first = " ".join(fold_words(text[:200]).split()[:_FIRST_WORDS])
    places = {kind: match.start() for kind, pattern in _PATTERNS.items() if (match := pattern.search(first))}
    return min(places, key=lambda kind: places[kind]) if places else ""
