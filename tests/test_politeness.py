"""What a host's owner would notice: pauses, also around robots.txt, and an end to being pushed against a limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from loopback import Reply, Web, html
from test_crawl import chain, crawl, stored

from lycosa.crawl.lanes import Lane
from lycosa.model import HostRow


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


@pytest.mark.xfail(
    strict=True, reason="the worker of the host that moved its robots.txt asks beside that host's own worker"
)
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
    lane = Lane(HostRow("a.test"), delay_s=0.05, per_host=1)
    now = last = 0.0
    refused = 0
    for _ in range(300):
        now = max(now, lane.next_at)
        lane.begin(now)
        lane.end(now)
        if now - last >= 0.2:
            lane.ease("http://a.test/")
        else:
            refused += 1
            lane.slow_down(now, wait_s=None)
        last = now
    assert refused < 30
    assert now < 300 * 0.4


def test_a_host_that_recovered_is_asked_as_before() -> None:
    """The pause is given up again in the end."""
    lane = Lane(HostRow("a.test"), delay_s=0.05, per_host=1)
    lane.slow_down(0.0, wait_s=None)
    for _ in range(500):
        lane.ease("http://a.test/")
    assert lane.back_off_s == 0.0
