"""Forms of the readers file: a reader with interests, an alert, the mail server and a test of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import RedirectResponse, Response

from lycosa import clock
from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.missions.records.alerts.settings import EVENTS
from lycosa.missions.records.database import RecordStore
from lycosa.missions.records.delivery import Message
from lycosa.missions.records.delivery.channels import MailServer
from lycosa.missions.records.delivery.message import is_mailbox
from lycosa.missions.records.web.current_store import shown_store
from lycosa.missions.records.web.edited_readers import (
    PASSWORD_NAME,
    EditedReaders,
    drop_empty,
    refuse_strange_readers,
    split_list,
    told_after_rounds,
)
from lycosa.missions.records.web.interest_forms import (
    MOST_INTERESTS,
    InterestForm,
    find_matches,
    read_interests,
    show_interest,
)
from lycosa.missions.records.web.reader_pages import ReaderList, ShownReader, list_readers
from lycosa.missions.web import NotFound, QueryValues, View, WebRequest

_TEST_S = 10.0
_MOST_NAMES = 200


class KnownNames(Struct, frozen=True):
    """What can be chosen in the forms: the kinds and fields of the records there are."""

    kinds: tuple[str, ...]
    fields: tuple[str, ...]


class ReaderForm(Struct):
    """A reader as the form has it."""

    old: str  # the name in the file; empty: a new one
    name: str = ""
    mail: str = ""
    group: str = "interest"
    limit: str = ""
    since: str = ""
    report: str = "digest"
    interests: list[InterestForm] = []


class AlertForm(Struct):
    """An alert as the form has it; lists stand with commas."""

    old: str
    name: str = ""
    kind: str = ""
    fields: str = ""
    url: str = ""
    page: str = ""
    when: list[str] = []
    by: str = ""
    below: str = ""
    above: str = ""
    words: str = ""
    readers: list[str] = []
    webhook: str = ""
    feed: str = ""


class MailForm(Struct):
    """The mail server as the form has it; the password is not shown."""

    host: str = ""
    port: str = ""
    security: str = ""
    sender: str = ""
    user: str = ""
    has_password: bool = False


class FormPage(Struct, frozen=True):
    """A form over the readers file; the file is kept only if it is still that of the mark."""

    form: Any
    mark: str
    known: KnownNames
    readers: tuple[str, ...]  # that can be reached by mail
    has_mail_server: bool
    has_comments: bool
    problem: str = ""
    events: tuple[str, ...] = EVENTS


def known_names(collection: Collection) -> KnownNames:
    """The kinds of records, and their fields."""
    with shown_store(collection.path) as (store, _):
        return KnownNames(tuple(store.own_kinds()[:_MOST_NAMES]), tuple(_fields(store)))


def _fields(store: RecordStore) -> Iterable[str]:
    if not store.has_table("list_field"):
        return []
    return [name for (name,) in store.rows("SELECT name FROM list_field ORDER BY name LIMIT ?", (_MOST_NAMES,))]


def _make_page(request: WebRequest, form: Any, edited: EditedReaders, problem: str = "", mark: str = "") -> FormPage:
    return FormPage(
        form=form,
        mark=mark or edited.mark,
        known=known_names(request.collection),
        readers=tuple(reader.name for reader in edited.file.readers if reader.mail),
        has_mail_server=edited.file.mail is not None,
        has_comments=edited.has_comments,
        problem=problem,
    )


def _find(edited: EditedReaders, kind: str, name: str) -> dict[str, Any]:
    found = edited.find(kind, name) if name else {}
    if found is None:
        raise NotFound(f"There is no {kind[:-1]} called {name[:100]!r} in the readers file.")
    return found


_READER_TEXTS = ("name", "mail", "group", "limit", "since", "report")


def show_reader(request: WebRequest) -> View:
    """The form of a reader: ?name=…; without a name, of a new one."""
    edited = EditedReaders(request.collection)
    name = request.query.get("name", "")
    table = _find(edited, "readers", name)
    texts = {key: str(table[key]) for key in _READER_TEXTS if key in table}
    form = msgspec.convert({"old": name, **texts}, ReaderForm)
    form.interests = [*map(show_interest, table.get("interests", [])), InterestForm()][:MOST_INTERESTS]
    return View("reader.html", _make_page(request, form, edited))


def keep_reader(request: WebRequest) -> View | Response:
    """Keep a reader, or take them out of the file."""
    form = request.form
    edited = EditedReaders(request.collection)
    old = form.get("old", "")
    before = _find(edited, "readers", old)
    try:
        table = None if form.get("action") == "remove" else _read_reader(form, before)
        edited.put("readers", old, table)
        edited.keep(form.get("mark", ""))
    except UsageError as problem:
        values = {key: form.get(key, "") for key in _READER_TEXTS}
        interests = [*map(show_interest, read_interests(form, before.get("interests", []))), InterestForm()]
        shown = msgspec.convert({"old": old, **values}, ReaderForm)
        shown.interests = interests
        page = _make_page(request, shown, EditedReaders(request.collection), str(problem), form.get("mark", ""))
        return View("reader.html", page, 422)
    return RedirectResponse(request.mission_link("readers"), 303)


def _read_reader(form: QueryValues, before: dict[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {key: form.get(key, "").strip() for key in ("name", "mail", "group", "report")}
    if table["report"] not in ("", "digest", "none", before.get("report")):
        raise UsageError(f"report is {table['report'][:60]!r}; allowed: digest, none.")
    if limit := form.get("limit", "").strip():
        table["limit"] = int(limit) if limit.isdecimal() and len(limit) < 9 else limit
    if since := form.get("since", "").strip():
        try:
            table["since"] = date.fromisoformat(since)
        except ValueError:
            table["since"] = since
    table["interests"] = read_interests(form, before.get("interests", []))
    usual = {"group": "interest", "report": "digest"}
    return {
        "name": table["name"],
        **{key: value for key, value in drop_empty(table).items() if usual.get(key) != value},
    }


_ALERT_LISTS = ("fields", "url", "page")
_ALERT_NUMBERS = ("below", "above", "words")


def show_alert(request: WebRequest) -> View:
    """The form of an alert: ?name=…; without a name, of a new one."""
    edited = EditedReaders(request.collection)
    name = request.query.get("name", "")
    table = dict(_find(edited, "alerts", name))
    for key in ("when", "readers"):
        table[key] = [table[key]] if isinstance(table.get(key), str) else table.get(key, [])
    texts = {
        key: ", ".join(value) if isinstance(value, list) and key in _ALERT_LISTS else value
        for key, value in table.items()
        if key != "causes"
    }
    said = {key: value if isinstance(value, str | list) else f"{value:g}" for key, value in texts.items()}
    form = msgspec.convert({**said, "old": name}, AlertForm)
    return View("alert.html", _make_page(request, form, edited))


def keep_alert(request: WebRequest) -> View | Response:
    """Keep an alert, or take it out of the file."""
    form = request.form
    edited = EditedReaders(request.collection)
    old = form.get("old", "")
    before = _find(edited, "alerts", old)
    names = [name for name in AlertForm.__struct_fields__ if name not in ("old", "when", "readers")]
    texts = {name: form.get(name, "").strip() for name in names}
    chosen = {name: form.getlist(name) for name in ("when", "readers")}
    try:
        table: dict[str, Any] | None = None
        if form.get("action") != "remove":
            lists = {name: split_list(texts[name]) for name in _ALERT_LISTS}
            numbers = {name: _read_number(texts[name]) for name in _ALERT_NUMBERS}
            amount = {"by": texts["by"] if "%" in texts["by"] else _read_number(texts["by"])}
            causes = {"causes": before["causes"]} if "causes" in before else {}
            table = drop_empty({**texts, **lists, **numbers, **amount, **chosen, **causes})
            if "/" in texts["feed"] or "\\" in texts["feed"]:
                raise UsageError(f"feed is {texts['feed']!r}; allowed: the name of a file, such as prices.atom.")
            table = {"name": texts["name"] or " ".join([texts["kind"], *lists["fields"]]).strip(), **table}
        edited.put("alerts", old, table)
        edited.keep(form.get("mark", ""))
    except UsageError as problem:
        shown = msgspec.convert({"old": old, **texts, **chosen}, AlertForm)
        page = _make_page(request, shown, EditedReaders(request.collection), str(problem), form.get("mark", ""))
        return View("alert.html", page, 422)
    return RedirectResponse(request.mission_link("readers"), 303)


def _read_number(text: str) -> str | int | float:
    """A number as TOML has it; what is none stays, and is refused with all other values."""
    try:
        found = float(text.replace(",", "."))
    except ValueError:
        return text
    return int(found) if found.is_integer() and abs(found) < 1e15 else found


class ReadersPage(ReaderList, frozen=True, kw_only=True):
    """The readers file with the forms that change it."""

    mail: MailForm
    mark: str = ""
    has_comments: bool = False
    tested: str = ""  # of a test mail: "sent", or why not
    can_edit: bool = True
    is_told: bool = False  # whether crawls of the page tell readers by it


def show_readers(request: WebRequest, *, problem: str = "", tested: str = "") -> View:
    """The readers of the readers file, its alerts and its mail server."""
    found = msgspec.structs.asdict(list_readers(request.collection))
    found["problem"] = problem or found["problem"]
    try:
        edited = EditedReaders(request.collection)
        more: dict[str, Any] = {
            "mail": show_mail_server(edited),
            "mark": edited.mark,
            "has_comments": edited.has_comments,
        }
    except UsageError:  # which the list tells
        more = {"mail": MailForm(), "can_edit": False}
    page = ReadersPage(**found, **more, tested=tested, is_told=bool(told_after_rounds(request.folder)))
    return View("readers.html", page, 422 if problem else 200, rows="readers", row=ShownReader)


def show_mail_server(edited: EditedReaders) -> MailForm:
    """The mail server of a readers file; of none, an empty form."""
    table = edited.data.get("mail", {})
    values = {key: str(table.get(key, "")) for key in ("host", "port", "security", "sender", "user")}
    return MailForm(**values, has_password=bool(table.get("password_file") or table.get("password_env")))


def keep_mail_server(request: WebRequest) -> View | Response:
    """Keep the mail server, and send a test mail by it if asked to."""
    form = request.form
    edited = EditedReaders(request.collection)
    table = dict(edited.data.get("mail", {}))
    before = dict(table)
    for key in MailForm.__struct_fields__[:-1]:
        table.pop(key, None)
        if value := form.get(key, "").strip():
            table[key] = int(value) if key == "port" and value.isdecimal() and len(value) < 6 else value
    password = form.get("password", "") if "user" in table else ""
    if password or any(before.get(key) != table.get(key) for key in ("host", "port", "security", "user")):
        table.pop("password_env", None)  # what was typed for one server goes to no other
        table.pop("password_file", None)
    if password:
        table["password_file"] = PASSWORD_NAME
    edited.data["mail"] = table
    try:
        edited.keep(form.get("mark", ""))
        if password:
            edited.keep_password(password)
        tested = ""
        if form.get("action") == "test":
            tested = _send_test(request.collection, form.get("test_to", "").strip())
    except UsageError as problem:
        return show_readers(request, problem=str(problem))
    return show_readers(request, tested=tested) if tested else RedirectResponse(request.mission_link("readers"), 303)


def _send_test(collection: Collection, to: str) -> str:
    """Send a test mail; "sent", or why it was not."""
    if not is_mailbox(to):
        raise UsageError(f"{to[:100]!r} is no mailbox; allowed: one such as ana@example.org.")
    file = EditedReaders(collection).file
    if file.mail is None:
        raise UsageError("There is no mail server yet: name its host and the sender.")
    refuse_strange_readers(file)
    settings = msgspec.structs.replace(file.mail, timeout_s=min(file.mail.timeout_s, _TEST_S))
    now = clock.now()
    message = Message(
        key=f"test {collection.path.name} {now}",
        channel="mail",
        to=to,
        subject=f"Test of the mail server for {collection.path.name}",
        text="This mail shows that digests and alerts of lycosa arrive.\n",
    )
    with MailServer(settings) as server:
        delivery = server.send(message, queued_at=now)
    return "sent" if delivery.state == "sent" else delivery.reason


def show_matches(request: WebRequest) -> View:
    """What the interest of a form would find, while it is typed."""
    return View("matches.html", find_matches(request.collection, request.query))


def tell_readers(request: WebRequest) -> Response:
    """Send a reader's digest, what is new to watch, or what waits in the outbox, in the background."""
    edited = EditedReaders(request.collection)
    refuse_strange_readers(edited.file)
    if edited.file.mail is None:
        raise UsageError("There is no mail server yet: name its host and the sender.")
    action, name = request.form.get("action", ""), request.form.get("reader", "")
    file = str(edited.path)
    translate = request.translate
    if action == "digest":
        words = ["digest", file, f"--reader={edited.file.find(name).name}", "--send"]
        label = translate("Digest for {reader}", reader=name)
    elif action == "alerts":
        words, label = ["alerts", file, "--send"], translate("Look for alerts")
    elif action == "outbox":
        words, label = ["outbox", file, "--send"], translate("Send what waits")
    else:
        raise UsageError(f"The action is {action[:40]!r}; allowed: digest, alerts, outbox.")
    return RedirectResponse(request.start_work(words, label=label), 303)
