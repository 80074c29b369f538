"""About page: program, version and folder; by its JSON twin a second server recognises the first."""

from __future__ import annotations

from msgspec import Struct

from lycosa.serve.page_request import PageRequest, View
from lycosa.version import __version__


class AboutPage(Struct, frozen=True):
    """The program, and the folder that it shows; to strangers not even that."""

    program: str
    version: str = ""
    folder: str = ""


def show_about(request: PageRequest) -> View:
    """The program and its folder."""
    if request.server_state.gate is not None and not request.session:
        return View("about.html", AboutPage("lycosa"))
    return View("about.html", AboutPage("lycosa", __version__, str(request.settings.folder)))
