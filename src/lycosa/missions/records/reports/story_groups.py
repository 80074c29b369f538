"""Story groups: which of the records of a digest tell the same story, and which others tell it, too."""

from __future__ import annotations

from functools import lru_cache

from lycosa.missions.records.database import RecordStore, StoredRecord
from lycosa.missions.records.stories import Story, read_story, refresh_stories
from lycosa.missions.records.stories.tables import ensure_tables


class StoryGroups:
    """The stories of a collection by their records, each read when it is asked for."""

    def __init__(self, store: RecordStore, *, renews: bool = True) -> None:
        if renews:
            refresh_stories(store)
        self._store = store
        self._has_tables = ensure_tables(store)  # a database that is only read may not
        self._media: dict[int, int] = {}
        self._read = lru_cache(maxsize=2000)(lambda number: read_story(store, number))

    def story_of(self, record: int) -> int:
        """The number of the story of a record; 0: no other tells it."""
        if not self._has_tables:
            return 0
        sql = "SELECT story FROM story_member WHERE record = ?"
        (story,) = next(self._store.rows(sql, (record,)), (0,))
        return int(story) if self.count_media(story) else 0

    def count_media(self, number: int) -> int:
        """How many hosts tell a story; 0: it has one record alone."""
        if number not in self._media:
            sql = "SELECT iif(count(*) > 1, count(DISTINCT host), 0) FROM story_member WHERE story = ?"
            self._media[number] = next(self._store.rows(sql, (number,)))[0] if number else 0
        return self._media[number]

    def title_of(self, number: int) -> str:
        """What a story is called."""
        story: Story | None = self._read(number)
        return story.title if story else ""

    def records_of(self, number: int) -> list[StoredRecord]:
        """The records that tell a story, without those that are gone."""
        story: Story | None = self._read(number)
        return [record for record in story.records if not record.gone] if story else []
