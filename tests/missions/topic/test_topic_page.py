"""The page about a hunt: its harvest, the pages to ask about, marks by buttons, queries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from missions.topic.topic_pages import html
from support.command_line import run
from support.make_collection import make_collection
from support.serve_client import serving

from lycosa import Collection
from lycosa.missions.topic.harvest import Harvest, measure_harvest, read_curve, tell_harvest
from lycosa.missions.topic.marks import mark, merge_marks, read_marks
from lycosa.missions.topic.quarry import TopicPages
from lycosa.missions.topic.settings import TopicSettings

MISSION = 'missions = ["topic"]\n[topic]\nabout = ["orchid"]\n'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    pages = [
        (f"http://flowers.test/{topic}{n}", "text/html", html(topic, n).encode())
        for n in range(4)
        for topic in ("orchids", "roses", "trains")
    ]
    pages.append(("http://flowers.test/x", "text/html", b"<title><b>&lt;x&gt;</title>"))
    make_collection(folder / "flowers", pages)
    (folder / "flowers" / "lycosa.toml").write_text(MISSION)
    assert run("extract", "-c", str(folder / "flowers"), "--quiet").code == 0
    return folder


def test_people_are_asked_about_pages_and_their_answers_count(served: Path) -> None:
    """Buttons mark a page, or take that back; what is marked is not asked about; queries are proposed."""
    with serving(served) as client:
        page = client.get("/c/flowers/m/topic/")
        assert page.status == 200
        assert "Least sure" in page.text and "<b>" not in page.text
        for url, verdict in (("orchids1", "yes"), ("orchids2", "yes"), ("roses1", "no"), ("roses1", "undo")):
            answer = client.post(
                "/c/flowers/m/topic/mark",
                {"url": f"http://flowers.test/{url}", "verdict": verdict},
                page="/c/flowers/m/topic/",
            )
            assert answer.status == 303
        data = client.get("/c/flowers/m/topic/index.json").json
        assert data["good"] == 2 and data["bad"] == 0
        assert data["marks"] == {"http://flowers.test/orchids1": True, "http://flowers.test/orchids2": True}
        assert not {"http://flowers.test/orchids1"} & {each["url"] for each in data["unsure"]}
        assert data["queries"]
        assert client.get("/c/flowers/m/topic/", accept_language="es").text.count("Las más dudosas") == 2
    marked = [(each.url.rpartition("/")[2], each.is_wanted) for each in read_marks(served / "flowers")]
    assert marked == [("orchids1", True), ("orchids2", True)]


def test_marks_go_with_a_merge(served: Path, tmp_path: Path) -> None:
    """They are no derived data; what was said last counts, however often they are brought along."""
    with Collection(served / "flowers") as collection:
        mark(collection, "http://flowers.test/trains1", is_wanted=False)
    for _ in range(2):
        assert len(merge_marks(tmp_path, served / "flowers", name="flowers")) == 1
    assert read_marks(tmp_path) == read_marks(served / "flowers")


def test_a_harvest_is_told_with_its_end(served: Path) -> None:
    """The share of finds, that of the last pages, and whether the topic seems exhausted."""
    with Collection(served / "flowers") as collection:
        assert measure_harvest(collection).pages == 13
    rich = Harvest(pages=1000, found=400, lately=200, found_lately=50, curve=[])
    assert tell_harvest(rich) == ["400 of 1,000 pages are of the topic (40%), of the last 200 25%."]
    assert not rich.is_exhausted
    spent = Harvest(pages=1000, found=400, lately=200, found_lately=5, curve=[])
    assert "exhausted" in tell_harvest(spent)[1]
    assert tell_harvest(Harvest(0, 0, 0, 0, [])) == []
    rising = [(n, n // 2) for n in range(0, 1001, 20)]
    dry = [*rising, *((n, 500 + n // 1000) for n in range(1020, 1401, 20))]
    patient, ending = TopicPages(TopicSettings()), TopicPages(TopicSettings(stop_when_exhausted=True))
    assert ending.version == patient.version
    assert not ending.is_exhausted(rising) and ending.is_exhausted(dry) and not patient.is_exhausted(dry)
    assert read_curve(dry).lately == 200


def test_status_and_report_tell_the_harvest(served: Path, tmp_path: Path) -> None:
    """A phrase in the one, the curve and the best pages in the other."""
    found = json.loads(run("status", "-c", str(served / "flowers"), "--format", "jsonl").output)
    assert found["told"] == ["harvest 0%"]
    assert "\n  harvest 0%\n" in run("status", "-c", str(served / "flowers"), "--format", "text").output
    said = run("report", "topic", "-c", str(served / "flowers"), "-o", str(tmp_path / "topic.html"))
    assert said.code == 0, said.output
    page = (tmp_path / "topic.html").read_text()
    assert "Most relevant" in page and "http://flowers.test/orchids1" in page and "<figure>" in page
