"""Pieces of a page and sets of them, with every operator of the algebra as a method.

A page is a flat row of tags and characters. Tags and characters have odd positions, the gaps between them even ones. An
element's piece runs from its first tag to its last; a piece without a name, such as a match of a pattern, runs from gap
to gap. So two searches for the same word give equal pieces, and no search changes the page.

Making a page costs one walk over its tree; elements, text and matches are remembered, as rules ask for the same ones.
Operators work on positions alone: the pieces themselves are made when somebody looks at them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import accumulate, chain, compress, repeat
from operator import attrgetter, not_
from typing import overload

from msgspec import Struct
from turbohtml import Document, Element, Node

from lycosa.errors import LycosaError, UsageError
from lycosa.missions.records.algebra import relations
from lycosa.missions.records.algebra.relations import Chosen, Spans, TagRow
from lycosa.missions.records.guards import find_spans, is_plain
from lycosa.parse import Doc

MAX_SEQUENCE = 50
#: What one evaluation may touch, in pieces and in runs of 64 characters, where a match counts as several: some seconds.
MAX_WORK = 1_000_000
_CHARS = 64
_MATCH = 4
_NO_BOUND = 1 << 62
#: Elements whose text is written as it is (13.3 "Serializing HTML fragments").
_RAW = frozenset({"iframe", "noembed", "noframes", "plaintext", "script", "style", "xmp"})
_BLANKS = " \t\r\n\f\xa0"
_PAGE, _BEGIN, _END = attrgetter("page"), attrgetter("begin"), attrgetter("end")
_ORDER = attrgetter("begin", "end")


class WorkExceeded(LycosaError):
    """A rule that costs too much on this page; the next page may be smaller."""


class Piece(Struct, frozen=True, eq=False):
    """A stretch of one page, from a position to a position; pieces at the same positions are equal."""

    page: TaggedPage
    begin: int
    end: int
    node: Node | None = None  # of an element, a comment…; None when the piece has no name
    parts: tuple[Piece, ...] = ()  # of a pattern its match and groups, of a sequence its members

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Piece):
            return NotImplemented
        return self.begin == other.begin and self.end == other.end and self.page is other.page

    def __hash__(self) -> int:
        return hash((self.begin, self.end))

    @property
    def name(self) -> str:
        """The name of the element; empty for a piece that is none."""
        if isinstance(self.node, Element):
            return self.node.tag
        return "" if self.node is None else relations.OTHER_NAMES.get(type(self.node), relations.CDATA)

    @property
    def text(self) -> str:
        """The characters within, nothing added between elements, nothing trimmed."""
        return self.page.read_text(self.begin, self.end)

    @property
    def markup(self) -> str:
        """The tags and characters within, as HTML."""
        return self.page.read_markup(self)

    def attribute(self, name: str) -> str | None:
        """An attribute of the element as it is written; None without one."""
        return self.node.attr(name) if isinstance(self.node, Element) else None


class PieceSet(Sequence[Piece]):
    """Pieces of one page in their order, by begin, then by end, no two equal."""

    __slots__ = ("_pieces", "_spans", "page")

    def __init__(self, page: TaggedPage, pieces: Iterable[Piece] = (), *, ordered: bool = False) -> None:
        """`ordered` says that the pieces already are in order, without equal ones."""
        self.page = page
        self._spans: Spans | None = None
        found = list(pieces)
        if not ordered:
            if not {page}.issuperset(map(_PAGE, found)):
                raise UsageError("A piece set holds pieces of one page; these are of several.")
            found.reverse()  # of equal ones the first stays
            by_span = dict(zip(map(_ORDER, found), found, strict=True))
            found = [by_span[span] for span in sorted(by_span)]
        self._pieces: list[Piece] | None = found

    @classmethod
    def of_spans(cls, page: TaggedPage, spans: Spans) -> PieceSet:
        """The pieces at these positions, which are in order."""
        made = cls.__new__(cls)
        made.page, made._spans, made._pieces = page, spans, None
        return made

    @property
    def pieces(self) -> list[Piece]:
        if self._pieces is None:
            spans = self.spans
            nodes = self.page.row.find_nodes(spans.begins) if spans.named else repeat(None)
            self._pieces = list(map(Piece, repeat(self.page), spans.begins, spans.ends, nodes))
        return self._pieces

    def __len__(self) -> int:
        return len(self.spans.begins) if self._pieces is None else len(self._pieces)

    @overload
    def __getitem__(self, place: int) -> Piece: ...
    @overload
    def __getitem__(self, place: slice) -> PieceSet: ...
    def __getitem__(self, place: int | slice) -> Piece | PieceSet:
        if isinstance(place, int):
            return self.pieces[place]
        if self._pieces is None and (place.step or 1) > 0:
            begins, ends = self.spans.begins[place], self.spans.ends[place]
            return PieceSet.of_spans(self.page, Spans(begins, ends, named=self.spans.named))
        return self._of(sorted(self.pieces[place], key=_ORDER))

    def __iter__(self) -> Iterator[Piece]:
        return iter(self.pieces)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PieceSet) and self.page is other.page and self.spans == other.spans

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"PieceSet({[piece.markup for piece in self.pieces[:5]]}{'…' if len(self) > 5 else ''})"

    @property
    def spans(self) -> Spans:
        if self._spans is None:
            self._spans = Spans(list(map(_BEGIN, self.pieces)), list(map(_END, self.pieces)))
        return self._spans

    def texts(self) -> list[str]:
        """The text of each piece."""
        return [piece.text for piece in self.pieces]

    # Sets

    def __add__(self, other: Piece | PieceSet) -> PieceSet:
        """Both; of equal pieces the one of the left set."""
        added = self._operand(other)
        if not len(added):
            return self
        if self._pieces is None and added._pieces is None and self.spans.named and added.spans.named:
            return self._merge(added)
        there = set(self.spans.pairs())
        others = [piece for piece in added if (piece.begin, piece.end) not in there]
        return self._of(sorted([*self.pieces, *others], key=_ORDER)) if others else self

    def _merge(self, other: PieceSet) -> PieceSet:
        """Both, where all are elements: each begins at a place of its own."""
        ends = dict(chain(other.spans.pairs(), self.spans.pairs()))
        begins = sorted(ends)
        return PieceSet.of_spans(self.page, Spans(begins, list(map(ends.__getitem__, begins)), named=True))

    def __sub__(self, other: Piece | PieceSet) -> PieceSet:
        """Those without an equal piece in the other set."""
        return self._related(relations.find_equal, other, negate=True)

    def __mul__(self, other: Piece | PieceSet) -> PieceSet:
        """Those with an equal piece in the other set."""
        return self._related(relations.find_equal, other, negate=False)

    # Positions

    def inside(self, other: Piece | PieceSet, *, directly: bool = False, negate: bool = False) -> PieceSet:
        """Those inside some other; directly: with none of this set between them."""
        if isinstance(other, Piece) and not directly and not negate and other.page is self.page:
            return self._of(self._inside_one(other))
        relation = relations.find_directly_inside if directly else relations.find_inside
        return self._related(relation, other, negate=negate)

    def contain(self, other: Piece | PieceSet, *, directly: bool = False, negate: bool = False) -> PieceSet:
        """Those around some other; directly: with none of this set between them."""
        relation = relations.find_directly_contain if directly else relations.find_contain
        return self._related(relation, other, negate=negate)

    def before(self, other: Piece | PieceSet, *, directly: bool = False, negate: bool = False) -> PieceSet:
        """Those that end before some other begins; directly: that end last of this set."""
        relation = relations.find_directly_before if directly else relations.find_before
        return self._related(relation, other, negate=negate)

    def after(self, other: Piece | PieceSet, *, directly: bool = False, negate: bool = False) -> PieceSet:
        """Those that begin after some other has ended; directly: that begin first of this set."""
        relation = relations.find_directly_after if directly else relations.find_after
        return self._related(relation, other, negate=negate)

    def overlap(self, other: Piece | PieceSet, *, negate: bool = False) -> PieceSet:
        """Those that share a position with some other, nested or not; equal pieces do not overlap."""
        return self._related(relations.find_overlap, other, negate=negate)

    def without(self, other: Piece | PieceSet) -> PieceSet:
        """What is left when the others are cut out: the piece itself where none is in it, else each stretch left."""
        lows, highs = self._operand(other)._regions()
        if not lows:
            return self
        left: list[Piece] = []
        inner: list[tuple[int, int]] = []
        for piece in self.pieces:
            low, high = piece.begin & ~1, piece.end + 1 & ~1
            first, last = bisect_right(highs, low), bisect_left(lows, high) - 1
            if first > last:
                left.append(piece)
                continue
            inner.append((first, last))
            left += self._stretches([(low, lows[first]), (highs[last], high)])
        gaps = list(zip(highs, lows[1:], strict=False))
        return PieceSet(self.page, [*left, *self._stretches(_covered(gaps, inner))])

    def intersect(self, other: Piece | PieceSet) -> PieceSet:
        """What is common with the others, each stretch of it a piece."""
        lows, highs = self._operand(other)._regions()
        common: list[Piece] = []
        inner: list[tuple[int, int]] = []
        for piece in self.pieces:
            low, high = piece.begin & ~1, piece.end + 1 & ~1
            first, last = bisect_right(highs, low), bisect_left(lows, high) - 1
            if first > last:
                continue
            inner.append((first + 1, last))
            ends = {(max(low, lows[place]), min(high, highs[place])) for place in (first, last)}
            common += self._stretches(ends)
        return PieceSet(self.page, [*common, *self._stretches(_covered(list(zip(lows, highs, strict=True)), inner))])

    def flatten(self) -> PieceSet:
        """What the pieces cover; those that overlap become one, those that only touch do not."""
        regions: list[list[int]] = []
        for piece in self.pieces:
            low, high = piece.begin & ~1, piece.end + 1 & ~1
            if regions and low < regions[-1][1]:
                regions[-1][1] = max(high, regions[-1][1])
            else:
                regions.append([low, high])
        return PieceSet(self.page, [Piece(self.page, low, high) for low, high in regions])

    # Choice

    def select(self, wanted: Callable[[Piece], bool]) -> PieceSet:
        """Those for which a function says yes."""
        return self._of([piece for piece in self.pieces if wanted(piece)])

    # Neighbours

    def children(self) -> PieceSet:
        """The elements and the runs of text directly inside."""
        return PieceSet(self.page, [child for piece in self.pieces for child in self.page.children_of(piece)])

    def parent(self) -> PieceSet:
        """The innermost elements around."""
        around = (self.page.parent_of(piece) for piece in self.pieces)
        return PieceSet(self.page, [piece for piece in around if piece is not None])

    def content(self) -> PieceSet:
        """What stands between the tags; nothing for elements of a single tag."""
        inner = (self.page.content_of(piece) for piece in self.pieces)
        return PieceSet(self.page, [piece for piece in inner if piece is not None])

    def part(self, number: int) -> PieceSet:
        """Of matches of a pattern a group (0 is all), of sequences a member."""
        parts = ((piece.parts or (piece,))[number : number + 1] for piece in self.pieces)
        return PieceSet(self.page, [part for some in parts for part in some if part.begin < part.end or part.node])

    def _inside_one(self, other: Piece) -> list[Piece]:
        """Those inside one piece, without a look at the others: records ask so one after the other."""
        begins = self.spans.begins
        near = self.pieces[bisect_left(begins, other.begin) : bisect_right(begins, other.end)]
        return [p for p in near if p.end <= other.end and (p.begin, p.end) != (other.begin, other.end)]

    def _of(self, pieces: list[Piece]) -> PieceSet:
        return PieceSet(self.page, pieces, ordered=True)

    def _operand(self, other: Piece | PieceSet) -> PieceSet:
        if not isinstance(other, Piece | PieceSet):
            raise UsageError(f"An operand is a piece or a piece set; this is {type(other).__name__}.")
        if other.page is not self.page:
            raise UsageError("Both operands must be of one page; these are of two.")
        return self._of([other]) if isinstance(other, Piece) else other

    def _related(
        self, relation: Callable[[Spans, Spans], Chosen], other: Piece | PieceSet, *, negate: bool
    ) -> PieceSet:
        against = self._operand(other)
        if not len(against):
            return self if negate else self._of([])
        found = relation(self.spans, against.spans)
        chosen: Chosen = list(map(not_, found)) if negate else found
        spans = self.spans.choose(chosen)
        if self._pieces is None:
            return PieceSet.of_spans(self.page, spans)
        made = self._of(list(compress(self._pieces, chosen)))
        made._spans = spans
        return made

    def _regions(self) -> tuple[list[int], list[int]]:
        """Where the covered regions begin and end; those without width cut nothing."""
        if not len(self):
            return [], []
        regions = [piece for piece in self.flatten().pieces if piece.begin < piece.end]
        return list(map(_BEGIN, regions)), list(map(_END, regions))

    def _stretches(self, spans: Iterable[tuple[int, int]]) -> list[Piece]:
        return [Piece(self.page, low, high) for low, high in spans if low < high]


def _covered(spans: list[tuple[int, int]], ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans that some range of places (first, behind the last) takes, each once."""
    reached = 0
    for first, behind in sorted(ranges):
        yield from spans[max(first, reached) : behind]
        reached = max(reached, behind)


