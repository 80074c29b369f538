"""The plug-in of the records mission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from lycosa.errors import LycosaError
from lycosa.missions.api import (
    ChangesAsked,
    CrawlOption,
    Export,
    FinishedRound,
    PlainMission,
    Report,
    SideDatabase,
    WebPage,
)

if TYPE_CHECKING:
    from msgspec import Struct

    from lycosa.collection.collection import Collection
    from lycosa.config.mission_table import Place
    from lycosa.output.table import Format
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
        from lycosa.missions.records.site_description import complete_description

        return complete_description(settings, folder)

    def check_settings(self, settings: Mapping[str, Any]) -> Iterable[tuple[Place, str]]:
        from lycosa.missions.records.site_description import check_description

        return check_description(settings)

    def quarry(self) -> Quarry:
        from lycosa.missions.records.quarry import Articles

        return Articles()

    def verbs(self) -> Mapping[str, str]:
        return {
            "try": "lycosa.missions.records.cli.try_rules:try_rules",
            "learn": "lycosa.missions.records.cli.learn:learn",
            "digest": "lycosa.missions.records.cli.digest:digest",
            "newspaper": "lycosa.missions.records.cli.newspaper:newspaper",
            "alerts": "lycosa.missions.records.cli.alerts:alerts",
            "outbox": "lycosa.missions.records.cli.outbox:outbox",
            "index-field": "lycosa.missions.records.cli.index_field:index_field",
            "health": "lycosa.missions.records.cli.health:health",
            "import-records": "lycosa.missions.records.cli.import_records:import_records",
            "stories": "lycosa.missions.records.cli.stories:stories",
            "impact": "lycosa.missions.records.cli.impact:impact",
        }

    def exports(self) -> Iterable[Export]:
        from lycosa.missions.records.corpus.options import EXPORTS
        from lycosa.missions.records.database.exports import RECORDS_XML
        from lycosa.missions.records.download_cache import CACHE

        return (CACHE, RECORDS_XML, *EXPORTS)

    def report(self, collection: Collection) -> Report:
        from lycosa.missions.records.report import make_report

        return make_report(collection)

    def pages(self) -> Iterable[WebPage]:
        views = "lycosa.missions.records.web.views"
        return [
            WebPage("", f"{views}:show_records", "Records", instead_of="records"),
            WebPage("stories", f"{views}:show_stories", "Stories"),
            WebPage("health", f"{views}:show_health", "Health"),
            WebPage("readers", f"{views}:show_readers", "Readers"),
            WebPage("alerts", f"{views}:show_alerts", "Alerts"),
            WebPage("outbox", f"{views}:show_outbox", "Outbox"),
            WebPage("record", f"{views}:show_record"),
            WebPage("story", f"{views}:show_one_story"),
            WebPage("digest", f"{views}:show_digest"),
            WebPage("digest-frame", f"{views}:send_digest", has_twin=False),
            *(
                WebPage(f"records.{form}", f"{views}:send_{form}", has_twin=False)
                for form in ("csv", "jsonl", "parquet")
            ),
            WebPage("outbox", f"{views}:change_messages", method="POST"),
        ]

    def fill_template(self, collection: Collection, template: str, form: str | None) -> str:
        from lycosa.missions.records.reports.report_file import fill_report

        return fill_report(collection, template, form)

    def crawl_options(self) -> Iterable[CrawlOption]:
        return [
            CrawlOption(
                "readers",
                "After each round, tell readers what is new to them.",
                metavar="READERS.toml",
                check="lycosa.missions.records.reports.digest_delivery:check_readers",
            )
        ]

    def after_round(self, collection: Collection, finished: FinishedRound) -> Iterable[str]:
        """Tell readers what they asked for. What goes wrong is a sentence: the rounds of a crawl go on."""
        from lycosa.missions.records.alerts import alert_run as alerts
        from lycosa.missions.records.reports import digest_delivery as digests

        if "readers" not in finished.asked:
            return
        readers = Path(finished.asked["readers"])
        problems: dict[str, None] = {}
        for tell in (digests.after_round, alerts.after_round):
            try:
                yield from tell(collection, readers, finished.quiet)
            except LycosaError as problem:
                problems[f"readers are not told after this round: {problem}"] = None
        yield from problems

    def side_databases(self) -> Iterable[SideDatabase]:
        database = SideDatabase(
            "records.db",
            merge="lycosa.missions.records.database.merge:merge_records",
            query_name="stored",
            prepare="lycosa.missions.records.health:refresh_and_watch",
        )
        return (database,)

    def record_changes(self, collection: Collection, asked: ChangesAsked, out: TextIO, form: Format) -> bool:
        from lycosa.missions.records.record_changes import write_record_changes

        write_record_changes(collection, asked, out, form)
        return True

    def query_languages(self) -> Mapping[str, str]:
        queries = "lycosa.missions.records.database.xml_query_process"
        return {"xpath": f"{queries}:ask_xpath", "xquery": f"{queries}:ask_xquery"}

    def refresh(self, collection: Collection) -> Iterable[str]:
        """Bring the records database and its stories up to date, and tell where fields are found no more."""
        from lycosa.missions.records.database import open_store
        from lycosa.missions.records.health import refresh_and_watch
        from lycosa.missions.records.stories import refresh_stories

        sentences = refresh_and_watch(collection)
        with open_store(collection, refresh=False) as store:
            if not store.connection.readonly("main"):
                refresh_stories(store)
        return sentences


plugin = RecordsMission()
