"""The door for every format: bytes in, layout out."""

from __future__ import annotations

from typing import Protocol

from lycosa.missions.documents.reading.layout import Layout


class LayoutReader(Protocol):
    """Reads one format; what is wrong with the file stands in the layout's `problem`, nothing is raised on content."""

    def __call__(self, body: bytes, /) -> Layout: ...


def _pdf(body: bytes, /) -> Layout:
    from lycosa.missions.documents.reading.pdf import read_pdf  # PDFium is loaded where it is used

    layout = read_pdf(body)
    if layout.image_pages and not layout.lines:
        from lycosa.missions.documents.reading.ocr import recognise_text

        return recognise_text(body, layout)
    return layout


def _ps(body: bytes, /) -> Layout:
    from lycosa.missions.documents.reading.postscript import read_postscript

    return read_postscript(body)


def _office(format: str) -> LayoutReader:
    def read(body: bytes, /) -> Layout:
        from lycosa.missions.documents.reading.office import read_office

        return read_office(body, format=format)

    return read


#: The reader of each format; a format without one is told, not guessed.
READERS: dict[str, LayoutReader] = {
    "pdf": _pdf,
    "ps": _ps,
    **{name: _office(name) for name in ("doc", "docx", "ppt", "pps", "pptx", "odt", "odp", "rtf", "epub")},
}


def read_layout(body: bytes, *, format: str = "pdf") -> Layout:
    """The layout of a document, with the text of its first and last pages."""
    reader = READERS.get(format)
    if reader is None:
        return Layout(format=format, problem=f"{format}: no reader for this format")
    if not body:
        return Layout(format=format, problem=f"{format}: empty")
    return reader(body)
