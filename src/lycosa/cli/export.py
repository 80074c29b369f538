"""The verb `export`: a collection as files or lists that other programs read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lycosa.cli import assort
from lycosa.cli.options import collection_option, named
from lycosa.cli.output import check_ending, check_form, check_place, conclude, opened, opened_bytes
from lycosa.collection.listing import RowFilter
from lycosa.errors import UsageError
from lycosa.output.wording import counted

if TYPE_CHECKING:
    from lycosa.collection.collection import Collection
    from lycosa.collection.records import RecordFilter

#: What is made of the inventory of geographic services.
GEO = ("services", "layers", "footprints", "map", "stac", "iso", "healthcheck", "originals")
KINDS = (
    *("mirror", "index", "warc", "wacz", "urls", "pages", "links", "graph", "inlinks", "records", "near-duplicates"),
    *assort.KINDS,
    *GEO,
)
OF_A_ROUND = ("mirror", "index", "warc", "pages")
LISTINGS = ("urls", "pages", "links", "graph", "inlinks", "near-duplicates")


HELP = """Write a collection for other programs.

\b
mirror  a folder in which each page is found by its URL's path
index   a text file: one entry a page, with its links
warc    the archive, in a folder or in one file (name.warc.gz)
wacz    the archive with its index, as replay tools open it
urls    every URL ever met, with its fate
pages   what is stored
links   who links to whom
graph   the same as a graph of pages, hosts or domains, with weights
inlinks who is linked from where, sorted by the target
records what was extracted
near-duplicates
        pages that say nearly the same, in clusters, the largest first

\b
After `lycosa analyse`, of the documents that --select or --cluster choose:
folder  the documents with an index of them, in a folder, .zip or .tar.gz
addresses
        where they are, or with --missing where what they need would be
dependencies
        which document needs which, by which kind of link
schema  one schema and all that it needs, with a catalog, for use offline

\b
Of the geographic services (see lycosa services):
services, layers
        what was found, as lists
footprints
        their boxes as GeoJSON
map     a page that shows them, which needs neither server nor network
stac    a static catalogue in a folder, or one document a line
iso     ISO 19139 records in a folder, or one CSW-T transaction
healthcheck
        what GeoHealthCheck loads
originals
        their descriptions as they came, in a folder with a catalogue

