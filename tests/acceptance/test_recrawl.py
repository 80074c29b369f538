"""Rounds over the synthetic web, compared with what the world itself says has changed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.synthetic_web import Crawl, SyntheticWeb
from support.web_changes import Truth, hidden_in, reach, seeds_of

pytestmark = pytest.mark.acceptance

HOURS = 24
ROUNDS = 10
FAST = ("--scope", "host", "--delay", "0", "--workers", "2", "--set", "fetch.retry_delay_s=0.3")


@pytest.fixture(scope="module")
def globe(shared: Path) -> Iterator[SyntheticWeb]:
    """A small world with a clock of its own."""
    world = SyntheticWeb(shared / "world", hosts=40, pages=700)
    yield world
    world.close()


def ask(folder: Path, *words: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "lycosa", "changes", "-c", str(folder), "--format", "jsonl", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_ten_rounds(globe: SyntheticWeb, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After a tick only what changed is stored, and all of it is told; intervals halve the work of ten rounds."""
    seeds, folder, truth = seeds_of(globe), tmp_path / "c", Truth(globe)
    hidden = hidden_in(globe, seeds)
    first = globe.crawl(folder, *FAST, *seeds)
    assert first.code == 0, first.said
    truth.look(hidden | reach(globe, seeds))
    requests = []
    for number in range(2, ROUNDS + 2):
        globe.tick(HOURS)
        truth.look(hidden | reach(globe, seeds))
        crawl = globe.crawl(folder, *FAST, "--recrawl", *seeds)
        assert crawl.code == 0, crawl.said
        requests.append(globe.stats()["total"])
        if number == 2:
            judge_tick(globe, crawl, truth, capsys)
    full = globe.crawl(folder, *FAST, "--recrawl", "--full", *seeds)
    judge_intervals(full, truth, requests, globe.stats()["total"], capsys)


def judge_tick(synthetic_web: SyntheticWeb, crawl: Crawl, truth: Truth, capsys: pytest.CaptureFixture[str]) -> None:
    """The round after the first tick: exact, and no more is fetched than has to be."""
    told = {row["url"]: row["what"] for row in ask(crawl.folder)}
    expected = truth.changes(0, 1)
    # Fetched although unchanged: where the server gives nothing to ask with, or tells a new date in every hour, that is
    # how it has to be.
    fetched = crawl.rows(
        "SELECT host.name, event, page.etag <> '' OR page.last_modified <> '' FROM visit JOIN url USING (n)"
        " JOIN host USING (host) LEFT JOIN page ON page.n = visit.n AND page.round = 1"
        " WHERE visit.round = 2 AND visit.http = 200"
    )
    given: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for host, event, keyed in fetched:
        if keyed is not None:
            given[bool(keyed and not synthetic_web.hosts[host]["stamped"])][event] += 1
    fair, forced = given[True], given[False]
    confirmed = crawl.rows("SELECT count(*) FROM visit WHERE round = 2 AND http = 304")[0][0]
    stored = crawl.rows("SELECT n FROM page WHERE round = 2")
    pages = crawl.rows("SELECT count(*) FROM pages")[0][0]
    with capsys.disabled():
        print(
            f"\nworld, one tick of {HOURS} h: {pages} pages, {len(expected)} changes {dict(Counter(expected.values()))}"
            f" as the world says, {dict(Counter(told.values()))} as told; {confirmed} answers 304, 200 from pages with"
            f" validators {dict(fair)}, from pages without, or with a new one each hour, {dict(forced)};"
            f" {len(stored)} stored"
        )
    assert told == expected and len(expected) > 50
    in_sitemaps = crawl.rows("SELECT count(*) FROM page JOIN url USING (n) WHERE page.round = 2 AND via = 'sitemap'")
    gone = sum(what == "gone" for what in expected.values())
    assert len(stored) - in_sitemaps[0][0] == len(expected) - gone
    assert fair["unchanged"] <= 0.01 * fair.total()


def judge_intervals(
    crawl: Crawl, truth: Truth, requests: list[int], full: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten rounds by intervals against ten full ones: requests, and changes that were never seen, or seen late."""
    seen, late, missed = truth.judge(crawl)
    total = seen + late + missed
    share = sum(requests) / (ROUNDS * full)
    with capsys.disabled():
        print(
            f"\nworld, {ROUNDS} rounds of {HOURS} h: {sum(requests)} requests of {ROUNDS * full} for full rounds"
            f" ({share:.0%}; each round {requests}); of {total} changes {seen} seen at once, {late} late"
            f" ({late / total:.1%}), {missed} never ({missed / total:.1%})"
        )
    assert share <= 0.5
    assert missed <= 0.05 * total
