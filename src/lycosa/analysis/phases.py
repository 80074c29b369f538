"""One document goes in; what its phases found comes out as a record, with the time that each of them took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from lycosa.analysis.analyzer import Analyzer, Case, Correction, Facet, Fact, TypedLink
from lycosa.analysis.plan import PHASES, AnalysisPlan, Step
from lycosa.model import Record
from lycosa.parse import Doc

#: What is kept of one document: more than honest ones have.
MAX_LINKS = 20_000
MAX_FACETS = 500
MAX_CHANGES = 200
MAX_CHARS = 2000


class DocumentFinding(Struct):
    """What is known of one document after its phases."""

    member: str
    url: str
    kind: str
    mime: str
    bytes: int
    facts: dict[str, Fact]
    facets: list[Facet]
    links: list[TypedLink]
    changes: list[Correction]
    seconds: tuple[float, float, float, float]  # of the processor, for the four phases


class Phases:
    """The steps of a plan, ready to be run."""

    def __init__(self, part: Analyzer, plan: AnalysisPlan) -> None:
        self._part = part
        self._plan = plan
        self._steps: dict[str, tuple[list[Step], ...]] = {}

    def examine(self, doc: Doc) -> Iterator[Record]:
        """Run the phases over a document and over those that are packed in it."""
        yield self._record(Case(doc))
        for case in self._part.members(doc):
            yield self._record(case)

    def run(self, case: Case) -> tuple[float, float, float, float]:
        """Run the phases that the plan has for this case; returns the processor time of each."""
        at = [time.process_time()]
        for step in self._plan.steps(self._part, "detect", ""):
            case.kind = step(case) or case.kind or case.doc.kind
        at.append(time.process_time())
        chosen = self._steps.get(case.kind)
        if chosen is None:
            chosen = tuple(self._plan.steps(self._part, phase, case.kind) for phase in PHASES[1:])
            self._steps[case.kind] = chosen
        for step in chosen[0]:
            if (corrected := step(case)) is not None:
                case.data = corrected.data
                case.changes += corrected.changes
        at.append(time.process_time())
        for step in chosen[1]:
            case.links += step(case)
        at.append(time.process_time())
        for step in chosen[2]:
            case.facts.update(step(case) or {})
        at.append(time.process_time())
        return at[1] - at[0], at[2] - at[1], at[3] - at[2], at[4] - at[3]

    def _record(self, case: Case) -> Record:
        seconds = self.run(case)
        finding = DocumentFinding(
            case.member, case.url, case.kind, case.doc.mime, len(case.body), _cut(case.facts),
            [Facet(facet[0], facet[1][:MAX_CHARS], facet[2]) for facet in case.facets[:MAX_FACETS]],
            [TypedLink(lead[0], lead[1][:MAX_CHARS], lead[2], lead[3][:MAX_CHARS]) for lead in case.links[:MAX_LINKS]],
            [Correction(item[0], item[1][:MAX_CHARS], item[2], item[3]) for item in case.changes[:MAX_CHANGES]],
            seconds,
        )  # fmt: skip
        return Record("document", msgspec.structs.asdict(finding))


def _cut(facts: dict[str, Any]) -> dict[str, Fact]:
    return {name: value[:MAX_CHARS] if isinstance(value, str) else value for name, value in facts.items()}
