"""The outbox: messages that wait in the records database until they are sent, each tried again with growing pauses.

A message is queued in the transaction of what caused it and sent outside of one, so that it is never lost; it is
committed as sent right after the server took it. Who is killed in between sends it again, under the same id.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

import apsw
import msgspec
from msgspec import Struct

from lycosa import clock
from lycosa.collection.folder import lock
from lycosa.errors import CollectionError
from lycosa.missions.records.delivery.channels import MailServer, Webhooks
from lycosa.missions.records.delivery.message import Delivery, MailSettings, Message, WebhookSettings
from lycosa.output.plain import counted

_VERSION = 1
_TABLES = """
CREATE TABLE delivery_message (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, receiver TEXT NOT NULL,
    subject TEXT NOT NULL, text TEXT NOT NULL, html TEXT NOT NULL, payload TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting', queued_at REAL NOT NULL, tries INTEGER NOT NULL DEFAULT 0,
    due_at REAL NOT NULL DEFAULT 0, ended_at REAL, reason TEXT NOT NULL DEFAULT '');
CREATE INDEX delivery_due ON delivery_message (due_at) WHERE state = 'waiting';
"""
#: Pauses between tries, as mail servers make them (RFC 5321, 4.5.4.1: for at least four or five days).
_PAUSES_S = (60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 12 * 3600.0)
_GIVE_UP_S = 5 * 86_400.0
#: One run of the sender lasts no longer than this, plus one message: the rest waits for the next.
_MAX_RUN_S = 600.0
_BATCH = 100
_SHOWN = 10

MessageState = Literal["waiting", "sent", "given up", "dropped"]


class MessageDatabase(Protocol):
    """What the outbox needs of the records database."""

    @property
    def connection(self) -> apsw.Connection: ...

    def ensure(self, name: str, version: int, sql: str) -> None: ...

    def transaction(self) -> AbstractContextManager[None]: ...


class QueuedMessage(Struct, frozen=True):
    """A message of the outbox, with what became of it."""

    number: int
    message: Message
    state: MessageState
    queued_at: float
    tries: int
    due_at: float
    ended_at: float | None
    reason: str


class DeliveryReport(Struct):
    """What one run of the sender did; the sentences are for people."""

    sent: int = 0
    waiting: int = 0
    given_up: int = 0
    sentences: list[str] = []


class Outbox:
    """The messages of a records database."""

    def __init__(self, store: MessageDatabase) -> None:
        store.ensure("delivery", _VERSION, _TABLES)
        self._connection = store.connection
        self._transaction = store.transaction

    def put(self, messages: Iterable[Message]) -> int:
        """Queue messages, within the caller's transaction if there is one; returns how many are new."""
        added = 0
        with self._transaction():
            for message in messages:
                self._connection.execute(
                    "INSERT INTO delivery_message (key, channel, receiver, subject, text, html, payload, queued_at)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (
                        _storable(message.key),
                        message.channel,
                        _storable(message.to),
                        _storable(message.subject),
                        _storable(message.text),
                        _storable(message.html),
                        msgspec.json.encode(message.payload).decode(),
                        clock.now(),
                    ),
                )
                added += self._connection.changes()
        return added

    def messages(self, *states: MessageState) -> Iterator[QueuedMessage]:
        """The messages in these states, or all, in the order of queueing; those that were sent have no content."""
        wanted = f" WHERE state IN ({', '.join('?' * len(states))})" if states else ""
        for row in self._connection.execute(f"{_SELECT}{wanted} ORDER BY id", states):
            yield _read(row)

    def retry(self, numbers: Iterable[int] | None = None) -> int:
        """Have messages that wait or were given up tried at the next run, all or these; returns how many there are."""
        return self._update(
            "state = 'waiting', due_at = 0, tries = 0, ended_at = NULL", ("waiting", "given up"), numbers
        )

    def drop(self, numbers: Iterable[int] | None = None) -> int:
        """Give up messages, all that wait or these; the same are not queued again. Returns how many there are."""
        return self._update(
            f"state = 'dropped', text = '', html = '', payload = '{{}}', ended_at = {clock.now()!r}",
            ("waiting", "given up"),
            numbers,
        )

    def _update(self, change: str, states: tuple[MessageState, ...], numbers: Iterable[int] | None) -> int:
        where = f"state IN ({', '.join('?' * len(states))})"
        chosen: Iterable[tuple[str, tuple[int, ...]]]
        chosen = [("", ())] if numbers is None else ((" AND id = ?", (number,)) for number in numbers)
        count = 0
        with self._transaction():
            for more, values in chosen:
                self._connection.execute(
                    f"UPDATE delivery_message SET {change} WHERE {where}{more}", (*states, *values)
                )
                count += self._connection.changes()
        return count

    def send(
        self,
        mail: MailSettings | None,
        *,
        webhooks: WebhookSettings = WebhookSettings(),  # noqa: B008  frozen
        now: float | None = None,
        proxy: str = "",
    ) -> DeliveryReport:
        """Send what is due; one process does so at a time, another leaves the messages to it.

        Without a mail server, mails wait. `now` says what counts as due and from when on pauses last.
        """
        report = DeliveryReport()
        path = Path(self._connection.filename)
        if self._connection.readonly("main"):
            raise CollectionError(f"{path} is read-only: messages are sent by those who can write to it.")
        try:
            with lock(path.parent, name="outbox.lock", what="sending messages already"), ExitStack() as closing:
                run = _Run(mail, closing, webhooks, proxy)
                self._send_due(run, report, clock.now() if now is None else now)
        except CollectionError:
            report.sentences.append("another process is sending the messages of this collection")
        ((report.waiting,),) = self._connection.execute("SELECT count(*) FROM delivery_message WHERE state = 'waiting'")
        if report.waiting:
            report.sentences.append(f"{counted(report.waiting, 'message', 'waits')} in the outbox (lycosa outbox)")
        return report

    def _send_due(self, run: _Run, report: DeliveryReport, now: float) -> None:
        ends_at = time.monotonic() + _MAX_RUN_S
        after = 0
        while time.monotonic() < ends_at:
            sql = f"{_SELECT} WHERE state = 'waiting' AND due_at <= ? AND id > ? ORDER BY id LIMIT ?"
            batch = [_read(row) for row in self._connection.execute(sql, (now, after, _BATCH)).fetchall()]
            if not batch:
                return
            for queued in batch:
                after = queued.number
                if time.monotonic() > ends_at:
                    return
                delivery = run.try_one(queued)
                if delivery is not None:
                    self._settle(queued, delivery, report, now)

    def _settle(self, queued: QueuedMessage, delivery: Delivery, report: DeliveryReport, now: float) -> None:
        """Commit what became of a try."""
        state: MessageState = "waiting"
        due_at = now + max(delivery.wait_s, _PAUSES_S[min(queued.tries, len(_PAUSES_S) - 1)])
        reason = delivery.reason
        if delivery.state == "sent":
            state = "sent"
            report.sent += 1
        elif delivery.state == "refused" or now - queued.queued_at > _GIVE_UP_S:
            state = "given up"
            report.given_up += 1
            told = f"given up: {queued.message.channel} to {hide_secrets(queued.message.to)}: {reason}"
            self._tell(report, told)
        else:
            self._tell(
                report, f"tried again later: {queued.message.channel} to {hide_secrets(queued.message.to)}: {reason}"
            )
        with self._transaction():
            self._connection.execute(
                "UPDATE delivery_message SET state = ?, tries = tries + 1, due_at = ?, ended_at = ?, reason = ?"
                " WHERE id = ? AND state = 'waiting'",
                (state, due_at, None if state == "waiting" else now, reason, queued.number),
            )
            if state == "sent":  # the key stays for ever, the content need not
                self._connection.execute(
                    "UPDATE delivery_message SET text = '', html = '', payload = '{}' WHERE id = ?", (queued.number,)
                )

    @staticmethod
    def _tell(report: DeliveryReport, sentence: str) -> None:
        if len(report.sentences) < _SHOWN:
            report.sentences.append(sentence)


