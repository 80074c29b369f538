"""Machines that write at the same moment: whatever the order, nothing of it is lost, and nothing counted twice."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.commit_moments import before_commit

from lycosa import urls
from lycosa.frontier.contract import PermitsGone
from lycosa.frontier.partitions import PARTITIONS
from lycosa.model import Batch, Committed, Discovery, HostRow, Outcome, PageRow, State, Verdict, WeightUpdate

psycopg = pytest.importorskip("psycopg")
from lycosa.frontier.postgres.frontier import PostgresFrontier  # noqa: E402  needs psycopg

LEASE_S = 20.0
HOST = "a.test"
ALL = range(PARTITIONS)

Open = Callable[[str], PostgresFrontier]
_names = itertools.count()


def unpack(packed: bytes) -> list[str]:
    return packed.decode().split()


@pytest.fixture
def open_machine(address: str) -> Iterator[Open]:
    """Opens the frontier of a machine; all are of one collection, and time is what the test says."""
    name, opened = f"concurrent{next(_names)}", []
    PostgresFrontier.create(address, name, mission_toml="", now=1.0)

    def open_one(machine: str) -> PostgresFrontier:
        opened.append(PostgresFrontier(address, name, machine=machine, unpack_links=unpack, uses_server_clock=False))
        return opened[-1]

    yield open_one
    for frontier in opened:
        frontier.close()


def holding(open_machine: Open, machine: str) -> PostgresFrontier:
    """The frontier of a machine that holds all partitions."""
    frontier = open_machine(machine)
    assert len(frontier.leases.acquire(f"{machine}:0", want=PARTITIONS, now=0.0, ttl_s=LEASE_S)) == PARTITIONS
    return frontier


def url_of(path: str) -> str:
    return f"http://{HOST}/{path}"


def link(path: str, **more: Any) -> Discovery:
    return Discovery(url_hash=urls.url_id(url_of(path)), url=url_of(path), host=HOST, **more)


def put(frontier: PostgresFrontier, *found: Discovery, done: tuple[Outcome, ...] = (), **more: Any) -> Committed:
    depth = more.pop("max_depth", -1)
    batch = Batch(list(found), list(done), **({"hosts": [], "robots": [], "trap_counts": {}} | more))
    return frontier.commit(batch, owner=f"{frontier.machine}:0", now=0.0, max_depth=depth)


def fetched(frontier: PostgresFrontier, path: str, *leads_to: str) -> Outcome:
    row = frontier.known.find(url_of(path))
    assert row is not None
    page = PageRow(fetched_at=1.0, status=200, digest=path.encode(), links=" ".join(map(url_of, leads_to)).encode())
    return Outcome(row.row, HOST, State.FETCHED, http=200, at=1.0, page=page)


def test_news_of_a_host_come_again_when_they_were_read_before_they_were_there(open_machine: Open) -> None:
    """Else who has the host finds nothing new in it, and nobody tells it once more: the crawl waits for ever."""
    holder, one, two = holding(open_machine, "holder"), open_machine("one"), open_machine("two")
    put(one, link("1"))
    before_commit(two._connection, lambda: holder.targets.inbox(ALL))
    put(two, link("2"))
    assert holder.targets.inbox(ALL) == [HOST]
    assert holder.targets.inbox(ALL) == []


def test_hosts_are_woken_whose_urls_were_written_before_a_page_could_not_be(open_machine: Open) -> None:
    """What was found is known from then on, so that it does not count as new when the rest is written."""
    frontier = holding(open_machine, "here")
    put(frontier, link("1"))
    frontier.permits.begin()
    frontier.permits.require()
    with pytest.raises(PermitsGone):
        put(frontier, link("2"), done=(fetched(frontier, "1"),))
    assert put(frontier, link("2")).woken_hosts == {HOST}
    assert put(frontier, link("2")).woken_hosts == set()


def test_who_lost_a_host_does_not_change_what_is_remembered_of_it(open_machine: Open) -> None:
    """Its pause and its pages are what its holder says, also where nothing else of it is in the batch."""
    late = holding(open_machine, "late")
    put(late, link("1"))
    holder = open_machine("holder")
    holder.leases.acquire("holder:0", want=PARTITIONS, now=2 * LEASE_S, ttl_s=LEASE_S)
    kept = HostRow(HOST, next_at=50.0, delay_s=3.0, pages=7)
    put(holder, hosts=[kept])
    put(late, hosts=[HostRow(HOST, next_at=10.0, pages=1)])
    assert holder.known.host(HOST) == kept


@pytest.mark.parametrize("is_fetched", [False, True])
def test_the_shortest_way_wins_whoever_writes_last(open_machine: Open, is_fetched: bool) -> None:
    """Of two machines that find shorter ways at once, the one with the longer of them does not undo the other's."""
    holder, other = holding(open_machine, "holder"), open_machine("other")
    put(holder, link("page", depth=9), max_depth=9)
    if is_fetched:
        put(holder, done=(fetched(holder, "page"),), max_depth=9)
    after_rows(other, "asked (part, host, id)", lambda: put(holder, link("page", depth=2), max_depth=9), skip=1)
    put(other, link("page", depth=5), max_depth=9)
    row = holder.known.find(url_of("page"))
    assert row is not None and row.depth == 2


