"""ASGI application (Starlette): an endpoint for each route and one for its JSON twin, behind the guard.

Each address has the view that answers it; two lines stand for all pages of missions. Every GET has a JSON twin: the
same path with `.json` behind it, or `index.json` where it ends in a slash. Every error ends as a page that says what
went wrong and what to do about it.
"""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from lycosa.errors import BeingMade, CollectionError, Damaged, DiskFull, LycosaError, UsageError
from lycosa.extract.quarry_loader import only_missions
from lycosa.output.plain import printable
from lycosa.serve import (
    collection_keeping,
    crawl_form_page,
    crawl_page,
    export_page,
    graph_page,
    home,
    list_page,
    memento,
    page_detail,
    people_page,
    query_page,
    replay,
    schedule_page,
    work_page,
)
from lycosa.serve.agent_tools import AGENT_PATH, make_agent_application
from lycosa.serve.collection_folders import CollectionFolders
from lycosa.serve.collection_summaries import limited_time
from lycosa.serve.mission_pages import MISSION_ROUTES, MissionFiles, Tab, mission_tabs, page_tabs
from lycosa.serve.page_request import NotFound, PageRequest, PageRoute, View, twin_path
from lycosa.serve.people import LoggedChange, may
from lycosa.serve.schedules import Scheduler
from lycosa.serve.security import (
    SAFE_METHODS,
    TOKEN_FIELD,
    TOKEN_HEADER,
    BodyTooLarge,
    Guard,
    TokenMaker,
    make_policy,
    read_cookie,
    set_cookie,
)
from lycosa.serve.server_state import ServerState, ServeSettings
from lycosa.serve.templating import render
from lycosa.serve.translations import choose_language, mark, translator

ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/", home.show_home),
    PageRoute("/about", home.show_about),
    PageRoute("/login", home.show_login),
    PageRoute("/login", home.log_in, method="POST", role=""),
    PageRoute("/logout", home.log_out, method="POST", role=""),
    PageRoute("/people", people_page.show_people),
    PageRoute("/people", people_page.keep_person, method="POST", role="owner"),
    PageRoute("/people/delete", people_page.remove_person, method="POST", role="owner"),
    PageRoute("/people/token", people_page.make_token, method="POST", role="reader"),
    PageRoute("/people/token/delete", people_page.drop_token, method="POST", role="reader"),
    PageRoute("/log", people_page.show_log, role="owner"),
    PageRoute("/new", crawl_form_page.show_form),
    PageRoute("/crawls", crawl_form_page.begin_crawl, method="POST"),
    PageRoute("/c/{name}/", home.show_collection, label=mark("Overview")),
    PageRoute("/c/{name}/crawl", crawl_page.show_crawl, label=mark("Crawl")),
    PageRoute("/c/{name}/crawl/events", crawl_page.send_events, has_twin=False),
    PageRoute("/c/{name}/metrics", crawl_page.send_metrics, has_twin=False),
    PageRoute("/c/{name}/crawl/stop", crawl_page.stop, method="POST"),
    PageRoute("/c/{name}/crawl/continue", crawl_page.continue_crawl, method="POST"),
    PageRoute("/c/{name}/crawl/recrawl", crawl_page.recrawl, method="POST"),
    PageRoute("/c/{name}/pages", list_page.view_of("pages"), label=mark("Pages")),
    PageRoute("/c/{name}/urls", list_page.view_of("urls"), label=mark("Addresses")),
    PageRoute("/c/{name}/hosts", list_page.view_of("hosts"), label=mark("Hosts")),
    PageRoute("/c/{name}/records", list_page.view_of("records"), label=mark("Records")),
    PageRoute("/c/{name}/lists/{file}", list_page.download, has_twin=False),
    PageRoute("/c/{name}/search", home.show_search, label=mark("Search")),
    PageRoute("/c/{name}/page", page_detail.show_page),
    PageRoute("/c/{name}/page.md", page_detail.send_markdown, has_twin=False),
    PageRoute("/c/{name}/url", page_detail.show_url, label=mark("Why")),
    PageRoute("/c/{name}/host", page_detail.show_host),
    PageRoute("/c/{name}/replay", replay.replay, has_twin=False),
    PageRoute("/c/{name}/cdx", memento.cdx, has_twin=False),
    PageRoute("/c/{name}/timegate/{url:path}", memento.timegate, has_twin=False),
    PageRoute("/c/{name}/timemap/{form}/{url:path}", memento.timemap, has_twin=False),
    PageRoute("/c/{name}/memento/{timestamp}/{url:path}", memento.memento, has_twin=False),
    PageRoute("/c/{name}/graph", graph_page.show_graph, label=mark("Graph")),
    PageRoute("/c/{name}/query", query_page.show_query, label=mark("Query")),
    PageRoute("/c/{name}/query/file.{ending}", query_page.download, has_twin=False),
    PageRoute("/c/{name}/query/save", query_page.save, method="POST"),
    PageRoute("/c/{name}/query/delete", query_page.delete, method="POST"),
    PageRoute("/c/{name}/exports", export_page.show_exports, label=mark("Exports")),
    PageRoute("/c/{name}/exports", export_page.make_export, method="POST"),
    PageRoute("/c/{name}/schedule", schedule_page.show_schedule),
    PageRoute("/c/{name}/schedule", schedule_page.change_schedule, method="POST"),
    PageRoute("/c/{name}/tags", collection_keeping.change_tags, method="POST"),
    PageRoute("/c/{name}/rename", collection_keeping.rename, method="POST"),
    PageRoute("/c/{name}/copy", collection_keeping.copy, method="POST"),
    PageRoute("/c/{name}/delete", collection_keeping.delete, method="POST", role="owner"),
    PageRoute("/c/{name}/settings", crawl_form_page.show_settings, label=mark("Settings")),
    PageRoute("/c/{name}/settings", crawl_form_page.change_settings, method="POST"),
    PageRoute("/c/{name}/work", work_page.show_works),
    PageRoute("/c/{name}/work/{number}", work_page.show_work),
    PageRoute("/c/{name}/work/{number}/file", work_page.send_product, has_twin=False),
    PageRoute("/c/{name}/work/{number}/stop", work_page.stop, method="POST"),
    PageRoute("/c/{name}/work/{number}/delete", work_page.delete, method="POST"),
    *MISSION_ROUTES,
)

