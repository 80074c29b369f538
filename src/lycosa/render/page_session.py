"""Page session: one page in a browser, from its plain answer to the page as its scripts made it.

The page is loaded from the answer that the crawl already has. Whatever it asks for then is answered here: pictures,
style sheets and trackers with nothing, other pages not at all, scripts and data by `supply`, which asks the crawl. Its
clock is ours: time stands still while it waits for an answer, and idle time is skipped, so that slow, polite fetching
breaks no script and a page that waits for a timer costs no waiting.

Trackers, and the header fields that pass between a page in a browser and the network.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

from msgspec import Struct
from playwright.async_api import Browser, BrowserContext, CDPSession, Error, Page, Request, Route

from lycosa.config.settings import RenderSettings
from lycosa.render.messages import PageContent, RenderResult, Resource

#: A transparent picture of one pixel.
PIXEL = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")

#: Domains that count visitors, show advertisements or hold chats: no page needs them for what it says.
_TRACKERS_TEXT = """
    google-analytics.com googletagmanager.com googletagservices.com googlesyndication.com googleadservices.com
    doubleclick.net adservice.google.com analytics.google.com connect.facebook.net hotjar.com hotjar.io clarity.ms
    bat.bing.com mixpanel.com mxpnl.com segment.io cdn.segment.com amplitude.com heapanalytics.com fullstory.com
    mouseflow.com crazyegg.com cdn.matomo.cloud plausible.io statcounter.com quantserve.com quantcount.com
    scorecardresearch.com chartbeat.com chartbeat.net js-agent.newrelic.com nr-data.net ingest.sentry.io
    browser.sentry-cdn.com js.sentry-cdn.com bugsnag.com datadoghq-browser-agent.com browser-intake-datadoghq.com
    cloudflareinsights.com widget.intercom.io intercomcdn.com js.driftt.com zopim.com embed.tawk.to client.crisp.chat
    hs-scripts.com hs-analytics.net hs-banner.com hsadspixel.net snap.licdn.com px.ads.linkedin.com ads-twitter.com
    analytics.twitter.com analytics.tiktok.com ct.pinterest.com outbrain.com taboola.com criteo.com criteo.net
    adnxs.com adsrvr.org amazon-adsystem.com rubiconproject.com pubmatic.com openx.net casalemedia.com moatads.com
    adform.net mc.yandex.ru cdn.optimizely.com cdn.cookielaw.org consent.cookiebot.com consensu.org
    """
TRACKERS = frozenset(_TRACKERS_TEXT.split())

#: Fields of an answer that are about its way to us, or that would make the browser do more than show it.
_DROPPED_TEXT = """
    content-encoding content-length transfer-encoding connection keep-alive trailer upgrade set-cookie set-cookie2
    alt-svc strict-transport-security clear-site-data nel report-to reporting-endpoints www-authenticate
    proxy-authenticate proxy-connection link content-disposition refresh service-worker-allowed sourcemap x-sourcemap
    speculation-rules
    """
_DROPPED = frozenset(_DROPPED_TEXT.split())
#: Fields of a request that the browser makes itself; lycosa has its own.
_BROWSERS_OWN_TEXT = """
    user-agent referer accept-encoding accept-language cookie host connection content-length origin
    upgrade-insecure-requests purpose range if-none-match if-modified-since accept
    """
_BROWSERS_OWN = frozenset(_BROWSERS_OWN_TEXT.split())
_MAX_FIELDS = 8192


def is_tracker(host: str, page: str) -> bool:
    """Whether a host belongs to one of the known trackers, other than the host of the page itself."""
    parts = host.lower().rstrip(".").split(".")
    domains = (".".join(parts[start:]) for start in range(len(parts) - 1))
    return any(domain in TRACKERS and not f".{page}".endswith(f".{domain}") for domain in domains)


def clean_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The fields of an answer that the browser is told; names are in lower case."""
    return {name: value for name, value in headers.items() if name not in _DROPPED and value.isprintable()}


def forward_headers(headers: Mapping[str, str], url: str) -> tuple[str, ...]:
    """The lines that go out with a request: what is wanted, who asks, and what a page's scripts send to their own host.

    To other hosts nothing else goes: a browser would first ask them whether it may.
    """
    lines = [f"Accept: {headers.get('accept', '*/*')}"]
    origin = headers.get("origin", "")
    if origin and origin != _origin_of(url):
        lines.append(f"Origin: {origin}")
    else:
        own = {name: value for name, value in headers.items() if name not in _BROWSERS_OWN}
        lines += [f"{name}: {value}" for name, value in own.items() if not name.startswith(("sec-", ":"))]
    lines = [line for line in lines if line.isprintable() and line.isascii()]
    return tuple(lines) if sum(map(len, lines)) <= _MAX_FIELDS else tuple(lines[:1])


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


