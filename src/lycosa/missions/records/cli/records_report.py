"""The verb `records-report`: a report over the records, built in or described in a file."""

from __future__ import annotations

from pathlib import Path

import click

from lycosa import clock
from lycosa.config.command_options import collection_option, output_option
from lycosa.errors import UsageError
from lycosa.output.destination import check_ending, opened, report_written

_ENDINGS = {"html": "html", "htm": "html", "md": "markdown", "txt": "text"}


@click.command("records-report", short_help="Write a report over the records by a template.")
@click.argument("report", metavar="statistics|FILE.toml")
@collection_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "markdown", "text"]),
    help="Default: as the file ends, else the first that the report has.",
)
@click.option("--since", default="", metavar="TIME", help="The value of :since in its queries: 2026-11-18, or 7d.")
@output_option
def records_report(report: str, collection: str, form: str | None, since: str, output: str) -> None:
    """Write a report: queries over the records, filled into a template.

    statistics: records by medium, section and day, with charts. FILE.toml: your own queries, selection and templates;
    docs/records.md describes them.

    \b
    lycosa records-report statistics -o statistics.html
    lycosa records-report prices.toml --format markdown
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.records.cli.digest import read_time
    from lycosa.missions.records.database import open_store
    from lycosa.missions.records.reports.digest_output import iso_time
    from lycosa.missions.records.reports.report_file import load_report
    from lycosa.missions.records.reports.template_engine import FORMATS

    if form is None:
        check_ending(output, tuple(_ENDINGS), choice=True)
    loaded = load_report(report)
    asked = form or _ENDINGS.get(output.rpartition(".")[2].lower(), next(iter(loaded.templates)))
    chosen = next(known for known in FORMATS if known == asked)
    if loaded.name == "Digest" and loaded.is_ours:
        raise UsageError("The digest is made for readers: lycosa digest READERS.toml.")
    start = read_time(since) if since else 0.0
    with Collection(collection), open_store(Path(collection)) as store:
        about = {"name": loaded.name, "made": iso_time(clock.now()), "since": iso_time(start) if start else ""}
        text = loaded.write({**loaded.gather(store, {"since": start, "reader": ""}), "report": about}, chosen)
    with opened(output, "jsonl") as (out, _):
        out.write(text)
    report_written(output, f"{len(text.encode()):,} bytes")
