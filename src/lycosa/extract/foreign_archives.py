"""Foreign archives: the documents in archive files of any tool (WARC, ARC, WACZ), ready to be extracted.

Only the heads of the records are looked at here; the workers read the documents themselves.
"""

from __future__ import annotations

import base64
import binascii
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import islice
from typing import IO, TextIO

import msgspec
from isal import igzip
from msgspec import Raw, Struct

from lycosa.archive.packages import ANYWAY_BYTES, GROWTH, PACKAGE, ArchivePackage
from lycosa.archive.reader import StoredAnswer, iter_records
from lycosa.clock import iso_time
from lycosa.errors import UsageError
from lycosa.extract.job_runner import Tally
from lycosa.extract.messages import ExtractJob, ExtractResult
from lycosa.frontier.sqlite.extraction_store import ForeignDocument, Label
from lycosa.output.plain import counted

_HEAD_BYTES = 64 * 1024
_AHEAD = 20_000  # results that wait for one before them, so that the order stays that of the files


class ForeignDocuments:
    """The documents of archive files, each with the path that its bytes lie in; `close` removes what was unpacked."""

    def __init__(self, paths: Sequence[str]) -> None:
        for path in paths:
            if not os.path.isfile(path):
                what = "is a folder: name the archive files in it" if os.path.isdir(path) else "cannot be found"
                raise UsageError(f"The file {path} {what}.")
            if not os.access(path, os.R_OK):
                raise UsageError(f"The file {path} cannot be read: Permission denied.")
        self._paths = paths
        self._unpacked = ExitStack()
        self.revisits = 0  # records without a body: another record holds it
        self.notes: list[str] = []
        self.unread = 0  # files of which not everything could be read

    def close(self) -> None:
        self._unpacked.close()

    def __iter__(self) -> Iterator[tuple[ForeignDocument, str]]:
        for path in self._paths:
            if path.lower().endswith(PACKAGE):
                yield from self._read_package(os.path.abspath(path), path)
            else:
                yield from self._read(os.path.abspath(path), path)

    def _read_package(self, path: str, name: str) -> Iterator[tuple[ForeignDocument, str]]:
        """The documents of a WACZ; where each stands is written as the WACZ, # and the archive file in it."""
        package = ArchivePackage(path)
        self._unpacked.callback(package.close)
        names = list(package.members())
        problem = package.problem or ("" if names else "it holds no archive file")
        for member in names:
            file = self._unpacked.enter_context(self._temporary(member))
            problem = package.unpack(member, file) or problem
            for document, source in self._read(file.name, f"{name}#{member}"):
                yield msgspec.structs.replace(document, warc=f"{path}#{member}"), source
        if problem:
            self.notes.append(f"{name} was not read whole: {problem}.")
            self.unread += 1

    @staticmethod
    def _temporary(name: str) -> IO[bytes]:
        ending = ".gz" if name.lower().endswith(".gz") else ""
        return tempfile.NamedTemporaryFile(prefix="lycosa-", suffix=f".warc{ending}")

    def _read(self, path: str, name: str) -> Iterator[tuple[ForeignDocument, str]]:
        source, documents, broken = path, 0, 0
        if _is_one_member(path):
            unpacked = self._unpack(path, name)
            if unpacked is None:
                return
            source = unpacked
        for record in iter_records(source, limit=_HEAD_BYTES):
            if record.kind == "unreadable" or not record.is_whole:
                broken += 1  # half a page is none
            elif record.kind == "revisit":
                self.revisits += 1
            elif _is_document(record):
                documents += 1
                yield _foreign_document(record, path), source
        if broken:
            self.notes.append(f"{name}: {counted(broken, 'place')} cannot be read.")
            self.unread += 1
        elif not documents:
            self.notes.append(f"{name} holds no document.")

    def _unpack(self, path: str, name: str) -> str | None:
        limit = os.path.getsize(path) * GROWTH + ANYWAY_BYTES
        file = self._unpacked.enter_context(self._temporary("warc"))
        try:
            with igzip.IGzipFile(path, "rb") as packed:  # type: ignore[no-untyped-call]
                while chunk := packed.read(1 << 20):
                    file.write(chunk)
                    if file.tell() > limit:
                        self.notes.append(f"{name} was not read: it grows more than {GROWTH}-fold.")
                        self.unread += 1
                        return None
        except (OSError, EOFError, igzip.BadGzipFile) as error:
            if isinstance(error, OSError) and error.errno:
                raise
            self.notes.append(f"{name} breaks off: {error}.")
            self.unread += 1
        file.flush()
        return file.name


