"""Archive files of a few answers, written as a crawl writes them and read with other tools."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from lycosa.archive.writer import ArchiveWriter
from lycosa.model import Answer, Target

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # fastwarc 1.1 trips over its own on import
    import fastwarc

BODY = b"<html><title>Spiders</title>" + b"<p>A wolf spider hunts on foot.</p>" * 50
REQUEST = b"GET /a?b=1 HTTP/1.1\r\nHost: example.org\r\nUser-Agent: lycosa/0.1\r\n\r\n"
BEGAN = 1_700_000_000.25


def make_head(size: int | None, *lines: bytes) -> bytes:
    length = [] if size is None else [b"Content-Length: %d" % size]
    return b"\r\n".join((b"HTTP/1.1 200 OK", b"Content-Type: text/html", *length, *lines, b"", b""))


def make_answer(body: bytes = BODY, *, head: bytes | None = None, url: str = "http://example.org/a?b=1") -> Answer:
    return Answer(
        target=Target(row=1, url_hash=1, url=url, host="example.org"),
        status=200,
        head=make_head(len(body)) if head is None else head,
        body=body,
        size=len(body),
        request=REQUEST,
        address="192.0.2.7",
        began=BEGAN,
    )


def make_archive(folder: Path, *, max_bytes: int = 1 << 30, prefix: str = "test") -> ArchiveWriter:
    info = {"robots": "obey", "http-header-user-agent": "lycosa/0.1", "operator": "ana@example.org", "bad name": "x"}
    return ArchiveWriter(folder, prefix=prefix, max_bytes=max_bytes, software="lycosa/0.1", info=info)


def add(archive: ArchiveWriter, answer: Answer, **more: str) -> tuple[str, int, int]:
    body = Path(answer.spool).read_bytes() if answer.spool else answer.body
    return archive.add(answer, digest=hashlib.sha1(body).digest(), mime="text/html", **more)


def read_warcio(path: Path) -> list[tuple[str, str, bytes, dict[str, str]]]:
    """Type, URL, payload and WARC fields of each record, by warcio, which raises on a wrong digest."""
    found = []
    with open(path, "rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            fields = record.rec_headers
            payload = record.raw_stream.read()
            found.append((record.rec_type, fields.get_header("WARC-Target-URI") or "", payload, dict(fields.headers)))
    return found


def read_fastwarc(path: Path) -> list[tuple[str, bytes]]:
    found = []
    for record in fastwarc.ArchiveIterator(str(path), parse_http=False):
        assert record.verify_block_digest(), f"{record.record_type} has no block digest, or a wrong one"
    for record in fastwarc.ArchiveIterator(str(path)):
        if record.headers.get("WARC-Payload-Digest") and record.record_type != fastwarc.WarcRecordType.revisit:
            assert record.verify_payload_digest()
        found.append((str(record.record_type), record.reader.read()))
    return found
