"""The frontier on disk: one SQLite file, shared by the workers of one machine.

Every worker process opens its own, after the fork. Reading goes through indexes whose cost does not depend on how much
there is; writing is one short transaction a batch. What was committed survives a kill at any instant.
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
from lycosa.frontier.partitions import PART_SQL, host_key, part_of, spans
from lycosa.frontier.sqlite import archive_losses, bulk_updates, rounds, schema, statistics
from lycosa.frontier.sqlite.connection import Connection, Unpack
from lycosa.frontier.sqlite.errors import translate
from lycosa.frontier.sqlite.key_index import MOST
from lycosa.frontier.sqlite.leases import Leases
from lycosa.frontier.sqlite.utf8 import cleaned
from lycosa.frontier.sqlite.writer import Writer
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


def _read_target(row: Any) -> Target:
    return Target(*(*row[:7], bool(row[7]), *row[8:15], VisitHistory(*row[16:20]), row[15], False, row[20]))


Method = Callable[Concatenate["SqliteFrontier", P], R]


def _spoken(method: Method[P, R]) -> Method[P, R]:
    """Let errors of SQLite leave as errors that a person understands; while suspended, open for this call alone."""

    @wraps(method)
    def call(self: SqliteFrontier, *args: P.args, **kwargs: P.kwargs) -> R:
        brief = self._desk is None
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
    """A frontier in a file. One object is one worker's: it remembers the leases that it took."""

    def __init__(self, path: str | Path, *, unpack_links: Unpack = link_codec.targets, recent_max: int = MOST) -> None:
        """Open a database; `unpack_links` gives the URLs of a link row, `recent_max` bounds the keys held in memory."""
        self.path = Path(path)
        self._unpack = unpack_links
        self._recent_max = recent_max
        self._leases = Leases()
        self._suspended = self._closed = False
        self._read_inbox_at = 0  # the version of the database when the inbox was last found empty
        self._seeds: list[str] = []  # workers ask again and again, and there may be millions
        self._desk: Connection | None = None
        self._open()

    @staticmethod
    def create(path: str | Path, *, mission_toml: str, now: float) -> None:
        """Make an empty database; it is then opened as any other."""
        schema.create(Path(path), mission_toml=mission_toml, now=now)

    def _open(self) -> None:
        if self._closed:
            raise RuntimeError(f"{self.path} was closed")
        self._desk = Connection(self.path, self._leases, unpack=self._unpack, recent_max=self._recent_max)
        self._read_inbox_at = 0

    def _shut(self) -> None:
        if self._desk is not None:
            self._desk.db.close()
            self._desk = None

    @property
    def _at(self) -> Connection:
        assert self._desk is not None
        return self._desk

    def suspend(self) -> None:
        self._suspended = True
        self._shut()

    def resume(self) -> None:
        self._suspended = False
        if self._desk is None:
            self._open()

    def close(self) -> None:
        self._closed = True
        self._shut()

    # Leases

    @_spoken
    def lease(self, owner: str, *, want: int, now: float, ttl_s: float) -> list[int]:
        with self._at.write():
            return self._leases.take(self._at.db, owner, want=want, now=now, ttl_s=ttl_s)

    @_spoken
    def renew(self, owner: str, *, now: float, ttl_s: float) -> set[int]:
        with self._at.write():
            return self._leases.renew(self._at.db, owner, now=now, ttl_s=ttl_s)

    @_spoken
    def release(self, owner: str, parts: Iterable[int]) -> None:
        with self._at.write():
            self._leases.release(self._at.db, owner, parts)

    @_spoken
    def release_slot(self, slot: int) -> None:
        with self._at.write():
            self._leases.clear(self._at.db, suffix=f":{slot}")

    @_spoken
    def clear_leases(self) -> None:
        with self._at.write():
            self._leases.clear(self._at.db)

    # Rounds

    @_spoken
    def begin_round(self, *, now: float, step_s: float, everything: bool) -> int:
        return rounds.begin(self._at, now=now, step_s=step_s, everything=everything)

    @_spoken
    def open_round(self, *, max_s: float) -> int:
        return rounds.open_due(self._at, max_s=max_s)

    @_spoken
    def end_round(self, *, now: float | None, why: str) -> None:
        rounds.end(self._at, now=now, why=why)

    @_spoken
    def rounds(self) -> list[RoundRow]:
        return rounds.listing(self._at.db)

    # Targets out

    @_spoken
    def hosts(self, parts: Iterable[int]) -> list[HostRow]:
        rows = (self._at.db.execute(_BUSY_HOSTS, (*span, self._at.round)) for span in spans(parts))
        return [HostRow(*row) for cursor in rows for row in cursor]

    @_spoken
    def host(self, name: str) -> HostRow:
        sql = "SELECT name, next_at, delay_s, iif(round = ?, visited, 0), errors FROM host WHERE host = ?"
        row = self._at.db.execute(sql, (self._at.round, host_key(name))).fetchone()
        return HostRow(name) if row is None else HostRow(*row)

    @_spoken
    def load(self, host: str, *, limit: int, skip: Collection[int] = ()) -> list[Target]:
        if skip:
            bindings = (host, host_key(host), limit, apsw.carray(array("q", skip)))
            rows = self._at.db.execute(_LOAD_OTHERS, bindings)
        else:
            rows = self._at.db.execute(_LOAD, (host, host_key(host), limit))
        return [_read_target(row) for row in rows]

    @_spoken
    def target(self, n: int) -> Target | None:
        row = self._at.db.execute(_ONE, (n,)).fetchone()
        return None if row is None else _read_target(row)

    @_spoken
    def due(self, parts: Iterable[int], now: float) -> list[str]:
        return bulk_updates.wake_due(self._at, parts, now)

    @_spoken
    def next_due(self, parts: Iterable[int]) -> float | None:
        times = (self._at.db.execute(_NEXT_DUE, (part,)).get for part in parts)
        return min((time for time in times if time is not None), default=None)

    @_spoken
    def inbox(self, parts: Iterable[int]) -> list[str]:
        desk = self._at
        version = desk.version()
        if version == self._read_inbox_at:
            return []
        ranges = spans(parts)
        if not any(desk.db.execute(_INBOX, span).fetchone() for span in ranges):
            self._read_inbox_at = version
            return []
        names = []
        with desk.write():
            for span in ranges:
                names += [name for _, name in desk.db.execute(_INBOX, span)]
                desk.db.execute("DELETE FROM inbox WHERE host BETWEEN ? AND ?", span)
        return names

    # Results in

    @_spoken
    def add_seeds(self, founds: Iterable[Discovery], *, max_depth: int = -1) -> int:
        desk, rows, new = self._at, list(founds), 0
        for start in range(0, len(rows), _SEEDS_AT_ONCE):
            with desk.write():
                desk.urls.catch_up()
                writer = Writer(desk, owned=frozenset(), max_depth=max_depth)
                new += writer.plant(rows[start : start + _SEEDS_AT_ONCE])
                writer.finish()
        self._read_inbox_at = 0
        return new

    @_spoken
    def commit(self, batch: Batch, *, owner: str, now: float, max_depth: int = -1) -> Committed:
        try:
            return self._commit(batch, owner, max_depth)
        except UnicodeEncodeError:
            return self._commit(cleaned(batch), owner, max_depth)

    def _commit(self, batch: Batch, owner: str, max_depth: int) -> Committed:
        desk = self._at
        with desk.write(lasting=batch.durable):
            held = self._leases.held(desk.db, owner)
            lost = {part_of(done.host) for done in batch.outcomes} - held
            if lost:
                raise LeaseLost(lost)
            desk.urls.catch_up()
            desk.contents.catch_up()
            writer = Writer(desk, owned=held, max_depth=max_depth)
            writer.write(batch)
            writer.finish()
        own = {host for host in writer.woken if part_of(host) in held}
        return Committed(woken_hosts=own, duplicates=writer.duplicates, stored=writer.stored)

    @_spoken
    def lessons(self, since: int = 0) -> tuple[int, list[WeightUpdate]]:
        db = self._at.db
        stamp = db.execute("SELECT max(stamp) FROM lesson").get or 0
        if stamp <= since:
            return stamp, []
        rows: list[Any] = db.execute("SELECT key, weight, energy FROM lesson WHERE stamp > ?", (since,)).fetchall()
        return stamp, rows

    @_spoken
    def forget_lessons(self) -> None:
        with self._at.write():
            self._at.db.execute("DELETE FROM lesson")

    @_spoken
    def content_holder(self, digest: bytes) -> ContentHolder | None:
        row = self._find_content(digest, "url.n, url.url, page.fetched_at")
        return ContentHolder(*row) if row is not None else None

    @_spoken
    def content_place(self, digest: bytes) -> ArchivePlace | None:
        row = self._find_content(digest, "page.warc, page.offset, page.length")
        return ArchivePlace(*row) if row is not None else None

    def _find_content(self, digest: bytes, columns: str) -> Any:
        contents = self._at.contents
        if not contents.loaded:
            contents.catch_up()
        position = contents.find(digest, digest)
        return None if position is None else self._at.db.execute(_HOLDER.format(columns), (position,)).fetchone()

    # Changes of mind

    @_spoken
    def reject_host(self, host: str, reason: str, *, state: int = State.REJECTED, under: str = "") -> int:
        return bulk_updates.end_host(self._at, host_key(host), reason, state=state, under=under)

    @_spoken
    def readmit(self, host: str, reason: str, *, limit: int) -> int:
        return bulk_updates.readmit(self._at, host_key(host), reason, limit=limit)

    @_spoken
    def set_aside(self, n: int, reason: str) -> None:
        bulk_updates.end_one(self._at, n, reason)

    @_spoken
    def repend(self, ns: Iterable[int]) -> int:
        return archive_losses.fetch_again(self._at, ((n, self._at.round) for n in ns))

    @_spoken
    def repend_reason(self, reason: str) -> int:
        db = self._at.db
        if not db.execute("SELECT sum(count) FROM stat WHERE reason = ?", (reason,)).get:
            return 0
        rows: list[Any] = db.execute("SELECT n, max(round, 1) FROM url WHERE reason = ?", (reason,)).fetchall()
        return archive_losses.fetch_again(self._at, rows)

    @_spoken
    def hasten(self, latest: float) -> None:
        with self._at.write():
            self._at.db.execute("UPDATE url INDEXED BY waiting SET due = ?1 WHERE state = 9 AND due > ?1", (latest,))

    @_spoken
    def retry(self) -> int:
        return bulk_updates.retry(self._at)

    @_spoken
    def repend_archive(self, name: str, spans: Sequence[Span]) -> int:
        return archive_losses.fetch_again(self._at, archive_losses.touched(self._at, name, spans))

    @_spoken
    def reopen(self, reasons: Collection[str], judge: Judge) -> int:
        return bulk_updates.judge_again(self._at, reasons, judge)

    @_spoken
    def strike(self, n: int) -> int:
        with self._at.write():
            sql = "INSERT INTO strike VALUES (?, 1) ON CONFLICT (n) DO UPDATE SET count = count + 1 RETURNING count"
            return int(self._at.db.execute(sql, (n,)).get)

    # What is known

    @_spoken
    def find(self, url: str) -> UrlRow | None:
        desk, ident, host = self._at, urls.url_id(url), host_key(urls.host_of(url))
        if not desk.urls.loaded:
            return statistics.find(desk.db, url)
        n = desk.urls.find(ident, host, ident)
        if n is None:
            n = desk.db.execute(_LATER, (desk.urls.last, ident, host)).get
        return None if n is None else statistics.read_row(desk.db, n)

    def holds(self, ident: int) -> bool:
        return self._desk is not None and self._desk.urls.holds(ident)

    @_spoken
    def recall(self, url: str) -> tuple[int, str] | None:
        known, ident = self._at.urls, urls.url_id(url)
        if not known.loaded:
            known.catch_up()
        n = known.find(ident, host_key(urls.host_of(url)), ident)
        sql = "SELECT state, coalesce(reason, '') FROM url WHERE n = ?"
        row: tuple[int, str] | None = None if n is None else self._at.db.execute(sql, (n,)).fetchone()
        return row

    @_spoken
    def given_seeds(self) -> list[str]:
        sql = "SELECT url FROM seed CROSS JOIN url USING (n) WHERE given ORDER BY n"
        return [url for (url,) in self._at.db.execute(sql)]

    @_spoken
    def seeds(self) -> list[str]:
        db = self._at.db
        if db.execute("SELECT count(*) FROM seed").get != len(self._seeds):
            rows: list[Any] = db.execute("SELECT url FROM seed CROSS JOIN url USING (n) ORDER BY n").fetchall()
            self._seeds = [url for (url,) in rows]
        return list(self._seeds)

    @_spoken
    def failed_seeds(self) -> dict[str, str]:
        return statistics.failed_seeds(self._at.db)

    @_spoken
    def robots(self, origin: str) -> RobotsRow | None:
        sql = "SELECT origin, fetched_at, status, body FROM robots WHERE origin = ?"
        row = self._at.db.execute(sql, (origin,)).fetchone()
        return None if row is None else RobotsRow(*row)

    @_spoken
    def tallies(self, host: str) -> dict[str, int]:
        return dict(self._at.db.execute("SELECT key, count FROM tally WHERE host = ?", (host_key(host),)))

    @_spoken
    def warcs(self) -> list[WarcRow]:
        return [WarcRow(*row) for row in self._at.db.execute("SELECT name, size, synced, stamp FROM warc")]

    @_spoken
    def note_warcs(self, rows: Iterable[WarcRow]) -> None:
        with self._at.write():
            for row in rows:
                values = (row.name, row.size, row.synced, row.mtime_ns)
                self._at.db.execute("INSERT OR REPLACE INTO warc VALUES (?, ?, ?, ?)", values)
            self._at.db.execute("DELETE FROM warc WHERE size = 0")

    @_spoken
    def counts(self) -> dict[int, int]:
        return statistics.counts(self._at.db)

    @_spoken
    def stored(self) -> int:
        return statistics.stored(self._at.db, self._at.round)

    @_spoken
    def pages(self) -> int:
        return statistics.pages(self._at.db)

    @_spoken
    def summary(self, *, top: int = 10) -> Summary:
        return statistics.summary(self._at.db, self._at.round, top=top)

    @_spoken
    def pending(self) -> bool:
        return bool(self._at.db.execute(_LEFT).get)

    @_spoken
    def meta(self, key: str) -> str | None:
        value = self._at.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        return None if value is None else str(value)

    @_spoken
    def set_meta(self, key: str, value: str) -> None:
        with self._at.write():
            self._at.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
