"""Export kinds: the kinds of `lycosa export` that write documents, their authors and the graph of both."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lycosa.export.definition import Export, Form, Host, Kind, Raw

_HEADING = "Of the documents (see lycosa documents):"
_WRITERS = "lycosa.missions.documents.export.writers"


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


EXPORTS = (
    Export(
        name="documents",
        summary="a row per document: title, authors, affiliations, e-mails, language, category, rights, evidence",
        writer=f"{_WRITERS}:write_documents",
        options=CatalogueListOptions,
        heading=_HEADING,
    ),
    Export(
        name="dublin-core",
        summary="Dublin Core records in one XML file",
        writer=f"{_WRITERS}:write_dublin_core",
        options=CatalogueOptions,
        endings=("xml",),
        heading=_HEADING,
    ),
    Export(
        name="dspace",
        summary="a folder in DSpace's Simple Archive Format, files included",
        writer=f"{_WRITERS}:write_dspace",
        options=CatalogueOptions,
        folder=True,
        pipe=False,
        heading=_HEADING,
    ),
    Export(
        name="bibtex",
        summary="BibTeX entries",
        writer=f"{_WRITERS}:write_bibtex",
        options=CatalogueOptions,
        endings=("bib",),
        heading=_HEADING,
    ),
    Export(
        name="ris",
        summary="RIS records",
        writer=f"{_WRITERS}:write_ris",
        options=CatalogueOptions,
        endings=("ris",),
        heading=_HEADING,
    ),
    Export(
        name="document-graph",
        summary="pages, documents, authors and affiliations as GraphML",
        writer=f"{_WRITERS}:write_document_graph",
        endings=("graphml",),
        heading=_HEADING,
    ),
    Export(
        name="neo4j",
        summary="the same as a folder of CSV files for Neo4j's import",
        writer=f"{_WRITERS}:write_neo4j",
        folder=True,
        pipe=False,
        heading=_HEADING,
    ),
    Export(
        name="rdf",
        summary="documents, authors and affiliations as RDF in Turtle",
        writer=f"{_WRITERS}:write_rdf",
        options=CatalogueOptions,
        endings=("ttl",),
        heading=_HEADING,
    ),
)
