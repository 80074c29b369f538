"""What every frontier does, whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lycosa.frontier.contract import Frontier, LeaseLost, suspended
from lycosa.frontier.partitions import PARTITIONS, part_of
from lycosa.model import (
    REQUISITE,
    REQUISITE_SCORE,
    Batch,
    Discovery,
    HostRow,
    Outcome,
    PageRow,
    RobotsRow,
    State,
    Verdict,
    WarcRow,
)
from lycosa.urls import host_of, url_id

ME, OTHER = "here:0", "here:1"
TTL_S = 60.0
MINE, THEIRS = "a.test", "d.test"  # hosts of different halves of the partitions

Open = Callable[[], Frontier]


def found(
    url: str, *, state: int = State.PENDING, reason: str = "", score: float = 0.0, depth: int = 0, hops: int = 0,
    parent: int = 0, via: str = "a",
) -> Discovery:  # fmt: skip
    return Discovery(url_id(url), url, host_of(url), state, reason, score, depth, hops, parent, False, via)


def page(digest: bytes, *, links: str = "", warc: str = "w", offset: int = 0, length: int = 10) -> PageRow:
    return PageRow(
        5.0, 200, "text/html", digest=digest, etag='"e"', warc=warc, offset=offset, length=length, links=links.encode()
    )


def put(frontier: Frontier, *founds: Discovery, done: tuple[Outcome, ...] = (), max_depth: int = -1, owner: str = ME):  # type: ignore[no-untyped-def]
    batch = Batch(discoveries=list(founds), outcomes=list(done), hosts=[], robots=[], trap_counts={})
    return frontier.commit(batch, owner=owner, now=0.0, max_depth=max_depth)


def number(frontier: Frontier, url: str) -> int:
    row = frontier.known.find(url)
    assert row is not None
    return row.row


def fetched(frontier: Frontier, url: str, digest: bytes = b"", *, links: str = "", **place: object) -> Outcome:
    digest = digest or url.encode()
    return Outcome(
        number(frontier, url),
        host_of(url),
        State.FETCHED,
        http=200,
        at=5.0,
        page=page(digest, links=links, **place),  # type: ignore[arg-type]
    )


def state_of(frontier: Frontier, url: str) -> tuple[int, str, int]:
    row = frontier.known.find(url)
    assert row is not None
    return row.state, row.reason, row.depth


def loaded(frontier: Frontier, host: str = MINE, *, skip: tuple[int, ...] = ()) -> list[str]:
    return [target.url for target in frontier.targets.load(host, limit=100, skip=skip)]


# Leases


def test_partitions_are_shared_fairly(open_frontier: Open) -> None:
    """Two workers that want half each get half each, and no partition twice."""
    one, two = open_frontier(), open_frontier()
    first = one.leases.acquire(ME, want=128, now=0.0, ttl_s=TTL_S)
    second = two.leases.acquire(OTHER, want=128, now=0.0, ttl_s=TTL_S)
    assert len(first) == len(second) == 128
    assert sorted(first + second) == list(range(PARTITIONS))
    assert one.leases.acquire(ME, want=128, now=0.0, ttl_s=TTL_S) == []


def test_a_lease_ends_with_its_time_unless_it_is_renewed(open_frontier: Open) -> None:
    """What is not renewed goes to who asks; the former holder learns it when it renews."""
    one, two = open_frontier(), open_frontier()
    one.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=TTL_S)
    assert one.leases.renew(ME, now=50.0, ttl_s=TTL_S) == set(range(PARTITIONS))
    assert two.leases.acquire(OTHER, want=10, now=100.0, ttl_s=TTL_S) == []
    taken = two.leases.acquire(OTHER, want=10, now=111.0, ttl_s=TTL_S)
    assert len(taken) == 10
    assert one.leases.renew(ME, now=111.0, ttl_s=TTL_S) == set(range(PARTITIONS)) - set(taken)


def test_what_belongs_to_nobody_is_taken_before_what_is_late(open_frontier: Open) -> None:
    """Whoever is late may come back; what is free nobody else may come to take."""
    one, two = open_frontier(), open_frontier()
    one.leases.acquire(ME, want=128, now=0.0, ttl_s=TTL_S)
    theirs = two.leases.acquire(OTHER, want=128, now=0.0, ttl_s=TTL_S)
    two.leases.release(OTHER, theirs)
    assert sorted(two.leases.acquire(OTHER, want=128, now=2 * TTL_S, ttl_s=TTL_S)) == sorted(theirs)
    assert len(one.leases.renew(ME, now=2 * TTL_S, ttl_s=TTL_S)) == 128


def test_leases_can_be_given_back_and_taken_away(open_frontier: Open) -> None:
    """Released partitions are free at once; so are those of a worker that is known to be dead."""
    one, two = open_frontier(), open_frontier()
    parts = one.leases.acquire(ME, want=100, now=0.0, ttl_s=TTL_S)
    one.leases.release(ME, parts[:30])
    assert one.leases.renew(ME, now=1.0, ttl_s=TTL_S) == set(parts[30:])
    assert len(two.leases.acquire(OTHER, want=PARTITIONS, now=1.0, ttl_s=TTL_S)) == PARTITIONS - 70
    two.leases.clear_slot(0)
    assert one.leases.renew(ME, now=1.0, ttl_s=TTL_S) == set()
    assert len(two.leases.acquire(OTHER, want=PARTITIONS, now=1.0, ttl_s=TTL_S)) == 70
    two.leases.clear()
    assert two.leases.renew(OTHER, now=1.0, ttl_s=TTL_S) == set()


def test_a_restarted_worker_gets_its_partitions_back(open_frontier: Open) -> None:
    """The successor with the same name does not wait for the lease to end, and the predecessor has lost it."""
    before, after = open_frontier(), open_frontier()
    before.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=TTL_S)
    assert len(after.leases.acquire(ME, want=PARTITIONS, now=1.0, ttl_s=TTL_S)) == PARTITIONS
    assert before.leases.renew(ME, now=1.0, ttl_s=TTL_S) == set()


def test_who_has_lost_the_lease_writes_nothing(open_frontier: Open) -> None:
    """A batch with results for a partition that another holds is refused whole."""
    one, two = open_frontier(), open_frontier()
    one.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=TTL_S)
    put(one, found("http://a.test/1"))
    two.leases.acquire(OTHER, want=PARTITIONS, now=100.0, ttl_s=TTL_S)
    with pytest.raises(LeaseLost) as lost:
        put(one, found("http://a.test/2"), done=(fetched(one, "http://a.test/1"),))
    assert lost.value.parts == {part_of("a.test")}
    assert two.known.find("http://a.test/2") is None
    assert state_of(two, "http://a.test/1")[0] == State.PENDING
    assert put(two, done=(fetched(two, "http://a.test/1"),), owner=OTHER).stored == 1


def test_what_the_holder_before_found_goes_first(open_frontier: Open) -> None:
    """A worker that takes over goes on in the order of finding, also one that has found much elsewhere before."""
    one, two = open_frontier(), open_frontier()
    ours = two.leases.acquire(OTHER, want=1, now=0.0, ttl_s=TTL_S)
    put(two, found("http://b.test/0"), owner=OTHER)
    one.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=TTL_S)
    put(one, found("http://a.test/1"), found("http://a.test/2"))
    one.leases.clear()
    assert len(two.leases.acquire(OTHER, want=PARTITIONS, now=1.0, ttl_s=TTL_S)) >= PARTITIONS - len(ours)
    put(two, found("http://a.test/3"), owner=OTHER)
    assert [target.url[-1] for target in two.targets.load("a.test", limit=9)] == ["1", "2", "3"]


# URLs


def test_seeds_are_put_in_once(frontier: Frontier) -> None:
    """Adding the same seeds again changes nothing; new ones are added."""
    seeds = [found(f"http://a.test/{name}") for name in "abc"]
    assert frontier.seeds.add(seeds[:2]) == 2
    assert frontier.seeds.add(seeds) == 1
    assert frontier.seeds.all() == [seed.url for seed in seeds]
    assert frontier.figures.counts() == {State.PENDING: 3}
    assert frontier.targets.inbox(range(PARTITIONS)) == ["a.test"]


def test_a_known_url_can_become_a_seed(frontier: Frontier) -> None:
    """A seed is always visited, even if it had been rejected as a link."""
    put(frontier, found("http://a.test/x", state=State.REJECTED, reason="scope", depth=4))
    assert frontier.seeds.add([found("http://a.test/x")]) == 0
    assert frontier.targets.load("a.test", limit=1)[0].seed
    assert frontier.figures.counts() == {State.PENDING: 1}


def test_a_link_can_be_a_seed(frontier: Frontier) -> None:
    """What a seed moved to is a seed as well, also if it had been rejected; only given ones are said to have failed."""
    frontier.seeds.add([found("http://a.test/")])
    put(frontier, found("http://b.test/x", state=State.REJECTED, reason="scope"))
    moved = [found("http://b.test/x", via="redirect"), found("http://b.test/y", via="redirect")]
    for link in moved:
        link.seed = True
    committed = put(frontier, *moved)
    assert committed.woken_hosts == {"b.test"}
    assert frontier.seeds.all() == ["http://a.test/", "http://b.test/x", "http://b.test/y"]
    assert [target.seed for target in frontier.targets.load("b.test", limit=9)] == [True, True]
    assert frontier.changes.end_host("b.test", "dns", state=State.FAILED) == 2
    assert frontier.seeds.failed() == {}
    frontier.seeds.add([found("http://b.test/x")])
    assert [target.url for target in frontier.targets.load("b.test", limit=9)] == [
        "http://b.test/x"
    ]  # given: tried again
    assert frontier.seeds.given() == ["http://a.test/", "http://b.test/x"]
    assert frontier.changes.end_host("b.test", "dns", state=State.FAILED) == 1
    assert frontier.seeds.failed() == {"http://b.test/x": "failed: dns"}


def test_the_urls_of_one_origin_can_be_ended(frontier: Frontier) -> None:
    """A closed port of a host ends what lies there, and nothing else."""
    put(frontier, *(found(f"http://a.test{port}/{n}") for port in ("", ":8", ":80") for n in range(3)))
    assert frontier.changes.end_host("a.test", "connect", state=State.FAILED, under="http://a.test:8/") == 3
    assert frontier.changes.end_host("a.test", "connect", state=State.FAILED, under="http://a.test:8/") == 0
    assert frontier.figures.counts() == {State.PENDING: 6, State.FAILED: 3}


def test_a_url_is_known_once(frontier: Frontier) -> None:
    """What is found again, in the same batch or later, stays as it is."""
    put(frontier, found("http://a.test/1", score=5.0), found("http://a.test/1", score=7.0))
    put(frontier, found("http://a.test/1", score=9.0), found("http://a.test/2"))
    for round_number in range(5):
        put(frontier, *(found(f"http://a.test/{number}") for number in range(1, 5 + round_number)))
    assert [target.score for target in frontier.targets.load("a.test", limit=9)] == [5.0, *[0.0] * 7]
    assert frontier.figures.counts() == {State.PENDING: 8}


def test_targets_come_best_first_then_oldest(frontier: Frontier) -> None:
    """The order of a host's targets is score, then order of finding; other hosts do not mix in."""
    scores = {"a": 1.0, "b": 3.0, "c": 2.0, "d": 3.0}
    put(frontier, *(found(f"http://a.test/{name}", score=score) for name, score in scores.items()))
    put(frontier, found("http://b.test/e", score=9.0))
    assert loaded(frontier) == [f"http://a.test/{name}" for name in "bdca"]
    held = tuple(target.row for target in frontier.targets.load("a.test", limit=2))
    assert loaded(frontier, skip=held) == ["http://a.test/c", "http://a.test/a"]
    assert len(frontier.targets.load("a.test", limit=1, skip=held)) == 1
    assert frontier.targets.load("nowhere.test", limit=5) == []


