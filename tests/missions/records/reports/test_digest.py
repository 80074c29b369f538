"""Digests: what a reader gets, in which order, and only once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace
from support.record_stores import AT, filled_store, make_article

from lycosa.missions.records.database import RecordStore
from lycosa.missions.records.interests import FieldCondition, Interest, KindCondition, TermCondition
from lycosa.missions.records.readers import Reader
from lycosa.missions.records.reports.digest import Digest, DigestStore

RIVER = Interest("river", TermCondition(("río", "Ebro")))
SPORT = Interest("sport", FieldCondition(("section",), ("Deportes",)))
ANA = Reader(name="Ana", interests=(RIVER, SPORT))


def titles(digest: Digest) -> list[tuple[str, list[str]]]:
    return [(group.title, [item.record.data["title"] for item in group.items]) for group in digest.groups]


def send(store: RecordStore, reader: Reader = ANA) -> Digest:
    digests = DigestStore(store)
    digest = digests.make(reader)
    with store.transaction():
        digests.deliver(digest)
    return digest


def test_records_stand_under_their_interest_the_best_first(tmp_path: Path) -> None:
    """A word in the title counts more; what meets no interest is not there; each says why it is."""
    records = [
        make_article(1, "Otra cosa", text="Un río."),
        make_article(2, "El río Ebro"),
        make_article(3, "Fútbol", section="deportes"),
        make_article(4, "Nada"),
    ]
    with filled_store(tmp_path / "c", *records) as store:
        digest = DigestStore(store).make(ANA)
    assert titles(digest) == [("river", ["El río Ebro", "Otra cosa"]), ("sport", ["Fútbol"])]
    view = digest.as_data()["groups"][0]["items"][0]
    assert view["why"] == ["“río”, “Ebro” in title"]
    assert (view["what"], view["date"], view["authors"]) == ("new", "2026-09-20", ["Ana Ruiz"])


def test_a_record_comes_once_and_again_when_it_means_something_else(tmp_path: Path) -> None:
    """Spelling, blanks and rules that changed are no news; a new number in the text is."""
    with filled_store(tmp_path / "c", make_article(1, "El río", text="Sube 3 metros.")) as store:
        assert send(store).total == 1
        assert send(store).total == 0
        store.put([make_article(1, "El RÍO", text="Sube  3 metros")], at=AT + 10, cause="page", round=2)
        assert send(store).total == 0
        store.put([make_article(1, "El río", text="Sube 9 metros.", more="x")], at=AT + 20, cause="rules", round=2)
        assert send(store).total == 0
        store.put([make_article(1, "El río", text="Sube 5 metros.", more="x")], at=AT + 30, cause="page", round=3)
        digest = send(store)
        (item,) = digest.items
        assert item.what == "changed"
        assert ("text", "Sube  3 metros", "Sube 5 metros.") in [(c.name, c.before, c.after) for c in item.changes]
        assert send(store).total == 0


def test_what_other_rules_brought_in_is_no_news(tmp_path: Path) -> None:
    """What was there before and is taken by the rules of now comes to new readers alone; what is younger comes."""
    with filled_store(tmp_path / "c", make_article(1, "El río")) as store:
        sent = send(store)
        old, young = make_article(2, "Un río viejo"), make_article(3, "Un río nuevo", date="2030-01-01")
        store.put([old, young], at=AT + 10, cause="rules", round=1)
        assert sent.made_at < datetime(2030, 1, 1, tzinfo=UTC).timestamp()
        assert [item.record.data["title"] for item in send(store).items] == ["Un río nuevo"]
        assert send(store, replace(ANA, name="Bo")).total == 3


def test_a_digest_that_is_shown_is_not_delivered(tmp_path: Path) -> None:
    """It comes again, and readers do not disturb each other."""
    with filled_store(tmp_path / "c", make_article(1, "El río")) as store:
        digests = DigestStore(store)
        assert [digests.make(ANA).total for _ in range(2)] == [1, 1]
        send(store)
        assert digests.make(ANA).total == 0
        assert digests.make(replace(ANA, name="Bo")).total == 1
        assert digests.make(ANA, since=0.0).total == 1
        assert digests.make(ANA, since=AT + 1).total == 0


def test_a_preview_looks_at_the_newest_changes_alone(tmp_path: Path) -> None:
    """It says so, and the digest itself leaves nothing out."""
    records = [make_article(number, f"El río {number}") for number in range(1, 6)]
    with filled_store(tmp_path / "c", *records) as store:
        digests = DigestStore(store)
        preview = digests.make(ANA, newest=2)
        assert preview.total == 2 and preview.is_cut
        assert {item.record.data["title"] for item in preview.items} == {"El río 4", "El río 5"}
        whole = digests.make(ANA, newest=5)
        assert whole.total == 5 and not whole.is_cut
        assert send(store).total == 5
        assert not digests.make(ANA, newest=2).is_cut


def test_records_that_are_gone_are_no_news(tmp_path: Path) -> None:
    """Nor is one that comes back as it was."""
    article = make_article(1, "El río")
    with filled_store(tmp_path / "c", article) as store:
        store.put([replace(article, gone=True)], at=AT + 1, cause="page")
        assert DigestStore(store).make(ANA).total == 0
        store.put([article], at=AT + 2, cause="page")
        assert send(store).total == 1
        store.put([replace(article, gone=True)], at=AT + 3, cause="page")
        store.put([article], at=AT + 4, cause="page")
        assert send(store).total == 0


def test_a_digest_is_bounded_and_its_groups_take_turns(tmp_path: Path) -> None:
    """The rest is counted, and delivered with it."""
    records = [make_article(n, f"río {n}") for n in range(30)] + [make_article(99, "Copa", section="Deportes")]
    with filled_store(tmp_path / "c", *records) as store:
        digest = send(store, replace(ANA, limit=4))
        assert [(group.title, len(group.items), group.more) for group in digest.groups] == [
            ("river", 3, 27),
            ("sport", 1, 0),
        ]
        assert (digest.total, digest.more) == (31, 27)
        assert send(store).total == 0


def test_a_reader_without_interests_gets_everything(tmp_path: Path) -> None:
    """In one group."""
    with filled_store(tmp_path / "c", make_article(1, "A"), make_article(2, "B")) as store:
        assert titles(DigestStore(store).make(Reader(name="Bo"))) == [("Everything", ["A", "B"])]


FLOOD = (
    "La Confederación Hidrográfica del Ebro mantiene el aviso en Novillas, donde el río alcanzó los 7,82 metros a las"
    " cuatro de la madrugada. El alcalde, Abel Vera, pidió calma a los 540 vecinos.\n"
    "El delegado Fernando Beltrán visitó la mota de Pradilla, reforzada con 3.200 toneladas de escollera en 2015."
)


def test_records_of_one_story_stand_together(tmp_path: Path) -> None:
    """By story or by interest, it is one entry, which names the others and comes first."""
    records = [
        make_article(1, "El Ebro alcanza 7,82 metros en Novillas", text=FLOOD),
        make_article(2, "Novillas: el Ebro, en 7,82 metros", host="other.example", text=f"{FLOOD}\nSigue el aviso."),
        make_article(3, "El río Gállego baja", text="Nada que ver con lo demás, solo un río tranquilo en Zuera."),
    ]
    with filled_store(tmp_path / "c", *records) as store:
        by_story = DigestStore(store).make(replace(ANA, group="story"))
        by_interest = DigestStore(store).make(ANA).as_data()
        short = DigestStore(store).make(replace(ANA, group="story", limit=1))
    assert [(len(group.items), bool(group.title)) for group in by_story.groups] == [(1, True), (1, False)]
    assert by_story.as_data()["items"][0]["related"][0]["host"] in ("news.example", "other.example")
    assert (short.total, len(short.groups), short.left) == (3, 1, 1)
    assert [len(item["related"]) for item in by_interest["items"]] == [1, 0]
    assert by_interest["total"] == 3


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"title": ""},
        {"title": ["", "Second"], "authors": {"name": "X"}, "date": "9999-12-31", "text": 7},
        {"title": "\x00\u202e", "text": None, "language": 'x" onload="', "tracks": [{"a": {"b": [1, [2]]}}]},
    ],
)
def test_strange_records_are_shown(tmp_path: Path, data: dict[str, Any]) -> None:
    """Whatever the fields hold, there is a title, a day and a language that can be written."""
    record = replace(make_article(1, ""), data=data)
    reader = Reader(name="Bo", interests=(Interest("all", KindCondition(("article",))),))
    with filled_store(tmp_path / "c", record) as store:
        (view,) = DigestStore(store).make(reader).as_data()["items"]
    assert view["title"].strip()
    assert view["date"] == "2026-09-21"
    assert view["language"] == ""


def test_a_database_that_is_only_read_has_digests_as_well(tmp_path: Path) -> None:
    """With or without the tables of digests, nothing is written, and the digest is that of a reader who got nothing."""
    for name, is_known in (("new", False), ("known", True)):
        with filled_store(tmp_path / name, make_article(1, "The river")) as store:
            if is_known:
                DigestStore(store)
        store = RecordStore(store.path, apsw.Connection(str(store.path), flags=apsw.SQLITE_OPEN_READONLY))
        with store:
            digests = DigestStore(store)
            digest = digests.make(Reader(name="Ana"))
            assert digest.issue == 1 and digest.total == 1
            assert digests.feed_id("Ana") == digests.feed_id("Ana")
