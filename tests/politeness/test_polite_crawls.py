"""What a host's owner would notice: pauses, also around robots.txt, and an end to being pushed against a limit."""

from __future__ import annotations

from pathlib import Path

from support.crawl_runs import chain, crawl, states, stored
from support.loopback import Reply, Web, html

from lycosa.frontier.partitions import LeasedPartitions, part_of
from lycosa.model import HostRow, Target
from lycosa.politeness.foreign_hosts import PATIENCE_S, ForeignHosts
from lycosa.politeness.host_queue import HostQueue, HostScheduler
from lycosa.politeness.shared_state import SharedState


def leased(*parts: int) -> LeasedPartitions:
    partitions = LeasedPartitions()
    partitions.hold(parts)
    return partitions


def gaps(web: Web, host: str) -> list[float]:
    """Seconds from the end of each request to a host to the start of the next."""
    asked = sorted((asked.began, asked.ended) for asked in web.asked if asked.host == host)
    return [later[0] - earlier[1] for earlier, later in zip(asked, asked[1:], strict=False)]


def test_the_crawl_delay_holds_from_robots_on(web: Web, tmp_path: Path) -> None:
    """The request for robots.txt is a request: the first page waits as long as its Crawl-delay says."""
    web["a.test/robots.txt"] = Reply(b"User-agent: *\nCrawl-delay: 1\n")
    web["a.test/"] = html("/1")
    web["a.test/1"] = html(title="1")
    crawl(web, tmp_path / "c", "http://a.test/")
    assert min(gaps(web, "a.test")) >= 0.99


def test_a_robots_txt_on_another_host_waits_its_turn(web: Web, tmp_path: Path) -> None:
    """Hosts whose robots.txt lies on a host that is being crawled do not make it answer two at once."""
    chain(web, "big.test", 12)
    for n in range(6):
        web[f"h{n}.test/robots.txt"] = Reply(status=301, headers={"Location": f"http://big.test/robots-{n}.txt"})
        web[f"h{n}.test/"] = html(title=str(n))
        web[f"big.test/robots-{n}.txt"] = Reply(b"User-agent: *\nDisallow: /no\n")
    for page in web.pages.values():
        page.delay_s = 0.05
    seeds = ["http://big.test/", *(f"http://h{n}.test/" for n in range(6))]
    crawl(web, tmp_path / "c", *seeds, "--workers", "4", "--per-host", "1", "--delay", "0.1")
    assert len(stored(tmp_path / "c")) == 18
    assert min(gaps(web, "big.test")) >= 0.09


def test_a_worker_asks_before_it_visits_a_host_of_another() -> None:
    """The owner lets one guest go when it could ask itself, counts it, and goes on when the guest is back."""
    shared = SharedState(2, folder="")
    host = next(f"h{n}.test" for n in range(1000) if part_of(f"h{n}.test") < 128)
    host_queue = HostQueue(HostRow(host), delay_s=1.0, per_host=1)
    away = HostQueue(HostRow(host), delay_s=1.0, per_host=1)
    owner = ForeignHosts(
        shared, 0, scheduler=HostScheduler(8, lambda name, row: host_queue), partitions=leased(*range(128))
    )
    guest = ForeignHosts(
        shared, 1, scheduler=HostScheduler(8, lambda name, row: away), partitions=leased(*range(128, 256))
    )
    assert guest.covers(host) and not owner.covers(host)
    host_queue.begin(10.0)
    target = Target(0, 0, f"http://{host}/robots.txt", host)
    guest.ask(target)
    for now in (10.0, 10.5, 11.0):
        guest.turn(now)
        owner.turn(now)
        assert not away.robots_requests  # a request of the owner is under way
    host_queue.end(11.0)
    owner.turn(11.5)
    guest.turn(11.5)
    assert not away.robots_requests  # the host rests
    owner.turn(12.0)
    guest.turn(12.0)
    assert away.robots_requests == [target] and host_queue.active == 1
    guest.end(target.url)
    owner.turn(15.0)
    assert host_queue.active == 0 and host_queue.next_at == 16.0


