"""Phases of an analysis: one document goes in; a record of its findings comes out, with the time of each phase."""

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

#: Limits of what is kept of one document: more than honest ones have.
MAX_LINKS = 20_000
MAX_FACETS = 500
MAX_CHANGES = 200
MAX_CHARS = 2000


class DocumentFinding(Struct):
    """The findings of the phases about one document."""

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

    def __init__(self, analyzer: Analyzer, plan: AnalysisPlan) -> None:
        self._analyzer = analyzer
        self._plan = plan
        self._steps: dict[str, tuple[list[Step], ...]] = {}

    def examine(self, doc: Doc) -> Iterator[Record]:
        """Run the phases over a document and over those that are packed in it."""
        yield self._record(Case(doc))
        for case in self._analyzer.members(doc):
            yield self._record(case)

    def run(self, case: Case) -> tuple[float, float, float, float]:
        """Run the phases that the plan has for this case; returns the processor time of each."""
        at = [time.process_time()]
        for step in self._plan.steps(self._analyzer, "detect", ""):
            case.kind = step(case) or case.kind or case.doc.kind
        at.append(time.process_time())
        chosen = self._steps.get(case.kind)
        if chosen is None:
            chosen = tuple(self._plan.steps(self._analyzer, phase, case.kind) for phase in PHASES[1:])
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
            member=case.member,
            url=case.url,
            kind=case.kind,
            mime=case.doc.mime,
            bytes=len(case.body),
            facts=_cut(case.facts),
            facets=[Facet(name, value[:MAX_CHARS], times) for name, value, times in case.facets[:MAX_FACETS]],
            links=[
                TypedLink(kind, href[:MAX_CHARS], strong, url[:MAX_CHARS])
                for kind, href, strong, url in case.links[:MAX_LINKS]
            ],
            changes=[
                Correction(what, detail[:MAX_CHARS], line, times)
                for what, detail, line, times in case.changes[:MAX_CHANGES]
            ],
            seconds=seconds,
        )
        return Record("document", msgspec.structs.asdict(finding))


def _cut(facts: dict[str, Any]) -> dict[str, Fact]:
    return {name: value[:MAX_CHARS] if isinstance(value, str) else value for name, value in facts.items()}
