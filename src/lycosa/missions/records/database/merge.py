"""Records of one collection into another: those that the other's crawl database does not bring with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lycosa.missions.records.database.model import NewRecord
from lycosa.missions.records.database.store import RecordStore, open_store

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
