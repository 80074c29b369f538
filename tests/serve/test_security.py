"""Security of the page: other names, other sites, other machines, wrong passwords, paths that lead out."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import run
from support.make_collection import make_collection
from support.serve_client import PageAnswer, ServeClient, serving

from lycosa.errors import UsageError
from lycosa.serve import mission_pages, security, server
from lycosa.serve.application import ROUTES
from lycosa.serve.passwords import FREE_TRIES, PasswordGate, hash_password, is_right, read_password
from lycosa.serve.security import BODY_BYTES, TARGET_BYTES
from lycosa.serve.server import listen
from lycosa.serve.server_state import ServeSettings

PASSWORD = "correct horse battery"
HASH = hash_password(PASSWORD)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("outer") / "served"
    make_collection(root / "news", [("https://a.example/", "text/html", b"<title>A</title>")])
    make_collection(root.parent / "secret", [("https://s.example/", "text/html", b"<title>S</title>")])
    return root


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[ServeClient]:
    with serving(folder) as client:
        yield client


@pytest.fixture
def guarded(folder: Path) -> Iterator[ServeClient]:
    with serving(folder, ServeSettings(folder=folder, password=HASH)) as client:
        yield client


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8420",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "[",
        "a@b",
        "127.1",
        "0.0.0.0",
        "0.0.0.0:8420",
        "[::]:8420",
    ],  # fmt: skip
)
def test_a_name_that_was_rebound_is_refused(client: ServeClient, host: str) -> None:
    """Whatever the path: a site whose name leads to loopback for a moment gets nothing to read."""
    for path in ("/", "/c/news/index.json", "/static/lycosa.js"):
        answer = client.request("GET", path, headers={"host": host})
        assert answer.status in (400, 421)
        assert b"news" not in answer.body


@pytest.mark.parametrize("host", ["localhost:{}", "127.0.0.1:{}", "[::1]:{}", "LOCALHOST", "192.168.1.7:9000"])
def test_addresses_and_localhost_are_our_names(client: ServeClient, host: str) -> None:
    """An address cannot be rebound, and a forwarded port is nobody's fault."""
    assert client.request("GET", "/", headers={"host": host.format(client.port)}).status == 200


def post_routes() -> list[str]:
    return [route.path.replace("{name}", "news") for route in ROUTES if route.method == "POST"]


@pytest.mark.parametrize("path", post_routes())
def test_nothing_is_changed_without_the_token(client: ServeClient, path: str) -> None:
    """A form of another site does not know it; an old or wrong one is refused too, and so is an empty one."""
    form = {"content-type": "application/x-www-form-urlencoded"}
    for body in (b"", b"token=", b"token=wrong", b"token=" + b"0" * 64, b"token=%ff%fe"):
        assert client.request("POST", path, headers=form, body=body).status in (400, 403)
    assert client.request("GET", path).status in (200, 404, 405)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://localhost.evil.example"},
        {"sec-fetch-site": "cross-site", "origin": "null"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://["},
    ],
)
def test_a_form_of_another_site_is_refused_even_with_the_token(client: ServeClient, headers: dict[str, str]) -> None:
    """The browser says where a request comes from."""
    assert client.post("/c/news/crawl/stop", {}, headers=headers).status == 403
    assert client.post("/c/news/crawl/stop", {}).status == 303


def test_other_sites_may_link_here_and_nothing_else(client: ServeClient) -> None:
    """No picture, script, frame or fetch of another site gets an answer, whatever it costs us; a click does."""
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert client.get("/", **link).status == 200
    for dest, mode in (("image", "no-cors"), ("script", "no-cors"), ("iframe", "navigate"), ("empty", "cors")):
        answer = client.get("/c/news/index.json", sec_fetch_site="cross-site", sec_fetch_mode=mode, sec_fetch_dest=dest)
        assert answer.status == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://["])
def test_a_browser_that_says_little_says_enough(client: ServeClient, origin: str) -> None:
    """One that does not tell of its sites names the origin of a script that asks."""
    assert client.get("/c/news/index.json", origin=origin).status == 403
    assert client.get("/c/news/index.json", origin=client.address).status == 200


