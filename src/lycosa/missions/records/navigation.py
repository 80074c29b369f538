"""Navigation of described sites: an address goes in, the range that takes it comes out.

A range is a set of regular expressions over normalised URLs, with islands: parts of it that are left out. Its mode says
what its pages are for: `seed` and `intermediate` pages lead on, `leaf` pages hold records; one range may be several.
Its category names what its pages have in common: where their links stand, how a list goes on, which schema is applied.
The first range that matches takes the URL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal

import re2
from msgspec import Struct
from turbohtml import Element

from lycosa.errors import UsageError
from lycosa.missions.records.rules import Rule, RuleMatch, RuleScope, SourceMap
from lycosa.model import Link
from lycosa.parse import Doc

Mode = Literal["seed", "intermediate", "leaf"]
MODES: tuple[Mode, ...] = ("seed", "intermediate", "leaf")

MAX_RANGES = 1000
#: Bytes of memory for the automaton of all patterns together.
_MAX_MEM = 64 << 20
#: Links that belong to the page itself, wherever they stand: where it moved to, its own name, its frames.
_OWN_LINKS = frozenset({"refresh", "canonical", "frame"})
_LINKED = "a[href], area[href], link[href]"
#: What tells the following pages of a list from its first: a query, or a number at the end of the path.
_FOLLOWING = re.compile(r"\?.*$|/(?:(?:page|pagina|p|seite|strana|selida)[-/]?)?\d{1,5}/?$|[-_]\d{1,4}(?=\.\w{2,5}$)")


class Range(Struct, frozen=True, kw_only=True):
    """A range of addresses."""

    name: str
    match: tuple[str, ...]
    islands: tuple[str, ...] = ()
    modes: frozenset[Mode] = frozenset({"intermediate"})
    category: str

    @property
    def is_leaf(self) -> bool:
        """Whether its pages hold records."""
        return "leaf" in self.modes

    @property
    def leads_on(self) -> bool:
        """Whether the links of its pages are followed."""
        return self.modes != {"leaf"}


class Category(Struct, frozen=True, kw_only=True):
    """What the pages of a category have in common."""

    name: str
    links: tuple[Rule, ...] = ()  # parts of the page that links are taken from; none: all of it
    paging: tuple[Rule, ...] = ()  # links to the next page of a list
    schema: str = ""  # empty: an article, read without rules


class PatternTable:
    """Regular expressions that are searched all at once, in time linear in the text."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = tuple(patterns)
        options = re2.Options()
        options.max_mem, options.log_errors = _MAX_MEM, False
        self._set = re2.Set.SearchSet(options)
        for pattern in self._patterns:
            self._set.Add(pattern)
        try:
            self._set.Compile()
        except re2.error:
            raise UsageError(
                f"The {len(self._patterns)} patterns of the ranges are too large together; "
                "write fewer or shorter ones, above all smaller counts in braces."
            ) from None

    def find(self, text: str) -> list[int]:
        """The numbers of the patterns that are found in a text."""
        return sorted(self._set.Match(text.encode(errors="replace")) or ()) if self._patterns else []


class Navigation:
    """The ranges and categories of a description."""

    def __init__(self, ranges: Sequence[Range], categories: Iterable[Category]) -> None:
        self.ranges = tuple(ranges)
        self.categories = {category.name: category for category in categories}
        self._matches = PatternTable(chain.from_iterable(each.match for each in ranges))
        self._islands = PatternTable(chain.from_iterable(each.islands for each in ranges))
        self._match_owners = [place for place, each in enumerate(ranges) for _ in each.match]
        self._island_owners = [(place, island) for place, each in enumerate(ranges) for island in each.islands]

    def find(self, url: str) -> Range | None:
        """The range that takes an address; None: it is in none."""
        return self._find_first(url) or self._find_list(url)

    def category_of(self, found: Range) -> Category:
        """The category of a range, as described or plain."""
        return self.categories.get(found.category) or Category(name=found.category)

    def find_islands(self, url: str) -> list[tuple[Range, str]]:
        """The ranges that match an address, each with the island that leaves it out."""
        matching = {self._match_owners[number] for number in self._matches.find(url)}
        islands = (self._island_owners[number] for number in self._islands.find(url))
        return [(self.ranges[place], island) for place, island in islands if place in matching]

    def _find_first(self, url: str) -> Range | None:
        matching = dict.fromkeys(self._match_owners[number] for number in self._matches.find(url))
        if not matching:
            return None
        left_out = {self._island_owners[number][0] for number in self._islands.find(url)}
        return next((self.ranges[place] for place in matching if place not in left_out), None)

    def _find_list(self, url: str) -> Range | None:
        """The range of a list whose following page this is: by its address it has the same category."""
        shorter = _FOLLOWING.sub("", url)
        if shorter == url or self.find_islands(url):
            return None
        for first in (shorter, f"{shorter}/"):
            found = self._find_first(first)
            if found is not None and self.category_of(found).paging:
                return found
        return None

    def choose_links(self, doc: Doc) -> list[Link] | None:
        """The links of a page that are followed; None: all of them, as of a page in no range."""
        found = self.find(doc.url)
        if found is None or doc.tree is None:
            return None
        category = self.category_of(found)
        if found.leads_on and not category.links:
            return None
        own = [link for link in doc.links if link.kind in _OWN_LINKS]
        if not found.leads_on:
            return own
        known = {link.href: link for link in reversed(doc.links)}
        hrefs = dict.fromkeys(_find_hrefs((*category.links, *category.paging), doc))
        return own + [known.get(href) or Link(href) for href in hrefs]


def _find_hrefs(rules: Iterable[Rule], doc: Doc) -> Iterator[str]:
    """The addresses, as written, in the parts of a page that rules find."""
    scope = RuleScope(doc, SourceMap(doc))
    for rule in rules:
        try:
            matches = rule.find(scope)
        except (UsageError, ValueError, RecursionError, MemoryError):  # a rule that cannot be used on this page
            continue
        for match in matches:
            yield from _read_hrefs(match, scope)


def _read_hrefs(match: RuleMatch, scope: RuleScope) -> Iterator[str]:
    if match.is_text:
        if match.text.strip():
            yield match.text.strip()  # an attribute, as xpath://a/@href finds it
        return
    node: Any = match.node if match.piece is None else match.piece.node
    if isinstance(node, Element):
        if (href := node.attr("href")) is not None and node.tag in ("a", "area", "link"):
            yield href
        yield from (href for one in node.select(_LINKED) if (href := one.attr("href")) is not None)
    elif match.piece is not None:
        for piece in scope.source.page.css(_LINKED).inside(match.piece):
            if isinstance(piece.node, Element) and (href := piece.node.attr("href")) is not None:
                yield href
