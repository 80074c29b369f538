"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from loopback import Web


@pytest.fixture
def web() -> Iterator[Web]:
    """A small web on loopback, closed when the test ends."""
    server = Web()
    yield server
    server.close()
