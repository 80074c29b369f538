"""Settings of the documents mission: the table [documents] of a mission file."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Share = Annotated[float, Meta(ge=0, le=1)]


class DocumentSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How what is known of a document is put together. A change counts at once, without the network."""

    unwanted: tuple[str, ...] = ("cv", "programme", "form")
    """kinds of documents that are listed and exported only when they are asked for"""
    passes: tuple[str, ...] = ("pages", "documents")
    """what counts beside the document itself: the pages that lead to it, and the other documents of the site"""
    depth: Annotated[int, Meta(ge=0, le=10)] = 3
    """how many links above a document its pages may be"""
    oai: bool = False
    """also ask repositories that answer by OAI-PMH for all their records, which are weighed with what pages say"""
    decay: Share = 0.8
    """how much of its confidence a value keeps with each link between its page and the document"""
    head_chars: Annotated[int, Meta(ge=100, le=50_000)] = 6000
    """characters at the beginning of a document in which names from elsewhere are looked for"""
    min_confidence: Share = 0.4
    """values below it are left out"""
    author_match: Share = 0.7
    """similarity by which a name from elsewhere is found in a document (Smith-Waterman)"""
    affiliation_match: Share = 0.65
    """similarity by which an affiliation from elsewhere is found in a document (Damerau-Levenshtein)"""
    author_duplicates: Share = 0.55
    """similarity from which two spellings are one author"""
    affiliation_duplicates: Share = 0.6
    """similarity from which two spellings are one affiliation"""
    author_stop_words: tuple[str, ...] = ()
    """words that no author's name has, beside those that lycosa knows"""
    affiliation_stop_words: tuple[str, ...] = ()
    """words that no affiliation has"""
    labels: tuple[str, ...] = ()
    """categories by words, the first that fits: CATEGORY / SUBCATEGORY [CHARACTERS]: WORD…; [2000 header]: if signed"""
    label_places: Literal["document", "page", "both"] = "both"
    """where the words of labels are looked for: in the document's beginning, in the page that links to it"""
    letter: str = ""
    """the file with the letter for asking permission; empty: a letter in the language of the document"""
