"""Webhooks get JSON once; addresses that are not open to the world need permission, answers decide what is next."""

from __future__ import annotations

import time

import pytest
from support.mail_servers import slow_server
from support.webhook_server import webhook_server

from lycosa.missions.records.delivery import Message, WebhookSettings
from lycosa.missions.records.delivery.channels import Webhooks

OPEN = WebhookSettings(allow_private=("127.0.0.1",), timeout_s=1.0)


def message(url: str) -> Message:
    return Message(key="one", channel="webhook", to=url, subject="S", text="T", payload={"alerts": [{"n": 1}]})


def test_a_webhook_gets_the_payload_with_the_id_of_its_repetitions() -> None:
    """JSON with id and time; twice the same message has the same Idempotency-Key."""
    with webhook_server() as server, Webhooks(OPEN) as webhooks:
        for _ in range(2):
            assert webhooks.send(message(server.url), queued_at=0.0).state == "sent"
    assert server.posted[0] == {"id": server.keys[0], "made": "1970-01-01T00:00:00+00:00", "alerts": [{"n": 1}]}
    assert server.keys[0] == server.keys[1]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_private_addresses_need_permission(host: str) -> None:
    """No webhook reaches this machine or its network, by address or by name, unless the settings allow it."""
    with webhook_server() as server, Webhooks(WebhookSettings(timeout_s=1.0)) as webhooks:
        sent = webhooks.send(message(server.url.replace("127.0.0.1", host)), queued_at=0.0)
    assert sent.state == "refused"
    assert "is a private or reserved address (allow it with allow_private of [webhooks])" in sent.reason
    assert server.posted == []


@pytest.mark.parametrize(
    ("status", "state"), [(200, "sent"), (301, "refused"), (404, "refused"), (429, "waiting"), (503, "waiting")]
)
def test_the_answer_decides(status: int, state: str) -> None:
    """Success ends it, faults of the server and "too many" wait, the rest is given up; redirects lead nowhere."""
    with webhook_server() as server, Webhooks(OPEN) as webhooks:
        server.status = status
        server.headers = {"Location": server.url + "/elsewhere", "Retry-After": "120"}
        sent = webhooks.send(message(server.url), queued_at=0.0)
    assert sent.state == state
    assert sent.wait_s == (120 if state == "waiting" else 0)
    assert len(server.posted) == 1


def test_a_long_answer_is_not_read() -> None:
    """Only the status counts: a body of megabytes is cut."""
    with webhook_server() as server, Webhooks(OPEN) as webhooks:
        server.status, server.body = 200, b"x" * 10_000_000
        assert webhooks.send(message(server.url), queued_at=0.0).state == "sent"


def test_a_webhook_that_hangs_or_drips_is_cut() -> None:
    """The time-out is for the whole call, however busy the server looks."""
    with webhook_server() as server, slow_server() as port, Webhooks(OPEN) as webhooks:
        server.drip_s = 0.1
        began = time.monotonic()
        for url in (server.url, f"http://127.0.0.1:{port}/"):
            sent = webhooks.send(message(url), queued_at=0.0)
            assert (sent.state, sent.reason) == ("waiting", "it did not answer within 1 seconds")
        assert time.monotonic() - began < 20


@pytest.mark.parametrize("url", ["http://", "ftp://example.org/", "http://a b/", "http://127.0.0.1:1/"])
def test_what_cannot_be_called_says_so(url: str) -> None:
    """Addresses that are none, and ports where nobody listens."""
    with Webhooks(OPEN) as webhooks:
        sent = webhooks.send(message(url), queued_at=0.0)
    assert sent.state in ("refused", "waiting")
    assert sent.reason
