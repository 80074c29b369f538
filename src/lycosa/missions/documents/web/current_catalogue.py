"""The catalogue as pages show it: that of now, or that of the last time while a process makes it anew."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lycosa.collection.collection import Collection
from lycosa.extract.renewal import renew, run_renewal
from lycosa.missions.documents.catalogue import Catalogue, open_catalogue

_MODULE = "lycosa.missions.documents.web.current_catalogue"


def prepare_catalogue(collection: Collection) -> bool:
    """Have the catalogue made where it is due, for a short while; whether it is that of now."""
    return renew(_MODULE, collection.path)


@contextmanager
def shown_catalogue(collection: Collection) -> Iterator[tuple[Catalogue, bool]]:
    """The catalogue, and whether it is that of now."""
    is_current = prepare_catalogue(collection)
    with open_catalogue(collection, renew=False) as catalogue:
        yield catalogue, is_current


def _make(folder: Path) -> None:
    with Collection(folder) as collection, open_catalogue(collection):
        pass


if __name__ == "__main__":
    sys.exit(run_renewal(_make, sys.argv[1]))
