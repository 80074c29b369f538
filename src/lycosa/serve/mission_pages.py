"""Missions' pages: finds the page that an address below /c/NAME/m/MISSION/ names, and lets its view answer.

Templates, static files and translations of a mission stand in folders beside the module of its view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from lycosa.errors import LycosaError, UsageError
from lycosa.lists.definition import ListDefinition, TableList
from lycosa.lists.files import FILE_TYPES, send_structs
from lycosa.missions import registry
from lycosa.missions.manifest import WebPage, load_attribute
from lycosa.serve.list_page import count_items, show_list
from lycosa.serve.page_request import NotFound, PageRequest, PageRoute, View, ViewFunction
from lycosa.serve.translations import Translator, mission_translator

#: Below this path of a collection are the pages of its missions.
PATH = "m/{mission}/{page:path}"
_MOST_NAMES = 100  # that addresses may bring, of missions that are there or not


class Tab(NamedTuple):
    """An entry of the navigation."""

    address: str
    label: str  # in the language of who asks
    is_current: bool
    instead_of: str = ""  # the page of the core whose place it takes


def show_mission_page(request: PageRequest) -> View | Response:
    """The page of a mission, its JSON twin, or its list as a file."""
    page = _find_page(request, "GET")
    view = _load_view(page)
    if isinstance(view, ListDefinition):
        return show_list(request, view)
    found = view(request)
    if not request.file_type or isinstance(found, Response):
        return found
    if found.row is None:
        raise NotFound("This page has no list that leaves as a file.")
    rows = getattr(found.data, found.rows)
    name = f"{request.label.replace('/', '-')}-{page.path or request.mission}"
    return send_structs(rows, found.row, request.file_type, name=name)


def send_to_mission(request: PageRequest) -> View | Response:
    """Hand a form to a mission."""
    view = _load_view(_find_page(request, "POST"))
    if isinstance(view, ListDefinition):
        raise NotFound(f"There is no such page of the mission {request.mission}.")
    return view(request)


def _only_reads(path: Mapping[str, str]) -> bool:
    """Whether a POST to a page of a mission changes nothing."""
    pages = pages_of(path["mission"])
    return any(page.only_reads for page in pages if page.method == "POST" and page.path == path["page"])


MISSION_ROUTES = (
    PageRoute(f"/c/{{name}}/{PATH}", show_mission_page, has_twin=False),
    PageRoute(f"/c/{{name}}/{PATH}", send_to_mission, method="POST", only_reads=_only_reads),
)


def _find_page(request: PageRequest, method: str) -> WebPage:
    """Find the page of a request, and have links, words and templates be those of its mission."""
    mission, path = request.path["mission"], request.path["page"]
    pages = {page.path: page for page in pages_of(mission) if page.method == method}
    found = pages.get(path)
    if found is None and path.endswith(".json"):
        path = path.removesuffix(".json")
        found = pages.get("" if path == "index" else path)
        request.as_json = True
        request.address = request.place(f"m/{mission}/{'' if path == 'index' else path}")
        if found is not None and not found.has_twin:
            found = None
    base, _, ending = path.rpartition(".")
    if found is None and ending in FILE_TYPES:
        found = pages.get("" if base == "index" or base not in pages and _is_list(pages.get(""), base) else base)
        request.file_type = ending
        if found is not None and not found.has_twin:
            found = None
    if found is None:
        raise NotFound(f"There is no such page of the mission {mission}.")
    request.mission = mission
    request.has_twin = found.has_twin and method == "GET"
    request.package = package_of(found)
    request.translate = mission_translator(request.language, request.package)
    return found


@lru_cache(maxsize=_MOST_NAMES)
def pages_of(mission: str) -> Sequence[WebPage]:
    """The pages that a mission brings; none where it is not installed, or cannot be loaded."""
    try:
        return registry.find(mission).pages if registry.has(mission) else ()
    except UsageError:
        return ()


def list_pages(mission: str) -> list[tuple[str, ViewFunction | ListDefinition]]:
    """The pages of a mission that programs may read: their paths, and the list or the view that each is."""
    return [(page.path, _load_view(page)) for page in pages_of(mission) if page.method == "GET" and page.has_twin]


def package_of(page: WebPage) -> str:
    """The package in which a page's view stands, with its templates beside it."""
    return page.view.partition(":")[0].rpartition(".")[0]


def _is_list(page: WebPage | None, name: str) -> bool:
    """Whether a page is the list of a name."""
    view = _load_view(page) if page is not None else None
    return isinstance(view, ListDefinition) and view.name == name


@cache
def _load_view(page: WebPage) -> ViewFunction | ListDefinition:
    view: ViewFunction | ListDefinition = load_attribute(page.view, what="page")
    return view


def mission_tabs(request: PageRequest) -> list[Tab]:
    """The missions of the request's collection that have pages, each with the first of them."""
    try:
        missions = request.server_state.summaries.read(request.name, request.folder).missions if request.name else []
    except LycosaError:  # it vanished, and the page says so
        return []
    if request.mission and request.mission not in missions:
        missions = [*missions, request.mission]
    found = []
    for mission in dict.fromkeys(missions):
        if pages := pages_of(mission):
            words = _words(request, pages[0])
            address = request.link(f"m/{mission}/{pages[0].path}")
            found.append(Tab(address, words(pages[0].title), request.mission == mission, pages[0].instead_of))
    return found


class Found(NamedTuple):
    """How many items a list of a mission has."""

    address: str
    said: str  # in the language of who asks


def count_found(request: PageRequest) -> list[Found]:
    """What the collection's missions found, as their lists count it; BeingMade where they are not ready."""
    found = []
    for mission in request.server_state.summaries.read(request.name, request.folder).missions:
        for page in pages_of(mission):
            view = _load_view(page) if page.title and page.method == "GET" else None
            if isinstance(view, TableList) and view.counted[0] and (count := count_items(request.folder, view)):
                said = _words(request, page).count(count, *view.counted)
                found.append(Found(request.link(f"m/{mission}/{page.path}"), said))
    return found


def page_tabs(request: PageRequest) -> list[Tab]:
    """The pages of the mission that is looked at; none where it is only one."""
    pages = [page for page in pages_of(request.mission) if page.title] if request.mission else []
    if len(pages) < 2:
        return []
    return [
        Tab(
            request.mission_link(page.path),
            _words(request, page)(page.title),
            request.address == request.place(f"m/{request.mission}/{page.path}"),
        )
        for page in pages
    ]


def _words(request: PageRequest, page: WebPage) -> Translator:
    return mission_translator(request.language, package_of(page))


class MissionFiles:
    """The static files of missions, as an ASGI application below /static/m; the first part of a path is the mission."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", "")).strip("/")
        mission, _, file = path.partition("/")
        found = _files_of(mission)
        if found is None or not file:
            raise HTTPException(404)
        response = await found.get_response(file, scope)
        await response(scope, receive, send)


@lru_cache(maxsize=_MOST_NAMES)
def _files_of(mission: str) -> StaticFiles | None:
    packages = dict.fromkeys(package_of(page) for page in pages_of(mission))
    found = [(package, "static") for package in packages if (files(package) / "static").is_dir()]
    return StaticFiles(packages=[*found]) if found else None