#: The pages of a collection that its navigation leads to: their path below the collection, and their names.
NAVIGATION = tuple(
    (route.path.removeprefix("/c/{name}/"), route.label)
    for route in ROUTES
    if route.label and route.path.startswith("/c/{name}/")
)


class BadForm(UsageError):
    """A request whose body is no form of ours."""


class ErrorPage(Struct, frozen=True):
    """What an error page says; `title` and `advice` are translated, `detail` comes from where it happened."""

    status: int
    title: str
    detail: str = ""
    advice: str = ""
    can_continue: bool = False  # whether a crawl would mend it


_BY_STATUS = {
    400: (mark("The request cannot be understood"), mark("Go back and try it again.")),
    403: (mark("This page is too old"), mark("The server was started anew since it was shown: load it again.")),
    404: (mark("There is nothing here"), mark("The address may be wrong, or what it names was moved or deleted.")),
    405: (mark("This address takes no such request"), mark("Go back and try it again.")),
    500: (
        mark("Something went wrong here"),
        mark("The terminal in which the server runs says what; please report it."),
    ),
    503: (
        mark("This took too long"),
        mark("Ask for less: a filter, a smaller part. A crawl that runs is not disturbed."),
    ),
}


def describe_status(status: int) -> View:
    """The page for a status without more to say."""
    title, advice = _BY_STATUS.get(status, _BY_STATUS[400])
    return View("error.html", ErrorPage(status=status, title=title, advice=advice), status)


def describe_error(problem: LycosaError, *, can_open: bool = False, is_change: bool = False) -> View:
    """The page for an error that a person must know; `can_open`: the collection itself can be opened."""
    status, title, advice = _describe(problem, can_open=can_open, is_change=is_change)
    page = ErrorPage(
        status=status, title=title, detail=str(problem), advice=advice, can_continue=isinstance(problem, Damaged)
    )
    return View("error.html", page, status)


