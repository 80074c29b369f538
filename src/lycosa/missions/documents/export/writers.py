"""Exports of documents, their authors and the graph of both: each kind of `lycosa export` with what writes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.export.definition import Form, Host, Kind, NoOptions, Raw, Written, export_kind
from lycosa.output.destination import opened, write_parts
from lycosa.output.export_folder import write_folder
from lycosa.output.plain import counted

if TYPE_CHECKING:
    from lycosa.missions.documents.catalogue import Catalogue
    from lycosa.missions.documents.model import DocumentDescription

_HEADING = "Of the documents (see lycosa documents):"


class CatalogueOptions(Struct, frozen=True):
    """Which documents are taken."""

    kind: Kind = ""
    host: Host = ""
    all: Annotated[bool, Meta(description="Also documents of unwanted kinds: CVs, programmes, forms.")] = False
    permission: Annotated[
        Literal["", "granted", "asked", "refused", "open"],
        Meta(description="Only documents with this answer of their authors; open: nobody was asked."),
    ] = ""


class CatalogueListOptions(CatalogueOptions, frozen=True):
    """Which documents are listed, and how."""

    format: Form = None
    raw: Raw = False


class ChosenDocuments:
    """The documents that options choose, with the answers of their authors."""

    def __init__(self, collection: Collection, catalogue: Catalogue, options: CatalogueOptions) -> None:
        from lycosa.missions.documents.decisions import permissions

        self._catalogue = catalogue
        self._options = options
        self.permissions = permissions(collection.path)

    def __iter__(self) -> Iterator[DocumentDescription]:
        options = self._options
        host = urls.host_pattern(options.host)
        for document in self._catalogue.documents(unwanted=options.all or bool(options.kind)):
            if (
                options.kind
                and not fnmatchcase(document.category, options.kind)
                and document.kind.value != options.kind
            ):
                continue
            if host and not fnmatchcase(urls.host_of(document.url), host):
                continue
            if options.permission and self.permissions.get(document.url, "open") != options.permission:
                continue
            yield document


@contextmanager
def chosen(collection: Collection, options: CatalogueOptions) -> Iterator[ChosenDocuments]:
    """The documents of a collection that options choose; prints a note where there are none at all."""
    from lycosa.missions.documents.catalogue import open_catalogue

    with open_catalogue(collection) as catalogue:
        if not catalogue.count(unwanted=True):
            print(
                "lycosa: the collection has no documents (lycosa crawl documents … gathers them, and"
                " lycosa extract --quarry documents reads those that other missions kept)",
                file=sys.stderr,
            )
        yield ChosenDocuments(collection, catalogue, options)


@export_kind(
    "documents",
    "a row per document: title, authors, affiliations, e-mails, language, category, rights, evidence",
    options=CatalogueListOptions,
    heading=_HEADING,
)
def write_documents(collection: Collection, target: str, options: CatalogueListOptions) -> Written:
    from lycosa.missions.documents.export.rows import row_of, write_rows

    with chosen(collection, options) as documents, opened(target, options.format) as (out, form):
        rows = (row_of(each, permission=documents.permissions.get(each.url, "")) for each in documents)
        count = write_rows(rows, out, form=form, raw=options.raw)
    return Written(counted(count, "document"))


@export_kind(
    "dublin-core", "Dublin Core records in one XML file", options=CatalogueOptions, endings=("xml",), heading=_HEADING
)
def write_dublin_core(collection: Collection, target: str, options: CatalogueOptions) -> Written:
    from lycosa.missions.documents.export import dublin_core

    with chosen(collection, options) as documents:
        count = write_parts(target, dublin_core.write_all(iter(documents))) - 2
    return Written(counted(count, "record"))


@export_kind(
    "dspace",
    "a folder in DSpace's Simple Archive Format, files included",
    options=CatalogueOptions,
    folder=True,
    pipe=False,
    heading=_HEADING,
)
def write_dspace(collection: Collection, target: str, options: CatalogueOptions) -> Written:
    from lycosa.missions.documents.export.dublin_core import list_packages

    lost: list[str] = []
    with chosen(collection, options) as documents:
        files = list_packages(collection, documents, lost)
        count = write_folder(Path(target), files, kind="dspace") // 3
    lack = f"; the bytes of {counted(len(lost), 'document')} cannot be read: {lost[0]}" if lost else ""
    return Written(f"{counted(count, 'item')}{lack}", partial=bool(lost))


@export_kind("bibtex", "BibTeX entries", options=CatalogueOptions, endings=("bib",), heading=_HEADING)
def write_bibtex(collection: Collection, target: str, options: CatalogueOptions) -> Written:
    from lycosa.missions.documents.export.citations import list_bibtex

    with chosen(collection, options) as documents:
        return Written(counted(write_parts(target, list_bibtex(documents)), "entry"))


@export_kind("ris", "RIS records", options=CatalogueOptions, endings=("ris",), heading=_HEADING)
def write_ris(collection: Collection, target: str, options: CatalogueOptions) -> Written:
    from lycosa.missions.documents.export.citations import list_ris

    with chosen(collection, options) as documents:
        return Written(counted(write_parts(target, list_ris(documents)), "record"))


@export_kind(
    "document-graph",
    "pages, documents, authors and affiliations as GraphML",
    options=NoOptions,
    endings=("graphml",),
    heading=_HEADING,
)
def write_document_graph(collection: Collection, target: str, options: NoOptions) -> Written:
    from lycosa.graph.files import write_graphml
    from lycosa.missions.documents.graph import open_graph

    with open_graph(collection) as graph, opened(target, "jsonl") as (out, _):
        write_graphml(graph, out)
    return Written("the graph of documents, authors and affiliations")


@export_kind(
    "neo4j",
    "the same as a folder of CSV files for Neo4j's import",
    options=NoOptions,
    folder=True,
    pipe=False,
    heading=_HEADING,
)
def write_neo4j(collection: Collection, target: str, options: NoOptions) -> Written:
    from lycosa.graph.files import list_neo4j
    from lycosa.missions.documents.graph import open_graph

    with open_graph(collection) as graph:
        count = write_folder(Path(target), list_neo4j(graph, name="documents"), kind="neo4j")
    return Written(f"{counted(count, 'file')}; import.sh has the command")


@export_kind(
    "rdf",
    "documents, authors and affiliations as RDF in Turtle",
    options=CatalogueOptions,
    endings=("ttl",),
    heading=_HEADING,
)
def write_rdf(collection: Collection, target: str, options: CatalogueOptions) -> Written:
    from lycosa.missions.documents.export.turtle import write_turtle

    with chosen(collection, options) as documents:
        write_parts(target, write_turtle(documents))
    return Written("documents, authors and affiliations")
