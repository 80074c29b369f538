"""A worker whose hosts others took over while it was away: it asks none of them, and keeps what is its own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.memory_frontier import MemoryFrontier

from lycosa import clock, urls
from lycosa.archive.writer import ArchiveWriter
from lycosa.config.host_rules import HostRules
from lycosa.config.loading import load
from lycosa.crawler.preparation import late_seeds
from lycosa.crawler.worker import Worker, WorkerPlace
from lycosa.frontier.contract import PermitsGone
from lycosa.frontier.partitions import PARTITIONS
from lycosa.intake.answer_intake import AnswerIntake, BrowserChoice
from lycosa.intake.revisits import Revisits
from lycosa.judge.admission.rules import Rules
from lycosa.judge.admission.traps import Tallies
from lycosa.model import Answer, Batch, Committed, Discovery, Outcome, Purpose, State, Target
from lycosa.politeness.crawl_log import CrawlLog
from lycosa.politeness.host_queue import HostQueue
from lycosa.politeness.shared_state import Cell, SharedState

HOST, LEASE_S = "a.test", 20.0
SEED = f"http://{HOST}/"


class StandingClient:
    """Remembers what is asked for; answers come when the test gives them."""

    def __init__(self) -> None:
        self.under_way: list[Target] = []
        self.answers: list[Answer] = []

    @property
    def in_flight(self) -> int:
        return len(self.under_way)

    @property
    def room(self) -> int:
        return 100 - len(self.under_way)

    def start(self, target: Target) -> Answer | None:
        self.under_way.append(target)
        return None

    def poll(self, _wait_s: float) -> list[Answer]:
        answers, self.answers = self.answers, []
        for answer in answers:
            self.under_way.remove(answer.target)
        return answers


class Clock:
    """Time that passes when the test says so; leases are counted with it as well."""

    def __init__(self) -> None:
        self.now = 1000.0

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Clock:
    passing = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: passing.now)
    monkeypatch.setattr(clock, "now", lambda: passing.now)
    return passing


class SharedMemory(MemoryFrontier):
    """A frontier in memory that says how many partitions a worker is to have, as one of several machines."""

    def _share(self) -> int | None:
        return PARTITIONS


@pytest.fixture
def worker(tmp_path: Path, passing: Clock) -> Iterator[Worker]:
    """A worker that holds all partitions, with three pages of one host to fetch; its robots.txt is not known."""
    yield from make_worker(tmp_path, robots="obey")


@pytest.fixture
def hurried(tmp_path: Path, passing: Clock) -> Iterator[Worker]:
    """The same, for which no robots.txt is asked for."""
    yield from make_worker(tmp_path, robots="ignore")


def make_worker(tmp_path: Path, *, robots: str, requests: int = 0) -> Iterator[Worker]:
    mission = load(text=f'seeds = ["{SEED}"]\n[fetch]\nrobots = "{robots}"\ndelay_s = 1.0\n').mission
    frontier, shared = SharedMemory(), SharedState(1, folder=str(tmp_path))
    frontier.seeds.add([link(SEED, seed=True), link(f"{SEED}1"), link(f"{SEED}2")])
    rules = Rules(mission, [SEED], tallies=Tallies(frontier.known.tallies), recall=frontier.known.recall)
    archive = ArchiveWriter(tmp_path, prefix="test", max_bytes=1 << 20, max_age_s=0.0, software="test", info={})
    host_rules = HostRules(mission)
    intake = AnswerIntake(
        mission,
        rules,
        archive=archive,
        known=frontier.known,
        revisits=Revisits(mission.recrawl, frontier.rounds.listing()),
        crawl_log=CrawlLog(None, level=0),
        guarded_quarry=None,
        link_scoring=None,
        browser_choice=BrowserChoice(host_rules, shared, 0, has_browser=False),
    )
    client: Any = StandingClient()
    worker = Worker(
        mission,
        WorkerPlace(slot=0, owner="here:0", partitions=PARTITIONS, parent=os.getppid(), lease_s=LEASE_S, renew_s=2.0),
        frontier=frontier,
        archive=archive,
        client=client,
        rules=rules,
        intake=intake,
        shared=shared,
        host_rules=host_rules,
        link_scoring=None,
    )
    shared.add(0, Cell.REQUESTS, requests)
    worker._begin(clock.now())
    yield worker
    archive.close()


def link(url: str, **more: Any) -> Discovery:
    return Discovery(url_hash=urls.url_id(url), url=url, host=urls.host_of(url), **more)


def client_of(worker: Worker) -> StandingClient:
    assert isinstance(worker.client, StandingClient)
    return worker.client


def queue_of(worker: Worker) -> HostQueue:
    return worker.scheduler.by_host[HOST]


def rob(worker: Worker, *, now: float) -> MemoryFrontier:
    """Another worker takes all partitions that are late."""
    assert isinstance(worker.frontier, MemoryFrontier)
    other = worker.frontier.twin()
    assert len(other.leases.acquire("there:0", want=PARTITIONS, now=now, ttl_s=LEASE_S)) == PARTITIONS
    return other


def test_no_request_begins_when_the_leases_ended_while_the_database_was_waited_for(
    hurried: Worker, passing: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What to ask for was a question of 25 seconds: another machine may have the host."""
    load = hurried.frontier.targets.load

    def load_slowly(*args: Any, **options: Any) -> list[Target]:
        passing.pass_by(LEASE_S + 5.0)
        return load(*args, **options)

    monkeypatch.setattr(hurried.frontier.targets, "load", load_slowly)
    hurried._start_requests(clock.now())
    assert client_of(hurried).under_way == []
    monkeypatch.setattr(hurried.frontier.targets, "load", load)
    hurried._renew(clock.now())
    hurried._start_requests(clock.now())
    assert len(client_of(hurried).under_way) == 1


