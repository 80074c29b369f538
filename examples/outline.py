"""A quarry: what each page says of itself, its headings in their order, and how long it is. See outline.toml."""

from __future__ import annotations

from collections.abc import Iterator

from lycosa.model import Record
from lycosa.parse import Doc
from lycosa.quarry import Quarry


class Outline(Quarry):
    """One record a page: title, language, headings, words; of a PDF, title, pages, words."""

    version = "1"  # another one, and every page is extracted anew

    def extract(self, doc: Doc) -> Iterator[Record]:
        words = len(doc.text.split())
        if doc.tree is not None:
            found = doc.tree.select("h1, h2, h3, h4, h5, h6")
            headings = [f"{heading.tag} {' '.join(heading.text.split())}" for heading in found]
            yield Record(
                "page", {"title": doc.title, "language": doc.language, "headings": headings[:200], "words": words}
            )
        elif doc.pdf is not None:
            yield Record("pdf", {"title": doc.pdf.info.get("Title", ""), "pages": doc.pdf.count, "words": words})
