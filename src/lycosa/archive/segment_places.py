"""Segment places: where archive files are that are not on this disk, and how they are read there.

A collection that several machines made has archive files in a store. A copy of it has a list of them, one line each
with name, size and place. Whoever opens a file of the archive folder that is not there reads it from its place, by
requests for the bytes that are wanted.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from io import FileIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from lycosa.disk import replace_text

if TYPE_CHECKING:
    from lycosa.archive.segment_store import SegmentStore

LISTING = "elsewhere"
_AHEAD = 256 << 10  # bytes that one request brings at least
_STORES = 8
_LISTING_BYTES = 256 << 20  # of a list; no collection has as many files


class SegmentPlace(Struct, frozen=True):
    """Where a segment is, and how many bytes it has."""

    name: str
    size: int
    place: str


_finders: dict[Path, Callable[[str], SegmentPlace | None]] = {}


def add_finder(archive: Path, find: Callable[[str], SegmentPlace | None]) -> None:
    """Let this program ask `find` for segments of an archive folder that are neither there nor in its list."""
    _finders.setdefault(archive, find)


def find_place(archive: Path, name: str) -> SegmentPlace | None:
    """Where a segment lies that is not on this disk."""
    found = read_places(archive).get(name)
    if found is None and archive in _finders:
        return _finders[archive](name)
    return found


def read_places(archive: Path) -> dict[str, SegmentPlace]:
    """By name, the segments of an archive folder that lie elsewhere."""
    try:
        state = (archive / LISTING).stat()
    except OSError:
        return {}
    if state.st_size > _LISTING_BYTES:
        return {}
    return _read_listing(str(archive / LISTING), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read_listing(path: str, _stamp: int, _size: int) -> dict[str, SegmentPlace]:
    places = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            name, size, place = (*line.rstrip("\n").split("\t"), "", "")[:3]
            if place and size.isascii() and size.isdigit():
                places[name] = SegmentPlace(name, int(size), place)
    return places


def write_places(archive: Path, places: Iterable[SegmentPlace]) -> None:
    """List the segments that lie elsewhere; where there are none, there is no list."""
    lines = [f"{one.name}\t{one.size}\t{one.place}\n" for one in places]
    if lines:
        replace_text(archive / LISTING, "".join(lines))
    else:
        (archive / LISTING).unlink(missing_ok=True)


def open_segment(path: str | PathLike[str]) -> io.RawIOBase:
    """Open an archive file, on this disk or where it is now."""
    try:
        return FileIO(path)
    except FileNotFoundError:
        name, folder = os.path.basename(path), Path(os.path.dirname(path))
        found = find_place(folder, name)
        if found is None:
            raise
        return RemoteSegment(found)


def segment_size(path: Path) -> int:
    """The bytes of an archive file, on this disk or where it is now; -1 where it is not known."""
    if path.is_file():
        return path.stat().st_size
    found = find_place(path.parent, path.name)
    return -1 if found is None else found.size


@lru_cache(maxsize=_STORES)
def _store(address: str, _process: int) -> SegmentStore:
    from lycosa.archive.segment_store import open_store

    return open_store(address)


class RemoteSegment(io.RawIOBase):
    """A segment in a store, read like a file; errors of the store are OSErrors."""

    def __init__(self, place: SegmentPlace) -> None:
        address, _, self._key = place.place.rpartition("/")
        self._address = address or "/"
        self._length = place.size
        self._at = 0
        self._block = b""
        self._block_at = 0
        self.name = place.place

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        want = min(len(buffer), self._length - self._at)
        if want <= 0:
            return 0
        start = self._at - self._block_at
        if not 0 <= start < len(self._block):
            self._fill(want)
            start = 0
        piece = self._block[start : start + want]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _fill(self, want: int) -> None:
        from lycosa.archive.segment_store import StoreFault

        length = min(max(want, _AHEAD), self._length - self._at)
        try:
            self._block = _store(self._address, os.getpid()).read(self._key, self._at, length)
        except StoreFault as fault:
            raise OSError(str(fault).rstrip(".")) from None
        self._block_at = self._at
