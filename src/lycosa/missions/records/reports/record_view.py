"""Record view: what templates see of a record, whatever its kind: title, date, authors, text, other fields.

Records come from pages of anybody: texts are bounded, and what is not seen is taken out of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from lycosa.missions.records.database import StoredRecord
from lycosa.missions.records.interests import as_time, flatten
from lycosa.missions.records.reports.template_engine import clean_text, web_address

MAX_TITLE = 300
MAX_SUMMARY = 320
MAX_TEXT = 200_000
MAX_FIELDS = 40
MAX_VALUE = 400
_TITLES = ("title", "headline", "name", "label")
_SUMMARIES = ("summary", "description", "teaser", "abstract", "subtitle")
_TEXTS = ("text", "body", "content", "articleBody")
_AUTHORS = ("authors", "author", "creator", "byline")
_DATES = ("date", "published", "datePublished", "day")
_SECTIONS = ("section", "articleSection", "category")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")
#: A date that is later than the crawl by more than this is a mistake of the page.
_FUTURE_S = 3 * 86_400


def view_record(record: StoredRecord) -> dict[str, Any]:
    """A record as plain values."""
    data = record.fields
    text = _first_text(data, _TEXTS)[:MAX_TEXT]
    paragraphs = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    title = title_of(record)
    if paragraphs and paragraphs[0] == title:
        del paragraphs[0]
    shown = (*_TITLES, *_SUMMARIES, *_TEXTS, *_AUTHORS, *_DATES, "language", *_SECTIONS)
    language = _first_text(data, ("language",))
    return {
        "id": record.id,
        "kind": record.kind,
        "url": web_address(record.url),
        "host": record.host,
        "title": title,
        "section": _cut(_first_text(data, _SECTIONS), 80),
        "date": date_of(record).date().isoformat(),
        "authors": [_cut(name, 120) for name in _texts(data, _AUTHORS)][:10],
        "language": language if _LANGUAGE.fullmatch(language) else "",
        "summary": _summarise(data, paragraphs),
        "paragraphs": paragraphs,
        "fields": _other_fields(data, shown),
        "first": _stamp(record.first_at),
        "changed": _stamp(record.changed_at or record.first_at),
    }


def title_of(record: StoredRecord) -> str:
    """What a record is called: its title or name, else its key, its first short text, its address."""
    data = record.fields
    short = (value for _, value in flatten(data) if isinstance(value, str) and 0 < len(value.strip()) <= 120)
    found = _first_text(data, _TITLES) or record.key or next(short, "") or record.url
    return _cut(found, MAX_TITLE) or record.url


def date_of(record: StoredRecord) -> datetime:
    """The day of a record: the one that it says, unless that lies in the future; else when it was found."""
    found_at = datetime.fromtimestamp(min(max(record.first_at, 0.0), 4e9), UTC)
    said = as_time(_first_text(record.fields, _DATES))
    if said is None or (said - found_at).total_seconds() > _FUTURE_S:
        return found_at
    return said


def show_value(value: Any) -> str:
    """A value of a field as a person reads it."""
    if isinstance(value, dict):
        if {"amount", "currency"} >= value.keys() and "amount" in value:
            return f"{value['amount']} {value.get('currency') or ''}".strip()
        if len(value) == 1:
            return show_value(next(iter(value.values())))
        return _cut("; ".join(f"{name}: {show_value(inner)}" for name, inner in list(value.items())[:20]), MAX_VALUE)
    if isinstance(value, list | tuple):
        return _cut(", ".join(show_value(inner) for inner in value[:20]), MAX_VALUE)
    return "" if value is None else _cut(str(value), MAX_VALUE)


def _other_fields(data: dict[str, Any], shown: Iterable[str]) -> dict[str, str]:
    others = {name: show_value(value) for name, value in data.items() if name not in shown}
    return {_cut(name, 60): value for name, value in list(others.items())[:MAX_FIELDS] if value}


def _summarise(data: dict[str, Any], paragraphs: list[str]) -> str:
    given = _first_text(data, _SUMMARIES)
    if given:
        return _cut(given, MAX_SUMMARY)
    return _cut(next((line for line in paragraphs if len(line) > 60), "".join(paragraphs[:1])), MAX_SUMMARY)


def _texts(data: dict[str, Any], names: Iterable[str]) -> list[str]:
    for name in names:
        found = [value for _, value in flatten({name: data[name]}) if isinstance(value, str)] if name in data else []
        if texts := [cleaned for value in found if (cleaned := clean_text(value).strip())]:
            return texts
    return []


def _first_text(data: dict[str, Any], names: Iterable[str]) -> str:
    return next(iter(_texts(data, names)), "")


def _cut(text: str, most: int) -> str:
    """One line of at most so many characters, cut between words."""
    line = " ".join(clean_text(text[: 4 * most]).split())
    if len(line) <= most:
        return line
    head, _, tail = line[: most - 1].rpartition(" ")
    return f"{head if head and len(tail) < 30 else line[: most - 1]}…"


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(min(max(at, 0.0), 4e9), UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
