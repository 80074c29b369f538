"""The verb `export`: a collection as files or lists that other programs read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lycosa.cli.options import collection_option, format_option
from lycosa.cli.output import opened, opened_bytes
from lycosa.errors import UsageError
from lycosa.look.listing import Filter

if TYPE_CHECKING:
    from lycosa.look.collection import Collection

KINDS = ("mirror", "index", "warc", "wacz", "urls", "pages", "links")


@click.command()
@click.argument("kind", type=click.Choice(KINDS), metavar="|".join(KINDS))
@click.option("-o", "--output", default="-", metavar="PATH", help="Folder of the mirror, or file; - is the pipe.")
@collection_option
@format_option
@click.option("--host", default="", metavar="NAME", help="Only this host; *.example.org takes those below it.")
@click.option("--mime", default="", metavar="TYPE", help="Only pages of this type: text/html, image/*.")
@click.option("--state", default="", metavar="NAME", help="Only URLs of this state: fetched, gone, rejected…")
@click.option(
    "--raw", is_flag=True, help="In csv and tsv, leave cells as they are that a spreadsheet takes for formulas."
)
def export(
    kind: str, output: str, collection: str, form: str | None, host: str, mime: str, state: str, raw: bool
) -> None:
    """Write a collection for other programs.

    \b
    mirror  a folder in which each page is found by its URL's path
    index   a text file: one entry a page, with its links
    warc    the archive, in a folder or in one file (name.warc.gz)
    wacz    the archive with its index, as replay tools open it
    urls    every URL ever met, with its fate
    pages   what is stored
    links   who links to whom

    \b
    lycosa export mirror -o site
    lycosa export pages --format csv -o pages.csv
    """
    wanted = Filter(host=host, state=state, mime=mime)
    if kind in ("urls", "pages", "links"):
        _export_list(kind, output, collection, form=form, wanted=wanted, raw=raw)
        return
    for option, given in (("--state", state), ("--format", form), ("--raw", raw)):
        if given:
            raise UsageError(f"{option} goes with urls, pages and links, not with {kind}.")
    _export_view(kind, output, collection, wanted=wanted)


def _export_list(kind: str, output: str, collection: str, *, form: str | None, wanted: Filter, raw: bool) -> None:
    from lycosa.look.listing import LISTS, list_rows
    from lycosa.look.table import write

    found = list_rows(collection, next(name for name in LISTS if name == kind), wanted)
    with opened(output, form) as (out, settled):
        count = write(found.rows, found.columns, out, form=settled, raw=raw)
    if output != "-":
        click.echo(f"lycosa: {output}: {count:,} rows", err=True)


def _export_view(kind: str, output: str, folder: str, *, wanted: Filter) -> None:
    from lycosa.look.collection import Collection
    from lycosa.look.export import export_index, export_mirror, export_wacz

    if output == "-" and kind in ("mirror", "wacz"):
        raise UsageError(
            f"A {kind} cannot go into a pipe: name its {'folder' if kind == 'mirror' else 'file'} with -o."
        )
    if kind == "wacz" and wanted != Filter():
        raise UsageError("A wacz holds the whole archive: --host and --mime go with the other exports.")
    with Collection(folder) as collection:
        if kind == "mirror":
            count = export_mirror(collection, Path(output), wanted)
            said = f"{count.files:,} files, {count.bytes:,} bytes"
        elif kind == "index":
            said = f"{export_index(collection, sys.stdout if output == '-' else Path(output), wanted):,} pages"
        elif kind == "wacz":
            packed = export_wacz(collection, Path(output))
            said = f"{packed.records:,} records, {packed.pages:,} pages, {packed.bytes:,} bytes"
        else:
            said = _export_warc(collection, output, wanted)
    if output != "-":
        click.echo(f"lycosa: {output}: {said}", err=True)


def _export_warc(collection: Collection, output: str, wanted: Filter) -> str:
    from lycosa.look.export import export_warc

    if output != "-" and wanted == Filter():
        count = export_warc(collection, Path(output))
        return "1 archive file" if count == 1 else f"{count:,} archive files"
    with opened_bytes(output) as out:
        return f"{export_warc(collection, out, wanted):,} records"
