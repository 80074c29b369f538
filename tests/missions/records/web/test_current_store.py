"""Tables that lists of records are made from: counted by triggers, words and values taken from new versions."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from support.record_stores import filled_store, make_article

from lycosa.missions.records.database import RecordStore
from lycosa.missions.records.web.current_store import has_lists, keep_lists, match_words, sort_value

_COUNTED = "SELECT kind, host, gone, count FROM list_cell WHERE count > 0 ORDER BY 1, 2, 3"
_TRUE = (
    "SELECT kind, host, record.gone, count(*) FROM record JOIN page ON page.id = page GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
)


def find(store: RecordStore, words: str) -> list[int]:
    sql = "SELECT rowid FROM list_words WHERE list_words MATCH ? ORDER BY 1"
    return [number for (number,) in store.rows(sql, (match_words(words),))]


def test_counts_words_and_values_follow_the_records(tmp_path: Path) -> None:
    """What is new, changed or gone counts at once; its words when the tables are brought up to date."""
    first = make_article(1, "The river", price=7)
    with filled_store(tmp_path / "c", first, make_article(2, "A lake", host="other.example")) as store:
        keep_lists(store)
        assert find(store, "riv") == [1] and find(store, "other.example") == [2] and has_lists(store)
        store.put([replace(first, data={"title": "El Río"}), make_article(3, "Third")], at=2e9)
        store.put([replace(make_article(2, "A lake", host="other.example"), gone=True)], at=2e9)
        assert list(store.rows(_COUNTED)) == list(store.rows(_TRUE)) and len(list(store.rows(_TRUE))) == 2
        keep_lists(store)
        assert find(store, "river") == [] and find(store, "rio") == [1] and find(store, "third") == [3]
        sql = "SELECT name, value FROM list_value JOIN list_field ON id = field WHERE record = 1"
        assert dict(store.rows(sql)) == {"title": "El Río"}


def test_a_store_without_the_tables_is_counted_for_once(tmp_path: Path) -> None:
    """A database that cannot be written to has them as long as it is open."""
    with filled_store(tmp_path / "c", make_article(1, "One"), make_article(2, "Two")) as store:
        assert not has_lists(store)
        assert list(store.rows(_COUNTED)) == list(store.rows(_TRUE))


def test_values_are_sorted_as_people_expect() -> None:
    """Prices by their amount, long texts by their beginning; words of unspaced scripts are not in the index."""
    assert sort_value({"amount": 3.5, "currency": "EUR"}) == 3.5
    assert sort_value("x" * 500) == "x" * 100 and sort_value(2**70) == str(2**70)
    assert match_words('say "hi" -x') == '"say"* AND "hi"* AND "x"*' and match_words("河流") == "" == match_words("%")
