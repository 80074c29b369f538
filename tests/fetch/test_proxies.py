"""Proxies: HTTP and SOCKS5, with and without user and password, tried against small ones; and coded answers."""

from __future__ import annotations

import base64
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard
from support.crawl_runs import crawl, rows
from support.loopback import Reply, Web, html

from lycosa import urls
from lycosa.config.settings import FetchSettings, Mission
from lycosa.fetch.address_guard import AddressGuard
from lycosa.fetch.client import Client
from lycosa.model import Answer, Target

USER, PASSWORD = "spinne", "fäden&5"


def relay(one: socket.socket, other: socket.socket) -> None:
    def pass_on() -> None:
        with suppress(OSError):  # the other side is done
            while data := other.recv(1 << 16):
                one.sendall(data)

    thread = threading.Thread(target=pass_on, daemon=True)
    thread.start()
    while data := one.recv(1 << 16):
        other.sendall(data)


class Proxy:
    """A proxy that leads every name to one port; `asked` is what it was asked for."""

    def __init__(self, handle: Callable[[Proxy, socket.socket], None], port: int, *, secret: bool) -> None:
        self.target, self.secret, self.asked = port, secret, list[str]()
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                handle(proxy, self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """The client goes when it has its answer."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.target))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def speak_http(proxy: Proxy, client: socket.socket) -> None:
    """Requests with a whole address in their first line; 407 without user and password."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += client.recv(1)
    lines = head.decode().split("\r\n")
    proxy.asked.append(lines[0])
    wanted = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    if proxy.secret and f"Proxy-Authorization: Basic {wanted}" not in lines:
        client.sendall(b'HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="p"\r\nContent-Length: 0\r\n\r\n')
        return
    method, address, version = lines[0].split(" ")
    path = address[address.index("/", 8) :]
    kept = [line for line in lines[1:] if not line.lower().startswith("proxy-")]
    with proxy.connect() as server:
        server.sendall("\r\n".join([f"{method} {path} {version}", "Connection: close", *kept]).encode())
        relay(client, server)


def speak_socks(proxy: Proxy, client: socket.socket) -> None:
    """RFC 1928, and RFC 1929 for user and password."""
    file = client.makefile("rb")
    methods = file.read(file.read(2)[1])
    method = 2 if proxy.secret else 0
    client.sendall(bytes((5, method if method in methods else 255)))
    if proxy.secret:
        user = file.read(file.read(2)[1])
        password = file.read(file.read(1)[0])
        ok = (user.decode(), password.decode()) == (USER, PASSWORD)
        client.sendall(bytes((1, not ok)))
        if not ok:
            return
    kind = file.read(4)[3]
    host = file.read(file.read(1)[0]).decode() if kind == 3 else socket.inet_ntoa(file.read(4))
    proxy.asked.append(host)
    file.read(2)
    client.sendall(bytes((5, 0, 0, 1, 0, 0, 0, 0, 0, 0)))
    with proxy.connect() as server:
        relay(client, server)


@pytest.fixture
def make_proxy(web: Web) -> Iterator[Callable[..., Proxy]]:
    made: list[Proxy] = []

    def make(handle: Callable[[Proxy, socket.socket], None], *, secret: bool) -> Proxy:
        made.append(Proxy(handle, web.port, secret=secret))
        return made[-1]

    yield make
    for proxy in made:
        proxy.close()


def ask(proxy: str, folder: Path) -> Answer:
    client = Client(Mission(fetch=FetchSettings(proxy=proxy)), AddressGuard(), spool_folder=str(folder))
    url = "http://far.test/page"
    assert client.start(Target(1, urls.url_id(url), url, "far.test")) is None
    answers: list[Answer] = []
    while client.in_flight:
        answers += client.poll(0.1)
    client.close()
    return answers[0]


@pytest.mark.parametrize("secret", [False, True], ids=["open", "with a password"])
@pytest.mark.parametrize(("scheme", "handle"), [("http", speak_http), ("socks5h", speak_socks)])
def test_a_page_comes_through_a_proxy(
    scheme: str, handle: Any, secret: bool, web: Web, make_proxy: Callable[..., Proxy], tmp_path: Path
) -> None:
    """The proxy resolves the name, and user and password reach it alone."""
    web["far.test/page"] = html(title="far")
    proxy = make_proxy(handle, secret=secret)
    login = "spinne:f%C3%A4den%265@" if secret else ""
    answer = ask(f"{scheme}://{login}127.0.0.1:{proxy.port}", tmp_path)
    assert (answer.status, answer.failure) == (200, "")
    assert b"<title>far</title>" in answer.body
    assert len(proxy.asked) >= 1 and "far.test" in proxy.asked[-1]
    assert not any("proxy-authorization" in map(str.lower, asked.headers) for asked in web.asked)
    assert b"spinne" not in answer.request


@pytest.mark.parametrize(("scheme", "handle"), [("http", speak_http), ("socks5h", speak_socks)])
def test_a_wrong_password_is_the_proxys_refusal(
    scheme: str, handle: Any, web: Web, make_proxy: Callable[..., Proxy], tmp_path: Path
) -> None:
    """The host is not to blame, and nothing of it was asked."""
    proxy = make_proxy(handle, secret=True)
    answer = ask(f"{scheme}://spinne:wrong@127.0.0.1:{proxy.port}", tmp_path)
    assert answer.failure == "proxy"
    assert web.asked == []


def test_a_crawl_reads_brotli_and_zstd(web: Web, tmp_path: Path) -> None:
    """Both are asked for, read, and followed."""
    packers = {"br": brotli.compress, "zstd": zstandard.compress}
    for coding, pack in packers.items():
        page = html(f"/{coding}/next", title=f"in {coding}")
        headers = {**page.headers, "Content-Encoding": coding}
        web[f"a.test/{coding}"] = Reply(pack(page.body), headers=headers)
        web[f"a.test/{coding}/next"] = html(title="next")
    crawl(web, tmp_path / "c", "http://a.test/br", "http://a.test/zstd")
    titles = {title for (title,) in rows(tmp_path / "c", "SELECT title FROM pages")}
    assert titles == {"in br", "in zstd", "next"}
    assert all("br, zstd" in asked.headers["accept-encoding"] for asked in web.asked if asked.path != "/robots.txt")
