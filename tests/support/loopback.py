"""A small web on loopback for tests: many hosts behind one port, each page a few lines, every request remembered."""

from __future__ import annotations

import socketserver
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any


@dataclass
class Reply:
    """What one address answers."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


@dataclass
class Asked:
    """One request as the server saw it."""

    host: str
    path: str
    headers: dict[str, str]
    began: float
    ended: float = 0.0
    body: bytes = b""


def html(*hrefs: str, title: str = "", head: str = "", text: str = "") -> Reply:
    """A page that links to `hrefs`."""
    links = " ".join(f'<a href="{href}">to {href}</a>' for href in hrefs)
    page = f"<!DOCTYPE html><html><head><title>{title}</title>{head}</head><body><p>{text}</p>{links}</body></html>"
    return Reply(page.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


class Web:
    """Pages by `host/path`; anything else is 404. `make` may answer addresses that are not listed."""

    def __init__(self) -> None:
        self.pages: dict[str, Reply] = {}
        self.make: Callable[[str], Reply | None] = lambda address: None
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.web = self
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def __setitem__(self, address: str, reply: Reply) -> None:
        self.pages[address] = reply

    @property
    def connect_to(self) -> str:
        return f"*=127.0.0.1:{self.port}"

    def paths(self, host: str | None = None) -> list[str]:
        """Addresses asked for, robots.txt left out, in the order of their arrival."""
        rows = [asked for asked in self.asked if asked.path != "/robots.txt" and host in (None, asked.host)]
        return [f"{asked.host}{asked.path}" for asked in rows]

    def answer(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
        address = f"{asked.host}{asked.path}"
        return self.pages.get(address) or self.make(address) or Reply(b"not here", 404)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128
    web: Web

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client may go away whenever it likes, and a test may look at standard error then."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        host = (self.headers.get("Host") or "").partition(":")[0]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = Asked(host, self.path, {k.lower(): v for k, v in self.headers.items()}, time.time(), body=body)
        reply = self.server.web.answer(asked)
        if reply.delay_s:
            time.sleep(reply.delay_s)
        self.send_response_only(reply.status)
        for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        asked.ended = time.time()  # before the client can have it all: this thread may be kept waiting afterwards
        self.wfile.write(reply.body)

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""
