"""Translations: English as it is written in templates, and Spanish from the tables in `locale/es`.

A text may hold values in braces: `_("{count} waiting", count="3")`. Only texts of ours are ever formatted.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from lycosa.missions.web import mark
from lycosa.output.plain import show_size

__all__ = [
    "LANGUAGES",
    "Translator",
    "catalogue",
    "choose_language",
    "mark",
    "mission_catalogue",
    "mission_translator",
    "read_sentences",
    "translator",
]

LANGUAGES = ("en", "es")
_SENTENCES = "sentences.toml"


@cache
def catalogue(language: str) -> dict[str, str]:
    """The texts of a language by their English form; English needs none."""
    return _read_folder(Path(__file__).parent / "locale" / language) if language in LANGUAGES else {}


@cache
def mission_catalogue(language: str, package: str) -> dict[str, str]:
    """The texts of a mission, which stand in the folder `locale` of a package."""
    folder = files(package) / "locale" / language
    return _read_folder(folder) if language in LANGUAGES else {}


def _read_folder(folder: Traversable) -> dict[str, str]:
    found: dict[str, str] = {}
    if folder.is_dir():
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".toml") and file.name != _SENTENCES:
                found |= tomllib.loads(file.read_text(encoding="utf-8"))
    return found


def read_sentences(language: str, package: str) -> dict[str, str]:
    """The sentences of the core, or of a mission, by their English form, from the folder `locale` of a package."""
    file = files(package) / "locale" / language / _SENTENCES
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


class Translator:
    """The words of one language."""

    def __init__(self, language: str, package: str = "") -> None:
        self.language = language
        self._texts = catalogue(language) | (mission_catalogue(language, package) if package else {})

    def __call__(self, text: str, **values: Any) -> str:
        """A text in this language, or as it is where there is none."""
        found = self._texts.get(text, text)
        return found.format(**values) if values else found

    def count(self, number: int, one: str, many: str) -> str:
        """A number of things: `count(3, "{n} page", "{n} pages")`."""
        return self(one if number == 1 else many, n=self.number(number))

    def number(self, value: float, digits: int = 0) -> str:
        """A number with its thousands apart."""
        return self._with_marks(f"{value:,.{digits}f}")

    def size(self, count: float) -> str:
        """Bytes as people read them."""
        return self._with_marks(show_size(count))

    def _with_marks(self, number: str) -> str:
        return number.translate(str.maketrans(",.", ".,")) if self.language == "es" else number


@cache
def translator(language: str) -> Translator:
    """The words of a language; those of English where we do not speak it."""
    return Translator(language if language in LANGUAGES else LANGUAGES[0])


@cache
def mission_translator(language: str, package: str) -> Translator:
    """The words of a language with those that a mission adds."""
    return Translator(language, package)


def choose_language(accepted: str) -> str:
    """The first of our languages that a browser's Accept-Language asks for; English where it asks for none."""
    wishes: list[tuple[float, str]] = []
    for part in accepted[:1000].split(","):
        tag, _, rest = part.strip().partition(";")
        quality = rest.strip().removeprefix("q=")
        try:
            weight = float(quality) if quality else 1.0
        except ValueError:
            weight = 0.0
        wishes.append((weight, tag.partition("-")[0].lower()))
    wishes.sort(key=lambda wish: -wish[0])
    return next((tag for weight, tag in wishes if weight > 0 and tag in LANGUAGES), LANGUAGES[0])
