"""The verbs that keep collections in order: `verify` and repair, `merge` several, `copy` to a database and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lycosa.config.command_options import collection_option, refuse_empty_name, text_form_option
from lycosa.errors import UsageError
from lycosa.extras import need
from lycosa.frontier.postgres.address import is_address, parse_shared
from lycosa.missions import registry
from lycosa.output.destination import check_ending

if TYPE_CHECKING:
    from lycosa.export.proof import ProofReport
    from lycosa.export.wacz_signature import WaczHealth
    from lycosa.repair.forgetting import ForgetReport
    from lycosa.repair.importing import ImportReport
    from lycosa.repair.merge import MergeReport
    from lycosa.repair.recovery import Health


@click.command(short_help="Read a collection, or a WACZ file, whole and tell what is damaged.")
@click.argument("wacz", required=False, metavar="[FILE.wacz]", type=click.Path(exists=True, dir_okay=False))
@collection_option
@click.option("--repair", is_flag=True, help="Mend what is damaged; the next crawl fetches the pages that are lost.")
@click.option("--replay", default=0, metavar="N", help="Instead, compare N pages of the archive with the live ones.")
@click.option("--pictures", default="", metavar="DIR", help="With --replay: keep the pictures of both here.")
@text_form_option
def verify(wacz: str | None, collection: str, repair: bool, replay: int, pictures: str, form: str) -> int:
    """Read a collection whole and tell what is damaged: the database, every archive file, the record of every page.

    A crawl looks by itself at what was being written when it last ended, and at what was changed since. This finds what
    a disk loses in silence. Exit code 1 if anything is wrong. Of a WACZ file all hashes and the signature are checked.

    \b
    lycosa verify
    lycosa verify --repair
    lycosa verify site.wacz
    lycosa verify --replay 10 --pictures pairs
    """
    from lycosa.collection.reading_source import pin_to_copy
    from lycosa.repair.recovery import verify as verify_collection

    if replay < 0 or (pictures and not replay) or (replay and repair):
        raise UsageError("--replay takes a number from 1 on, --pictures goes with it, and --repair does not.")
    if wacz is not None:
        from lycosa.export.wacz_signature import check_wacz

        found = check_wacz(Path(wacz))
        print_report(found, form)
        return 1 if found.problems else 0
    pin_to_copy(Path(collection))
    if replay:
        return _prove(collection, replay, pictures, form)
    health = verify_collection(Path(collection), repair=repair)
    print_report(health, form)
    return 1 if health.problems else 0


def _prove(collection: str, pages: int, pictures: str, form: str) -> int:
    """Compare pages as the archive shows them with the live ones."""
    from lycosa.collection.collection import Collection
    from lycosa.export.proof import prove

    with Collection(collection) as source:
        report = prove(source, pages=pages, keep=Path(pictures) if pictures else None)
    print_report(report, form)
    return 1 if report.problems else 0


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
@text_form_option
def merge(collections: tuple[str, ...], into: str | None, copy: bool, form: str) -> None:
    """Put collections together: every URL, page, link and record once, with the best that is known of it.

    The result can be looked at and continued like any other; its settings are those of A, with the seeds of all. What
    is merged is only read, and must not be in use. Nothing is half done: the result is whole, or is not there.

    \b
    lycosa merge monday tuesday --into week
    lycosa merge all new
    """
    from lycosa.repair.merge import merge_collections

    check_ending(into or "-")
    folders = [Path(name) for name in collections]
    report = merge_collections(
        folders, into=Path(into) if into else None, copy=copy, beside=registry.merge_side_databases
    )
    print_report(report, form)


def print_report(
    report: ForgetReport | Health | ProofReport | ImportReport | MergeReport | WaczHealth, form: str
) -> None:
    """Write a report for people, or as a line of JSON."""
    import msgspec

    from lycosa.output.plain import printable

    if form == "jsonl":
        click.echo(msgspec.json.encode(report).decode())
    else:
        click.echo("\n".join(printable(line) for line in report.text.splitlines()))


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
