"""Articles for wikis and mail archives: short texts of their own words, each linked to others."""

from __future__ import annotations

import random

_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo")


def make_words(draw: random.Random, count: int) -> str:
    """A sentence of words that mean nothing."""
    words = ("".join(draw.choices(_SYLLABLES, k=draw.randrange(2, 5))) for _ in range(count))
    return " ".join(words).capitalize() + "."


def make_articles(count: int) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Titles, and for each a text and the titles that it links to: the next, and two others."""
    draw = random.Random(14)
    titles = [f"{make_words(draw, 1)[:-1]} {n}" for n in range(1, count + 1)]
    return {
        title: (make_words(draw, 60), (titles[(n + 1) % count], *draw.sample(titles, 2)))
        for n, title in enumerate(titles)
    }
