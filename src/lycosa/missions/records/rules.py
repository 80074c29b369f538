"""Rules: what finds the value of a field on a page, each `LANGUAGE:EXPRESSION`.

css:h1.title                      elements by a CSS selector
xpath://h1[@class]/text()         elements, attributes or texts by XPath 1.0
algebra:elem("td") after …        pieces by the tag algebra (docs/algebra.md)
json:Article.author.name          a path into the structured data of the page, whatever its syntax
built-in:main-text                what lycosa finds without a rule
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import turbohtml
from msgspec import Struct, field
from turbohtml import Element, Node, SourceLocation, Text

from lycosa.content.article import BUILT_IN, read_article
from lycosa.content.structured import read_structured, walk_items
from lycosa.errors import UsageError
from lycosa.missions.records.algebra import Piece, PieceSet, TaggedPage, parse_expression
from lycosa.missions.records.algebra.expression import take_of
from lycosa.missions.records.algebra.page import WorkExceeded
from lycosa.missions.records.algebra.relations import TagRow
from lycosa.missions.records.guards import XPathGuard
from lycosa.parse import Doc, charset

_SOUGHT = 40
_NEAR = 10_000


class SourcePlace(NamedTuple):
    """A line and a column, from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class SourceMap:
    """The places of the elements and texts of one page."""

    def __init__(self, doc: Doc) -> None:
        self._doc = doc
        self._page: TaggedPage | None = None
        self._source = ""
        self._locations: list[SourceLocation | None] | None = None

    @property
    def page(self) -> TaggedPage:
        """The page for the algebra, made once."""
        if self._page is None:
            self._page = TaggedPage(self._doc)
        return self._page

    def find_node(self, node: Node) -> SourcePlace | None:
        """Where an element begins; None for those that the source only implies."""
        found = self.page.pieces_of([node])
        return self.find_piece(found[0]) if found else None

    def find_piece(self, piece: Piece) -> SourcePlace | None:
        """Where a piece begins."""
        if self._locations is None:
            self._locations = self._read()
        if not self._locations:
            return None
        origin = self.page.row.origin_of(piece.begin)
        location = self._locations[origin.begun] if origin.begun >= 0 else None
        if origin.is_tag:
            return self._place(location.start_tag.start_offset) if location else None
        at = location.start_tag.end_offset if location else 0
        for place in origin.closed:
            if (closed := self._locations[place]) and closed.end_tag:
                at = max(at, closed.end_tag.end_offset)
        behind = at + len(origin.before)
        if self._source[at:behind] == origin.before:
            return self._place(behind)
        # Entities, or tags that the source leaves out, stand between: the text itself is looked for.
        sought = piece.text[:_SOUGHT].split("&")[0].split("<")[0]
        found = self._source.find(sought, at, at + _NEAR) if sought else -1
        return self._place(found if found >= 0 else at)

    def _place(self, offset: int) -> SourcePlace:
        return SourcePlace(self._source.count("\n", 0, offset) + 1, offset - self._source.rfind("\n", 0, offset))

    def _read(self) -> list[SourceLocation | None]:
        """The location of every named piece; nothing where the source read again gives another tree."""
        row = self.page.row
        if not row.nodes:
            return []
        text = charset.decode(self._doc.body, self._doc.charset)
        self._source = text.replace("\r\n", "\n").replace("\r", "\n")
        tree = turbohtml.parse(
            self._source, source_locations=True, scripting=False, allow_declarative_shadow_roots=False
        )
        again = TagRow(tree)
        if again.names != row.names:
            return []
        return [node.source_location if isinstance(node, Element) else None for node in again.nodes]


MAX_RULE = 4000
#: How many matches of a rule are looked at.
MAX_FOUND = 10_000
BUILT_INS = ("main-text", "title", "authors", "date", "language", "url", "canonical", "text")
_CLIMB = 6
_MAX_LABEL = 1000
_WORD = re.compile(r"\w")
_BRACKETS = re.compile(r"\([^()]*\)")
_SIBLINGS = 200
_TYPESET = "a abbr b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span strike strong"
_INLINE = frozenset(f"{_TYPESET} sub sup time tt u var wbr img".split())


class RuleScope(Struct):
    """The part of a page that a rule looks at: all of it, an element, or a piece."""

    doc: Doc
    source: SourceMap
    node: Node | None = None
    piece: Piece | None = None
    shared: dict[str, Any] = field(default_factory=dict)  # what rules made of the page, for all its parts

    def within(self, found: RuleMatch) -> RuleScope:
        """The part that a rule found."""
        return RuleScope(self.doc, self.source, found.node, found.piece, self.shared)

    def find_piece(self) -> Piece | None:
        """The part as a piece; None when it is all of the page."""
        if self.piece is None and isinstance(self.node, Element):
            return next(iter(self.source.page.pieces_of([self.node])), None)
        return self.piece


