"""Records into versions: what a page gives now is compared with what it gave before, and the difference is kept.

Before that a record is known again: which of those that a page had before is which of those that it has now. Beside it,
on how many of the pages a field is found is added up as they are read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from lycosa.missions.records.database.model import Cause, What, compare_fields, public_fields

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_to_json = msgspec.json.Encoder().encode

_KNOWN = """
SELECT record.id, record.kind, record.key, record.gone, version.id,
       (SELECT max(number) FROM version AS v WHERE v.record = record.id), version.data,
       coalesce(nullif(version.fetched_at, 0), version.at)
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
#: What the page says now in other signs, or the mission of it, is what the version holds, from where it stands.
_RENEW = "UPDATE version SET data = ?, fetched_at = ?, warc = ?, offset = ? WHERE id = ?"
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

    @property
    def place(self) -> tuple[float, str, int, str]:
        """Where the page stands, and the rules that read it."""
        return self.fetched_at, self.warc, self.offset, self.rules_version


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
            KnownRecord(number, kind, key, bool(gone), version, last, data, _decode(data), moment)
            for number, kind, key, gone, version, last, data, moment in self._database.execute(sql, values)
        ]

    def write(self, origin: RecordOrigin, record: FreshRecord, before: KnownRecord | None) -> None:
        """Keep a record: as a new one, as a new version, or as a confirmation of what is known."""
        data = record.data
        category, range_ = str(data.get("@category") or ""), str(data.get("@range") or "")
        place = origin.place
        if before is None:
            row = (origin.page, record.kind, origin.quarry, record.key, category, range_, origin.at, origin.at, *place)
            self._database.execute(_ADD_RECORD, row)
            self._add_version(origin, self._database.last_insert_rowid(), 1, "new", record.text)
            return
        # What people write is taken as it is; on pages, what changes without meaning is no version.
        moments = None if origin.cause == "import" else (before.moment, origin.fetched_at or origin.at)
        if before.gone or (before.text != record.text and compare_fields(before.data, data, moments=moments)):
            what: What = "back" if before.gone else "changed"
            self._database.execute("UPDATE version SET current = 0 WHERE id = ?", (before.version,))
            version = self._add_version(origin, before.id, before.number + 1, what, record.text)
            self._database.execute(_TURN, (version, origin.at, before.id))
        elif before.text != record.text:
            self._database.execute(_RENEW, (record.text, *place[:3], before.version))
        self._database.execute(_CONFIRM, (record.key, category, range_, *place, before.id))

    def remove(self, origin: RecordOrigin, record: KnownRecord) -> None:
        """Note that a record is there no more."""
        if record.gone:
            return
        self._add_version(origin, record.id, record.number + 1, "gone", None)
        self._database.execute("UPDATE record SET gone = 1, changed_at = ? WHERE id = ?", (origin.at, record.id))

    def _add_version(self, origin: RecordOrigin, record: int, number: int, what: What, text: str | None) -> int:
        self.counts[what] += 1
        row = (record, number, what, origin.cause, origin.at, origin.round, int(text is not None), *origin.place)
        self._database.execute(_ADD_VERSION, (*row, origin.source, text))
        return int(self._database.last_insert_rowid())


def encode_data(data: dict[str, Any]) -> str:
    """Data as the JSON that the database holds."""
    return _to_json(data).decode()


_KEY_CHARS = 500
#: The key of a record without one of its own: its place among those of its kind on the page.
_PLACE = "#"


class FreshRecord(Struct):
    """A record that an extraction gave, and its text as JSON."""

    kind: str
    text: str
    data: dict[str, Any]
    key: str = ""


class KnownRecord(Struct):
    """A record that the database has, and its newest version with data."""

    id: int
    kind: str
    key: str
    gone: bool
    version: int
    number: int
    text: str
    data: dict[str, Any]
    moment: float  # when the page was as that version says


def give_keys(records: Sequence[FreshRecord]) -> None:
    """Give each record its key: what its rules say, else its first value where those differ, else its place."""
    kinds: dict[str, list[FreshRecord]] = defaultdict(list)
    for record in records:
        kinds[record.kind].append(record)
    for same in kinds.values():
        keys = [_own_key(record.data) for record in same]
        if len(same) == 1:
            same[0].key = keys[0]
            continue
        if not all(keys):
            keys = [first_value(record.data) for record in same]
        counts = Counter(keys)
        for place, (record, key) in enumerate(zip(same, keys, strict=True), 1):
            record.key = key if key and counts[key] == 1 else f"{_PLACE}{place}"


def _own_key(data: Mapping[str, Any]) -> str:
    """What the rules say that a record is known by: `@key`, a value or several."""
    given = data.get("@key")
    values = given if isinstance(given, list) else [given]
    return " | ".join(_as_text(value) for value in values if value is not None)[:_KEY_CHARS]


