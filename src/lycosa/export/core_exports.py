"""Exports that every collection has, as data; `core_writers` writes them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lycosa.export.definition import (
    Export,
    Form,
    GraphForm,
    Host,
    Kind,
    Mime,
    Raw,
    Round,
    State,
)

_WRITERS = "lycosa.export.core_writers"


class PageOptions(Struct, frozen=True):
    """Which pages are written."""

    host: Host = ""
    mime: Mime = ""
    round: Round = None


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


class ListOptions(Struct, frozen=True):
    """Which host is listed, and how."""

    format: Form = None
    host: Host = ""
    raw: Raw = False


class GraphOptions(Struct, frozen=True):
    """What the nodes of the graph are."""

    format: GraphForm = None
    by: Annotated[Literal["page", "host", "domain"], Meta(description="Nodes of the graph (default: page).")] = "page"
    host: Host = ""
    raw: Raw = False


class InlinkOptions(ListOptions, frozen=True):
    """Whose inlinks are listed, and how."""

    url: Annotated[str, Meta(description="Only the inlinks of this URL.", extra={"metavar": "URL"})] = ""


class RecordOptions(ListOptions, frozen=True):
    """Which records are listed, and how."""

    kind: Kind = ""


EXPORTS = (
    Export(
        name="mirror",
        summary="a folder in which each page is found by its URL's path",
        writer=f"{_WRITERS}:write_mirror",
        options=PageOptions,
        folder=True,
        pipe=False,
    ),
    Export(
        name="index",
        summary="a text file: one entry a page, with its links",
        writer=f"{_WRITERS}:write_index",
        options=PageOptions,
        endings=("txt",),
    ),
    Export(
        name="wacz",
        summary="the archive with its index, as replay tools open it",
        writer=f"{_WRITERS}:write_wacz",
        endings=("wacz",),
        pipe=False,
        remark=", which holds the whole archive",
    ),
    Export(
        name="urls",
        summary="every URL ever met, with its fate",
        writer=f"{_WRITERS}:write_urls",
        options=UrlListOptions,
    ),
    Export(name="pages", summary="what is stored", writer=f"{_WRITERS}:write_pages", options=PageListOptions),
    Export(name="links", summary="who links to whom", writer=f"{_WRITERS}:write_links", options=ListOptions),
    Export(
        name="graph",
        summary="the same as a graph of pages, hosts or domains, with weights",
        writer=f"{_WRITERS}:write_graph",
        options=GraphOptions,
    ),
    Export(
        name="inlinks",
        summary="who is linked from where, sorted by the target",
        writer=f"{_WRITERS}:write_inlinks",
        options=InlinkOptions,
    ),
    Export(name="records", summary="what was extracted", writer=f"{_WRITERS}:write_records", options=RecordOptions),
    Export(
        name="near-duplicates",
        summary="pages that say nearly the same, in clusters, the largest first",
        writer=f"{_WRITERS}:write_near_duplicates",
        options=ListOptions,
    ),
)
