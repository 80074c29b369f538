"""The manifest of the topic mission: pages about any topic, from words or examples."""

from __future__ import annotations

from pathlib import Path

from lycosa.missions.manifest import CrawlOption, MissionManifest, SideDatabase, WebPage

_PACKAGE = "lycosa.missions.topic"


def _option(name: str, metavar: str, summary: str) -> CrawlOption:
    return CrawlOption(name, summary, metavar=metavar, is_setting=True)


MANIFEST = MissionManifest(
    name="topic",
    summary="pages about a topic, which words, examples or patterns say",
    job="Pages about a topic",
    example="https://city.example/",
    tour="docs/focus.md",
    defaults=Path(__file__).with_name("topic.toml"),
    settings=f"{_PACKAGE}.settings:TopicSettings",
    on_this_machine=("like", "unlike", "thesaurus", "examples"),
    check_settings=f"{_PACKAGE}.settings:check_settings",
    quarry=f"{_PACKAGE}.quarry:TopicPages",
    verbs={
        "try topic": f"{_PACKAGE}.cli:try_topic",
        "mark": f"{_PACKAGE}.cli:mark",
    },
    crawl_options=(
        _option("about", "WORDS", "Of topic: words and phrases, with commas between them."),
        _option("like", "EXAMPLES", "Of topic: pages of it: a file, a list, an address, a collection."),
        _option("unlike", "EXAMPLES", "Of topic: pages of other topics."),
        _option("pattern", "REGEX", "Of topic: only pages of which it matches text, title or url (url:REGEX)."),
        _option("from-archive", "FILE|DIR", "Of topic: seeds from a WARC, a CDX or another collection."),
    ),
    crawl_settings=f"{_PACKAGE}.seeds:settle",
    report=f"{_PACKAGE}.report:make_report",
    status=f"{_PACKAGE}.harvest:tell_status",
    refresh=f"{_PACKAGE}.marks:refresh",
    pages=(
        WebPage("", f"{_PACKAGE}.web.views:show_topic", "Topic"),
        WebPage("mark", f"{_PACKAGE}.web.views:keep_mark", method="POST"),
    ),
    side_databases=(SideDatabase("marks.db", merge=f"{_PACKAGE}.marks:merge_marks", query_name="marks"),),
)
