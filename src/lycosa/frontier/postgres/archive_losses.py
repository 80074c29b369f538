"""Archive losses in PostgreSQL: reads and drops what `ArchiveLosses` decides on, and requeues the URLs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from lycosa.frontier.archive_losses import ArchiveLosses, KeptPage, NewestCopy
from lycosa.frontier.contract import Span, overlaps
from lycosa.frontier.postgres.bulk_updates import open_rows
from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.frontier.postgres.counters import ShardedCounts
from lycosa.frontier.postgres.schema import part_of_row

#: Of a URL's copies the digest of the newest, whether the URL holds that content, and the type of the first.
_COPY = """
coalesce(newest.digest, ''), content.n IS NOT NULL, coalesce(oldest.mime, '')
FROM url
LEFT JOIN LATERAL (
    SELECT digest FROM page WHERE page.part = url.part AND page.n = url.n ORDER BY round DESC LIMIT 1
) AS newest ON true
LEFT JOIN LATERAL (
    SELECT mime FROM page WHERE page.part = url.part AND page.n = url.n ORDER BY round LIMIT 1
) AS oldest ON true
LEFT JOIN content ON newest.digest <> '' AND content.part = get_byte(newest.digest, 0)
    AND content.digest = newest.digest AND content.n = url.n"""
_KEPT = f"""
SELECT url.state, url.reason, url.via, url.host, greatest(url.round, 1),
    EXISTS (SELECT 1 FROM page AS now WHERE now.part = url.part AND now.n = url.n AND now.round = %s), lost.digest,
    {_COPY}
LEFT JOIN page AS lost ON lost.part = url.part AND lost.n = url.n AND lost.round = %s
WHERE url.part = %s AND url.n = %s"""
_KEEP = f"""
WITH copy (digest, is_holder, mime) AS (SELECT {_COPY} WHERE url.part = %s AND url.n = %s)
UPDATE url SET etag = '', modified = '', digest = copy.digest FROM copy WHERE url.part = %s AND url.n = %s
RETURNING copy.digest, copy.is_holder, copy.mime"""
_STORED_IN = """
SELECT n, round, "offset", length FROM page WHERE warc = %s
UNION ALL SELECT n, round, "offset", length FROM visit WHERE round = %s AND warc = %s"""
_COPIES = "SELECT n, round FROM page WHERE digest = ANY(%s)"
_LET_GO = "DELETE FROM content WHERE part = %s AND digest = %s AND n = %s AND round = %s"


def touched(connection: PostgresConnection, warc: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Row number and round of each page whose bytes touch these spans of an archive file."""
    rows = connection.read(lambda: connection.rows(_STORED_IN, (warc, connection.round, warc)))
    return [(n, number) for n, number, offset, length in rows if overlaps(offset, length, spans)]


def fetch_again(connection: PostgresConnection, pages: Iterable[tuple[int, int]]) -> int:
    """Forget what was stored of these pages in these rounds, and fetch again what has no newer copy."""
    pages = list(pages)

    def write() -> int:
        counts = ShardedCounts()
        losses = PostgresLosses(connection, counts)
        losses.forget(pages)
        counts.write(connection)
        open_rows(connection, list(losses.opened.values()))
        return len(losses.opened)

    return connection.write(write)


class PostgresLosses(ArchiveLosses):
    """Drops rows within one transaction."""

    def __init__(self, connection: PostgresConnection, counts: ShardedCounts) -> None:
        super().__init__(counts, number=connection.round)
        self._connection = connection

    def _find_copies(self, digests: Collection[bytes]) -> list[tuple[int, int]]:
        return self._connection.rows(_COPIES, (sorted(digests),))

    def _read(self, n: int, number: int) -> KeptPage | None:
        row = self._connection.row(_KEPT, (self._round, number, part_of_row(n), n))
        if row is None:
            return None
        state, reason, via, host, visited, is_stored_now, lost, digest, is_holder, mime = row
        return KeptPage(
            state=state,
            reason=reason,
            via=via,
            host=host,
            visited=visited,
            is_stored_now=is_stored_now,
            lost=None if lost is None else bytes(lost),
            copy=NewestCopy(bytes(digest), is_holder, mime),
        )

    def _drop_copy(self, n: int, number: int, digest: bytes) -> bool:
        connection, part = self._connection, part_of_row(n)
        is_holder = bool(digest) and connection.run(_LET_GO, (digest[0], digest, n, number)) > 0
        for table in ("page", "link"):
            connection.run(f"DELETE FROM {table} WHERE part = %s AND n = %s AND round = %s", (part, n, number))
        for table in ("record", "extracted"):
            connection.run(f"DELETE FROM {table} WHERE n = %s AND round = %s", (n, number))
        return is_holder

    def _drop_visit(self, n: int, number: int) -> str:
        sql = "DELETE FROM visit WHERE part = %s AND round = %s AND n = %s RETURNING event"
        return self._connection.value(sql, (part_of_row(n), number, n)) or ""

    def _ask_for_all(self, n: int) -> NewestCopy:
        place = (part_of_row(n), n)
        digest, is_holder, mime = self._connection.row(_KEEP, (*place, *place))
        return NewestCopy(bytes(digest), is_holder, mime)

    def _grow(self, host: int, change: int) -> None:
        sql = "UPDATE host SET pages = pages + %s WHERE part = %s AND host = %s"
        self._connection.run(sql, (change, (host >> 56) + 128, host))
