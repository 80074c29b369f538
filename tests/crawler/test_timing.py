"""A batch is written soon while somebody waits for what is in it, else in large ones; no pause outlives a crawl."""

from __future__ import annotations

import time
from pathlib import Path

from support.crawl_runs import crawl, stored
from support.loopback import Reply, Web, html

from lycosa.crawler.intake.answer_intake import new_batch
from lycosa.crawler.politeness.host_queue import HostQueue
from lycosa.crawler.shared_state import Cell, SharedState
from lycosa.frontier.partitions import part_of
from lycosa.model import Batch, Discovery, HostRow, Outcome, State


def make_found(host: str, state: State = State.PENDING) -> Discovery:
    return Discovery(url_hash=1, url=f"http://{host}/", host=host, depth=1, state=state)


def make_batch(*hosts: str) -> Batch:
    batch = new_batch()
    batch.discoveries.extend(make_found(host) for host in hosts)
    batch.outcomes.append(Outcome(1, "a.test", State.FETCHED))
    return batch


def is_due(timing: Timing, now: float, batch: Batch, *, resting: bool = False) -> bool:
    return timing.is_due(now, batch, buffered=0, pages=BATCH_PAGES, resting=resting)


def test_a_batch_grows_until_its_time_has_come() -> None:
    """While every host has something to do, a commit comes once in a while; one that is empty never does."""
    timing = Timing(SharedState(1, folder=""), 0)
    timing.commit(10.0)
    assert not is_due(timing, 10.0 + BATCH_S / 2, make_batch("a.test"))
    assert is_due(timing, 10.0 + BATCH_S, make_batch("a.test"))
    assert not is_due(timing, 20.0, new_batch(), resting=True)


def test_a_worker_that_can_do_nothing_else_writes() -> None:
    """What was done is not kept back while nothing is under way."""
    timing = Timing(SharedState(1, folder=""), 0)
    timing.commit(10.0)
    assert is_due(timing, 10.0, make_batch(), resting=True)


def test_a_host_without_work_does_not_wait_for_the_others() -> None:
    """Links to a new host, or to one that had nothing more to fetch, are written soon; not those to a busy one."""
    timing = Timing(SharedState(1, folder=""), 0)
    busy, dry = (HostQueue(HostRow(host), delay_s=1.0, per_host=1) for host in ("busy.test", "dry.test"))
    dry.dry = True
    scheduler, parts = {"busy.test": busy, "dry.test": dry}, list(range(256))
    for host, hungry in (("busy.test", False), ("dry.test", True), ("new.test", True)):
        timing.commit(10.0)
        timing.notice([make_found(host)], scheduler, parts)
        assert timing.hungry is hungry
        assert is_due(timing, 10.0 + EARLY_S, make_batch(host)) is hungry
    timing.notice([make_found("new.test", State.REJECTED)], scheduler, parts)
    assert not timing.hungry
    timing.notice([make_found("new.test")], scheduler, [part for part in parts if part != part_of("new.test")])
    assert not timing.hungry  # it is another worker's


def test_permits_in_other_hands_are_all_there_is() -> None:
    """The limit is spent when each permit is used or under way, and not any more when one came back."""
    shared = SharedState(2, folder="")
    assert not shared.spent
    shared.set_limit(3, 5)
    assert not shared.spent
    shared.put(0, Cell.OUTSTANDING, 1)
    shared.put(1, Cell.OUTSTANDING, 1)
    assert shared.spent and not shared.full
    shared.put(1, Cell.OUTSTANDING, 0)
    assert not shared.spent


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
