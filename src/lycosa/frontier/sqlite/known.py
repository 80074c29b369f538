"""What a SQLite frontier knows: of URLs, hosts and contents; its archive files, and its figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lycosa import urls
from lycosa.frontier.contract import UrlRow
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.connection import SqliteFacet, translated
from lycosa.frontier.stored import URL_ROW, StoredFigures
from lycosa.model import ArchivePlace, ContentHolder, HostRow, RobotsRow, WarcRow, WeightUpdate

_ROW = f"SELECT {URL_ROW} FROM url WHERE n = ?"
_LATER = "SELECT n FROM url WHERE n > ? AND id = ? AND host = ?"  # what other workers have appended since
_HOLDER = "SELECT {} FROM content JOIN url USING (n) JOIN page USING (n, round) WHERE seq = ?"
_HOST = "SELECT name, next_at, delay_s, iif(round = ?, visited, 0), errors FROM host WHERE host = ?"


class SqliteKnowledge(SqliteFacet):
    """What is known of URLs, hosts and contents, and what policies learned."""

    @translated
    def find(self, url: str) -> UrlRow | None:
        connection, url_hash, host = self._conn, urls.url_id(url), host_key(urls.host_of(url))
        if connection.urls.loaded:
            n = connection.urls.find(url_hash, host, url_hash)
            if n is None:
                n = connection.db.execute(_LATER, (connection.urls.last, url_hash, host)).get
        else:
            n = connection.db.execute(schema.FIND_URL, (host, url_hash)).get
        if n is None:
            return None
        row = UrlRow(*connection.db.execute(_ROW, (n,)).get)
        row.seed = bool(row.seed)
        return row

    def holds(self, url_hash: int) -> bool:
        connection = self._session.connection
        return connection is not None and connection.urls.holds(url_hash)

    @translated
    def recall(self, url: str) -> tuple[int, str] | None:
        known, url_hash = self._conn.urls, urls.url_id(url)
        if not known.loaded:
            known.catch_up()
        n = known.find(url_hash, host_key(urls.host_of(url)), url_hash)
        sql = "SELECT state, coalesce(reason, '') FROM url WHERE n = ?"
        row: tuple[int, str] | None = None if n is None else self._conn.db.execute(sql, (n,)).fetchone()
        return row

    @translated
    def host(self, name: str) -> HostRow:
        row = self._conn.db.execute(_HOST, (self._conn.round, host_key(name))).fetchone()
        return HostRow(name) if row is None else HostRow(*row)

    def robots(self, origin: str) -> RobotsRow | None:
        rows = self._ask("SELECT origin, fetched_at, status, body FROM robots WHERE origin = ?", origin)
        return RobotsRow(*rows[0]) if rows else None

    def tallies(self, host: str) -> dict[str, int]:
        return dict(self._ask("SELECT key, count FROM tally WHERE host = ?", host_key(host)))

    def look_up_contents(self, digests: Iterable[bytes]) -> None:
        """A question for one costs no round trip here."""

    @translated
    def content_holder(self, digest: bytes) -> ContentHolder | None:
        row = self._find_content(digest, "url.n, url.url, page.fetched_at")
        return ContentHolder(*row) if row is not None else None

    @translated
    def content_place(self, digest: bytes) -> ArchivePlace | None:
        row = self._find_content(digest, "page.warc, page.offset, page.length")
        return ArchivePlace(*row) if row is not None else None

    def _find_content(self, digest: bytes, columns: str) -> Any:
        contents = self._conn.contents
        if not contents.loaded:
            contents.catch_up()
        position = contents.find(digest, digest)
        return None if position is None else self._conn.db.execute(_HOLDER.format(columns), (position,)).fetchone()

    def lessons(self, since: int = 0) -> tuple[int, list[WeightUpdate]]:
        stamp = self._ask("SELECT max(stamp) FROM lesson")[0][0] or 0
        if stamp <= since:
            return stamp, []
        return stamp, self._ask("SELECT key, weight, energy FROM lesson WHERE stamp > ?", since)

    @translated
    def forget_lessons(self) -> None:
        with self._conn.write():
            self._conn.db.execute("DELETE FROM lesson")


class SqliteSegments(SqliteFacet):
    """The archive files, all of them in the folder of the collection."""

    def here(self) -> list[WarcRow]:
        return [WarcRow(*row) for row in self._ask("SELECT name, size, synced, stamp FROM warc")]

    @translated
    def record(self, rows: Iterable[WarcRow]) -> None:
        with self._conn.write():
            for row in rows:
                values = (row.name, row.size, row.synced, row.mtime_ns)
                self._conn.db.execute("INSERT OR REPLACE INTO warc VALUES (?, ?, ?, ?)", values)
            self._conn.db.execute("DELETE FROM warc WHERE size = 0")


class SqliteFigures(SqliteFacet, StoredFigures):
    """The figures in a file."""

    cut = f"""
SELECT url.url, page.mime FROM url JOIN page USING (n)
WHERE url.state < 4 AND url.reason = 'too-large' AND {schema.NEWEST_COPY} ORDER BY n LIMIT ?"""

    @property
    @translated
    def _round(self) -> int:
        return self._conn.round
