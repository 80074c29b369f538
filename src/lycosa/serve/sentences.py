"""Sentence translation: sentences of the core on pages in another language; unknown ones are marked English.

`locale/es/sentences.toml` of the page and of each mission holds them: "It is gone ({code}): {said}." A value in braces
stays as it is; one whose name begins with `said` is a sentence or a word of its own, and must be known as well.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from lycosa.missions import registry
from lycosa.serve.mission_pages import package_of, pages_of
from lycosa.serve.translations import LANGUAGES, catalogue, read_sentences

_CHARACTERS = 2000  # of a sentence that is looked for
_DEPTH = 4
_VALUE = re.compile(r"\{(\w+)\}")
#: With more values in a sentence, the search for them would take long on hostile texts.
MOST_VALUES = 4


class SentenceForm(NamedTuple):
    """A sentence with places for values, as a pattern, and its form in another language."""

    pattern: re.Pattern[str]
    told: str


class SentenceBook(NamedTuple):
    """The sentences of a language."""

    whole: dict[str, str]
    forms: list[SentenceForm]


@lru_cache(maxsize=2000)
def tell(text: str, language: str) -> str | None:
    """A sentence in a language; None where it is not known there. English is what sentences are written in."""
    if language == LANGUAGES[0]:
        return text
    return _tell(text, _open_book(language), _DEPTH) if len(text) <= _CHARACTERS else None


def _tell(text: str, book: SentenceBook, depth: int) -> str | None:
    if text in book.whole:
        return book.whole[text]
    lower = text[:1].lower() + text[1:]
    if lower in book.whole:  # the beginning of a sentence
        found = book.whole[lower]
        return found[:1].upper() + found[1:]
    for form in book.forms if depth else ():
        if (match := form.pattern.fullmatch(text)) is not None:
            values = {
                name: _tell(value, book, depth - 1) if name.startswith("said") else value
                for name, value in match.groupdict().items()
            }
            if None not in values.values():
                return form.told.format(**values)
    return None


@cache
def _open_book(language: str) -> SentenceBook:
    known = read_sentences(language, "lycosa.serve")
    for mission in registry.names():
        for package in dict.fromkeys(package_of(page) for page in pages_of(mission)):
            known |= read_sentences(language, package)
    forms = [SentenceForm(_compile(text), told) for text, told in known.items() if _VALUE.search(text)]
    return SentenceBook(catalogue(language) | known, forms)


def _compile(text: str) -> re.Pattern[str]:
    """A pattern of a sentence: its values may be anything, as short as they can."""
    parts = _VALUE.split(text)
    return re.compile(
        "".join(f"(?P<{part}>.+?)" if nth % 2 else re.escape(part) for nth, part in enumerate(parts)), re.DOTALL
    )
