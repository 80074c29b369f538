"""The verb `documents`: the documents of a collection with their titles, authors and addresses."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option, format_option, output_option, raw_option
from lycosa.output.destination import report_written


@click.command(short_help="List the documents of a collection, with their authors.")
@click.argument("url", default="", metavar="[URL]")
@collection_option
@click.option("--kind", default="", metavar="NAME", help="Only documents of this kind: article, thesis, notes…")
@click.option("--host", default="", metavar="NAME", help="Only this host; *.example.org takes those below it.")
@click.option("--all", "everything", is_flag=True, help="Also unwanted kinds: CVs, programmes, forms.")
@raw_option
@format_option
@output_option
def documents(
    url: str, collection: str, kind: str, host: str, everything: bool, raw: bool, form: str | None, output: str
) -> None:
    """List the documents of a collection; with a URL, everything that is known of one, and where it comes from.

    \b
    lycosa documents
    lycosa documents --kind thesis --format csv -o theses.csv
    lycosa documents https://www.example.edu/~ana/thesis.pdf
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.documents.cli.story import tell_document
    from lycosa.missions.documents.export.writers import CatalogueListOptions, write_documents

    with Collection(collection) as source:
        if url:
            tell_document(source, url)
            return
        options = CatalogueListOptions(kind=kind, host=host, all=everything, format=form, raw=raw)  # type: ignore[arg-type]
        written = write_documents(source, output, options)
    report_written(output, written.said)
