"""Alerts of a collection: what changed since the last time is told, once, by mail, webhook and feed."""

from __future__ import annotations

import hashlib
import html
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from lycosa import clock
from lycosa.collection.collection import Collection
from lycosa.collection.folder import lock
from lycosa.errors import LycosaError
from lycosa.missions.records.alerts.alert_log import AlertItem, AlertLog, Cursor, ShownDifference
from lycosa.missions.records.alerts.difference import Part, as_html, as_markdown, as_text
from lycosa.missions.records.alerts.settings import Alert, read_alerts
from lycosa.missions.records.alerts.watches import PageWatch, RecordWatch
from lycosa.missions.records.database import RecordStore, open_store
from lycosa.missions.records.delivery import DeliveryReport, Message, Outbox
from lycosa.missions.records.readers import Reader, ReadersFile, load_readers
from lycosa.missions.records.reports.feed import FeedEntry, read_feed, write_feed
from lycosa.output.atomic_file import whole_file
from lycosa.output.plain import counted

#: Items that one mail shows, and one call of a webhook carries.
_MAX_SHOWN = 50
_MAX_CARRIED = 100
_STYLE = "del{background:#fdd;color:#700}ins{background:#dfd;color:#050;text-decoration:none}li{margin:.3em 0}"


def make_messages(items: Sequence[AlertItem], alerts: Iterable[Alert], readers: Iterable[Reader]) -> list[Message]:
    """One mail for each reader and one call for each webhook, with all that is theirs."""
    wanted = {alert.name: alert for alert in alerts}
    messages: list[Message] = []
    for reader in readers:
        mine = [item for item in items if reader.name in wanted[item.alert].readers]
        if mine:
            messages.append(_make_mail(mine, reader.mail))
    for address in dict.fromkeys(alert.webhook for alert in wanted.values() if alert.webhook):
        mine = [item for item in items if wanted[item.alert].webhook == address]
        for start in range(0, len(mine), _MAX_CARRIED):
            messages.append(_make_call(mine[start : start + _MAX_CARRIED], address))
    return messages


def _make_mail(items: list[AlertItem], mailbox: str) -> Message:
    return Message(
        key=_make_key(items, mailbox),
        channel="mail",
        to=mailbox,
        subject=make_subject(items),
        text=write_text(items),
        html=write_html(items),
    )


def _make_call(items: list[AlertItem], address: str) -> Message:
    return Message(
        key=_make_key(items, address),
        channel="webhook",
        to=address,
        subject=make_subject(items),
        text="",
        payload={"subject": make_subject(items), "alerts": [make_object(item) for item in items]},
    )


def _make_key(items: list[AlertItem], receiver: str) -> str:
    """The same for the same items and receiver, so that they are told once."""
    digest = hashlib.sha256("\n".join(item.key for item in items).encode("utf-8", "surrogatepass"))
    return f"alerts {receiver} {digest.hexdigest()[:32]}"


def make_subject(items: Sequence[AlertItem]) -> str:
    """What a mail is about, in a line."""
    first = items[0]
    if len(items) == 1:
        return f"{first.alert}: {describe(first)}"
    names = list(dict.fromkeys(item.alert for item in items))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{counted(len(items), 'alert')}: {', '.join(names[:3])}{more}"


def describe(item: AlertItem) -> str:
    """What happened, in a line."""
    said = {"new": "is new", "gone": "is gone", "back": "is back"}.get(item.what)
    if said is None:
        fields = [f"{difference.field} {_said(difference)}" for difference in item.differences if difference.field]
        said = ", ".join(fields[:3]) + ("…" if len(fields) > 3 else "") if fields else "changed"
    return f"{item.title} {said}" if said == "changed" or said.startswith("is ") else f"{item.title}: {said}"


def _said(difference: ShownDifference) -> str:
    return {"appears": "appeared", "disappears": "disappeared"}.get(difference.what, difference.what)


def write_text(items: Sequence[AlertItem]) -> str:
    """The items in plain text; what went stands in [-…-], what came in {+…+}."""
    return _write(items, heading="{}\n{}", field="  {}: {}", line="  {}", show=as_text)


