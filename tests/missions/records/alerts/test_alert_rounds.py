"""Rounds over a site that changes at every visit: only what changes in meaning is told, and once."""

from __future__ import annotations

import json
from pathlib import Path

import feedparser
import pytest
from support.changing_site import ChangingSite
from support.command_line import run
from support.crawl_runs import FAST
from support.loopback import Reply, Web, html
from support.mail_servers import Mailbox, mail_server

from lycosa import Collection
from lycosa.missions.api import FinishedRound
from lycosa.missions.records.rounds import tell_readers

READERS = """
[mail]
host = "127.0.0.1"
port = {port}
sender = "lycosa@example.org"
[[readers]]
name = "Ana"
mail = "ana@example.org"
[[alerts]]
name = "pages"
page = 'valley\\.test/.+'
when = ["changed", "new", "gone"]
readers = ["Ana"]
feed = "pages.atom"
"""


@pytest.fixture
def site(web: Web) -> ChangingSite:
    site = ChangingSite()
    web.make = site.make
    return site


def crawl(web: Web, folder: Path, *words: str) -> str:
    done = run(
        "crawl", *FAST, "--collection", str(folder / "c"), "--connect-to", web.connect_to, "--workers", "1",
        "--readers", str(folder / "readers.toml"), *words,
    )  # fmt: skip
    assert done.code == 0, done.output
    return done.output


def again(web: Web, folder: Path) -> str:
    return crawl(web, folder, "http://valley.test/", "--recrawl", "--full")


def write_readers(folder: Path, port: int) -> None:
    (folder / "readers.toml").write_text(READERS.format(port=port))


def bodies(mailbox: Mailbox) -> list[str]:
    return [mail.get_body(("plain",)).get_content() for mail in mailbox.mails]  # type: ignore[union-attr]


def test_only_what_changes_in_meaning_is_told_and_once(site: ChangingSite, web: Web, tmp_path: Path) -> None:
    """The first round tells nothing; noise tells nothing; a new price and a new sentence are told with what changed."""
    with mail_server() as (mailbox, port):
        write_readers(tmp_path, port)
        crawl(web, tmp_path, "http://valley.test/")
        again(web, tmp_path)
        assert mailbox.mails == []
        site.price = "9.90 €"
        site.story[1] = site.story[1].replace("two of its seven arches", "five of its seven arches")
        again(web, tmp_path)
        (told,) = bodies(mailbox)
        assert "[-12.50-] {+9.90+} €" in told
        assert "[-two-] {+five+} of its seven arches" in told
        assert "minutes ago" not in told
        assert "comments" not in told
        again(web, tmp_path)
        assert len(mailbox.mails) == 1
    feed = feedparser.parse(str(tmp_path / "pages.atom"))
    assert not feed.bozo
    assert sorted(entry.title for entry in feed.entries) == ["Bridge closed changed", "Lamp changed"]
    assert "<ins>9.90</ins>" in next(entry for entry in feed.entries if "Lamp" in entry.title).content[0].value


def test_twenty_rounds_of_noise_tell_nothing(site: ChangingSite, web: Web, tmp_path: Path) -> None:
    """Dates of the day, relative times, counters, order, tokens, teasers: no alert in twenty rounds."""
    with mail_server() as (mailbox, port):
        write_readers(tmp_path, port)
        crawl(
            web, tmp_path, "http://valley.test/", "--period", "0.00001", "--rounds", "21", "--full",
            "--set", "recrawl.period_h=0.00001",
        )  # fmt: skip
        assert mailbox.mails == []
    told = run("alerts", str(tmp_path / "readers.toml"), "-c", str(tmp_path / "c"), "--list")
    assert told.output == ""
    rounds = run("changes", "-c", str(tmp_path / "c"), "--rounds", "--format", "jsonl").output
    assert rounds.count("\n") >= 20


def test_a_page_that_alternates_is_told_once(site: ChangingSite, web: Web, tmp_path: Path) -> None:
    """Two versions that take turns are one piece of news; when one stays, that is another."""
    site.noise = False
    with mail_server() as (mailbox, port):
        write_readers(tmp_path, port)
        crawl(web, tmp_path, "http://valley.test/")
        for price in ("9.90 €", "12.50 €", "9.90 €", "12.50 €"):
            site.price = price
            again(web, tmp_path)
        assert len(mailbox.mails) == 1
        for _ in range(3):
            again(web, tmp_path)
        assert len(mailbox.mails) == 2
        assert "[-9.90-] {+12.50+}" in bodies(mailbox)[1]


