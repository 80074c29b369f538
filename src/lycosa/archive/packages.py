"""Packages of archives: the archive files within a WACZ, each unpacked to a file of its own while it is read.

A package is a ZIP file of strangers: what it names is never a path here, and what it grows to has a bound.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

ENDINGS = (".warc", ".warc.gz", ".arc", ".arc.gz")
PACKAGE = ".wacz"
#: What is unpacked may grow so much, and so many bytes more.
GROWTH, ANYWAY_BYTES = 200, 1 << 30
BAD_ZIP = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError)
_COPY_BYTES = 1 << 20
_PAGES_BYTES = 4 << 20
_MOST_SEEDS = 1000


class _PageLine(msgspec.Struct):
    url: str = ""
    seed: bool = False


class ArchivePackage:
    """An open WACZ; `problem` says why it, or the member that was unpacked last, cannot be read whole."""

    def __init__(self, path: str | Path) -> None:
        self.problem = ""
        self._room = Path(path).stat().st_size * GROWTH + ANYWAY_BYTES
        self._zip: zipfile.ZipFile | None = None
        try:
            self._zip = zipfile.ZipFile(path)
        except BAD_ZIP as error:
            self.problem = f"it cannot be opened ({error})"

    def members(self) -> Iterator[str]:
        """The names of its archive files."""
        for info in self._zip.infolist() if self._zip is not None else ():
            if info.filename.lower().endswith(ENDINGS):
                yield info.filename

    def unpack(self, name: str, out: IO[bytes]) -> str:
        """Write a member to a file, as far as it can be read; returns what is wrong with it."""
        assert self._zip is not None  # it has members
        try:
            with self._zip.open(name) as member:
                while chunk := member.read(_COPY_BYTES):
                    self._room -= len(chunk)
                    if self._room < 0:
                        return f"it grows more than {GROWTH}-fold"
                    out.write(chunk)
        except BAD_ZIP as error:
            if isinstance(error, OSError) and error.errno:
                raise
            return f"it breaks off ({error})"
        finally:
            out.flush()
        return ""

    def seeds(self) -> list[str]:
        """The pages that it names as those which its crawl began with; else the first that it names."""
        pages = list(self._pages())
        return [page.url for page in pages if page.seed][:_MOST_SEEDS] or [page.url for page in pages[:1]]

    def _pages(self) -> Iterator[_PageLine]:
        if self._zip is None:
            return
        try:
            with self._zip.open("pages/pages.jsonl") as member:
                lines = member.read(_PAGES_BYTES).splitlines()
        except (*BAD_ZIP, KeyError):
            return
        for line in lines:
            try:
                page = msgspec.json.decode(line, type=_PageLine)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
            if page.url:
                yield page

    def close(self) -> None:
        if self._zip is not None:
            self._zip.close()
