"""Archive reader: the records of WARC and ARC files, gzipped or plain, of this or any other tool.

Files may be broken or hostile: every record carries its `problem`, bodies are cut at a limit, and what cannot be read
at all comes as an item of kind "unreadable". Bodies come without transfer coding, still content-encoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import FileIO
from os import PathLike

from msgspec import Struct

from lycosa.archive.record_stream import RecordStream

LIMIT = 128 << 20
_MAX_CHUNK = 1 << 20
_MAX_HEAD = 1 << 20
_MAX_FIELDS = 64 * 1024
_ARC_LINE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*:\S.* \S+ \d{8,20} \S+ \S+\r?\n")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]{0,4096})?\r?\n")
_FOLD = re.compile(r"\r?\n[ \t]+")
_STATUS = re.compile(rb"HTTP/[0-9.]+[ \t]+(\d\d\d)")
_HTTP_KINDS = frozenset(("response", "request", "revisit"))


class StoredAnswer(Struct, gc=False):
    """One record of an archive file; for a response the answer it holds."""

    kind: str  # the WARC type (response, revisit, request, resource, warcinfo…), or "unreadable"
    url: str = ""
    date: str = ""  # ISO 8601, UTC
    status: int = 0
    headers: dict[str, str] = {}  # of HTTP: lower-case names; repeated fields joined with ", "; else the type alone
    head: bytes = b""  # status or request line and header fields, with the blank line
    body_raw: bytes = b""  # without transfer coding, still content-encoded; the whole block of a non-HTTP record
    mime: str = ""  # what the writer recognised, or else the record's own type
    digest: str = ""  # of the payload, as written: "sha1:…"
    truncated: str = ""
    address: str = ""
    profile: str = ""
    refers_to_url: str = ""
    refers_to_date: str = ""
    identified: str = ""  # the type that its writer recognised; lycosa writes it of pages, not of what they are made of
    offset: int = 0
    length: int = 0  # bytes in the file; 0 where unknown, or where the record shares its gzip member with another
    problem: str = ""  # what is wrong with the record; empty when nothing is
    is_whole: bool = True  # it does not break off, and says how long it is


def read_record(path: str | PathLike[str], offset: int, *, length: int = 0, limit: int = LIMIT) -> StoredAnswer:
    """Read the record that begins at an offset; `length`, where known, saves reads; a body is cut at `limit` bytes."""
    try:
        with FileIO(path) as file:
            file.seek(offset)
            stream = RecordStream(file, chunk=min(length, _MAX_CHUNK))
            record = _read_next(stream, limit=limit)
            if record is None:
                return StoredAnswer("unreadable", offset=offset, problem=stream.broken or "no record begins there")
            record.length = length
            return record
    except (OSError, ValueError) as error:
        return StoredAnswer("unreadable", offset=offset, problem=f"cannot be read: {error}")


def iter_records(path: str | PathLike[str], *, limit: int = LIMIT, start: int = 0) -> Iterator[StoredAnswer]:
    """Give every record of a file in its order, from an offset on; a body is cut at `limit` bytes."""
    try:
        file = FileIO(path)
    except (OSError, ValueError) as error:
        yield StoredAnswer("unreadable", problem=f"cannot be opened: {error}")
        return
    with file:
        # A name tells more than the first bytes, which may be damaged; but some are named so and are not gzipped.
        plain = not str(path).endswith(".gz") or file.read(9).startswith((b"WARC/", b"filedesc:"))
        file.seek(start)
        stream = RecordStream(file, gzipped=not plain)
        while True:
            alone = stream.skip_blank() and (stream.at_member_start() or not stream.gzipped)
            record = _read_next(stream, limit=limit)
            is_reported = record is not None and bool(stream.broken)  # the record's own problem says so already
            if record is not None:
                ended = not stream.skip_blank()
                if alone and (ended or stream.at_member_start() or not stream.gzipped):
                    record.length = stream.offset - record.offset
                yield record
            if stream.broken:
                if not is_reported:
                    yield StoredAnswer("unreadable", offset=stream.offset, problem=stream.broken)
                if not stream.recover():
                    return
            elif record is None:
                return


def _read_next(stream: RecordStream, *, limit: int) -> StoredAnswer | None:
    """The next record, or what stands in its place; None at the end and where the file is broken."""
    if not stream.skip_blank():
        return None
    offset = stream.offset
    line = stream.line()
    if line.startswith(b"WARC/"):
        record, size = _read_warc_fields(stream)
    elif _ARC_LINE.fullmatch(line):
        record, size = _read_arc_line(stream, line)
    else:
        passed = len(line) + stream.skip_until(b"WARC/")
        return StoredAnswer("unreadable", offset=offset, problem=f"{passed} bytes at {offset} belong to no record")
    record.offset = offset
    block, there = stream.read(size, keep=limit)
    if there < size:
        record.problem, record.is_whole = f"the record breaks off after {there} of {size} bytes", False
        if stream.broken:
            record.problem += f": {stream.broken}"
    elif there > limit:
        record.problem = f"only the first {limit} of {size} bytes were read"
    _read_block(record, block)
    return record


def _read_warc_fields(stream: RecordStream) -> tuple[StoredAnswer, int]:
    """The named fields behind the version line, and the size of the block that follows them."""
    fields: dict[str, str] = {}
    for line in _FOLD.sub(" ", stream.lines(_MAX_FIELDS).decode("utf-8", "replace")).split("\n"):
        name, _, value = line.partition(":")
        fields.setdefault(name.strip().lower(), value.strip())
    get = fields.get
    url = get("warc-target-uri", "")
    if url.startswith("<") and url.endswith(">"):  # as wget 1.19 writes them
        url = url[1:-1]
    record = StoredAnswer(
        kind=get("warc-type", "").lower(),
        url=url.replace(" ", "%20"),
        date=get("warc-date", ""),
        mime=get("warc-identified-payload-type", "") or _essence(get("content-type", "")),
        digest=get("warc-payload-digest", ""),
        truncated=get("warc-truncated", ""),
        address=get("warc-ip-address", ""),
        profile=get("warc-profile", ""),
        refers_to_url=get("warc-refers-to-target-uri", ""),
        refers_to_date=get("warc-refers-to-date", ""),
        identified=get("warc-identified-payload-type", ""),
        headers={"content-type": get("content-type", "")},
    )
    return record, _size(get("content-length", ""), record)


def _read_arc_line(stream: RecordStream, line: bytes) -> tuple[StoredAnswer, int]:
    """An ARC 1 record's line: URL (spaces and all), address, date, type, length; the first describes the file."""
    url, address, date, mime, length = line.decode("utf-8", "replace").strip().rsplit(" ", 4)
    date = date.ljust(14, "0")
    record = StoredAnswer(
        kind="response",
        url=url.replace(" ", "%20"),
        date=f"{date[:4]}-{date[4:6]}-{date[6:8]}T{date[8:10]}:{date[10:12]}:{date[12:14]}Z",
        mime=_essence(mime),
        address=address,
    )
    size = _size(length, record)
    if url.startswith("filedesc:"):
        record.kind, record.url = "warcinfo", ""
        if record.problem:
            stream.line()
            stream.line()
    return record, size


