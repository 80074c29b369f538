"""Stills: how a page looks in the browser when somebody else answers for the whole web.

An address and the function that answers for every request go in; a picture or PDF, the text that readers see and the
requests that had no answer come out. The browser is that of the pool, which has no network of its own.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import tempfile
from collections.abc import Callable, Iterator
from urllib.parse import urljoin, urlsplit

from msgspec import Struct
from playwright.async_api import Browser, BrowserContext, Error, Request, Route

from lycosa.config.settings import Mission
from lycosa.errors import LycosaError
from lycosa.render.browser_pool import BrowserBroken, BrowserPool
from lycosa.render.browser_processes import find_browser
from lycosa.render.messages import Resource
from lycosa.render.page_session import RenderLimits, clean_headers, is_tracker

LOAD_S = 60.0
SETTLE_S = 0.5  # for what scripts do once everything is there
VIEW = {"width": 1280, "height": 900}
_MOST_HEIGHT = 10_000  # of a picture
_MOST_REQUESTS = 2_000
_HOPS = 10
_MOVED = (301, 302, 303, 307, 308)
_TEXT_CHARS = 1_000_000
#: What lies below is loaded when it comes into view.
_SCROLL = """async () => {
  const end = Math.min(document.documentElement.scrollHeight, 20000);
  for (let y = 0; y < end; y += 800) { scrollTo(0, y); await new Promise((done) => setTimeout(done, 20)); }
  scrollTo(0, 0);
}"""

#: Pixels that are far from the same, in the area of both.
_COMPARE = """async (pictures) => {
  const read = async (picture) => {
    const image = new Image();
    image.src = `data:image/png;base64,${picture}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const drawn = canvas.getContext('2d');
    drawn.drawImage(image, 0, 0);
    return drawn.getImageData(0, 0, image.width, image.height);
  };
  const [a, b] = [await read(pictures[0]), await read(pictures[1])];
  const width = Math.min(a.width, b.width), height = Math.min(a.height, b.height);
  let other = Math.max(a.width, b.width) * Math.max(a.height, b.height) - width * height;
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) {
    const i = 4 * (y * a.width + x), j = 4 * (y * b.width + x);
    for (let c = 0; c < 3; c++) if (Math.abs(a.data[i + c] - b.data[j + c]) > 32) { other++; break; }
  }
  return other / Math.max(1, Math.max(a.width, b.width) * Math.max(a.height, b.height));
}"""

#: The answer to a GET of an address; None: there is none.
Answers = Callable[[str], Resource | None]


class Still(Struct):
    """What a page looked like."""

    picture: bytes = b""  # PNG, or PDF where that was asked for
    text: str = ""
    asked: list[str] = []  # every address that was asked for
    failed: list[str] = []  # those without an answer, or with the status of an error
    problem: str = ""  # why there is nothing


class StillCamera:
    """Takes stills one after the other, in one browser."""

    def __init__(self, mission: Mission, folder: str) -> None:
        program = find_browser(mission.render.browser)
        if program.missing:
            raise LycosaError(f"No browser can show the pages: {program.missing}.")
        limits = RenderLimits(mission.render, mission.limits.html_bytes, mission.agent.name)
        self._loop = asyncio.new_event_loop()
        self._pool = BrowserPool(program.path, limits, folder=folder, fonts=True)
        self._browser: Browser | None = None

    def take(self, url: str, answers: Answers, *, pdf: bool = False, scripts: bool = True) -> Still:
        """Show a page and take its picture; whatever goes wrong is the `problem` of the still."""
        still = Still()
        try:
            self._loop.run_until_complete(self._take(url, answers, still, pdf=pdf, scripts=scripts))
        except (Error, TimeoutError) as error:
            still.problem = str(error).partition("\n")[0][:200] or "the page did not load in time"
        except BrowserBroken as broken:
            raise LycosaError(f"No browser can show the pages: {broken}.") from None
        return still

    async def _take(self, url: str, answers: Answers, still: Still, *, pdf: bool, scripts: bool) -> None:
        if self._browser is None or not self._browser.is_connected():
            self._browser = await self._pool.launch()
        context = await self._browser.new_context(
            viewport=VIEW,  # type: ignore[arg-type]
            service_workers="block",
            accept_downloads=False,
            reduced_motion="reduce",
            java_script_enabled=scripts,
            timezone_id="UTC",
        )
        try:
            async with asyncio.timeout(LOAD_S):
                await self._show(context, url, answers, still, pdf=pdf)
        finally:
            with contextlib.suppress(Error):
                await context.close()

    async def _show(self, context: BrowserContext, url: str, answers: Answers, still: Still, *, pdf: bool) -> None:
        host = urlsplit(url).hostname or ""

        async def answer(route: Route, request: Request) -> None:
            with contextlib.suppress(Error):
                if is_tracker(urlsplit(request.url).hostname or "", host):
                    await route.abort("blockedbyclient")  # no page needs it for what it shows
                else:
                    await _answer(route, request, answers, still)

        await context.route("**/*", answer)
        page = await context.new_page()
        await page.goto(url, wait_until="load", timeout=LOAD_S * 1000)
        await page.evaluate(_SCROLL)
        await asyncio.sleep(SETTLE_S)
        still.text = (await page.evaluate("() => document.body ? document.body.innerText : ''"))[:_TEXT_CHARS]
        if pdf:
            still.picture = await page.pdf(print_background=True)
            return
        height = int(await page.evaluate("() => document.documentElement.scrollHeight"))
        await page.set_viewport_size({"width": VIEW["width"], "height": max(VIEW["height"], min(height, _MOST_HEIGHT))})
        still.picture = await page.screenshot(animations="disabled")

    def compare(self, one: bytes, other: bytes) -> float:
        """The part of two pictures that is another one, 0 to 1; where one is larger, that part is."""
        return self._loop.run_until_complete(self._compare(one, other))

    async def _compare(self, one: bytes, other: bytes) -> float:
        if self._browser is None:
            return 1.0
        context = await self._browser.new_context()
        try:
            page = await context.new_page()
            pictures = [base64.b64encode(picture).decode() for picture in (one, other)]
            return float(await page.evaluate(_COMPARE, pictures))
        finally:
            await context.close()

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(Error, TimeoutError):
            if self._browser is not None:
                self._loop.run_until_complete(self._browser.close())
            self._loop.run_until_complete(self._pool.close())
        self._loop.close()


async def _answer(route: Route, request: Request, answers: Answers, still: Still) -> None:
    """Answer one request of a page: nothing is changed at a site, and nothing else is asked."""
    url = request.url.partition("#")[0]
    still.asked.append(url)
    given = _follow(answers, url) if request.method == "GET" and len(still.asked) <= _MOST_REQUESTS else None
    if given is None or not given.status:
        still.failed.append(url)
        await route.abort("failed")
        return
    if given.status >= 400:
        still.failed.append(url)
    headers = clean_headers(given.headers)
    if request.headers.get("origin"):  # as the site itself would have to allow it, which it did when it was asked
        headers.setdefault("access-control-allow-origin", "*")
    await route.fulfill(status=given.status, headers=headers, body=given.body)


def _follow(answers: Answers, url: str) -> Resource | None:
    """The answer at the end of redirects: the browser takes none from anybody but a server."""
    given = answers(url)
    for _ in range(_HOPS):
        if given is None or given.status not in _MOVED or not (onward := given.headers.get("location")):
            break
        given = answers(urljoin(url, onward))
    return given


@contextlib.contextmanager
def opened_camera(mission: Mission) -> Iterator[StillCamera]:
    """A camera, and a folder for its browser, for as long as they are needed."""
    with tempfile.TemporaryDirectory(prefix="lycosa-still-") as folder:
        camera = StillCamera(mission, folder)
        try:
            yield camera
        finally:
            camera.close()
