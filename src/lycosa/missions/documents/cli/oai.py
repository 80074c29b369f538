"""The verb `oai`: serves the documents of a collection to harvesters, by OAI-PMH."""

from __future__ import annotations

from urllib.parse import quote

import click

from lycosa.config.command_options import collection_option


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