def test_a_lost_host_is_not_asked_for_its_robots_txt(worker: Worker, passing: Clock) -> None:
    """A request that waited for its turn is the other worker's to make; with the host back, it is made here."""
    worker._start_requests(clock.now())
    (asked,) = client_of(worker).under_way
    assert asked.purpose is Purpose.ROBOTS
    client_of(worker).answers.append(Answer(asked, failure="timeout", began=passing.now))
    worker._turn(launch=False)
    assert queue_of(worker).robots_requests  # it is tried again after a pause
    passing.pass_by(LEASE_S + 100.0)
    other = rob(worker, now=passing.now)
    worker._renew(clock.now())
    passing.pass_by(1.0)
    worker._start_requests(clock.now())
    assert client_of(worker).under_way == []
    other.leases.release("there:0", range(PARTITIONS))
    worker._renew(clock.now())

    passing.pass_by(5.0)
    worker._start_requests(clock.now())
    assert [target.purpose for target in client_of(worker).under_way] == [Purpose.ROBOTS]


def test_an_answer_from_before_the_loss_is_not_written_when_the_host_is_back(hurried: Worker, passing: Clock) -> None:
    """The other worker has fetched the page as well: this one fetches what is left."""
    hurried._start_requests(clock.now())
    (asked,) = client_of(hurried).under_way
    passing.pass_by(LEASE_S + 1.0)
    other = rob(hurried, now=passing.now)
    hurried._renew(clock.now())
    theirs = Outcome(asked.row, HOST, State.GONE, http=410, at=passing.now)
    batch = hurried.batch.drain(hosts=[], trap_counts={}, weight_updates=[])
    batch.outcomes.append(theirs)
    other.commit(batch, owner="there:0", now=passing.now)
    client_of(hurried).answers.append(Answer(asked, status=404, began=passing.now))
    hurried._receive(client_of(hurried).poll(0.0)[0], clock.now())
    other.leases.release("there:0", range(PARTITIONS))
    hurried._renew(clock.now())
    hurried._commit(clock.now())
    row = hurried.frontier.known.find(asked.url)
    assert row is not None and row.http == 410
    assert asked.row not in queue_of(hurried).held


