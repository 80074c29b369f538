"""A machine that was away for longer than its leases, and comes back while others have its hosts."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lycosa import urls
from lycosa.frontier.contract import LeaseLost
from lycosa.frontier.partitions import PARTITIONS
from lycosa.model import Batch, Discovery, Outcome, PageRow, State, WarcRow

psycopg = pytest.importorskip("psycopg")
from lycosa.frontier.postgres.frontier import PostgresFrontier  # noqa: E402  needs psycopg

LEASE_S = 20.0
LATE = 2 * LEASE_S
HOST = "a.test"

_names = itertools.count()


@pytest.fixture
def open_machine(address: str) -> Iterator[Callable[[str], PostgresFrontier]]:
    """Opens the frontier of a machine; all are of one collection, and time is what the test says."""
    name, opened = f"takeover{next(_names)}", []
    PostgresFrontier.create(address, name, mission_toml="", now=1.0)

    def open_one(machine: str) -> PostgresFrontier:
        opened.append(PostgresFrontier(address, name, machine=machine, uses_server_clock=False))
        return opened[-1]

    yield open_one
    for frontier in opened:
        frontier.close()


def take(frontier: PostgresFrontier, *, now: float) -> list[int]:
    return frontier.leases.acquire(f"{frontier.machine}:0", want=PARTITIONS, now=now, ttl_s=LEASE_S)


def renew(frontier: PostgresFrontier, *, now: float) -> set[int]:
    return frontier.leases.renew(f"{frontier.machine}:0", now=now, ttl_s=LEASE_S)


def link(path: str, **more: Any) -> Discovery:
    url = f"http://{HOST}/{path}"
    return Discovery(url_hash=urls.url_id(url), url=url, host=HOST, **more)


def put(frontier: PostgresFrontier, *found: Discovery, done: tuple[Outcome, ...] = (), **more: Any) -> None:
    batch = Batch(list(found), list(done), hosts=[], robots=[], trap_counts={}, **more)
    frontier.commit(batch, owner=f"{frontier.machine}:0", now=0.0)


def fetched(frontier: PostgresFrontier, path: str, **place: Any) -> Outcome:
    row = frontier.known.find(f"http://{HOST}/{path}")
    assert row is not None
    page = PageRow(fetched_at=1.0, status=200, digest=path.encode(), **place)
    return Outcome(row.row, HOST, State.FETCHED, http=200, at=1.0, page=page)


def state_of(frontier: PostgresFrontier, path: str) -> int:
    row = frontier.known.find(f"http://{HOST}/{path}")
    assert row is not None
    return row.state


def after(frontier: PostgresFrontier, text: str, then: Callable[[], object]) -> None:
    """Do something right after this frontier has run a statement with this text, once."""
    connection, waiting = frontier._connection, [then]
    rows = connection.rows

    def run(statement: str, *values: Any, **options: Any) -> list[Any]:
        found = rows(statement, *values, **options)
        if text in statement and waiting:
            waiting.pop()()
        return found

    connection.rows = run  # type: ignore[method-assign]


def test_who_renews_in_time_keeps_what_another_was_about_to_take(
    open_machine: Callable[[str], PostgresFrontier],
) -> None:
    """Between a look for late leases and the taking of them, their holder may come back: both would ask the hosts."""
    late, taker = open_machine("late"), open_machine("taker")
    take(late, now=0.0)
    kept: list[set[int]] = []
    after(taker, "LEFT JOIN holder", lambda: kept.append(renew(late, now=LATE)))
    taken = take(taker, now=LATE)
    assert kept == [set(range(PARTITIONS))]
    assert taken == []
    assert renew(late, now=LATE) == set(range(PARTITIONS))


def test_who_lost_a_host_takes_no_news_from_its_holder(open_machine: Callable[[str], PostgresFrontier]) -> None:
    """A question that was under way for longer than the leases must not empty the inbox of who has them now."""
    late, holder, third = open_machine("late"), open_machine("holder"), open_machine("third")
    mine = take(late, now=0.0)
    take(holder, now=LATE)
    put(third, link("new"))
    assert late.targets.inbox(mine) == []
    assert holder.targets.inbox(mine) == [HOST]


def test_who_lost_a_host_wakes_nothing_there(open_machine: Callable[[str], PostgresFrontier]) -> None:
    """What is due is for who has the host now: nobody would tell that one what another made pending."""
    late, holder = open_machine("late"), open_machine("holder")
    mine = take(late, now=0.0)
    put(late, link("again"))
    row = late.known.find(f"http://{HOST}/again")
    assert row is not None
    put(late, done=(Outcome(row.row, HOST, State.WAITING, reason="timeout", due=30.0),))
    take(holder, now=LATE)
    assert late.targets.wake_due(mine, LATE) == []
    assert holder.targets.wake_due(mine, LATE) == [HOST]


def test_who_lost_a_host_does_not_end_it(open_machine: Callable[[str], PostgresFrontier]) -> None:
    """That it was out of reach from there, or that a budget was spent, says nothing to who has it now."""
    late, holder = open_machine("late"), open_machine("holder")
    take(late, now=0.0)
    put(late, link("1"), link("2", state=State.REJECTED, reason="host-quota"))
    take(holder, now=LATE)
    assert late.changes.end_host(HOST, "connect", state=State.FAILED) == 0
    assert late.changes.readmit(HOST, "host-quota", limit=9) == 0
    assert state_of(holder, "1") == State.PENDING
    assert state_of(holder, "2") == State.REJECTED
    assert holder.changes.readmit(HOST, "host-quota", limit=9) == 1
    assert holder.changes.end_host(HOST, "connect", state=State.FAILED) == 2


def test_who_was_away_while_a_round_began_writes_nothing_to_the_one_before(
    open_machine: Callable[[str], PostgresFrontier],
) -> None:
    """It has to lease anew, also where nobody has taken its hosts, and then writes to the round of now."""
    late, other = open_machine("late"), open_machine("other")
    take(late, now=0.0)
    put(late, link("1"), link("2"))
    other.rounds.begin(now=100.0, step_s=1.0, everything=True)
    with pytest.raises(LeaseLost):
        put(late, done=(fetched(late, "1", warc="w", length=9),))
    assert renew(late, now=101.0) == set()
    assert len(take(late, now=101.0)) == PARTITIONS
    put(late, done=(fetched(late, "2", warc="w", length=9),))
    assert (late.figures.stored(), other.figures.stored()) == (1, 1)


def test_a_round_begins_once_for_all_machines(open_machine: Callable[[str], PostgresFrontier]) -> None:
    """Machines that waited for the same hour begin one round, not one each."""
    one, two = open_machine("one"), open_machine("two")
    assert one.rounds.begin(now=100.0, step_s=1.0, everything=True) == 2
    assert two.rounds.begin(now=100.0, step_s=1.0, everything=True) == 2
    assert [row.round for row in two.rounds.listing()] == [1, 2]
    two.rounds.open_due(max_s=1.0)
    assert two.rounds.begin(now=200.0, step_s=1.0, everything=True) == 3


def test_machines_that_start_together_prepare_one_after_the_other(
    open_machine: Callable[[str], PostgresFrontier],
) -> None:
    """Each finds what the one before has done: settings that were applied, a round that was begun."""
    one, two = open_machine("one"), open_machine("two")
    done: list[str] = []

    def prepare() -> None:
        with two.machines.alone():
            done.append("two")
            two.rounds.end(now=9.0, why="limit")

    with one.machines.alone():
        thread = threading.Thread(target=prepare)
        thread.start()
        time.sleep(0.5)
        one.rounds.begin(now=5.0, step_s=1.0, everything=True)
        done.append("one")
    thread.join()
    assert done == ["one", "two"]
    assert [row.ended for row in one.rounds.listing()] == [None, 9.0]


def test_a_round_that_is_over_is_not_open_again_for_who_was_interrupted(
    open_machine: Callable[[str], PostgresFrontier],
) -> None:
    """One machine has reached the limit; the other, which was interrupted then, says so later."""
    one, two = open_machine("one"), open_machine("two")
    one.rounds.end(now=50.0, why="limit")
    two.rounds.end(now=None, why="interrupt")
    assert [(row.ended, row.why) for row in two.rounds.listing()] == [(50.0, "limit")]
    two.rounds.end(now=None, why="")  # who goes on with it opens it
    assert two.rounds.listing()[0].ended is None


def test_a_file_that_grew_while_its_machine_was_forgotten_stays_known(
    open_machine: Callable[[str], PostgresFrontier],
) -> None:
    """A machine that was taken for gone and comes back stores pages in the file that is being forgotten."""
    back, other = open_machine("back"), open_machine("other")
    take(back, now=0.0)
    put(back, link("1"), link("2"))
    put(back, done=(fetched(back, "1", warc="w", length=9),), warc="w", warc_size=9)
    done = fetched(back, "2", warc="w", offset=9, length=9)
    again = other.losses.requeue_archive

    def requeue(*spans: Any) -> int:
        count = again(*spans)
        put(back, done=(done,), warc="w", warc_size=18)
        return count

    other.losses.requeue_archive = requeue  # type: ignore[method-assign]
    assert other.machines.forget("back") == (1, 1)
    assert (state_of(other, "1"), state_of(other, "2")) == (State.PENDING, State.FETCHED)
    assert back.segments.here() == [WarcRow("w", 18)]


def test_rounds_begin_by_the_clock_of_the_server(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose clock is wrong makes a collection whose first round is of now."""
    monkeypatch.setattr(time, "time", lambda: 1.0)
    PostgresFrontier.create(address, "clocks", mission_toml="")
    frontier = PostgresFrontier(address, "clocks", machine="one")
    assert abs(frontier.rounds.listing()[0].started - frontier.machines.server_time()) < 3600
    frontier.close()
