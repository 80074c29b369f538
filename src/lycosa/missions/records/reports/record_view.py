"""Record view: what templates see of a record, whatever its kind: title, date, authors, text, other fields.

Records come from pages of anybody: texts are bounded, and what is not seen is taken out of them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from lycosa.missions.records.database import StoredRecord
from lycosa.missions.records.field_roles import Roles, find_role_fields, read_roles
from lycosa.missions.records.reports.template_engine import web_address
from lycosa.missions.records.value_text import clean_text, cut_line, name_record, show_value

MAX_SUMMARY = 320
MAX_TEXT = 200_000
MAX_FIELDS = 40
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}")
#: A date that is later than the crawl by more than this is a mistake of the page.
_FUTURE_S = 3 * 86_400


def view_record(record: StoredRecord) -> dict[str, Any]:
    """A record as plain values."""
    roles = read_roles(record.fields, guess_text=False)
    text = clean_text(roles.text[:MAX_TEXT])
    paragraphs = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    title = title_of(record)
    if paragraphs and paragraphs[0] == title:
        del paragraphs[0]
    shown = find_role_fields(record.fields)
    others = {name: show_value(value) for name, value in record.fields.items() if name not in shown}
    return {
        "id": record.id,
        "kind": record.kind,
        "url": web_address(record.url),
        "host": record.host,
        "title": title,
        "section": cut_line(roles.section, 80),
        "date": date_of(record).date().isoformat(),
        "authors": [cut_line(name, 120) for name in roles.people][:10],
        "language": roles.language if _LANGUAGE.fullmatch(roles.language) else "",
        "summary": _summarise(roles, paragraphs),
        "paragraphs": paragraphs,
        "fields": {cut_line(name, 60): value for name, value in list(others.items())[:MAX_FIELDS] if value},
        "first": _stamp(record.first_at),
        "changed": _stamp(record.changed_at or record.first_at),
    }


def title_of(record: StoredRecord) -> str:
    """What a record is called."""
    return name_record(record.data, key=record.key, url=record.url)


def date_of(record: StoredRecord) -> datetime:
    """The day of a record: the one that it says, unless that lies in the future; else when it was found."""
    found_at = datetime.fromtimestamp(min(max(record.first_at, 0.0), 4e9), UTC)
    day = read_roles(record.fields).day
    said = datetime(day.year, day.month, day.day, tzinfo=UTC) if day else found_at
    return found_at if (said - found_at).total_seconds() > _FUTURE_S else said


def _summarise(roles: Roles, paragraphs: list[str]) -> str:
    if roles.lead:
        return cut_line(roles.lead, MAX_SUMMARY)
    return cut_line(next((line for line in paragraphs if len(line) > 60), "".join(paragraphs[:1])), MAX_SUMMARY)


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(min(max(at, 0.0), 4e9), UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
