"""Harvested records: the metadata records of a collection, each once for its catalogue, as rows.

A record that a catalogue gave several times, on pages of lists, by itself, or at another of its addresses, is listed as
it was told most fully.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

import msgspec

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.missions.geo.describe.metadata_records import MetadataRecord
from lycosa.missions.geo.inventory.identity import endpoint_key
from lycosa.missions.geo.inventory.inventory import QUARRY, ServiceInventory, date_of
from lycosa.missions.geo.inventory.listing import Cell, sides_of

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
