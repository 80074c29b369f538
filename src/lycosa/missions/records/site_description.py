"""Description of sites: the tables [records…] of a mission file, checked and ready for use; and navigation by them.

    [[records.ranges]]
    match = '^https://news\\.example/\\d{4}/'
    mode = "leaf"
    category = "article"
    [records.categories.article]
    schema = "story"
    [records.schemas.story.fields.title]
    rule = "css:h1"

A range is a set of regular expressions over normalised URLs, with islands: parts of it that are left out. Its mode says
what its pages are for: `seed` and `intermediate` pages lead on, `leaf` pages hold records; one range may be several.
Its category names what its pages have in common: where their links stand, how a list goes on, which schema is applied.
The first range that matches takes the URL.

`check_description` tells all that is wrong with the tables, `read_description` makes one of tables that are right, and
`complete_description` puts the schemas that stand in files of their own into the tables.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import msgspec
import re2
from msgspec import Struct
from turbohtml import Element

from lycosa.config.mission_table import Place
from lycosa.config.types import nearest
from lycosa.errors import UsageError
from lycosa.missions.records.guards import compile_pattern
from lycosa.missions.records.rules import Rule, RuleMatch, RuleScope, SourceMap, parse_rule
from lycosa.missions.records.schema import Schema, SchemaProblem, has_built_in, load_schema, read_file, read_table
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
        hrefs = dict.fromkeys(find_hrefs((*category.links, *category.paging), doc))
        return own + [known.get(href) or Link(href) for href in hrefs]


def find_hrefs(rules: Iterable[Rule], doc: Doc) -> Iterator[str]:
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


_load_built_in = lru_cache(maxsize=100)(load_schema)
MAX_SCHEMAS = 1000
MAX_PATTERNS = 100
_RANGE_KEYS = ("name", "match", "islands", "mode", "category")
_CATEGORY_KEYS = ("links", "paging", "schema")


class SiteDescription:
    """Where to go, and what to take there."""

    def __init__(self, navigation: Navigation, schemas: Mapping[str, Schema], *, version: str) -> None:
        self.navigation = navigation
        self.schemas = dict(schemas)
        self.version = version

    def schema_of(self, found: Range) -> Schema:
        """The schema of the leaf pages of a range: that of its category, or an article without rules."""
        name = self.navigation.category_of(found).schema
        return self.schemas.get(name) or _load_built_in(name or "article")

    def schemas_for(self, url: str) -> list[Schema]:
        """The schemas that are applied to a page: of its range; without ranges, all there are."""
        if not self.navigation.ranges:
            return list(self.schemas.values())
        found = self.navigation.find(url)
        return [self.schema_of(found)] if found is not None and found.is_leaf else []

    def explain(self, url: str) -> str:
        """Which range takes an address, and what for; or why none does."""
        navigation = self.navigation
        if not navigation.ranges:
            return f"every page is looked at, for {', '.join(self.schemas)}"
        islands = [
            f'the island {island!r} leaves it out of "{left.name}"' for left, island in navigation.find_islands(url)
        ]
        found = navigation.find(url)
        if found is None:
            return "; ".join(islands) or f"none of the {len(navigation.ranges)} ranges matches"
        modes = ", ".join(mode for mode in MODES if mode in found.modes)
        said = f'the range "{found.name}" takes it: {modes}, category {found.category}'
        if found.is_leaf:
            said += f", schema {self.schema_of(found).name}"
        category = navigation.category_of(found)
        for name, rules in (("links", category.links), ("paging", category.paging)) if found.leads_on else ():
            if rules:
                said += f", {name} by {' | '.join(rule.source for rule in rules)}"
        return "; ".join((said, *islands))


def is_described(settings: Mapping[str, Any]) -> bool:
    """Whether own settings describe anything."""
    return any(settings.get(key) for key in ("ranges", "schemas"))


def read_description(settings: Mapping[str, Any]) -> SiteDescription:
    """The description that tables give; UsageError says what is wrong with them."""
    reader = _DescriptionReader(settings)
    description = reader.read()
    if description is None:
        place, said = reader.problems[0]
        raise UsageError(f"records.{'.'.join(map(str, place))}: {said}")
    return description


def check_description(settings: Mapping[str, Any]) -> list[tuple[Place, str]]:
    """All that is wrong with the tables of a description."""
    reader = _DescriptionReader(settings)
    reader.read()
    return reader.problems


def complete_description(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The tables with the schemas in files that categories name, beside the mission file, put into them."""
    completed = {**settings}
    schemas = completed.get("schemas", {})
    categories = completed.get("categories", {})
    if not isinstance(categories, Mapping) or not isinstance(schemas, Mapping):
        return completed
    for name, table in categories.items():
        file = table.get("schema") if isinstance(table, Mapping) else None
        if not isinstance(file, str) or not file.endswith(".toml") or file in schemas:
            continue
        text = read_file(folder / file)
        kind, content = as_own_table(text, where=str(folder / file))
        if schemas.get(kind, content) != content:
            raise UsageError(f'{folder / file}: [records.schemas] has another schema "{kind}"; rename one of them.')
        schemas = {**schemas, kind: content}
        categories = {**categories, name: {**table, "schema": kind}}
    return completed | {key: value for key, value in (("categories", categories), ("schemas", schemas)) if value}


