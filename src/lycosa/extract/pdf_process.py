"""PDF process: a process beside a crawl worker that reads PDFs, and may be killed.

PDFium is native code that hostile files have brought down. The worker sends the bytes of a document and waits a short
while for text and links. What takes too long, or brings the process down, costs that document its text and links, and
the next one gets a fresh process.
"""

from __future__ import annotations

import time

from lycosa.errors import LycosaError
from lycosa.parse.pdf import ForeignPdf, Pdf, PdfContent
from lycosa.process.apart import Apart
from lycosa.process.limits import Limits

#: What is read of one document: manuals have some hundred pages.
_MAX_PAGES = 300
_MAX_CHARS = 2_000_000
_MAX_LINKS = 5_000
_MAX_BYTES = 64 << 20
#: The process ends by itself what takes longer than this.
_SOFT_S = 1.5
_LIMITS = Limits(timeout_s=5.0, cpu_s=3.0, memory_bytes=1 << 30, nice=5)
_START_S = 10.0
#: Documents that brought the process down, or took too long, before a worker reads no more of them.
_MAX_DEATHS = 30


class PdfProcess:
    """The process as a worker sees it: called with the bytes of a PDF, it gives what was read of it."""

    def __init__(self) -> None:
        self.apart = Apart(read_content, _LIMITS, start_s=_START_S, load=("pypdfium2",), quiet=True)
        self.deaths = 0

    def __call__(self, body: bytes) -> Pdf:
        if len(body) > _MAX_BYTES or self.deaths >= _MAX_DEATHS:
            return ForeignPdf(PdfContent(problem="pdf: not read while crawling"))
        try:
            return ForeignPdf(self.apart.ask(body))
        except (OSError, LycosaError) as error:
            self.deaths += 1
            self.close()
            return ForeignPdf(PdfContent(problem=f"pdf: {error}"))

    def close(self) -> None:
        """End the process."""
        self.apart.close()


def read_content(body: bytes) -> PdfContent:
    """Links and text of a document, as much as there is time for; links first, as they are quick and exact."""
    until, left = time.monotonic() + _SOFT_S, _MAX_CHARS
    pdf = Pdf(body)
    content = PdfContent(info=pdf.info)
    for link in pdf.links():
        content.links.append(link)
        if len(content.links) >= _MAX_LINKS or time.monotonic() > until:
            break
    for nth in range(min(pdf.count, _MAX_PAGES)):
        if left <= 0 or time.monotonic() > until:
            break
        content.pages.append(pdf.page(nth)[:left])
        left -= len(content.pages[-1])
    content.problem = pdf.problem
    return content
