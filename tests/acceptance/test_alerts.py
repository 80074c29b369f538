"""Alerts over the synthetic web: its pages that change in a printed date only make none, those that change do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.command_line import run
from support.synthetic_web import SyntheticWeb
from support.web_changes import reach, seeds_of

pytestmark = pytest.mark.acceptance

HOURS = 24
TICKS = 2
FAST = ("--scope", "host", "--delay", "0", "--workers", "1", "--set", "fetch.retry_delay_s=0.3")
READERS = """
[[alerts]]
name = "all"
page = "."
feed = "all.atom"
"""


@pytest.fixture(scope="module")
def globe(shared: Path) -> Iterator[SyntheticWeb]:
    """A world with a clock of its own, large enough to have hosts that print the date."""
    world = SyntheticWeb(shared / "world", hosts=120, pages=1200)
    yield world
    world.close()


def without_stamp(content: bytes | None) -> bytes | None:
    return None if content is None else re.sub(rb'<div class="stamp">.*?</div>', b"", content)


def test_printed_dates_make_no_alert(globe: SyntheticWeb, tmp_path: Path, say: Callable[[str], None]) -> None:
    """Of all pages that a tick changes, those are told whose content differs beyond the date that they print."""
    stamped = [seed for seed in seeds_of(globe) if globe.hosts[seed[7:-1]]["stamped"]]
    seeds = [*stamped[:3], *[seed for seed in seeds_of(globe) if seed not in stamped][:3]]
    (tmp_path / "readers.toml").write_text(READERS)
    folder = tmp_path / "c"
    words = ("alerts", str(tmp_path / "readers.toml"), "-c", str(folder))
    assert globe.crawl(folder, *FAST, "--limit", "300", *seeds).code == 0
    assert run(*words).code == 0
    known = reach(globe, seeds)
    told, changed, printed = set(), set(), set()
    before = {url: globe.content(url) for url in known}
    for _ in range(TICKS):
        globe.tick(HOURS)
        assert globe.crawl(folder, *FAST, "--limit", "300", "--recrawl", "--full", *seeds).code == 0
        lines = run(*words).output.splitlines()
        now = {url: globe.content(url) for url in known}
        found = {json.loads(line)["url"] for line in lines if line.startswith("{")}
        differ = {url for url in known if without_stamp(now[url]) != without_stamp(before[url])}
        printed |= {url for url in known if now[url] != before[url]} - differ
        told |= found
        changed |= differ
        before = now
    say(f"{len(printed)} pages changed in a printed date only, {len(changed)} in content, {len(told)} were told")
    assert printed
    assert told
    assert told & known <= changed