def _is_one_member(path: str) -> bool:
    """Whether several records share a gzip member, so that none of them can be reached alone."""
    first = [record for record in islice(iter_records(path, limit=0), 2) if record.kind != "unreadable"]
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b" and len(first) == 2 and not first[0].length


def _is_document(record: StoredAnswer) -> bool:
    if not record.url.lower().startswith(("http:", "https:")):
        return False
    return (record.kind == "response" and 200 <= record.status < 300) or record.kind == "resource"


def _foreign_document(record: StoredAnswer, path: str) -> ForeignDocument:
    try:
        at = datetime.fromisoformat(record.date).astimezone(UTC).timestamp() if record.date else 0.0
    except (ValueError, OverflowError):
        at = 0.0
    return ForeignDocument(
        url=record.url,
        fetched_at=at,
        digest=_digest(record.digest),
        warc=path,
        offset=record.offset,
        length=record.length,
    )


def _digest(text: str) -> bytes:
    """The SHA-1 that a WARC writes in base 32 (or, some tools, in hexadecimal digits); empty for other kinds."""
    kind, _, value = text.partition(":")
    if kind.lower() != "sha1":
        return b""
    try:
        return bytes.fromhex(value) if len(value) == 40 else base64.b32decode(value.upper())
    except (ValueError, binascii.Error):
        return b""


class RecordLine(Struct):
    """A record as it stands in a text file."""

    url: str
    kind: str
    data: Raw
    quarry: str
    version: str
    fetched: str
    warc: str
    offset: int
    digest: str


class Stream:
    """A queue that writes records as lines of JSON, in the order of the documents."""

    def __init__(self, documents: Iterator[tuple[ForeignDocument, str]], out: TextIO, label: Label) -> None:
        self._documents = documents
        self._out = out
        self._label = label
        self._key = 0  # of the last job
        self._next = 1  # the document whose records are to be written next
        self._under_way: dict[int, ForeignDocument] = {}
        self._waiting: dict[int, ExtractResult] = {}

    def next_jobs(self, limit: int) -> list[ExtractJob]:
        if len(self._waiting) > _AHEAD:
            return []
        jobs = []
        for document, path in islice(self._documents, limit):
            self._key += 1
            self._under_way[self._key] = document
            jobs.append(ExtractJob(self._key, path, document.offset, document.length, document.url))
        return jobs

    def put(self, results: list[ExtractResult], tally: Tally) -> None:
        for result in results:
            if result.outcome != "strike":
                self._waiting[result.key] = result
                kinds = [item.kind for item in result.items]
                tally.count(self._under_way[result.key].url, result.outcome, result.error, kinds)
        while self._next in self._waiting:
            self._write(self._under_way.pop(self._next), self._waiting.pop(self._next))
            self._next += 1
        self._out.flush()

    def finish(self) -> None:
        """Write what waits for documents that were never begun."""
        for key in sorted(self._waiting):
            self._write(self._under_way[key], self._waiting[key])
        self._out.flush()

    def _write(self, document: ForeignDocument, result: ExtractResult) -> None:
        fetched = iso_time(document.fetched_at) if document.fetched_at else ""
        for item in result.items:
            line = RecordLine(
                url=document.url,
                kind=item.kind,
                data=Raw(item.json.encode()),
                quarry=self._label.quarry,
                version=self._label.version,
                fetched=fetched,
                warc=document.warc,
                offset=document.offset,
                digest=document.digest.hex(),
            )
            self._out.write(msgspec.json.encode(line).decode() + "\n")
