"""The newsstand, from a front page to the digest: two editions of newspapers and shops, as docs/records.md tells it."""

from __future__ import annotations

import json
import smtplib
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from runpy import run_path
from typing import Any

import feedparser
import pytest
from support.command_line import run
from support.mail_servers import Mailbox, mail_server

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FARO, HERALD = "http://faro.newsstand.test", "http://herald.newsstand.test"
FLOOD = f"{FARO}/sociedad/2026/03/02/crecida-ebro"


def call(*words: str) -> str:
    """What a command says; it must not fail."""
    said = run(*words)
    assert said.code == 0, said.output
    return said.output


def rows(*words: str) -> list[dict[str, Any]]:
    """What a command writes for programs."""
    return [json.loads(line) for line in call(*words).splitlines() if line.startswith("{")]


class Tour:
    """A folder with the example missions, and the servers that they speak to."""

    def __init__(self, port: int, mail_port: int, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self.quiet_mails = 0  # of a round in which nothing happened
        self.quiet_changes = ""
        self._address = f"http://127.0.0.1:{port}/next-edition"
        for name in ("press", "albums", "shop", "readers"):
            text = (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
            text = text.replace("127.0.0.1:8767", f"127.0.0.1:{port}").replace("port = 8025", f"port = {mail_port}")
            Path(f"{name}.toml").write_text(text, encoding="utf-8")

    def crawl(self, *words: str) -> None:
        for name in ("press", "albums", "shop"):
            call("crawl", f"{name}.toml", "--delay", "0", "-q", *words)

    def publish(self) -> None:
        """Let a day pass."""
        request = urllib.request.Request(self._address, method="POST")  # noqa: S310  our own server
        urllib.request.urlopen(request, timeout=10).close()  # noqa: S310


@contextmanager
def newsstand() -> Iterator[int]:
    """The small web of the examples, with its port."""
    server = run_path(str(EXAMPLES / "newsstand.py"))["make_server"](0)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    """Both editions crawled, with a round between them in which only counters, teasers and the clock moved."""
    with pytest.MonkeyPatch.context() as patch, newsstand() as port, mail_server() as (mailbox, mail_port):
        patch.chdir(tmp_path_factory.mktemp("tour"))
        tour = Tour(port, mail_port, mailbox)
        tour.crawl()
        for name in ("press", "albums", "shop"):
            call("alerts", "readers.toml", "-c", name, "--send")
            call("digest", "readers.toml", "-c", name, "--send")
        first = len(mailbox.mails)
        tour.crawl("--recrawl", "--readers", "readers.toml")
        tour.quiet_mails = len(mailbox.mails) - first
        tour.quiet_changes = call("changes", "--records", "-c", "press")
        tour.publish()
        tour.crawl("--recrawl", "--readers", "readers.toml")
        for name in ("press", "albums", "shop"):
            call("alerts", "readers.toml", "-c", name, "--send")
        yield tour


def test_records_are_right(tour: Tour) -> None:
    """Two templates and two languages give the same fields; a list gives a record for each row."""
    press = {row["url"]: row["data"] for row in rows("query", "-c", "press", "SELECT url, data FROM stored.records")}
    assert len(press) == 10
    flood = json.loads(press[FLOOD])
    assert {name: flood[name] for name in ("title", "authors", "place", "date")} == {
        "title": "El Ebro se desborda en Tudela tras tres días de lluvia",
        "authors": ["Ana Ruiz"],
        "place": "Tudela",
        "date": "2026-03-02",
    }
    assert flood["text"][-1].startswith("Corrección:")
    herald = json.loads(press[f"{HERALD}/world/2026/03/02/ebro-floods"])
    assert (herald["authors"], herald["place"]) == (["John Carter", "Marie Dupont"], "Tudela")
    assert "visitas" not in "".join(press.values())
    albums = [row["value"] for row in rows("query", "-c", "albums", "--xpath", "//album[price/amount < 10]/title")]
    assert albums == ["Eight Legs"]


def test_nothing_changed_while_only_counters_did(tour: Tour) -> None:
    """Views, teasers and the day's date change with each request: no record changes, nobody is told."""
    assert tour.quiet_changes == ""
    assert tour.quiet_mails == 0


def test_changes_are_those_of_the_edition(tour: Tour) -> None:
    """Two new articles and a correction; a price, and an album that is gone."""
    changes = rows("changes", "--records", "-c", "press", "--since", "2")
    told = {(row["what"], row["url"].rpartition("/")[2]) for row in changes}
    assert told == {("new", "huelga-cobre"), ("new", "ebro-zaragoza"), ("changed", "crecida-ebro")}
    shown = call("changes", "--records", "-c", "albums", "--since", "2", "--format", "table")
    assert "price: 9.50 EUR → 7.90 EUR" in shown
    assert "Live in Taranto  gone" in shown


def test_stories_are_told_by_both_papers(tour: Tour) -> None:
    """The floods, the shipyards and the price of copper, each in two languages."""
    stories = rows("stories", "-c", "press")
    assert [(story["records"], story["hosts"]) for story in stories] == [(3, 2), (2, 2), (2, 2)]
    assert "Ebro" in stories[0]["title"]
    call("impact", str(stories[0]["story"]), "-c", "press", "-o", "impact.html")
    assert "herald.newsstand.test" in Path("impact.html").read_text(encoding="utf-8")


def test_the_digest_arrives_once(tour: Tour) -> None:
    """Mail of the first edition, then of what the second brought; what both papers tell is one entry."""
    texts = [str(mail.get_body(("plain",)).get_content()) for mail in tour.mailbox.mails]  # type: ignore[union-attr]
    first, second = [text for text in texts if text.startswith("News for Ana") and FARO in text]
    assert first.count("El Ebro se desborda en Tudela") == 1
    assert "Naval del Norte" in first
    assert "La huelga en Chile dispara el precio del cobre" in second
    assert "Naval del Norte" not in second


def test_a_price_is_told_once(tour: Tour) -> None:
    """One mail for the albums, one for the tools; the feed has both, and is a feed."""
    texts = [str(mail.get_body(("plain",)).get_content()) for mail in tour.mailbox.mails]  # type: ignore[union-attr]
    assert sum("[-9.50 EUR-] {+7.90 EUR+}" in text for text in texts) == 1
    assert sum("[-18.50 EUR-] {+16.50 EUR+}" in text for text in texts) == 1
    assert sum("Live in Taranto is gone" in text for text in texts) == 1
    feed = feedparser.parse("prices.atom")
    assert not feed.bozo
    assert {entry.title for entry in feed.entries} == {"Eight Legs: price changed", "Rubber mallet: price changed"}


def test_rules_change_without_the_network(tour: Tour) -> None:
    """A new field is read from the archive; a field whose rule is lost breaks the health report, until it is back."""
    text = Path("press.toml").read_text(encoding="utf-8")
    start, end = (text.index(f"[records.schemas.article.fields.{name}]") for name in ("place", "date"))
    lead = '[records.schemas.article.fields.first]\nrule = ["css:.texto p", "css:.story p"]\n'
    Path("press.toml").write_text(text[:start] + text[end:] + lead, encoding="utf-8")
    said = call("extract", "press.toml", "-c", "press")
    assert "article.place in articles was found on 0% of 10 pages" in said
    assert "Its rule was: css:.firma | css:.byline" in said
    count = rows("query", "-c", "press", "SELECT count(data ->> 'first') AS n FROM stored.records")
    assert count == [{"n": 10}]
    mails = len(tour.mailbox.mails)
    call("alerts", "readers.toml", "-c", "press", "--send")
    call("digest", "readers.toml", "-c", "press", "--send")
    assert len(tour.mailbox.mails) == mails
    Path("press.toml").write_text(text, encoding="utf-8")
    call("extract", "press.toml", "-c", "press")
    assert [row["pages"] for row in rows("health", "-c", "press") if row["field"] == "place"][-1] == 10
    assert not rows("health", "-c", "press", "--drops")


def test_the_newspaper_and_the_corpus_hold_whole_articles(tour: Tour) -> None:
    """All paragraphs of a text are printed, and none of the teasers."""
    call("newspaper", "readers.toml", "-c", "press", "-o", "paper")
    (page,) = Path("paper/ana/article").glob("*el-ebro*")
    text = page.read_text(encoding="utf-8")
    assert "8,20 metros" in text
    assert "según el balance" in text
    assert "recipes" not in text
    assert "10 documents" in call("export", "corpus", "-c", "press", "-o", "corpus.jsonl")


def test_the_mailbox_of_the_examples_prints_a_mail(capfd: pytest.CaptureFixture[str]) -> None:
    """It takes a mail by SMTP and prints its text, dots at the beginning of lines included."""
    example = run_path(str(EXAMPLES / "mailbox.py"))
    with example["Mailbox"](("127.0.0.1", 0), example["Session"]) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        with smtplib.SMTP("127.0.0.1", server.server_address[1], timeout=10) as client:
            client.sendmail("a@example.org", ["b@example.org"], "From: a\nTo: b\nSubject: News\n\nOne\n.two\n")
        server.shutdown()
        thread.join()
    assert capfd.readouterr().out == "From: a\nTo: b\nSubject: News\n\nOne\n.two\n"
