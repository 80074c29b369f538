"""Services in a list: those that were found, then those that were not, by kind, state and outcome."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from lycosa.missions.geo.bounds import Box
from lycosa.missions.geo.inventory.inventory import ServiceEntry
from lycosa.missions.geo.inventory.listing import ServiceFilter
from lycosa.missions.geo.web.filter_values import FilterValue, count_values
from lycosa.missions.geo.web.known_services import known_services
from lycosa.missions.web import WebRequest
from lycosa.missions.web_lists import find_part


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


class ServiceList(Struct, frozen=True):
    """Services that fit a filter, a hundred at a time."""

    q: str
    host: str
    guesses: bool
    kinds: list[FilterValue]
    states: list[FilterValue]
    outcomes: list[FilterValue]
    total: int
    page: int
    pages: int
    services: list[ServiceRow]
    filters: dict[str, str]  # for files


def list_services(request: WebRequest) -> ServiceList:
    """The services that the address asks for."""
    known = known_services(request.collection)
    query = request.query
    q, host = query.get("q", "")[:200], query.get("host", "")[:300]
    kind, state, outcome = query.get("kind", ""), query.get("state", ""), query.get("outcome")
    guesses = query.get("guesses", "") == "yes"
    wanted = ServiceFilter(host=host, text=q, guesses=guesses)
    found = [entry for entry in known.entries if wanted.admits(entry)]

    tests: dict[str, Callable[[ServiceEntry], bool]] = {
        "kind": lambda entry: not kind or entry.service.type == kind,
        "state": lambda entry: not state or entry.state == state,
        "outcome": lambda entry: not outcome or entry.outcome == ("" if outcome == "never" else outcome),
    }

    def others(name: str) -> list[ServiceEntry]:
        return [entry for entry in found if all(test(entry) for key, test in tests.items() if key != name)]

    chosen = others("")
    part = find_part(request, len(chosen))
    return ServiceList(
        q=q,
        host=host,
        guesses=guesses,
        kinds=count_values((entry.service.type for entry in others("kind")), kind),
        states=count_values((entry.state for entry in others("state")), state),
        outcomes=count_values((entry.outcome or "never" for entry in others("outcome")), outcome or ""),
        total=len(chosen),
        page=part.page,
        pages=part.pages,
        services=[make_service_row(entry) for entry in chosen[part.offset : part.offset + part.size]],
        filters={"kind": kind, "state": state, "host": host},
    )


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
