"""The verbs of the documents mission: lists of documents and authors, corrections, permissions, figures, harvesters."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

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
    from lycosa.missions.documents.export.writers import CatalogueListOptions, write_documents
    from lycosa.missions.documents.report import tell_document

    with Collection(collection) as source:
        if url:
            tell_document(source, url)
            return
        options = CatalogueListOptions(kind=kind, host=host, all=everything, format=form, raw=raw)  # type: ignore[arg-type]
        written = write_documents(source, output, options)
    report_written(output, written.said)


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


@click.command(short_help="Record that authors were asked, granted or refused.")
@click.argument("state", type=click.Choice(["asked", "granted", "refused"]))
@click.argument("urls", nargs=-1, metavar="[URL]…")
@collection_option
@click.option(
    "--author", default="", metavar="NAME", help="Who was asked or answered; without URLs: all their documents."
)
@click.option("--note", default="", metavar="TEXT", help="What is to be remembered of it.")
def decide(state: str, urls: tuple[str, ...], collection: str, author: str, note: str) -> None:
    """Record that the authors of documents were asked for permission, or what they answered.

    A document is granted when everybody who was asked about it has granted; exports take those with
    `--permission granted`.

    \b
    lycosa decide asked --author "Ana Casali"
    lycosa decide granted --author "Ana Casali" --note "mail of 3 May"
    lycosa decide refused https://www.example.edu/a.pdf
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.documents.catalogue import open_catalogue
    from lycosa.missions.documents.said_by_people import keep_decision
    from lycosa.output.plain import counted

    with Collection(collection) as source, open_catalogue(source) as catalogue:
        count = keep_decision(catalogue, urls, author, state, note)
    click.echo(f"{counted(count, 'document')}: {state}", err=True)


@click.command(short_help="Compare what was found with a gold file.")
@click.argument("gold", type=click.Path(path_type=Path))
@collection_option
@click.option("--worst", default=10, metavar="N", help="Documents with the most mistakes that are shown.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
def evaluate(gold: Path, collection: str, worst: int, as_json: bool) -> None:
    """Compare the documents of a collection with a gold file: precision, recall and F by field, kind and source.

    GOLD is CSV or JSON with the columns of `lycosa export documents`: correct an export, and it is a gold. Corrections
    made with `lycosa correct` are left out of what is compared.

    \b
    lycosa export documents -o gold.csv     # then correct it in a spreadsheet
    lycosa evaluate gold.csv
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.documents.catalogue import open_catalogue
    from lycosa.missions.documents.evaluation import evaluate as compare
    from lycosa.missions.documents.evaluation import figures, print_evaluation, read_gold
    from lycosa.missions.documents.export.rows import row_of

    rows = read_gold(gold)
    with Collection(collection) as source, open_catalogue(source) as catalogue:
        result = compare(rows, (row_of(each) for each in catalogue.documents(unwanted=True, corrected=False)))
    if as_json:
        click.echo(figures(result))
    else:
        print_evaluation(result, worst=worst)


@click.command(short_help="Serve the documents to harvesters by OAI-PMH.")
@collection_option
@click.option("--port", type=click.IntRange(1, 65535), default=8087, show_default=True, help="Where it listens.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Others need a password.")
@click.option(
    "--permission",
    type=click.Choice(["granted", "any"]),
    default="any",
    show_default=True,
    help="Offer only documents whose authors granted it, or all that are wanted.",
)
@click.pass_context
def oai(context: click.Context, collection: str, port: int, host: str, permission: str) -> None:
    """Serve the documents of a collection by OAI-PMH 2.0, until Ctrl-C; metadata in Dublin Core, sets by category.

    `lycosa serve` answers at the same addresses, for every collection that it shows.

    \b
    lycosa oai --port 8087
    curl 'http://127.0.0.1:8087/c/collection/m/documents/oai?verb=Identify'
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.documents.catalogue import open_catalogue

    with Collection(collection) as source, open_catalogue(source):
        name = quote(
            source.path.resolve().name.replace("~", "~0"), safe="~"
        )  # complaints come before the port is opened
    path = "oai/granted" if permission == "granted" else "oai"
    click.echo(f"lycosa: OAI-PMH at http://{host}:{port}/c/{name}/m/documents/{path}", err=True)
    program = context.find_root().command
    serve = program.get_command(context, "serve") if isinstance(program, click.Group) else None
    assert serve is not None
    context.invoke(serve, folder=collection, port=port, host=host, quiet=True)
