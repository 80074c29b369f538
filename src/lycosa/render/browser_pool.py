"""Browser pool: starts a browser when a page comes, replaces it after so many pages, ends it when it is idle or fails.

Each page comes with the function that supplies what it asks for; there is a result also for pages that crash or hang.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import signal
import socket
import time
from typing import Any

from msgspec import Struct
from playwright.async_api import Browser, Error, Playwright, async_playwright

from lycosa.render.messages import PageContent, RenderResult
from lycosa.render.page_session import PageSession, RenderLimits, Supply
from lycosa.render.process_tree import find_below, find_children, private_bytes, read_command

LAUNCH_S = 60.0
WATCH_S = 0.5
IDLE_S = 20.0  # without a page, a browser and its driver give their 300 MB back; to start them takes a second
KILLED_S = 3.0  # a page that crashes so soon after a process was ended for its memory was that page

#: Nothing may leave the browser but by way of us: no name resolves, the only proxy is a port at which nobody listens.
_ARGUMENTS = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--dns-prefetch-disable",
    "--disable-quic",
    "--no-pings",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",  # as browsers call it
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # as headless shells do
    "--disable-crash-reporter",
    "--disable-gpu",
    "--mute-audio",
    "--disable-remote-fonts",
    "--disable-notifications",
    "--autoplay-policy=user-gesture-required",
)


class BrowserBroken(Exception):
    """The browser cannot be started at all."""


class _RunningBrowser(Struct, eq=False):
    """One browser process, and how much it was used."""

    browser: Browser
    pages: int = 0  # given to it so far
    tabs: int = 0  # open now
    retired: bool = False


class BrowserPool:
    """Owns Playwright and at most one browser that takes new pages; an older one may still be finishing its own."""

    def __init__(self, path: str, limits: RenderLimits, *, folder: str, fonts: bool = False) -> None:
        """`fonts`: also those of pages, as somebody looks at them."""
        self._arguments = [argument for argument in _ARGUMENTS if not fonts or argument != "--disable-remote-fonts"]
        self.path = path
        self.limits = limits
        self.folder = folder
        self._playwright: Playwright | None = None
        self._running: _RunningBrowser | None = None
        self._opening = asyncio.Lock()
        self._killed_at = 0.0
        self._used_at = 0.0
        # Bound and not listening: no other program can take this port, and nobody answers at it.
        self._nowhere = socket.socket()
        self._nowhere.bind(("127.0.0.1", 0))

    async def render(self, url: str, content: PageContent, supply: Supply) -> RenderResult:
        """Render a page; one that brings its browser down is tried a second time in a fresh one."""
        result = RenderResult(0)
        for _ in range(2):
            running = await self._reserve()
            session = PageSession(url, content, limits=self._limits_for(running.browser), supply=supply)
            running.tabs += 1
            try:
                return self._name_cause(await session.render(running.browser))
            except TimeoutError:  # it does not even open or close a tab
                self._retire(running)
                return RenderResult(0, failure="render-timeout", detail="the browser does not answer")
            except Error as error:
                result = self._explain(session, error)
                if running.browser.is_connected():
                    return result
                self._retire(running)
            finally:
                running.tabs -= 1
                self._used_at = time.monotonic()
                await self._close_retired(running)
        return result

    async def watch(self) -> None:
        """For ever: end idle browsers, and the processes of pages that take more memory than allowed.

        The results of those pages say that they crashed.
        """
        limit = self.limits.render.memory_bytes
        seen: _RunningBrowser | None = None
        zygotes: list[int] = []
        while True:
            await asyncio.sleep(WATCH_S)
            if self._running is None:
                continue
            if self._is_idle(self._running):
                await self._close_idle()
                continue
            if self._running is not seen:  # the processes of pages are children of zygotes
                seen = self._running
                zygotes = [pid for pid in find_below(os.getpid()) if b"--type=zygote" in read_command(pid)]
            for pid in itertools.chain.from_iterable(map(find_children, zygotes)):
                if private_bytes(pid) > limit and b"--type=renderer" in read_command(pid):
                    self._killed_at = time.monotonic()
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    async def close(self) -> None:
        if self._playwright is not None:
            await self._playwright.stop()
        self._nowhere.close()

    def _is_idle(self, running: _RunningBrowser) -> bool:
        return not running.tabs and time.monotonic() - self._used_at > IDLE_S

    async def _close_idle(self) -> None:
        async with self._opening:
            if self._running is None or not self._is_idle(self._running):
                return  # a page came meanwhile
            running, playwright = self._running, self._playwright
            self._retire(running)
            await self._close_retired(running)
            self._playwright = None
            if playwright is not None:
                with contextlib.suppress(Error):
                    await playwright.stop()

    def _explain(self, session: PageSession, error: Error) -> RenderResult:
        failure = "render-crash" if session.crashed else "render-failed"
        return self._name_cause(RenderResult(0, failure=failure, detail=error.message.partition("\n")[0][:200]))

    def _name_cause(self, result: RenderResult) -> RenderResult:
        if result.failure == "render-crash" and time.monotonic() - self._killed_at < KILLED_S:
            result.failure, result.detail = "render-memory", "the page took more than render.memory_bytes"
        return result

    async def _reserve(self) -> _RunningBrowser:
        """The browser for one more page, started if there is none."""
        async with self._opening:
            running = self._running
            if running is not None and (
                running.pages >= self.limits.render.recycle_pages or not running.browser.is_connected()
            ):
                self._retire(running)
                await self._close_retired(running)
                running = None
            if running is None:
                running = self._running = _RunningBrowser(await self.launch())
            running.pages += 1
            self._used_at = time.monotonic()
            return running

    def _retire(self, running: _RunningBrowser) -> None:
        """Give the browser no more pages."""
        running.retired = True
        if self._running is running:
            self._running = None

    async def _close_retired(self, running: _RunningBrowser) -> None:
        if running.retired and not running.tabs:
            with contextlib.suppress(Error, TimeoutError):
                async with asyncio.timeout(LAUNCH_S):
                    await running.browser.close()  # Playwright ends it by force after 30 s

    async def launch(self) -> Browser:
        """Start a browser without a network of its own; raises `BrowserBroken` where it does not start."""
        render = self.limits.render
        heap_mib = max(64, render.memory_bytes // 2 >> 20)
        options: dict[str, Any] = {
            "executable_path": self.path,
            "args": [*self._arguments, f"--js-flags=--max-old-space-size={heap_mib}"],
            "chromium_sandbox": render.sandbox and os.geteuid() != 0,
            "proxy": {"server": f"http://127.0.0.1:{self._nowhere.getsockname()[1]}", "bypass": "<-loopback>"},
            "handle_sigint": False,
            "handle_sigterm": False,
            "handle_sighup": False,
            "env": {**os.environ, "TMPDIR": self.folder},
            "timeout": LAUNCH_S * 1000,
        }
        try:
            if self._playwright is None:
                self._playwright = await async_playwright().start()
            return await self._playwright.chromium.launch(**options)
        except Error as error:
            raise BrowserBroken(explain_launch(self.path, error.message)) from None

    def _limits_for(self, browser: Browser) -> RenderLimits:
        """The limits with the name that scripts read, which is the browser's and ours."""
        agent = (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko; compatible; "
            f"{self.limits.agent}) Chrome/{browser.version} Safari/537.36"
        )
        return RenderLimits(self.limits.render, self.limits.html_bytes, agent)


def explain_launch(path: str, message: str) -> str:
    """Why a browser did not start, in one sentence; Playwright's message has every option of the command line."""
    if "sandboxing failed" in message or "No usable sandbox" in message:
        return f"{path} finds no sandbox on this system; allow user namespaces, or set render.sandbox = false"
    said = re.findall(r"\[err\] (.+)", message)
    return f"{path} does not start{': ' + said[-1][:200].rstrip('.') if said else ''}"
