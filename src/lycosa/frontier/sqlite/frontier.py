"""SQLite frontier: one file, shared by the workers of one machine.

Every worker process opens a frontier of its own, after the fork. Reading goes through indexes whose cost does not
depend on how much there is; writing is one short transaction per batch. What was committed survives a kill at any
instant.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw

from lycosa import urls
from lycosa.frontier import link_codec
from lycosa.frontier.contract import Judge, LeaseLost, RoundRow, Span, Summary, UrlRow
from lycosa.frontier.depths import Unpack
from lycosa.frontier.partitions import PART_SQL, host_key, part_of, spans
from lycosa.frontier.sqlite import archive_losses, bulk_updates, rounds, schema, statistics
from lycosa.frontier.sqlite.batch_transaction import BatchTransaction
from lycosa.frontier.sqlite.connection import Connection
from lycosa.frontier.sqlite.errors import translate
from lycosa.frontier.sqlite.key_index import MOST
from lycosa.frontier.sqlite.leases import Leases
from lycosa.frontier.utf8 import cleaned
from lycosa.model import (
    ArchivePlace,
    Batch,
    Committed,
    ContentHolder,
    Discovery,
    HostRow,
    RobotsRow,
    State,
    Target,
    VisitHistory,
    WarcRow,
    WeightUpdate,
)

P = ParamSpec("P")
R = TypeVar("R")

_SEEDS_AT_ONCE = 10_000

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
_LOAD = f"SELECT {_TARGET} FROM url INDEXED BY pending WHERE state = 0 AND host = ?2 ORDER BY score DESC, n LIMIT ?3"
_LOAD_OTHERS = f"""
SELECT {_TARGET} FROM url INDEXED BY pending WHERE state = 0 AND host = ?2 AND n NOT IN carray(?4)
ORDER BY score DESC, n LIMIT ?3"""
_NAME = "(SELECT name FROM host WHERE host.host = url.host)"
_ONE = f"SELECT {_TARGET.replace('?1', _NAME)} FROM url WHERE state = 0 AND n = ?"
_NEXT_DUE = f"SELECT min(due) FROM url INDEXED BY waiting WHERE state = 9 AND {PART_SQL} = ?"
_LEFT = """
SELECT EXISTS (SELECT 1 FROM url INDEXED BY pending WHERE state = 0)
    OR EXISTS (SELECT 1 FROM url INDEXED BY waiting WHERE state = 9)"""
_INBOX = "SELECT host, name FROM inbox CROSS JOIN host USING (host) WHERE inbox.host BETWEEN ? AND ?"
_LATER = "SELECT n FROM url WHERE n > ? AND id = ? AND host = ?"  # what other workers have appended since
_HOLDER = "SELECT {} FROM content JOIN url USING (n) JOIN page USING (n, round) WHERE seq = ?"


def _read_target(columns: Any) -> Target:
    n, url_hash, url, host, depth, hops, retries, seed, score, parent, via, *visit, policy_data = columns
    etag, modified, digest, round_number, redirect, *history = visit
    return Target(
        row=n,
        url_hash=url_hash,
        url=url,
        host=host,
        depth=depth,
        hops=hops,
        retries=retries,
        seed=bool(seed),
        score=score,
        parent=parent,
        via=via,
        etag=etag,
        modified=modified,
        digest=digest,
        round=round_number,
        history=VisitHistory(*history),
        redirect=redirect,
        policy_data=policy_data,
    )


Method = Callable[Concatenate["SqliteFrontier", P], R]


def _translated(method: Method[P, R]) -> Method[P, R]:
    """Turn errors of SQLite into ours, which a person understands; while suspended, open for this call alone."""

    @wraps(method)
    def call(self: SqliteFrontier, *args: P.args, **kwargs: P.kwargs) -> R:
        brief = self._connection is None
        try:
            if brief:
                self._open()
            return method(self, *args, **kwargs)
        except apsw.Error as problem:
            raise translate(problem, self.path) from problem
        finally:
            if brief and self._suspended:
                self._shut()

    return call  # type: ignore[return-value]  # wraps() names the first argument


class SqliteFrontier:
    """A frontier in a file. Each worker has an object of its own, which remembers the leases that it took."""

    def __init__(self, path: str | Path, *, unpack_links: Unpack = link_codec.targets, recent_max: int = MOST) -> None:
        """Open a database; `unpack_links` gives the URLs of a link row, `recent_max` bounds the keys held in memory."""
        self.path = Path(path)
        self._unpack = unpack_links
        self._recent_max = recent_max
        self._leases = Leases()
        self._suspended = self._closed = False
        self._read_inbox_at = 0  # the version of the database when the inbox was last found empty
        self._seeds: list[str] = []  # workers ask again and again, and there may be millions
        self._connection: Connection | None = None
        self._open()

    @staticmethod
    def create(path: str | Path, *, mission_toml: str, now: float) -> None:
        """Make an empty database; it is then opened as any other."""
        schema.create(Path(path), mission_toml=mission_toml, now=now)

    def _open(self) -> None:
        if self._closed:
            raise RuntimeError(f"{self.path} was closed")
        self._connection = Connection(self.path, self._leases, unpack=self._unpack, recent_max=self._recent_max)
        self._read_inbox_at = 0

    def _shut(self) -> None:
        if self._connection is not None:
            self._connection.db.close()
            self._connection = None

    @property
    def _conn(self) -> Connection:
        """The open connection."""
        assert self._connection is not None
        return self._connection

    def suspend(self) -> None:
        self._suspended = True
        self._shut()

    def resume(self) -> None:
        self._suspended = False
        if self._connection is None:
            self._open()

    def close(self) -> None:
        self._closed = True
        self._shut()

    # Leases

    @_translated
    def lease(self, owner: str, *, want: int, now: float, ttl_s: float) -> list[int]:
        with self._conn.write():
            return self._leases.acquire(self._conn.db, owner, want=want, now=now, ttl_s=ttl_s)

    @_translated
    def renew(self, owner: str, *, now: float, ttl_s: float) -> set[int]:
        with self._conn.write():
            return self._leases.renew(self._conn.db, owner, now=now, ttl_s=ttl_s)

    @_translated
    def release(self, owner: str, parts: Iterable[int]) -> None:
        with self._conn.write():
            self._leases.release(self._conn.db, owner, parts)

    def share(self) -> int | None:
        return None

    @_translated
    def release_slot(self, slot: int) -> None:
        with self._conn.write():
            self._leases.clear(self._conn.db, suffix=f":{slot}")

    @_translated
    def clear_leases(self) -> None:
        with self._conn.write():
            self._leases.clear(self._conn.db)

    # Rounds

    @_translated
    def begin_round(self, *, now: float, step_s: float, everything: bool) -> int:
        return rounds.begin(self._conn, now=now, step_s=step_s, everything=everything)

    @_translated
    def open_round(self, *, max_s: float, pages: int = 0, host_pages: int = 0) -> int:
        return rounds.open_due(self._conn, max_s=max_s, pages=pages, host_pages=host_pages)

    @_translated
    def end_round(self, *, now: float | None, why: str) -> None:
        rounds.end(self._conn, now=now, why=why)

    @_translated
    def rounds(self) -> list[RoundRow]:
        return rounds.listing(self._conn.db)

    # Targets out

    @_translated
    def hosts(self, parts: Iterable[int]) -> list[HostRow]:
        rows = (self._conn.db.execute(_BUSY_HOSTS, (*span, self._conn.round)) for span in spans(parts))
        return [HostRow(*row) for cursor in rows for row in cursor]

    @_translated
    def host(self, name: str) -> HostRow:
        sql = "SELECT name, next_at, delay_s, iif(round = ?, visited, 0), errors FROM host WHERE host = ?"
        row = self._conn.db.execute(sql, (self._conn.round, host_key(name))).fetchone()
        return HostRow(name) if row is None else HostRow(*row)

    @_translated
    def load(self, host: str, *, limit: int, skip: Collection[int] = ()) -> list[Target]:
        if skip:
            bindings = (host, host_key(host), limit, apsw.carray(array("q", skip)))
            rows = self._conn.db.execute(_LOAD_OTHERS, bindings)
        else:
            rows = self._conn.db.execute(_LOAD, (host, host_key(host), limit))
        return [_read_target(row) for row in rows]

    @_translated
    def target(self, n: int) -> Target | None:
        row = self._conn.db.execute(_ONE, (n,)).fetchone()
        return None if row is None else _read_target(row)

    @_translated
    def due(self, parts: Iterable[int], now: float) -> list[str]:
        return bulk_updates.wake_due(self._conn, parts, now)

    @_translated
    def next_due(self, parts: Iterable[int]) -> float | None:
        times = (self._conn.db.execute(_NEXT_DUE, (part,)).get for part in parts)
        return min((time for time in times if time is not None), default=None)

    @_translated
    def inbox(self, parts: Iterable[int]) -> list[str]:
        conn = self._conn
        version = conn.version()
        if version == self._read_inbox_at:
            return []
        ranges = spans(parts)
        if not any(conn.db.execute(_INBOX, span).fetchone() for span in ranges):
            self._read_inbox_at = version
            return []
        names = []
        with conn.write():
            for span in ranges:
                names += [name for _, name in conn.db.execute(_INBOX, span)]
                conn.db.execute("DELETE FROM inbox WHERE host BETWEEN ? AND ?", span)
        return names

    # Results in

    @_translated
    def add_seeds(self, discoveries: Iterable[Discovery], *, max_depth: int = -1) -> int:
        conn, rows, new = self._conn, list(discoveries), 0
        for start in range(0, len(rows), _SEEDS_AT_ONCE):
            with conn.write():
                conn.urls.catch_up()
                writer = BatchTransaction(conn, owned=frozenset(), max_depth=max_depth)
                new += writer.add_seeds(rows[start : start + _SEEDS_AT_ONCE])
                writer.finish()
        self._read_inbox_at = 0
        return new

    @_translated
    def commit(self, batch: Batch, *, owner: str, now: float, max_depth: int = -1) -> Committed:
        try:
            return self._commit(batch, owner, max_depth)
        except UnicodeEncodeError:
            return self._commit(cleaned(batch), owner, max_depth)

    def _commit(self, batch: Batch, owner: str, max_depth: int) -> Committed:
        conn = self._conn
        with conn.write(durable=batch.durable):
            held = self._leases.held(conn.db, owner)
            lost = {part_of(outcome.host) for outcome in batch.outcomes} - held
            if lost:
                raise LeaseLost(lost)
            conn.urls.catch_up()
            conn.contents.catch_up()
            writer = BatchTransaction(conn, owned=held, max_depth=max_depth)
            writer.write(batch)
            writer.finish()
        own = {host for host in writer.woken if part_of(host) in held}
        return Committed(woken_hosts=own, duplicates=writer.duplicates, stored=writer.stored)

    @_translated
    def lessons(self, since: int = 0) -> tuple[int, list[WeightUpdate]]:
        db = self._conn.db
        stamp = db.execute("SELECT max(stamp) FROM lesson").get or 0
        if stamp <= since:
            return stamp, []
        rows: list[Any] = db.execute("SELECT key, weight, energy FROM lesson WHERE stamp > ?", (since,)).fetchall()
        return stamp, rows

    @_translated
    def forget_lessons(self) -> None:
        with self._conn.write():
            self._conn.db.execute("DELETE FROM lesson")

    @_translated
    def content_holder(self, digest: bytes) -> ContentHolder | None:
        row = self._find_content(digest, "url.n, url.url, page.fetched_at")
        return ContentHolder(*row) if row is not None else None

    @_translated
    def content_place(self, digest: bytes) -> ArchivePlace | None:
        row = self._find_content(digest, "page.warc, page.offset, page.length")
        return ArchivePlace(*row) if row is not None else None

    def _find_content(self, digest: bytes, columns: str) -> Any:
        contents = self._conn.contents
        if not contents.loaded:
            contents.catch_up()
        position = contents.find(digest, digest)
        return None if position is None else self._conn.db.execute(_HOLDER.format(columns), (position,)).fetchone()

    # Ending and opening URLs anew

    @_translated
    def reject_host(self, host: str, reason: str, *, state: int = State.REJECTED, under: str = "") -> int:
        return bulk_updates.end_host(self._conn, host_key(host), reason, state=state, under=under)

    @_translated
    def readmit(self, host: str, reason: str, *, limit: int) -> int:
        return bulk_updates.readmit(self._conn, host_key(host), reason, limit=limit)

    @_translated
    def set_aside(self, n: int, reason: str) -> None:
        bulk_updates.end_one(self._conn, n, reason)

    @_translated
    def requeue(self, rows: Iterable[int]) -> int:
        return archive_losses.fetch_again(self._conn, ((row, self._conn.round) for row in rows))

    @_translated
    def requeue_reason(self, reason: str) -> int:
        db = self._conn.db
        if not db.execute("SELECT sum(count) FROM stat WHERE reason = ?", (reason,)).get:
            return 0
        rows: list[Any] = db.execute("SELECT n, max(round, 1) FROM url WHERE reason = ?", (reason,)).fetchall()
        return archive_losses.fetch_again(self._conn, rows)

    @_translated
    def cap_waits(self, latest: float) -> None:
        with self._conn.write():
            self._conn.db.execute("UPDATE url INDEXED BY waiting SET due = ?1 WHERE state = 9 AND due > ?1", (latest,))

    @_translated
    def retry(self) -> int:
        return bulk_updates.retry(self._conn)

    @_translated
    def requeue_archive(self, name: str, spans: Sequence[Span]) -> int:
        return archive_losses.fetch_again(self._conn, archive_losses.touched(self._conn, name, spans))

    @_translated
    def reopen(self, reasons: Collection[str], judge: Judge) -> int:
        return bulk_updates.judge_again(self._conn, reasons, judge)

    @_translated
    def strike(self, n: int) -> int:
        with self._conn.write():
            sql = "INSERT INTO strike VALUES (?, 1) ON CONFLICT (n) DO UPDATE SET count = count + 1 RETURNING count"
            return int(self._conn.db.execute(sql, (n,)).get)

    # What is known

    @_translated
    def find(self, url: str) -> UrlRow | None:
        conn, url_hash, host = self._conn, urls.url_id(url), host_key(urls.host_of(url))
        if not conn.urls.loaded:
            return statistics.find(conn.db, url)
        n = conn.urls.find(url_hash, host, url_hash)
        if n is None:
            n = conn.db.execute(_LATER, (conn.urls.last, url_hash, host)).get
        return None if n is None else statistics.read_row(conn.db, n)

    def holds(self, url_hash: int) -> bool:
        return self._connection is not None and self._connection.urls.holds(url_hash)

    @_translated
    def recall(self, url: str) -> tuple[int, str] | None:
        known, url_hash = self._conn.urls, urls.url_id(url)
        if not known.loaded:
            known.catch_up()
        n = known.find(url_hash, host_key(urls.host_of(url)), url_hash)
        sql = "SELECT state, coalesce(reason, '') FROM url WHERE n = ?"
        row: tuple[int, str] | None = None if n is None else self._conn.db.execute(sql, (n,)).fetchone()
        return row

    @_translated
    def given_seeds(self) -> list[str]:
        sql = "SELECT url FROM seed CROSS JOIN url USING (n) WHERE given ORDER BY n"
        return [url for (url,) in self._conn.db.execute(sql)]

    @_translated
    def seeds(self) -> list[str]:
        db = self._conn.db
        if db.execute("SELECT count(*) FROM seed").get != len(self._seeds):
            rows: list[Any] = db.execute("SELECT url FROM seed CROSS JOIN url USING (n) ORDER BY n").fetchall()
            self._seeds = [url for (url,) in rows]
        return list(self._seeds)

    @_translated
    def failed_seeds(self) -> dict[str, str]:
        return statistics.failed_seeds(self._conn.db)

    @_translated
    def cut_pages(self, *, top: int = 10) -> tuple[int, dict[str, str]]:
        return statistics.cut_pages(self._conn.db, top=top)

    @_translated
    def robots(self, origin: str) -> RobotsRow | None:
        sql = "SELECT origin, fetched_at, status, body FROM robots WHERE origin = ?"
        row = self._conn.db.execute(sql, (origin,)).fetchone()
        return None if row is None else RobotsRow(*row)

    @_translated
    def tallies(self, host: str) -> dict[str, int]:
        return dict(self._conn.db.execute("SELECT key, count FROM tally WHERE host = ?", (host_key(host),)))

    @_translated
    def warcs(self) -> list[WarcRow]:
        return [WarcRow(*row) for row in self._conn.db.execute("SELECT name, size, synced, stamp FROM warc")]

    @_translated
    def record_warcs(self, rows: Iterable[WarcRow]) -> None:
        with self._conn.write():
            for row in rows:
                values = (row.name, row.size, row.synced, row.mtime_ns)
                self._conn.db.execute("INSERT OR REPLACE INTO warc VALUES (?, ?, ?, ?)", values)
            self._conn.db.execute("DELETE FROM warc WHERE size = 0")

    @_translated
    def counts(self) -> dict[int, int]:
        return statistics.counts(self._conn.db)

    @_translated
    def stored(self) -> int:
        return statistics.stored(self._conn.db, self._conn.round)

    @_translated
    def pages(self) -> int:
        return statistics.pages(self._conn.db)

    @_translated
    def summary(self, *, top: int = 10, tell: Iterable[str] = ()) -> Summary:
        return statistics.summary(self._conn.db, self._conn.round, top=top, tell=tell)

    @_translated
    def pending(self) -> bool:
        return bool(self._conn.db.execute(_LEFT).get)

    @_translated
    def meta(self, key: str) -> str | None:
        value = self._conn.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        return None if value is None else str(value)

    @_translated
    def set_meta(self, key: str, value: str) -> None:
        with self._conn.write():
            self._conn.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
