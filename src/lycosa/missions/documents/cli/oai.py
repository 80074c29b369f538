"""The verb `oai`: serves the documents of a collection to harvesters, by OAI-PMH."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option


@click.command(short_help="Serve the documents to harvesters by OAI-PMH.")
@collection_option
@click.option("--port", type=click.IntRange(0, 65535), default=8087, show_default=True, help="0: any that is free.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where it listens.")
@click.option(
    "--permission",
    type=click.Choice(["granted", "any"]),
    default="any",
    show_default=True,
    help="Offer only documents whose authors granted it, or all that are wanted.",
)
def oai(collection: str, port: int, host: str, permission: str) -> None:
    """Serve the documents of a collection by OAI-PMH 2.0, until Ctrl-C; metadata in Dublin Core, sets by category.

    \b
    lycosa oai --port 8087
    curl 'http://127.0.0.1:8087/?verb=Identify'
    """
    from lycosa.missions.documents.oai_server import serve

    serve(collection, host=host, port=port, only_granted=permission == "granted")
