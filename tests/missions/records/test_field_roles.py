"""Values and names of records as people read them."""

from __future__ import annotations

from lycosa.missions.records.alerts.difference import as_text, compare_texts
from lycosa.missions.records.field_roles import name_record, show_value


def test_values_are_shown_as_they_are_written() -> None:
    """Prices with two places or none; lists with commas, paragraphs without; nested records by their fields."""
    assert show_value({"amount": 9.5, "currency": "EUR"}) == "9.50 EUR"
    assert show_value({"amount": 18.0, "currency": "EUR"}) == "18 EUR"
    assert show_value(["Silk", "Orb"]) == "Silk, Orb"
    assert show_value(["First. " * 12, "Second."]).endswith("First. Second.")
    assert show_value({"name": "Ana", "age": 3}) == "name: Ana; age: 3"
    assert show_value(None) == ""


def test_a_record_is_called_by_its_title_in_any_language() -> None:
    """Else by its key, its first short text, its address."""
    assert name_record({"artist": "Rosa", "titulo": "Mareas"}) == "Mareas"
    assert name_record({"price": 3}, key="H-100") == "H-100"
    assert name_record({"@range": "x", "stock": "sold out"}) == "sold out"
    assert name_record({"price": 3}, url="http://a.test/") == "http://a.test/"


def test_a_line_that_moves_between_text_and_frame_is_no_change() -> None:
    """The footer of a short page may be taken for its text: the other copy of the page has it, too."""
    before, after = "Blue 9,50 €", "Blue 7,90 €\nDiscos Lycosa"
    around = ("Blue 9,50 €\nDiscos Lycosa", after)
    found = compare_texts(before, after, moments=(0.0, 0.0), around=around)
    assert found is not None
    assert [as_text(line) for line in found.lines] == ["Blue [-9,50-] {+7,90+} €"]
