"""The verb `status`: shows what a collection holds, and the state of its crawl."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from lycosa.cli.collection_choice import watched_collection_option


@click.command(short_help="Tell what a collection holds, also while it grows.")
@watched_collection_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "jsonl", "prometheus"]),
    help="Default: text on a terminal, jsonl in a pipe.",
)
def status(collection: str, form: str | None) -> None:
    """Tell what a collection holds and how its crawl stands, also while it is running.

    \b
    lycosa status
    lycosa status --collection news --format jsonl
    lycosa status --format prometheus > /var/lib/node_exporter/lycosa.prom
    """
    import msgspec

    from lycosa.collection.reading_source import find_shared
    from lycosa.crawler.cluster_status import format_cluster_status, format_collection_metrics, read_cluster_status
    from lycosa.output.plain import printable

    folder = Path(collection)
    form = form or ("text" if sys.stdout.isatty() else "jsonl")
    shared = find_shared(folder)
    if form == "prometheus":
        click.echo(format_collection_metrics(folder), nl=False)
    elif shared is not None:
        status_of_all = read_cluster_status(shared, folder)
        text = format_cluster_status(status_of_all) if form == "text" else ""
        _print(text or msgspec.json.encode(status_of_all).decode(), printable)
    else:
        from lycosa.collection.status import format_status, read_status

        own = read_status(folder)
        _print(format_status(own) if form == "text" else msgspec.json.encode(own).decode(), printable)


def _print(text: str, clean: Callable[[str], str]) -> None:
    click.echo("\n".join(clean(line) for line in text.splitlines()))
