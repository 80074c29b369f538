"""Which records tell the same story, and which only look like it."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
from support.told_stories import (
    AT,
    BUDGET,
    FLOOD,
    FLOOD_EN,
    FLOOD_ES,
    OTHER,
    WEATHER,
    article,
    filled_store,
    find_groups,
)

from lycosa.missions.records.database import NewRecord
from lycosa.missions.records.stories import refresh_stories, stories

FLOOD_URLS = frozenset(record.url for record in FLOOD)


def grouped(folder: Path, *records: NewRecord) -> set[frozenset[str]]:
    with filled_store(folder, records) as store:
        refresh_stories(store)
        return find_groups(store)


def test_a_story_is_known_across_languages(tmp_path: Path) -> None:
    """Names and figures carry it; the budget of the same day stays alone."""
    assert grouped(tmp_path, *FLOOD, *OTHER) == {FLOOD_URLS}


def test_the_order_of_arrival_does_not_matter(tmp_path: Path) -> None:
    """One at a time and shuffled, the stories are those of all at once; their numbers are those of a member."""
    records = [*FLOOD, *OTHER]
    for seed in range(3):
        random.Random(seed).shuffle(records)
        folder = tmp_path / str(seed)
        folder.mkdir()
        with filled_store(folder, ()) as store:
            for record in records:
                store.put([record], at=AT)
                assert refresh_stories(store) == 1
            assert refresh_stories(store) == 0
            assert find_groups(store) == {FLOOD_URLS}
            sql = "SELECT count(*) FROM story_member WHERE story = record"
            assert store.connection.execute(sql).get == len(OTHER) + 1


def test_the_title_does_not_depend_on_which_answer_came_first(tmp_path: Path) -> None:
    """Of one day the first address names the story, unless a later round found it."""
    same_day = [msgspec.structs.replace(each, data=each.data | {"date": "2023-11-14"}) for each in FLOOD]
    titles = set()
    for seed in range(3):
        (tmp_path / str(seed)).mkdir()
        with filled_store(tmp_path / str(seed), ()) as store:
            for nth, record in enumerate(random.Random(seed).sample(same_day, len(same_day))):
                store.put([record], at=AT + nth)
            refresh_stories(store)
            (story,) = stories(store, least_hosts=2)
            titles.add((story.title, story.terms, tuple(record.url for record in story.records)))
    assert len(titles) == 1
    assert titles.pop()[0] == "Spanish town under water"


def test_stories_of_an_earlier_version_are_made_anew(tmp_path: Path) -> None:
    """They had what other missions found; collections without that keep theirs."""
    with filled_store(tmp_path, FLOOD) as store:
        refresh_stories(store)
        for others, read in ((0, 0), (1, len(FLOOD) - 1)):
            store.connection.execute("UPDATE record SET quarry = 'documents' WHERE id <= ?", (others,))
            store.connection.execute("UPDATE package SET version = 1 WHERE name = 'stories'")
            assert refresh_stories(store) == read
        assert find_groups(store) == {FLOOD_URLS - {FLOOD[0].url}}


def test_the_column_of_every_day_is_no_story(tmp_path: Path) -> None:
    """The forecast of one paper under one title is another each day, though its text is the same."""
    days = [article(f"http://p.example/{n}", f"Weather on {n} March", WEATHER, f"2024-03-0{n}") for n in range(1, 6)]
    assert grouped(tmp_path, *days) == set()


def test_a_copy_is_the_same_story_without_any_name(tmp_path: Path) -> None:
    """Two papers with the same text of an agency."""
    copies = [article(f"http://p{n}.example/x", f"Dry and sunny {n}", WEATHER, "2024-03-04") for n in (1, 2)]
    assert len(grouped(tmp_path, *copies)) == 1


def test_the_same_names_weeks_later_are_another_story(tmp_path: Path) -> None:
    """The next flood of the same town."""
    later = article("http://diario.example/77", "Otra vez el Ebro", FLOOD_ES, "2024-05-04", language="es")
    assert grouped(tmp_path, *FLOOD, later) == {FLOOD_URLS}


def test_namesakes_and_a_town_are_not_enough(tmp_path: Path) -> None:
    """Two people called Marta in one town on one day do different things."""
    art = (
        "The painter Marta Lozano opened her first exhibition in Tudela on Monday with forty canvases from her years "
        "in Lisbon. Visitors queued in front of the gallery of Joaquín Sarasate, who discovered her work in a bar. "
        "Her portraits of dancers are on display until the summer, and a catalogue with essays will be printed in May."
    )
    other = article("http://arts.example/1", "Paintings in Tudela", art, "2024-03-05", language="en")
    assert grouped(tmp_path, FLOOD[0], FLOOD[1], other) == {frozenset((FLOOD[0].url, FLOOD[1].url))}


def test_no_chain_leads_from_one_story_to_another(tmp_path: Path) -> None:
    """An article about both, as a review of the week has it, does not make them one."""
    both = article("http://week.example/1", "The week", f"{FLOOD_EN} {BUDGET}", "2024-03-06", language="en")
    more = article("http://paper.example/b", "Budget", BUDGET, "2024-03-05", language="en")
    groups = grouped(tmp_path, *FLOOD, *OTHER, more, both)
    assert not any({FLOOD[0].url, OTHER[0].url} <= group for group in groups)


def test_stock_phrases_of_a_site_do_not_make_a_story(tmp_path: Path) -> None:
    """What every page of a paper says is its frame, also where names are in it."""
    chance = random.Random(1)
    nouns = ["bread", "river", "stone", "wheel", "garden", "copper", "letter", "winter", "market", "bridge", "candle"]
    frame = "Written for the Morning Courier of Port Ellison by our own staff under the editor Basil Thornquist."
    records = []
    for n in range(40):
        text = " ".join(f"The {chance.choice(nouns)} and the {chance.choice(nouns)} were seen again." for _ in range(8))
        records.append(
            article(f"http://courier.example/{n}", f"Item {nouns[n % 11]} {n}", f"{text} {frame}", "2024-03-04")
        )
    groups = grouped(tmp_path, *records)
    assert sum(map(len, groups)) < 8


def test_an_author_is_no_topic(tmp_path: Path) -> None:
    """The byline within the texts of one reporter says nothing of what they tell."""
    by = "By Leonora Quist, Port Ellison."
    one = article("http://a.example/1", "Budget", f"{by} {BUDGET}", "2024-03-05", authors=["Leonora Quist"])
    two = article("http://b.example/1", "Weather", f"{by} {WEATHER}", "2024-03-05", authors=["Leonora Quist"])
    assert grouped(tmp_path, one, two) == set()


def test_texts_without_capitals_are_compared_too(tmp_path: Path) -> None:
    """Chinese has neither capitals nor blanks between words."""
    one = (
        "深圳市住宅租赁管理服务中心现有各类员工共65名，而该中心全年人员工资1913万元，人均年薪近30万元，年薪最高的68万元。"
        * 2
    )
    two = "网帖称深圳市住宅租赁管理服务中心员工65名，全年工资1913万元，人均年薪近30万元，审计局证实了年薪数额属实。" * 2
    three = (
        "三军总医院和台湾科技大学合作研发新一代微创手术训练系统，住院医师对着人体模型练功时，电脑自动打分数找错误。" * 2
    )
    texts = (one, two, three)
    records = [
        article(f"http://h{n}.example/", "工资", text, "2024-03-04", language="zh") for n, text in enumerate(texts)
    ]
    assert grouped(tmp_path, *records) == {frozenset({"http://h0.example/", "http://h1.example/"})}


def test_a_record_that_changes_finds_its_story(tmp_path: Path) -> None:
    """A note that becomes an article is placed anew; a member that is corrected stays."""
    note = article("http://late.example/1", "Soon more", WEATHER, "2024-03-05", language="en")
    with filled_store(tmp_path, [*FLOOD, note]) as store:
        refresh_stories(store)
        store.put([article(note.url, "Tudela under water", FLOOD_EN, "2024-03-05", language="en")], at=AT + 1)
        store.put([article(FLOOD[0].url, "El Ebro en Tudela", FLOOD_ES + " Ampliación.", "2024-03-04")], at=AT + 1)
        assert refresh_stories(store) == 2
        assert find_groups(store) == {FLOOD_URLS | {note.url}}


def test_things_are_the_same_by_identifier(tmp_path: Path) -> None:
    """An ISBN of ten digits and one of thirteen, written with dashes; another edition is another book."""
    books = [
        NewRecord(kind="book", url="http://a.example/1", data={"title": "Arañas", "isbn": "0-306-40615-2"}),
        NewRecord(kind="item", url="http://b.example/1", data={"name": "ARAÑAS (Spiders)", "isbn": "978-0306406157"}),
        NewRecord(kind="book", url="http://c.example/1", data={"title": "Arañas", "isbn": "978-0-306-40616-4"}),
        NewRecord(kind="book", url="http://d.example/1", data={"title": "Arañas", "isbn": "978-0306406158"}),
    ]
    assert grouped(tmp_path, *books) == {frozenset({"http://a.example/1", "http://b.example/1"})}


def test_things_are_the_same_by_title_and_person(tmp_path: Path) -> None:
    """In two shops, the name turned round; not within one shop, nor with another barcode."""

    def album(url: str, title: str, artist: str, **more: str) -> NewRecord:
        return NewRecord(kind="album", url=url, data={"title": title, "artist": artist, **more})

    albums = [
        album("http://a.example/1", "Low", "David Bowie", ean="4006381333931"),
        album("http://b.example/1", "LOW [CD]", "Bowie, David"),
        album("http://b.example/2", "Low", "David Bowie"),
        album("http://c.example/1", "Low", "David Bowie", ean="5901234123457"),
        album("http://c.example/2", "Low", "Testament"),
    ]
    groups = grouped(tmp_path, *albums)
    assert frozenset({"http://a.example/1", "http://b.example/1"}) <= next(iter(groups))
    assert not any({"http://a.example/1", "http://c.example/1"} <= group for group in groups)
    assert not any("http://c.example/2" in group for group in groups)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"title": None, "text": 7, "date": "9999-99-99"},
        {"title": ["a", {"name": "b"}], "text": {"x": []}, "date": ["2024-02-30"]},
        {"text": "\ud800 " * 60, "title": "\x00", "date": "0000-00-00"},
        {"text": "A" * 200_000, "isbn": "9" * 100_000},
        {"text": "Word " * 50_000, "date": "2024-03-04T99:99"},
    ],
)
def test_strange_records_are_taken(tmp_path: Path, data: dict[str, object]) -> None:
    """Whatever a page gave, it has a story of its own."""
    data = {name: value.replace("\ud800", "�") if isinstance(value, str) else value for name, value in data.items()}
    with filled_store(tmp_path, [NewRecord(kind="x", url="http://h.example/", data=data)]) as store:
        refresh_stories(store)
        assert [len(story.records) for story in stories(store)] == [1]
