"""The plug-in of the records mission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.missions.api import CrawlOption, FinishedRound, PlainMission, SideDatabase

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
            "digest": "lycosa.missions.records.cli.digest:digest",
            "newspaper": "lycosa.missions.records.cli.newspaper:newspaper",
            "records-report": "lycosa.missions.records.cli.records_report:records_report",
            "alerts": "lycosa.missions.records.cli.alerts:alerts",
            "outbox": "lycosa.missions.records.cli.outbox:outbox",
        }

    def crawl_options(self) -> Iterable[CrawlOption]:
        return [
            CrawlOption(
                "readers",
                "After each round, tell readers what is new to them.",
                metavar="READERS.toml",
                check="lycosa.missions.records.reports.round:check_readers",
            )
        ]

    def after_round(self, collection: Collection, finished: FinishedRound) -> Iterable[str]:
        """Tell readers what they asked for."""
        from lycosa.missions.records.alerts import round as alerts
        from lycosa.missions.records.reports import round as digests

        readers = Path(finished.asked["readers"])
        yield from digests.after_round(collection, readers, finished.quiet)
        yield from alerts.after_round(collection, readers, finished.quiet)

    def side_databases(self) -> Iterable[SideDatabase]:
        return (SideDatabase("records.db"),)

    def refresh(self, collection: Collection) -> Iterable[str]:
        """Bring the records database up to date."""
        from lycosa.missions.records.database import open_store

        with open_store(collection):
            return ()


plugin = RecordsMission()
