"""Batch decisions: what a batch changes in a frontier on a database, whichever that is.

Links come first, then what became of targets: a link tells of a URL as it was before the batch. In this order: new
URLs, known ones that links open, raise and bring nearer, seeds; outcomes, what documents need, lastmod hints, and the
depths of what the pages lead to. A subclass reads and writes the rows, in transactions that its caller runs.

What a visit found of a page goes by what was known before: new, changed, unchanged, gone, back. A sitemap that gives a
page a later date than the last time says that it changed. A host is believed until most of its hints have proved wrong:
there are sitemaps that give every page the date of the day. Earlier dates say nothing: a feed gives the time when a
page was published, and the sitemap beside it the time when it was edited.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Set
from math import inf
from typing import TypeVar

import msgspec
from msgspec import Struct

from lycosa.frontier.consequences import HELD, ChangeCounts, types_of
from lycosa.frontier.contract import BARRED, FORGOTTEN, REOPENED_BY_SEEDS, statuses_of
from lycosa.model import NO_PAGES, REQUISITE, UNKEPT, Batch, Discovery, LastmodHint, Outcome, State, UnstoredPage

#: The visit brought an answer that says something of the page.
ANSWERED = (*HELD, State.DUPLICATE, State.MOVED, State.MOVED_FOR_GOOD, State.GONE)
#: There is no page at the address now, though there may have been one.
AWAY = (State.MOVED, State.MOVED_FOR_GOOD, State.GONE)

#: Why a URL was dropped, or not fetched, that is kept for a document that needs it.
REOPENED_BY_NEED = ("not-quarry", "host-quota", "too-large", "reject-list")

#: And why a URL was refused as a page that is kept to show one: these rules are about pages.
REOPENED_TO_SHOW = ("scope", "accept-list", "depth", "no-range", "host-budget", "trap:near-duplicates", *BARRED)


class PageBefore(Struct, gc=False):
    """What the frontier knew of a URL before a visit."""

    state: int
    reason: str
    via: str
    was: int  # the state that the last round left it in
    digest: bytes  # of the newest copy; empty: there is none
    due: float = 0.0


class KnownUrl(Struct, gc=False):
    """What the frontier knows of a URL that a link leads to."""

    n: int
    state: int
    reason: str
    via: str
    seed: bool
    score: float

    @property
    def waits(self) -> bool:
        """Whether it is still to be fetched, and its place in the order may change: a seed keeps its own."""
        return self.state in (State.PENDING, State.WAITING) and not self.seed


def event_of(outcome: Outcome, before: PageBefore, state: int) -> str:
    """What a visit found of a page; nothing where there is no page and never was one, or where it is not known."""
    if before.via in NO_PAGES or before.state in ANSWERED:
        return ""  # no page, or one that this round has counted already
    away = before.was in AWAY
    if state in AWAY:
        return "gone" if before.digest and not away else ""
    if state not in (State.FETCHED, State.UNCHANGED, State.DUPLICATE):
        return ""
    if not before.digest:
        return "new" if outcome.page is not None else ""
    if away:
        return "back"
    return "changed" if outcome.page is not None and outcome.page.digest != before.digest else "unchanged"


def is_needed_now(outcome: Outcome, before: PageBefore) -> bool:
    """Whether a page was dropped as what one link led to, while another made it a part of a document."""
    return outcome.reason in REOPENED_BY_NEED and outcome.via not in ("", before.via)


def is_same_sort(via: str, other: str) -> bool:
    """Whether two kinds of links lead to the same sort of thing: a page stays a page."""
    return via == other or (via not in NO_PAGES and other not in NO_PAGES)


def opens_needed(link: Discovery, known: KnownUrl) -> bool:
    """Whether a URL was dropped, or refused as a page, that a document needs."""
    reasons = REOPENED_BY_NEED + (REOPENED_TO_SHOW if link.via == REQUISITE else ())
    return known.state in (State.FETCHED, State.REJECTED) and known.reason in reasons


def is_needed_as(link: Discovery, via: str) -> bool:
    """Whether a link needs a URL as something else than what it was found as; what shows a page is no page."""
    return via != link.via and (link.via == REQUISITE or is_same_sort(via, link.via))


def highest_score(link: Discovery) -> float:
    """The score that a needed URL has at most: requisites stand back."""
    return link.score if link.via == REQUISITE else inf


def raises(link: Discovery, known: KnownUrl) -> bool:
    """Whether a link that is followed lets a known URL rise to its score."""
    return bool(
        link.policy_data
        and link.state == State.PENDING
        and known.waits
        and -1 <= known.score <= link.score
        and is_same_sort(link.via, known.via)
    )


#: A host is no longer believed when this many hints were wrong, and more than four for each that was right.
WRONG_LEAST = 10
WRONG_SHARE = 4
#: In the column `due` of a pending URL: it is visited because of a hint.
HINTED = -1.0


def is_trusted(given: int, wrong: int) -> bool:
    """Whether a host is believed that has given so many hints, of which so many were wrong."""
    return wrong < WRONG_LEAST or wrong <= WRONG_SHARE * (given - wrong)


def latest(hints: Iterable[LastmodHint]) -> Iterable[LastmodHint]:
    """Of several hints on one page, the one with the latest date."""
    by_url: dict[int, LastmodHint] = {}
    for hint in hints:
        if hint.url_hash not in by_url or hint.modified > by_url[hint.url_hash].modified:
            by_url[hint.url_hash] = hint
    return by_url.values()


class BatchDecisions(ABC):
    """Decides what becomes of the rows that a batch touches, and counts it."""

    def __init__(self, counts: ChangeCounts, *, number: int, owned: Set[int]) -> None:
        self.duplicates: set[int] = set()
        self.stored = 0
        self.copies = 0  # pages with content that another page brought first
        self.woken: set[str] = set()  # hosts that have new pending URLs
        self._counts = counts
        self._round = number
        self._owned = owned
        self._answers = 0
        self._events: dict[int, tuple[str, Outcome]] = {}  # by row: what the visit found, in rounds after the first
        self._grown: dict[str, int] = {}  # host -> pages that it has more

    # Links to known URLs

    def meet_again(self, again: list[Discovery], *, concluded: Set[int] = frozenset()) -> None:
        """Do what other links to known URLs ask for: lift bars, raise scores, lower depths.

        `concluded`: rows that the same batch has outcomes for. A link does not change the place of those any more.
        """
        ways = [link for link in again if link.reason not in BARRED]
        if not ways:
            return
        has_barred = self._has_barred()
        followed = [link for link in ways if link.state == State.PENDING and (link.policy_data or has_barred)]
        known = self._find_known(followed) if followed else {}
        for link in followed:
            old = known.get(link.url_hash)
            if old is None:
                continue
            if old.state == State.REJECTED and old.reason in BARRED:
                if self._open_barred(link, old):
                    self._count_opened(old, link.host)
                    old.via, old.score = link.via, link.score
            elif old.n not in concluded and raises(link, old) and self._raise_score(link, old):
                old.via, old.score = link.via, link.score
                self.woken.add(link.host)
        self._lower_known(ways)

    def mark_seeds(self, seeds: list[Discovery], *, given: bool) -> None:
        """Make known URLs seeds, and open those that had been rejected; not `given` are those that a seed moved to."""
        if not seeds:
            return
        known = self._find_known(seeds)
        for seed in seeds:
            old = known[seed.url_hash]
            is_opened = old.state in REOPENED_BY_SEEDS[given] and seed.state == State.PENDING
            if is_opened and old.reason != FORGOTTEN and self._open_seed(old):
                self._count_opened(old, seed.host)
        self._write_seeds(sorted({old.n for old in known.values()}), given=given)

    def open_needed(self, again: list[Discovery]) -> None:
        """Let known URLs be fetched for the documents that need them, also those that were read and dropped."""
        needed = [link for link in again if link.needed and link.state == State.PENDING]
        known = self._find_known(needed) if needed else {}
        for link in needed:
            old = known.get(link.url_hash)
            if old is None or not is_needed_as(link, old.via):
                continue
            if old.waits:
                self._need(link, old)
                old.via = link.via
                continue
            if opens_needed(link, old) and self._open_dropped(link, old):
                self._count_opened(old, link.host)
                old.via = link.via

    def _count_new(self, new: list[Discovery]) -> list[Discovery]:
        """Count new URLs; returns those that are refused."""
        refused, woken = [], self.woken
        for link in new:
            if link.state == 0:
                woken.add(link.host)
            else:
                refused.append(link)
                self._counts.state(link.state, link.reason, 1)
        self._counts.state(State.PENDING, "", len(new) - len(refused))
        return refused

    def _count_opened(self, old: KnownUrl, host: str) -> None:
        self._counts.move((old.state, old.reason))
        old.state, old.reason = State.PENDING, ""
        self.woken.add(host)

    # What became of targets

    def _conclude(self, outcomes: Iterable[Outcome], before: dict[int, PageBefore]) -> None:
        """Decide on outcomes one by one; what is not in `before` is unknown to the frontier."""
        counts, statuses = self._counts, statuses_of(self._round)
        for outcome in outcomes:
            old = before.get(outcome.row)
            if old is None:
                continue
            state = self._resolve_state(outcome, old)
            reason = outcome.reason if state != State.PENDING else ""
            counts.move((old.state, old.reason), (state, reason))
            if outcome.http:
                counts.figure(statuses, str(outcome.http), 1)
                self._answers += 1
            if outcome.unstored is not None:
                self._count_unstored(outcome.unstored)
            self._count_event(outcome, old, state)
            self._put_outcome(outcome, state, reason)
            if outcome.score_change:
                self._change_score(outcome.row, outcome.score_change)
            digest = outcome.page.digest if outcome.page is not None else old.digest
            before[outcome.row] = PageBefore(state, reason, old.via, old.was, digest)

    def _resolve_state(self, outcome: Outcome, old: PageBefore) -> int:
        """The state of a target, now that it is known who holds its content; counts it against the page limit."""
        state, page = outcome.state, outcome.page
        if is_needed_now(outcome, old):
            self.woken.add(outcome.host)
            return State.PENDING
        if state == State.FETCHED and page is not None:
            if page.digest and not self._take_content(outcome.row, page.digest):
                state = State.DUPLICATE
        elif state == State.UNCHANGED and old.digest:
            if not self._is_holder(outcome.row, old.digest):
                state = State.DUPLICATE
        elif state != State.DUPLICATE:
            return state
        if state != outcome.state:
            self.duplicates.add(outcome.row)
        if old.via not in NO_PAGES and old.state not in (*HELD, State.DUPLICATE):
            self.copies += state == State.DUPLICATE
            self.stored += state != State.DUPLICATE
        return state

    def _count_unkept(self, trap_counts: Mapping[tuple[str, str], int]) -> None:
        """Sum up the addresses that were counted and not kept, by reason: tallies are per host."""
        for (_, key), count in trap_counts.items():
            if key.startswith(UNKEPT):
                self._counts.figure("unkept", key.removeprefix(UNKEPT), count)

    def _count_unstored(self, unstored: UnstoredPage) -> None:
        """Count a page that was read and not stored; nothing else keeps its type and size."""
        key = f"{unstored.kind}\t{unstored.mime}"
        self._counts.figure("read", key, 1)
        self._counts.figure("read bytes", key, unstored.size)

    def _count_event(self, outcome: Outcome, old: PageBefore, state: int) -> None:
        """Count what this visit found, and note it in rounds after the first."""
        page = outcome.page
        if page is not None and page.mime and not old.digest:
            self._counts.figure(types_of(old.via), page.mime, 1)
        if old.via in NO_PAGES:
            return
        if page is not None and page.digest != old.digest:
            change = (state == State.FETCHED) - bool(old.digest and self._is_holder(outcome.row, old.digest))
            if change:
                self._grown[outcome.host] = self._grown.get(outcome.host, 0) + change
        event = event_of(outcome, old, state)
        if old.due == HINTED and state in ANSWERED:
            self._count_hint(outcome.host, wrong=event in ("", "unchanged"))
        if event:
            self._counts.figure(event, str(self._round), 1)
            if self._round > 1:
                self._events[outcome.row] = (event, outcome)

    def _count_cycle(self, batch: Batch, *, new: int) -> None:
        """Count what a batch brought to a cycle; `new`: addresses that nobody knew."""
        finds = sum(1 for outcome in batch.outcomes if outcome.page is not None and outcome.page.kind)
        figures = {"answers": self._answers, "pages": self.stored, "finds": finds, "new": new, "ms": batch.cycle_ms}
        for name, count in figures.items():
            if batch.cycle and count:
                self._counts.figure(f"cycle {name}", str(batch.cycle), count)

    def _count_outcomes(self) -> None:
        """Count the sums of a batch's outcomes."""
        number, counts = str(self._round), self._counts
        if self.stored:
            counts.figure("stored", number, self.stored)
        if self.copies:
            counts.figure("copies", number, self.copies)
        if self._answers:
            counts.figure("answers", number, self._answers)
        if self._grown:
            counts.figure("pages", "", sum(self._grown.values()))
        if self._events:
            for event in self._find_events(self._events):  # a page counts once in a round, as what was found last
                counts.figure(event, number, -1)

    # Hints

    def apply_hints(self, hints: list[LastmodHint]) -> None:
        """Store the latest dates; in a later round, open the pages whose date is a later one than the last time."""
        dates = self._find_hinted(latest(hints)) if hints else {}
        trusted: dict[str, bool] = {}
        for n, state, reason, visited, modified in self._find_dates(dates) if dates and self._round > 1 else ():
            hint = dates[n]
            if hint.modified <= modified:
                continue
            if hint.host not in trusted:
                trusted[hint.host] = is_trusted(*self._read_trust(hint.host))
            is_opened = trusted[hint.host] and State.FETCHED <= state <= State.GONE and visited < self._round
            if is_opened and self._open_hinted(n, state, reason):
                self._counts.move((state, reason))
                self.woken.add(hint.host)
        if dates:
            self._write_dates(dates)

    # What a database does

    @abstractmethod
    def _has_barred(self) -> bool:
        """Whether there may be URLs to which only barred links lead."""

    @abstractmethod
    def _find_known(self, links: Iterable[Discovery]) -> dict[int, KnownUrl]:
        """The known ones of these URLs, by their hashes."""

    @abstractmethod
    def _open_barred(self, link: Discovery, old: KnownUrl) -> bool:
        """Make a URL pending as this link found it; False where another worker was faster."""

    @abstractmethod
    def _raise_score(self, link: Discovery, old: KnownUrl) -> bool:
        """Give a URL that waits the score and the place of this link; False where it waits no longer."""

    @abstractmethod
    def _need(self, link: Discovery, old: KnownUrl) -> None:
        """Let a URL that waits be fetched as what this link says."""

    @abstractmethod
    def _open_dropped(self, link: Discovery, old: KnownUrl) -> bool:
        """Make a URL pending as what this link says; False where another worker was faster."""

    @abstractmethod
    def _open_seed(self, old: KnownUrl) -> bool:
        """Make a URL pending that became a seed; False where another worker was faster."""

    @abstractmethod
    def _write_seeds(self, rows: list[int], *, given: bool) -> None:
        """Record rows as seeds."""

    @abstractmethod
    def _lower_known(self, ways: list[Discovery]) -> None:
        """Lower the depths of known URLs, where depths are kept."""

    @abstractmethod
    def _take_content(self, n: int, digest: bytes) -> bool:
        """Whether this row holds a content: it does from now on if nobody did."""

    @abstractmethod
    def _is_holder(self, n: int, digest: bytes) -> bool:
        """Whether this row held a content before."""

    @abstractmethod
    def _put_outcome(self, outcome: Outcome, state: int, reason: str) -> None:
        """Write an outcome, or gather it with others."""

    @abstractmethod
    def _change_score(self, n: int, change: float) -> None:
        """Add to the score of a row."""

    @abstractmethod
    def _find_events(self, rows: Collection[int]) -> list[str]:
        """What earlier visits of the round found of these pages."""

    @abstractmethod
    def _count_hint(self, host: str, *, wrong: bool) -> None:
        """Count a hint that was followed."""

    @abstractmethod
    def _find_hinted(self, hints: Iterable[LastmodHint]) -> dict[int, LastmodHint]:
        """The hints on known URLs, by row."""

    @abstractmethod
    def _find_dates(self, dates: Mapping[int, LastmodHint]) -> list[tuple[int, int, str, int, float]]:
        """Row, state, reason, round of the last visit and the last date, of rows that have a date."""

    @abstractmethod
    def _read_trust(self, host: str) -> tuple[int, int]:
        """How many hints of a host were followed, and how many were wrong."""

    @abstractmethod
    def _open_hinted(self, n: int, state: int, reason: str) -> bool:
        """Make a page pending because of a hint; False where it is not in this state any more."""

    @abstractmethod
    def _write_dates(self, dates: Mapping[int, LastmodHint]) -> None:
        """Keep the later one of each date."""


S = TypeVar("S", bound=msgspec.Struct)


def cleaned(batch: Batch) -> Batch:
    """The same batch with a question mark in place of each lone surrogate, and of each NUL."""
    return Batch(
        discoveries=[_clean(row) for row in batch.discoveries],
        outcomes=[_clean(row) for row in batch.outcomes],
        hosts=[_clean(row) for row in batch.hosts],
        robots=[_clean(row) for row in batch.robots],
        trap_counts={(_text(host), _text(key)): count for (host, key), count in batch.trap_counts.items()},
        warc=batch.warc,
        warc_size=batch.warc_size,
        warc_synced=batch.warc_synced,
        warcs=batch.warcs,
        hints=batch.hints,
        weight_updates=batch.weight_updates,
        cycle=batch.cycle,
        cycle_ms=batch.cycle_ms,
        durable=batch.durable,
    )


def _clean(row: S) -> S:
    changes: dict[str, object] = {}
    for name in row.__struct_fields__:
        value = getattr(row, name)
        if isinstance(value, str):
            changes[name] = _text(value)
        elif isinstance(value, msgspec.Struct):
            changes[name] = _clean(value)
    return msgspec.structs.replace(row, **changes)


def _text(value: str) -> str:
    return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")