def first_value(data: Mapping[str, Any]) -> str:
    """The value of the first field, if it is a plain one."""
    value = next(iter(public_fields(data).values()), None)
    return "" if value is None or isinstance(value, list | dict) else _as_text(value)[:_KEY_CHARS]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else _to_json(value).decode()


def match_records(
    fresh: Sequence[FreshRecord], known: Sequence[KnownRecord]
) -> tuple[list[tuple[FreshRecord, KnownRecord | None]], list[KnownRecord]]:
    """Each new record with the one that it was before, or None; and those that are not there any more."""
    pairs: dict[int, KnownRecord] = {}
    left = {record.id: record for record in known}

    def pair(key_of_fresh: Any, key_of_known: Any) -> None:
        wanted: dict[Any, list[KnownRecord]] = defaultdict(list)
        for known_one in left.values():
            wanted[key_of_known(known_one)].append(known_one)
        for n, record in enumerate(fresh):
            key = key_of_fresh(record) if n not in pairs else None
            if key is not None and wanted.get(key):
                found = wanted[key].pop(0)
                pairs[n] = found
                del left[found.id]

    pair(
        lambda record: (record.kind, record.key) if not record.key.startswith(_PLACE) else None,
        lambda record: (record.kind, record.key),
    )
    if left and len(pairs) < len(fresh):
        pair(lambda record: (record.kind, record.text), lambda record: (record.kind, record.text))
        pair(lambda record: (record.kind, record.key), lambda record: (record.kind, record.key))
        pair(
            lambda record: (record.kind, value) if (value := first_value(record.data)) else None,
            lambda record: (record.kind, first_value(record.data)),
        )
        _pair_only_ones(fresh, pairs, left)
    return [(record, pairs.get(n)) for n, record in enumerate(fresh)], list(left.values())


def _pair_only_ones(fresh: Sequence[FreshRecord], pairs: dict[int, KnownRecord], left: dict[int, KnownRecord]) -> None:
    """A page that had one record of a kind and has one of it now: it is the same, unless its rules say otherwise."""
    totals = Counter(record.kind for record in fresh)
    present: dict[str, list[KnownRecord]] = defaultdict(list)
    for known in left.values():
        if not known.gone and "@key" not in known.data:
            present[known.kind].append(known)
    for n, record in enumerate(fresh):
        if n in pairs or totals[record.kind] > 1 or "@key" in record.data:
            continue
        candidates = present.get(record.kind, [])
        if len(candidates) == 1:
            pairs[n] = candidates[0]
            del left[candidates[0].id]


_ADD_PAGES = """
INSERT INTO health VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET pages = pages + excluded.pages, at = max(at, excluded.at)"""
_ADD_FOUND = """
INSERT INTO field_health VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET found = found + excluded.found"""
_Key = tuple[int, str, str, str]


class HealthTally:
    """Counts of pages and fields since the last flush."""

    def __init__(self, database: apsw.Connection) -> None:
        self._database = database
        self._pages: Counter[_Key] = Counter()
        self._found: dict[tuple[_Key, str], float] = {}
        self._at: dict[_Key, float] = {}

    def count(
        self, origin: RecordOrigin, host: str, fresh: Sequence[FreshRecord], known: Sequence[KnownRecord]
    ) -> None:
        """Count one page: what it gives now, and kinds that it gave before and does not any more."""
        kinds: dict[str, list[Mapping[str, Any]]] = {}
        for record in fresh:
            kinds.setdefault(record.kind, []).append(record.data)
        areas = {kind: str(records[0].get("@range") or host) for kind, records in kinds.items()}
        for former in known:
            if former.kind not in kinds:
                kinds[former.kind] = []
                areas[former.kind] = str(former.data.get("@range") or host)
        for kind, records in kinds.items():
            key = (origin.round, origin.rules_version, kind, areas[kind])
            self._pages[key] += 1
            self._at[key] = max(self._at.get(key, 0.0), origin.at)
            for data in records:
                for name, value in data.items():
                    if not name.startswith("@") and has_value(value):
                        self._found[key, name] = self._found.get((key, name), 0.0) + 1 / len(records)

    def forget(self, round_: int, rules_version: str) -> None:
        """Drop what was counted in a round by rules that read all pages anew."""
        for table in ("health", "field_health"):
            self._database.execute(
                f"DELETE FROM {table} WHERE round = ? AND rules_version = ?", (round_, rules_version)
            )

    def flush(self) -> None:
        """Write the counts, within the transaction of what was counted."""
        self._database.executemany(_ADD_PAGES, [(*key, pages, self._at[key]) for key, pages in self._pages.items()])
        self._database.executemany(_ADD_FOUND, [(*key, name, found) for (key, name), found in self._found.items()])
        self._pages.clear()
        self._found.clear()
        self._at.clear()


def has_value(value: Any) -> bool:
    """Whether a field holds anything."""
    return value is not None and value not in ("", [], {})
