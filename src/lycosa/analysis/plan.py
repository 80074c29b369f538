"""A TOML file goes in; which phases run for which kind, and how documents are sorted, comes out.

[phases]                                 # for every document; "built-in" is the mission's own
analyse = ["built-in", "mine.py:count"]
[kinds.svg]                              # for one kind (or *+xml); what is not named is as above
correct = []
[clusters.size]                          # each document goes to the first collection that it fits
big = "bytes >= 1MB"
[clusters]
hosts = "host"                           # one collection for each value
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


class Assembly(Struct, frozen=True, forbid_unknown_fields=True):
    """The steps of each phase; None: as for every document."""

    detect: tuple[str, ...] | None = None
    correct: tuple[str, ...] | None = None
    trace: tuple[str, ...] | None = None
    analyse: tuple[str, ...] | None = None


class AnalysisPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """What the user wants of an analysis."""

    phases: Assembly = Assembly()
    kinds: dict[str, Assembly] = {}
    clusters: dict[str, str | dict[str, str]] = {}

    def names(self, phase: str, kind: str) -> tuple[str, ...]:
        """The steps of a phase for documents of a kind: of the most telling pattern that fits it, or of all."""
        fitting = [pattern for pattern in self.kinds if kind and fnmatchcase(kind, pattern)]
        for pattern in sorted(fitting, key=len, reverse=True):
            if (names := getattr(self.kinds[pattern], phase)) is not None:
                return tuple(names)
        names = getattr(self.phases, phase)
        return (BUILT_IN,) if names is None else tuple(names)

    def steps(self, part: Analyzer, phase: str, kind: str) -> list[Step]:
        """The functions of a phase for documents of a kind."""
        return [getattr(part, phase) if name == BUILT_IN else _load(name) for name in self.names(phase, kind)]

    def plugins(self) -> list[str]:
        """The names of the user's functions."""
        every = [self.phases, *self.kinds.values()]
        found = {name for assembly in every for phase in PHASES for name in getattr(assembly, phase) or ()}
        return sorted(found - {BUILT_IN})

    def mark(self) -> str:
        """Changes when the phases, or the code of a plugin, do; clusters are made anew each time and do not count."""
        digest = hashlib.sha256(msgspec.json.encode((self.phases, self.kinds)))
        for name in self.plugins():
            path = name.rpartition(":")[0]
            if path.endswith(".py") and os.path.isfile(path):
                digest.update(Path(path).read_bytes())
        return digest.hexdigest()[:12] if self.phases != Assembly() or self.kinds else ""


_loaded: dict[str, Step] = {}


def _load(name: str) -> Step:
    if name not in _loaded:
        _loaded[name] = load_function(name, what="plugin")
    return _loaded[name]


def read_plan(file: str) -> AnalysisPlan:
    """Read a plan and load what it names once, so that a mistake is told before anything is done."""
    path = Path(file)
    try:
        text = path.read_bytes()
        plan = msgspec.convert(tomllib.loads(text.decode()), AnalysisPlan)
    except OSError as problem:
        raise UsageError(f"The plan {file} cannot be read: {problem.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as problem:
        allowed = f"[phases] and [kinds.KIND] with {', '.join(PHASES)}, [clusters] and [clusters.NAME]"
        raise UsageError(f"The plan {file} cannot be used: {problem}; allowed: {allowed}.") from None
    plan = _at_home(plan, path.resolve().parent)
    for name in plan.plugins():
        step = _load(name)
        wanted = [each for each in inspect.signature(step).parameters.values() if each.default is each.empty]
        if len(wanted) != 1:
            raise UsageError(
                f"The plugin {name} takes {len(wanted)} arguments; a phase is a function of one, the case."
            )
    return plan


def _at_home(plan: AnalysisPlan, folder: Path) -> AnalysisPlan:
    """The same plan with its files named from anywhere: they are looked up from the plan's folder."""

    def settle(assembly: Assembly) -> Assembly:
        return Assembly(**{phase: _settle(getattr(assembly, phase), folder) for phase in PHASES})

    kinds = {kind: settle(assembly) for kind, assembly in plan.kinds.items()}
    return msgspec.structs.replace(plan, phases=settle(plan.phases), kinds=kinds)


def _settle(names: tuple[str, ...] | None, folder: Path) -> tuple[str, ...] | None:
    if names is None:
        return None
    return tuple(str(folder / name) if name.rpartition(":")[0].endswith(".py") else name for name in names)
