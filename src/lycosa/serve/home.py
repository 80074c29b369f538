"""Pages around the collections and of a whole one: home, log-in, the program; the overview and the search for words.

By the JSON twin of the page about the program a second server recognises the first. An overview says what a collection
holds, what made it, and its rounds.
"""

from __future__ import annotations

import re
import secrets

from msgspec import Struct
from starlette.responses import RedirectResponse, Response

from lycosa.analysis.search import MARK, SearchIndex, read_question
from lycosa.collection.status import Status, read_status
from lycosa.config.loading import LoadedMission
from lycosa.config.setting_docs import SettingRow, describe
from lycosa.errors import BeingMade, LycosaError, UsageError
from lycosa.lists.index import index_folder
from lycosa.lists.query import read_count
from lycosa.missions import registry
from lycosa.serve.collection_folders import decode_name
from lycosa.serve.collection_keeping import read_tags
from lycosa.serve.collection_summaries import CollectionSummary
from lycosa.serve.crawl_form import MissionOffer, offered_missions
from lycosa.serve.indexing import IndexState
from lycosa.serve.page_request import NotFound, PageRequest, View, require_folder
from lycosa.serve.security import COOKIE, set_cookie
from lycosa.serve.translations import mark
from lycosa.version import __version__


class RoundFigures(Struct, frozen=True):
    """A round, and what it found."""

    round: int
    started: float
    ended: float  # Unix time; 0: it is unfinished
    answers: int
    new: int
    changed: int
    unchanged: int
    gone: int
    back: int


class CollectionPage(Struct, frozen=True):
    """What the overview of a collection shows."""

    name: str
    summary: CollectionSummary
    status: Status
    seeds: list[str]  # the first hundred
    rounds: list[RoundFigures]
    settings: list[SettingRow]  # those that differ from their defaults
    problem: str = ""  # why they cannot be read


def show_collection(request: PageRequest) -> View:
    """One collection."""
    collection = request.collection
    try:
        mission = collection.mission
        rows = describe(LoadedMission(mission, {}))
        plain = {row.key: row.value for row in describe(LoadedMission(type(mission)(), {}))}
        changed = [row for row in rows if plain.get(row.key) != row.value and row.key != "seeds"]
        problem = ""
    except LycosaError as fault:  # a mission whose plug-in is not here any more
        changed, problem = [], str(fault)
    data = CollectionPage(
        name=request.name,
        summary=request.server_state.summaries.read(request.name, request.folder),
        status=read_status(request.folder),
        seeds=collection.seeds()[:100],
        rounds=[
            RoundFigures(
                round=row.round,
                started=row.started.timestamp(),
                ended=row.ended.timestamp() if row.ended else 0.0,
                answers=row.answers,
                new=row.new,
                changed=row.changed,
                unchanged=row.unchanged,
                gone=row.gone,
                back=row.back,
            )
            for row in collection.rounds[-50:]
        ],
        settings=changed,
        problem=problem,
    )
    return View("collection.html", data)


_SHOWN = 20
_MOST = 500  # hits that can be paged to
_RANKED = 20_000  # of those that fit, how many are compared
_SNIPPET_S = 0.06


class SearchHit(Struct, frozen=True):
    """A page that fits; each piece of the snippet with whether it was asked for."""

    url: str
    title: str
    kind: str
    snippet: list[tuple[str, bool]]
    score: float


class SearchView(Struct):
    """What the search shows."""

    q: str
    total: int
    hits: list[SearchHit]
    index: IndexState
    page: int = 1
    next_page: str = ""
    ranked: int = 0  # how many were compared, where that is not all
    nothing: str = ""
    problem: str = ""


