"""Export writers: the functions that write the documents of a collection in each kind of `lycosa export`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.export.definition import NoOptions, Written
from lycosa.missions.documents.catalogue import Catalogue, open_catalogue
from lycosa.missions.documents.decisions import permissions
from lycosa.missions.documents.export.kinds import CatalogueListOptions, CatalogueOptions
from lycosa.missions.documents.export.rows import row_of, write_rows
from lycosa.missions.documents.graph import open_graph
from lycosa.missions.documents.model import DocumentDescription
from lycosa.output.destination import opened, write_parts
from lycosa.output.export_folder import write_folder
from lycosa.output.wording import counted


class ChosenDocuments:
    """The documents that options choose, with the answers of their authors."""

    def __init__(self, collection: Collection, catalogue: Catalogue, options: CatalogueOptions) -> None:
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
    with open_catalogue(collection) as catalogue:
        if not catalogue.count(unwanted=True):
            print(
                "lycosa: the collection has no documents (lycosa crawl documents … gathers them, and"
                " lycosa extract --quarry documents reads those that other missions kept)",
                file=sys.stderr,
            )
        yield ChosenDocuments(collection, catalogue, options)


def write_documents(collection: Collection, target: str, options: CatalogueListOptions) -> Written:
    with chosen(collection, options) as documents, opened(target, options.format) as (out, form):
        rows = (row_of(each, permission=documents.permissions.get(each.url, "")) for each in documents)
        count = write_rows(rows, out, form=form, raw=options.raw)
    return Written(counted(count, "document"))


def write_dublin_core(collection: Collection, target: str, options: CatalogueOptions) -> Written:
    from lycosa.missions.documents.export import dublin_core

    with chosen(collection, options) as documents:
        count = write_parts(target, dublin_core.write_all(iter(documents))) - 2
    return Written(counted(count, "record"))


def write_dspace(collection: Collection, target: str, options: CatalogueOptions) -> Written:
    from lycosa.missions.documents.export import dspace

    lost: list[str] = []
    with chosen(collection, options) as documents:
        files = dspace.list_files(collection, documents, lost)
        count = write_folder(Path(target), files, kind="dspace") // 3
    lack = f"; the bytes of {counted(len(lost), 'document')} cannot be read: {lost[0]}" if lost else ""
    return Written(f"{counted(count, 'item')}{lack}", partial=bool(lost))


def write_bibtex(collection: Collection, target: str, options: CatalogueOptions) -> Written:
    from lycosa.missions.documents.export.citations import list_bibtex

    with chosen(collection, options) as documents:
        return Written(counted(write_parts(target, list_bibtex(documents)), "entry"))


def write_ris(collection: Collection, target: str, options: CatalogueOptions) -> Written:
    from lycosa.missions.documents.export.citations import list_ris

    with chosen(collection, options) as documents:
        return Written(counted(write_parts(target, list_ris(documents)), "record"))


def write_document_graph(collection: Collection, target: str, options: NoOptions) -> Written:
    from lycosa.graph.files import write_graphml

    with open_graph(collection) as graph, opened(target, "jsonl") as (out, _):
        write_graphml(graph, out)
    return Written("the graph of documents, authors and affiliations")


def write_neo4j(collection: Collection, target: str, options: NoOptions) -> Written:
    from lycosa.graph.files import list_neo4j

    with open_graph(collection) as graph:
        count = write_folder(Path(target), list_neo4j(graph, name="documents"), kind="neo4j")
    return Written(f"{counted(count, 'file')}; import.sh has the command")


def write_rdf(collection: Collection, target: str, options: CatalogueOptions) -> Written:
    from lycosa.missions.documents.export.turtle import write_turtle

    with chosen(collection, options) as documents:
        write_parts(target, write_turtle(documents))
    return Written("documents, authors and affiliations")
