"""The verb `report`: describes what a collection is made of, as a table, a list, a chart or a web page."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lycosa.cli.choices import MissionChoice, readable_collection_option
from lycosa.config.command_options import output_option
from lycosa.errors import UsageError
from lycosa.missions import registry
from lycosa.output.destination import check_ending, check_form, opened, opened_bytes, report_written

if TYPE_CHECKING:
    from lycosa.collection.media_types import By, Share, Types
    from lycosa.missions.manifest import Report

_TEMPLATE_ENDINGS = {"html": "html", "htm": "html", "md": "markdown", "txt": "text"}
_COLUMNS = ("category", "type", "fetched", "fetched_bytes", "stored", "stored_bytes")


@click.command()
@click.argument("what", type=MissionChoice("report", "mime", "clusters"), metavar="mime|clusters|MISSION")
@readable_collection_option
@click.option("--by", type=click.Choice(["type", "category"]), default="type", help="Media types, or their categories.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "tsv", "parquet", "table", "svg", "html", "markdown", "text"]),
    help="Default: table on a terminal, jsonl in a pipe, or as the suffix of FILE says.",
)
@click.option("--plan", metavar="FILE", help="With the name of a mission: a plan whose functions add sections.")
@click.option(
    "--template",
    metavar="NAME|FILE.toml",
    help="With records: queries and templates, your own or one that comes with the mission (statistics).",
)
@output_option
def report(
    what: str, collection: str, by: By, form: str | None, plan: str | None, template: str | None, output: str
) -> None:
    """Tell what a collection is made of.

    mime: what was fetched and what of it is stored, by media type; TARGET is quarry, HTML are pages, POTENTIAL is text
    that may be quarry, OTHER the rest. clusters, after `lycosa analyse`: the collections that documents were sorted
    into, with their figures. The name of a mission: a page with charts and tables of what it found.

    \b
    lycosa report MISSION -o report.html
    lycosa report records --template prices.toml -o prices.html
    lycosa report clusters --format csv -o clusters.csv
    lycosa report mime
    lycosa report mime --by category --format csv -o types.csv
    lycosa report mime -o types.svg
    """
    if plan and what in ("mime", "clusters"):
        raise UsageError(f"--plan goes with the reports of missions, not with {what}.")
    if template is not None:
        if what in ("mime", "clusters") or plan:
            raise UsageError(f"--template goes with the reports of missions, not with {'--plan' if plan else what}.")
        _fill_template(what, collection, output, form=form, template=template)
        return
    if form in ("markdown", "text"):
        raise UsageError(f"--format {form} goes with --template.")
    if what != "mime":
        if by != "type":
            raise UsageError(f"--by goes with mime, not with {what}.")
        if what == "clusters":
            _write_clusters(collection, output, form=form)
        else:
            _write_page(what, collection, output, form=form, plan=plan)
        return
    if form == "html":
        raise UsageError("--format html goes with the reports of missions, not with mime.")
    from lycosa.collection.collection import Collection
    from lycosa.collection.media_types import draw, read_types

    with Collection(collection) as source:
        types = read_types(source.database, has_quarry=bool(source.mission.hunted))
    if form == "svg" or (form is None and output.lower().endswith(".svg")):
        check_form(output, "svg")
        with opened_bytes(output) as file:
            file.write(draw(types, by).encode())
    else:
        _write_types(types, by, form, output)


def _write_page(mission: str, collection: str, output: str, *, form: str | None, plan: str | None) -> None:
    """Write the page that a mission makes of a collection."""
    from lycosa.analysis.plan import read_plan
    from lycosa.analysis.summary import make_sections
    from lycosa.collection.collection import Collection
    from lycosa.output.html_page import write_page

    if form not in (None, "html"):
        raise UsageError(f"The report {mission} is a page: --format html, or none.")
    if form is None:
        check_ending(output, ("html", "htm"))
    check_form(output, "html")
    with opened(output, "jsonl") as (out, _), Collection(collection) as source:
        report: Report | None = registry.find(mission).load("report")(source)
        if report is None:
            raise UsageError(f"The mission {mission} has nothing to report of {collection}.")
        sections = [*report.sections, *(make_sections(read_plan(plan), source) if plan else ())]
        out.writelines(write_page(report.title, report.subtitle, sections))
    if output != "-":
        report_written(output, f"{os.path.getsize(output):,} bytes; open it in a browser")


def _fill_template(mission: str, collection: str, output: str, *, form: str | None, template: str) -> None:
    """Write what a mission fills into a template."""
    from lycosa.collection.collection import Collection

    if form not in (None, *_TEMPLATE_ENDINGS.values()):
        raise UsageError(f"A template gives html, markdown or text, not {form}.")
    if form is None:
        check_ending(output, tuple(_TEMPLATE_ENDINGS), choice=True)
        form = _TEMPLATE_ENDINGS.get(output.rpartition(".")[2].lower())
    with Collection(collection) as source:
        fill_template = registry.find(mission).load("fill_template")
        text: str | None = fill_template(source, template, form) if fill_template else None
    if text is None:
        raise UsageError(f"The reports of the mission {mission} are made without templates.")
    with opened(output, "jsonl") as (out, _):
        out.write(text)
    report_written(output, f"{len(text.encode()):,} bytes")


def _write_clusters(collection: str, output: str, *, form: str | None) -> None:
    """Write the collections of all clusters, with the figures of their documents."""
    if form in ("html", "svg"):
        raise UsageError("Clusters are a list, or bars on a terminal: --format table, jsonl, csv, tsv or parquet.")
    from contextlib import closing

    from lycosa.analysis.store import open_readonly
    from lycosa.analysis.summary import describe_collections, draw_counts
    from lycosa.output.plain import printable
    from lycosa.output.table import write

    with closing(open_readonly(Path(collection))) as db, opened(output, form) as (out, chosen_format):
        if chosen_format == "table":
            out.writelines(f"{printable(line)}\n" for line in draw_counts(db))
        else:
            columns, rows = describe_collections(db)
            write(rows, columns, out, form=chosen_format)


def _write_types(types: Types, by: By, form: str | None, output: str) -> None:
    from lycosa.collection.media_types import format_types
    from lycosa.output.table import write

    def cells(row: Share) -> tuple[str | int, ...]:
        names = (row.category, row.mime) if by == "type" else (row.category,)
        return (*names, row.fetched, row.fetched_bytes, row.stored, row.stored_bytes)

    columns = _COLUMNS if by == "type" else _COLUMNS[:1] + _COLUMNS[2:]
    with opened(output, form) as (out, chosen_format):
        write(map(cells, types.by(by)), columns, out, form=chosen_format)
    click.echo(format_types(types), file=sys.stderr)
