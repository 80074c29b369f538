"""PDFs are read in a process that may die: the next document gets another one."""

from __future__ import annotations

import os
import signal

from support.pdf import make_pdf

from lycosa.extract.pdf_process import PdfProcess


def test_text_and_links_come_back() -> None:
    """Of what can be read; what cannot has a problem."""
    process = PdfProcess()
    pdf = process(make_pdf("One line", "Another", links=("http://a.org/x",)))
    assert "One line" in pdf.page(0) and "Another" in pdf.page(0) and list(pdf.links()) == ["http://a.org/x"]
    assert (pdf.count, pdf.problem, pdf.page(7)) == (1, "", "")
    broken = process(b"%PDF-1.4 nothing")
    assert broken.problem.startswith("pdf: ") and list(broken) == list(broken.links()) == []
    process.close()


def test_a_process_that_dies_is_replaced() -> None:
    """The document at which it died has no text; after many deaths no more is tried."""
    process = PdfProcess()
    process(make_pdf("x"))
    assert process.apart.process is not None
    os.kill(process.apart.process.pid, signal.SIGKILL)
    process.apart.process.wait()
    assert process(make_pdf("x")).problem and process.deaths == 1
    assert "x" in process(make_pdf("x")).page(0)
    process.deaths = 30
    assert process(make_pdf("x")).problem == "pdf: not read while crawling"
    process.close()
