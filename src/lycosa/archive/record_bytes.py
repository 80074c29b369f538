"""Bytes of archive records: their digests, the gzip members that they are packed into, and the heads of HTTP messages.

An answer has two digests: one by which its body is stored, one by which its content is recognised again.

Gzip members: packs each record into one, which is a file of its own to every reader. A crawl that stores all it fetches
writes much and compresses lightly; one that stores little of it (`dense`) can afford to make that little as small as it
gets.

HTTP header blocks for the archive: one as the network sent it in, one that every WARC reader accepts out. The client
hands bodies over after transfer decoding, so the block must stop promising chunks, and its length must be that of the
stored body. A renamed field keeps its value under an `X-Crawler-` name; nothing is silently dropped.
"""

from __future__ import annotations

import errno
import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from io import FileIO

from isal import igzip_lib, isal_zlib

from lycosa.model import Answer

_MARK = bytes(3)
_GZIP_MARK = b"\x1f\x8b\x08"
_FIXED = 10  # bytes of a gzip header before its optional fields (RFC 1952)
_EXTRA, _FILE_NAME, _COMMENT, _CHECK = 4, 8, 16, 2


def digest_of(answer: Answer, *, head: bytes = b"") -> bytes:
    """SHA-1 of the body as it was received: the payload digest of its archive record; with a `head`, that of both."""
    digest = hashlib.sha1(head, usedforsecurity=False)
    if not answer.spool:
        digest.update(answer.body)
        return digest.digest()
    with open(answer.spool, "rb") as spool:
        return hashlib.file_digest(spool, lambda: digest).digest()


def identity_of(answer: Answer) -> bytes:
    """SHA-1 of what makes the content: the same as `digest_of` but for servers that stamp what they compress.

    Some write the time into the header of gzip, or a name of random length against eavesdroppers: then no two answers
    are alike, whatever they hold. The digest of their core is marked, as it is not that of a body.
    """
    if not is_stamped(answer):
        return digest_of(answer)
    core = memoryview(answer.body)[_end_of_header(answer.body) :]
    return _MARK + hashlib.sha1(core, usedforsecurity=False).digest()[len(_MARK) :]


def is_core(digest: bytes) -> bool:
    """Whether this identity is that of a compressed body without its header; one digest in 2^24 only looks like one."""
    return digest.startswith(_MARK)


def is_stamped(answer: Answer) -> bool:
    """Whether the body was compressed in transit, with a time, a name or a comment in its header."""
    head = answer.body[:_FIXED]
    if head[:3] != _GZIP_MARK or "content-encoding" not in answer.headers or len(head) < _FIXED:
        return False
    return head[4:8] != b"\0\0\0\0" or bool(head[3] & (_FILE_NAME | _COMMENT))


def _end_of_header(body: bytes) -> int:
    flags, end = body[3], _FIXED
    if flags & _EXTRA:
        end += 2 + int.from_bytes(body[end : end + 2], "little")
    for field in (_FILE_NAME, _COMMENT):
        if flags & field:
            end = body.find(b"\0", end) + 1 or len(body)
    return end + 2 if flags & _CHECK else end


_GZIP = igzip_lib.COMP_GZIP
_LIGHT = 0  # of igzip: 20 KB of HTML in 33 µs to 6.3 KB; level 1: 39 µs, 5.6 KB, but of 500 bytes four times as long
_FIRM = 1  # of igzip, for what is long: level 0 has one table of codes for all, with which many PDFs grow
_LONG = 1 << 18
_DENSE = 6  # of zlib: of 630 bytes of a request 410 are left, in 20 µs; of igzip's level 0 570, in 2 µs
_DENSE_MAX = 2 << 20  # bytes that zlib takes 40 ms for
_LARGE = 3  # of igzip: what is larger
_HEAD = 2  # of igzip, for the fields before a body that is compressed already: 20 µs, and a third less of them
_CHUNK = 1 << 20
_STORED_MAX = 65535  # RFC 1951: bytes of one stored block
_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_PACKED_CODINGS = ("gzip", "br", "zstd", "deflate", "x-gzip", "compress")
#: How files begin that deflate cannot make smaller: gzip, zip, PNG, JPEG, GIF, WebP, 7z, xz, zstd, WOFF2, Ogg, bzip2.
_PACKED_MAGIC = (
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"7z\xbc\xaf",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
    b"wOF2",
    b"OggS",
    b"BZh",
)


