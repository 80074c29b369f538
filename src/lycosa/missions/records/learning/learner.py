"""Learning a schema: examples go in, rules come out, with their score on examples that were left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from lycosa.missions.records.learning.execution import FieldRule, run_field
from lycosa.missions.records.learning.places import PageIndex
from lycosa.missions.records.learning.schema_text import FieldScores, write_schema
from lycosa.missions.records.learning.selection import FieldExamples, ValueCounts, count
from lycosa.parse import Doc

#: So many pages teach, unless told otherwise; more add little, and the others tell how good the rules are.
MAX_TEACHING = 20
#: So many times a part of the teaching pages is left out for the score.
_FOLDS = 10


class Example(Struct):
    """A page with the values of its fields; a field without values, or not named, is not on the page."""

    page: Doc
    values: Mapping[str, Sequence[str]]


class Learned(Struct, frozen=True):
    """What was learned: the schema as TOML, its rules and how good each is."""

    schema_toml: str
    rules: dict[str, FieldRule]
    scores: dict[str, FieldScores]

    def extract(self, page: Doc) -> dict[str, list[str]]:
        """The values of the fields on a page."""
        if page.tree is None:
            return {field: [] for field in self.rules}
        return {field: run_field(rule, page.tree) for field, rule in self.rules.items()}


def learn(examples: Sequence[Example], *, name: str, teaching: int = 0) -> Learned:
    """Learn the rules of every field that the examples name; the first `teaching` of them teach, the rest only score.

    Examples whose page is no HTML, or nests hundreds of elements deep, are left out.
    """
    indexed = [(e, PageIndex(e.page.tree)) for e in examples if e.page.tree is not None]
    usable = [(e, index) for e, index in indexed if index.usable]
    teaching = min(teaching or MAX_TEACHING, len(usable))
    pages = [index for _, index in usable]
    fields = dict.fromkeys(field for e, _ in usable for field in e.values)
    rules: dict[str, FieldRule] = {}
    scores: dict[str, FieldScores] = {}
    for field in fields:
        values = [e.values.get(field, ()) for e, _ in usable]
        taught = FieldExamples(field, pages[:teaching], values[:teaching])
        rules[field] = rule = taught.select(range(teaching))
        rest = FieldExamples.wanted_on(pages[teaching:], values[teaching:])
        scores[field] = FieldScores(
            pages=sum(map(bool, taught.wanted)),
            teaching=teaching,
            examples=_score(rule, pages[:teaching], taught.wanted),
            left_out=_score_left_out(taught) if teaching > 1 else None,
            rest=_score(rule, pages[teaching:], rest) if rest else None,
        )
    return Learned(write_schema(name, rules, scores), rules, scores)


def _score(rule: FieldRule, pages: Sequence[PageIndex], wanted: Sequence[frozenset[str]]) -> ValueCounts:
    return count([run_field(rule, page.tree) for page in pages], wanted)


def _score_left_out(taught: FieldExamples) -> ValueCounts:
    """Learn from all pages but some, and see what that gives on those; every page is left out once."""
    numbers = range(len(taught.pages))
    outputs: list[list[str]] = [[] for _ in numbers]
    folds = min(_FOLDS, len(numbers))
    for fold in range(folds):
        rule = taught.select([n for n in numbers if n % folds != fold])
        for n in numbers[fold::folds]:
            outputs[n] = run_field(rule, taught.pages[n].tree)
    return count(outputs, taught.wanted)