class Pair:
    """A worker that has hosts, and one that wishes to ask them; a host has a queue at the owner's and the guest's."""

    def __init__(self, *hosts: str) -> None:
        self.shared = SharedState(2, folder="")
        self.queues = {host: HostQueue(HostRow(host), delay_s=1.0, per_host=1) for host in hosts}
        self.away = {host: HostQueue(HostRow(host), delay_s=1.0, per_host=1) for host in hosts}
        self.owner = self.make_owner()
        self.guest = ForeignHosts(
            self.shared, 1, scheduler=HostScheduler(8, lambda host, row: self.away[host]), partitions=leased()
        )

    def make_owner(self) -> ForeignHosts:
        return ForeignHosts(
            self.shared,
            0,
            scheduler=HostScheduler(8, lambda host, row: self.queues[host]),
            partitions=leased(*(part_of(host) for host in self.queues)),
        )

    def turn(self, now: float) -> set[str]:
        """Both have their turn; the hosts that the guest has leave to ask."""
        self.guest.turn(now)
        self.owner.turn(now)
        self.guest.turn(now)
        return {host for host, host_queue in self.away.items() if host_queue.robots_requests}


def robots_request(host: str) -> Target:
    return Target(0, 0, f"http://{host}/robots.txt", host)


def test_a_wish_does_not_wait_for_another() -> None:
    """A host that is busy, or is to rest before a new try, keeps nobody from asking the others."""
    hosts = [f"h{n}.test" for n in range(40)]
    pair = Pair(*hosts)
    pair.queues["h0.test"].begin(10.0)
    pair.away["h1.test"].next_at = 50.0
    for host in hosts:
        pair.guest.ask(robots_request(host))
    let: set[str] = set()
    for _ in range(20):
        for host in pair.turn(10.0) - let:
            let.add(host)
            pair.guest.end(robots_request(host).url)
    assert let == set(hosts) - {"h0.test", "h1.test"}
    pair.queues["h0.test"].end(10.0)
    assert "h0.test" in pair.turn(11.0)
    assert "h1.test" in pair.turn(50.0)


def test_a_host_is_asked_by_one_guest_at_a_time() -> None:
    """Two wishes for one host are fulfilled one after the other, with its pause between them."""
    pair = Pair("a.test")
    first, second = robots_request("a.test"), Target(0, 0, "http://a.test/other.txt", "a.test")
    pair.guest.ask(first)
    pair.guest.ask(second)
    pair.turn(10.0)
    assert len(pair.away["a.test"].robots_requests) == 1 and pair.queues["a.test"].active == 1
    pair.guest.end(pair.away["a.test"].robots_requests.pop().url)
    pair.turn(12.0)
    assert not pair.away["a.test"].robots_requests and pair.queues["a.test"].active == 0
    pair.turn(13.0)
    assert len(pair.away["a.test"].robots_requests) == 1 and pair.queues["a.test"].active == 1


def test_a_host_that_must_rest_is_not_asked_out_of_impatience() -> None:
    """Its worker says that it is not hung; the pause may be long."""
    pair = Pair("a.test")
    pair.queues["a.test"].next_at = 600.0
    pair.guest.ask(robots_request("a.test"))
    assert not pair.turn(10.0) and not pair.turn(10.0 + 2 * PATIENCE_S)
    assert pair.turn(600.0)


def test_leave_that_a_worker_gave_holds_for_its_successor() -> None:
    """A worker that takes over a host knows of the request that is under way there."""
    pair = Pair("a.test")
    pair.guest.ask(robots_request("a.test"))
    assert pair.turn(10.0)
    pair.queues["a.test"] = HostQueue(HostRow("a.test"), delay_s=1.0, per_host=1)
    pair.owner = pair.make_owner()
    pair.turn(11.0)
    assert pair.queues["a.test"].active == 1
    pair.guest.end(robots_request("a.test").url)
    pair.turn(12.0)
    assert pair.queues["a.test"].active == 0 and pair.queues["a.test"].next_at == 13.0


