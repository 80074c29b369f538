"""The plug-in of the records mission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.missions.api import Export, PlainMission

if TYPE_CHECKING:
    from lycosa.quarry import Quarry


class RecordsMission(PlainMission):
    """The mission for records: articles of unknown sites, and the verbs that write and try rules for others."""

    name = "records"
    summary = "the articles of the seeds' sites as records: text without boilerplate, title, authors, date, language"
    defaults = Path(__file__).with_name("records.toml")

    def quarry(self) -> Quarry:
        from lycosa.missions.records.quarry import Articles

        return Articles()

    def exports(self) -> Iterable[Export]:
        from lycosa.missions.records.corpus.options import EXPORTS

        return EXPORTS

    def verbs(self) -> Mapping[str, str]:
        return {
            "try": "lycosa.missions.records.cli.try_rules:try_rules",
            "learn": "lycosa.missions.records.cli.learn:learn",
        }


plugin = RecordsMission()
