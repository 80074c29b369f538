"""The plug-in of the records mission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.missions.api import Export, PlainMission, SideDatabase

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
            "import-records": "lycosa.missions.records.cli.import_records:import_records",
        }

    def exports(self) -> Iterable[Export]:
        from lycosa.missions.records.database.exports import EXPORTS

        return EXPORTS

    def side_databases(self) -> Iterable[SideDatabase]:
        return (SideDatabase("records.db"),)

    def refresh(self, collection: Collection) -> Iterable[str]:
        """Bring the records database up to date."""
        from lycosa.missions.records.database import open_store

        with open_store(collection):
            return ()


plugin = RecordsMission()
