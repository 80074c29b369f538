"""Messages, how they are sent, and what became of one that was."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from lycosa.errors import UsageError

Channel = Literal["mail", "webhook"]
Security = Literal["", "none", "starttls", "tls"]
_PORTS = {"none": 25, "starttls": 587, "tls": 465}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
#: A mailbox as people have them: RFC 5321 allows more, such as quoted blanks, which only help to deceive.
_MAILBOX = re.compile(r"[^\s@<>,;:\"()\[\]\\\x00-\x1f\x7f]{1,64}@(?!-)[^\s@<>,;:\"()\[\]\\\x00-\x1f\x7f]{1,253}")


class Message(Struct, frozen=True):
    """Something to tell one reader; two messages with the same key are the same, which is sent once."""

    key: str
    channel: Channel
    to: str  # a mailbox, or the URL of a webhook
    subject: str
    text: str
    html: str = ""
    payload: dict[str, Any] = {}  # what a webhook gets; empty: subject and text

    @property
    def id(self) -> str:
        """The same name for every repetition, by which a receiver recognises one."""
        return hashlib.sha256(self.key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class MailSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The mail server, as the table [mail] of a readers file names it."""

    host: str = "localhost"
    port: int = 0  # 0: the usual one
    user: str = ""
    password_env: str = ""  # the variable of the environment that holds the password
    password_file: str = ""
    security: Security = ""  # empty: starttls, and none on this machine
    sender: str = ""
    timeout_s: float = 30.0
    ca: str = ""  # a PEM file with authorities of one's own

    @property
    def encryption(self) -> str:
        return self.security or ("none" if self.host in _LOOPBACK else "starttls")

    @property
    def chosen_port(self) -> int:
        return self.port or _PORTS[self.encryption]

    def find_problems(self) -> list[tuple[str, str]]:
        """What is wrong, each with the key that it is about."""
        problems = []
        if not self.host or re.search(r"[\s/@]", self.host):
            problems.append(("host", f"found {self.host!r}; allowed: the name or address of a mail server"))
        if not 0 <= self.port <= 65535:
            problems.append(("port", f"found {self.port}; allowed: 1 to 65535, or 0 for the usual one"))
        if not is_mailbox(self.sender):
            problems.append(("sender", f"found {self.sender!r}; allowed: a mailbox such as lycosa@example.org"))
        if not 1 <= self.timeout_s <= 600:
            problems.append(("timeout_s", f"found {self.timeout_s:g}; allowed: 1 to 600 seconds"))
        if self.user and not (self.password_env or self.password_file):
            problems.append(("user", "it has no password; add password_env or password_file"))
        if self.user and self.encryption == "none" and self.host not in _LOOPBACK:
            problems.append(("security", "a password is not sent in the clear; allowed: starttls, tls"))
        return problems

    def read_password(self) -> str:
        """The password, from where the settings say it is; it is never stored or shown."""
        if self.password_env:
            if self.password_env not in os.environ:
                raise UsageError(
                    f"mail: the environment has no variable {self.password_env}, which holds the password."
                )
            return os.environ[self.password_env]
        try:
            with Path(self.password_file).open(encoding="utf-8") as file:
                return file.readline(10_000).rstrip("\r\n")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"mail: the password file {self.password_file} cannot be read ({reason}).") from None


class WebhookSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How webhooks are called, as the table [webhooks] of a readers file says it."""

    allow_private: tuple[str, ...] = ()  # networks beside the open internet that may be reached
    timeout_s: float = 10.0
    verify: bool = True
    ca: str = ""

    def find_problems(self) -> list[tuple[str, str]]:
        """What is wrong, each with the key that it is about."""
        import ipaddress

        problems = []
        for text in self.allow_private:
            try:
                ipaddress.ip_network(text, strict=False)
            except ValueError:
                problems.append(("allow_private", f"found {text!r}; allowed: addresses and networks (192.168.0.0/16)"))
        if not 1 <= self.timeout_s <= 600:
            problems.append(("timeout_s", f"found {self.timeout_s:g}; allowed: 1 to 600 seconds"))
        return problems


class Delivery(NamedTuple):
    """What became of one try: sent, to be tried again, or refused for good."""

    state: Literal["sent", "waiting", "refused"]
    reason: str = ""
    wait_s: float = 0.0  # that the receiver asks for
    ends_channel: bool = False  # the same would become of all other messages to this server now


def is_mailbox(text: str) -> bool:
    """Whether mail can be sent to this, as `name@host` without a name before it."""
    return bool(_MAILBOX.fullmatch(text)) and len(text) <= 254 and not text.endswith((".", "@"))


def is_webhook(text: str) -> bool:
    """Whether this is an address that can be posted to."""
    try:
        parts = urlsplit(text)
        port_is_good = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return (
        parts.scheme in ("http", "https")
        and bool(parts.hostname)
        and port_is_good
        and text.isprintable()
        and len(text) <= 2000
    )