def test_a_target_says_what_is_known_of_it(frontier: Frontier) -> None:
    """Everything that fetching and judging need travels with the target."""
    link = found("http://a.test/x?q=1", score=2.5, depth=3, hops=1, parent=7, via="frame")
    put(frontier, link)
    (target,) = frontier.targets.load("a.test", limit=1)
    assert (target.url_hash, target.url, target.host) == (link.url_hash, link.url, "a.test")
    assert (target.depth, target.hops, target.parent, target.via, target.score) == (3, 1, 7, "frame", 2.5)
    assert (target.retries, target.etag, target.modified, target.digest) == (0, "", "", b"")


def test_hosts_with_work_are_told(open_frontier: Open) -> None:
    """Own hosts come back from the commit, others' hosts lie in their inbox until they are read."""
    one, two = open_frontier(), open_frontier()
    mine = one.leases.acquire(ME, want=128, now=0.0, ttl_s=TTL_S)
    theirs = two.leases.acquire(OTHER, want=128, now=0.0, ttl_s=TTL_S)
    assert part_of(MINE) in mine
    assert part_of(THEIRS) in theirs
    rejected = found("http://c.test/", state=State.REJECTED, reason="scope")
    committed = put(one, found(f"http://{MINE}/"), found(f"http://{THEIRS}/"), rejected)
    assert committed.woken_hosts == {MINE}
    assert one.targets.inbox(mine) == []
    assert two.targets.inbox(theirs) == [THEIRS]
    assert two.targets.inbox(theirs) == []
    assert [row.host for row in one.targets.hosts(mine)] == [MINE]
    assert [row.host for row in two.targets.hosts(theirs)] == [THEIRS]
    assert put(one, found(f"http://{MINE}/"), found(f"http://{THEIRS}/")).woken_hosts == set()
    assert two.targets.inbox(theirs) == []


