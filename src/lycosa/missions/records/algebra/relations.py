"""The relations between pieces, over whole sets at once: for each p of P, whether some q of Q stands to it as named.

A set is two lists, where its pieces begin and where they end, in the order of the set: by begin, then by end, no two
equal. Every function costs O(n log n) whatever the pieces are; those that nest, as elements do, are the fast case.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, repeat
from operator import ge, gt, le, lt, or_
from typing import NamedTuple

_FAR = 1 << 62


class Spans(NamedTuple):
    """Where the pieces of a set begin and end."""

    begins: Sequence[int]
    ends: Sequence[int]


def find_equal(p: Spans, q: Spans) -> list[bool]:
    there = set(zip(*q, strict=True))
    return [span in there for span in zip(*p, strict=True)]


def find_inside(p: Spans, q: Spans) -> list[bool]:
    """Begin no earlier, end no later, and are not equal."""
    furthest = list(accumulate(q.ends, max, initial=-1))  # the last end among the first k
    lefts, rights = _ranks(p, q)
    found = map(ge, map(furthest.__getitem__, lefts), p.ends)
    if rights is None:
        return list(found)
    return list(map(or_, found, map(gt, map(furthest.__getitem__, rights), p.ends)))


def find_contain(p: Spans, q: Spans) -> list[bool]:
    """Begin no later, end no earlier, and are not equal."""
    nearest = list(accumulate(reversed(q.ends), min, initial=_FAR))
    nearest.reverse()  # the first end from the k-th on
    lefts, rights = _ranks(p, q)
    found = map(le, map(nearest.__getitem__, lefts if rights is None else rights), p.ends)
    if rights is None:
        return list(found)
    return list(map(or_, found, map(lt, map(nearest.__getitem__, lefts), p.ends)))


def _ranks(p: Spans, q: Spans) -> tuple[list[int], list[int] | None]:
    """How many q begin before each p, and how many before it or with it; None when none begins with one."""
    lefts = list(map(bisect_left, repeat(q.begins), p.begins))
    if set(q.begins).isdisjoint(p.begins):
        return lefts, None
    return lefts, list(map(bisect_right, repeat(q.begins), p.begins))


def find_before(p: Spans, q: Spans) -> list[bool]:
    """End before some q begins: the one that begins last decides."""
    last = q.begins[-1] if q.begins else -1
    return [end < last for end in p.ends]


def find_after(p: Spans, q: Spans) -> list[bool]:
    """Begin after some q has ended: the one that ends first decides."""
    first = min(q.ends, default=_FAR)
    return [begin > first for begin in p.begins]


def find_overlap(p: Spans, q: Spans) -> list[bool]:
    """Share a position, nested or not, and are not equal."""
    ends = sorted(q.ends)
    begins, there = q.begins, set(zip(*q, strict=True))
    return [
        bisect_right(begins, end) - bisect_left(ends, begin) > ((begin, end) in there)
        for begin, end in zip(*p, strict=True)
    ]


def find_directly_before(p: Spans, q: Spans) -> list[bool]:
    """End last of all P before some q."""
    ends = sorted(p.ends)
    chosen = {ends[place - 1] for begin in q.begins if (place := bisect_left(ends, begin))}
    return [end in chosen for end in p.ends]


def find_directly_after(p: Spans, q: Spans) -> list[bool]:
    """Come first of all P after some q, in the order of the set."""
    chosen = {bisect_right(p.begins, end) for end in q.ends}
    return [place in chosen for place in range(len(p.begins))]


def find_directly_inside(p: Spans, q: Spans) -> list[bool]:
    """Are inside some q with no other of P between: it would be inside that q, and p inside it."""
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


def find_directly_contain(p: Spans, q: Spans) -> list[bool]:
    """Contain some q with no other of P between: it would contain that q, and p contain it."""
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
    both = [(begin, -end, of_p, place) for place, (begin, end) in enumerate(zip(*p, strict=True))]
    both += [(begin, -end, of_q, place) for place, (begin, end) in enumerate(zip(*q, strict=True))]
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
