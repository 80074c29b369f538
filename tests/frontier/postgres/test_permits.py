"""Permits of machines for pages under a limit, when machines start together or come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from lycosa import urls
from lycosa.frontier.contract import PermitsGone
from lycosa.frontier.partitions import PARTITIONS
from lycosa.model import Batch, Discovery, Outcome, PageRow, State
from lycosa.politeness.shared_state import SharedState

psycopg = pytest.importorskip("psycopg")
from lycosa.crawler.page_limit import ClusterLimit  # noqa: E402  after what needs psycopg
from lycosa.frontier.postgres.frontier import PostgresFrontier  # noqa: E402

LIMIT = 10


def open_machines(address: str, collection: str, *names: str) -> list[PostgresFrontier]:
    PostgresFrontier.create(address, collection, mission_toml="")
    return [PostgresFrontier(address, collection, machine=name) for name in names]


def lease(frontier: PostgresFrontier, *, ttl_s: float = 60.0) -> None:
    frontier.leases.acquire(f"{frontier.machine}:0", want=PARTITIONS // 2, now=0.0, ttl_s=ttl_s)


def batch_of(frontier: PostgresFrontier, parts: set[int], count: int) -> Batch:
    """So many pages of a host in these partitions, which are in the frontier."""
    from lycosa.frontier.partitions import part_of

    host = next(name for number in range(10_000) if part_of(name := f"h{number}.test") in parts)
    found = [f"http://{host}/{frontier.machine}{number}" for number in range(count)]
    frontier.seeds.add(Discovery(url_hash=urls.url_id(url), url=url, host=host, seed=True) for url in found)
    outcomes = []
    for url in found:
        row = frontier.known.find(url)
        assert row is not None
        page = PageRow(fetched_at=1.0, status=200, digest=url.encode(), warc="w", length=9)
        outcomes.append(Outcome(row.row, host, State.FETCHED, http=200, at=1.0, page=page))
    return Batch([], outcomes, hosts=[], robots=[], trap_counts={})


def test_a_machine_that_starts_keeps_its_permits(address: str, tmp_path: Path) -> None:
    """It gets them when a worker of it holds leases: else the next machine that starts would take them for unused."""
    one, two = open_machines(address, "starting", "one", "two")
    shared = SharedState(1, folder=str(tmp_path))
    limit = ClusterLimit(one.permits, one.figures, shared, limit=LIMIT)
    two.permits.begin()
    lease(two)
    assert two.permits.grant(limit=LIMIT, want=4) == 4
    lease(one)
    assert not limit.supervise(idle=False)
    taken = 0
    while shared.take_permit(0):
        taken += 1
    assert taken == 3  # a half of what was left
    assert two.permits.grant(limit=LIMIT, want=4) == 2
    assert one.permits.count() == (3, 0)
    for frontier in (one, two):
        frontier.close()


def test_permits_that_others_got_meanwhile_are_told_and_cost_no_lease(address: str) -> None:
    """A machine that was away brings more pages than there are permits: none is written, and it learns how many."""
    away, other = open_machines(address, "away", "away", "other")
    away.permits.require()
    away.permits.begin()
    lease(away)
    assert away.permits.grant(limit=LIMIT, want=LIMIT) == LIMIT
    held = away.leases.renew("away:0", now=0.0, ttl_s=60.0)
    away.commit(batch_of(away, held, 1), owner="away:0", now=0.0)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("UPDATE away.holder SET until = 1")  # it has been away
    other.permits.begin()
    lease(other)
    assert other.permits.grant(limit=LIMIT, want=LIMIT) == LIMIT - 1
    held = away.leases.renew("away:0", now=0.0, ttl_s=60.0)
    with pytest.raises(PermitsGone) as gone:
        away.commit(batch_of(away, held, 2), owner="away:0", now=0.0)
    assert (gone.value.granted, gone.value.used) == (1, 1)
    assert away.figures.stored() == 1
    assert away.leases.renew("away:0", now=0.0, ttl_s=60.0) == held
    for frontier in (away, other):
        frontier.close()


def test_an_idle_machine_takes_no_permits_from_those_that_need_them(address: str, tmp_path: Path) -> None:
    """It gives back what it has, and asks for more when a worker of it lacks some."""
    (idle,) = open_machines(address, "idling", "idle")
    shared = SharedState(1, folder=str(tmp_path))
    limit = ClusterLimit(idle.permits, idle.figures, shared, limit=LIMIT)
    lease(idle)
    for is_idle, granted in ((False, LIMIT), (True, 0), (True, 0), (False, LIMIT)):
        limit._asked_at = 0.0
        assert not limit.supervise(idle=is_idle)
        assert idle.permits.count() == (granted, 0)
    idle.close()
