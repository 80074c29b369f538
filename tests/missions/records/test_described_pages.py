"""Described sites, crawled and extracted: where the crawl goes, what the records say, and what people are told."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from support.command_line import run
from support.loopback import Web, html

from lycosa import Collection
from lycosa.collection import collection as stored
from lycosa.missions.records import rounds
from lycosa.missions.records.quarry import Records
from lycosa.parse import read

MISSION = r"""
name = "press"
missions = ["records"]
seeds = ["http://site.test/start"]
scope = "host"
workers = 1
[extract]
workers = 1
[[records.ranges]]
match = '^http://site\.test/news/\d+$'
mode = "leaf"
category = "article"
[[records.ranges]]
match = '^http://site\.test/list/$'
category = "list"
[records.categories.list]
links = "css:main"
paging = "css:a[rel=next]"
[records.categories.article]
schema = "story"
[records.schemas.story.fields.title]
rule = ["css:h2", "css:h1"]
required = true
[records.schemas.story.fields.words]
rule = "css:p"
list = true
"""


def article(title: str, *links: str, tag: str = "h1") -> Any:
    """A page with a title and a paragraph."""
    return html(*links, text=f"<{tag}>{title}</{tag}><p>Text of {title}.</p>")


@pytest.fixture
def site(web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection of a small site: a seed in no range, a list of two pages, two articles, and what is in no range."""
    web["site.test/start"] = html("/list/", "/about")
    web["site.test/list/"] = page(
        '<nav><a href="/news/9">9</a></nav><main><a href="/news/1">1</a> <a href="/x">x</a></main>'
        '<a rel=next href="/list/?page=2">next</a>'
    )
    web["site.test/list/?page=2"] = page('<main><a href="/news/2">2</a></main>')
    web["site.test/news/1"] = article("One", "/news/9", tag="h2")
    web["site.test/news/2"] = article("Two", "/news/9")
    web["site.test/news/9"] = article("Nine")
    web["site.test/x"] = html(text="x")
    web["site.test/about"] = html(text="About")
    (tmp_path / "press.toml").write_text(MISSION)
    monkeypatch.chdir(tmp_path)
    crawl(web)
    return tmp_path / "c"


def page(body: str) -> Any:
    return html(text=body)


def crawl(web: Web, *words: str) -> None:
    fast = ("--delay", "0", "--connect-to", web.connect_to, "--contact", "mailto:test@lycosa.test")
    assert run("crawl", "press.toml", "-c", "c", *fast, *words).code == 0


def records(folder: Path) -> dict[str, dict[str, Any]]:
    with Collection(folder) as collection:
        return {record.url.partition("test")[2]: record.data for record in collection.records()}


def states(folder: Path) -> dict[str, str]:
    with Collection(folder) as collection:
        found = collection.query("SELECT url, coalesce(nullif(reason, ''), state) FROM urls")
        return {url.partition("test")[2]: state for url, state in found}


def test_ranges_say_where_a_crawl_goes(site: Path) -> None:
    """From the list's part alone, over its pages; leaf pages lead nowhere, the rest is refused with its reason."""
    assert states(site) == {
        "/start": "fetched", "/list/": "fetched", "/list/?page=2": "fetched", "/news/1": "fetched",
        "/news/2": "fetched", "/x": "no-range", "/about": "no-range",
    }  # fmt: skip


def test_records_say_where_they_come_from(site: Path) -> None:
    """Their category and range, and the rule of a field where it was not the first."""
    origin = {"@category": "article", "@range": "article"}
    assert records(site) == {
        "/news/1": {"title": "One", "words": ["Text of One."], **origin},
        "/news/2": {"title": "Two", "words": ["Text of Two."], "@rules": {"title": 1}, **origin},
    }


def test_a_changed_rule_is_applied_without_the_web(site: Path, web: Web) -> None:
    """To what is stored, once; the collection keeps the new rules."""
    web.close()
    Path("press.toml").write_text(MISSION + '[records.schemas.story.fields.shout]\nrule = "css:h1"\n')
    said = run("extract", "press.toml", "-c", "c")
    assert said.code == 0 and "2 records from 5 documents" in said.output
    assert records(site)["/news/2"]["shout"] == "Two"
    assert "0 records from 0 documents" in run("extract", "-c", "c").output
    archives = [str(path) for path in (site / "archive").glob("*.warc.gz")]
    lines = run("extract", "press.toml", *archives, "-q").output.splitlines()
    assert [json.loads(line)["data"]["title"] for line in lines] == ["One", "Two"]
    assert "say what to extract" in run("extract", "press.toml", "--quarry", "geo", "-c", "c").output


