"""Answer catalogue: the newest answer that archive files hold of each URL, and which record has its body.

A small database beside the collection's own, made when that one must be rebuilt, and thrown away afterwards.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from lycosa import urls
from lycosa.archive import unstored_log
from lycosa.archive.reader import LIMIT, StoredAnswer, iter_records, opened_record, read_record
from lycosa.disk import make_fault
from lycosa.errors import DiskFull
from lycosa.model import ArchivePlace

_TABLE = """
CREATE TABLE entry (
    key INTEGER PRIMARY KEY, id INTEGER, url TEXT, at REAL, kind TEXT, digest BLOB, warc TEXT, offset INTEGER,
    length INTEGER, made INTEGER
);
CREATE TABLE rules (url TEXT, at REAL, warc TEXT, offset INTEGER, length INTEGER)"""
_INDEX = """
CREATE INDEX IF NOT EXISTS by_id ON entry (id, at);
CREATE INDEX IF NOT EXISTS by_digest ON entry (digest) WHERE kind = 'response'"""
_ADD = "INSERT INTO entry (id, url, at, kind, digest, warc, offset, length, made) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_NEWEST = """
SELECT key, url, at, kind, digest, warc, offset, length, made FROM entry AS one
WHERE key > ?1 AND NOT EXISTS (SELECT 1 FROM entry AS other WHERE other.id = one.id AND other.at > one.at)
ORDER BY at, key"""
_HOLDER = "SELECT warc, offset, length FROM entry WHERE digest = ? AND kind = 'response' ORDER BY at LIMIT 1"
_REFERRED = """
SELECT warc, offset, length FROM entry WHERE id = ?1 AND kind = 'response' AND at BETWEEN ?2 - 0.001 AND ?2 + 0.001"""
_ADD_RULES = "INSERT INTO rules VALUES (?, ?, ?, ?, ?)"
_RULES = "SELECT max(at), warc, offset, length FROM rules GROUP BY url ORDER BY min(rowid)"
_HEAD = 1 << 16  # bytes of a record that are looked at


class CataloguedAnswer(Struct, gc=False):
    """The newest answer that an archive holds of a URL."""

    key: int
    url: str
    at: float  # Unix time of the request
    kind: str  # response, revisit, or "unkept": a line of a record on answers that were not stored
    digest: bytes
    warc: str
    offset: int
    length: int
    rendered: int  # offset of the page that a browser made of it; -1: there is none. Of "unkept" the number of its line


class AnswerCatalogue:
    """What a folder of archive files holds; `close` forgets it."""

    def __init__(self, folder: Path, path: Path) -> None:
        self._folder = folder
        self._path = path
        self._spool = path.with_name(f"{path.name}.body")
        self._last_unstored: tuple[str, int, list[unstored_log.UnstoredAnswer | None]] = ("", -1, [])
        path.unlink(missing_ok=True)
        with _translated(path):
            self._db = apsw.Connection(str(path))
            for pragma in ("journal_mode = OFF", "synchronous = OFF"):  # it is thrown away after a crash
                self._db.execute(f"PRAGMA {pragma}")
            self._db.execute(_TABLE)

    def close(self) -> None:
        self._db.close()
        for path in (self._path, self._spool):
            path.unlink(missing_ok=True)

    def reopen(self) -> None:
        """Give a process that was just forked a connection of its own."""
        self._db = apsw.Connection(str(self._path))

    def read(self, name: str, *, start: int = 0) -> int:
        """Catalogue a file, from an offset on; returns how many answers it holds."""
        count = 0
        before = StoredAnswer("")
        with _translated(self._path), self._db:
            for record in iter_records(self._folder / name, limit=_HEAD, start=start):
                if record.kind == "metadata" and record.mime == unstored_log.TYPE:
                    count += self._read_unstored(name, record)
                row = _describe(record)
                if row is not None and _is_rules(record):
                    self._db.execute(_ADD_RULES, (row[1], row[2], name, record.offset, record.length))
                elif row is not None:
                    at = before.offset if before.kind == "conversion" and before.url == record.url else -1
                    self._db.execute(_ADD, (*row, name, record.offset, record.length, at))
                    count += 1
                before = record
        return count

    def _read_unstored(self, name: str, record: StoredAnswer) -> int:
        """Catalogue the answers that were not stored, by a record with their lines."""
        lines = self._unstored_at(name, record.offset, record.length)
        for index, line in enumerate(lines):
            if line is not None and (url := urls.normalise(line.url)):
                row = (urls.url_id(url), url, line.at, "unkept", b"", name, record.offset, record.length, index)
                self._db.execute(_ADD, row)
        return len(lines)

    def unstored(self, entry: CataloguedAnswer) -> unstored_log.UnstoredAnswer | None:
        """The line of an answer that was not stored; None where it cannot be read."""
        lines = self._unstored_at(entry.warc, entry.offset, entry.length)
        return lines[entry.rendered] if entry.rendered < len(lines) else None

    def _unstored_at(self, warc: str, offset: int, length: int) -> list[unstored_log.UnstoredAnswer | None]:
        if self._last_unstored[:2] != (warc, offset):  # the lines of a record are asked for one after the other
            self._last_unstored = (
                warc,
                offset,
                unstored_log.decode(self._read(ArchivePlace(warc, offset, length), LIMIT).body_raw),
            )
        return self._last_unstored[2]

    def finish(self) -> None:
        """Close the database, as before a fork; call `reopen` before anything is asked."""
        with _translated(self._path):
            self._db.execute(_INDEX)
        self._db.close()

    def newest(self, *, after: int = 0) -> Iterator[CataloguedAnswer]:
        """The newest answer of each URL in the order of their dates; `after`: only those with a higher key."""
        return (CataloguedAnswer(*row) for row in self._db.execute(_NEWEST, (after,)))

    def rules(self, *, limit: int = LIMIT) -> Iterator[tuple[float, StoredAnswer]]:
        """The newest robots.txt of each origin, with the time at which it was asked for."""
        rows: list[Any] = self._db.execute(_RULES).fetchall()
        for at, warc, offset, length in rows:
            yield at, self._read(ArchivePlace(warc, offset, length), limit)

    def rendered(self, entry: CataloguedAnswer, *, limit: int = LIMIT) -> bytes:
        """The page that a browser made of an answer; empty if none did."""
        return b"" if entry.rendered < 0 else self._read(ArchivePlace(entry.warc, entry.rendered), limit).body_raw

    def answer(self, entry: CataloguedAnswer, *, limit: int = LIMIT) -> tuple[StoredAnswer, ArchivePlace]:
        """An answer with its body, or as much of it as `limit` allows, and the place of the record that holds it."""
        place = ArchivePlace(entry.warc, entry.offset, entry.length)
        record = self._read(place, limit)
        if entry.kind == "revisit":
            holder = self._db.execute(_HOLDER, (entry.digest,)).fetchone() if entry.digest else self._referred(record)
            if holder is None:
                record.problem = "the body that it refers to is not in the archive"
            else:
                place = ArchivePlace(*holder)
                held = self._read(place, limit)
                record.body_raw, record.is_cut = held.body_raw, held.is_cut
        return record, place

    def spool_body(self, place: ArchivePlace) -> tuple[Path, str]:
        """Copy the body of a record, however long it is, into a file, and tell what is wrong with the record."""
        try:
            with (
                open(self._spool, "wb") as out,
                opened_record(self._folder / place.file, place.offset, length=place.length) as (record, pieces),
            ):
                out.writelines(pieces)
        except OSError as error:
            raise make_fault(error, str(self._spool)) from None
        return self._spool, record.problem

    def _referred(self, record: StoredAnswer) -> tuple[str, int, int] | None:
        """The place of the record that a revisit without a digest refers to; lycosa 0.1 wrote such ones at first."""
        url, at = urls.normalise(record.refers_to_url), _time_of(record.refers_to_date)
        if url is None or at is None:
            return None
        place: tuple[str, int, int] | None = self._db.execute(_REFERRED, (urls.url_id(url), at)).fetchone()
        return place

    def _read(self, place: ArchivePlace, limit: int) -> StoredAnswer:
        return read_record(self._folder / place.file, place.offset, length=place.length, limit=limit)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn errors of SQLite, which can fail here for one reason, into ours: there is no room."""
    try:
        yield
    except apsw.Error:
        raise DiskFull(f"There is no room left to write {path}: make room and run the same command again.") from None


def _describe(record: StoredAnswer) -> tuple[int, str, float, str, bytes] | None:
    """The row of a record that is a whole answer of its own; None for any other."""
    if record.kind not in ("response", "revisit") or not record.status or not record.length:
        return None
    fine = record.kind == "response" and 200 <= record.status < 300
    if fine and not record.identified and not _is_rules(record):
        return None  # what a page in a browser asked for
    if record.kind == "revisit" and "identical-payload-digest" not in record.profile:
        return None  # not modified: the answer before it tells all
    url, at = urls.normalise(record.url), _time_of(record.date)
    if url is None or at is None:
        return None
    try:
        digest = base64.b32decode(record.digest.rpartition(":")[2])
    except (ValueError, binascii.Error):
        return None
    return urls.url_id(url), url, at, record.kind, digest


def _is_rules(record: StoredAnswer) -> bool:
    """Whether it is a robots.txt that was asked for its rules; as a page it would have a type."""
    return not record.identified and record.url.endswith("/robots.txt") and record.url.count("/") == 3


def _time_of(date: str) -> float | None:
    try:
        return datetime.fromisoformat(date).timestamp()
    except (ValueError, OverflowError):
        return None
