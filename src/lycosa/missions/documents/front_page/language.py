"""The language of a text, among those that universities of the west write in."""

from __future__ import annotations

from functools import cache
from typing import Any

LANGUAGES = ("es", "en", "pt", "ca", "gl", "eu", "fr", "it", "de")
SAMPLE_CHARS = 5000


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(LANGUAGES))
    return identifier


def identify_language(text: str) -> tuple[str, float]:
    """The language and how sure it is; nothing where there are too few words."""
    text = " ".join(text[: 4 * SAMPLE_CHARS].split())
    start = max(0, min(len(text) - SAMPLE_CHARS, SAMPLE_CHARS))  # after abstracts in other languages
    sample = text[start : start + SAMPLE_CHARS]
    if sum(letter.isalpha() for letter in sample[:400]) < 40:
        return "", 0.0
    language, probability = _identifier().classify(sample)
    return str(language), min(0.99, float(probability))