class RuleMatch(Struct):
    """Something that a rule found: an element, a piece of the page, or but a text."""

    text: str = ""
    node: Node | None = None  # of a text: the element that it stands in
    piece: Piece | None = None
    is_text: bool = False

    def take(self, take: str) -> str | None:
        """Its text, its markup, or `attribute NAME` of it; None without that."""
        if self.is_text:
            return self.text
        if self.piece is not None:
            return take_of(self.piece, take)
        if take == "text" or self.node is None:
            return self.text if self.node is None else self.node.text
        if take == "markup":
            return self.node.html
        return self.node.attr(take.removeprefix("attribute ")) if isinstance(self.node, Element) else None

    def locate(self, source: SourceMap) -> SourcePlace | None:
        if self.piece is not None:
            return source.find_piece(self.piece)
        return None if self.node is None else source.find_node(self.node)

    def follows(self, label: str) -> bool:
        """Whether a label stands before it in its line or row, without another label between."""
        sought = " ".join(label.split()).casefold()
        node = self.node if self.piece is None else self.piece.node
        if self.piece is not None and node is None:
            around = self.piece.page.parent_of(self.piece)
            if around is None or around.node is None:
                return False
            node = around.node
            before = _fold(self.piece.page.read_text(around.begin, self.piece.begin))
            if sought in before or ":" in before:
                return _ends_line(before, sought)
        return node is not None and _is_labelled(node, sought)


class Rule(Struct, frozen=True):
    """A rule that was read."""

    source: str
    find: Callable[[RuleScope], list[RuleMatch]]
    take: str = ""  # what the expression itself takes


def parse_rule(source: str, *, nested: bool = False) -> Rule:
    """Read a rule; `nested`: it looks inside a record, so that a path from the root begins there."""
    language, colon, expression = source.partition(":")
    language, expression = language.strip(), expression.strip()
    if not colon or language not in _LANGUAGES:
        allowed = ", ".join(f"{name}:" for name in _LANGUAGES)
        raise UsageError(
            f'The rule "{source[:80]}" begins with no language; allowed: {allowed} and then the expression.'
        )
    if not expression or len(source) > MAX_RULE:
        raise UsageError(f'The rule "{source[:80]}" has {len(expression):,} characters; allowed: 1 to {MAX_RULE:,}.')
    if language == "xpath" and nested and expression.startswith("/"):
        expression = f".{expression}"
    return _LANGUAGES[language](source, expression)


def find_css(root: Node, selector: str, *, most: int = MAX_FOUND) -> list[RuleMatch]:
    """The elements that a selector takes."""
    return [RuleMatch(node=element) for element in root.select(selector)[:most]]


def find_xpath(root: Node, path: turbohtml.XPath, *, most: int = MAX_FOUND) -> list[RuleMatch]:
    """The nodes that a path leads to, or its text."""
    found = path(root)
    return [_as_found(one) for one in (found[:most] if isinstance(found, list) else [found])]


def _read_css(source: str, selector: str) -> Rule:
    try:
        turbohtml.parse("").select(selector)
    except ValueError as error:
        raise UsageError(f'The rule "{source[:200]}" is no CSS selector: {error}.') from None

    def find(scope: RuleScope) -> list[RuleMatch]:
        if scope.piece is not None and scope.piece.node is None:
            inside = scope.source.page.css(selector).inside(scope.piece)
            return [RuleMatch(piece=piece) for piece in inside[:MAX_FOUND]]
        root = scope.node or (scope.piece.node if scope.piece else None) or scope.doc.tree
        return [] if root is None else find_css(root, selector)

    return Rule(source, find)


def compile_xpath(expression: str) -> turbohtml.XPath:
    """A path that was read; ValueError says what is wrong with it."""
    path = turbohtml.XPath(expression, smart_strings=True)
    path(turbohtml.parse(""))
    return path


def _read_xpath(source: str, expression: str) -> Rule:
    try:
        path = compile_xpath(expression)
    except ValueError as error:
        raise UsageError(f'The rule "{source[:200]}" is no XPath: {error}.') from None
    guard = XPathGuard(expression)

    def find(scope: RuleScope) -> list[RuleMatch]:
        root = scope.node or (scope.piece.node if scope.piece else None) or scope.doc.tree
        if root is None or scope.doc.tree is None:
            return []
        guard.check(root, scope.doc.tree, scope.shared)
        return find_xpath(root, path)

    return Rule(source, find)


def _as_found(found: object) -> RuleMatch:
    """A result of XPath: a node, or a text that knows its element."""
    if isinstance(found, Node):
        return RuleMatch(node=found)
    if isinstance(found, bool):
        return RuleMatch("true" if found else "", is_text=True)
    text = f"{found:g}" if isinstance(found, float) else str(found)
    parent = found.getparent() if hasattr(found, "getparent") else None
    return RuleMatch(text, node=parent, is_text=True)


