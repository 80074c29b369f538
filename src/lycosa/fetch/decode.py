"""Content codings (gzip, deflate, br, zstd): decodes a body as received, never to more than a given size.

A body may be a bomb, cut, damaged, or not encoded at all although the header says so. So everything is inflated in
small steps that stop at the limit, and whatever can be decoded is given, with a reason code for what was wrong:

    too-large          cut at the limit
    truncated          the stream ends too early; what was inflated is given
    corrupt            damaged; what was inflated before the damage is given
    not-encoded        the header lies; the body is given as it came
    unknown-coding     so is this one
    too-many-codings   and this one
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import NamedTuple, cast

import brotli
import zstandard
from isal import isal_zlib

from lycosa.config.settings import LimitSettings
from lycosa.model import Answer

#: Nobody has a reason to encode more often, and each further coding multiplies what a bomb can do.
MAX_CODINGS = 3

#: Members, frames or blocks that give next to nothing. A stream made of them costs time instead of memory.
MAX_IDLE = 10_000
_IDLE = 16  # bytes

# A page that inflates to less than this is done in one call; more is done in steps.
_PAGE = 1 << 20
_READ = 1 << 14  # bytes of input at a time
_STEP = 1 << 12  # bytes of output at a time: as much as a damaged stream loses
_BROTLI_READ = 1 << 8  # the same for brotli, which loses the whole output of a call that fails
_ZSTD_BLOCK = 1 << 17  # RFC 8878: no block gives more
_ZSTD_WINDOW = 1 << 23  # RFC 9659: a decoder of web content needs no more
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_FAULTS = cast("tuple[type[Exception], ...]", (isal_zlib.IsalError, brotli.error))
_ZSTD_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")


class DecodedBody(NamedTuple):
    """A decoded body, and a reason code if something was wrong with it."""

    body: bytes
    problem: str = ""


def decode(body: bytes, content_encoding: str, *, limit: int) -> DecodedBody:
    """Undo the codings that a Content-Encoding header names, giving at most `limit` bytes."""
    stages, problem = _stages(content_encoding)
    if len(stages) == 1 and len(body) <= _PAGE:
        whole = _at_once(body, stages[0], min(limit, _PAGE))
        if whole is not None:
            return DecodedBody(whole)
    if not stages:
        return DecodedBody(body, problem) if len(body) <= limit else DecodedBody(body[:limit], "too-large")
    chunks = (body[start : start + _READ] for start in range(0, len(body), _READ))
    return _gather(chunks, stages, limit)


def decode_file(path: str | Path, content_encoding: str, *, limit: int, head: int) -> DecodedBody:
    """Undo the codings of a body that is kept in a file, giving its first `head` bytes and at most `limit`."""
    stages, problem = _stages(content_encoding)
    with Path(path).open("rb") as file:
        found = _gather(iter(lambda: file.read(_READ), b""), stages, min(limit, head))
    if found.problem == "too-large" and head <= limit:
        return DecodedBody(found.body, problem)  # nothing wrong: no more was asked for
    return DecodedBody(found.body, found.problem or problem)


def decode_pieces(
    pieces: Iterable[bytes], content_encoding: str, *, limit: int, problems: list[str]
) -> Iterator[bytes]:
    """Undo the codings of a body that comes in pieces, giving at most `limit` bytes; what was wrong is appended.

    A body that is not encoded is given whole, as it cannot be a bomb.
    """
    stages, problem = _stages(content_encoding)
    if problem:
        problems.append(problem)
    if not stages:
        yield from pieces
        return
    found: list[str] = []
    chunks = (piece[start : start + _READ] for piece in pieces for start in range(0, len(piece), _READ))
    for piece in _decoded(chunks, stages, found):
        if len(piece) > limit:
            yield piece[:limit]
            problems.append("too-large")
            return
        limit -= len(piece)
        yield piece
    problems += found[:1]  # the first stage to fail made the others fail


class _ByteReader:
    """Reads a sequence of chunks in any other sizes."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = b""
        self._at = 0
        self._read = 0

    def read_some(self, most: int = _READ) -> bytes:
        """The next bytes, `most` or fewer; none at the end."""
        if self._at >= len(self._held):
            self._held, self._at = next(self._chunks, b""), 0
            self._read += 1
        data = self._held[self._at : self._at + most]
        self._at += len(data)
        return data

    def read(self, size: int) -> bytes:
        """Just `size` bytes; fewer at the end."""
        data = self.read_some(size)
        while len(data) < size:
            rest = self.read_some(size - len(data))
            if not rest:
                break
            data += rest
        return data

    def unread(self, data: bytes) -> None:
        """Put back the bytes that were read last."""
        if data:
            self._held, self._at = data + self._held[self._at :], 0

    def rewind(self) -> bool:
        """Go back to the start, if no more than the first chunk was read."""
        self._at = 0
        return self._read <= 1

    def skip_string(self) -> bool:
        """Skip past the next NUL; whether there was one."""
        while data := self.read_some():
            before, nul, after = data.partition(b"\0")
            if nul:
                self.unread(after)
                return True
        return False


