"""Mail servers on loopback for tests: one that takes mail, and others that refuse, hang, drip or want encryption."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

TLS = Path(__file__).with_name("tls")


class Mailbox:
    """What a server received; `refuse` says what it answers to a recipient, `spoil` what it answers to a message."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.connections = 0
        self.refuse: dict[str, str] = {}
        self.spoil = ""

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        self.connections += 1
        session.host_name = hostname
        return responses

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refuse:
            return self.refuse[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.spoil:
            return self.spoil
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        self.recipients += envelope.rcpt_tos
        return "250 OK"


@contextmanager
def mail_server(*, encryption: str = "none", password: str = "") -> Iterator[tuple[Mailbox, int]]:
    """A server that takes mail, with its port."""
    mailbox = Mailbox()
    context = None
    if encryption != "none":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "server.pem")

    def authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, login: object) -> AuthResult:
        right = isinstance(login, LoginPassword) and login.password == password.encode()
        return AuthResult(success=right, handled=False)

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    controller = Controller(
        mailbox,
        hostname="127.0.0.1",
        port=port,
        ssl_context=context if encryption == "tls" else None,
        tls_context=context if encryption == "starttls" else None,
        require_starttls=encryption == "starttls",
        authenticator=authenticate if password else None,
        auth_required=bool(password),
        auth_require_tls=False,
        enable_SMTPUTF8=True,
    )
    controller.start()
    try:
        yield mailbox, port
    finally:
        controller.stop()


@contextmanager
def slow_server(*, drip: bytes = b"", every_s: float = 0.2) -> Iterator[int]:
    """A server that takes connections and says nothing, or one byte at a time without end."""
    listener = socket.create_server(("127.0.0.1", 0))
    stopping = threading.Event()

    def serve() -> None:
        held = []
        listener.settimeout(0.05)
        while not stopping.is_set():
            try:
                connection, _ = listener.accept()
                held.append(connection)
            except TimeoutError:
                pass
            if drip:
                time.sleep(every_s)
                for connection in list(held):
                    try:
                        connection.sendall(drip)
                    except OSError:
                        held.remove(connection)
                        connection.close()
        for connection in held:
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        stopping.set()
        thread.join()
        listener.close()
