"""The line that tells people how far a crawl is."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from lycosa.config.settings import Mission
from lycosa.crawler import summary as crawl_progress
from lycosa.crawler.summary import CrawlProgress
from lycosa.output import progress
from lycosa.politeness.shared_state import Cell, SharedState


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def show(output: io.StringIO, tmp_path: Path) -> str:
    shared = SharedState(1, folder=str(tmp_path))
    shared.waiting = 1204
    shared.put(0, Cell.PAGES, 412)
    shared.put(0, Cell.BACKING_OFF, 3)
    CrawlProgress(output, quiet=False, mission=Mission()).update(shared)
    return output.getvalue()


def test_the_line_says_what_is_done_and_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages, pace, URLs that wait, hosts that are given a rest; in a pipe with the name of the program in front."""
    monkeypatch.setattr(progress, "PIPE_S", 0.0)
    line = show(io.StringIO(), tmp_path).splitlines()[-1]
    assert line.startswith("lycosa: 412 pages, ") and " 1,204 waiting, " in line and "3 hosts backing off" in line


def test_the_line_tells_the_harvest_where_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PIPE_S", 0.0)
    shared, output = SharedState(1, folder=str(tmp_path)), io.StringIO()
    CrawlProgress(output, quiet=False, mission=Mission(), tells_harvest=True).update(shared)
    shared.put(0, Cell.JUDGED, 50)
    shared.put(0, Cell.FINDS, 19)
    CrawlProgress(output, quiet=False, mission=Mission(), tells_harvest=True).update(shared)
    CrawlProgress(output, quiet=False, mission=Mission()).update(shared)
    assert output.getvalue().count("harvest") == output.getvalue().count("harvest 38%,") == 1


def test_the_line_fits_onto_a_narrow_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that wraps could not be overwritten."""
    monkeypatch.setattr(progress, "LIVE_S", 0.0)
    monkeypatch.setenv("COLUMNS", "30")
    line = show(Screen(), tmp_path).rpartition("\x1b[2K")[2]
    assert line.startswith("412 pages") and len(line) == 29


@pytest.mark.parametrize(("pages", "off", "told"), [(0, 1, 1), (0, 0, 0), (7, 1, 0)])
def test_a_crawl_that_has_nothing_yet_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: int, off: int, told: int
) -> None:
    """Once, and only if no host has answered: trying again takes a minute in which nothing else would be said."""
    monkeypatch.setattr(crawl_progress, "SILENCE_S", 0.0)
    output, shared = io.StringIO(), SharedState(1, folder=str(tmp_path))
    shared.put(0, Cell.PAGES, pages)
    shared.put(0, Cell.BACKING_OFF, off)
    shown = CrawlProgress(output, quiet=False, mission=Mission())
    for _ in range(3):
        shown.update(shared)
    assert output.getvalue().count("No page yet: 1 host does not answer") == told
