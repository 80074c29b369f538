"""The verbs that look at a collection: `status` and `query`."""

from __future__ import annotations

import sys

import click

from lycosa.cli.options import collection_option, format_option, output_option
from lycosa.cli.output import opened


@click.command()
@collection_option
@click.option(
    "--format", "form", type=click.Choice(["text", "jsonl"]), help="Default: text on a terminal, jsonl in a pipe."
)
def status(collection: str, form: str | None) -> None:
    """Tell what a collection holds and how its crawl stands, also while it is running."""
    import msgspec

    from lycosa.look.status import read_status, tell
    from lycosa.look.table import printable

    found = read_status(collection)
    if (form or ("text" if sys.stdout.isatty() else "jsonl")) == "jsonl":
        click.echo(msgspec.json.encode(found).decode())
    else:
        click.echo("\n".join(printable(line) for line in tell(found).splitlines()))


@click.command()
@click.argument("sql", metavar="SELECT")
@collection_option
@format_option
@output_option
@click.option(
    "--raw", is_flag=True, help="In csv and tsv, leave cells as they are that a spreadsheet takes for formulas."
)
@click.option("--timeout", default=60.0, metavar="SECONDS", help="End a query that takes longer; 0: never.")
def query(sql: str, collection: str, form: str | None, output: str, raw: bool, timeout: float) -> None:
    """Ask the collection's database in SQL; it can only be read.

    Views: pages, urls, links, hosts, records. The tables behind them are described in docs/commands.md.

    \b
    lycosa query "SELECT mime, count(*) FROM pages GROUP BY mime"
    """
    from lycosa.look.query import select
    from lycosa.look.table import write

    found = select(collection, sql, seconds=timeout)
    with opened(output, form) as (out, settled):
        write(found.rows, found.columns, out, form=settled, raw=raw)
