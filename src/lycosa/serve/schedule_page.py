"""Schedule page: when a collection is visited by itself, what became of it so far, and the form that changes it."""

from __future__ import annotations

import time

from msgspec import Struct
from starlette.responses import RedirectResponse, Response

from lycosa.errors import UsageError
from lycosa.serve.crawl_form import refuse_risky_mission
from lycosa.serve.page_request import PageRequest, View
from lycosa.serve.schedules import DAYS, KINDS, Schedule, check_schedule, read_schedule, set_schedule


class SchedulePage(Struct, frozen=True):
    """What the page of a schedule shows."""

    schedule: Schedule
    kinds: dict[str, str]
    days: tuple[str, ...]
    problem: str = ""


def show_schedule(request: PageRequest) -> View:
    """The schedule of a collection and its runs."""
    return _show(request)


def change_schedule(request: PageRequest) -> View | Response:
    """Give a collection a schedule, or take it away."""
    form = request.form
    folder, root = request.folder, request.settings.folder
    try:
        schedule = check_schedule(
            kind=form.get("kind", ""), at=form.get("at", ""), day=form.get("day", ""), zone=form.get("zone", "").strip()
        )
    except UsageError as problem:
        return _show(request, str(problem), status=422)
    if schedule.kind:
        refuse_risky_mission(folder, below=root)
    set_schedule(root, folder, schedule, now=time.time())
    return RedirectResponse(request.link("schedule"), 303)


def _show(request: PageRequest, problem: str = "", *, status: int = 200) -> View:
    schedule = read_schedule(request.settings.folder, request.folder)
    return View("schedule.html", SchedulePage(schedule, KINDS, DAYS, problem), status)
