"""Which of many candidates become the rule of a field: what holds on the examples, then what is trusted most.

Candidates that find parts of the values are united; for pages where a rule gives nothing, others follow as
alternatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from lycosa.missions.records.learning.candidates import Candidate, candidates
from lycosa.missions.records.learning.execution import run
from lycosa.missions.records.learning.places import PageIndex, fold

_TRIED = 400
_TRIED_PER_PAGE = 60
_MAX_ALTERNATIVES = 5
_MAX_UNITED = 6
_RESERVES = 2

Values = tuple[str, ...]


class FieldRule(Struct, frozen=True):
    """The learned rule of a field: alternatives in their order, and whether all matches count."""

    rules: tuple[str, ...]
    several: bool


class Tried(NamedTuple):
    """A candidate with what it gives on each example page, and how many of the pages it came from."""

    candidate: Candidate
    outputs: tuple[Values, ...]
    support: int

    @property
    def cost(self) -> float:
        return self.candidate.cost


class Counts(NamedTuple):
    """Right, given and wanted values over the examples."""

    right: int
    given: int
    wanted: int

    @property
    def f(self) -> float:
        total = self.given + self.wanted
        return 2 * self.right / total if total else 1.0


def count(outputs: Sequence[Values], wanted: Sequence[frozenset[str]]) -> Counts:
    """Compare what was given with what is wanted, page by page, as sets."""
    right = given = total = 0
    for values, truth in zip(outputs, wanted, strict=True):
        right += len(truth.intersection(values))
        given += len(set(values))
        total += len(truth)
    return Counts(right, given, total)


def select(field: str, pages: Sequence[PageIndex], values: Sequence[Sequence[str]]) -> FieldRule:
    """The rule of a field, from the pages of the examples and the field's values on each."""
    wanted = [frozenset(filter(None, map(fold, v))) for v in values]
    several = any(len(w) > 1 for w in wanted)
    tried = _try_all(field, pages, wanted, several=several)
    if not tried:
        return FieldRule((), several)
    chosen = _cover(tried, wanted)
    chosen += _reserves(tried, chosen, wanted)
    return FieldRule(tuple(_rule([t.candidate for t in united]) for united in chosen), several)


def _try_all(
    field: str, pages: Sequence[PageIndex], wanted: Sequence[frozenset[str]], *, several: bool
) -> list[Tried]:
    made: dict[str, Candidate] = {}
    support: dict[str, set[int]] = {}
    for number, (page, truth) in enumerate(zip(pages, wanted, strict=True)):
        for value in truth:
            for place in page.places(value):
                for c in candidates(place, page, field=field, value=value):
                    if c.xpath not in made or c.cost < made[c.xpath].cost:
                        made[c.xpath] = c
                    support.setdefault(c.xpath, set()).add(number)
    order = sorted(made.values(), key=lambda c: (-len(support[c.xpath]), c.cost))
    kept = {c.xpath: c for c in order[:_TRIED]}
    per_page = dict.fromkeys(range(len(pages)), 0)
    for c in order:
        for number in support[c.xpath]:
            if per_page[number] < _TRIED_PER_PAGE:
                per_page[number] += 1
                kept[c.xpath] = c
    tried = []
    for c in kept.values():
        rule = _rule([c])
        outputs = tuple(tuple(run(rule, page.tree)) for page in pages)
        tried.append(Tried(c, outputs, len(support[c.xpath])))
    return tried


def _cover(tried: list[Tried], wanted: Sequence[frozenset[str]]) -> list[list[Tried]]:
    """Alternatives, each a union of candidates, chosen greedily by what they add to the score on the examples."""
    chosen: list[list[Tried]] = []
    outputs: list[Values] = [() for _ in wanted]
    best = count(outputs, wanted).f
    for _ in range(_MAX_ALTERNATIVES * _MAX_UNITED):
        if best >= 1.0:
            break
        step = _best_step(tried, chosen, outputs, wanted)
        if step is None or step[0] <= best + 1e-9:
            break
        best, unite, found, outputs = step
        if unite:
            chosen[-1].append(found)
        else:
            chosen.append([found])
    return chosen


def _best_step(
    tried: list[Tried], chosen: list[list[Tried]], outputs: list[Values], wanted: Sequence[frozenset[str]]
) -> tuple[float, bool, Tried, list[Values]] | None:
    best: tuple[tuple[float, float], bool, Tried, list[Values]] | None = None
    free = [not out for out in outputs]
    for t in tried:
        ways = []
        if len(chosen) < _MAX_ALTERNATIVES and any(f and o for f, o in zip(free, t.outputs, strict=True)):
            ways.append((False, [o if f else out for f, o, out in zip(free, t.outputs, outputs, strict=True)]))
        if len(chosen) == 1 and len(chosen[0]) < _MAX_UNITED:
            ways.append((True, [(*out, *(v for v in o if v not in out)) for o, out in zip(t.outputs, outputs, strict=True)]))
        for unite, together in ways:
            rank = (round(count(together, wanted).f, 6), -t.cost - (0.5 if unite else 0.0))
            if best is None or rank > best[0]:
                best = (rank, unite, t, together)
    return None if best is None else (best[0][0], *best[1:])


def _reserves(
    tried: list[Tried], chosen: list[list[Tried]], wanted: Sequence[frozenset[str]]
) -> list[list[Tried]]:
    """Candidates that say nothing else on the examples, for pages where the chosen ones give nothing."""
    if not chosen:
        return []
    families = {t.candidate.family for united in chosen for t in united}
    found: list[list[Tried]] = []
    for t in sorted(tried, key=lambda t: t.cost):
        if len(found) >= _RESERVES:
            break
        if t.candidate.family in families or t.candidate.family == "position":
            continue
        if count(t.outputs, wanted).f == 1.0:
            families.add(t.candidate.family)
            found.append([t])
    return found


def _rule(united: list[Candidate]) -> str:
    if all(c.css for c in united):
        return "css:" + ", ".join(c.css for c in united)
    return "xpath:" + " | ".join(c.xpath for c in united)


__all__ = ["Counts", "FieldRule", "count", "select"]
_Unused = Mapping