def is_packed(answer: Answer, start: bytes) -> bool:
    """Whether a body that begins so is compressed already, so that a second time costs time and saves nothing."""
    coding = answer.headers.get("content-encoding", "")
    return (bool(coding) and coding.lower().startswith(_PACKED_CODINGS)) or start.startswith(_PACKED_MAGIC)


def pack(record: bytes, *, dense: bool = False) -> bytes:
    """One gzip member of one record."""
    if dense and len(record) <= _DENSE_MAX:
        return zlib.compress(record, _DENSE, 31)
    level = _LIGHT if len(record) < _LONG else _FIRM
    if dense:
        level = _LARGE
    packed: bytes = igzip_lib.compress(record, level, _GZIP)
    return packed if len(packed) <= len(record) else b"".join(store((record,)))


def pack_chunks(chunks: Iterable[bytes], *, dense: bool = False) -> Iterator[bytes]:
    """One gzip member of a record in pieces."""
    packer = isal_zlib.compressobj(_LARGE if dense else _FIRM, isal_zlib.DEFLATED, 31)
    for chunk in chunks:
        yield packer.compress(chunk)
    yield packer.flush()


def store(chunks: Iterable[bytes], *, head: bytes = b"") -> Iterator[bytes]:
    """A gzip member of stored blocks (RFC 1951, 3.2.4), of which only a `head` before them is compressed."""
    yield _GZIP_HEAD
    crc, size = 0, 0
    if head:
        packer = isal_zlib.compressobj(_HEAD, isal_zlib.DEFLATED, -15)
        yield packer.compress(head) + packer.flush(isal_zlib.Z_SYNC_FLUSH)  # which ends at a whole byte
        crc, size = isal_zlib.crc32(head), len(head)
    for chunk in chunks:
        crc = isal_zlib.crc32(chunk, crc)
        size += len(chunk)
        for at in range(0, len(chunk), _STORED_MAX):
            block = chunk[at : at + _STORED_MAX]
            yield b"\0" + len(block).to_bytes(2, "little") + (len(block) ^ 0xFFFF).to_bytes(2, "little")
            yield block
    yield b"\1\0\0\xff\xff" + crc.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")


def chunks_of(start: bytes, spool: FileIO, size: int) -> Iterator[bytes]:
    """A record in pieces: its beginning, exactly `size` bytes of the file, its end."""
    yield start
    while size:
        chunk = spool.read(min(size, _CHUNK))
        if not chunk:
            raise OSError(errno.EIO, f"the spooled body {spool.name} is shorter than it was")
        size -= len(chunk)
        yield chunk
    yield b"\r\n\r\n"


#: fastwarc refuses header blocks above 32 KiB unless told otherwise; a little is left for what is added here.
MAX_HEAD = 30_000
#: Of an oversized block these fields are kept first: without them the body cannot be read or revisited.
_ESSENTIAL = frozenset(
    (b"content-type", b"content-encoding", b"content-length", b"last-modified", b"etag", b"date", b"location")
)
_ESSENTIAL_BYTES = 2048

_NAME = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # RFC 9110 token
_TEXT = rb"[^\0-\x08\n-\x1f\x7f]*"
_CLEAN = re.compile(rb"HTTP/1\.[01] \d\d\d(?: " + _TEXT + rb")?\r\n(?:" + _NAME + rb":" + _TEXT + rb"\r\n)*\r\n")
_STATUS_LINE = re.compile(rb"HTTP/(\d)(?:\.\d)? (\d\d\d)(?: (.*))?", re.DOTALL)
_LENGTH = re.compile(rb"\ncontent-length:[ \t]*(\d{1,15})[ \t]*\r\n")
_TOKEN = re.compile(_NAME)
_REASONS = {int(status): status.phrase.encode() for status in HTTPStatus}
#: Control characters, which would end a line or a string in some reader, become spaces; tabs and line feeds stay.
_NO_CONTROLS = bytes(32 if (b < 32 and b not in b"\t\n") or b == 127 else b for b in range(256))


def tidy(head: bytes, *, status: int, size: int | None) -> bytes:
    """Make a header block agree with a stored body of `size` bytes; None leaves Content-Length alone (revisits)."""
    if head[:7] in (b"HTTP/2 ", b"HTTP/3 ") and head[7:10].isdigit():
        code = head[7:10]
        head = b"HTTP/1.1 %b %b%b" % (code, _REASONS.get(int(code), b""), head[head.find(b"\r\n") :])
    if len(head) > MAX_HEAD or _CLEAN.fullmatch(head) is None:
        return _rebuild(head, status=status, size=size)
    lower = head.lower()
    lengths = 0 if size is None else lower.count(b"\ncontent-length:")
    if lengths:
        length = _LENGTH.search(lower)
        if lengths > 1 or length is None or int(length[1]) != size:
            return _rebuild(head, status=status, size=size)
    if b"\ntransfer-encoding:" in lower:
        return _rename_coding(head, lower)
    return head


