"""The newspapers and the tool shop of `examples/newsstand.py`, crawled in two editions, with readers and alerts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.mission_webs import make_newsstand


@pytest.fixture(scope="session")
def newsstand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the collections `press` and `shop`; tests that write to it take a copy."""
    return make_newsstand(tmp_path_factory.mktemp("newsstand"))


@pytest.fixture
def served(newsstand: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    shutil.copytree(newsstand, tmp_path / "served")
    return tmp_path / "served"
