"""Alerts on records: what is news, who is told, and that it is told once."""

from __future__ import annotations

import json
import multiprocessing
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import feedparser
import pytest
from support.command_line import run
from support.delivery_processes import tell, tell_and_die
from support.mail_servers import mail_server
from support.make_collection import make_collection
from support.webhook_server import webhook_server

from lycosa import Collection
from lycosa.collection.folder import lock
from lycosa.missions.records.alerts.alert_log import AlertItem, AlertLog
from lycosa.missions.records.alerts.alert_run import tell_alerts
from lycosa.missions.records.alerts.difference import Part, as_text
from lycosa.missions.records.alerts.settings import read_alerts
from lycosa.missions.records.alerts.watches import RecordWatch
from lycosa.missions.records.database import NewRecord, open_store
from lycosa.missions.records.delivery import Outbox
from lycosa.missions.records.readers import load_readers

URL = "https://shop.test/lamp"
NOW = time.time()


class Shop:
    """A collection with records that tests change, and a readers file with the alerts of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.collection = make_collection(folder / "c", [(URL, "text/html", b"<p>lamp</p>")])
        self.readers = folder / "readers.toml"
        self.round = 0
        self.watch('fields = ["price"]')

    def watch(self, *lines: str, port: int = 25, told: str = 'readers = ["Ana"]', more: str = "") -> None:
        table = "\n".join(lines)
        self.readers.write_text(
            f'[mail]\nhost = "127.0.0.1"\nport = {port}\nsender = "lycosa@example.org"\ntimeout_s = 5.0\n{more}\n'
            f'[[readers]]\nname = "Ana"\nmail = "ana@example.org"\n[[alerts]]\nname = "watch"\n{told}\n{table}\n'
        )

    def put(self, *, cause: Any = "page", url: str = URL, gone: bool = False, at: float = 0.0, **data: Any) -> None:
        self.round += 1
        record = NewRecord(kind="product", url=url, data={"title": "Lamp", **data}, gone=gone, fetched_at=at or NOW)
        with open_store(self.collection, refresh=False) as store:
            store.put([record], cause=cause, round=self.round, at=at or NOW)

    def tell(self, *, from_start: bool = False) -> list[AlertItem]:
        with Collection(self.collection) as source, open_store(self.collection, refresh=False) as store:
            return tell_alerts(source, store, load_readers(self.readers), from_start=from_start).items

    def verb(self, *words: str, code: int = 0) -> str:
        done = run("alerts", str(self.readers), "-c", str(self.collection), *words)
        assert done.code == code, done.output
        return done.output


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def fields(items: list[AlertItem]) -> list[tuple[str, str]]:
    return [(difference.field, difference.what) for item in items for difference in item.differences]


def test_the_first_run_tells_nothing_unless_it_is_asked(shop: Shop) -> None:
    """What is there is known; with --from-start it is told."""
    shop.watch('when = ["new"]')
    shop.put(price=10)
    assert shop.tell() == []
    shop.put(url="https://shop.test/chair", price=20)
    assert [item.what for item in shop.tell()] == ["new"]
    assert shop.tell() == []


def test_from_start_tells_what_was_there(shop: Shop) -> None:
    """A new alert may tell the records that it finds."""
    shop.watch('when = ["new"]')
    shop.put(price=10)
    assert [(item.what, item.title) for item in shop.tell(from_start=True)] == [("new", "Lamp")]
    assert shop.tell(from_start=True) == []


def test_fields_that_appear_disappear_and_change_are_told(shop: Shop) -> None:
    """Each with its values before and after; other fields are not watched."""
    shop.put(price=10)
    shop.tell()
    shop.put(price=12, colour="red")
    assert fields(shop.tell()) == [("price", "changed")]
    shop.put(colour="red")
    assert fields(shop.tell()) == [("price", "disappears")]
    shop.put(price=13, colour="blue")
    assert fields(shop.tell()) == [("price", "appears")]


def test_noise_and_rules_tell_nothing(shop: Shop) -> None:
    """White space, order, counters, dates of the day; and what a changed rule gives."""
    shop.watch("")
    day = 86_400.0
    shop.put(name="A  lamp", tags=["a", "b"], views=1, seen="3 hours ago", day="2026-11-01", at=1793500000.0)
    shop.tell()
    shop.put(name="A lamp", tags=["b", "a"], views=9, seen="5 hours ago", day="2026-11-03", at=1793500000.0 + 2 * day)
    assert shop.tell() == []
    shop.put(name="THE LAMP", cause="rules")
    assert shop.tell() == []
    shop.put(name="The lamp of brass")
    assert fields(shop.tell()) == [("name", "changed")]


@pytest.mark.parametrize(
    ("bound", "prices", "told"),
    [
        ("below = 10", (12, 11, 9.5, 9, 11, 9.9), [9.5, 9.9]),
        ("above = 10", (8, 11, 12, 9, 10.5), [11, 10.5]),
        ('by = "5 %"', (100, 98, 96, 94, 93), [94]),
        ("by = 10", (100, 95, 89, 80, 79), [89, 79]),
        ("below = 10", ("12,00 €", "9,50 €"), ["9,50 €"]),
        ("below = 10", ({"amount": 12.0, "currency": "EUR"}, {"amount": 9.0, "currency": "EUR"}), [9]),
    ],
)
def test_numbers_have_thresholds(shop: Shop, bound: str, prices: tuple[Any, ...], told: list[Any]) -> None:
    """ "Falls below" is told when it falls; small steps add up until they are "by at least"."""
    shop.watch('fields = ["price"]', bound)
    found = []
    for price in prices:
        shop.put(price=price)
        found += [price if not isinstance(price, dict) else price["amount"] for _ in shop.tell()]
    assert found == told


def test_a_value_that_flaps_is_told_once_and_again_when_it_settles(shop: Shop) -> None:
    """Ten and twelve by turns are one piece of news."""
    shop.put(price=10)
    shop.tell()
    shop.put(price=12)
    assert len(shop.tell()) == 1
    for price in (10, 12, 10, 12, 10, 12):
        shop.put(price=price)
        assert shop.tell() == []
    shop.put(price=10)
    assert shop.tell() == []
    (alert,) = read_alerts(load_readers(shop.readers))
    with open_store(shop.collection, refresh=False) as store:
        assert list(RecordWatch(alert, store, AlertLog(store)).settle(shop.round + 2)) == []
        (settled,) = RecordWatch(alert, store, AlertLog(store)).settle(shop.round + 3)
    assert as_text(settled.differences[0].lines[0]) == "[-12-] {+10+}"
    shop.put(price=15)
    assert len(shop.tell()) == 1


def test_a_record_that_goes_is_told_once(shop: Shop) -> None:
    """Gone is told; back and gone again within a few rounds is not."""
    shop.watch('when = ["gone"]')
    shop.put(price=10)
    shop.tell()
    shop.put(gone=True)
    assert [item.what for item in shop.tell()] == ["gone"]
    for _ in range(2):
        shop.put(price=10)
        assert shop.tell() == []
        shop.put(gone=True)
        assert shop.tell() == []


def test_the_text_of_a_record_is_told_with_its_difference(shop: Shop) -> None:
    """Word by word, with a few words around; a correction of spelling is none."""
    text = "The old bridge over the river is closed for repairs until the end of May. " * 5
    shop.watch('fields = ["text"]')
    shop.put(text=text)
    shop.tell()
    shop.put(text=text.replace("bridge", "brigde", 1))
    assert shop.tell() == []
    shop.put(text=text.replace("closed", "open again", 1))
    (item,) = shop.tell()
    assert Part("new", "open again") in item.differences[0].lines[0]


def test_a_reader_gets_one_mail_with_all_that_is_new(shop: Shop) -> None:
    """Several alerts are one message, and no second one after that."""
    with mail_server() as (mailbox, port):
        shop.watch('when = ["new", "changed"]', port=port)
        shop.tell()
        shop.put(price=10)
        shop.put(url="https://shop.test/chair", title="<b>Chair</b> & more", price=20)
        assert "1 message sent" in shop.verb("--send")
        assert "0 messages sent" in shop.verb("--send")
    (mail,) = mailbox.mails
    assert mail["Subject"] == "2 alerts: watch"
    html = mail.get_body(("html",)).get_content()  # type: ignore[union-attr]
    assert "&lt;b&gt;Chair&lt;/b&gt; &amp; more" in html


def test_a_refused_mail_stays_in_the_outbox(shop: Shop) -> None:
    """The alert is not lost: the outbox shows why, tries again and drops."""
    with mail_server() as (mailbox, port):
        mailbox.refuse = {"ana@example.org": "550 no such user"}
        shop.watch('when = ["new"]', port=port)
        shop.tell()
        shop.put(price=10)
        assert "550 no such user" in shop.verb("--send", code=7)
        words = ("outbox", "-c", str(shop.collection))
        (shown,) = map(json.loads, run(*words, "--format", "jsonl").output.splitlines())
        assert (shown["state"], shown["to"], shown["tries"]) == ("given up", "ana@example.org", 1)
        mailbox.refuse = {}
        assert "1 message sent" in run(*words, str(shop.readers), "--retry", "--send").output
        assert len(mailbox.mails) == 1
    assert "--send needs the readers file" in run(*words, "--send").output
    assert "has the number 9: see" in run(*words, "--drop", "9").output
    assert "found 'nine'" in run(*words, str(shop.readers), "nine", "--drop").output
    shop.put(url="https://shop.test/chair", price=20)
    assert "1 message in the outbox" in shop.verb()
    assert "1 message dropped" in run(*words, "--drop").output
    assert run(*words).output == ""


def test_webhooks_and_feeds_get_the_same(shop: Shop) -> None:
    """A webhook gets JSON with the difference, a feed is valid and keeps its ids; no private address by default."""
    with webhook_server() as server:
        outputs = f'webhook = "{server.url}"\nfeed = "out.atom"'
        shop.watch('fields = ["price"]', told=outputs)
        shop.put(price=10)
        shop.tell()
        shop.put(price=12)
        assert "private or reserved address" in shop.verb("--send", code=7)
        assert "token=secret" not in run("outbox", "-c", str(shop.collection)).output
        shop.watch('fields = ["price"]', told=outputs, more='[webhooks]\nallow_private = ["127.0.0.1"]')
        run("outbox", "-c", str(shop.collection), "--retry")
        assert "1 message sent" in shop.verb("--send")
    (posted,) = server.posted
    assert posted["alerts"][0]["differences"][0]["lines"] == [
        [{"kind": "gone", "text": "10"}, {"kind": "new", "text": "12"}]
    ]
    first = feedparser.parse(str(shop.folder / "out.atom"))
    assert not first.bozo
    assert (first.feed.title, len(first.entries)) == ("Alerts: out", 1)
    assert first.feed.id.startswith("urn:uuid:")
    shop.verb()
    assert [entry.id for entry in feedparser.parse(str(shop.folder / "out.atom")).entries] == [first.entries[0].id]


def test_a_killed_run_loses_nothing_and_tells_nothing_twice(shop: Shop) -> None:
    """Items, messages and how far was read are one transaction."""
    shop.put(price=10)
    shop.tell()
    shop.put(price=12)
    child = multiprocessing.get_context("spawn").Process(target=tell_and_die, args=(shop.readers, shop.collection))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert len(shop.tell()) == 1
    assert shop.tell() == []
    with open_store(shop.collection, refresh=False) as store:
        assert len(list(Outbox(store).messages())) == 1


def test_two_runs_at_once_send_one_mail(shop: Shop) -> None:
    """Whoever is second finds nothing new."""
    with mail_server() as (mailbox, port):
        shop.watch('fields = ["price"]', port=port)
        shop.put(price=10)
        shop.tell()
        shop.put(price=12)
        spawn = multiprocessing.get_context("spawn")
        both = [spawn.Process(target=tell, args=(shop.readers, shop.collection)) for _ in range(2)]
        for process in both:
            process.start()
        for process in both:
            process.join(60)
            assert process.exitcode == 0
        shop.verb("--send")
    assert len(mailbox.mails) == 1


def test_a_run_waits_for_another_that_is_at_work(shop: Shop) -> None:
    """It is not refused: the end of a round and a timer of the user meet easily."""
    shop.put(price=10)
    shop.tell()
    shop.put(price=12)
    with ThreadPoolExecutor() as pool:
        with lock(shop.collection, name="alerts.lock"):
            second = pool.submit(shop.tell)
            with pytest.raises(TimeoutError):
                second.result(0.3)
        assert fields(second.result(60)) == [("price", "changed")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('page = "("', "is no regular expression"),
        ('fields = ["price"]\nby = "much"', 'a share such as "5 %"'),
        ("by = 5", "need the fields"),
        ('when = ["sometimes"]', "allowed: appears, disappears, changed, new, gone"),
        ('webhook = "file:///etc/passwd"', "a URL of http or https"),
        ('feed = "out.html"', "ends in .atom or .xml"),
        ('page = "x"\nkind = "y"', "whole pages have no kind"),
        ("colour = 1", "there is no such setting"),
        ("words = 0", "allowed: 1 to 100000"),
    ],
)
def test_wrong_alerts_are_refused_with_their_line(shop: Shop, line: str, said: str) -> None:
    """One sentence: file, line, what was found and what is allowed."""
    shop.watch(line)
    output = shop.verb(code=2)
    assert said in output
    assert "readers.toml:" in output
    assert "Traceback" not in output


def test_an_alert_for_nobody_is_refused(shop: Shop) -> None:
    """Readers must be known, and somebody must be told."""
    shop.watch("", told='readers = ["Eva"]')
    assert "allowed are names of [[readers]]: Ana" in shop.verb(code=2)
    shop.watch("", told="")
    assert "nobody is told" in shop.verb(code=2)


def test_what_was_told_can_be_listed(shop: Shop) -> None:
    """As JSON in a pipe, as text, Markdown and HTML."""
    shop.put(price=10)
    shop.tell()
    shop.put(price=12)
    assert '"what":"changed"' in shop.verb().replace(" ", "")
    assert "price: [-10-] {+12+}" in shop.verb("--list", "--format", "text")
    assert "- price: ~~10~~ **12**" in shop.verb("--list", "--format", "markdown")
    assert "<del>10</del> <ins>12</ins>" in shop.verb("--list", "--format", "html")
    assert "--list shows" in shop.verb("--list", "--send", code=2)
