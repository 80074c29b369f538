"""Values for the text of fields: days, numbers, prices and addresses out of what people wrote.

What cannot be read gives None: a wrong value is worse than none, and nothing here raises on content.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from lycosa import urls
from lycosa.missions.records.calendar_words import find_date

#: What a text can be converted to.
KINDS = ("text", "number", "integer", "price", "date", "url")
Value = str | int | float | dict[str, str | float]

_MAX_CHARS = 2000
_MAX_DIGITS = 30
_NUMBER = re.compile(
    r"(?<![\d.,])([-+\u2212]?)(?=[\d.,]*\d)((?:\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+|[\d.,']+\d|\d)(?:[.,]\d+)?)"
)
_EXPONENT = re.compile(r"[eE][-+]?\d{1,3}(?![\w])")
#: Signs and words of currencies; the first that stands beside the amount counts, longer ones first.
_CURRENCIES = {
    "US$": "USD", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "NZ$": "NZD", "HK$": "HKD", "S$": "SGD",
    "NT$": "TWD", "R$": "BRL", "MX$": "MXN", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "￥": "JPY", "円": "JPY",
    "元": "CNY", "₹": "INR", "₽": "RUB", "₩": "KRW", "원": "KRW", "₺": "TRY", "₴": "UAH", "₪": "ILS", "฿": "THB",
    "₫": "VND", "₦": "NGN", "₱": "PHP", "₸": "KZT", "₾": "GEL", "zł": "PLN", "Kč": "CZK", "Ft": "HUF", "лв": "BGN",
    "руб": "RUB", "грн": "UAH", "lei": "RON", "TL": "TRY", "Rs": "INR", "Rp": "IDR", "RM": "MYR", "kr": "SEK",
    "Fr.": "CHF", "SFr": "CHF", "euros": "EUR", "euro": "EUR", "EUR": "EUR", "pounds": "GBP", "dollars": "USD",
}  # fmt: skip
_CODES = (
    "AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HRK HUF IDR ILS INR ISK JPY KES KRW KZT MAD"
    " MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TND TRY TWD UAH USD UYU VND ZAR"
)
_CURRENCY = re.compile(
    r"\b(?:" + "|".join(_CODES.split()) + r")\b|"
    + "|".join(
        ("" if not sign[0].isalpha() else r"(?<![^\W\d_])")
        + re.escape(sign)
        + ("" if not sign[-1].isalpha() else r"(?![^\W\d_])")
        for sign in sorted(_CURRENCIES, key=len, reverse=True)
    )
)  # fmt: skip
#: Currencies that have no smaller coin: a point in their amounts groups thousands.
_WHOLE = frozenset({"JPY", "KRW", "VND", "CLP", "IDR"})


def convert(text: str, kind: str, *, language: str = "", base: str = "") -> Value | None:
    """The value that a text states, as one of `KINDS`; None where it states none.

    A date is the day in ISO form, a price `{"amount": …, "currency": …}` with the currency empty where it is not
    written, an address is resolved against `base`.
    """
    return _CONVERTERS[kind](text[:_MAX_CHARS], language, base)


def to_number(text: str, *, whole: bool = False, language: str = "") -> float | None:
    """The first number in a text, with a decimal point or comma and any grouping; `whole` numbers have no decimals.

    In English, 1.234 is a little more than one; elsewhere, and with a comma, it is more than a thousand.
    """
    match = _NUMBER.search(_plain_digits(text))
    if match is None:
        return None
    digits = re.sub(r"[ \u00a0\u202f'’]", "", match[2])
    if len(digits) > _MAX_DIGITS:
        return None
    number = float(_unify(digits, whole=whole, english=language.lower().startswith("en")))
    exponent = _EXPONENT.match(match.string, match.end())
    if exponent is not None:
        number = float(f"{number!r}{exponent[0]}") if "e" not in repr(number) else math.inf
    if not math.isfinite(number):
        return None
    return -number if match[1] in ("-", "\u2212") else number


def _unify(digits: str, *, whole: bool, english: bool) -> str:
    """Write a number with a decimal point and without groups."""
    marks = [c for c in digits if c in ".,"]
    if not marks:
        return digits
    last = max(digits.rfind("."), digits.rfind(","))
    decimals = len(digits) - last - 1
    if len(set(marks)) == 2:
        # The last of two kinds is the decimal one, and stands once.
        is_decimal = marks.count(digits[last]) == 1
    elif len(marks) > 1:
        is_decimal = False
    else:
        # One mark before three digits groups them, unless nothing or a zero stands before it.
        is_decimal = decimals != 3 or digits[:last] in ("", "0") or len(digits[:last]) > 3
        is_decimal = is_decimal or (english and marks == ["."])
    if whole and decimals == 3:
        is_decimal = False
    head, tail = (digits[:last], digits[last + 1 :]) if is_decimal else (digits, "")
    return f"{re.sub('[.,]', '', head) or '0'}.{tail or '0'}"


def _plain_digits(text: str) -> str:
    """Digits of other scripts as ASCII."""
    if text.isascii():
        return text
    return "".join(str(int(c)) if c.isdecimal() and not c.isascii() else c for c in text).translate(_ARABIC_MARKS)


_ARABIC_MARKS = str.maketrans({"٫": ".", "٬": ",", "．": ".", "，": ","})


def _read_text(text: str, language: str, base: str) -> str | None:
    return " ".join(text.split()) or None


def _read_number(text: str, language: str, base: str) -> float | None:
    return to_number(text, language=language)


def _read_integer(text: str, language: str, base: str) -> int | None:
    number = to_number(text, whole=True, language=language)
    return None if number is None or not number.is_integer() else int(number)


def _read_price(text: str, language: str, base: str) -> dict[str, str | float] | None:
    found = _CURRENCY.search(text)
    currency = "" if found is None else _CURRENCIES.get(found[0], found[0])
    # The amount stands beside its currency: "2 for 5 €" costs five.
    if found is not None:
        after = text[found.end() : found.end() + 40]
        before = text[max(0, found.start() - 40) : found.start()]
        is_before = re.match(r"[\s.:]*[\d.,]*\d", after) is not None
        amount = _next_number(after, currency, language) if is_before else _last_number(before, currency, language)
        if amount is None:
            amount = to_number(text, whole=currency in _WHOLE, language=language)
    else:
        amount = to_number(text, language=language)
    return None if amount is None or amount < 0 else {"amount": amount, "currency": currency}


def _next_number(text: str, currency: str, language: str) -> float | None:
    return to_number(re.sub(r"^\.?[\s:]+", "", text), whole=currency in _WHOLE, language=language)


def _last_number(text: str, currency: str, language: str) -> float | None:
    found = None
    for match in _NUMBER.finditer(_plain_digits(text)):
        found = match[0]
    return None if found is None else to_number(found, whole=currency in _WHOLE, language=language)


def _read_date(text: str, language: str, base: str) -> str | None:
    day = find_date(text, language=language)
    return None if day is None else day.isoformat()


def _read_url(text: str, language: str, base: str) -> str | None:
    text = text.strip()
    if not text or any(c.isspace() for c in text):
        return None
    return urls.normalise(text, base) if base else urls.normalise(text)


_CONVERTERS: dict[str, Callable[[str, str, str], Value | None]] = {
    "text": _read_text,
    "number": _read_number,
    "integer": _read_integer,
    "price": _read_price,
    "date": _read_date,
    "url": _read_url,
}
