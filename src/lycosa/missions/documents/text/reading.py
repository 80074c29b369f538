"""The door for every format: bytes in, layout out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from lycosa.missions.documents.text.layout import Layout


class LayoutReader(Protocol):
    """Reads one format; what is wrong with the file stands in the layout's `problem`, nothing is raised on content."""

    def __call__(self, body: bytes, /, *, whole: bool = False) -> Layout: ...


def _pdf(body: bytes, /, *, whole: bool = False) -> Layout:
    from lycosa.missions.documents.text.pdf import read_pdf  # PDFium is loaded where it is used

    return read_pdf(body, whole=whole)


#: The reader of each format; a format without one is told, not guessed.
READERS: dict[str, LayoutReader | Callable[..., Layout]] = {"pdf": _pdf}


def read_layout(body: bytes, *, format: str = "pdf", whole: bool = False) -> Layout:
    """The layout of a document; `whole`: with the text of all its pages and not only of the first and last ones."""
    reader = READERS.get(format)
    if reader is None:
        return Layout(format=format, problem=f"{format}: no reader for this format")
    if not body:
        return Layout(format=format, problem=f"{format}: empty")
    return reader(body, whole=whole)