def test_who_gets_a_host_back_pauses_as_long_as_the_other_learned_to(hurried: Worker, passing: Clock) -> None:
    """A host that has refused the other worker for its haste is not asked in the old haste again."""
    hurried._start_requests(clock.now())
    (asked,) = client_of(hurried).under_way
    client_of(hurried).answers.append(Answer(asked, status=404, began=passing.now))
    hurried._turn(launch=False)
    passing.pass_by(LEASE_S + 1.0)
    other = rob(hurried, now=passing.now)
    hurried._renew(clock.now())
    row = queue_of(hurried).row()
    row.delay_s, row.next_at = 30.0, passing.now + 30.0
    batch = hurried.batch.drain(hosts=[row], trap_counts={}, weight_updates=[])
    other.commit(batch, owner="there:0", now=passing.now)
    other.leases.release("there:0", range(PARTITIONS))
    hurried._renew(clock.now())
    assert queue_of(hurried).back_off_s == 30.0
    passing.pass_by(29.0)
    hurried._start_requests(clock.now())
    assert client_of(hurried).under_way == []


def test_a_host_that_was_given_up_is_tried_when_it_comes_back(hurried: Worker, passing: Clock) -> None:
    """A machine that was cut off from its hosts lost them to one that was not: what is left is not failed unasked."""
    hurried._start_requests(clock.now())
    queue = queue_of(hurried)
    queue.down[SEED] = "connect"
    passing.pass_by(LEASE_S + 1.0)
    other = rob(hurried, now=passing.now)
    hurried._renew(clock.now())
    other.leases.release("there:0", range(PARTITIONS))
    hurried._renew(clock.now())
    hurried._receive(Answer(client_of(hurried).under_way.pop(), status=404, began=passing.now), clock.now())
    passing.pass_by(5.0)
    hurried._start_requests(clock.now())
    assert len(client_of(hurried).under_way) == 1
    assert len(hurried.frontier.targets.load(HOST, limit=9)) == 3


