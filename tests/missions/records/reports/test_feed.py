"""Atom feeds: valid by the rules of RFC 4287, read by feedparser, the same over rounds."""

from __future__ import annotations

import re
from pathlib import Path

import feedparser
from lxml import etree
from support.record_stores import AT, NASTY, filled_store, make_article

from lycosa.missions.records.interests import Interest, TermCondition
from lycosa.missions.records.readers import Reader
from lycosa.missions.records.reports.digest import DigestStore
from lycosa.missions.records.reports.digest_output import make_feed

ATOM = "{http://www.w3.org/2005/Atom}"
ANA = Reader(name="Ana & <Bo>", interests=(Interest("a < b", TermCondition(("río",))),))
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def check_rules(feed: bytes) -> None:
    """What RFC 4287 demands of feeds and entries beyond well-formedness."""
    root = etree.fromstring(feed)
    assert root.tag == f"{ATOM}feed"
    for name in ("id", "title", "updated"):
        assert len(root.findall(f"{ATOM}{name}")) == 1, name
    assert root.findall(f"{ATOM}author/{ATOM}name")
    ids = [entry.findtext(f"{ATOM}id") for entry in root.findall(f"{ATOM}entry")]
    assert len(set(ids)) == len(ids)
    for place in (root, *root.findall(f"{ATOM}entry")):
        assert re.match(r"urn:uuid:[0-9a-f-]{36}$", place.findtext(f"{ATOM}id"))
    for entry in root.findall(f"{ATOM}entry"):
        for name in ("id", "title", "updated", "published"):
            assert len(entry.findall(f"{ATOM}{name}")) == 1, name
        links = entry.findall(f"{ATOM}link[@rel='alternate']")
        assert len(links) <= 1
        assert links or entry.find(f"{ATOM}content") is not None
        assert all(link.get("href").startswith("https://") for link in links)
        assert all((name.text or "").strip() for name in entry.findall(f"{ATOM}author/{ATOM}name"))
        assert all(category.get("term") for category in entry.findall(f"{ATOM}category"))
        assert len(entry.findall(f"{ATOM}content")) <= 1 and len(entry.findall(f"{ATOM}summary")) <= 1
    stamps = [one.text for one in root.iter(f"{ATOM}updated", f"{ATOM}published")]
    assert all(STAMP.fullmatch(stamp) for stamp in stamps)
    allowed = {
        "feed",
        "entry",
        "id",
        "title",
        "updated",
        "published",
        "author",
        "name",
        "generator",
        "link",
        "category",
    }
    assert {etree.QName(one).localname for one in root.iter()} <= allowed | {"summary", "content"}


def test_a_feed_is_valid_and_keeps_its_entries(tmp_path: Path) -> None:
    """Entries of earlier rounds stay with their ids; a changed record is the same entry, updated."""
    with filled_store(tmp_path / "c", make_article(1, NASTY), make_article(2, "El río\x0b \ufffe baja")) as store:
        digests = DigestStore(store)
        first = digests.make(ANA)
        before = make_feed(first, digests)
        with store.transaction():
            digests.deliver(first)
        assert make_feed(digests.make(ANA), digests) == before
        store.put([make_article(1, "El río sube tres metros")], at=AT + 3600, cause="page", round=2)
        store.put([make_article(3, "Otro río")], at=AT + 3600, cause="page", round=2)
        after = make_feed(digests.make(ANA), digests)
    check_rules(before)
    check_rules(after)
    old, new = feedparser.parse(before), feedparser.parse(after)
    assert not old.bozo and not new.bozo
    assert (old.feed.title, new.feed.id) == ("News for Ana & <Bo>", old.feed.id)
    assert {entry.id for entry in old.entries} < {entry.id for entry in new.entries}
    assert new.feed.updated > old.feed.updated
    changed = {entry.link: entry for entry in new.entries}["https://news.example/1"]
    assert (changed.title, changed.published, changed.updated) == (
        "El río sube tres metros",
        old.entries[0].published,
        "2026-09-21T15:13:20Z",
    )
    assert changed.author == "Ana Ruiz"
    assert [tag.term for tag in changed.tags] == ["a < b"]


def test_an_empty_feed_is_valid(tmp_path: Path) -> None:
    """A reader for whom nothing was found yet."""
    with filled_store(tmp_path / "c") as store:
        digests = DigestStore(store)
        feed = make_feed(digests.make(ANA), digests)
    check_rules(feed)
    assert feedparser.parse(feed).entries == []
