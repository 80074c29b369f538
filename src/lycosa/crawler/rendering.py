"""Rendering: whether a mission can have browsers, and the pages of a worker that wait for one, with what they ask for.

The page's plain answer is held here until then. What a page asks for meanwhile arrives as a subresource in the queue of
its host, at the one worker to whom that host belongs: it is fetched when the host queue may go on, after its
robots.txt, through the same client and address guard as everything else.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from lycosa import clock, urls
from lycosa.config.host_rules import HostRules, has_secrets
from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.fetch.client import Client, agent_header
from lycosa.fetch.decode import DecodedBody, decode, decode_file
from lycosa.frontier.contract import Frontier
from lycosa.frontier.partitions import LeasedPartitions, part_of
from lycosa.intake.answer_intake import NO_BROWSER, RENDER
from lycosa.intake.page_storage import PageStorage
from lycosa.model import Answer, Purpose, Target
from lycosa.output.plain import counted
from lycosa.politeness.crawl_log import CrawlLog
from lycosa.politeness.host_queue import HostQueue, HostScheduler
from lycosa.politeness.robots_cache import RobotsCache
from lycosa.politeness.shared_state import Cell, SharedState
from lycosa.render.browser_processes import BrowserProcesses, find_browser
from lycosa.render.messages import (
    Ask,
    Begin,
    Drop,
    Forget,
    Hello,
    PageContent,
    RenderJob,
    RenderResult,
    Resource,
    ToBroker,
    ToWorker,
    WorkerConnection,
)

if TYPE_CHECKING:
    from lycosa.render.broker import BrokerSettings


def refuse_browserless(mission: Mission) -> None:
    """Refuse a mission that renders always on a machine without a browser, before anything is fetched."""
    missing = find_browser(mission.render.browser).missing if "always" in _modes(mission) else ""
    if missing:
        raise UsageError(f'render is "always", but there is no browser: {missing}.')


def fetch_again(mission: Mission, frontier: Frontier) -> list[str]:
    """If there is a browser now, fetch the pages again that earlier runs kept as they came for want of one."""
    if _modes(mission) == {"never"} or find_browser(mission.render.browser).missing:
        return []
    count = frontier.losses.requeue_reason(NO_BROWSER)
    return [f"There is a browser now: for want of it, {counted(count, 'page', 'is')} fetched again."] if count else []


class Browsers:
    """The browsers of one crawl, as the supervisor sees them; none are started before a page needs one."""

    def __init__(self, mission: Mission, shared: SharedState, *, folder: Path) -> None:
        self._shared = shared
        self._processes: BrowserProcesses | None = None
        self._missing = ""
        if _modes(mission) != {"never"}:
            browser = find_browser(mission.render.browser)
            self._missing = browser.missing
            if browser.path:
                make_settings = partial(_broker_settings, mission, shared, browser.path)
                self._processes = BrowserProcesses(make_settings, errors=folder / "logs" / "errors.log")

    @property
    def socket_path(self) -> str:
        """Where workers reach them; empty: there are none."""
        return self._processes.socket_path if self._processes is not None else ""

    def supervise(self) -> str:
        """Start, replace and end them as needed, whenever called; returns what people should know, once."""
        shared, processes = self._shared, self._processes
        if processes is not None and not shared.browserless:
            rendered = int(shared.total(Cell.RENDERED))
            processes.supervise(wanted=shared.total(Cell.RENDERING) > 0, beat_at=shared.browser_beat, rendered=rendered)
            if processes.problem:
                shared.give_up_browser()
                return f"Pages that need a browser are kept as they came: {processes.problem}."
        elif self._missing and shared.total(Cell.SHELLS):
            missing, self._missing = self._missing, ""
            return f"Some pages are empty until scripts run: {missing}, or say --render never."
        return ""

    def close(self) -> None:
        """End all of them."""
        if self._processes is not None:
            self._processes.close()


def _modes(mission: Mission) -> set[str]:
    return {mission.fetch.render, *(rule.render for rule in mission.hosts.values() if rule.render is not None)}


def _broker_settings(mission: Mission, shared: SharedState, path: str, folder: str) -> BrokerSettings:
    """Made in the process of the broker, where alone Playwright is loaded."""
    from lycosa.render.broker import BrokerSettings
    from lycosa.render.page_session import RenderLimits

    limits = RenderLimits(mission.render, mission.limits.html_bytes, agent_header(mission))
    return BrokerSettings(
        path, folder, limits, redirects=mission.fetch.redirects, part_of=part_of, beat=shared.beat_browser
    )


HELD_BYTES = 32 << 20  # answers in memory that wait for a browser; further ones wait on disk
SLACK_S = 60.0  # how much later than the broker itself a worker gives a page up
SILENCE_S = 120.0  # without a broker, pages wait no longer
TRIES = 2  # brokers that may end over a page
URL_MAX = 8192
_USABLE = frozenset({"", "truncated", "not-encoded"})

#: A page whose rendering ended: its plain answer, and what came of it.
Rendered = tuple[Answer, RenderResult]


class _Held(Struct, gc=False):
    """A page that waits for its rendering."""

    answer: Answer
    since: float
    tries: int = 0
    begun: float = 0.0  # when its turn came; 0 while it waits


class Rendering:
    """The pages of one worker that are being rendered, and its connection to the broker of the browsers."""

    def __init__(
        self,
        mission: Mission,
        slot: int,
        *,
        client: Client,
        host_rules: HostRules,
        robots_cache: RobotsCache,
        scheduler: HostScheduler,
        partitions: LeasedPartitions,
        storage: PageStorage,
        crawl_log: CrawlLog,
        shared: SharedState,
        socket_path: str,
    ) -> None:
        """`socket_path`: of the broker of the browsers; empty: there is none."""
        self._mission = mission
        self._slot = slot
        self._client = client
        self._host_rules = host_rules
        self._robots_cache = robots_cache
        self._scheduler = scheduler
        self._partitions = partitions
        self._storage = storage
        self._crawl_log = crawl_log
        self._shared = shared
        self._socket_path = socket_path
        self._announced: list[int] = []  # the partitions that the broker knows of
        self._connection: WorkerConnection | None = None
        self._blocked = False  # the connection takes no more for now
        self._silent_since = 0.0
        self._held: dict[int, _Held] = {}
        self._bytes = 0  # of their bodies in memory
        self._asked: dict[int, Ask] = {}  # by row of the target
        self._finished: list[Rendered] = []
        self._count = 0
        self._publish()  # the worker that had this slot before may have died over a page

    @property
    def pending(self) -> int:
        """Pages that wait for their rendering."""
        return len(self._held)

    def is_full(self, host_queue: HostQueue) -> bool:
        """Whether a host has so many pages waiting here that it should not bring more."""
        tabs = self._mission.render.tabs
        return host_queue.rendering >= (tabs if len(self._held) < 8 * tabs else 1)

    def submit(self, answer: Answer, host_queue: HostQueue) -> None:
        """Hold a page until it is rendered."""
        self._count += 1
        self._put_aside(answer)
        self._held[self._count] = _Held(answer, clock.now())
        host_queue.rendering += 1
        self._send(RenderJob(self._count, answer.target.url))
        self._publish()

    def _put_aside(self, answer: Answer) -> None:
        if not answer.spool and self._bytes + len(answer.body) > HELD_BYTES:
            # On a full disk the page stays in memory; that the disk is full shows elsewhere.
            with contextlib.suppress(OSError):
                with tempfile.NamedTemporaryFile(dir=self._client.spool_folder, delete=False) as spool:
                    spool.write(answer.body)
                answer.spool, answer.body = spool.name, b""
        self._bytes += len(answer.body)

    # What pages ask for

    def next_target(self, host_queue: HostQueue) -> Target | None:
        """The next subresource of a host to fetch; None when there is none, or robots.txt must come first."""
        while host_queue.subresources:
            target = host_queue.subresources[0]
            if target.row in self._asked:
                robots = self._robots_cache.rules_for(host_queue, target)
                if robots is None:
                    return None
                down = host_queue.find_down((target,))
                if not down and robots.allows(target.url, self._mission.agent.name):
                    return host_queue.subresources.pop(0)
                self._refuse(target, host_queue.down[down] if down else "robots")
            host_queue.subresources.pop(0)
        return None

    def stop_asking(self, host_queue: HostQueue) -> None:
        """Let a host that another worker has now be asked for nothing that pages wait for."""
        for target in host_queue.subresources:
            if target.row in self._asked:
                self._refuse(target, "not-mine")
        host_queue.subresources.clear()

    def receive(self, answer: Answer) -> None:
        """Pass the answer to a subresource on: into the archive, and to the page that waits for it."""
        ask = self._asked.pop(answer.target.row, None)
        failure, body = answer.failure, b""
        if not failure:
            decoded = _decode(answer, limit=answer.target.max_bytes)
            body, failure = decoded.body, "" if decoded.problem in _USABLE else decoded.problem
            if self._mission.render.archive:
                self._storage.store_subresource(answer)
        self._storage.bytes += answer.size
        self._crawl_log.subresource(answer, failure)
        self._shared.add(self._slot, Cell.SUBRESOURCES, 1)
        if answer.spool:
            os.unlink(answer.spool)
        if ask is not None:
            self._send(Resource(ask.ticket, answer.status, answer.headers, b"" if failure else body, failure))

    def _admit(self, ask: Ask) -> None:
        host = urls.host_of(ask.url)
        if host not in self._partitions:
            self._send(Resource(ask.ticket, failure="not-mine"))
            return
        self._count += 1
        target = Target(
            row=self._count,
            url_hash=0,
            url=ask.url,
            host=host,
            via=RENDER,
            headers=ask.headers,
            max_bytes=ask.max_bytes,
            purpose=Purpose.SUBRESOURCE,
        )
        self._asked[target.row] = ask
        rule = self._host_rules.find(host)
        if len(ask.url) > URL_MAX:
            self._refuse(target, "length")
        elif not ask.own and rule is not None and has_secrets(rule):
            self._refuse(target, "credentials")  # no page may have another host asked in the user's name
        else:
            host_queue = self._scheduler.queue_of(host)
            host_queue.subresources.append(target)
            self._scheduler.enlist(host_queue)

    def _refuse(self, target: Target, reason: str) -> None:
        ask = self._asked.pop(target.row)
        self._crawl_log.subresource(Answer(target, failure=reason, began=clock.now()), reason)
        self._send(Resource(ask.ticket, failure=reason))

    # The connection to the broker

    def turn(self) -> list[Rendered]:
        """Send and receive what there is; returns the pages whose rendering ended."""
        if self._connection is not None:
            try:
                self._connection.flush()
                for message in self._connection.receive():
                    self._handle(message)
                if self._connection.waiting != self._blocked:
                    self._blocked = self._connection.waiting
                    self._client.watch(self._connection.fileno(), write=self._blocked)
            except OSError:
                self._disconnect()
        finished, self._finished = self._finished, []
        return finished

    def do_chores(self, now: float) -> None:
        """Reach the broker once there is one, tell it which hosts are ours, and give up what takes too long."""
        if not self._socket_path:
            return
        if self._connection is None and self._shared.browser_beat:
            self._connect()
        elif self._connection is not None and self._announced != self._partitions.parts:
            self._announce()
        if not self._held:
            self._silent_since = 0.0
            return
        if self._connection is not None or not self._silent_since:
            self._silent_since = now
        patience_s = self._mission.render.total_timeout_s + SLACK_S
        for job, held in list(self._held.items()):
            if self._shared.browserless:
                self._give_up(job, NO_BROWSER)
            elif (held.begun and now - held.begun > patience_s) or now - self._silent_since > SILENCE_S:
                self._give_up(job, "render-timeout")

    def stop(self) -> None:
        """Leave pages whose rendering has not begun for the next run: the crawl ends."""
        for job, held in list(self._held.items()):
            if not held.begun:
                del self._held[job]
                self._send(Drop(job))
        self._publish()

    def close(self) -> None:
        """Leave the other pages for the next run, too."""
        self._held.clear()
        self._disconnect()
        self._publish()

    def _handle(self, message: ToWorker) -> None:
        if isinstance(message, Ask):
            self._admit(message)
        elif isinstance(message, Forget):
            for row in [row for row, ask in self._asked.items() if ask.ticket == message.ticket]:
                del self._asked[row]
        elif isinstance(message, Begin):
            held = self._held.get(message.job)
            if held is not None:
                held.begun = clock.now()
                answer = held.answer
                body = _decode(answer, limit=self._mission.limits.html_bytes).body
                self._send(PageContent(message.job, answer.status, answer.headers, body))
        else:
            self._finish(message)

    def _finish(self, result: RenderResult) -> None:
        held = self._held.pop(result.job, None)
        if held is None:
            return
        answer = held.answer
        self._bytes -= len(answer.body)
        host_queue = self._scheduler.queue_of(answer.target.host)
        host_queue.rendering -= 1
        self._scheduler.enlist(host_queue)
        if result.html:
            self._shared.add(self._slot, Cell.RENDERED, 1)
        self._crawl_log.rendering(answer, result)
        self._finished.append((answer, result))
        self._publish()

    def _give_up(self, job: int, reason: str) -> None:
        self._send(Drop(job))
        self._finish(RenderResult(job, failure=reason))

    def _connect(self) -> None:
        try:
            self._connection = WorkerConnection(self._socket_path)
        except OSError:
            return  # not yet there, or being replaced
        self._client.watch(self._connection.fileno())
        self._announce()
        for job, held in self._held.items():
            self._send(RenderJob(job, held.answer.target.url))

    def _announce(self) -> None:
        self._announced = list(self._partitions.parts)
        self._send(Hello(self._slot, self._announced))

    def _send(self, message: ToBroker) -> None:
        if self._connection is not None:
            try:
                self._connection.send(message)
            except OSError:
                self._disconnect()

    def _disconnect(self) -> None:
        """The broker has gone: try the pages that it had begun once more, and forget what they asked for."""
        if self._connection is not None:
            self._client.watch(self._connection.fileno(), gone=True)
            self._connection.close()
            self._connection, self._blocked = None, False
        self._asked.clear()
        for job, held in list(self._held.items()):
            if held.begun:
                held.begun, held.tries = 0.0, held.tries + 1
                if held.tries >= TRIES:
                    self._finish(RenderResult(job, failure="render-crash"))

    def _publish(self) -> None:
        self._shared.put(self._slot, Cell.RENDERING, len(self._held))


def _decode(answer: Answer, *, limit: int) -> DecodedBody:
    """The content as the author wrote it."""
    coding = answer.headers.get("content-encoding", "")
    if answer.spool:
        return decode_file(answer.spool, coding, limit=limit, head=limit)
    return decode(answer.body, coding, limit=limit)
