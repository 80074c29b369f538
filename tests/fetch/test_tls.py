"""HTTPS: whom the crawl believes, and what it makes of servers that fail at it for once or always."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crawl_runs import states

#: An authority for these tests; a certificate for secure.test and h2.test.
KEYS = Path(__file__).parents[1] / "support/tls"
PAGE = b"<!DOCTYPE html><title>kept</title><p>secret"
ANSWERS = {"/robots.txt": b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"}
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(PAGE), PAGE)


class Safe:
    """A server for HTTPS. The first `rude` connections it drops; it may say that it speaks HTTP/2, and does not."""

    def __init__(self) -> None:
        self.rude = 0
        self.spoken: list[str | None] = []  # what was agreed on with each client
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(KEYS / "server.pem")
        self._context.set_alpn_protocols(["http/1.1"])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def offer_http2(self) -> None:
        self._context.set_alpn_protocols(["h2", "http/1.1"])

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            if self.rude:
                self.rude -= 1
                return
            with self._context.wrap_socket(peer, server_side=True) as safe:
                self.spoken.append(safe.selected_alpn_protocol())
                while request := safe.recv(65536):
                    if safe.selected_alpn_protocol() == "h2":
                        safe.sendall(b"what?")
                        return
                    safe.sendall(ANSWERS.get(request.decode("latin-1").split(" ")[1], ANSWER))


@pytest.fixture
def safe() -> Iterator[Safe]:
    server = Safe()
    yield server
    server.close()


def crawl(safe: Safe, folder: Path, url: str, *options: str, trusted: bool = True) -> tuple[int, str, str]:
    """The exit code, what was said, and what became of the seed."""
    trust = ["--ca", str(KEYS / "ca.pem")] if trusted else []
    patience = ["--set", "fetch.retry_delay_s=0.1", "--delay", "0", "--workers", "1"]
    arguments = [url, "--connect-to", f"*=127.0.0.1:{safe.port}", "--collection", str(folder), *trust, *patience]
    command = [sys.executable, "-m", "lycosa", "crawl", *arguments, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr, states(folder)[url]


def test_a_page_behind_a_certificate_that_checks_out(safe: Safe, tmp_path: Path) -> None:
    """The authority that the user names is believed."""
    code, _, state = crawl(safe, tmp_path / "c", "https://secure.test/")
    assert (code, state) == (0, "fetched")


@pytest.mark.parametrize(("url", "trusted"), [("https://secure.test/", False), ("https://other.test/", True)])
def test_a_certificate_that_does_not_check_out(safe: Safe, tmp_path: Path, url: str, trusted: bool) -> None:
    """An unknown authority, or a certificate for another name: nothing is sent, tried again or waited for."""
    code, said, state = crawl(safe, tmp_path / "c", url, "--set", "fetch.retry_delay_s=60", trusted=trusted)
    assert (code, state) == (4, "failed tls")
    assert "certificate" in said


def test_certificates_can_be_ignored(safe: Safe, tmp_path: Path) -> None:
    """Who says so gets the page all the same."""
    code, _, state = crawl(safe, tmp_path / "c", "https://other.test/", "--set", "fetch.verify=false", trusted=False)
    assert (code, state) == (0, "fetched")


def test_a_handshake_that_fails_once(safe: Safe, tmp_path: Path) -> None:
    """A connection that is dropped before it is encrypted is tried again: it may be the moment."""
    safe.rude = 2
    code, _, state = crawl(safe, tmp_path / "c", "https://secure.test/")
    assert (code, state) == (0, "fetched")


def test_a_server_that_cannot_speak_the_http_it_offers(safe: Safe, tmp_path: Path) -> None:
    """A second try does without HTTP/2."""
    safe.offer_http2()
    code, _, state = crawl(safe, tmp_path / "c", "https://h2.test/")
    assert (code, state) == (0, "fetched")
    assert safe.spoken[0] == "h2" and safe.spoken[-1] == "http/1.1"
