"""Rounds: what every frontier makes pending again, and what it tells of each time that it was gone through."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lycosa.frontier.contract import Frontier
from lycosa.frontier.partitions import PARTITIONS
from lycosa.model import Batch, Discovery, HostRow, LastmodHint, Outcome, PageRow, State, VisitHistory
from lycosa.urls import host_of, url_id

ME = "here:0"
HOUR = 3600.0
DAY = 24 * HOUR
NAMES = ("a", "b", "c", "d")


def found(name: str, **more: object) -> Discovery:
    url = f"http://a.test/{name}"
    return Discovery(url_id(url), url, "a.test", **more)  # type: ignore[arg-type]


def put(frontier: Frontier, *founds: Discovery, done: tuple[Outcome, ...] = ()):  # type: ignore[no-untyped-def]
    batch = Batch(discoveries=list(founds), outcomes=list(done), hosts=[], robots=[], trap_counts={})
    return frontier.commit(batch, owner=ME, now=0.0)


def end(frontier: Frontier, name: str, state: int, digest: bytes = b"", **more: object) -> Outcome:
    row = frontier.known.find(f"http://a.test/{name}")
    assert row is not None
    page = PageRow(5.0, 200, "text/html", digest=digest, etag=f'"{name}"', warc="w", length=10) if digest else None
    return Outcome(row.row, host_of(row.url), state, page=page, **{"http": 200, "history": VisitHistory(), **more})  # type: ignore[arg-type]


def visited(frontier: Frontier, names: str = "abcd", *, interval_s: float = 0.0) -> None:
    """A first round in which each of these was stored."""
    put(frontier, *(found(name) for name in names))
    past = VisitHistory(interval=interval_s)
    put(frontier, done=tuple(end(frontier, name, State.FETCHED, name.encode(), history=past) for name in names))
    frontier.rounds.end(now=10.0, why="")


def next_round(frontier: Frontier, *, now: float = 0.0, step_s: float = DAY, everything: bool = False) -> list[str]:
    """Begin a round; returns what it visits."""
    frontier.rounds.begin(now=now, step_s=step_s, everything=everything)
    frontier.rounds.open_due(max_s=30 * DAY)
    return pending(frontier)


def pending(frontier: Frontier) -> list[str]:
    return [target.url.rpartition("/")[2] for target in frontier.targets.load("a.test", limit=99)]


def test_the_first_round_is_there(frontier: Frontier) -> None:
    """A collection begins in its first round, unfinished, with nothing to open."""
    (first,) = frontier.rounds.listing()
    assert (first.round, first.ended, first.why, first.answers) == (1, None, "", 0)
    assert frontier.rounds.open_due(max_s=DAY) == 0


@pytest.mark.parametrize("limit", ["pages", "host_pages"])
def test_a_bounded_round_takes_turns(frontier: Frontier, limit: str) -> None:
    """At most half of it is kept for what waits; pages that were not visited for the longest time come first."""
    visited(frontier)
    put(frontier, *(found(name) for name in "efg"))
    frontier.rounds.begin(now=100.0, step_s=DAY, everything=True)
    assert frontier.rounds.open_due(max_s=DAY, **{limit: 4}) == 2
    assert pending(frontier) == ["a", "b", "e", "f", "g"]
    put(frontier, done=tuple(end(frontier, name, State.UNCHANGED) for name in "abef"))
    frontier.rounds.end(now=110.0, why="limit")
    frontier.rounds.begin(now=200.0, step_s=DAY, everything=True)
    assert frontier.rounds.open_due(max_s=DAY, **{limit: 4}) == 3
    assert pending(frontier) == ["a", "c", "d", "g"]
    assert frontier.figures.counts() == {State.PENDING: 4, State.UNCHANGED: 3}


def test_the_first_recrawl_visits_everything(frontier: Frontier) -> None:
    """What was visited once has no interval yet: it is due, with what is needed to ask whether it changed."""
    visited(frontier)
    assert frontier.rounds.begin(now=100.0, step_s=DAY, everything=False) == 2
    assert frontier.rounds.open_due(max_s=DAY) == 4
    assert frontier.rounds.open_due(max_s=DAY) == 0
    assert frontier.figures.counts() == {State.PENDING: 4}
    assert frontier.targets.hosts(range(PARTITIONS)) == [HostRow("a.test")]
    target = frontier.targets.load("a.test", limit=1)[0]
    assert (target.etag, target.digest, target.round, target.retries) == ('"a"', b"a", 1, 0)


def test_a_page_is_due_by_the_clock_of_the_rounds(frontier: Frontier) -> None:
    """A round counts as one step at least, and as the time that has passed if that is more."""
    visited(frontier, "a", interval_s=2 * DAY)
    assert next_round(frontier, now=60.0) == []
    assert next_round(frontier, now=120.0) == ["a"]
    past = VisitHistory(interval=2 * DAY)
    put(frontier, done=(end(frontier, "a", State.UNCHANGED, history=past),))
    assert next_round(frontier, now=120.0 + 2 * DAY) == ["a"]


def test_an_interval_that_is_nearly_over_is_over(frontier: Frontier) -> None:
    """Rounds begun a few minutes early, as cron does, skip no page."""
    visited(frontier, "a", interval_s=DAY)
    assert next_round(frontier, now=DAY - 600, step_s=HOUR) == ["a"]


def test_no_interval_is_longer_than_the_bound(frontier: Frontier) -> None:
    """Whatever was learned, a page is looked at again within the longest interval allowed."""
    visited(frontier, "a", interval_s=1e9)
    assert next_round(frontier, now=29 * DAY) == ["a"]


def test_a_full_round_visits_what_is_not_due(frontier: Frontier) -> None:
    """All pages, whatever their interval."""
    visited(frontier, interval_s=1e9)
    assert next_round(frontier, everything=True) == list(NAMES)


def test_every_fate_has_its_next_visit(frontier: Frontier) -> None:
    """What failed, sitemaps, and what a robots.txt refused come in every round; refusals by the host when due."""
    later = VisitHistory(interval=9 * DAY)
    put(
        frontier,
        found("gone"), found("moved"), found("timeout"), found("forbidden"), found("poison"), found("waits"),
        found("map", via="sitemap"),
        found("robots", state=State.REJECTED, reason="robots"), found("scope", state=State.REJECTED, reason="scope"),
    )  # fmt: skip
    put(
        frontier,
        done=(
            end(frontier, "gone", State.GONE, http=404, history=later),
            end(frontier, "moved", State.MOVED, http=302, redirect="http://b.test/", history=later),
            end(frontier, "timeout", State.FAILED, reason="timeout", http=0),
            end(frontier, "forbidden", State.FAILED, reason="http-403", http=403, history=later),
            end(frontier, "poison", State.FAILED, reason="killed-worker", http=0),
            end(frontier, "waits", State.WAITING, reason="timeout", http=0, due=50.0, retries=2),
            end(frontier, "map", State.FETCHED, b"map", history=later),
        ),
    )
    assert next_round(frontier) == ["timeout", "map", "robots"]
    assert frontier.figures.counts()[State.WAITING] == 1
    for name in ("timeout", "map", "robots"):
        put(frontier, done=(end(frontier, name, State.GONE, http=404, history=VisitHistory(interval=30 * DAY)),))
    assert next_round(frontier, now=8 * DAY) == ["gone", "moved", "forbidden", "map"]
    target = frontier.targets.load("a.test", limit=9)[1]
    assert (target.redirect, target.history.interval) == ("http://b.test/", 9 * DAY)


def test_what_a_round_finds_is_counted(frontier: Frontier) -> None:
    """New, changed, unchanged, gone and back; what fails is none of them and keeps its copy."""
    visited(frontier)
    next_round(frontier)
    put(frontier, found("e"))
    put(
        frontier,
        done=(
            end(frontier, "a", State.FETCHED, b"A"),
            end(frontier, "b", State.UNCHANGED, http=304),
            end(frontier, "c", State.GONE, http=404),
            end(frontier, "d", State.FAILED, http=0, reason="timeout"),
            end(frontier, "e", State.FETCHED, b"e"),
        ),
    )
    second = frontier.rounds.listing()[1]
    assert (second.answers, second.new, second.changed, second.unchanged, second.gone, second.back) == (
        4,
        1,
        1,
        1,
        1,
        0,
    )
    assert (frontier.figures.stored(), frontier.figures.pages()) == (3, 5)
    next_round(frontier)
    put(
        frontier,
        done=(
            end(frontier, "a", State.MOVED, http=301, redirect="http://a.test/b"),
            end(frontier, "c", State.FETCHED, b"c"),
            end(frontier, "d", State.UNCHANGED, http=304),
        ),
    )
    third = frontier.rounds.listing()[2]
    assert (third.answers, third.new, third.changed, third.unchanged, third.gone, third.back) == (3, 0, 0, 1, 1, 1)
    assert (frontier.figures.stored(), frontier.figures.pages()) == (2, 5)


def test_content_that_returns_is_no_duplicate(frontier: Frontier) -> None:
    """A page may have its old content again; another page with the same content is a duplicate, also when unchanged."""
    visited(frontier, "a")
    put(frontier, found("b"))
    put(frontier, done=(end(frontier, "b", State.FETCHED, b"a"),))
    assert frontier.figures.counts() == {State.FETCHED: 1, State.DUPLICATE: 1}
    next_round(frontier)
    committed = put(
        frontier, done=(end(frontier, "a", State.FETCHED, b"A"), end(frontier, "b", State.UNCHANGED, http=304))
    )
    assert (committed.stored, len(committed.duplicates), frontier.figures.pages()) == (1, 1, 1)
    next_round(frontier)
    committed = put(frontier, done=(end(frontier, "a", State.FETCHED, b"a"), end(frontier, "b", State.FETCHED, b"B")))
    assert (committed.stored, committed.duplicates, frontier.figures.pages()) == (2, set(), 2)
    assert frontier.rounds.listing()[2].changed == 2


def test_the_keys_of_a_page_follow_its_visits(frontier: Frontier) -> None:
    """ETag and date to ask with are those that the last visit gave; without them the old ones stay."""
    visited(frontier, "ab")
    next_round(frontier)
    past = VisitHistory(interval=0.0, changes=1.5, watched=7.0, checked=2)
    put(
        frontier,
        done=(
            end(frontier, "a", State.UNCHANGED, http=304, validators=('"new"', "date"), history=past),
            end(frontier, "b", State.UNCHANGED, http=304, history=past),
        ),
    )
    next_round(frontier)
    one, two = frontier.targets.load("a.test", limit=2)
    assert (one.etag, one.modified, one.history, one.round) == ('"new"', "date", past, 2)
    assert (two.etag, two.modified, two.digest) == ('"b"', "", b"b")


def test_a_hosts_budget_is_that_of_the_round(frontier: Frontier) -> None:
    """What a host had in the last round does not count in this one."""
    visited(frontier, "a")
    row = HostRow("a.test", next_at=1.0, pages=7, errors=1)
    frontier.commit(Batch(discoveries=[], outcomes=[], hosts=[row], robots=[], trap_counts={}), owner=ME, now=0.0)
    assert frontier.known.host("a.test").pages == 7
    next_round(frontier)
    assert frontier.known.host("a.test") == HostRow("a.test", next_at=1.0, pages=0, errors=1)


def test_a_round_ends_and_is_opened_again(frontier: Frontier) -> None:
    """When and why each round ended is kept."""
    visited(frontier, "a")
    assert [(row.ended, row.why) for row in frontier.rounds.listing()] == [(10.0, "")]
    next_round(frontier)
    frontier.rounds.end(now=None, why="interrupt")
    assert [(row.ended, row.why) for row in frontier.rounds.listing()] == [(10.0, ""), (None, "interrupt")]


def test_lost_bytes_of_an_earlier_round(frontier: Frontier) -> None:
    """What has no other copy is fetched again and whole; what has a newer one is not."""
    visited(frontier, "abc")
    next_round(frontier)
    put(
        frontier,
        done=(
            end(frontier, "a", State.UNCHANGED, http=304),
            end(frontier, "b", State.GONE, http=404),
        ),
    )
    row = frontier.known.find("http://a.test/c")
    assert row is not None
    newer = PageRow(6.0, 200, "text/html", digest=b"C", etag='"c"', warc="v", length=10)
    put(frontier, done=(Outcome(row.row, "a.test", State.FETCHED, http=200, page=newer),))
    assert (frontier.figures.stored(), frontier.figures.pages()) == (2, 3)
    assert frontier.losses.requeue_archive("w", [(5, 100)]) == 2
    assert pending(frontier) == ["a", "b"]
    assert [(target.etag, target.digest) for target in frontier.targets.load("a.test", limit=9)] == [
        ("", b""),
        ("", b""),
    ]
    assert (frontier.figures.stored(), frontier.figures.pages(), frontier.known.content_holder(b"a")) == (1, 1, None)
    assert put(frontier, done=(end(frontier, "a", State.FETCHED, b"a"),)).stored == 1
    assert (frontier.figures.stored(), frontier.figures.pages()) == (2, 2)


def tell(frontier: Frontier, **dates: float):  # type: ignore[no-untyped-def]
    """A sitemap says when these pages changed."""
    hints = [LastmodHint(found(name).url_hash, "a.test", date) for name, date in dates.items()]
    return frontier.commit(
        Batch(discoveries=[], outcomes=[], hosts=[], robots=[], trap_counts={}, hints=hints), owner=ME, now=0.0
    ).woken_hosts


def test_a_page_that_its_host_says_has_changed_is_due(frontier: Frontier) -> None:
    """A later date than the last time opens it, unless this round has visited it; unknown pages are passed over."""
    visited(frontier, "abc", interval_s=20 * DAY)
    assert tell(frontier, a=1.0, b=1.0, x=1.0) == set()
    assert next_round(frontier) == []
    assert tell(frontier, a=2.0, b=1.0, c=5.0, x=2.0) == {"a.test"}
    assert pending(frontier) == ["a"]
    put(frontier, done=(end(frontier, "a", State.FETCHED, b"A", history=VisitHistory(interval=20 * DAY)),))
    assert tell(frontier, a=3.0) == set()
    assert next_round(frontier) == []
    assert tell(frontier, a=3.0, b=0.5, c=4.0) == set()
    assert tell(frontier, c=6.0) == {"a.test"}
    assert pending(frontier) == ["c"]


def test_a_host_that_is_wrong_too_often_is_not_heeded(frontier: Frontier) -> None:
    """Ten words that proved wrong, and none right, are enough."""
    visited(frontier, "abcdefghijkl", interval_s=20 * DAY)
    names = "abcdefghij"
    tell(frontier, **dict.fromkeys("abcdefghijkl", 1.0))
    next_round(frontier)
    tell(frontier, **dict.fromkeys(names, 2.0))
    assert pending(frontier) == list(names)
    past = VisitHistory(interval=20 * DAY)
    put(frontier, done=tuple(end(frontier, name, State.UNCHANGED, http=304, history=past) for name in names))
    assert tell(frontier, k=2.0) == set()
    next_round(frontier, everything=False)
    assert tell(frontier, l=2.0) == set()


def test_whoever_opens_the_collection_is_in_its_round(open_frontier: Callable[[], Frontier]) -> None:
    """A worker started after the round began counts in it."""
    one = open_frontier()
    one.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=60.0)
    visited(one, "a")
    next_round(one)
    two = open_frontier()
    two.leases.acquire(ME, want=PARTITIONS, now=0.0, ttl_s=60.0)
    assert put(two, done=(end(two, "a", State.UNCHANGED, http=304),)).stored == 1
    assert (two.figures.stored(), one.figures.stored(), one.rounds.listing()[1].unchanged) == (1, 1, 1)
