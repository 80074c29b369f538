"""Bytes that the archive has lost in; URLs to be fetched again out, and no row that speaks of what is not there."""

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


def touched(desk: Connection, warc: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Row number and round of each page whose bytes touch these spans of an archive file, in one pass."""
    rows: Iterable[Any] = desk.db.execute(_STORED_IN, (warc, desk.round))
    return [(n, number) for n, number, offset, length in rows if overlaps(offset, length, spans)]


def fetch_again(desk: Connection, pages: Iterable[tuple[int, int]]) -> int:
    """Forget what was stored of these pages in these rounds, and fetch again what has no newer copy.

    Whatever counts as their duplicate is fetched again as well: its bytes were never kept.
    """
    with desk.write():
        desk.contents.catch_up()
        losses = _Losses(desk)
        for n, number in pages:
            losses.forget(n, number)
        if losses.digests:
            twins: list[Any] = desk.db.execute(_TWINS, (apsw.carray(tuple(losses.digests)),)).fetchall()
            for (n,) in twins:
                losses.forget(n, desk.round)
            desk.contents.forget()
        losses.counts.write(desk.db)
        open_rows(desk, list(losses.opened.values()))
    return len(losses.opened)


class _Losses:
    """Drops rows within one transaction and gathers what follows from it."""

    def __init__(self, desk: Connection) -> None:
        self.counts = Counts()
        self.digests: set[bytes] = set()  # contents that nobody holds any more
        self.opened: dict[int, tuple[int, int, str]] = {}
        self._desk = desk
        self._db = desk.db

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
        newest = number == self._desk.round or lost == digest or digest in self.digests
        if state == State.PENDING or not newest or n in self.opened:
            return
        if state in HELD and digest and visited == self._desk.round and via != "sitemap":
            self.counts.figure("stored", str(visited), -1)
        self.opened[n] = (n, state, reason)

    def _drop_page(self, n: int, number: int, digest: bytes) -> None:
        position = self._desk.contents.find(digest, digest)
        if position is not None and self._db.execute(_LET_GO, (position, n, number)).get:
            self._db.execute("DELETE FROM holder WHERE digest = ?", (digest,))
            self.digests.add(digest)
        self._db.execute("DELETE FROM page WHERE n = ? AND round = ?", (n, number))
        self._db.execute("DELETE FROM link WHERE key = ? << 20 | ?", (n, number))
        for table in ("extracted", "record"):
            self._db.execute(f"DELETE FROM {table} WHERE n = ? AND round = ?", (n, number))

    def _drop_last(self, host: int, mime: str, *, owned: bool) -> None:
        """The only copy of a page is lost: it is none of the collection's pages any more."""
        if mime:
            self.counts.figure("type", mime, -1)
        if owned:
            self.counts.figure("pages", "", -1)
            self._db.execute("UPDATE host SET pages = pages - 1 WHERE host = ?", (host,))
