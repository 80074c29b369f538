"""Record stream: the bytes of a file of records, be it gzipped by the record, as a whole or not at all.

Nothing here raises on content: `broken` says what stopped the reading, and `recover` goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import RawIOBase

from isal import igzip_lib

_LINE_ENDS = re.compile(rb"[\r\n]*")
_MAGIC = b"\x1f\x8b\x08"
_CHUNK = 32 * 1024  # what follows a member is copied once for each member in a chunk, so chunks stay small
_PIECE = 1 << 20  # inflated bytes at a time: a bomb never stands in memory as a whole
_RECOVERIES = 1000  # a hostile file could hold a false beginning every few bytes


class RecordStream:
    """Reads a file to its end; `offset` is where the next gzip member, or in a plain file the next byte, begins.

    The first bytes show whether the file is gzipped, unless the caller knows it better.
    """

    def __init__(
        self, file: RawIOBase, *, chunk: int = 0, gzipped: bool = False, recoveries: int = _RECOVERIES
    ) -> None:
        self.broken = ""
        self.ended = -1  # file offset behind the gzip member before, empty ones not counted: zeros may read as one
        self.unreadable = False  # it is the disk that fails, not the content
        self._file = file
        self._chunk = chunk or _CHUNK
        self._next_raw = file.tell()  # file offset behind what was read
        self._raw = b""
        self._out = b""
        self._at = 0
        self._member = self._next_raw
        self._end = -1
        self._inflate: igzip_lib.IgzipDecompressor | None = None
        self._fresh = False  # a member was begun and nothing of it read yet
        self._first_piece = False
        self._recoveries = recoveries  # that are left
        self._read_raw()
        self.gzipped = gzipped or self._raw[:2] == _MAGIC[:2]

    @property
    def offset(self) -> int:
        """File offset of what comes next; call after `more`."""
        return self._member if self.gzipped else self._member + self._at

    def more(self) -> bool:
        """Whether another byte can be read; enters the next gzip member where one ended."""
        while self._at >= len(self._out):
            if not self._fill():
                return False
        return True

    def at_member_start(self) -> bool:
        """Whether the next byte is the first of its gzip member; call after `more`."""
        return self._at == 0 and self._first_piece

    def begins(self, *marks: bytes) -> bool:
        """Whether what comes next, within its gzip member, begins with one of `marks`; call after `more`."""
        while self._inflate is not None and len(self._out) - self._at < max(map(len, marks)):
            # What was read of the file may end just behind the beginning of a member.
            head, first = self._out[self._at :], self._first_piece and self._at == 0
            self._inflate_piece()
            self._out, self._at, self._first_piece = head + self._out, 0, first
            if self.broken:
                break
        return self._out.startswith(marks, self._at)

    def line(self, limit: int = 65536) -> bytes:
        """The next line with its end, or its first `limit` bytes; empty at the end of the file."""
        if not self.more():
            return b""
        end = self._out.find(b"\n", self._at, self._at + limit) + 1
        if end:
            line = self._out[self._at : end]
            self._at = end
            return line
        parts: list[bytes] = []
        while limit > 0 and self.more():
            end = self._out.find(b"\n", self._at, self._at + limit) + 1 or min(len(self._out), self._at + limit)
            parts.append(self._out[self._at : end])
            limit -= end - self._at
            self._at = end
            if parts[-1].endswith(b"\n"):
                break
        return b"".join(parts)

    def lines(self, limit: int) -> bytes:
        """Everything up to and with the next blank line, at most `limit` bytes."""
        end = self._out.find(b"\r\n\r\n", self._at, self._at + limit)
        if end >= 0:
            block = self._out[self._at : end + 4]
            self._at = end + 4
            return block
        parts: list[bytes] = []
        while limit > 0:
            parts.append(self.line(limit))
            limit -= len(parts[-1])
            if not parts[-1].strip(b"\r\n"):
                break
        return b"".join(parts)

    def skip_blank(self) -> bool:
        """Skip line ends; returns whether anything follows."""
        while self.more():
            match = _LINE_ENDS.match(self._out, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._out):
                return True
        return False

    def skip_piece(self) -> None:
        """Skip what is inflated already."""
        self._at = len(self._out)

    def skip_until(self, mark: bytes) -> int:
        """Skip bytes up to a line that begins with `mark` or to the next gzip member; returns their number."""
        passed, sought = 0, b"\n" + mark
        tail = b""
        while self.more() and not (passed and self.at_member_start()):
            # The sought bytes may lie across two pieces: the end of the last one is looked at again.
            window = tail + self._out[self._at :]
            found = window.find(sought)
            if found >= 0:
                step = found + 1 - len(tail)
                self._at += step
                return passed + step
            passed += len(self._out) - self._at
            self._at = len(self._out)
            tail = window[-len(mark) :]
        return passed

    def pieces(self, size: int) -> Iterator[bytes]:
        """The next `size` bytes in pieces; fewer where the record breaks off.

        A record that its gzip member does not hold goes on in the next one only if no other record begins there.
        """
        while size:
            ended = self._at >= len(self._out)
            if not self.more() or (ended and self.at_member_start() and self.begins(b"WARC/", b"filedesc:")):
                break
            piece = self._out[self._at : self._at + size]
            self._at += len(piece)
            size -= len(piece)
            yield piece

    def read(self, size: int, *, keep: int) -> tuple[bytes, int]:
        """Read `size` bytes; returns the first `keep` of them, and how many were there before the record broke off."""
        parts: list[bytes] = []
        passed = 0
        for piece in self.pieces(size):
            if passed < keep:
                parts.append(piece[: keep - passed])
            passed += len(piece)
        return b"".join(parts), passed

    def recover(self) -> bool:
        """Go on with the next gzip member behind the one that is broken, if there is one."""
        self.broken = ""
        self._recoveries -= 1
        if not self.gzipped or self._recoveries < 0:
            return False
        self._out, self._at, self._inflate = b"", 0, None
        self._next_raw = self._member + 1
        self._raw = b""
        while True:
            self._read_raw()
            found = self._raw.find(_MAGIC)
            if found >= 0:
                self._raw = self._raw[found:]
                return True
            if len(self._raw) < len(_MAGIC):
                self._raw = b""
                return False
            # The magic may lie across two chunks.
            self._raw = self._raw[-2:]

    def _read_raw(self) -> None:
        try:
            self._file.seek(self._next_raw)
            chunk = self._file.read(self._chunk) or b""
        except OSError as error:
            self.broken = f"the file cannot be read: {error.strerror}"
            self.unreadable = True
            chunk = b""
        self._next_raw += len(chunk)
        self._raw += chunk

    def _fill(self) -> bool:
        if self.broken:
            return False
        if not self.gzipped:
            self._member += len(self._out)
            if not self._raw:
                self._read_raw()
            self._out, self._raw, self._at = self._raw, b"", 0
            return bool(self._out)
        return self._inflate_piece()

    def _inflate_piece(self) -> bool:
        """Inflate the next piece of a member; give False at the end of the file or where the data is broken."""
        if self._inflate is None and not self._begin_member():
            return False
        inflate = self._inflate
        assert inflate is not None
        self._first_piece, self._fresh = self._fresh, False
        self._out, self._at = b"", 0
        data, self._raw = self._raw, b""
        try:
            self._out = inflate.decompress(data, _PIECE)
            while not self._out and not inflate.eof:
                self._read_raw()
                if not self._raw:
                    self.broken = self.broken or "the file ends inside a gzip member"
                    return False
                data, self._raw = self._raw, b""
                self._out = inflate.decompress(data, _PIECE)
        except igzip_lib.error as error:  # type: ignore[misc]  # the stub calls the class an instance
            self.broken = f"the gzip member at byte {self._member} is damaged ({error})"
            return False
        if inflate.eof:
            self._raw = inflate.unused_data
            self._inflate = None
            if self._out or not self._first_piece:
                self._end = self._next_raw - len(self._raw)
        return True

    def _begin_member(self) -> bool:
        if len(self._raw) < 3:
            self._read_raw()
        self._member, self.ended = self._next_raw - len(self._raw), self._end
        if not self._raw:
            self._out, self._at = b"", 0
            return False
        if not self._raw.startswith(_MAGIC):
            self._out, self._at = b"", 0
            if self._raw.strip(b"\0") or self._next_raw < self._file.seek(0, 2):
                self.broken = f"no gzip member begins at byte {self._member}"
            return False
        self._inflate = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        self._fresh = True
        return True
