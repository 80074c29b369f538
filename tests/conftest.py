"""Fixtures that every test may use."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from support.loopback import Web


def pytest_configure() -> None:
    """Set what all tests need.

    In a shell's background Ctrl-C is ignored, and would be by every crawl that a test starts and interrupts.
    """
    # On a busy machine making examples is slow, which says nothing of what they test.
    settings.register_profile("patient", suppress_health_check=[HealthCheck.too_slow], deadline=None)
    settings.load_profile("patient")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes do not name a test: compressed ones have the time in them, and differ between the processes of one run."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture
def web() -> Iterator[Web]:
    """A small web on loopback, closed when the test ends."""
    server = Web()
    yield server
    server.close()
