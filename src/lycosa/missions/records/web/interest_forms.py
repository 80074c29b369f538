"""Interests as forms show them: words, patterns, fields; what no form can show stays as it is in the file."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.config.toml import inline
from lycosa.errors import UsageError
from lycosa.missions.records.field_roles import name_record
from lycosa.missions.records.interests import Interest, RecordTexts
from lycosa.missions.records.readers import read_interest, read_readers
from lycosa.missions.records.web.current_store import shown_store
from lycosa.missions.records.web.edited_readers import NAME, drop_empty, split_list
from lycosa.missions.web import QueryValues

#: Records that an interest is tried on while it is typed, the newest ones; how long that may take; shown of them.
TRIED = 1_000
_TRIED_S = 2.0
_SHOWN = 8
_LISTS = ("terms", "field", "is", "kind", "host", "without")
_PLAIN = {"name", "terms", "pattern", "field", "is", "at_least", "at_most", "kind", "host", "weight", "not"}
_NUMBER = re.compile(r"-?\d{1,15}(?:[.,]\d{1,15})?")
MOST_INTERESTS = 40


class InterestForm(Struct):
    """An interest as its fields have it; lists stand with commas."""

    name: str = ""
    terms: str = ""
    pattern: str = ""
    field: str = ""
    is_: str = ""
    at_least: str = ""
    at_most: str = ""
    kind: str = ""
    host: str = ""
    without: str = ""  # words that must not be there
    weight: str = ""
    kept: str = ""  # the interest as the file has it, where no form can show it


class MatchedArticle(Struct, frozen=True):
    """A record that an interest finds, and why."""

    id: int
    title: str
    url: str
    why: str


class FoundMatches(Struct, frozen=True):
    """What an interest finds among the newest records."""

    total: int
    tried: int
    articles: tuple[MatchedArticle, ...]
    problem: str = ""


def show_interest(table: Mapping[str, Any]) -> InterestForm:
    """The fields of an interest."""
    without = table.get("not")
    if not table.keys() <= _PLAIN or (without is not None and set(without) != {"terms"}):
        return InterestForm(kept=inline(table))
    values = {key: _said(value) for key, value in table.items() if key not in ("is", "not")}
    return InterestForm(**values, is_=_said(table.get("is", "")), without=_said(without["terms"] if without else ""))


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_said, value))
    return value if isinstance(value, str) else inline(value)


def read_interests(form: QueryValues, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The interests of a form as tables of the file; those that no form can show come from `before`."""
    found = []
    for nth in range(MOST_INTERESTS):
        kept = form.get(f"i{nth}-kept", "")
        if kept.isdecimal() and len(kept) < 9 and int(kept) < len(before) and not form.get(f"i{nth}-gone", ""):
            found.append(before[int(kept)])
        elif table := read_table(form, f"i{nth}-"):
            found.append(table)
    return found


def read_table(form: QueryValues, prefix: str = "") -> dict[str, Any]:
    """An interest of a form as a table of the file; empty where nothing is asked for."""
    given = {
        key: form.get(f"{prefix}{key}", "").strip() for key in (*InterestForm.__struct_fields__, "is") if key != "is_"
    }
    table: dict[str, Any] = {key: split_list(given[key]) for key in _LISTS if key != "without"}
    table |= {"name": given["name"], "pattern": given["pattern"]}
    table |= {key: _as_bound(given[key]) for key in ("at_least", "at_most", "weight")}
    table["not"] = drop_empty({"terms": split_list(given["without"])})
    table = drop_empty(table)
    return table if table.keys() - {"name", "weight"} else {}


def _as_bound(text: str) -> str | int | float:
    if not _NUMBER.fullmatch(text):
        return text
    text = text.replace(",", ".")
    return float(text) if "." in text else int(text)


def find_matches(collection: Collection, form: QueryValues) -> FoundMatches:
    """What the interest of a form finds among the newest records."""
    if not (table := read_table(form)):
        return FoundMatches(0, 0, ())
    try:
        interest = read_interest(read_readers(Path(NAME), "", {}), table, ())
    except UsageError as problem:
        return FoundMatches(0, 0, (), str(problem).removeprefix(f"{NAME}: "))
    return _try_interest(collection, interest)


def _try_interest(collection: Collection, interest: Interest) -> FoundMatches:
    total = tried = 0
    articles: list[MatchedArticle] = []
    ends_at = time.monotonic() + _TRIED_S
    with shown_store(collection.path) as (store, _):
        numbers = list(store.rows("SELECT id FROM record WHERE NOT gone ORDER BY id DESC LIMIT ?", (TRIED,)))
        for (number,) in numbers:
            if time.monotonic() > ends_at or (record := store.record(number)) is None:
                break
            tried += 1
            if (match := interest.match(RecordTexts(record))) is not None:
                total += 1
                if len(articles) < _SHOWN:
                    title = name_record(record.data) or record.url
                    articles.append(MatchedArticle(number, title, record.url, match.told()))
    return FoundMatches(total, tried, tuple(articles))
