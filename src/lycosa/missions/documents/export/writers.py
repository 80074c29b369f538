"""Export writers: the functions that write the documents of a collection in each kind of `lycosa export`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.export.definition import Written
from lycosa.missions.documents.catalogue import Catalogue, open_catalogue
from lycosa.missions.documents.decisions import permissions
from lycosa.missions.documents.export.kinds import DocumentListOptions, DocumentOptions
from lycosa.missions.documents.export.rows import row_of, write_rows
from lycosa.missions.documents.model import Description
from lycosa.output.destination import opened
from lycosa.output.wording import counted


class ChosenDocuments:
    """The documents that options choose, with the answers of their authors."""

    def __init__(self, collection: Collection, catalogue: Catalogue, options: DocumentOptions) -> None:
        self._catalogue = catalogue
        self._options = options
        self.permissions = permissions(collection.path)

    def __iter__(self) -> Iterator[Description]:
        options = self._options
        host = urls.host_pattern(options.host)
        for document in self._catalogue.documents(unwanted=options.all or bool(options.kind)):
            if options.kind and not fnmatchcase(document.category, options.kind) and document.kind.value != options.kind:
                continue
            if host and not fnmatchcase(urls.host_of(document.url), host):
                continue
            if options.permission and self.permissions.get(document.url, "open") != options.permission:
                continue
            yield document


@contextmanager
def chosen(collection: Collection, options: DocumentOptions) -> Iterator[ChosenDocuments]:
    """The documents of a collection that options choose; prints a note where there are none at all."""
    with open_catalogue(collection) as catalogue:
        if not catalogue.count(unwanted=True):
            print(
                "lycosa: the collection has no documents (lycosa crawl documents … gathers them, and"
                " lycosa extract --quarry documents reads those that other missions kept)",
                file=sys.stderr,
            )
        yield ChosenDocuments(collection, catalogue, options)


def write_documents(collection: Collection, target: str, options: DocumentListOptions) -> Written:
    with chosen(collection, options) as documents, opened(target, options.format) as (out, form):
        rows = (row_of(each, permission=documents.permissions.get(each.url, "")) for each in documents)
        count = write_rows(rows, out, form=form, raw=options.raw)
    return Written(counted(count, "document"))
