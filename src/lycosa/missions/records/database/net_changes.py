"""Net changes: what a reader would find otherwise among the records now than at an earlier moment.

A record that changed twice is changed once; one that came and went in between does not appear.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lycosa.missions.records.database.model import RecordChange, What, compare_fields
from lycosa.missions.records.database.store import RecordStore

_SPANS = """
SELECT version.record, min(version.id), max(version.id) FROM version
JOIN record ON record.id = version.record JOIN page ON page.id = record.page
WHERE version.id > ? AND version.at > ? AND version.round > ? AND version.round <= ? AND page.host GLOB ?
GROUP BY version.record ORDER BY max(version.id)"""
_STATE = "SELECT number, data, cause, at, round FROM version WHERE id = ?"
_DATA_BEFORE = """
SELECT data FROM version WHERE record = ? AND number < ? AND data IS NOT NULL ORDER BY number DESC LIMIT 1"""
#: Everything before the last round, extraction or import that changed records.
_BEFORE_LAST = """
SELECT max(id) FROM version
WHERE (round, cause) IS NOT (SELECT round, cause FROM version ORDER BY id DESC LIMIT 1)"""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def before_last(store: RecordStore, last_round: int = 0) -> int:
    """The last change before those of the newest round, extraction or import; the last of all where a later round,
    the last one, changed nothing."""
    if int(store.connection.execute("SELECT max(round) FROM version").get or 0) < last_round:
        return store.last_change()
    return int(store.connection.execute(_BEFORE_LAST).get or 0)


def net_changes(
    store: RecordStore,
    *,
    after: int = 0,
    since: float = -1.0,
    since_round: int = -1,
    until_round: int | None = None,
    host: str = "",
) -> Iterator[RecordChange]:
    """The records that differ between the two moments, by their last change."""
    last = 1 << 62 if until_round is None else until_round
    for number, first, newest in store.rows(_SPANS, (after, since, since_round, last, host or "*")):
        change = _compare(store, number, first, newest)
        if change is not None:
            yield change


def _compare(store: RecordStore, number: int, first: int, newest: int) -> RecordChange | None:
    place, data, cause, at, round_ = next(store.rows(_STATE, (newest,)))
    ((first_place,),) = store.rows("SELECT number FROM version WHERE id = ?", (first,))
    row = next(store.rows("SELECT data FROM version WHERE record = ? AND number = ?", (number, first_place - 1)), None)
    was_there = row is not None and row[0] is not None
    text = next(store.rows(_DATA_BEFORE, (number, first_place)), (None,))[0]
    before = None if text is None else _decode(text)
    after = None if data is None else _decode(data)
    fields = compare_fields(before, after)
    what: What
    if was_there and after is None:
        what = "gone"
    elif was_there and fields:
        what = "changed"
    elif not was_there and after is not None:
        what = "new" if before is None else "back"
    else:
        return None
    record = store.record(number)
    assert record is not None
    return RecordChange(
        id=newest, what=what, cause=cause, at=at, round=round_, record=record, before=before, after=after, fields=fields
    )
