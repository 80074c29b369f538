"""Home: the collections below the served folder, and how each stands."""

from __future__ import annotations

from msgspec import Struct

from lycosa.collection.status import Status, read_status
from lycosa.serve.views import PageRequest, View


class HomePage(Struct, frozen=True):
    """What home shows."""

    folder: str
    collections: list[str]


class CollectionPage(Struct, frozen=True):
    """What the overview of a collection shows."""

    name: str
    status: Status


def show_home(request: PageRequest) -> View:
    """The list of collections."""
    return View("home.html", HomePage(str(request.settings.folder), list(request.services.folders.list())))


def show_collection(request: PageRequest) -> View:
    """One collection."""
    return View("collection.html", CollectionPage(request.name, read_status(request.folder)))
