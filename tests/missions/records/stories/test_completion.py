"""One record out of several, and who copied from whom."""

from __future__ import annotations

from pathlib import Path

from support.told_stories import AT, FLOOD, FLOOD_EN, OTHER, article, filled_store

from lycosa.missions.records.database import NewRecord
from lycosa.missions.records.stories import complete, read_story, refresh_stories, stories
from lycosa.missions.records.stories.catalogue import explain_story, find_copies


def test_fields_are_completed_from_each_other(tmp_path: Path) -> None:
    """The value that most hosts give, with its record; what others say stands beside it, by how many."""
    shops = [
        {"title": "Low", "year": 1977, "price": "9,99", "label": "RCA"},
        {"title": "LOW", "year": "1977", "price": "12.50", "tracks": ["Speed of Life"]},
        {"title": "Low", "year": 1976, "price": "9.99", "artists": ["Bowie, David"]},
    ]
    records = [NewRecord(kind="album", url=f"http://s{n}.example/", data=data) for n, data in enumerate(shops)]
    with filled_store(tmp_path, records) as store:
        done = complete(store.records())
    assert done.values == {
        "title": "Low", "year": 1977, "price": "9,99", "label": "RCA", "tracks": ["Speed of Life"],
        "artists": ["Bowie, David"],
    }  # fmt: skip
    year = done.fields["year"]
    assert (year.url, year.hosts, bool(year.others)) == ("http://s0.example/", ("s0.example", "s1.example"), True)
    assert [(other.value, other.hosts) for other in year.others] == [(1976, ("s2.example",))]
    assert not done.fields["title"].others
    assert done.fields["tracks"].url == "http://s1.example/"


def test_own_words_are_no_disagreement(tmp_path: Path) -> None:
    """Of the texts of a story the longest is taken."""
    with filled_store(tmp_path, FLOOD) as store:
        text = complete(store.records()).fields["text"]
    assert text.value == FLOOD[0].data["text"] and not text.others and len(text.hosts) == 4


def test_copies_are_told_from_own_words(tmp_path: Path) -> None:
    """The second to publish a text copied it; an agency that is named is told."""
    with filled_store(tmp_path, FLOOD) as store:
        verdicts = find_copies(list(store.records()))
    assert [verdict.said for verdict in verdicts] == ["own words", "own words", "own words", "copy"]
    assert verdicts[3].source == verdicts[1].record and verdicts[3].agency == "AP" and verdicts[3].share > 0.9


def test_a_story_tells_its_media_and_why(tmp_path: Path) -> None:
    """First, last, media, what they share; each member the one that it is like, with weights and days between."""
    with filled_store(tmp_path, [*FLOOD, *OTHER]) as store:
        refresh_stories(store)
        (story,) = stories(store, least_hosts=2)
        assert story.title == "El Ebro se desborda en Tudela"
        assert story.hosts == ("diario.example", "herald.example", "noviny.example", "copy.example")
        assert {"tudela", "ebro", "marta iturralde"} <= set(story.terms)
        reasons = explain_story(store, story)
        assert read_story(store, 10_000) is None
        assert [len(each.records) for each in stories(store, since=AT + 1)] == []
    assert reasons[0].like is None and reasons[0].sentence == "the first of the story"
    assert all(reason.like is not None for reason in reasons[1:])
    assert "marta iturralde" in reasons[1].sentence and "day" in reasons[1].sentence
    weights = [term.weight for term in reasons[1].shared]
    assert weights == sorted(weights, reverse=True) and weights[0] > 3
    assert "of its word runs are the same" in reasons[3].sentence


def test_a_record_that_is_gone_stays_in_its_story(tmp_path: Path) -> None:
    """It was published."""
    with filled_store(tmp_path, FLOOD) as store:
        refresh_stories(store)
        store.put([NewRecord(kind="article", url=FLOOD[1].url, data={}, gone=True)], at=AT + 9)
        refresh_stories(store)
        (story,) = stories(store)
        assert [record.gone for record in story.records] == [False, True, False, False]


def test_a_folder_that_is_only_read_has_no_stories_yet(tmp_path: Path) -> None:
    """Nothing is written, nothing fails."""
    filled_store(tmp_path, [article("http://h.example/", "T", FLOOD_EN, "2024-03-04")]).close()
    tmp_path.chmod(0o500)
    (tmp_path / "records.db").chmod(0o400)
    try:
        from lycosa.missions.records.database import open_store

        with open_store(tmp_path) as store:
            assert refresh_stories(store) in (0, 1)
            assert len(list(stories(store))) in (0, 1)
    finally:
        tmp_path.chmod(0o700)
