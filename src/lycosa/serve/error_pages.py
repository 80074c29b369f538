"""Error pages: what went wrong, in one sentence, and what to do about it."""

from __future__ import annotations

from msgspec import Struct

from lycosa.errors import BeingMade, CollectionError, Damaged, DiskFull, LycosaError, UsageError
from lycosa.serve.page_request import NotFound, View
from lycosa.serve.translations import mark


class BadForm(UsageError):
    """A request whose body is no form of ours."""


class ErrorPage(Struct, frozen=True):
    """What an error page says; `title` and `advice` are translated, `detail` comes from where it happened."""

    status: int
    title: str
    detail: str = ""
    advice: str = ""
    can_continue: bool = False  # whether a crawl would mend it


_BY_STATUS = {
    400: (mark("The request cannot be understood"), mark("Go back and try it again.")),
    403: (mark("This page is too old"), mark("The server was started anew since it was shown: load it again.")),
    404: (mark("There is nothing here"), mark("The address may be wrong, or what it names was moved or deleted.")),
    405: (mark("This address takes no such request"), mark("Go back and try it again.")),
    500: (
        mark("Something went wrong here"),
        mark("The terminal in which the server runs says what; please report it."),
    ),
    503: (
        mark("This took too long"),
        mark("Ask for less: a filter, a smaller part. A crawl that runs is not disturbed."),
    ),
}


def describe_status(status: int) -> View:
    """The page for a status without more to say."""
    title, advice = _BY_STATUS.get(status, _BY_STATUS[400])
    return View("error.html", ErrorPage(status=status, title=title, advice=advice), status)


def describe_error(problem: LycosaError, *, can_open: bool = False, is_change: bool = False) -> View:
    """The page for an error that a person must know; `can_open`: the collection itself can be opened."""
    status, title, advice = _describe(problem, can_open=can_open, is_change=is_change)
    page = ErrorPage(
        status=status, title=title, detail=str(problem), advice=advice, can_continue=isinstance(problem, Damaged)
    )
    return View("error.html", page, status)


def _describe(problem: LycosaError, *, can_open: bool, is_change: bool) -> tuple[int, str, str]:
    if isinstance(problem, NotFound):
        return 404, *_BY_STATUS[404]
    if isinstance(problem, Damaged):
        return 503, mark("This collection is damaged"), mark("Continue its crawl: it makes the database anew.")
    if isinstance(problem, BeingMade):
        return 503, mark("This is not ready yet"), mark("Load the page again in a moment.")
    if isinstance(problem, CollectionError) and is_change:
        return 503, mark("This was not done"), mark("Nothing was changed: see to what is said here, then try again.")
    if isinstance(problem, CollectionError) and can_open:
        return 503, mark("This cannot be shown"), mark("The rest of the collection can: see its other pages.")
    if isinstance(problem, CollectionError):
        return 503, mark("This collection cannot be opened"), mark("All others can: see the list of collections.")
    if isinstance(problem, DiskFull):
        return 507, mark("The disk is full"), mark("Make room, then try it again.")
    if isinstance(problem, UsageError):
        return 400, *_BY_STATUS[400]
    return 500, *_BY_STATUS[500]
