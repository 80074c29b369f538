"""The verb `impact`: what became of a story across media, as a page with charts or as JSON."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option, output_option
from lycosa.output.destination import check_ending, report_written, write_parts


@click.command(short_help="Show the impact of a story across media.")
@click.argument("query", nargs=-1, metavar="[STORY|WORDS]")
@collection_option
@output_option
def impact(query: tuple[str, ...], collection: str, output: str) -> None:
    """Show the impact of a story: how many media took it up, when, where, and how much of the text was copied.

    The story is named by its number, which `lycosa stories` shows, or by words: then all stories count with a record
    that has them. Without either it is the one in most media. A file that ends in .html is a page with charts, which
    opens without a network; .json, and the pipe, has the same figures for programs.

    \b
    lycosa impact 17 -o impact.html
    lycosa impact inundación ebro -o ebro.html
    lycosa impact -o widest.json
    """
    import msgspec

    from lycosa.collection.collection import Collection
    from lycosa.missions.records.database import open_store
    from lycosa.missions.records.stories.impact import find_stories, measure_impact
    from lycosa.missions.records.stories.impact_page import write_impact
    from lycosa.missions.records.stories.refresh import refresh_stories

    check_ending(output, ("html", "htm", "json"))
    words = " ".join(query).strip()
    with Collection(collection) as source, open_store(source) as store:
        refresh_stories(store)
        found = measure_impact(find_stories(store, words), query="" if words.isdecimal() else words)
    if output.lower().endswith((".html", ".htm")):
        write_parts(output, (part.encode("utf-8", "replace") for part in write_impact(found)))
    elif output == "-":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        write_parts(output, [msgspec.json.format(msgspec.json.encode(found), indent=2), b"\n"])
    articles = "1 article" if found.articles == 1 else f"{found.articles:,} articles"
    media = "1 medium" if found.media == 1 else f"{found.media:,} media"
    report_written(output, f"{articles} in {media}")
