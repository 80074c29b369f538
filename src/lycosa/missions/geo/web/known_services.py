"""Known services: the inventory of a collection as pages show it, kept until the collection changes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import Lock

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.missions.geo.inventory.inventory import Layer, ServiceEntry, ServiceInventory

_FILES = ("crawl.db", "crawl.db-wal", "checks.db", "checks.db-wal")
_MOST_KEPT = 2
#: An inventory that took a second serves so many, also where a crawl changes the collection all the time.
_WORTH = 10.0


class KnownServices(Struct, frozen=True):
    """The services of a collection and their layers, at one instant."""

    entries: list[ServiceEntry]
    layers: list[Layer]

    def find(self, number: str) -> ServiceEntry | None:
        """The service of an id."""
        return next((entry for entry in self.entries if entry.id == number), None)


class _Kept(Struct):
    stamp: object
    until: float
    services: KnownServices


_kept: dict[Path, _Kept] = {}
_lock = Lock()


def known_services(collection: Collection) -> KnownServices:
    """The services of a collection."""
    folder = collection.path
    stamp = tuple(_stamp(folder / name) for name in _FILES)
    with _lock:
        had = _kept.get(folder)
    began = time.monotonic()
    if had is not None and (had.stamp == stamp or began < had.until):
        return had.services
    with collection.snapshot():
        inventory = ServiceInventory(collection)
        found = KnownServices(inventory.entries, list(inventory.layers()))
    ended = time.monotonic()
    with _lock:
        _kept.pop(folder, None)
        while len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[folder] = _Kept(stamp, ended + _WORTH * (ended - began), found)
    return found


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
