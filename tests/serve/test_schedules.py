"""Schedules: when a collection is visited by itself, in any zone; each time once, whoever looks."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from support.crawl_runs import crawl
from support.loopback import Web, html
from support.make_collection import make_collection
from support.serve_client import serving

from lycosa.collection.status import running_crawl
from lycosa.errors import UsageError
from lycosa.serve.collection_folders import CollectionFolders
from lycosa.serve.schedules import Schedule, Scheduler, check_schedule, next_due, read_schedule, set_schedule

PAGE = ("https://a.example/", "text/html", b"<title>A</title>")
DAY = 86_400.0


def at(text: str, zone: str = "Europe/Madrid") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("kind", "wanted", "day", "after", "due"),
    [
        ("daily", "06:00", 0, "2026-11-19T05:59", "2026-11-19T06:00"),
        ("daily", "06:00", 0, "2026-11-19T06:00", "2026-11-20T06:00"),
        ("weekly", "06:00", 0, "2026-11-19T12:00", "2026-11-23T06:00"),
        ("weekly", "06:00", 3, "2026-11-19T06:00", "2026-11-26T06:00"),
        ("daily", "06:00", 0, "2026-03-28T06:00", "2026-03-29T06:00"),  # a day of 23 hours
        ("daily", "06:00", 0, "2026-10-24T06:00", "2026-10-25T06:00"),  # and one of 25
        ("daily", "02:30", 0, "2026-03-28T12:00", "2026-03-29T03:30"),  # there is no half past two
    ],
)
def test_the_next_time_is_told_by_the_clocks_of_the_zone(
    kind: str, wanted: str, day: int, after: str, due: str
) -> None:
    schedule = check_schedule(kind=kind, at=wanted, day=str(day), zone="Europe/Madrid")
    assert next_due(schedule, at(after)) == at(due)


def test_a_time_that_is_there_twice_counts_once() -> None:
    """Clocks go back from three to two: the first half past two, and then that of the next day."""
    schedule = check_schedule(kind="daily", at="02:30", zone="Europe/Madrid")
    first = next_due(schedule, at("2026-10-25T00:00"))
    assert first == at("2026-10-25T02:30")
    assert next_due(schedule, first) == at("2026-10-26T02:30")


@pytest.mark.parametrize(
    "given",
    [{"kind": "hourly"}, {"kind": "daily", "at": "25:00"}, {"kind": "daily", "zone": "Mars/Olympus"}]
    + [{"kind": "daily", "zone": "../../etc/passwd"}, {"kind": "daily", "at": "soon"}],
)
def test_what_is_no_schedule_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="allowed"):
        check_schedule(**given)


def test_a_day_that_no_week_has_is_monday() -> None:
    """As an empty one; a long number is none either."""
    for day in ("0009", "7", "0" * 5000, "\u0661"):
        assert check_schedule(kind="weekly", day=day).day == 0


def test_what_is_due_is_started_once_and_its_end_is_noted(tmp_path: Path) -> None:
    """Also by two servers at the same time, by one that was started later, and where several times were missed."""
    web = Web()
    web["site.example/"] = html("/a", title="Site")
    web["site.example/a"] = html(title="A")
    folder = tmp_path / "site"
    crawl(web, folder, "http://site.example/")
    now = time.time() + 10
    made = set_schedule(tmp_path, folder, check_schedule(kind="daily", at="06:00", zone="UTC"), now=now)
    assert now < made.due <= now + DAY
    options = (f"--connect-to={web.connect_to}", "--delay=0", "--full")
    clock = [now]
    servers = [Scheduler(CollectionFolders(tmp_path), options, now=lambda: clock[0]) for _ in range(2)]

    def look() -> Schedule:
        for server in servers:
            server.look()
        return read_schedule(tmp_path, folder)

    assert look().runs == ()
    clock[0] = made.due + 3 * DAY
    begun = look()
    assert len(begun.runs) == 1 and begun.due == made.due + 4 * DAY and begun.runs[0].due == made.due
    until = time.monotonic() + 100
    while not (ended := look()).runs[0].ended:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert (len(ended.runs), ended.runs[0].state, ended.due) == (1, "finished", begun.due)
    web.close()


def test_a_run_that_cannot_begin_says_why(tmp_path: Path) -> None:
    """In the history of the collection; the next one is due all the same."""
    folder = make_collection(tmp_path / "news", [PAGE])
    (folder / "lycosa.toml").write_text('quarry = "evil:Quarry"\n')
    made = set_schedule(tmp_path, folder, check_schedule(kind="daily", zone="UTC"), now=1000.0)
    Scheduler(CollectionFolders(tmp_path), now=lambda: made.due).look()
    schedule = read_schedule(tmp_path, folder)
    assert schedule.runs[0].state == "failed" and "runs code of its own" in schedule.runs[0].said
    assert schedule.due == made.due + DAY
    assert not running_crawl(folder)


def test_a_schedule_is_given_in_the_page(tmp_path: Path) -> None:
    """It stands beside the collections, so that one that was put there brings none."""
    folder = make_collection(tmp_path / "news", [PAGE])
    with serving(tmp_path) as client:
        fields = {"kind": "weekly", "at": "07:15", "day": "2", "zone": "Europe/Madrid"}
        assert client.post("/c/news/schedule", fields).status == 303
        shown = client.get("/c/news/schedule.json").json["schedule"]
        assert {name: str(shown[name]) for name in fields} == fields and shown["due"] > time.time()
        assert client.post("/c/news/schedule", {**fields, "zone": "Nowhere"}).status == 422
        assert client.post("/c/news/schedule", {"kind": ""}).status == 303
        assert client.get("/c/news/schedule.json").json["schedule"]["due"] == 0
    assert (tmp_path / ".lycosa/schedules/news.json").exists() and not list(folder.glob("schedule*"))
