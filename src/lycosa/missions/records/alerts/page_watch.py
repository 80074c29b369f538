"""Watching whole pages: the changes between rounds in, what is news in their main text out.

A page is compared with the copy that readers know, which the archive keeps, not with the one of the round before: small
changes add up, and what comes and goes is no news.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from lycosa import clock
from lycosa.collection.changes import PageChange
from lycosa.collection.collection import Collection, Page
from lycosa.missions.records.alerts.alert_log import AlertItem, AlertLog, KnownPage, ShownDifference, knows, remember
from lycosa.missions.records.alerts.difference import TextDifference, compare_texts
from lycosa.missions.records.alerts.record_watch import SETTLED_ROUNDS
from lycosa.missions.records.alerts.settings import Alert
from lycosa.missions.records.main_text import read_main_text

#: Larger pages are not compared.
_MAX_BYTES = 32 << 20
_MAX_CHARS = 2 << 20
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
            return (
                self._make_item(change.url, change.title, "new", change.round) if "new" in self.alert.events else None
            )
        told_before = knows(known.seen, [_GONE]) and not (known.back and change.round - known.back >= SETTLED_ROUNDS)
        known.seen = remember(known.seen, [_GONE])
        if told_before or "gone" not in self.alert.events:
            return None
        return self._make_item(change.url, change.title, "gone", change.round)

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
        return doc.text[:_MAX_CHARS]
    return f"{page.title}\n{read_main_text(doc.tree).text}"[:_MAX_CHARS]


def find_moment(page: Page) -> float:
    """When a copy was made by its server's clock, or by ours."""
    try:
        told = parsedate_to_datetime(page.server_date)
    except (ValueError, TypeError, IndexError, OverflowError):
        return page.fetched.timestamp()
    return (told if told.tzinfo is not None else told.replace(tzinfo=UTC)).timestamp()
