"""The verbs `stories` and `impact`, and the figures behind the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import run
from support.make_collection import make_collection
from support.told_stories import BUDGET, FLOOD, FLOOD_EN, OTHER, article, filled_store

from lycosa.missions.records.stories import refresh_stories, stories
from lycosa.missions.records.stories.impact import find_stories, measure_impact, write_impact

NASTY = "</script><img src=http://evil.example/x onerror=alert(1)>"


@pytest.fixture
def collection(tmp_path: Path) -> str:
    """A collection with the flood in four papers and some other articles."""
    folder = make_collection(tmp_path / "collection", [("http://diario.example/", "text/html", b"<p>x")])
    filled_store(folder, [*FLOOD, *OTHER]).close()
    return str(folder)


def test_stories_are_listed(collection: str) -> None:
    """In a pipe one object a line; stories of a single host are asked for."""
    said = run("stories", "-c", collection, "--format", "jsonl")
    assert said.code == 0, said.output
    (story,) = [json.loads(line) for line in said.output.splitlines()]
    assert (story["records"], story["hosts"], story["first"], story["last"]) == (4, 4, "2024-03-04", "2024-03-06")
    assert story["title"] == "El Ebro se desborda en Tudela"
    every = run("stories", "-c", collection, "--least-hosts", "1", "--format", "csv").output.splitlines()
    assert len(every) == 5 and every[0] == "story,records,hosts,first,last,title,media"


def test_one_story_tells_its_members_and_what_they_give(collection: str) -> None:
    """For people: why each is there, who copied, the fields together and who says otherwise."""
    number = json.loads(run("stories", "-c", collection, "--format", "jsonl").output)["story"]
    said = run("stories", "-c", collection, "--story", str(number), "--format", "table").output
    assert "the first of the story" in said and "marta iturralde" in said and "copy, names AP" in said
    assert "place        Tudela  (herald.example;" in said
    assert "section      World  (2 hosts;" in said and "but España  (diario.example)" in said
    rows = run("stories", "-c", collection, "--story", str(number), "--format", "jsonl").output.splitlines()
    assert [json.loads(row)["text"] for row in rows] == ["own words", "own words", "own words", "copy"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("stories", "--story", "99999"), "There is no story 99999"),
        (("stories", "--least-hosts", "0"), "--least-hosts is a number from 1 on; found 0."),
        (("stories", "--since", "soon"), "--since is a day like 2026-11-18; found soon."),
        (("impact", "99999"), "There is no story 99999"),
        (("impact", "zeppelin"), "No record has the words zeppelin"),
        (("impact", "-o", "page.pdf"), "page.pdf ends in .pdf"),
    ],
)
def test_mistakes_are_told_in_a_sentence(collection: str, words: tuple[str, ...], complaint: str) -> None:
    """What was found, and what to do."""
    said = run(*words, "-c", collection)
    assert said.code != 0 and complaint in said.output and "Traceback" not in said.output


def test_an_empty_collection_has_no_impact(tmp_path: Path) -> None:
    """It says how records are made."""
    folder = make_collection(tmp_path / "collection", [("http://h.example/", "text/html", b"<p>x")])
    assert "There are no stories in this collection" in run("impact", "-c", str(folder)).output
    assert run("stories", "-c", str(folder)).code == 0


def test_impact_counts_media_days_languages_and_copies(collection: str, tmp_path: Path) -> None:
    """As JSON in the pipe, and as a page in a file."""
    figures = json.loads(run("impact", "-c", collection).output)
    assert (figures["media"], figures["articles"], figures["first_host"]) == (4, 4, "diario.example")
    assert figures["over_time"] == [["2024-03-04", 1], ["2024-03-05", 2], ["2024-03-06", 1]]
    assert figures["by_language"] == [["en", 2], ["cs", 1], ["es", 1]]
    assert figures["by_section"] == [["World", 2], ["España", 1]]
    assert 0.2 < figures["copied_share"] < 0.35
    assert figures["members"][3]["copied_from"] == "herald.example"
    page = tmp_path / "impact.html"
    said = run("impact", "ebro", "TUDELA", "-c", collection, "-o", str(page))
    assert "4 articles in 4 media" in said.output
    assert "Articles by medium" in page.read_text(encoding="utf-8")


def test_long_times_are_counted_in_months(tmp_path: Path) -> None:
    """Also a query whose stories lie years apart has few columns; empty ones are shown."""
    records = [
        article(f"http://h{n}.example/", f"Budget {n}", BUDGET, day)
        for n, day in enumerate(("1995-01-31", "1998-03-01", "2024-02-29"))
    ]
    with filled_store(tmp_path, records) as store:
        refresh_stories(store)
        impact = measure_impact(find_stories(store, "valdoria"), query="valdoria")
        months = measure_impact(find_stories(store, "valdoria")[:2])
    assert (impact.step, len(impact.over_time), impact.stories) == ("year", 30, 3)
    assert (months.step, len(months.over_time)) == ("month", 39)
    assert sum(count for _, count in months.over_time) == 2


def test_hostile_titles_are_only_text(tmp_path: Path) -> None:
    """Markup in titles, sections and languages is escaped; addresses that are none of the web are no links."""
    records = [
        article("http://a.example/1", NASTY, FLOOD_EN, "2024-03-04", section=NASTY, language="x<b>"),
        article("javascript:alert(1)", NASTY, FLOOD_EN, "2024-03-05", section=f"{NASTY}2"),
    ]
    with filled_store(tmp_path, records) as store:
        refresh_stories(store)
        (story,) = stories(store)
        page = "".join(write_impact(measure_impact([story])))
    assert (
        "<img" not in page
        and "&lt;img" in page
        and 'href="javascript' not in page
        and "<b>" not in page.split("tiles")[0]
    )
