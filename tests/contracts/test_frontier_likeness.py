"""What random histories once found different between frontiers, a sentence each."""

from __future__ import annotations

from collections.abc import Callable

from lycosa.frontier.contract import Frontier, UrlRow
from lycosa.frontier.partitions import PARTITIONS
from lycosa.model import ArchivePlace, Batch, Discovery, Outcome, PageRow, State, VisitHistory, WarcRow
from lycosa.urls import host_of, url_id

ME, OTHER = "here:0", "here:1"
DAY = 86_400.0
A, B, C = (f"http://a.test/{name}" for name in "abc")

Open = Callable[[], Frontier]


def link(url: str, **more: object) -> Discovery:
    return Discovery(url_id(url), url, host_of(url), **{"via": "a", **more})  # type: ignore[arg-type]


def barred(url: str, **more: object) -> Discovery:
    return link(url, state=State.REJECTED, reason="nofollow", **more)


def put(frontier: Frontier, *links: Discovery, done: tuple[Outcome, ...] = (), **more: object) -> None:
    batch = Batch(list(links), list(done), [], [], {}, **more)  # type: ignore[arg-type]
    frontier.commit(batch, owner=ME, now=0.0)


def row(frontier: Frontier, url: str) -> UrlRow:
    found = frontier.known.find(url)
    assert found is not None
    return found


def end(frontier: Frontier, url: str, state: int, digest: bytes = b"", **more: object) -> Outcome:
    page = PageRow(5.0, 200, "text/html", digest=digest, etag='"e"', warc="w", length=10) if digest else None
    values = {"http": 200, "history": VisitHistory(), "page": page, **more}
    return Outcome(row(frontier, url).row, host_of(url), state, **values)  # type: ignore[arg-type]


def next_round(frontier: Frontier) -> None:
    frontier.rounds.begin(now=0.0, step_s=DAY, everything=True)
    frontier.rounds.open_due(max_s=DAY)


def with_duplicate(frontier: Frontier) -> None:
    """A page, and another with the same content."""
    put(frontier, link(A), link(B))
    put(frontier, done=(end(frontier, A, State.FETCHED, b"x"), end(frontier, B, State.FETCHED, b"x")))
    assert frontier.figures.pages() == 1


# Pages of the collection


def test_a_duplicate_that_moved_for_good_is_no_page_of_its_own(frontier: Frontier) -> None:
    """Also in the rounds after the one in which it moved: it never brought a content of its own."""
    with_duplicate(frontier)
    for state in (State.MOVED_FOR_GOOD, State.GONE, State.FAILED):
        next_round(frontier)
        put(frontier, done=(end(frontier, B, state, redirect=C),))
        assert (frontier.figures.pages(), frontier.figures.summary().hosts) == (1, {"a.test": 1})
    next_round(frontier)
    put(frontier, done=(end(frontier, B, State.FETCHED, b"own"),))
    assert (frontier.figures.pages(), frontier.figures.summary().hosts) == (2, {"a.test": 2})


def test_a_duplicate_that_comes_back_unchanged_is_a_duplicate(frontier: Frontier) -> None:
    """It was away for a round; its content is still another page's."""
    with_duplicate(frontier)
    next_round(frontier)
    put(frontier, done=(end(frontier, B, State.GONE),))
    next_round(frontier)
    put(frontier, done=(end(frontier, B, State.UNCHANGED),))
    assert (row(frontier, B).state, frontier.figures.pages(), frontier.figures.stored()) == (State.DUPLICATE, 1, 0)


def test_a_page_whose_newest_copy_is_forgotten_counts_by_the_copy_before(frontier: Frontier) -> None:
    """It was a duplicate, brought something of its own, and that is fetched again: it is a duplicate until then."""
    with_duplicate(frontier)
    next_round(frontier)
    put(frontier, done=(end(frontier, B, State.FETCHED, b"own", reason="too-large"),))
    assert frontier.figures.pages() == 2
    assert frontier.losses.requeue_reason("too-large") == 1
    assert (frontier.figures.pages(), frontier.figures.summary().hosts) == (1, {"a.test": 1})


def test_duplicates_of_a_lost_page_are_asked_for_whole_even_while_they_wait(frontier: Frontier) -> None:
    """Their bytes were never kept, so an answer that they have not changed would leave nothing."""
    with_duplicate(frontier)
    next_round(frontier)
    frontier.losses.requeue_archive("w", [(0, 10)])
    waiting = {target.url: (target.etag, target.digest) for target in frontier.targets.load("a.test", limit=9)}
    assert waiting == {A: ("", b""), B: ("", b"")}
    assert frontier.figures.pages() == 0


def test_what_was_read_and_not_stored_gives_no_room_back(frontier: Frontier) -> None:
    """A page of an earlier round that is dropped now does not count against the limit, nor when it is asked again."""
    put(frontier, link(A))
    put(frontier, done=(end(frontier, A, State.FETCHED, b"x"),))
    next_round(frontier)
    put(frontier, done=(end(frontier, A, State.FETCHED, reason="not-quarry"),))
    assert frontier.losses.requeue_reason("not-quarry") == 1
    assert frontier.figures.stored() == 0


# Rounds


def test_a_page_counts_once_in_a_round_as_what_was_found_last(frontier: Frontier) -> None:
    """It was gone, the user gave it as a seed, and it is back."""
    put(frontier, link(A))
    put(frontier, done=(end(frontier, A, State.FETCHED, b"x"),))
    next_round(frontier)
    put(frontier, done=(end(frontier, A, State.GONE),))
    frontier.seeds.add([link(A, seed=True)])
    put(frontier, done=(end(frontier, A, State.FETCHED, b"x"),))
    last = frontier.rounds.listing()[-1]
    assert (last.gone, last.back) == (0, 1)


