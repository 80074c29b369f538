"""Depths: keeps the depth of each URL exact when a shorter way to it turns up.

A crawl finds a URL first on some way, not always on the shortest. When a shorter one turns up, the URL's depth is
lowered, and if it was fetched already, so are the depths of those that it led to; what was rejected for its depth alone
is opened. A URL that is lowered while it is pending may be under way with its old depth: it is recorded as lowered,
and the depths of those that it led to are put right when it is fetched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from lycosa import urls
from lycosa.frontier.change_counts import ChangeCounts
from lycosa.model import Discovery, State

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
                self._counts.opened(row.state, row.reason)
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
