"""The verb `verify`: checks whether a collection is whole, and repairs it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lycosa.config.command_options import collection_option


@click.command(short_help="Read a collection whole and tell what is damaged.")
@collection_option
@click.option("--repair", is_flag=True, help="Mend what is damaged; the next crawl fetches the pages that are lost.")
@click.option(
    "--format", "form", type=click.Choice(["text", "jsonl"]), help="Default: text on a terminal, jsonl in a pipe."
)
def verify(collection: str, repair: bool, form: str | None) -> int:
    """Read a collection whole and tell what is damaged: the database, every archive file, the record of every page.

    A crawl looks by itself at what was being written when it last ended, and at what was changed since. This finds what
    a disk loses in silence. Exit code 1 if anything is wrong.

    \b
    lycosa verify
    lycosa verify --repair
    """
    import msgspec

    from lycosa.collection.reading_source import pin_to_copy
    from lycosa.output.plain import printable
    from lycosa.repair.verify import verify as verify_collection

    pin_to_copy(Path(collection))
    health = verify_collection(Path(collection), repair=repair)
    if (form or ("text" if sys.stdout.isatty() else "jsonl")) == "jsonl":
        click.echo(msgspec.json.encode(health).decode())
    else:
        click.echo("\n".join(printable(line) for line in health.text.splitlines()))
    return 1 if health.problems else 0
