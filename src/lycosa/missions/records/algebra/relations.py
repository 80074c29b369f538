"""The row of tags and characters that a page is, and the relations between pieces of it, over whole sets at once.

Tags and characters have odd positions, the gaps between them even ones. An element is one tag or two; comments, the
document type and the like are one. The numbers stand in flat lists in the order of the page, to be searched by halves.

A relation tells for each p of P whether some q of Q stands to it as named. A set is two lists, where its pieces begin
and where they end, in the order of the set: by begin, then by end, no two equal. Every function costs O(n log n)
whatever the pieces are; sets of elements, which nest and of which no two begin at one place, and sets in which no piece
shares a position with another are the fast cases.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, compress, islice, repeat
from operator import ge, gt, le, lt, or_
from typing import NamedTuple

from turbohtml import Comment, Doctype, Document, DocumentFragment, Element, Node, ProcessingInstruction, Text

#: Elements that are one tag (HTML standard, 13.1.2 "Void elements").
_VOIDS = "area base br col embed hr img input link meta source track wbr"
_VOID = frozenset(_VOIDS.split())
#: How the algebra names what is no element; anything else is a section of characters.
OTHER_NAMES: dict[type[Node], str] = {Comment: "!--", Doctype: "!doctype", ProcessingInstruction: "?"}
CDATA = "![CDATA["
#: Runs of text among which that of the next match is looked for first.
_NEAR_TAGS = 8


class Origin(NamedTuple):
    """Where a piece begins: at a tag, or so many characters behind the last of some tags."""

    begun: int  # the place of the last node that begins before, or with, the piece; -1: none
    closed: list[int]  # the places of elements that have ended since
    before: str  # the characters between
    is_tag: bool  # the piece begins with the first tag of `begun`


class TagRow:
    """The tags and characters of a tree in a row; without a tree it is empty."""

    def __init__(self, tree: Document | None) -> None:
        self.nodes: list[Node] = []  # of every named piece, in order
        self.names: list[str] = []
        self.places: dict[str, list[int]] = defaultdict(list)  # of the nodes of each name
        self.parents: list[int] = []  # the place of the element around each; -1: none
        self.begins: list[int] = []
        self.ends: list[int] = []
        self._runs: list[int] = []  # the gap before each run of text
        self._offsets: list[int] = []  # of each run in the text of the page
        texts: list[str] = []
        self.length = self._walk(tree, texts) if tree is not None else 0
        self.stream = "".join(texts)
        self._offsets.append(len(self.stream))

    def _walk(self, tree: Document, texts: list[str]) -> int:
        """Number tags and characters; returns the gap behind the last one."""
        nodes, names, parents, begins, ends = self.nodes, self.names, self.parents, self.begins, self.ends
        runs, offsets, places = self._runs, self._offsets, self.places
        at = size = 0
        text_end = -1
        left, around = [len(tree) + 1], [-1]  # what is open: how many children are still to come, and its place
        for node in tree.descendants:
            kind = type(node)
            if kind is Text:
                data: str = node.data  # type: ignore[attr-defined]
                if data:
                    if at != text_end:
                        runs.append(at)
                        offsets.append(size)
                    texts.append(data)
                    size += len(data)
                    at = text_end = at + 2 * len(data)
            elif kind is DocumentFragment:  # the content of a <template>
                if len(node):
                    left.append(len(node))
                    around.append(-2 - around[-1])  # no tag of its own
                    continue
            else:
                begins.append(at + 1)
                place = around[-1]
                parents.append(place if place >= -1 else -2 - place)
                nodes.append(node)
                at += 2
                names.append(name := node.tag if kind is Element else OTHER_NAMES.get(kind, CDATA))  # type: ignore[attr-defined]
                places[name].append(len(nodes) - 1)
                if count := len(node):
                    ends.append(0)
                    left.append(count)
                    around.append(len(nodes) - 1)
                    continue
                if kind is not Element or name in _VOID:
                    ends.append(at - 1)
                else:
                    ends.append(at + 1)
                    at += 2
            left[-1] -= 1
            while not left[-1]:
                left.pop()
                if (place := around.pop()) >= 0:
                    ends[place] = at + 1
                    at += 2
                left[-1] -= 1
        return at

    def offset(self, at: int) -> int:
        """How many characters stand before a position."""
        place = bisect_right(self._runs, at) - 1
        if place < 0:
            return 0
        return min(self._offsets[place] + (at - self._runs[place] + 1) // 2, self._offsets[place + 1])

    def position(self, offset: int) -> int:
        """The gap before a character."""
        place = bisect_right(self._offsets, offset, hi=len(self._runs)) - 1
        return self._runs[place] + 2 * (offset - self._offsets[place])

    def find_nodes(self, begins: Sequence[int]) -> Iterator[Node]:
        """The nodes that begin at these positions."""
        return map(self.nodes.__getitem__, map(bisect_left, repeat(self.begins), begins))

    def find_positions(self, offsets: list[int], size: int) -> tuple[list[int], list[int]]:
        """The gaps before and behind texts of one size that begin at these characters."""
        runs, starts = self._runs, self._offsets
        behind = starts[1:]  # where each run ends
        begins, ends = [], []
        place = 0
        for at in offsets:  # in order: the next is near, or far
            near = place + _NEAR_TAGS
            place = bisect_right(behind, at, place, near) if near < len(behind) else near
            if place == near:
                place = bisect_right(behind, at)
            begin = runs[place] + 2 * (at - starts[place])
            begins.append(begin)
            ends.append(begin + 2 * size if at + size <= behind[place] else self.position(at + size - 1) + 2)
        return begins, ends

    def runs_between(self, begin: int, end: int) -> list[tuple[int, int]]:
        """The runs of text between two positions, cut there."""
        first = max(bisect_right(self._runs, begin) - 1, 0)
        behind = bisect_left(self._runs, end)
        found = []
        for place in range(first, behind):
            start = self._runs[place]
            low, high = max(start, begin), min(start + 2 * (self._offsets[place + 1] - self._offsets[place]), end)
            low, high = low + low % 2, high - high % 2
            if low < high:
                found.append((low, high))
        return found

    def origin_of(self, at: int) -> Origin:
        """The tags to look for in the source, to find where a piece that begins at a position begins there."""
        if at % 2:
            return Origin(bisect_right(self.begins, at) - 1, [], "", is_tag=True)
        run = bisect_right(self._runs, at) - 1
        offset = self.offset(at)
        # Within a run, or at its end, the tag before the run is the last one.
        is_text = run >= 0 and at <= self._runs[run] + 2 * (self._offsets[run + 1] - self._offsets[run])
        begin = self._runs[run] if is_text else at
        begun = place = bisect_left(self.begins, begin) - 1
        closed = []
        while place >= 0 and self.ends[place] < begin:
            closed.append(place)
            place = self.parents[place]
        return Origin(begun, closed, self.stream[self._offsets[run] : offset] if is_text else "", is_tag=False)


_FAR = 1 << 62
#: So many times more pieces than others are many.
_MANY = 4
#: Pieces among which the place of the next one, in a set in order, is looked for first.
_NEAR = 8


class Spans:
    """Where the pieces of a set begin and end; `named` says that all of them are elements."""

    __slots__ = ("_flat", "begins", "ends", "named")

    def __init__(
        self, begins: Sequence[int], ends: Sequence[int], *, named: bool = False, flat: bool | None = None
    ) -> None:
        self.begins = begins
        self.ends = ends
        self.named = named
        self._flat = flat

    @property
    def flat(self) -> bool:
        """Whether no piece shares a position with another."""
        if self._flat is None:
            self._flat = all(map(lt, self.ends, islice(self.begins, 1, None)))
        return self._flat

    def choose(self, chosen: Sequence[int]) -> Spans:
        """Those that are chosen; what is flat stays so."""
        begins, ends = list(compress(self.begins, chosen)), list(compress(self.ends, chosen))
        return Spans(begins, ends, named=self.named, flat=self._flat or None)

    def pairs(self) -> Iterator[tuple[int, int]]:
        return zip(self.begins, self.ends, strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spans) and self.begins == other.begins and self.ends == other.ends

    __hash__ = None  # type: ignore[assignment]


#: For each p whether it is chosen: something that is true or false.
Chosen = Sequence[int]


def find_equal(p: Spans, q: Spans) -> Chosen:
    there = set(q.pairs())
    return list(map(there.__contains__, p.pairs()))


def find_inside(p: Spans, q: Spans) -> Chosen:
    """Begin no earlier, end no later, and are not equal."""
    if p.named and q.named and _MANY * len(q.begins) < len(p.begins):
        return _find_inside_few(p, q)
    # The last end among the first k.
    furthest = [-1, *q.ends] if q.flat else list(accumulate(q.ends, max, initial=-1))
    lefts = list(map(bisect_left, repeat(q.begins), p.begins))
    found = map(ge, map(furthest.__getitem__, lefts), p.ends)
    if (p.named and q.named) or set(q.begins).isdisjoint(p.begins):  # what begins with an element is that element
        return list(found)
    rights = map(bisect_right, repeat(q.begins), p.begins)
    return list(map(or_, found, map(gt, map(furthest.__getitem__, rights), p.ends)))


def _find_inside_few(p: Spans, q: Spans) -> Chosen:
    """The same for elements inside few others: those inside one follow each other."""
    found = bytearray(len(p.begins))
    begins, reached = p.begins, -1
    for begin, end in q.pairs():
        if begin > reached:  # else it is inside the one before
            first = bisect_right(begins, begin)
            behind = bisect_left(begins, end, first)
            found[first:behind] = b"\1" * (behind - first)
            reached = end
    return found


def find_contain(p: Spans, q: Spans) -> Chosen:
    """Begin no later, end no earlier, and are not equal."""
    if p.flat and len(q.begins) < len(p.begins):
        return _find_contain_few(p, q)
    nearest = list(accumulate(reversed(q.ends), min, initial=_FAR))
    nearest.reverse()  # the first end from the k-th on
    rights = list(map(bisect_right, repeat(q.begins), p.begins))
    found = map(le, map(nearest.__getitem__, rights), p.ends)
    if (p.named and q.named) or set(q.begins).isdisjoint(p.begins):
        return list(found)
    lefts = map(bisect_left, repeat(q.begins), p.begins)
    return list(map(or_, found, map(lt, map(nearest.__getitem__, lefts), p.ends)))


def _find_contain_few(p: Spans, q: Spans) -> Chosen:
    """The same where at most one p contains a q, the last that begins before it or with it, and the q are few."""
    found = bytearray(len(p.begins))
    begins, ends = p.begins, p.ends
    behind = 0
    for begin, end in q.pairs():
        near = behind + _NEAR
        behind = bisect_right(begins, begin, behind, near) if near < len(begins) else near
        if behind == near:
            behind = bisect_right(begins, begin)
        place = behind - 1
        if place >= 0 and (ends[place] > end or (ends[place] == end and begins[place] < begin)):
            found[place] = 1
    return found


def find_before(p: Spans, q: Spans) -> Chosen:
    """End before some q begins: the one that begins last decides."""
    last = q.begins[-1] if q.begins else -1
    return list(map(last.__gt__, p.ends))


def find_after(p: Spans, q: Spans) -> Chosen:
    """Begin after some q has ended: the one that ends first decides."""
    first = min(q.ends, default=_FAR)
    found = bytearray(len(p.begins))
    place = bisect_right(p.begins, first)
    found[place:] = b"\1" * (len(found) - place)
    return found


def find_overlap(p: Spans, q: Spans) -> Chosen:
    """Share a position, nested or not, and are not equal."""
    ends = sorted(q.ends)
    begins, there = q.begins, set(q.pairs())
    return [bisect_right(begins, end) - bisect_left(ends, begin) > ((begin, end) in there) for begin, end in p.pairs()]


def find_directly_before(p: Spans, q: Spans) -> Chosen:
    """End last of all P before some q."""
    ends = sorted(p.ends)
    chosen = {ends[place - 1] for place in set(map(bisect_left, repeat(ends), q.begins)) if place}
    return list(map(chosen.__contains__, p.ends))


def find_directly_after(p: Spans, q: Spans) -> Chosen:
    """Come first of all P after some q, in the order of the set."""
    found = bytearray(len(p.begins) + 1)
    for place in map(bisect_right, repeat(p.begins), q.ends):
        found[place] = 1
    return found[:-1]


def find_directly_inside(p: Spans, q: Spans) -> Chosen:
    """Are inside some q with no other of P between: it would be inside that q, and p inside it."""
    if p.flat:
        return find_inside(p, q)
    found = [False] * len(p.begins)
    around: list[tuple[int, int, bool]] = []  # what is open: begin, end, whether it is of Q
    for begin, end, kind, place in _outer_first(p, q, 0, 1):
        while around and around[-1][1] < begin:
            around.pop()
        if around and around[-1][1] < end:  # they cross
            return _find_direct(p, q)
        if kind == 0:
            found[place] = bool(around) and around[-1][2]
        elif around and around[-1][0] == begin and around[-1][1] == end:
            around.pop()  # one of P at the same place, which is no wall for what is inside both
        around.append((begin, end, kind == 1))
    return found


def find_directly_contain(p: Spans, q: Spans) -> Chosen:
    """Contain some q with no other of P between: it would contain that q, and p contain it."""
    if p.flat:
        return find_contain(p, q)
    found = [False] * len(p.begins)
    around: list[tuple[int, int]] = []  # what is open of P: end, place
    for begin, end, kind, place in _outer_first(p, q, 1, 0):
        while around and around[-1][0] < begin:
            around.pop()
        if around and around[-1][0] < end:
            return _find_direct(_mirrored(p), _mirrored(q))
        if kind == 1:
            around.append((end, place))
        elif around:
            found[around[-1][1]] = True
    return found


def _outer_first(p: Spans, q: Spans, of_p: int, of_q: int) -> list[tuple[int, int, int, int]]:
    """Begin, end, kind and place of all pieces, each before those inside it; equal ones by their kind."""
    both = [(begin, -end, of_p, place) for place, (begin, end) in enumerate(p.pairs())]
    both += [(begin, -end, of_q, place) for place, (begin, end) in enumerate(q.pairs())]
    both.sort()
    return [(begin, -end, kind, place) for begin, end, kind, place in both]


def _mirrored(spans: Spans) -> Spans:
    """With both signs turned, "contains" becomes "is inside"."""
    return Spans([-begin for begin in spans.begins], [-end for end in spans.ends])


def _find_direct(p: Spans, q: Spans) -> list[bool]:
    """`find_directly_inside` for pieces that cross.

    A sweep over the begins. Each q met so far has a wall: the last end of those of P met since that end inside it. Then
    p is directly inside q when q ends no earlier than p, and its wall lies before the end of p. Walls stand in a tree
    over the q in the order of their ends; all that is asked and raised is a least wall from some end on.
    """
    by_end = sorted(range(len(q.ends)), key=q.ends.__getitem__)
    ends = [q.ends[place] for place in by_end]
    leaf_of = {place: leaf for leaf, place in enumerate(by_end)}
    size = 1 << max(len(ends) - 1, 0).bit_length()
    least = [_FAR] * (2 * size)  # of those below a node; far away while a q has not been met
    raised = [-_FAR] * (2 * size)  # what those below a node do not know yet

    def settle(leaf: int) -> None:
        for level in range(size.bit_length() - 1, 0, -1):
            node = leaf >> level
            for child in (2 * node, 2 * node + 1):
                least[child] = max(least[child], raised[node])
                raised[child] = max(raised[child], raised[node])
            raised[node] = -_FAR

    def climb(leaf: int) -> None:
        while leaf := leaf >> 1:
            least[leaf] = min(least[2 * leaf], least[2 * leaf + 1])

    found = [False] * len(p.begins)
    for _, end, kind, place in _outer_first(p, q, 0, 1):
        if kind == 1:
            leaf = size + leaf_of[place]
            settle(leaf)
            least[leaf] = raised[leaf] = -_FAR
            climb(leaf)
        elif (first := bisect_left(ends, end)) < len(ends):
            leaf = node = size + first
            settle(leaf)
            nodes = [leaf]
            while node > 1:
                if node % 2 == 0:
                    nodes.append(node + 1)
                node >>= 1
            found[place] = min(least[node] for node in nodes) < end
            for node in nodes:
                least[node] = max(least[node], end)
                raised[node] = max(raised[node], end)
            climb(leaf)
    return found
