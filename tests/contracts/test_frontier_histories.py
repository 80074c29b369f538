"""Random histories: whatever happens to a frontier, memory, SQLite and PostgreSQL tell the same of it.

    LYCOSA_HISTORIES=1000 ./test tests/contracts/test_frontier_histories.py

plays so many histories, of one worker and of two; a few otherwise.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from support.frontier_histories import Player, Step, differences, histories
from support.memory_frontier import MemoryFrontier
from support.postgres_server import PostgresServer

from lycosa.frontier.contract import Frontier
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.sqlite.key_index import MOST

EXAMPLES = int(os.environ.get("LYCOSA_HISTORIES", "6"))

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
def in_sqlite(folder: Path, number: int) -> Iterator[Callable[[], Frontier]]:
    """Every other one moves its keys to the sorted table in small strides."""
    path = folder / f"{next(_names)}.db"
    recent_max = (MOST, 3)[number % 2]
    SqliteFrontier.create(path, mission_toml="", now=0.0)
    opened: list[Frontier] = []

    def open_one() -> Frontier:
        opened.append(SqliteFrontier(path, unpack_links=unpack, recent_max=recent_max))
        return opened[-1]

    yield open_one
    for frontier in opened:
        frontier.close()
    path.unlink()


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


@given(history=histories)
@_settings
def test_all_frontiers_tell_the_same_of_every_history(
    tmp_path: Path, postgres: PostgresServer, history: tuple[int, list[Step]]
) -> None:
    """Every answer is the same, whatever was done before."""
    workers, steps = history
    with (
        in_memory() as open_memory,
        in_sqlite(tmp_path, len(steps)) as open_sqlite,
        in_postgres(postgres) as open_postgres,
    ):
        memory = Player(open_memory, workers)
        others = {"SQLite": Player(open_sqlite, workers), "PostgreSQL": Player(open_postgres, workers)}
        for number, step in enumerate(steps, 1):
            answer = memory.play(step)
            for name, other in others.items():
                assert not differences(answer, other.play(step)), (name, step)
            if number % LOOK_EVERY == 0 or number == len(steps):
                seen = memory.look()
                for name, other in others.items():
                    assert not differences(seen, other.look()), (name, step)
