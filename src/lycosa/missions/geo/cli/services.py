"""The verb `services`: the geographic services of a collection, found and not found."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option, format_option, output_option, raw_option
from lycosa.output.destination import report_written
from lycosa.urls import host_pattern


@click.command(short_help="List the geographic services of a collection.")
@collection_option
@click.option("--kind", default="", metavar="NAME", help="Only services of this kind: WMS, WFS… W*S takes several.")
@click.option("--state", default="", metavar="NAME", help="Only those in this state: live, dead, refused…")
@click.option("--host", default="", metavar="NAME", help="Only this host; *.example.org takes those below it.")
@click.option("--find", "text", default="", metavar="TEXT", help="Only those that name this somewhere.")
@click.option("--layers", is_flag=True, help="What they offer, instead of the services.")
@click.option("--guesses", is_flag=True, help="Also places that were tried though nobody said there is a service.")
@raw_option
@format_option
@output_option
def services(
    collection: str,
    kind: str,
    state: str,
    host: str,
    text: str,
    layers: bool,
    guesses: bool,
    raw: bool,
    form: str | None,
    output: str,
) -> None:
    """List the geographic services of a collection: what they are, what they offer, and which did not answer.

    States: live; exception, error, refused (it answers, but not with a description); forbidden (by robots.txt); dead;
    other (something else answers); unvisited.

    \b
    lycosa services
    lycosa services --kind WMS --find water
    lycosa services --state dead --format csv -o dead.csv
    lycosa services --layers --format csv -o layers.csv
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.geo.export.writers import write_listing
    from lycosa.missions.geo.inventory.listing import ServiceFilter

    wanted = ServiceFilter(kind=kind, state=state, host=host_pattern(host), text=text, guesses=guesses)
    with Collection(collection) as source:
        what = "layers" if layers else "services"
        written = write_listing(what, source, output, wanted=wanted, form=form, raw=raw)
    report_written(output, written.said)
