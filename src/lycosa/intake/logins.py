"""Log-ins: sessions at hosts whose rule says how to log in, made when they are first needed, and again when they end.

The form is asked for, filled in and sent by the worker that holds the host; cookies stay in the memory of its client.
Nothing of this goes to the archive, and the password is sent to no other host than that of the form's page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from turbohtml import Element

from lycosa import clock, urls
from lycosa.config.host_rules import read_reference
from lycosa.config.settings import HostRule, LimitSettings, Mission
from lycosa.errors import UsageError
from lycosa.fetch.decode import read_content
from lycosa.model import Answer, Target
from lycosa.parse import Doc, read
from lycosa.parse.login_forms import LoginForm, fields_of, find_login_forms

#: Asks for an address at once, or sends it a form.
Ask = Callable[[Target, Mapping[str, str] | None], Answer]
_REDIRECTS = 5
_TRIES = 3  # new sessions for one address
_LOG_OUT = re.compile(
    r"(?:log|sign)[\s_-]?(?:out|off)\b|\bexit\b|abmeld|ausloggen|d[ée]connexion|cerrar[\s_-]?ses|salir|desconect|\bsair\b|\besci\b|disconnett"
    r"|afmeld|uitlog|logga[\s_-]?ut|logg?[\s_-]?ud|wyloguj|odhl[aá]s|выйти|выход|ログアウト|退出|登出|로그아웃|çıkış",
    re.IGNORECASE,
)


def is_log_out(url: str, text: str) -> bool:
    """Whether a link would end a session, by its address or its text."""
    return _LOG_OUT.search(urlsplit(url).path + "?" + urlsplit(url).query) is not None or (
        len(text) < 40 and _LOG_OUT.search(text) is not None
    )


class Logins:
    """The sessions of one worker."""

    def __init__(self, limits: LimitSettings, *, find_rule: Callable[[Target], HostRule | None], ask: Ask) -> None:
        """`find_rule`: the host rule with its secrets, where they may be sent."""
        self._limits = limits
        self._find_rule = find_rule
        self._ask = ask
        self._problems: dict[str, str] = {}  # by host that was logged in at; empty: it worked
        self._since: dict[str, float] = {}  # when that was
        self._forms: dict[str, tuple[str, str]] = {}  # the names of the fields of its form
        self._shown_anyway: set[str] = set()  # hosts that show the form to those who are logged in, too

    def ensure(self, target: Target) -> str:
        """Log in where that is to be done and was not yet; returns what went wrong."""
        rule = self._find_rule(target)
        if rule is None or not rule.login_url or not rule.user:
            return ""
        if target.host not in self._problems:
            self._problems[target.host] = self._log_in(rule)
            self._since[target.host] = clock.now()
        return self._problems[target.host]

    def has_ended(self, answer: Answer, location: str, doc: Doc | None) -> bool:
        """Whether an answer shows that the session of its host is over; the next request then logs in again."""
        target = answer.target
        form = self._forms.get(target.host)
        rule = self._find_rule(target) if form is not None else None
        if form is None or rule is None or target.url == rule.login_url:
            return False
        moved = urls.normalise(location, target.url) if location else None
        sent_away = moved is not None and urlsplit(moved).path == urlsplit(rule.login_url).path
        tree = doc.tree if doc is not None and target.host not in self._shown_anyway else None
        asked = tree is not None and any((found.user, found.password) == form for found in find_login_forms(tree))
        if not (sent_away or asked or answer.status == 401):
            return False
        if target.retries >= _TRIES:  # it is so in new sessions, too
            if asked:
                self._shown_anyway.add(target.host)
            return False
        if answer.began >= self._since.get(target.host, 0.0):  # else it was asked for in a session before this one
            self._problems.pop(target.host, None)
        return True

    def _log_in(self, rule: HostRule) -> str:
        try:
            password = read_reference(rule.password)
        except (OSError, KeyError, ValueError) as error:
            return f"its password is {rule.password!r}, which cannot be read ({error})"
        answer, doc = self._follow(rule.login_url, None)
        if answer.failure or answer.status >= 400 or doc.tree is None:
            return f"{rule.login_url} answered {answer.failure or answer.status}"
        forms = find_login_forms(doc.tree)
        if not forms:
            return f"{rule.login_url} has no log-in form"
        form = forms[0]
        action = urls.normalise(form.form.attr("action") or "", doc.base) or answer.target.url
        if (form.form.attr("method") or "get").lower() != "post":
            return f"the form of {rule.login_url} would send the password in an address; only post is sent"
        is_exposed = rule.login_url.startswith("https:") and not action.startswith("https:")
        if is_exposed or urls.host_of(action) != urls.host_of(rule.login_url):
            return f"the form of {rule.login_url} leads to {action}; a password goes to its own host alone"
        fields = {**_fill_in(form), **rule.login_fields, form.user: rule.user, form.password: password}
        answer, doc = self._follow(action, {name: value for name, value in fields.items() if name})
        if answer.failure or answer.status >= 400:
            return f"{action} answered {answer.failure or answer.status} to user and password"
        if rule.login_success:
            if rule.login_success not in doc.text:
                return f"the page after the log-in does not say {rule.login_success!r} (login_success)"
        elif doc.tree is not None and any(f.password == form.password for f in find_login_forms(doc.tree)):
            return "the log-in form came again: are user and password right?"
        self._forms[urls.host_of(rule.login_url)] = (form.user, form.password)
        return ""

    def _follow(self, url: str, fields: Mapping[str, str] | None) -> tuple[Answer, Doc]:
        """Ask for an address, and go where it leads on the same host."""
        answer = Answer(Target(0, 0, url, urls.host_of(url)))
        for _ in range(_REDIRECTS):
            answer = self._ask(Target(0, 0, url, urls.host_of(url)), fields)
            onward = urls.normalise(answer.headers.get("location", ""), url) if 300 <= answer.status < 400 else None
            if answer.failure or onward is None or urls.host_of(onward) != urls.host_of(url):
                break
            url, fields = onward, None
        body, _ = read_content(answer, self._limits) if not answer.failure else (b"", "")
        if answer.spool:
            os.unlink(answer.spool)
        return answer, read(url, answer.headers, body)


def _fill_in(form: LoginForm) -> dict[str, str]:
    """What a browser sends of the form untouched: hidden fields, ticked boxes, and its first button."""
    values: dict[str, str] = {}
    for field in fields_of(form.form):
        name, kind = field.attr("name") or "", (field.attr("type") or "").lower()
        if not name or field.tag in ("select", "textarea"):
            continue
        if kind in ("checkbox", "radio") and "checked" not in field.attrs:
            continue
        if kind in ("submit", "image", "button", "reset") or field.tag == "button":
            continue
        values[name] = field.attr("value") or ("on" if kind == "checkbox" else "")
    return {**values, **_button(form.form)}


def _button(form: Element) -> dict[str, str]:
    buttons = form.select('button[name], input[type="submit" i][name]')
    return {buttons[0].attr("name") or "": buttons[0].attr("value") or ""} if buttons else {}


def check_secrets(mission: Mission) -> None:
    """Refuse a mission whose cookies or passwords cannot be read, before anything is asked."""
    if mission.fetch.cookie_file:
        read_cookie_file(mission.fetch.cookie_file)
    for host, rule in mission.hosts.items():
        try:
            read_reference(rule.password)
        except (OSError, KeyError, ValueError) as error:
            raise UsageError(
                f'The password in [hosts."{host}"] is {rule.password!r}, which cannot be read ({error});'
                " name a variable that is set or a file that you may read."
            ) from None


def read_cookie_file(path: str) -> list[str]:
    """The lines of a Netscape cookies.txt, or of the cookies of a Firefox profile, as curl takes them."""
    file = Path(path)
    if file.suffix == ".sqlite":
        return _read_firefox(file)
    lines = []
    for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), 1):
        bare = line.removeprefix("#HttpOnly_")
        if not bare.strip() or bare.startswith("#"):
            continue
        if bare.count("\t") < 6:
            parts = len(bare.split("\t"))
            raise UsageError(
                f"{path}, line {number}, has {parts} of 7 fields between tabs; a cookies.txt has domain, subdomains,"
                " path, secure, expiry, name and value."
            )
        lines.append(line)
    return lines


def _read_firefox(file: Path) -> list[str]:
    import sqlite3  # hardly any crawl needs it

    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?immutable=1", uri=True)) as database:
            rows = database.execute("SELECT host, path, isSecure, expiry, name, value FROM moz_cookies").fetchall()
    except sqlite3.Error as error:
        raise UsageError(f"{file} holds no cookies of Firefox: {error}.") from None
    yes = {False: "FALSE", True: "TRUE"}
    return [
        "\t".join([host, yes[host.startswith(".")], path, yes[bool(secure)], str(expiry), name, value])
        for host, path, secure, expiry, name, value in rows
    ]
