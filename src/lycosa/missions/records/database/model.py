"""What the records database gives: records, their versions, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

What = Literal["new", "changed", "gone", "back"]
Cause = Literal["page", "rules", "import"]
WHATS: tuple[What, ...] = ("new", "changed", "gone", "back")


class StoredRecord(Struct, frozen=True, kw_only=True):
    """A record as it is now; one that is gone as it was last."""

    id: int
    kind: str
    url: str
    host: str
    key: str  # by which it is known again among those of its page; empty: it is the only one
    category: str = ""
    range: str = ""
    data: dict[str, Any]
    number: int = 1  # of its version
    first_at: float = 0.0
    changed_at: float = 0.0
    fetched_at: float = 0.0
    warc: str = ""
    offset: int = 0
    rules_version: str = ""
    rules: dict[str, str] = {}  # field -> the rule that gave it, where that is known
    quarry: str = ""
    gone: bool = False

    @property
    def fields(self) -> dict[str, Any]:
        """The data without what the mission says of it."""
        return public_fields(self.data)


class RecordVersion(Struct, frozen=True, kw_only=True):
    """What a record held from one change to the next."""

    id: int  # grows with each change: a cursor
    number: int
    what: What
    cause: Cause
    at: float
    round: int
    data: dict[str, Any] | None  # None: the record was gone
    fetched_at: float = 0.0
    warc: str = ""
    offset: int = 0
    rules_version: str = ""
    source: str = ""  # the file that it was imported from


class FieldChange(Struct, frozen=True):
    """The values of a field before and after; None: it was not there."""

    name: str
    before: Any
    after: Any


class RecordChange(Struct, frozen=True, kw_only=True):
    """What became of a record; `back` tells before what it held when it went."""

    id: int
    what: What
    cause: Cause
    at: float
    round: int
    record: StoredRecord
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    fields: tuple[FieldChange, ...]


class NewRecord(Struct, frozen=True, kw_only=True):
    """A record on its way into the database."""

    kind: str
    url: str
    data: dict[str, Any]
    key: str = ""
    quarry: str = ""
    fetched_at: float = 0.0
    warc: str = ""
    offset: int = 0
    rules_version: str = ""
    gone: bool = False


def public_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record without what the mission says of it, which begins with "@"."""
    return {name: value for name, value in data.items() if not name.startswith("@")}


def compare_fields(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[FieldChange, ...]:
    """The fields that differ, in their order."""
    return tuple(_differences(before or {}, after or {}))


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[FieldChange]:
    for name in dict.fromkeys((*before, *after)):
        if name.startswith("@"):
            continue
        old, new = before.get(name), after.get(name)
        if old != new or isinstance(old, bool) != isinstance(new, bool):
            yield FieldChange(name, old, new)
