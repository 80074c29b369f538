"""The channels by which messages go out: mail and webhooks.

Mail goes by SMTP, many messages in one connection, each with the same Message-ID at every repetition. A webhook takes
a message as JSON, posted to an address that passed the address guard; redirects are not followed.
"""

from __future__ import annotations

import email.utils
import re
import smtplib
import socket
import ssl
import threading
from contextlib import suppress
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, Self

import msgspec
import pycurl

from lycosa import clock, urls
from lycosa.config.settings import FetchSettings, Mission
from lycosa.errors import UsageError
from lycosa.fetch.address_guard import AddressGuard, make_handle
from lycosa.fetch.headers import parse_head
from lycosa.missions.records.delivery.message import Delivery, MailSettings, Message, WebhookSettings, is_webhook
from lycosa.version import __version__

_MAX_SUBJECT = 200
_MAX_REASON = 300
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
#: Seven bits pass every server, also one that does not know 8BITMIME.
_POLICY = SMTP.clone(cte_type="7bit")


def make_mail(message: Message, settings: MailSettings, *, queued_at: float) -> EmailMessage:
    """The mail that carries a message; the same bytes whenever it is made but for the boundary of its parts."""
    mail = EmailMessage(policy=_POLICY)
    mail["Subject"] = " ".join(_clean(message.subject).split())[:_MAX_SUBJECT]
    mail["From"] = _address(settings.sender)
    mail["To"] = _address(message.to)
    mail["Date"] = format_datetime(datetime.fromtimestamp(queued_at, UTC))
    mail["Message-ID"] = f"<{message.id}@{_domain(settings.sender)}>"
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no holiday notices in return
    mail.set_content(_clean(message.text) or "\n")
    if message.html:
        mail.add_alternative(_clean(message.html), subtype="html")
        mail.set_boundary(f"={message.id}=")
    return mail


def _address(mailbox: str) -> Address:
    name, _, host = mailbox.rpartition("@")
    return Address(username=name, domain=host)


def _domain(mailbox: str) -> str:
    host = mailbox.rpartition("@")[2]
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return "lycosa.invalid"


def _clean(text: str) -> str:
    """The text without what no mail can hold: halves of characters, zeros and other controls."""
    plain = text.encode("utf-8", "replace").decode("utf-8")
    return _CONTROLS.sub("", plain)


