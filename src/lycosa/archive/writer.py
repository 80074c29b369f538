"""Archive writer: WARC 1.1 files with one gzip member per record, and the place of each answer in them.

One `ArchiveWriter` belongs to one worker process. Records gather in memory; `flush` appends them with one write and
returns the size that the frontier commits. `archive/repair.py` cuts whatever a crash leaves beyond a committed size.

Lines on answers that were not stored would need five times the room if those of each flush were a record of their own.
So they go at first to a side file, which is as safe as the first; when there are enough of them they are written
together, and once that is committed, the side file is removed.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import os
import re
import time
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from struct import Struct
from typing import Literal, Self

from lycosa.archive import unstored_log
from lycosa.archive.reader import read_record
from lycosa.archive.record_bytes import chunks_of, digest_of, is_packed, pack, pack_chunks, store, tidy
from lycosa.disk import make_fault, sync_folder
from lycosa.errors import CollectionError, DiskFull
from lycosa.model import Answer, ArchivePlace, WarcRow

#: In the name of a side file, which has nothing but lines on answers that were not stored, and may soon be gone.
ASIDE = "notes"

Profile = Literal["identical", "not-modified"]

_PROFILES: dict[Profile, bytes] = {
    "identical": b"http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
    "not-modified": b"http://netpreserve.org/warc/1.1/revisit/server-not-modified",
}
_WARCINFO = (
    b"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:uuid:%b>\r\nWARC-Date: %b\r\nWARC-Filename: %b\r\n"
    b"WARC-Block-Digest: sha1:%b\r\nContent-Type: application/warc-fields\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
)
_REQUEST = (
    b"WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: <urn:uuid:%b>\r\nWARC-Date: %b\r\nWARC-Target-URI: %b\r\n"
    b"WARC-Concurrent-To: <urn:uuid:%b>\r\nWARC-Block-Digest: sha1:%b\r\n"
    b"Content-Type: application/http; msgtype=request\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
)
_RESPONSE = (
    b"WARC/1.1\r\nWARC-Type: %b\r\nWARC-Record-ID: <urn:uuid:%b>\r\nWARC-Date: %b\r\nWARC-Target-URI: %b\r\n%b"
    b"WARC-Block-Digest: sha1:%b\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n"
)
_CONVERSION = (
    b"WARC/1.1\r\nWARC-Type: conversion\r\nWARC-Record-ID: <urn:uuid:%b>\r\nWARC-Date: %b\r\nWARC-Target-URI: %b\r\n"
    b"WARC-Refers-To: <urn:uuid:%b>\r\nWARC-Block-Digest: sha1:%b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
)
_METADATA = (
    b"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:%b>\r\nWARC-Date: %b\r\n"
    b"WARC-Block-Digest: sha1:%b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
)
_UNSTORED_BYTES = 1 << 20  # of lines that make one record; a quarter of it would take a fortieth more of the disk
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = [bytes((high, low)) for high in _ALPHABET for low in _ALPHABET]
_WORDS = Struct(">QQI").unpack
_FIELD_NAME = re.compile(r"[A-Za-z0-9._-]+")
_UNSAFE = re.compile(r"[^!-~]+")


class ArchiveWriter:
    """Writes the archive files of one worker; nothing reaches the disk before `flush`, but bodies held in a spool."""

    def __init__(
        self,
        folder: Path,
        *,
        prefix: str,
        max_bytes: int,
        max_age_s: float = 0.0,
        software: str,
        info: Mapping[str, str],
        dense: bool = False,
        requests: bool = True,
    ) -> None:
        """After so many bytes or seconds (0: never) another file is begun. `dense`: spend time to make it smaller;
        `requests`: keep what was asked for as well.
        """
        self._folder = Path(folder)
        self._dense = dense
        self._requests = requests
        self._prefix = prefix
        self._max_bytes = max_bytes
        self._max_age_s = max_age_s
        self._opened_at = 0.0  # time.monotonic()
        self._fields = {
            "software": software,
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            **info,
        }
        self._chunks: list[bytes] = []
        self._filled = 0
        self._fd = -1
        self._name = ""
        self._size = 0  # bytes on disk
        self._sequence = 0
        self._full = False
        self._synced = 0
        self._unsynced_name = False
        self._ids: list[bytes] = []
        self._promised = b""  # the id of the next response, which a conversion before it refers to
        self._unstored_lines: list[bytes] = []  # lines that are not in this file yet
        self._unstored_bytes = 0  # their bytes
        self._side_file: ArchiveWriter | None = None  # which holds them until then
        self._side_lines = 0  # how many of the lines are in it
        self._side_bytes = 0
        self._obsolete_side_files: list[str] = []  # side files whose lines are all in this one
        self._second = -1
        self._second_text = ""

    @property
    def buffered(self) -> int:
        """Bytes that wait for the next flush."""
        return self._filled + self._unstored_bytes - self._side_bytes

    @property
    def synced(self) -> int:
        """Bytes of the present file that survive a loss of power."""
        return self._synced

    @property
    def unsynced(self) -> int:
        """Bytes that were flushed to the present file and would be lost with the power."""
        return self._size - self._synced

    def add(self, answer: Answer, *, digest: bytes, mime: str, truncated: str = "") -> ArchivePlace:
        """Add an answer; `digest` is the SHA-1 of its body as received."""
        size = os.stat(answer.spool).st_size if answer.spool else len(answer.body)
        head = tidy(answer.head, status=answer.status, size=size)
        extra = b"WARC-Payload-Digest: sha1:%b\r\n" % _base32(digest)
        if mime:
            extra += b"WARC-Identified-Payload-Type: %b\r\n" % _word(mime)
        if truncated:
            extra += b"WARC-Truncated: %b\r\n" % _word(truncated)
        block = digest_of(answer, head=head)
        request, start = self._describe(b"response", answer, extra=extra, size=len(head) + size, digest=block)
        if answer.spool:
            place = self._stream(answer, start + head, size=size)
        else:
            place = self._place(self._pack_answer(answer, start + head))
        if request:
            self._gather(pack(request, dense=self._dense))
        return place

    def add_revisit(
        self, answer: Answer, *, refers_to_url: str, refers_to_date: float | None, digest: bytes, profile: Profile
    ) -> ArchivePlace:
        """Add an answer whose body is held already, in the record of that URL and Unix time (None: unknown)."""
        head = tidy(answer.head, status=answer.status, size=None)
        extra = b"WARC-Profile: %b\r\n" % _PROFILES[profile]
        if digest:
            extra += b"WARC-Payload-Digest: sha1:%b\r\n" % _base32(digest)
        if refers_to_url:
            extra += b"WARC-Refers-To-Target-URI: %b\r\n" % _word(refers_to_url)
        if refers_to_date:
            extra += b"WARC-Refers-To-Date: %b\r\n" % self._date(refers_to_date)
        if profile == "identical":
            # The specification wants this reason wherever a body was left out because it is held elsewhere.
            extra += b"WARC-Truncated: length\r\n"
        request, start = self._describe(b"revisit", answer, extra=extra, size=len(head), digest=_sha1(head))
        place = self._place(pack(b"".join((start, head, b"\r\n\r\n")), dense=self._dense))
        if request:
            self._gather(pack(request, dense=self._dense))
        return place

    def digest_at(self, place: ArchivePlace) -> bytes:
        """The digest that the record of an answer states of its body as received; empty where it cannot be read."""
        path = self._folder / os.path.basename(place.file)
        record = read_record(path, place.offset, length=place.length, limit=0)
        with contextlib.suppress(ValueError):
            return base64.b32decode(record.digest.removeprefix("sha1:"))
        return b""

    def add_conversion(self, answer: Answer, content: bytes, *, mime: str, digest: bytes) -> ArchivePlace:
        """Add what was made of an answer, which itself must come next; `digest` is the SHA-1 of `content`."""
        if self._fd < 0 or self._full:
            self._open_next()
        ids = self._ids if len(self._ids) > 1 else self._make_ids()
        self._promised = ids.pop()
        url, date = _word(answer.target.url), self._date(answer.began + answer.took_s)
        values = (ids.pop(), date, url, self._promised, _base32(digest), mime.encode(), len(content))
        start = _CONVERSION % values
        return self._place(pack(b"".join((start, content, b"\r\n\r\n")), dense=self._dense))

    def add_unstored(self, line: bytes) -> None:
        """Add the line of an answer that is not stored (`unstored_log`); many share one record."""
        self._unstored_lines.append(line)
        self._unstored_bytes += len(line)

    def _gather_lines(self, lines: list[bytes], *, dense: bool) -> None:
        if self._fd < 0 or self._full:
            self._open_next()
        ids = self._ids if len(self._ids) > 1 else self._make_ids()
        block = b"".join(lines)
        digest = _base32(_sha1(block))
        values = (ids.pop(), self._date(time.time()), digest, unstored_log.TYPE.encode(), len(block), block)
        self._gather(pack(_METADATA % values, dense=dense))

    def _gather_unstored(self) -> None:
        """Gather all lines that are not in this file yet; the side file is of no use any more."""
        self._gather_lines(self._unstored_lines, dense=True)
        self._unstored_lines, self._unstored_bytes, self._side_lines, self._side_bytes = [], 0, 0, 0
        if self._side_file is not None and self._side_file._fd >= 0:
            self._obsolete_side_files.append(self._side_file._name)
            os.close(self._side_file._fd)
        self._side_file = None

    def _write_side_file(self) -> None:
        """Write the lines since the last time to the side file."""
        if self._side_file is None:
            prefix = f"{self._prefix}-{ASIDE}"
            self._side_file = ArchiveWriter(self._folder, prefix=prefix, max_bytes=0, software="", info=self._fields)
        if self._side_lines < len(self._unstored_lines):
            self._side_file._gather_lines(
                self._unstored_lines[self._side_lines :], dense=False
            )  # it will not be there for long
            self._side_lines, self._side_bytes = len(self._unstored_lines), self._unstored_bytes
        self._side_file._append()

    def flush(self, *, last: bool = False) -> tuple[str, int]:
        """Append what was gathered and give the file's name and size; on a full disk nothing is lost: call again.

        The frontier must hear of `side_files` at once. The `last` time, nothing is left in a side file.
        """
        if self._unstored_lines:
            if last or self._unstored_bytes >= _UNSTORED_BYTES or self._is_old:
                self._gather_unstored()
            else:
                self._write_side_file()
        self._append()
        self._full = 0 < self._max_bytes <= self._size or self._is_old
        return self._name, self._size

    @property
    def _is_old(self) -> bool:
        return self._fd >= 0 and 0 < self._max_age_s <= time.monotonic() - self._opened_at

    def retire(self) -> None:
        """Close a file that is old, if all of it is flushed; the next record begins another."""
        if self._is_old and not self._filled:
            self._close_file()

    @property
    def side_files(self) -> list[WarcRow]:
        """The side file as it is now; and those, without a size, of which nobody needs to know any more."""
        rows = [WarcRow(name, 0) for name in self._obsolete_side_files]
        side = self._side_file
        return rows if side is None else [*rows, WarcRow(side._name, side._size, side._synced)]

    @property
    def has_obsolete_side_files(self) -> bool:
        """Whether a side file waits to be removed."""
        return bool(self._obsolete_side_files)

    def clear(self) -> None:
        """Remove the side files that are of no use; what was flushed must have been committed, and synced."""
        while self._obsolete_side_files:
            with contextlib.suppress(OSError):  # the next run would find that nobody knows of it
                os.unlink(self._folder / self._obsolete_side_files.pop())

    def sync(self) -> None:
        """Make what was flushed survive a loss of power."""
        if self._side_file is not None:
            self._side_file.sync()
        if self._fd < 0:
            return
        try:
            os.fdatasync(self._fd)
            if self._unsynced_name:
                sync_folder(self._folder)
                self._unsynced_name = False
            self._synced = self._size
        except OSError as error:
            raise self._fault(error) from error

    def close(self) -> None:
        """Flush, sync and close; the archive can be used again and then begins a new file."""
        self.flush(last=self._side_file is None)  # the frontier knows of the side file, and hears of nothing more
        if self._side_file is not None:
            self._side_file.close()
            self._side_file = None
            self._unstored_lines, self._unstored_bytes, self._side_lines, self._side_bytes = [], 0, 0, 0
        if self._fd >= 0:
            self._close_file()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _close_file(self) -> None:
        self.sync()
        os.close(self._fd)
        self._fd = -1

    def _open_next(self) -> None:
        """Reserve a new name on disk, so that no two writers share one, and put the warcinfo record first."""
        if self._fd >= 0:
            self._close_file()
        stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime())
        while self._fd < 0:
            name = f"{self._prefix}-{stamp}-{self._sequence:05d}.warc.gz"
            self._sequence += 1
            try:
                self._fd = os.open(self._folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
                fcntl.flock(self._fd, fcntl.LOCK_EX)
            except FileExistsError:
                continue
            except OSError as error:
                raise self._fault(error) from error
        self._name, self._size, self._synced, self._full, self._unsynced_name = name, 0, 0, False, True
        self._opened_at = time.monotonic()
        lines = [f"{k}: {_line(v)}\r\n" for k, v in self._fields.items() if v and _FIELD_NAME.fullmatch(k)]
        block = "".join(lines).encode()
        date, digest = self._date(time.time()), _base32(_sha1(block))
        self._gather(pack(_WARCINFO % (self._make_ids().pop(), date, name.encode(), digest, len(block), block)))

    def _describe(self, kind: bytes, answer: Answer, *, extra: bytes, size: int, digest: bytes) -> tuple[bytes, bytes]:
        """The whole request record of an answer, if it is kept, and the WARC header of its response, whose block has
        this size and SHA-1; begins a file where needed."""
        if self._fd < 0 or self._full:
            self._open_next()
        ids = self._ids if len(self._ids) > 1 else self._make_ids()
        response_id = self._promised or ids.pop()
        self._promised = b""
        date = self._date(answer.began)
        url = _word(answer.target.url)
        if answer.address:
            extra = b"WARC-IP-Address: %b\r\n%b" % (_word(answer.address), extra)
        request = b""
        if (asked := answer.request) and self._requests:
            request = _REQUEST % (ids.pop(), date, url, response_id, _base32(_sha1(asked)), len(asked), asked)
        return request, _RESPONSE % (kind, response_id, date, url, extra, _base32(digest), size)

    def _pack_answer(self, answer: Answer, start: bytes) -> bytes:
        """One gzip member of the record of an answer whose body is in memory."""
        if not is_packed(answer, answer.body):
            return pack(b"".join((start, answer.body, b"\r\n\r\n")), dense=self._dense)
        if self._dense:
            return b"".join(store((answer.body, b"\r\n\r\n"), head=start))
        return b"".join(store((b"".join((start, answer.body, b"\r\n\r\n")),)))

    def _gather(self, packed: bytes) -> int:
        """Add a record to the buffer; its offset in the file."""
        at = self._filled
        self._chunks.append(packed)
        self._filled = at + len(packed)
        return self._size + at

    def _place(self, packed: bytes) -> ArchivePlace:
        return ArchivePlace(self._name, self._gather(packed), len(packed))

    def _stream(self, answer: Answer, start: bytes, *, size: int) -> ArchivePlace:
        """Write a record whose body is a file straight to disk; the file stays as it was if that fails."""
        self._append()
        offset = self._size
        try:
            with FileIO(answer.spool) as spool:
                stored = is_packed(answer, spool.read(8))
                spool.seek(0)
                chunks = chunks_of(start, spool, size)
                for piece in store(chunks) if stored else pack_chunks(chunks, dense=self._dense):
                    _write_all(self._fd, piece)
                    self._size += len(piece)
        except OSError as error:
            self._size = offset
            os.ftruncate(self._fd, offset)
            os.lseek(self._fd, offset, os.SEEK_SET)
            raise self._fault(error) from error
        return ArchivePlace(self._name, offset, self._size - offset)

    def _append(self) -> None:
        if not self._filled:
            return
        try:
            _write_all(self._fd, b"".join(self._chunks))
        except OSError as error:
            # Half a record must not stay: the offsets already given out count from the old size.
            os.ftruncate(self._fd, self._size)
            os.lseek(self._fd, self._size, os.SEEK_SET)
            raise self._fault(error) from error
        self._size += self._filled
        self._filled = 0
        self._chunks.clear()

    def _fault(self, error: OSError) -> DiskFull | CollectionError:
        return make_fault(error, f"An archive file in {self._folder}")

    def _make_ids(self) -> list[bytes]:
        """Random UUIDs by the hundred, because one call to the system costs as much as ten of them."""
        text = os.urandom(16 * 128).hex()
        self._ids = [
            f"{text[i : i + 8]}-{text[i + 8 : i + 12]}-4{text[i + 13 : i + 16]}-a{text[i + 17 : i + 20]}"
            f"-{text[i + 20 : i + 32]}".encode()
            for i in range(0, len(text), 32)
        ]
        return self._ids

    def _date(self, at: float) -> bytes:
        second = int(at)
        if second != self._second:
            self._second = second
            self._second_text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._second_text}.{int((at - second) * 1e6):06d}Z".encode()


def is_written(path: Path) -> bool:
    """Whether a process has an archive file open for writing: its writer locks it."""
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _word(text: str) -> bytes:
    """A value without spaces, line breaks or other characters that could end a header field."""
    if text.isascii() and text.isprintable() and " " not in text:
        return text.encode()
    return _UNSAFE.sub(lambda bad: "".join(f"%{byte:02X}" for byte in bad[0].encode(errors="replace")), text).encode()


def _line(text: str) -> str:
    return " ".join(text.split()).encode(errors="replace").decode()


def _sha1(block: bytes) -> bytes:
    return hashlib.sha1(block, usedforsecurity=False).digest()


def _base32(digest: bytes) -> bytes:
    """RFC 4648 base 32 of a SHA-1, ten bits at a time; the standard library's takes twice as long."""
    a, b, c = _WORDS(digest)
    p = _PAIRS
    first = (p[a >> 54], p[a >> 44 & 1023], p[a >> 34 & 1023], p[a >> 24 & 1023], p[a >> 14 & 1023], p[a >> 4 & 1023])
    second = (p[(a & 15) << 6 | b >> 58], p[b >> 48 & 1023], p[b >> 38 & 1023], p[b >> 28 & 1023], p[b >> 18 & 1023])
    third = (p[b >> 8 & 1023], p[(b & 255) << 2 | c >> 30], p[c >> 20 & 1023], p[c >> 10 & 1023], p[c & 1023])
    return b"".join(first + second + third)


def _write_all(fd: int, data: bytes | memoryview) -> None:
    """Write everything: the system may take less at once, near a full disk or above 2 GiB."""
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, data[written:])