def test_a_page_that_came_after_its_host_was_ended_is_new(frontier: Frontier) -> None:
    """It was under way when the host was given up; the page is stored, and counted."""
    put(frontier, link(A))
    frontier.changes.end_host("a.test", "host-budget")
    put(frontier, done=(end(frontier, A, State.FETCHED, b"x"),))
    assert (frontier.rounds.listing()[0].new, frontier.figures.pages()) == (1, 1)


def test_a_lost_answer_without_a_page_is_asked_for_again(frontier: Frontier) -> None:
    """In a later round an answer that nothing has changed lies in the archive as well."""
    put(frontier, link(A))
    put(frontier, done=(end(frontier, A, State.FETCHED, b"x"),))
    next_round(frontier)
    put(frontier, done=(end(frontier, A, State.UNCHANGED, archive_place=ArchivePlace("v", 0, 5)),))
    assert (frontier.rounds.listing()[-1].unchanged, frontier.figures.stored()) == (1, 1)
    assert frontier.losses.requeue_archive("v", [(0, 5)]) == 1
    assert (frontier.rounds.listing()[-1].unchanged, frontier.figures.stored(), frontier.figures.pages()) == (0, 0, 1)


# Links and seeds


def test_a_seed_to_which_only_nofollow_links_had_led_is_the_users(frontier: Frontier) -> None:
    """It has the depth, the score and the kind of the seed, and no parent."""
    put(frontier, link(A))
    put(frontier, barred(B, depth=3, score=-5.0, parent=row(frontier, A).row))
    assert frontier.seeds.add([link(B, seed=True, via="seed", score=2.0)]) == 0
    seed = row(frontier, B)
    assert (seed.state, seed.seed, seed.depth, seed.score, seed.parent) == (State.PENDING, True, 0, 2.0, 0)
    assert [target.via for target in frontier.targets.load("a.test", limit=1)] == ["seed"]


def test_what_a_document_needs_is_fetched_for_it_whatever_else_a_batch_finds(frontier: Frontier) -> None:
    """A better link in the same batch raises the score, but the document stays its parent."""
    put(frontier, link(A), link(B))
    needed = link(B, via="part", needed=True, parent=row(frontier, A).row)
    put(frontier, needed, link(B, score=1.0, policy_data=b"noted", parent=row(frontier, B).row))
    (first, _) = frontier.targets.load("a.test", limit=9)
    assert (first.url, first.via, first.score, first.parent) == (B, "part", 1.0, row(frontier, A).row)


def test_a_link_that_is_refused_raises_nothing(frontier: Frontier) -> None:
    """A redirect out of scope hands its policy data on; nobody goes that way."""
    put(frontier, link(A))
    put(frontier, link(A, state=State.REJECTED, reason="scope", score=9.0, policy_data=b"noted"))
    assert row(frontier, A).score == 0.0


def test_a_page_is_not_its_own_parent(frontier: Frontier) -> None:
    """A link of a page to itself, in the batch that ends its visit, changes nothing of how it was found."""
    put(frontier, link(A), link(B, parent=1))
    links = link(B, score=3.0, policy_data=b"noted", parent=row(frontier, B).row)
    put(frontier, links, done=(end(frontier, B, State.FETCHED, b"x"),))
    assert (row(frontier, B).parent, row(frontier, B).score) == (1, 0.0)


def test_a_sitemap_stays_one_and_a_page_stays_a_page(frontier: Frontier) -> None:
    """A better link of another sort does not change what a URL is read as."""
    put(frontier, link(A, via="sitemap"), link(B))
    put(frontier, link(A, score=1.0, policy_data=b"noted"), link(B, via="sitemap", score=1.0, policy_data=b"noted"))
    assert {target.url: target.via for target in frontier.targets.load("a.test", limit=9)} == {A: "sitemap", B: "a"}


def test_the_first_followed_link_of_a_batch_opens_what_was_barred(frontier: Frontier) -> None:
    """Two pages of a batch link to it: it is found as the first of them says."""
    put(frontier, barred(A))
    put(frontier, link(A, depth=4, score=0.5), link(A, depth=2, score=-2.0))
    assert (row(frontier, A).depth, row(frontier, A).score) == (4, 0.5)


def test_a_seed_that_is_asked_again_did_not_fail(frontier: Frontier) -> None:
    """Where it moved the last time says nothing while it waits."""
    frontier.seeds.add([link(A, seed=True)])
    put(frontier, link(B), done=(end(frontier, A, State.MOVED, redirect=B),))
    put(frontier, done=(end(frontier, B, State.FAILED, reason="timeout"),))
    assert set(frontier.seeds.failed()) == {A}
    next_round(frontier)
    assert frontier.seeds.failed() == {}


# Leases and files


def test_leasing_more_partitions_prolongs_those_that_are_held(open_frontier: Open) -> None:
    """All leases of a worker end at the same time."""
    one, two = open_frontier(), open_frontier()
    one.leases.acquire(ME, want=100, now=0.0, ttl_s=60.0)
    assert len(one.leases.acquire(ME, want=128, now=50.0, ttl_s=60.0)) == 28
    assert len(two.leases.acquire(OTHER, want=PARTITIONS, now=70.0, ttl_s=60.0)) == PARTITIONS - 128


def test_an_archive_file_that_grows_is_being_written(frontier: Frontier) -> None:
    """The time when it was found in order is forgotten."""
    frontier.segments.record([WarcRow("w", 10, 10, mtime_ns=7)])
    put(frontier, warc="w", warc_size=20, warc_synced=5)
    assert frontier.segments.here() == [WarcRow("w", 20, 10, mtime_ns=0)]