def test_hosts_are_remembered(frontier: Frontier) -> None:
    """What a worker wrote down of a host is there in the next run."""
    row = HostRow("a.test", next_at=12.5, delay_s=2.0, pages=3, errors=1)
    put(frontier, found("http://a.test/"), found("http://b.test/"))
    frontier.commit(Batch(discoveries=[], outcomes=[], hosts=[row], robots=[], trap_counts={}), owner=ME, now=0.0)
    assert frontier.known.host("a.test") == row
    assert frontier.known.host("new.test") == HostRow("new.test")
    assert {known.host: known for known in frontier.targets.hosts(range(PARTITIONS))} == {
        "a.test": row,
        "b.test": HostRow("b.test"),
    }


# Results


def test_what_is_done_is_not_loaded_again(frontier: Frontier) -> None:
    """Every outcome takes a URL out of the queue and is counted under its state."""
    outcomes = [state for state in State if state != State.PENDING]
    links = [found(f"http://a.test/{state}") for state in outcomes]
    put(frontier, *links)
    dones = tuple(
        Outcome(number(frontier, link.url), "a.test", state, reason="r", http=418, due=99.0, retries=2, redirect="http://b.test/")
        for link, state in zip(links, outcomes, strict=True)
    )  # fmt: skip
    assert frontier.targets.pending()
    put(frontier, done=dones)
    assert loaded(frontier) == []
    assert frontier.targets.hosts(range(PARTITIONS)) == []
    assert frontier.figures.counts() == dict.fromkeys(outcomes, 1)
    row = frontier.known.find("http://a.test/7")
    assert row is not None
    assert (row.state, row.reason, row.http, row.retries, row.redirect) == (7, "r", 418, 2, "http://b.test/")