def as_own_table(text: str, *, where: str) -> tuple[str, dict[str, Any]]:
    """The name of a schema in a file of its own, and its table as [records.schemas.NAME] has it."""
    from lycosa.missions.records.schema import read_schema

    schema = read_schema(text, where=where)
    data = tomllib.loads(text)
    head = {key: value for key, value in data["schema"].items() if key != "name"}
    return schema.name, {**head, "fields": data["fields"]}


class _DescriptionReader:
    """Reads the tables, and gathers what is wrong with them."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self.problems: list[tuple[Place, str]] = []

    def read(self) -> SiteDescription | None:
        """The description; None where there are problems."""
        schemas = self._read_schemas()
        categories = self._read_categories(schemas)
        ranges = self._read_ranges()
        used = {each.category for each in ranges}
        for name in categories if ranges and not self.problems else ():
            if name not in used:
                said = f"no range has this category{_guess(name, used)}; allowed: {', '.join(sorted(used))}"
                self._complain(("categories", name), said)
        if self.problems:
            return None
        digest = hashlib.sha256(msgspec.json.encode(dict(self._settings), order="deterministic")).hexdigest()
        try:
            navigation = Navigation(ranges, categories.values())
        except UsageError as problem:
            self._complain(("ranges",), str(problem).removesuffix("."))
            return None
        return SiteDescription(navigation, schemas, version=digest[:12])

    def _complain(self, place: Place, said: str) -> None:
        self.problems.append((place, said))

    def _read_schemas(self) -> dict[str, Schema]:
        tables = self._table(self._settings.get("schemas", {}), ("schemas",))
        if len(tables) > MAX_SCHEMAS:
            self._complain(("schemas",), f"there are {len(tables):,} schemas; allowed: up to {MAX_SCHEMAS:,}")
            return {}
        found: dict[str, Schema] = {}
        for name, table in tables.items():
            try:
                found[name] = read_table(name, self._table(table, ("schemas", name)))
            except SchemaProblem as problem:
                self._complain(("schemas", name, *problem.within), problem.said)
        return found

    def _read_categories(self, schemas: Mapping[str, Schema]) -> dict[str, Category]:
        tables = self._table(self._settings.get("categories", {}), ("categories",))
        return {name: self._read_category(name, table, schemas) for name, table in tables.items()}

    def _read_category(self, name: str, given: object, schemas: Mapping[str, Schema]) -> Category:
        place: Place = ("categories", name)
        table = self._table(given, place)
        self._check_keys(table, _CATEGORY_KEYS, place)
        schema = self._text(table, "schema", place)
        tables = self._settings.get("schemas", {})
        if schema and schema not in schemas and schema not in tables and not has_built_in(schema):
            allowed = "one of [records.schemas], one that is built in, or FILE.toml beside the mission file"
            said = f'there is no schema "{schema[:80]}"{_guess(schema, schemas)}; allowed: {allowed}'
            self._complain((*place, "schema"), said)
        return Category(
            name=name,
            links=self._rules(table, "links", place),
            paging=self._rules(table, "paging", place),
            schema=schema,
        )

    def _read_ranges(self) -> list[Range]:
        tables = self._settings.get("ranges", [])
        if not isinstance(tables, Sequence) or len(tables) > MAX_RANGES:
            self._complain(("ranges",), f"allowed: up to {MAX_RANGES:,} tables [[records.ranges]]")
            return []
        found: list[Range] = []
        for number, table in enumerate(tables):
            if (one := self._read_range(number, self._table(table, ("ranges", number)))) is not None:
                found.append(one)
        return _name_ranges(found)

    def _read_range(self, number: int, table: Mapping[str, Any]) -> Range | None:
        place: Place = ("ranges", number)
        before = len(self.problems)
        self._check_keys(table, _RANGE_KEYS, place)
        patterns = self._texts(table, "match", place)
        if not patterns and "match" not in table:
            self._complain(place, "it has no match; allowed: match = 'REGEX', or a list of such")
        for key in ("match", "islands"):
            self._check_patterns(self._texts(table, key, place), (*place, key))
        modes = self._texts(table, "mode", place)
        for mode in modes:
            if mode not in MODES:
                self._complain((*place, "mode"), f'found "{mode[:40]}"; allowed: {", ".join(MODES)}, one or several')
        category = self._text(table, "category", place)
        if not category:
            self._complain(place, 'it has no category; allowed: category = "NAME", of your choice')
        if len(self.problems) > before:
            return None
        return Range(
            name=self._text(table, "name", place),
            match=patterns,
            islands=self._texts(table, "islands", place),
            modes=frozenset(mode for mode in MODES if mode in (modes or ("intermediate",))),
            category=category,
        )

    def _check_patterns(self, patterns: Sequence[str], place: Place) -> None:
        if len(patterns) > MAX_PATTERNS:
            self._complain(place, f"there are {len(patterns):,} patterns; allowed: up to {MAX_PATTERNS}")
        for pattern in patterns[:MAX_PATTERNS]:
            try:
                compile_pattern(pattern)
            except UsageError as problem:
                self._complain(place, str(problem).removesuffix("."))

    def _rules(self, table: Mapping[str, Any], key: str, place: Place) -> tuple[Rule, ...]:
        rules: list[Rule] = []
        for text in self._texts(table, key, place):
            try:
                rules.append(parse_rule(text))
            except UsageError as problem:
                self._complain((*place, key), str(problem).removesuffix("."))
        return tuple(rules)

    def _table(self, value: object, place: Place) -> Mapping[str, Any]:
        if isinstance(value, Mapping):
            return value
        self._complain(place, f"found {value!r:.40}; allowed: a table")
        return {}

    def _texts(self, table: Mapping[str, Any], key: str, place: Place) -> tuple[str, ...]:
        value = table.get(key, ())
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) and text for text in texts):
            problem: tuple[Place, str] = ((*place, key), f"found {value!r:.40}; allowed: a text, or a list of texts")
            if problem not in self.problems:
                self.problems.append(problem)
            return ()
        return tuple(texts)

    def _text(self, table: Mapping[str, Any], key: str, place: Place) -> str:
        value = table.get(key, "")
        if isinstance(value, str):
            return value.strip()
        self._complain((*place, key), f"found {value!r:.40}; allowed: a text")
        return ""

    def _check_keys(self, table: Mapping[str, Any], allowed: Sequence[str], place: Place) -> None:
        for key in table:
            if key not in allowed:
                said = f"there is no such setting{_guess(key, allowed)}; allowed: {', '.join(allowed)}"
                self._complain((*place, key), said)


def _guess(name: str, known: Iterable[str]) -> str:
    meant = nearest(name, known)
    return f" (did you mean {meant}?)" if meant else ""


def _name_ranges(ranges: Iterable[Range]) -> list[Range]:
    """Ranges without a name get that of their category, numbered where several would have it."""
    named = list(ranges)
    taken = {each.name for each in named}
    for place, each in enumerate(named):
        if each.name:
            continue
        name, number = each.category, 1
        while name in taken:
            number += 1
            name = f"{each.category} {number}"
        taken.add(name)
        named[place] = msgspec.structs.replace(each, name=name)
    return named
