"""The verb `correct`: what a person knows better of a document."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option
from lycosa.errors import UsageError


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
    from lycosa.config.fields import nearest
    from lycosa.missions.documents.catalogue import open_catalogue
    from lycosa.missions.documents.decisions import SEVERAL, SINGLE, check_values
    from lycosa.missions.documents.decisions import correct as keep

    allowed = (*SINGLE, *SEVERAL)
    if field not in allowed:
        guess = f" (did you mean {meant}?)" if (meant := nearest(field, allowed)) else ""
        raise UsageError(f"There is no field {field}{guess}; allowed: {', '.join(allowed)}.")
    if undo and values:
        raise UsageError("--undo takes no values.")
    check_values(field, values)
    with Collection(collection) as source, open_catalogue(source) as catalogue:
        document = catalogue.document(url)
        if document is None:
            raise UsageError(f"{url} is no document of this collection; lycosa documents lists them.")
        keep(source.path, document.url, field, None if undo else list(values))
    said = "the correction was taken back" if undo else f"{field} is now {'; '.join(values) or 'empty'}"
    click.echo(f"{document.url}: {said}", err=True)
