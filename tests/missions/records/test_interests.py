"""Interests: what they find in records, and what they say of it."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from msgspec import Struct

from lycosa.missions.records.interests import (
    AllOf,
    AnyOf,
    Condition,
    FieldCondition,
    HostCondition,
    Interest,
    KindCondition,
    NoneOf,
    PatternCondition,
    RecordTexts,
    TermCondition,
    match_interests,
)


class Found(Struct):
    data: dict[str, Any]
    kind: str = "article"
    url: str = "https://news.example/1"
    host: str = "news.example"


FLOOD = Found(
    {
        "title": "Inundaciones en la ribera del Ebro",
        "text": "El RÍO creció.\nLos ríos crecen; el río\u2014dicen\u2014baja. Santa-Cruz de la Serós",
        "section": "Aragón",
        "date": "2026-11-17",
        "price": {"amount": 12.5, "currency": "EUR"},
        "tags": ["agua", "clima"],
        "rating": "4.5",
        "@rules": {"title": "secret words"},
    }
)


def find(condition: Condition, record: Found = FLOOD) -> list[tuple[str, tuple[str, ...], int]] | None:
    found = condition.find(RecordTexts(record))
    return None if found is None else [(one.field, one.words, one.count) for one in found]


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        (("rio",), [("text", ("RÍO",), 2)]),
        (("ri",), None),
        (("inundacion",), None),
        (("EBRO", "río"), [("title", ("Ebro",), 1), ("text", ("RÍO",), 2)]),
        (("ribera del ebro",), [("title", ("ribera del Ebro",), 1)]),
        (("Santa Cruz de la Seros",), [("text", ("Santa-Cruz de la Serós",), 1)]),
        (("clima",), [("tags", ("clima",), 1)]),
        (("secret",), None),
        (("eur",), [("price.currency", ("EUR",), 1)]),
    ],
)
def test_terms_are_whole_words_without_case_and_accents(terms: tuple[str, ...], found: object) -> None:
    """A term is found in any field, a phrase across punctuation, a part of a word never."""
    assert find(TermCondition(terms)) == found


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("東京で地震がありました", "地震"),
        ("ΠΛΗΜΜΎΡΑ στην Αθήνα", "πλημμυρα"),
        ("Überschwemmung an der Straße", "strasse"),
        ("बाढ़ का पानी", "पानी"),
        ("наводнение в Ёлкино", "елкино"),
        ("l\u2019Ebre a punt de desbordar", "ebre"),
        ("el ri\u0301o baja", "río"),
    ],
)
def test_terms_of_other_languages_are_found(text: str, term: str) -> None:
    """Scripts without blanks, decomposed accents, elisions."""
    assert find(TermCondition((term,)), Found({"text": text}))
    assert not find(TermCondition((f"{term}x",)), Found({"text": text}))


def test_an_excerpt_shows_where_a_word_stands() -> None:
    """The words around it, on one line."""
    texts = RecordTexts(Found({"text": "before " * 30 + "the\nriver rises " + "after " * 30}))
    (found,) = TermCondition(("river",)).find(texts) or []
    assert "the river rises" in found.excerpt
    assert found.excerpt.startswith("…") and found.excerpt.endswith("…")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (PatternCondition(r"(?i)\bebro\b"), True),
        (PatternCondition(r"(?i)\bebro\b", ("text",)), False),
        (PatternCondition(r"^https://news\.example/", ("url",)), True),
        (FieldCondition(("section",), ("aragon",)), True),
        (FieldCondition(("section",), ("Deportes",)), False),
        (FieldCondition(("tags",), ("clima",)), True),
        (FieldCondition(("missing",)), False),
        (FieldCondition(("section",)), True),
        (FieldCondition(("price",), at_least=12, at_most=13), True),
        (FieldCondition(("price",), at_most=12), False),
        (FieldCondition(("price.amount",), (12.5,)), True),
        (FieldCondition(("rating",), at_least=4.5), True),
        (FieldCondition(("section",), at_least=1), False),
        (FieldCondition(("date",), at_least=date(2026, 11, 17)), True),
        (FieldCondition(("date",), at_most=date(2026, 11, 16)), False),
        (FieldCondition(("section",), at_most=date(2026, 11, 16)), False),
        (KindCondition(("article",)), True),
        (KindCondition(("album",)), False),
        (HostCondition(("example",)), True),
        (HostCondition(("*.news.example",)), True),
        (HostCondition(("ews.example",)), False),
        (AllOf((KindCondition(("article",)), TermCondition(("ebro",)))), True),
        (AllOf((KindCondition(("album",)), TermCondition(("ebro",)))), False),
        (AnyOf((KindCondition(("album",)), TermCondition(("ebro",)))), True),
        (NoneOf((TermCondition(("ebro",)),)), False),
        (AllOf((TermCondition(("ebro",)), NoneOf((FieldCondition(("section",), ("Deportes",)),)))), True),
    ],
)
def test_conditions_hold_or_do_not(condition: Condition, holds: bool) -> None:
    """Each kind of condition on the same record."""
    assert (find(condition) is not None) is holds


def test_matches_say_why_and_the_best_comes_first() -> None:
    """A word in the title counts more than one in the text."""
    interests = [
        Interest("rivers", TermCondition(("río",))),
        Interest("Ebro", TermCondition(("ebro",))),
        Interest("sport", FieldCondition(("section",), ("Deportes",))),
    ]
    found = match_interests(interests, FLOOD)
    assert [(match.interest, match.told()) for match in found] == [
        ("Ebro", "“Ebro” in title"),
        ("rivers", "“RÍO” (2 times) in text"),
    ]


@pytest.mark.parametrize(
    "data",
    [
        {"text": None, "n": float("nan"), "x": [[[[[[[["deep"]]]]]]]], "d": "9999-12-31T23:59:59-14:00"},
        {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": "deep"}}}}}}}},
        {"price": {"amount": "many"}, "date": "2026-13-45", "text": "\ud800 half"},
        {},
    ],
)
def test_strange_records_match_nothing_and_raise_nothing(data: dict[str, Any]) -> None:
    """Records come from pages that anybody may write."""
    conditions: list[Condition] = [
        TermCondition(("deep",)),
        PatternCondition("deep"),
        FieldCondition(("n", "price", "date", "d", "x"), at_least=1),
        FieldCondition(("n", "price", "date", "d", "x"), at_most=date(2026, 1, 1)),
    ]
    assert match_interests([Interest("any", one) for one in conditions], Found(data)) == []