def _size(text: str, record: StoredAnswer) -> int:
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    record.problem, record.is_whole = f"its length is given as {text[:40]!r}", False
    return 0


def _essence(mime: str) -> str:
    return mime.partition(";")[0].strip().lower()


def _read_block(record: StoredAnswer, block: bytes) -> None:
    """Take an HTTP message apart; any other block is the body."""
    is_http = record.kind in _HTTP_KINDS and record.url.lower().startswith(("http:", "https:"))
    if not is_http or (record.kind != "request" and not block.startswith(b"HTTP/")):
        record.body_raw = block
        return
    end = _head_end(block)
    record.head = block[:end]
    record.body_raw = block[end:]
    record.headers = read_headers(record.head)
    status = _STATUS.match(record.head)
    record.status = int(status[1]) if status else 0
    if record.mime == "application/http":
        record.mime = _essence(record.headers.get("content-type", ""))
    if "chunked" in record.headers.get("transfer-encoding", "").lower():
        record.body_raw = _join_chunks(record.body_raw)


def _head_end(block: bytes) -> int:
    """Where the body begins; some tools end lines with a line feed alone."""
    end = block.find(b"\r\n\r\n", 0, _MAX_HEAD)
    last = end + 4 if end >= 0 else min(len(block), _MAX_HEAD)
    bare = block.find(b"\n\n", 0, last)
    return bare + 2 if bare >= 0 else last


def read_headers(head: bytes) -> dict[str, str]:
    """The fields of a header block by their lower-case names; repeated ones are joined with ", "."""
    found: dict[str, list[str]] = {}
    for line in _FOLD.sub(" ", _decode(head)).split("\n")[1:]:
        name, colon, value = line.partition(":")
        if colon and name:
            found.setdefault(name.strip().lower(), []).append(value.strip())
    return {name: values[0] if len(values) == 1 else ", ".join(values) for name, values in found.items()}


def _decode(head: bytes) -> str:
    try:
        return head.decode()
    except UnicodeDecodeError:
        return head.decode("latin-1")


def _join_chunks(body: bytes) -> bytes:
    """The body without its chunked coding; as it is where it only claims to be chunked."""
    parts: list[bytes] = []
    at = 0
    while line := _CHUNK_LINE.match(body, at):
        size = int(line[1], 16)
        if not size:
            return b"".join(parts)
        at = line.end()
        parts.append(body[at : at + size])
        at += size
        if body[at : at + 2] == b"\r\n":
            at += 2
        elif body[at : at + 1] == b"\n":
            at += 1
        else:
            break
    # Broken off inside the last chunk: what came is kept. Never in chunks: the body stays as it is.
    return b"".join(parts) if at >= len(body) else body
