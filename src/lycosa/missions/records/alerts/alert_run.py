"""Alerts of a collection: what changed since the last time is told, once, by mail, webhook and feed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from lycosa import clock
from lycosa.collection.collection import Collection
from lycosa.collection.lock import lock
from lycosa.errors import LycosaError
from lycosa.missions.records.alerts.alert_log import AlertItem, AlertLog, Cursor
from lycosa.missions.records.alerts.feed import MAX_ENTRIES, replace_feed
from lycosa.missions.records.alerts.page_watch import PageWatch
from lycosa.missions.records.alerts.record_watch import RecordWatch
from lycosa.missions.records.alerts.settings import Alert, read_alerts
from lycosa.missions.records.alerts.telling import make_messages
from lycosa.missions.records.database import RecordStore, open_store
from lycosa.missions.records.delivery import DeliveryReport, Outbox
from lycosa.missions.records.readers import ReadersFile, load_readers
from lycosa.output.wording import counted

#: So long a run waits for another that looks at the same collection: a round's end and a timer of the user meet easily.
_PATIENCE_S = 60.0


class AlertRun(Struct):
    """What a run found: items that are new, messages that were queued, sentences for people."""

    items: list[AlertItem] = []
    queued: int = 0
    sentences: list[str] = []


def after_round(collection: Collection, readers_path: Path, quiet: bool) -> list[str]:
    """Tell what a round found; gives sentences for people."""
    file = load_readers(readers_path)
    with open_store(collection) as store:
        run = tell_alerts(collection, store, file)
        report = send_messages(collection, store, file)
    told = [f"{counted(len(run.items), 'alert')}, {counted(report.sent, 'message')} sent"] if run.items else []
    return [*([] if quiet else told), *run.sentences, *report.sentences]


def send_messages(collection: Collection, store: RecordStore, file: ReadersFile) -> DeliveryReport:
    """Send what waits in the outbox of a collection."""
    return Outbox(store).send(file.mail, webhooks=file.webhooks, proxy=collection.mission.fetch.proxy)


def tell_alerts(collection: Collection, store: RecordStore, file: ReadersFile, *, from_start: bool = False) -> AlertRun:
    """Find what is new to readers, queue the messages that tell it, write the feeds.

    An alert that runs for the first time takes what is there as known, unless it is told `from_start`.
    """
    alerts = read_alerts(file)
    log, outbox = AlertLog(store), Outbox(store)
    run = AlertRun()
    what = "being searched for alerts already"
    with lock(collection.path, name="alerts.lock", what=what, patience_s=_PATIENCE_S):
        watches = [_Watch(alert, collection, store, log, from_start=from_start) for alert in alerts]
        found = [item for watch in watches for item in watch.find(run)]
        with store.transaction():
            run.items = [item for item in found if log.add(item)]
            run.queued = outbox.put(make_messages(run.items, alerts, file.readers)) if run.items else 0
            for watch in watches:
                watch.save()
    _write_feeds(alerts, log, file.path.parent, run)
    return run


class _Watch:
    """One alert on its way through what changed."""

    def __init__(
        self, alert: Alert, collection: Collection, store: RecordStore, log: AlertLog, *, from_start: bool
    ) -> None:
        self._alert = alert
        self._store = store
        self._log = log
        known = log.cursor(alert.name)
        rounds = [each.round for each in collection.rounds if each.ended is not None]
        self._last_round = max(rounds, default=0)
        self._is_first = known is None and not from_start
        if known is None:
            known = Cursor(0, 0) if from_start else Cursor(store.last_change(), self._last_round)
        self._before = known
        self._after = Cursor(known.change, max(known.round, self._last_round))
        self._pages = PageWatch(alert, collection, log) if alert.page else None
        self._records = None if alert.page else RecordWatch(alert, store, log)

    def find(self, run: AlertRun) -> Iterator[AlertItem]:
        """The news since the last time."""
        if self._records is not None:
            for change in self._store.changes(after=self._before.change):
                self._after.change = change.id
                if (item := self._records.examine(change)) is not None:
                    yield item
            yield from self._records.settle(self._last_round)
        if self._pages is not None and self._last_round:
            # The last round is looked at again: a crawl that was interrupted may have gone on with it.
            for number in range(max(self._before.round, 1), self._last_round + 1):
                yield from self._pages.examine(number, tell=not self._is_first)
            yield from self._pages.settle(self._last_round)
            if self._pages.too_large:
                said = counted(self._pages.too_large, "page")
                run.sentences.append(f"{self._alert.name}: {said} too large to be compared")

    def save(self) -> None:
        for watch in (self._records, self._pages):
            if watch is not None:
                watch.save()
        self._log.set_cursor(self._alert.name, self._after)


def _write_feeds(alerts: tuple[Alert, ...], log: AlertLog, folder: Path, run: AlertRun) -> None:
    """Write each feed anew from the log; one that cannot be written is told, and tried again the next time."""
    for name in dict.fromkeys(alert.feed for alert in alerts if alert.feed):
        items = list(log.items([alert.name for alert in alerts if alert.feed == name], limit=MAX_ENTRIES))
        try:
            replace_feed(folder / name, items, now=clock.now())
        except (LycosaError, OSError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            run.sentences.append(f"the feed {name} could not be written ({str(reason).rstrip('.')})")
