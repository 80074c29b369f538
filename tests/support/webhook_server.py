"""A webhook on loopback for tests: remembers what is posted, answers what it is told to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Webhook(ThreadingHTTPServer):
    """`status` and `headers` are what it answers; with `drip_s`, its head has no end."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 204
        self.headers: dict[str, str] = {}
        self.body = b""
        self.drip_s = 0.0
        self.posted: list[dict[str, Any]] = []
        self.keys: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook?token=secret"


class _Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        webhook = self.server
        webhook.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        webhook.keys.append(self.headers["Idempotency-Key"])
        try:
            if webhook.drip_s:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while webhook.drip_s:
                self.wfile.write(b"X: y\r\n")
                time.sleep(webhook.drip_s)
            self.send_response(webhook.status)
            for name, value in webhook.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(webhook.body)
        except OSError:
            pass

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextmanager
def webhook_server() -> Iterator[Webhook]:
    """A webhook that answers 204."""
    server = Webhook()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.drip_s = 0.0
        server.shutdown()
        server.server_close()
        thread.join()
