"""Single requests, made outside of a crawl as politely as in one: addresses in, replies out; nothing is stored.

For questions such as whether a service still answers. Every socket passes the address guard, robots.txt is fetched
first, hosts have their pauses, passing failures are tried again, redirects are followed hop by hop.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from lycosa import clock, urls
from lycosa.config.host_rules import HostRules
from lycosa.config.settings import Mission
from lycosa.fetch.address_guard import AddressGuard
from lycosa.fetch.client import Client
from lycosa.fetch.decode import decode
from lycosa.model import Answer, HostRow, Purpose, RobotsRow, State, Target
from lycosa.politeness.crawl_log import CrawlLog
from lycosa.politeness.disposition import disposition_of
from lycosa.politeness.host_queue import HostQueue, HostQueueFactory, HostScheduler, apply_backoff
from lycosa.politeness.robots_cache import RobotsCache

#: Seconds within which `stopping` is asked again.
_TICK_S = 0.25
_MOVED = (State.MOVED, State.MOVED_FOR_GOOD)


class Reply(Struct):
    """What became of a request."""

    url: str  # that answered, after redirects
    reason: str = ""  # a reason code: why there is no whole answer; empty when there is one
    status: int = 0
    headers: dict[str, str] = {}
    body: bytes = b""  # content-decoded
    at: float = 0.0  # when the last request began
    took_s: float = 0.0  # from there to the end of the answer


class SingleRequests:
    """Asks for addresses and gives back what they say. Not thread-safe."""

    def __init__(
        self,
        mission: Mission,
        address_guard: AddressGuard,
        *,
        spool_folder: str,
        robots: Callable[[str], RobotsRow | None],
    ):
        """`robots` gives what is known of an origin's robots.txt, with its age."""
        self.mission = mission
        self.crawl_log = CrawlLog(None, level=0)
        self.client = Client(mission, address_guard, spool_folder=spool_folder)
        host_rules = HostRules(mission)
        make_queue = HostQueueFactory(host_rules, mission.fetch, remember=HostRow)
        self.scheduler = HostScheduler(mission.fetch.connections, make_queue)
        self.robots_cache = RobotsCache(
            mission, find=robots, host_rules=host_rules, scheduler=self.scheduler, crawl_log=self.crawl_log
        )
        self._tags: dict[int, object] = {}
        self._waiting: list[tuple[float, Target]] = []
        self._count = 0
        self._replies: list[tuple[object, Reply]] = []

    @property
    def pending(self) -> int:
        """Requests that are not answered yet."""
        return len(self._tags)

    def ask(self, url: str, tag: object, *, max_bytes: int) -> None:
        """Ask for an address; `tag` comes back with the reply."""
        clean = urls.normalise(url)
        if clean is None:
            self._replies.append((tag, Reply(url[:2000], "bad-url", at=clock.now())))
            return
        self._count += 1
        self._tags[self._count] = tag
        self._enqueue(Target(self._count, urls.url_id(clean), clean, urls.host_of(clean), max_bytes=max_bytes))

    def run(self, receive: Callable[[object, Reply], None], *, stopping: Callable[[], bool] = lambda: False) -> None:
        """Serve every request; `receive` is called with each reply and may ask for more.

        Once `stopping` says so, requests under way are finished and no other is begun.
        """
        while self._tags or self._replies:
            stop = stopping()
            now = clock.now()
            if not stop:
                self._wake(now)
                self._start(now)
            replies, self._replies = self._replies, []
            for tag, reply in replies:
                receive(tag, reply)
            if stop and not self.client.in_flight:
                return
            if replies and not stop:
                continue
            wait_s = self.scheduler.wait_s(clock.now()) if self.client.room > 0 and not stop else None
            for answer in self.client.poll(min(_TICK_S, wait_s if wait_s is not None else _TICK_S)):
                self._finish(answer)

    def close(self) -> None:
        """Drop what is under way."""
        self.client.close()

    def _enqueue(self, target: Target) -> None:
        host_queue = self.scheduler.queue_of(target.host)
        host_queue.targets.append(target)
        self.scheduler.enlist(host_queue)

    def _wake(self, now: float) -> None:
        """Try again what has waited long enough."""
        due = [target for at, target in self._waiting if at <= now]
        self._waiting = [(at, target) for at, target in self._waiting if at > now]
        for target in due:
            self._enqueue(target)

    def _start(self, now: float) -> None:
        room = self.client.room
        while room > 0 and (host_queue := self.scheduler.ready(now)) is not None:
            target = self._next_target(host_queue)
            if target is None:
                continue
            host_queue.begin(now)
            refused = self.client.start(target)
            if refused is not None:
                self._finish(refused)
            self.scheduler.enlist(host_queue)
            room -= 1

    def _next_target(self, host_queue: HostQueue) -> Target | None:
        """What a host is asked next: robots.txt first; None when there is nothing, or its rules are on their way."""
        while not host_queue.robots_requests and host_queue.targets and not host_queue.fetching_robots:
            target = host_queue.targets[0]
            if origin := host_queue.find_down((target,)):
                host_queue.targets.popleft()
                self._reply(target, Reply(target.url, host_queue.down[origin], at=clock.now()))
                continue
            rules = self.robots_cache.rules_for(host_queue, target)
            if rules is None:
                break
            host_queue.targets.popleft()
            if rules.allows(target.url, self.mission.agent.name):
                return target
            self._reply(target, Reply(target.url, "robots", at=clock.now()))
        return host_queue.robots_requests.pop(0) if host_queue.robots_requests else None

    def _finish(self, answer: Answer) -> None:
        now = clock.now()
        target = answer.target
        host_queue = self.scheduler.queue_of(target.host)
        host_queue.end(now)
        apply_backoff(host_queue, answer, now=now, fetch=self.mission.fetch, crawl_log=self.crawl_log)
        if target.purpose is Purpose.ROBOTS:
            self.robots_cache.receive(answer, now)
        else:
            self._resolve(target, answer)
            if answer.spool:
                os.unlink(answer.spool)
        self.scheduler.enlist(host_queue)

    def _resolve(self, target: Target, answer: Answer) -> None:
        """Reply, follow a redirect, or wait for another try."""
        disposition = disposition_of(answer, self.mission.fetch)
        if disposition.state == State.WAITING:
            self._waiting.append((disposition.due, replace(target, retries=disposition.retries)))
            return
        if disposition.state in _MOVED:
            onward = urls.normalise(disposition.location, target.url)
            if onward is not None and target.hops < self.mission.fetch.redirects:
                moved = replace(target, url_hash=urls.url_id(onward), url=onward, host=urls.host_of(onward))
                self._enqueue(replace(moved, hops=target.hops + 1, retries=0))
                return
            disposition.reason = "bad-redirect" if onward is None else "redirect-limit"
        body, problem = _read_body(answer, target.max_bytes)
        reason = disposition.reason or problem
        reply = Reply(
            url=target.url,
            reason=reason,
            status=answer.status,
            headers=answer.headers,
            body=body,
            at=answer.began,
            took_s=answer.took_s,
        )
        self._reply(target, reply)

    def _reply(self, target: Target, reply: Reply) -> None:
        self._replies.append((self._tags.pop(target.row), reply))


def _read_body(answer: Answer, limit: int) -> tuple[bytes, str]:
    """The content without its coding, at most `limit` bytes of it."""
    body = answer.body
    if answer.spool:
        with open(answer.spool, "rb") as file:
            body = file.read(limit)
    coding = answer.headers.get("content-encoding", "")
    if not coding:
        return body, ""
    decoded = decode(body, coding, limit=limit)
    return decoded.body, decoded.problem
