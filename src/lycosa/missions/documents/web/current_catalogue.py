"""The catalogue as pages show it: that of now, or that of the last time while a process makes it anew.

What lists need of each document is kept between two requests, without the texts, until something changes.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lycosa.collection.collection import Collection
from lycosa.missions.background_refresh import refresh_in_background, run_refresh
from lycosa.missions.documents.catalogue import Catalogue, open_catalogue
from lycosa.missions.documents.model import DocumentDescription, KnownPerson

_MODULE = "lycosa.missions.documents.web.current_catalogue"
#: Catalogues that are kept.
_KEPT = 2


class ShownCatalogue(Struct, frozen=True):
    """The documents of a catalogue without their texts and references, and their authors."""

    state: str
    documents: tuple[DocumentDescription, ...]
    people: tuple[KnownPerson, ...]


_kept: OrderedDict[Path, ShownCatalogue] = OrderedDict()
_lock = threading.Lock()


def prepare_catalogue(collection: Collection) -> bool:
    """Have the catalogue made where it is due, for a short while; whether it is that of now."""
    state = refresh_in_background(_MODULE, collection.path)
    with open_catalogue(collection, renew=False) as catalogue:
        state.require(is_complete=catalogue.is_complete, is_empty=not catalogue.count(unwanted=True))
        if catalogue.is_complete:
            return state.is_current
    with open_catalogue(collection):  # what made it failed, and this meets the same and says so
        return True


@contextmanager
def shown_catalogue(collection: Collection) -> Iterator[tuple[Catalogue, bool]]:
    """The catalogue, and whether it is that of now."""
    is_current = prepare_catalogue(collection)
    with open_catalogue(collection, renew=False) as catalogue:
        yield catalogue, is_current


def kept_catalogue(collection: Collection) -> tuple[ShownCatalogue, bool]:
    """What lists need of the catalogue, and whether it is that of now."""
    with shown_catalogue(collection) as (catalogue, is_current):
        with _lock:
            found = _kept.get(collection.path)
        if found is None or found.state != catalogue.state:
            documents = (
                replace(document, head="", references=(), linked_from=(), contributors=())
                for document in catalogue.documents(unwanted=True)
            )
            found = ShownCatalogue(catalogue.state, tuple(documents), tuple(catalogue.people()))
        with _lock:
            _kept[collection.path] = found
            _kept.move_to_end(collection.path)
            while len(_kept) > _KEPT:
                _kept.popitem(last=False)
    return found, is_current


def _make(folder: Path) -> None:
    with Collection(folder) as collection, open_catalogue(collection):
        pass


if __name__ == "__main__":
    sys.exit(run_refresh(_make, sys.argv[1]))
