"""The reports of an analysed collection: a page for people, and the collections of its clusters with their figures."""

from __future__ import annotations

import importlib
from pathlib import Path

from lycosa.cli.output import check_ending, check_form, conclude, opened
from lycosa.errors import UsageError


def write_page(mission: str, collection: str, output: str, *, form: str | None) -> None:
    """Write the page that a mission makes of a collection."""
    if form not in (None, "html"):
        raise UsageError(f"The report {mission} is a page: --format html, or none.")
    if form is None:
        check_ending(output, ("html", "htm"))
    check_form(output, "html")
    module = importlib.import_module(f"lycosa.missions.{mission}.report")  # the core knows missions by name only
    with opened(output, "jsonl") as (out, _):
        module.write_report(Path(collection), out)
    if output != "-":
        conclude(output, f"{Path(output).stat().st_size:,} bytes; open it in a browser")


def write_clusters(collection: str, output: str, *, form: str | None) -> None:
    """Write the collections of all clusters, with what their documents are like."""
    if form in ("html", "svg"):
        raise UsageError("Clusters are a list, or bars on a terminal: --format table, jsonl, csv or tsv.")
    from contextlib import closing

    from lycosa.analysis.store import open_readonly
    from lycosa.analysis.summary import describe_collections, draw_counts
    from lycosa.output.table import printable, write

    with closing(open_readonly(Path(collection))) as db, opened(output, form) as (out, settled):
        if settled == "table":
            out.writelines(f"{printable(line)}\n" for line in draw_counts(db))
        else:
            columns, rows = describe_collections(db)
            write(rows, columns, out, form=settled)
