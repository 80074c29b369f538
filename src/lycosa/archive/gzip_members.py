"""Gzip members: packs each record into one, which is a file of its own to every reader.

A crawl that stores all it fetches writes much and compresses lightly; one that stores little of it (`dense`) can afford
to make that little as small as it gets.
"""

from __future__ import annotations

import errno
import zlib
from collections.abc import Iterable, Iterator
from io import FileIO

from isal import igzip_lib, isal_zlib

from lycosa.model import Answer

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
