"""The verbs `stories` and `impact`: records that tell the same, and how far a story went."""

from __future__ import annotations

import datetime

import click

from lycosa.config.command_options import collection_option, format_option, output_option, raw_option
from lycosa.errors import UsageError
from lycosa.output.destination import check_ending, report_written, write_parts
from lycosa.output.plain import counted


@click.command(short_help="List what several media tell alike.")
@collection_option
@click.option("--least-hosts", default=2, metavar="N", help="Only stories on at least so many hosts. Default: 2.")
@click.option("--since", default="", metavar="DATE", help="Only those with a record that came since: 2026-11-18.")
@click.option("--story", default=0, metavar="ID", help="One story: its members, why they are there, its fields.")
@raw_option
@format_option
@output_option
def stories(
    collection: str, least_hosts: int, since: str, story: int, raw: bool, form: str | None, output: str
) -> None:
    """List the stories that several media tell, and the things that several catalogues have.

    Articles are one story where they share rare names and numbers within a few days, in any language, or where one
    copies the other; things are the same by ISBN, EAN or DOI, or by title and author. With --story, each member is
    shown with the reason, and the record that they give together: what each field says, who says so, who does not.

    \b
    lycosa stories
    lycosa stories --least-hosts 5 --format csv -o stories.csv
    lycosa stories --story 17
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.records.database import open_store
    from lycosa.missions.records.stories.listing import show_story, write_stories
    from lycosa.missions.records.stories.story_refresh import refresh_stories

    if least_hosts < 1:
        raise UsageError(f"--least-hosts is a number from 1 on; found {least_hosts}.")
    begin = _read_since(since)
    with Collection(collection) as source, open_store(source) as store:
        refresh_stories(store)
        if story:
            said = show_story(store, story, output, form=form, raw=raw)
        else:
            said = write_stories(store, output, since=begin, least_hosts=least_hosts, form=form, raw=raw)
    report_written(output, said)


def _read_since(since: str) -> float:
    if not since:
        return 0.0
    try:
        return datetime.datetime.fromisoformat(since).replace(tzinfo=datetime.UTC).timestamp()
    except ValueError:
        raise UsageError(f"--since is a day like 2026-11-18; found {since}.") from None


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
    from lycosa.missions.records.stories.impact import find_stories, measure_impact, write_impact
    from lycosa.missions.records.stories.story_refresh import refresh_stories

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
    report_written(output, f"{counted(found.articles, 'article')} in {counted(found.media, 'medium')}")