def test_what_another_worker_found_is_known(open_frontier: Open) -> None:
    """At once if it is asked for by its address, else with the next commit; what was refused may yet be opened."""
    one, two = open_frontier(), open_frontier()
    one.leases.acquire(ME, want=128, now=0.0, ttl_s=TTL_S)
    two.leases.acquire(OTHER, want=128, now=0.0, ttl_s=TTL_S)
    put(two, found("http://a.test/before"), owner=OTHER)
    refused = found("http://a.test/refused", state=State.REJECTED, reason="nofollow")
    put(one, found("http://a.test/open"), refused)
    seen = [two.known.find(f"http://a.test/{name}") is not None for name in ("open", "refused", "never")]
    assert seen == [True, True, False]
    put(two, found("http://a.test/after"), owner=OTHER)
    names = ("before", "open", "refused", "after", "never")
    assert [two.known.holds(url_id(f"http://a.test/{name}")) for name in names] == [True, True, False, True, False]
    put(two, found("http://a.test/refused"), owner=OTHER)
    assert state_of(one, "http://a.test/refused")[0] == State.PENDING


def test_contents_that_were_looked_up_are_told_as_if_asked_for_one_by_one(open_frontier: Open) -> None:
    """What nobody held a moment ago is told without asking; a commit decides who was first, and then it is known."""
    one = open_frontier()
    if not hasattr(one, "machines"):
        pytest.skip("a file is asked at once")
    one.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=TTL_S)
    put(one, *(found(f"http://a.test/{name}") for name in "ab"))
    put(one, done=(fetched(one, "http://a.test/a", b"held"),))
    two = open_frontier()
    two.known.look_up_contents([b"held", b"new", b""])
    holder = two.known.content_holder(b"held")
    assert holder is not None and holder.url == "http://a.test/a"
    assert two.known.content_holder(b"new") is None
    put(one, done=(fetched(one, "http://a.test/b", b"new"),))
    assert two.known.content_holder(b"new") is None
    put(two, owner=OTHER)
    assert two.known.content_holder(b"new") is not None


def test_equal_content_is_stored_once(frontier: Frontier) -> None:
    """The first page holds the content; the others, also of the same batch, are duplicates and do not count."""
    put(frontier, *(found(f"http://a.test/{name}") for name in "abc"))
    first = put(
        frontier, done=(fetched(frontier, "http://a.test/a", b"same"), fetched(frontier, "http://a.test/b", b"same"))
    )
    assert (first.stored, first.duplicates) == (1, {number(frontier, "http://a.test/b")})
    second = put(frontier, done=(fetched(frontier, "http://a.test/c", b"same"),))
    assert (second.stored, second.duplicates) == (0, {number(frontier, "http://a.test/c")})
    assert frontier.figures.counts() == {State.FETCHED: 1, State.DUPLICATE: 2}
    assert frontier.figures.stored() == 1
    assert frontier.known.content_holder(b"same") == (number(frontier, "http://a.test/a"), "http://a.test/a", 5.0)
    assert frontier.known.content_holder(b"other") is None
    assert frontier.known.recall("http://a.test/c") == (State.DUPLICATE, "")
    assert frontier.known.recall("http://a.test/never") is None
    assert (frontier.known.content_place(b"same"), frontier.known.content_place(b"other")) == (("w", 0, 10), None)


def test_a_page_is_no_duplicate_of_itself(frontier: Frontier) -> None:
    """Fetching a page again with the same content keeps it the holder and does not count it twice."""
    put(frontier, found("http://a.test/a"))
    put(frontier, done=(fetched(frontier, "http://a.test/a"),))
    again = put(frontier, done=(fetched(frontier, "http://a.test/a"),))
    assert (again.stored, again.duplicates) == (0, set())
    assert frontier.figures.stored() == 1


def test_what_counts_as_a_page(frontier: Frontier) -> None:
    """Sitemaps and answers that are not kept do not count against the limit."""
    put(frontier, found("http://a.test/map", via="sitemap"), found("http://a.test/unkept"), found("http://a.test/page"))
    unkept = Outcome(number(frontier, "http://a.test/unkept"), "a.test", State.FETCHED, http=200)
    dones = (fetched(frontier, "http://a.test/map"), unkept, fetched(frontier, "http://a.test/page"))
    assert put(frontier, done=dones).stored == 1
    assert frontier.figures.stored() == 1


