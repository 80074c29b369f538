"""Known services: the inventory of a collection as pages show it, kept in a file beside it.

A process of low priority makes the file when the collection changed, as gathering thousands of services takes seconds;
pages read it once. In a folder that cannot be written to, the server gathers them itself, each time something changed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock

import msgspec
from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.collection.reading_source import mark_source
from lycosa.errors import BeingMade, CollectionError
from lycosa.missions.background_refresh import refresh_in_background, run_refresh
from lycosa.missions.geo.check.check_history import last_outcomes
from lycosa.missions.geo.inventory.inventory import Layer, ServiceEntry, ServiceInventory
from lycosa.missions.geo.model import LayerItem, Service

NAME = "services.msgpack"
_MODULE = "lycosa.missions.geo.web.known_services"
_VERSION = 1
CHECKS = ("checks.db", "checks.db-wal")
_CRAWL = ("crawl.db", "crawl.db-wal")
_MOST_KEPT = 2
#: Who asks waits so long for the file: the first time, and when there is an older one.
_FIRST_S = 20.0
_LATER_S = 3.0


class KnownServices(Struct, frozen=True):
    """The services of a collection and their layers, at one instant."""

    entries: list[ServiceEntry]
    layers: list[Layer]

    def find(self, number: str) -> ServiceEntry | None:
        """The service of an id."""
        return next((entry for entry in self.entries if entry.id == number), None)


class _FileMark(Struct, frozen=True):
    """What the file was made from; the rest of it is passed over."""

    version: int
    mark: str


class _KeptLayer(Struct, frozen=True, array_like=True):
    """A layer; its service is the one at a place of the list."""

    id: str
    entry: int
    item: LayerItem
    dataset: str
    offers: tuple[str, ...]


class _File(Struct, frozen=True):
    version: int
    mark: str
    entries: list[ServiceEntry]
    layers: list[_KeptLayer]


class _Kept(Struct):
    stamp: object
    services: KnownServices


_kept: dict[Path, _Kept] = {}
_lock = Lock()


def known_services(collection: Collection) -> KnownServices:
    """The services of a collection; those of a moment ago while a crawl changes it."""
    folder = collection.path
    if os.access(folder, os.W_OK):
        refresh_in_background(_MODULE, folder, wait_s=_LATER_S if (folder / NAME).exists() else _FIRST_S)
    names = (NAME, *CHECKS) if (folder / NAME).exists() else (*_CRAWL, *CHECKS)
    stamp = stamp_of(folder, names)
    with _lock:
        had = _kept.get(folder)
        if had is not None and had.stamp == stamp:
            return had.services
    if (folder / NAME).exists():
        found = _read(folder)
    elif os.access(folder, os.W_OK):
        raise BeingMade
    else:
        found = _gather(collection)
    with _lock:
        _kept.pop(folder, None)
        while len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[folder] = _Kept(stamp, found)
    return found


def _gather(collection: Collection) -> KnownServices:
    with collection.snapshot():
        inventory = ServiceInventory(collection)
        return KnownServices(inventory.entries, list(inventory.layers()))


def _read(folder: Path) -> KnownServices:
    """The services in the file, with the outcomes of the last checks."""
    try:
        file = msgspec.msgpack.decode((folder / NAME).read_bytes(), type=_File)
    except (OSError, msgspec.MsgspecError) as problem:
        raise CollectionError(f"{folder / NAME} cannot be read ({problem}): remove it, and it is made anew.") from None
    outcomes = last_outcomes(folder)
    for entry in file.entries:
        entry.outcome, entry.checked_at = outcomes.get(entry.id, ("", None))
    layers = [Layer(each.id, file.entries[each.entry], each.item, each.dataset, each.offers) for each in file.layers]
    return KnownServices(file.entries, layers)


def keep_services(folder: Path) -> None:
    """Make the file, unless it is that of the collection as it is."""
    mark, path = mark_source(folder), folder / NAME
    with suppress(OSError, msgspec.MsgspecError):
        if msgspec.msgpack.decode(path.read_bytes(), type=_FileMark) == _FileMark(_VERSION, mark):
            return
    with Collection(folder) as collection:
        found = _gather(collection)
    for source in (source for entry in found.entries for source in entry.sources):  # of which pages show little
        source.service = Service(source.service.type, source.service.version, items=source.service.items)
        source.pages = {}
    places = {id(entry): nth for nth, entry in enumerate(found.entries)}
    layers = [
        _KeptLayer(each.id, places[id(each.entry)], each.item, each.dataset, each.offers) for each in found.layers
    ]
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f"{NAME}.", delete=False) as out:
        out.write(msgspec.msgpack.encode(_File(_VERSION, mark, found.entries, layers)))
    os.chmod(out.name, 0o644)
    os.replace(out.name, path)


def stamp_of(folder: Path, names: Iterable[str]) -> object:
    """Changes when one of these files does."""
    return tuple(_stamp(folder / name) for name in names)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


if __name__ == "__main__":
    sys.exit(run_refresh(keep_services, sys.argv[1]))
