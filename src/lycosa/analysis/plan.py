"""Plan of an analysis, a TOML file of the user: which phases run for which kind, and how documents are sorted.

[phases]                                 # for every document; "built-in" is the mission's own
analyse = ["built-in", "mine.py:count"]
[kinds.svg]                              # for one kind (or *+xml); what is not named is as above
correct = []
[clusters.size]                          # each document goes to the first group that it fits
big = "bytes >= 1MB"
[clusters]
hosts = "host"                           # one collection for each value
shape = "mine.py:shape"                  # the collection that a function names
"""

from __future__ import annotations

import hashlib
import inspect
import os
import tomllib
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lycosa.analysis.analyzer import Analyzer
from lycosa.errors import UsageError
from lycosa.extract.quarry_loader import load_function

PHASES = ("detect", "correct", "trace", "analyse")
BUILT_IN = "built-in"

Step = Callable[[Any], Any]


class PhaseSteps(Struct, frozen=True, forbid_unknown_fields=True):
    """The steps of each phase; None: as for every document."""

    detect: tuple[str, ...] | None = None
    correct: tuple[str, ...] | None = None
    trace: tuple[str, ...] | None = None
    analyse: tuple[str, ...] | None = None


class AnalysisPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """The user's plan of an analysis."""

    phases: PhaseSteps = PhaseSteps()
    kinds: dict[str, PhaseSteps] = {}
    clusters: dict[str, str | dict[str, str]] = {}
    report: tuple[str, ...] = ()  # functions that make sections of the report

    def names(self, phase: str, kind: str) -> tuple[str, ...]:
        """The names of the steps of a phase for a kind: those of the longest pattern that fits it, or those for all."""
        fitting = [pattern for pattern in self.kinds if kind and fnmatchcase(kind, pattern)]
        for pattern in sorted(fitting, key=len, reverse=True):
            if (names := getattr(self.kinds[pattern], phase)) is not None:
                return tuple(names)
        names = getattr(self.phases, phase)
        return (BUILT_IN,) if names is None else tuple(names)

    def steps(self, analyzer: Analyzer, phase: str, kind: str) -> list[Step]:
        """The functions of a phase for documents of a kind."""
        return [getattr(analyzer, phase) if name == BUILT_IN else load_plugin(name) for name in self.names(phase, kind)]

    def collectors(self) -> list[str]:
        """The names of the user's functions that sort documents."""
        return sorted({rule for rule in self.clusters.values() if is_function(rule)})  # type: ignore[misc]

    def plugins(self) -> list[str]:
        """The names of the user's functions that are phases."""
        every = [self.phases, *self.kinds.values()]
        names = {name for steps in every for phase in PHASES for name in getattr(steps, phase) or ()}
        return sorted(names - {BUILT_IN})

    def correctors(self) -> list[str]:
        """The names of those that correct documents."""
        every = [self.phases, *self.kinds.values()]
        return sorted({name for steps in every for name in steps.correct or ()} - {BUILT_IN})

    def mark(self) -> str:
        """A digest of the phases and the code of plugins, empty for no plan; clusters are made anew each time."""
        digest = hashlib.sha256(msgspec.json.encode((self.phases, self.kinds)))
        for name in self.plugins():
            path = name.rpartition(":")[0]
            if path.endswith(".py") and os.path.isfile(path):
                digest.update(Path(path).read_bytes())
        return digest.hexdigest()[:12] if self.phases != PhaseSteps() or self.kinds else ""


def read_kept(text: str) -> AnalysisPlan:
    """The plan that a collection was analysed with; none if it names functions: a stranger's code is not run."""
    try:
        plan = msgspec.json.decode(text or "{}", type=AnalysisPlan)
    except msgspec.MsgspecError:
        return AnalysisPlan()
    return AnalysisPlan() if plan.plugins() or plan.collectors() or plan.report else plan


_loaded: dict[str, Step] = {}


def is_function(rule: object) -> bool:
    """Whether a rule of a cluster is the name of a function, and not a fact."""
    return isinstance(rule, str) and ":" in rule


def load_plugin(name: str) -> Step:
    """The function of a plugin, loaded once."""
    if name not in _loaded:
        _loaded[name] = load_function(name, what="plugin")
    return _loaded[name]


def read_plan(file: str) -> AnalysisPlan:
    """Read a plan and load the plugins that it names, so that a mistake is told before anything is done."""
    path = Path(file)
    try:
        text = path.read_bytes()
        plan = msgspec.convert(tomllib.loads(text.decode()), AnalysisPlan)
    except OSError as problem:
        raise UsageError(f"The plan {file} cannot be read: {problem.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as problem:
        allowed = f"[phases] and [kinds.KIND] with {', '.join(PHASES)}, [clusters] and [clusters.NAME], report"
        raise UsageError(f"The plan {file} cannot be used: {problem}; allowed: {allowed}.") from None
    plan = _with_absolute_files(plan, path.resolve().parent)
    for name in (*plan.plugins(), *plan.collectors(), *plan.report):
        step = load_plugin(name)
        wanted = [each for each in inspect.signature(step).parameters.values() if each.default is each.empty]
        if len(wanted) != 1:
            raise UsageError(
                f"The plugin {name} takes {len(wanted)} arguments; it is to be a function of one: a phase of the case,"
                " a cluster of the document, a report of the collection."
            )
    return plan


def _with_absolute_files(plan: AnalysisPlan, folder: Path) -> AnalysisPlan:
    """The same plan with absolute names of its plugin files, which are relative to the plan's folder."""

    def resolve(steps: PhaseSteps) -> PhaseSteps:
        given = {phase: names for phase in PHASES if (names := getattr(steps, phase)) is not None}
        return PhaseSteps(**{phase: _resolve_files(names, folder) for phase, names in given.items()})

    kinds = {kind: resolve(steps) for kind, steps in plan.kinds.items()}
    clusters = {
        name: _resolve_files((rule,), folder)[0] if isinstance(rule, str) else rule
        for name, rule in plan.clusters.items()
    }
    report = _resolve_files(plan.report, folder)
    return msgspec.structs.replace(plan, phases=resolve(plan.phases), kinds=kinds, clusters=clusters, report=report)


def _resolve_files(names: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    return tuple(str(folder / name) if name.rpartition(":")[0].endswith(".py") else name for name in names)
