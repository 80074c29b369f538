"""Politeness: host queues never start a request too early or one too many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lycosa.config.settings import FetchSettings
from lycosa.model import Answer, HostRow, Target
from lycosa.politeness.crawl_log import CrawlLog
from lycosa.politeness.host_queue import BACK_OFF_MAX_S, HostQueue, HostScheduler, apply_backoff


def make_host_queue(host: str = "a.test", *, delay_s: float = 1.0, per_host: int = 1) -> HostQueue:
    return HostQueue(HostRow(host), delay_s=delay_s, per_host=per_host)


def make_queue(host: str, row: HostRow | None) -> HostQueue:
    return make_host_queue(host)


def test_a_host_queue_rests_for_its_delay_after_the_end_of_a_request() -> None:
    """With one request at a time the delay counts from the end of the last one."""
    scheduler, host_queue = HostScheduler(64, make_queue), make_host_queue(delay_s=2.0)
    scheduler.enlist(host_queue)
    assert scheduler.ready(100.0) is host_queue
    host_queue.begin(100.0)
    host_queue.end(105.0)
    scheduler.enlist(host_queue)
    assert scheduler.ready(106.9) is None
    assert scheduler.wait_s(106.0) == 1.0
    assert scheduler.ready(107.0) is host_queue


def test_a_host_that_another_worker_had_rests_as_it_would_have_there() -> None:
    """What that worker wrote of the last request counts, and no page is taken for under way from before."""
    scheduler, host_queue = HostScheduler(64, make_queue), make_host_queue()
    host_queue.held.update((1, 2))
    scheduler.enlist(host_queue)
    host_queue.come_back(HostRow("a.test", next_at=50.0, pages=7))
    assert not host_queue.held and host_queue.pages == 7
    assert scheduler.ready(49.9) is None and scheduler.ready(50.0) is host_queue


def test_a_host_queue_at_its_limit_is_not_listed() -> None:
    """A host with as many requests under way as allowed does not stand in the heap."""
    scheduler, host_queue = HostScheduler(64, make_queue), make_host_queue(delay_s=0.0, per_host=2)
    for _ in range(2):
        scheduler.enlist(host_queue)
        assert scheduler.ready(0.0) is host_queue
        host_queue.begin(0.0)
    scheduler.enlist(host_queue)
    assert scheduler.ready(10.0) is None
    host_queue.end(10.0)
    scheduler.enlist(host_queue)
    assert scheduler.ready(10.0) is host_queue


def test_a_host_queue_that_was_listed_before_its_request_began_waits() -> None:
    """A host queue may be listed again while its next request is being chosen; it still starts one at a time."""
    scheduler, host_queue = HostScheduler(64, make_queue), make_host_queue(delay_s=0.0)
    scheduler.enlist(host_queue)
    assert scheduler.ready(0.0) is host_queue
    scheduler.enlist(host_queue)
    host_queue.begin(0.0)
    assert scheduler.ready(1.0) is None
    host_queue.end(1.0)
    scheduler.enlist(host_queue)
    assert scheduler.ready(1.0) is host_queue


def test_host_queues_take_turns() -> None:
    """Equal times are served first come, first served, so no host starves."""
    scheduler = HostScheduler(64, make_queue)
    every = [make_host_queue(f"{n}.test", delay_s=0.0) for n in range(5)]
    for host_queue in every:
        scheduler.enlist(host_queue)
    assert [scheduler.ready(1.0) for _ in range(5)] == every


def test_hosts_that_never_answered_leave_connections_to_the_others() -> None:
    """Of four connections three go to hosts of which nothing is known; more of these wait until one of them ends."""
    scheduler = HostScheduler(4, make_queue)
    dead, good = (
        [make_host_queue(f"{n}.test", delay_s=0.0) for n in range(5)],
        make_host_queue("good.test", delay_s=0.0),
    )
    good.ease("http://good.test/")
    for host_queue in [*dead, good]:
        scheduler.enlist(host_queue)
    asked = []
    while (host_queue := scheduler.ready(1.0)) is not None:
        host_queue.begin(1.0)
        asked.append(host_queue)
    assert asked == [*dead[:3], good]
    assert scheduler.waiting() == 2
    dead[1].end(2.0)
    assert scheduler.ready(2.0) is dead[3]
    dead[3].begin(2.0)
    dead[0].ease("http://0.test/")  # it is alive after all
    assert scheduler.ready(2.0) is dead[4]
    assert scheduler.waiting() == 0


def test_an_overloaded_host_is_asked_ever_less_and_recovers() -> None:
    """Back-off doubles up to a cap, honours Retry-After, and shrinks when the host answers again."""
    host_queue = make_host_queue(delay_s=1.0)
    host_queue.slow_down(0.0, wait_s=None)
    first = host_queue.back_off_s
    host_queue.slow_down(0.0, wait_s=42.0)
    assert host_queue.back_off_s == 2 * first
    assert host_queue.next_at == 42.0
    for _ in range(20):
        host_queue.slow_down(0.0, wait_s=None)
    assert host_queue.back_off_s == BACK_OFF_MAX_S
    for _ in range(100):
        host_queue.ease("http://a.test/")
    assert host_queue.back_off_s == 0.0


def test_refusals_that_come_together_count_once() -> None:
    """Requests that were under way when the host first refused one say nothing of the pause that followed."""
    host_queue = make_host_queue(per_host=8)
    host_queue.slow_down(10.0, wait_s=None, began=9.0)
    first = host_queue.back_off_s
    for _ in range(7):
        host_queue.slow_down(10.1, wait_s=None, began=9.5)
    assert host_queue.back_off_s == first
    host_queue.slow_down(12.0, wait_s=None, began=11.5)
    assert host_queue.back_off_s == 2 * first


def test_costly_pages_are_paid_for_with_pauses() -> None:
    """A host whose pages keep a worker busy gets a twentieth of it: the others have the rest."""
    host_queue = make_host_queue(delay_s=0.0)
    now = busy = 0.0
    for _ in range(20):
        now = max(now, host_queue.next_at)
        host_queue.begin(now)
        now += 0.4
        host_queue.end(now)
        host_queue.charge(now, 0.4, size=10_000, others=100)
        busy += 0.4
    assert busy / host_queue.next_at <= 0.051


def test_a_page_that_costs_what_its_size_explains_is_not_paid_for() -> None:
    """Five megabytes take longer to read than five kilobytes: a host that has such files need not wait for that."""
    host_queue = make_host_queue(delay_s=0.0)
    host_queue.charge(1.0, 0.15, size=5_000_000, others=100)
    assert host_queue.next_at == 0.0
    host_queue.charge(1.0, 0.15, size=5_000, others=100)
    assert host_queue.next_at > 3.0


def test_a_host_with_costly_pages_makes_way_for_those_that_are_there() -> None:
    """Alone it need not rest: a site's large sitemaps would hold it up for nobody. Beside one other it takes half."""
    host_queue = make_host_queue(delay_s=0.0)
    host_queue.charge(1.0, 0.5, size=5_000, others=0)
    assert host_queue.next_at <= 1.0
    host_queue.charge(1.0, 0.5, size=5_000, others=1)
    assert host_queue.next_at == 1.5


