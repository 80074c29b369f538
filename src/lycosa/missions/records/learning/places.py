"""Where the values of an example stand on its page, and what learned rules find there."""

from __future__ import annotations

import html
from collections import defaultdict
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import turbohtml
from msgspec import Struct
from turbohtml import Document, Element, Node, Text

from lycosa.missions.records.rules import find_css, find_xpath

#: A value that stands on a page more often than this is looked at in so many places, the first ones.
MAX_PLACES = 24
MAX_TEXTS = 60_000
MAX_VALUE = 5_000
MAX_DEPTH = 300
_MAX_CLIMB = 5
_MAX_BEGINNINGS = 500
_SILENT = frozenset({"script", "style", "noscript", "template", "textarea", "option"})
_ATTRIBUTES = ("content", "title", "alt", "value", "href", "src", "datetime")


def one_line(text: str) -> str:
    """A value as values are compared: white space, also the unbreakable one, folded."""
    return " ".join(text.replace("\xa0", " ").split())


def xpath_one_line(text: str) -> str:
    """A text as XPath's normalize-space() gives it: only ASCII white space is folded."""
    return " ".join(part for part in text.translate(_TO_SPACE).split(" ") if part)


_TO_SPACE = str.maketrans(dict.fromkeys("\t\n\r", " "))


class ValuePlace(NamedTuple):
    """Where a value stands: in an element as a whole, in one of its text nodes, or in one of its attributes."""

    element: Element
    #: The value's text node where it is not all that the element says.
    text: Text | None = None
    attribute: str = ""
    #: The place of the (first) text node in the order of the page, to look for labels before it.
    position: int = -1


class PageIndex:
    """The text nodes of a page in its order, and which values stand where."""

    def __init__(self, tree: Document) -> None:
        self.tree = tree
        self.texts: list[Text] = []
        self.parents: list[Element] = []
        self.folded: list[str] = []
        self._at: dict[str, list[int]] = defaultdict(list)
        self.usable = True  # False for a page that nests so deep that paths over it take minutes
        depths: dict[Node, int] = {}
        for node in tree.descendants:
            if isinstance(node, Element):
                depths[node] = depth = depths.get(node.parent, 0) + 1 if node.parent is not None else 1
                if depth > MAX_DEPTH:
                    self.usable = False
                    return
            if not isinstance(node, Text):
                continue
            parent = node.parent
            if not isinstance(parent, Element) or parent.tag in _SILENT:
                continue
            text = one_line(node.data[: 4 * MAX_VALUE])
            if text:
                self._at[text].append(len(self.texts))
                self.texts.append(node)
                self.parents.append(parent)
                self.folded.append(text)
                if len(self.texts) >= MAX_TEXTS:
                    break

    def written(self, value: str) -> str:
        """A value as the page has it: examples come with character references where they were cut from the source."""
        value = one_line(value)
        return value if "&" not in value or self.places(value) else one_line(html.unescape(value))

    def places(self, value: str) -> list[ValuePlace]:
        """The places of a value: its text nodes; else the small elements that say it; else attributes."""
        value = one_line(value)
        if not value or len(value) > MAX_VALUE:
            return []
        found = []
        for position in self._at.get(value, ())[:MAX_PLACES]:
            element = self.parents[position]
            whole = one_line(element.text[: 8 * MAX_VALUE]) == value
            found.append(ValuePlace(element, None if whole else self.texts[position], position=position))
        return found or self._elements(value) or self._in_attributes(value)

    def _elements(self, value: str) -> list[ValuePlace]:
        found: list[ValuePlace] = []
        begin = (n for n, text in enumerate(self.folded) if value.startswith(text))
        for position in islice(begin, _MAX_BEGINNINGS):
            element: object = self.parents[position]
            for _ in range(_MAX_CLIMB):
                if not isinstance(element, Element):
                    break
                said = one_line(element.text[: 8 * MAX_VALUE])
                if said == value:
                    found.append(ValuePlace(element, position=position))
                if len(said) >= len(value) + 200 or said == value:
                    break
                element = element.parent
            if len(found) >= MAX_PLACES:
                break
        return found

    def _in_attributes(self, value: str) -> list[ValuePlace]:
        found = []
        for element in self.tree.iter_elements():
            for name in _ATTRIBUTES:
                said = element.attr(name)
                if said and one_line(str(said)) == value:
                    found.append(ValuePlace(element, attribute=name))
            if len(found) >= MAX_PLACES:
                break
        return found


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
    texts = (one_line((match.take("text") or "")[:_MAX_TEXT]) for match in found)
    return list(dict.fromkeys(text for text in texts if text))


_compile = lru_cache(maxsize=4096)(turbohtml.XPath)


def run_field(rule: FieldRule, tree: Document) -> list[str]:
    """What the first alternative that gives something gives: all of it, or its first value."""
    for expression in rule.rules:
        if values := run(expression, tree):
            return values if rule.several else values[:1]
    return []