def _describe(problem: LycosaError, *, can_open: bool, is_change: bool) -> tuple[int, str, str]:
    if isinstance(problem, NotFound):
        return 404, *_BY_STATUS[404]
    if isinstance(problem, Damaged):
        return 503, mark("This collection is damaged"), mark("Continue its crawl: it makes the database anew.")
    if isinstance(problem, BeingMade):
        return 503, mark("This is not ready yet"), mark("Load the page again in a moment.")
    if isinstance(problem, CollectionError) and is_change:
        return 503, mark("This was not done"), mark("Nothing was changed: see to what is said here, then try again.")
    if isinstance(problem, CollectionError) and can_open:
        return 503, mark("This cannot be shown"), mark("The rest of the collection can: see its other pages.")
    if isinstance(problem, CollectionError):
        return 503, mark("This collection cannot be opened"), mark("All others can: see the list of collections.")
    if isinstance(problem, DiskFull):
        return 507, mark("The disk is full"), mark("Make room, then try it again.")
    if isinstance(problem, UsageError):
        return 400, *_BY_STATUS[400]
    return 500, *_BY_STATUS[500]


VIEW_S = 30.0  # after which a page that is not ready is given up
_MOST_FIELDS = 500

_STATIC = Path(__file__).parent / "static"


def make_server_state(settings: ServeSettings) -> ServerState:
    """What all requests for a folder of collections share."""
    return ServerState(
        settings=settings,
        folders=CollectionFolders(settings.folder),
        tokens=TokenMaker(),
        replay=replay.replay_pointed,
        navigation=NAVIGATION,
    )


