"""Verbs for the records database: `health` of its fields, `import-records`."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option, format_option, output_option
from lycosa.output.destination import opened
from lycosa.output.plain import counted


@click.command(short_help="Tell on how many pages each field of the records is found.")
@collection_option
@click.option("--drops", is_flag=True, help="Only fields that are found on fewer pages than before.")
@format_option
@output_option
def health(collection: str, drops: bool, form: str | None, output: str) -> None:
    """Tell the share of pages on which each field was found: by range, or by host where nothing is described.

    Each round and each version of the rules is a step. A share that fell by more than chance is told with pages to look
    at and, where those pages still show what the field held before, with a rule that finds it there.

    \b
    lycosa health
    lycosa health --drops --format jsonl
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.records.database.store import open_store
    from lycosa.missions.records.health import (
        FieldHealth,
        find_drops,
        measure_health,
        refresh_and_watch,
        tell_drops,
        watch_navigation,
    )
    from lycosa.output.table import write

    columns = ("kind", "area", "field", "round", "rules", "pages", "share", "before", "examples", "rule")
    with Collection(collection) as source:
        refresh_and_watch(source)
        with open_store(source) as store, opened(output, form) as (out, chosen):
            navigation = watch_navigation(store, source, again=True)
            measured = measure_health(store, source)
            drops_found = find_drops(store, source, measured=measured)
            found = {(drop.health.kind, drop.health.area, drop.health.field): drop for drop in drops_found}
            shown = [each for each in measured if not drops or each.has_dropped]

            def tell(each: FieldHealth) -> tuple[float | None, str | None, str | None]:
                """What a drop adds to the last step: the share before, pages without the field, a rule."""
                if (drop := found.get((each.kind, each.area, each.field))) is None:
                    return (None, None, None)
                rule = " | ".join(drop.proposal.rules) if drop.proposal else None
                return round(each.base or 0.0, 4), " ".join(drop.examples), rule

            if chosen == "table":
                rows = (
                    (each.kind, each.area, each.field, step.round, step.rules_version, step.pages, f"{step.share:.1%}")
                    for each in shown
                    for step in each.steps
                )
                write(rows, columns[:7], out, form=chosen)
                out.writelines(f"\n{sentence}\n" for sentence in [*tell_drops(found.values()), *navigation])
                return
            lines = [
                (
                    each.kind,
                    each.area,
                    each.field,
                    step.round,
                    step.rules_version,
                    step.pages,
                    round(step.share, 4),
                    *more,
                )
                for each in shown
                for step in each.steps
                for more in [tell(each) if step is each.steps[-1] else (None, None, None)]
            ]
            write(lines, columns, out, form=chosen)


@click.command("import-records", short_help="Bring records from an XML file into the collection.")
@click.argument("file")
@collection_option
def import_records(file: str, collection: str) -> None:
    """Bring records into the records database, as `lycosa export records-xml` wrote them.

    Kind, page and key say which record is which: one that is known and differs gets a new version. Each version names
    the file that it comes from. All of the file is taken, or nothing.

    \b
    lycosa import-records records.xml
    lycosa import-records other/records.xml --collection press
    """
    from pathlib import Path

    from lycosa.collection.collection import Collection
    from lycosa.missions.records.database.record_xml import read_xml
    from lycosa.missions.records.database.store import open_store

    path = Path(file)
    with Collection(collection) as source, open_store(source) as store:
        counts = store.put(read_xml(path), source=path.name)
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "nothing new"
    click.echo(f"lycosa: {file}: {counted(sum(counts.values()), 'change')} of records ({said})", err=True)
