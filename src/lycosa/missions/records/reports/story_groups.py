"""Story groups: which records tell the same story, as far as stories are known."""

from __future__ import annotations

from lycosa.missions.records.database import RecordStore, StoredRecord


class StoryGroups:
    """The stories of a collection by their records."""

    def __init__(self, store: RecordStore) -> None:
        self._stories: dict[int, tuple[str, list[StoredRecord]]] = {}
        self._by_record: dict[int, int] = {}

    def story_of(self, record: int) -> int:
        """The number of the story of a record; 0: it has none, or is the only one that tells it."""
        return self._by_record.get(record, 0)

    def title_of(self, story: int) -> str:
        return self._stories[story][0]

    def records_of(self, story: int) -> list[StoredRecord]:
        return self._stories[story][1]