\b
lycosa export mirror -o site
lycosa export pages --format csv -o pages.csv
lycosa export graph --by host -o hosts.graphml
lycosa export map -o map.html
"""


@click.command(help=HELP)
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
@click.argument("address", default="", metavar="[URL]")
@click.option("-o", "--output", default="-", metavar="PATH", callback=named, help="Folder, or file; - is the pipe.")
@collection_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "tsv", "table", "graphml"]),
    help="Default: table on a terminal, the file's suffix, else jsonl; graphml goes with graph.",
)
@click.option(
    "--by",
    type=click.Choice(["page", "host", "domain", "layer", "service"]),
    help="Nodes of the graph (default: page); of what footprints (default: layer) and iso (default: service) are.",
)
@click.option("--url", default="", metavar="URL", help="Only the inlinks of this URL.")
@click.option("--host", default="", metavar="NAME", help="Only this host; *.example.org takes those below it.")
@click.option("--mime", default="", metavar="TYPE", help="Only pages of this type: text/html, image/*.")
@click.option(
    "--round", "number", type=int, metavar="N", help="Pages as they were after round N; default: newest copies."
)
@click.option(
    "--kind",
    "record_kind",
    default="",
    metavar="NAME",
    help="Only records, or services, of this kind; W*S takes several.",
)
@click.option("--state", default="", metavar="NAME", help="Only URLs, or services, of this state: gone, live…")
@click.option("--select", default="", metavar="CONDITION", help="Only documents of which it holds: 'kind = xsd'.")
@click.option(
    "--cluster", default="", metavar="NAME[/NAME]", help="Only documents of this cluster, or collection of it."
)
@click.option("--corrected", is_flag=True, help="In a folder, broken documents as they were put right.")
@click.option("--missing", is_flag=True, help="Addresses that documents need and that were not collected.")
@click.option(
    "--raw", is_flag=True, help="In csv and tsv, leave cells as they are that a spreadsheet takes for formulas."
)
def export(
    kind: str,
    address: str,
    output: str,
    collection: str,
    form: str | None,
    by: str | None,
    url: str,
    host: str,
    mime: str,
    number: int | None,
    record_kind: str,
    state: str,
    select: str,
    cluster: str,
    corrected: bool,
    missing: bool,
    raw: bool,
) -> None:
    """Write a collection for other programs."""
    if kind in assort.KINDS or select or cluster or corrected or missing or address:
        _refuse(kind, {"graph": {"--by": by}, "pages": {"--mime": mime, "--round": number is not None}})
        _refuse(kind, {"inlinks": {"--url": url}, "records": {"--kind": record_kind}, "urls": {"--state": state}})
        assort.export_documents(
            kind,
            collection,
            assort.Wish(output, form, address, select, cluster, host, corrected, missing, raw),
        )
        return
    if kind in GEO:
        from lycosa.cli import atlas

        _refuse(kind, {"pages": {"--mime": mime, "--round": number is not None}, "inlinks": {"--url": url}})
        _refuse(kind, {"graph": {"--format graphml": form == "graphml"}})
        atlas.write_export(kind, output, collection, by=by, wanted=(record_kind, state, host), form=form, raw=raw)
        return
    if by in ("layer", "service"):
        raise UsageError(f"--by {by} goes with footprints and iso, not with {kind}.")
    wanted = RowFilter(host=host, state=state, mime=mime, round=number)
    _refuse(kind, {"graph": {"--by": by, "--format graphml": form == "graphml"}, "inlinks": {"--url": url}})
    if kind == "records":
        _refuse(kind, {"pages": {"--mime": mime, "--round": number is not None}, "urls": {"--state": state}})
        from lycosa.collection.records import RecordFilter

        write_records(collection, output, RecordFilter(kind=record_kind, host=host), form=form, raw=raw)
        return
    _refuse(kind, {"records": {"--kind": record_kind}})
    _export_pages(kind, output, collection, wanted=wanted, form=form, by=by, url=url, raw=raw)


def _export_pages(
    kind: str,
    output: str,
    collection: str,
    *,
    wanted: RowFilter,
    form: str | None,
    by: str | None,
    url: str,
    raw: bool,
) -> None:
    """Write what every collection has: pages, URLs, links, archive."""
    if wanted.round is not None and kind not in OF_A_ROUND:
        raise UsageError(f"--round goes with {', '.join(OF_A_ROUND)}, not with {kind}.")
    if kind in ("graph", "inlinks", "near-duplicates"):
        _refuse(kind, {"pages": {"--mime": wanted.mime}, "urls": {"--state": wanted.state}})
        if kind == "graph":
            _export_graph(output, collection, form=form, by=by or "page", wanted=wanted, raw=raw)
        elif kind == "near-duplicates":
            _export_near(output, collection, form=form, wanted=wanted, raw=raw)
        else:
            _export_inlinks(output, collection, form=form, url=url, wanted=wanted, raw=raw)
        return
    if kind in LISTINGS:
        write_list(kind, output, collection, form=form, wanted=wanted, raw=raw)
        return
    for option, given in (("--state", wanted.state), ("--format", form), ("--raw", raw)):
        if given:
            raise UsageError(f"{option} goes with {', '.join(LISTINGS)}, not with {kind}.")
    _export_view(kind, output, collection, wanted=wanted)


def write_records(
    collection: str | os.PathLike[str], output: str, wanted: RecordFilter, *, form: str | None, raw: bool = False
) -> None:
    """Write records to a file or the pipe."""
    from lycosa.collection import records

    with opened(output, form) as (out, settled):
        count = records.write_records(collection, out, wanted, form=settled, raw=raw)
    conclude(output, counted(count, "row"))


def write_list(
    kind: str, output: str, collection: str, *, form: str | None = None, wanted: RowFilter, raw: bool = False
) -> None:
    """Write the rows of a list to a file or the pipe."""
    from lycosa.collection.listing import LISTS, list_rows
    from lycosa.output.table import write

    found = list_rows(collection, next(name for name in LISTS if name == kind), wanted)
    with opened(output, form) as (out, settled):
        count = write(found.rows, found.columns, out, form=settled, raw=raw)
    conclude(output, counted(count, "row"))


def _refuse(kind: str, options: dict[str, dict[str, object]]) -> None:
    """Refuse options that go with another kind."""
    for only, given in options.items():
        for option, value in given.items():
            if value and kind != only:
                raise UsageError(f"{option} goes with {only}, not with {kind}.")


def _export_graph(output: str, folder: str, *, form: str | None, by: str, wanted: RowFilter, raw: bool) -> None:
    from lycosa.collection.collection import Collection
    from lycosa.collection.graph import NODES
    from lycosa.export.graphml import write_graphml
    from lycosa.output.table import write

    nodes = next(name for name in NODES if name == by)
    with Collection(folder) as collection:
        if form == "graphml" or (form is None and output.lower().endswith(".graphml")):
            check_form(output, "graphml")
            with opened(output, "jsonl") as (out, _):
                count = write_graphml(collection.database, out, by=nodes, host=wanted.host)
        else:
            edges = collection.graph(by=nodes, host=wanted.host)
            rows = (
                (edge.source, edge.target, edge.links, edge.text, int(edge.accepted), edge.kind)
                if nodes == "page"
                else (edge.source, edge.target, edge.links, edge.pages)
                for edge in edges
            )
            columns = (
                "source",
                "target",
                "links",
                *(("anchor", "accepted", "kind") if nodes == "page" else ("pages",)),
            )
            with opened(output, form) as (out, settled):
                count = write(rows, columns, out, form=settled, raw=raw)
    conclude(output, counted(count, "edge"))


def _export_inlinks(output: str, folder: str, *, form: str | None, url: str, wanted: RowFilter, raw: bool) -> None:
    from lycosa.collection.collection import Collection
    from lycosa.collection.graph import list_inlinks
    from lycosa.explain.address import read_address
    from lycosa.output.table import write

    with Collection(folder) as collection:
        rows: Iterator[tuple[str, str, str, int]]
        if url:
            target = read_address(url, collection.mission.urls).cleaned
            rows = ((target, link.source, link.text, int(link.accepted)) for link in collection.inlinks(target))
        else:
            rows = ((*row[:3], int(row[3])) for row in list_inlinks(collection.database, host=wanted.host))
        with opened(output, form) as (out, settled):
            count = write(rows, ("target", "source", "anchor", "accepted"), out, form=settled, raw=raw)
    conclude(output, counted(count, "link"))


def _export_near(output: str, folder: str, *, form: str | None, wanted: RowFilter, raw: bool) -> None:
    from lycosa.collection.collection import Collection
    from lycosa.collection.near_duplicates import COLUMNS, find_near_duplicates
    from lycosa.output.table import write

    check_place(output, form)  # before every page is read
    tell = (lambda words: click.echo(f"lycosa: {words}", err=True)) if sys.stderr.isatty() else None
    with Collection(folder) as collection:
        found = find_near_duplicates(collection, host=wanted.host, tell=tell)
        rows = ((kin.cluster, kin.size, kin.similarity, kin.url, kin.representative) for kin in found)
        with opened(output, form) as (out, settled):
            count = write(rows, COLUMNS, out, form=settled, raw=raw)
    conclude(output, counted(count, "row"))


def _export_view(kind: str, output: str, folder: str, *, wanted: RowFilter) -> None:
    from lycosa.collection.collection import Collection
    from lycosa.export.files import export_index, export_mirror, export_wacz

    if output == "-" and kind in ("mirror", "wacz"):
        raise UsageError(
            f"A {kind} cannot go into a pipe: name its {'folder' if kind == 'mirror' else 'file'} with -o."
        )
    if kind == "wacz" and wanted != RowFilter():
        raise UsageError("A wacz holds the whole archive: --host and --mime go with the other exports.")
    check_ending(output, {"mirror": (), "index": ("txt",), "wacz": ("wacz",), "warc": ("warc.gz",)}[kind])
    lost = 0
    with Collection(folder) as collection:
        if kind == "mirror":
            count = export_mirror(collection, Path(output), wanted)
            lost = count.lost
            said = f"{counted(count.files, 'file')}, {count.bytes:,} bytes{count.lack}"
        elif kind == "index":
            said = counted(export_index(collection, sys.stdout if output == "-" else Path(output), wanted), "page")
        elif kind == "wacz":
            packed = export_wacz(collection, Path(output))
            lost = packed.lost
            said = f"{counted(packed.records, 'record')}, {counted(packed.pages, 'page')}, {packed.bytes:,} bytes"
            said += packed.lack
        else:
            said = _export_warc(collection, output, wanted)
    conclude(output, said, partial=bool(lost))


def _export_warc(collection: Collection, output: str, wanted: RowFilter) -> str:
    from lycosa.export.files import export_warc

    if output != "-" and wanted == RowFilter():
        return counted(export_warc(collection, Path(output)), "archive file")
    with opened_bytes(output) as out:
        return counted(export_warc(collection, out, wanted), "record")
