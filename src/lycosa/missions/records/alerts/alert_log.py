"""The alert log: what was told, how far each alert has read, and the values that readers know of.

It stands in the records database, so that an alert, the messages that tell it and how far was read are one transaction.
"""

from __future__ import annotations

import uuid
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from lycosa.missions.records.alerts.difference import Part
from lycosa.missions.records.database import RecordStore
from lycosa.text.fingerprint import hash_text

_VERSION = 1
_TABLES = """
CREATE TABLE alert_cursor (alert TEXT PRIMARY KEY, change INTEGER NOT NULL, round INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE alert_value (
    alert TEXT, record INTEGER, field TEXT, told TEXT, told_at REAL, current TEXT, current_at REAL, since INTEGER,
    seen BLOB, PRIMARY KEY (alert, record, field)) WITHOUT ROWID;
CREATE INDEX alert_unsettled ON alert_value (alert, record, field) WHERE since > 0;
CREATE TABLE alert_page (
    alert TEXT, url TEXT, examined INTEGER, told INTEGER, since INTEGER, back INTEGER, seen BLOB,
    PRIMARY KEY (alert, url)) WITHOUT ROWID;
CREATE TABLE alert_item (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, alert TEXT NOT NULL, at REAL NOT NULL, item TEXT NOT NULL);
CREATE INDEX alert_items ON alert_item (alert, id);
"""
_NAMESPACE = uuid.UUID("8c2b6a0e-52f1-4c35-9a55-6b1d8f1a7c10")
#: Values and lines of a thing that are remembered, to know when it goes back and forth.
_MAX_SEEN = 2000

Hashes: TypeAlias = "array[int]"


class ShownDifference(Struct, frozen=True):
    """What became of a field, or of the text of a page: lines of parts."""

    field: str  # empty: the text of a page
    what: str  # appears, disappears, changed, and for a new record its value
    lines: tuple[tuple[Part, ...], ...]
    left_out: int = 0  # lines


class AlertItem(Struct, frozen=True, kw_only=True):
    """One thing that readers are told, once."""

    key: str
    alert: str
    at: float
    what: str  # new, changed, gone, back
    url: str
    title: str
    kind: str = ""  # of the record; empty: it is a page
    record: int = 0
    round: int = 0
    differences: tuple[ShownDifference, ...] = ()

    @property
    def id(self) -> str:
        """A name for ever, as feeds need one."""
        return f"urn:uuid:{uuid.uuid5(_NAMESPACE, self.key)}"


class Cursor(Struct):
    """How far an alert has read: the last change of records, the last round of pages."""

    change: int
    round: int


class KnownValue(Struct):
    """What readers know of a field, what it is now, and since which round it differs from what they know."""

    told: Any
    told_at: float
    current: Any
    current_at: float
    since: int = 0  # 0: they know what it is
    seen: Hashes = msgspec.field(default_factory=lambda: array("I"))


class KnownPage(Struct):
    """What readers know of a page, by rounds: the last one looked at, that of the copy that they know."""

    examined: int
    told: int
    since: int = 0  # the round since which it is otherwise, and that is not told as it was so before
    back: int = 0  # the round in which it came back
    seen: Hashes = msgspec.field(default_factory=lambda: array("I"))


