"""Depths in SQLite: reads and writes what `DepthKeeper` decides on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

import apsw

from lycosa import urls
from lycosa.frontier.consequences import ChangeCounts, DepthKeeper, DepthRow, Unpack
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite.schema import NEWEST_LINKS
from lycosa.model import State

_ROW = "SELECT url, n, state, reason, depth, parent, via FROM url WHERE n = ?"
_OPEN = "UPDATE url SET state = 0, reason = '', due = 0 WHERE n = ?"


class Finder(Protocol):
    """Finds the row number of a URL; see `KeyIndex.find`."""

    def find(self, key: int, *columns: object) -> int | None: ...


class Depths(DepthKeeper):
    """Lowers depths within one transaction."""

    def __init__(
        self,
        db: apsw.Connection,
        index: Finder,
        *,
        counts: ChangeCounts,
        woken: set[str],
        max_depth: int,
        unpack: Unpack,
    ) -> None:
        super().__init__(counts=counts, woken=woken, max_depth=max_depth, unpack=unpack)
        self._db = db
        self._index = index

    def spread(self, n: int) -> None:
        """Lower what a page leads to, where that lies deeper than the page allows."""
        row = self._read(n)
        if row.state != State.REJECTED:
            self._todo.append((n, row.depth))
            self._spread()

    def _read(self, n: int) -> DepthRow:
        return DepthRow(*self._db.execute(_ROW, (n,)).get)

    def _find(self, addresses: Iterable[str]) -> Iterator[DepthRow]:
        for url in addresses:
            url_hash = urls.url_id(url)
            n = self._index.find(url_hash, host_key(urls.host_of(url)), url_hash)
            if n is not None:
                yield self._read(n)

    def _take_lowered(self, rows: Collection[int]) -> list[DepthRow]:
        if not rows or self._db.execute("SELECT NOT EXISTS (SELECT 1 FROM lowered)").get:
            return []
        taken = (self._db.execute("DELETE FROM lowered WHERE n = ? RETURNING n", (n,)).get for n in rows)
        return [self._read(n) for n in taken if n is not None]

    def _read_ways(self, n: int) -> tuple[str, bytes]:
        redirect = self._db.execute("SELECT redirect FROM url WHERE n = ?", (n,)).get
        return redirect, self._db.execute(NEWEST_LINKS, (n,)).get or b""

    def _open(self, n: int) -> bool:
        self._db.execute(_OPEN, (n,))
        return True

    def _set(self, row: DepthRow, depth: int) -> DepthRow:
        self._db.execute("UPDATE url SET depth = ? WHERE n = ?", (depth, row.n))
        return row._replace(depth=depth)

    def _record_lowered(self, n: int) -> None:
        self._db.execute("INSERT OR IGNORE INTO lowered VALUES (?)", (n,))
