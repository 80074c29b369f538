"""Main program of the extract workers: the place of an archive record in, the quarry's records of that document out.

Started by `extract/pool.py` as a process of its own (`python -m lycosa.extract.extract_main`), which forks the workers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from lycosa.archive.reader import read_record
from lycosa.extract import fork_server
from lycosa.extract.messages import ExtractJob, Setup
from lycosa.extract.worker import Extract, Unreadable
from lycosa.fetch.decode import decode
from lycosa.model import Record
from lycosa.parse import Doc, read
from lycosa.parse.pdf import Pdf
from lycosa.quarry import Quarry


def make_extract(setup: Setup, quarry: Quarry) -> Extract:
    """The function that a worker runs for each job."""

    def extract(job: ExtractJob) -> Iterable[Record]:
        return quarry.extract(read_doc(job, setup))

    return extract


def read_doc(job: ExtractJob, setup: Setup) -> Doc:
    """The document as the crawl saw it, from the archive; as this process can be killed, PDFs have a text too."""
    stored = read_record(job.path, job.offset, length=job.length, limit=setup.body_bytes + (1 << 20))
    if stored.kind == "unreadable":
        raise Unreadable(stored.problem)
    if stored.kind not in ("response", "resource", "conversion"):  # which a browser made of a response
        raise Unreadable(f"a {stored.kind or 'nameless'} record holds no document")
    headers = stored.headers or {"content-type": stored.mime}
    limit = setup.html_bytes if "html" in headers.get("content-type", "html").lower() else setup.body_bytes
    body = decode(stored.body_raw, headers.get("content-encoding", ""), limit=limit).body
    return read(job.url or stored.url, headers, body, read_pdf=Pdf)


if __name__ == "__main__":
    fork_server.run(sys.argv[1:], make_extract, fork_server.load_named)
