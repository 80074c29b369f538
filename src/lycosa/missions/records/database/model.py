"""The records database: its tables, how it is made, opened and refused; and what it gives: records, their versions.

It is more than a copy of crawl.db: versions of records that an extraction replaced and imported records stand nowhere
else. So one that is damaged or newer is never made anew in silence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import apsw
from msgspec import Struct

from lycosa.derived.store import write_transaction
from lycosa.errors import CollectionError, Damaged
from lycosa.frontier.sqlite.errors import translate
from lycosa.missions.records.alerts.difference import is_counter, is_same

What = Literal["new", "changed", "gone", "back"]
Cause = Literal["page", "rules", "import"]
WHATS: tuple[What, ...] = ("new", "changed", "gone", "back")


class RecordFacts(Struct, frozen=True, kw_only=True):
    """What is known of a record beside its data."""

    id: int
    kind: str
    url: str
    host: str
    key: str  # by which it is known again among those of its page; empty: it is the only one
    category: str = ""
    range: str = ""
    quarry: str = ""
    rules_version: str = ""
    first_at: float = 0.0
    changed_at: float = 0.0
    fetched_at: float = 0.0
    warc: str = ""
    offset: int = 0


class StoredRecord(RecordFacts, frozen=True, kw_only=True):
    """A record as it is now; one that is gone as it was last."""

    data: dict[str, Any]
    number: int = 1  # of its version
    rules: dict[str, str] = {}  # field -> the rule that gave it, where that is known
    gone: bool = False

    @property
    def fields(self) -> dict[str, Any]:
        """The data without what the mission says of it."""
        return public_fields(self.data)


class RecordVersion(Struct, frozen=True, kw_only=True):
    """What a record held from one change to the next."""

    id: int  # grows with each change: a cursor
    number: int
    what: What
    cause: Cause
    at: float
    round: int
    data: dict[str, Any] | None  # None: the record was gone
    fetched_at: float = 0.0
    warc: str = ""
    offset: int = 0
    rules_version: str = ""
    source: str = ""  # the file that it was imported from


class FieldChange(Struct, frozen=True):
    """The values of a field before and after; None: it was not there."""

    name: str
    before: Any
    after: Any


class RecordChange(Struct, frozen=True, kw_only=True):
    """What became of a record; `back` tells before what it held when it went."""

    id: int
    what: What
    cause: Cause
    at: float
    round: int
    record: StoredRecord
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    fields: tuple[FieldChange, ...]


class NewRecord(Struct, frozen=True, kw_only=True):
    """A record on its way into the database."""

    kind: str
    url: str
    data: dict[str, Any]
    key: str = ""
    quarry: str = ""
    fetched_at: float = 0.0
    warc: str = ""
    offset: int = 0
    rules_version: str = ""
    gone: bool = False


def public_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record without what the mission says of it, which begins with "@"."""
    return {name: value for name, value in data.items() if not name.startswith("@")}


def compare_fields(
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    *,
    moments: tuple[float, float] | None = None,
) -> tuple[FieldChange, ...]:
    """The fields that differ, in their order; with the moments of both, those that differ in meaning."""
    found = _differences(before or {}, after or {})
    return tuple(each for each in found if moments is None or not is_same(each.before, each.after, moments=moments))


def find_news(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, moments: tuple[float, float]
) -> tuple[FieldChange, ...]:
    """The fields that differ in meaning, without those that count what people do."""
    found = compare_fields(before, after, moments=moments)
    return tuple(each for each in found if not is_counter(each.name))


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[FieldChange]:
    for name in dict.fromkeys((*before, *after)):
        if name.startswith("@"):
            continue
        old, new = before.get(name), after.get(name)
        if old != new or isinstance(old, bool) != isinstance(new, bool):
            yield FieldChange(name, old, new)


NAME = "records.db"
VERSION = 1
#: Marks the file as ours (SQLite's application_id): "LYRE".
_APPLICATION = 0x4C595245
_BUSY_MS = 60_000
#: Rows of some kilobytes fill pages of this size best.
_PAGE_BYTES = 16384
_PRAGMAS = """
PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536; PRAGMA temp_store = FILE;
PRAGMA journal_size_limit = 67108864"""
_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI

_VIEWS = """
CREATE VIEW known_records AS
    SELECT record.id, record.kind, page.url, page.host, record.key, record.category, record.range, version.data,
           version.number, record.first_at, record.changed_at, record.fetched_at, record.warc, record.offset,
           record.rules_version, record.quarry, record.gone, version.source
    FROM record JOIN page ON page.id = record.page
    JOIN version ON version.id = record.version AND version.record = record.id AND version.current;
CREATE VIEW records AS SELECT * FROM known_records WHERE NOT gone;
CREATE VIEW record_versions AS
    SELECT version.id, version.record, version.number, version.what, version.cause, version.at, version.round,
           record.kind, page.url, page.host, record.key, version.data, version.fetched_at, version.warc,
           version.offset, version.rules_version, version.source
    FROM version JOIN record ON record.id = version.record JOIN page ON page.id = record.page;
"""