def test_an_error_before_any_view_is_a_page_as_well(client: ServeClient) -> None:
    """With the policy of all of them, whatever the body of the request holds."""
    for path, status in (("/nothing", 404), ("/static/lycosa.js", 405), ("/about", 405)):
        for body in (b"\xff\xfe", b"a=1&" * 1000):
            answer = client.request("POST", path, body=body)
            assert answer.status == status and "default-src 'self'" in answer.headers["content-security-policy"]


def test_names_that_are_none_are_not_kept(client: ServeClient) -> None:
    """Nobody needs a password to ask for files of missions, however many names and however long."""
    for nth in range(120):
        assert client.get(f"/static/m/{'x' * 2000}{nth}/a.js").status == 404
    assert mission_pages._files_of.cache_info().currsize <= 100 >= mission_pages.pages_of.cache_info().currsize


def test_a_body_that_drips_is_cut_off(client: ServeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is that of all of it; a few hundred such would keep all others out."""
    monkeypatch.setattr(security, "BODY_S", 1.0)
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(b"POST /crawls HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
        began = time.monotonic()
        connection.settimeout(0.2)
        answer = b""
        while not answer and time.monotonic() - began < 20:
            connection.sendall(b"a")
            with contextlib.suppress(TimeoutError):
                answer = connection.recv(100)
    assert answer.startswith(b"HTTP/1.1 400")


def test_who_takes_no_answer_is_left(client: ServeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection on which nothing moves is closed, also in the middle of an answer."""
    monkeypatch.setattr(server, "IDLE_S", 0.5)
    taken = 0
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(10)
        connection.connect(("127.0.0.1", client.port))
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"GET /static/lycosa.css HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
            time.sleep(8)  # until no buffer takes more, and then some
            while piece := connection.recv(1 << 16):
                taken += len(piece)
    assert taken < 10 << 20
    assert client.get("/about").status == 200


_ASK = (
    "import sys, http.client as h; c = h.HTTPConnection('127.0.0.1', int(sys.argv[1])); c.request('GET', sys.argv[2])"
)


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell whose a socket is")
def test_other_users_of_the_machine_get_nothing(
    client: ServeClient, guarded: ServeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a password the port is open to all of them; with one they may try it."""

    def ask(port: int, path: str) -> str:
        command = ["/usr/bin/env", "python3", "-c", f"{_ASK}; print(c.getresponse().status)", str(port), path]
        nobody = 65534 if os.getuid() == 0 else None
        return subprocess.run(command, user=nobody, capture_output=True, text=True, check=True, cwd="/").stdout.strip()

    if os.getuid():
        monkeypatch.setattr(security.os, "getuid", lambda: 1)
    assert [ask(client.port, path) for path in ("/", "/about.json", "/static/lycosa.js")] == ["403"] * 3
    assert ask(guarded.port, "/login") == "200"


@pytest.mark.parametrize(
    "path", ["/", "/nothing", "/c/news/", "/c/news/crawl", "/c/news/crawl.json", "/static/lycosa.css"]
)
def test_every_answer_carries_the_policy(client: ServeClient, path: str) -> None:
    """No inline code, no frames around us, no guessing of types, no referrer, no other origin."""
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy
    assert "unsafe" not in policy and "http:" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers and "server" not in headers


def test_pages_have_no_inline_code() -> None:
    """Neither scripts nor styles nor handlers stand in a template."""
    import re

    import lycosa.serve

    ours = Path(lycosa.serve.__file__).parent
    for file in (*ours.glob("templates/**/*.html"), *ours.parent.glob("missions/*/web/templates/**/*.html")):
        text = file.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:|\|\s*safe\b", text), file


TRAVERSALS = [
    "..", "../secret", "..%2fsecret", "%2e%2e%2fsecret", "..%252fsecret", "..~1secret", "~1etc", "%00", "..\\secret",
    "/etc/passwd", "%2fetc%2fpasswd", "....//secret", "news/../../secret", "news%2f..%2f..%2fsecret", ".", "%2e",
]  # fmt: skip


@pytest.mark.parametrize("name", TRAVERSALS)
def test_a_path_never_leads_out_of_the_folder(client: ServeClient, name: str) -> None:
    """In the place of every parameter of every address, and in every value of a query."""
    for route in ROUTES:
        if route.method == "GET" and "{name}" in route.path and not route.path.endswith("events"):
            answer = client.get(route.path.replace("{name}", name))
            assert answer.status in (400, 404), route.path
            assert b"s.example" not in answer.body
    for address in (f"/static/{name}", f"/static/../{name}", f"/?q={name}&page={name}"):
        answer = client.get(address)
        assert answer.status in (200, 404) and b"s.example" not in answer.body and b"root:" not in answer.body


@pytest.mark.parametrize("name", ["../out", "a/b", "..", "", "-x", ".hidden", "a\nb", "a" * 101, "a\0b", "news", "~1x"])
def test_a_new_collection_is_made_right_below_the_folder(client: ServeClient, folder: Path, name: str) -> None:
    """Any other name is refused at its field, and so is one that is taken; nothing is made."""
    client.get("/")  # which opens databases, beside which files of SQLite appear
    before = sorted(folder.parent.rglob("*"))
    answer = client.post("/crawls", {"name": name, "seeds": "http://127.0.0.1:9/"})
    assert answer.status == 422
    assert 'id="complaint-name"' in answer.text
    assert sorted(folder.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mission", "no-such"), ("mission", "../x.toml"), ("scope", "--robots=ignore"), ("limits.pages", "--debug"),
        ("fetch.delay_s", "-1; rm"), ("seeds", "--collection=/tmp/x"),
        ("seeds", "file:///etc/passwd"), ("limits.depth", "three"),
        ("limits.time_s", "soon"), ("limits.host_pages", "x"), ("agent.contact", "a\r\nb: c"), ("seeds", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_at_its_field(client: ServeClient, folder: Path, field: str, value: str) -> None:
    """And nothing is started: options cannot be smuggled in."""
    fields = {"name": "fresh", "seeds": "http://127.0.0.1:9/", field: value}
    answer = client.post("/crawls", fields)
    assert answer.status == 422
    assert f'id="complaint-{field}"' in answer.text
    assert not (folder / "fresh").exists()


def test_requests_have_bounds(client: ServeClient) -> None:
    """On the address, the body, its fields, the method and the header."""
    assert client.get("/?q=" + "x" * TARGET_BYTES).status == 414
    assert client.request("POST", "/crawls", headers={"content-length": str(BODY_BYTES + 1)}).status == 413
    assert client.request("POST", "/crawls", body=b"a=1&" * 1000).status == 400
    assert client.request("POST", "/crawls", body=b"\xff\xfe").status == 400
    assert client.request("POST", "/nothing", body=b"\xff\xfe").status == 404
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert client.request(method, "/").status == 405
    assert client.request("HEAD", "/").status == 200


def test_a_length_that_is_said_in_two_ways_ends_the_connection(client: ServeClient) -> None:
    """What is one request to us could be two to a proxy before us."""
    head = "POST /crawls HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
        connection.sendall(f"{head}0\r\n\r\nGET /about HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.1") == 1


def test_a_body_in_pieces_has_a_bound_as_well(client: ServeClient) -> None:
    """A body that does not say how long it is ends at the limit."""
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=30)
    pieces = (b"x" * 65536 for _ in range(BODY_BYTES // 65536 + 4))
    try:
        connection.request(
            "POST", "/crawls", body=pieces, encode_chunked=True, headers={"transfer-encoding": "chunked"}
        )
        assert connection.getresponse().status == 400
    except (BrokenPipeError, ConnectionResetError):
        pass  # it was cut off while we still sent
    finally:
        connection.close()


def test_other_machines_need_a_password(tmp_path: Path) -> None:
    """Without one, the server does not even listen."""
    with pytest.raises(UsageError, match="no password is set"):
        listen(ServeSettings(folder=tmp_path, host="0.0.0.0", port=0))
    said = run("serve", str(tmp_path), "--host", "0.0.0.0", "--port", "18420")
    assert said.code == 2 and "--password-file" in said.output


def log_in(client: ServeClient, password: str) -> PageAnswer:
    return client.post("/login", {"password": password}, page="/login")


def test_without_the_password_nothing_is_shown(guarded: ServeClient) -> None:
    """Neither pages nor their twins nor streams; only the question for it, the style, and that this is lycosa."""
    assert guarded.get("/", accept="text/html").headers["location"] == "/login"
    for path in ("/c/news/", "/c/news/crawl.json", "/c/news/crawl/events", "/index.json"):
        assert guarded.get(path).status == 401
    assert guarded.get("/about.json").json == {"program": "lycosa", "version": "", "folder": ""}
    assert guarded.get("/login").status == 200 and b"news" not in guarded.get("/login").body
    assert guarded.post("/c/news/crawl/stop", {}, page="/login").status == 401


def test_the_password_opens_a_session(guarded: ServeClient) -> None:
    """Its cookie is out of reach for scripts and other sites, and ends with the session."""
    answer = log_in(guarded, PASSWORD)
    assert answer.status == 303
    cookie = answer.headers["set-cookie"]
    assert "httponly" in cookie.lower() and "samesite=strict" in cookie.lower()
    value = cookie.partition(";")[0]
    assert guarded.get("/", cookie=value).status == 200
    assert guarded.get("/c/news/index.json", cookie=value).status == 200
    import re

    token = re.search(r'name="token" value="(\w+)"', guarded.get("/", cookie=value).text)
    assert token and token[1] != guarded.token("/login")  # each session has its own
    form = {"cookie": value, "content-type": "application/x-www-form-urlencoded"}
    stolen = f"token={guarded.token('/login')}".encode()
    assert guarded.request("POST", "/c/news/crawl/stop", headers=form, body=stolen).status == 403
    assert guarded.request("POST", "/logout", headers=form, body=f"token={token[1]}".encode()).status == 303
    assert guarded.get("/c/news/index.json", cookie=value).status == 401


def test_the_password_leads_to_the_page_that_was_asked_for(guarded: ServeClient) -> None:
    """With its query, and after a wrong one as well; never to another site."""
    asked = guarded.get("/c/news/pages?host=a%26b&sort=url", accept="text/html").headers["location"]
    page = guarded.get(asked).text
    assert 'name="to" value="/c/news/pages?host=a%26b&amp;sort=url"' in page
    wrong = guarded.post("/login", {"password": "wrong password", "to": "/c/news/"}, page="/login")
    assert wrong.status == 401 and 'name="to" value="/c/news/"' in wrong.text
    for to, there in (
        ("/c/news/pages?host=a%26b&sort=url", "/c/news/pages?host=a%26b&sort=url"),
        *((bad, "/") for bad in ("", "//evil.example", "/\\evil.example", "/\t/evil.example", "http://evil.example")),
    ):
        answer = guarded.post("/login", {"password": PASSWORD, "to": to}, page="/login")
        assert (answer.status, answer.headers["location"]) == (303, there)


def test_programs_send_the_password_along(guarded: ServeClient) -> None:
    """As curl -u does."""
    import base64

    right = base64.b64encode(f"lycosa:{PASSWORD}".encode()).decode()
    wrong = base64.b64encode(b"lycosa:no").decode()
    assert guarded.get("/c/news/index.json", authorization=f"Basic {right}").status == 200
    assert guarded.get("/c/news/index.json", authorization=f"Basic {wrong}").status == 401
    assert guarded.get("/c/news/index.json", authorization="Basic ===").status == 401


def test_wrong_passwords_are_slowed_down(guarded: ServeClient) -> None:
    """After a few, an address waits, each time longer; the right password does not help before."""
    for _ in range(FREE_TRIES):
        assert log_in(guarded, "wrong password").status == 401
    answer = log_in(guarded, PASSWORD)
    assert answer.status == 429
    assert "seconds" in answer.text


def test_wrong_passwords_lock_nobody_else_out(guarded: ServeClient) -> None:
    """Who begins a session of their own behind the same address gets in; many sessions share their tries."""
    cookies = [guarded.get("/login").headers["set-cookie"].partition(";")[0] for _ in range(2)]
    words = [{"cookie": cookie} for cookie in cookies]
    for _ in range(FREE_TRIES):
        assert guarded.post("/login", {"password": "wrong password"}, page="/login", headers=words[0]).status == 401
    assert guarded.post("/login", {"password": PASSWORD}, page="/login", headers=words[0]).status == 429
    assert guarded.post("/login", {"password": PASSWORD}, page="/login", headers=words[1]).status == 303
    gate = PasswordGate(HASH, now=lambda: 0.0)
    for nth in range(60):
        assert not gate.try_password("192.0.2.1", "no", str(nth))
    assert gate.wait_s("192.0.2.1", "fresh") > 0 and gate.wait_s("192.0.2.2", "0") == 0


def test_each_wrong_password_doubles_the_wait() -> None:
    """For that address, or the network of one household, and for no other."""
    now = [0.0]
    gate = PasswordGate(HASH, now=lambda: now[0])
    waits = []
    for _ in range(6):
        assert not gate.try_password("2001:db8::1", "wrong")
        waits.append(gate.wait_s("2001:db8::2"))
        now[0] += waits[-1]
    assert waits == [0, 0, 1, 2, 4, 8]
    assert gate.wait_s("2001:db8:0:1::1") == 0
    assert gate.try_password("2001:db8::1", PASSWORD)
    assert gate.wait_s("2001:db8::1") == 0


def test_sessions_end(tmp_path: Path) -> None:
    """After half a day, or when they are closed."""
    now = [0.0]
    gate = PasswordGate(HASH, now=lambda: now[0])
    cookie = gate.open_session()
    assert gate.has_session(cookie) and not gate.has_session("") and not gate.has_session(cookie + "x")
    now[0] = 13 * 3600
    assert not gate.has_session(cookie)


def test_a_password_is_kept_as_a_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a file that only its owner reads, in plain or hashed, or from the environment."""
    assert PASSWORD not in HASH and is_right(PASSWORD, HASH) and not is_right("other", HASH)
    file = tmp_path / "password"
    for text in (PASSWORD, HASH):
        file.write_text(text + "\n")
        file.chmod(0o600)
        assert is_right(PASSWORD, read_password(str(file)))
    file.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        read_password(str(file))
    file.chmod(0o600)
    for text, complaint in (("", "empty"), ("short", "8 to"), ("scrypt$1$2", "damaged"), (HASH + "x" * 9, "hash")):
        file.write_text(text)
        with pytest.raises(UsageError, match=complaint):
            read_password(str(file))
    with pytest.raises(UsageError, match="No such file"):
        read_password(str(tmp_path / "none"))
    monkeypatch.setenv("LYCOSA_SERVE_PASSWORD", PASSWORD)
    assert is_right(PASSWORD, read_password(None))
    assert "LYCOSA_SERVE_PASSWORD" not in os.environ  # which crawls, queries and the index inherit


def test_a_second_server_names_the_first(client: ServeClient, folder: Path) -> None:
    """And says how to have both."""
    said = run("serve", str(folder), "--port", str(client.port))
    assert said.code == 2
    assert f"http://127.0.0.1:{client.port}/" in said.output and str(folder) in said.output
    assert f"--port {client.port + 1}" in said.output


def test_a_port_of_another_program_is_said(tmp_path: Path) -> None:
    """In one sentence, with what to do."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        said = run("serve", str(tmp_path), "--port", str(port))
    assert said.code == 2
    assert f"Another program listens on port {port} of 127.0.0.1" in said.output


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["/no/such/folder"], "is no folder"),
        ([os.fsdecode(b"latin-\xf1")], "UTF-8"),
        (["--host", "no.such.host.invalid"], "has no address"),
        (["--host", "192.0.2.1"], "password"),
        (["--certificate", "x.pem"], "go together"),
        (["--port", "0"], "--port"),
    ],
)
def test_wrong_options_are_one_sentence(
    words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With exit code 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / os.fsdecode(b"latin-\xf1")).mkdir()
    said = run("serve", *words)
    assert said.code == 2 and complaint in said.output