def test_what_waits_comes_back_when_it_is_due(open_frontier: Open) -> None:
    """A retry is pending again after its time, for the holder of its partition alone."""
    one, two = open_frontier(), open_frontier()
    mine = one.leases.acquire(ME, want=128, now=0.0, ttl_s=TTL_S)
    theirs = two.leases.acquire(OTHER, want=128, now=0.0, ttl_s=TTL_S)
    put(one, found(f"http://{MINE}/"))
    done = Outcome(number(one, f"http://{MINE}/"), MINE, State.WAITING, "timeout", due=50.0, retries=1)
    put(one, done=(done,))
    assert one.targets.pending()
    assert (one.targets.next_due(mine), two.targets.next_due(theirs)) == (50.0, None)
    assert one.targets.wake_due(mine, 49.0) == []
    assert two.targets.wake_due(theirs, 51.0) == []
    assert one.targets.wake_due(mine, 50.0) == [MINE]
    assert one.targets.next_due(mine) is None
    (target,) = one.targets.load(MINE, limit=1)
    assert target.retries == 1
    assert one.figures.counts() == {State.PENDING: 1}
    assert one.figures.summary().reasons == {}


def test_the_rest_of_a_batch_is_kept(frontier: Frontier) -> None:
    """robots.txt, trap counters and archive sizes come back as they were committed."""
    robots = RobotsRow("http://a.test:80", 5.0, 200, b"User-agent: *")
    tallies = {("a.test", "calendar /x"): 2, ("b.test", "calendar /x"): 1}
    batch = Batch(
        discoveries=[], outcomes=[], hosts=[], robots=[robots], trap_counts=tallies, warc="w-1.warc.gz", warc_size=7
    )
    frontier.commit(batch, owner=ME, now=0.0)
    batch.trap_counts, batch.warc_size = {("a.test", "calendar /x"): 3}, 9
    frontier.commit(batch, owner=ME, now=0.0)
    assert frontier.known.robots("http://a.test:80") == robots
    assert frontier.known.robots("http://b.test:80") is None
    assert frontier.known.tallies("a.test") == {"calendar /x": 5}
    assert frontier.known.tallies("c.test") == {}
    assert frontier.segments.here() == [WarcRow("w-1.warc.gz", 9)]


def test_one_target(frontier: Frontier) -> None:
    """A pending URL is given as it is loaded; what is not pending, or not there, is not."""
    put(frontier, found("http://a.test/"), found("http://b.test/"))
    (target,) = frontier.targets.load("b.test", limit=9)
    assert frontier.targets.of_row(target.row) == target
    put(frontier, done=(fetched(frontier, "http://b.test/"),))
    assert frontier.targets.of_row(target.row) is None
    assert frontier.targets.of_row(99) is None


def test_what_is_known_of_archive_files(frontier: Frontier) -> None:
    """Sizes grow with the commits, what is on the disk never shrinks; a file that is gone is forgotten."""
    for size, synced in ((5, 0), (9, 5), (12, 0)):
        batch = Batch([], [], [], [], {}, warc="w-1.warc.gz", warc_size=size, warc_synced=synced, durable=synced > 0)
        frontier.commit(batch, owner=ME, now=0.0)
    assert frontier.segments.here() == [WarcRow("w-1.warc.gz", 12, 5)]
    frontier.segments.record([WarcRow("w-1.warc.gz", 11, 11, 77), WarcRow("w-2.warc.gz", 3)])
    assert frontier.segments.here() == [WarcRow("w-1.warc.gz", 11, 11, 77), WarcRow("w-2.warc.gz", 3)]
    frontier.segments.record([WarcRow("w-1.warc.gz", 0)])
    assert frontier.segments.here() == [WarcRow("w-2.warc.gz", 3)]
    batch = Batch([], [], [], [], {}, warc="w-1.warc.gz", warc_size=2, warcs=[WarcRow("w-3.warc.gz", 4, 1)])
    frontier.commit(batch, owner=ME, now=0.0)
    batch.warcs = [WarcRow("w-2.warc.gz", 0), WarcRow("w-3.warc.gz", 6)]
    frontier.commit(batch, owner=ME, now=0.0)
    assert frontier.segments.here() == [WarcRow("w-1.warc.gz", 2), WarcRow("w-3.warc.gz", 6, 1)]


def test_text_of_any_kind_is_kept(frontier: Frontier) -> None:
    """Lone surrogates and NUL in what pages say do not stop a commit."""
    link = found("http://a.test/")
    link.anchor, link.context = "bad \ud800 text", "nul \0"
    put(frontier, link)
    done = fetched(frontier, "http://a.test/")
    assert done.page is not None
    done.page.title = "\udfff"
    assert put(frontier, done=(done,)).stored == 1


def test_nul_alone_does_not_stop_a_commit(frontier: Frontier) -> None:
    """A link's text or a page's title may hold nothing worse than NUL, which a database can refuse by itself."""
    link = found("http://a.test/")
    link.anchor = "nul \0"
    put(frontier, link)
    done = fetched(frontier, "http://a.test/")
    assert done.page is not None
    done.page.title = "a\0b"
    assert put(frontier, done=(done,)).stored == 1


# Changes of mind


