"""Crawl page: a crawl as it runs, live by server-sent events, and the buttons that stop and continue it.

All who watch a collection share one reading of its figures, at most one in two seconds (`watched_crawls`). Each gets
the parts of the page that changed, made by the same templates as the page itself; where nothing changes, nothing is
sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import anyio.to_thread
import msgspec
from starlette.responses import RedirectResponse, Response, StreamingResponse

from lycosa.crawler.cluster_status import format_collection_metrics
from lycosa.errors import BeingMade, LycosaError
from lycosa.output.prometheus import CONTENT_TYPE
from lycosa.serve.collection_summaries import limited_time
from lycosa.serve.crawl_form import check_limit, refuse_risky_mission
from lycosa.serve.mission_pages import count_found, mission_tabs
from lycosa.serve.page_request import PageRequest, View, collection_link
from lycosa.serve.templating import render, tell
from lycosa.serve.watched_crawls import LOOK_S, start_crawl, stop_crawl

PING_S = 20.0  # without news, after which a comment keeps the connection
MOST_WATCHERS = 64
LOOK_LIMIT_S = 10.0  # that one look at a collection may take

#: The parts of the page that change while one looks, each a template below crawl/.
PARTS = ("state", "tiles", "chart", "counts", "resting", "log")


def show_crawl(request: PageRequest) -> View:
    """The page of a crawl."""
    return View("crawl.html", request.server_state.watch.read(request.name, request.folder))


def send_events(request: PageRequest) -> Response:
    """The parts of the page that change, as they change."""
    folder, watch = request.folder, request.server_state.watch
    if watch.watchers >= MOST_WATCHERS:
        return Response("Too many pages are watching.\n", 503, {"retry-after": "30"}, "text/plain")
    watch.read(request.name, folder)  # a collection that cannot be opened is an error page, not a stream
    return StreamingResponse(
        _stream_parts(request, folder), media_type="text/event-stream", headers={"cache-control": "no-store"}
    )


async def _stream_parts(request: PageRequest, folder: Path) -> AsyncIterator[str]:
    watch = request.server_state.watch
    watch.watchers += 1
    shown: dict[str, str] = {}
    spoke_at = time.monotonic()
    try:
        yield "retry: 3000\n\n"
        while not watch.closing and _may_watch(request):
            changed = await anyio.to_thread.run_sync(_render_changed, request, folder, shown)
            for part, html in changed.items():
                yield f"event: part\ndata: {msgspec.json.encode({'part': part, 'html': html}).decode()}\n\n"
                spoke_at = time.monotonic()
            if time.monotonic() - spoke_at >= PING_S:
                yield ": nothing new\n\n"
                spoke_at = time.monotonic()
            for _ in range(int(LOOK_S / 0.25)):
                if not watch.closing:
                    await asyncio.sleep(0.25)
    finally:
        watch.watchers -= 1


def _may_watch(request: PageRequest) -> bool:
    """Whether the session that opened a stream still lasts."""
    gate = request.server_state.gate
    return gate is None or not request.session or gate.has_session(request.session)


def _render_changed(request: PageRequest, folder: Path, shown: dict[str, str]) -> dict[str, str]:
    """The parts that differ from what was shown; remembers them."""
    try:
        with limited_time(LOOK_LIMIT_S):
            page = request.server_state.watch.read(request.name, folder)
        parts = {"problem": "", **{part: render(f"crawl/{part}.html", page, request) for part in PARTS}}
        parts["tabs"] = render("tabs.html", page, request, mission_tabs=mission_tabs(request), page_tabs=())
        if not page.figures.process:
            with suppress(BeingMade):  # the next look tells
                parts["found"] = render("crawl/found.html", count_found(request), request)
    except LycosaError as problem:  # it vanished, or is being made anew
        parts = {"problem": tell(str(problem), request.language) or str(problem)}
    changed = {part: html for part, html in parts.items() if shown.get(part) != html}
    shown |= changed
    return changed


def send_metrics(request: PageRequest) -> Response:
    """The figures of the collection for a scraper."""
    return Response(format_collection_metrics(request.folder), media_type=CONTENT_TYPE)


def stop(request: PageRequest) -> Response:
    """Ask the crawl to end, as Ctrl-C does; a second time, at once."""
    stop_crawl(request.folder)
    return _go_back(request)


def continue_crawl(request: PageRequest) -> Response:
    """Go on with the collection's own mission; a higher page limit and a new try for what failed may be asked for."""
    arguments = []
    if limit := request.form.get("limit", "").strip():
        arguments.append(f"--limit={check_limit(limit)}")
    if request.form.get("retry"):
        arguments.append("--retry")
    return _start(request, arguments)


def recrawl(request: PageRequest) -> Response:
    """Begin the next round: look again at the pages that are due, or at all of them."""
    return _start(request, ["--recrawl", *(["--full"] if request.form.get("full") else [])])


def _start(request: PageRequest, arguments: list[str]) -> Response:
    folder = request.folder
    refuse_risky_mission(folder, below=request.settings.folder)
    start_crawl(folder, [f"--collection={folder}", *arguments], options=request.settings.crawl_options)
    return _go_back(request)


def _go_back(request: PageRequest) -> Response:
    where = "/" if request.form.get("back") == "home" else collection_link(request.name, "crawl")
    return RedirectResponse(where, 303)
