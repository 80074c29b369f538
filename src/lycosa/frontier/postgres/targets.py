"""Targets in PostgreSQL: what waits to be fetched, by host; and the seeds, with which a collection begins."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lycosa.frontier.consequences import Unpack
from lycosa.frontier.contract import UrlRow
from lycosa.frontier.partitions import host_key, part_of, spans
from lycosa.frontier.postgres.batch_transaction import PostgresBatch
from lycosa.frontier.postgres.connection import PostgresConnection, PostgresFacet, ShardedCounts, reading, writing
from lycosa.frontier.postgres.known import PostgresKnowledge
from lycosa.frontier.postgres.leases import PostgresLeases
from lycosa.frontier.postgres.schema import NUMBERS, part_of_row
from lycosa.frontier.stored import URL_ROW, read_target, tell_failed
from lycosa.model import Discovery, HostRow, State, Target

_SEEDS_AT_ONCE = 10_000
_CHUNK = 5_000  # rows woken in one transaction

#: From one host with pending URLs to the next, without looking at the URLs between.
_BUSY_HOSTS = """
WITH RECURSIVE busy (part, host) AS (
    (SELECT part, host FROM url WHERE state = 0 AND part BETWEEN %(low)s AND %(high)s ORDER BY part, host LIMIT 1)
    UNION ALL
    SELECT following.part, following.host FROM busy CROSS JOIN LATERAL (
        SELECT part, host FROM url
        WHERE state = 0 AND part <= %(high)s AND (part, host) > (busy.part, busy.host)
        ORDER BY part, host LIMIT 1) AS following
)
SELECT name, next_at, delay_s, CASE WHEN round = %(round)s THEN visited ELSE 0 END, errors
FROM busy JOIN host USING (part, host)"""
_TARGET = """
n, id, url, {} AS name, depth, hops, retries, seed, score, parent, via, etag, modified, digest, round, redirect,
interval, changes, watched, checked, lore"""
LOAD = f"""
SELECT {_TARGET.format("%s::text")} FROM url WHERE state = 0 AND part = %s AND host = %s AND NOT n = ANY(%s)
ORDER BY score DESC, n LIMIT %s"""
_NAME = "(SELECT name FROM host WHERE host.part = url.part AND host.host = url.host)"
_ONE = f"SELECT {_TARGET.format(_NAME)} FROM url WHERE state = 0 AND part = %s AND n = %s"
_LEFT = "SELECT EXISTS (SELECT 1 FROM url WHERE state = 0) OR EXISTS (SELECT 1 FROM url WHERE state = 9)"
_INBOX = """
WITH news AS (SELECT part, host FROM inbox WHERE part = ANY(%s) FOR UPDATE SKIP LOCKED),
read AS (DELETE FROM inbox USING news WHERE inbox.part = news.part AND inbox.host = news.host RETURNING inbox.*)
SELECT name FROM read JOIN host USING (part, host) ORDER BY host.host"""
_DUE = """
WITH found AS (
    SELECT part, n, reason FROM url WHERE state = 9 AND part = ANY(%s) AND due <= %s ORDER BY part, n LIMIT %s
    FOR UPDATE),
opened AS (
    UPDATE url SET state = 0, reason = '', due = 0 FROM found WHERE url.part = found.part AND url.n = found.n
    RETURNING url.host, found.reason)
