"""Phases of an analysis: one document goes in; a record of its findings comes out, with the time of each phase."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from lycosa.analysis.analyzer import Analyzer, Case, Correction, Facet, Fact, TypedLink
from lycosa.analysis.plan import BUILT_IN, PHASES, AnalysisPlan, Step
from lycosa.extract.quarry_loader import describe_error
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
    error: str = ""  # what the first plugin said that failed on it


class Phases:
    """The steps of a plan, ready to be run."""

    def __init__(self, analyzer: Analyzer, plan: AnalysisPlan) -> None:
        self._analyzer = analyzer
        self._plan = plan
        self._steps: dict[tuple[str, str], list[tuple[str, Step]]] = {}

    def examine(self, doc: Doc) -> Iterator[Record]:
        """Run the phases over a document and over those that are packed in it."""
        yield self._record(Case(doc))
        for case in self._analyzer.members(doc):
            yield self._record(case)

    def run(self, case: Case) -> tuple[float, float, float, float]:
        """Run the phases that the plan has for this case; returns the processor time of each."""
        at = [time.process_time()]
        self._detect(case)
        at.append(time.process_time())
        for phase in PHASES[1:]:
            self._take_steps(case, phase)
            at.append(time.process_time())
        return at[1] - at[0], at[2] - at[1], at[3] - at[2], at[4] - at[3]

    def correct(self, case: Case) -> None:
        """Run the first two phases: `case.data` is the document as the plan puts it right."""
        self._detect(case)
        self._take_steps(case, "correct")

    def _detect(self, case: Case) -> None:
        self._take_steps(case, "detect", kind="")
        case.kind = case.kind or case.doc.kind

    def _take_steps(self, case: Case, phase: str, *, kind: str | None = None) -> None:
        """Take the steps of a phase; a plugin that fails costs what it would have found, and no more."""
        kind = case.kind if kind is None else kind
        steps = self._steps.get((phase, kind))
        if steps is None:
            names = self._plan.names(phase, kind)
            steps = list(zip(names, self._plan.steps(self._analyzer, phase, kind), strict=True))
            self._steps[phase, kind] = steps
        for name, step in steps:
            try:
                _TAKERS[phase](case, step)
            except (Exception, SystemExit) as error:
                if name == BUILT_IN:
                    raise
                case.error = case.error or f"{os.path.basename(name)}: {describe_error(error)}"

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
            error=case.error[:MAX_CHARS],
        )
        return Record("document", msgspec.structs.asdict(finding))


def _take_kind(case: Case, step: Step) -> None:
    case.kind = msgspec.convert(step(case), str | None) or case.kind


def _take_correction(case: Case, step: Step) -> None:
    if (corrected := step(case)) is not None:
        data, changes = corrected
        changes = [Correction(*change) for change in changes]
        case.data = msgspec.convert(data, bytes)
        case.changes += changes


def _take_links(case: Case, step: Step) -> None:
    case.links += [TypedLink(*link) for link in step(case) or ()]


def _take_facts(case: Case, step: Step) -> None:
    case.facts.update(msgspec.convert(dict(step(case) or {}), dict[str, Fact]))


_TAKERS: dict[str, Callable[[Case, Step], None]] = {
    "detect": _take_kind,
    "correct": _take_correction,
    "trace": _take_links,
    "analyse": _take_facts,
}


def _cut(facts: dict[str, Any]) -> dict[str, Fact]:
    return {name: value[:MAX_CHARS] if isinstance(value, str) else value for name, value in facts.items()}
