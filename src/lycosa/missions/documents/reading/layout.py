"""Layout text: the lines of a document as they are printed, with their place, size and weight.

Every format is read into it; formats without a layout of their own have lines without boxes.
"""

from __future__ import annotations

from msgspec import Struct

from lycosa.missions.documents.model import Box


class Line(Struct, frozen=True):
    """A printed line; superscripts are set off in `text` by U+2060 WORD JOINER before each of them."""

    text: str
    page: int  # counted from 1
    box: Box | None = None
    size: float = 0.0  # of most of its letters, in points
    bold: bool = False
    italic: bool = False
    column: int = 0
    block: int = 0  # lines of one block stand close together


class Layout(Struct):
    """A document's text with its layout; what could not be read stands in `problem`."""

    format: str  # "pdf", "docx"…
    page_count: int = 0
    page_width: float = 0.0
    page_height: float = 0.0
    lines: list[Line] = []  # of the first three and the last two pages, in reading order
    text: str = ""  # of all pages, as far as the bounds allow
    metadata: dict[str, str] = {}  # embedded: title, author, subject, keywords, rights, creator…
    image_pages: int = 0  # pages read that show pictures and no text
    problem: str = ""

    @property
    def opening(self) -> int:
        """The first page with text of the document itself, counted from 1: a picture or another's cover may precede."""
        return min((line.page for line in self.lines), default=1)
