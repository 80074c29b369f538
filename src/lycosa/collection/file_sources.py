"""File sources: the documents in a folder, a zip file or an archive file of others, with addresses to import them by.

Whoever made them is not trusted: no link leads out of the folder, no name out of the zip file, and everything is
bounded. What is left out is counted by reason.
"""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from lycosa import urls
from lycosa.archive.reader import iter_records
from lycosa.errors import UsageError
from lycosa.fetch.decode import decode
from lycosa.output.plain import printable
from lycosa.output.wording import counted

#: Hosts that cannot exist (RFC 2606): files have addresses below them, so that links between files lead to files.
FOLDER_HOST, ZIP_HOST = "folder.invalid", "zip.invalid"
_ARCHIVES = (".warc", ".warc.gz", ".arc", ".arc.gz")
#: What a suffix announces; of other files the content tells alone.
_XML = ("xml", "xsd", "xsl", "xslt", "rng", "sch", "nvdl", "rdf", "owl", "wsdl", "svg", "rss", "atom", "gml", "kml")
_TYPES = {"html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml", "txt": "text/plain"}
_TYPES |= dict.fromkeys(_XML, "application/xml")
_NAMED = 3  # files that are named of each reason
_MAX_DEPTH = 64
#: Below this the growth of a zip file tells nothing.
_GROWTH_BYTES = 4 << 20
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError)


class ImportLimits(Struct, frozen=True):
    """The limits of an import."""

    files: int = 500_000
    file_bytes: int = 64 << 20
    total_bytes: int = 16 << 30
    growth: int = 200  # of what comes out of a zip file to its size


class SourceFile(Struct):
    """One document of a source."""

    url: str
    body: bytes
    mime: str = ""  # as announced; empty: its content tells
    status: int = 200
    location: str = ""  # of a redirect
    at: float = 0.0  # when it was written or fetched, Unix time


