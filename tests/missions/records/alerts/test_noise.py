"""Each class of noise makes no difference, in any language we know; what stands beside it does."""

from __future__ import annotations

import datetime
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.missions.records.alerts.difference import compare_texts, fold_line, fold_lines, is_same

DAY = 86_400.0
BEFORE = datetime.datetime(2026, 3, 4, 8, tzinfo=datetime.UTC).timestamp()
AFTER = BEFORE + 3 * DAY
MOMENTS = (BEFORE, AFTER)
PROSE = (
    "The council decided to close the old bridge over the river for repairs until the end of May.",
    "Engineers had found cracks in two of its arches after the floods, and asked the town for haste.",
    "Cars take the road along the mill; walkers keep the path by day.",
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Today is Wednesday, 4 March 2026", "Today is Saturday, 7 March 2026"),
        ("Hoy es miércoles, 4 de marzo de 2026", "Hoy es sábado, 7 de marzo de 2026"),
        ("Mercredi 4 mars 2026", "Samedi 7 mars 2026"),
        ("Stand: 04.03.2026, 10:33 Uhr", "Stand: 07.03.2026, 8:01 Uhr"),
        ("Last modified 1 January 2020", "Last modified 2 February 2021"),
        ("Weather in the valley on 4 March 2026: see the map", "Weather in the valley on 7 March 2026: see the map"),
        ("2026-03-04T08:00:00Z", "2026-03-07T08:00:12Z"),
        ("Posted 3 hours ago by Ana", "Posted 2 days ago by Ana"),
        ("hace 5 minutos", "hace 2 horas"),
        ("vor 3 Stunden", "vor 2 Tagen"),
        ("il y a 2 heures", "il y a 3 jours"),
        ("5 ore fa", "2 giorni fa"),
        ("12 comments", "1,045 comments"),
        ("Comments (12)", "Comments (13)"),
        ("Views: 1,234", "Views: 1.3k"),
        ("12 people watch this", "3 people watch this"),
        ("1.234 Aufrufe", "2.001 Aufrufe"),
        ("12 visitas", "15 visitas"),
        ("Request 9f86d081884c7d659a2feaa0c55ad015", "Request 60303ae22b998861bce3b28f33eec1be"),
        ("See https://a.example/x?id=3&utm_source=one", "See https://a.example/x?utm_campaign=two&id=3"),
        ("© 2025 The Valley", "© 2026 The Valley"),
        ("a  b\u00a0c\u200bd", "a b cd"),
        ("“Quoted” — and so on", '"Quoted" - and so on'),
        ("Rendered at 10:33:01", "Rendered at 12:01:59"),
    ],
)
def test_noise_makes_no_difference(before: str, after: str) -> None:
    """Two lines that differ by the clock, by a counter, by an id or by signs are the same line."""
    assert fold_line(before, BEFORE) == fold_line(after, AFTER)
    told = compare_texts("\n".join([*PROSE, before]), "\n".join([*PROSE, after]), moments=MOMENTS)
    assert told is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The concert is on 3 June 2026", "The concert is on 5 June 2026"),
        ("Price: 12 €", "Price: 13 €"),
        ("5 people died in the flood", "12 people died in the flood"),
        ("She won by 12 votes in the second round", "She won by 15 votes in the second round"),
        ("3 left in stock", "1 left in stock"),
        ("Open 9:00 to 17:00", "Open 10:00 to 17:00"),
        ("In stock", "Sold out"),
        ("The bridge is closed", "The bridge is not closed"),
        ("Temperature -5 degrees", "Temperature 5 degrees"),
        ("Call 555 1234", "Call 555 1235"),
        ("Born 1980", "Born 1981"),
        ("He sold 5,000 shares of the firm on Monday morning", "He sold 9,000 shares of the firm on Monday morning"),
    ],
)
def test_what_is_said_makes_one(before: str, after: str) -> None:
    """Dates of events, prices, stock, hours and the numbers of sentences are news, also in a short line."""
    told = compare_texts("\n".join([*PROSE, before]), "\n".join([*PROSE, after]), moments=MOMENTS)
    assert told is not None
    assert told.words >= 1


