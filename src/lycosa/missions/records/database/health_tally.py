"""Tally of fields: on how many of the pages that are read a field is found, added up as they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from lycosa.missions.records.database.matching import FreshRecord, KnownRecord
from lycosa.missions.records.database.writer import RecordOrigin

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
