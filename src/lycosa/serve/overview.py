"""Pages of a whole collection: the overview (what it holds, what made it, its rounds), and the search for words."""

from __future__ import annotations

from msgspec import Struct

from lycosa.analysis.search import MARK, SearchIndex, read_question
from lycosa.collection.status import Status, read_status
from lycosa.config.loading import LoadedMission
from lycosa.config.setting_docs import SettingRow, describe
from lycosa.errors import BeingMade, LycosaError, UsageError
from lycosa.lists.index import index_folder
from lycosa.lists.query import read_count
from lycosa.missions import registry
from lycosa.serve.collection_summaries import CollectionSummary
from lycosa.serve.indexing import IndexState
from lycosa.serve.page_request import PageRequest, View


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
