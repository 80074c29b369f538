"""Identifiers of things: ISBN, EAN and UPC, ISSN, DOI, by which two shops or catalogues mean the same one.

Only values whose check digit is right count, in the form that all ways of writing have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lycosa.missions.records.field_roles import Roles, as_texts
from lycosa.text.terms import fold

_BARCODES = ("isbn", "ean", "gtin", "upc", "barcode", "codigodebarras", "jan")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]{1,200}", re.IGNORECASE)
_ISSN = re.compile(r"(?<![\dX])(\d{4})-?(\d{3}[\dX])(?![\dX])", re.IGNORECASE)
_DIGITS = re.compile(r"(?<![\dX])\d(?:[ -]?\d){6,16}(?:[ -]?X)?(?![\dX])", re.IGNORECASE)
_MAX_FIELDS = 200
_MAX_TITLE = 300
#: Words that catalogues put behind a title: the form of a record or book, not what it is.
_EDITION = re.compile(r"\s*[\[(][^\])]{0,60}[\])]\s*$")


def read_identifiers(data: Mapping[str, Any]) -> list[str]:
    """The identifiers of a record, each with its scheme before a colon; the digits of nested records count too."""
    found: dict[str, None] = {}
    for name, text in _walk(data):
        plain = re.sub(r"[\W_\d]+", "", fold(name))
        if plain.startswith(_BARCODES) or plain.endswith(_BARCODES):
            found.update(dict.fromkeys(_read_barcodes(text)))
        elif plain == "issn":
            found.update((f"issn:{a}-{b.upper()}", None) for a, b in _ISSN.findall(text) if _issn_is_right(a + b))
        elif "doi" in plain or plain in ("identifier", "url", "sameas"):
            found.update((f"doi:{doi.lower().rstrip('.,;)')}", None) for doi in _DOI.findall(text))
    return list(found)


def read_name_keys(kind: str, data: Mapping[str, Any], roles: Roles) -> list[str]:
    """What a thing without an identifier is known by: its kind and title with each person behind it."""
    title = " ".join(re.findall(r"\w+", fold(_EDITION.sub("", roles.title))))[:_MAX_TITLE]
    if len(title) < 2:
        return []
    return [f"{kind}:{title}:{person}" for name in roles.people[:10] if (person := person_key(name))]


def person_key(name: str) -> str:
    """The words of a name in one order: "Bowie, David" and "David Bowie" are one."""
    return " ".join(sorted(word for word in re.findall(r"\w+", fold(name)) if len(word) > 1))[:_MAX_TITLE]


def _walk(data: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, str]]:
    for name, value in list(data.items())[:_MAX_FIELDS]:
        if str(name).startswith("@"):
            continue
        if isinstance(value, Mapping) and depth < 3:
            yield from _walk(value, depth + 1)
        else:
            yield from ((str(name), text[:500]) for text in as_texts(value))


def _read_barcodes(text: str) -> Iterator[str]:
    for found in _DIGITS.findall(text):
        digits = re.sub(r"[ -]", "", found).upper()
        if len(digits) == 10 and _isbn10_is_right(digits):
            digits = "978" + digits[:9]
            digits += _check_digit(digits)
        if not digits.isdigit() or len(digits) not in (8, 12, 13, 14) or len(set(digits)) < 3:
            continue
        digits = digits.zfill(14)
        if _check_digit(digits[:-1]) == digits[-1]:
            bare = digits.lstrip("0").zfill(13)[-13:] if digits[0] == "0" else digits
            yield f"{'isbn' if bare[:3] in ('978', '979') else 'ean'}:{bare}"


def _check_digit(digits: str) -> str:
    """The last digit of an EAN, for those before it."""
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits)))
    return str(-total % 10)


def _isbn10_is_right(digits: str) -> bool:
    if not digits[:9].isdigit():
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(value * (10 - place) for place, value in enumerate(values)) % 11 == 0


def _issn_is_right(digits: str) -> bool:
    values = [10 if digit in "xX" else int(digit) for digit in digits]
    return sum(value * (8 - place) for place, value in enumerate(values)) % 11 == 0
