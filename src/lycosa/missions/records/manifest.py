"""The manifest of the records mission: articles of unknown sites as records, and rules that are written for others."""

from __future__ import annotations

from pathlib import Path

from lycosa.missions.manifest import CrawlOption, MissionManifest, SideDatabase, WebPage

_VIEWS = "lycosa.missions.records.web.views"
_FORMS = "lycosa.missions.records.web.reader_forms"
_TEACH = "lycosa.missions.records.web.teaching"
_LISTS = "lycosa.missions.records.web.lists"

#: Lists and their words are made anew from the records that are left.
_FORGET_LISTS = """
DROP TRIGGER IF EXISTS list_new; DROP TRIGGER IF EXISTS list_changed; DROP TRIGGER IF EXISTS list_removed;
DROP INDEX IF EXISTS record_first; DROP INDEX IF EXISTS record_changed; DROP INDEX IF EXISTS record_fetched;
DROP TABLE IF EXISTS list_cell; DROP TABLE IF EXISTS list_item; DROP TABLE IF EXISTS list_words;
DROP TABLE IF EXISTS list_field; DROP TABLE IF EXISTS list_value;
DELETE FROM package WHERE name = 'list'; DELETE FROM meta WHERE key = 'list_upto';"""

MANIFEST = MissionManifest(
    name="records",
    summary="the articles of the seeds' sites as records: text without boilerplate, title, authors, date, language",
    job="The articles of newspapers",
    example="https://newspaper.example/",
    tour="docs/records.md",
    defaults=Path(__file__).with_name("records.toml"),
    settings="lycosa.missions.records.settings:RecordsSettings",
    on_this_machine=("categories",),
    complete_settings="lycosa.missions.records.site_description:complete_description",
    check_settings="lycosa.missions.records.site_description:check_description",
    quarry="lycosa.missions.records.quarry:Records",
    former_quarries=("lycosa.missions.records.quarry:Articles",),
    verbs={
        "try": "lycosa.missions.records.cli.rules:try_rules",
        "learn": "lycosa.missions.records.cli.rules:learn",
        "digest": "lycosa.missions.records.cli.digest:digest",
        "newspaper": "lycosa.missions.records.cli.digest:newspaper",
        "alerts": "lycosa.missions.records.cli.alerts:alerts",
        "outbox": "lycosa.missions.records.cli.alerts:outbox",
        "health": "lycosa.missions.records.cli.stored_records:health",
        "import-records": "lycosa.missions.records.cli.stored_records:import_records",
        "stories": "lycosa.missions.records.cli.stories:stories",
        "impact": "lycosa.missions.records.cli.stories:impact",
    },
    exports=(
        "lycosa.missions.records.exports",
        "lycosa.missions.records.corpus.options",
    ),
    crawl_options=(
        CrawlOption(
            "readers",
            "After each round, tell readers what is new to them.",
            metavar="READERS.toml",
            check="lycosa.missions.records.reports.digest_output:check_readers",
            kept="lycosa.missions.records.web.edited_readers:told_after_rounds",
        ),
    ),
    after_round="lycosa.missions.records.rounds:tell_readers",
    refresh="lycosa.missions.records.rounds:refresh",
    report="lycosa.missions.records.collection_report:make_report",
    fill_template="lycosa.missions.records.reports.report_file:fill_report",
    record_changes="lycosa.missions.records.record_changes:write_record_changes",
    query_languages={
        "xpath": "lycosa.missions.records.database.xml_queries:ask_xpath",
        "xquery": "lycosa.missions.records.database.xml_queries:ask_xquery",
    },
    pages=(
        WebPage("", f"{_LISTS}:RECORDS", "Records", instead_of="records"),
        WebPage("stories", f"{_LISTS}:STORIES", "Stories"),
        WebPage("health", f"{_VIEWS}:show_health", "Health"),
        WebPage("teach", f"{_TEACH}:show_teaching", "Rules"),
        WebPage("teach", f"{_TEACH}:change_teaching", method="POST"),
        WebPage("teach-frame", f"{_TEACH}:show_pointing", has_twin=False),
        WebPage("readers", f"{_FORMS}:show_readers", "Readers"),
        WebPage("alerts", f"{_LISTS}:ALERTS", "Alerts"),
        WebPage("outbox", f"{_LISTS}:OUTBOX", "Outbox"),
        WebPage("record", f"{_VIEWS}:show_record"),
        WebPage("story", f"{_VIEWS}:show_one_story"),
        WebPage("digest", f"{_VIEWS}:show_digest"),
        WebPage("digest-frame", f"{_VIEWS}:send_digest", has_twin=False),
        WebPage("outbox", f"{_VIEWS}:change_messages", method="POST"),
        WebPage("reader", f"{_FORMS}:show_reader"),
        WebPage("reader", f"{_FORMS}:keep_reader", method="POST"),
        WebPage("alert", f"{_FORMS}:show_alert"),
        WebPage("alert", f"{_FORMS}:keep_alert", method="POST"),
        WebPage("matches", f"{_FORMS}:show_matches"),
        WebPage("mail-server", f"{_FORMS}:keep_mail_server", method="POST"),
        WebPage("tell", f"{_FORMS}:tell_readers", method="POST"),
    ),
    page_histories="lycosa.missions.records.database.store:list_histories",
    side_databases=(
        SideDatabase(
            "records.db",
            merge="lycosa.missions.records.database.store:merge_records",
            after_forgetting=_FORGET_LISTS,
            query_name="stored",
            prepare="lycosa.missions.records.health:refresh_and_watch",
        ),
    ),
    derived=("lycosa.missions.records.web.current_store:RECORDS",),
)
