"""The report on a collection's records: what there is, how it changed, how well its fields are found."""

from __future__ import annotations

from collections.abc import Iterator

from lycosa.collection.collection import Collection
from lycosa.missions.api import Report
from lycosa.missions.records.database.store import OWN, RecordStore, open_store, quarries_of_others
from lycosa.missions.records.health import FieldDrop, FieldHealth, find_drops, measure_health, tell_drops
from lycosa.output.html_page import Section, TableLink, table, text, tiles
from lycosa.output.plain import counted

#: Rows of a table; what is more stands in the exports.
_ROWS = 2_000
_KINDS = f"""
SELECT kind, count(*), sum(gone), count(DISTINCT host) FROM known_records WHERE {OWN} GROUP BY kind ORDER BY 2 DESC"""
_HISTORY = f"""
SELECT round, cause, sum(what = 'new'), sum(what = 'changed'), sum(what = 'gone'), sum(what = 'back') FROM version
JOIN record ON record.id = version.record WHERE {OWN} GROUP BY round, cause ORDER BY round, min(version.id)"""


def make_report(collection: Collection) -> Report:
    """The page about the records of a collection."""
    others = (quarries_of_others(),)
    with open_store(collection) as store:
        measured = measure_health(store, collection)
        drops = list(find_drops(store, collection, measured=measured))
        total = int(store.connection.execute(f"SELECT count(*) FROM record WHERE NOT gone AND {OWN}", others).get)
        return Report(
            title=f"Records of {', '.join(collection.seeds()[:3]) or collection.path.name}",
            sections=list(_sections(store, measured, drops, others)),
            subtitle=f"{counted(total, 'record')}. Made by lycosa.",
        )


def _sections(
    store: RecordStore, measured: list[FieldHealth], drops: list[FieldDrop], others: tuple[str]
) -> Iterator[Section]:
    kinds = [(kind, count - gone, gone, hosts) for kind, count, gone, hosts in store.rows(_KINDS, others)]
    figures = [(f"records of kind {kind}", f"{count:,}") for kind, count, *_ in kinds[:6]]
    yield Section("Records", [tiles(figures), table(("kind", "records", "gone", "hosts"), kinds)])
    yield Section(
        "History", [table(("round", "by", "new", "changed", "gone", "back"), list(store.rows(_HISTORY, others)))]
    )
    yield health_section(measured, drops)


def health_section(measured: list[FieldHealth], drops: list[FieldDrop]) -> Section:
    """The shares of pages on which fields are found, after what fell."""
    rows = [
        (each.kind, each.area, each.field, step.round, step.rules_version, step.pages, round(step.share * 100, 1))
        for each in measured
        for step in each.steps
    ]
    parts = [text(sentence) for sentence in tell_drops(drops)] or [
        text("No field is found on fewer pages than before.")
    ]
    if drops:
        pages = [(drop.health.kind, drop.health.field, TableLink(url)) for drop in drops for url in drop.examples]
        parts.append(table(("kind", "field", "page without it"), pages))
    columns = ("kind", "range or host", "field", "round", "rules", "pages", "found on %")
    return Section("Health", [*parts, table(columns, rows[:_ROWS])])
