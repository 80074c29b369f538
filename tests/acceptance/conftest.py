"""Where the shared test material is; tests that need it are skipped where it is absent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.synthetic_web import SyntheticWeb

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared material: LYCOSA_SHARED, by default ../shared beside the project."""
    path = Path(os.environ.get("LYCOSA_SHARED", _ROOT.parent / "shared")).resolve()
    if not path.is_dir():
        pytest.skip(f"no shared test material at {path} (set LYCOSA_SHARED)")
    return path


@pytest.fixture(scope="session")
def synthetic_web(shared: Path) -> Iterator[SyntheticWeb]:
    """The synthetic web of 300 hosts, served until the last test is done."""
    world = SyntheticWeb(shared / "world")
    yield world
    world.close()


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Prints a figure past the capture."""

    def tell(figure: str) -> None:
        with capsys.disabled():
            print(f"\n{figure}")

    return tell