class MailServer:
    """A connection to a mail server, opened for the first message and again after it broke."""

    def __init__(self, settings: MailSettings) -> None:
        self.settings = settings
        self._smtp: smtplib.SMTP | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, message: Message, *, queued_at: float) -> Delivery:
        """Try to send one message."""
        try:
            mail = make_mail(message, self.settings, queued_at=queued_at)
            international = not (message.to + self.settings.sender).isascii()
            content = mail.as_bytes(policy=_POLICY.clone(utf8=True) if international else _POLICY)
        except (ValueError, UnicodeError, LookupError) as error:
            return Delivery("refused", _shorten(f"no mail can be made of it: {error}"))
        try:
            with _Deadline(self, 4 * self.settings.timeout_s):
                if self._smtp is None:
                    self._smtp = self._connect()
                options = ["SMTPUTF8", "BODY=8BITMIME"] if international else []
                if international and not self._smtp.has_extn("smtputf8"):
                    return Delivery("refused", "the mail server takes no addresses beyond ASCII (SMTPUTF8)")
                self._smtp.sendmail(self.settings.sender, [message.to], content, options)
            return Delivery("sent")
        except smtplib.SMTPRecipientsRefused as error:
            code, text = next(iter(error.recipients.values()))
            return self._refused(code, text, "the recipient was refused")
        except smtplib.SMTPSenderRefused as error:
            if error.smtp_code == 552:  # RFC 1870: the message is larger than the server takes
                return self._refused(error.smtp_code, error.smtp_error, "the message was refused")
            return self._broken(
                f"the sender {self.settings.sender} was refused: {_told(error.smtp_code, error.smtp_error)}"
            )
        except smtplib.SMTPDataError as error:
            return self._refused(error.smtp_code, error.smtp_error, "the message was refused")
        except smtplib.SMTPAuthenticationError as error:
            return self._broken(f"user or password was refused: {_told(error.smtp_code, error.smtp_error)}")
        except smtplib.SMTPNotSupportedError as error:
            return self._broken(str(error))
        except smtplib.SMTPResponseException as error:
            return self._broken(_told(error.smtp_code, error.smtp_error))
        except UsageError as error:
            return self._broken(str(error))
        except ssl.SSLCertVerificationError as error:
            return self._broken(f"its certificate cannot be trusted: {error.verify_message}")
        except TimeoutError:
            return self._broken(f"it did not answer within {self.settings.timeout_s:g} seconds")
        except (OSError, smtplib.SMTPException, ValueError) as error:
            return self._broken(getattr(error, "strerror", None) or str(error) or type(error).__name__)

    def close(self) -> None:
        """Say good-bye, where somebody listens."""
        smtp, self._smtp = self._smtp, None
        if smtp is None:
            return
        try:
            with _Deadline(smtp, 5.0):
                smtp.quit()
        except (OSError, smtplib.SMTPException, ValueError):
            smtp.close()

    def break_off(self) -> None:
        """Cut the connection, from another thread: a server that sends a byte now and then would hold us for ever."""
        if self._smtp is not None:
            _cut(self._smtp)

    def _connect(self) -> smtplib.SMTP:
        settings = self.settings
        context = _make_context(settings) if settings.encryption != "none" else None
        name = "localhost" if settings.host in ("localhost", "127.0.0.1", "::1") else None
        if settings.encryption == "tls":
            smtp: smtplib.SMTP = smtplib.SMTP_SSL(timeout=settings.timeout_s, local_hostname=name, context=context)
        else:
            smtp = smtplib.SMTP(timeout=settings.timeout_s, local_hostname=name)
        self._smtp = smtp  # so that the deadline can cut it while it connects
        smtp._host = settings.host  # type: ignore[attr-defined]  # the name that certificates are checked for
        code, text = smtp.connect(settings.host, settings.chosen_port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, text)
        smtp.ehlo_or_helo_if_needed()
        if settings.encryption == "starttls":
            smtp.starttls(context=context)
            smtp.ehlo()
        if settings.user:
            smtp.login(settings.user, settings.read_password())
        return smtp

    def _refused(self, code: int, text: bytes | str, what: str) -> Delivery:
        """An answer about one message: the others may fare better."""
        if code == 421:
            return self._broken(_told(code, text))
        return Delivery("refused" if code >= 500 else "waiting", _shorten(f"{what}: {_told(code, text)}"))

    def _broken(self, reason: str) -> Delivery:
        smtp, self._smtp = self._smtp, None
        if smtp is not None:
            smtp.close()
        where = f"mail server {self.settings.host}:{self.settings.chosen_port}"
        return Delivery("waiting", _shorten(f"{where}: {reason}"), ends_channel=True)


class _Deadline:
    """A time after which a connection is cut, whatever its server does to keep it alive."""

    def __init__(self, connection: MailServer | smtplib.SMTP, seconds: float) -> None:
        cut = connection.break_off if isinstance(connection, MailServer) else lambda: _cut(connection)
        self._timer = threading.Timer(seconds, cut)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _cut(smtp: smtplib.SMTP) -> None:
    sock = smtp.sock
    if sock is not None:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _make_context(settings: MailSettings) -> ssl.SSLContext:
    from lycosa.fetch.address_guard import find_authorities

    try:
        return ssl.create_default_context(cafile=settings.ca or find_authorities())
    except (OSError, ValueError) as error:
        raise UsageError(f"mail: the authorities in {settings.ca} cannot be read ({error}).") from None


def _told(code: int, text: bytes | str) -> str:
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"{code} {' '.join(plain.split())}"


def _shorten(text: str) -> str:
    plain = "".join(c if c.isprintable() else " " for c in text)
    return plain if len(plain) <= _MAX_REASON else f"{plain[:_MAX_REASON]}…"


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

    def __exit__(self, *_: object) -> None:
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