def test_a_corrected_letter_is_no_news_but_another_word_is() -> None:
    """One wrong letter in a long word of a sentence was misspelt; a word of its own is none."""
    text = "\n".join(PROSE)
    assert compare_texts(text, text.replace("Engineers", "Enginers"), moments=MOMENTS) is None
    assert compare_texts(text, text.replace("repairs", "reapirs"), moments=MOMENTS) is None
    assert compare_texts(text, text.replace("repairs", "parades"), moments=MOMENTS) is not None
    assert compare_texts(text, text.replace("close", "open"), moments=MOMENTS) is not None


def test_lines_that_are_cut_otherwise_are_the_same() -> None:
    """A template that joins or splits paragraphs, or reorders a list, says nothing new."""
    text = "\n".join(PROSE)
    assert compare_texts(text, text.replace("\n", " "), moments=MOMENTS) is None
    assert compare_texts("apples, pears, plums", "plums, apples, pears", moments=MOMENTS) is None


_words = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
_lines = st.lists(st.lists(_words, min_size=4, max_size=15).map(" ".join), min_size=1, max_size=12, unique=True)


def add_noise(lines: list[str], chance: random.Random, moment: float) -> str:
    """The lines with noise of every class, made at a moment."""
    at = datetime.datetime.fromtimestamp(moment, datetime.UTC)
    noise = [
        f"Today is {at:%A, %d %B %Y}",
        f"Updated {chance.randint(2, 50)} minutes ago",
        f"{chance.randint(2, 9000):,} views",
        f"Comments ({chance.randint(0, 99)})",
        f"{chance.randint(2, 40)} people are watching this",
        f"Session {chance.getrandbits(128):032x}a1",
        f"Last updated: {at:%Y-%m-%d %H:%M}",
    ]
    mixed = [line.replace(" ", chance.choice([" ", "  ", "\u00a0"])) for line in lines] + noise
    chance.shuffle(mixed)
    return "\n".join(mixed)


@settings(max_examples=150, deadline=None)
@given(lines=_lines, seed=st.integers(0, 2**32), days=st.integers(0, 400))
def test_no_mixture_of_noise_is_news(lines: list[str], seed: int, days: int) -> None:
    """The same lines with other noise, in another order, after any time, are the same text."""
    chance = random.Random(seed)
    moments = (BEFORE, BEFORE + days * DAY)
    before, after = (add_noise(lines, chance, moment) for moment in moments)
    assert compare_texts(before, after, moments=moments) is None


@settings(max_examples=150, deadline=None)
@given(lines=_lines, more=st.lists(_words, min_size=6, max_size=12).map(" ".join), seed=st.integers(0, 2**32))
def test_no_mixture_of_noise_hides_news(lines: list[str], more: str, seed: int) -> None:
    """A sentence that comes is told amid any noise, and nothing but it is shown."""
    chance = random.Random(seed)
    before, after = add_noise(lines, chance, BEFORE), add_noise([*lines, f"moreover {more}"], chance, AFTER)
    told = compare_texts(before, after, moments=MOMENTS)
    assert told is not None
    assert [" ".join(part.text for part in parts) for parts in told.lines] == [f"moreover {more}".replace("  ", " ")]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.floats(allow_nan=False, allow_infinity=False))
def test_any_text_can_be_folded(text: str, moment: float) -> None:
    """Nothing that a page holds, at any time, raises; folding is the same every time."""
    assert list(fold_lines(text, moment)) == list(fold_lines(text, moment))


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (["a", "b"], ["b", "a"], True),
        (["a", "b"], ["a", "c"], False),
        (12, 12.0, True),
        (12, 13, False),
        (None, "", True),
        (None, [], True),
        (True, 1, False),
        ("The  Title", "The title", True),
        ("Smith", "Smyth", False),
        ("https://a.example/?utm_source=x#top", "https://a.example/", True),
        ("https://a.example/1", "https://a.example/2", False),
        ({"amount": 1.0, "currency": "EUR"}, {"currency": "EUR", "amount": 1}, True),
        ("2026-03-04", "2026-03-07", True),
        ("2026-06-03", "2026-06-05", False),
        ("12 views", "13 views", True),
    ],
)
def test_values_are_compared_by_what_they_say(before: object, after: object, same: bool) -> None:
    """White space, case, order of lists and noise make no difference to a field; anything else does."""
    assert is_same(before, after, moments=MOMENTS) is same
