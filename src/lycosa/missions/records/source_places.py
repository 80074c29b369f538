"""Where something that a rule found stands in the source of its page, as line and column from 1.

The tree of a page keeps no places, as hardly anybody asks for them: the first question reads the page a second time.
"""

from __future__ import annotations

from typing import NamedTuple

import turbohtml
from turbohtml import Element, Node, SourceLocation

from lycosa.missions.records.algebra import Piece, TaggedPage
from lycosa.missions.records.algebra.tag_row import TagRow
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