def test_pages_that_come_and_go_are_told_once(site: ChangingSite, web: Web, tmp_path: Path) -> None:
    """A page that is gone, and one that is new, each in one mail; the next round says nothing."""
    with mail_server() as (mailbox, port):
        write_readers(tmp_path, port)
        crawl(web, tmp_path, "http://valley.test/")
        web["valley.test/shop/lamp"] = Reply(b"gone", 410)
        web["valley.test/"] = html("/story", "/new")
        web["valley.test/new"] = html(title="A new page", text="It was not here before.")
        again(web, tmp_path)
        (told,) = bodies(mailbox)
        assert "Lamp is gone" in told
        assert "A new page is new" in told
        again(web, tmp_path)
        assert len(mailbox.mails) == 1


def test_what_changes_on_all_pages_at_once_is_their_frame(web: Web, tmp_path: Path) -> None:
    """A notice amid the text of every page is no news; a sentence of one page is."""
    notice = "Orders of more than fifty euros are sent free of charge until the end of this month."
    texts = {n: f"This is page number {n} of the shop, about a thing that has no like, made by hand." for n in range(6)}

    def fill() -> None:
        web["valley.test/"] = html(*(f"/p{n}" for n in texts))
        for n, text in texts.items():
            web[f"valley.test/p{n}"] = html(title=f"Thing {n}", text=f"{text}</p><p>{notice}")

    fill()
    with mail_server() as (mailbox, port):
        write_readers(tmp_path, port)
        crawl(web, tmp_path, "http://valley.test/")
        notice = "Our shop is closed for the holidays; what you order now is sent after the new year."
        fill()
        again(web, tmp_path)
        assert mailbox.mails == []
        texts[3] += " It is sold out."
        fill()
        again(web, tmp_path)
        (told,) = bodies(mailbox)
        assert "Thing 3" in told
        assert "Thing 2" not in told


NAVIGATION = """
missions = ["records"]
scope = "host"
seeds = ["http://shop.test/"]
[[records.ranges]]
match = '^http://shop.test/$'
mode = ["seed", "intermediate"]
category = "list"
[[records.ranges]]
match = '^http://shop.test/p[0-9]+$'
mode = "leaf"
category = "thing"
[records.categories.list]
links = "css:LINKS"
[records.categories.thing]
schema = "thing"
[records.schemas.thing.fields.name]
rule = "css:h1"
"""
WATCHES = """
[webhooks]
allow_private = ["127.0.0.0/8"]
[[alerts]]
name = "things"
kind = "thing"
when = ["new"]
feed = "things.atom"
[[alerts]]
name = "pages"
page = 'shop.test'
when = ["new"]
feed = "pages.atom"
"""


def test_pages_that_a_repaired_rule_reaches_are_no_news(web: Web, tmp_path: Path) -> None:
    """They were there before; a page whose link was not there before is told, and changes say what the rules did."""

    def fill(count: int) -> None:
        links = "".join(f'<li><a href="/p{n}">Thing {n}</a></li>' for n in range(count))
        listing = f"<ul class=a><li><a href=/p0>Thing 0</a></ul><ul class=b>{links}</ul>"
        web["shop.test/"] = html(title="Shop", text=listing)
        for n in range(count):
            web[f"shop.test/p{n}"] = html(title=f"Thing {n}", text=f"<h1>Thing number {n}</h1>")

    (tmp_path / "readers.toml").write_text(WATCHES)
    mission = tmp_path / "shop.toml"
    mission.write_text(NAVIGATION.replace("LINKS", "ul.a"))
    fill(9)
    crawl(web, tmp_path, str(mission))
    mission.write_text(NAVIGATION.replace("LINKS", "ul.b"))
    fill(10)
    crawl(web, tmp_path, str(mission), "--recrawl", "--full")
    told = run(
        "alerts", str(tmp_path / "readers.toml"), "-c", str(tmp_path / "c"), "--list", "--format", "jsonl"
    ).output
    assert sorted(json.loads(line)["url"] for line in told.splitlines()) == ["http://shop.test/p9"] * 2
    changes = run("changes", "--records", "-c", str(tmp_path / "c"), "--since", "1", "--format", "jsonl").output
    causes = {row["url"]: row["cause"] for row in map(json.loads, changes.splitlines())}
    assert causes.pop("http://shop.test/p9") == "page"
    assert set(causes.values()) == {"rules"} and len(causes) == 8


def test_a_readers_file_that_breaks_meanwhile_does_not_end_the_rounds(
    site: ChangingSite, web: Web, tmp_path: Path
) -> None:
    """A wrong file is refused before a crawl; one that somebody breaks later is a sentence, with its line."""
    write_readers(tmp_path, 25)
    crawl(web, tmp_path, "http://valley.test/")
    (tmp_path / "readers.toml").write_text("[mail]\nhost = 3\n")
    with Collection(tmp_path / "c") as collection:
        finished = FinishedRound(collection.mission, {"readers": str(tmp_path / "readers.toml")})
        (said,) = tell_readers(collection, finished)
    assert said.startswith("readers are not told after this round: ")
    assert "readers.toml:2: mail.host: found 3" in said
