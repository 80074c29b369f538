"""Several sources: the same story in several media, the same thing in several catalogues, recognised and completed."""

from lycosa.missions.records.stories.catalogue import (
    CompletedRecord,
    Story,
    complete,
    list_stories,
    read_story,
    stories,
)
from lycosa.missions.records.stories.story_refresh import refresh_stories

__all__ = ["CompletedRecord", "Story", "complete", "list_stories", "read_story", "refresh_stories", "stories"]