def make_application(settings: ServeSettings) -> Starlette:
    """The application for a folder of collections."""
    server_state = make_server_state(settings)
    routes: list[BaseRoute] = [
        Mount("/static/m", MissionFiles()),
        Mount("/static", StaticFiles(directory=_STATIC), name="static"),
    ]
    for line in ROUTES:
        if line.method == "GET" and line.has_twin:  # first: a name in the path of the page would take its ending
            routes.append(Route(twin_path(line.path), _endpoint(line, server_state, as_json=True), methods=["GET"]))
        routes.append(Route(line.path, _endpoint(line, server_state, as_json=False), methods=[line.method]))

    agents = make_agent_application(server_state) if settings.agents else None
    if agents is not None:
        routes.append(Mount(AGENT_PATH, agents))

    async def show_missing(http_request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        as_json = http_request.scope["path"].endswith(".json")
        request = _make_request(http_request, server_state, QueryParams(), as_json=as_json)  # its body is not read
        return _respond_at_once(request, describe_status(problem.status_code))

    scheduler = Scheduler(server_state.folders, settings.crawl_options)

    @asynccontextmanager
    async def live(_: Starlette) -> AsyncIterator[None]:
        async with agents.router.lifespan_context(agents) if agents is not None else nullcontext():
            await anyio.to_thread.run_sync(collection_keeping.remove_leftovers, settings.folder)
            scheduler.start()
            yield
        scheduler.close()
        await anyio.to_thread.run_sync(server_state.indexing.close)

    app = Starlette(
        routes=routes,
        lifespan=live,
        middleware=[Middleware(Guard, names=settings.names, door=server_state)],
        exception_handlers={HTTPException: show_missing},
    )
    app.state.server_state = server_state
    return app


def _endpoint(line: PageRoute, server_state: ServerState, *, as_json: bool) -> Callable[[Request], Awaitable[Response]]:
    async def answer(http_request: Request) -> Response:
        try:
            request = await _read_request(http_request, server_state, as_json=as_json)
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody reads
        except (BodyTooLarge, TimeoutError, ValueError) as problem:
            empty = _make_request(http_request, server_state, QueryParams(), as_json=as_json)
            return _respond_at_once(empty, describe_error(BadForm(_describe_body(problem))))
        request.has_twin = line.method == "GET" and line.has_twin
        if http_request.method not in SAFE_METHODS and not line.only_reads(request.path):
            token = request.form.get(TOKEN_FIELD) or http_request.headers.get(TOKEN_HEADER, "")
            if not server_state.tokens.is_right(request.session or request.user, token):
                return _respond_at_once(request, describe_status(403))
        needed = line.needed_role(request.path)
        if not may(request.role, needed):
            return _respond_at_once(request, _describe_lack(needed))
        try:
            with anyio.fail_after(VIEW_S):
                response = await anyio.to_thread.run_sync(_run_view, line, request, abandon_on_cancel=True)
        except TimeoutError:
            request.interrupt()
            response = _respond_at_once(request, describe_status(503))
        if http_request.method not in SAFE_METHODS and not line.only_reads(request.path):
            await anyio.to_thread.run_sync(_log, request, str(http_request.scope["path"]), response.status_code)
        return response

    return answer


def _describe_lack(needed: str) -> View:
    """The page for who may not do what was asked for."""
    title, advice = mark("Your role does not allow this"), mark("An owner can give you another one, under People.")
    return View(
        "error.html", ErrorPage(status=403, title=title, detail=f"It needs the role {needed}.", advice=advice), 403
    )


def _log(request: PageRequest, path: str, status: int) -> None:
    request.server_state.people.log(LoggedChange(time.time(), request.user, request.role, request.client, path, status))


def _run_view(line: PageRoute, request: PageRequest) -> Response:
    """Run a view and its template; the collection is open as long as both need it."""
    try:
        with only_missions(), limited_time(VIEW_S):
            found = line.view(request)
            return found if isinstance(found, Response) else _respond(request, found)
    except LycosaError as problem:
        is_change = line.method not in SAFE_METHODS
        answer = _respond(request, describe_error(problem, can_open=request.can_open, is_change=is_change))
        if isinstance(problem, BeingMade):
            answer.headers["retry-after"] = str(problem.retry_after_s)
        return answer
    except Exception:
        if column := request.find_odd_value():
            text = f"The database of this collection has values in {column} that no lycosa wrote there."
            return _respond(request, describe_error(Damaged(text)))
        lines = traceback.format_exc().splitlines()  # they may hold what the network brought
        print(*map(printable, lines), sep="\n", file=sys.stderr)
        return _respond(request, describe_status(500))
    finally:
        request.close()


async def _read_request(http_request: Request, server_state: ServerState, *, as_json: bool) -> PageRequest:
    form = QueryParams()
    if http_request.method not in SAFE_METHODS:
        body = await http_request.body()
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        form = QueryParams(pairs)
    return _make_request(http_request, server_state, form, as_json=as_json)


def _make_request(http_request: Request, server_state: ServerState, form: QueryParams, *, as_json: bool) -> PageRequest:
    address = str(http_request.scope["path"])  # of the URL a question mark in a name would be the end
    if as_json:
        address = address.removesuffix(".json")
        address = address.removesuffix("index") if address.endswith("/index") else address
    return PageRequest(
        server_state=server_state,
        address=address,
        path=http_request.path_params,
        query=http_request.query_params,
        form=form,
        translate=translator(choose_language(http_request.headers.get("accept-language", ""))),
        session=http_request.scope.get("lycosa_session", ""),
        user=http_request.scope.get("lycosa_user", ""),
        role=http_request.scope.get("lycosa_role", ""),
        cookie=read_cookie(http_request.headers),
        client=http_request.client.host if http_request.client else "",
        as_json=as_json,
        origin=f"{http_request.url.scheme}://{http_request.url.netloc}",
        headers=http_request.headers,
        target=f"{http_request.scope.get('raw_path', b'').decode('latin-1')}?{http_request.url.query}".rstrip("?"),
    )


def _respond(request: PageRequest, view: View) -> Response:
    tabs = [] if request.as_json else mission_tabs(request)
    return _respond_at_once(request, view, tabs)


def _respond_at_once(request: PageRequest, view: View, tabs: Sequence[Tab] = ()) -> Response:
    """Answer without a look at the collection, for which all others would have to wait."""
    if request.as_json:
        return Response(msgspec.json.encode(view.data), view.status, media_type="application/json")
    pages = page_tabs(request)
    body = render(view.template, view.data, request, mission_tabs=tabs, page_tabs=pages)
    headers = {"content-security-policy": make_policy(view.images)} if view.images else None
    response = Response(body, view.status, headers, media_type="text/html")
    if request.new_cookie:
        set_cookie(response, request.new_cookie, is_secure=request.settings.secure)
    return response


def _describe_body(problem: Exception) -> str:
    if isinstance(problem, BodyTooLarge):
        return "The form is too large."
    if isinstance(problem, TimeoutError | asyncio.TimeoutError):
        return "The form did not arrive in time."
    return "The form cannot be read."
