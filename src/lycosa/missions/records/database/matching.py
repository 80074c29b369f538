"""How a record is known again: which of those that a page had before is which of those that it has now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from lycosa.missions.records.database.model import public_fields

_KEY_CHARS = 500
#: The key of a record without one of its own: its place among those of its kind on the page.
_PLACE = "#"
_to_json = msgspec.json.Encoder().encode


class FreshRecord(Struct):
    """A record that an extraction gave, and its text as JSON."""

    kind: str
    text: str
    data: dict[str, Any]
    key: str = ""


class KnownRecord(Struct):
    """A record that the database has, and its newest version with data."""

    id: int
    kind: str
    key: str
    gone: bool
    version: int
    number: int
    text: str
    data: dict[str, Any]


def give_keys(records: Sequence[FreshRecord]) -> None:
    """Give each record its key: what its rules say, else its first value where those differ, else its place."""
    kinds: dict[str, list[FreshRecord]] = defaultdict(list)
    for record in records:
        kinds[record.kind].append(record)
    for same in kinds.values():
        keys = [_own_key(record.data) for record in same]
        if len(same) == 1:
            same[0].key = keys[0]
            continue
        if not all(keys):
            keys = [first_value(record.data) for record in same]
        counts = Counter(keys)
        for place, (record, key) in enumerate(zip(same, keys, strict=True), 1):
            record.key = key if key and counts[key] == 1 else f"{_PLACE}{place}"


def _own_key(data: Mapping[str, Any]) -> str:
    """What the rules say that a record is known by: `@key`, a value or several."""
    given = data.get("@key")
    values = given if isinstance(given, list) else [given]
    return " | ".join(_as_text(value) for value in values if value is not None)[:_KEY_CHARS]


def first_value(data: Mapping[str, Any]) -> str:
    """The value of the first field, if it is a plain one."""
    value = next(iter(public_fields(data).values()), None)
    return "" if value is None or isinstance(value, list | dict) else _as_text(value)[:_KEY_CHARS]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else _to_json(value).decode()


def match_records(
    fresh: Sequence[FreshRecord], known: Sequence[KnownRecord]
) -> tuple[list[tuple[FreshRecord, KnownRecord | None]], list[KnownRecord]]:
    """Each new record with the one that it was before, or None; and those that are not there any more."""
    pairs: dict[int, KnownRecord] = {}
    left = {record.id: record for record in known}

    def pair(key_of_fresh: Any, key_of_known: Any) -> None:
        wanted: dict[Any, list[KnownRecord]] = defaultdict(list)
        for known_one in left.values():
            wanted[key_of_known(known_one)].append(known_one)
        for n, record in enumerate(fresh):
            key = key_of_fresh(record) if n not in pairs else None
            if key is not None and wanted.get(key):
                found = wanted[key].pop(0)
                pairs[n] = found
                del left[found.id]

    pair(
        lambda record: (record.kind, record.key) if not record.key.startswith(_PLACE) else None,
        lambda record: (record.kind, record.key),
    )
    if left and len(pairs) < len(fresh):
        pair(lambda record: (record.kind, record.text), lambda record: (record.kind, record.text))
        pair(lambda record: (record.kind, record.key), lambda record: (record.kind, record.key))
        pair(
            lambda record: (record.kind, value) if (value := first_value(record.data)) else None,
            lambda record: (record.kind, first_value(record.data)),
        )
        _pair_only_ones(fresh, pairs, left)
    return [(record, pairs.get(n)) for n, record in enumerate(fresh)], list(left.values())


def _pair_only_ones(fresh: Sequence[FreshRecord], pairs: dict[int, KnownRecord], left: dict[int, KnownRecord]) -> None:
    """A page that had one record of a kind and has one of it now: it is the same, unless its rules say otherwise."""
    totals = Counter(record.kind for record in fresh)
    present: dict[str, list[KnownRecord]] = defaultdict(list)
    for known in left.values():
        if not known.gone and "@key" not in known.data:
            present[known.kind].append(known)
    for n, record in enumerate(fresh):
        if n in pairs or totals[record.kind] > 1 or "@key" in record.data:
            continue
        candidates = present.get(record.kind, [])
        if len(candidates) == 1:
            pairs[n] = candidates[0]
            del left[candidates[0].id]
