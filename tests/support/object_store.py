"""An S3 endpoint of the tests' own: moto's server in a process of its own, on loopback, with one bucket.

Clients reach it through a gate, which can refuse them for a while.
"""

from __future__ import annotations

import contextlib
import os
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

BUCKET = "crawls"


class _Gate(socketserver.ThreadingTCPServer):
    """Passes connections on, or ends them at once."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, target: int) -> None:
        super().__init__(("127.0.0.1", 0), _Passage)
        self.target = target
        self.refuses = False
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Passage(socketserver.BaseRequestHandler):
    server: _Gate

    def handle(self) -> None:
        if self.server.refuses:
            return
        with socket.create_connection(("127.0.0.1", self.server.target)) as inner:
            back = threading.Thread(target=_pass_on, args=(self.server, inner, self.request), daemon=True)
            back.start()
            _pass_on(self.server, self.request, inner)
            back.join()


def _pass_on(gate: _Gate, source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while (data := source.recv(65536)) and not gate.refuses:
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class S3Endpoint:
    """A server that can refuse everybody for a while."""

    def __init__(self, port: int, gate: _Gate) -> None:
        self.port = port
        self._gate = gate
        self.environment = {
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "of-our-own",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{gate.server_address[1]}",
        }

    def refuse(self, refuses: bool) -> None:
        self._gate.refuses = refuses

    def objects(self) -> str:
        """The listing of the bucket, as the server gives it."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{BUCKET}?list-type=2") as answer:
            return str(answer.read().decode())


@contextmanager
def running_store() -> Iterator[S3Endpoint]:
    """A new endpoint for the length of the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", "import sys; from moto.server import main; main(sys.argv[1:])"]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    server = subprocess.Popen(
        [*command, "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")
        for attempt in range(150):
            try:
                urllib.request.urlopen(request).read()
                break
            except urllib.error.URLError:
                assert attempt < 149 and server.poll() is None, "moto's server does not start"
                time.sleep(0.2)
        gate = _Gate(port)
        try:
            yield S3Endpoint(port, gate)
        finally:
            gate.shutdown()
            gate.server_close()
    finally:
        server.kill()
        server.wait()