def _read_algebra(source: str, expression: str) -> Rule:
    parsed = parse_expression(expression)

    def find(scope: RuleScope) -> list[RuleMatch]:
        if source not in scope.shared:  # once for all records of the page
            try:
                scope.shared[source] = parsed.evaluate(scope.source.page)
            except WorkExceeded as error:
                scope.shared[source] = error
        pieces: PieceSet | WorkExceeded = scope.shared[source]
        if isinstance(pieces, WorkExceeded):
            raise pieces
        around = scope.find_piece()
        return [RuleMatch(piece=p) for p in (pieces if around is None else pieces.inside(around))[:MAX_FOUND]]

    return Rule(source, find, parsed.take)


def _read_json(source: str, path: str) -> Rule:
    *keys, last = path.split(".")
    if not all((*keys, last)):
        raise UsageError(f'The rule "{source[:80]}" has an empty name in its path; allowed: NAME.NAME…')

    def find(scope: RuleScope) -> list[RuleMatch]:
        if scope.doc.tree is None:
            return []
        if "structured" not in scope.shared:
            scope.shared["structured"] = list(walk_items(read_structured(scope.doc.tree, base=scope.doc.base)))
        texts: list[str] = []
        for item in scope.shared["structured"]:
            here = keys[1:] if keys and keys[0] in item.types else keys
            texts += [text for thing in _descend(item, here) for text in thing.texts(last)]
        return [RuleMatch(text, is_text=True) for text in texts[:MAX_FOUND]]

    return Rule(source, find)


def _descend(item: Any, keys: list[str]) -> list[Any]:
    """The things at the end of a path of properties."""
    things = [item]
    for key in keys:
        things = [value for thing in things for value in thing.properties.get(key, ()) if not isinstance(value, str)]
    return things[:MAX_FOUND]


def _read_built_in(source: str, name: str) -> Rule:
    if name not in BUILT_INS:
        raise UsageError(f'The rule "{source[:80]}" names nothing that is built in; allowed: {", ".join(BUILT_INS)}.')
    return Rule(source, lambda scope: _find_built_in(scope, name))


def _find_built_in(scope: RuleScope, name: str) -> list[RuleMatch]:
    """What lycosa finds without a rule: what every page has, and what an article has."""
    doc = scope.doc
    if name in ("url", "canonical", "text"):
        texts, element = [getattr(doc, name)], None
    elif doc.tree is None:
        return []
    else:
        if "article" not in scope.shared:
            scope.shared["article"] = read_article(doc.tree, url=doc.url, language=doc.language)
        article = scope.shared["article"]
        texts, element = BUILT_IN[name](article), article.element if name == "main-text" else None
    return [RuleMatch(text, node=element, is_text=True) for text in texts if text]


_LANGUAGES: dict[str, Callable[[str, str], Rule]] = {
    "css": _read_css,
    "xpath": _read_xpath,
    "algebra": _read_algebra,
    "json": _read_json,
    "built-in": _read_built_in,
}


def _is_labelled(node: Node, label: str) -> bool:
    """Whether a label stands before a node in its line, or is the cell, term or block before it."""
    current: Node | None = node
    for _ in range(_CLIMB):
        if not isinstance(current, Element) or current.tag in ("body", "table"):
            break
        line, block = _text_before(current)
        if label in line or ":" in line:
            return _ends_line(line, label)
        if label in block:
            return not _WORD.search(_BRACKETS.sub("", block.rpartition(label)[2]))
        current = current.parent
    return False


def _ends_line(line: str, label: str) -> bool:
    """Whether a label is the last one in what stands before a value."""
    _, found, between = line.rpartition(label)
    return bool(found) and ":" not in between.lstrip(" :")


def _text_before(node: Node) -> tuple[str, str]:
    """What stands before a node in its line, and the text of the block before that, folded."""
    parts: list[str] = []
    sibling = node.previous_sibling
    for _ in range(_SIBLINGS):
        if sibling is None:
            break
        if isinstance(sibling, Text):
            parts.append(sibling.data)
        elif isinstance(sibling, Element):
            is_line = any(part.strip() for part in parts)
            if sibling.tag in _INLINE:
                parts.append(sibling.text[-_MAX_LABEL:])
            elif is_line and sibling.tag in ("br", "hr"):
                break
            elif sibling.tag != "dd" or getattr(node, "tag", "") != "dd":  # one term may have several descriptions
                block = _fold(sibling.text[-_MAX_LABEL:])
                if block or is_line:
                    return _fold("".join(reversed(parts))), block
        sibling = sibling.previous_sibling
    return _fold("".join(reversed(parts))), ""


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()
