"""PDF process: a process beside a crawl worker that reads PDFs, and may be killed.

PDFium is native code that hostile files have brought down. The worker sends the bytes of a document and waits a short
while for text and links: frames with their length before them go both ways. What takes too long, or brings the process
down, costs that document its text and links, and the next one gets a fresh process.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time

import msgspec

from lycosa.extract.limits import arm, confine, disarm
from lycosa.extract.messages import Setup
from lycosa.extract.pool import undisturbed
from lycosa.parse.pdf import ForeignPdf, Pdf, PdfContent
from lycosa.process import die_with_parent

#: What is read of one document: manuals have some hundred pages.
_MAX_PAGES = 300
_MAX_CHARS = 2_000_000
_MAX_LINKS = 5_000
_MAX_BYTES = 64 << 20
#: The process ends by itself what takes longer than this; the worker waits a little more.
_SOFT_S = 1.5
_LIMITS = Setup(quarry="", timeout_s=5.0, cpu_s=3.0, memory_bytes=1 << 30, nice=5)
_WAIT_S = 6.0
_START_S = 10.0
#: Documents that brought the process down, or took too long, before a worker reads no more of them.
_MAX_DEATHS = 30
_SIZE = 8


class PdfProcess:
    """The process as a worker sees it: called with the bytes of a PDF, it gives what was read of it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.deaths = 0

    def __call__(self, body: bytes) -> Pdf:
        if len(body) > _MAX_BYTES or self.deaths >= _MAX_DEATHS:
            return ForeignPdf(PdfContent(problem="pdf: not read while crawling"))
        try:
            process = self._process or self._start()
            answer = _exchange(process, body)
            return ForeignPdf(msgspec.json.decode(answer, type=PdfContent))
        except (OSError, EOFError, TimeoutError, msgspec.MsgspecError) as error:
            self.deaths += 1
            self.close()
            return ForeignPdf(PdfContent(problem=f"pdf: {str(error) or type(error).__name__}"))

    def _start(self) -> subprocess.Popen[bytes]:
        with undisturbed():
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(os.getpid())],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        assert self._process.stdout
        _receive(self._process.stdout.fileno(), _SIZE, until=time.monotonic() + _START_S)  # it is ready
        return self._process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def _exchange(process: subprocess.Popen[bytes], body: bytes) -> bytes:
    """Send a document and wait for the answer."""
    assert process.stdin and process.stdout
    process.stdin.write(len(body).to_bytes(_SIZE) + body)
    process.stdin.flush()
    until, pipe = time.monotonic() + _WAIT_S, process.stdout.fileno()
    return _receive(pipe, int.from_bytes(_receive(pipe, _SIZE, until=until)), until=until)


def _receive(pipe: int, size: int, *, until: float) -> bytes:
    """So many bytes from a pipe; raises where they do not come in time."""
    parts: list[bytes] = []
    while size:
        if not select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
            raise TimeoutError("it took too long")
        data = os.read(pipe, min(size, 1 << 18))
        if not data:
            raise EOFError("the process that read it ended")
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


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


def main() -> None:
    """The process: reads documents until the worker closes the pipe, or ends."""
    die_with_parent(int(sys.argv[1]))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import pypdfium2  # noqa: F401  before the first document, which it would cost half of its time

    confine(_LIMITS)
    out.write(b"\0" * _SIZE)
    out.flush()
    source = sys.stdin.buffer
    while len(head := source.read(_SIZE)) == _SIZE:
        body = source.read(int.from_bytes(head))
        arm(_LIMITS)
        answer = msgspec.json.encode(read_content(body))
        disarm()
        out.write(len(answer).to_bytes(_SIZE) + answer)
        out.flush()


if __name__ == "__main__":
    main()
