"""Writers of the exports that every collection has: each writes a collection as a file, a folder or a list."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from lycosa.collection import records
from lycosa.collection.collection import Collection
from lycosa.collection.graph import list_inlinks
from lycosa.collection.listing import List, RowFilter, list_rows
from lycosa.collection.records import RecordFilter
from lycosa.export import files, web_graph
from lycosa.export.core_exports import (
    GraphOptions,
    InlinkOptions,
    ListOptions,
    PageListOptions,
    PageOptions,
    RecordOptions,
    UrlListOptions,
)
from lycosa.export.definition import NoOptions, Written
from lycosa.graph.files import write_graphml
from lycosa.output.destination import check_form, check_place, opened, opened_bytes
from lycosa.output.table import write
from lycosa.output.wording import counted


def write_mirror(collection: Collection, target: str, options: PageOptions) -> Written:
    count = files.export_mirror(collection, Path(target), _filter(options))
    return Written(f"{counted(count.files, 'file')}, {count.bytes:,} bytes{count.lack}", partial=bool(count.lack))


def write_index(collection: Collection, target: str, options: PageOptions) -> Written:
    to = sys.stdout if target == "-" else Path(target)
    return Written(counted(files.export_index(collection, to, _filter(options)), "page"))


def write_warc(collection: Collection, target: str, options: PageOptions) -> Written:
    wanted = _filter(options)
    if target != "-" and wanted == RowFilter():
        return Written(counted(files.export_warc(collection, Path(target)), "archive file"))
    with opened_bytes(target) as out:
        return Written(counted(files.export_warc(collection, out, wanted), "record"))


def write_wacz(collection: Collection, target: str, options: NoOptions) -> Written:
    packed = files.export_wacz(collection, Path(target))
    said = f"{counted(packed.records, 'record')}, {counted(packed.pages, 'page')}, {packed.bytes:,} bytes{packed.lack}"
    return Written(said, partial=bool(packed.lost))


def write_urls(collection: Collection, target: str, options: UrlListOptions) -> Written:
    wanted = RowFilter(host=options.host, state=options.state)
    return write_list("urls", target, collection.path, form=options.format, wanted=wanted, raw=options.raw)


def write_pages(collection: Collection, target: str, options: PageListOptions) -> Written:
    wanted = _filter(options)
    return write_list("pages", target, collection.path, form=options.format, wanted=wanted, raw=options.raw)


def write_links(collection: Collection, target: str, options: ListOptions) -> Written:
    wanted = RowFilter(host=options.host)
    return write_list("links", target, collection.path, form=options.format, wanted=wanted, raw=options.raw)


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


def write_graph(collection: Collection, target: str, options: GraphOptions) -> Written:
    nodes = options.by
    if options.format == "graphml" or (options.format is None and target.lower().endswith(".graphml")):
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


def write_inlinks(collection: Collection, target: str, options: InlinkOptions) -> Written:
    from lycosa.explain.address import read_address

    rows: Iterator[tuple[str, str, str, int]]
    if options.url:
        url = read_address(options.url, collection.mission.urls).cleaned
        rows = ((url, link.source, link.text, int(link.accepted)) for link in collection.inlinks(url))
    else:
        rows = ((*row[:3], int(row[3])) for row in list_inlinks(collection.database, host=options.host))
    with opened(target, options.format) as (out, chosen_format):
        count = write(rows, ("target", "source", "anchor", "accepted"), out, form=chosen_format, raw=options.raw)
    return Written(counted(count, "link"))


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
