"""Values out of the text of fields: what people write in many languages, and what nobody means."""

from __future__ import annotations

import pytest

from lycosa.content.converters import KINDS, Value, convert, find_date


@pytest.mark.parametrize(
    ("text", "language", "day"),
    [
        ("2020-03-04T10:00:00+02:00", "", "2020-03-04"),
        ("Published March 3rd, 2020 at noon", "en", "2020-03-03"),
        ("Tue, 05 Nov 2019 10:00 GMT", "", "2019-11-05"),
        ("12. Jänner 2019", "de", "2019-01-12"),
        ("1er août 2019", "fr", "2019-08-01"),
        ("5 de enero de 2021", "es", "2021-01-05"),
        ("31 December 2023", "en", "2023-12-31"),
        ("3 d'octubre de 2023", "ca", "2023-10-03"),
        ("15 października 2018 r.", "pl", "2018-10-15"),
        ("31 декабря 2019, 10:00", "ru", "2019-12-31"),
        ("4η Μαΐου 2020", "el", "2020-05-04"),
        ("2020. március 4.", "hu", "2020-03-04"),
        ("2020 m. kovo 4 d.", "lt", "2020-03-04"),
        ("1 Şubat 2020", "tr", "2020-02-01"),
        ("25 tháng 3, 2020", "vi", "2020-03-25"),
        ("2020年3月4日", "ja", "2020-03-04"),
        ("2020년 3월 4일", "ko", "2020-03-04"),
        ("١٢ مارس ٢٠٢٠", "ar", "2020-03-12"),
        ("12 كانون الثاني 2019", "ar", "2019-01-12"),
        ("11 मार्च 2020", "hi", "2020-03-11"),
        ("๑๒ มีนาคม ๒๕๖๓", "th", "2020-03-12"),
        ("4/3/2020", "en", "2020-04-03"),
        ("4/3/2020", "en-GB", "2020-03-04"),
        ("4/3/2020", "fr", "2020-03-04"),
        ("25/12/2020", "en-US", "2020-12-25"),
    ],
)
def test_days_are_read_in_many_languages(text: str, language: str, day: str) -> None:
    """In figures, in words, in the digits and calendars of other scripts."""
    assert convert(text, "date", language=language) == day


def test_the_language_decides_between_two_months() -> None:
    """Listopad is October to Croats and November to Poles."""
    assert convert("20 listopada 2018", "date", language="hr") == "2018-10-20"
    assert convert("20 listopada 2018", "date", language="pl") == "2018-11-20"


@pytest.mark.parametrize(
    "text", ["1 December 2026", "Tuesday, 01 Dec 2026", "1. Dezember 2026", "1 de diciembre de 2026"]
)
def test_a_month_may_begin_as_a_preposition(text: str) -> None:
    """The first letters of December are no Spanish "de"."""
    assert convert(text, "date") == "2026-12-01"


@pytest.mark.parametrize("text", ["9999-12-31", "31.02.2020", "0000-00-00", "99999999", "yesterday", "", "1" * 5000])
def test_no_day_is_made_of_what_names_none(text: str) -> None:
    """Nor of years that stand for never."""
    assert convert(text, "date") is None


@pytest.mark.parametrize(
    ("text", "language", "number"),
    [
        ("1.234,56", "", 1234.56),
        ("1,234.56", "", 1234.56),
        ("1 234,5 km", "fr", 1234.5),
        ("12,345 reviews", "en", 12345.0),
        ("1.234", "de", 1234.0),
        ("1.234", "en", 1.234),
        ("0,125", "de", 0.125),
        ("\u221212", "", -12.0),
        ("1.5e3", "", 1500.0),
        ("٣٫٥", "ar", 3.5),
    ],
)
def test_numbers_are_read_as_written(text: str, language: str, number: float) -> None:
    """Points, commas, spaces and apostrophes group or divide; the digits may be of any script."""
    assert convert(text, "number", language=language) == number


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("Price: $1,299.99", (1299.99, "USD")),
        ("1.299,00 €", (1299.0, "EUR")),
        ("2 for 5 €", (5.0, "EUR")),
        ("R$ 1.234,50", (1234.5, "BRL")),
        ("12,99 zł", (12.99, "PLN")),
        ("¥12,800", (12800.0, "JPY")),
        ("Rp 15.000", (15000.0, "IDR")),
        ("Rs. 500", (500.0, "INR")),
        ("1'234.50 CHF", (1234.5, "CHF")),
        ("12.50", (12.5, "")),
    ],
)
def test_prices_have_an_amount_and_a_currency(text: str, price: tuple[float, str]) -> None:
    """The amount is the one beside the sign of the currency."""
    assert convert(text, "price") == {"amount": price[0], "currency": price[1]}


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("  a \n b ", "text", "a b"),
        ("1.200.000", "integer", 1200000),
        ("3.5", "integer", None),
        ("../b", "url", "http://a.test/b"),
        ("javascript:alert(1)", "url", None),
        ("1e999", "number", None),
        ("9" * 100, "number", None),
        ("free", "price", None),
    ],
)
def test_other_kinds(text: str, kind: str, value: Value | None) -> None:
    """What cannot be read gives nothing."""
    assert convert(text, kind, base="http://a.test/x/y") == value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "text", ["\x00", "٠" * 3000, "1," * 3000, "-" * 3000, "$" * 3000, "1 january " * 400, "\ud800"]
)
def test_hostile_text_harms_nobody(text: str, kind: str) -> None:
    """It may give a value or none."""
    convert(text, kind, base="http://a.test/")


def test_days_of_other_calendars_are_days() -> None:
    """Years of Japanese emperors, the Persian and the Thai calendar, in the digits of their scripts."""
    for text, language, day in (
        ("令和6年5月1日", "ja", "2024-05-01"),
        ("公開日: 平成31年4月30日", "ja", "2019-04-30"),
        ("令和元年5月1日", "ja", "2019-05-01"),
        ("۱۲ تیر ۱۳۹۹", "fa", "2020-07-02"),
        ("1399/04/12", "fa", "2020-07-02"),
        ("1 فروردین 1403", "fa", "2024-03-20"),
        ("1399/04/12", "en", "1399-04-12"),
        ("12 มกราคม 2563", "th", "2020-01-12"),
    ):
        found = find_date(text, language=language)
        assert found is not None and found.isoformat() == day, (text, found)
