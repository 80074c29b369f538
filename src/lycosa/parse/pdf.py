"""PDF documents: the text of their pages, each read when it is first asked for.

PDFium is native code that hostile files have brought down: only processes that may be killed use this module.
What is wrong with a file stands in `problem`; nothing here raises on content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: What is read of one document: a book of a thousand pages has about two million characters.
PAGES_MAX = 2000
CHARS_MAX = 10_000_000


class Pdf:
    """One document; only the pages that are asked for are read, however long it is."""

    def __init__(self, body: bytes) -> None:
        import pypdfium2

        self.problem = ""
        self.count = 0
        self.info: dict[str, str] = {}  # Title, Author, Subject, Keywords… as the file gives them
        self._error = pypdfium2.PdfiumError
        self._pages: dict[int, str] = {}
        try:
            self._document: Any = pypdfium2.PdfDocument(body)
            self.count = len(self._document)
            self.info = self._document.get_metadata_dict(skip_empty=True)
        except (self._error, ValueError, OSError) as error:
            self.problem = f"pdf: {error}"

    def page(self, nth: int) -> str:
        """The text of a page, counted from 0; empty where there is none, or none that can be read."""
        if nth not in self._pages:
            self._pages[nth] = self._read(nth) if 0 <= nth < self.count else ""
        return self._pages[nth]

    def __iter__(self) -> Iterator[str]:
        """The text of each page, as many as are read of one document."""
        left = CHARS_MAX
        for nth in range(min(self.count, PAGES_MAX)):
            text = self.page(nth)[:left]
            yield text
            left -= len(text)
            if left <= 0:
                self.problem = self.problem or f"pdf: only the first {CHARS_MAX} characters were read"
                return
        if self.count > PAGES_MAX:
            self.problem = self.problem or f"pdf: only the first {PAGES_MAX} of {self.count} pages were read"

    def _read(self, nth: int) -> str:
        try:
            page = self._document[nth]
            text_page = page.get_textpage()
            text: str = text_page.get_text_bounded()
            text_page.close()
            page.close()
        except (self._error, ValueError, OSError) as error:
            self.problem = self.problem or f"pdf: page {nth + 1}: {error}"
            return ""
        return text.replace("\r\n", "\n").replace("\0", "")
