"""Depths are exact (T5): whatever the order in which ways to a URL are found, the shortest counts."""

from __future__ import annotations

from lycosa.frontier.contract import Frontier
from lycosa.model import Batch, Committed, Discovery, Outcome, PageRow, State, UnstoredPage, VisitHistory
from lycosa.urls import host_of, url_id


def found(
    url: str, *, state: int = State.PENDING, reason: str = "", depth: int = 0, parent: int = 0, via: str = "a"
) -> Discovery:
    return Discovery(url_id(url), url, host_of(url), state, reason, 0.0, depth, 0, parent, False, via)


def put(frontier: Frontier, *founds: Discovery, done: tuple[Outcome, ...] = (), max_depth: int = -1) -> Committed:
    batch = Batch(discoveries=list(founds), outcomes=list(done), hosts=[], robots=[], trap_counts={})
    return frontier.commit(batch, owner="here:0", now=0.0, max_depth=max_depth)


def number(frontier: Frontier, url: str) -> int:
    row = frontier.known.find(url)
    assert row is not None
    return row.row


def fetched(frontier: Frontier, url: str, *, links: str = "") -> Outcome:
    page = PageRow(5.0, 200, digest=url.encode(), links=links.encode())
    return Outcome(number(frontier, url), host_of(url), State.FETCHED, http=200, page=page)


def state_of(frontier: Frontier, url: str) -> tuple[int, str, int]:
    row = frontier.known.find(url)
    assert row is not None
    return row.state, row.reason, row.depth


def loaded(frontier: Frontier) -> list[str]:
    return [target.url for target in frontier.targets.load("a.test", limit=100)]


def test_a_shorter_way_lowers_the_depth(frontier: Frontier) -> None:
    """With a depth limit the smallest depth counts, and what then fits is opened; without one nothing is done."""
    deep = found("http://a.test/x", state=State.REJECTED, reason="depth", depth=4)
    put(frontier, deep, found("http://a.test/y", depth=3), max_depth=3)
    put(frontier, found("http://a.test/x", depth=2), found("http://a.test/y", depth=1))
    assert state_of(frontier, "http://a.test/x") == (State.REJECTED, "depth", 4)
    put(frontier, found("http://a.test/y", depth=5), max_depth=3)
    assert state_of(frontier, "http://a.test/y")[2] == 3
    committed = put(frontier, found("http://a.test/x", depth=2), found("http://a.test/y", depth=1), max_depth=3)
    assert state_of(frontier, "http://a.test/x") == (State.PENDING, "", 2)
    assert state_of(frontier, "http://a.test/y")[2] == 1
    assert committed.woken_hosts == {"a.test"}
    assert frontier.figures.counts() == {State.PENDING: 2}


def test_other_rejections_are_not_opened_by_a_shorter_way(frontier: Frontier) -> None:
    """Only what was rejected for its depth alone is opened."""
    put(frontier, found("http://a.test/x", state=State.REJECTED, reason="scope", depth=4), max_depth=3)
    put(frontier, found("http://a.test/x", depth=1), max_depth=3)
    assert state_of(frontier, "http://a.test/x")[:2] == (State.REJECTED, "scope")


def chain(frontier: Frontier, *, max_depth: int) -> None:
    """Fetched pages 1 -> 2 -> (redirect) 3 -> 4 at depths 2, 3, 3; 4 was rejected for its depth."""
    address = "http://a.test/{}".format
    put(frontier, found(address(1), depth=2))
    one = number(frontier, address(1))
    put(frontier, found(address(2), depth=3, parent=one), done=(fetched(frontier, address(1), links=address(2)),))
    two = number(frontier, address(2))
    moved = Outcome(two, "a.test", State.MOVED, http=302, redirect=address(3))
    put(frontier, found(address(3), depth=3, parent=two, via="redirect"), done=(moved,))
    deep = found(address(4), state=State.REJECTED, reason="depth", depth=4, parent=number(frontier, address(3)))
    put(
        frontier,
        deep,
        done=(fetched(frontier, address(3), links=address(4) + " http://never.test/"),),
        max_depth=max_depth,
    )


def test_a_shorter_way_lowers_what_a_page_led_to(frontier: Frontier) -> None:
    """From a page that is fetched already, links go one level down and redirects none; all in the same commit."""
    chain(frontier, max_depth=3)
    assert put(frontier, found("http://a.test/1", depth=0), max_depth=3).woken_hosts == {"a.test"}
    assert [state_of(frontier, f"http://a.test/{n}")[2] for n in (1, 2, 3, 4)] == [0, 1, 1, 2]
    assert loaded(frontier) == ["http://a.test/4"]


def test_a_seed_lowers_what_it_led_to(frontier: Frontier) -> None:
    """A known page that becomes a seed is a shorter way as well."""
    chain(frontier, max_depth=3)
    frontier.seeds.add([found("http://a.test/1")], max_depth=3)
    assert [state_of(frontier, f"http://a.test/{n}")[2] for n in (1, 2, 3, 4)] == [0, 1, 1, 2]
    assert loaded(frontier) == ["http://a.test/4"]