def test_an_origin_that_fails_is_given_up_after_its_tries() -> None:
    """Failures count one after the other, for each origin of a host on its own; an answer ends the count."""
    host_queue = make_host_queue()
    assert [host_queue.fail("http://a.test/x", "connect", most=3) for _ in range(2)] == [1, 2]
    host_queue.ease("http://a.test/y")
    assert host_queue.row().errors == 0
    assert [host_queue.fail("http://a.test/x", "connect", most=3) for _ in range(4)] == [1, 2, 3, 0]
    assert host_queue.down == {"http://a.test/": "connect"}
    assert host_queue.row().errors == 4


def test_failures_that_come_together_count_once() -> None:
    """A host that is asked for eight pages at a time is not given up because all eight met the same outage."""
    host_queue = make_host_queue(per_host=8)
    url = "http://a.test/x"
    assert [host_queue.fail(url, "connect", most=3, now=10.0, began=9.5) for _ in range(8)] == [1] * 8
    assert [host_queue.fail(url, "connect", most=3, now=21.0, began=20.5) for _ in range(8)] == [2] * 8
    assert host_queue.fail(url, "connect", most=3, now=41.0, began=40.5) == 3
    assert not host_queue.down
    assert [host_queue.fail(url, "connect", most=3, now=81.0, began=80.5) for _ in range(8)] == [0] * 8
    assert host_queue.down == {"http://a.test/": "connect"}