def test_pages_without_a_record_are_counted_with_their_reason(site: Path) -> None:
    """The summary says how many and why: in no range, or without what is required."""
    said = run("extract", "press.toml", "-c", "c", "--again").output
    assert "  no record  in no range that is extracted 3\n" in said
    Path("press.toml").write_text(MISSION.replace('"css:h2", "css:h1"', '"css:h2"'))
    said = run("extract", "press.toml", "-c", "c").output
    assert "in no range that is extracted 3, its rules find nothing, or not what is required 1\n" in said


def test_pages_that_are_no_article_say_why() -> None:
    """Where no site is described: what every article has is missing."""
    long = "<p>" + "The harbour was closed on Monday, after a storm had torn three ships loose. " * 6
    pages = {"words": "no HTML", "<p>Short.": "a text below 300 characters", long: "no title"}
    pages[f"<title>Storm closes harbour</title>{long}"] = "neither day nor author"
    for body, reason in pages.items():
        found = Records().extract(read("http://a.test/", {}, body.encode()))
        with pytest.raises(StopIteration) as end:
            next(found)
        assert end.value.value == reason


def test_large_descriptions_reach_the_workers(site: Path) -> None:
    """A command line has room for 128 KB."""
    comment = "".join(f'[records.schemas.s{n}.fields.x]\nrule = "css:{"a" * 900}"\n' for n in range(300))
    Path("press.toml").write_text(MISSION + comment)
    assert "2 records from 5 documents" in run("extract", "press.toml", "-c", "c").output


def test_a_wider_range_lets_in_what_was_refused(site: Path, web: Web) -> None:
    """The next crawl judges again what was in no range."""
    Path("press.toml").write_text(MISSION.replace("list/$'", "(?:list/|x|about)$'"))
    crawl(web)
    assert {"/x": "fetched", "/about": "fetched"}.items() <= states(site).items()


def test_check_and_why_tell_the_range(site: Path) -> None:
    """By the same rules as the crawl, with a mission file or with the collection."""
    for words in (["check", "press.toml"], ["check", "-c", "c"]):
        said = run(*words, "http://site.test/news/7", "http://site.test/y", "http://site.test/start").output
        assert 'the range \\"article\\" takes it: leaf, category article, schema story' in said
        assert said.count("none of the 2 ranges matches") == 2
        refused = [json.loads(line) for line in said.splitlines() if '"ok":"no"' in line]
        assert [(row["url"], row["rule"]) for row in refused] == [("http://site.test/y", "no-range")]
    why = json.loads(run("why", "-c", "c", "http://site.test/x").output)
    assert why["fate"]["reason"] == "no-range"
    assert why["visited"] is False


def test_try_takes_pages_of_the_collection(site: Path, web: Web) -> None:
    """The range of the address chooses the schema; what is not stored is fetched once."""
    words = ("-c", "c", "--connect-to", web.connect_to, "--delay", "0")
    said = run("try", "press.toml", "http://site.test/news/2", "http://site.test/news/9", "http://site.test/x", *words)
    assert [json.loads(line)["record"].get("title") for line in said.output.splitlines()] == ["Two", "Nine", None]
    told = run("try", "press.toml", "http://site.test/x", "--format", "text", *words).output
    assert told == "http://site.test/x: no schema; none of the 2 ranges matches\n"
    Path("a.html").write_text("<h1>File</h1>")
    said = run("try", "press.toml", "a.html", "--url", "http://site.test/news/5")
    assert json.loads(said.output)["record"] == {"title": "File"}


def test_the_cache_is_one_xml_file(site: Path) -> None:
    """Every page that was asked for: its place in the archive, what the server said, whether it was processed."""
    assert run("export", "cache", "-c", "c", "-o", "cache.xml").code == 0
    root = etree.parse("cache.xml").getroot()
    pages = {element.get("url").partition("test")[2]: element for element in root}
    assert pages.keys() == {"/start", "/list/", "/list/?page=2", "/news/1", "/news/2"}
    one = pages["/news/1"]
    assert (one.get("state"), one.get("processed")) == ("fetched", "yes")
    assert (site / one.find("file").get("name")).is_file()
    assert one.find("server").get("status") == "200"
    assert one.find("processed").get("records") == "1"
    assert run("export", "cache", "-c", "c", "-o", "again.xml").code == 0
    assert Path("again.xml").read_bytes() == Path("cache.xml").read_bytes()


def test_missions_are_asked_to_refresh(site: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before records are replaced and after, by an extraction and by a round."""
    asked: list[int] = []

    def refresh(collection: stored.Collection) -> Iterable[str]:
        asked.append(sum(1 for _ in collection.records()))
        return ["It is fresh."]

    monkeypatch.setattr(rounds, "refresh", refresh)
    said = run("extract", "press.toml", "-c", "c")
    assert asked == [2, 2]
    assert said.output.count("lycosa: It is fresh.") == 2
    web["site.test/list/?page=2"] = page('<main><a href="/news/2">2</a> <a href="/news/9">9</a></main>')
    crawl(web, "--recrawl")
    assert asked == [2, 2, 2, 3]
