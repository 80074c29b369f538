"""The newspapers of the synthetic web, described in one mission file: reached, extracted, watched, extracted anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.command_line import run
from support.story_scores import score_stories
from support.synthetic_web import SyntheticWeb

from lycosa import Collection
from lycosa.missions.records.database import open_store
from lycosa.missions.records.stories import refresh_stories
from lycosa.parse import read

pytestmark = pytest.mark.acceptance

MISSION = Path(__file__).with_name("press_world.toml")
FIELDS = ("title", "authors", "date", "place", "abstract", "body", "section")
HOURS = 48
#: Crawl-delays of a second are for another test.
HASTY = (
    "--delay", "0.01", "--set", "fetch.retry_delay_s=0.2", "--set", "fetch.crawl_delay_max_s=0.02",
    "--set", "keep.sync_s=0",
)  # fmt: skip

Records = dict[str, dict[str, Any]]


@dataclass
class Press:
    """What a crawl, and a second round after a while, made of the newspapers; the web is gone by now."""

    requests: int  # of the first round
    folder: Path
    gold: Records
    records: Records
    gold_later: Records
    records_later: Records
    stored_later: set[str]  # articles of which the second round stored a copy
    touched: set[str]  # articles whose pages are not what they were, be it for a printed date
    teasers: dict[str, list[str]]


@pytest.fixture(scope="module")
def press(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Press]:
    """Fifteen newspapers in five templates and four languages."""
    folder = tmp_path_factory.mktemp("press") / "collection"
    world = SyntheticWeb(shared / "world", seed=47, hosts=300, pages=5000)
    try:
        world.tick(2 * HOURS)  # so that there are young articles, which are still corrected
        seeds, gold = world.truth["articles"]["seeds"], read_gold(world)
        papers = world.truth["articles"]["papers"]
        assert {paper["template"] for paper in papers} == {0, 1, 2, 3, 4}
        assert len({article["language"] for article in gold.values()}) == 4
        first = world.crawl(folder, str(MISSION), *HASTY, *seeds)
        assert first.code == 0, first.said
        records = read_records(folder)
        requests, before = len(first.log()), {url: world.body(url) for url in gold}
        teasers = {url: find_teasers(body) for url, body in before.items()}
        world.tick(HOURS)
        gold_later = read_gold(world)
        touched = {url for url, body in before.items() if world.content(url) != body}
        second = world.crawl(folder, str(MISSION), *HASTY, "--recrawl", *seeds)
        assert second.code == 0, second.said
        stored = {url for (url,) in second.rows("SELECT url FROM page JOIN url USING (n) WHERE page.round = 2")}
    finally:
        world.close()
    articles = stored & gold_later.keys()
    yield Press(requests, folder, gold, records, gold_later, read_records(folder), articles, touched, teasers)


def read_gold(world: SyntheticWeb) -> Records:
    return {article["url"]: article for article in world.truth["articles"]["relevant"] if article["reachable"]}


def read_records(folder: Path) -> Records:
    with Collection(folder) as collection:
        return {record.url: record.data for record in collection.records(quarry="records")}


def find_teasers(body: bytes) -> list[str]:
    """The sentences of teasers and of the list beside an article."""
    tree = read("http://world.test/", {}, body).tree
    assert tree is not None
    beside = [" ".join(element.text.split()) for element in tree.select("li > span")]
    within = [element.text.removeprefix(element.select("a")[0].text).strip() for element in tree.select("div.teaser")]
    return beside + within


def share_right(gold: Records, records: Records) -> float:
    right = sum(records.get(url, {}).get(name) == article[name] for url, article in gold.items() for name in FIELDS)
    return right / (len(gold) * len(FIELDS))


def test_a_short_file_describes_them_all() -> None:
    """At most sixty lines, none of them squeezed."""
    lines = MISSION.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 120


def test_all_articles_are_reached_and_their_fields_right(press: Press, say: Callable[[str], None]) -> None:
    """No article is missed, nothing else is taken for one, and 99 of 100 fields are as the truth has them."""
    share = share_right(press.gold, press.records)
    found = f"{len(press.records)} of {len(press.gold)} articles"
    say(f"newspapers: {found}, {share:.2%} of fields, {press.requests} requests")
    assert press.records.keys() == press.gold.keys()
    assert share >= 0.99
    assert {(data["@category"], data["@range"]) for data in press.records.values()} == {("article", "articles")}


def test_teasers_are_never_in_the_text(press: Press) -> None:
    """Neither those within an article nor those beside it, unless the article says the same itself."""
    assert sum(map(len, press.teasers.values())) > len(press.gold)
    for url, teasers in press.teasers.items():
        text, own = " ".join(press.records[url]["body"]), " ".join(press.gold[url]["body"])
        assert [teaser for teaser in teasers if teaser in text and teaser not in own] == []


def test_a_later_round_stores_what_is_new_or_changed(press: Press, say: Callable[[str], None]) -> None:
    """Of articles, only those whose page changed; of records, only those in which a field did."""
    new = press.gold_later.keys() - press.gold.keys()
    changed = {url for url, article in press.gold.items() if article != press.gold_later.get(url)}
    say(f"newspapers after {HOURS} h: {len(new)} new, {len(changed)} changed, {len(press.stored_later)} stored")
    assert new and changed
    assert press.stored_later == new | press.touched
    assert changed <= press.touched
    assert {url for url, data in press.records.items() if data != press.records_later[url]} == changed
    assert press.records_later.keys() == press.gold_later.keys()
    assert share_right(press.gold_later, press.records_later) >= 0.99


def test_stories_come_out_of_the_crawl(press: Press, say: Callable[[str], None]) -> None:
    """Events that several papers tell are recognised in what the rules took from their pages, not in the truth."""
    told = {url: article["event"] for url, article in press.gold_later.items()}
    events = {url: url if event is None else f"event {event}" for url, event in told.items()}
    with open_store(press.folder) as store:
        refresh_stories(store)
        found = dict(store.rows("SELECT url, story FROM story_member JOIN records ON records.id = record"))
    scores = score_stories(events, found)
    say(f"stories of the crawl: {len(events)} articles, pairs P {scores.precision:.3f} R {scores.recall:.3f}")
    assert scores.precision >= 0.97
    assert scores.recall >= 0.97


def test_a_lost_rule_breaks_the_health_report(press: Press, tmp_path: Path) -> None:
    """The field, the share before, pages to look at and the lost rule are told; with the rule back all is well."""
    mission = tmp_path / "press.toml"
    text = MISSION.read_text(encoding="utf-8")
    start = text.index("[records.schemas.story.fields.place]")
    end = text.find("\n[", start + 1)
    mission.write_text(text[:start] + (text[end + 1 :] if end > 0 else ""), encoding="utf-8")
    said = run("extract", str(mission), "--collection", str(press.folder), "--quiet")
    assert said.code == 0, said.output
    told = run("health", "--collection", str(press.folder), "--drops").output
    (drop,) = [row for row in map(json.loads, told.splitlines()) if row["before"] is not None]
    assert (drop["kind"], drop["area"], drop["field"], drop["share"]) == ("story", "articles", "place", 0.0)
    assert drop["before"] >= 0.9
    assert set(drop["examples"].split()) <= press.gold_later.keys()
    assert run("extract", str(MISSION), "--collection", str(press.folder), "--quiet").code == 0
    assert run("health", "--collection", str(press.folder), "--drops").output == ""
    assert read_records(press.folder) == press.records_later


def test_a_new_field_comes_out_of_the_archive(press: Press, tmp_path: Path) -> None:
    """With the web gone; the rest of the records stays as it was."""
    mission = tmp_path / "press.toml"
    text = MISSION.read_text(encoding="utf-8")
    mission.write_text(f'{text}\n[records.schemas.story.fields.site]\nrule = "css:title"\npattern = "[^|]+$"\n')
    assert run("extract", str(mission), "--collection", str(press.folder), "--quiet").code == 0
    found = read_records(press.folder)
    assert found.keys() == press.records_later.keys()
    assert all(data.pop("site") for data in found.values())
    assert found == press.records_later