class FileSource:
    """The documents of a path; what was left out is known when all were given."""

    def __init__(self, path: Path, limits: ImportLimits = ImportLimits()) -> None:  # noqa: B008  frozen
        self._path = path
        self._limits = limits
        self._left_out: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}
        self._files = self._bytes = 0
        self._read = self._choose()

    def _choose(self) -> Callable[[], Iterator[SourceFile]]:
        path = self._path
        if path.is_dir():
            return self._read_folder
        if not path.is_file():
            raise UsageError(f"{path} is no collection, folder, zip file or WARC file.")
        if path.name.lower().endswith(_ARCHIVES):
            return self._read_records
        if zipfile.is_zipfile(path):
            return self._read_zip
        raise UsageError(f"{path} cannot be imported; allowed: a folder, a zip file, a file {', '.join(_ARCHIVES)}.")

    def __iter__(self) -> Iterator[SourceFile]:
        for file in self._read():
            self._files += 1
            self._bytes += len(file.body)
            yield file

    def notes(self) -> list[str]:
        """What was left out, a sentence for each reason."""
        sentences = []
        for reason, names in self._left_out.items():
            count = self._counts[reason]
            more = f" and {count - len(names):,} more" if count > len(names) else ""
            sentences.append(f"{counted(count, 'file', 'is')} left out, {reason}: {', '.join(names)}{more}.")
        return sentences

    def _leave_out(self, name: str, reason: str) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + 1
        names = self._left_out.setdefault(reason, [])
        if len(names) < _NAMED:
            names.append(printable(name))

    def _is_full(self, name: str) -> bool:
        limits = self._limits
        full = self._files >= limits.files or self._bytes >= limits.total_bytes
        if full:
            self._leave_out(name, f"beyond {limits.files:,} files or {limits.total_bytes >> 20:,} MiB")
        return full

    # Folders

    def _read_folder(self) -> Iterator[SourceFile]:
        root = os.path.realpath(self._path)
        folders: list[tuple[str, str, tuple[str, ...]]] = [
            (root, "", (root,))
        ]  # path, name in the root, the real folders around
        while folders:
            path, name, around = folders.pop()
            try:
                with os.scandir(path) as listing:
                    entries = sorted(islice(listing, self._limits.files + 1), key=lambda entry: entry.name)
            except OSError as error:
                self._leave_out(name or ".", f"cannot be read ({error.strerror})")
                continue
            below: list[tuple[str, str, tuple[str, ...]]] = []
            for entry in entries:
                inner = f"{name}{entry.name}"
                real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                if entry.is_symlink() and os.path.commonpath((root, real)) != root:
                    self._leave_out(inner, "a link out of the folder")
                elif _is_folder(entry):
                    if real in around or len(around) > _MAX_DEPTH:
                        self._leave_out(inner, "a link to a folder around it, or too deep")
                    else:
                        below.append((entry.path, f"{inner}/", (*around, real)))
                elif self._is_full(inner):
                    return
                elif (file := self._read_file(entry.path, inner)) is not None:
                    yield file
            folders += reversed(below)

    def _read_file(self, path: str, name: str) -> SourceFile | None:
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode):
                    self._leave_out(name, "no ordinary file")
                    return None
                body = file.read(self._limits.file_bytes + 1)
        except OSError as error:
            self._leave_out(name, f"cannot be read ({error.strerror})")
            return None
        return self._take(FOLDER_HOST, name, body, at=found.st_mtime)

    def _take(self, host: str, name: str, body: bytes, *, at: float) -> SourceFile | None:
        """A file with its address, unless it is too large or has a name that no address can hold."""
        if len(body) > self._limits.file_bytes:
            self._leave_out(name, f"larger than {self._limits.file_bytes >> 20:,} MiB")
            return None
        url = urls.normalise(f"http://{host}/{quote(name.encode('utf-8', 'surrogateescape'))}")
        if url is None:
            self._leave_out(ascii(name), "no address can hold the name")
            return None
        return SourceFile(url, body, _TYPES.get(name.rpartition(".")[2].lower(), ""), at=at)

    # Zip files

    def _read_zip(self) -> Iterator[SourceFile]:
        room = max(_GROWTH_BYTES, os.path.getsize(self._path) * self._limits.growth)
        try:
            archive = zipfile.ZipFile(self._path)
        except _BAD_ZIP as error:
            self._leave_out(self._path.name, f"cannot be opened ({error})")
            return
        with archive:
            for info in archive.infolist():
                name = info.filename.replace("\\", "/")
                if info.is_dir():
                    continue
                if ".." in name.split("/") or name.startswith("/") or name[1:2] == ":":
                    self._leave_out(ascii(name), "its name leads out of the zip file")
                    continue
                if self._is_full(name):
                    return
                try:
                    with archive.open(info) as member:
                        body = member.read(min(self._limits.file_bytes, max(0, room)) + 1)
                except _BAD_ZIP as error:
                    self._leave_out(name, f"cannot be unpacked ({error})")
                    continue
                room -= len(body)
                if room < 0:
                    self._leave_out(name, f"the zip file grows more than {self._limits.growth}-fold")
                    return
                if (file := self._take(ZIP_HOST, name, body, at=_time_of(info))) is not None:
                    yield file

    # Archive files of others

    def _read_records(self) -> Iterator[SourceFile]:
        limit = self._limits.file_bytes
        for record in iter_records(self._path, limit=limit + 1):
            if record.kind == "unreadable" or not record.is_whole:
                self._leave_out(record.url or f"at byte {record.offset:,}", "the record cannot be read")
                continue
            url = urls.normalise(record.url)
            if url is None or record.kind not in ("response", "resource"):
                continue
            if self._is_full(url):
                return
            at = 0.0
            with suppress(ValueError, OverflowError):
                at = datetime.fromisoformat(record.date).timestamp() if record.date else 0.0
            headers = record.headers or {"content-type": record.mime}
            if 300 <= record.status < 400 and (target := urls.normalise(headers.get("location", ""), url)):
                yield SourceFile(url, b"", status=record.status, location=target, at=at)
            elif record.kind == "resource" or 200 <= record.status < 300:
                body = decode(record.body_raw, headers.get("content-encoding", ""), limit=limit + 1).body
                if len(body) > limit or len(record.body_raw) > limit:
                    self._leave_out(url, f"larger than {limit >> 20:,} MiB")
                else:
                    yield SourceFile(url, body, headers.get("content-type", ""), at=at)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _time_of(info: zipfile.ZipInfo) -> float:
    with suppress(ValueError, OverflowError):
        return datetime(*info.date_time).timestamp()
    return 0.0
