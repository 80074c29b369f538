"""What a PostgreSQL frontier knows: of URLs, hosts and contents; its targets and seeds; and its figures.

Targets are what waits to be fetched, by host; a collection begins with its seeds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import inf
from typing import Any

from lycosa import urls
from lycosa.frontier.consequences import Unpack
from lycosa.frontier.contract import UrlRow
from lycosa.frontier.partitions import host_key, part_of, spans
from lycosa.frontier.postgres.batch_transaction import PostgresBatch
from lycosa.frontier.postgres.connection import PostgresConnection, PostgresFacet, ShardedCounts, reading, writing
from lycosa.frontier.postgres.leases import PostgresLeases
from lycosa.frontier.postgres.schema import NUMBERS, part_of_row
from lycosa.frontier.seen import Seen
from lycosa.frontier.stored import OWED, URL_ROW, StoredFigures, read_target, tell_failed
from lycosa.model import ArchivePlace, ContentHolder, Discovery, HostRow, RobotsRow, State, Target, WeightUpdate

_FIND = f"SELECT {URL_ROW} FROM url WHERE part = %s AND host = %s AND id = %s"
_HOST = """
SELECT name, next_at, delay_s, CASE WHEN round = %s THEN visited ELSE 0 END, errors
FROM host WHERE part = %s AND host = %s"""
_RECALL = "SELECT state, reason FROM url WHERE part = %s AND host = %s AND id = %s"
_CONTENT = "SELECT 1 FROM content WHERE part = %s AND digest = %s"
_CONTENTS = """
SELECT digest FROM unnest(%s::smallint[], %s::bytea[]) AS asked (part, digest) JOIN content USING (part, digest)"""
_HOLDER = """
SELECT {} FROM content JOIN url ON url.part = content.n >> 44 AND url.n = content.n
JOIN page ON page.part = url.part AND page.n = url.n AND page.round = content.round
WHERE content.part = %s AND content.digest = %s"""


class PostgresKnowledge(PostgresFacet):
    """What is known of URLs, hosts and contents, and what policies learned."""

    def __init__(self, connection: PostgresConnection, machine: str) -> None:
        super().__init__(connection, machine)
        self.ids = Seen()  # of URLs that are known and were not refused
        self._unheld: set[bytes] = set()  # contents that nobody held a moment ago; a commit asks again

    def find(self, url: str) -> UrlRow | None:
        host = urls.host_of(url)
        rows = self._ask(_FIND, part_of(host), host_key(host), urls.url_id(url))
        row = UrlRow(*rows[0]) if rows else None
        if row is not None and row.state != State.REJECTED:
            self.ids.add(urls.url_id(url))
        return row

    def holds(self, url_hash: int) -> bool:
        return url_hash in self.ids

    @reading
    def recall(self, url: str) -> tuple[int, str] | None:
        host = urls.host_of(url)
        row: tuple[int, str] | None = self._connection.row(_RECALL, (part_of(host), host_key(host), urls.url_id(url)))
        return row

    @reading
    def host(self, name: str) -> HostRow:
        row = self._connection.row(_HOST, (self._connection.round, part_of(name), host_key(name)))
        return HostRow(name) if row is None else HostRow(*row)

    def robots(self, origin: str) -> RobotsRow | None:
        rows = self._ask("SELECT origin, fetched_at, status, body FROM robots WHERE origin = %s", origin)
        return RobotsRow(*rows[0]) if rows else None

    def tallies(self, host: str) -> dict[str, int]:
        return dict(
            self._ask("SELECT key, count FROM tally WHERE part = %s AND host = %s", part_of(host), host_key(host))
        )

    @reading
    def look_up_contents(self, digests: Iterable[bytes]) -> None:
        asked = {digest for digest in digests if digest}
        columns = [digest[0] for digest in asked], list(asked)
        held = self._connection.rows(_CONTENTS, columns) if asked else []
        self._unheld = asked.difference(bytes(digest) for (digest,) in held)

    def forget_contents(self) -> None:
        """Ask the server again who holds a content."""
        self._unheld = set()

    @reading
    def content_holder(self, digest: bytes) -> ContentHolder | None:
        row = self._find_content(digest, "url.n, url.url, page.fetched_at")
        return ContentHolder(*row) if row is not None else None

    @reading
    def content_place(self, digest: bytes) -> ArchivePlace | None:
        row = self._find_content(digest, 'page.warc, page."offset", page.length')
        return ArchivePlace(*row) if row is not None else None

    def _find_content(self, digest: bytes, columns: str) -> Any:
        """Asked for every page, and most contents are new: who holds a content is asked only where there is one."""
        if not digest or digest in self._unheld or self._connection.row(_CONTENT, (digest[0], digest)) is None:
            return None
        return self._connection.row(_HOLDER.format(columns), (digest[0], digest))

    def lessons(self, since: int = 0) -> tuple[int, list[WeightUpdate]]:
        stamp = int(self._ask("SELECT coalesce(max(stamp), 0) FROM lesson")[0][0])
        if stamp <= since:
            return stamp, []
        return stamp, self._ask("SELECT key, weight, energy FROM lesson WHERE stamp > %s", since)

    @writing
    def forget_lessons(self) -> None:
        self._connection.run("DELETE FROM lesson")


class PostgresFigures(PostgresFacet, StoredFigures):
    """The figures in a database, each spread over several shards."""

    cut = f"""
SELECT url.url, page.mime FROM url JOIN page USING (part, n)
WHERE url.state < 4 AND url.reason = 'too-large'
AND page.round = (SELECT max(round) FROM page AS later WHERE later.part = url.part AND later.n = url.n)
ORDER BY url.n & {NUMBERS} LIMIT ?"""

    @property
    def _round(self) -> int:
        return self._connection.round


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
AND score <= %s
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
    def load(self, host: str, *, limit: int, skip: Collection[int] = (), most: float = inf) -> list[Target]:
        values = (host, part_of(host), host_key(host), list(skip), most, limit)
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
        counts = ShardedCounts()
        hosts: set[str] = set()
        for name, reason, count in self._connection.rows(_DUE, (self._leases.keep_held(parts), now, _CHUNK)):
            counts.move((State.WAITING, reason), count=count)
            hosts.add(name)
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

    def owes_requisites(self) -> bool:
        return bool(self._ask(f"SELECT EXISTS (SELECT 1 FROM url WHERE {OWED})")[0][0])


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

    def count(self) -> int:
        return int(self._ask("SELECT count(*) FROM seed")[0][0])

    def given(self) -> list[str]:
        return [url for (url,) in self._ask(_SEEDS.format("WHERE given"))]

    def failed(self) -> dict[str, str]:
        return tell_failed((UrlRow(*row) for row in self._ask(_BAD_SEEDS)), self._known.find)
