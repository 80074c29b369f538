"""PDF documents: the text and the links of their pages, each read when it is first asked for.

PDFium is native code that hostile files have brought down: only processes that may be killed use this module.
What is wrong with a file stands in `problem`; nothing here raises on content.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from msgspec import Struct

#: What is read of one document: a book of a thousand pages has about two million characters.
PAGES_MAX = 2000
CHARS_MAX = 10_000_000
#: Links of one page that are looked at, and bytes of an address.
_LINKS_MAX = 2000
_ADDRESS_BYTES = 8192


#: Bytes in which the beginning of a PDF is looked for: PDFium looks through the first 1,024.
_LEAD_BYTES = 65536


def _without_lead(body: bytes) -> bytes:
    """A PDF without what a faulty program printed before it, from which its own places are not counted."""
    return body[max(0, body.find(b"%PDF-", 0, _LEAD_BYTES)) :]


class PdfContent(Struct):
    """The content of a document that another process read."""

    pages: list[str] = []
    links: list[str] = []
    info: dict[str, str] = {}
    problem: str = ""


class Pdf:
    """One document; only the pages that are asked for are read, however long it is."""

    def __init__(self, body: bytes) -> None:
        import pypdfium2

        self.problem = ""
        self.count = 0
        self.info: dict[str, str] = {}  # Title, Author, Subject, Keywords… as the file gives them
        self._errors = (pypdfium2.PdfiumError, ValueError, OSError, ctypes.ArgumentError)
        self._pages: dict[int, str] = {}
        try:
            self._document: Any = pypdfium2.PdfDocument(_without_lead(body))
            self.count = len(self._document)
        except self._errors as error:
            self.problem = "pdf: encrypted" if "assword" in str(error) else f"pdf: {error}"
            return
        with suppress(*self._errors):  # the text is worth reading without it
            self.info = self._document.get_metadata_dict(skip_empty=True)

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

    def links(self) -> Iterator[str]:
        """The addresses of the links on its pages, as they are written, as many pages as are read of one document."""
        for nth in range(min(self.count, PAGES_MAX)):
            yield from self._find_links(nth)

    def _find_links(self, nth: int) -> list[str]:
        """The addresses that the link annotations of a page have; links within the document have none."""
        import pypdfium2.raw as pdfium

        found: list[str] = []
        try:
            page = self._document[nth]
            place, link = ctypes.c_int(0), pdfium.FPDF_LINK()
            buffer = ctypes.create_string_buffer(_ADDRESS_BYTES)
            for _ in range(_LINKS_MAX):
                if not pdfium.FPDFLink_Enumerate(page.raw, ctypes.byref(place), ctypes.byref(link)):
                    break
                action = pdfium.FPDFLink_GetAction(link)
                size = pdfium.FPDFAction_GetURIPath(self._document.raw, action, buffer, _ADDRESS_BYTES) if action else 0
                if 1 < size <= _ADDRESS_BYTES:
                    found.append(buffer.raw[: size - 1].decode("utf-8", "replace"))
            page.close()
        except self._errors as error:
            self.problem = self.problem or f"pdf: page {nth + 1}: {error}"
        return found

    def _read(self, nth: int) -> str:
        try:
            page = self._document[nth]
            text_page = page.get_textpage()
            text: str = text_page.get_text_bounded()
            text_page.close()
            page.close()
        except self._errors as error:
            self.problem = self.problem or f"pdf: page {nth + 1}: {error}"
            return ""
        return text.replace("\r\n", "\n").replace("\0", "")


class ForeignPdf(Pdf):
    """A document that another process read: what it did not read is not there."""

    def __init__(self, content: PdfContent) -> None:
        self.problem, self.info, self.count = content.problem, content.info, len(content.pages)
        self._pages = dict(enumerate(content.pages))
        self._links = content.links

    def links(self) -> Iterator[str]:
        return iter(self._links)
