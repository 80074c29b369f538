"""Archive repair: makes the archive files hold exactly what the frontier knows of them.

Runs before any worker starts. `inspect` only reads; `apply_repair` changes one file, after the frontier was told which
pages are lost: so a crash between the two is found again. Only files named as `archive.writer` names them are touched.

A file whose modification time is that of the last look is taken to be in order. Of one that was being written, the
bytes that are not surely on the disk are read again and checked, of one that somebody changed all of them.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
import re
import shutil
import stat
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lycosa.archive.record_stream import RecordStream
from lycosa.archive.segment_store import read_places
from lycosa.clock import iso_time
from lycosa.disk import make_fault, sync_file, sync_folder
from lycosa.errors import CollectionError
from lycosa.model import WarcRow

Span = tuple[int, int]

_OURS = re.compile(r".+-\d{14}-\d{5,}\.warc\.gz")
_STORED_MAX = 65535  # RFC 1951: bytes of one stored block
_PLUG = (
    b"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:%b>\r\nWARC-Date: %b\r\n"
    b"WARC-Block-Digest: sha1:%b\r\nContent-Type: application/warc-fields%b\r\nContent-Length: %b\r\n\r\n%b\r\n\r\n"
)
_PLUG_NOTE = b"note: lycosa found damaged bytes here and put this record in their place"
_FILLER_NOTE = b"note: a record that stood here was removed with lycosa forget"
_READ = 1 << 18  # bytes at a time, read and inflated
_RECOVERIES = 1_000_000  # in one file: an answer may hold a collection of gzip files, and pages behind it are whole
_PLUG_MIN, _PLUG_MAX = 300, 16 << 20  # bytes that hold the record above, and those held in memory


class Repair(Struct, frozen=True, gc=False):
    """What is wrong with one archive file."""

    name: str
    action: Literal["cut", "removed", "short", "missing", "patched"]
    kept: int  # bytes that the file has when it is repaired
    text: str  # a sentence for people
    lost: tuple[Span, ...] = ()  # the records in these bytes are gone and must be fetched again
    tail: Span = (0, 0)  # whole records that were never committed


def inspect(folder: Path, rows: Iterable[WarcRow], *, since: float = math.inf) -> Iterator[Repair]:
    """Find what was never committed, and what was committed and is gone; nothing is changed.

    Files that were written `since` then, by this machine as it runs, are whole as far as they were committed.
    """
    known = {row.name: row for row in rows}
    elsewhere = read_places(folder)
    names = {entry.name for entry in os.scandir(folder) if _is_ours(entry)} if folder.is_dir() else set()
    for name in sorted(names | known.keys()):
        row = known.get(name) or WarcRow(name, 0)
        if name in names:
            yield from _inspect_file(folder / name, row, since=since)
        elif row.size and name not in elsewhere:
            text = f"{name} is missing with its {row.size:,} bytes."
            yield Repair(name, "missing", 0, text, ((0, row.size),))


def _inspect_file(path: Path, row: WarcRow, *, since: float) -> Iterator[Repair]:
    stat_result = path.stat()
    size, name = stat_result.st_size, row.name
    if not row.size:
        text = f"{name} was removed: nothing of its {size:,} bytes was committed."
        yield Repair(name, "removed", 0, text, tail=_find_tail(path, 0, size))
        return
    if size == row.size and (
        row.mtime_ns == stat_result.st_mtime_ns or (not row.mtime_ns and stat_result.st_mtime >= since)
    ):
        return
    broken = damaged_spans(path, start=0 if row.mtime_ns else min(row.synced, size), end=min(size, row.size))
    kept = min(size, row.size)
    if broken and broken[-1][1] >= kept:
        kept = broken.pop()[0]
    lost = tuple([*broken, (kept, row.size)] if kept < row.size else broken)
    if broken:
        count = sum(end - start for start, end in lost)
        yield Repair(name, "patched", kept, f"{name} is damaged: {count:,} of its {row.size:,} bytes are lost.", lost)
    elif kept < row.size:
        text = f"{name} has only {kept:,} whole bytes of the {row.size:,} that were committed."
        yield Repair(name, "short", kept, text, lost)
    elif size > row.size:
        text = f"{name} was cut from {size:,} to the {row.size:,} bytes that were committed."
        yield Repair(name, "cut", row.size, text, tail=_find_tail(path, row.size, size))


def _find_tail(path: Path, start: int, end: int) -> Span:
    broken = damaged_spans(path, start=start, end=end)
    return start, broken[0][0] if broken else end


def apply_repair(folder: Path, repair: Repair) -> None:
    """Repair a file; the bytes of damaged places are kept in the folder `damaged` beside the archive."""
    path = folder / repair.name
    try:
        if repair.action == "removed":
            path.unlink()
        elif repair.action != "missing":
            _unshare(path)
            if repair.lost and repair.lost[-1][1] > repair.kept:
                _keep_aside(path, repair.kept, repair.lost[-1][1])
            for start, end in repair.lost:
                while start < end <= repair.kept:
                    start = _plug(path, start, end if end - start < 2 * _PLUG_MAX else start + _PLUG_MAX)
            truncate(path, repair.kept)
    except OSError as error:
        raise make_fault(error, str(path)) from None


def _unshare(path: Path) -> None:
    """Copy a file that collections share after a merge, so that it changes for one of them alone."""
    if path.stat().st_nlink > 1:
        own = path.with_name(f"{path.name}.own")
        shutil.copy2(path, own)
        own.replace(path)


def truncate(path: Path, size: int) -> None:
    """Cut a file to a size, if it is longer; one of no size is removed."""
    if not size:
        path.unlink()
    elif path.stat().st_size > size:
        _unshare(path)
        os.truncate(path, size)


def sync_files(folder: Path, rows: Iterable[WarcRow]) -> list[WarcRow]:
    """Make the files that are in order survive a loss of power; returns the rows that changed, to be recorded."""
    changed = []
    elsewhere = read_places(folder)
    for row in rows:
        path = folder / row.name
        if row.name in elsewhere and not path.exists():
            continue
        try:
            stat_result = path.stat()
            if row.synced < stat_result.st_size:
                sync_file(path)
        except FileNotFoundError:
            changed.append(WarcRow(row.name, 0))
            continue
        except OSError as error:
            raise make_fault(error, str(path)) from None
        now = WarcRow(row.name, stat_result.st_size, stat_result.st_size, stat_result.st_mtime_ns)
        if now != row:
            changed.append(now)
    if changed:
        sync_folder(folder)
    return changed


def damaged_spans(path: Path, *, start: int, end: int) -> list[Span]:
    """The bytes between two offsets that belong to no whole record; but for the last, there is room for one in them."""
    spans: list[Span] = []
    at = start
    for first, last in _whole_members(path, start):
        if at < first < at + _PLUG_MIN:
            continue  # lost with what stood before it
        if at < first:
            spans.append((at, first))
        at = last
        if at >= end:
            return spans
    return [*spans, (at, end)] if at < end else spans


def _whole_members(path: Path, start: int) -> Iterator[Span]:
    """Each gzip member behind an offset that is whole, checksums verified, and holds a record.

    Behind damage a member may turn up that is none of ours: the body of an answer that was sent compressed, or zeros
    that read as an empty one.
    """
    with FileIO(path) as file:
        file.seek(start)
        stream = RecordStream(file, gzipped=True, recoveries=_RECOVERIES)
        at = -1
        while True:
            more = stream.more()
            if stream.unreadable:
                raise CollectionError(f"{path} cannot be read: {stream.broken}.")
            if not more or stream.at_member_start():
                if 0 <= at < stream.ended and _zlib_reads(file, at, stream.ended):
                    yield at, stream.ended
                at = stream.offset if more and stream.begins(b"WARC/") else -1
            if stream.broken:
                at = -1
                if not stream.recover():
                    return
            elif not more:
                return
            stream.skip_piece()


def _zlib_reads(file: FileIO, first: int, last: int) -> bool:
    """Whether zlib, and with it most readers, takes these bytes for a gzip member.

    It refuses what isal passes over: unknown flags, and damaged codes that nothing was written in.
    """
    inflate = zlib.decompressobj(zlib.MAX_WBITS + 16)
    try:
        file.seek(first)
        while first < last and not inflate.eof:
            data = file.read(min(last - first, _READ)) or b""
            if not data:
                return False
            first += len(data)
            while data and not inflate.eof:
                inflate.decompress(data, _READ)
                data = inflate.unconsumed_tail
    except zlib.error:
        return False
    except OSError as error:
        raise CollectionError(f"{file.name} cannot be read: {error.strerror}.") from None
    return inflate.eof and first == last and not inflate.unused_data


def _is_ours(entry: os.DirEntry[str]) -> bool:
    return _OURS.fullmatch(entry.name) is not None and stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode)


def _keep_aside(path: Path, start: int, end: int) -> None:
    """Copy bytes that are replaced into the folder `damaged`: somebody may read in them what we cannot."""
    with open(path, "rb") as file:
        file.seek(start)
        left = min(end, os.fstat(file.fileno()).st_size) - start
        if left <= 0:
            return
        aside = path.parent.parent / "damaged" / f"{path.name}-{start}-{end}"
        aside.parent.mkdir(exist_ok=True)
        with open(aside, "wb") as out:
            while left > 0 and (data := file.read(min(left, _READ))):
                out.write(data)
                left -= len(data)


def _plug(path: Path, start: int, end: int) -> int:
    """Put a record of exactly this size in the place of damaged bytes, for every reader to pass; returns `end`."""
    _keep_aside(path, start, end)
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(_make_plug(end - start))
    return end


def make_filler(size: int) -> bytes:
    """A record of exactly this size that says nothing, for the place of what was removed on purpose."""
    if size >= _PLUG_MIN:
        return _make_plug(size, _FILLER_NOTE)
    record = _PLUG % (str(uuid.uuid4()).encode(), iso_time(time.time()).encode(), bytes(32), b"", b"0", b"")
    packed = zlib.compress(record.replace(b"WARC-Block-Digest: sha1:" + bytes(32) + b"\r\n", b""), 9, 31)
    room = size - len(packed) - 6  # of an extra field (RFC 1952, 2.3.1.1), which is a name, a length and zeros
    if room < 0:
        raise ValueError(f"no record of {size} bytes can be made")
    extra = (room + 4).to_bytes(2, "little") + b"LY" + room.to_bytes(2, "little") + bytes(room)
    return packed[:3] + bytes((packed[3] | 4,)) + packed[4:10] + extra + packed[10:]


def _make_plug(size: int, text: bytes = _PLUG_NOTE) -> bytes:
    """A gzip member of stored blocks (RFC 1951, 3.2.4) that holds one record and is `size` bytes long."""
    count = -(-(size - 18) // (_STORED_MAX + 5))
    record = _make_note(size - 18 - 5 * count, text)
    step = -(-len(record) // count)
    blocks = [record[at : at + step] for at in range(0, len(record), step)]
    parts = [b"\x1f\x8b\x08\0\0\0\0\0\0\xff"]
    for block in blocks:
        size = len(block)
        parts += [b"\1" if block is blocks[-1] else b"\0", size.to_bytes(2, "little")]
        parts += [(size ^ 0xFFFF).to_bytes(2, "little"), block]
    crc = zlib.crc32(record)
    return b"".join([*parts, crc.to_bytes(4, "little"), (len(record) & 0xFFFFFFFF).to_bytes(4, "little")])


def _make_note(size: int, text: bytes) -> bytes:
    """A record of this size. Its length is part of it: where no number fits, one more space in another field helps."""
    name, date = str(uuid.uuid4()).encode(), iso_time(time.time()).encode()
    for pad in (b"", b" "):
        room = size - len(_PLUG % (name, date, bytes(32), pad, b"", b""))
        for digits in range(1, 12):
            length = room - digits
            if len(str(length)) == digits and length >= 0:
                note = text[:length].ljust(length)
                digest = base64.b32encode(hashlib.sha1(note, usedforsecurity=False).digest())
                return _PLUG % (name, date, digest, pad, str(length).encode(), note)
    raise ValueError(f"no record of {size} bytes can be made")
