"""An S3 endpoint of the tests' own: moto's server in a process of its own, on loopback, with one bucket."""

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

BUCKET = "crawls"


class S3Endpoint:
    """A server that can be taken away for a while; what it holds is lost then, unless it is only frozen."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.environment = {
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "of-our-own",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        }

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
        yield S3Endpoint(port)
    finally:
        server.kill()
        server.wait()
