"""The plug-in of the records mission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.missions.api import Export, PlainMission

if TYPE_CHECKING:
    from msgspec import Struct

    from lycosa.config.mission_table import Place
    from lycosa.quarry import Quarry


class RecordsMission(PlainMission):
    """The mission for records: articles of unknown sites, and the verbs that write and try rules for others."""

    name = "records"
    summary = "the articles of the seeds' sites as records: text without boilerplate, title, authors, date, language"
    defaults = Path(__file__).with_name("records.toml")

    def own_settings(self) -> type[Struct]:
        from lycosa.missions.records.settings import RecordsSettings

        return RecordsSettings

    def complete_settings(self, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        from lycosa.missions.records.description import complete_description

        return complete_description(settings, folder)

    def check_settings(self, settings: Mapping[str, Any]) -> Iterable[tuple[Place, str]]:
        from lycosa.missions.records.description import check_description

        return check_description(settings)

    def quarry(self) -> Quarry:
        from lycosa.missions.records.quarry import Articles

        return Articles()

    def exports(self) -> Iterable[Export]:
        from lycosa.missions.records.download_cache import CACHE

        return (CACHE,)

    def verbs(self) -> Mapping[str, str]:
        return {
            "try": "lycosa.missions.records.cli.try_rules:try_rules",
            "learn": "lycosa.missions.records.cli.learn:learn",
        }


plugin = RecordsMission()