def _rename_coding(head: bytes, lower: bytes) -> bytes:
    """Rename every Transfer-Encoding of a clean block: the most common repair, so it has its own short way."""
    at = lower.find(b"\ntransfer-encoding:") + 1
    parts: list[bytes] = []
    done = 0
    while at:
        parts += (head[done:at], b"X-Crawler-")
        done = at
        at = lower.find(b"\ntransfer-encoding:", at) + 1
    parts.append(head[done:])
    return b"".join(parts)


def _rebuild(head: bytes, *, status: int, size: int | None) -> bytes:
    """Write a block anew from whatever can be read of it."""
    text = head.replace(b"\r\n", b"\n").replace(b"\r", b" ")
    # An interim answer (100, a proxy's 200) may stand before the real one; the last one counts.
    blocks = [block for block in text.split(b"\n\n") if block.startswith(b"HTTP/")]
    lines = (blocks[-1] if blocks else text).translate(_NO_CONTROLS).strip(b"\n").split(b"\n")
    first = lines[0] if lines else b""
    parsed = _STATUS_LINE.fullmatch(first)
    fields: list[bytes] = []
    if parsed is None:
        opening = b"HTTP/1.1 %03d %b" % (status, _REASONS.get(status, b""))
        if _TOKEN.match(first) and b":" in first and not first.startswith(b"HTTP/"):
            lines.insert(0, b"")
        elif first:
            fields.append(b"X-Crawler-Status-Line: " + first)
    else:
        code, reason = parsed[2], parsed[3]
        reason = reason if reason else _REASONS.get(int(code), b"")
        version = first[:8] if parsed[1] == b"1" and first[5:8] in (b"1.0", b"1.1") else b"HTTP/1.1"
        opening = b"%b %b %b" % (version, code, reason)
    fields += _read_fields(lines[1:], size=size)
    fields = _fit(fields, room=MAX_HEAD - min(len(opening), 1024))
    return b"\r\n".join((opening[:1024], *fields, b"", b""))


def _read_fields(lines: list[bytes], *, size: int | None) -> list[bytes]:
    """Unfold the lines into fields, set malformed ones aside under a name of ours, and correct the length."""
    unfolded: list[bytearray] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and unfolded:
            unfolded[-1] += b" " + line.strip()
        elif line:
            unfolded.append(bytearray(line))
    fields: list[bytes] = []
    lengths: list[int] = []
    right = b"%d" % (size or 0)
    wrong = False
    for raw in unfolded:
        name, colon, value = bytes(raw).partition(b":")
        name = name.strip()
        value = value.strip()
        if not colon or _TOKEN.fullmatch(name) is None:
            fields.append(b"X-Crawler-Malformed: " + bytes(raw).strip())
            continue
        lower = name.lower()
        if lower == b"transfer-encoding":
            name = b"X-Crawler-" + name
        elif lower == b"content-length":
            wrong = wrong or bool(lengths) or value != right
            lengths.append(len(fields))
        fields.append(name + b": " + value)
    if wrong and size is not None:
        for index in lengths:
            fields[index] = b"X-Crawler-" + fields[index]
        fields.append(b"Content-Length: " + right)
    return fields


def _fit(fields: list[bytes], *, room: int) -> list[bytes]:
    """Keep the fields that fit into `room` bytes, those that the body needs first, and say how many were left out."""
    if sum(map(len, fields)) + 2 * len(fields) <= room:
        return fields
    first: dict[bytes, int] = {}
    for index, field in enumerate(fields):
        name = field[: field.find(b":")].lower()
        if name in _ESSENTIAL:
            first.setdefault(name, index)
    essential = set(first.values())
    room -= len(essential) * (_ESSENTIAL_BYTES + 2) + 64
    kept: list[bytes] = []
    for index, field in enumerate(fields):
        if index in essential:
            kept.append(field[:_ESSENTIAL_BYTES])
        elif len(field) + 2 <= room:
            kept.append(field)
            room -= len(field) + 2
    kept.append(b"X-Crawler-Dropped-Fields: %d" % (len(fields) - len(kept)))
    return kept