TICK_S = 0.1
CLOSE_S = 5.0
OPEN_S = 30.0
READ_S = 5.0  # for reading the page as HTML, at the end
MOVES = 20  # addresses that scripts wanted to go to
VIEW = {"width": 1280, "height": 2400}  # tall, because much is loaded only when it comes into view

_EVERYTHING = re.compile("")  # Playwright would compile a glob anew for each request
#: Asks for an address: (url, header lines, bytes that are still allowed).
Supply = Callable[[str, tuple[str, ...], int], Awaitable[Resource]]

#: Shadow roots are written as templates, which is how HTML has them; a page is cut where it is too large. A form may be
#: named as a property of the document is, and then stands in its place: properties are asked for by their prototype.
_READ = """(max) => {
  const roots = [];
  const walk = (found) => {
    for (const e of found) if (e.shadowRoot instanceof ShadowRoot) {
      roots.push(e.shadowRoot);
      walk(e.shadowRoot.querySelectorAll('*'));
    }
  };
  const find = (tag) => Document.prototype.getElementsByTagName.call(document, tag);
  for (const e of [...find('noscript')]) e.remove();  // it is for others
  walk(find('*'));
  const html = Reflect.get(Document.prototype, 'documentElement', document);
  if (!html) return {text: '', size: 0, url: location.href};
  const tag = html.cloneNode(false).outerHTML;
  const end = tag.lastIndexOf('</');
  const inside = html.getHTML ? html.getHTML({shadowRoots: roots}) : html.innerHTML;
  const text = '<!DOCTYPE html>' + tag.slice(0, end) + inside + tag.slice(end);
  return {text: text.slice(0, max), size: text.length, url: location.href};
}"""


class RenderLimits(Struct, frozen=True):
    """What a page may take, and the name that its scripts read."""

    render: RenderSettings
    html_bytes: int
    agent: str  # what scripts read as navigator.userAgent