def test_a_host_can_be_ended(frontier: Frontier) -> None:
    """All its pending URLs are rejected, no other host's; results under way are still taken."""
    put(frontier, *(found(f"http://a.test/{n}") for n in range(9)), found("http://b.test/"))
    under_way = fetched(frontier, "http://a.test/0")
    assert frontier.changes.end_host("a.test", "host-budget") == 9
    assert put(frontier, done=(under_way,)).stored == 1
    assert frontier.changes.end_host("b.test", "dns", state=State.FAILED) == 1
    assert frontier.figures.counts() == {State.FETCHED: 1, State.REJECTED: 8, State.FAILED: 1}
    assert frontier.figures.summary().reasons == {"host-budget": 8, "dns": 1}
    assert not frontier.targets.pending()


def test_a_page_that_kills_workers_is_set_aside(frontier: Frontier) -> None:
    """Deaths are counted for each page; setting aside ends it."""
    put(frontier, found("http://a.test/"))
    n = number(frontier, "http://a.test/")
    assert (frontier.changes.strike(n), frontier.changes.strike(n), frontier.changes.strike(n + 1)) == (1, 2, 1)
    frontier.changes.set_aside(n, "killed-worker")
    assert state_of(frontier, "http://a.test/") == (State.FAILED, "killed-worker", 0)
    assert frontier.figures.counts() == {State.FAILED: 1}


def test_rejected_urls_are_judged_again(frontier: Frontier) -> None:
    """Only the given reasons are looked at; what is still refused carries the new reason."""
    for name, reason in (("a", "scope"), ("b", "scope"), ("c", "robots")):
        put(frontier, found(f"http://a.test/{name}", state=State.REJECTED, reason=reason, depth=2))
    asked = []

    def judge(url: str, depth: int, host: str) -> Verdict:
        asked.append((url, depth, host))
        return Verdict(True) if url.endswith("a") else Verdict(False, "reject-list")

    assert frontier.changes.judge_again(["scope"], judge) == 1
    assert asked == [("http://a.test/a", 2, "a.test"), ("http://a.test/b", 2, "a.test")]
    assert loaded(frontier) == ["http://a.test/a"]
    assert frontier.figures.summary().reasons == {"reject-list": 1, "robots": 1}
    assert frontier.targets.inbox(range(PARTITIONS)) == ["a.test"]


def test_lost_pages_are_fetched_again(frontier: Frontier) -> None:
    """Pages whose bytes are gone, and their duplicates, are pending again and no longer counted or held."""
    put(frontier, *(found(f"http://a.test/{name}") for name in "abcd"))
    put(
        frontier,
        done=(
            fetched(frontier, "http://a.test/a", offset=0, length=10),
            fetched(frontier, "http://a.test/b", b"same", offset=10, length=10),
            fetched(frontier, "http://a.test/c", b"same", offset=0, length=5, warc="v"),
        ),
    )
    assert frontier.losses.requeue_archive("w", [(15, 16), (30, 40)]) == 2
    assert loaded(frontier) == [f"http://a.test/{name}" for name in "bcd"]
    assert frontier.figures.counts() == {State.FETCHED: 1, State.PENDING: 3}
    assert (frontier.figures.stored(), frontier.known.content_holder(b"same")) == (1, None)
    assert all(target.etag == "" for target in frontier.targets.load("a.test", limit=9))
    assert put(frontier, done=(fetched(frontier, "http://a.test/c", b"same"),)).stored == 1
    assert frontier.losses.requeue([number(frontier, "http://a.test/a"), number(frontier, "http://a.test/d")]) == 1


def test_what_ended_for_a_reason_is_fetched_again(frontier: Frontier) -> None:
    """Pages that need a browser, once there is one; everything else stays as it is."""
    put(frontier, *(found(f"http://a.test/{name}") for name in "abc"))
    needy = fetched(frontier, "http://a.test/a")
    needy.reason = "needs-browser"
    put(frontier, done=(needy, fetched(frontier, "http://a.test/b", b"other")))
    assert frontier.losses.requeue_reason("render-crash") == 0
    assert frontier.losses.requeue_reason("needs-browser") == 1
    assert loaded(frontier) == ["http://a.test/a", "http://a.test/c"]
    assert frontier.losses.requeue_reason("needs-browser") == 0
    assert frontier.figures.counts() == {State.FETCHED: 1, State.PENDING: 2}


# Figures


def test_failed_seeds_say_why(frontier: Frontier) -> None:
    """A seed has failed if it, or what it redirects to, could not be fetched."""
    frontier.seeds.add([found(f"http://a.test/{name}") for name in ("ok", "gone", "dns", "moved", "later")])
    put(frontier, found("http://b.test/"))

    def end(url: str, state: State, **more: object) -> Outcome:
        return Outcome(number(frontier, url), host_of(url), state, **more)  # type: ignore[arg-type]

    put(
        frontier,
        done=(
            fetched(frontier, "http://a.test/ok"),
            end("http://a.test/gone", State.GONE, http=404),
            end("http://a.test/dns", State.FAILED, reason="dns"),
            end("http://a.test/moved", State.MOVED, http=302, redirect="http://b.test/"),
            end("http://b.test/", State.GONE, http=410),
        ),
    )
    assert frontier.seeds.failed() == {
        "http://a.test/gone": "gone (HTTP 404)",
        "http://a.test/dns": "failed: dns",
        "http://a.test/moved": "gone (HTTP 410)",
    }


