"""Archive losses: what follows for pages, figures and URLs when stored copies are forgotten, and are fetched again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable

from msgspec import Struct

from lycosa.frontier.change_counts import ChangeCounts
from lycosa.frontier.page_events import HELD
from lycosa.model import State


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
        return self.via != "sitemap"


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
        if page.state in HELD and is_counted and page.is_page:
            self._counts.figure("stored", str(self._round), -1)
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
                    self._counts.figure("type", mime, change)
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
