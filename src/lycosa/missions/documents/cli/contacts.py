"""The verb `contacts`: the authors of a collection's documents, with the address to write to and what to ask for."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option, format_option, output_option, raw_option
from lycosa.output.destination import report_written


@click.command(short_help="List the authors to ask for permission, and write their letters.")
@collection_option
@click.option("--author", default="", metavar="NAME", help="Only this author.")
@click.option(
    "--letters", default="", metavar="DIR", help="Write a letter to each into this folder, instead of the list."
)
@click.option("--all", "everything", is_flag=True, help="Also authors whose documents are all decided on.")
@raw_option
@format_option
@output_option
def contacts(
    collection: str, author: str, letters: str, everything: bool, raw: bool, form: str | None, output: str
) -> None:
    """List the authors of the documents that are wanted: the best address, where it comes from, what they wrote.

    The letter is in the language of most of the author's documents; documents.letter names a file of your own, in which
    {name}, {email}, {documents} and {count} are filled in.

    \b
    lycosa contacts
    lycosa contacts --format csv -o contacts.csv
    lycosa contacts --letters letters/
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.documents.catalogue import open_catalogue
    from lycosa.missions.documents.contacts import contact_sheets, write_letters, write_sheets

    with Collection(collection) as source:
        with open_catalogue(source) as catalogue:
            sheets = contact_sheets(catalogue, author=author, everything=everything)
        if letters:
            written = write_letters(source, sheets, letters)
            report_written(letters, written)
            return
        written = write_sheets(sheets, output, form=form, raw=raw)
    report_written(output, written)