class TaggedPage:
    """A page as the algebra sees it: tags and characters in a row."""

    def __init__(self, source: Doc | Document) -> None:
        """A document without an HTML tree is a page without anything."""
        self.tree = source if isinstance(source, Document) else source.tree
        self.row = TagRow(self.tree)
        self.work_left = _NO_BOUND
        self._places: dict[Node, int] | None = None
        self._found: dict[tuple[str, str], PieceSet] = {}

    # Sets of pieces

    @property
    def whole(self) -> PieceSet:
        """The page as one piece."""
        return PieceSet(self, [Piece(self, 0, self.row.length)], ordered=True)

    @property
    def empty(self) -> PieceSet:
        return PieceSet(self, (), ordered=True)

    def elem(self, name: str = "", *, inside: Piece | PieceSet | None = None) -> PieceSet:
        """All elements, or those of a name; comments are `!--`, the document type `!doctype`."""
        found = self._remember("elem", name, lambda: self._find_named(name))
        return found if inside is None else found.inside(inside)

    def css(self, selector: str) -> PieceSet:
        """The elements that a CSS selector takes."""
        if self.tree is None:
            return self.empty
        tree = self.tree
        return self._remember("css", selector, lambda: PieceSet(self, self.pieces_of(tree.select(selector))))

    def pat(self, pattern: str, *, inside: Piece | PieceSet | None = None) -> PieceSet:
        """The matches of a regular expression in the text, which may run across tags; with groups as parts."""
        if inside is None:
            if is_plain(pattern):
                return self._remember("pat", pattern, lambda: self._match_text(pattern))
            return self._remember("pat", pattern, lambda: PieceSet(self, self._match(pattern, 0, self.row.length)))
        scope = self._scope(inside)
        return PieceSet(self, [found for p in scope for found in self._match(pattern, p.begin, p.end)])

    def pcdata(self, *, inside: Piece | PieceSet | None = None) -> PieceSet:
        """The runs of text between tags, blank ones too."""
        if inside is None:
            return self._remember("pcdata", "", lambda: PieceSet(self, self._texts(0, self.row.length), ordered=True))
        return PieceSet(self, [run for p in self._scope(inside) for run in self._texts(p.begin, p.end)])

    def seq(self, members: str, *, inside: Piece | PieceSet | None = None) -> PieceSet:
        """Where siblings follow each other as named: `h1 # br`, where # is a run of text; each member is a part."""
        found = self._remember("seq", members, lambda: PieceSet(self, self._sequences(members.split())))
        if inside is None:
            return found
        scope = PieceSet(self, self._scope(inside)).content()
        return found.inside(scope) + found * scope

    def para(self, names: str, *, inside: Piece | PieceSet | None = None) -> PieceSet:
        """The regions between tags of these names, or with `-` in front between all other tags; blank ones left out."""
        if inside is None:
            return self._remember("para", names, lambda: PieceSet(self, self._regions_between(names, self.whole[0])))
        return PieceSet(self, [found for p in self._scope(inside) for found in self._regions_between(names, p)])

    def span(self, first: Piece, last: Piece) -> Piece:
        """A piece without a name that covers two others and what is between them."""
        ends = PieceSet(self, [first, last])
        return Piece(self, min(p.begin & ~1 for p in ends), max(p.end + 1 & ~1 for p in ends))

    def _find_named(self, name: str) -> PieceSet:
        row = self.row
        if not name:
            return PieceSet.of_spans(self, Spans(row.begins, row.ends, named=True))
        places = row.places.get(name, ())
        spans = Spans(list(map(row.begins.__getitem__, places)), list(map(row.ends.__getitem__, places)), named=True)
        return PieceSet.of_spans(self, spans)

    def _piece(self, place: int) -> Piece:
        return Piece(self, self.row.begins[place], self.row.ends[place], self.row.nodes[place])

    def pieces_of(self, nodes: Iterable[Node]) -> list[Piece]:
        """The pieces of nodes of the tree."""
        if self._places is None:
            self._places = {node: place for place, node in enumerate(self.row.nodes)}
        return [self._piece(self._places[node]) for node in nodes if node in self._places]

    # One piece

    def children_of(self, piece: Piece) -> list[Piece]:
        inner = self.content_of(piece)
        if inner is None:
            return []
        found: list[Piece] = []
        at = inner.begin
        for element in self._outermost(inner):
            found += self._texts(at, element.begin)
            found.append(element)
            at = element.end
        return [*found, *self._texts(at, inner.end)]

    def parent_of(self, piece: Piece) -> Piece | None:
        """The innermost element that begins before a piece and ends with it or later."""
        place = bisect_left(self.row.begins, piece.begin) - 1
        while place >= 0 and self.row.ends[place] < piece.end:
            self.spend(1)
            place = self.row.parents[place]
        return self._piece(place) if place >= 0 else None

    def content_of(self, piece: Piece) -> Piece | None:
        if piece.begin == piece.end and piece.begin % 2:
            return None
        return Piece(self, piece.begin + piece.begin % 2, piece.end - piece.end % 2)

    def read_text(self, begin: int, end: int) -> str:
        return self.row.stream[self.row.offset(begin) : self.row.offset(end)]

    def read_markup(self, piece: Piece) -> str:
        if piece.node is not None:
            return piece.node.html
        parts: list[tuple[int, str]] = []
        at = piece.begin
        place = bisect_left(self.row.begins, at) - 1
        raw = place >= 0 and self.row.ends[place] > at and self.row.names[place] in _RAW
        while place >= 0:  # elements that are open where it begins
            if at < self.row.ends[place] < piece.end:
                parts.append((self.row.ends[place], f"</{self.row.names[place]}>"))
            place = self.row.parents[place]
        for element in self._outermost(piece, crossing=True):
            parts += self._write_texts(at, element.begin, raw=raw)
            whole = element.end < piece.end
            parts.append((element.begin, element.markup if whole else _write_tag(element)))
            at = element.end if whole else element.begin
        parts += self._write_texts(at, piece.end, raw=raw)
        return "".join(part for _, part in sorted(parts, key=lambda part: part[0]))

    def spend(self, amount: int) -> None:
        """Count what an evaluation touches."""
        self.work_left -= amount
        if self.work_left < 0:
            raise WorkExceeded("The rule touches more than its share of pieces on this page; ask for less of it first.")

    # The row of tags and characters

    def _texts(self, begin: int, end: int) -> list[Piece]:
        """The runs of text between two positions, cut there."""
        found = self.row.runs_between(begin, end)
        self.spend(1 + len(found))
        return [Piece(self, *run) for run in found]

    def _write_texts(self, begin: int, end: int, *, raw: bool) -> list[tuple[int, str]]:
        runs = self._texts(begin, end)
        return [(run.begin, run.text if raw else escape(run.text, quote=False)) for run in runs]

    def _outermost(self, piece: Piece, *, crossing: bool = False) -> Iterator[Piece]:
        """The outermost elements of a piece without a name; `crossing`: those that begin in it and end later, too."""
        place = bisect_left(self.row.begins, piece.begin)
        while place < len(self.row.begins) and self.row.begins[place] < piece.end:
            self.spend(1)
            if self.row.ends[place] < piece.end:
                yield self._piece(place)
                place = bisect_right(self.row.begins, self.row.ends[place], lo=place)
            else:
                if crossing:
                    yield self._piece(place)
                place += 1

    def _scope(self, inside: Piece | PieceSet) -> list[Piece]:
        if inside.page is not self:
            raise UsageError("Both operands must be of one page; these are of two.")
        return [inside] if isinstance(inside, Piece) else inside.pieces

    def _match(self, pattern: str, begin: int, end: int) -> list[Piece]:
        first, last = self.row.offset(begin), self.row.offset(end)
        self.spend(1 + (last - first) // _CHARS)
        text = self.row.stream if last - first == len(self.row.stream) else self.row.stream[first:last]
        found = []
        position = self.row.position
        for spans in find_spans(pattern, text):
            self.spend(_MATCH)
            low, high = spans[0]
            groups = self._groups(spans, first, begin) if len(spans) > 1 else ()
            found.append(Piece(self, position(first + low), position(first + high - 1) + 2, None, groups))
        return found

    def _match_text(self, words: str) -> PieceSet:
        """The places of a text on the whole page: the case of most patterns, without a piece for each match."""
        stream, size = self.row.stream, len(words)
        self.spend(1 + len(stream) // _CHARS)
        first, *between = map(len, stream.split(words))
        self.spend(_MATCH * len(between))
        lows = list(accumulate(map(size.__add__, between[:-1]), initial=first)) if between else []
        return PieceSet.of_spans(self, Spans(*self.row.find_positions(lows, size)))

    def _groups(self, spans: list[tuple[int, int]], first: int, begin: int) -> tuple[Piece, ...]:
        """A match and its groups; one that is empty, or took no part, is nowhere."""
        position = self.row.position
        return tuple(
            Piece(self, position(first + low), position(first + high - 1) + 2)
            if low < high
            else Piece(self, begin, begin)
            for low, high in spans
        )

    def _sequences(self, members: Sequence[str]) -> Iterator[Piece]:
        if not members:
            return
        if len(members) > MAX_SEQUENCE:
            raise UsageError(f"A sequence has at most {MAX_SEQUENCE} members; this one has {len(members)}.")
        texts = {piece.begin: piece for piece in self.pcdata()}
        elements = {piece.begin: piece for piece in self.elem()}
        for start in self.pcdata() if members[0] == "#" else self.elem(members[0]):
            at, parts = start.begin & ~1, []
            for member in members:
                part = texts.get(at) if member == "#" else elements.get(at + 1)
                if part is None or (member != "#" and part.name != member):
                    break
                parts.append(part)
                at = part.end + 1 & ~1
            else:
                yield Piece(self, start.begin & ~1, at, None, tuple(parts))

    def _regions_between(self, names: str, piece: Piece) -> Iterator[Piece]:
        inner = self.content_of(piece)
        if inner is None:
            return
        others = names.lstrip().startswith("-")
        named = set(names.lstrip().removeprefix("-").split())
        # Elements that begin before it and end in it are those around its begin: at most as many as the tree is deep.
        place = bisect_left(self.row.begins, inner.begin)
        within = list(range(place, bisect_left(self.row.begins, inner.end)))
        self.spend(len(within) + 1)
        place -= 1
        while place >= 0:
            within.append(place)
            place = self.row.parents[place]
        walls = sorted(
            {
                at
                for place in within
                if (self.row.names[place] in named) is not others
                for at in (self.row.begins[place], self.row.ends[place])
                if inner.begin < at < inner.end
            }
        )
        at = inner.begin
        for wall in [*walls, inner.end + 1]:
            low, high, at = at, wall - 1, wall + 1
            first, last = self.row.offset(low), self.row.offset(high)
            if 2 * (last - first) < high - low or self.row.stream[first:last].strip(_BLANKS):
                yield Piece(self, low, high)

    def _remember(self, kind: str, words: str, find: Callable[[], PieceSet]) -> PieceSet:
        if (kind, words) not in self._found:
            self._found[kind, words] = find()
        return self._found[kind, words]


def _write_tag(piece: Piece) -> str:
    """The first tag of an element."""
    attributes = piece.node.attrs if isinstance(piece.node, Element) else {}
    written = "".join(f' {name}="{escape(piece.attribute(name) or "")}"' for name in attributes)
    return f"<{piece.name}{written}>"
