"""Organisations in text: universities, faculties, departments, by the words that begin or end their names."""

from __future__ import annotations

import re

from lycosa.text.fold import fold_words

#: Words that begin the name of an organisation in Romance languages, and those that may end it in Germanic ones.
_FIRST = (
    r"Universidade?s?|Universitat|Universit[àé]|Facultade?|Facultat|Faculdade|Departamento|Departament|Dpto\.?|Depto\.?|Instituto|Institut"
    r"|Escuela|Escola|Centro|Centre|C[aá]tedra|Laboratorio|Laborat[oó]rio|Secci[oó]n|Colegio|Academia|Consejo|Ministerio|Hospital"
    r"|University|Faculty|Department|Dept\.?|School|Institute|College|Cent(?:er|re)|Laboratory|Division|Chair"
)
_LAST = (
    r"University|Institute(?: of Technology)?|College|School|Laborator(?:y|ies)|Department|Universität|Hochschule"
    r"|Academy|Polytechnic|Hospital"
)
_WORD = r"[A-ZÀ-ÖØ-Þ][\w'’.-]*"
_LINK = r"(?:de las|de los|de la|del|de|da|do|das|dos|e|y|i|of the|of|and|for|in|at|et|für|&|en|la|las|los|el|the)"
_ROMANCE = re.compile(rf"\b(?:{_FIRST})(?:\s+(?:{_LINK}\s+){{0,2}}(?:{_WORD}))+", re.UNICODE)
_GERMANIC = re.compile(rf"\b(?:{_WORD}\s+){{1,4}}(?:{_LAST})\b", re.UNICODE)


def find_organisations(text: str) -> list[str]:
    """The organisations that a text names, in its order."""
    found: list[tuple[int, str]] = []
    for piece in re.finditer(r"[^,;|()\n•]+", text[:2000]):
        for sub in re.finditer(r"(?:(?!\s[-–—/]\s|[.:]\s).)+.?", piece.group()):
            words = sub.group().strip(" .:-–—/")
            match = _ROMANCE.search(words) or _GERMANIC.search(words)
            if match and 6 <= len(match.group()) <= 120:
                found.append((piece.start() + sub.start(), match.group().strip(" .,-")))
    unique: dict[str, str] = {}
    for _, name in sorted(found):
        if len(name.split()) > 1:
            unique.setdefault(fold_words(name), name)
    return list(unique.values())
