"""Known services: the inventory of a collection as pages show it, derived data kept in `services.db`.

Gathering thousands of services takes seconds, so a process does it when the collection changed. A new round of checks
changes the outcomes alone; pages read those from the checks themselves, so they are never late.
"""

from __future__ import annotations

from pathlib import Path

import apsw
import msgspec
from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.derived.reading import reading
from lycosa.derived.store import Derived, KeptValues, mark_files, mark_of, write_meta, write_transaction
from lycosa.missions.geo.check.check_history import last_outcomes
from lycosa.missions.geo.inventory.inventory import Layer, ServiceEntry, ServiceInventory
from lycosa.missions.geo.model import LayerItem, Service

CHECKS = ("checks.db", "checks.db-wal")
#: Services and layers stand in the order of the inventory; `data` has what the other columns leave out.
_TABLES = """
CREATE TABLE service (
    n INTEGER PRIMARY KEY, id TEXT UNIQUE, type TEXT, version TEXT, title TEXT, provider TEXT, host TEXT, endpoint TEXT,
    state TEXT, reason TEXT, layers INTEGER, guess INTEGER, found INTEGER, at REAL, language TEXT, licence TEXT,
    west REAL, south REAL, east REAL, north REAL, outcome TEXT DEFAULT '', checked_at REAL, words TEXT, data TEXT
);
CREATE TABLE layer (
    n INTEGER PRIMARY KEY, id TEXT, service INTEGER REFERENCES service (n), service_type TEXT, type TEXT, name TEXT,
    title TEXT, host TEXT, language TEXT, licence TEXT, time TEXT, offers INTEGER, dataset TEXT,
    west REAL, south REAL, east REAL, north REAL, words TEXT, offered_by TEXT, data TEXT
);
CREATE INDEX layer_service ON layer (service);
-- What lists count by, so that they need not read the rest.
CREATE INDEX service_facets ON service (guess, type, state, outcome, language);
CREATE INDEX service_host ON service (host, guess);
CREATE INDEX layer_facets ON layer (service_type, type, language, licence);
CREATE INDEX layer_host ON layer (host);
"""
SERVICES = Derived(
    name="services.db",
    version=1,
    tables=_TABLES,
    make="lycosa.missions.geo.web.known_services:make_services",
    in_steps=True,
    files=CHECKS,
    counted="service",
)
_FORMER = "services.msgpack"  # what earlier versions kept
_NOWHERE = (None,) * 4
_encode = msgspec.json.Encoder().encode
_decode_entry = msgspec.json.Decoder(ServiceEntry).decode
_decode_item = msgspec.json.Decoder(LayerItem).decode
_decode_offers = msgspec.json.Decoder(tuple[str, ...]).decode


class KnownServices(Struct, frozen=True):
    """The services of a collection and their layers, at one instant."""

    entries: list[ServiceEntry]
    layers: list[Layer]

    def find(self, number: str) -> ServiceEntry | None:
        """The service of an id."""
        return next((entry for entry in self.entries if entry.id == number), None)


_kept = KeptValues[KnownServices](2)


def known_services(collection: Collection) -> KnownServices:
    """The services of a collection; those of a moment ago while a crawl changes it."""
    folder = collection.path
    with reading(SERVICES, folder) as found:
        mark = found.state, mark_files(folder, CHECKS)
        return _kept.get(folder, mark, lambda: _read(found.database, folder))


def _read(database: apsw.Connection, folder: Path) -> KnownServices:
    """The services in the database, with the outcomes of the last checks."""
    entries = {n: _decode_entry(data) for n, data in database.execute("SELECT n, data FROM service ORDER BY n")}
    outcomes = last_outcomes(folder)
    for entry in entries.values():
        entry.outcome, entry.checked_at = outcomes.get(entry.id, ("", None))
    sql = "SELECT id, service, data, dataset, offered_by FROM layer ORDER BY n"
    layers = [
        Layer(number, entries[service], _decode_item(data), dataset, _decode_offers(offers))
        for number, service, data, dataset, offers in database.execute(sql)
    ]
    return KnownServices([*entries.values()], layers)


def make_services(collection: Collection, database: apsw.Connection) -> None:
    """Gather the services anew, if the collection changed, and take over the outcomes of the last checks."""
    gathered = mark_of(collection.path)
    with write_transaction(database):
        if database.execute("SELECT value FROM meta WHERE key = 'gathered'").get != gathered:
            database.execute("DELETE FROM layer; DELETE FROM service")
            with collection.snapshot():
                inventory = ServiceInventory(collection)
                _store(database, inventory.entries, list(inventory.layers()))
            write_meta(database, gathered=gathered)
        database.execute("UPDATE service SET outcome = '', checked_at = NULL")
        rows = ((outcome, at, number) for number, (outcome, at) in last_outcomes(collection.path).items())
        database.executemany("UPDATE service SET outcome = ?, checked_at = ? WHERE id = ?", rows)
    (collection.path / _FORMER).unlink(missing_ok=True)


def _store(database: apsw.Connection, entries: list[ServiceEntry], layers: list[Layer]) -> None:
    places = {id(entry): n for n, entry in enumerate(entries, 1)}
    rows = ((n, *_service_row(entry)) for n, entry in enumerate(entries, 1))
    database.executemany(f"INSERT INTO service VALUES ({', '.join('?' * 20)}, '', NULL, ?, ?)", rows)
    rows = ((n, *_layer_row(layer, places[id(layer.entry)])) for n, layer in enumerate(layers, 1))
    database.executemany(f"INSERT INTO layer VALUES ({', '.join('?' * 20)})", rows)


def _service_row(entry: ServiceEntry) -> tuple[object, ...]:
    service = entry.service
    texts = (service.title, service.abstract, service.provider, *service.keywords, *entry.endpoints)
    for source in entry.sources:  # of which pages show little
        source.service = Service(source.service.type, source.service.version, items=source.service.items)
        source.pages = {}
    return (
        entry.id, service.type, service.version, service.title, service.provider, entry.host, service.endpoint,
        entry.state, entry.reason, service.items, int(entry.guess), int(bool(entry.sources)), entry.at,
        service.language, service.licence, *(service.box or _NOWHERE), "\n".join(texts).casefold(),
        _encode(entry).decode(),
    )  # fmt: skip


def _layer_row(layer: Layer, service: int) -> tuple[object, ...]:
    item, offering = layer.item, layer.entry.service
    texts = (item.title, item.name, item.abstract, *item.path, *item.keywords, offering.title, offering.provider)
    return (
        layer.id, service, offering.type, item.type, item.name, item.title, layer.entry.host, item.language,
        item.licence, item.time, len(layer.offers), layer.dataset, *(item.box or _NOWHERE),
        "\n".join(texts).casefold(), _encode(layer.offers).decode(), _encode(item).decode(),
    )  # fmt: skip
