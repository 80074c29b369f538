"""The service listing: a filter of services, the inventory and harvested metadata records as rows with named columns.

A record that a catalogue gave several times, on pages of lists, by itself, or at another of its addresses, is listed as
it was told most fully.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from msgspec import Struct

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.missions.geo.bounds import Box
from lycosa.missions.geo.describe.metadata_records import MetadataRecord
from lycosa.missions.geo.inventory import service_state
from lycosa.missions.geo.inventory.identity import endpoint_key
from lycosa.missions.geo.inventory.inventory import QUARRY, Layer, ServiceEntry, ServiceInventory, date_of
from lycosa.missions.geo.model import TYPES
from lycosa.output.plain import counted

Cell = str | int | float | None

SERVICES = (
    "id", "type", "version", "versions", "state", "reason", "title", "abstract", "provider", "provider_site",
    "contact", "email", "licence", "fees", "constraints", "keywords", "language", "languages", "layers", "west",
    "south", "east", "north", "crs", "formats", "endpoint", "endpoints", "capabilities", "advertised", "fetched",
    "rule", "found_on", "problem", "outcome", "checked",
)  # fmt: skip
LAYERS = (
    "id", "service", "service_type", "service_title", "provider", "endpoint", "type", "name", "title", "abstract",
    "path", "keywords", "language", "west", "south", "east", "north", "box_from", "crs", "styles", "formats",
    "metadata", "time", "address", "licence", "attribution", "dataset", "services",
)  # fmt: skip


class ServiceFilter(Struct, frozen=True):
    """A filter of services; empty: all. `*` in kind and host stands for anything."""

    kind: str = ""  # WMS, W*S…
    state: str = ""  # a word of service_state.STATES
    host: str = ""
    text: str = ""  # somewhere in title, abstract, provider, keywords or endpoint
    guesses: bool = False  # also where nobody said that there is a service

    def check(self) -> None:
        """Refuse what no service can have."""
        if self.kind and not any(fnmatchcase(kind, self.kind.upper()) for kind in TYPES):
            raise UsageError(f"There is no kind {self.kind!r} of services; allowed: {', '.join(TYPES)}.")
        if self.state and self.state not in service_state.STATES:
            raise UsageError(
                f"There is no state {self.state!r} of services; allowed: {', '.join(service_state.STATES)}."
            )

    def admits(self, entry: ServiceEntry) -> bool:
        """Whether a service is wanted."""
        service = entry.service
        if entry.guess and not self.guesses:
            return False
        if self.state and entry.state != self.state:
            return False
        if self.kind and not fnmatchcase(service.type, self.kind.upper()):
            return False
        if self.host and not fnmatchcase(entry.host, self.host.lower()):
            return False
        text = (service.title, service.abstract, service.provider, *service.keywords, *entry.endpoints)
        return not self.text or self.text.casefold() in "\n".join(text).casefold()


def list_services(inventory: ServiceInventory, wanted: ServiceFilter) -> Iterator[ServiceEntry]:
    """The services that the filter admits: those that were found, then those that were not."""
    return (entry for entry in inventory.entries if wanted.admits(entry))


def list_layers(inventory: ServiceInventory, wanted: ServiceFilter) -> Iterator[Layer]:
    """The layers of the services that the filter admits."""
    admitted = {entry.id for entry in list_services(inventory, wanted)}
    return (layer for layer in inventory.layers() if layer.entry.id in admitted)


def service_rows(entries: Iterable[ServiceEntry]) -> Iterator[list[Cell]]:
    """One row of `SERVICES` per service."""
    for entry in entries:
        service = entry.service
        contact = service.contact
        yield [
            entry.id, service.type, service.version, _join(entry.versions), entry.state, entry.reason, service.title,
            service.abstract, service.provider, service.provider_site,
            (contact.person or contact.organisation) if contact else "", contact.email if contact else "",
            service.licence, service.fees, service.constraints, _join(service.keywords, "; "),
            service.language, _join(service.languages), service.items if entry.sources else None,
            *sides_of(service.box), _join(service.crs), _join(service.formats), service.endpoint,
            _join(entry.endpoints),
            entry.sources[0].url if entry.sources else entry.addresses[0], service.advertised, entry.fetched,
            entry.rule, entry.found_on, service.problem, entry.outcome, entry.checked,
        ]  # fmt: skip


def layer_rows(layers: Iterable[Layer]) -> Iterator[list[Cell]]:
    """One row of `LAYERS` per layer."""
    for layer in layers:
        item, service = layer.item, layer.entry.service
        yield [
            layer.id, layer.entry.id, service.type, service.title, service.provider, service.endpoint, item.type,
            item.name, item.title, item.abstract, _join(item.path, " / "), _join(item.keywords, "; "), item.language,
            *sides_of(item.box), item.box_from, _join(item.crs), _join(style.name for style in item.styles),
            _join(item.formats), _join(reference.url for reference in item.metadata), item.time, item.address,
            item.licence, item.attribution, layer.dataset, _join(layer.offers),
        ]  # fmt: skip


def _join(values: Iterable[str], between: str = " ") -> str:
    return between.join(values)


def sides_of(box: Box | None) -> list[Cell]:
    """West, south, east and north as cells; empty ones where there is no box."""
    return [None] * 4 if box is None else [round(side, 6) for side in box]


def summarise(entries: Iterable[ServiceEntry]) -> str:
    """What is listed, in a sentence: how many services, of which states and kinds, on how many hosts.

    Every service counts, those too that did not answer, so that each number is one of rows.
    """
    kinds: dict[str, int] = {}
    states: dict[str, int] = {}
    hosts: set[str] = set()
    layers = 0
    for entry in entries:
        states[entry.state] = states.get(entry.state, 0) + 1
        kind = entry.service.type or "of unknown kind"
        kinds[kind] = kinds.get(kind, 0) + 1
        hosts.add(entry.host)
        layers += entry.service.items
    total = sum(states.values())
    parts = [f"{counted(total, 'service')} on {counted(len(hosts), 'host')} with {counted(layers, 'layer')}"]
    parts += [", ".join(f"{states[state]:,} {state}" for state in service_state.STATES if state in states)]
    parts += [", ".join(f"{kind} {count:,}" for kind, count in sorted(kinds.items(), key=_most))]
    return "; ".join(part for part in parts if part)


def _most(pair: tuple[str, int]) -> Any:
    return -pair[1], pair[0]


COLUMNS = (
    "id", "title", "abstract", "type", "keywords", "provider", "language", "modified", "west", "south", "east", "north",
    "links", "protocols", "standard", "catalogue", "catalogue_title", "address", "fetched",
)  # fmt: skip
_RECORDS = f"""
    SELECT {{}} FROM records WHERE quarry = '{QUARRY}' AND kind = 'metadata' AND current ORDER BY n, round, id"""
_read = msgspec.json.Decoder(MetadataRecord).decode


def list_records(collection: Collection, *, host: str = "") -> Iterator[list[Cell]]:
    """One row of `COLUMNS` per record, of the hosts that are wanted."""
    catalogues = {
        endpoint_key(endpoint): entry.service
        for entry in ServiceInventory(collection).live
        for endpoint in entry.endpoints
    }
    chosen: dict[tuple[str, str], tuple[int, int]] = {}  # by catalogue and name: how much a record says, its number
    names = _RECORDS.format("id, url, data ->> 'id', data ->> 'catalogue', length(data)")
    for number, url, name, given, size in collection.rows(names):
        key = endpoint_key(given or url)
        known = catalogues.get(key)
        # A record without a name of its own is known by its document.
        place = (endpoint_key(known.endpoint) if known else key if given else "", name or f"{url} {number}")
        if chosen.get(place, (-1, 0))[0] < size:
            chosen[place] = (size, number)
    wanted = {number for _, number in chosen.values()}
    for number, url, data, at in collection.rows(_RECORDS.format("id, url, data, at")):
        place_host = urls.host_of(url).partition(":")[0]
        if number not in wanted or (host and not fnmatchcase(place_host, host.lower())):
            continue
        record = _read(data)
        service = catalogues.get(endpoint_key(record.catalogue)) if record.catalogue else None
        yield [
            record.id, record.title, record.abstract, record.type, "; ".join(record.keywords), record.provider,
            record.language, record.modified, *sides_of(record.box), " ".join(link.url for link in record.links),
            "; ".join(link.type for link in record.links), record.standard,
            service.endpoint if service else record.catalogue, service.title if service else "", url, date_of(at),
        ]  # fmt: skip
