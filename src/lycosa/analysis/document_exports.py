"""Exports of the documents of an analysed collection, as data; `document_writers` writes them.

The archive is among them, because it can be limited to such documents.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from lycosa.export.core_exports import PageOptions
from lycosa.export.definition import ANALYSED, Cluster, Export, GraphForm, Host, Raw, Select

_WRITERS = "lycosa.analysis.document_writers"


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
    plan: Annotated[str, Meta(description="With --corrected: the plan whose plugins put them right.")] = ""


class AddressOptions(DocumentOptions, frozen=True):
    """Whose addresses are listed."""

    missing: Annotated[bool, Meta(description="Addresses that documents need and that were not collected.")] = False


class DependencyOptions(DocumentOptions, frozen=True):
    """Whose dependencies are listed, and how."""

    format: GraphForm = None
    raw: Raw = False


EXPORTS = (
    Export(
        name="warc",
        summary="the archive, in a folder or in one file (name.warc.gz)",
        writer=f"{_WRITERS}:write_warc",
        options=WarcOptions,
        endings=("warc.gz",),
        folder=True,
    ),
    Export(
        name="folder",
        summary="the documents with an index of them, in a folder, .zip or .tar.gz",
        writer=f"{_WRITERS}:write_folder",
        options=FolderOptions,
        endings=("zip", "tar", "tar.gz", "tgz"),
        folder=True,
        pipe=False,
        heading=ANALYSED,
    ),
    Export(
        name="addresses",
        summary="where they are, or with --missing where what they need would be",
        writer=f"{_WRITERS}:write_addresses",
        options=AddressOptions,
        endings=("txt", "csv"),
        heading=ANALYSED,
    ),
    Export(
        name="dependencies",
        summary="which document needs which, by which kind of link",
        writer=f"{_WRITERS}:write_dependencies",
        options=DependencyOptions,
        heading=ANALYSED,
    ),
)
