"""Archive losses in SQLite: reads and drops what `ArchiveLosses` decides on, and requeues the URLs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import apsw

from lycosa.frontier.archive_losses import ArchiveLosses, KeptPage, NewestCopy
from lycosa.frontier.contract import Span, overlaps
from lycosa.frontier.sqlite.bulk_updates import open_rows
from lycosa.frontier.sqlite.connection import Connection
from lycosa.frontier.sqlite.counters import Counts

_KEPT = """
SELECT url.state, url.reason, url.via, url.host, max(url.round, 1),
    EXISTS (SELECT 1 FROM page WHERE page.n = url.n AND page.round = ?), page.digest
FROM url LEFT JOIN page ON page.n = url.n AND page.round = ? WHERE url.n = ?"""
_STORED_IN = """
SELECT n, round, offset, length FROM page WHERE warc = ?1
UNION ALL SELECT n, round, offset, length FROM visit WHERE round = ?2 AND warc = ?1"""
_COPIES = "SELECT n, round FROM page WHERE digest IN carray(?)"
_LET_GO = "DELETE FROM content WHERE seq = ? AND n = ? AND round = ? RETURNING n"
_NEWEST = "SELECT digest FROM page WHERE n = ? ORDER BY round DESC LIMIT 1"
_FIRST = "SELECT mime FROM page WHERE n = ? ORDER BY round LIMIT 1"


def touched(connection: Connection, warc: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Row number and round of each page whose bytes touch these spans of an archive file, in one pass."""
    rows: Iterable[Any] = connection.db.execute(_STORED_IN, (warc, connection.round))
    return [(n, number) for n, number, offset, length in rows if overlaps(offset, length, spans)]


def fetch_again(connection: Connection, pages: Iterable[tuple[int, int]]) -> int:
    """Forget what was stored of these pages in these rounds, and fetch again what has no newer copy."""
    with connection.write():
        connection.contents.catch_up()
        counts = Counts()
        losses = SqliteLosses(connection, counts)
        losses.forget(pages)
        if losses.let_go:
            connection.contents.forget()
        counts.write(connection.db)
        open_rows(connection, list(losses.opened.values()))
    return len(losses.opened)


class SqliteLosses(ArchiveLosses):
    """Drops rows within one transaction."""

    def __init__(self, connection: Connection, counts: Counts) -> None:
        super().__init__(counts, number=connection.round)
        self._connection = connection
        self._db = connection.db
        self.let_go: set[bytes] = set()  # contents that the key index still knows

    def _find_copies(self, digests: Collection[bytes]) -> list[tuple[int, int]]:
        rows: list[Any] = self._db.execute(_COPIES, (apsw.carray(tuple(digests)),)).fetchall()
        return rows

    def _read(self, n: int, number: int) -> KeptPage | None:
        row = self._db.execute(_KEPT, (self._round, number, n)).fetchone()
        if row is None:
            return None
        state, reason, via, host, visited, is_stored_now, lost = row
        return KeptPage(
            state=state,
            reason=reason,
            via=via,
            host=host,
            visited=visited,
            is_stored_now=bool(is_stored_now),
            lost=lost,
            copy=self._read_copy(n),
        )

    def _find_content(self, digest: bytes) -> int | None:
        return None if digest in self.let_go else self._connection.contents.find(digest, digest)

    def _read_copy(self, n: int) -> NewestCopy:
        digest = self._db.execute(_NEWEST, (n,)).get or b""
        position = self._find_content(digest)
        is_holder = (
            position is not None and self._db.execute("SELECT n FROM content WHERE seq = ?", (position,)).get == n
        )
        return NewestCopy(digest, is_holder, self._db.execute(_FIRST, (n,)).get or "")

    def _drop_copy(self, n: int, number: int, digest: bytes) -> bool:
        position = self._find_content(digest)
        is_holder = position is not None and self._db.execute(_LET_GO, (position, n, number)).get is not None
        if is_holder:
            self._db.execute("DELETE FROM holder WHERE digest = ?", (digest,))
            self.let_go.add(digest)
        self._db.execute("DELETE FROM page WHERE n = ? AND round = ?", (n, number))
        self._db.execute("DELETE FROM link WHERE key = ? << 20 | ?", (n, number))
        for table in ("extracted", "record"):
            self._db.execute(f"DELETE FROM {table} WHERE n = ? AND round = ?", (n, number))
        return is_holder

    def _drop_visit(self, n: int, number: int) -> str:
        sql = "DELETE FROM visit WHERE round = ? AND n = ? RETURNING event"
        return self._db.execute(sql, (number, n)).get or ""

    def _ask_for_all(self, n: int) -> NewestCopy:
        copy = self._read_copy(n)
        self._db.execute("UPDATE url SET etag = '', modified = '', digest = ? WHERE n = ?", (copy.digest, n))
        return copy

    def _grow(self, host: int, change: int) -> None:
        self._db.execute("UPDATE host SET pages = pages + ? WHERE host = ?", (change, host))
