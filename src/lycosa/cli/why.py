"""The verb `why`: explains what was decided about a URL, and by which rules."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from lycosa.cli.collection_choice import readable_collection_option
from lycosa.errors import UsageError

if TYPE_CHECKING:
    from lycosa.config.settings import Mission
    from lycosa.quarry import Quarry


@click.command()
@click.argument("addresses", nargs=-1, metavar="URL…")
@readable_collection_option
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

    from lycosa.collection.collection import Collection
    from lycosa.explain.narrative import format_why
    from lycosa.explain.why import explain

    words = [word for given in addresses for word in (_read_pipe() if given == "-" else [given])]
    if not words:
        raise UsageError("Name a URL to explain.")
    text = (form or ("text" if sys.stdout.isatty() else "jsonl")) == "text"
    with Collection(collection) as source:
        quarry = _load_quarry(source.mission)
        for at, word in enumerate(words):
            explanation = explain(source, word, links=links, quarry=quarry)
            if text:
                click.echo(("\n" if at else "") + format_why(explanation))
            else:
                click.echo(msgspec.json.encode(explanation).decode())


def _load_quarry(mission: Mission) -> Quarry | None:
    """The quarry, whose scores order the links; None where it does not matter or cannot be loaded."""
    if mission.order != "best" or not mission.hunted:
        return None
    from lycosa.extract.quarry_loader import load_quarry

    try:
        return load_quarry(mission)
    except UsageError as problem:
        click.echo(f"lycosa: {problem}", err=True)
        return None


def _read_pipe() -> list[str]:
    return [line.strip() for line in sys.stdin if line.strip()]
