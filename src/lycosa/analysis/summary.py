"""Summary of an analysis for people: its figures, the groups of each cluster as bars, and sections that the user makes.

A section comes from a function of the user, which gets the collection and gives one, or several.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from lycosa.analysis.collectors import COUNTS, count_collections
from lycosa.analysis.plan import AnalysisPlan, load_plugin
from lycosa.analysis.run import AnalysisTally
from lycosa.analysis.store import open_readonly
from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.extract.quarry_loader import describe_error
from lycosa.output.html_page import Section
from lycosa.output.plain import counted, show_size

_SHOWN = 8  # groups of a cluster
_BAR = 30
_ENDINGS = {
    "": "Everything is analysed.",
    "interrupt": "Interrupted; the same command continues from here.",
}


def format_summary(folder: Path, tally: AnalysisTally) -> Iterator[str]:
    """The report at the end of an analysis."""
    rate = tally.documents / tally.seconds * 60 if tally.seconds else 0.0
    yield (
        f"{counted(tally.documents, 'page')} analysed in {tally.seconds:,.1f} s ({rate:,.0f}/min); "
        f"{counted(tally.total, 'document')}. {_ENDINGS.get(tally.ended_by, tally.ended_by)}"
    )
    spent = sum(tally.phases.values())
    if tally.documents and spent:
        shares = ", ".join(f"{name} {seconds / spent:.0%}" for name, seconds in tally.phases.items())
        yield f"  time      {shares}"
    for url, why in tally.aside:
        yield f"  set aside {url}: {why}"
    for url, why in tally.failures:
        yield f"  plugin    {url}: {why}"
    if tally.failed > len(tally.failures):
        yield f"  plugin    and {tally.failed - len(tally.failures):,} more documents on which plugins failed"
    yield from (f"  {note}" for note in tally.notes)
    with closing(open_readonly(folder)) as db:
        yield from draw_counts(db, shown=_SHOWN)


def describe_collections(db: apsw.Connection) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """The groups of all clusters: documents and bytes, then the mean of each fact that is a number."""
    facts = [row[1] for row in db.execute("PRAGMA table_info(document)") if row[2] in ("INTEGER", "REAL", "BOOLEAN")]
    facts = [fact for fact in facts if fact not in ("id", "n", "bytes")]
    means = ", ".join(f'round(avg("{fact}"), 4)' for fact in facts)
    sql = f"""SELECT cluster, collection, count(*), CAST(total(bytes) AS INTEGER), {means}
              FROM membership JOIN document ON document.id = membership.document
              GROUP BY cluster, collection ORDER BY cluster, count(*) DESC, collection"""
    return ["cluster", "collection", "documents", "bytes", *(f"mean_{fact}" for fact in facts)], iter(db.execute(sql))


def draw_counts(db: apsw.Connection, *, shown: int = 40) -> Iterator[str]:
    """The groups of each cluster as bars, the largest of them."""
    counts = list(count_collections(db.execute(COUNTS)))
    for cluster in dict.fromkeys(count.cluster for count in counts):
        here = [count for count in counts if count.cluster == cluster]
        most = max(count.documents for count in here)
        width = min(40, max(len(count.collection) for count in here[:shown]))
        yield f"by {cluster}"
        for count in here[:shown]:
            bar = "█" * max(1, round(_BAR * count.documents / most))
            yield f"  {_cut(count.collection, width):{width}} {count.documents:>9,} {show_size(count.bytes):>9} {bar}"
        if len(here) > shown:
            rest = here[shown:]
            yield f"  and {len(rest):,} more with {counted(sum(count.documents for count in rest), 'document')}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else "…" + text[1 - width :]


def make_sections(plan: AnalysisPlan, collection: Collection) -> list[Section]:
    """The sections of a plan; UsageError says which function could not make one."""
    sections: list[Section] = []
    for name in plan.report:
        try:
            sections += _read_sections(load_plugin(name)(collection))
        except (Exception, SystemExit) as error:
            label = os.path.basename(name)
            raise UsageError(f"The plugin {label} made no section of the report: {describe_error(error)}.") from None
    return sections


def _read_sections(made: object) -> Iterable[Section]:
    found = [made] if isinstance(made, Section) else list(made) if isinstance(made, Iterable) else []
    for section in found:
        if not isinstance(section, Section):
            raise TypeError(f"{type(section).__name__} is no Section of lycosa.output.html_page")
        yield Section(str(section.title), [str(part) for part in section.parts])
