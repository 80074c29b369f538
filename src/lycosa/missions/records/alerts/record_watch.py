"""Watching records: changes of the records database in, what is news in them out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from lycosa.missions.records.alerts.alert_log import (
    AlertItem,
    AlertLog,
    KnownValue,
    ShownDifference,
    knows,
    remember,
)
from lycosa.missions.records.alerts.difference import (
    Part,
    as_long_texts,
    compare_texts,
    diff_values,
    fold_value,
    is_same,
)
from lycosa.missions.records.alerts.settings import Alert, Event
from lycosa.missions.records.converters import convert
from lycosa.missions.records.database import FieldChange, RecordChange, RecordStore, StoredRecord
from lycosa.missions.records.value_text import name_record, show_value

#: Rounds that something must stay as it is before that is told, where it was so before: it goes back and forth.
SETTLED_ROUNDS = 3
_MAX_FIELDS = 30
_MAX_CHARS = 500
_HERE = "@here"
#: Fields that count visitors; they are news only where an alert names them.
_COUNTERS = re.compile(
    r"(?i)(?:^|_)(?:views?|visits?|hits|likes?|shares?|comments?|votes?|downloads?|followers?|reads|rank|position"
    r"|visitas|comentarios|aufrufe|vues)(?:_?(?:count|total|number))?$"
)


class RecordWatch:
    """What an alert finds in the changes of records, one after the other."""

    def __init__(self, alert: Alert, store: RecordStore, log: AlertLog) -> None:
        self.alert = alert
        self._store = store
        self._log = log
        self._changed: dict[tuple[int, str], KnownValue] = {}
        self._forgotten: set[int] = set()

    def examine(self, change: RecordChange) -> AlertItem | None:
        """The news in a change, if there is any."""
        alert, record = self.alert, change.record
        if not alert.watches_record(record.kind, record.url):
            return None
        if change.cause not in alert.causes:
            self._forgotten.add(record.id)
            self._changed = {key: value for key, value in self._changed.items() if key[0] != record.id}
            return None
        if change.what == "new":
            return self._tell_new(change) if "new" in alert.events else None
        moments = self._moments(change)
        differences: list[ShownDifference] = []
        what = "changed"
        if change.what in ("gone", "back"):
            here = change.what == "back"
            if self._find_news(change, FieldChange(_HERE, not here, here), moments) is not None:
                what = change.what
            elif not here:
                return None
        if change.after is not None:
            differences = list(self._examine_fields(change, moments))
        if what == "changed" and not differences:
            return None
        return self._make_item(record, f"change {change.id}", what, differences, at=change.at, round_=change.round)

    def settle(self, last_round: int) -> Iterator[AlertItem]:
        """What went back and forth, and stays for some rounds now at another value than readers know."""
        for number, field, value in self._log.unsettled_values(self.alert.name, last_round - SETTLED_ROUNDS):
            value = self._changed.get((number, field), value)
            record = self._store.record(number)
            if (
                record is None
                or not value.since
                or value.since > last_round - SETTLED_ROUNDS
                or number in self._forgotten
            ):
                continue
            told, now = value.told, value.current
            difference = self._judge(field, told, now, (value.told_at, value.current_at))
            self._changed[number, field] = _told(value, now, value.current_at)
            if difference is not None:
                what = "changed" if field != _HERE else "back" if now else "gone"
                shown = [] if field == _HERE else [difference]
                key = f"settled {number} {field} {value.since}"
                yield self._make_item(record, key, what, shown, at=value.current_at, round_=last_round)

    def save(self) -> None:
        """Write what readers know now, within the caller's transaction."""
        for number in self._forgotten:
            self._log.forget_values(self.alert.name, number)
        for (number, field), value in self._changed.items():
            self._log.set_value(self.alert.name, number, field, value)

    def _examine_fields(self, change: RecordChange, moments: tuple[float, float]) -> Iterator[ShownDifference]:
        fields = self.alert.fields
        for field in change.fields:
            if field.name not in fields if fields else _COUNTERS.search(field.name):
                continue
            difference = self._find_news(change, field, moments)
            if difference is not None:
                yield difference

    def _find_news(
        self, change: RecordChange, field: FieldChange, moments: tuple[float, float]
    ) -> ShownDifference | None:
        """What is to be told of a value, after what readers know; it is known from then on."""
        key = (change.record.id, field.name)
        value = self._known(*key)
        if value is None:
            before, at = field.before, moments[0]
            value = KnownValue(before, at, before, at, seen=remember(_NOTHING, [_mark(before, at)]))
        now, at = field.after, moments[1]
        told = value.told
        same = msgspec.structs.replace(value, current=now, current_at=at, since=0)
        if is_same(told, now, moments=(value.told_at, at)):
            if self._known(*key) is not None:
                self._changed[key] = same
            return None
        difference = self._judge(field.name, told, now, (value.told_at, at))
        if difference is None:
            # Small steps add up until they are news; what nobody asked for is known as it is.
            self._changed[key] = same if self._adds_up(field.name, told, now) else _told(value, now, at)
            return None
        if knows(value.seen, [_mark(now, at)]):
            self._changed[key] = msgspec.structs.replace(same, since=max(change.round, 1))
            return None
        self._changed[key] = _told(value, now, at)
        return difference

    def _judge(self, field: str, told: Any, now: Any, moments: tuple[float, float]) -> ShownDifference | None:
        """The difference, where it is what the alert asks for."""
        alert = self.alert
        if field == _HERE:
            event: Event = "new" if now else "gone"
            return ShownDifference(field, event, ()) if event in alert.events else None
        was_empty, is_empty = fold_value(told, moments[0]) is None, fold_value(now, moments[1]) is None
        event = "appears" if was_empty else "disappears" if is_empty else "changed"
        if event not in alert.events:
            return None
        if alert.below is not None or alert.above is not None:
            if not self._crosses(told, now):
                return None
        elif event == "changed" and alert.by and not self._is_step(told, now):
            return None
        if texts := as_long_texts(told, now):
            text = compare_texts(*texts, moments=moments)
            if text is None or text.words < alert.words:
                return None
            return ShownDifference(field, event, text.lines, text.left_out)
        return ShownDifference(field, event, (diff_values(told, now),))

    def _crosses(self, told: Any, now: Any) -> bool:
        before, after = read_number(told), read_number(now)
        if after is None:
            return False
        below, above = self.alert.below, self.alert.above
        fell = below is not None and after < below and (before is None or before >= below)
        rose = above is not None and after > above and (before is None or before <= above)
        return fell or rose

    def _is_step(self, told: Any, now: Any) -> bool:
        before, after = read_number(told), read_number(now)
        if before is None or after is None:
            return True  # no number any more: that is news of its own
        step = abs(after - before) * (1 + 1e-9)
        return step >= max(self.alert.least_step, self.alert.least_share * abs(before)) and step > 0

    def _adds_up(self, field: str, told: Any, now: Any) -> bool:
        alert = self.alert
        if field == _HERE or alert.below is not None or alert.above is not None:
            return False
        both = fold_value(told, 0.0) is not None and fold_value(now, 0.0) is not None
        return both and "changed" in alert.events

    def _known(self, record: int, field: str) -> KnownValue | None:
        if (record, field) in self._changed:
            return self._changed[record, field]
        return None if record in self._forgotten else self._log.value(self.alert.name, record, field)

    def _moments(self, change: RecordChange) -> tuple[float, float]:
        """When the pages were fetched that had the values before and after."""
        before = after = change.at
        for version in self._store.versions(change.record.id):
            if version.id == change.id:
                after = version.fetched_at or version.at
                break
            before = version.fetched_at or version.at
        return before, after

    def _tell_new(self, change: RecordChange) -> AlertItem:
        wanted = self.alert.fields
        shown = [
            ShownDifference(name, "new", ((Part("new", text),),))
            for name, value in change.record.fields.items()
            if (not wanted or name in wanted) and (text := show_value(value, _MAX_CHARS))
        ]
        return self._make_item(change.record, f"change {change.id}", "new", shown, at=change.at, round_=change.round)

    def _make_item(
        self, record: StoredRecord, key: str, what: str, differences: list[ShownDifference], *, at: float, round_: int
    ) -> AlertItem:
        return AlertItem(
            key=f"{self.alert.name}: {key}",
            alert=self.alert.name,
            at=at,
            what=what,
            url=record.url,
            title=name_record(record.data, key=record.key, url=record.url),
            kind=record.kind,
            record=record.id,
            round=round_,
            differences=tuple(differences[:_MAX_FIELDS]),
        )


def read_number(value: Any) -> float | None:
    """The number that a value states: one, a price, or a text with one."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return read_number(value.get("amount", value.get("value")))
    price = convert(value, "price") if isinstance(value, str) else None
    return float(price["amount"]) if isinstance(price, dict) else None


def _told(value: KnownValue, now: Any, at: float) -> KnownValue:
    return KnownValue(now, at, now, at, seen=remember(value.seen, [_mark(now, at)]))


def _mark(value: Any, at: float) -> str:
    return msgspec.json.encode(fold_value(value, at)).decode()


_NOTHING = KnownValue(None, 0.0, None, 0.0).seen
