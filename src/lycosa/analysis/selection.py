"""Selection of documents of an analysed collection by their facts, with their bytes as collected or corrected."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from lycosa import urls
from lycosa.analysis.analyzer import Analyzer, Case
from lycosa.analysis.archive_members import ArchiveMembers
from lycosa.analysis.collectors import EVERYTHING, Condition, read_condition
from lycosa.analysis.phases import Phases
from lycosa.analysis.plan import AnalysisPlan
from lycosa.analysis.store import find_mission, open_readonly
from lycosa.collection.collection import Collection, Page
from lycosa.config import mission_table
from lycosa.errors import UsageError
from lycosa.extract.quarry_loader import load_object


class Selected(Struct, frozen=True):
    """Criteria for documents; empty: all that were recognised."""

    select: str = ""  # a condition, as in a plan
    cluster: str = ""  # CLUSTER, or CLUSTER/GROUP
    host: str = ""  # * stands for anything


class Document(NamedTuple):
    """One document that was selected."""

    id: int
    n: int
    url: str
    member: str
    kind: str
    mime: str


class Selection:
    """An analysed collection, open for reading; use it with `opened_selection`."""

    def __init__(self, folder: str | os.PathLike[str], plan: AnalysisPlan | None = None) -> None:
        """`plan` says how documents are corrected."""
        self._plan = plan or AnalysisPlan()
        self._phases: Phases | None = None
        self.db = open_readonly(Path(folder))
        self.analyzer = _find_analyzer(find_mission(self.db))
        self.collection = Collection(folder)
        self._page: Page | None = None  # the one that was read last: its members come one after the other
        self._n = 0
        self._members = ArchiveMembers(self.analyzer)

    def close(self) -> None:
        self.collection.close()
        self.db.close()

    def find(self, wanted: Selected) -> Iterator[Document]:
        """The documents that fit, in the order of their pages."""
        condition = self.condition(wanted)
        sql = f"SELECT id, n, url, coalesce(member, ''), kind, coalesce(mime, '') FROM document WHERE {condition.sql}"
        for row in self.db.execute(f"{sql} ORDER BY n, id", condition.values):
            yield Document(*row)

    def read(self, document: Document, *, corrected: bool = False) -> bytes | None:
        """The bytes of a document; None where the archive does not hold all of them, or too many for memory."""
        if document.n != self._n:
            self._page, self._n = self.collection.page_at(document.n), document.n
        page = self._page
        if page is None or page.problem:
            return None
        case: Case | None = Case(page.doc)
        if document.member:
            case = self._members.find(document.n, lambda: page.doc, document.member)
        if case is None:
            return None
        if not corrected:
            return case.body
        if self._phases is None:
            self._phases = Phases(self.analyzer, self._plan)
        self._phases.correct(case)
        return case.data

    def find_missing(self, wanted: Selected) -> Iterator[str]:
        """The addresses that documents need, and that were not collected."""
        condition = self.condition(wanted)
        spare = ", ".join("?" * len(self.analyzer.spare))
        sql = f"""SELECT DISTINCT target FROM link WHERE strong AND found IS NULL AND how = '' AND target <> ''
                  AND kind NOT IN ({spare})
                  AND document IN (SELECT id FROM document WHERE {condition.sql}) ORDER BY document, nth"""
        rows = self.db.execute(sql, (*self.analyzer.spare, *condition.values))
        return (row[0] for row in rows if urls.normalise(row[0]))

    def check_plan(self) -> None:
        """Refuse to correct documents without the plan whose plugins corrected them when they were analysed."""
        names = str(self.db.execute("SELECT value FROM meta WHERE key = 'correctors'").get or "").split()
        if missing := sorted(set(names) - set(self._plan.correctors())):
            plugins = ", ".join(os.path.basename(name) for name in missing)
            raise UsageError(f"The documents were corrected by {plugins} as well: name the plan with --plan.")

    def condition(self, wanted: Selected) -> Condition:
        """The criteria as SQL."""
        columns = {row[1]: row[2] for row in self.db.execute("PRAGMA table_info(document)")}
        facets = [row[0] for row in self.db.execute("SELECT DISTINCT name FROM facet")]
        parts = [read_condition(wanted.select, columns, facets)]
        if not wanted.select and not wanted.cluster:
            parts = [Condition("kind NOT IN ('', 'html', 'archive')")]
        if wanted.host:
            parts.append(Condition("host GLOB ?", (urls.host_pattern(wanted.host),)))
        if wanted.cluster:
            parts.append(self._of_cluster(wanted.cluster))
        parts = [part for part in parts if part is not EVERYTHING] or [EVERYTHING]
        return Condition(" AND ".join(part.sql for part in parts), tuple(v for part in parts for v in part.values))

    def _of_cluster(self, name: str) -> Condition:
        cluster, slash, collection = name.partition("/")
        clusters = [row[0] for row in self.db.execute(_CLUSTERS)]
        if cluster not in clusters:
            raise UsageError(f"There is no cluster {cluster!r}; there is {', '.join(clusters) or 'none'}.")
        inner = "SELECT document FROM membership WHERE cluster = ?"
        if not slash:
            return Condition(f"id IN ({inner})", (cluster,))
        return Condition(f"id IN ({inner} AND collection GLOB ?)", (cluster, collection.replace("[", "[[]")))


_CLUSTERS = "SELECT cluster FROM membership GROUP BY cluster"


@contextmanager
def opened_selection(folder: str | os.PathLike[str], plan: AnalysisPlan | None = None) -> Iterator[Selection]:
    """A selection, closed at the end."""
    selection = Selection(folder, plan)
    try:
        yield selection
    finally:
        selection.close()


def _find_analyzer(mission: str) -> Analyzer:
    """The analyzer of a collection: its database holds the mission's name, the installed missions know the class."""
    name = mission_table.analyzer(mission)
    if not name:
        raise UsageError(f"The collection was analysed by the mission {mission}, which is not installed here.")
    return load_object(name, Analyzer, what="analyzer")
