"""Work pages: what works on a collection in the background, what it says and made; stopped and deleted by buttons."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from msgspec import Struct
from starlette.responses import FileResponse, RedirectResponse, Response

from lycosa.missions.web import Work
from lycosa.missions.web_files import send_made_file
from lycosa.serve.background_work import find_product, find_work, forget_work, list_work, stop_work
from lycosa.serve.page_request import NotFound, PageRequest, View


class WorkShown(Struct, frozen=True):
    """A work with the address of what it made; empty while there is nothing."""

    work: Work
    file: str = ""


class WorkPage(Struct, frozen=True):
    """All work on a collection, or one of it."""

    works: list[WorkShown]
    only: int = 0  # the number of the one that is shown; 0: all


def show_works(request: PageRequest) -> View:
    """What works and worked on a collection."""
    return View("work.html", WorkPage([shown_work(request, work) for work in list_work(request.folder)]))


def show_work(request: PageRequest) -> View:
    """One work with what it said."""
    work = find_work(request.folder, _number(request))
    return View("work.html", WorkPage([shown_work(request, work)], work.number))


def send_product(request: PageRequest) -> Response:
    """What a work made, to be kept by the browser; a folder as a .zip file."""
    product = find_product(request.folder, find_work(request.folder, _number(request)))
    if product is None:
        raise NotFound("This work has made nothing that can be sent, or it was deleted.")
    if product.is_file():
        return FileResponse(product, filename=product.name)
    return send_made_file(f"{product.name}.zip", lambda target: _pack(product, target), media_type="application/zip")


def _pack(folder: Path, target: Path) -> None:
    """Pack a folder without the links and pipes in it, which would lead elsewhere."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as packed:
        for place, _, names in os.walk(folder):
            for file in (Path(place, name) for name in sorted(names)):
                if file.is_file() and not file.is_symlink():
                    packed.write(file, file.relative_to(folder.parent))


def stop(request: PageRequest) -> Response:
    """Ask a work to end."""
    stop_work(request.folder, _number(request))
    return RedirectResponse(request.link(f"work/{_number(request)}"), 303)


def delete(request: PageRequest) -> Response:
    """Forget an ended work, and delete what it made."""
    forget_work(request.folder, _number(request))
    return RedirectResponse(request.link("work"), 303)


def _number(request: PageRequest) -> int:
    text = request.path["number"]
    return int(text) if text.isdecimal() and len(text) < 9 else 0


def shown_work(request: PageRequest, work: Work) -> WorkShown:
    """A work with the address of what it made."""
    has_product = not work.is_running and find_product(request.folder, work) is not None
    return WorkShown(work, request.link(f"work/{work.number}/file") if has_product else "")
