"""Exports that every collection has: each kind with its options and with what writes it, a file, a folder or a list."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import astuple

from lycosa.collection import records
from lycosa.collection.collection import Collection
from lycosa.collection.graph import list_inlinks
from lycosa.collection.listing import List, RowFilter, list_rows
from lycosa.collection.records import RecordFilter
from lycosa.collection.status import Cycle, list_cycles
from lycosa.errors import UsageError
from lycosa.export.definition import (
    Address,
    Form,
    GraphForm,
    Host,
    Kind,
    Mime,
    Raw,
    Round,
    State,
    Written,
    export_kind,
)
from lycosa.output.destination import check_form, check_place, opened, opened_bytes
from lycosa.output.plain import counted
from lycosa.output.table import write


class PageOptions(Struct, frozen=True):
    """Which pages are written."""

    host: Host = ""
    mime: Mime = ""
    round: Round = None


class WaczOptions(Struct, frozen=True):
    """How the archive is packed."""

    sign: Annotated[
        str, Meta(description="sign it with the key in this folder, which is made there", extra={"metavar": "DIR"})
    ] = ""


class UrlListOptions(Struct, frozen=True):
    """Which URLs are listed, and how."""

    format: Form = None
    host: Host = ""
    state: State = ""
    raw: Raw = False


class PageListOptions(PageOptions, frozen=True):
    """Which pages are listed, and how."""

    format: Form = None
    raw: Raw = False


class TableOptions(Struct, frozen=True):
    """How a table is written."""

    format: Form = None
    raw: Raw = False


class ListOptions(TableOptions, frozen=True):
    """Which host is listed, and how."""

    host: Host = ""


class GraphOptions(Struct, frozen=True):
    """What the nodes of the graph are."""

    format: GraphForm = None
    by: Annotated[Literal["page", "host", "domain"], Meta(description="Nodes of the graph (default: page).")] = "page"
    host: Host = ""
    raw: Raw = False


class LinkOptions(ListOptions, frozen=True):
    """Whose links are listed, and how."""

    context: Annotated[bool, Meta(description="Also the text around each link, read again from its page.")] = False


class InlinkOptions(LinkOptions, frozen=True):
    """Whose inlinks are listed, and how."""

    url: Annotated[str, Meta(description="Only the inlinks of this URL.", extra={"metavar": "URL"})] = ""


class RecordOptions(ListOptions, frozen=True):
    """Which records are listed, and how."""

    kind: Kind = ""


class MirrorOptions(PageOptions, frozen=True):
    """Which pages are in the folder, and whether they lead to each other."""

    browsable: Annotated[bool, Meta(description="To click through from the disk: with all that shows the pages.")] = (
        False
    )


@export_kind(
    "mirror",
    "a folder; --browsable: that a browser opens from the disk; else each page by its URL's path",
    options=MirrorOptions,
    folder=True,
    pipe=False,
)
def write_mirror(collection: Collection, target: str, options: MirrorOptions) -> Written:
    from lycosa.export import browsable, files

    write = browsable.export_browsable if options.browsable else files.export_mirror
    count = write(collection, Path(target), _filter(options))
    return Written(f"{counted(count.files, 'file')}, {count.bytes:,} bytes{count.lack}", partial=bool(count.lack))


class SinglePageOptions(Struct, frozen=True):
    """Which page it is."""

    address: Address = ""
    round: Round = None


@export_kind(
    "page",
    "URL as one file: HTML with everything in it, PDF or picture",
    options=SinglePageOptions,
    endings=("html", "pdf", "png"),
    pipe=False,
)
def write_page(collection: Collection, target: str, options: SinglePageOptions) -> Written:
    from lycosa.export.single_page import export_page

    if not options.address:
        raise UsageError("Name the page: lycosa export page URL -o page.html (or .pdf, .png).")
    return Written(f"{export_page(collection, options.address, Path(target), round=options.round):,} bytes")


@export_kind("index", "a text file: one entry a page, with its links", options=PageOptions, endings=("txt",))
def write_index(collection: Collection, target: str, options: PageOptions) -> Written:
    from lycosa.export import files

    to = sys.stdout if target == "-" else Path(target)
    return Written(counted(files.export_index(collection, to, _filter(options)), "page"))


def write_warc(collection: Collection, target: str, options: PageOptions) -> Written:
    from lycosa.export import files

    wanted = _filter(options)
    if target != "-" and wanted == RowFilter():
        return Written(counted(files.export_warc(collection, Path(target)), "archive file"))
    with opened_bytes(target) as out:
        return Written(counted(files.export_warc(collection, out, wanted), "record"))


@export_kind(
    "wacz",
    "the archive with its index, as replay tools open it",
    options=WaczOptions,
    endings=("wacz",),
    pipe=False,
    remark=", which holds the whole archive",
)
def write_wacz(collection: Collection, target: str, options: WaczOptions) -> Written:
    from lycosa.export import files

    packed = files.export_wacz(collection, Path(target), sign_with=Path(options.sign) if options.sign else None)
    said = f"{counted(packed.records, 'record')}, {counted(packed.pages, 'page')}, {packed.bytes:,} bytes{packed.lack}"
    return Written(said, partial=bool(packed.lost))


@export_kind("urls", "every URL ever met, with its fate", options=UrlListOptions)
def write_urls(collection: Collection, target: str, options: UrlListOptions) -> Written:
    wanted = RowFilter(host=options.host, state=options.state)
    return write_list("urls", target, collection.path, form=options.format, wanted=wanted, raw=options.raw)


@export_kind("pages", "what is stored", options=PageListOptions)
def write_pages(collection: Collection, target: str, options: PageListOptions) -> Written:
    wanted = _filter(options)
    return write_list("pages", target, collection.path, form=options.format, wanted=wanted, raw=options.raw)


@export_kind("links", "who links to whom", options=LinkOptions)
def write_links(collection: Collection, target: str, options: LinkOptions) -> Written:
    wanted = RowFilter(host=options.host)
    if not options.context:
        return write_list("links", target, collection.path, form=options.format, wanted=wanted, raw=options.raw)
    listing = list_rows(collection.path, "links", wanted)
    rows = (
        (*row, context)
        for source, found in groupby(listing.rows, key=itemgetter(0))
        for own in [list(found)]
        for row, context in zip(own, collection.contexts(source, [(row[1], row[2]) for row in own]), strict=True)
    )
    with opened(target, options.format) as (out, form):
        return Written(counted(write(rows, (*listing.columns, "context"), out, form=form, raw=options.raw), "row"))


def write_list(
    kind: List,
    target: str,
    folder: str | os.PathLike[str],
    *,
    form: str | None = None,
    wanted: RowFilter = RowFilter(),  # noqa: B008  frozen
    raw: bool = False,
) -> Written:
    """Write the rows of a list to a file or the pipe."""
    listing = list_rows(folder, kind, wanted)
    with opened(target, form) as (out, chosen_format):
        return Written(counted(write(listing.rows, listing.columns, out, form=chosen_format, raw=raw), "row"))


@export_kind("cycles", "what each cycle of a crawl in cycles brought", options=TableOptions)
def write_cycles(collection: Collection, target: str, options: TableOptions) -> Written:
    rows = map(astuple, list_cycles(collection.database))
    with opened(target, options.format) as (out, form):
        return Written(counted(write(rows, Cycle.__struct_fields__, out, form=form, raw=options.raw), "cycle"))


@export_kind("graph", "the same as a graph of pages, hosts or domains, with weights", options=GraphOptions)
def write_graph(collection: Collection, target: str, options: GraphOptions) -> Written:
    nodes = options.by
    if options.format == "graphml" or (options.format is None and target.lower().endswith(".graphml")):
        from lycosa.export import web_graph
        from lycosa.graph.files import write_graphml

        check_form(target, "graphml")
        with (
            opened(target, "jsonl") as (out, _),
            web_graph.opened_graph(collection.database, by=nodes, host=options.host) as graph,
        ):
            count = write_graphml(graph, out)
        return Written(counted(count, "edge"))
    rows = (
        (edge.source, edge.target, edge.links, edge.text, int(edge.accepted), edge.kind)
        if nodes == "page"
        else (edge.source, edge.target, edge.links, edge.pages)
        for edge in collection.graph(by=nodes, host=options.host)
    )
    columns = ("source", "target", "links", *(("anchor", "accepted", "kind") if nodes == "page" else ("pages",)))
    with opened(target, options.format) as (out, chosen_format):
        return Written(counted(write(rows, columns, out, form=chosen_format, raw=options.raw), "edge"))


@export_kind("inlinks", "who is linked from where, sorted by the target", options=InlinkOptions)
def write_inlinks(collection: Collection, target: str, options: InlinkOptions) -> Written:
    from lycosa.explain.address import read_address

    found: Iterator[tuple[str, str, str, bool, str]]
    if options.url:
        url = read_address(options.url, collection.mission.urls).cleaned
        links = collection.inlinks(url, contexts=options.context)
        found = ((url, link.source, link.text, link.accepted, link.context) for link in links)
    else:
        contexts = collection.contexts if options.context else None
        found = list_inlinks(collection.database, host=options.host, contexts=contexts)
    columns = ("target", "source", "anchor", "accepted", "context")[: 4 + options.context]
    rows = ((*row[:3], int(row[3]), row[4])[: len(columns)] for row in found)
    with opened(target, options.format) as (out, chosen_format):
        count = write(rows, columns, out, form=chosen_format, raw=options.raw)
    return Written(counted(count, "link"))


@export_kind("records", "what was extracted", options=RecordOptions)
def write_records(collection: Collection, target: str, options: RecordOptions) -> Written:
    wanted = RecordFilter(kind=options.kind, host=options.host)
    return list_records(collection.path, target, wanted, form=options.format, raw=options.raw)


def list_records(
    folder: str | os.PathLike[str],
    target: str,
    wanted: RecordFilter = RecordFilter(),  # noqa: B008  frozen
    *,
    form: str | None = None,
    raw: bool = False,
) -> Written:
    """Write records to a file or the pipe."""
    with opened(target, form) as (out, chosen_format):
        return Written(counted(records.write_records(folder, out, wanted, form=chosen_format, raw=raw), "row"))


@export_kind("near-duplicates", "pages that say nearly the same, in clusters, the largest first", options=ListOptions)
def write_near_duplicates(collection: Collection, target: str, options: ListOptions) -> Written:
    from lycosa.derived.near_duplicates import COLUMNS, find_near_duplicates

    check_place(target, options.format)  # before every page is read
    report = (lambda words: print(f"lycosa: {words}", file=sys.stderr)) if sys.stderr.isatty() else None
    pages = find_near_duplicates(collection, host=options.host, tell=report)
    rows = ((page.cluster, page.size, page.similarity, page.url, page.representative) for page in pages)
    with opened(target, options.format) as (out, chosen_format):
        return Written(counted(write(rows, COLUMNS, out, form=chosen_format, raw=options.raw), "row"))


def _filter(options: PageOptions) -> RowFilter:
    return RowFilter(host=options.host, mime=options.mime, round=options.round)
