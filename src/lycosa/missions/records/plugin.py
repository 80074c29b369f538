"""The plug-in of the records mission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.missions.api import PlainMission, SideDatabase

if TYPE_CHECKING:
    from lycosa.collection.collection import Collection
    from lycosa.quarry import Quarry


class RecordsMission(PlainMission):
    """The mission for records: articles of unknown sites, and the verbs that write and try rules for others."""

    name = "records"
    summary = "the articles of the seeds' sites as records: text without boilerplate, title, authors, date, language"
    defaults = Path(__file__).with_name("records.toml")

    def quarry(self) -> Quarry:
        from lycosa.missions.records.quarry import Articles

        return Articles()

    def verbs(self) -> Mapping[str, str]:
        return {
            "try": "lycosa.missions.records.cli.try_rules:try_rules",
            "learn": "lycosa.missions.records.cli.learn:learn",
            "stories": "lycosa.missions.records.cli.stories:stories",
            "impact": "lycosa.missions.records.cli.impact:impact",
        }

    def side_databases(self) -> Iterable[SideDatabase]:
        return (SideDatabase("records.db"),)

    def refresh(self, collection: Collection) -> Iterable[str]:
        """Bring the records database up to date, and the stories in it."""
        from lycosa.missions.records.database import open_store
        from lycosa.missions.records.stories import refresh_stories

        with open_store(collection) as store:
            refresh_stories(store)
        return ()


plugin = RecordsMission()