class AlertLog:
    """The tables of the alerts; its methods that write belong into a transaction of the store."""

    def __init__(self, store: RecordStore) -> None:
        store.ensure("alert", _VERSION, _TABLES)
        self._database = store.connection

    def cursor(self, alert: str) -> Cursor | None:
        """How far an alert has read; None: it is new."""
        row = self._database.execute("SELECT change, round FROM alert_cursor WHERE alert = ?", (alert,)).fetchone()
        return None if row is None else Cursor(*row)

    def set_cursor(self, alert: str, cursor: Cursor) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO alert_cursor VALUES (?, ?, ?)", (alert, cursor.change, cursor.round)
        )

    def value(self, alert: str, record: int, field: str) -> KnownValue | None:
        sql = "SELECT told, told_at, current, current_at, since, seen FROM alert_value"
        row = self._database.execute(
            f"{sql} WHERE alert = ? AND record = ? AND field = ?", (alert, record, field)
        ).fetchone()
        return None if row is None else _read_value(row)

    def unsettled_values(self, alert: str, until: int) -> list[tuple[int, str, KnownValue]]:
        """The values that are otherwise than readers know since this round or an earlier one."""
        rows: list[Any] = self._database.execute(
            "SELECT record, field, told, told_at, current, current_at, since, seen FROM alert_value"
            " WHERE alert = ? AND since > 0 AND since <= ?",
            (alert, until),
        ).fetchall()
        return [(record, field, _read_value(row)) for record, field, *row in rows]

    def set_value(self, alert: str, record: int, field: str, value: KnownValue) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO alert_value VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(alert, record, field, _encode(value.told), value.told_at, _encode(value.current), value.current_at),
                *(value.since, value.seen.tobytes()),
            ),
        )

    def forget_values(self, alert: str, record: int) -> None:
        """Forget what readers know of a record: it is read by other rules now."""
        self._database.execute("DELETE FROM alert_value WHERE alert = ? AND record = ?", (alert, record))

    def page(self, alert: str, url: str) -> KnownPage | None:
        row = self._database.execute(
            "SELECT examined, told, since, back, seen FROM alert_page WHERE alert = ? AND url = ?", (alert, url)
        ).fetchone()
        return None if row is None else _read_page(row)

    def unsettled_pages(self, alert: str, until: int) -> list[tuple[str, KnownPage]]:
        """The pages that are otherwise than readers know since this round or an earlier one."""
        rows: list[Any] = self._database.execute(
            "SELECT url, examined, told, since, back, seen FROM alert_page WHERE alert = ? AND since BETWEEN 1 AND ?",
            (alert, until),
        ).fetchall()
        return [(url, _read_page(row)) for url, *row in rows]

    def set_page(self, alert: str, url: str, page: KnownPage) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO alert_page VALUES (?, ?, ?, ?, ?, ?, ?)",
            (alert, url, page.examined, page.told, page.since, page.back, page.seen.tobytes()),
        )

    def add(self, item: AlertItem) -> bool:
        """Log an item; False where it was told before."""
        self._database.execute(
            "INSERT OR IGNORE INTO alert_item (key, alert, at, item) VALUES (?, ?, ?, ?)",
            (item.key, item.alert, item.at, msgspec.json.encode(item).decode()),
        )
        return self._database.changes() > 0

    def items(self, alerts: Iterable[str] | None = None, *, limit: int = 100) -> Iterator[AlertItem]:
        """What was told, the newest first; of all alerts or of these."""
        names = None if alerts is None else list(alerts)
        where = "" if names is None else f" WHERE alert IN ({', '.join('?' * len(names))})"
        sql = f"SELECT item FROM alert_item{where} ORDER BY id DESC LIMIT ?"
        rows: list[Any] = self._database.execute(sql, (*(names or ()), limit)).fetchall()
        for (text,) in rows:
            yield msgspec.json.decode(text, type=AlertItem)


def remember(seen: Hashes, marks: Iterable[str]) -> Hashes:
    """The hashes with those of further texts; the oldest are forgotten."""
    fresh = [value for value in dict.fromkeys(map(hash_text, marks)) if value not in seen]
    return array("I", [*seen, *fresh][-_MAX_SEEN:])


def knows(seen: Hashes, marks: Iterable[str]) -> bool:
    """Whether all these texts were met before."""
    known = frozenset(seen)
    return all(hash_text(mark) in known for mark in marks)


def _encode(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _read_value(row: Any) -> KnownValue:
    told, told_at, current, current_at, since, seen = row
    return KnownValue(
        told=msgspec.json.decode(told),
        told_at=told_at,
        current=msgspec.json.decode(current),
        current_at=current_at,
        since=since,
        seen=_read_hashes(seen),
    )


def _read_page(row: Any) -> KnownPage:
    examined, told, since, back, seen = row
    return KnownPage(examined, told, since, back, _read_hashes(seen))


def _read_hashes(blob: bytes) -> Hashes:
    hashes = array("I")
    hashes.frombytes(blob)
    return hashes
