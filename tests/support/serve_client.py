"""The page in the browser for tests: a real server on a free port of loopback, and a client that speaks plain HTTP."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from msgspec.structs import replace

from lycosa.serve.server import listen, make_server
from lycosa.serve.server_state import ServeSettings

_PATIENCE_S = 120.0


@dataclass
class PageAnswer:
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ServeClient:
    """A client of one server; it keeps no cookies.

    It asks again as long as the server says that something is being made, unless it `is_patient` no more.
    """

    def __init__(self, port: int) -> None:
        self.is_patient = True
        self.port = port
        self.address = f"http://127.0.0.1:{port}"

    def get(self, path: str, **headers: str) -> PageAnswer:
        """Ask for a page; headers with _ for -, as `accept_language="es"`."""
        return self.request("GET", path, headers={name.replace("_", "-"): text for name, text in headers.items()})

    def post(
        self, path: str, fields: Mapping[str, object], *, page: str = "/new", headers: Mapping[str, str] | None = None
    ) -> PageAnswer:
        """Send a form with the token that a page of ours has."""
        body = urlencode({"token": self.token(page), **fields}, doseq=True)
        form = {"content-type": "application/x-www-form-urlencoded", "origin": self.address}
        return self.request("POST", path, headers={**form, **(headers or {})}, body=body.encode())

    def token(self, page: str = "/new") -> str:
        """The token in the forms of a page."""
        found = re.search(r'name="token" value="(\w+)"', self.get(page).text)
        return found[1] if found else ""

    def request(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> PageAnswer:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            answer = self._request_once(method, path, headers=headers, body=body)
            is_made = answer.status != 503 or "retry-after" not in answer.headers
            if is_made or not self.is_patient or time.monotonic() > deadline:
                return answer
            time.sleep(0.2)

    def _request_once(
        self, method: str, path: str, *, headers: Mapping[str, str] | None, body: bytes | None
    ) -> PageAnswer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body=body, headers=dict(headers or {}))
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return PageAnswer(answer.status, fields, answer.read())
        finally:
            connection.close()


@contextmanager
def serving(folder: Path, settings: ServeSettings | None = None) -> Iterator[ServeClient]:
    """Serve a folder as long as the block lasts."""
    settings = replace(settings or ServeSettings(folder=folder), folder=folder, port=free_port())
    listening = listen(settings)
    server = make_server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + 20
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        yield ServeClient(settings.port)
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
