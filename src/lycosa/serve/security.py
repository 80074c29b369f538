"""Request guard: which requests are let in, and what a browser may do with the answers.

Another site in the same browser is the adversary: it can let the browser send requests here, rebind its own name to
loopback, or show our pages in a frame. So the middleware refuses names that are not ours and requests that another
site caused; endpoints refuse a change without our token; and what the network brought is shown under a policy that
runs no code but our own files.

Without a password, who reaches the port may start crawls in the name of who started the server. Other machines do
not reach it, but every user of this one does. Linux tells to which user a socket belongs (sock_diag(7)); where the
system does not tell, everybody is let in.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import ipaddress
import os
import secrets
import socket
import struct
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lycosa.serve.passwords import PasswordGate
from lycosa.serve.people import AccountsDamaged, People

_ROOT = 0  # may do everything anyway, and forwards ports of other systems on this machine
_SOCK_DIAG = 4  # the protocol of netlink
_BY_FAMILY = 20  # kind of message, asked and answered
_REQUEST = 1  # its flag
_HEADER = struct.Struct("=IHHII")  # length, kind, flags, number, sender
_SOCKET = struct.Struct("!HH16s16s")  # ports and addresses, as on the network
_ASKED = struct.Struct(f"=BBxxI{_SOCKET.size}sIII")  # family, protocol, states, socket, interface, cookie
#: Family, state and timers, socket, interface and cookie, times and queues, user.
_ANSWERED = struct.Struct(f"=4x{_SOCKET.size}s12x12xI")


def is_other_user(client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Whether a connection is known to be another user's."""
    found = find_user(client, server)
    return found is not None and found not in (_ROOT, os.getuid())


def find_user(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """The user at the client's end of a connection; None where the system does not tell."""
    try:
        ends = [ipaddress.ip_address(address) for address, _ in (client, server)]
        family = socket.AF_INET if ends[0].version == 4 else socket.AF_INET6
        wanted = _SOCKET.pack(client[1], server[1], *(end.packed for end in ends))
        asked = _ASKED.pack(family, socket.IPPROTO_TCP, 0xFFFFFFFF, wanted, 0, 0xFFFFFFFF, 0xFFFFFFFF)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.settimeout(1.0)
            kernel.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked)
            answer = kernel.recv(1024)
        if _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
            return None
        found, user = _ANSWERED.unpack_from(answer, _HEADER.size)
    except (AttributeError, OSError, ValueError, struct.error):
        return None
    return int(user) if found == wanted else None


POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " font-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-src 'self';"
    " frame-ancestors 'none'"
)
#: Headers of every answer; a view may set a policy of its own, as that of archived pages is narrower.
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-dns-prefetch-control": "off",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "cache-control": "no-store",
}
SAFE_METHODS = ("GET", "HEAD")
METHODS = (*SAFE_METHODS, "POST")
BODY_BYTES = 1 << 20
BODY_S = 20.0
TARGET_BYTES = 60_000  # of path and query; a query of SQL stands there
COOKIE = "lycosa_session"
TOKEN_FIELD = "token"
TOKEN_HEADER = "x-lycosa-token"
_NOT_YOURS = (
    "Another user of this machine started this server, without a password: who did can start it again with one"
    " (--password-file), which lets others in."
)
#: What may be seen before the password was given.
OPEN_PATHS = ("/login", "/static/", "/about.json")


def make_policy(images: str) -> str:
    """The policy of a page that may show pictures of another origin as well, which the user named."""
    return POLICY.replace("img-src 'self'", f"img-src 'self' {images}")


