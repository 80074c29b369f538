"""Every frontier there is, opened as several workers do."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.memory_frontier import MemoryFrontier
from support.pooler import find_pooler, running_pooler
from support.postgres_server import PostgresServer, find_programs, running_server

from lycosa.frontier.contract import Frontier
from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.sqlite.frontier import SqliteFrontier


def unpack(packed: bytes) -> list[str]:
    return packed.decode().split()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all tests of the session."""
    if find_programs() is None:
        pytest.skip("there is no PostgreSQL server on this machine")
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def pooler(postgres: PostgresServer) -> Iterator[str]:
    """The address of a pooler before that server."""
    if find_pooler() is None:
        pytest.skip("there is no PgBouncer on this machine")
    with running_pooler(postgres) as address:
        yield address


_names = itertools.count()


@pytest.fixture(params=["memory", "sqlite", "sqlite in small strides", "postgres", "postgres behind a pooler"])
def open_frontier(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Frontier]]:
    """Opens frontiers on one and the same collection, as several workers do."""
    opened: list[Frontier] = []
    path = tmp_path / "crawl.db"
    if "postgres" in request.param:
        from lycosa.frontier.postgres.frontier import PostgresFrontier

        pooler = "pooler" in request.param
        address = request.getfixturevalue("pooler") if pooler else request.getfixturevalue("postgres").address
        name = f"collection_{next(_names)}"
        assert PostgresFrontier.create(address, name, mission_toml="name = 'test'", now=1.0)
    elif request.param != "memory":
        SqliteFrontier.create(path, mission_toml="name = 'test'", now=1.0)

    def open_one() -> Frontier:
        if "postgres" in request.param:
            opened.append(PostgresFrontier(address, name, machine="here", unpack_links=unpack, uses_server_clock=False))
        elif request.param != "memory":
            recent_max = 3 if "small" in request.param else 500_000
            opened.append(SqliteFrontier(path, unpack_links=unpack, recent_max=recent_max))
        elif opened:
            assert isinstance(opened[0], MemoryFrontier)
            opened.append(opened[0].twin())
        else:
            opened.append(MemoryFrontier(unpack_links=unpack))
        return opened[-1]

    yield open_one
    for frontier in opened:
        frontier.close()


@pytest.fixture
def frontier(open_frontier: Callable[[], Frontier]) -> Frontier:
    """A frontier that holds all partitions."""
    frontier = open_frontier()
    assert frontier.leases.acquire("here:0", want=PARTITIONS, now=0.0, ttl_s=60.0) == list(range(PARTITIONS))
    return frontier
