"""What learned rules give on a page: the part of the schema language that they use."""

from __future__ import annotations

from msgspec import Struct
from turbohtml import Document, Element

from lycosa.missions.records.learning.places import fold

#: A rule that gives more than this on a page is no rule for a field.
MAX_VALUES = 200
_MAX_TEXT = 20_000


class FieldRule(Struct, frozen=True):
    """The learned rule of a field: alternatives in their order, and whether all matches count."""

    rules: tuple[str, ...]
    several: bool


def run(rule: str, tree: Document) -> list[str]:
    """The different values that a rule (`css:…` or `xpath:…`) gives on a page, in its order, folded; [] if it fails."""
    language, _, expression = rule.partition(":")
    try:
        found = tree.select(expression) if language == "css" else tree.xpath(expression)
    except (ValueError, TypeError):
        return []
    values: dict[str, None] = {}
    for match in found[:MAX_VALUES] if isinstance(found, list) else ():
        text = fold((match.text if isinstance(match, Element) else str(match))[:_MAX_TEXT])
        if text:
            values[text] = None
    return list(values)


def run_field(rule: FieldRule, tree: Document) -> list[str]:
    """What the first alternative that gives something gives: all of it, or its first value."""
    for expression in rule.rules:
        if values := run(expression, tree):
            return values if rule.several else values[:1]
    return []