def test_a_pause_that_is_long_over_is_forgotten() -> None:
    """Who comes back the next day does not wait five minutes for each page because the host was overloaded once."""
    for row, now, expected in (
        (HostRow("a.test", next_at=1000.0, delay_s=BACK_OFF_MAX_S), 999.0, BACK_OFF_MAX_S),
        (HostRow("a.test", next_at=1000.0, delay_s=BACK_OFF_MAX_S), 1000.0 + BACK_OFF_MAX_S, BACK_OFF_MAX_S / 2),
        (HostRow("a.test", next_at=1000.0, delay_s=BACK_OFF_MAX_S), 87_400.0, 0.0),
        (HostRow("a.test", next_at=1000.0, delay_s=0.5), 1060.0, 0.25),
    ):
        host_queue = HostQueue(row, delay_s=1.0, per_host=1)
        host_queue.recover(now, longest_s=600.0)
        assert host_queue.back_off_s == expected
        assert host_queue.next_at == 1000.0


def test_a_closed_port_costs_a_host_nothing() -> None:
    """A port that fails where another answers is given up at once, and the other is not: anybody may link to ports."""
    host_queue = make_host_queue()
    host_queue.ease("http://a.test/")
    assert host_queue.fail("http://a.test:22/", "connect", most=3) == 0
    assert host_queue.fail("https://a.test/", "tls", most=3) == 0
    targets = [Target(n, n, url, "a.test") for n, url in enumerate(("http://a.test/1", "http://a.test:22/2"), 1)]
    assert host_queue.find_down(targets) == "http://a.test:22/"
    assert host_queue.find_down(targets[:1]) == ""
    assert host_queue.row().errors == 0
    host_queue.ease("http://a.test:8080/")
    assert host_queue.fail("http://a.test/", "connect", most=3) == 1  # it did answer: this may pass


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), max_size=30), st.floats(0.01, 3))
def test_no_gap_is_ever_under_the_delay(steps: list[tuple[float, float]], delay_s: float) -> None:
    """Whatever the timing of requests and answers, the rest between two requests is at least the delay."""
    scheduler, host_queue = HostScheduler(64, make_queue), make_host_queue(delay_s=delay_s)
    now, ended = 0.0, None
    scheduler.enlist(host_queue)
    for wait, length in steps:
        now += wait
        if scheduler.ready(now) is host_queue:
            assert ended is None or now - ended >= delay_s - 1e-9
            host_queue.begin(now)
            now += length
            host_queue.end(now)
            ended = now
            scheduler.enlist(host_queue)


def test_a_wish_of_one_address_is_not_that_of_its_host() -> None:
    """503 with Retry-After holds for the host when five addresses in a row say so, or when it gave no page yet."""
    log, fetch = CrawlLog(None, level=1), FetchSettings()

    def refuse(host_queue: HostQueue, row: int) -> float:
        answer = Answer(
            Target(row, row, f"http://a.test/{row}", "a.test"), status=503, headers={"retry-after": "600"}, began=row
        )
        apply_backoff(host_queue, answer, now=float(row), fetch=fetch, crawl_log=log)
        return host_queue.next_at - row

    host_queue = make_host_queue(delay_s=1.0)
    assert refuse(host_queue, 1) == 600.0
    host_queue = make_host_queue(delay_s=1.0)
    host_queue.pages = 1
    assert all(refuse(host_queue, row) < 300 for row in (1, 2, 3, 4))
    host_queue.ease("http://a.test/")
    assert all(refuse(host_queue, row) < 300 for row in (5, 6, 7, 8, 8))
    assert refuse(host_queue, 9) == 600.0


def test_a_host_that_challenges_is_asked_more_slowly_whatever_the_status() -> None:
    """A challenge comes with 200 as often as with 429, and says the same."""
    host_queue, fetch, log = make_host_queue(delay_s=0.0), FetchSettings(), CrawlLog(None, level=0)
    page = Answer(Target(1, 1, "http://a.test/", "a.test"), status=200, began=100.0)
    apply_backoff(host_queue, page, now=101.0, fetch=fetch, crawl_log=log, challenged=True)
    assert host_queue.next_at > 101.0
    assert host_queue.back_off_s > 0
