"""List of answers: all that the archive of a collection holds, by address and date, as indexes of archives are.

It is what a CDX server and Memento answer from, and how an import knows what is there. It follows the archive files: of
a file that has grown only the rest is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from lycosa import urls
from lycosa.archive import unstored_log
from lycosa.archive.reader import StoredAnswer, iter_records, read_record
from lycosa.archive.segment_store import read_places
from lycosa.archive.surt import surt_of
from lycosa.collection.collection import Collection
from lycosa.derived.store import Derived, write_transaction

_TABLES = """
CREATE TABLE file (id INTEGER PRIMARY KEY, name TEXT UNIQUE, upto INTEGER);
CREATE TABLE answer (
    key TEXT, at INTEGER, url TEXT, kind TEXT, status INTEGER, mime TEXT, digest TEXT, file INTEGER, offset INTEGER,
    length INTEGER
);
CREATE INDEX answer_key ON answer (key, at);
CREATE INDEX answer_file ON answer (file);
CREATE INDEX answer_digest ON answer (digest);
"""
ANSWERS = Derived(
    name="answers.db",
    version=1,
    tables=_TABLES,
    make="lycosa.derived.answer_list:fill",
    in_steps=True,
    counted="answer",
)
_ADD = "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_KINDS = frozenset(("response", "revisit", "resource"))
_HEAD_BYTES = 1 << 16
_STEP = 5_000  # answers that are committed at once


def fill(collection: Collection, database: apsw.Connection) -> None:
    """Bring the list up to date with the archive."""
    sizes = {str(name): int(size) for name, size in collection.rows("SELECT name, size FROM warc")}
    known = {name: (number, upto) for number, name, upto in database.execute("SELECT id, name, upto FROM file")}
    for name, (number, upto) in known.items():
        if sizes.get(name, 0) < upto:  # it is gone, or was cut
            with write_transaction(database):
                database.execute("DELETE FROM answer WHERE file = ?", (number,))
                database.execute("DELETE FROM file WHERE id = ?", (number,))
    there = read_places(collection.archive)
    for name, size in sizes.items():
        path = collection.archive / Path(name).name
        if path.exists() or path.name in there:
            _read_file(database, path, size)


def _read_file(database: apsw.Connection, path: Path, size: int) -> None:
    row = database.execute("SELECT id, upto FROM file WHERE name = ?", (path.name,)).fetchone()
    number, upto = row or (None, 0)
    if upto >= size:
        return
    if number is None:
        database.execute("INSERT INTO file (name, upto) VALUES (?, 0)", (path.name,))
        number = database.last_insert_rowid()
    rows: list[tuple[Any, ...]] = []
    for record in iter_records(path, limit=_HEAD_BYTES, start=upto):
        if record.offset >= size:
            break
        if record.length and record.offset + record.length <= size:
            rows += [(*row, number, record.offset, record.length) for row in _describe(record, path)]
        if len(rows) >= _STEP:
            _write(database, rows, number, record.offset + record.length)
            rows = []
    _write(database, rows, number, size)


def _write(database: apsw.Connection, rows: list[tuple[Any, ...]], number: int, upto: int) -> None:
    with write_transaction(database):
        database.executemany(_ADD, rows)
        database.execute("UPDATE file SET upto = ? WHERE id = ?", (upto, number))


def _describe(record: StoredAnswer, path: Path) -> Iterator[tuple[object, ...]]:
    """The rows of a record: one of an answer; of lines on answers that were not stored, one each."""
    if record.kind in _KINDS and record.url:
        url = urls.normalise(record.url) or record.url
        status = record.status or (200 if record.kind == "resource" else 0)
        yield surt_of(url), microseconds(record.date), url, record.kind, status, record.mime, record.digest
    elif record.kind == "metadata" and record.mime == unstored_log.TYPE:
        for line in unstored_log.decode(read_record(path, record.offset, length=record.length).body_raw):
            if line is not None:
                yield surt_of(line.url), round(line.at * 1e6), line.url, "unstored", line.status, line.mime, ""


def microseconds(date: str) -> int:
    """A date as archives write it, in microseconds of Unix time; 0 where it is none."""
    with suppress(ValueError, OverflowError):
        return round(datetime.fromisoformat(date).timestamp() * 1e6)
    return 0
