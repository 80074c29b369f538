"""Pages about people: accounts and roles, tokens for programs, and the log of who did what."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import RedirectResponse, Response

from lycosa.errors import UsageError
from lycosa.serve.page_request import PageRequest, View
from lycosa.serve.people import ROLES, LoggedChange, may

_LOGGED = 500


class TokenShown(Struct, frozen=True):
    """A token without what it is."""

    label: str
    role: str
    made: float


class PersonShown(Struct, frozen=True):
    """An account without its password."""

    name: str
    role: str
    tokens: list[TokenShown]


class PeoplePage(Struct, frozen=True):
    """What the page of people shows: to owners everybody, to others themselves."""

    people: list[PersonShown]
    roles: dict[str, str]
    is_owner: bool
    user: str
    token: str = ""  # a new one, this once
    problem: str = ""


class LogPage(Struct, frozen=True):
    """Who did what."""

    changes: list[LoggedChange]


def show_people(request: PageRequest) -> View:
    """The accounts, and one's own tokens."""
    return _show(request)


def keep_person(request: PageRequest) -> View | Response:
    """Make or change an account."""
    form = request.form
    people = request.server_state.people
    try:
        people.keep(
            form.get("person", "").strip(),
            role=form.get("role", ""),
            password=form.get("password", ""),
            by_proxy=bool(request.settings.user_header),
        )
    except UsageError as problem:
        return _show(request, problem=str(problem), status=422)
    return RedirectResponse("/people", 303)


def remove_person(request: PageRequest) -> View | Response:
    """End an account."""
    try:
        request.server_state.people.remove(request.form.get("person", ""))
    except UsageError as problem:
        return _show(request, problem=str(problem), status=422)
    return RedirectResponse("/people", 303)


def make_token(request: PageRequest) -> View:
    """Make a token for whoever asks; it is shown in this answer alone."""
    form = request.form
    role = form.get("role", "")
    try:
        if not may(request.role, role):  # a program with a token of little makes none of more
            raise UsageError(f"The role is {role[:100]!r}; allowed: one that your own includes ({request.role}).")
        made = request.server_state.people.make_token(request.user, label=form.get("label", "").strip(), role=role)
    except UsageError as problem:
        return _show(request, problem=str(problem), status=422)
    return _show(request, token=made)


def drop_token(request: PageRequest) -> Response:
    """Let one's own token count no more."""
    request.server_state.people.drop_token(request.user, request.form.get("label", ""))
    return RedirectResponse("/people", 303)


def show_log(request: PageRequest) -> View:
    """The last changes, and by whom."""
    return View("log.html", LogPage(request.server_state.people.read_log(_LOGGED)))


def _show(request: PageRequest, *, token: str = "", problem: str = "", status: int = 200) -> View:
    is_owner = may(request.role, "owner")
    shown = [
        PersonShown(one.name, one.role, [TokenShown(each.label, each.role, each.made) for each in one.tokens])
        for one in request.server_state.people.all().values()
        if is_owner or one.name == request.user
    ]
    request.address = "/people"
    return View("people.html", PeoplePage(shown, ROLES, is_owner, request.user, token, problem), status)
