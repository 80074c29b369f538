"""Fixtures that every test may use."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from support.loopback import Web
from support.postgres_server import PostgresServer, find_programs, running_server
from support.ray_cluster import RayCluster, has_ray, ray_cluster


def pytest_configure() -> None:
    """Set what all tests need.

    In a shell's background Ctrl-C is ignored, and below nohup the end of the terminal: every crawl that a test starts
    and interrupts would ignore them, too.
    """
    # On a busy machine making examples is slow, which says nothing of what they test.
    settings.register_profile("patient", suppress_health_check=[HealthCheck.too_slow], deadline=None)
    settings.load_profile("patient")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes do not name a test: compressed ones have the time in them, and differ between the processes of one run."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture
def web() -> Iterator[Web]:
    """A small web on loopback, closed when the test ends."""
    server = Web()
    yield server
    server.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for the tests of a module."""
    if find_programs() is None:
        pytest.skip("there is no PostgreSQL server on this machine")
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def running_ray() -> Iterator[RayCluster]:
    """A Ray cluster for all tests of the session, as to start one takes seconds."""
    if not has_ray():
        pytest.skip("Ray is not installed")
    with ray_cluster() as cluster:
        yield cluster


@pytest.fixture
def ray_nodes(running_ray: RayCluster, monkeypatch: pytest.MonkeyPatch) -> RayCluster:
    """A Ray cluster of two nodes, whatever the test before did to it, and the environment to reach it."""
    running_ray.restore()
    for name, value in running_ray.environ.items():
        monkeypatch.setenv(name, value)
    return running_ray
