"""Connections that break at the worst moment: what was written is written once, and known to be."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest
from support.commit_moments import before_commit
from support.postgres_server import PostgresServer, running_server

from lycosa import urls
from lycosa.frontier.partitions import PARTITIONS
from lycosa.model import Batch, Discovery, Outcome, PageRow, State, Verdict

psycopg = pytest.importorskip("psycopg")
from lycosa.frontier.postgres import connection as connections  # noqa: E402  needs psycopg
from lycosa.frontier.postgres.connection import PostgresConnection  # noqa: E402
from lycosa.frontier.postgres.frontier import PostgresFrontier  # noqa: E402

LEASE_S = 20.0
_names = itertools.count()


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_PAUSE_S", 0.01)


@pytest.fixture
def name(address: str) -> str:
    """Of a collection that is there."""
    name = f"broken{next(_names)}"
    PostgresFrontier.create(address, name, mission_toml="", now=1.0)
    return name


@pytest.fixture
def connection(address: str, name: str) -> Iterator[PostgresConnection]:
    one = PostgresConnection(address, name)
    yield one
    one.close()


@pytest.fixture
def frontier(address: str, name: str) -> Iterator[PostgresFrontier]:
    one = PostgresFrontier(address, name, machine="here", uses_server_clock=False)
    yield one
    one.close()


def cut(connection: PostgresConnection) -> None:
    """End the connection as a server does that stops: what was not committed is gone."""
    with psycopg.connect(connection.address, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", (connection.db.info.backend_pid,))


def commit_unheard(connection: PostgresConnection) -> None:
    """Commit, and lose the connection before the answer is here."""
    connection.db.execute("COMMIT")
    cut(connection)


def test_a_commit_that_went_through_is_not_repeated_after_a_long_outage(
    connection: PostgresConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server cannot be asked at once what became of the transaction: it is asked as soon as it is back."""
    connection.run("CREATE TABLE written (what text)")
    before_commit(connection, lambda: commit_unheard(connection))
    opened, refusals = connection._open, [1, 2, 3]

    def open_later() -> Any:
        if refusals:
            refusals.pop()
            raise psycopg.OperationalError("connection refused")
        return opened()

    monkeypatch.setattr(connection, "_open", open_later)
    assert connection.write(lambda: connection.run("INSERT INTO written VALUES ('once')")) == 1
    assert connection.rows("SELECT * FROM written") == [("once",)]


def test_a_lease_that_was_not_committed_is_not_held(frontier: PostgresFrontier) -> None:
    """Else a worker wakes hosts that are another's, and does not tell that one of its new URLs."""
    half = list(range(PARTITIONS // 2))
    assert frontier.leases.acquire("here:0", want=len(half), now=0.0, ttl_s=LEASE_S) == half
    before_commit(frontier._connection, lambda: cut(frontier._connection))
    more = frontier.leases.acquire("here:0", want=PARTITIONS, now=0.0, ttl_s=LEASE_S)
    assert more == list(range(PARTITIONS // 2, PARTITIONS))
    assert set(frontier._connection.rows("SELECT DISTINCT owner FROM lease")) == {("here:0",)}


def test_what_is_given_back_is_given_back_also_when_the_first_try_broke_off(frontier: PostgresFrontier) -> None:
    """Else nobody fetches those hosts: they count as this worker's, which has forgotten them."""
    frontier.leases.acquire("here:0", want=PARTITIONS, now=0.0, ttl_s=LEASE_S)
    before_commit(frontier._connection, lambda: cut(frontier._connection))
    frontier.leases.release("here:0", range(100))
    assert len(frontier._connection.rows("SELECT 1 FROM lease WHERE owner = ''")) == 100
    assert frontier.leases.renew("here:0", now=1.0, ttl_s=LEASE_S) == set(range(100, PARTITIONS))


@pytest.mark.parametrize("others", [0, 20])
def test_a_transaction_that_a_killed_server_forgot_is_run_again(others: int) -> None:
    """Its number is one that the server has not given yet, or has given to another transaction, which is committed."""
    with running_server("wal_writer_delay = 10s\n") as server:
        PostgresFrontier.create(server.address, "killed", mission_toml="", now=1.0)
        connection = PostgresConnection(server.address, "killed")
        connection.run("CREATE TABLE written (what text)")
        connection.run("CHECKPOINT")
        before_commit(connection, lambda: kill(server, others))
        assert connection.write(lambda: connection.run("INSERT INTO written VALUES ('once')")) == 1
        assert connection.value("SELECT count(*) FROM written WHERE what = 'once'") == 1
        connection.close()


def kill(server: PostgresServer, others: int) -> None:
    """Kill a server and start it again; so many transactions of others are then faster than ours."""
    server.stop()
    server.start()
    with psycopg.connect(server.address, autocommit=True) as other:
        for _ in range(others):
            other.execute("INSERT INTO killed.written VALUES ('by another')")


def test_who_was_frozen_in_a_transaction_begins_it_anew(connection: PostgresConnection) -> None:
    """The server ends a transaction in which nothing is said for a minute, so that others can go on."""
    connection.run("CREATE TABLE written (what text)")

    def freeze() -> None:
        connection.run("SET LOCAL idle_in_transaction_session_timeout = 1")
        time.sleep(0.2)

    waiting = [freeze]

    def write() -> int:
        count = connection.run("INSERT INTO written VALUES ('once')")
        if waiting:
            waiting.pop()()
        return count

    assert connection.write(write) == 1
    assert connection.rows("SELECT * FROM written") == [("once",)]


def test_a_round_is_opened_in_spite_of_a_connection_that_breaks(frontier: PostgresFrontier) -> None:
    """The pages that a limit lets it visit are chosen again: what was chosen is gone with the connection."""
    frontier.leases.acquire("here:0", want=PARTITIONS, now=0.0, ttl_s=LEASE_S)
    for host in ("a.test", "b.test", "c.test"):
        url = f"http://{host}/"
        batch = Batch([Discovery(urls.url_id(url), url, host)], [], hosts=[], robots=[], trap_counts={})
        frontier.commit(batch, owner="here:0", now=0.0)
        row = frontier.known.find(url)
        assert row is not None
        page = PageRow(fetched_at=1.0, status=200, digest=host.encode())
        batch = Batch([], [Outcome(row.row, host, State.FETCHED, http=200, at=1.0, page=page)], [], [], {})
        frontier.commit(batch, owner="here:0", now=0.0)
    frontier.rounds.begin(now=100.0, step_s=1.0, everything=True)
    before_commit(frontier._connection, lambda: before_commit(frontier._connection, lambda: cut(frontier._connection)))
    assert frontier.rounds.open_due(max_s=1.0, pages=100) == 3


def test_what_was_refused_is_judged_in_spite_of_a_connection_that_breaks(frontier: PostgresFrontier) -> None:
    """Supervisors do so at the end of a crawl: it would end with an error."""
    cut(frontier._connection)
    assert frontier.changes.judge_again(["scope"], lambda *_: Verdict(True, "")) == 0
    cut(frontier._connection)
    assert frontier.losses.requeue_archive("w", ((0, 1),)) == 0
