"""The readers file in the page: made, edited and kept, never by two at once, and told to nobody but those it names."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mail_servers import mail_server
from support.serve_client import ServeClient, serving

from lycosa.missions.records.alerts.settings import read_alerts
from lycosa.missions.records.readers import load_readers

PRESS = "/c/press/m/records"
SERVER = {"host": "127.0.0.1", "sender": "desk@example.org"}


@pytest.fixture
def client(served: Path) -> Iterator[ServeClient]:
    """Newspapers without a readers file."""
    for path in served.rglob("readers.toml"):
        path.unlink()
    with serving(served) as client:
        yield client


def mark_of(client: ServeClient, page: str = "reader") -> str:
    found = re.search(r'name="mark" value="(\w*)"', client.get(f"{PRESS}/{page}").text)
    assert found
    return found[1]


def send(client: ServeClient, page: str, **fields: object) -> int:
    mark = fields.pop("mark", None) or mark_of(client)
    return client.post(f"{PRESS}/{page}", {"mark": mark, "action": "save", **fields}, page=f"{PRESS}/readers").status


def test_a_readers_file_is_made_from_nothing(client: ServeClient, served: Path) -> None:
    """By forms alone; the command line reads what they made, and forms show what people wrote."""
    assert send(client, "mail-server", **SERVER, port="2525") == 303
    fields = {"i0-terms": "río, Ebro floods", "i0-without": "fútbol", "i0-name": "The river"}
    fields |= {"i1-field": "price", "i1-at_most": "12,5", "i2-pattern": r"(?i)\bcobre\b", "i2-field": "title"}
    assert send(client, "reader", name="Ana", mail="ana@example.org", limit="20", **fields) == 303
    alert = {"name": "prices", "fields": "price, stock", "by": "5 %", "below": "9.5", "readers": "Ana", "when": "gone"}
    assert send(client, "alert", **alert) == 303
    file = load_readers(served / "press" / "readers.toml")
    (reader,) = file.readers
    assert file.mail is not None and file.mail.port == 2525
    assert [interest.name for interest in reader.interests] == ["The river", "price ≤ 12.5", r"(?i)\bcobre\b"]
    (watched,) = read_alerts(file)
    assert watched.least_share == 0.05 and watched.below == 9.5 and watched.readers == ("Ana",)
    text = client.get(f"{PRESS}/reader?name=Ana").text
    assert 'value="río, Ebro floods"' in text and 'value="12.5"' in text
    assert send(client, "reader", old="Ana", name="Ana María", mail="ana@example.org", **fields) == 303
    assert read_alerts(load_readers(file.path))[0].readers == ("Ana María",)
    assert send(client, "alert", old="prices", action="remove") == 303
    assert send(client, "reader", old="Ana María", action="remove") == 303
    assert "readers" not in file.path.read_text()


def test_what_no_form_shows_stays_as_it_was(client: ServeClient, served: Path) -> None:
    """Nested conditions are kept; comments are said to be lost."""
    path = served / "press" / "readers.toml"
    path.write_text("# ours\n[[readers]]\nname = 'Ana'\ninterests = [{any = [{terms = 'a'}, {host = 'b.example'}]}]\n")
    page = client.get(f"{PRESS}/reader?name=Ana").text
    assert "comments" in page and "b.example" in page
    assert send(client, "reader", old="Ana", name="Ana", **{"i0-kept": "0", "i1-terms": "más"}) == 303
    (reader,) = load_readers(path).readers
    assert len(reader.interests) == 2 and "b.example" in path.read_text()
    assert send(client, "reader", old="Ana", name="Ana", **{"i0-kept": "0", "i0-gone": "1"}) == 303
    assert load_readers(path).readers[0].interests == ()


def test_two_editors_do_not_overwrite_each_other(client: ServeClient, served: Path) -> None:
    """Who comes second is told, and keeps what was typed."""
    mark = mark_of(client)
    assert send(client, "reader", name="Ana") == 303
    answer = client.post(f"{PRESS}/reader", {"mark": mark, "name": "Eva", "i0-terms": "zinc"}, page=f"{PRESS}/readers")
    assert answer.status == 422 and "somebody else" in answer.text and "zinc" in answer.text
    assert [reader.name for reader in load_readers(served / "press" / "readers.toml").readers] == ["Ana"]


@pytest.mark.parametrize(
    ("page", "fields"),
    [
        ("reader", {"name": ""}),
        ("reader", {"name": "A\u202eB"}),
        ("reader", {"name": "A", "mail": "x@y\r\nBcc: z@z"}),
        ("reader", {"name": "A", "limit": "-3"}),
        ("reader", {"name": "A", "i0-pattern": "(" * 50}),
        ("reader", {"name": "A", "report": "../../../etc/passwd"}),
        ("alert", {"name": "A", "feed": "../../feed.atom"}),
        ("alert", {"name": "A", "webhook": "file:///etc/passwd"}),
        ("alert", {"name": "A", "below": "much", "readers": "Nobody"}),
        ("mail-server", {"host": "a b", "sender": "x"}),
        ("mail-server", {**SERVER, "security": "maybe"}),
        ("mail-server", {**SERVER, "user": "u"}),
    ],
)
def test_what_is_wrong_is_said_and_not_kept(
    client: ServeClient, served: Path, page: str, fields: dict[str, str]
) -> None:
    """In a sentence, beside the form as it was filled."""
    assert send(client, page, **fields) == 422
    assert not (served / "press" / "readers.toml").exists() and not (served / "press" / "mail-password").exists()


def test_what_an_interest_finds_is_shown_while_it_is_typed(client: ServeClient) -> None:
    """By the records that are there; a wrong pattern is said."""
    twin = client.get(f"{PRESS}/matches.json?terms=Ebro").json
    assert 0 < twin["total"] < twin["tried"] == 10 and "Ebro" in twin["articles"][0]["why"]
    assert client.get(f"{PRESS}/matches.json?terms=Ebro&without=Ebro").json["total"] == 0
    assert "pattern" in client.get(f"{PRESS}/matches.json?pattern=(").json["problem"]
    assert client.get(f"{PRESS}/matches.json?terms=Ebro&at_least={'9' * 5000}").json["problem"]
    assert client.get(f"{PRESS}/matches.json").json["tried"] == 0


@pytest.mark.filterwarnings("ignore:Requiring AUTH")  # on loopback
def test_a_test_mail_and_a_digest_arrive(client: ServeClient, served: Path) -> None:
    """The password is kept for its owner and never shown; it goes to no other server."""
    with mail_server(password="geheim") as (mailbox, port):
        server = {**SERVER, "port": port, "user": "desk", "password": "geheim"}
        mark = mark_of(client)
        test = {"mark": mark, "action": "test", "test_to": "me@example.org", **server}
        assert "The test mail was sent." in client.post(f"{PRESS}/mail-server", test, page=f"{PRESS}/readers").text
        assert mailbox.recipients == ["me@example.org"]
        secret = served / "press" / "mail-password"
        assert secret.read_text() == "geheim\n" and secret.stat().st_mode & 0o77 == 0
        assert all("geheim" not in client.get(f"{PRESS}/readers{twin}").text for twin in ("", ".json"))
        moved = {**SERVER, "host": "mail.evil.example", "port": port, "user": "desk"}
        assert send(client, "mail-server", **moved) == 422
        assert send(client, "reader", name="Ana", mail="ana@example.org", **{"i0-terms": "Ebro"}) == 303
        for expected in (2, 2):
            answer = client.post(f"{PRESS}/tell", {"action": "digest", "reader": "Ana"}, page=f"{PRESS}/readers")
            assert answer.status == 303
            await_work(client)
            assert len(mailbox.mails) == expected
        assert "Ebro" in str(mailbox.mails[1].get_body(("plain",)))
    reader = client.get(f"{PRESS}/readers.json").json["readers"][0]
    assert reader["issue"] == 1 and reader["delivered"] > 0


def await_work(client: ServeClient) -> None:
    deadline = time.monotonic() + 120
    while any(one["work"]["is_running"] for one in client.get("/c/press/work.json").json["works"]):
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.parametrize(
    "table",
    [
        "[mail]\nhost = 'mail.evil.example'\nsender = 'a@b.c'\nuser = 'u'\npassword_env = 'AWS_SECRET'",
        "[mail]\nhost = 'mail.evil.example'\nsender = 'a@b.c'\nuser = 'u'\npassword_file = '/etc/hostname'",
        "[mail]\nhost = '127.0.0.1'\nsender = 'a@b.c'\n[[alerts]]\nname = 'x'\nfeed = '../../x.atom'",
        "[mail]\nhost = '127.0.0.1'\nsender = 'a@b.c'\n[[readers]]\nname = 'x'\nreport = '../../etc/r.toml'",
    ],
)
def test_a_strangers_readers_file_sends_nothing_of_ours_away(client: ServeClient, served: Path, table: str) -> None:
    """No variable or file of this machine goes to a server that it names, and nothing is written elsewhere."""
    (served / "press" / "readers.toml").write_text(f"[[readers]]\nname = 'Ana'\nmail = 'a@b.c'\n{table}\n")
    for action in ("digest", "alerts", "outbox"):
        answer = client.post(f"{PRESS}/tell", {"action": action, "reader": "Ana"}, page=f"{PRESS}/readers")
        assert answer.status == 400 and "from a page" in answer.text
    assert not (served / "press" / "work").exists()


def test_a_link_is_not_written_through(client: ServeClient, served: Path, tmp_path: Path) -> None:
    """A readers file that leads elsewhere is not changed."""
    there = tmp_path / "there.toml"
    there.write_text("[[readers]]\nname = 'Ana'\n")
    (served / "readers.toml").symlink_to(there)
    assert client.post(f"{PRESS}/reader", {"name": "Eva"}, page="/c/shop/m/records/readers").status >= 400
    assert "Eva" not in there.read_text()
