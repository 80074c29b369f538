"""The verb `copy`: brings a collection from a folder to a database that machines share, and back."""

from __future__ import annotations

from pathlib import Path

import click

from lycosa.errors import UsageError
from lycosa.frontier.postgres.address import is_address


@click.command(short_help="Bring a collection to a database, or back.")
@click.argument("source", metavar="A")
@click.argument("target", metavar="B")
def copy(source: str, target: str) -> None:
    """Copy a collection: from a folder to a database that several machines share, or from there to a folder.

    A collection in a database is written postgresql://[USER@]HOST[:PORT]/DATABASE#NAME; the password comes from the
    environment (PGPASSWORD) or from ~/.pgpass. Either copy can be continued; a folder that was copied from a database
    can be copied again, and keeps the records that were extracted there. Archive files stay where they are.

    \b
    lycosa copy press postgresql://db.example.org/crawls#press
    lycosa copy postgresql://db.example.org/crawls#press press
    """
    if is_address(source) == is_address(target):
        raise UsageError("Allowed: a folder and postgresql://HOST/DATABASE#NAME, in either order.")
    try:
        from lycosa.repair.copy import copy_to_database, copy_to_folder, parse_shared
    except ModuleNotFoundError as error:
        raise UsageError(
            f"A collection in a database needs the module {error.name}: pip install 'lycosa[cluster]'."
        ) from None
    if is_address(target):
        click.echo(copy_to_database(Path(source), parse_shared(target)))
    else:
        click.echo(copy_to_folder(parse_shared(source), Path(target)))
