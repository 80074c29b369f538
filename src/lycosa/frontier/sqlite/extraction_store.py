"""Extraction store: the documents that a quarry has not extracted yet, and the records that it made of the others.

A body is extracted once, for the page that brought it first; pages with the same content, in whatever round, share its
records through their digest. A crash between two batches repeats at most what was under way, and doubles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw
import msgspec
from msgspec import Struct

from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.errors import translate
from lycosa.model import IS_PAGE

P = ParamSpec("P")
R = TypeVar("R")

_UNDONE = """
NOT EXISTS (
    SELECT 1 FROM extracted AS had WHERE had.n = content.n AND had.round = content.round
    AND had.quarry = ?1 AND had.version = ?2 AND had.outcome NOT IN ('strike', 'due'))"""
_DUE = f"""
SELECT content.seq, content.n, content.round, page.warc, page.offset, page.length, url.url, coalesce(
    (SELECT strikes FROM extracted AS had WHERE had.n = content.n AND had.round = content.round AND had.quarry = ?1
     AND had.version = ?2), 0)
FROM content CROSS JOIN page USING (n, round) CROSS JOIN url USING (n)
WHERE content.seq > ?3 AND {IS_PAGE} AND {_UNDONE} ORDER BY content.seq LIMIT ?4"""
_COUNT = f"""
SELECT count(*) FROM content CROSS JOIN url USING (n)
WHERE content.seq > ?3 AND {IS_PAGE} AND {_UNDONE}"""
_DONE = "INSERT OR REPLACE INTO extracted VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DROP = "DELETE FROM record WHERE n = ? AND round = ? AND quarry = ?"
_RECORD = "INSERT INTO record (n, round, quarry, mission, kind, json) VALUES (?, ?, ?, ?, ?, ?)"
_STILL = "SELECT 1 FROM page WHERE n = ? AND round = ? AND warc = ? AND offset = ?"
_GUEST = """
INSERT INTO guest (url, fetched_at, digest, warc, offset, length) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (warc, offset) DO UPDATE SET url = excluded.url RETURNING id"""
_GUEST_HAD = "SELECT version, outcome, strikes FROM extracted WHERE n = ? AND round = 0 AND quarry = ?"


class DueDocument(Struct, frozen=True, gc=False):
    """A document that is to be extracted."""

    seq: int  # where it stands in the order of arrival; 0 for a foreign document
    row: int
    round: int
    warc: str
    offset: int
    length: int
    url: str
    strikes: int = 0


class ForeignDocument(Struct, frozen=True, gc=False):
    """A document of an archive file that is not the collection's own."""

    url: str
    fetched_at: float
    digest: bytes
    warc: str  # absolute path
    offset: int
    length: int


class ExtractedDocument(Struct, frozen=True, gc=False):
    """The result of extracting one document."""

    due: DueDocument
    outcome: str
    error: str = ""
    strikes: int = 0
    records: tuple[tuple[str, str], ...] = ()  # kind and JSON of each


class Label(Struct, frozen=True):
    """The quarry, its version and the mission that records belong to."""

    quarry: str
    version: str
    mission: str = ""


Method = Callable[Concatenate["ExtractionStore", P], R]


def _translated(method: Method[P, R]) -> Method[P, R]:
    @wraps(method)
    def call(self: ExtractionStore, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except apsw.Error as problem:
            raise translate(problem, self.path) from problem

    return call  # type: ignore[return-value]  # wraps() names the first argument


class ExtractionStore:
    """The records of a collection, for one quarry; opens a connection of its own."""

    def __init__(self, path: Path, label: Label) -> None:
        self.path = path
        self.label = label
        self._db = schema.connect(path)

    def close(self) -> None:
        self._db.close()

    @_translated
    def due(self, *, after: int, limit: int) -> list[DueDocument]:
        """The next documents beyond a place in the order of arrival that have no result of this version."""
        bindings = (self.label.quarry, self.label.version, after, limit)
        return [DueDocument(*row) for row in self._db.execute(_DUE, bindings)]

    @_translated
    def count_due(self, *, after: int = 0) -> int:
        """How many there are; in one pass over all contents."""
        return int(self._db.execute(_COUNT, (self.label.quarry, self.label.version, after)).get)

    @_translated
    def forget(self, *, aside_only: bool = False) -> None:
        """Make documents due again, all or those that were set aside; their records stay until there are new ones."""
        aside = " AND outcome <> 'done'" if aside_only else ""
        with self._db:
            sql = f"UPDATE extracted SET outcome = 'due', error = '', strikes = 0 WHERE quarry = ?{aside}"
            self._db.execute(sql, (self.label.quarry,))

    @_translated
    def add_foreign(self, documents: Iterable[ForeignDocument]) -> list[DueDocument | None]:
        """Give documents of other archives their row numbers; None for those that are extracted already."""
        due: list[DueDocument | None] = []
        with self._db:
            for document in documents:
                row = msgspec.structs.astuple(document)
                n = -int(self._db.execute(_GUEST, row).get)
                had: Any = self._db.execute(_GUEST_HAD, (n, self.label.quarry)).fetchone()
                same = had is not None and had[0] == self.label.version
                if same and had[1] not in ("strike", "due"):
                    due.append(None)
                    continue
                due.append(
                    DueDocument(
                        seq=0,
                        row=n,
                        round=0,
                        warc=document.warc,
                        offset=document.offset,
                        length=document.length,
                        url=document.url,
                        strikes=had[2] if same else 0,
                    )
                )
        return due

    @_translated
    def commit(self, rows: Iterable[ExtractedDocument], *, now: float) -> None:
        """Put these results in the place of earlier ones, all of them or none.

        A page whose bytes were lost in the meantime is left out: it is fetched, and then due, again.
        """
        db = self._db
        rows = sorted(rows, key=lambda row: (row.due.row, row.due.round))
        db.execute("BEGIN IMMEDIATE")
        try:
            self._write([row for row in rows if self._is_there(row.due)], now)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _is_there(self, due: DueDocument) -> bool:
        return due.row < 0 or self._db.execute(_STILL, (due.row, due.round, due.warc, due.offset)).get is not None

    def _write(self, rows: list[ExtractedDocument], now: float) -> None:
        quarry, version, mission = self.label.quarry, self.label.version, self.label.mission
        keys = [(row.due.row, row.due.round, quarry) for row in rows]
        self._db.executemany(_DROP, keys)
        records = (
            (*key, mission, kind, text) for key, row in zip(keys, rows, strict=True) for kind, text in row.records
        )
        self._db.executemany(_RECORD, records)
        results = (
            (*key, version, row.outcome, row.error, row.strikes, len(row.records), now)
            for key, row in zip(keys, rows, strict=True)
        )
        self._db.executemany(_DONE, results)