def test_a_worker_that_gives_no_leave_is_not_waited_for_for_ever() -> None:
    """A worker that hangs must not keep others from their work."""
    host_queue = HostQueue(HostRow("a.test"), delay_s=1.0, per_host=1)
    guest = ForeignHosts(
        SharedState(2, folder=""), 1, scheduler=HostScheduler(8, lambda name, row: host_queue), partitions=leased()
    )
    guest.ask(Target(0, 0, "http://a.test/robots.txt", "a.test"))
    for now in (0.0, PATIENCE_S - 1):
        guest.turn(now)
        assert not host_queue.robots_requests
    guest.turn(PATIENCE_S + 1)
    assert host_queue.robots_requests


def test_nobody_here_is_waited_for_where_another_machine_has_the_host() -> None:
    """Its leave would never come; a host of another worker of this machine is asked with that worker's leave."""
    shared, partitions = SharedState(2, folder=""), leased(part_of("a.test"))
    queues = HostScheduler(8, lambda name, row: HostQueue(HostRow(name), delay_s=1.0, per_host=1))
    owner = ForeignHosts(shared, 0, scheduler=queues, partitions=partitions, shares_crawl=True)
    guest = ForeignHosts(shared, 1, scheduler=queues, partitions=leased(), shares_crawl=True)
    assert not guest.covers("a.test")
    owner.turn(0.0)
    assert guest.covers("a.test") and not owner.covers("a.test")
    partitions.remove({part_of("a.test")})
    owner.turn(1.0)
    assert not guest.covers("a.test")
    partitions.hold([part_of("a.test")])
    owner.turn(2.0)
    assert guest.covers("a.test")
    shared.clear(0)  # the owner has died, and another begins in its place
    assert not guest.covers("a.test")


def test_hosts_that_hang_leave_room_for_the_others(web: Web, tmp_path: Path) -> None:
    """Many dead hosts do not take every connection for as long as a timeout: a host that answers is crawled."""
    for n in range(20):
        dead = (f"http://h{n}-{k}.test/" for k in range(4))
        web[f"good.test/{n or ''}"] = html(f"/{n + 1}", *dead, title=str(n))
        for k in range(4):
            web[f"h{n}-{k}.test/robots.txt"] = Reply(delay_s=30)
    settings = ["--set", "fetch.connections=4", "--max-time", "4", "--scope", "free", "--delay", "0", "--workers", "1"]
    crawl(web, tmp_path / "c", "http://good.test/", *settings, code=5)
    assert len(stored(tmp_path / "c")) == 20


def test_a_limited_host_is_not_pushed_against_its_limit() -> None:
    """A host that refuses whoever comes within 0.2 s is soon asked at that pace: few refusals, little time lost."""
    host_queue = HostQueue(HostRow("a.test"), delay_s=0.05, per_host=1)
    now = last = 0.0
    refused = 0
    for _ in range(300):
        now = max(now, host_queue.next_at)
        host_queue.begin(now)
        host_queue.end(now)
        if now - last >= 0.2:
            host_queue.ease("http://a.test/")
        else:
            refused += 1
            host_queue.slow_down(now, wait_s=None)
        last = now
    assert refused < 30
    assert now < 300 * 0.4


def test_a_host_that_recovered_is_asked_as_before() -> None:
    """The pause is given up again in the end."""
    host_queue = HostQueue(HostRow("a.test"), delay_s=0.05, per_host=1)
    host_queue.slow_down(0.0, wait_s=None)
    for _ in range(500):
        host_queue.ease("http://a.test/")
    assert host_queue.back_off_s == 0.0


def test_a_link_to_a_closed_port_does_not_hold_a_host_up(web: Web, tmp_path: Path) -> None:
    """Its robots.txt is asked for once, and the other pages do not wait for new tries."""
    web["a.test/"] = html("http://a.test:9/x", "/1", "/2", title="0")
    web["a.test/1"] = html(title="1")
    web["a.test/2"] = html(title="2")
    # A single new try would come after the time that a crawl may take here.
    settings = (
        "--set",
        "fetch.retry_delay_s=100",
        "--connect-to",
        "a.test:9=127.0.0.1:9",
        "--per-host",
        "1",
        "--set",
        "ports=any",
    )
    crawl(web, tmp_path / "c", "http://a.test/", *settings)
    assert stored(tmp_path / "c") == {"http://a.test/", "http://a.test/1", "http://a.test/2"}
    assert states(tmp_path / "c")["http://a.test:9/x"] == "failed connect"
