"""Robots cache: what the robots.txt of each origin says, asked for before the first page and believed for a day.

So are the files that one names, where the mission wants them: what they say of use must be known before a page is
fetched. A request for a robots.txt stands first in the host queue it is fetched from, so it obeys the same delay as
every request, also when it redirects to another host; if that is another worker's, `foreign_hosts` asks that worker.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

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
_FILE_BYTES = 1 << 20  # of a file that one names are kept
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
    files: Callable[[str, bytes], Iterable[str]] = lambda origin, body: ()  # what else an origin is asked for
    learn: Callable[[RobotsRow, str], object] = _ignore  # hears of each file that came, and of its origin


class _Claim(NamedTuple):
    """An origin that waits for its robots.txt, or for a file that this names."""

    origin: str
    file: str = ""  # its address

    @property
    def key(self) -> str:
        """Under what its row is kept."""
        return self.file or self.origin

    @property
    def host(self) -> str:
        return urls.host_of(self.origin + "/")


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
        self._waiting: dict[str, list[_Claim]] = {}  # by the address that is under way

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
            rules = self._adopt(host_queue, row)
            return None if host_queue.fetching_robots else rules
        self._ask(_Claim(origin), f"{origin}/robots.txt")
        return None

    def stop_asking(self, host_queue: HostQueue) -> None:
        """Let a host that another worker has now not be asked for its own robots.txt: that worker asks for it."""
        kept = []
        for request in host_queue.robots_requests:
            claims = self._waiting.pop(request.url)
            own = {claim for claim in claims if claim.host == host_queue.host}
            host_queue.fetching_robots -= {claim.key for claim in own}
            if others := [claim for claim in claims if claim not in own]:
                self._waiting[request.url] = others
                kept.append(request)
        host_queue.robots_requests = kept

    def receive(self, answer: Answer, now: float) -> None:
        """Resolve the answer for a robots.txt: follow its redirect, try again, or adopt what it says."""
        target = answer.target
        if self._foreign_hosts is not None:
            self._foreign_hosts.end(target.url)
        claims = self._waiting.pop(target.url)
        self._use.store(answer)
        body = read_rules(answer, whole=all(claim.file for claim in claims))
        if self._crawl_log.deep:
            self._crawl_log.debug("robots", f"{target.url} {answer.status or '-'} {len(body)} bytes")
            self._crawl_log.connection(answer)
        location = answer.headers.get("location", "")
        if answer.status in _REDIRECTS and location and not answer.failure and target.hops < HOPS:
            onward = urls.normalise(location, target.url) or ""
            for claim in claims:
                self._ask(claim, onward, hops=target.hops + 1)
            return
        failed = answer.failure not in _FINAL or answer.status == 429 or answer.status >= 500
        host_queue = self._scheduler.queue_of(target.host)
        if answer.failure in HOST_FAILURES and (host_queue.is_closed(target.url) or host_queue.given_up(target.url)):
            failed = False
        if failed and target.retries < self._mission.fetch.retries:
            self._try_again(answer, claims, now=now)
            return
        # A server that states a wrong length has sent all there is: its pages are read as well.
        status = 0 if answer.failure not in _READ or (answer.failure and not body) else answer.status
        for claim in claims:
            self._resolve(claim, RobotsRow(claim.key, now, status, body), failure=_reason(answer, status))

    def _ask(self, claim: _Claim, address: str, *, hops: int = 0, retries: int = 0) -> None:
        url, host_queue = urls.normalise(address), self._scheduler.queue_of(claim.host)
        host_queue.fetching_robots |= {claim.key}
        if url is None:
            # It leads nowhere: there are no rules.
            self._resolve(claim, RobotsRow(claim.key, clock.now(), 404), failure="")
        elif hops and (known := self._find_known(url)) is not None:
            self._resolve(claim, RobotsRow(claim.key, known.fetched_at, known.status, known.body), failure="")
        elif url in self._waiting:
            self._waiting[url].append(claim)
        else:
            self._waiting[url] = [claim]
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

    def _try_again(self, answer: Answer, claims: list[_Claim], *, now: float) -> None:
        fetch, target = self._mission.fetch, answer.target
        pause_s = requested_pause(answer, fetch) or 0.0
        host_queue = self._scheduler.queue_of(target.host)
        host_queue.next_at = max(host_queue.next_at, now + max(pause_s, fetch.retry_delay_s * 2**target.retries))
        for claim in claims:
            self._ask(claim, target.url, hops=target.hops, retries=target.retries + 1)

    def _resolve(self, claim: _Claim, row: RobotsRow, *, failure: str) -> None:
        """Adopt a robots.txt; an origin whose robots.txt cannot be had is given up for this run, not for a day."""
        host_queue = self._scheduler.queue_of(claim.host)
        host_queue.fetching_robots -= {claim.key}
        if claim.file:  # whose being out of reach says nothing of the host
            self._use.learn(row, claim.origin)
            if row.status:
                self._use.remember(row)
            self._scheduler.enlist(host_queue)
            return
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
        self._use.learn(row, row.origin)
        for file in self._use.files(row.origin, row.body) if not robots.temporary else ():
            if file.startswith(f"{row.origin}/") and not robots.allows(file, self._mission.agent.name):
                continue
            if (known := self._find(file)) is None or not self._is_valid(known):
                self._ask(_Claim(row.origin, file), file)
        return robots


def _reason(answer: Answer, status: int) -> str:
    """Why an origin is given up: it is out of reach itself, or only its robots.txt is."""
    failure = answer.failure
    if not answer.target.hops and (failure in HOST_FAILURES or failure == "address"):
        return failure
    return f"robots-{failure}" if failure else f"robots-http-{status}"


def read_rules(answer: Answer, *, whole: bool = False) -> bytes:
    """The text of a robots.txt, decoded; of a large one the beginning, and, unless `whole`, what rules are made of."""
    body = answer.body
    if answer.spool:
        with open(answer.spool, "rb") as file:
            body = file.read(BYTES)
        os.unlink(answer.spool)
    if not 200 <= answer.status < 300:
        return b""
    coding = answer.headers.get("content-encoding", "")
    text = decode(body, coding, limit=BYTES).body if coding else body
    if whole:
        return text[:_FILE_BYTES]
    if answer.failure:  # the beginning of "Allow: /a" allows more than the whole
        text = _CUT_ALLOW.sub(b"", text)
    return condense(text)