def test_a_summary_names_the_most_frequent(frontier: Frontier) -> None:
    """Reasons, types, hosts and statuses, the largest first, at most so many."""
    put(frontier, *(found(f"http://a.test/{n}") for n in range(3)), *(found(f"http://b.test/{n}") for n in range(2)))
    put(frontier, done=(fetched(frontier, "http://a.test/0"),))
    put(frontier, done=tuple(fetched(frontier, f"http://b.test/{n}") for n in range(2)))
    put(
        frontier,
        done=tuple(Outcome(number(frontier, f"http://a.test/{n}"), "a.test", State.GONE, http=404) for n in (1, 2)),
    )
    summary = frontier.figures.summary(top=2)
    assert (summary.types, summary.statuses) == ({"text/html": 3}, {"200": 3, "404": 2})
    assert list(summary.hosts.items()) == [("b.test", 2), ("a.test", 1)]
    assert list(frontier.figures.summary(top=1).hosts.items()) == [("b.test", 2)]
    assert summary.reasons == {}


def test_values_are_kept_with_the_collection(open_frontier: Open) -> None:
    """Whoever opens the collection reads what another wrote."""
    one, two = open_frontier(), open_frontier()
    one.set_meta("last_run", "text")
    one.set_meta("last_run", "newer")
    assert two.meta("last_run") == "newer"
    assert two.meta("nothing") is None


def test_a_suspended_frontier_still_answers(frontier: Frontier) -> None:
    """Between fork and join the supervisor's frontier holds nothing open, and works."""
    put(frontier, found("http://a.test/"))
    with suspended(frontier):
        assert frontier.targets.pending()
        assert frontier.changes.strike(1) == 1
    assert put(frontier, done=(fetched(frontier, "http://a.test/"),)).stored == 1


def test_a_better_link_raises_what_waits(frontier: Frontier) -> None:
    """With policy data a known URL takes the higher score and the link that gave it; without it, or done, it stays."""
    low, high = found("http://a.test/low", score=0.1), found("http://a.test/high", score=0.5)
    put(frontier, low, high)
    better = found("http://a.test/low", score=0.9, parent=2)
    better.policy_data, better.anchor = b"noted", "services"
    worse = found("http://a.test/high", score=0.2)
    worse.policy_data = b"worse"
    bare = found("http://a.test/high", score=0.95)
    assert put(frontier, better, worse, bare).woken_hosts == {"a.test"}
    first, second = frontier.targets.load("a.test", limit=10)
    assert (first.url, first.score, first.policy_data, first.parent) == ("http://a.test/low", 0.9, b"noted", 2)
    assert (second.score, second.policy_data) == (0.5, b"")
    put(frontier, done=(fetched(frontier, "http://a.test/low"),))
    again = found("http://a.test/low", score=1.0)
    again.policy_data = b"again"
    put(frontier, again)
    assert [target.url for target in frontier.targets.load("a.test", limit=10)] == ["http://a.test/high"]


def test_what_a_document_needs_is_fetched_again_if_it_was_dropped(frontier: Frontier) -> None:
    """Once for each kind of link; what waits takes the link over; what is stored, or refused by rules, stays."""
    dropped, waits = found("http://a.test/dropped"), found("http://a.test/waits")
    refused = found("http://a.test/no", state=State.REJECTED, reason="scope")
    put(frontier, dropped, waits, refused, found("http://a.test/stored"))
    n = number(frontier, "http://a.test/dropped")
    put(frontier, done=(Outcome(n, "a.test", State.FETCHED, "not-quarry"), fetched(frontier, "http://a.test/stored")))
    needed = [found(f"http://a.test/{name}", parent=2) for name in ("dropped", "waits", "no", "stored")]
    for discovery in needed:
        discovery.needed, discovery.via = True, "part"
    assert put(frontier, *needed).woken_hosts == {"a.test"}
    targets = {target.url: (target.via, target.parent) for target in frontier.targets.load("a.test", limit=10)}
    assert targets == {"http://a.test/dropped": ("part", 2), "http://a.test/waits": ("part", 2)}
    assert frontier.figures.counts() == {State.PENDING: 2, State.REJECTED: 1, State.FETCHED: 1}
    put(frontier, done=(Outcome(n, "a.test", State.FETCHED, "not-quarry", via="part"),))
    put(frontier, *needed)
    assert loaded(frontier) == ["http://a.test/waits"]


def test_what_is_dropped_while_a_document_comes_to_need_it_is_fetched_again(frontier: Frontier) -> None:
    """The visit was for another link."""
    put(frontier, found("http://a.test/x"))
    needed = found("http://a.test/x")
    needed.needed, needed.via = True, "part"
    put(frontier, needed)
    n = number(frontier, "http://a.test/x")
    assert put(frontier, done=(Outcome(n, "a.test", State.FETCHED, "not-quarry", via="a"),)).woken_hosts == {"a.test"}
    assert loaded(frontier) == ["http://a.test/x"]
    put(frontier, done=(Outcome(n, "a.test", State.FETCHED, "not-quarry", via="part"),))
    assert loaded(frontier) == []


