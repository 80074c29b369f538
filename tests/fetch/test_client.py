"""The client: targets in, answers out, over a real server."""

from __future__ import annotations

import socket
import threading
import time
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from support.isolated_network import PUBLIC, on_isolated_network
from support.loopback import Reply, Web, html

from lycosa import urls
from lycosa.config.host_rules import find_rule
from lycosa.config.settings import AgentSettings, FetchSettings, HostRule, LimitSettings, Mission
from lycosa.fetch.address_guard import AddressGuard
from lycosa.fetch.client import SPOOL_BYTES, Client, agent_header
from lycosa.model import Answer, State, Target
from lycosa.politeness.disposition import disposition_of


def make_target(url: str, **more: object) -> Target:
    return msgspec.structs.replace(Target(1, urls.url_id(url), url, urls.host_of(url)), **more)


def fetch_all(client: Client, targets: list[Target]) -> list[Answer]:
    """Run the client until every target is answered (20 s at most)."""
    answers = [answer for answer in map(client.start, targets) if answer is not None]
    deadline = time.time() + 20
    while client.in_flight and time.time() < deadline:
        answers += client.poll(0.1)
    return answers


@pytest.fixture
def make_client(web: Web, tmp_path: Path) -> Callable[..., Client]:
    def make(mission: Mission | None = None, *, connect_to: tuple[str, ...] | None = None) -> Client:
        rules = (web.connect_to,) if connect_to is None else connect_to
        return Client(mission or Mission(), AddressGuard(connect_to=rules), spool_folder=str(tmp_path))

    return make


def test_an_answer_has_everything_the_archive_needs(web: Web, make_client: Callable[..., Client]) -> None:
    """Status, raw head, parsed headers, body, peer address, request, times."""
    web["a.test/x?q=1"] = html("/y", title="T")
    (answer,) = fetch_all(make_client(), [make_target("http://a.test/x?q=1")])
    assert (answer.status, answer.failure) == (200, "")
    assert answer.head.startswith(b"HTTP/1.1 200") and answer.head.endswith(b"\r\n\r\n")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert b"<title>T</title>" in answer.body
    assert answer.size == len(answer.body)
    assert answer.address == "127.0.0.1"
    assert answer.request.startswith(b"GET /x?q=1 HTTP/1.1\r\nHost: a.test\r\n")
    assert answer.took_s >= 0


def test_many_transfers_share_connections(web: Web, make_client: Callable[..., Client]) -> None:
    """A hundred pages over a few kept-alive connections, each answered once."""
    web.make = lambda address: html(title=address)
    targets = [make_target(f"http://a.test/{n}") for n in range(100)]
    answers = fetch_all(make_client(), targets)
    assert sorted(a.target.url for a in answers) == sorted(t.url for t in targets)
    assert {a.status for a in answers} == {200}


def test_redirects_are_not_followed(web: Web, make_client: Callable[..., Client]) -> None:
    """A redirect is an answer like any other: the next hop is decided elsewhere."""
    web["a.test/"] = Reply(status=302, headers={"Location": "/next"})
    (answer,) = fetch_all(make_client(), [make_target("http://a.test/")])
    assert (answer.status, answer.headers["location"]) == (302, "/next")
    assert web.paths() == ["a.test/"]


def test_bodies_are_kept_as_received(web: Web, make_client: Callable[..., Client]) -> None:
    """Content codings are left on; the archive keeps what the server sent."""
    web["a.test/"] = Reply(b"\x1f\x8bnot really gzip", headers={"Content-Encoding": "gzip"})
    (answer,) = fetch_all(make_client(), [make_target("http://a.test/")])
    assert answer.body == b"\x1f\x8bnot really gzip"


def test_a_body_over_the_limit_is_cut(web: Web, make_client: Callable[..., Client]) -> None:
    """HTML and other types have limits of their own; what came before the limit is kept, with the reason."""
    web["a.test/page"] = Reply(b"x" * 5000, headers={"Content-Type": "text/html"})
    web["a.test/file"] = Reply(b"x" * 5000, headers={"Content-Type": "application/pdf"})
    mission = Mission(limits=LimitSettings(html_bytes=1000, body_bytes=3000))
    answers = fetch_all(make_client(mission), [make_target("http://a.test/page"), make_target("http://a.test/file")])
    assert {(a.target.url[-4:], a.failure, a.size, len(a.body)) for a in answers} == {
        ("page", "too-large", 1000, 1000),
        ("file", "too-large", 3000, 3000),
    }


