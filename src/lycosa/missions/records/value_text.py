"""Values of fields as people read them: prices, lists, nested records, in one line of bounded length."""

from __future__ import annotations

import re
from typing import Any

from lycosa.missions.records.field_roles import read_roles

#: Items of a list and fields of a nested record that are shown, and characters of the whole.
_MAX_ITEMS = 20
MAX_VALUE = 400
_MAX_TITLE = 300
#: Longer items of a list are paragraphs of a text.
_LONG_ITEM = 60
#: Control characters, halves of characters, and those that turn the direction of the text around them.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def show_value(value: Any, most: int = MAX_VALUE) -> str:
    """A value in one line; empty where there is none."""
    if isinstance(value, dict):
        if {"amount", "currency"} >= value.keys() and "amount" in value:
            return f"{_show_number(value['amount'])} {value.get('currency') or ''}".strip()
        if len(value) == 1:
            return show_value(next(iter(value.values())), most)
        fields = [f"{name}: {show_value(inner, most)}" for name, inner in list(value.items())[:_MAX_ITEMS]]
        return cut_line("; ".join(fields), most)
    if isinstance(value, list | tuple):
        items = [show_value(inner, most) for inner in value[:_MAX_ITEMS]]
        return cut_line((" " if any(len(item) > _LONG_ITEM for item in items) else ", ").join(items), most)
    return "" if value is None else cut_line(str(value), most)


def _show_number(amount: object) -> str:
    """An amount of money as it is written: with two places, or none."""
    if not isinstance(amount, float) or round(amount, 2) != amount:
        return str(amount)
    return f"{amount:.0f}" if amount.is_integer() else f"{amount:.2f}"


def name_record(data: dict[str, Any], *, key: str = "", url: str = "") -> str:
    """What a record is called: its title or name, else its key, its first short text, its address."""
    fields = {name: value for name, value in data.items() if not name.startswith("@")}
    short = (value for value in fields.values() if isinstance(value, str) and 0 < len(value.strip()) <= 120)
    return cut_line(read_roles(fields).title or key or next(short, "") or url, _MAX_TITLE) or url


def clean_text(text: str) -> str:
    """The text without characters that are not seen and could deceive or that XML does not allow."""
    return _UNSEEN.sub("", text)


def cut_line(text: str, most: int) -> str:
    """One line of at most so many characters, cut between words, without what is not seen."""
    line = " ".join(clean_text(text[: 4 * most]).split())
    if len(line) <= most:
        return line
    head, _, tail = line[: most - 1].rpartition(" ")
    return f"{head if head and len(tail) < 30 else line[: most - 1]}…"
