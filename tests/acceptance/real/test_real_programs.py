"""Three real programs, crawled as `run.py` crawls all of them: nothing is lost, nothing is made up, the crawl ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from acceptance.real.measure import measure
from acceptance.real.programs import cgit, datasette, mapserver
from acceptance.real.run import COLUMNS, ROW, line
from acceptance.real.site import Absent

pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize("program", [datasette, cgit, mapserver], ids=lambda program: program.NAME)
def test_a_real_program_is_collected_whole(program: ModuleType, tmp_path: Path, say: Callable[[str], None]) -> None:
    """Every page of the program's content is fetched, every service is listed once, and the crawl ends by itself."""
    try:
        figures = measure(program, tmp_path, max_s=300)
    except Absent as absent:
        pytest.skip(str(absent))
    say(f"{ROW.format(*COLUMNS)}\n{line(figures)}")
    assert figures.faults() == [], figures.said
