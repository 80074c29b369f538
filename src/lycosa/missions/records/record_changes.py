"""What became of the records, for people and programs: a line per record, or a row per field.

Changes are net: what a reader would find otherwise among the records now than at an earlier moment. A record that
changed twice is changed once; one that came and went in between does not appear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

from lycosa.clock import iso_time
from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.missions.api import ChangesAsked
from lycosa.missions.records.alerts.difference import as_long_texts, as_text, compare_texts
from lycosa.missions.records.database.model import WHATS, FieldChange, RecordChange, What, find_news
from lycosa.missions.records.database.store import RecordStore, open_store
from lycosa.missions.records.field_roles import cut_line, name_record, show_value
from lycosa.output.table import Format, Value, write
from lycosa.urls import host_pattern

_SPANS = """
SELECT version.record, min(version.id), max(version.id) FROM version
JOIN record ON record.id = version.record JOIN page ON page.id = record.page
WHERE version.id > ? AND version.at > ? AND version.round > ? AND version.round <= ? AND page.host GLOB ?
GROUP BY version.record ORDER BY page.url, record.kind, record.key, version.record"""
_STATE = "SELECT number, data, cause, at, round, coalesce(nullif(fetched_at, 0), at) FROM version WHERE id = ?"
_DATA_BEFORE = """
SELECT data, coalesce(nullif(fetched_at, 0), at) FROM version
WHERE record = ? AND number < ? AND data IS NOT NULL ORDER BY number DESC LIMIT 1"""
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
    place, data, cause, at, round_, moment = next(store.rows(_STATE, (newest,)))
    ((first_place,),) = store.rows("SELECT number FROM version WHERE id = ?", (first,))
    row = next(store.rows("SELECT data FROM version WHERE record = ? AND number = ?", (number, first_place - 1)), None)
    was_there = row is not None and row[0] is not None
    text, moment_before = next(store.rows(_DATA_BEFORE, (number, first_place)), (None, 0.0))
    before = None if text is None else _decode(text)
    after = None if data is None else _decode(data)
    fields = find_news(before, after, (moment_before, moment))
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


_VALUE_CHARS = 60
_TEXT_CHARS = 200
_COLUMNS = ("what", "kind", "url", "key", "cause", "round", "at", "field", "before", "after")
_CAUSES = {"page": "the page", "rules": "the rules", "import": "an import"}


def write_record_changes(collection: Collection, asked: ChangesAsked, out: TextIO, form: Format) -> bool:
    """Write the changes: on a terminal with their sums and the difference in short, else a row for each field.

    It gives True: this mission keeps versions of records.
    """
    with open_store(collection) as store:
        if form != "table":
            write(_rows(_find(store, collection, asked)), _COLUMNS, out, form=form)
            return True
        sums = Counter(change.what for change in _find(store, collection, asked))
        out.write(f"Records: {', '.join(f'{sums[what]:,} {what}' for what in WHATS)}\n")
        if sums:
            out.write("\n")
            lines = (_line(change) for change in _find(store, collection, asked))
            write(lines, ("url", "record", "what", "kind", "by", "difference"), out, form=form)
    return True


def _find(store: RecordStore, collection: Collection, asked: ChangesAsked) -> Iterator[RecordChange]:
    host = host_pattern(asked.host)
    if not asked.since:
        after = before_last(store, collection.rounds[-1].round) if asked.until is None else 0
        since_round = -1 if asked.until is None else asked.until - 1
        return net_changes(store, after=after, since_round=since_round, until_round=asked.until, host=host)
    if asked.since.isdecimal() and len(asked.since) < 9:
        last = collection.rounds[-1].round
        since, until = int(asked.since), last if asked.until is None else asked.until
        if not since <= until <= last:
            raise UsageError(f"There are rounds 1 to {last}: {since} to {until} cannot be compared.")
        return net_changes(store, since_round=since, until_round=asked.until, host=host)
    return net_changes(store, since=_time(asked.since), until_round=asked.until, host=host)


def _time(text: str) -> float:
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(
            f"--since is {text[:40]!r}; allowed: the number of a round, or a time: 2026-11-18, 2026-11-18T06:30."
        ) from None


def _rows(changes: Iterable[RecordChange]) -> Iterator[tuple[Value, ...]]:
    for change in changes:
        record = change.record
        at = iso_time(change.at)
        head = (change.what, record.kind, record.url, record.key, change.cause, change.round, at)
        for field in change.fields:
            yield (*head, field.name, _cell(field.before), _cell(field.after))
        if not change.fields:
            yield (*head, None, None, None)


def _line(change: RecordChange) -> tuple[Value, ...]:
    record = change.record
    name = name_record(change.after or change.before or {}, key=record.key, url="")
    said = "; ".join(map(_tell_field, change.fields)) if change.what == "changed" else ""
    return record.url, cut_line(name, _VALUE_CHARS), change.what, record.kind, _CAUSES[change.cause], said


def _tell_field(field: FieldChange) -> str:
    """What became of a field: of long texts the part that differs, else both values."""
    if texts := as_long_texts(field.before, field.after):
        found = compare_texts(*texts, moments=(0.0, 0.0))
        return f"{field.name}: {cut_line('; '.join(map(as_text, found.lines)) if found else 'spelling', _TEXT_CHARS)}"
    before, after = (show_value(value, _VALUE_CHARS) or "nothing" for value in (field.before, field.after))
    return f"{field.name}: {before} → {after}"


def _cell(value: Any) -> Value:
    if value is None or isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    return msgspec.json.encode(value).decode()
