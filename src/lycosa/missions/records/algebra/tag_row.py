"""The row of tags and characters that a page is, with the position of each.

Tags and characters have odd positions, the gaps between them even ones. An element is one tag or two; comments, the
document type and the like are one. The numbers stand in flat lists in the order of the page, to be searched by halves.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

from turbohtml import Comment, Doctype, Document, DocumentFragment, Element, Node, ProcessingInstruction, Text

#: Elements that are one tag (HTML standard, 13.1.2 "Void elements").
_VOIDS = "area base br col embed hr img input link meta source track wbr"
_VOID = frozenset(_VOIDS.split())
#: How the algebra names what is no element; anything else is a section of characters.
OTHER_NAMES: dict[type[Node], str] = {Comment: "!--", Doctype: "!doctype", ProcessingInstruction: "?"}
CDATA = "![CDATA["
#: Runs of text among which that of the next match is looked for first.
_NEAR = 8


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
            near = place + _NEAR
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
