"""Robots cache: what the robots.txt of each origin says, asked for before the first page and believed for a day.

A request for a robots.txt stands first in the host queue it is fetched from, so it obeys the same delay as every
request, also when it redirects to another host; if that is another worker's, `foreign_hosts` asks that worker.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from msgspec import Struct

from lycosa import clock, urls
from lycosa.config.host_rules import HostRules
from lycosa.config.settings import Mission
from lycosa.fetch.decode import decode
from lycosa.fetch.robots import Robots, condense, robots_from_answer
from lycosa.model import Answer, Purpose, RobotsRow, Target
from lycosa.politeness.crawl_log import CrawlLog
from lycosa.politeness.disposition import HOST_FAILURES, requested_pause
from lycosa.politeness.foreign_hosts import ForeignHosts
from lycosa.politeness.host_queue import HostQueue, HostScheduler

HOPS = 5  # RFC 9309, 2.3.1.2
BYTES = 8 << 20  # of a robots.txt are read: more than any has that is meant to be
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Failures that trying again cannot mend; of a file that is too large the beginning is read.
_FINAL = frozenset({"", "too-large", "address", "bad-url", "scheme", "tls"})
#: Failures in spite of which there is something to read, after the last try.
_READ = frozenset({"", "too-large", "cut-short"})
_CUT_ALLOW = re.compile(rb"(?:^|[\r\n])[\t ]*allow[^\r\n]*$", re.IGNORECASE)


def _ignore(*_: object) -> None:
    """Nothing becomes of it."""


class RobotsUse(Struct, frozen=True):
    """What becomes of robots.txt files, beside that their rules hold: nothing, unless it is said here."""

    round_started: float = 0.0  # Unix time: a robots.txt that is older is not believed
    store: Callable[[Answer], object] = _ignore  # puts an answer into the archive
    remember: Callable[[RobotsRow], object] = _ignore  # has the frontier keep what one says
    follow: Callable[[str, tuple[str, ...]], object] = _ignore  # follows the sitemaps of an origin that one names


class RobotsCache:
    """The robots.txt rules of the hosts of one worker; fetches those that it lacks."""

    def __init__(
        self,
        mission: Mission,
        *,
        find: Callable[[str], RobotsRow | None],
        host_rules: HostRules,
        scheduler: HostScheduler,
        crawl_log: CrawlLog,
        use: RobotsUse = RobotsUse(),  # noqa: B008  frozen
        foreign_hosts: ForeignHosts | None = None,
    ) -> None:
        """`find` gives the robots.txt that is kept for an origin."""
        self._mission = mission
        self._find = find
        self._host_rules = host_rules
        self._crawl_log = crawl_log
        self._use = use
        self._scheduler = scheduler
        self._foreign_hosts = foreign_hosts
        self._waiting: dict[str, list[str]] = {}  # address under way -> origins that wait for it

    def rules_for(self, host_queue: HostQueue, target: Target) -> Robots | None:
        """The rules of the target's origin; None while they must be fetched first."""
        if target.url.startswith(host_queue.prefix):
            return host_queue.rules
        origin = urls.origin_of(target.url)
        robots = host_queue.robots.get(origin)
        if robots is not None:
            host_queue.prefix, host_queue.rules = target.url[: target.url.index("/", 8) + 1], robots
            return robots
        if self._host_rules.robots(host_queue.host) == "ignore":
            return host_queue.robots.setdefault(origin, Robots.everything())
        row = self._find(origin)
        if row is not None and self._is_valid(row):
            return self._adopt(host_queue, row)
        self._ask(host_queue, origin, f"{origin}/robots.txt")
        return None

    def stop_asking(self, host_queue: HostQueue) -> None:
        """Let a host that another worker has now not be asked for its own robots.txt: that worker asks for it."""
        kept = []
        for request in host_queue.robots_requests:
            origins = self._waiting.pop(request.url)
            own = {origin for origin in origins if urls.host_of(origin + "/") == host_queue.host}
            host_queue.fetching_robots -= own
            if others := [origin for origin in origins if origin not in own]:
                self._waiting[request.url] = others
                kept.append(request)
        host_queue.robots_requests = kept

    def receive(self, answer: Answer, now: float) -> None:
        """Resolve the answer for a robots.txt: follow its redirect, try again, or adopt what it says."""
        target = answer.target
        if self._foreign_hosts is not None:
            self._foreign_hosts.end(target.url)
        origins = self._waiting.pop(target.url)
        self._use.store(answer)
        body = read_rules(answer)
        if self._crawl_log.deep:
            self._crawl_log.debug("robots", f"{target.url} {answer.status or '-'} {len(body)} bytes")
            self._crawl_log.connection(answer)
        location = answer.headers.get("location", "")
        if answer.status in _REDIRECTS and location and not answer.failure and target.hops < HOPS:
            onward = urls.normalise(location, target.url) or ""
            for origin in origins:
                self._ask(self._scheduler.queue_of(urls.host_of(origin + "/")), origin, onward, hops=target.hops + 1)
            return
        failed = answer.failure not in _FINAL or answer.status == 429 or answer.status >= 500
        host_queue = self._scheduler.queue_of(target.host)
        if answer.failure in HOST_FAILURES and (host_queue.is_closed(target.url) or host_queue.given_up(target.url)):
            failed = False
        if failed and target.retries < self._mission.fetch.retries:
            self._try_again(answer, origins, now=now)
            return
        # A server that states a wrong length has sent all there is: its pages are read as well.
        status = 0 if answer.failure not in _READ or (answer.failure and not body) else answer.status
        for origin in origins:
            self._resolve(RobotsRow(origin, now, status, body), failure=_reason(answer, status))

    def _ask(self, host_queue: HostQueue, origin: str, address: str, *, hops: int = 0, retries: int = 0) -> None:
        url = urls.normalise(address)
        host_queue.fetching_robots |= {origin}
        if url is None:
            self._resolve(RobotsRow(origin, clock.now(), 404), failure="")  # it leads nowhere: there are no rules
        elif hops and (known := self._find_known(url)) is not None:
            self._resolve(RobotsRow(origin, known.fetched_at, known.status, known.body), failure="")
        elif url in self._waiting:
            self._waiting[url].append(origin)
        else:
            self._waiting[url] = [origin]
            host = urls.host_of(url)
            request = Target(
                0, urls.url_id(url), url, host, hops=hops, retries=retries, max_bytes=BYTES, purpose=Purpose.ROBOTS
            )
            if self._foreign_hosts is not None and self._foreign_hosts.covers(host):
                self._foreign_hosts.ask(request)
                return
            other = host_queue if host == host_queue.host else self._scheduler.queue_of(host)
            other.robots_requests.append(request)
            self._scheduler.enlist(other)

    def _is_valid(self, row: RobotsRow) -> bool:
        """A robots.txt is believed for a day, and not beyond its round."""
        young = abs(clock.now() - row.fetched_at) < self._mission.fetch.robots_ttl_s  # a clock may have been wrong
        return young and row.fetched_at >= self._use.round_started

    def _find_known(self, url: str) -> RobotsRow | None:
        """The robots.txt of another origin that is held already: example.org's mostly moves to www.example.org's."""
        row = self._find(urls.origin_of(url)) if url.endswith("/robots.txt") else None
        if row is None or not self._is_valid(row):
            return None
        return row if urls.normalise(f"{row.origin}/robots.txt") == url else None

    def _try_again(self, answer: Answer, origins: list[str], *, now: float) -> None:
        fetch, target = self._mission.fetch, answer.target
        pause_s = requested_pause(answer, fetch) or 0.0
        host_queue = self._scheduler.queue_of(target.host)
        host_queue.next_at = max(host_queue.next_at, now + max(pause_s, fetch.retry_delay_s * 2**target.retries))
        for origin in origins:
            own = self._scheduler.queue_of(urls.host_of(origin + "/"))
            self._ask(own, origin, target.url, hops=target.hops, retries=target.retries + 1)

    def _resolve(self, row: RobotsRow, *, failure: str) -> None:
        """Adopt a robots.txt; an origin whose robots.txt cannot be had is given up for this run, not for a day."""
        host_queue = self._scheduler.queue_of(urls.host_of(row.origin + "/"))
        host_queue.fetching_robots -= {row.origin}
        robots = self._adopt(host_queue, row)
        host_queue.rest(row.fetched_at)  # robots.txt was a request too: its Crawl-delay counts from there
        if robots.temporary:
            host_queue.down[urls.normalise(row.origin + "/") or row.origin] = failure
        else:
            self._use.remember(row)
        self._scheduler.enlist(host_queue)

    def _adopt(self, host_queue: HostQueue, row: RobotsRow) -> Robots:
        fetch = self._mission.fetch
        robots = host_queue.robots[row.origin] = robots_from_answer(row.status, row.body)
        host_queue.robots_until = min(host_queue.robots_until, row.fetched_at + fetch.robots_ttl_s)
        wanted = robots.crawl_delay(self._mission.agent.name)
        if wanted is not None:
            host_queue.delay_s = max(host_queue.delay_s, min(wanted, fetch.crawl_delay_max_s))
            host_queue.per_host = 1  # a site that asks for pauses means one request at a time
        if fetch.sitemaps and robots.sitemaps and self._mission.limits.depth != 0:
            self._use.follow(row.origin, robots.sitemaps)
        return robots


def _reason(answer: Answer, status: int) -> str:
    """Why an origin is given up: it is out of reach itself, or only its robots.txt is."""
    failure = answer.failure
    if not answer.target.hops and (failure in HOST_FAILURES or failure == "address"):
        return failure
    return f"robots-{failure}" if failure else f"robots-http-{status}"


def read_rules(answer: Answer) -> bytes:
    """The text of a robots.txt, decoded; of a large one the beginning."""
    body = answer.body
    if answer.spool:
        with open(answer.spool, "rb") as file:
            body = file.read(BYTES)
        os.unlink(answer.spool)
    if not 200 <= answer.status < 300:
        return b""
    coding = answer.headers.get("content-encoding", "")
    text = decode(body, coding, limit=BYTES).body if coding else body
    if answer.failure:  # the beginning of "Allow: /a" allows more than the whole
        text = _CUT_ALLOW.sub(b"", text)
    return condense(text)
