"""The verb `merge`: puts several collections together into one."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lycosa.config.command_options import refuse_empty_name
from lycosa.missions import registry
from lycosa.output.destination import check_ending


@click.command(short_help="Put several collections together.")
@click.argument("collections", nargs=-1, required=True, metavar="A B…")
@click.option(
    "-o",
    "--into",
    metavar="DIR",
    callback=refuse_empty_name,
    help="New folder for the whole; without it, A gets the others.",
)
@click.option("--copy", is_flag=True, help="Copy archive files, where links would do.")
@click.option(
    "--format", "form", type=click.Choice(["text", "jsonl"]), help="Default: text on a terminal, jsonl in a pipe."
)
def merge(collections: tuple[str, ...], into: str | None, copy: bool, form: str | None) -> None:
    """Put collections together: every URL, page, link and record once, with the best that is known of it.

    The result can be looked at and continued like any other; its settings are those of A, with the seeds of all. What
    is merged is only read, and must not be in use. Nothing is half done: the result is whole, or is not there.

    \b
    lycosa merge monday tuesday --into week
    lycosa merge all new
    """
    import msgspec

    from lycosa.output.plain import printable
    from lycosa.repair.merge import merge_collections

    check_ending(into or "-")
    folders = [Path(name) for name in collections]
    report = merge_collections(
        folders, into=Path(into) if into else None, copy=copy, beside=registry.merge_side_databases
    )
    if (form or ("text" if sys.stdout.isatty() else "jsonl")) == "jsonl":
        click.echo(msgspec.json.encode(report).decode())
    else:
        click.echo("\n".join(printable(line) for line in report.text.splitlines()))
