"""Story groups: which of the records of a digest tell the same story, and which others tell it, too."""

from __future__ import annotations

from functools import lru_cache

from lycosa.missions.records.database import RecordStore, StoredRecord
from lycosa.missions.records.stories import Story, read_story, refresh_stories
from lycosa.missions.records.stories.tables import ensure_tables


class StoryGroups:
    """The stories of a collection by their records, each read when it is asked for."""

    def __init__(self, store: RecordStore) -> None:
        refresh_stories(store)
        self._media: dict[int, int] = {}
        self._by_record: dict[int, int] = {}
        self._read = lru_cache(maxsize=2000)(lambda number: read_story(store, number))
        if not ensure_tables(store):  # a database that is only read
            return
        sql = "SELECT story, count(DISTINCT host) FROM story_member GROUP BY story HAVING count(*) > 1"
        self._media = dict(store.rows(sql))
        members = store.rows("SELECT record, story FROM story_member")
        self._by_record = {record: story for record, story in members if story in self._media}

    def story_of(self, record: int) -> int:
        """The number of the story of a record; 0: no other tells it."""
        return self._by_record.get(record, 0)

    def count_media(self, number: int) -> int:
        """How many hosts tell a story."""
        return self._media.get(number, 1)

    def title_of(self, number: int) -> str:
        """What a story is called."""
        story: Story | None = self._read(number)
        return story.title if story else ""

    def records_of(self, number: int) -> list[StoredRecord]:
        """The records that tell a story, without those that are gone."""
        story: Story | None = self._read(number)
        return [record for record in story.records if not record.gone] if story else []