class TokenMaker:
    """The token that every request which changes something carries, made for each session."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def token(self, session: str) -> str:
        return hmac.new(self._secret, session.encode(), "sha256").hexdigest()

    def is_right(self, session: str, token: str) -> bool:
        return hmac.compare_digest(self.token(session).encode(), token.encode("utf-8", "surrogatepass"))


class Visitor(NamedTuple):
    """Who asks: the session, if there is one, the name and the role."""

    session: str
    user: str
    role: str  # empty: nobody who may come in


class Door(Protocol):
    """What decides who may come in, as it is now."""

    @property
    def gate(self) -> PasswordGate | None:
        """None: nobody is asked for a password."""

    @property
    def people(self) -> People: ...
    @property
    def user_header(self) -> str:
        """The header in which a proxy says who asks; empty: none is believed."""

    @property
    def proxies(self) -> tuple[str, ...]:
        """The addresses from which it is believed."""


class Guard:
    """ASGI middleware that refuses what must not come in, and puts the headers on what goes out."""

    def __init__(self, app: ASGIApp, *, names: Iterable[str], door: Door) -> None:
        self._app = app
        self._names = {name.lower().rstrip(".") for name in names}
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks another protocol
            await send({"type": "websocket.close", "code": 1003})
            return
        send = _with_headers(send)
        try:
            await self._let_in(scope, receive, send)
        except AccountsDamaged as problem:  # the application has not begun to answer
            await _refuse(send, 503, str(problem), head=scope["method"] == "HEAD")

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        gate = self._door.gate
        if gate is None and is_other_user(scope["client"], scope["server"]):
            await _refuse(send, 403, _NOT_YOURS)
            return
        if refusal := self._find_refusal(scope, headers):
            await _refuse(send, *refusal, head=scope["method"] == "HEAD")
            return
        who = Visitor("", "", "owner")
        if gate is not None:
            found = await self._find_visitor(scope, headers, gate)
            if found is None:
                wait = str(int(gate.wait_s(client_address(scope))) + 1)
                text = "The password is wrong, or was wrong too often: try again later."
                await _refuse(send, 401, text, extra={"retry-after": wait})
                return
            who = found
            if not who.role and not scope["path"].startswith(OPEN_PATHS):
                await _ask_for_password(scope, headers, send)
                return
        scope["lycosa_session"], scope["lycosa_user"], scope["lycosa_role"] = who
        await self._app(scope, BoundedBody(receive), send)

    async def _find_visitor(self, scope: Scope, headers: Headers, gate: PasswordGate) -> Visitor | None:
        """Who asks, by a session, a trusted proxy or a header; no role: nobody said, None: wrongly."""
        session = read_cookie(headers)
        if gate.has_session(session):
            name = gate.user_of(session)
            return Visitor(session, name, self._role_of(name))
        address = client_address(scope)
        header = self._door.user_header if address in self._door.proxies else ""
        if header and (name := headers.get(header, "")):
            return Visitor("", name, self._role_of(name)) if gate.is_persons(name) else None
        kind, _, value = headers.get("authorization", "").partition(" ")
        if kind.lower() not in ("basic", "bearer"):
            return Visitor("", "", "")
        if kind.lower() == "bearer" and (found := self._door.people.find_token(value)) is not None:
            return Visitor("", *found)
        name = ""
        if kind.lower() == "basic":
            try:
                name, _, value = base64.b64decode(value, validate=True).decode().partition(":")
            except ValueError:
                return None
        name = name if gate.is_persons(name) else ""  # asked once: whose account ends meanwhile is nobody
        if gate.wait_s(address) > 0 or not await asyncio.to_thread(gate.try_password, address, value, name=name):
            return None
        return Visitor("", name, self._role_of(name))

    def _role_of(self, name: str) -> str:
        """The role of an account as it is now, or of who has the one password; empty where the account is gone."""
        person = self._door.people.all().get(name)
        return "owner" if not name else person.role if person else ""

    def _find_refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Why a request is refused, as status and sentence; None where it is not."""
        if scope["method"] not in METHODS:
            return 405, f"The method is {scope['method'][:20]}; allowed: {', '.join(METHODS)}."
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > TARGET_BYTES:
            return 414, f"The address is too long; allowed: {TARGET_BYTES:,} bytes."
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.is_our_name(hosts[0]):
            return 421, (
                "This server is not known by the name in the address: use localhost or the address of the machine, or"
                " start it with --name."
            )
        if not _is_own_request(scope["method"], headers, hosts[0]):
            return 403, "Another site asked for this: open the page itself, and do it there."
        if "transfer-encoding" in headers and "content-length" in headers:  # RFC 9112, 6.1: perhaps smuggled
            return 400, "The request says its length in two ways; allowed: Content-Length or Transfer-Encoding."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > BODY_BYTES:
            return 413, f"The request is too large; allowed: {BODY_BYTES:,} bytes."
        return None

    def is_our_name(self, host: str) -> bool:
        """Whether a Host header names this server: by an address, which cannot be rebound, or by a name of ours."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if name == "localhost" or name in self._names:
            return True
        try:
            return not ipaddress.ip_address(name).is_unspecified  # which browsers let other sites ask as nobody's
        except ValueError:
            return False


class BoundedBody:
    """The body of a request with a bound on its bytes and on the time that it takes."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._bytes = 0
        self._done = False
        self._end = asyncio.get_running_loop().time() + BODY_S  # of all of it, in however many pieces

    async def __call__(self) -> Message:
        if self._done:  # what follows is the end of the connection, which may be waited for as long as it lasts
            return await self._receive()
        async with asyncio.timeout_at(self._end):
            message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > BODY_BYTES:
            raise BodyTooLarge
        self._done = not message.get("more_body", False)
        return message


