"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from loopback import Web


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes do not name a test: compressed ones have the time in them, and differ between the processes of one run."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture
def web() -> Iterator[Web]:
    """A small web on loopback, closed when the test ends."""
    server = Web()
    yield server
    server.close()