_TABLES = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
-- The tables of the packages that build on these: the version of each.
CREATE TABLE package (name TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
-- The pages that records come from, with the copy that was read last. Of pages with the same content one is the owner
-- and has the records.
CREATE TABLE page (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, host TEXT NOT NULL, digest BLOB,
    fetched_at REAL NOT NULL DEFAULT -1, warc TEXT NOT NULL DEFAULT '', offset INTEGER NOT NULL DEFAULT 0,
    round INTEGER NOT NULL DEFAULT 0,
    turned_at REAL NOT NULL DEFAULT 0, gone INTEGER NOT NULL DEFAULT 0, owner INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX page_digest ON page (digest) WHERE digest IS NOT NULL;
-- What was last taken from a page: of which content, by which rules, when.
CREATE TABLE taken (
    page INTEGER, quarry TEXT, digest BLOB, version TEXT, at REAL, records INTEGER,
    PRIMARY KEY (page, quarry)
) WITHOUT ROWID;
-- Where a record stands and by which rules it was found last; its versions tell where they were found first.
CREATE TABLE record (
    id INTEGER PRIMARY KEY, page INTEGER NOT NULL, kind TEXT NOT NULL, quarry TEXT NOT NULL, key TEXT NOT NULL,
    category TEXT NOT NULL, range TEXT NOT NULL, version INTEGER NOT NULL, first_at REAL, changed_at REAL,
    gone INTEGER NOT NULL DEFAULT 0, fetched_at REAL NOT NULL, warc TEXT NOT NULL, offset INTEGER NOT NULL,
    rules_version TEXT NOT NULL
);
CREATE INDEX record_page ON record (page, kind, key);
CREATE INDEX record_kind ON record (kind, changed_at);
CREATE INDEX record_quarry ON record (kind, quarry);
-- What a record held after each change; without data it was gone. `current` is its newest version with data.
CREATE TABLE version (
    id INTEGER PRIMARY KEY AUTOINCREMENT, record INTEGER NOT NULL, number INTEGER NOT NULL, what TEXT NOT NULL,
    cause TEXT NOT NULL, at REAL NOT NULL, round INTEGER NOT NULL, current INTEGER NOT NULL, fetched_at REAL NOT NULL,
    warc TEXT NOT NULL, offset INTEGER NOT NULL, rules_version TEXT NOT NULL, source TEXT NOT NULL, data TEXT
);
CREATE INDEX version_record ON version (record, number);
CREATE INDEX version_round ON version (round);
-- The mission's rules, by the version that they have.
CREATE TABLE description (version TEXT PRIMARY KEY, at REAL, tables TEXT NOT NULL) WITHOUT ROWID;
-- On how many pages of a range records were looked for, by round and rules, and on how many a field was found; of a
-- page with several records, the part of them that has it.
CREATE TABLE health (
    round INTEGER, rules_version TEXT, kind TEXT, area TEXT, pages INTEGER, at REAL,
    PRIMARY KEY (round, rules_version, kind, area)
) WITHOUT ROWID;
CREATE TABLE field_health (
    round INTEGER, rules_version TEXT, kind TEXT, area TEXT, field TEXT, found REAL,
    PRIMARY KEY (round, rules_version, kind, area, field)
) WITHOUT ROWID;
{_VIEWS}"""


@contextmanager
def records_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into sentences about records.db."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as problem:
        raise Damaged(
            f"{path} is damaged ({problem}): move it away, and the next command makes it anew from the collection, "
            "with the records of now but without their earlier versions and what was imported."
        ) from None
    except apsw.Error as problem:
        raise translate(problem, path) from None


def open_in(folder: Path) -> apsw.Connection:
    """Open records.db in a folder, or make it; where nothing can be written, as it is or in memory."""
    path = folder / NAME
    with records_errors(path):
        if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
            return _open_unwritable(path)
        database = apsw.Connection(str(path), flags=_FLAGS)
        try:
            database.set_busy_timeout(_BUSY_MS)
            _check(database, path)
            database.execute(_PRAGMAS).fetchall()  # or all but the first would wait
        except BaseException:
            database.close()
            raise
        return database


def _open_unwritable(path: Path) -> apsw.Connection:
    if path.exists():
        uri = f"{path.resolve().as_uri()}?immutable=1"
        database = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        _refuse_foreign(database, path)
        return database
    database = apsw.Connection(":memory:", flags=_FLAGS)
    database.execute(_TABLES)
    return database


def _check(database: apsw.Connection, path: Path) -> None:
    """Make the tables where there are none; refuse what is not ours or newer."""
    if _refuse_foreign(database, path):
        return
    database.execute(f"PRAGMA page_size = {_PAGE_BYTES}").fetchall()
    with write_transaction(database):
        if not database.execute("SELECT count(*) FROM sqlite_schema").get:  # nobody else was faster
            database.execute(_TABLES)


def _refuse_foreign(database: apsw.Connection, path: Path) -> bool:
    """Whether it has its tables already."""
    application = database.execute("PRAGMA application_id").get
    version = int(database.execute("PRAGMA user_version").get)
    if application == _APPLICATION and version > VERSION:
        raise CollectionError(
            f"{path} was made by a newer lycosa (its version is {version}, this one knows {VERSION}): upgrade lycosa."
        )
    if application == _APPLICATION:
        return True
    if database.execute("SELECT count(*) FROM sqlite_schema").get:
        raise CollectionError(f"{path} is no records database of lycosa: move it away, and it is made anew.")
    return False
