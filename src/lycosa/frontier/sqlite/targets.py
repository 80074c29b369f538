"""What a SQLite frontier knows: of URLs, hosts and contents; its targets, seeds and archive files; and its figures.

Targets are what waits to be fetched, by host. Reading goes through indexes whose cost does not depend on how much there
is.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from itertools import islice
from math import inf
from typing import Any

import apsw

from lycosa import urls
from lycosa.frontier.contract import UrlRow
from lycosa.frontier.partitions import PART_SQL, host_key, spans
from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.batch_transaction import BatchTransaction
from lycosa.frontier.sqlite.changes import open_rows
from lycosa.frontier.sqlite.connection import Session, SqliteFacet, translated
from lycosa.frontier.stored import OWED, URL_ROW, StoredFigures, read_target, tell_failed
from lycosa.model import (
    ArchivePlace,
    ContentHolder,
    Discovery,
    HostRow,
    RobotsRow,
    State,
    Target,
    WarcRow,
    WeightUpdate,
)

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


_SEEDS_AT_ONCE = 50_000
_CHUNK = 5_000  # rows woken in one transaction

#: From one host with pending URLs to the next, without looking at the URLs between.
_BUSY_HOSTS = """
WITH RECURSIVE busy (host) AS (
    SELECT min(host) FROM url INDEXED BY pending WHERE state = 0 AND host >= ?1
    UNION ALL
    SELECT (SELECT min(url.host) FROM url INDEXED BY pending WHERE state = 0 AND url.host > busy.host)
    FROM busy WHERE busy.host < ?2
)
SELECT name, next_at, delay_s, iif(round = ?3, visited, 0), errors
FROM busy CROSS JOIN host USING (host) WHERE host <= ?2"""
_TARGET = """
n, id, url, ?1, depth, hops, retries, seed, score, parent, via, etag, modified, digest, round, redirect,
interval, changes, watched, checked, lore"""
_LOAD = f"""
SELECT {_TARGET} FROM url INDEXED BY pending WHERE state = 0 AND host = ?2 AND score <= ?4
ORDER BY score DESC, n LIMIT ?3"""
_LOAD_OTHERS = f"""
SELECT {_TARGET} FROM url INDEXED BY pending WHERE state = 0 AND host = ?2 AND score <= ?4
AND n NOT IN carray(?5)
ORDER BY score DESC, n LIMIT ?3"""
_NAME = "(SELECT name FROM host WHERE host.host = url.host)"
_ONE = f"SELECT {_TARGET.replace('?1', _NAME)} FROM url WHERE state = 0 AND n = ?"
_NEXT_DUE = f"SELECT min(due) FROM url INDEXED BY waiting WHERE state = 9 AND {PART_SQL} = ?"
_DUE = f"SELECT n, host, reason FROM url INDEXED BY waiting WHERE state = 9 AND {PART_SQL} = ? AND due <= ? LIMIT ?"
_LEFT = """
SELECT EXISTS (SELECT 1 FROM url INDEXED BY pending WHERE state = 0)
    OR EXISTS (SELECT 1 FROM url INDEXED BY waiting WHERE state = 9)"""
_INBOX = "SELECT host, name FROM inbox CROSS JOIN host USING (host) WHERE inbox.host BETWEEN ? AND ?"
_BAD_SEEDS = f"SELECT {URL_ROW} FROM seed CROSS JOIN url USING (n) WHERE given AND state > 3 ORDER BY n"


class SqliteTargets(SqliteFacet):
    """The URLs that wait to be fetched."""

    @translated
    def hosts(self, parts: Iterable[int]) -> list[HostRow]:
        rows = (self._conn.db.execute(_BUSY_HOSTS, (*span, self._conn.round)) for span in spans(parts))
        return [HostRow(*row) for cursor in rows for row in cursor]

    @translated
    def load(self, host: str, *, limit: int, skip: Collection[int] = (), most: float = inf) -> list[Target]:
        if skip:
            bindings = (host, host_key(host), limit, most, apsw.carray(array("q", skip)))
            rows = self._conn.db.execute(_LOAD_OTHERS, bindings)
        else:
            rows = self._conn.db.execute(_LOAD, (host, host_key(host), limit, most))
        return [read_target(row) for row in rows]

    @translated
    def of_row(self, n: int) -> Target | None:
        row = self._conn.db.execute(_ONE, (n,)).fetchone()
        return None if row is None else read_target(row)

    @translated
    def wake_due(self, parts: Iterable[int], now: float) -> list[str]:
        connection, db = self._conn, self._conn.db
        hosts: set[int] = set()
        if not db.execute("SELECT EXISTS (SELECT 1 FROM url INDEXED BY waiting WHERE state = 9)").get:
            return []
        for part in parts:
            while db.execute(_DUE, (part, now, 1)).fetchone():
                with connection.write():
                    rows: list[Any] = db.execute(_DUE, (part, now, _CHUNK)).fetchall()
                    open_rows(connection, [(n, State.WAITING, reason) for n, _, reason in rows], notify=False)
                hosts.update(host for _, host, _ in rows)
        return [db.execute("SELECT name FROM host WHERE host = ?", (host,)).get for host in sorted(hosts)]

    @translated
    def next_due(self, parts: Iterable[int]) -> float | None:
        times = (self._conn.db.execute(_NEXT_DUE, (part,)).get for part in parts)
        return min((time for time in times if time is not None), default=None)

    @translated
    def inbox(self, parts: Iterable[int]) -> list[str]:
        connection = self._conn
        version = connection.version()
        if version == connection.read_inbox_at:
            return []
        ranges = spans(parts)
        if not any(connection.db.execute(_INBOX, span).fetchone() for span in ranges):
            connection.read_inbox_at = version
            return []
        names = []
        with connection.write():
            for span in ranges:
                names += [name for _, name in connection.db.execute(_INBOX, span)]
                connection.db.execute("DELETE FROM inbox WHERE host BETWEEN ? AND ?", span)
        return names

    def pending(self) -> bool:
        return bool(self._ask(_LEFT)[0][0])

    def owes_requisites(self) -> bool:
        return bool(self._ask(f"SELECT EXISTS (SELECT 1 FROM url INDEXED BY pending WHERE {OWED})")[0][0])


class SqliteSeeds(SqliteFacet):
    """The seeds of a collection."""

    def __init__(self, session: Session, known: SqliteKnowledge) -> None:
        super().__init__(session)
        self._known = known

    @translated
    def add(self, discoveries: Iterable[Discovery], *, max_depth: int = -1) -> int:
        connection, rows, new = self._conn, iter(discoveries), 0
        while some := list(islice(rows, _SEEDS_AT_ONCE)):
            with connection.write():
                connection.urls.catch_up()
                writer = BatchTransaction(connection, owned=frozenset(), max_depth=max_depth)
                new += writer.add_seeds(some)
                writer.finish()
        connection.read_inbox_at = 0
        return new

    def all(self) -> list[str]:
        return [url for (url,) in self._ask("SELECT url FROM seed CROSS JOIN url USING (n) ORDER BY n")]

    def count(self) -> int:
        return int(self._ask("SELECT count(*) FROM seed")[0][0])

    def given(self) -> list[str]:
        sql = "SELECT url FROM seed CROSS JOIN url USING (n) WHERE given ORDER BY n"
        return [url for (url,) in self._ask(sql)]

    def failed(self) -> dict[str, str]:
        return tell_failed((UrlRow(*row) for row in self._ask(_BAD_SEEDS)), self._known.find)
