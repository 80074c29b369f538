"""Between workers and browsers: jobs come from workers, questions of pages go to the worker whose host it is.

One hub serves the whole crawl, so that browsers and what pages share are held once. An address is asked for once in a
run, however many pages need it; the worker that owns its host fetches it in that host's host queue, as any other
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
    RenderJob,
    RenderResult,
    Resource,
    Sheet,
    ToWorker,
    pack,
    unpack_for_hub,
)
from lycosa.render.page_session import RenderLimits

CACHE_BYTES = 64 << 20
OWNER_S = 0.2  # how often a host's owner is looked for, while its worker is being replaced
SHEET_S = 30.0
BEAT_S = 1.0
_Key = tuple[str, str, bool]
_MOVED = frozenset({301, 302, 303, 307, 308})


class BrokerSettings(Struct, frozen=True):
    """What a hub needs to know."""

    browser: str
    folder: str  # for its socket and the browser's files
    bounds: RenderLimits
    redirects: int
    part_of: Callable[[str], int]  # the partition of a host
    beat: Callable[[], None]  # tells the supervisor that all is well


class _Worker(Struct, eq=False):
    """One worker that is connected."""

    writer: asyncio.StreamWriter
    slot: int = -1

    def say(self, message: ToWorker) -> None:
        self.writer.write(pack(message))


class _Work(Struct, eq=False):
    """A page that waits for its turn, or has it."""

    worker: _Worker
    job: int
    url: str
    sheet: asyncio.Future[Sheet] | None = None
    task: asyncio.Task[None] | None = None


class _Errand(Struct, eq=False):
    """An address under way, and how many pages wait for it."""

    task: asyncio.Task[Resource]
    waiters: int = 0


class Broker:
    """Runs until its process is ended."""

    def __init__(self, plan: BrokerSettings) -> None:
        self.plan = plan
        self.studio = BrowserPool(plan.browser, plan.bounds, folder=plan.folder)
        self._owners: dict[int, _Worker] = {}  # partition -> worker
        self._queue: deque[_Work] = deque()
        self._works: dict[tuple[_Worker, int], _Work] = {}
        self._tickets = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Resource]] = {}
        self._errands: dict[_Key, _Errand] = {}
        self._cache: OrderedDict[_Key, Resource] = OrderedDict()
        self._cached_bytes = 0
        self._tabs = 0
        self._broken: asyncio.Future[None] | None = None

    async def run(self, listener: socket.socket) -> None:
        """Serve workers; raises `BrowserBroken` when there is no use in going on."""
        self._broken = asyncio.get_running_loop().create_future()
        server = await asyncio.start_unix_server(self._serve, sock=listener)
        chores = [asyncio.create_task(self._beat()), asyncio.create_task(self.studio.watch())]
        async with server:
            try:
                await self._broken
            finally:
                for task in chores:
                    task.cancel()

    async def _beat(self) -> None:
        while True:
            self.plan.beat()
            await asyncio.sleep(BEAT_S)

    # Workers

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        worker = _Worker(writer)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(HEAD), "big")
                if size > FRAME_MAX:
                    break
                self._hear(worker, await reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it ended, or died
        finally:
            self._part(worker)
            writer.close()

    def _hear(self, worker: _Worker, frame: bytes) -> None:
        message = unpack_for_hub(frame)
        if isinstance(message, Resource):
            waiting = self._asked.pop(message.ticket, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif isinstance(message, RenderJob):
            work = self._works[worker, message.job] = _Work(worker, message.job, message.url)
            self._queue.append(work)
            self._start()
        elif isinstance(message, Sheet):
            found = self._works.get((worker, message.job))
            if found is not None and found.sheet is not None and not found.sheet.done():
                found.sheet.set_result(message)
        elif isinstance(message, Hello):
            worker.slot = message.slot
            self._owners = {part: owner for part, owner in self._owners.items() if owner is not worker}
            self._owners.update(dict.fromkeys(message.parts, worker))
        else:
            self._drop(self._works.pop((worker, message.job), None))

    def _drop(self, work: _Work | None) -> None:
        if work is not None and work.task is not None:
            work.task.cancel()

    def _part(self, worker: _Worker) -> None:
        """A worker is gone: nobody waits for its pages, and its hosts wait for the next one."""
        self._owners = {part: owner for part, owner in self._owners.items() if owner is not worker}
        for key in [key for key in self._works if key[0] is worker]:
            self._drop(self._works.pop(key))

    # Pages

    def _start(self) -> None:
        while self._queue and self._tabs < self.plan.bounds.render.tabs:
            work = self._queue.popleft()
            if (work.worker, work.job) not in self._works:
                continue  # dropped meanwhile
            self._tabs += 1
            work.task = asyncio.create_task(self._render(work))

    async def _render(self, work: _Work) -> None:
        try:
            work.sheet = asyncio.get_running_loop().create_future()
            work.worker.say(Begin(work.job))
            async with asyncio.timeout(SHEET_S):
                sheet = await work.sheet

            async def supply(url: str, headers: tuple[str, ...], max_bytes: int) -> Resource:
                return await self._supply(url, headers, page=work.url, max_bytes=max_bytes)

            result = await self.studio.render(work.url, sheet, supply)
            result.job = work.job
            work.worker.say(result)
        except BrowserBroken as error:
            if self._broken is not None and not self._broken.done():
                self._broken.set_exception(error)
        except TimeoutError:
            work.worker.say(RenderResult(work.job, failure="render-failed", detail="the worker did not send the page"))
        finally:
            self._works.pop((work.worker, work.job), None)
            self._tabs -= 1
            self._start()

    # What pages ask for

    async def _supply(self, url: str, headers: tuple[str, ...], *, page: str, max_bytes: int) -> Resource:
        """An address for a page: remembered, under way already, or asked for."""
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
        errand = self._errands.get(key)
        if errand is None:
            limit = self.plan.bounds.render.max_bytes
            task = asyncio.create_task(self._follow(address, headers, own=own, max_bytes=limit))
            errand = self._errands[key] = _Errand(task)
            task.add_done_callback(lambda _: self._errands.pop(key, None))
        errand.waiters += 1
        try:
            given = await asyncio.shield(errand.task)
        finally:
            errand.waiters -= 1
            if not errand.waiters and not errand.task.done():
                errand.task.cancel()  # nobody wants it any more
        self._remember(key, given)
        return given if len(given.body) <= max_bytes else Resource(0, failure="too-large")

    async def _follow(self, url: str, headers: tuple[str, ...], *, own: bool, max_bytes: int) -> Resource:
        """Ask, and ask again where a redirect leads; each hop is its host's own request."""
        for _ in range(self.plan.redirects + 1):
            given = await self._ask(Ask(0, url, own, headers, max_bytes))
            location = given.headers.get("location", "")
            if given.failure or given.status not in _MOVED or not location:
                return given
            onward = urls.normalise(location, url)
            if onward is None:
                return Resource(0, failure="bad-redirect")
            if urls.host_of(onward) != urls.host_of(url):
                headers, own = headers[:1], False  # what was meant for one host is not told to another
            url = onward
        return Resource(0, failure="redirect-limit")

    async def _ask(self, ask: Ask) -> Resource:
        part = self.plan.part_of(urls.host_of(ask.url))
        while True:
            while (owner := self._owners.get(part)) is None:
                await asyncio.sleep(OWNER_S)
            ask.ticket = next(self._tickets)
            waiting: asyncio.Future[Resource] = asyncio.get_running_loop().create_future()
            self._asked[ask.ticket] = waiting
            try:
                owner.say(ask)
                while not waiting.done() and self._owners.get(part) is owner:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(asyncio.shield(waiting), 1.0)
            finally:
                if self._asked.pop(ask.ticket, None) is not None:
                    owner.say(Forget(ask.ticket))
            given = waiting.result() if waiting.done() else None
            if given is not None and given.failure != "not-mine":
                return given
            await asyncio.sleep(OWNER_S)  # its host changed hands meanwhile

    def _remember(self, key: _Key, given: Resource) -> None:
        """An answer is good for the whole run, unless the host says otherwise or could not answer."""
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


def serve(plan: BrokerSettings, listener: socket.socket) -> None:
    """Run a hub in this process."""
    asyncio.run(Broker(plan).run(listener))
