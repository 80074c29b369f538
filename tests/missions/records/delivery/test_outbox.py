"""Messages leave once, by real servers on loopback; what cannot leave waits and says why."""

from __future__ import annotations

import multiprocessing
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.delivery_processes import PlainStore, send_and_die
from support.mail_servers import TLS, mail_server, slow_server

from lycosa.missions.records.delivery import MailSettings, Message, Outbox

NOW = time.time()


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    store = PlainStore(tmp_path / "records.db")
    yield Outbox(store)
    store.connection.close()


def mail(key: str = "one", to: str = "ana@example.org", text: str = "El río crece.\n") -> Message:
    return Message(key=key, channel="mail", to=to, subject=f"Río: {key}", text=text, html=f"<p>{text}</p>")


def settings(port: int, **more: object) -> MailSettings:
    return replace(MailSettings(host="127.0.0.1", port=port, sender="lycosa@example.org", timeout_s=5.0), **more)


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port


def test_a_mail_arrives_whole_and_once(outbox: Outbox) -> None:
    """Text, HTML and subject beyond ASCII arrive; a second run, or the same key, sends nothing more."""
    with mail_server() as (mailbox, port):
        assert outbox.put([mail(), mail()]) == 1
        assert outbox.send(settings(port)).sent == 1
        assert outbox.put([mail()]) == 0
        assert outbox.send(settings(port)).sent == 0
    (received,) = mailbox.mails
    assert received["Subject"] == "Río: one"
    assert received["To"] == "ana@example.org"
    assert received.get_body(("plain",)).get_content().strip() == "El río crece."  # type: ignore[union-attr]
    assert "<p>El río crece." in received.get_body(("html",)).get_content()  # type: ignore[union-attr]
    assert received["Auto-Submitted"] == "auto-generated"


def test_many_mails_share_one_connection(outbox: Outbox) -> None:
    """Three readers, one connection to the server."""
    with mail_server() as (mailbox, port):
        outbox.put(mail(f"k{n}", f"r{n}@example.org") for n in range(3))
        assert outbox.send(settings(port)).sent == 3
    assert mailbox.connections == 1
    assert mailbox.recipients == ["r0@example.org", "r1@example.org", "r2@example.org"]


def test_a_refused_recipient_is_given_up_and_the_others_get_their_mail(outbox: Outbox) -> None:
    """550 is for good and is told with the server's words; 450 waits."""
    with mail_server() as (mailbox, port):
        mailbox.refuse = {"gone@example.org": "550 no such user", "busy@example.org": "450 mailbox busy"}
        outbox.put([mail("a", "gone@example.org"), mail("b", "busy@example.org"), mail("c")])
        report = outbox.send(settings(port), now=NOW)
        assert (report.sent, report.waiting, report.given_up) == (1, 1, 1)
        assert any("gone@example.org: the recipient was refused: 550 no such user" in s for s in report.sentences)
        mailbox.refuse = {}
        assert outbox.send(settings(port), now=NOW + 59).sent == 0
        assert outbox.send(settings(port), now=NOW + 61).sent == 1
    assert sorted(mailbox.recipients) == ["ana@example.org", "busy@example.org"]


def test_a_server_that_is_down_is_asked_once_a_run_and_again_later(outbox: Outbox) -> None:
    """Nothing is lost: the mails wait, with pauses that grow, and leave when the server is back."""
    port = unused_port()
    outbox.put([mail("a"), mail("b")])
    report = outbox.send(settings(port), now=NOW)
    assert (report.sent, report.waiting, report.given_up) == (0, 2, 0)
    assert f"mail server 127.0.0.1:{port}: Connection refused" in report.sentences[0]
    outbox.send(settings(port), now=NOW + 61)
    assert [queued.due_at for queued in outbox.messages("waiting")] == [NOW + 361, NOW + 361]
    with mail_server() as (mailbox, port):
        assert outbox.send(settings(port), now=NOW + 362).sent == 2
        assert len(mailbox.mails) == 2


def test_what_never_leaves_is_given_up_after_days_and_can_be_tried_again(outbox: Outbox) -> None:
    """After five days a mail is given up with its last reason; `retry` brings it back, `drop` ends it."""
    outbox.put([mail()])
    (queued,) = outbox.messages()
    report = outbox.send(settings(unused_port()), now=queued.queued_at + 6 * 86_400)
    assert report.given_up == 1
    assert outbox.retry() == 1
    with mail_server() as (mailbox, port):
        assert outbox.send(settings(port)).sent == 1
    outbox.put([mail("other")])
    assert outbox.drop() == 1
    assert outbox.put([mail("other")]) == 0


