"""An S3 endpoint of the tests' own: moto's server in a process of its own, on loopback, with one bucket.

Clients reach it through a gate, which can refuse them for a while.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from support.gate import Gate

BUCKET = "crawls"


class S3Endpoint:
    """A server that can refuse everybody for a while."""

    def __init__(self, port: int, gate: Gate) -> None:
        self.port = port
        self._gate = gate
        self.environment = {
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "of-our-own",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{gate.port}",
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
    program = "import sys; from moto.server import main; main(sys.argv[1:])"
    command = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-c", program]  # it ends with this process
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
        gate = Gate(port)
        try:
            yield S3Endpoint(port, gate)
        finally:
            gate.close()
    finally:
        server.kill()
        server.wait()
