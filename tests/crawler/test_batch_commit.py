"""A batch is written soon while somebody waits for what is in it, else in large ones; no pause outlives a crawl."""

from __future__ import annotations

import time
from pathlib import Path

from support.crawl_runs import crawl, stored
from support.loopback import Reply, Web, html

from lycosa.config.settings import TrapSettings
from lycosa.crawler.batch_commit import (
    BATCH_PAGES,
    BATCH_S,
    EARLY_S,
    BatchTiming,
    find_page_counts,
    take_out_partitions,
)
from lycosa.frontier.partitions import LeasedPartitions, part_of
from lycosa.intake.batch import PendingBatch
from lycosa.judge.admission.traps import Tallies, Traps
from lycosa.model import Batch, Discovery, HostRow, Outcome, State
from lycosa.politeness.host_queue import HostQueue
from lycosa.politeness.shared_state import Cell, SharedState


def make_found(host: str, state: State = State.PENDING) -> Discovery:
    return Discovery(url_hash=1, url=f"http://{host}/", host=host, depth=1, state=state)


def make_dated(host: str, day: int, *, parent: int) -> Discovery:
    return Discovery(url_hash=day, url=f"http://{host}/agenda?day={day}", host=host, parent=parent)


def fill(batch: PendingBatch, *hosts: str) -> None:
    batch.drain(hosts=[], trap_counts={}, weight_updates=[])
    batch.discoveries.extend(make_found(host) for host in hosts)
    batch.outcomes.append(Outcome(1, "a.test", State.FETCHED))


def is_due(timing: BatchTiming, now: float, *, resting: bool = False) -> bool:
    return timing.is_due(now, buffered=0, pages=BATCH_PAGES, resting=resting)


def make_timing() -> tuple[BatchTiming, PendingBatch]:
    batch = PendingBatch()
    timing = BatchTiming(SharedState(1, folder=""), 0, batch)
    timing.end_batch(10.0)
    return timing, batch


def test_a_batch_grows_until_its_time_has_come() -> None:
    """While every host has something to do, a commit comes once in a while; one that is empty never does."""
    timing, batch = make_timing()
    assert not is_due(timing, 20.0, resting=True)
    fill(batch, "a.test")
    assert not is_due(timing, 10.0 + BATCH_S / 2)
    assert is_due(timing, 10.0 + BATCH_S)


def test_what_belongs_to_others_is_given_up() -> None:
    """With a page go the addresses found on it and their counts; what was found elsewhere stays, wherever it leads."""
    traps = Traps(TrapSettings(), Tallies())
    outcomes = [Outcome(1, "theirs.test", State.FETCHED), Outcome(2, "ours.test", State.FETCHED)]
    found = [make_dated("theirs.test", day, parent=1) for day in (1, 2, 3)]
    found += [make_dated("theirs.test", 4, parent=2), make_dated("ours.test", 5, parent=2)]
    assert all(traps.admit(one.url, one.host).ok for one in found)
    hosts = [HostRow("theirs.test"), HostRow("ours.test")]
    batch = Batch(found, outcomes, hosts=hosts, robots=[], trap_counts=traps.tallies.drain())
    assert take_out_partitions(batch, {part_of("theirs.test")}, traps, {}) == outcomes[:1]
    assert (batch.outcomes, batch.discoveries, batch.hosts) == (outcomes[1:], found[3:], hosts[1:])
    key = "queries:/agenda"
    assert (batch.trap_counts["theirs.test", key], batch.trap_counts["ours.test", key]) == (1, 1)


def test_pages_that_are_given_up_do_not_count_for_their_host() -> None:
    """Whoever fetches them counts them; where they were written before the pages could not be, they are undone."""
    traps, parts = Traps(TrapSettings(), Tallies()), {part_of("theirs.test")}
    counts = {("theirs.test", "quota:tried"): 2, ("theirs.test", "calendar:/"): 1, ("ours.test", "quota:tried"): 3}
    batch = Batch([], [], hosts=[], robots=[], trap_counts=dict(counts))
    page_counts = find_page_counts(batch)
    take_out_partitions(batch, parts, traps, page_counts)
    assert batch.trap_counts == counts | {("theirs.test", "quota:tried"): 0}
    batch.trap_counts = {}  # they are written
    take_out_partitions(batch, parts, traps, page_counts)
    assert batch.trap_counts == {}
    take_out_partitions(batch, parts | {part_of("ours.test")}, traps, page_counts)
    assert batch.trap_counts == {("ours.test", "quota:tried"): -3}


def test_a_worker_that_can_do_nothing_else_writes() -> None:
    """What was done is not kept back while nothing is under way."""
    timing, batch = make_timing()
    fill(batch)
    assert is_due(timing, 10.0, resting=True)


def test_a_host_without_work_does_not_wait_for_the_others() -> None:
    """Links to a new host, or to one that had nothing more to fetch, are written soon; not those to a busy one."""
    timing, batch = make_timing()
    busy, dry = (HostQueue(HostRow(host), delay_s=1.0, per_host=1) for host in ("busy.test", "dry.test"))
    dry.dry = True
    queues, partitions = {"busy.test": busy, "dry.test": dry}, LeasedPartitions()
    partitions.hold(range(256))
    for host, awaited in (("busy.test", False), ("dry.test", True), ("new.test", True)):
        timing.end_batch(10.0)
        timing.look_for_idle([make_found(host)], queues, partitions)
        assert timing.is_awaited is awaited
        fill(batch, host)
        assert is_due(timing, 10.0 + EARLY_S) is awaited
    timing.look_for_idle([make_found("new.test", State.REJECTED)], queues, partitions)
    assert not timing.is_awaited
    partitions.remove([part_of("new.test")])
    timing.look_for_idle([make_found("new.test")], queues, partitions)
    assert not timing.is_awaited  # it is another worker's


def test_permits_in_other_hands_are_all_there_is() -> None:
    """The limit is spent when each permit is used or under way, and not any more when one came back."""
    shared = SharedState(2, folder="")
    assert not shared.permits_exhausted
    shared.set_limit(3, 5)
    assert not shared.permits_exhausted
    shared.put(0, Cell.OUTSTANDING, 1)
    shared.put(1, Cell.OUTSTANDING, 1)
    assert shared.permits_exhausted and not shared.full
    shared.put(1, Cell.OUTSTANDING, 0)
    assert not shared.permits_exhausted


def test_the_end_does_not_wait_for_a_pause(web: Web, tmp_path: Path) -> None:
    """Hosts rest after their last page as after every other, but nobody waits for the end of that."""
    web["a.test/"] = Reply(status=302, headers={"Location": "http://b.test/"})
    web["b.test/"] = html("http://c.test/", title="b")
    web["c.test/"] = html(title="c")
    for workers in "12":
        began = time.monotonic()
        folder, settings = tmp_path / workers, ("--scope", "free", "--set", "fetch.robots=ignore", "--delay", "50")
        crawl(web, folder, "http://a.test/", *settings, "--per-host", "1", "--workers", workers)
        assert stored(folder) == {"http://b.test/", "http://c.test/"}
        assert time.monotonic() - began < 50