def show_search(request: PageRequest) -> View:
    """Search: ?q=…, with &page=… further hits."""
    words = request.query.get("q", "").strip()[:1000]
    state = request.server_state.indexing.prepare(request.folder)
    view = SearchView(words, 0, [], state)
    if not words:
        return View("search.html", view)
    view.page = read_count("page", request.query.get("page", "1"), most=_MOST // _SHOWN)
    try:
        question = read_question(words)
    except UsageError as problem:
        view.problem = str(problem)
        return View("search.html", view, 400)
    collection = request.collection
    index = SearchIndex(collection, registry.analyzer_of(collection.mission), place=index_folder(request.folder))
    try:
        view.total = index.count(question)
        if not view.total and state.words < 1 and not state.problem:
            raise BeingMade
        view.ranked = _RANKED if view.total > _RANKED else 0
        view.nothing = "" if view.total else index.explain_nothing(question)
        skip = (view.page - 1) * _SHOWN
        for hit in index.search(question, limit=_SHOWN, skip=skip, ranked=view.ranked, seconds=_SNIPPET_S):
            pieces = hit.snippet.replace(MARK[1], MARK[0]).split(MARK[0])
            snippet = [(piece, bool(nth % 2)) for nth, piece in enumerate(pieces) if piece]
            view.hits.append(SearchHit(hit.url, hit.title, hit.kind, snippet, hit.score))
    finally:
        index.close()
    if view.total > skip + _SHOWN and view.page < _MOST // _SHOWN:
        view.next_page = request.here(page=view.page + 1)
    return View("search.html", view)


class AboutPage(Struct, frozen=True):
    """The program, and the folder that it shows; to strangers not even that."""

    program: str
    version: str = ""
    folder: str = ""


def show_about(request: PageRequest) -> View:
    """The program and its folder."""
    if not request.role:
        return View("about.html", AboutPage("lycosa"))
    return View("about.html", AboutPage("lycosa", __version__, str(request.settings.folder)))


#: An address of ours: nothing that a browser could take for another host.
_OWN_PAGE = re.compile(r"/(?![/\\])[!-~]*")


class LoginPage(Struct, frozen=True):
    """What the page that asks for the password says."""

    problem: str = ""
    wait_s: int = 0
    to: str = ""  # the page that was asked for
    has_people: bool = False  # whether somebody has an account


def show_login(request: PageRequest) -> View:
    """The question for the password."""
    if request.server_state.gate is None:
        raise NotFound("No password is asked for.")
    if not request.cookie:  # so that wrong passwords are this browser's, not those of all behind its address
        request.new_cookie = secrets.token_urlsafe(16)
    return View(
        "login.html", LoginPage(to=request.query.get("to", ""), has_people=bool(request.server_state.people.all()))
    )


def log_in(request: PageRequest) -> View | Response:
    """Open a session for the right password; a wrong one makes its address wait."""
    gate = request.server_state.gate
    if gate is None:
        raise NotFound("No password is asked for.")
    to, has_people = request.form.get("to", ""), bool(request.server_state.people.all())
    if (wait := gate.wait_s(request.client, request.cookie)) > 0:
        return View("login.html", LoginPage(mark("Too many wrong passwords."), int(wait) + 1, to, has_people), 429)
    name = request.form.get("person", "").strip()[:100]
    name = name if gate.is_persons(name) else ""  # asked once: whose account ends meanwhile is nobody
    if not gate.try_password(request.client, request.form.get("password", ""), request.cookie, name=name):
        wait = gate.wait_s(request.client, request.cookie)
        return View("login.html", LoginPage(mark("The password is wrong."), int(wait + 0.99), to, has_people), 401)
    response = RedirectResponse(to if _OWN_PAGE.fullmatch(to) else "/", 303)
    set_cookie(response, gate.open_session(name), is_secure=request.settings.secure)
    return response


def log_out(request: PageRequest) -> Response:
    """End the session."""
    if request.server_state.gate is not None:
        request.server_state.gate.close_session(request.session)
    response = RedirectResponse("/login" if request.server_state.gate else "/", 303)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=request.settings.secure)
    return response


PAGE = 100  # collections on one page


class HomePage(Struct, frozen=True):
    """What home shows."""

    folder: str
    count: int  # of all collections that fit the filter
    collections: list[CollectionSummary]  # of this page
    page: int
    last_page: int
    query: str
    missions: list[MissionOffer]
    tags: dict[str, list[str]]  # by name


def show_home(request: PageRequest) -> View:
    """The list of collections, in the order of their names."""
    require_folder(request)
    query, tags = request.query.get("q", "").strip()[:200], read_tags(request.settings.folder)
    found = {
        name: folder
        for name, folder in request.server_state.folders.list().items()
        if query.casefold() in " ".join([decode_name(name), *tags.get(name, [])]).casefold()
    }
    last_page = max(1, -(-len(found) // PAGE))
    page = _page_number(request.query.get("page", ""), last_page)
    shown = list(found.items())[(page - 1) * PAGE : page * PAGE]
    data = HomePage(
        folder=str(request.settings.folder),
        count=len(found),
        collections=[request.server_state.summaries.read(name, folder) for name, folder in shown],
        page=page,
        last_page=last_page,
        query=query,
        missions=offered_missions(),
        tags={name: tags[name] for name, _ in shown if name in tags},
    )
    return View("home.html", data)


def _page_number(text: str, last: int) -> int:
    return min(last, max(1, int(text))) if text.isdecimal() and len(text) < 9 else 1
