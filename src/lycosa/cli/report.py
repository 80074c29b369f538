"""The verb `report`: what a collection is made of, for people, spreadsheets and pages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from lycosa.cli.options import collection_option, output_option
from lycosa.cli.output import check_form, opened, opened_bytes
from lycosa.errors import UsageError

if TYPE_CHECKING:
    from lycosa.collection.media_types import By, Types

_COLUMNS = ("category", "type", "fetched", "fetched_bytes", "stored", "stored_bytes")


@click.command()
@click.argument("what", type=click.Choice(["mime", "xml", "clusters"]), metavar="mime|xml|clusters")
@collection_option
@click.option("--by", type=click.Choice(["type", "category"]), default="type", help="Media types, or their categories.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "tsv", "table", "svg", "html"]),
    help="Default: table on a terminal, jsonl in a pipe, or as the suffix of FILE says.",
)
@output_option
def report(what: str, collection: str, by: By, form: str | None, output: str) -> None:
    """Tell what a collection is made of.

    mime: what was fetched and what of it is stored, by media type; TARGET is quarry, HTML are pages, POTENTIAL is text
    that may be quarry, OTHER the rest. After `lycosa analyse`: xml is a page with charts and tables, clusters are the
    collections that documents were sorted into, with their figures.

    \b
    lycosa report xml -o report.html
    lycosa report clusters --format csv -o clusters.csv
    lycosa report mime
    lycosa report mime --by category --format csv -o types.csv
    lycosa report mime -o types.svg
    """
    if what != "mime":
        from lycosa.cli.pages import write_clusters, write_page

        if by != "type":
            raise UsageError(f"--by goes with mime, not with {what}.")
        if what == "clusters":
            write_clusters(collection, output, form=form)
        else:
            write_page(what, collection, output, form=form)
        return
    if form == "html":
        raise UsageError("--format html goes with xml, not with mime.")
    from lycosa.collection.collection import Collection
    from lycosa.collection.media_types import draw, read_types

    with Collection(collection) as source:
        types = read_types(source.database, has_quarry=bool(source.mission.quarry))
    if form == "svg" or (form is None and output.lower().endswith(".svg")):
        check_form(output, "svg")
        with opened_bytes(output) as file:
            file.write(draw(types, by).encode())
    else:
        _write(types, by, form, output)


def _write(types: Types, by: By, form: str | None, output: str) -> None:
    from lycosa.collection.media_types import format_types
    from lycosa.output.table import write

    rows = types.by(by)
    columns = _COLUMNS if by == "type" else _COLUMNS[:1] + _COLUMNS[2:]
    with opened(output, form) as (out, settled):
        cells = (
            (row.category, *((row.mime,) if by == "type" else ()), row.fetched, row.fetched_bytes, row.stored,
             row.stored_bytes)
            for row in rows
        )  # fmt: skip
        write(cells, columns, out, form=settled)
    click.echo(format_types(types), file=sys.stderr)
