"""Export kinds: the kinds of `lycosa export` that write documents, their authors and the graph of both."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lycosa.export.definition import Export, Form, Host, Kind, Raw

_HEADING = "Of the documents (see lycosa documents):"
_WRITERS = "lycosa.missions.documents.export.writers"


class DocumentOptions(Struct, frozen=True):
    """Which documents are taken."""

    kind: Kind = ""
    host: Host = ""
    all: Annotated[bool, Meta(description="Also documents of unwanted kinds: CVs, programmes, forms.")] = False
    permission: Annotated[
        Literal["", "granted", "asked", "refused", "open"],
        Meta(description="Only documents with this answer of their authors; open: nobody was asked."),
    ] = ""


class DocumentListOptions(DocumentOptions, frozen=True):
    """Which documents are listed, and how."""

    format: Form = None
    raw: Raw = False


EXPORTS = (
    Export(
        name="documents",
        summary="a row per document: title, authors, affiliations, e-mails, language, category, rights, evidence",
        writer=f"{_WRITERS}:write_documents",
        options=DocumentListOptions,
        heading=_HEADING,
    ),
)
