"""Work pages: what works on a collection in the background, what it says and made; stopped and deleted by buttons."""

from __future__ import annotations

import shutil
from pathlib import Path

from msgspec import Struct
from starlette.responses import FileResponse, RedirectResponse, Response

from lycosa.missions.web import Work
from lycosa.missions.web_files import send_made_file
from lycosa.serve.background_work import find_work, forget_work, list_work, stop_work
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
    product = _product(request, find_work(request.folder, _number(request)))
    if product is None:
        raise NotFound("This work has made nothing that can be sent, or it was deleted.")
    if product.is_file():
        return FileResponse(product, filename=product.name)
    base = product.parent

    def pack(target: Path) -> None:
        shutil.make_archive(str(target.with_suffix("")), "zip", base, product.name)

    return send_made_file(f"{product.name}.zip", pack, media_type="application/zip")


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
    has_product = not work.is_running and _product(request, work) is not None
    return WorkShown(work, request.link(f"work/{work.number}/file") if has_product else "")


def _product(request: PageRequest, work: Work) -> Path | None:
    """What a work made, where that is below its collection."""
    folder = request.folder.resolve()
    place = (folder / work.product).resolve()
    return place if work.product and place.exists() and place != folder and place.is_relative_to(folder) else None