def test_the_type_of_an_answer_tells_its_limit(web: Web, make_client: Callable[..., Client]) -> None:
    """Not the type of something that another field speaks of."""
    headers = {"Content-Type": "application/pdf", "Link": '</record>; rel="collection"; type="text/html"'}
    web["a.test/file"] = Reply(b"x" * 5000, headers=headers)
    mission = Mission(limits=LimitSettings(html_bytes=1000, body_bytes=9000))
    (answer,) = fetch_all(make_client(mission), [make_target("http://a.test/file")])
    assert (answer.failure, answer.size) == ("", 5000)


def test_a_handshake_that_is_never_answered_is_no_slow_page(make_client: Callable[..., Client]) -> None:
    """The port is at fault, and of pages on others nothing is said."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        mission = Mission(fetch=FetchSettings(connect_timeout_s=0.5))
        client = make_client(mission, connect_to=(f"*=127.0.0.1:{listener.getsockname()[1]}",))
        (answer,) = fetch_all(client, [make_target("https://a.test/")])
    assert answer.failure == "connect-timeout"


def test_a_large_body_lies_in_a_file(web: Web, make_client: Callable[..., Client]) -> None:
    """Beyond two megabytes the body goes to disk, whole."""
    body = bytes(range(256)) * (SPOOL_BYTES // 256 + 10)
    web["a.test/"] = Reply(body)
    (answer,) = fetch_all(make_client(), [make_target("http://a.test/")])
    assert Path(answer.spool).read_bytes() == body
    assert (answer.body, answer.size) == (b"", len(body))


def test_private_addresses_are_refused_at_the_socket(web: Web, make_client: Callable[..., Client]) -> None:
    """Without a word from the user, a name that leads to loopback is refused when the socket is opened."""
    client = make_client(connect_to=())
    answers = fetch_all(
        client, [make_target(f"http://localhost:{web.port}/"), make_target(f"http://127.0.0.1:{web.port}/")]
    )
    assert [a.failure for a in answers] == ["address", "address"]
    assert all("--allow-private" in a.detail for a in answers)
    assert web.asked == []


def test_failures_have_names(make_client: Callable[..., Client]) -> None:
    """No listener, no such name, an odd scheme: each has a reason of its own."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        client = make_client(connect_to=(f"closed.test=127.0.0.1:{port}",))
        answers = fetch_all(
            client,
            [make_target("http://closed.test/"), make_target("http://nowhere.invalid/"), make_target("ftp://a.test/")],
        )
    assert {a.target.host: a.failure for a in answers} == {
        "closed.test": "connect",
        "nowhere.invalid": "dns",
        "a.test": "scheme",
    }


def serve_raw(answer: bytes) -> tuple[int, threading.Thread]:
    """A server that answers one connection with just these bytes and closes it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        with listener:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return listener.getsockname()[1], thread


@pytest.mark.parametrize(
    ("raw", "failure"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "cut-short"),
        (b"", "empty-answer"),
        (b"SSH-2.0-OpenSSH\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 400_000, "header-too-large"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 1500 + b"Content-Length: 2\r\n\r\nok", "header-too-large"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokno line end", "protocol"),
    ],
)
def test_broken_answers_have_names(make_client: Callable[..., Client], raw: bytes, failure: str) -> None:
    """A cut body, silence, another protocol, endless headers, chunks that do not fit together."""
    port, thread = serve_raw(raw)
    (answer,) = fetch_all(make_client(connect_to=(f"*=127.0.0.1:{port}",)), [make_target("http://a.test/")])
    thread.join(5)
    assert answer.failure == failure


def test_a_silent_server_is_given_up(make_client: Callable[..., Client]) -> None:
    """A server that accepts and says nothing runs into the deadline."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        mission = Mission(fetch=FetchSettings(total_timeout_s=0.5))
        client = make_client(mission, connect_to=(f"*=127.0.0.1:{listener.getsockname()[1]}",))
        (answer,) = fetch_all(client, [make_target("http://a.test/")])
    assert answer.failure == "timeout"


