"""Counted nouns in English, as a person would say them: `1 page`, `2 pages are`, `3,000 copies`."""

from __future__ import annotations

_VERBS = {"is": "are", "was": "were", "has": "have"}


def plural(noun: str) -> str:
    """The noun for several."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def counted(number: int, noun: str, verb: str = "") -> str:
    """A number of things, with a verb given in the singular: `is`, `was`, `has`, `fits`."""
    if number == 1:
        return f"1 {noun} {verb}".rstrip()
    return f"{number:,} {plural(noun)} {_VERBS.get(verb, verb.removesuffix('s'))}".rstrip()