def test_what_a_page_leads_to_is_lowered_that_was_fetched_meanwhile(open_machine: Open) -> None:
    """The page was pending when a shorter way to it was looked up, and fetched when it was written."""
    holder, other = holding(open_machine, "holder"), open_machine("other")
    put(holder, link("page", depth=3), max_depth=3)
    deep = link("deep", depth=4, state=State.REJECTED, reason="depth")
    after_rows(
        other,
        "asked (part, host, id)",
        lambda: put(holder, deep, done=(fetched(holder, "page", "deep"),), max_depth=3),
        skip=1,
    )
    put(other, link("page", depth=2), max_depth=3)
    row = holder.known.find(url_of("deep"))
    assert row is not None and (row.state, row.depth) == (State.PENDING, 3)


def test_what_was_rejected_for_its_depth_is_opened_once(open_machine: Open) -> None:
    """Two machines that find shorter ways at once count it as one URL that is pending, not as two."""
    holder, other = holding(open_machine, "holder"), open_machine("other")
    put(holder, link("deep", depth=4, state=State.REJECTED, reason="depth"), max_depth=3)
    after_rows(other, "asked (part, host, id)", lambda: put(holder, link("deep", depth=2), max_depth=3), skip=1)
    put(other, link("deep", depth=3), max_depth=3)
    row = holder.known.find(url_of("deep"))
    assert row is not None and (row.state, row.depth) == (State.PENDING, 2)
    assert holder.figures.counts() == {State.PENDING: 1}


def test_what_two_machines_admit_at_once_is_opened_once(open_machine: Open) -> None:
    """When a crawl ends, each machine judges anew what was out of scope; what is fetched by then stays so."""
    one, two = holding(open_machine, "one"), open_machine("two")
    put(one, link("1", state=State.REJECTED, reason="scope"))

    def admit(_url: str, _depth: int, _host: str) -> Verdict:
        return Verdict(True, "")

    def open_and_fetch() -> None:
        one.changes.judge_again(["scope"], admit)
        put(one, done=(fetched(one, "1"),))

    after_rows(two, "SELECT n, url, depth, reason", open_and_fetch)
    two.changes.judge_again(["scope"], admit)
    assert one.figures.counts() == {State.FETCHED: 1}


def test_lessons_are_read_whoever_is_first(open_machine: Open) -> None:
    """A batch that was begun before another and is there after it is not passed over by who has read the other's."""
    one, two, reader = holding(open_machine, "one"), open_machine("two"), open_machine("reader")
    keys: list[int] = []
    since = [0]

    def read() -> None:
        since[0], lessons = reader.known.lessons(since[0])
        keys.extend(key for key, *_ in lessons)

    second = threading.Thread(target=lambda: put(two, weight_updates=[WeightUpdate(2, 1.0, 1.0)]))

    def be_slow() -> None:
        second.start()
        second.join(0.5)
        read()

    before_commit(one._connection, be_slow)
    put(one, weight_updates=[WeightUpdate(1, 1.0, 1.0)])
    second.join()
    read()
    assert sorted(keys) == [1, 2]


def after_rows(frontier: PostgresFrontier, text: str, then: Callable[[], object], *, skip: int = 0) -> None:
    """Do something right after a frontier has found something by a statement with this text, once."""
    connection, waiting = frontier._connection, [then]
    rows, left = connection.rows, [None] * skip

    def run(statement: str, *values: Any, **options: Any) -> list[Any]:
        found = rows(statement, *values, **options)
        if text in statement and found and left:
            left.pop()
        elif text in statement and found and waiting:
            waiting.pop()()
        return found

    connection.rows = run  # type: ignore[method-assign]
