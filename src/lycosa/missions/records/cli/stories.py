"""The verb `stories`: the same story in several media, the same thing in several catalogues."""

from __future__ import annotations

import datetime

import click

from lycosa.config.command_options import collection_option, format_option, output_option
from lycosa.errors import UsageError
from lycosa.output.destination import report_written


@click.command(short_help="List what several media tell alike.")
@collection_option
@click.option("--least-hosts", default=2, metavar="N", help="Only stories on at least so many hosts. Default: 2.")
@click.option("--since", default="", metavar="DATE", help="Only those with a record that came since: 2026-11-18.")
@click.option("--story", default=0, metavar="ID", help="One story: its members, why they are there, its fields.")
@click.option(
    "--raw", is_flag=True, help="In csv and tsv, leave cells as they are that a spreadsheet takes for formulas."
)
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
    from lycosa.missions.records.stories.refresh import refresh_stories

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
