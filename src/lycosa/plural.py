"""A number and a noun go in, words out that a person would say: `1 page`, `2 pages`, `3,000 copies`."""

from __future__ import annotations


def plural(noun: str) -> str:
    """The noun for several."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"