def test_credentials_go_to_their_host_only(web: Web, make_client: Callable[..., Client]) -> None:
    """A handle that served one host's secrets carries none of them to the next host, and the archive sees none."""
    web.make = lambda address: html()
    rule = HostRule(user="u", password="p", headers={"X-Key": "k"}, cookies={"c": "1"})
    client = make_client(Mission(hosts={"a.test": rule}))
    (first,) = fetch_all(client, [make_target("http://a.test/")])
    fetch_all(client, [make_target("http://b.test/")])
    at_a, at_b = (asked.headers for asked in web.asked)
    assert at_a["authorization"].startswith("Basic ") and at_a["x-key"] == "k" and at_a["cookie"] == "c=1"
    assert not {"authorization", "x-key", "cookie"} & set(at_b)
    assert b"X-Key" not in first.request and b"Authorization" not in first.request


def test_credentials_are_sent_in_utf_8(web: Web, make_client: Callable[..., Client]) -> None:
    """A user name and a password may have any letters (RFC 7617)."""
    web.make = lambda address: html()
    client = make_client(Mission(hosts={"a.test": HostRule(user="zoë", password="pässwörd€")}))
    (answer,) = fetch_all(client, [make_target("http://a.test/")])
    assert (answer.status, answer.failure) == (200, "")
    sent = web.asked[0].headers["authorization"].removeprefix("Basic ")
    assert b64decode(sent).decode() == "zoë:pässwörd€"


def test_credentials_go_to_no_other_port_and_scheme(web: Web, make_client: Callable[..., Client]) -> None:
    """They are for the origins of the host's seeds; without a seed there, for the default ports."""
    web.make = lambda address: html()
    rule = HostRule(user="u", password="p", headers={"X-Key": "k", "Accept-Language": "de"}, cookies={"c": "1"})
    addresses = [f"http://a.test{port}/" for port in ("", ":81", ":8443")]

    def ask(*seeds: str) -> list[bool]:
        web.asked.clear()
        client = make_client(Mission(seeds=seeds, hosts={"a.test": rule}))
        for address in addresses:
            fetch_all(client, [make_target(address)])
        assert all(asked.headers["accept-language"] == "de" for asked in web.asked)
        return [bool({"authorization", "x-key", "cookie"} & set(asked.headers)) for asked in web.asked]

    assert ask() == ask("http://b.test:81/") == [True, False, False]
    assert ask("http://a.test:81/") == [False, True, False]
    assert ask("https://a.test/") == ask("https://a.test:8443/") == [False, False, False]
    assert ask("http://a.test/", "http://a.test:8443/x") == [True, False, True]


def test_ways_may_have_international_names(web: Web, tmp_path: Path, make_client: Callable[..., Client]) -> None:
    """A host that is reached elsewhere, and the file of authorities."""
    web["xn--bcher-kva.test/"] = html()
    authorities = tmp_path / "größe.pem"
    authorities.write_text("")
    client = make_client(
        Mission(fetch=FetchSettings(ca=str(authorities))), connect_to=(f"bücher.test=127.0.0.1:{web.port}",)
    )
    (answer,) = fetch_all(client, [make_target("http://xn--bcher-kva.test/")])
    assert (answer.status, answer.failure) == (200, "")


def test_https_where_a_port_speaks_http_has_a_reason_of_its_own(web: Web, make_client: Callable[..., Client]) -> None:
    """It is final: the same request would meet the same."""
    (answer,) = fetch_all(make_client(), [make_target("https://a.test/")])
    assert answer.failure == "no-tls"
    assert disposition_of(answer, FetchSettings()).state == State.FAILED


