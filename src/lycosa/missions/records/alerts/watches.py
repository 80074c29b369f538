"""Watching records and whole pages: changes in, what is news in them out.

Of records, the changes of their database are looked through. The main text of a page is compared with the copy that
readers know, which the archive keeps, not with the one of the round before: small changes add up, and what comes and
goes is no news.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import msgspec

from lycosa import clock, urls
from lycosa.collection.changes import PageChange, was_left_out
from lycosa.collection.collection import Collection, Page
from lycosa.content.converters import convert
from lycosa.content.main_text import read_main_text
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite import schema
from lycosa.missions.records.alerts.alert_log import (
    AlertItem,
    AlertLog,
    KnownPage,
    KnownValue,
    ShownDifference,
    knows,
    remember,
)
from lycosa.missions.records.alerts.difference import (
    Part,
    TextDifference,
    as_long_texts,
    compare_texts,
    diff_values,
    fold_value,
    is_counter,
    is_same,
)
from lycosa.missions.records.alerts.settings import Alert, Event
from lycosa.missions.records.database import FieldChange, RecordChange, RecordStore, StoredRecord
from lycosa.missions.records.field_roles import name_record, show_value

#: Rounds that something must stay as it is before that is told, where it was so before: it goes back and forth.
SETTLED_ROUNDS = 3
_MAX_FIELDS = 30
_MAX_VALUE = 500
_HERE = "@here"


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
            if field.name not in fields if fields else is_counter(field.name):
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
            if (not wanted or name in wanted) and (text := show_value(value, _MAX_VALUE))
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


#: Larger pages are not compared.
_MAX_BYTES = 32 << 20
_MAX_PAGE = 2 << 20
#: A line of so many characters that changes on so many pages of a host at once, half of those that changed, belongs to
#: the frame of the site.
_FRAME_CHARS, _FRAME_PAGES = 40, 4
_GONE = "⟨gone⟩"


class _Candidate(NamedTuple):
    change: PageChange
    known: KnownPage
    difference: TextDifference


class PageWatch:
    """What an alert finds in the pages that changed."""

    def __init__(self, alert: Alert, collection: Collection, log: AlertLog) -> None:
        self.alert = alert
        self.too_large = 0
        self._collection = collection
        self._log = log
        self._changed: dict[str, KnownPage] = {}

    def examine(self, number: int, *, tell: bool = True) -> Iterator[AlertItem]:
        """The news that a round found; without `tell` it is known and none."""
        candidates: dict[str, list[_Candidate]] = defaultdict(list)
        for change in self._collection.changes(number - 1, number):
            if not self.alert.watches_page(change.url):
                continue
            known = self._changed.get(change.url) or self._log.page(self.alert.name, change.url)
            if known is not None and known.examined >= change.round:
                continue
            if known is None:
                known = KnownPage(
                    examined=change.round, told=number if not tell or change.what == "new" else number - 1
                )
            known.examined = change.round
            self._changed[change.url] = known
            if not tell:
                continue
            if change.what in ("new", "gone"):
                if (item := self._tell_presence(change, known)) is not None:
                    yield item
                continue
            if change.what == "back":
                known.back = change.round
            difference = self._compare(change.url, known.told, change.round)
            if difference is None:
                known.since = 0
            elif difference.words >= self.alert.words and "changed" in self.alert.events:
                candidates[change.host].append(_Candidate(change, known, difference))
        for found in candidates.values():
            yield from self._choose(found)

    def settle(self, last_round: int) -> Iterator[AlertItem]:
        """Pages that went back and forth, and stay for some rounds now as readers do not know them."""
        for url, logged in self._log.unsettled_pages(self.alert.name, last_round - SETTLED_ROUNDS):
            known = self._changed.setdefault(url, logged)
            if not known.since or known.since > last_round - SETTLED_ROUNDS:
                continue
            difference = self._compare(url, known.told, last_round)
            if difference is not None:
                page = self._collection.page(url)
                title = page.title if page is not None else ""
                yield self._make_item(url, title, "changed", known.since, difference, key="settled")
            known.told, known.since = known.examined, 0

    def save(self) -> None:
        """Write what readers know now, within the caller's transaction."""
        for url, known in self._changed.items():
            self._log.set_page(self.alert.name, url, known)

    def _choose(self, found: list[_Candidate]) -> Iterator[AlertItem]:
        """The pages of a host whose change is their own, and not one that they went through before."""
        counts = Counter(mark for candidate in found for mark in candidate.difference.marks)
        least = max(_FRAME_PAGES, len(found) / 2)
        frame = {mark for mark, count in counts.items() if count >= least and len(mark) >= _FRAME_CHARS}
        for change, known, difference in found:
            if frame and frame.issuperset(difference.marks):
                known.told, known.since = change.round, 0
            elif knows(known.seen, difference.marks):
                known.since = change.round
            else:
                known.told, known.since = change.round, 0
                known.seen = remember(known.seen, difference.marks)
                yield self._make_item(change.url, change.title, "changed", change.round, difference)

    def _tell_presence(self, change: PageChange, known: KnownPage) -> AlertItem | None:
        if change.what == "new":
            known.told = change.round
            if "new" not in self.alert.events or self._was_left_out(change):
                return None
            return self._make_item(change.url, change.title, "new", change.round)
        told_before = knows(known.seen, [_GONE]) and not (known.back and change.round - known.back >= SETTLED_ROUNDS)
        known.seen = remember(known.seen, [_GONE])
        if told_before or "gone" not in self.alert.events:
            return None
        return self._make_item(change.url, change.title, "gone", change.round)

    def _was_left_out(self, change: PageChange) -> bool:
        """Whether a page is new because the mission takes more than before."""
        rows, began = self._collection.rows, self._collection.rounds[change.round - 1].started.timestamp()
        found = rows(schema.FIND_URL, [host_key(change.host), urls.url_id(change.url)])
        return any(was_left_out(rows, int(n), change.round, before=began) for (n,) in found)

    def _compare(self, url: str, told: int, now: int) -> TextDifference | None:
        if told < 1:
            return None
        before, after = self._collection.page(url, round=told), self._collection.page(url, round=now)
        if before is None or after is None:
            return None
        if max(before.size, after.size) > _MAX_BYTES:
            self.too_large += 1
            return None
        moments = (find_moment(before), find_moment(after))
        return compare_texts(
            read_text(before), read_text(after), moments=moments, around=(before.doc.text, after.doc.text)
        )

    def _make_item(
        self,
        url: str,
        title: str,
        what: str,
        round_: int,
        difference: TextDifference | None = None,
        *,
        key: str = "round",
    ) -> AlertItem:
        shown = () if difference is None else (ShownDifference("", what, difference.lines, difference.left_out),)
        return AlertItem(
            key=f"{self.alert.name}: page {url} {key} {round_} {what}",
            alert=self.alert.name,
            at=clock.now(),
            what=what,
            url=url,
            title=" ".join(title.split())[:200] or url,
            round=round_,
            differences=shown,
        )


def read_text(page: Page) -> str:
    """What a page says: its title and its main text, or all text where it is no HTML."""
    doc = page.doc
    if doc.tree is None:
        return doc.text[:_MAX_PAGE]
    return f"{page.title}\n{read_main_text(doc.tree).text}"[:_MAX_PAGE]


def find_moment(page: Page) -> float:
    """When a copy was made by its server's clock, or by ours."""
    try:
        told = parsedate_to_datetime(page.server_date)
    except (ValueError, TypeError, IndexError, OverflowError):
        return page.fetched.timestamp()
    return (told if told.tzinfo is not None else told.replace(tzinfo=UTC)).timestamp()
