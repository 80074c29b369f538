"""HTTP server (uvicorn): listens where it was told to, says where it can be reached, and ends with Ctrl-C."""

from __future__ import annotations

import errno
import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import uvicorn

from lycosa.errors import UsageError
from lycosa.output.plain import printable
from lycosa.serve.application import make_application
from lycosa.serve.people import People
from lycosa.serve.server_state import ServerState, ServeSettings, is_loopback

_CONNECTIONS = 200
_HEAD_BYTES = 64 << 10
IDLE_S = 20.0  # without a whole head of a request, or without that a byte of the answer is taken
_END_S = 3  # that open pages get when the server ends


class PageServer(uvicorn.Server):
    """A server whose live pages end when it does, and which closes connections on which nothing moves."""

    def __init__(self, config: uvicorn.Config, server_state: ServerState) -> None:
        super().__init__(config)
        self._server_state = server_state
        self._idle_since: dict[object, tuple[int, float]] = {}  # bytes that wait to be taken, and since when

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            self._close_idle(time.monotonic())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._server_state.watch.closing = True
        await super().shutdown(sockets)

    def _close_idle(self, now: float) -> None:
        """Close what has long been open without a whole request, or without that its answer is taken.

        A few hundred such would keep all others out.
        """
        idle: dict[object, tuple[int, float]] = {}
        for connection in list(self.server_state.connections):
            cycle, transport = getattr(connection, "cycle", None), getattr(connection, "transport", None)
            waiting = transport.get_write_buffer_size() if transport is not None else 0
            if cycle is not None and not cycle.response_complete and not waiting:
                continue
            before, since = self._idle_since.get(connection, (waiting, now))
            idle[connection] = waiting, since if waiting == before else now
            if now - idle[connection][1] > IDLE_S and transport is not None:
                transport.abort()
        self._idle_since = idle


def run_server(
    settings: ServeSettings, *, certificate: str = "", key: str = "", announce: Callable[[], None] = lambda: None
) -> None:
    """Serve until interrupted; `announce` is called when browsers can come."""
    if certificate:
        check_certificate(certificate, key)
    listening = listen(settings)
    server = make_server(settings, certificate=certificate, key=key)
    announce()
    with suppress(KeyboardInterrupt):  # the usual way to end it
        server.run(sockets=[listening])


def check_certificate(certificate: str, key: str) -> None:
    """Refuse files that are no certificate with its key."""
    for path, what in ((certificate, "certificate"), (key, "key")):
        try:
            Path(path).read_bytes()
        except OSError as problem:
            raise UsageError(f"The {what} {path} cannot be read: {problem.strerror}.") from None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError):
        raise UsageError(
            f"{certificate} and {key} are no certificate with its key: allowed are files in PEM form that belong"
            " together, the key without a password."
        ) from None


def make_server(settings: ServeSettings, *, certificate: str = "", key: str = "") -> PageServer:
    """The server of an application, with bounds on what it takes at a time."""
    app = make_application(settings)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        http="h11",
        h11_max_incomplete_event_size=_HEAD_BYTES,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_END_S,
        ssl_certfile=certificate or None,
        ssl_keyfile=key or None,
    )
    return PageServer(config, app.state.server_state)


def listen(settings: ServeSettings) -> socket.socket:
    """The socket of the server; UsageError where it may not listen there, or another program does."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise UsageError(f"The host {settings.host} has no address; allowed: one of this machine.") from None
    family, kind, protocol, _, place = found[0]
    is_closed = settings.password or settings.user_header or People(settings.folder).all()
    if not is_loopback(str(place[0])) and not is_closed:
        raise UsageError(
            f"The address {settings.host} can be reached from other machines, and no password is set: give one with"
            " --password-file FILE, or listen on 127.0.0.1."
        )
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(128)
    except OSError as problem:
        listening.close()
        raise UsageError(_explain(problem, settings)) from None
    return listening


def address_of(settings: ServeSettings) -> str:
    """The address of the page."""
    host = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(settings.host, settings.host)
    host = f"[{host}]" if ":" in host else host
    return f"{'https' if settings.secure else 'http'}://{host}:{settings.port}/"


def _explain(problem: OSError, settings: ServeSettings) -> str:
    """Why the server cannot listen there, and what to do."""
    where = f"port {settings.port} of {settings.host}"
    if problem.errno == errno.EADDRINUSE:
        other = f"--port {settings.port + 1}" if settings.port < 65_535 else "--port 8420"
        if folder := find_running(settings):
            return f"A lycosa server for {folder} already runs at {address_of(settings)}: open that, or use {other}."
        return f"Another program listens on {where}: use {other}."
    if problem.errno in (errno.EACCES, errno.EPERM):
        return f"You may not listen on {where}: use --port 8420, or any from 1024 on."
    if problem.errno == errno.EADDRNOTAVAIL:
        return f"The address {settings.host} is none of this machine: use 127.0.0.1, or 0.0.0.0 for all of them."
    return f"Nothing can listen on {where}: {problem.strerror}."


def find_running(settings: ServeSettings) -> str:
    """The folder of the lycosa server that listens there already; empty where something else does."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    connection = http.client.HTTPConnection(host, settings.port, timeout=2)
    with suppress(OSError, http.client.HTTPException, ValueError), closing(connection):
        connection.request("GET", "/about.json")
        found = json.loads(connection.getresponse().read(10_000))
        if isinstance(found, dict) and found.get("program") == "lycosa":
            return printable(str(found.get("folder") or "another folder")[:500])  # it may be somebody else's
    return ""
