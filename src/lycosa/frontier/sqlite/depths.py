"""Depths: keeps the depth of each URL exact when a shorter way to it turns up.

A crawl finds a URL first on some way, not always on the shortest. When a shorter one turns up, the URL's depth is
lowered, and if it was fetched already, so are the depths of those that it led to; what was rejected for its depth alone
is opened. A URL that is lowered while it is pending may be under way with its old depth: it is recorded in `lowered`,
and the depths of those that it led to are put right when it is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import apsw

from lycosa import urls
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite.counters import Counts
from lycosa.frontier.sqlite.schema import NEWEST_LINKS
from lycosa.model import Discovery, State

_ROW = "SELECT state, reason, depth, host FROM url WHERE n = ?"
_IS_REFRESH = "SELECT 1 FROM url WHERE n = ? AND parent = ? AND via IN ('refresh', 'sitemap')"
_OPEN = "UPDATE url SET depth = ?, state = 0, reason = '', due = 0 WHERE n = ?"


class Finder(Protocol):
    """Finds the row number of a URL; see `KeyIndex.find`."""

    def find(self, key: int, *columns: object) -> int | None: ...


class Depths:
    """Lowers depths within one transaction."""

    def __init__(
        self,
        db: apsw.Connection,
        index: Finder,
        *,
        counts: Counts,
        woken: set[str],
        max_depth: int,
        unpack: Callable[[bytes], list[str]],
    ) -> None:
        self._db = db
        self._index = index
        self._counts = counts
        self._woken = woken
        self._max_depth = max_depth
        self._unpack = unpack
        self._todo: list[tuple[int, int]] = []  # pages whose links are to be lowered, with their depth

    def lower_known(self, discoveries: Iterable[Discovery]) -> None:
        """Lower known URLs that were found once more."""
        for discovery in discoveries:
            n = self._index.find(discovery.url_hash, host_key(discovery.host), discovery.url_hash)
            if n is not None:
                self._lower(n, discovery.depth, fits=discovery.state == State.PENDING)
        self._spread()

    def spread_fetched(self, ns: Iterable[int]) -> None:
        """Lower what pages lead to that were fetched while their depth may have been lowered."""
        if self._db.execute("SELECT NOT EXISTS (SELECT 1 FROM lowered)").get:
            return
        for n in ns:
            if self._db.execute("DELETE FROM lowered WHERE n = ? RETURNING n", (n,)).get is not None:
                state, _, depth, _ = self._db.execute(_ROW, (n,)).get
                if state == State.REJECTED:
                    self._lower(n, depth, fits=False)  # for a depth that it has no longer
                else:
                    self._todo.append((n, depth))
        self._spread()

    def spread(self, n: int) -> None:
        """Lower what a page leads to, where that lies deeper than the page allows."""
        state, _, depth, _ = self._db.execute(_ROW, (n,)).get
        if state != State.REJECTED:
            self._todo.append((n, depth))
            self._spread()

    def _lower(self, n: int, depth: int, *, fits: bool) -> None:
        state, reason, old, host = self._db.execute(_ROW, (n,)).get
        opens = state == State.REJECTED and reason == "depth" and (fits or min(depth, old) <= self._max_depth)
        if depth >= old and not opens:
            return
        depth = min(depth, old)
        if opens:
            self._db.execute(_OPEN, (depth, n))
            self._counts.state(state, reason, -1)
            self._counts.state(0, "", 1)
            self._woken.add(self._db.execute("SELECT name FROM host WHERE host = ?", (host,)).get)
            return
        self._db.execute("UPDATE url SET depth = ? WHERE n = ?", (depth, n))
        if state in (State.PENDING, State.WAITING):
            self._db.execute("INSERT OR IGNORE INTO lowered VALUES (?)", (n,))
        elif state != State.REJECTED:
            self._todo.append((n, depth))

    def _spread(self) -> None:
        """Lower what the pages on the list led to, and so on; ends because depths only shrink."""
        while self._todo:
            parent, depth = self._todo.pop()
            redirect = self._db.execute("SELECT redirect FROM url WHERE n = ?", (parent,)).get
            if redirect:
                self._lower_child(redirect, depth)
            packed = self._db.execute(NEWEST_LINKS, (parent,)).get
            if packed:
                for url in self._unpack(packed):
                    self._lower_child(url, depth + 1, refreshed_by=parent)

    def _lower_child(self, url: str, depth: int, *, refreshed_by: int = 0) -> None:
        """Lower a URL that a page of known depth leads to; a refresh or a list in a list is no level down."""
        url_hash = urls.url_id(url)
        n = self._index.find(url_hash, host_key(urls.host_of(url)), url_hash)
        if n is None:
            return
        if refreshed_by and self._db.execute(_IS_REFRESH, (n, refreshed_by)).get:
            depth -= 1
        self._lower(n, depth, fits=False)
