"""Overview page of a collection: what it holds, what made it, and its rounds."""

from __future__ import annotations

from msgspec import Struct

from lycosa.collection.status import Status, read_status
from lycosa.config.loading import LoadedMission
from lycosa.config.setting_docs import SettingRow, describe
from lycosa.errors import LycosaError
from lycosa.serve.collection_summaries import CollectionSummary
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
