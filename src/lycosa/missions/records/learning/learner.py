"""Learning a schema: examples go in, rules come out, with their score on examples that were left out.

Of many candidates those become the rule of a field that hold on the examples, then what is trusted most. Candidates
that find parts of the values are united; for pages where a rule gives nothing, others follow as alternatives.
Examples come from a file, one JSON object a line, with `page`, a file or a URL, and `values`, a list for each field.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from lycosa.config.fields import dotted, quoted
from lycosa.errors import UsageError
from lycosa.missions.records.learning.candidates import Candidate, candidates
from lycosa.missions.records.learning.places import FieldRule, PageIndex, run, run_field
from lycosa.output.plain import counted
from lycosa.parse import Doc

#: So many candidates are combined when none holds alone.
_COMBINED = 240
_COMBINED_PER_PAGE = 30
#: So many candidates are tried after the first one that holds on all examples.
_TRIED_FOR_RESERVES = 60
#: A rule that takes longer on an example page is not wanted; with pages made to be slow, learning ends after a while.
_SLOW_S = 1.0
_BUDGET_S = 60.0
_MAX_ALTERNATIVES = 5
_MAX_UNITED = 6
_RESERVES = 2

Values = tuple[str, ...]


class ValueCounts(NamedTuple):
    """Right, given and wanted values over some pages."""

    right: int = 0
    given: int = 0
    wanted: int = 0

    @property
    def precision(self) -> float:
        """The share of the given values that are right."""
        return self.right / self.given if self.given else float(not self.wanted)

    @property
    def recall(self) -> float:
        """The share of the wanted values that are given."""
        return self.right / self.wanted if self.wanted else float(not self.given)

    @property
    def f(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.given + self.wanted
        return 2 * self.right / total if total else 1.0


def count(outputs: Iterable[Sequence[str]], wanted: Iterable[frozenset[str]]) -> ValueCounts:
    """Compare what was given with what is wanted, page by page, as sets."""
    right = given = total = 0
    for values, truth in zip(outputs, wanted, strict=True):
        right += len(truth.intersection(values))
        given += len(set(values))
        total += len(truth)
    return ValueCounts(right, given, total)


class _Tried(NamedTuple):
    candidate: Candidate
    outputs: tuple[Values, ...]


class FieldExamples:
    """A field on the pages of all examples: what is wanted, which candidates each page gives, what they find."""

    def __init__(self, field: str, pages: Sequence[PageIndex], values: Sequence[Iterable[str]]) -> None:
        self.pages = pages
        self.wanted = self.wanted_on(pages, values)
        self._left_s = _BUDGET_S
        self._made: list[dict[str, Candidate]] = []
        self._outputs: dict[tuple[str, int], Values] = {}
        for page, truth in zip(pages, self.wanted, strict=True):
            made: dict[str, Candidate] = {}
            for value in sorted(truth):
                for place in page.places(value):
                    for c in candidates(place, page, field=field, value=value):
                        if c.xpath not in made or c.cost < made[c.xpath].cost:
                            made[c.xpath] = c
            self._made.append(made)

    @staticmethod
    def wanted_on(pages: Sequence[PageIndex], values: Sequence[Iterable[str]]) -> list[frozenset[str]]:
        """The values of each page as the page writes them."""
        both = zip(pages, values, strict=True)
        return [frozenset(filter(None, (page.written(v) for v in said))) for page, said in both]

    def select(self, numbers: Sequence[int]) -> FieldRule:
        """The rule of the field that the pages of these numbers teach."""
        several = any(len(self.wanted[n]) > 1 for n in numbers)
        ordered, support = self._ordered(numbers)
        holding = self._holding(ordered, numbers)
        if holding:
            chosen = [[holding[0]], *_reserves(holding)]
        else:
            wanted = [self.wanted[n] for n in numbers]
            tried = self._combinable(ordered, support, numbers)
            chosen = max(
                (_cover(some, wanted) for some in ([t for t in tried if _pure(t, wanted)], tried)), key=lambda c: c[0]
            )[1]
        return FieldRule(tuple(_rule(united) for united in chosen), several)

    def _ordered(self, numbers: Sequence[int]) -> tuple[list[Candidate], dict[str, list[int]]]:
        """The candidates of the pages, those of most pages first, then the most trusted; and their pages."""
        made: dict[str, Candidate] = {}
        support: dict[str, list[int]] = {}
        for n in numbers:
            for xpath, c in self._made[n].items():
                if xpath not in made or c.cost < made[xpath].cost:
                    made[xpath] = c
                support.setdefault(xpath, []).append(n)
        return sorted(made.values(), key=lambda c: (-len(support[c.xpath]), c.cost, c.xpath)), support

    def _output(self, candidate: Candidate, number: int) -> Values:
        key = (candidate.xpath, number)
        if key not in self._outputs:
            start = time.monotonic()
            given = tuple(run(_rule([candidate]), self.pages[number].tree)) if self._left_s > 0 else ()
            spent = time.monotonic() - start
            self._left_s -= spent
            self._outputs[key] = given if spent < _SLOW_S else ()
        return self._outputs[key]

    def _holding(self, ordered: list[Candidate], numbers: Sequence[int]) -> list[Candidate]:
        """The first candidates that give just the wanted values on every page."""
        found: list[Candidate] = []
        since = 0
        for c in ordered:
            since += bool(found)
            if since > _TRIED_FOR_RESERVES:
                break
            if all(
                self.wanted[n].issuperset(out := self._output(c, n)) and len(out) == len(self.wanted[n])
                for n in numbers
            ):
                found.append(c)
        return found

    def _combinable(
        self, ordered: list[Candidate], support: dict[str, list[int]], numbers: Sequence[int]
    ) -> list[_Tried]:
        kept = {c.xpath: c for c in ordered[:_COMBINED]}
        per_page = dict.fromkeys(numbers, 0)
        for c in ordered:
            for n in support[c.xpath]:
                if per_page[n] < _COMBINED_PER_PAGE:
                    per_page[n] += 1
                    kept[c.xpath] = c
        different: dict[tuple[Values, ...], Candidate] = {}
        for c in kept.values():
            outputs = self._outputs_unless_useless(c, numbers)
            if outputs and (outputs not in different or c.cost < different[outputs].cost):
                different[outputs] = c
        return [_Tried(c, outputs) for outputs, c in different.items()]

    def _outputs_unless_useless(self, candidate: Candidate, numbers: Sequence[int]) -> tuple[Values, ...]:
        """What a candidate gives on the pages; () once it has given far more wrong values than right ones."""
        outputs: list[Values] = []
        right = wrong = 0
        for n in numbers:
            outputs.append(self._output(candidate, n))
            hits = len(self.wanted[n].intersection(outputs[-1]))
            right, wrong = right + hits, wrong + len(outputs[-1]) - hits
            if wrong > 2 * right + 5:
                return ()
        return tuple(outputs)


def _cover(tried: list[_Tried], wanted: Sequence[frozenset[str]]) -> tuple[float, list[list[Candidate]]]:
    """Alternatives, each a union of candidates, chosen greedily by what they add to the score on the examples."""
    chosen: list[list[Candidate]] = []
    outputs: list[Values] = [() for _ in wanted]
    best = count(outputs, wanted).f
    while best < 1.0:
        steps = _steps(tried, chosen, outputs)
        ranked = [
            (round(count(given, wanted).f, 6), -t.candidate.cost - 0.5 * unite, i, unite, t, given)
            for i, (unite, t, given) in enumerate(steps)
        ]
        if not ranked:
            break
        f, _, _, unite, found, given = max(ranked, key=lambda r: r[:3])
        if f <= best:
            break
        best, outputs = f, given
        if unite:
            chosen[-1].append(found.candidate)
        else:
            chosen.append([found.candidate])
    return best, chosen


def _pure(tried: _Tried, wanted: Sequence[frozenset[str]]) -> bool:
    """Whether a candidate gives nothing but wanted values."""
    return all(truth.issuperset(out) for out, truth in zip(tried.outputs, wanted, strict=True))


def _steps(
    tried: list[_Tried], chosen: list[list[Candidate]], outputs: list[Values]
) -> Iterator[tuple[bool, _Tried, list[Values]]]:
    """How the choice can grow: by an alternative where nothing is given yet, by uniting with the only one."""
    alternative = len(chosen) < _MAX_ALTERNATIVES
    unite = len(chosen) == 1 and len(chosen[0]) < _MAX_UNITED
    for t in tried:
        pairs = list(zip(outputs, t.outputs, strict=True))
        if alternative and any(not out and new for out, new in pairs):
            yield False, t, [out or new for out, new in pairs]
        if unite:
            yield True, t, [(*out, *(v for v in new if v not in out)) for out, new in pairs]


def _reserves(holding: list[Candidate]) -> list[list[Candidate]]:
    """Candidates of other kinds that hold as well, for pages where the chosen one gives nothing.

    One that only adds to the beginning of a path gives nothing there either.
    """
    families = {"position", holding[0].family}
    found = [holding[0]]
    for c in holding[1:]:
        if c.family not in families and not any(c.xpath.endswith(f.xpath) for f in found) and len(found) <= _RESERVES:
            families.add(c.family)
            found.append(c)
    return [[c] for c in found[1:]]


def _rule(united: list[Candidate]) -> str:
    if all(c.css for c in united):
        return "css:" + ", ".join(c.css for c in united)
    return "xpath:" + " | ".join(c.xpath for c in united)


class FieldScores(Struct, frozen=True):
    """How good the rule of a field is: on the pages that taught it, on each of them left out, on the others."""

    pages: int  # that have the field
    teaching: int  # pages, all together
    examples: ValueCounts
    left_out: ValueCounts | None = None
    rest: ValueCounts | None = None

    def told(self) -> str:
        """The scores in words."""
        parts = [f"on {self.pages} of {counted(self.teaching, 'page')}", f"F {self.examples.f:.3f} there"]
        if self.left_out is not None:
            parts.append(f"{self.left_out.f:.3f} on pages left out")
        if self.rest is not None:
            parts.append(f"{self.rest.f:.3f} on the rest")
        return ", ".join(parts)


def write_schema(name: str, rules: Mapping[str, FieldRule], scores: Mapping[str, FieldScores]) -> str:
    """The schema as TOML."""
    out = ["# Learned from examples. F is 1 where all values are found and no others.", "[schema]"]
    out += [f"name = {quoted(name)}", 'version = "1"']
    for field, rule in rules.items():
        if not rule.rules:
            out += ["", f"# {quoted(field)}: no rule was found; its values stand on none of the pages."]
            continue
        out += ["", f"# {scores[field].told()}", f"[{dotted(('fields', field))}]", f"rule = {_rules(rule.rules)}"]
        if rule.several:
            out.append("list = true")
    return "\n".join(out) + "\n"


def _rules(rules: tuple[str, ...]) -> str:
    if len(rules) == 1:
        return _literal(rules[0])
    return "[\n" + "".join(f"  {_literal(rule)},\n" for rule in rules) + "]"


def _literal(text: str) -> str:
    """A rule as people like to read it: without escapes where TOML allows it, but for what nobody would see."""
    if "'" not in text and '"' in text and text.isprintable():
        return f"'{text}'"
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted(text))


MAX_EXAMPLES = 1000
MAX_LINE = 1 << 20
_FORM = '{"page": FILE or URL, "values": {FIELD: [VALUE, …]}}'


class ExampleLine(msgspec.Struct):
    """An example as written, with the name of its page."""

    page: str
    values: dict[str, list[str]]


def read_examples(path: str) -> list[ExampleLine]:
    """Read a file of examples; raises UsageError with the line that is wrong."""
    found = []
    decoder = msgspec.json.Decoder(ExampleLine)
    try:
        with open(Path(path), "rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise UsageError(f"{path}:{number}: this line is longer than {MAX_LINE:,} bytes.")
                if not line.strip():
                    continue
                found.append(decoder.decode(line))
                if len(found) > MAX_EXAMPLES:
                    raise UsageError(f"{path} has more than {MAX_EXAMPLES:,} examples: some twenty are enough.")
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise UsageError(f"{path}:{number}: {problem}; allowed: {_FORM}.") from None
    if not any(values for line in found for values in line.values.values()):
        raise UsageError(f"{path} has no example with a value; allowed, one a line: {_FORM}.")
    return found


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