# A stage reads encoded bytes, yields decoded ones, and appends to the list what was wrong.
_Stage = Callable[[_ByteReader, list[str]], Iterator[bytes]]


class _Inflate:
    """A bare deflate stream, in steps; `problem` is set at its end."""

    def __init__(self, source: _ByteReader) -> None:
        self._source = source
        self.problem = ""
        self.any = False

    def __iter__(self) -> Iterator[bytes]:
        engine = zlib.decompressobj(-15)  # isal works ahead of what it gives, and fails before it gives
        data = self._source.read_some()
        try:
            while True:
                out = engine.decompress(data, _STEP)
                if out:
                    self.any = True
                    yield out
                if engine.eof:
                    self._source.unread(engine.unused_data)
                    return
                data = engine.unconsumed_tail
                if not data and len(out) < _STEP:
                    data = self._source.read_some()
                    if not data:
                        self.problem = "truncated"
                        return
        except zlib.error:
            self.problem = "corrupt"


def _gunzip(source: _ByteReader, problems: list[str]) -> Iterator[bytes]:
    """One gzip member after the other (RFC 1952); what follows them and is none is ignored."""
    first = True
    idle = 0
    while head := source.read(10):
        if not head.startswith(b"\x1f\x8b"):
            if first:
                source.unread(head)
                yield from _untouched(source, problems)
            return
        if len(head) < 10 or not _skip_gzip_fields(source, head[3]):
            if first:
                problems.append("truncated")
            return
        inflate = _Inflate(source)
        crc = size = 0
        for chunk in inflate:
            crc = zlib.crc32(chunk, crc)
            size += len(chunk)
            yield chunk
        trailer = source.read(8)
        if inflate.problem:
            problems.append(inflate.problem)
            return
        # A missing trailer is forgiven: the last block was there.
        right = len(trailer) < 8 or trailer == crc.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")
        idle += size < _IDLE
        if not right or idle > MAX_IDLE:
            problems.append("corrupt")
            return
        first = False


def _skip_gzip_fields(source: _ByteReader, flags: int) -> bool:
    """Skip the optional fields of a gzip header; whether they were whole."""
    if flags & 4:
        size = int.from_bytes(source.read(2), "little")
        if len(source.read(size)) < size:
            return False
    if flags & 8 and not source.skip_string():  # file name
        return False
    if flags & 16 and not source.skip_string():  # comment
        return False
    return not flags & 2 or len(source.read(2)) == 2


def _undeflate(source: _ByteReader, problems: list[str]) -> Iterator[bytes]:
    """A zlib stream (RFC 1950), or the bare deflate stream that some servers send instead."""
    head = source.read(2)
    wrapped = _is_zlib(head)
    if not wrapped:
        source.unread(head)
    inflate = _Inflate(source)
    adler = 1
    for chunk in inflate:
        adler = zlib.adler32(chunk, adler)
        yield chunk
    if inflate.problem == "corrupt" and not wrapped and not inflate.any and source.rewind():
        yield from _untouched(source, problems)
    elif inflate.problem:
        problems.append(inflate.problem)
    elif wrapped:
        trailer = source.read(4)
        if len(trailer) == 4 and trailer != adler.to_bytes(4, "big"):
            problems.append("corrupt")


def _is_zlib(head: bytes) -> bool:
    """Whether a stream begins as RFC 1950 says, without a preset dictionary."""
    return (
        len(head) >= 2
        and head[0] & 15 == 8
        and head[0] < 128
        and not head[1] & 32
        and (head[0] << 8 | head[1]) % 31 == 0
    )


def _unbrotli(source: _ByteReader, problems: list[str]) -> Iterator[bytes]:
    """A brotli stream (RFC 7932)."""
    engine = brotli.Decompressor()
    any_yet = False
    try:
        while data := source.read_some(_BROTLI_READ):
            out = engine.process(data, output_buffer_limit=_READ)
            while out:
                any_yet = True
                yield out
                out = engine.process(b"", output_buffer_limit=_READ) if len(out) >= _READ else b""
            if engine.is_finished():
                return
        problems.append("truncated")
    except brotli.error:
        if not any_yet and source.rewind():
            yield from _untouched(source, problems)
        else:
            problems.append("corrupt")


def _unzstd(source: _ByteReader, problems: list[str]) -> Iterator[bytes]:
    """One Zstandard frame after the other (RFC 8878); what follows them and is none is ignored.

    The library bounds the output of no call. But no block gives more than 128 KiB, so it is fed block by block.
    """
    frames = 0
    while magic := source.read(4):
        problem = ""
        if magic == _ZSTD_MAGIC:
            problem = yield from _zstd_frame(source)
        elif _ZSTD_SKIPPABLE.match(magic):
            _skip(source, int.from_bytes(source.read(4), "little"))
        elif frames:
            return
        else:
            source.unread(magic)
            yield from _untouched(source, problems)
            return
        frames += 1
        if problem or frames > MAX_IDLE:
            problems.append(problem or "corrupt")
            return


