"""The verb `copy`: brings a collection from a folder to a database that machines share, and back."""

from __future__ import annotations

from pathlib import Path

import click

from lycosa.errors import UsageError
from lycosa.extras import need
from lycosa.frontier.postgres.address import is_address, parse_shared


@click.command(short_help="Bring a collection to a database, or back.")
@click.argument("source", metavar="A")
@click.argument("target", metavar="B")
@click.option("--archive", default="", metavar="STORE", help="To a database: bring the archive files to this store.")
@click.option(
    "--leave-archive", is_flag=True, help="To a folder: leave archive files in their store, and read them there."
)
def copy(source: str, target: str, archive: str, leave_archive: bool) -> None:
    """Copy a collection: from a folder to a database that several machines share, or from there to a folder.

    A collection in a database is written postgresql://[USER@]HOST[:PORT]/DATABASE#NAME; the password comes from the
    environment (PGPASSWORD) or from ~/.pgpass. Either copy can be continued; a folder that was copied from a database
    can be copied again, and keeps the records that were extracted there. Archive files come into the folder from the
    store where they are; to a database they go with --archive s3://BUCKET/PREFIX, gs://…, az://… or a shared folder.

    \b
    lycosa copy press postgresql://db.example.org/crawls#press --archive s3://crawls/press
    lycosa copy postgresql://db.example.org/crawls#press press
    """
    if is_address(source) == is_address(target):
        raise UsageError("Allowed: a folder and postgresql://HOST/DATABASE#NAME, in either order.")
    need("psycopg", extra="cluster", what="A collection in a database")
    from lycosa.repair.copy import copy_to_database, copy_to_folder

    if is_address(target):
        if leave_archive:
            raise UsageError("--leave-archive is for a copy into a folder; to a database, leave out --archive.")
        click.echo(copy_to_database(Path(source), parse_shared(target), archive=archive))
    elif archive:
        raise UsageError("--archive is for a copy to a database; into a folder, archive files come from their store.")
    else:
        click.echo(copy_to_folder(parse_shared(source), Path(target), leave=leave_archive))