def test_what_shows_a_page_stands_behind_pages_and_is_none(frontier: Frontier) -> None:
    """Also what was refused as a page is fetched to show one; it counts apart, and can be asked for alone."""
    beyond = found("http://a.test/beyond.png", state=State.REJECTED, reason="scope")
    put(frontier, found("http://a.test/page"), found("http://a.test/linked.png"), beyond)
    shown = [found(f"http://a.test/{name}.png", score=REQUISITE_SCORE) for name in ("linked", "beyond", "new")]
    for discovery in shown:
        discovery.needed, discovery.via = True, REQUISITE
    put(frontier, *shown)
    pictures = [f"http://a.test/{name}.png" for name in ("linked", "beyond", "new")]
    assert loaded(frontier) == ["http://a.test/page", *pictures]
    alone = frontier.targets.load("a.test", limit=10, most=REQUISITE_SCORE)
    assert [target.url for target in alone] == pictures
    assert frontier.targets.owes_requisites()
    put(frontier, done=tuple(fetched(frontier, url) for url in ("http://a.test/page", *pictures)))
    assert not frontier.targets.owes_requisites()
    assert (frontier.figures.pages(), frontier.figures.counted()) == (1, 1)


def test_lessons_of_several_workers_add_up(open_frontier: Open) -> None:
    """Each worker adds what it learned; what changed after a stamp is read as sums."""
    one, other = open_frontier(), open_frontier()
    assert one.known.lessons() == (0, [])
    for frontier, lessons in ((one, [(7, 1.0, 0.5), (1 << 62, 3.0, 1.0)]), (other, [(7, -0.25, 0.5)])):
        batch = Batch(discoveries=[], outcomes=[], hosts=[], robots=[], trap_counts={}, weight_updates=lessons)
        frontier.commit(batch, owner=ME, now=0.0)
    stamp, rows = one.known.lessons()
    assert sorted(rows) == [(7, 0.75, 1.0), (1 << 62, 3.0, 1.0)]
    assert one.known.lessons(stamp) == (stamp, [])
    assert one.known.lessons(stamp - 1)[1] == [(7, 0.75, 1.0)]
    one.known.forget_lessons()
    assert other.known.lessons()[1] == []


def test_the_best_of_what_was_refused_comes_back(open_frontier: Open) -> None:
    """Of one host and one reason, highest score first, no more than asked for."""
    frontier = open_frontier()
    frontier.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=TTL_S)
    assert frontier.changes.readmit(MINE, "host-quota", limit=9) == 0
    refused = [found(f"http://{MINE}/{n}", state=State.REJECTED, reason="host-quota", score=n / 10) for n in range(4)]
    put(frontier, *refused, found(f"http://{MINE}/no", state=State.REJECTED, reason="scope"))
    put(frontier, found(f"http://{THEIRS}/x", state=State.REJECTED, reason="host-quota"))
    assert frontier.changes.readmit(MINE, "host-quota", limit=2) == 2
    assert loaded(frontier) == [f"http://{MINE}/3", f"http://{MINE}/2"]
    assert frontier.figures.counts() == {State.PENDING: 2, State.REJECTED: 4}
    assert frontier.changes.readmit(MINE, "host-quota", limit=9) == 2
    assert frontier.changes.readmit(MINE, "host-quota", limit=9) == 0


def test_nothing_waits_for_years(frontier: Frontier) -> None:
    """A time that was written under a wrong clock is brought nearer; one that is near stays."""
    put(frontier, found("http://a.test/a"), found("http://a.test/b"))
    for path, due in (("/a", 50.0), ("/b", 9e9)):
        n = number(frontier, f"http://a.test{path}")
        put(frontier, done=(Outcome(n, "a.test", State.WAITING, "http-503", due=due, retries=1),))
    frontier.changes.cap_waits(100.0)
    assert frontier.targets.next_due(range(PARTITIONS)) == 50.0
    assert frontier.targets.wake_due(range(PARTITIONS), 60.0) == ["a.test"] and len(loaded(frontier)) == 1
    assert frontier.targets.next_due(range(PARTITIONS)) == 100.0


def test_what_failed_is_tried_again_from_the_first(frontier: Frontier) -> None:
    """All of it but what killed workers, with all its tries; other ends stay as they are."""
    ends = {"/a": (State.FAILED, "connect"), "/b": (State.FAILED, "killed-worker"), "/c": (State.GONE, "http-404")}
    put(frontier, *(found(f"http://a.test{path}") for path in ends))
    done = [
        Outcome(number(frontier, f"http://a.test{path}"), "a.test", state, reason, retries=3)
        for path, (state, reason) in ends.items()
    ]
    put(frontier, done=done)
    assert frontier.changes.retry() == 1
    assert [(target.url, target.retries) for target in frontier.targets.load("a.test", limit=9)] == [
        ("http://a.test/a", 0)
    ]
    assert frontier.figures.counts() == {State.PENDING: 1, State.FAILED: 1, State.GONE: 1}
    assert frontier.changes.retry() == 0