def _zstd_frame(source: _ByteReader) -> Generator[bytes, None, str]:
    """The blocks of a frame whose magic number was read, and in the end what was wrong with it."""
    head = _ZSTD_MAGIC + source.read(14)
    try:
        size = zstandard.frame_header_size(head) if len(head) >= 5 else 5
        if len(head) < size:
            return "truncated"
        source.unread(head[size:])
        checked = zstandard.get_frame_parameters(head).has_checksum
        engine = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        fed, bound, idle, last = [head[:size]], 0, 0, False
        while not last:
            header = source.read(3)
            word = int.from_bytes(header, "little")
            last, kind, length = bool(word & 1), word >> 1 & 3, word >> 3
            content = source.read(1 if kind == 1 else min(length, _ZSTD_BLOCK))
            fed += header, content
            bound += length if kind < 2 else _ZSTD_BLOCK
            cut = len(header) < 3 or len(content) < (1 if kind == 1 else length)
            if last and checked and not cut:
                fed.append(source.read(4))
            if last or cut or bound >= _ZSTD_BLOCK:
                out = engine.decompress(b"".join(fed))
                fed, bound = [], 0
                if out:
                    yield out
            idle += length < _IDLE
            if cut or idle > MAX_IDLE:
                return "truncated" if cut else "corrupt"
    except zstandard.ZstdError:
        return "corrupt"
    return ""


def _skip(source: _ByteReader, size: int) -> None:
    while size > 0 and (data := source.read_some(min(size, _READ))):
        size -= len(data)


def _untouched(source: _ByteReader, problems: list[str]) -> Iterator[bytes]:
    """The body as it came."""
    problems.append("not-encoded")
    while data := source.read_some():
        yield data


_CODINGS: dict[str, _Stage] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}


def _stages(content_encoding: str) -> tuple[list[_Stage], str]:
    """The stages that undo the codings, the last applied first; none, and why, if that is not possible."""
    if not content_encoding:
        return [], ""
    names = [name.partition(";")[0].strip(' \t"') for name in content_encoding.lower().split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if len(names) > MAX_CODINGS:
        return [], "too-many-codings"
    if not all(name in _CODINGS for name in names):
        return [], "unknown-coding"
    return [_CODINGS[name] for name in reversed(names)], ""


def _at_once(body: bytes, stage: _Stage, limit: int) -> bytes | None:
    """A small and faultless body, decoded in one call; None if it is anything else."""
    try:
        if stage is _unbrotli:
            engine = brotli.Decompressor()
            whole: bytes = engine.process(body, output_buffer_limit=limit + 1)
            return whole if engine.is_finished() and len(whole) <= limit else None
        if stage is _unzstd:
            return None
        if stage is _gunzip:
            wbits = 31
        else:
            wbits = 15 if _is_zlib(body[:2]) else -15
        engine = isal_zlib.decompressobj(wbits)
        whole = engine.decompress(body, limit + 1)
        return whole if engine.eof and not engine.unused_data and len(whole) <= limit else None
    except _FAULTS:
        return None


def _decoded(chunks: Iterable[bytes], stages: list[_Stage], problems: list[str]) -> Iterator[bytes]:
    """The output of the last stage; an empty body needs no coding."""
    flow = iter(chunks)
    first = next(flow, b"")
    if first:
        flow = chain([first], flow)
        for stage in stages:
            flow = stage(_ByteReader(flow), problems)
        yield from flow


def _gather(chunks: Iterable[bytes], stages: list[_Stage], limit: int) -> DecodedBody:
    """The output of the last stage, up to the limit."""
    problems: list[str] = []
    kept = BytesIO()  # gives its bytes away without a copy
    room = limit
    for chunk in _decoded(chunks, stages, problems):
        if len(chunk) > room:
            kept.write(chunk[:room])
            return DecodedBody(kept.getvalue(), "too-large")
        room -= kept.write(chunk)
    # The first stage to fail made the others fail.
    return DecodedBody(kept.getvalue(), problems[0] if problems else "")


LIST_HEAD = 50 << 20  # bytes of a sitemap: its protocol's own limit
TEXT_HEAD = 64 * 1024  # bytes read of a body that lies in a spool file and is not HTML


def read_content(answer: Answer, limits: LimitSettings, *, whole: bool = False) -> tuple[bytes, str]:
    """The content and what is wrong with it; of a large file that is not HTML only the beginning, unless `whole`."""
    coding = answer.headers.get("content-encoding", "")
    kind = answer.headers.get("content-type", "html").lower()
    html = "html" in kind
    if answer.spool:
        listing = (
            whole or "xml" in kind or answer.target.via == "sitemap" or answer.target.url.endswith((".xml", ".xml.gz"))
        )
        if html:
            head = limits.html_bytes
        else:
            head = LIST_HEAD if listing else TEXT_HEAD
        decoded = decode_file(answer.spool, coding, limit=limits.body_bytes, head=head)
    elif coding:
        decoded = decode(answer.body, coding, limit=limits.html_bytes if html else limits.body_bytes)
    else:
        return answer.body, ""
    return decoded.body, decoded.problem
