"""Report on the services of a collection: how many of which kind, in which state, and what each cycle found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import astuple

from lycosa.collection.collection import Collection
from lycosa.collection.status import Cycle, list_cycles
from lycosa.missions.api import Report
from lycosa.missions.geo.inventory.inventory import ServiceEntry, ServiceInventory
from lycosa.missions.geo.inventory.listing import ServiceFilter, list_services
from lycosa.output.charts import Bar, draw_bars
from lycosa.output.html_page import Section, TableLink, table, text, tiles
from lycosa.output.plain import counted

_ROWS = 2_000  # of a table; what is more stands in the exports


def make_report(collection: Collection) -> Report:
    """The page about the services of a collection."""
    with collection.snapshot():
        entries = list(list_services(ServiceInventory(collection), ServiceFilter()))
        cycles = list_cycles(collection.database)
    seeds = ", ".join(collection.seeds()[:3])
    return Report(
        title=f"Services found from {seeds or collection.path.name}",
        sections=list(_sections(entries, cycles)),
        subtitle=f"{counted(len(entries), 'service')}. Made by lycosa.",
    )


def _sections(entries: list[ServiceEntry], cycles: list[Cycle]) -> Iterator[Section]:
    live = [entry for entry in entries if entry.state == "live"]
    silent = [entry for entry in entries if entry.state != "live"]
    figures = {
        "services": len(entries),
        "live": len(live),
        "layers and the like": sum(entry.service.items for entry in live),
        "hosts": len({entry.host for entry in entries}),
    }
    yield Section("Overview", [tiles([(name, f"{count:,}") for name, count in figures.items()])])
    kinds = Counter(entry.service.type for entry in live).most_common()
    chart = draw_bars([Bar(kind, [count]) for kind, count in kinds], title="Live services of each kind")
    yield Section("Kinds", [chart] if kinds else [text("None is live.")])
    yield Section("Services", [_list(live)])
    if silent:
        states = Counter((entry.state, entry.reason) for entry in silent).most_common(_ROWS)
        rows = [(state, reason, count) for (state, reason), count in states]
        yield Section("What does not answer", [table(("state", "reason", "services"), rows), _list(silent)])
    if outcomes := Counter(entry.outcome for entry in entries if entry.outcome).most_common():
        yield Section("Liveness", [table(("last check", "services"), outcomes)])
    if cycles:
        yield Section("Cycles", [table(Cycle.__struct_fields__, [astuple(cycle) for cycle in cycles])])


def _list(entries: list[ServiceEntry]) -> str:
    rows = [
        (
            TableLink((*entry.endpoints, *entry.addresses, "")[0]),
            entry.service.type,
            entry.service.title,
            entry.service.provider,
            entry.service.items,
        )
        for entry in entries[:_ROWS]
    ]
    return table(("endpoint", "type", "title", "provider", "layers"), rows)
