"""Between pages and workers: each address is asked for once, of the worker whose host it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright")

from lycosa.config.settings import RenderSettings  # noqa: E402
from lycosa.render.broker import Broker, BrokerSettings  # noqa: E402
from lycosa.render.browser_pool import explain_launch  # noqa: E402
from lycosa.render.messages import (
    HEAD,
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
    _to_worker,
    listen,
    pack,
)
from lycosa.render.page_session import RenderLimits, Supply  # noqa: E402

Page = Callable[[str, Supply], Awaitable[object]]


class Stage:
    """In place of the browsers: runs a page that is written in Python, and returns what it returns as JSON."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def render(self, url: str, content: PageContent, supply: Supply) -> RenderResult:
        return RenderResult(0, json.dumps(await self.page(url, supply)).encode())

    async def watch(self) -> None:
        await asyncio.sleep(3600)


class Worker:
    """A worker as the broker sees one: answers what it has, says `not-mine` of what it has not."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, web: dict[str, Resource]) -> None:
        self.reader, self.writer, self.web = reader, writer, web
        self.asked: list[Ask] = []
        self.forgotten: list[int] = []
        self.results: asyncio.Queue[RenderResult] = asyncio.Queue()

    def send(self, message: ToBroker) -> None:
        self.writer.write(pack(message))

    async def work(self) -> None:
        while True:
            size = int.from_bytes(await self.reader.readexactly(HEAD), "big")
            message = _to_worker.decode(await self.reader.readexactly(size))
            if isinstance(message, Begin):
                self.send(PageContent(message.job, 200, {}, b"<p>"))
            elif isinstance(message, Forget):
                self.forgotten.append(message.ticket)
            elif isinstance(message, RenderResult):
                self.results.put_nowait(message)
            else:
                self.asked.append(message)
                given = self.web.get(message.url, Resource(0, failure="not-mine"))
                if given.failure != "silence":
                    self.send(Resource(message.ticket, given.status, given.headers, given.body, given.failure))

    async def render(self, *urls: str) -> list[Any]:
        for job, url in enumerate(urls, 1):
            self.send(RenderJob(job, url))
        results = [await asyncio.wait_for(self.results.get(), 10) for _ in urls]
        return [json.loads(result.html or b"null") for result in sorted(results, key=lambda result: result.job)]


def play(
    folder: Path, page: Page, scene: Callable[[Worker, Worker], Awaitable[None]], *webs: dict[str, Resource]
) -> None:
    """A broker with two workers: the first owns hosts that begin with `a`, the second those that begin with `b`."""

    async def run() -> None:
        limits = RenderLimits(RenderSettings(tabs=4), 1 << 20, "lycosa")
        settings = BrokerSettings(
            "", str(folder), limits, redirects=2, part_of=lambda host: ord(host[0]), beat=lambda: None
        )
        broker = Broker(settings)
        broker.browser_pool._nowhere.close()
        broker.browser_pool = Stage(page)  # type: ignore[assignment]
        serving = asyncio.create_task(broker.run(listen(str(folder / "broker"))))
        workers, working = [], []
        for slot, web in enumerate(webs):
            worker = Worker(*await asyncio.open_unix_connection(str(folder / "broker")), web)
            worker.send(Hello(slot, [ord("ab"[slot])]))
            workers.append(worker)
            working.append(asyncio.create_task(worker.work()))
        try:
            await scene(workers[0], workers[1])
        finally:
            for task in (serving, *working):
                task.cancel()
            for worker in workers:
                worker.writer.close()
            await asyncio.gather(serving, *working, return_exceptions=True)

    asyncio.run(run())


async def ask(supply: Supply, url: str) -> list[object]:
    given = await supply(url, ("Accept: */*",), 1000)
    return [given.status, given.body.decode(), given.failure]


def ok(text: str, **headers: str) -> Resource:
    return Resource(0, 200, {name.replace("_", "-"): value for name, value in headers.items()}, text.encode())


def test_an_address_is_asked_for_once(tmp_path: Path) -> None:
    """However many pages want it, at once or later; what must not be stored is asked for by each."""

    async def page(url: str, supply: Supply) -> object:
        shared = await asyncio.gather(ask(supply, "http://b.test/app.js"), ask(supply, "http://b.test/app.js#x"))
        return [*shared, await ask(supply, "http://b.test/now"), await ask(supply, "http://b.test/busy")]

    async def scene(one: Worker, two: Worker) -> None:
        row = [[200, "code", ""], [200, "code", ""], [200, "now", ""], [503, "", ""]]
        assert await one.render("http://a.test/1", "http://a.test/2") == [row, row]
        assert await one.render("http://a.test/3") == [row]
        assert one.asked == []
        counts = {url: sum(asked.url == url for asked in two.asked) for url in {asked.url for asked in two.asked}}
        assert counts["http://b.test/app.js"] == 1
        assert counts["http://b.test/now"] >= 2
        assert counts["http://b.test/busy"] >= 2

    web = {
        "http://b.test/app.js": ok("code"),
        "http://b.test/now": ok("now", cache_control="private, no-store"),
        "http://b.test/busy": Resource(0, 503),
    }
    play(tmp_path, page, scene, {}, web)


def test_redirects_go_to_their_own_worker(tmp_path: Path) -> None:
    """Each hop is asked of its host's owner; fields for one host, and the user's name there, stay behind."""

    async def page(url: str, supply: Supply) -> object:
        given = await supply("http://a.test/hop", ("Accept: */*", "x-own: 1"), 1000)
        return [given.body.decode(), (await supply("http://a.test/loop", (), 1000)).failure]

    async def scene(one: Worker, two: Worker) -> None:
        assert await one.render("http://a.test/") == [["there", "redirect-limit"]]
        assert [(ask.url, ask.own, ask.headers) for ask in two.asked] == [
            ("http://b.test/end", False, ("Accept: */*",))
        ]
        assert one.asked[0].own
        assert one.asked[0].headers == ("Accept: */*", "x-own: 1")

    hop = {"http://a.test/hop": Resource(0, 302, {"location": "//b.test/end"})}
    loop = {"http://a.test/loop": Resource(0, 302, {"location": "/loop"})}
    play(tmp_path, page, scene, hop | loop, {"http://b.test/end": ok("there")})


def test_a_host_that_changes_hands_is_asked_of_its_new_owner(tmp_path: Path) -> None:
    """Whoever no longer owns it says so, or is gone; the question waits for the next one."""

    async def page(url: str, supply: Supply) -> object:
        return await ask(supply, "http://b.test/x")

    async def scene(one: Worker, two: Worker) -> None:
        rendering = asyncio.create_task(one.render("http://a.test/"))
        while not two.asked:
            await asyncio.sleep(0.01)
        two.writer.close()
        one.web["http://b.test/x"] = ok("taken over")
        one.send(Hello(0, [ord("a"), ord("b")]))
        assert await rendering == [[200, "taken over", ""]]

    play(tmp_path, page, scene, {}, {"http://b.test/x": Resource(0, failure="silence")})


def test_nobody_is_asked_for_a_page_that_is_not_wanted(tmp_path: Path) -> None:
    """A job that is dropped forgets what it was waiting for."""

    async def page(url: str, supply: Supply) -> object:
        return await ask(supply, "http://b.test/x")

    async def scene(one: Worker, two: Worker) -> None:
        one.send(RenderJob(1, "http://a.test/"))
        while not two.asked:
            await asyncio.sleep(0.01)
        one.send(Drop(1))
        while not two.forgotten:
            await asyncio.sleep(0.01)
        assert two.forgotten == [two.asked[0].ticket]
        assert one.results.empty()

    play(tmp_path, page, scene, {}, {"http://b.test/x": Resource(0, failure="silence")})


def test_what_is_too_large_for_a_page_is_refused(tmp_path: Path) -> None:
    """The bytes that a page may still have count, also for what is remembered."""

    async def page(url: str, supply: Supply) -> object:
        small = await supply("http://b.test/x", (), 3)
        return [
            small.failure,
            (await supply("http://b.test/x", (), 4)).body.decode(),
            (await supply("::", (), 4)).failure,
        ]

    async def scene(one: Worker, two: Worker) -> None:
        assert await one.render("http://a.test/") == [["too-large", "four", "bad-url"]]

    play(tmp_path, page, scene, {}, {"http://b.test/x": ok("four")})


def test_why_a_browser_does_not_start_is_one_sentence() -> None:
    """What it said itself, or what to do about its sandbox; not the account of every option."""
    account = "Target page, context or browser has been closed\nBrowser logs:\n<launching> /x --a --no-sandbox\n"
    assert explain_launch("/x", account) == "/x does not start"
    assert (
        explain_launch("/x", account + "[pid=7][err] libnss3.so is missing.")
        == "/x does not start: libnss3.so is missing"
    )
    assert "render.sandbox = false" in explain_launch("/x", "Chromium sandboxing failed!\n" + account)
