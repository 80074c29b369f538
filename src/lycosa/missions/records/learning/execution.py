"""What a rule gives on a page: the part of the schema language that learned rules use."""

from __future__ import annotations

import turbohtml
from turbohtml import Document, Element

from lycosa.missions.records.learning.places import fold

#: A rule that gives more than this on a page is no rule for a field.
MAX_VALUES = 200
_MAX_TEXT = 20_000


def run(rule: str, tree: Document) -> list[str]:
    """The different values that a rule (`css:…` or `xpath:…`) gives on a page, in its order, folded; [] if it fails."""
    language, _, expression = rule.partition(":")
    try:
        found = tree.select(expression) if language == "css" else tree.xpath(expression)
    except (ValueError, TypeError):
        return []
    if not isinstance(found, list):
        return []
    values: dict[str, None] = {}
    for match in found[:MAX_VALUES]:
        text = fold((match.text if isinstance(match, Element) else str(match))[:_MAX_TEXT])
        if text:
            values[text] = None
    return list(values)


def run_field(rules: tuple[str, ...], tree: Document, *, several: bool) -> list[str]:
    """What the first rule that gives something gives: all of it, or its first value."""
    for rule in rules:
        if values := run(rule, tree):
            return values if several else values[:1]
    return []


__all__ = ["MAX_VALUES", "run", "run_field", "turbohtml"]
