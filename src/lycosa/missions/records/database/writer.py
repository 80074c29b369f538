"""Records into versions: what a page gives now is compared with what it gave before, and the difference is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from lycosa.missions.records.database.matching import FreshRecord, KnownRecord, give_keys, match_records
from lycosa.missions.records.database.model import Cause, What, compare_fields

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_to_json = msgspec.json.Encoder().encode

_KNOWN = """
SELECT record.id, record.kind, record.key, record.gone, version.id,
       (SELECT max(number) FROM version AS v WHERE v.record = record.id), version.data
FROM record JOIN version ON version.id = record.version WHERE record.page = ? AND record.quarry = ?"""
_ADD_RECORD = """
INSERT INTO record (page, kind, quarry, key, category, range, version, first_at, changed_at, fetched_at, warc, offset,
                    rules_version)
VALUES (?, ?, ?, ?, ?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'version'), ?, ?, ?, ?, ?,
        ?)"""
_ADD_VERSION = """
INSERT INTO version (record, number, what, cause, at, round, current, fetched_at, warc, offset, rules_version, source,
                     data)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_CONFIRM = """
UPDATE record SET key = ?, category = ?, range = ?, fetched_at = ?, warc = ?, offset = ?, rules_version = ?
WHERE id = ?"""
_TURN = "UPDATE record SET version = ?, changed_at = ?, gone = 0 WHERE id = ?"


class RecordOrigin(Struct, frozen=True, kw_only=True):
    """Where records come from and why they are written."""

    page: int
    quarry: str
    cause: Cause
    at: float
    round: int = 0
    fetched_at: float = 0.0
    warc: str = ""
    offset: int = 0
    rules_version: str = ""
    source: str = ""


class VersionWriter:
    """Writes versions of records within a transaction of its caller; counts what it wrote."""

    def __init__(self, database: apsw.Connection) -> None:
        self._database = database
        self.counts: dict[What, int] = {"new": 0, "changed": 0, "gone": 0, "back": 0}

    def replace(
        self, origin: RecordOrigin, records: Sequence[tuple[str, str]], *, is_new_page: bool = False
    ) -> tuple[list[FreshRecord], list[KnownRecord]]:
        """Put the records of a page, kind and JSON of each, in the place of those that its quarry gave before.

        Gives those that are there now, and those that were there before.
        """
        fresh = [FreshRecord(kind, text, _decode(text)) for kind, text in records]
        give_keys(fresh)
        known = [] if is_new_page else self.known(origin.page, origin.quarry)
        pairs, left = match_records(fresh, known)
        for record, before in pairs:
            self.write(origin, record, before)
        for former in left:
            self.remove(origin, former)
        return fresh, known

    def known(self, page: int, quarry: str) -> list[KnownRecord]:
        """The records of a page that the database has, also those that are gone."""
        return self._known(f"{_KNOWN} ORDER BY record.id", (page, quarry))

    def find(self, page: int, quarry: str, kind: str, key: str) -> KnownRecord | None:
        """One of them by its key."""
        found = self._known(f"{_KNOWN} AND record.kind = ? AND record.key = ?", (page, quarry, kind, key))
        return found[0] if found else None

    def _known(self, sql: str, values: Sequence[object]) -> list[KnownRecord]:
        return [
            KnownRecord(number, kind, key, bool(gone), version, last, data, _decode(data))
            for number, kind, key, gone, version, last, data in self._database.execute(sql, values)
        ]

    def write(self, origin: RecordOrigin, record: FreshRecord, before: KnownRecord | None) -> None:
        """Keep a record: as a new one, as a new version, or as a confirmation of what is known."""
        data = record.data
        category, range_ = str(data.get("@category") or ""), str(data.get("@range") or "")
        place = (origin.fetched_at, origin.warc, origin.offset, origin.rules_version)
        if before is None:
            row = (origin.page, record.kind, origin.quarry, record.key, category, range_, origin.at, origin.at, *place)
            self._database.execute(_ADD_RECORD, row)
            self._add_version(origin, self._database.last_insert_rowid(), 1, "new", record.text)
            return
        if before.gone or (before.text != record.text and compare_fields(before.data, data)):
            what: What = "back" if before.gone else "changed"
            self._database.execute("UPDATE version SET current = 0 WHERE id = ?", (before.version,))
            version = self._add_version(origin, before.id, before.number + 1, what, record.text)
            self._database.execute(_TURN, (version, origin.at, before.id))
        elif before.text != record.text:  # what the mission says of it
            self._database.execute("UPDATE version SET data = ? WHERE id = ?", (record.text, before.version))
        self._database.execute(_CONFIRM, (record.key, category, range_, *place, before.id))

    def remove(self, origin: RecordOrigin, record: KnownRecord) -> None:
        """Note that a record is there no more."""
        if record.gone:
            return
        self._add_version(origin, record.id, record.number + 1, "gone", None)
        self._database.execute("UPDATE record SET gone = 1, changed_at = ? WHERE id = ?", (origin.at, record.id))

    def _add_version(self, origin: RecordOrigin, record: int, number: int, what: What, text: str | None) -> int:
        self.counts[what] += 1
        row = (
            record,
            number,
            what,
            origin.cause,
            origin.at,
            origin.round,
            int(text is not None),
            origin.fetched_at,
            origin.warc,
            origin.offset,
            origin.rules_version,
            origin.source,
            text,
        )
        self._database.execute(_ADD_VERSION, row)
        return int(self._database.last_insert_rowid())


def encode_data(data: dict[str, Any]) -> str:
    """Data as the JSON that the database holds."""
    return _to_json(data).decode()
