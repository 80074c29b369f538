"""Log-in forms: which form of a page logs people in, and which of its fields are for name and password."""

from __future__ import annotations

import re
from itertools import islice

from msgspec import Struct
from turbohtml import Document, Element

#: Types of fields that people write a name or an address into, and of those that they press.
_WRITTEN = frozenset({"text", "email", "tel"})
_PRESSED = frozenset({"submit", "image", "button"})
_FIELD_TAGS = ("input", "button", "select", "textarea")
_FIELDS = ", ".join(_FIELD_TAGS)
_NODES = 2000  # behind a form that a table broke off
_LEAST = 0.9
_FEW = 2
_OWN_WORDS = ("action", "id", "class", "name")
_LOG_IN = re.compile(
    r"log[\s_-]*[io]n|sign[\s_-]*in|anmeld|einlog|connexion|connect|identifi|acceder|acceso|entrar|iniciar|accedi|ingres"
    r"|inlog|logga|войти|вход|ログイン|登录|登入|로그인|giriş|zaloguj|přihl|belép|kirjaudu",
    re.IGNORECASE,
)
_SIGN_UP = re.compile(
    r"regist|sign[\s_-]*up|create|join\b|new[\s_-]*(?:user|account|member|customer)|subscribe|inscri|s'inscrire"
    r"|konto erstellen"
    r"|crear|cadastr|registr|регистрац|新規|注册|가입|kayıt|zarejestr|confirm|retype|repeat|again",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"log[_-]?in|openid|fbconnect|signin", re.IGNORECASE)
_FORGOT = re.compile(r"forgot|lost|reset|recover|remind|vergessen|oubli|olvid|esquec|dimentic", re.IGNORECASE)


class LoginForm(Struct):
    """A form that logs in."""

    form: Element
    user: str  # names of the fields
    password: str


def find_login_forms(tree: Document) -> list[LoginForm]:
    """The forms of a page that log people in, the most likely one first."""
    forms = sorted(filter(logs_in, tree.select("form")), key=_score, reverse=True)
    return [made for form in forms if (made := _make(form)) is not None]


def logs_in(form: Element) -> bool:
    """Whether a form logs people in, with a password or by way of another site."""
    return _score(form) > _LEAST


def fields_of(form: Element) -> list[Element]:
    """The fields and buttons of a form; one that a table broke off owns what follows up to the next form."""
    fields = form.select(_FIELDS)
    if fields or form.text.strip():
        return fields
    for node in islice(form.following, _NODES):
        if isinstance(node, Element):
            if node.tag == "form":
                break
            if node.tag in _FIELD_TAGS:
                fields.append(node)
    return fields


def _score(form: Element) -> float:
    """How surely a form logs in."""
    fields = fields_of(form)
    passwords = [e for e in fields if _kind(e) == "password"]
    own = " ".join(str(form.attrs.get(name) or "") for name in _OWN_WORDS)
    if not passwords:  # the password is asked for elsewhere: OpenID, a social network
        is_elsewhere = _ELSEWHERE.search(own) and not _FORGOT.search(own) and not _SIGN_UP.search(own)
        return 1.0 if is_elsewhere and sum(_kind(e) in _WRITTEN for e in fields) <= _FEW else 0
    if len(passwords) != 1 or (passwords[0].attr("autocomplete") or "").lower() == "new-password":
        return 0
    names = sum(_kind(e) in _WRITTEN for e in fields)
    pressed = [e for e in fields if _kind(e) in _PRESSED]
    buttons = " ".join(f"{e.text} {e.attr('value') or ''} {e.attr('name') or ''}" for e in pressed)
    score = 2.0 - 1.0 * max(0, names - 2) - 0.5 * sum(e.tag in ("select", "textarea") for e in fields)
    score += 1.5 * bool(_LOG_IN.search(own)) + 1.5 * bool(_LOG_IN.search(buttons))
    score -= 1.5 * bool(_SIGN_UP.search(own)) + 2.0 * bool(_SIGN_UP.search(buttons))
    score += 0.5 * bool(_FORGOT.search(form.text[:5000])) + 0.5 * any(_kind(e) == "checkbox" for e in fields)
    return score


def _kind(field: Element) -> str:
    if field.tag == "button":
        return "submit"
    return (field.attr("type") or "text").strip().lower() or "text" if field.tag == "input" else field.tag


def _make(form: Element) -> LoginForm | None:
    """The fields: the last one for a name before the password."""
    user = ""
    for field in fields_of(form):
        kind, name = _kind(field), field.attr("name") or ""
        if kind == "password":
            return LoginForm(form, user, name) if name else None
        if kind in _WRITTEN and name:
            user = name
    return None