def test_a_proxy_that_is_down_is_not_taken_for_the_host(make_client: Callable[..., Client]) -> None:
    """What cannot be reached is the proxy, and that is said."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and never listens
        mission = Mission(fetch=FetchSettings(proxy=f"http://127.0.0.1:{closed.getsockname()[1]}"))
        (answer,) = fetch_all(make_client(mission, connect_to=()), [make_target("http://a.test/")])
    assert answer.failure == "proxy"


def test_conditional_requests(web: Web, make_client: Callable[..., Client]) -> None:
    """What we hold is named, so that the server can say: not modified."""
    web["a.test/"] = Reply(status=304)
    target = make_target("http://a.test/", etag='"1"', modified="Mon, 04 Mar 2024 08:00:00 GMT")
    (answer,) = fetch_all(make_client(), [target])
    assert answer.status == 304
    assert web.asked[0].headers["if-none-match"] == '"1"'
    assert web.asked[0].headers["if-modified-since"] == "Mon, 04 Mar 2024 08:00:00 GMT"


def test_the_crawler_names_itself_and_its_contact() -> None:
    """Name, version and contact stand in the User-Agent header."""
    header = agent_header(Mission(agent=AgentSettings(name="wolf", contact="mailto:a@b.test")))
    assert header.startswith("wolf/") and header.endswith("(+mailto:a@b.test)")


def test_the_most_specific_host_rule_wins() -> None:
    """The host's own name, then the longest pattern that covers it."""
    a, b, c = HostRule(user="a"), HostRule(user="b"), HostRule(user="c")
    rules = {"x.a.test": a, "*.a.test": b, "*": c}
    assert find_rule(rules, "x.a.test") is a
    assert find_rule(rules, "y.z.a.test") is b
    assert find_rule(rules, "b.test") is c
    assert find_rule({}, "b.test") is None


def test_a_proxy_for_some_hosts_opens_no_address_to_others(web: Web, make_client: Callable[..., Client]) -> None:
    """Where a host rule takes the proxy away, the address is checked as without one."""
    mission = Mission(
        fetch=FetchSettings(proxy=f"http://127.0.0.1:{web.port}"), hosts={"localhost": HostRule(proxy="")}
    )
    client = make_client(mission, connect_to=())
    (answer,) = fetch_all(client, [make_target(f"http://localhost:{web.port}/")])
    assert answer.failure == "address"


def test_stored_validators_cannot_add_headers(web: Web, make_client: Callable[..., Client]) -> None:
    """An ETag with a line break in it is not sent."""
    web["a.test/"] = html()
    fetch_all(make_client(), [make_target("http://a.test/", etag='"1"\r\nX-Evil: 1')])
    assert not {"x-evil", "if-none-match"} & set(web.asked[0].headers)


def test_an_answer_that_nobody_asked_for_is_not_the_next_one(make_client: Callable[..., Client]) -> None:
    """A server adds a second answer on a connection that stays open: the next request does not get it."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"
    added = threading.Event()

    def run() -> None:
        with listener:
            for _ in range(2):
                connection, _ = listener.accept()
                with connection:
                    while connection.recv(65536):
                        connection.sendall(answer % (4, b"fine"))
                        if not added.is_set():
                            time.sleep(0.05)  # behind the first, which is over by then
                            connection.sendall(answer % (8, b"poisoned"))
                            added.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        threading.Thread(target=run, daemon=True).start()
        client = make_client(connect_to=(f"*=127.0.0.1:{port}",))
        bodies = [fetch_all(client, [make_target("http://a.test/1")])[0].body]
        added.wait(10)
        client.poll(0.2)
        bodies.append(fetch_all(client, [make_target("http://a.test/2")])[0].body)
        client.close()
    assert bodies == [b"fine", b"fine"]


def test_a_name_without_an_address_is_asked_for_again() -> None:
    """Name servers have bad moments: what had no address then is looked up anew at the next try."""
    names = {"late.test": [[], [], [PUBLIC]]}  # the first try asks twice
    done = on_isolated_network(
        {"names": names, "ask": [], "crawl": "http://late.test/", "sets": ["fetch.retry_delay_s=0.3"]}
    )
    if done is None:
        pytest.skip("this system does not let us have a network of our own")
    assert done["crawl"]["urls"] == [["http://late.test/", "fetched", ""]]
