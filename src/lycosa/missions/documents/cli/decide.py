"""The verb `decide`: that authors were asked for permission, and what they answered."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option


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
    from lycosa.output.wording import counted

    with Collection(collection) as source, open_catalogue(source) as catalogue:
        count = keep_decision(catalogue, urls, author, state, note)
    click.echo(f"{counted(count, 'document')}: {state}", err=True)
