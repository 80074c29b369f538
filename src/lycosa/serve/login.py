"""Login page: asks for the password, and logs out."""

from __future__ import annotations

import re

from msgspec import Struct
from starlette.responses import RedirectResponse, Response

from lycosa.serve.page_request import NotFound, PageRequest, View
from lycosa.serve.security import COOKIE
from lycosa.serve.translations import mark

#: An address of ours: nothing that a browser could take for another host.
_OWN_PAGE = re.compile(r"/(?![/\\])[!-~]*")


class LoginPage(Struct, frozen=True):
    """What the page that asks for the password says."""

    problem: str = ""
    wait_s: int = 0
    to: str = ""  # the page that was asked for


def show_login(request: PageRequest) -> View:
    """The question for the password."""
    if request.server_state.gate is None:
        raise NotFound("No password is asked for.")
    return View("login.html", LoginPage(to=request.query.get("to", "")))


def log_in(request: PageRequest) -> View | Response:
    """Open a session for the right password; a wrong one makes its address wait."""
    gate = request.server_state.gate
    if gate is None:
        raise NotFound("No password is asked for.")
    to = request.form.get("to", "")
    if (wait := gate.wait_s(request.client)) > 0:
        return View("login.html", LoginPage(mark("Too many wrong passwords."), int(wait) + 1, to), 429)
    if not gate.try_password(request.client, request.form.get("password", "")):
        wait = gate.wait_s(request.client)
        return View("login.html", LoginPage(mark("The password is wrong."), int(wait + 0.99), to), 401)
    response = RedirectResponse(to if _OWN_PAGE.fullmatch(to) else "/", 303)
    response.set_cookie(
        COOKIE, gate.open_session(), httponly=True, samesite="strict", secure=request.settings.secure, path="/"
    )
    return response


def log_out(request: PageRequest) -> Response:
    """End the session."""
    if request.server_state.gate is not None:
        request.server_state.gate.close_session(request.session)
    response = RedirectResponse("/login" if request.server_state.gate else "/", 303)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=request.settings.secure)
    return response