def write_markdown(items: Sequence[AlertItem]) -> str:
    """The items in Markdown; what went is struck out, what came is bold."""
    return _write(items, heading="### {}\n<{}>\n", field="- {}: {}", line="- {}", show=as_markdown)


def _write(
    items: Sequence[AlertItem], *, heading: str, field: str, line: str, show: Callable[[Sequence[Part]], str]
) -> str:
    blocks = []
    for item in items[:_MAX_SHOWN]:
        lines = [heading.format(describe(item), item.url)]
        for difference in item.differences:
            for parts in difference.lines:
                shown = show(parts)
                lines.append(field.format(difference.field, shown) if difference.field else line.format(shown))
            if difference.left_out:
                lines.append(line.format(f"… and {counted(difference.left_out, 'more line')}"))
        blocks.append("\n".join(lines))
    if len(items) > _MAX_SHOWN:
        blocks.append(f"… and {counted(len(items) - _MAX_SHOWN, 'more alert')} (lycosa alerts --list)")
    return "\n\n".join(blocks) + "\n"


def write_html(items: Sequence[AlertItem]) -> str:
    """The items as a page of HTML."""
    blocks = [f"<h2>{_link(item)}</h2>\n{write_differences(item)}" for item in items[:_MAX_SHOWN]]
    if len(items) > _MAX_SHOWN:
        blocks.append(f"<p>… and {counted(len(items) - _MAX_SHOWN, 'more alert')} (lycosa alerts --list)</p>")
    title = html.escape(make_subject(items))
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    body = "\n".join(blocks)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def _link(item: AlertItem) -> str:
    said = html.escape(describe(item))
    return f'<a href="{html.escape(item.url)}">{said}</a>' if item.url.startswith(("http://", "https://")) else said


def write_differences(item: AlertItem) -> str:
    """The differences of one item as a list in HTML; empty where there are none to be shown."""
    rows = []
    for difference in item.differences:
        name = f"<b>{html.escape(difference.field)}</b>: " if difference.field else ""
        rows += [f"<li>{name}{as_html(parts)}</li>" for parts in difference.lines]
        if difference.left_out:
            rows.append(f"<li>… and {counted(difference.left_out, 'more line')}</li>")
    return f"<ul>{''.join(rows)}</ul>" if rows else ""


def make_object(item: AlertItem) -> dict[str, Any]:
    """An item as webhooks get it."""
    return {
        "id": item.id,
        "alert": item.alert,
        "what": item.what,
        "at": datetime.fromtimestamp(item.at, UTC).isoformat(timespec="seconds"),
        "url": item.url,
        "title": item.title,
        "kind": item.kind,
        "record": item.record,
        "round": item.round,
        "text": describe(item),
        "differences": [
            {
                "field": difference.field,
                "what": difference.what,
                "lines": [[{"kind": part.kind, "text": part.text} for part in parts] for parts in difference.lines],
            }
            for difference in item.differences
        ],
    }


MAX_ENTRIES = 100


def replace_feed(path: Path, items: Sequence[AlertItem], *, now: float) -> None:
    """Replace a feed's file; a feed without items was made `now`."""
    entries = [_make_entry(item) for item in items[:MAX_ENTRIES]]
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"lycosa:alerts:{path.stem}").urn
    ours = {entry.id for entry in entries}
    others = [entry for entry in read_feed(path, id=name) if entry.id not in ours]
    newest = sorted([*entries, *others], key=lambda entry: -entry.updated)[:MAX_ENTRIES]
    content = write_feed(newest, id=name, title=f"Alerts: {path.stem}", updated=now, author="lycosa")
    with whole_file(path) as part:
        Path(part).write_bytes(content)


def _make_entry(item: AlertItem) -> FeedEntry:
    return FeedEntry(
        id=item.id,
        title=describe(item),
        url=item.url,
        published=item.at,
        updated=item.at,
        authors=(),
        html=write_differences(item),
        categories=(item.alert,),
    )


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
