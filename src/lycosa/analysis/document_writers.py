"""Exports of the documents of an analysed collection that options select, each kind with what writes it.

The archive is among them, because it can be limited to such documents.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.export import core_writers
from lycosa.export.core_writers import PageOptions
from lycosa.export.definition import ANALYSED, Cluster, GraphForm, Host, Raw, Select, Written, export_kind
from lycosa.output.destination import check_form, opened, opened_bytes
from lycosa.output.plain import counted
from lycosa.output.table import write

if TYPE_CHECKING:
    from lycosa.analysis.selection import Selected


class WarcOptions(PageOptions, frozen=True):
    """Which pages, or which documents of an analysed collection, are copied."""

    select: Select = ""
    cluster: Cluster = ""


class DocumentOptions(Struct, frozen=True):
    """Which documents of an analysed collection are exported."""

    select: Select = ""
    cluster: Cluster = ""
    host: Host = ""


class FolderOptions(DocumentOptions, frozen=True):
    """Which documents are packed, and as what."""

    corrected: Annotated[bool, Meta(description="In a folder, broken documents as they were put right.")] = False
    plan: Annotated[
        str, Meta(description="With --corrected: the plan whose plugins put them right.", extra={"is_path": True})
    ] = ""


class AddressOptions(DocumentOptions, frozen=True):
    """Whose addresses are listed."""

    missing: Annotated[bool, Meta(description="Addresses that documents need and that were not collected.")] = False


class DependencyOptions(DocumentOptions, frozen=True):
    """Whose dependencies are listed, and how."""

    format: GraphForm = None
    raw: Raw = False


@export_kind(
    "warc",
    "the archive, in a folder or in one file (name.warc.gz)",
    options=WarcOptions,
    endings=("warc.gz",),
    folder=True,
)
def write_warc(collection: Collection, target: str, options: WarcOptions) -> Written:
    if not options.select and not options.cluster:
        return core_writers.write_warc(collection, target, options)
    if options.mime or options.round is not None:
        given = "--mime" if options.mime else "--round"
        raise UsageError(f"{given} goes with pages, not with documents that --select or --cluster choose.")
    from lycosa.analysis.selection import opened_selection
    from lycosa.export import files

    with opened_selection(collection.path) as selection:
        chosen = selection.find(_selected(options))
        numbers = dict.fromkeys(each.n for each in chosen)
        pages = (page for n in numbers if (page := collection.page_at(n)) is not None)
        with opened_bytes(target) as out:
            return Written(counted(files.export_records(collection, out, pages), "record"))


@export_kind(
    "folder",
    "the documents with an index of them, in a folder, .zip or .tar.gz",
    options=FolderOptions,
    endings=("zip", "tar", "tar.gz", "tgz"),
    folder=True,
    pipe=False,
    heading=ANALYSED,
)
def write_folder(collection: Collection, target: str, options: FolderOptions) -> Written:
    from lycosa.analysis import package
    from lycosa.analysis.plan import read_plan
    from lycosa.analysis.selection import opened_selection

    if options.plan and not options.corrected:
        raise UsageError("--plan goes with --corrected.")
    plan = read_plan(options.plan) if options.plan else None
    with opened_selection(collection.path, plan) as selection:
        if options.corrected:
            selection.check_plan()
        documents = (
            (each.url, each.mime, selection.read(each, corrected=options.corrected))
            for each in selection.find(_selected(options))
        )
        packed = package.write_package(documents, target)
    said = f"{counted(packed.files, 'file')}, {packed.bytes:,} bytes{describe_lost(packed.lost)}"
    return Written(said, partial=bool(packed.lost))


def describe_lost(lost: int) -> str:
    """How many documents a package lacks, as the end of a sentence; empty where it lacks none."""
    if not lost:
        return ""
    return f"; {counted(lost, 'document', 'is')} left out, as the archive cannot be read there (see lycosa verify)"


@export_kind(
    "addresses",
    "where they are, or with --missing where what they need would be",
    options=AddressOptions,
    endings=("txt", "csv"),
    heading=ANALYSED,
)
def write_addresses(collection: Collection, target: str, options: AddressOptions) -> Written:
    from lycosa.analysis import package
    from lycosa.analysis.selection import opened_selection

    with opened_selection(collection.path) as selection:
        if options.missing:
            addresses = selection.find_missing(_selected(options))
        else:
            documents = selection.find(_selected(options))
            addresses = (each.url.partition("!/")[0] if each.member else each.url for each in documents)
        if target == "-":
            return Written(counted(package.write_addresses(addresses, sys.stdout.buffer), "address"))
        with opened_bytes(target) as out:
            return Written(counted(package.write_addresses(addresses, out), "address"))


@export_kind(
    "dependencies", "which document needs which, by which kind of link", options=DependencyOptions, heading=ANALYSED
)
def write_dependencies(collection: Collection, target: str, options: DependencyOptions) -> Written:
    from lycosa.analysis import dependencies
    from lycosa.analysis.selection import opened_selection
    from lycosa.graph.files import write_graphml

    with opened_selection(collection.path) as selection:
        condition = selection.condition(_selected(options))
        if options.format == "graphml" or (options.format is None and target.lower().endswith(".graphml")):
            check_form(target, "graphml")
            with opened(target, "jsonl") as (out, _):
                return Written(counted(write_graphml(dependencies.make_graph(selection.db, condition), out), "link"))
        with opened(target, options.format) as (out, chosen_format):
            rows = dependencies.list_edges(selection.db, condition)
            return Written(counted(write(rows, dependencies.COLUMNS, out, form=chosen_format, raw=options.raw), "link"))


def _selected(options: DocumentOptions | WarcOptions) -> Selected:
    from lycosa.analysis.selection import Selected

    return Selected(options.select, options.cluster, options.host)
