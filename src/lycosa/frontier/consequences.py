"""Consequences: what follows for URLs and figures, where a shorter way turns up or stored copies are lost.

A crawl finds a URL first on some way, not always on the shortest. When a shorter one turns up, the URL's depth is
lowered, and if it was fetched already, so are the depths of those that it led to; what was rejected for its depth alone
is opened. A URL that is lowered while it is pending may be under way with its old depth: it is recorded as lowered, and
the depths of those that it led to are put right when it is fetched.

When stored copies are forgotten, pages that count as duplicates of a lost one lose theirs as well, and what has no
newer copy is fetched again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from msgspec import Struct

from lycosa import urls
from lycosa.model import NO_PAGES, Discovery, State

#: States of a page whose copy of this round is there.
HELD = (State.FETCHED, State.UNCHANGED)
_KEY_CHARS = 100  # types and reasons come from the network


class ChangeCounts:
    """Sums of changes by state and reason, and by figure; each database has its way to write them."""

    __slots__ = ("_figures", "_states")

    def __init__(self) -> None:
        self._states: dict[tuple[int, str], int] = {}
        self._figures: dict[tuple[str, str], int] = {}

    def state(self, state: int, reason: str, change: int) -> None:
        """Count so many more URLs in this state for this reason."""
        key = (state, reason)
        self._states[key] = self._states.get(key, 0) + change

    def figure(self, name: str, key: str, change: int) -> None:
        """Count so many more pages of this type, answers of this status, pages stored in this round."""
        pair = (name, key[:_KEY_CHARS])
        self._figures[pair] = self._figures.get(pair, 0) + change

    def move(self, before: tuple[int, str], now: tuple[int, str] = (0, ""), count: int = 1) -> None:
        """Count so many URLs that had one state and reason and have another now; by default they are pending."""
        self.state(*before, -count)
        self.state(*now, count)


#: Gives the URLs of a packed link row back.
Unpack = Callable[[bytes], list[str]]


class DepthRow(NamedTuple):
    """What of a URL decides on its depth."""

    url: str
    n: int
    state: int
    reason: str
    depth: int
    parent: int
    via: str


class DepthKeeper(ABC):
    """Lowers depths within one transaction; a subclass reads and writes the rows."""

    def __init__(self, *, counts: ChangeCounts, woken: set[str], max_depth: int, unpack: Unpack) -> None:
        self._counts = counts
        self._woken = woken
        self._max_depth = max_depth
        self._unpack = unpack
        self._todo: list[tuple[int, int]] = []  # pages whose links are to be lowered, with their depth

    def lower_known(self, discoveries: Iterable[Discovery]) -> None:
        """Lower known URLs that were found once more."""
        ways: dict[str, tuple[int, bool]] = {}  # the least depth, and whether a way is within the limit
        for one in discoveries:
            depth, fits = ways.get(one.url, (one.depth, False))
            ways[one.url] = min(depth, one.depth), fits or one.state == State.PENDING
        for row in self._find(ways):
            depth, fits = ways[row.url]
            self._lower(row, depth, fits=fits)
        self._spread()

    def spread_fetched(self, rows: Collection[int]) -> None:
        """Lower what pages lead to that were fetched while their depth may have been lowered."""
        for row in self._take_lowered(rows):
            if row.state == State.REJECTED:
                self._lower(row, row.depth)  # for a depth that it has no longer
            else:
                self._todo.append((row.n, row.depth))
        self._spread()

    def _lower(self, row: DepthRow, depth: int, *, fits: bool = False) -> None:
        is_lower = depth < row.depth
        if is_lower:
            row = self._set(row, depth)
        if row.state == State.REJECTED and row.reason == "depth" and (fits or row.depth <= self._max_depth):
            if self._open(row.n):
                self._counts.move((row.state, row.reason))
                self._woken.add(urls.host_of(row.url))
        elif is_lower and row.state in (State.PENDING, State.WAITING):
            self._record_lowered(row.n)
        elif is_lower and row.state != State.REJECTED:
            self._todo.append((row.n, row.depth))

    def _spread(self) -> None:
        """Lower what the pages on the list led to, and so on; ends because depths only shrink."""
        while self._todo:
            parent, depth = self._todo.pop()
            redirect, packed = self._read_ways(parent)
            if redirect:
                for row in self._find([redirect]):
                    self._lower(row, depth)
            for row in self._find(self._unpack(packed)) if packed else ():
                # A refresh or a list in a list is no level down.
                is_level = row.parent == parent and row.via in ("refresh", "sitemap")
                self._lower(row, depth + (not is_level))

    @abstractmethod
    def _find(self, addresses: Iterable[str]) -> Iterable[DepthRow]:
        """The known ones of these URLs, each once, as they are when they are reached."""

    @abstractmethod
    def _take_lowered(self, rows: Collection[int]) -> Iterable[DepthRow]:
        """Those of these rows that were lowered while they were pending; they are so no longer."""

    @abstractmethod
    def _read_ways(self, n: int) -> tuple[str, bytes]:
        """Where a page led: its redirect, and its newest links, packed."""

    @abstractmethod
    def _open(self, n: int) -> bool:
        """Make a URL pending that was rejected for its depth; False where another worker was faster."""

    @abstractmethod
    def _set(self, row: DepthRow, depth: int) -> DepthRow:
        """Write a lower depth; returns the row as it is now, at which another worker may have been in the meantime."""

    @abstractmethod
    def _record_lowered(self, n: int) -> None:
        """Record that a URL may be under way with another depth."""


def types_of(via: str) -> str:
    """The figure that counts media types: those of sitemaps and of requisites apart."""
    return via if via in NO_PAGES else "type"


class NewestCopy(Struct):
    """What a URL has of copies."""

    digest: bytes = b""  # of the newest one; empty: there is none
    is_holder: bool = False  # no other page brought this content first
    mime: str = ""  # of the first one


class KeptPage(Struct):
    """What is known of a URL and of one of its copies."""

    state: int
    reason: str
    via: str
    host: int
    visited: int  # the round of the last visit
    is_stored_now: bool  # there is a copy of this round
    lost: bytes | None  # the digest of the copy; None: there is none of that round
    copy: NewestCopy

    @property
    def is_page(self) -> bool:
        return self.via not in NO_PAGES


class ArchiveLosses(ABC):
    """Forgets copies within one transaction; a subclass reads and writes the rows.

    Pages that count as duplicates of a lost one lose their copies as well: their bytes were never kept.
    """

    def __init__(self, counts: ChangeCounts, *, number: int) -> None:
        self.opened: dict[int, tuple[int, int, str]] = {}  # row, state and reason of what is to be fetched again
        self._counts = counts
        self._round = number
        self._digests: set[bytes] = set()  # contents that nobody holds any more

    def forget(self, pages: Iterable[tuple[int, int]]) -> None:
        """Forget what was stored of these rows in these rounds; what has no newer copy is opened."""
        for n, number in pages:
            self._forget(n, number)
        if self._digests:
            for n, number in self._find_copies(self._digests):
                self._forget(n, number)

    def _forget(self, n: int, number: int) -> None:
        page = self._read(n, number)
        if page is None:
            return
        self._drop(page, n, number)
        self._count_copies(page, self._ask_for_all(n))
        is_newest = number == self._round or page.lost == page.copy.digest
        if page.state == State.PENDING or not is_newest or n in self.opened:
            return
        is_counted = page.is_stored_now or (page.state == State.UNCHANGED and page.visited == self._round)
        if page.state in (*HELD, State.DUPLICATE) and is_counted and page.is_page:
            self._counts.figure("copies" if page.state == State.DUPLICATE else "stored", str(self._round), -1)
        self.opened[n] = (n, page.state, page.reason)

    def _drop(self, page: KeptPage, n: int, number: int) -> None:
        """Drop a copy, and what the visit that brought it found."""
        if page.lost is not None and self._drop_copy(n, number, page.lost):
            self._digests.add(page.lost)
        event = self._drop_visit(n, number)
        if event or (number == 1 and page.lost is not None and page.is_page):
            self._counts.figure(event or "new", str(number), -1)

    def _count_copies(self, page: KeptPage, copy: NewestCopy) -> None:
        """Count what a page is now, and no longer what it was; `copy` is what it still has."""
        if copy.mime != page.copy.mime:
            for mime, change in ((page.copy.mime, -1), (copy.mime, 1)):
                if mime:
                    self._counts.figure(types_of(page.via), mime, change)
        change = copy.is_holder - page.copy.is_holder
        if change and page.is_page:
            self._counts.figure("pages", "", change)
            self._grow(page.host, change)

    @abstractmethod
    def _find_copies(self, digests: Collection[bytes]) -> Iterable[tuple[int, int]]:
        """Row and round of all copies of these contents."""

    @abstractmethod
    def _read(self, n: int, number: int) -> KeptPage | None:
        """What is known of a row and its copy of a round."""

    @abstractmethod
    def _drop_copy(self, n: int, number: int, digest: bytes) -> bool:
        """Drop a copy with what was made of it; True if it was the one that held its content."""

    @abstractmethod
    def _drop_visit(self, n: int, number: int) -> str:
        """Drop what a visit found of a page, and tell it."""

    @abstractmethod
    def _ask_for_all(self, n: int) -> NewestCopy:
        """Let the next request of a URL have no condition; returns what copies it has now."""

    @abstractmethod
    def _grow(self, host: int, change: int) -> None:
        """Count so many more pages of a host."""