class BodyTooLarge(Exception):
    """A body that is longer than allowed, whatever its header said."""


def read_cookie(headers: Headers) -> str:
    """The cookie of the session; empty where there is none."""
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def set_cookie(response: Response, cookie: str, *, is_secure: bool) -> None:
    """Send the cookie of a session, to be sent back to us alone."""
    response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=is_secure, path="/")


def client_address(scope: Scope) -> str:
    """Who asks."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _is_own_request(method: str, headers: Headers, host: str) -> bool:
    """Whether our own page caused a request, or a person: by what the browser says of its cause.

    Another site may lead a person here by a link, and nothing else: neither load a part of a page nor send a form.
    """
    site = headers.get("sec-fetch-site", "")
    if site in ("cross-site", "same-site"):
        is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        return method in SAFE_METHODS and is_link
    origin = headers.get("origin")
    # A page that sends no referrer sends "null" with its forms; the token then tells ours from others.
    if origin is None or (origin == "null" and method not in SAFE_METHODS):
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _with_headers(send: Send) -> Send:
    async def send_more(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_more


async def _refuse(
    send: Send, status: int, text: str, *, head: bool = False, extra: dict[str, str] | None = None
) -> None:
    """Answer with one sentence; who is refused here gets no page of ours."""
    phrase = HTTPStatus(status).phrase
    body = f"{status} {phrase}\n{text}\n".encode()
    fields: dict[str, Any] = {
        "content-type": "text/plain; charset=utf-8",
        "content-length": str(len(body)),
        "connection": "close",
        **(extra or {}),
    }
    pairs = [(name.encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": b"" if head else body})


async def _ask_for_password(scope: Scope, headers: Headers, send: Send) -> None:
    """Lead a person to the page that asks for the password; tell a program."""
    wants_page = scope["method"] == "GET" and "text/html" in headers.get("accept", "")
    if not wants_page or scope["path"].endswith(".json"):
        await _refuse(send, 401, "A password is needed: log in, or send it (curl -u lycosa:PASSWORD).")
        return
    wanted = (scope.get("raw_path") or b"").decode("latin-1")
    if query := scope["query_string"].decode("latin-1"):
        wanted += f"?{query}"
    login = f"/login?{urlencode({'to': wanted})}" if wanted != "/" else "/login"
    pairs = [(b"location", login.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": pairs})
    await send({"type": "http.response.body", "body": b""})