@pytest.mark.parametrize("drip", [b"", b"2", b"220-wait\r\n"])
def test_a_server_that_hangs_is_cut(outbox: Outbox, drip: bytes) -> None:
    """A server that says nothing, or only a byte now and then, is left after the time-out; the mail waits."""
    outbox.put([mail("a"), mail("b")])
    with slow_server(drip=drip) as port:
        report = outbox.send(settings(port, timeout_s=1.0))
    assert (report.sent, report.waiting) == (0, 2)
    assert len(report.sentences) == 3


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
@pytest.mark.parametrize("encryption", ["starttls", "tls"])
def test_encryption_and_password_come_from_the_settings(
    outbox: Outbox, encryption: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The password is read from the environment; the certificate is checked."""
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *more, **named: look_up("127.0.0.1", *more, **named))
    outbox.put([mail()])
    with mail_server(encryption=encryption, password="a secret") as (mailbox, port):
        chosen = settings(port, host="secure.test", security=encryption, user="ana", password_env="MAIL_PASSWORD")
        untrusted = outbox.send(chosen, now=NOW)
        assert "certificate cannot be trusted" in untrusted.sentences[0]
        trusting = replace(chosen, ca=str(TLS / "ca.pem"))
        assert "no variable MAIL_PASSWORD" in outbox.send(trusting, now=NOW + 100).sentences[0]
        monkeypatch.setenv("MAIL_PASSWORD", "wrong")
        assert "user or password was refused" in outbox.send(trusting, now=NOW + 1000).sentences[0]
        monkeypatch.setenv("MAIL_PASSWORD", "a secret")
        assert outbox.send(trusting, now=NOW + 10_000).sent == 1
    assert len(mailbox.mails) == 1


def test_a_server_without_encryption_gets_no_mail_that_wants_it(outbox: Outbox) -> None:
    """No silent fall-back to plain text."""
    outbox.put([mail()])
    with mail_server() as (mailbox, port):
        report = outbox.send(settings(port, security="starttls"))
    assert report.waiting == 1
    assert "STARTTLS" in report.sentences[0]
    assert mailbox.mails == []


def test_headers_cannot_be_injected(outbox: Outbox) -> None:
    """Line breaks in a subject become blanks; a recipient with one is no recipient."""
    hostile = replace(mail(), subject="Hello\r\nBcc: eve@example.org\n\nbody", text="zero \x00 half \ud800 end")
    outbox.put([hostile, mail("two", "ana@example.org\r\nRCPT TO:<eve@example.org>")])
    with mail_server() as (mailbox, port):
        report = outbox.send(settings(port))
    assert (report.sent, report.given_up) == (1, 1)
    (received,) = mailbox.mails
    assert received["Bcc"] is None
    assert received["Subject"] == "Hello Bcc: eve@example.org body"
    assert mailbox.recipients == ["ana@example.org"]


def test_addresses_beyond_ascii_are_reached(outbox: Outbox) -> None:
    """By SMTPUTF8, where the server has it."""
    outbox.put([mail("one", "josé@correo.example")])
    with mail_server() as (mailbox, port):
        assert outbox.send(settings(port)).sent == 1
    assert mailbox.recipients == ["josé@correo.example"]
    assert mailbox.mails[0]["To"] == "josé@correo.example"


def test_a_message_that_the_server_refuses_is_given_up(outbox: Outbox) -> None:
    """554 after the data concerns this message alone; 451 is tried again."""
    outbox.put([mail()])
    with mail_server() as (mailbox, port):
        mailbox.spoil = "451 later"
        assert outbox.send(settings(port), now=NOW).waiting == 1
        mailbox.spoil = "554 looks like spam"
        assert "554 looks like spam" in outbox.send(settings(port), now=NOW + 100).sentences[0]
    assert [queued.state for queued in outbox.messages()] == ["given up"]


def test_a_repetition_after_a_kill_has_the_same_id(outbox: Outbox, tmp_path: Path) -> None:
    """Killed between the server's OK and our commit, the mail is sent again, the same to the last byte of its head."""
    outbox.put([mail()])
    with mail_server() as (mailbox, port):
        asked = (tmp_path / "records.db", settings(port))
        child = multiprocessing.get_context("spawn").Process(target=send_and_die, args=asked)
        child.start()
        child.join(30)
        assert child.exitcode == -signal.SIGKILL
        assert outbox.send(settings(port)).sent == 1
        assert outbox.send(settings(port)).sent == 0
    first, second = mailbox.mails
    assert first.as_bytes() == second.as_bytes()


def test_two_senders_at_once_send_one_mail(outbox: Outbox, tmp_path: Path) -> None:
    """Who comes second leaves the messages to the first, and says so."""
    from lycosa.collection.folder import lock

    outbox.put([mail()])
    with mail_server() as (mailbox, port):
        with lock(tmp_path, name="outbox.lock"):
            report = outbox.send(settings(port))
            assert report.sentences[0] == "another process is sending the messages of this collection"
        assert outbox.send(settings(port)).sent == 1
    assert len(mailbox.mails) == 1


def test_queueing_belongs_to_the_transaction_around_it(outbox: Outbox, tmp_path: Path) -> None:
    """What is rolled back takes its messages with it."""
    connection = outbox._connection
    with pytest.raises(ZeroDivisionError), connection:
        outbox.put([mail()])
        raise ZeroDivisionError
    assert list(outbox.messages()) == []


def test_settings_say_what_is_wrong_with_them() -> None:
    """A password in the clear, a sender that is none, a port that is none."""
    wrong = MailSettings(host="mail.example.org", port=99999, user="ana", security="none", sender="me", timeout_s=0.0)
    assert [key for key, _ in wrong.find_problems()] == ["port", "sender", "timeout_s", "user", "security"]
    assert MailSettings(sender="lycosa@example.org").find_problems() == []