SELECT name, reason, count(*) FROM opened JOIN host USING (host) GROUP BY 1, 2"""
_ANY_DUE = "SELECT 1 FROM url WHERE state = 9 AND part = ANY(%s) AND due <= %s LIMIT 1"
_SEEDS = f"SELECT url FROM seed JOIN url ON url.part = seed.n >> 44 AND url.n = seed.n {{}} ORDER BY url.n & {NUMBERS}"
_BAD_SEEDS = f"""
SELECT {URL_ROW} FROM seed JOIN url USING (n) WHERE given AND state > 3 ORDER BY n & {NUMBERS}"""


class PostgresTargets(PostgresFacet):
    """The URLs that wait to be fetched."""

    def __init__(self, connection: PostgresConnection, machine: str, leases: PostgresLeases) -> None:
        super().__init__(connection, machine)
        self._leases = leases

    @reading
    def hosts(self, parts: Iterable[int]) -> list[HostRow]:
        found: list[HostRow] = []
        for low, high in spans(parts):
            bounds = {"low": (low >> 56) + 128, "high": (high >> 56) + 128, "round": self._connection.round}
            found += [HostRow(*row) for row in self._connection.rows(_BUSY_HOSTS, bounds)]
        return found

    @reading
    def load(self, host: str, *, limit: int, skip: Collection[int] = ()) -> list[Target]:
        values = (host, part_of(host), host_key(host), list(skip), limit)
        return [read_target(row) for row in self._connection.rows(LOAD, values, binary=True)]

    def of_row(self, n: int) -> Target | None:
        rows = self._ask(_ONE, part_of_row(n), n)
        return read_target(rows[0]) if rows else None

    @reading
    def wake_due(self, parts: Iterable[int], now: float) -> list[str]:
        hosts: set[str] = set()
        parts = list(parts)
        while self._connection.value(_ANY_DUE, (parts, now)) and (woken := self._wake_some(parts, now)):
            hosts |= woken
        return sorted(hosts, key=host_key)

    @writing
    def _wake_some(self, parts: list[int], now: float) -> set[str]:
        counts, total = ShardedCounts(), 0
        hosts: set[str] = set()
        for name, reason, count in self._connection.rows(_DUE, (self._leases.keep_held(parts), now, _CHUNK)):
            counts.state(State.WAITING, reason, -count)
            hosts.add(name)
            total += count
        counts.state(State.PENDING, "", total)
        counts.write(self._connection)
        return hosts

    @reading
    def next_due(self, parts: Iterable[int]) -> float | None:
        sql = "SELECT min(due) FROM url WHERE state = 9 AND part = ANY(%s)"
        due: float | None = self._connection.value(sql, (list(parts),))
        return due

    def inbox(self, parts: Iterable[int]) -> list[str]:
        wanted = list(parts)
        if not self._ask("SELECT 1 FROM inbox WHERE part = ANY(%s) LIMIT 1", wanted):
            return []
        return self._read_inbox(wanted)

    @writing
    def _read_inbox(self, parts: list[int]) -> list[str]:
        return [name for (name,) in self._connection.rows(_INBOX, (self._leases.keep_held(parts),))]

    def pending(self) -> bool:
        return bool(self._ask(_LEFT)[0][0])


class PostgresSeeds(PostgresFacet):
    """The seeds of a collection."""

    def __init__(
        self,
        connection: PostgresConnection,
        machine: str,
        leases: PostgresLeases,
        *,
        known: PostgresKnowledge,
        unpack: Unpack,
    ) -> None:
        super().__init__(connection, machine)
        self._leases = leases
        self._known = known
        self._unpack = unpack

    def add(self, discoveries: Iterable[Discovery], *, max_depth: int = -1) -> int:
        seeds = list(discoveries)
        starts = range(0, len(seeds), _SEEDS_AT_ONCE)
        return sum(self._add_some(seeds[start : start + _SEEDS_AT_ONCE], max_depth) for start in starts)

    @writing
    def _add_some(self, seeds: list[Discovery], max_depth: int) -> int:
        writer = PostgresBatch(
            self._connection,
            self._leases.numbers,
            owned=frozenset(),
            max_depth=max_depth,
            unpack=self._unpack,
            machine=self.machine,
        )
        again = writer.add(seeds)
        writer.meet_again(again)
        writer.mark_seeds(seeds, given=True)
        writer.finish()
        return len(seeds) - len(again)

    def all(self) -> list[str]:
        return [url for (url,) in self._ask(_SEEDS.format(""))]

    def given(self) -> list[str]:
        return [url for (url,) in self._ask(_SEEDS.format("WHERE given"))]

    def failed(self) -> dict[str, str]:
        return tell_failed((UrlRow(*row) for row in self._ask(_BAD_SEEDS)), self._known.find)
