"""Where the server listens: over TLS, on IPv6, and what is wrong with a certificate."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from support.command_line import run
from support.serve_client import free_port

TLS = Path(__file__).parents[1] / "support/tls"
SERVER = str(TLS / "server.pem")


@contextmanager
def served_by_command(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`lycosa serve` as a user starts it, when it has said where it is."""
    command = [sys.executable, "-m", "lycosa", "serve", str(folder), *words]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        yield server
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0
        assert server.stdout is not None
        server.stdout.close()


def ask(connection: http.client.HTTPConnection, path: str, **headers: str) -> tuple[int, str]:
    """The answer to a request, tried until the server is there."""
    for _ in range(100):
        with suppress(ConnectionRefusedError):
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        time.sleep(0.1)
    raise AssertionError("nobody listens")


def test_browsers_can_come_over_tls(tmp_path: Path) -> None:
    """With a certificate and its key the page is at https, and plain HTTP gets no answer there."""
    port = free_port()
    with served_by_command(tmp_path, "--port", str(port), "--certificate", SERVER, "--key", SERVER) as server:
        assert server.stdout is not None
        assert f"https://127.0.0.1:{port}/" in server.stdout.readline()
        context = ssl.create_default_context(cafile=str(TLS / "ca.pem"))
        context.check_hostname = False  # the certificate is one of many tests
        with closing(http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)) as connection:
            status, page = ask(connection, "/")
            assert status == 200 and "<h1" in page
        plain = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with closing(plain), pytest.raises((http.client.HTTPException, ConnectionError)):
            plain.request("GET", "/")
            plain.getresponse()


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_the_page_is_on_ipv6_as_well(tmp_path: Path) -> None:
    """`--host ::1` is this machine alone, needs no password, and has its address in brackets."""
    with closing(socket.socket(socket.AF_INET6)) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("needs ::1")
    port = free_port()
    with served_by_command(tmp_path, "--port", str(port), "--host", "::1") as server:
        assert server.stdout is not None
        assert f"http://[::1]:{port}/" in server.stdout.readline()
        with closing(http.client.HTTPConnection("::1", port, timeout=30)) as connection:
            assert ask(connection, "/about.json")[0] == 200
            assert ask(connection, "/", Host=f"[::1]:{port}")[0] == 200
            assert ask(connection, "/", Host="rebound.example")[0] == 421
        second = run("serve", str(tmp_path), "--port", str(port), "--host", "::1")
        assert f"already runs at http://[::1]:{port}/" in second.output


@pytest.mark.parametrize(
    ("certificate", "key", "said"),
    [
        ("missing.pem", SERVER, "The certificate missing.pem cannot be read: No such file or directory."),
        (SERVER, "missing.pem", "The key missing.pem cannot be read: No such file or directory."),
        (__file__, SERVER, "are no certificate with its key"),
        (str(TLS / "ca.pem"), SERVER, "are no certificate with its key"),
        (SERVER, "", "--certificate and --key go together"),
    ],
)
def test_a_wrong_certificate_is_told(tmp_path: Path, certificate: str, key: str, said: str) -> None:
    """One sentence before anything listens: a file that is not there, no PEM, a key of another certificate."""
    words = ("--certificate", certificate, *(("--key", key) if key else ()))
    found = run("serve", str(tmp_path), "--port", str(free_port()), *words)
    assert found.code == 2 and said in found.output