class _Run:
    """One run of the sender: connections that are open, and servers that did not answer."""

    def __init__(self, mail: MailSettings | None, closing: ExitStack, webhooks: WebhookSettings, proxy: str) -> None:
        self._mail = closing.enter_context(MailServer(mail)) if mail is not None else None
        self._webhooks: Webhooks | None = None
        self._webhook_settings = webhooks
        self._proxy = proxy
        self._closing = closing
        self._down: dict[str, Delivery] = {}  # by server

    def try_one(self, queued: QueuedMessage) -> Delivery | None:
        """What becomes of a message now; None where nothing can be tried."""
        message = queued.message
        server = "mail" if message.channel == "mail" else urlsplit(message.to).netloc
        if server in self._down:
            return self._down[server]
        if message.channel == "mail":
            if self._mail is None:
                return None
            delivery = self._mail.send(message, queued_at=queued.queued_at)
        else:
            if self._webhooks is None:
                self._webhooks = self._closing.enter_context(Webhooks(self._webhook_settings, proxy=self._proxy))
            delivery = self._webhooks.send(message, queued_at=queued.queued_at)
        if delivery.ends_channel:
            self._down[server] = delivery
        return delivery


_COLUMNS = ("number", "key", "channel", "to", "subject", "text", "html", "payload", "state", "queued_at", "tries",
            "due_at", "ended_at", "reason")  # fmt: skip
_SELECT = (
    "SELECT id, key, channel, receiver, subject, text, html, payload, state, queued_at, tries, due_at, ended_at, reason"
    " FROM delivery_message"
)


def _read(row: tuple[Any, ...]) -> QueuedMessage:
    found = dict(zip(_COLUMNS, row, strict=True))
    found["payload"] = msgspec.json.decode(found["payload"])
    message = Message(**{name: found.pop(name) for name in Message.__struct_fields__})
    return QueuedMessage(message=message, **found)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def hide_secrets(address: str) -> str:
    """An address as it may be shown: many webhooks carry their secret in path and query."""
    if "://" not in address:
        return address
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/…"
