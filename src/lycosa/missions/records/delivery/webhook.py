"""Webhooks: a message as JSON, posted to an address that passed the address guard; redirects are not followed."""

from __future__ import annotations

import email.utils
import socket
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import msgspec
import pycurl

from lycosa import clock, urls
from lycosa.config.settings import FetchSettings, Mission
from lycosa.fetch.address_guard import AddressGuard
from lycosa.fetch.curl_handle import make_handle
from lycosa.fetch.headers import parse_head
from lycosa.missions.records.delivery.message import Delivery, Message, WebhookSettings, is_webhook
from lycosa.version import __version__

#: Of an answer, so many bytes are read: only its status counts.
_MAX_ANSWER = 16_384
_MAX_WAIT_S = 86_400.0
#: Answers that say "later": time-outs, too many requests, faults of the server.
_PASSING = (408, 425, 429)


class Webhooks:
    """Posts messages, one after the other; connections are kept for as long as it is open."""

    def __init__(self, settings: WebhookSettings, *, proxy: str = "") -> None:
        fetch = FetchSettings(
            connect_timeout_s=settings.timeout_s,
            total_timeout_s=settings.timeout_s,
            verify=settings.verify,
            ca=settings.ca,
            proxy=proxy,
        )
        self._settings = settings
        self._proxied = bool(proxy)
        self._guard = AddressGuard(allow_private=settings.allow_private)
        self._curl = make_handle(Mission(fetch=fetch), self._guard)
        self._curl.setopt(pycurl.USERAGENT, f"lycosa/{__version__}")
        self._curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        self._curl.setopt(pycurl.WRITEFUNCTION, self._receive)
        self._head: list[bytes] = []
        self._curl.setopt(pycurl.HEADERFUNCTION, self._head.append)
        self._sockets: list[socket.socket] = []
        self._host = ""
        self._refusal = ""
        self._received = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._curl.close()

    def send(self, message: Message, *, queued_at: float) -> Delivery:
        """Try to post one message."""
        url = urls.normalise(message.to) if is_webhook(message.to) else None
        if url is None:
            return Delivery("refused", "the address of the webhook is no URL of http or https")
        self._host = urls.host_of(url)
        if refusal := self._guard.refuse_url(url, self._host):
            return Delivery("refused", _explain(refusal))
        try:
            body = msgspec.json.encode(make_payload(message, queued_at=queued_at))
        except (TypeError, ValueError, UnicodeError) as error:
            return Delivery("refused", f"no JSON can be made of it: {error}")
        self._head.clear()
        self._refusal, self._received = "", 0
        self._curl.setopt(pycurl.URL, url)
        self._curl.setopt(pycurl.POSTFIELDS, body)
        # "Expect" would wait for servers that never heard of it; the id lets receivers drop a repetition.
        headers = ("Content-Type: application/json", f"Idempotency-Key: {message.id}", "Expect:")
        self._curl.setopt(pycurl.HTTPHEADER, list(headers))
        try:
            self._curl.perform()
        except pycurl.error as error:
            if self._refusal:
                return Delivery("refused", _explain(self._refusal))
            status = self._status()
            if not status or error.args[0] != pycurl.E_WRITE_ERROR:
                return Delivery("waiting", self._tell_failure(error), ends_channel=True)
        finally:
            while self._sockets:
                self._sockets.pop().close()
        return self._judge(self._status())

    def _judge(self, status: int) -> Delivery:
        if 200 <= status < 300:
            return Delivery("sent")
        if 300 <= status < 400:
            return Delivery("refused", f"it answers {status}: redirects are not followed; write the new address")
        if status in _PASSING or status >= 500 or not status:
            return Delivery("waiting", f"it answers {status}", wait_s=self._read_wait(), ends_channel=True)
        return Delivery("refused", f"it answers {status}")

    def _status(self) -> int:
        return int(self._curl.getinfo(pycurl.RESPONSE_CODE))

    def _read_wait(self) -> float:
        """The seconds that the receiver asks for, bounded."""
        told = parse_head(b"".join(self._head)).fields.get("retry-after", "")
        if told.isdigit():
            return min(float(told[:9]), _MAX_WAIT_S)
        try:
            at = email.utils.parsedate_to_datetime(told)
        except (ValueError, TypeError, OverflowError):
            return 0.0
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
        return min(max(0.0, (at - datetime.fromtimestamp(clock.now(), UTC)).total_seconds()), _MAX_WAIT_S)

    def _tell_failure(self, error: pycurl.error) -> str:
        if error.args[0] == pycurl.E_OPERATION_TIMEDOUT:
            return f"it did not answer within {self._settings.timeout_s:g} seconds"
        return str(error.args[1])[:300] or "it cannot be reached"

    def _open_socket(self, _purpose: int, address: Any) -> Any:
        """Called by libcurl with the address that it is about to connect to: here rebinding is refused."""
        family, kind, protocol, where = address
        if family not in (socket.AF_INET, socket.AF_INET6):
            self._refusal = "not an internet address"
            return pycurl.SOCKET_BAD
        if not self._proxied:
            self._refusal = self._guard.refuse_address(self._host, where[0], where[1])
            if self._refusal:
                return pycurl.SOCKET_BAD
        opened = socket.socket(family, kind, protocol)
        self._sockets.append(opened)  # pycurl takes a duplicate of it
        return opened

    def _receive(self, chunk: bytes) -> int | None:
        self._received += len(chunk)
        return 0 if self._received > _MAX_ANSWER else None


def make_payload(message: Message, *, queued_at: float) -> dict[str, Any]:
    """What is posted: what the message brings, with the id of its repetitions and when it was made."""
    made = datetime.fromtimestamp(queued_at, UTC).isoformat(timespec="seconds")
    return {"id": message.id, "made": made, **(message.payload or {"subject": message.subject, "text": message.text})}


def _explain(refusal: str) -> str:
    """Why an address is refused, and where it is allowed."""
    return f"{refusal.partition(' (')[0]} (allow it with allow_private of [webhooks])"
