"""Kind and labels of a document by words: of links to it, of its beginning, and of the pages that lead to it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from lycosa.errors import UsageError
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


def words_of_path(part: str) -> str:
    """The words of one part of an address: "ApuntesAfin.pdf", "hoja3-v2.pdf"."""
    stem = re.sub(r"\.\w{1,5}$", "", part)
    return re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|[_\W]+", " ", stem).strip()


_RULE = re.compile(
    r"\s*([^:/\[\]]+?)\s*(?:/\s*([^:/\[\]]+?)\s*)?(?:\[\s*(\d*)\s*(header)?\s*\]\s*)?:\s*(.+)", re.DOTALL
)
_CHARS = 2_000


class CategoryLabel(Struct, frozen=True):
    """A category with the words that speak for it."""

    category: str
    subcategory: str
    words: tuple[str, ...]  # folded
    max_chars: int = _CHARS  # of the document's beginning that are searched
    needs_header: bool = False  # only of documents that print their authors


def parse_labels(rules: Iterable[str]) -> list[CategoryLabel]:
    """The labels that a setting describes: "CATEGORY / SUBCATEGORY [CHARACTERS header]: WORD, WORD…"."""
    found = []
    for rule in rules:
        match = _RULE.fullmatch(rule)
        words = tuple(filter(None, map(fold_words, match[5].split(",")))) if match else ()
        if match is None or not words:
            raise UsageError(
                f"documents.labels holds {rule!r}; allowed: CATEGORY / SUBCATEGORY [CHARACTERS header]: WORD, WORD…,"
                ' as "teaching / exercise sheet [2000]: ejercicios, práctica"'
            )
        found.append(CategoryLabel(match[1], match[2] or "", words, int(match[3] or _CHARS), bool(match[4])))
    return found


def find_label(
    labels: Iterable[CategoryLabel], *, head: str, around: str, has_header: bool = True
) -> CategoryLabel | None:
    """The first label one of whose words stands in the beginning of a document, or in the words around its links."""
    folded_around = f" {fold_words(around)} "
    for label in labels:
        if label.needs_header and not has_header:
            continue
        beginning = f" {fold_words(head[: label.max_chars])} " if head else ""
        if any(f" {word} " in beginning or f" {word} " in folded_around for word in label.words):
            return label
    return None


#: Finer sorts of each kind, in Spanish, English and Portuguese.
_SUBCATEGORIES: dict[str, dict[str, str]] = {
    "thesis": {
        "doctoral thesis": """
            tesis doctoral|doctoral (?:thesis|dissertation)|optar al (?:titulo|grado) (?:academico )?de doctora?
            |grado de doctora?|doctor of philosophy|tese de doutora(?:do|mento)|doctor en|phd thesis|doutor em""",
        "master's thesis": """
            master s? ?thesis|master of|trabajo (?:de )?fin de master|tesis de (?:maestria|master|magister)
            |magister en|maestr[oa] en|dissertacao de mestrado|mestre em|tfm|maestria en""",
        "degree project": """
            trabajo (?:de )?fin de grado|tfg|proyecto (?:de )?fin de carrera|tesina|tesis de (?:grado|licenciatura)
            |licenciad[oa] en|bachelor s? ?thesis|bachelor of|honou?rs thesis|trabalho de conclusao|monografia|tcc
            |ingenier[oa] en""",
        "advanced studies diploma": "diploma de estudios avanzados|dea|suficiencia investigadora",
    },
    "exercises": {
        "laboratory assignment": "laboratori[oa]|laboratory|lab (?:assignment|session)",
        "solved exercises": "soluciones|resuelt[oa]s|solutions|solved|gabarito",
        "exercise sheet": "",
    },
    "exam": {
        "midterm": "parcial|midterm|intermedi[oa]",
        "final exam": "final|convocatoria|recuperatorio|suplementari[oa]",
    },
    "notes": {
        "cheat sheet": "hoja de referencia|cheat ?sheet|formulario|dicas|resumen de comandos",
        "lecture notes": "",
    },
    "article": {
        "conference paper": "proceedings|conference|congreso|workshop|jornadas|symposium|simposio|actas|anais",
        "journal article": r"journal|revista|vol(?:ume|umen)?\s*\d+|issn",
        "preprint": "preprint|arxiv|working paper|documento de trabajo",
    },
    "report": {"technical report": "technical report|informe tecnico|relatorio tecnico"},
}


def find_subcategory(kind: str, head: str) -> str:
    """The finer sort of a document by the words of its beginning; empty where none is told."""
    text = fold_words(head[:3_000])
    for name, lines in _SUBCATEGORIES.get(kind, {}).items():
        words = "".join(line.strip() for line in lines.splitlines())
        if not words or re.search(rf"\b(?:{words})\b", text):
            return name
    return ""