def test_a_page_lowered_while_under_way_passes_it_on(frontier: Frontier) -> None:
    """The worker still thinks of the old depth when it commits; the links get the right one nevertheless."""
    put(frontier, found("http://a.test/1", depth=3), max_depth=3)
    put(frontier, found("http://a.test/1", depth=1), max_depth=3)
    stale = found("http://a.test/2", state=State.REJECTED, reason="depth", depth=4)
    done = fetched(frontier, "http://a.test/1", links="http://a.test/2")
    assert put(frontier, stale, done=(done,), max_depth=3).woken_hosts == {"a.test"}
    assert state_of(frontier, "http://a.test/2") == (State.PENDING, "", 2)


def test_a_page_lowered_while_it_is_refused_is_opened(frontier: Frontier) -> None:
    """The worker refuses a target for the depth that it was handed out with; a shorter way was found meanwhile."""
    put(frontier, found("http://a.test/1", depth=5))
    put(frontier, found("http://a.test/1", depth=1), max_depth=3)
    refused = Outcome(number(frontier, "http://a.test/1"), "a.test", State.REJECTED, "depth")
    assert put(frontier, done=(refused,), max_depth=3).woken_hosts == {"a.test"}
    assert state_of(frontier, "http://a.test/1") == (State.PENDING, "", 1)
    assert frontier.figures.counts() == {State.PENDING: 1}


def test_a_link_that_is_followed_lifts_a_bar(frontier: Frontier) -> None:
    """A URL that only barred links led to is opened by another one, and found by that; a barred link is no way."""
    barred = found("http://a.test/x", state=State.REJECTED, reason="nofollow", depth=1, parent=7)
    put(frontier, barred, found("http://a.test/y", depth=3), max_depth=3)
    put(frontier, barred, found("http://a.test/y", state=State.REJECTED, reason="nofollow", depth=1), max_depth=3)
    assert state_of(frontier, "http://a.test/x") == (State.REJECTED, "nofollow", 1)
    assert state_of(frontier, "http://a.test/y") == (State.PENDING, "", 3)
    assert put(frontier, found("http://a.test/x", depth=2, parent=9), max_depth=3).woken_hosts == {"a.test"}
    assert state_of(frontier, "http://a.test/x") == (State.PENDING, "", 2)
    target = next(target for target in frontier.targets.load("a.test", limit=9) if target.url.endswith("x"))
    assert (target.depth, target.parent) == (2, 9)
    assert frontier.figures.counts() == {State.PENDING: 2}
    put(frontier, barred, found("http://a.test/z", state=State.REJECTED, reason="rel-nofollow"))
    put(frontier, found("http://a.test/z", state=State.REJECTED, reason="nofollow"), found("http://a.test/z"))
    assert state_of(frontier, "http://a.test/z")[:2] == (State.PENDING, "")


def test_a_cycle_of_pages_ends(frontier: Frontier) -> None:
    """Pages that link to each other are lowered once around."""
    put(frontier, found("http://a.test/1", depth=5), found("http://a.test/2", depth=6))
    put(
        frontier,
        done=(
            fetched(frontier, "http://a.test/1", links="http://a.test/2 http://a.test/1"),
            fetched(frontier, "http://a.test/2", links="http://a.test/1"),
        ),
    )
    put(frontier, found("http://a.test/2", depth=1), max_depth=9)
    assert [state_of(frontier, f"http://a.test/{n}")[2] for n in (1, 2)] == [2, 1]


def test_a_refresh_is_no_level_down(frontier: Frontier) -> None:
    """A page that refreshes to another address passes its own depth on, like a redirect."""
    put(frontier, found("http://a.test/1", depth=3))
    n = number(frontier, "http://a.test/1")
    onward = found("http://a.test/2", depth=3, parent=n, via="refresh")
    put(frontier, onward, done=(fetched(frontier, "http://a.test/1", links="http://a.test/2"),))
    put(frontier, found("http://a.test/1", depth=1), max_depth=5)
    assert state_of(frontier, "http://a.test/2")[2] == 1


def test_a_page_that_was_not_stored_still_led_somewhere(frontier: Frontier) -> None:
    """It is fetched, counts as no page of the collection, and a shorter way to it shortens those to its links."""
    page, child = "http://a.test/page", "http://a.test/child"
    put(frontier, found(page, depth=3), max_depth=5)
    unstored = UnstoredPage("text/html", size=10, links=child.encode())
    done = Outcome(
        number(frontier, page),
        "a.test",
        State.FETCHED,
        "not-quarry",
        http=200,
        history=VisitHistory(),
        unstored=unstored,
    )
    committed = put(frontier, found(child, depth=4), done=(done,), max_depth=5)
    assert (committed.stored, committed.duplicates) == (0, set())
    assert state_of(frontier, page) == (State.FETCHED, "not-quarry", 3)
    assert frontier.figures.stored() == frontier.figures.pages() == 0
    put(frontier, found(page, depth=1), max_depth=5)
    assert state_of(frontier, child)[2] == 2
    assert frontier.losses.requeue_reason("not-quarry") == 1
    assert state_of(frontier, page)[0] == State.PENDING
