"""Archive losses: drops the rows of pages whose bytes the archive has lost, and requeues their URLs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from lycosa.frontier.contract import Span, overlaps
from lycosa.frontier.page_events import HELD, PageBefore, owns_before
from lycosa.frontier.sqlite.bulk_updates import open_rows
from lycosa.frontier.sqlite.connection import Connection
from lycosa.frontier.sqlite.counters import Counts
from lycosa.model import State

_KEPT = """
SELECT url.state, url.reason, url.via, url.was, url.digest, url.host, max(url.round, 1), page.digest, page.mime
FROM url LEFT JOIN page ON page.n = url.n AND page.round = ? WHERE url.n = ?"""
_STORED_IN = """
SELECT n, round, offset, length FROM page WHERE warc = ?1
UNION ALL SELECT n, round, offset, length FROM visit WHERE round = ?2 AND warc = ?1"""
_TWINS = "SELECT n FROM url WHERE state IN (1, 2, 3) AND digest IN carray(?)"
_LET_GO = "DELETE FROM content WHERE seq = ? AND n = ? AND round = ? RETURNING n"
_NEWEST = "SELECT digest FROM page WHERE n = ? ORDER BY round DESC LIMIT 1"


def touched(connection: Connection, warc: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Row number and round of each page whose bytes touch these spans of an archive file, in one pass."""
    rows: Iterable[Any] = connection.db.execute(_STORED_IN, (warc, connection.round))
    return [(n, number) for n, number, offset, length in rows if overlaps(offset, length, spans)]


def fetch_again(connection: Connection, pages: Iterable[tuple[int, int]]) -> int:
    """Forget what was stored of these pages in these rounds, and fetch again what has no newer copy.

    Pages that count as their duplicates are fetched again as well: their bytes were never kept.
    """
    with connection.write():
        connection.contents.catch_up()
        losses = _Losses(connection)
        for n, number in pages:
            losses.forget(n, number)
        if losses.digests:
            twins: list[Any] = connection.db.execute(_TWINS, (apsw.carray(tuple(losses.digests)),)).fetchall()
            for (n,) in twins:
                losses.forget(n, connection.round)
            connection.contents.forget()
        losses.counts.write(connection.db)
        open_rows(connection, list(losses.opened.values()))
    return len(losses.opened)


class _Losses:
    """Drops rows within one transaction and gathers what follows from it."""

    def __init__(self, connection: Connection) -> None:
        self.counts = Counts()
        self.digests: set[bytes] = set()  # contents that nobody holds any more
        self.opened: dict[int, tuple[int, int, str]] = {}
        self._connection = connection
        self._db = connection.db

    def forget(self, n: int, number: int) -> None:
        """Drop what a round stored of a page."""
        row = self._db.execute(_KEPT, (number, n)).fetchone()
        if row is None:
            return
        state, reason, via, was, digest, host, visited, lost, mime = row
        if lost is not None:
            self._drop_page(n, number, lost)
        event = self._db.execute("DELETE FROM visit WHERE round = ? AND n = ? RETURNING event", (number, n)).get
        if event or (number == 1 and lost is not None and via != "sitemap"):
            self.counts.figure(event or "new", str(number), -1)
        held = self._db.execute(_NEWEST, (n,)).get or b""
        if not held and lost is not None:
            self._drop_last(
                host, mime, owned=via != "sitemap" and owns_before(PageBefore(state, reason, via, was, digest))
            )
        # Ask for all of it the next time.
        self._db.execute("UPDATE url SET etag = '', modified = '', digest = ? WHERE n = ?", (held, n))
        newest = number == self._connection.round or lost == digest or digest in self.digests
        if state == State.PENDING or not newest or n in self.opened:
            return
        if state in HELD and digest and visited == self._connection.round and via != "sitemap":
            self.counts.figure("stored", str(visited), -1)
        self.opened[n] = (n, state, reason)

    def _drop_page(self, n: int, number: int, digest: bytes) -> None:
        position = self._connection.contents.find(digest, digest)
        if position is not None and self._db.execute(_LET_GO, (position, n, number)).get:
            self._db.execute("DELETE FROM holder WHERE digest = ?", (digest,))
            self.digests.add(digest)
        self._db.execute("DELETE FROM page WHERE n = ? AND round = ?", (n, number))
        self._db.execute("DELETE FROM link WHERE key = ? << 20 | ?", (n, number))
        for table in ("extracted", "record"):
            self._db.execute(f"DELETE FROM {table} WHERE n = ? AND round = ?", (n, number))

    def _drop_last(self, host: int, mime: str, *, owned: bool) -> None:
        """Count a page whose only copy is lost out of the collection's pages."""
        if mime:
            self.counts.figure("type", mime, -1)
        if owned:
            self.counts.figure("pages", "", -1)
            self._db.execute("UPDATE host SET pages = pages - 1 WHERE host = ?", (host,))
