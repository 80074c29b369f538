"""Archive losses: drops the rows of pages whose bytes the archive has lost, and requeues their URLs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lycosa.frontier.contract import Span, overlaps
from lycosa.frontier.page_events import HELD, PageBefore, owns_before
from lycosa.frontier.postgres.bulk_updates import open_rows
from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.frontier.postgres.counters import ShardedCounts
from lycosa.frontier.postgres.schema import part_of_row
from lycosa.model import State

_KEPT = """
SELECT url.state, url.reason, url.via, url.was, url.digest, url.host, greatest(url.round, 1), page.digest, page.mime
FROM url LEFT JOIN page ON page.part = url.part AND page.n = url.n AND page.round = %s
WHERE url.part = %s AND url.n = %s"""
_STORED_IN = """
SELECT n, round, "offset", length FROM page WHERE warc = %s
UNION ALL SELECT n, round, "offset", length FROM visit WHERE round = %s AND warc = %s"""
_TWINS = "SELECT n FROM url WHERE state IN (1, 2, 3) AND digest = ANY(%s)"
_LET_GO = "DELETE FROM content WHERE part = %s AND digest = %s AND n = %s AND round = %s"
_NEWEST = "SELECT digest FROM page WHERE part = %s AND n = %s ORDER BY round DESC LIMIT 1"


def touched(connection: PostgresConnection, warc: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Row number and round of each page whose bytes touch these spans of an archive file."""
    rows = connection.rows(_STORED_IN, (warc, connection.round, warc))
    return [(n, number) for n, number, offset, length in rows if overlaps(offset, length, spans)]


def fetch_again(connection: PostgresConnection, pages: Iterable[tuple[int, int]]) -> int:
    """Forget what was stored of these pages in these rounds, and fetch again what has no newer copy.

    Pages that count as their duplicates are fetched again as well: their bytes were never kept.
    """
    pages = list(pages)

    def write() -> int:
        losses = _Losses(connection)
        for n, number in pages:
            losses.forget(n, number)
        if losses.digests:
            for (n,) in connection.rows(_TWINS, (sorted(losses.digests),)):
                losses.forget(n, connection.round)
        losses.counts.write(connection)
        open_rows(connection, list(losses.opened.values()))
        return len(losses.opened)

    return connection.write(write)


class _Losses:
    """Drops rows within one transaction and gathers what follows from it."""

    def __init__(self, connection: PostgresConnection) -> None:
        self.counts = ShardedCounts()
        self.digests: set[bytes] = set()  # contents that nobody holds any more
        self.opened: dict[int, tuple[int, int, str]] = {}
        self._connection = connection

    def forget(self, n: int, number: int) -> None:
        """Drop what a round stored of a page."""
        connection, part = self._connection, part_of_row(n)
        row = connection.row(_KEPT, (number, part, n))
        if row is None:
            return
        state, reason, via, was, digest, host, visited, lost, mime = row
        if lost is not None:
            self._drop_page(n, number, bytes(lost))
        sql = "DELETE FROM visit WHERE part = %s AND round = %s AND n = %s RETURNING event"
        event = connection.value(sql, (part, number, n))
        if event or (number == 1 and lost is not None and via != "sitemap"):
            self.counts.figure(event or "new", str(number), -1)
        held = connection.value(_NEWEST, (part, n)) or b""
        if not held and lost is not None:
            owned = via != "sitemap" and owns_before(PageBefore(state, reason, via, was, bytes(digest)))
            self._drop_last(part, host, mime, owned=owned)
        # Ask for all of it the next time.
        sql = "UPDATE url SET etag = '', modified = '', digest = %s WHERE part = %s AND n = %s"
        connection.run(sql, (held, part, n))
        newest = number == connection.round or lost == digest or bytes(digest) in self.digests
        if state == State.PENDING or not newest or n in self.opened:
            return
        if state in HELD and digest and visited == connection.round and via != "sitemap":
            self.counts.figure("stored", str(visited), -1)
        self.opened[n] = (n, state, reason)

    def _drop_page(self, n: int, number: int, digest: bytes) -> None:
        connection, part = self._connection, part_of_row(n)
        if digest and connection.run(_LET_GO, (digest[0], digest, n, number)):
            self.digests.add(digest)
        for table in ("page", "link"):
            connection.run(f"DELETE FROM {table} WHERE part = %s AND n = %s AND round = %s", (part, n, number))
        for table in ("record", "extracted"):
            connection.run(f"DELETE FROM {table} WHERE n = %s AND round = %s", (n, number))

    def _drop_last(self, part: int, host: int, mime: str, *, owned: bool) -> None:
        """Count a page whose only copy is lost out of the collection's pages."""
        if mime:
            self.counts.figure("type", mime, -1)
        if owned:
            self.counts.figure("pages", "", -1)
            sql = "UPDATE host SET pages = pages - 1 WHERE part = %s AND host = %s"
            self._connection.run(sql, (part, host))
