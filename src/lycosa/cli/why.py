"""The verb `why`: what was decided about a URL, and on which grounds."""

from __future__ import annotations

import sys

import click

from lycosa.cli.options import collection_option
from lycosa.errors import UsageError


@click.command()
@click.argument("addresses", nargs=-1, metavar="URL…")
@collection_option
@click.option(
    "--format", "form", type=click.Choice(["text", "jsonl"]), help="Default: text on a terminal, jsonl in a pipe."
)
@click.option("--links", is_flag=True, help="Also look for the stored pages that link to it: one pass over all links.")
def why(addresses: tuple[str, ...], collection: str, form: str | None, links: bool) -> None:
    """Explain what became of a URL, seen or never seen, and why.

    How its address is written, what is stored of it, every rule with its verdict, its score, how it was found, where it
    stands in the queue and how its host is doing; also while a crawl is running. - reads addresses from the pipe.

    \b
    lycosa why https://example.org/calendar?month=13
    lycosa why example.org/lost --links
    """
    import msgspec

    from lycosa.look.account import tell
    from lycosa.look.collection import Collection

    words = [word for given in addresses for word in (_piped() if given == "-" else [given])]
    if not words:
        raise UsageError("Name a URL to explain.")
    text = (form or ("text" if sys.stdout.isatty() else "jsonl")) == "text"
    with Collection(collection) as opened:
        for at, word in enumerate(words):
            story = opened.why(word, links=links)
            if text:
                click.echo(("\n" if at else "") + tell(story))
            else:
                click.echo(msgspec.json.encode(story).decode())


def _piped() -> list[str]:
    return [line.strip() for line in sys.stdin if line.strip()]
