"""A whole mission in one file: it collects news feeds, lists them, writes them as OPML and reports on them."""

from xml.sax.saxutils import quoteattr

import click
from msgspec import Struct

from lycosa import Collection
from lycosa.config.command_options import collection_option
from lycosa.export.definition import Host
from lycosa.missions.api import MissionManifest, Report, Written, export_kind
from lycosa.model import Record
from lycosa.output.destination import opened_bytes
from lycosa.output.html_page import Section, TableLink, table
from lycosa.quarry import Quarry


class Feeds(Quarry):
    """RSS and Atom."""

    name = "feeds"

    def recognise(self, doc):
        return "feed" if doc.kind == "feed" else None

    def extract(self, doc):
        if doc.kind == "feed":
            yield Record("feed", {"title": doc.title, "entries": len(doc.links)})


class OpmlOptions(Struct, frozen=True):
    host: Host = ""  # --host NAME


MANIFEST = MissionManifest(
    name="feeds",
    summary="news feeds",
    quarry="lycosa_feeds:Feeds",
    verbs={"feeds": "lycosa_feeds:feeds"},
    exports=("lycosa_feeds",),
    report="lycosa_feeds:report_feeds",
)


def feeds_of(collection, host=""):
    return [each for each in collection.records(quarry="feeds") if host in ("", each.url.split("/")[2])]


@click.command()
@collection_option
def feeds(collection):
    """List the news feeds of a collection, with how many entries each has."""
    with Collection(collection) as source:
        for record in feeds_of(source):
            click.echo(f"{record.data['entries']:5}  {record.url}  {record.data['title']}")


def report_feeds(collection):
    rows = [(TableLink(each.url), each.data["title"], each.data["entries"]) for each in feeds_of(collection)]
    return Report("Feeds", [Section("All feeds", [table(("address", "title", "entries"), rows)])])


@export_kind("opml", "feeds for readers", options=OpmlOptions, endings=("opml",))
def write_opml(collection, target, options):
    found = feeds_of(collection, options.host)
    lines = [f"<outline type='rss' text={quoteattr(r.data['title'])} xmlUrl={quoteattr(r.url)}/>" for r in found]
    with opened_bytes(target) as out:
        out.write("\n".join(["<opml version='2.0'><body>", *lines, "</body></opml>\n"]).encode())
    return Written(f"{len(found)} feeds")
