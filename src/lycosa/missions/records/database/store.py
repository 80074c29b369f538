"""The records database of a collection: records, versions and changes out, new records in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Self

import apsw
import msgspec

from lycosa import clock
from lycosa.collection.collection import Collection
from lycosa.config import mission_table
from lycosa.derived.store import write_transaction
from lycosa.errors import CollectionError
from lycosa.missions.api import RecordHistory
from lycosa.missions.records.database.model import (
    NAME,
    Cause,
    NewRecord,
    RecordChange,
    RecordVersion,
    StoredRecord,
    What,
    compare_fields,
    open_in,
    records_errors,
)
from lycosa.missions.records.database.record_refresh import refresh_records
from lycosa.missions.records.database.writer import FreshRecord, RecordOrigin, VersionWriter, encode_data
from lycosa.urls import host_of

_COLUMNS = (
    "id, kind, url, host, key, category, range, data, number, first_at, changed_at, fetched_at, warc, offset, "
    "rules_version, quarry, gone"
)
_VERSION_COLUMNS = "id, number, what, cause, at, round, data, fetched_at, warc, offset, rules_version, source"
_VERSIONS = f"SELECT {_VERSION_COLUMNS} FROM version WHERE record = ? ORDER BY number"
#: A change with the data before it: that of the version with data that came before.
_CHANGES = f"""
SELECT version.id AS change, version.what, version.cause, version.at, version.round, version.data AS after,
       (SELECT data FROM version AS v WHERE v.record = version.record AND v.number < version.number
        AND v.data IS NOT NULL ORDER BY v.number DESC LIMIT 1) AS before,
       {", ".join(f"known_records.{name.strip()}" for name in _COLUMNS.split(","))}
