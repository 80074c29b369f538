"""Plan page: which phases of the analysis run for which kind, how documents are sorted; and the analysis itself.

The plan is `plan.toml` of the collection, which `lycosa analyse xml --plan` reads as well. One that names code is
neither changed nor run from the page: it may be a stranger's.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import RedirectResponse, Response

from lycosa.analysis.collectors import check_clusters
from lycosa.analysis.plan import BUILT_IN, PHASES, AnalysisPlan
from lycosa.analysis.store import COLUMNS
from lycosa.config.toml import write_tables
from lycosa.errors import CollectionError, UsageError
from lycosa.missions.web import QueryValues, View, WebRequest
from lycosa.missions.xml.analysis import XmlAnalyzer
from lycosa.output.atomic_file import whole_file

NAME = "plan.toml"
_MOST_BYTES = 1 << 18
_MOST_ROWS = 60
_PLAIN = ("kind", "validity", "closure", "namespace", "host", "media_type", "well_formed", "encoding")


class PlannedKind(Struct, frozen=True):
    """The phases that run for the documents of a kind."""

    kind: str
    phases: tuple[str, ...]


class ClusterRow(Struct, frozen=True):
    """A way to sort documents: by the values of a fact, or into groups by conditions, one a line."""

    name: str
    fact: str
    groups: str


class PlanPage(Struct, frozen=True):
    """The form of a plan."""

    phases: tuple[str, ...]
    kinds: tuple[PlannedKind, ...]
    clusters: tuple[ClusterRow, ...]
    every_phase: tuple[str, ...] = PHASES
    facts: tuple[str, ...] = ()
    is_running: bool = False
    problem: str = ""


def show_plan(request: WebRequest) -> View:
    """The plan of the collection as a form; of none, the usual one."""
    return View("plan.html", _fill(request, _read(request.folder)))


def keep_plan(request: WebRequest) -> View | Response:
    """Keep the plan, and analyse the collection by it if asked to."""
    form = request.form
    action = form.get("action", "")
    try:
        if action not in ("save", "analyse", "again"):
            raise UsageError(f"The action is {action[:40]!r}; allowed: save, analyse, again.")
        _read(request.folder)  # one that names code stays
        tables = _read_form(form)
        plan = msgspec.convert(tables, AnalysisPlan)
        check_clusters(plan.clusters, {**COLUMNS, **XmlAnalyzer.columns}, list(XmlAnalyzer.facets))
        _refuse_code(plan)
    except (UsageError, msgspec.ValidationError) as problem:
        return View("plan.html", _fill(request, _convert_safely(_read_form(form)), problem=str(problem)), 422)
    path = request.folder / NAME
    with whole_file(path) as part:
        Path(part).write_text(write_tables(tables), encoding="utf-8")
    if action == "save":
        return RedirectResponse(request.mission_link("plan"), 303)
    words = ["analyse", "xml", f"--plan={path}", *(["--again"] if action == "again" else [])]
    return RedirectResponse(request.start_work(words, label=request.translate("Analysis of the XML")), 303)


def _fill(request: WebRequest, plan: AnalysisPlan, *, problem: str = "") -> PlanPage:
    kinds = tuple(PlannedKind(kind, _phases(plan, kind)) for kind in plan.kinds)
    clusters = tuple(
        ClusterRow(name, rule, "")
        if isinstance(rule, str)
        else ClusterRow(name, "", "\n".join(f"{group}: {condition}" for group, condition in rule.items()))
        for name, rule in plan.clusters.items()
    )
    known = {**COLUMNS, **XmlAnalyzer.columns}
    return PlanPage(
        phases=_phases(plan, ""),
        kinds=(*kinds, PlannedKind("", _phases(plan, ""))),
        clusters=(*clusters, ClusterRow("", "", "")),
        facts=(*(fact for fact in _PLAIN if fact in known or fact in XmlAnalyzer.facets),),
        is_running=any(work.is_running and work.words == ["analyse"] for work in request.list_work()),
        problem=problem,
    )


def _phases(plan: AnalysisPlan, kind: str) -> tuple[str, ...]:
    return tuple(phase for phase in PHASES if plan.names(phase, kind))


def _convert_safely(tables: dict[str, Any]) -> AnalysisPlan:
    try:
        return msgspec.convert(tables, AnalysisPlan)
    except msgspec.ValidationError:
        return AnalysisPlan()


def _read(folder: Path) -> AnalysisPlan:
    """The plan of a collection; one that names code is refused."""
    path = folder / NAME
    try:
        if path.is_symlink() or (path.exists() and path.stat().st_size > _MOST_BYTES):
            raise CollectionError(f"{path} is a link, or too large for a plan.")
        plan = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), AnalysisPlan)
    except FileNotFoundError:
        return AnalysisPlan()
    except (OSError, ValueError, RecursionError, msgspec.ValidationError) as problem:
        raise CollectionError(f"{path} cannot be read as a plan: {problem}.") from None
    _refuse_code(plan)
    return plan


def _refuse_code(plan: AnalysisPlan) -> None:
    if plan.plugins() or plan.collectors() or plan.report:
        raise UsageError(f"{NAME} names code, which the page does not run: use lycosa analyse xml --plan.")


def _read_form(form: QueryValues) -> dict[str, Any]:
    """The tables of a plan as a form has it."""
    tables: dict[str, Any] = {}
    chosen = form.getlist("phase")
    without: dict[str, list[str]] = {phase: [] for phase in PHASES if phase not in chosen}
    if without:
        tables["phases"] = without
    for nth in range(_MOST_ROWS):
        if kind := form.get(f"k{nth}-kind", "").strip():
            steps = {phase: [BUILT_IN] if phase in form.getlist(f"k{nth}-phase") else [] for phase in PHASES}
            tables.setdefault("kinds", {})[kind] = steps
        if name := form.get(f"c{nth}-name", "").strip():
            groups: dict[str, str] = {}
            for line in form.get(f"c{nth}-groups", "").splitlines():
                if line.strip():
                    group, mark, condition = line.partition(":")
                    if not mark:
                        raise UsageError(f"{line[:80]!r} is no group; allowed: NAME: CONDITION, one a line.")
                    groups[group.strip()] = condition.strip()
            tables.setdefault("clusters", {})[name] = groups or form.get(f"c{nth}-fact", "").strip()
    return tables