def test_hosts_that_were_taken_between_a_renewal_and_a_lease_are_not_asked(
    hurried: Worker, passing: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To lease more says nothing of what was held before."""
    hurried.frontier.leases.release(hurried.place.owner, hurried.partitions.parts[:1])
    hurried.partitions.remove(hurried.partitions.parts[:1])

    def be_away() -> int:
        passing.pass_by(LEASE_S + 1.0)
        rob(hurried, now=passing.now)
        return PARTITIONS

    monkeypatch.setattr(hurried.frontier.leases, "share", be_away)
    hurried._renew(clock.now())
    hurried._start_requests(clock.now())
    assert client_of(hurried).under_way == []


def test_pages_without_permits_are_fetched_again_when_there_are_some(
    hurried: Worker, passing: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other machines got the permits of one that was away: its hosts stay its own, and it fetches no more for now."""
    frontier, commit = hurried.frontier, hurried.frontier.commit
    hurried.shared.set_limit(1, 65)
    hurried._start_requests(clock.now())
    (asked,) = client_of(hurried).under_way
    page = Answer(asked, status=200, headers={"content-type": "text/html"}, body=b"<p>page", began=passing.now)
    client_of(hurried).answers.append(page)
    hurried._receive(client_of(hurried).poll(0.0)[0], clock.now())

    def refuse(batch: Batch, **options: Any) -> Committed:
        if batch.outcomes:
            raise PermitsGone(granted=3, used=3)
        return commit(batch, **options)

    monkeypatch.setattr(frontier, "commit", refuse)
    hurried._commit(clock.now())
    assert len(hurried.partitions.parts) == PARTITIONS
    assert hurried.shared.permits_exhausted
    passing.pass_by(5.0)
    hurried._start_requests(clock.now())
    assert client_of(hurried).under_way == []
    hurried.shared.set_limit(4, 65)
    hurried._do_chores(clock.now())
    hurried._start_requests(clock.now())
    assert len(client_of(hurried).under_way) == 1
    assert asked.url in [target.url for target in frontier.targets.load(HOST, limit=9, skip=queue_of(hurried).held)]


def test_a_page_that_is_asked_for_again_needs_no_second_permit(hurried: Worker, passing: Clock) -> None:
    """Its host was lost and came back while it was under way: a permit that nobody gives back is lacked by others."""
    hurried.shared.set_limit(1, 65)
    hurried._start_requests(clock.now())
    (first,) = client_of(hurried).under_way
    queue_of(hurried).per_host = 2
    passing.pass_by(LEASE_S + 1.0)
    other = rob(hurried, now=passing.now)
    hurried._renew(clock.now())
    other.leases.release("there:0", range(PARTITIONS))
    hurried._renew(clock.now())
    page = Answer(first, status=404, began=passing.now)
    client_of(hurried).answers.append(page)
    passing.pass_by(5.0)
    hurried._start_requests(clock.now())
    assert [target.row for target in client_of(hurried).under_way] == [first.row, first.row]
    hurried._receive(client_of(hurried).poll(0.0)[0], clock.now())
    hurried._commit(clock.now())
    assert hurried.shared.total(Cell.OUTSTANDING) == 0


def test_hosts_rest_when_a_worker_died(tmp_path: Path, passing: Clock) -> None:
    """What it had asked last is not known: its successor asks nobody before the pause of each host is over."""
    for successor in make_worker(tmp_path, robots="ignore", requests=7):
        successor._start_requests(clock.now())
        assert client_of(successor).under_way == []
        passing.pass_by(1.0)
        successor._start_requests(clock.now())
        assert len(client_of(successor).under_way) == 1


def test_a_successor_knows_where_seeds_moved_to(hurried: Worker) -> None:
    """They moved after the run had begun, of which a worker that died in between cannot tell."""
    moved = "http://moved.test/"
    hurried.frontier.commit(
        Batch([link(moved, seed=True)], [], hosts=[], robots=[], trap_counts={}), owner="here:0", now=1.0
    )
    hurried._look_around(clock.now())
    assert hurried.rules.scope.admits(f"{moved}1", "moved.test").ok


def test_a_lost_host_whose_page_is_being_rendered_is_not_forgotten(hurried: Worker, passing: Clock) -> None:
    """The queue that were made anew when the page comes back would count one less under way than there are."""
    hurried._start_requests(clock.now())
    queue = queue_of(hurried)
    queue.end(clock.now())
    queue.rendering = 1
    hurried._leave_lost_partitions(frozenset(range(PARTITIONS)))
    passing.pass_by(100.0)
    hurried.scheduler.ready(clock.now())
    hurried._forget_idle_hosts(clock.now())
    assert HOST in hurried.scheduler.by_host
    queue.rendering = 0
    hurried._forget_idle_hosts(clock.now())
    assert HOST not in hurried.scheduler.by_host


def test_who_takes_a_host_over_counts_all_its_pages(
    hurried: Worker, passing: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page whose content another worker brought first was fetched like any other."""
    commit = hurried.frontier.commit
    hurried._start_requests(clock.now())
    (asked,) = client_of(hurried).under_way
    page = Answer(asked, status=200, headers={"content-type": "text/html"}, body=b"<p>page", began=passing.now)
    client_of(hurried).answers.append(page)
    hurried._receive(client_of(hurried).poll(0.0)[0], clock.now())

    def find_duplicate(batch: Batch, **options: Any) -> Committed:
        committed = commit(batch, **options)
        committed.duplicates.update(outcome.row for outcome in batch.outcomes)
        return committed

    monkeypatch.setattr(hurried.frontier, "commit", find_duplicate)
    for _ in range(2):
        hurried._commit(clock.now())
    assert hurried.frontier.known.host(HOST).pages == queue_of(hurried).pages == 1


def test_what_was_out_of_scope_is_judged_by_who_is_left_at_the_end() -> None:
    """The machine that saw the seed move was to do it, and is gone: one that joined later knows both addresses."""
    mission, frontier, moved = load(text=f'seeds = ["{SEED}"]').mission, MemoryFrontier(), "http://moved.test/"
    frontier.seeds.add([link(SEED, seed=True)])
    frontier.leases.acquire("here:0", want=PARTITIONS, now=0.0, ttl_s=LEASE_S)
    refused = link(f"{moved}1", state=State.REJECTED, reason="scope")
    found = Batch([refused, link(moved, seed=True)], [], hosts=[], robots=[], trap_counts={})
    frontier.commit(found, owner="here:0", now=0.0)
    look_again = late_seeds(mission, frontier, None)
    assert look_again()
    assert not look_again()
    assert {target.url for target in frontier.targets.load("moved.test", limit=9)} == {moved, f"{moved}1"}
