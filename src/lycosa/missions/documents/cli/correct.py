"""The verb `correct`: what a person knows better of a document."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option


@click.command(short_help="Correct a value of a document.")
@click.argument("url")
@click.argument("field")
@click.argument("values", nargs=-1)
@collection_option
@click.option("--undo", is_flag=True, help="Take the correction of this field back.")
def correct(url: str, field: str, values: tuple[str, ...], collection: str, undo: bool) -> None:
    """Correct a value of a document: it wins over what was extracted, and survives the next extraction.

    Fields with one value: title, language, category, subcategory, abstract, year, doi, wanted. With several: authors,
    affiliations, emails, keywords, rights. Without a value the field is known to be empty.

    \b
    lycosa correct https://www.example.edu/a.pdf title "The right title"
    lycosa correct https://www.example.edu/a.pdf authors "Ana Casali" "Luis Gil"
    lycosa correct https://www.example.edu/a.pdf title --undo
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.documents.catalogue import open_catalogue
    from lycosa.missions.documents.said_by_people import keep_correction

    with Collection(collection) as source, open_catalogue(source) as catalogue:
        document = keep_correction(catalogue, url, field, values, undo=undo)
    said = "the correction was taken back" if undo else f"{field} is now {'; '.join(values) or 'empty'}"
    click.echo(f"{document}: {said}", err=True)
