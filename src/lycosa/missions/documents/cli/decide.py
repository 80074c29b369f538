"""The verb `decide`: that authors were asked for permission, and what they answered."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option
from lycosa.errors import UsageError


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
    from lycosa.missions.documents.decisions import STATES
    from lycosa.missions.documents.decisions import decide as record
    from lycosa.missions.documents.evidence.similarity import same_person
    from lycosa.output.wording import counted

    if not urls and not author:
        raise UsageError("Say what was decided on: the URLs of documents, or --author NAME for all of theirs.")
    chosen: list[tuple[str, str]] = []
    with Collection(collection) as source, open_catalogue(source) as catalogue:
        wanted = []
        for url in urls:
            document = catalogue.document(url)
            if document is None:
                raise UsageError(f"{url} is no document of this collection; lycosa documents lists them.")
            wanted.append(document)
        for document in wanted or catalogue.documents(unwanted=True):
            names = [each.name for each in document.authors if not author or same_person(each.name, author) >= 0.75]
            if author and not names and wanted:
                raise UsageError(
                    f"{author} is no author of {document.url}:"
                    f" {', '.join(each.name for each in document.authors) or 'none is known'}."
                )
            chosen += [(document.url, name) for name in names or ([""] if not author else [])]
        if not chosen:
            raise UsageError(f"No document of this collection has the author {author}; lycosa contacts lists them.")
        kind = next(each for each in STATES if each == state)
        for url, name in chosen:
            record(source.path, url, name, kind, note)
    click.echo(f"{counted(len({url for url, _ in chosen}), 'document')}: {state}", err=True)