FROM version JOIN known_records ON known_records.id = version.record WHERE version.id > ?
ORDER BY version.id"""
#: Records that no other mission shows as its own; bind `quarries_of_others`.
OWN = "quarry NOT IN (SELECT value FROM json_each(?))"
_SHOWN_RECORDS = 50  # of an address
_SHOWN_VERSIONS = 200
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class RecordStore:
    """The records of a collection with their history; can be used with `with`."""

    def __init__(self, path: Path, database: apsw.Connection, *, crawl: Path | None = None) -> None:
        """`crawl` is the crawl's database, where that does not stand beside it."""
        self.path = path
        self._crawl = crawl or path.with_name("crawl.db")
        self.connection = database
        self._rules: dict[str, Mapping[str, Any]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that the block writes, or nothing."""
        with records_errors(self.path), write_transaction(self.connection):
            yield

    def ensure(self, name: str, version: int, sql: str, *, upgrades: Mapping[int, str] | None = None) -> None:
        """See that the tables of a package are there; `upgrades` has what brings each earlier version to the next."""
        asked = "SELECT version FROM package WHERE name = ?"
        with records_errors(self.path):
            if self.connection.execute(asked, (name,)).get == version:  # who only reads does not wait for who writes
                return
        with self.transaction():
            found = self.connection.execute(asked, (name,)).get
            if found == version:
                return
            if found is not None and found > version:
                raise CollectionError(
                    f"The tables {name} in {self.path} were made by a newer lycosa (version {found}, this one knows "
                    f"{version}): upgrade lycosa."
                )
            if found is None:
                self.connection.execute(sql)
            else:
                for step in range(found, version):
                    self.connection.execute((upgrades or {})[step])
            self.connection.execute("INSERT OR REPLACE INTO package VALUES (?, ?)", (name, version))

    def refresh(self) -> dict[What, int]:
        """Bring it up to what the crawl's database holds; how many records are new, changed, gone and back."""
        with records_errors(self.path):
            return refresh_records(self.connection, self._crawl)

    def records(
        self,
        kind: str = "",
        *,
        where: str = "",
        values: Sequence[object] = (),
        gone: bool = False,
    ) -> Iterator[StoredRecord]:
        """The records of now, in the order of their finding; with `gone` also those that are there no more.

        `where` is a condition in SQL over the columns of the view `records`.
        """
        conditions, bound = ["1"], list[object]()
        if kind:
            conditions.append("kind = ?")
            bound.append(kind)
        if not gone:
            conditions.append("NOT gone")
        if where:
            conditions.append(f"({where})")
            bound.extend(values)
        sql = f"SELECT {_COLUMNS} FROM known_records WHERE {' AND '.join(conditions)} ORDER BY id"
        for row in self.rows(sql, bound):
            yield self._record(row)

    def has_table(self, name: str) -> bool:
        """Whether the tables of a package are there."""
        sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
        return next(self.rows(sql, (name,)), None) is not None

    def own_kinds(self) -> list[str]:
        """The kinds of records that are not another mission's to show."""
        sql = f"SELECT DISTINCT kind FROM record WHERE {OWN} ORDER BY kind"
        return [kind for (kind,) in self.rows(sql, (quarries_of_others(),))]

    def record(self, number: int) -> StoredRecord | None:
        """One record, or None."""
        row = next(self.rows(f"SELECT {_COLUMNS} FROM known_records WHERE id = ?", (number,)), None)
        return None if row is None else self._record(row)

    def versions(self, number: int) -> list[RecordVersion]:
        """The versions of a record, the first one first."""
        return [_version(row) for row in self.rows(_VERSIONS, (number,))]

    def changes(self, *, after: int = 0) -> Iterator[RecordChange]:
        """What became of records, in its order, after the change of a number."""
        for number, what, cause, at, round_, data, before, *row in self.rows(_CHANGES, (after,)):
            old = None if before is None or what == "new" else _decode(before)
            new = None if data is None else _decode(data)
            yield RecordChange(
                id=number,
                what=what,
                cause=cause,
                at=at,
                round=round_,
                record=self._record(row),
                before=old,
                after=new,
                fields=compare_fields(old, new),
            )

    def last_change(self) -> int:
        """The number of the newest change, for `changes(after=…)`; 0: there is none."""
        return int(self.connection.execute("SELECT max(id) FROM version").get or 0)

    def put(
        self,
        records: Iterable[NewRecord],
        *,
        at: float = 0.0,
        cause: Cause = "import",
        source: str = "",
        round: int = 0,
    ) -> dict[What, int]:
        """Keep records that come from elsewhere: kind, page, quarry and key say which is which.

        One that is known gets a new version if its fields differ; others of its page stay as they are.
        """
        writer = VersionWriter(self.connection)
        with self.transaction():
            for record in records:
                self._put_one(writer, record, at or clock.now(), cause, source, round)
        return writer.counts

    def _put_one(
        self, writer: VersionWriter, record: NewRecord, at: float, cause: Cause, source: str, round_: int
    ) -> None:
        page = self.connection.execute("SELECT id FROM page WHERE url = ?", (record.url,)).get
        if page is None:
            self.connection.execute("INSERT INTO page (url, host) VALUES (?, ?)", (record.url, host_of(record.url)))
            page = self.connection.last_insert_rowid()
        origin = RecordOrigin(
            page=page,
            quarry=record.quarry,
            cause=cause,
            at=at,
            round=round_,
            fetched_at=record.fetched_at,
            warc=record.warc,
            offset=record.offset,
            rules_version=record.rules_version,
            source=source,
        )
        fresh = FreshRecord(record.kind, encode_data(record.data), record.data, record.key)
        before = writer.find(page, record.quarry, record.kind, record.key)
        if not record.gone:
            writer.write(origin, fresh, before)
        elif before is not None:
            writer.remove(origin, before)

    def rows(self, sql: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement of ours."""
        with records_errors(self.path):
            yield from self.connection.execute(sql, values)

    def describe(self, version: str, tables: Mapping[str, Any]) -> None:
        """Keep the mission's rules of a version, so that a record's rules can be told when they changed."""
        if self.connection.execute("SELECT 1 FROM description WHERE version = ?", (version,)).get is None:
            with self.transaction():
                row = (version, clock.now(), msgspec.json.encode(tables).decode())
                self.connection.execute("INSERT OR IGNORE INTO description VALUES (?, ?, ?)", row)

    def description(self, version: str) -> Mapping[str, Any]:
        """The mission's rules of a version, as the tables of a mission file; empty where they are not known."""
        if version not in self._rules:
            text = self.connection.execute("SELECT tables FROM description WHERE version = ?", (version,)).get
            self._rules[version] = _decode(text) if text else {}
        return self._rules[version]

    def _record(self, row: Sequence[Any]) -> StoredRecord:
        found = dict(zip(_COLUMNS.split(", "), row, strict=True))
        found["data"] = data = _decode(found["data"])
        found["gone"] = bool(found["gone"])
        rules = _rules_of(self.description(found["rules_version"]), found["kind"], found["category"], data)
        return StoredRecord(rules=rules, **found)


def quarries_of_others() -> str:
    """The quarries whose records other missions show, as JSON."""
    return msgspec.json.encode([name for name in mission_table.names() if name != "records"]).decode()


def open_store(collection: Collection | Path, *, refresh: bool = True) -> RecordStore:
    """The records database of a collection, made where there is none and brought up to date."""
    folder = collection if isinstance(collection, Path) else collection.path
    path = folder / NAME
    store = RecordStore(path, open_in(folder))
    try:
        if refresh and path.with_name("crawl.db").exists() and not store.connection.readonly("main"):
            store.refresh()
    except BaseException:
        store.close()
        raise
    return store


def list_histories(collection: Collection, url: str) -> Iterator[RecordHistory]:
    """The records of an address with their versions, as of the last time that the database was brought up to date."""
    if not (collection.path / NAME).exists():
        return
    with open_store(collection, refresh=False) as store:
        for record in islice(store.records(where="url = ?", values=(url,), gone=True), _SHOWN_RECORDS):
            versions = store.versions(record.id)[::-1][:_SHOWN_VERSIONS]
            yield RecordHistory(record.id, record.kind, record.key, record.gone, versions)


def _version(row: Sequence[Any]) -> RecordVersion:
    found = dict(zip(_VERSION_COLUMNS.split(", "), row, strict=True))
    data = found.pop("data")
    return RecordVersion(data=None if data is None else _decode(data), **found)


def _rules_of(tables: Mapping[str, Any], kind: str, category: str, data: Mapping[str, Any]) -> dict[str, str]:
    """The rule that gave each field: the first one, unless the record says which."""
    if not tables:
        return {}
    schemas = tables.get("schemas", {})
    name = tables.get("categories", {}).get(category, {}).get("schema", kind)
    fields = schemas.get(name, {}).get("fields", {})
    chosen = data.get("@rules") or {}
    found = {}
    for field, settings in fields.items():
        rules = settings.get("rule", []) if isinstance(settings, dict) else []
        rules = [rules] if isinstance(rules, str) else rules
        place = chosen.get(field, 0)
        if data.get(field) is not None and isinstance(place, int) and 0 <= place < len(rules):
            found[field] = rules[place]
    return found


#: What was imported there, and where it went from there; the rest comes with the pages.
_IMPORTED = """EXISTS (SELECT 1 FROM version WHERE version.record = known_records.id AND version.cause = 'import')"""


def merge_records(into: Path, source: Path, *, name: str) -> list[str]:
    """Bring imported records and the rules of earlier versions along, as often as it is called."""
    with open_store(source, refresh=False) as theirs, open_store(into) as ours:
        counts = ours.put(_imported(theirs), source=name)
        for version, tables in theirs.rows("SELECT version, tables FROM description"):
            ours.describe(version, msgspec.json.decode(tables, type=dict[str, Any]))
    total = sum(counts.values())
    return [f"{total:,} imported records of {name} were brought along."] if total else []


def _imported(store: RecordStore) -> Iterator[NewRecord]:
    for record in store.records(where=_IMPORTED):
        yield NewRecord(
            kind=record.kind,
            url=record.url,
            data=record.data,
            key=record.key,
            quarry=record.quarry,
            fetched_at=record.fetched_at,
            warc=record.warc,
            offset=record.offset,
            rules_version=record.rules_version,
        )
