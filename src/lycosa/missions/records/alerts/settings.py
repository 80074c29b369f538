"""Settings of alerts, the tables [[alerts]] of a readers file: what is watched, when that is news, who is told.

[[alerts]]
name = "prices"
kind = "album"
fields = ["price"]
by = "5 %"
readers = ["Ana"]
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from lycosa.errors import UsageError
from lycosa.missions.records.delivery.message import is_webhook
from lycosa.missions.records.guards import compile_pattern

if TYPE_CHECKING:
    from lycosa.missions.records.readers import ReadersFile

Event = Literal["appears", "disappears", "changed", "new", "gone"]
AlertCause = Literal["page", "rules", "import"]
EVENTS: tuple[Event, ...] = ("appears", "disappears", "changed", "new", "gone")
CAUSES: tuple[AlertCause, ...] = ("page", "rules", "import")
_MAX_ALERTS = 1000
_MAX_NAME = 100
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


class Alert(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that is watched."""

    name: str
    kind: str = ""  # of records; empty: of every kind
    page: tuple[str, ...] = ()  # patterns of addresses: the whole pages are watched, and no records
    url: tuple[str, ...] = ()  # patterns of addresses: only records of these pages
    fields: tuple[str, ...] = ()  # empty: all
    when: tuple[Event, ...] = ()  # empty: appears, disappears, changed; of pages, changed
    by: str | float = 0.0  # a change of a number is news from so much on, or from such a share on ("5 %")
    below: float | None = None  # a number is news when it falls below this
    above: float | None = None
    words: int = 1  # a change of a text is news from so many words on
    causes: tuple[AlertCause, ...] = ("page",)
    readers: tuple[str, ...] = ()
    webhook: str = ""
    feed: str = ""  # an Atom file, from where the readers file is

    @property
    def events(self) -> tuple[Event, ...]:
        return self.when or (("changed",) if self.page else ("appears", "disappears", "changed"))

    @property
    def least_share(self) -> float:
        """The share of the former number from which on a change is news, 0 to 1."""
        match = _SHARE.fullmatch(self.by.strip()) if isinstance(self.by, str) else None
        return float(match[1]) / 100 if match else 0.0

    @property
    def least_step(self) -> float:
        return 0.0 if isinstance(self.by, str) else float(self.by)

    def watches_page(self, url: str) -> bool:
        return any(compile_pattern(pattern).search(url) for pattern in self.page)

    def watches_record(self, kind: str, url: str) -> bool:
        if self.page or (self.kind and kind != self.kind):
            return False
        return not self.url or any(compile_pattern(pattern).search(url) for pattern in self.url)


def read_alerts(file: ReadersFile) -> tuple[Alert, ...]:
    """The alerts of a readers file, or what is wrong with them."""
    tables = file.data.get("alerts", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise file.wrong(("alerts",), "allowed: one [[alerts]] for each thing that is watched")
    if len(tables) > _MAX_ALERTS:
        raise file.wrong(("alerts",), f"there are {len(tables):,}; allowed: {_MAX_ALERTS:,}")
    alerts: list[Alert] = []
    for nth, table in enumerate(tables):
        alert = _read_alert(file, table, ("alerts", nth))
        if any(alert.name == other.name for other in alerts):
            raise file.wrong(("alerts", nth, "name"), f"two are called {alert.name}; allowed: a name for each")
        alerts.append(alert)
    return tuple(alerts)


def _read_alert(file: ReadersFile, table: dict[str, Any], path: tuple[str | int, ...]) -> Alert:
    file.check_keys(table, Alert.__struct_fields__, path)
    given: dict[str, Any] = {}
    for key, value in table.items():
        given[key] = [value] if key in _LISTS and isinstance(value, str) else value
        try:
            msgspec.convert({"name": "", key: given[key]}, Alert)
        except msgspec.ValidationError as error:
            allowed = f"; allowed: {', '.join(_WORDS[key])}" if key in _WORDS else ""
            raise file.wrong((*path, key), f"found {value!r:.60}: {str(error).partition(' - ')[0]}{allowed}") from None
    alert = msgspec.convert({"name": "", **given}, Alert)
    for key, said in _find_problems(alert, file):
        raise file.wrong((*path, key), said)
    return alert


_LISTS = ("page", "url", "fields", "when", "causes", "readers")
_WORDS: dict[str, tuple[str, ...]] = {"when": EVENTS, "causes": CAUSES}


_Problems = Iterator[tuple[str, str]]


def _find_problems(alert: Alert, file: ReadersFile) -> _Problems:
    """What is wrong with an alert: the setting, and what is allowed."""
    if not alert.name.strip() or len(alert.name) > _MAX_NAME or not alert.name.isprintable():
        yield "name", f"found {alert.name[:60]!r}; allowed: a name of 1 to {_MAX_NAME} characters"
    yield from _find_page_problems(alert)
    yield from _find_number_problems(alert)
    yield from _find_receiver_problems(alert, file)


def _find_page_problems(alert: Alert) -> _Problems:
    for key, pattern in [*(("page", pattern) for pattern in alert.page), *(("url", pattern) for pattern in alert.url)]:
        try:
            compile_pattern(pattern)
        except UsageError as error:
            yield key, str(error).rstrip(".")
    if alert.page and (alert.kind or alert.fields or alert.url or alert.by or _bounds(alert)):
        yield "page", "whole pages have no kind, fields, url, by, below and above; watch records for these"
    if alert.page and {"appears", "disappears"}.intersection(alert.when):
        yield "when", "of whole pages, allowed: changed, new, gone"


def _find_number_problems(alert: Alert) -> _Problems:
    if isinstance(alert.by, str):
        if not alert.least_share:
            yield "by", f'found {alert.by!r:.40}; allowed: a number, or a share such as "5 %"'
    elif not (math.isfinite(alert.by) and alert.by >= 0):
        yield "by", f'found {alert.by}; allowed: a number from 0 on, or a share such as "5 %"'
    if any(not math.isfinite(bound) for bound in _bounds(alert)):
        yield "below", "allowed: a finite number"
    if (_bounds(alert) or alert.by) and not alert.fields:
        yield "fields", "by, below and above need the fields that they are about"
    if not 1 <= alert.words <= 100_000:
        yield "words", f"found {alert.words}; allowed: 1 to 100000"


def _find_receiver_problems(alert: Alert, file: ReadersFile) -> _Problems:
    if not (alert.readers or alert.webhook or alert.feed):
        yield "name", "nobody is told; add readers, webhook or feed"
    if alert.webhook and not is_webhook(alert.webhook):
        yield "webhook", "allowed: a URL of http or https"
    if alert.feed and Path(alert.feed).suffix not in (".atom", ".xml"):
        yield "feed", f"found {alert.feed!r:.60}; allowed: a file that ends in .atom or .xml"
    mails = {reader.name: reader.mail for reader in file.readers}
    for name in alert.readers:
        if name not in mails:
            known = ", ".join(mails) or "none"
            yield "readers", f"found {name!r:.60}; allowed are names of [[readers]]: {known}"
        elif not mails[name]:
            yield "readers", f"{name} has no mail; add it to [[readers]]"
    if alert.readers and file.mail is None:
        yield "readers", "there is no [mail] to send with; add it with host and sender"


def _bounds(alert: Alert) -> tuple[float, ...]:
    return tuple(bound for bound in (alert.below, alert.above) if bound is not None)
