"""Every operator gives what its definition says, on pieces that nest, cross, touch and coincide."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import turbohtml
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.missions.records.algebra import Piece, PieceSet, TaggedPage, relations

# The definitions, word for word and quadratic: each p with every q, and with every r of P.
Span = tuple[int, int]
Relation = Callable[[Span, Span], bool]


def is_inside(x: Span, y: Span) -> bool:
    return y[0] <= x[0] and x[1] <= y[1] and x != y


def contains(x: Span, y: Span) -> bool:
    return is_inside(y, x)


def is_before(x: Span, y: Span) -> bool:
    return x[1] < y[0]


def is_after(x: Span, y: Span) -> bool:
    return x[0] > y[1]


def overlaps(x: Span, y: Span) -> bool:
    return x[0] <= y[1] and y[0] <= x[1] and x != y


def some(relation: Relation) -> Callable[[list[Span], list[Span]], list[bool]]:
    return lambda ps, qs: [any(relation(p, q) for q in qs) for p in ps]


def directly(relation: Relation) -> Callable[[list[Span], list[Span]], list[bool]]:
    return lambda ps, qs: [
        any(relation(p, q) and not any(relation(r, q) and relation(p, r) for r in ps) for q in qs) for p in ps
    ]


def directly_before(ps: list[Span], qs: list[Span]) -> list[bool]:
    return [any(is_before(p, q) and not any(is_before(r, q) and r[1] > p[1] for r in ps) for q in qs) for p in ps]


def directly_after(ps: list[Span], qs: list[Span]) -> list[bool]:
    return [any(is_after(p, q) and not any(is_after(r, q) and r < p for r in ps) for q in qs) for p in ps]


DEFINITIONS = {
    relations.find_equal: some(lambda p, q: p == q),
    relations.find_inside: some(is_inside),
    relations.find_contain: some(contains),
    relations.find_before: some(is_before),
    relations.find_after: some(is_after),
    relations.find_overlap: some(overlaps),
    relations.find_directly_inside: directly(is_inside),
    relations.find_directly_contain: directly(contains),
    relations.find_directly_before: directly_before,
    relations.find_directly_after: directly_after,
}

spans = st.tuples(st.integers(0, 14), st.integers(0, 14)).map(lambda ends: (min(ends), max(ends)))
span_sets = st.sets(spans, max_size=12).map(sorted)


def laminar(drawn: list[Span]) -> list[Span]:
    """Those of the drawn pieces that cross none before them: as elements are."""
    kept: list[Span] = []
    for x in drawn:
        if all(is_inside(x, y) or is_inside(y, x) or is_before(x, y) or is_after(x, y) for y in kept):
            kept.append(x)
    return sorted(kept)


@pytest.mark.parametrize("relation", DEFINITIONS, ids=lambda relation: relation.__name__)
@given(p=span_sets, q=span_sets, nested=st.booleans(), data=st.data())
@settings(max_examples=300, deadline=None)
def test_relations_are_as_defined(
    relation: Callable[..., list[bool]], p: list[Span], q: list[Span], nested: bool, data: st.DataObject
) -> None:
    """On nested pieces and on any others; Q may share pieces with P."""
    named = nested and data.draw(st.booleans())
    if nested:
        both = laminar(data.draw(st.permutations(sorted({*p, *q}))))
        both = as_elements(both) if named else both
        p, q = [x for x in both if x in p], [x for x in both if x in q]
    found = relation(as_spans(p, named), as_spans(q, named))
    assert list(map(bool, found)) == DEFINITIONS[relation](p, q)


def as_elements(pieces: list[Span]) -> list[Span]:
    """Those that have their tags for themselves."""
    kept: list[Span] = []
    for x in pieces:
        if not any({*x} & {*y} for y in kept):
            kept.append(x)
    return kept


def as_spans(pieces: list[Span], named: bool) -> relations.Spans:
    return relations.Spans([begin for begin, _ in pieces], [end for _, end in pieces], named=named)


# Pieces over a real page: what they cover, unit by unit.

PAGE = TaggedPage(turbohtml.parse("<body><p>ab<b>c</b>d</p><br><p>e<i>fg</i></p></body>"))
gaps = st.tuples(*[st.integers(0, PAGE.row.length // 2)] * 2).map(lambda ends: (2 * min(ends), 2 * max(ends)))
pieces = st.one_of(gaps.map(lambda gap: Piece(PAGE, *gap)), st.sampled_from(list(PAGE.elem())))
piece_sets = st.lists(pieces, max_size=8).map(lambda drawn: PieceSet(PAGE, drawn))


def units(piece: Piece) -> set[int]:
    """The tags and characters that a piece covers."""
    return {at for at in range(piece.begin, piece.end + 1) if at % 2}


def stretches(covered: set[int], walls: list[set[int]]) -> set[frozenset[int]]:
    """Runs of neighbouring units, cut where one region ends and another begins."""
    found: list[set[int]] = []
    for at in sorted(covered):
        here = [wall for wall in walls if at in wall]
        there = [wall for wall in walls if at - 2 in wall]
        if found and at - 2 in found[-1] and here == there:
            found[-1].add(at)
        else:
            found.append({at})
    return {frozenset(run) for run in found}


def regions(given: PieceSet) -> list[set[int]]:
    """The covered regions, by fusing whatever overlaps until nothing does."""
    fused = [units(piece) for piece in given]
    fused = [region for region in fused if region]
    while True:
        for i, one in enumerate(fused):
            other = next((o for o in fused[i + 1 :] if o & one), None)
            if other is not None:
                fused = [r for r in fused if r is not one and r is not other] + [one | other]
                break
        else:
            return fused


@given(p=piece_sets, q=piece_sets)
@settings(max_examples=500, deadline=None)
def test_cuts_are_as_defined(p: PieceSet, q: PieceSet) -> None:
    """`without`, `intersect` and `flatten`, by the tags and characters that are left."""
    walls = regions(q)
    cut = set().union(*walls)
    left = {run for piece in p for run in stretches(units(piece) - cut, [])}
    assert {frozenset(units(piece)) for piece in p.without(q)} - {frozenset()} == left
    common = {run for piece in p for run in stretches(units(piece) & cut, walls)}
    assert {frozenset(units(piece)) for piece in p.intersect(q)} == common
    flat = p.flatten()
    assert {frozenset(units(piece)) for piece in flat if piece.begin < piece.end} == set(map(frozenset, regions(p)))
    assert all(units(piece).isdisjoint(cut) for piece in p.without(q))


@given(p=piece_sets, q=piece_sets)
@settings(max_examples=300, deadline=None)
def test_identities_hold(p: PieceSet, q: PieceSet) -> None:
    """What must be true of every page."""
    assert p * q == p - (p - q)
    assert p.flatten().flatten() == p.flatten()
    assert set(p + q) == {*p, *q}
    assert set(p.inside(q, directly=True)) <= set(p.inside(q))
    assert set(p.contain(q, directly=True)) <= set(p.contain(q))
    assert p.inside(p, negate=True) == p.select(lambda x: not any(is_inside(at(x), at(y)) for y in p))
    assert p.contain(p, negate=True) == p.select(lambda x: not any(contains(at(x), at(y)) for y in p))
    for name in ("inside", "contain", "before", "after", "overlap"):
        for options in ({},) if name == "overlap" else ({}, {"directly": True}):
            yes, no = (getattr(p, name)(q, negate=negate, **options) for negate in (False, True))
            assert yes + no == p and not yes * no
    for piece in PAGE.elem():
        assert PAGE.elem(inside=piece) == PAGE.elem().inside(piece)
    for piece in q:
        assert p.inside(piece) == p.inside(PieceSet(PAGE, [piece]))
    assert all(list(s) == sorted(s, key=at) for s in (p + q, p - q, p.without(q), p.flatten(), p.children()))


def at(piece: Piece) -> Span:
    return piece.begin, piece.end


@given(p=piece_sets)
@settings(max_examples=200, deadline=None)
def test_neighbours_are_as_defined(p: PieceSet) -> None:
    """Parent, children and text of any piece, by looking at every element."""
    every = list(PAGE.elem())
    for piece in p:
        around = [e for e in every if e.begin < piece.begin and e.end >= piece.end]
        assert PAGE.parent_of(piece) == max(around, key=at, default=None)
        inner = PAGE.elem(inside=piece)
        assert [c for c in PAGE.children_of(piece) if c.node] == list(inner.inside(inner, negate=True))
        direct = units(piece).difference(*map(units, inner))
        texts = [c for c in PAGE.children_of(piece) if not c.node]
        assert set().union(*map(units, texts)) == {u for u in direct if u in CHARACTERS}
        assert piece.text == "".join(CHARACTERS[u] for u in sorted(units(piece)) if u in CHARACTERS)


CHARACTERS = {run.begin + 1 + 2 * place: character for run in PAGE.pcdata() for place, character in enumerate(run.text)}
