"""The verb `status`: shows what a collection holds, and the state of its crawl."""

from __future__ import annotations

import sys

import click

from lycosa.config.command_options import collection_option


@click.command(short_help="Tell what a collection holds, also while it grows.")
@collection_option
@click.option(
    "--format", "form", type=click.Choice(["text", "jsonl"]), help="Default: text on a terminal, jsonl in a pipe."
)
def status(collection: str, form: str | None) -> None:
    """Tell what a collection holds and how its crawl stands, also while it is running.

    \b
    lycosa status
    lycosa status --collection news --format jsonl
    """
    import msgspec

    from lycosa.collection.status import format_status, read_status
    from lycosa.output.table import printable

    collection_status = read_status(collection)
    if (form or ("text" if sys.stdout.isatty() else "jsonl")) == "jsonl":
        click.echo(msgspec.json.encode(collection_status).decode())
    else:
        click.echo("\n".join(printable(line) for line in format_status(collection_status).splitlines()))
