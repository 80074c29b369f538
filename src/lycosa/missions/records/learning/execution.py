"""What learned rules give on a page, as those of schemas give it."""

from __future__ import annotations

from functools import lru_cache

import turbohtml
from msgspec import Struct
from turbohtml import Document

from lycosa.missions.records.learning.places import fold
from lycosa.missions.records.rules import find_css, find_xpath

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
        if language == "css":
            found = find_css(tree, expression, most=MAX_VALUES)
        else:
            found = find_xpath(tree, _compile(expression), most=MAX_VALUES)
    except (ValueError, TypeError):
        return []
    texts = (fold((match.take("text") or "")[:_MAX_TEXT]) for match in found)
    return list(dict.fromkeys(text for text in texts if text))


_compile = lru_cache(maxsize=4096)(turbohtml.XPath)


def run_field(rule: FieldRule, tree: Document) -> list[str]:
    """What the first alternative that gives something gives: all of it, or its first value."""
    for expression in rule.rules:
        if values := run(expression, tree):
            return values if rule.several else values[:1]
    return []
