"""Broker between workers and browsers: passes pages to the browsers, and what pages ask for to the workers.

One broker serves the whole crawl, so that browsers and what pages share are held once. An address is asked for once in
a run, however many pages need it; the worker that owns its host fetches it in the queue of that host, as any other
request.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections import OrderedDict, deque
from collections.abc import Callable

from msgspec import Struct

from lycosa import urls
from lycosa.render.browser_pool import BrowserBroken, BrowserPool
from lycosa.render.messages import (
    FRAME_MAX,
    HEAD,
    Ask,
    Begin,
    Forget,
    Hello,
    PageContent,
    RenderJob,
    RenderResult,
    Resource,
    ToWorker,
    pack,
    unpack_for_broker,
)
from lycosa.render.page_session import RenderLimits

CACHE_BYTES = 64 << 20
OWNER_S = 0.2  # how often a host's owner is looked for, while its worker is being replaced
CONTENT_S = 30.0
BEAT_S = 1.0
_Key = tuple[str, str, bool]
_MOVED = frozenset({301, 302, 303, 307, 308})


class BrokerSettings(Struct, frozen=True):
    """What a broker needs to know of the crawl."""

    browser: str
    folder: str  # for its socket and the browser's files
    limits: RenderLimits
    redirects: int
    part_of: Callable[[str], int]  # the partition of a host
    beat: Callable[[], None]  # tells the supervisor that all is well


class _Worker(Struct, eq=False):
    """One worker that is connected."""

    writer: asyncio.StreamWriter
    slot: int = -1

    def send(self, message: ToWorker) -> None:
        self.writer.write(pack(message))


class _Job(Struct, eq=False):
    """A page that waits for its turn, or has it."""

    worker: _Worker
    number: int
    url: str
    content: asyncio.Future[PageContent] | None = None
    task: asyncio.Task[None] | None = None


class _Fetch(Struct, eq=False):
    """An address that is being fetched, and how many pages wait for it."""

    task: asyncio.Task[Resource]
    waiters: int = 0


class Broker:
    """Serves the workers of one crawl until its process is ended."""

    def __init__(self, settings: BrokerSettings) -> None:
        self.settings = settings
        self.browser_pool = BrowserPool(settings.browser, settings.limits, folder=settings.folder)
        self._owners: dict[int, _Worker] = {}  # partition -> worker
        self._queue: deque[_Job] = deque()
        self._jobs: dict[tuple[_Worker, int], _Job] = {}
        self._tickets = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Resource]] = {}
        self._fetches: dict[_Key, _Fetch] = {}
        self._cache: OrderedDict[_Key, Resource] = OrderedDict()
        self._cached_bytes = 0
        self._tabs = 0
        self._broken: asyncio.Future[None] | None = None

    async def run(self, listener: socket.socket) -> None:
        """Serve workers; raises `BrowserBroken` when there is no use in going on."""
        self._broken = asyncio.get_running_loop().create_future()
        server = await asyncio.start_unix_server(self._serve, sock=listener)
        tasks = [asyncio.create_task(self._beat()), asyncio.create_task(self.browser_pool.watch())]
        async with server:
            try:
                await self._broken
            finally:
                for task in tasks:
                    task.cancel()

    async def _beat(self) -> None:
        while True:
            self.settings.beat()
            await asyncio.sleep(BEAT_S)

    # Workers

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        worker = _Worker(writer)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(HEAD), "big")
                if size > FRAME_MAX:
                    break
                self._receive(worker, await reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it ended, or died
        finally:
            self._disconnect(worker)
            writer.close()

    def _receive(self, worker: _Worker, frame: bytes) -> None:
        message = unpack_for_broker(frame)
        if isinstance(message, Resource):
            waiting = self._asked.pop(message.ticket, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif isinstance(message, RenderJob):
            job = self._jobs[worker, message.job] = _Job(worker, message.job, message.url)
            self._queue.append(job)
            self._start()
        elif isinstance(message, PageContent):
            found = self._jobs.get((worker, message.job))
            if found is not None and found.content is not None and not found.content.done():
                found.content.set_result(message)
        elif isinstance(message, Hello):
            worker.slot = message.slot
            self._owners = {part: owner for part, owner in self._owners.items() if owner is not worker}
            self._owners.update(dict.fromkeys(message.parts, worker))
        else:
            self._drop(self._jobs.pop((worker, message.job), None))

    def _drop(self, job: _Job | None) -> None:
        if job is not None and job.task is not None:
            job.task.cancel()

    def _disconnect(self, worker: _Worker) -> None:
        """Drop the pages of a worker that is gone; its hosts wait for the worker that replaces it."""
        self._owners = {part: owner for part, owner in self._owners.items() if owner is not worker}
        for key in [key for key in self._jobs if key[0] is worker]:
            self._drop(self._jobs.pop(key))

    # Pages

    def _start(self) -> None:
        while self._queue and self._tabs < self.settings.limits.render.tabs:
            job = self._queue.popleft()
            if (job.worker, job.number) not in self._jobs:
                continue  # dropped meanwhile
            self._tabs += 1
            job.task = asyncio.create_task(self._render(job))

    async def _render(self, job: _Job) -> None:
        try:
            job.content = asyncio.get_running_loop().create_future()
            job.worker.send(Begin(job.number))
            async with asyncio.timeout(CONTENT_S):
                content = await job.content

            async def supply(url: str, headers: tuple[str, ...], max_bytes: int) -> Resource:
                return await self._supply(url, headers, page=job.url, max_bytes=max_bytes)

            result = await self.browser_pool.render(job.url, content, supply)
            result.job = job.number
            job.worker.send(result)
        except BrowserBroken as error:
            if self._broken is not None and not self._broken.done():
                self._broken.set_exception(error)
        except TimeoutError:
            failed = RenderResult(job.number, failure="render-failed", detail="the worker did not send the page")
            job.worker.send(failed)
        finally:
            self._jobs.pop((job.worker, job.number), None)
            self._tabs -= 1
            self._start()

    # What pages ask for

    async def _supply(self, url: str, headers: tuple[str, ...], *, page: str, max_bytes: int) -> Resource:
        """An address for a page: cached, under way already, or asked for."""
        address = urls.normalise(url)
        if address is None:
            return Resource(0, failure="bad-url")
        # A page of the host itself may get what the user's credentials open; nobody else is given that.
        own = urls.host_of(address) == urls.host_of(page)
        key = (address, "\n".join(headers), own)
        known = self._cache.get(key)
        if known is not None:
            self._cache.move_to_end(key)
            return known if len(known.body) <= max_bytes else Resource(0, failure="too-large")
        fetch = self._fetches.get(key)
        if fetch is None:
            limit = self.settings.limits.render.max_bytes
            task = asyncio.create_task(self._follow(address, headers, own=own, max_bytes=limit))
            fetch = self._fetches[key] = _Fetch(task)
            task.add_done_callback(lambda _: self._fetches.pop(key, None))
        fetch.waiters += 1
        try:
            given = await asyncio.shield(fetch.task)
        finally:
            fetch.waiters -= 1
            if not fetch.waiters and not fetch.task.done():
                fetch.task.cancel()  # nobody wants it any more
        self._store(key, given)
        return given if len(given.body) <= max_bytes else Resource(0, failure="too-large")

    async def _follow(self, url: str, headers: tuple[str, ...], *, own: bool, max_bytes: int) -> Resource:
        """Ask, and ask again where a redirect leads; each hop is its host's own request."""
        for _ in range(self.settings.redirects + 1):
            given = await self._ask(Ask(0, url, own, headers, max_bytes))
            location = given.headers.get("location", "")
            if given.failure or given.status not in _MOVED or not location:
                return given
            onward = urls.normalise(location, url)
            if onward is None:
                return Resource(0, failure="bad-redirect")
            if urls.host_of(onward) != urls.host_of(url):
                headers, own = headers[:1], False  # what was meant for one host is not sent to another
            url = onward
        return Resource(0, failure="redirect-limit")

    async def _ask(self, ask: Ask) -> Resource:
        part = self.settings.part_of(urls.host_of(ask.url))
        while True:
            while (owner := self._owners.get(part)) is None:
                await asyncio.sleep(OWNER_S)
            ask.ticket = next(self._tickets)
            waiting: asyncio.Future[Resource] = asyncio.get_running_loop().create_future()
            self._asked[ask.ticket] = waiting
            try:
                owner.send(ask)
                while not waiting.done() and self._owners.get(part) is owner:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(asyncio.shield(waiting), 1.0)
            finally:
                if self._asked.pop(ask.ticket, None) is not None:
                    owner.send(Forget(ask.ticket))
            given = waiting.result() if waiting.done() else None
            if given is not None and given.failure != "not-mine":
                return given
            await asyncio.sleep(OWNER_S)  # another worker owns its host by now

    def _store(self, key: _Key, given: Resource) -> None:
        """Cache an answer for the whole run, unless the host forbids that or could not answer."""
        passing = given.failure or given.status == 429 or given.status >= 500
        if passing or key in self._cache or "no-store" in given.headers.get("cache-control", "").lower():
            return
        if len(given.body) > CACHE_BYTES // 8:
            return
        self._cache[key] = given
        self._cached_bytes += len(given.body)
        while self._cached_bytes > CACHE_BYTES:
            _, old = self._cache.popitem(last=False)
            self._cached_bytes -= len(old.body)


def serve(settings: BrokerSettings, listener: socket.socket) -> None:
    """Run a broker in this process."""
    asyncio.run(Broker(settings).run(listener))
