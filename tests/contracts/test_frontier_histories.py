"""Random histories: whatever happens to a frontier, memory, SQLite and PostgreSQL tell the same of it.

    LYCOSA_HISTORIES=1000 ./test tests/contracts/test_frontier_histories.py

plays so many histories with each number of workers; a few otherwise.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from support.frontier_histories import Player, Step, histories
from support.postgres_server import PostgresServer

from lycosa.frontier.contract import Frontier
from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.sqlite.frontier import SqliteFrontier

EXAMPLES = int(os.environ.get("LYCOSA_HISTORIES", "4"))

LOOK_EVERY = 5  # steps

_names = itertools.count()
_settings = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES < 100,
    phases=list(Phase) if EXAMPLES >= 100 else [Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)


def unpack(packed: bytes) -> list[str]:
    return packed.decode().split()


@contextmanager
def in_memory() -> Iterator[Callable[[], Frontier]]:
    first = MemoryFrontier(unpack_links=unpack)
    yield first.twin


@contextmanager
def in_sqlite(folder: Path) -> Iterator[Callable[[], Frontier]]:
    path = folder / f"{next(_names)}.db"
    SqliteFrontier.create(path, mission_toml="", now=0.0)
    opened: list[Frontier] = []

    def open_one() -> Frontier:
        opened.append(SqliteFrontier(path, unpack_links=unpack))
        return opened[-1]

    yield open_one
    for frontier in opened:
        frontier.close()


@contextmanager
def in_postgres(server: PostgresServer) -> Iterator[Callable[[], Frontier]]:
    from lycosa.frontier.postgres.connection import connect
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    name = f"history_{next(_names)}"
    PostgresFrontier.create(server.address, name, mission_toml="", now=0.0)
    opened: list[Frontier] = []

    def open_one() -> Frontier:
        frontier = PostgresFrontier(server.address, name, machine="here", unpack_links=unpack, uses_server_clock=False)
        opened.append(frontier)
        return frontier

    yield open_one
    for frontier in opened:
        frontier.close()
    with connect(server.address) as connection:
        connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


def compare(first: Player, second: Player, steps: list[Step]) -> None:
    """Play a history on both; they give the same answers and look the same."""
    for number, step in enumerate(steps, 1):
        assert first.play(step) == second.play(step), step
        if number % LOOK_EVERY == 0 or number == len(steps):
            assert first.look() == second.look(), step


@given(history=histories)
@_settings
def test_sqlite_behaves_as_memory_does(tmp_path: Path, history: tuple[int, list[Step]]) -> None:
    """Every answer is the same, whatever was done before."""
    workers, steps = history
    with in_memory() as open_first, in_sqlite(tmp_path) as open_second:
        compare(Player(open_first, workers), Player(open_second, workers), steps)


@given(history=histories)
@_settings
def test_postgres_behaves_as_sqlite_does(
    tmp_path: Path, postgres: PostgresServer, history: tuple[int, list[Step]]
) -> None:
    """Every answer is the same, whatever was done before."""
    workers, steps = history
    with in_sqlite(tmp_path) as open_first, in_postgres(postgres) as open_second:
        compare(Player(open_first, workers), Player(open_second, workers), steps)
