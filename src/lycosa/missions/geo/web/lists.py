"""Lists of geographic services: the services, their layers, and the rounds of checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct, structs

from lycosa.derived.reading import reading
from lycosa.derived.store import mark_files
from lycosa.lists.definition import ListCondition, OpenTable, TableList
from lycosa.lists.table_query import TableQuery
from lycosa.missions.geo.bounds import Box
from lycosa.missions.geo.check import check_history
from lycosa.missions.geo.check.check_history import CheckHistory, CheckRound
from lycosa.missions.geo.inventory.inventory import Layer, ServiceEntry
from lycosa.missions.geo.model import LayerItem
from lycosa.missions.geo.web.check_page import checked_after_rounds
from lycosa.missions.geo.web.known_services import CHECKS, SERVICES
from lycosa.missions.web import NotFound, WebRequest, mark

MOST_CRS = 40
MOST_TEXT = 4_000  # characters
#: In the order in which they are shown; templates translate them.
WORDS = (
    mark("live"), mark("alive"), mark("empty"), mark("capabilities only"), mark("exception"), mark("error"),
    mark("refused"), mark("forbidden"), mark("wrong type"), mark("dead"), mark("other"), mark("unvisited"),
    mark("appeared"), mark("changed"), mark("vanished"),
)  # fmt: skip
_MOST_ROUNDS = 100
_MOST_DIFFERENCES = 300
_decode_entry = msgspec.json.Decoder(ServiceEntry).decode
_decode_item = msgspec.json.Decoder(LayerItem).decode
_decode_offers = msgspec.json.Decoder(tuple[str, ...]).decode


class ServiceRow(Struct, frozen=True):
    """A service in a list."""

    id: str
    type: str
    version: str
    title: str
    provider: str
    host: str
    endpoint: str
    state: str
    reason: str
    layers: int
    outcome: str  # of the last check; empty: it was never checked
    checked: str
    box: Box | None


def make_service_row(entry: ServiceEntry) -> ServiceRow:
    """A service as lists show it."""
    service = entry.service
    return ServiceRow(
        id=entry.id,
        type=service.type,
        version=service.version,
        title=service.title,
        provider=service.provider,
        host=entry.host,
        endpoint=service.endpoint,
        state=entry.state,
        reason=entry.reason,
        layers=service.items,
        outcome=entry.outcome,
        checked=entry.checked,
        box=service.box,
    )


class LayerRow(Struct, frozen=True):
    """A layer in a list."""

    id: str
    service: str
    service_type: str
    service_title: str
    type: str
    name: str
    title: str
    abstract: str
    path: list[str]
    box: Box | None
    crs: list[str]
    crs_count: int
    styles: list[str]
    licence: str
    time: str
    offers: int  # services that offer the same


def make_layer_row(layer: Layer) -> LayerRow:
    """A layer as lists show it."""
    item, service = layer.item, layer.entry.service
    return LayerRow(
        id=layer.id,
        service=layer.entry.id,
        service_type=service.type,
        service_title=service.title,
        type=item.type,
        name=item.name,
        title=item.title,
        abstract=item.abstract[:MOST_TEXT],
        path=list(item.path),
        box=item.box,
        crs=list(item.crs[:MOST_CRS]),
        crs_count=max(item.crs_count, len(item.crs)),
        styles=[style.name for style in item.styles[:MOST_CRS]],
        licence=item.licence,
        time=item.time,
        offers=len(layer.offers),
    )


@contextmanager
def _open_services(folder: Path) -> Iterator[OpenTable]:
    with reading(SERVICES, folder) as found:
        yield OpenTable(found.database, folder / SERVICES.name, found.is_current)


class ServiceQuery(TableQuery):
    """Services, each with what it says of itself."""

    def _read_entries(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        return [structs.asdict(make_service_row(read_service(self.db, number))) for number in numbers]


def read_service(database: apsw.Connection, number: int) -> ServiceEntry:
    """The service of a row, with the outcome of its last check."""
    sql = "SELECT data, outcome, checked_at FROM service WHERE n = ?"
    data, outcome, checked_at = next(database.execute(sql, (number,)))
    entry = _decode_entry(data)
    entry.outcome, entry.checked_at = outcome, checked_at
    return entry


class LayerQuery(TableQuery):
    """Layers, each with its service."""

    def _read_entries(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        sql = "SELECT id, service, data, dataset, offered_by FROM layer WHERE n = ?"
        found = []
        for number in numbers:
            name, service, data, dataset, offers = next(self.db.execute(sql, (number,)))
            entry = read_service(self.db, service)
            found.append(Layer(name, entry, _decode_item(data), dataset, _decode_offers(offers)))
        return [structs.asdict(make_layer_row(layer)) for layer in found]


def _tell_service(request: WebRequest) -> Mapping[str, Any]:
    """The service whose layers alone are shown."""
    number = request.query.get("service", "")
    if not number:
        return {"service": None}
    with reading(SERVICES, request.folder) as found:
        n = found.database.execute("SELECT n FROM service WHERE id = ?", (number,)).get
        if n is None:
            raise NotFound(f"There is no service {number[:40]} in this collection.")
        return {"service": make_service_row(read_service(found.database, n))}


_LABELS = {"kind": mark("Type"), "state": mark("State"), "outcome": mark("Last check"), "host": mark("Host")}
_PLAIN = {
    "id": mark("Number"), "type": mark("Type"), "version": mark("Version"), "title": mark("Title"),
    "provider": mark("Provider"), "endpoint": mark("Address"), "reason": mark("Why"), "layers": mark("Layers"),
    "checked": mark("Checked"), "box": mark("West, south, east, north"), "service": mark("Service"),
    "name": mark("Name"), "abstract": mark("Abstract"), "path": mark("Path"), "crs": mark("Reference systems"),
    "styles": mark("Styles"), "licence": mark("Licence"), "time": mark("Time"), "offers": mark("Offered by"),
    "service_type": mark("Type of the service"), "service_title": mark("Title of the service"),
    "crs_count": mark("Number of reference systems"),
}  # fmt: skip

SERVICE_LIST = TableList(
    name="services",
    counted=(mark("{n} service"), mark("{n} services")),
    title=mark("Services"),
    search=mark("Words in title, abstract, provider or address"),
    template="geo_lists.html",
    lead="service",
    labels={**_PLAIN, **_LABELS},
    columns=ServiceRow.__struct_fields__,
    shown=("type", "state", "outcome", "host", "layers"),
    facets=("kind", "state", "outcome", "host", "language"),
    keys={"title": "TEXT", "type": "TEXT", "host": "TEXT", "state": "TEXT", "layers": "INTEGER", "checked": "REAL"},
    expressions={
        "kind": "item.type", "outcome": "iif(item.outcome = '', 'never', item.outcome)",
        "checked": "coalesce(item.checked_at, 0)",
    },
    numbers=frozenset({"layers"}),
    page_size=100,
    open=_open_services,
    items="service",
    wide=frozenset({"host"}),
    conditions={
        "guesses": ListCondition(
            label=mark("also guesses"), sql="(? = 'yes' OR NOT item.guess)", otherwise="NOT item.guess", is_input=True
        )
    },
    text="item.words",
    query=ServiceQuery,
)  # fmt: skip

LAYER_LIST = TableList(
    name="layers",
    title=mark("Layers"),
    search=mark("Words in title, name or abstract"),
    template="geo_lists.html",
    lead="layer",
    labels={**_PLAIN, **_LABELS, "layer": mark("Layer")},
    columns=LayerRow.__struct_fields__,
    shown=("name", "service", "crs", "box"),
    facets=("kind", "type", "host", "language", "licence"),
    keys={"title": "TEXT", "name": "TEXT", "offers": "INTEGER"},
    expressions={"kind": "item.service_type"},
    numbers=frozenset({"offers", "crs_count"}),
    page_size=100,
    open=_open_services,
    items="layer",
    wide=frozenset({"host"}),
    conditions={
        "service": ListCondition(
            label=mark("Service"), sql="item.service = (SELECT n FROM service WHERE service.id = ?)"
        )
    },
    text="item.words",
    query=LayerQuery,
    more=_tell_service,
)


class CheckRoundRow(Struct, frozen=True):
    """A round of checks."""

    round: int
    started: float
    ended: float  # 0: it is unfinished
    filter: str
    outcomes: dict[str, int]
    total: int


class ServiceChange(Struct, frozen=True):
    """What became of a service between the last two rounds."""

    change: str
    detail: str
    service: str
    type: str
    title: str
    endpoint: str


@contextmanager
def _open_rounds(folder: Path) -> Iterator[OpenTable]:
    """The rounds of checks, as a table of the moment."""
    rounds, _ = _read_rounds(folder, mark_files(folder, CHECKS))
    with closing(apsw.Connection(":memory:")) as database:
        database.execute("CREATE TABLE round (n INTEGER PRIMARY KEY, round, started, ended, filter, outcomes, total)")
        for each in rounds:
            row = {**structs.asdict(each), "outcomes": msgspec.json.encode(each.outcomes).decode()}
            database.execute("INSERT INTO round VALUES (?, ?, ?, ?, ?, ?, ?)", (each.round, *row.values()))
        yield OpenTable(database, folder / check_history.NAME)


def _tell_changes(request: WebRequest) -> Mapping[str, Any]:
    """What changed between the last two rounds."""
    changes = _read_rounds(request.folder, mark_files(request.folder, CHECKS))[1]
    return {"changes": changes, "after_rounds": bool(checked_after_rounds(request.folder))}


@lru_cache(maxsize=8)
def _read_rounds(folder: Path, mark: str) -> tuple[list[CheckRoundRow], list[ServiceChange]]:
    """The rounds and what changed between the last two, kept until there is another result."""
    if not (folder / check_history.NAME).exists():
        return [], []
    with closing(CheckHistory(folder, write=False)) as history:
        rounds = history.rounds()
        changes = []
        if len(rounds) > 1:
            since, until = history.find_span(None, None)
            changes = [
                ServiceChange(
                    change=found.change,
                    detail=found.detail,
                    service=found.result.id,
                    type=found.result.type,
                    title=found.result.title,
                    endpoint=found.result.endpoint,
                )
                for _, found in zip(range(_MOST_DIFFERENCES), history.differences(since, until), strict=False)
            ]
    return [_round_row(row) for row in rounds[-_MOST_ROUNDS:]], changes


def _round_row(row: CheckRound) -> CheckRoundRow:
    outcomes = {word: row.outcomes[word] for word in WORDS if word in row.outcomes}
    return CheckRoundRow(row.round, row.started, row.ended or 0.0, row.filter, outcomes, sum(outcomes.values()))


CHECK_LIST = TableList(
    name="checks",
    items_name="rounds",
    title=mark("Liveness"),
    template="geo_lists.html",
    labels={
        "round": mark("Round"), "started": mark("When"), "ended": mark("Ended"), "filter": mark("Filter"),
        "outcomes": mark("Outcomes"), "total": mark("Services"),
    },
    columns=CheckRoundRow.__struct_fields__,
    shown=("round", "started", "total", "outcomes"),
    facets=("filter",),
    keys={"round": "INTEGER", "started": "REAL", "total": "INTEGER"},
    sort="-round",
    numbers=frozenset({"total"}),
    page_size=100,
    open=_open_rounds,
    items="round",
    json=frozenset({"outcomes"}),
    more=_tell_changes,
)  # fmt: skip
