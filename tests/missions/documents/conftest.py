"""The small faculty of `examples/faculty.py`, crawled once for all tests that read its documents."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType

import pytest
from support.mission_webs import load_example, make_faculty


@pytest.fixture(scope="session")
def faculty() -> ModuleType:
    """The example as a module."""
    return load_example("faculty")


@pytest.fixture(scope="session")
def crawled(faculty: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The collection that a crawl of it leaves; tests that write to it take a copy."""
    return make_faculty(tmp_path_factory.mktemp("faculty") / "c", faculty)


@pytest.fixture
def collection(crawled: Path, tmp_path: Path) -> Path:
    """A copy of that collection."""
    shutil.copytree(crawled, tmp_path / "c")
    return tmp_path / "c"
