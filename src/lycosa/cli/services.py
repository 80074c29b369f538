"""The verb `services`: the geographic services of a collection, found and not found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from lycosa.cli.options import collection_option, format_option, output_option
from lycosa.cli.output import conclude, opened
from lycosa.output.wording import counted
from lycosa.urls import host_pattern

if TYPE_CHECKING:
    from lycosa.missions.geo.inventory.inventory import ServiceInventory
    from lycosa.missions.geo.inventory.listing import ServiceFilter


@click.command(short_help="List the geographic services of a collection.")
@collection_option
@click.option("--kind", default="", metavar="NAME", help="Only services of this kind: WMS, WFS… W*S takes several.")
@click.option("--state", default="", metavar="NAME", help="Only those in this state: live, dead, refused…")
@click.option("--host", default="", metavar="NAME", help="Only this host; *.example.org takes those below it.")
@click.option("--find", "text", default="", metavar="TEXT", help="Only those that name this somewhere.")
@click.option("--layers", is_flag=True, help="What they offer, instead of the services.")
@click.option("--guesses", is_flag=True, help="Also places that were tried though nobody said there is a service.")
@click.option(
    "--raw", is_flag=True, help="In csv and tsv, leave cells as they are that a spreadsheet takes for formulas."
)
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
    from lycosa.missions.geo.inventory.listing import ServiceFilter

    wanted = ServiceFilter(kind=kind, state=state, host=host_pattern(host), text=text, guesses=guesses)
    write_listing("layers" if layers else "services", output, collection, wanted=wanted, form=form, raw=raw)


def write_listing(
    what: str, output: str, collection: str, *, wanted: ServiceFilter, form: str | None, raw: bool
) -> None:
    """Write services or layers; a table for people has the columns that fit, and the sum above it."""
    from lycosa.missions.geo.inventory import listing
    from lycosa.output.table import write

    columns: tuple[str, ...]
    short: tuple[str, ...]
    with stock_of(collection, wanted) as stock, opened(output, form) as (out, settled):
        if what == "layers":
            rows, columns = listing.layer_rows(listing.list_layers(stock, wanted)), listing.LAYERS
            short = ("title", "type", "service_type", "name", "west", "south", "east", "north", "endpoint")
        else:
            entries = list(listing.list_services(stock, wanted))
            rows, columns = listing.service_rows(entries), listing.SERVICES
            short = ("endpoint", "type", "version", "state", "layers", "title", "provider", "reason")
            if settled == "table":
                out.write(f"{listing.summarise(entries)}\n\n")
        if settled == "table":
            at = [columns.index(name) for name in short]
            count = write(([row[i] for i in at] for row in rows), short, out, form=settled)
        else:
            count = write(rows, columns, out, form=settled, raw=raw)
    conclude(output, counted(count, "row"))


@contextmanager
def stock_of(collection: str, wanted: ServiceFilter) -> Iterator[ServiceInventory]:
    """The inventory of a collection as it is at one instant; says so where there is none."""
    from lycosa.collection.collection import Collection
    from lycosa.missions.geo.inventory.inventory import ServiceInventory

    wanted.check()
    with Collection(collection) as source, source.snapshot():
        stock = ServiceInventory(source)
        if not stock.live:
            click.echo(
                "lycosa: the collection has no description of a service (lycosa crawl geo … hunts for them, and"
                " lycosa extract --quarry lycosa.missions.geo:Geo looks for them in what other missions kept)",
                err=True,
            )
        yield stock
