"""The kinds of export that make corpora, with their options; their writers are named, as it takes time to load them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lycosa.export.definition import Export, Host, Kind, Select
from lycosa.model import Use

CorpusForm = Literal["jsonl", "parquet", "markdown", "text"]


class CorpusOptions(Struct, frozen=True):
    """Which texts become a corpus, and how it is written."""

    format: Annotated[
        CorpusForm | None,
        Meta(description="Of a corpus, default: the file's suffix, else jsonl; markdown and text are files."),
    ] = None
    host: Host = ""
    language: Annotated[str, Meta(description="Only texts in these: es,en.", extra={"metavar": "CODES"})] = ""
    kind: Kind = ""  # of page
    select: Select = ""  # of a record of the page
    least_words: Annotated[
        int | None, Meta(description="Leave out texts of fewer words (default: 50).", extra={"metavar": "N"})
    ] = None
    quality: Annotated[
        Literal["none", "mild", "strict"] | None,
        Meta(description="Leave out texts that repeat themselves, are mostly boilerplate, lists or symbols."),
    ] = None
    bounds: Annotated[
        str,
        Meta(
            description="Bounds of quality of your own, over those of --quality.",
            extra={"metavar": "FILE", "is_path": True},
        ),
    ] = ""
    mask: Annotated[
        str,
        Meta(description="Mask personal data: emails,ibans,ips,phones, or all.", extra={"metavar": "KINDS"}),
    ] = ""
    split: Annotated[
        Literal["none", "site", "date"] | None, Meta(description="A file for each site, or for each month.")
    ] = None
    portions: Annotated[
        str,
        Meta(
            description="Shares of train, valid and test, which have no site in common: 90,5,5.",
            extra={"metavar": "N,N,N"},
        ),
    ] = ""
    use: Annotated[
        Use | None,
        Meta(description="Leave out what sites forbid this use of, with a ledger of the signals; default: fetch.uses."),
    ] = None
    previous: Annotated[
        str,
        Meta(
            description="Ledger of an earlier corpus: also list which of its texts must go now.",
            extra={"metavar": "FILE", "is_path": True},
        ),
    ] = ""
    keep_duplicates: Annotated[bool, Meta(description="Keep texts that others repeat, or nearly.")] = False


class LabelledOptions(Struct, frozen=True):
    """Which pages are written with the values of their records."""

    host: Host = ""
    kind: Kind = ""
    most: Annotated[int | None, Meta(description="At most so many pages of a host.", extra={"metavar": "N"})] = None


CORPUS = Export(
    name="corpus",
    summary="the clean text of the pages with its metadata, each text once",
    writer="lycosa.missions.records.corpus.export:write_corpus",
    options=CorpusOptions,
    endings=("jsonl", "parquet"),
    folder=True,
)
LABELLED_PAGES = Export(
    name="labelled-pages",
    summary="pages with the values of their records and their places, for training extractors",
    writer="lycosa.missions.records.corpus.labelled_pages:write_labelled_pages",
    options=LabelledOptions,
    folder=True,
    pipe=False,
)
