"""Shorter ways to known URLs in, exact depths out (T5).

A crawl meets a URL first on some way, not always on the shortest. When a shorter one turns up, the URL's depth is
lowered, and if it was fetched already, so are those that it led to; what was rejected for its depth alone is opened.
A URL that is lowered while it is pending may be under way with its old depth: it is written down in `lowered`, and what
it led to is put right when it is done.
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
    """Finds the row number of a URL; see `Index.find`."""

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

    def meet(self, founds: Iterable[Discovery]) -> None:
        """Known URLs that were found once more."""
        for found in founds:
            n = self._index.find(found.url_hash, host_key(found.host), found.url_hash)
            if n is not None:
                self._lower(n, found.depth, fits=found.state == State.PENDING)
        self._spread()

    def spread_done(self, ns: Iterable[int]) -> None:
        """Pages that were fetched with a depth that may have been lowered meanwhile."""
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
        """What a page leads to may lie deeper than the page allows: put it right."""
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
        """A page of known depth leads to `url`; a refresh or a list in a list is no level down."""
        ident = urls.url_id(url)
        n = self._index.find(ident, host_key(urls.host_of(url)), ident)
        if n is None:
            return
        if refreshed_by and self._db.execute(_IS_REFRESH, (n, refreshed_by)).get:
            depth -= 1
        self._lower(n, depth, fits=False)