class PageSession:
    """One page that is rendered once, in a browser context of its own."""

    def __init__(self, url: str, content: PageContent, *, limits: RenderLimits, supply: Supply) -> None:
        self.url = url
        self.content = content
        self.limits = limits
        self.supply = supply
        self.moves: list[str] = []
        self.requests = 0
        self.refused = 0
        self.crashed = False
        self._host = urlsplit(url).hostname or ""
        self._left = limits.render.max_bytes
        self._waiting: set[asyncio.Future[Resource]] = set()  # answers under way
        self._served = False
        self._page: Page | None = None
        self._ended = asyncio.Event()  # its time is over, or it crashed

    async def render(self, browser: Browser) -> RenderResult:
        """Run the page; raises Playwright's `Error` or `TimeoutError` when the browser fails."""
        began = time.monotonic()
        async with asyncio.timeout(OPEN_S):
            context = await browser.new_context(
                user_agent=self.limits.agent,
                viewport=VIEW,  # type: ignore[arg-type]
                service_workers="block",
                accept_downloads=False,
                reduced_motion="reduce",
                timezone_id="UTC",
            )
        try:
            result = await self._run(context)
        finally:
            for task in self._waiting:
                task.cancel()
            async with asyncio.timeout(CLOSE_S):
                await context.close()
        result.requests, result.refused = self.requests, self.refused
        result.moves = self.moves
        result.seconds = time.monotonic() - began
        return result

    async def _run(self, context: BrowserContext) -> RenderResult:
        async with asyncio.timeout(OPEN_S):
            await context.route(_EVERYTHING, self._answer)
            page = self._page = await context.new_page()
            page.on("crash", self._crash)
            context.on("page", self._close_popup)
            session = await context.new_cdp_session(page)
            session.on("Emulation.virtualTimeBudgetExpired", lambda _: self._ended.set())
            await session.send("Emulation.setVirtualTimePolicy", {"policy": "pause"})
            await page.goto(self.url, wait_until="commit", timeout=OPEN_S * 1000)
        self._ended.clear()
        budget = {"policy": "pauseIfNetworkFetchesPending", "budget": max(1.0, self.limits.render.settle_s * 1000)}
        # Not waited for: a page in an endless script never takes it.
        granting = asyncio.ensure_future(session.send("Emulation.setVirtualTimePolicy", budget))
        granting.add_done_callback(lambda task: task.cancelled() or task.exception())
        whole = await self._wait()
        if self.crashed:
            return RenderResult(0, failure="render-crash", detail="the page's process ended")
        if not whole:
            with contextlib.suppress(Error, TimeoutError):
                async with asyncio.timeout(1.0):
                    await session.send("Runtime.terminateExecution")
        return await self._read(session, whole=whole)

    async def _wait(self) -> bool:
        """Wait until the page's own time is over; False when its limits of real time were reached first."""
        render = self.limits.render
        began = last = time.monotonic()
        busy_s = 0.0
        while not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), TICK_S)
            now = time.monotonic()
            if not self._waiting:
                busy_s += now - last
            last = now
            if busy_s > render.timeout_s or now - began > render.total_timeout_s:
                return self._ended.is_set()
        return True

    async def _read(self, session: CDPSession, *, whole: bool) -> RenderResult:
        """Read the page as HTML, in a world of scripts that the page's own cannot touch."""
        try:
            async with asyncio.timeout(READ_S):
                tree = await session.send("Page.getFrameTree")
                frame = tree["frameTree"]["frame"]["id"]
                world = await session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "lycosa"})
                call = {
                    "functionDeclaration": _READ,
                    "arguments": [{"value": self.limits.html_bytes}],
                    "executionContextId": world["executionContextId"],
                    "returnByValue": True,
                }
                answer = await session.send("Runtime.callFunctionOn", call)
        except TimeoutError:
            return RenderResult(0, failure="render-timeout", detail="the page does not stop")
        value = answer["result"].get("value")
        if not isinstance(value, dict):
            return RenderResult(0, failure="render-crash", detail="the page cannot be read")
        self._record_move(str(value["url"]))
        html = str(value["text"]).encode("utf-8", "replace")[: self.limits.html_bytes]
        if not whole:
            return RenderResult(0, html, failure="rendered-partly", detail="its scripts did not end in time")
        if value["size"] > self.limits.html_bytes:
            return RenderResult(0, html, failure="rendered-partly", detail="it is larger than limits.html_bytes")
        return RenderResult(0, html)

    def _crash(self, _page: Page) -> None:
        self.crashed = True
        self._ended.set()

    async def _close_popup(self, popup: Page) -> None:
        with contextlib.suppress(Error):
            await popup.close()

    # What the page asks for

    async def _answer(self, route: Route, request: Request) -> None:
        """Answer a request of the page, its frames, workers or windows: all of them come here."""
        kind = request.resource_type
        try:
            if request.is_navigation_request():
                await self._navigate(route, request)
            elif kind == "stylesheet":  # its load event is waited for; how the page looks does not matter
                await route.fulfill(status=200, content_type="text/css", body="")
            elif kind == "image":
                await route.fulfill(status=200, content_type="image/gif", body=PIXEL)
            elif self._refuses(request, kind):
                self.refused += 1
                await route.abort("blockedbyclient")
            else:
                await self._fetch(route, request)
        except Error:
            pass  # the page is gone

    async def _navigate(self, route: Route, request: Request) -> None:
        """Serve the page itself, once; where it wants to go from there is a link for the crawl to judge."""
        if not self._served:
            self._served = True
            headers = clean_headers(self.content.headers)
            if "html" not in headers.get("content-type", "").lower():
                headers["content-type"] = "text/html"  # which is what it was recognised as
            await route.fulfill(status=self.content.status, headers=headers, body=self.content.body)
            return
        if request.method == "GET" and not self._is_inner(request):
            self._record_move(request.url)
        self.refused += 1
        await route.abort("aborted")

    def _is_inner(self, request: Request) -> bool:
        """Whether a request is for a frame within the page; those are links of their own."""
        try:
            return request.frame.parent_frame is not None
        except Error:  # a window that is only being opened
            return False

    def _record_move(self, url: str) -> None:
        url = url.partition("#")[0]
        known = url == self.url or url in self.moves
        if not known and url.startswith(("http://", "https://")) and len(self.moves) < MOVES:
            self.moves.append(url)

    def _refuses(self, request: Request, kind: str) -> bool:
        if kind not in ("script", "xhr", "fetch") or request.method != "GET":
            return True  # a crawl changes nothing at a site, and listens to no stream
        if not request.url.startswith(("http://", "https://")) or self.requests >= self.limits.render.requests:
            return True
        return self._left <= 0 or is_tracker(urlsplit(request.url).hostname or "", self._host)

    async def _fetch(self, route: Route, request: Request) -> None:
        self.requests += 1
        task = asyncio.ensure_future(
            self.supply(request.url, forward_headers(request.headers, request.url), self._left)
        )
        self._waiting.add(task)
        try:
            given = await task
        except asyncio.CancelledError:  # the page is done with
            return
        finally:
            self._waiting.discard(task)
        if given.failure or not given.status:
            self.refused += 1
            await route.abort("failed")
            return
        self._left -= len(given.body)
        headers = clean_headers(given.headers)
        # Without this Playwright would answer for the host that the page may read it.
        headers.setdefault("access-control-allow-origin", "https://refused.invalid")
        await route.fulfill(status=given.status, headers=headers, body=given.body)
