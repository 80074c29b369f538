"""Archive reader: the records of WARC and ARC files, gzipped or plain, of this or any other tool.

Files may be broken or hostile: every record carries its `problem`, bodies held in memory are cut at a limit, which is a
problem, and what cannot be read at all comes as an item of kind "unreadable". Bodies come without transfer coding,
still content-encoded; `opened_record` gives one of any size in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from itertools import chain
from os import PathLike
from os.path import basename

from msgspec import Struct

from lycosa.archive.record_stream import RecordStream
from lycosa.archive.segment_store import open_segment

LIMIT = 128 << 20  # bytes of a record held in memory, where the caller names no other bound
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
    is_cut: bool = False  # the reader's limit left out the end of its body: `opened_record` gives all of it


def read_record(path: str | PathLike[str], offset: int, *, length: int = 0, limit: int = LIMIT) -> StoredAnswer:
    """Read the record that begins at an offset; `length`, where known, saves reads; a body is cut at `limit` bytes."""
    try:
        with open_segment(path) as file:
            file.seek(offset)
            stream = RecordStream(file, chunk=min(length, _MAX_CHUNK))
            record = _read_next(stream, limit=limit)
            if record is None:
                return StoredAnswer("unreadable", offset=offset, problem=stream.broken or "no record begins there")
            record.length = length
            return record
    except (OSError, ValueError) as error:
        return StoredAnswer("unreadable", offset=offset, problem=_describe(path, error))


def _describe(path: str | PathLike[str], error: OSError | ValueError) -> str:
    """Why an archive file cannot be read, for people."""
    return f"{basename(path)} cannot be read: {getattr(error, 'strerror', None) or error}"


@contextmanager
def opened_record(
    path: str | PathLike[str], offset: int, *, length: int = 0
) -> Iterator[tuple[StoredAnswer, Iterator[bytes]]]:
    """Open the record that begins at an offset: it without its body, and the body in pieces, however long it is.

    What is wrong with the record is known when the last piece was read.
    """
    with ExitStack() as closing:
        try:
            file = closing.enter_context(open_segment(path))
            file.seek(offset)
        except (OSError, ValueError) as error:
            yield StoredAnswer("unreadable", offset=offset, problem=_describe(path, error)), iter(())
            return
        stream = RecordStream(file, chunk=min(length, _MAX_CHUNK))
        begun = _begin_record(stream)
        if begun is None:
            problem = stream.broken or "no record begins there"
            yield StoredAnswer("unreadable", offset=offset, problem=problem), iter(())
            return
        record, size = begun
        record.length = length
        pieces = stream.pieces(size)
        start = bytearray()
        for piece in pieces:
            start += piece
            seen = max(0, len(start) - len(piece) - 2)  # a blank line may lie across two pieces
            if start.find(b"\n\r\n", seen) >= 0 or start.find(b"\n\n", seen) >= 0 or len(start) >= _MAX_HEAD:
                break
        rest = chain((_take_head(record, bytes(start)),), pieces)
        yield record, _body_pieces(record, stream, rest, size=size)


def iter_records(path: str | PathLike[str], *, limit: int = LIMIT, start: int = 0) -> Iterator[StoredAnswer]:
    """Give every record of a file in its order, from an offset on; a body is cut at `limit` bytes."""
    try:
        file = open_segment(path)
    except (OSError, ValueError) as error:
        yield StoredAnswer("unreadable", problem=f"cannot be opened: {error}")
        return
    with file:
        # A name tells more than the first bytes, which may be damaged; but some are named so and are not gzipped.
        plain = not str(path).endswith(".gz") or (file.read(9) or b"").startswith((b"WARC/", b"filedesc:"))
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
    begun = _begin_record(stream)
    if begun is None:
        return None
    record, size = begun
    block, there = stream.read(size, keep=limit)
    _note_break(record, stream, there, size)
    if size <= there > limit:
        record.problem, record.is_cut = f"only the first {limit} of {size} bytes were read", True
    record.body_raw = _take_head(record, block)
    if _is_chunked(record):
        record.body_raw = _join_chunks(record.body_raw)
    return record


def _begin_record(stream: RecordStream) -> tuple[StoredAnswer, int] | None:
    """The next record up to its block, and the size of that; or what stands in the place of a record."""
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
        problem = f"{passed} bytes at {offset} belong to no record"
        return StoredAnswer("unreadable", offset=offset, problem=problem), 0
    record.offset = offset
    return record, size


def _note_break(record: StoredAnswer, stream: RecordStream, there: int, size: int) -> None:
    if there < size:
        record.problem, record.is_whole = f"the record breaks off after {there} of {size} bytes", False
        if stream.broken:
            record.problem += f": {stream.broken}"


def _body_pieces(record: StoredAnswer, stream: RecordStream, pieces: Iterator[bytes], *, size: int) -> Iterator[bytes]:
    """The body of a record whose head was read; the block has `size` bytes."""
    there = len(record.head)
    chunked = BytesIO() if _is_chunked(record) else None  # as other tools write it: held in memory, within the limit
    for piece in pieces:
        there += len(piece)
        if chunked is None:
            yield piece
        elif there <= LIMIT:
            chunked.write(piece)
        else:
            record.problem, record.is_cut = f"only the first {chunked.tell()} of {size} bytes were read", True
    _note_break(record, stream, there, size)
    if chunked is not None:
        yield _join_chunks(chunked.getvalue())


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


def _take_head(record: StoredAnswer, block: bytes) -> bytes:
    """Read the head of an HTTP message, and give what follows it; any other block is all body."""
    is_http = record.kind in _HTTP_KINDS and record.url.lower().startswith(("http:", "https:"))
    if not is_http or (record.kind != "request" and not block.startswith(b"HTTP/")):
        return block
    end = _head_end(block)
    record.head = block[:end]
    record.headers = read_headers(record.head)
    status = _STATUS.match(record.head)
    record.status = int(status[1]) if status else 0
    if record.mime == "application/http":
        record.mime = _essence(record.headers.get("content-type", ""))
    return block[end:]


def _is_chunked(record: StoredAnswer) -> bool:
    return bool(record.head) and "chunked" in record.headers.get("transfer-encoding", "").lower()


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
