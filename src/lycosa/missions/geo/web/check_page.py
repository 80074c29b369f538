"""Checks of services from the page: now, or after each round of the crawls that the page starts."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.responses import RedirectResponse, Response

from lycosa.errors import CollectionError, UsageError
from lycosa.missions.web import WebRequest

#: A file of this name in a collection says that its services are checked after each round.
MARKER = "check-after-rounds"


def checked_after_rounds(folder: Path) -> str:
    """Whether somebody decided so, as an option of a crawl: "yes", or empty."""
    return "yes" if (folder / MARKER).is_file() else ""


def check(request: WebRequest) -> Response:
    """Check all services in the background, or decide on checks after rounds."""
    action = request.form.get("action", "")
    marker = request.folder / MARKER
    if action == "now":
        return RedirectResponse(
            request.start_work(["check-services"], label=request.translate("Check of services")), 303
        )
    if action not in ("rounds", "never"):
        raise UsageError(f"The action is {action[:40]!r}; allowed: now, rounds, never.")
    try:
        if action == "rounds":
            os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
        else:
            marker.unlink(missing_ok=True)
    except OSError as problem:
        raise CollectionError(f"{marker} cannot be written to: {problem.strerror or problem}.") from None
    return RedirectResponse(request.mission_link("checks"), 303)
