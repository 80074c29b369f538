"""Completion: one record out of several that describe the same, each value with its source and what others say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from lycosa.missions.records.database import StoredRecord
from lycosa.missions.records.field_roles import read_day
from lycosa.text.terms import fold

#: Characters from which on a text is told in own words, so that two differ without disagreeing.
_OWN_WORDS = 200
_MOST_OTHERS = 10
_SHORT = 40


class OtherValue(Struct, frozen=True):
    """What other sources say of a field."""

    value: Any
    hosts: tuple[str, ...]


class CompletedField(Struct, frozen=True):
    """The value of a field, where it comes from, and who agrees or not."""

    value: Any
    record: int
    url: str
    hosts: tuple[str, ...]  # that say the same
    others: tuple[OtherValue, ...] = ()  # that say something else, the most hosts first


class CompletedRecord(Struct, frozen=True):
    """A record with the fields of all."""

    fields: dict[str, CompletedField]

    @property
    def values(self) -> dict[str, Any]:
        """The fields without where they come from."""
        return {name: field.value for name, field in self.fields.items()}


def complete(records: Iterable[StoredRecord]) -> CompletedRecord:
    """The fields of records of the same story or thing: of each the value that most hosts give, then the first.

    Of texts in own words the longest is taken; their wordings are no disagreement. A record that is there no more says
    what it said.
    """
    given: dict[str, list[tuple[Any, StoredRecord]]] = {}
    for record in sorted(records, key=lambda record: (record.first_at, record.id)):
        for name, value in record.fields.items():
            if value not in (None, "", [], {}):
                given.setdefault(name, []).append((value, record))
    return CompletedRecord({name: _choose(values) for name, values in given.items()})


def _choose(values: Sequence[tuple[Any, StoredRecord]]) -> CompletedField:
    if all(isinstance(value, str) and len(value) >= _OWN_WORDS for value, _ in values):
        value, record = max(values, key=lambda pair: len(pair[0]))
        return CompletedField(value, record.id, record.url, tuple(dict.fromkeys(each.host for _, each in values)))
    groups: dict[str, list[tuple[Any, StoredRecord]]] = {}
    for value, record in values:
        groups.setdefault(_same_form(value), []).append((value, record))
    ranked = sorted(groups.values(), key=lambda group: -len(_hosts(group)))
    value, record = ranked[0][0]
    others = tuple(OtherValue(group[0][0], _hosts(group)) for group in ranked[1 : _MOST_OTHERS + 1])
    return CompletedField(value, record.id, record.url, _hosts(ranked[0]), others)


def _hosts(group: Sequence[tuple[Any, StoredRecord]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.host for _, record in group))


def _same_form(value: Any) -> str:
    """A text that is the same for values that say the same: days, numbers, names in another order or case."""
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int | float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return msgspec.json.encode({name: _same_form(each) for name, each in sorted(value.items())}).decode()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "|".join(sorted(_same_form(each) for each in value))
    text = " ".join(str(value).split())
    if re.fullmatch(r"-?\d+(?:[.,]\d+)?", text):
        return f"{float(text.replace(',', '.')):g}"
    if len(text) < _SHORT and any(mark.isdigit() for mark in text) and (day := read_day(text)):
        return day.isoformat()
    return " ".join(sorted(re.findall(r"\w+", fold(text)))) or text
