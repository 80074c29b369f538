"""PostgreSQL frontier: one database, shared by the workers of any number of machines.

Every worker process opens a frontier of its own, after the fork. Statements are over sets of rows; what a worker knows
it does not ask for again. What was committed survives a kill of any worker, machine or of the server at any instant.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg

from lycosa import urls
from lycosa.errors import LycosaError, UsageError
from lycosa.frontier import link_codec
from lycosa.frontier.contract import (
    Judge,
    LeaseLost,
    MachineFigures,
    MachineStatus,
    PermitsGone,
    RoundRow,
    Span,
    Summary,
    UrlRow,
)
from lycosa.frontier.depths import Unpack
from lycosa.frontier.partitions import host_key, part_of, spans
from lycosa.frontier.postgres import (
    archive_losses,
    bulk_updates,
    machines,
    permits,
    rounds,
    schema,
    segments,
    statistics,
)
from lycosa.frontier.postgres.address import check_name
from lycosa.frontier.postgres.batch_transaction import PostgresBatch
from lycosa.frontier.postgres.connection import PATIENCE_S, PostgresConnection, RefusedValue, connect, translate
from lycosa.frontier.postgres.leases import PostgresLeases
from lycosa.frontier.postgres.row_numbers import RowNumbers
from lycosa.frontier.postgres.schema import NUMBERS, part_of_row
from lycosa.frontier.postgres.state_queries import read_clock
from lycosa.frontier.seen import Seen
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
ALONE_S = 600.0  # a machine that prepares its run for longer is taken for hung
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
_LOAD = f"""
SELECT {_TARGET.format("%s::text")} FROM url WHERE state = 0 AND part = %s AND host = %s AND NOT n = ANY(%s)
ORDER BY score DESC, n LIMIT %s"""
_NAME = "(SELECT name FROM host WHERE host.part = url.part AND host.host = url.host)"
_ONE = f"SELECT {_TARGET.format(_NAME)} FROM url WHERE state = 0 AND part = %s AND n = %s"
_LEFT = "SELECT EXISTS (SELECT 1 FROM url WHERE state = 0) OR EXISTS (SELECT 1 FROM url WHERE state = 9)"
_INBOX = """
WITH news AS (SELECT part, host FROM inbox WHERE part = ANY(%s) FOR UPDATE SKIP LOCKED),
read AS (DELETE FROM inbox USING news WHERE inbox.part = news.part AND inbox.host = news.host RETURNING inbox.*)
SELECT name FROM read JOIN host USING (part, host) ORDER BY host.host"""
_RECALL = "SELECT state, reason FROM url WHERE part = %s AND host = %s AND id = %s"
_CONTENT = "SELECT 1 FROM content WHERE part = %s AND digest = %s"
_CONTENTS = """
SELECT digest FROM unnest(%s::smallint[], %s::bytea[]) AS asked (part, digest) JOIN content USING (part, digest)"""
_HOLDER = """
SELECT {} FROM content JOIN url ON url.part = content.n >> 44 AND url.n = content.n
JOIN page ON page.part = url.part AND page.n = url.n AND page.round = content.round
WHERE content.part = %s AND content.digest = %s"""
_SEEDS = f"SELECT url FROM seed JOIN url ON url.part = seed.n >> 44 AND url.n = seed.n {{}} ORDER BY url.n & {NUMBERS}"
_STRIKE = "INSERT INTO strike VALUES (%s, 1) ON CONFLICT (n) DO UPDATE SET count = strike.count + 1 RETURNING count"
_OTHERS = """
SELECT 1 FROM holder WHERE until > extract(epoch FROM clock_timestamp()) AND NOT starts_with(owner, %s) LIMIT 1"""
_ALONE = "SELECT pg_try_advisory_lock(hashtextextended('lycosa start ' || %s, 0))"
_OWN_UNTIL = """
SELECT max(until) FROM holder WHERE until > extract(epoch FROM clock_timestamp()) AND starts_with(owner, %s)"""
_WARCS = "SELECT name, size, synced, stamp FROM warc WHERE machine = %s AND place = '' ORDER BY name"
_RECORD_WARC = """
INSERT INTO warc (name, size, synced, stamp, machine) VALUES (%s, %s, %s, %s, %s) ON CONFLICT (name) DO UPDATE
SET size = excluded.size, synced = excluded.synced, stamp = excluded.stamp WHERE warc.place = ''"""


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
        seed=seed,
        score=score,
        parent=parent,
        via=via,
        etag=etag,
        modified=modified,
        digest=bytes(digest),
        round=round_number,
        history=VisitHistory(*history),
        redirect=redirect,
        policy_data=bytes(policy_data),
    )


Method = Callable[Concatenate["PostgresFrontier", P], R]


def _reading(method: Method[P, R]) -> Method[P, R]:
    """Run a method that only reads again where the connection broke; while suspended, open for this call alone."""

    @wraps(method)
    def call(self: PostgresFrontier, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return self._connection.read(lambda: method(self, *args, **kwargs))
        finally:
            if self._suspended:
                self._connection.close()

    return call  # type: ignore[return-value]  # wraps() names the first argument


class PostgresFrontier:
    """A frontier in a database. Each worker has an object of its own, which remembers the leases that it took."""

    def __init__(
        self,
        address: str,
        name: str,
        *,
        machine: str,
        unpack_links: Unpack = link_codec.targets,
        uses_server_clock: bool = True,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """`machine` begins the names of the owners of this run; leases end by the server's clock, or by `now`."""
        self.address = address
        self.machine = machine
        self._unpack = unpack_links
        self._connection = PostgresConnection(address, name, patience_s=patience_s)
        self._leases = PostgresLeases(uses_server_clock=uses_server_clock)
        self._numbers = RowNumbers()
        self._known = Seen()  # ids of URLs that are known and were not refused
        self._unheld: set[bytes] = set()  # contents that nobody held a moment ago; a commit asks again
        self._woken: set[str] = set()  # hosts with new URLs, of commits whose second half failed
        self._suspended = False
        self._limited = False
        self._connection.read(lambda: self._connection.db)

    @staticmethod
    def create(address: str, name: str, *, mission_toml: str, now: float | None = None) -> bool:
        """Make an empty collection; False where there is one of this name."""
        check_name(name)
        try:
            with connect(address) as connection:
                began = read_clock(connection) if now is None else now
                return schema.create(connection, name, mission_toml=mission_toml, now=began)
        except psycopg.Error as problem:
            raise translate(problem) from problem

    def suspend(self) -> None:
        self._suspended = True
        self._connection.close()

    def resume(self) -> None:
        self._suspended = False

    def close(self) -> None:
        self._connection.close()

    def on_wait(self, tell: Callable[[], object]) -> None:
        """Call this again and again while the server is waited for."""
        self._connection.on_wait = tell

    def _write(self, function: Callable[[], R]) -> R:
        try:
            return self._connection.write(function)
        finally:
            if self._suspended:
                self._connection.close()

    # Leases

    def lease(self, owner: str, *, want: int, now: float, ttl_s: float) -> list[int]:
        def write() -> list[int]:
            parts = self._leases.acquire(self._connection, owner, want=want, now=now, ttl_s=ttl_s)
            if parts:
                self._connection.learn_round()  # another one may have begun while it held nothing
            return parts

        parts = self._write(write)
        if parts:
            self._numbers = RowNumbers()  # higher ones than whoever held them gave: what that one found stays first
        return parts

    def renew(self, owner: str, *, now: float, ttl_s: float) -> set[int]:
        return self._write(lambda: self._leases.renew(self._connection, owner, now=now, ttl_s=ttl_s))

    def release(self, owner: str, parts: Iterable[int]) -> None:
        given = list(parts)
        self._write(lambda: self._leases.release(self._connection, owner, given))

    def _keep_held(self, parts: Iterable[int]) -> list[int]:
        """Those of these partitions that nobody has taken from this worker, until the transaction ends."""
        return self._leases.keep_held(self._connection, parts)

    def share(self) -> int | None:
        return self._connection.read(lambda: self._leases.share(self._connection, 0.0))

    @_reading
    def server_time(self) -> float:
        """The time by the server's clock, which all machines count with."""
        return float(self._connection.value("SELECT extract(epoch FROM clock_timestamp())"))

    def others_are_at_work(self) -> bool:
        """Whether workers of other machines hold leases."""
        return bool(self._connection.read(lambda: self._connection.value(_OTHERS, (f"{self.machine}:",))))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let one machine at a time do what is within the block; who waits for too long goes on."""
        own = PostgresConnection(self.address, self._connection.name)
        until = time.monotonic() + ALONE_S
        try:
            while not own.read(lambda: own.value(_ALONE, (own.name,))) and time.monotonic() < until:
                time.sleep(0.2)
            self._connection.close()  # so that it learns of a round that another one began
            yield
        finally:
            own.close()  # which frees it, as does a kill

    @_reading
    def has_twin(self, *, within_s: float) -> bool:
        """Whether another process renews leases under the name of this machine; looks for so long where some hold."""
        before = self._connection.value(_OWN_UNTIL, (f"{self.machine}:",))
        if before is None:
            return False
        time.sleep(within_s)
        return bool((self._connection.value(_OWN_UNTIL, (f"{self.machine}:",)) or 0.0) > before)

    def release_slot(self, slot: int) -> None:
        self._write(lambda: self._leases.clear(self._connection, machine=self.machine, slot=slot))

    def clear_leases(self) -> None:
        self._write(lambda: self._leases.clear(self._connection, machine=self.machine))

    # Page limit

    def limit_pages(self) -> None:
        """Let every commit of this object use permits for what it stores, or raise `PermitsGone`."""
        self._limited = True

    def begin_permits(self) -> None:
        """Let this machine begin without permits."""
        self._write(lambda: permits.begin(self._connection, self.machine))

    def grant_permits(self, *, limit: int, want: int) -> int:
        """Get up to `want` permits to store a page; returns how many: none while no worker here has leases."""
        return self._write(lambda: permits.grant(self._connection, self.machine, limit=limit, want=want))

    def return_permits(self, count: int) -> None:
        """Give back permits that this machine has no use for."""
        self._write(lambda: permits.give_back(self._connection, self.machine, count))

    @_reading
    def permits(self) -> tuple[int, int]:
        """How many permits this machine was granted, and how many of them its pages have used."""
        return permits.count(self._connection, self.machine)

    # Machines

    def report_machine(self, figures: MachineFigures) -> bool:
        """Record what this machine has done; by a connection of its own, as the other one may be waiting."""
        own = PostgresConnection(self.address, self._connection.name, patience_s=0.0)
        try:
            own.write(lambda: machines.report(own, self.machine, figures))
        except LycosaError:
            return False
        finally:
            own.close()
        return True

    @_reading
    def machines(self) -> list[MachineStatus]:
        """Every machine that has worked on the collection, by name."""
        return machines.listing(self._connection)

    @_reading
    def count_hosts(self) -> tuple[int, int]:
        """How many hosts are known, and how many of them are left alone for longer than usual."""
        return machines.count_hosts(self._connection)

    # Rounds

    def begin_round(self, *, now: float, step_s: float, everything: bool) -> int:
        return rounds.begin(self._connection, machine=self.machine, now=now, step_s=step_s, everything=everything)

    def open_round(self, *, max_s: float, pages: int = 0, host_pages: int = 0) -> int:
        return rounds.open_due(self._connection, max_s=max_s, pages=pages, host_pages=host_pages)

    def end_round(self, *, now: float | None, why: str) -> None:
        rounds.end(self._connection, now=now, why=why)

    @_reading
    def rounds(self) -> list[RoundRow]:
        return rounds.listing(self._connection)

    # Targets out

    @_reading
    def hosts(self, parts: Iterable[int]) -> list[HostRow]:
        found: list[HostRow] = []
        for low, high in spans(parts):
            bounds = {"low": (low >> 56) + 128, "high": (high >> 56) + 128, "round": self._connection.round}
            found += [HostRow(*row) for row in self._connection.rows(_BUSY_HOSTS, bounds)]
        return found

    @_reading
    def host(self, name: str) -> HostRow:
        sql = """
        SELECT name, next_at, delay_s, CASE WHEN round = %s THEN visited ELSE 0 END, errors
        FROM host WHERE part = %s AND host = %s"""
        row = self._connection.row(sql, (self._connection.round, part_of(name), host_key(name)))
        return HostRow(name) if row is None else HostRow(*row)

    @_reading
    def load(self, host: str, *, limit: int, skip: Collection[int] = ()) -> list[Target]:
        values = (host, part_of(host), host_key(host), list(skip), limit)
        rows = self._connection.rows(_LOAD, values, binary=True)
        return [_read_target(row) for row in rows]

    @_reading
    def target(self, n: int) -> Target | None:
        row = self._connection.row(_ONE, (part_of_row(n), n))
        return None if row is None else _read_target(row)

    @_reading
    def due(self, parts: Iterable[int], now: float) -> list[str]:
        return bulk_updates.wake_due(self._connection, parts, now, keep_held=self._keep_held)

    @_reading
    def next_due(self, parts: Iterable[int]) -> float | None:
        sql = "SELECT min(due) FROM url WHERE state = 9 AND part = ANY(%s)"
        due: float | None = self._connection.value(sql, (list(parts),))
        return due

    def inbox(self, parts: Iterable[int]) -> list[str]:
        wanted = list(parts)
        asked = "SELECT 1 FROM inbox WHERE part = ANY(%s) LIMIT 1"
        if not self._connection.read(lambda: self._connection.value(asked, (wanted,))):
            return []
        return [name for (name,) in self._write(lambda: self._connection.rows(_INBOX, (self._keep_held(wanted),)))]

    # Results in

    def add_seeds(self, discoveries: Iterable[Discovery], *, max_depth: int = -1) -> int:
        seeds, new = list(discoveries), 0
        for start in range(0, len(seeds), _SEEDS_AT_ONCE):
            some = seeds[start : start + _SEEDS_AT_ONCE]

            def write(some: list[Discovery] = some) -> int:
                writer = self._make_writer(frozenset(), max_depth)
                again = writer.add(some)
                writer.meet_again(again)
                writer.mark_seeds(some, given=True)
                writer.finish()
                return len(some) - len(again)

            new += self._write(write)
        return new

    def commit(self, batch: Batch, *, owner: str, now: float, max_depth: int = -1) -> Committed:
        try:
            return self._commit(batch, owner, max_depth)
        except (UnicodeEncodeError, RefusedValue):
            return self._commit(cleaned(batch), owner, max_depth)

    def _commit(self, batch: Batch, owner: str, max_depth: int) -> Committed:
        again: list[Discovery] = []
        self._unheld = set()
        if batch.discoveries or batch.trap_counts:
            again, woken = self._write(lambda: self._add(batch, owner, max_depth))
            self._woken |= woken  # where the rest must be tried again, these URLs are known,
            batch.trap_counts = {}  # and counted
        try:
            held, writer = self._write(lambda: self._conclude(batch, again, owner, max_depth))
        except PermitsGone:
            raise PermitsGone(*self.permits()) from None
        own = {host for host in self._woken | writer.woken if part_of(host) in held}
        self._woken = set()
        return Committed(woken_hosts=own, duplicates=writer.duplicates, stored=writer.stored)

    def _add(self, batch: Batch, owner: str, max_depth: int) -> tuple[list[Discovery], set[str]]:
        """The first transaction: URLs that were found."""
        held = self._check_leases(batch, owner)
        writer = self._make_writer(held, max_depth)
        again = writer.add(batch.discoveries)
        with self._connection.pipelined():
            writer.meet_again(again, concluded={outcome.row for outcome in batch.outcomes})
            writer.mark_seeds([one for one in batch.discoveries if one.seed], given=False)
            writer.count_traps(batch.trap_counts)
            writer.finish()
        for one in batch.discoveries:
            if one.state == State.PENDING:
                self._known.add(one.url_hash)
        return again, writer.woken

    def _conclude(
        self, batch: Batch, again: list[Discovery], owner: str, max_depth: int
    ) -> tuple[frozenset[int], PostgresBatch]:
        """The second transaction: what became of targets."""
        with self._connection.pipelined():
            held = self._check_leases(batch, owner)
            writer = self._make_writer(held, max_depth)
            writer.write(batch, again)
            if self._limited and writer.stored and not permits.use(self._connection, self.machine, writer.stored):
                raise PermitsGone(0, 0)
            writer.finish()
        return held, writer

    def _check_leases(self, batch: Batch, owner: str) -> frozenset[int]:
        held = self._leases.held(self._connection, owner)
        lost = {part_of(outcome.host) for outcome in batch.outcomes} - held
        if lost:
            raise LeaseLost(lost)
        return held

    def _make_writer(self, held: frozenset[int], max_depth: int) -> PostgresBatch:
        return PostgresBatch(
            self._connection, self._numbers, owned=held, max_depth=max_depth, unpack=self._unpack, machine=self.machine
        )

    @_reading
    def lessons(self, since: int = 0) -> tuple[int, list[WeightUpdate]]:
        stamp = int(self._connection.value("SELECT coalesce(max(stamp), 0) FROM lesson"))
        if stamp <= since:
            return stamp, []
        return stamp, self._connection.rows("SELECT key, weight, energy FROM lesson WHERE stamp > %s", (since,))

    def forget_lessons(self) -> None:
        self._write(lambda: self._connection.run("DELETE FROM lesson"))

    @_reading
    def look_up_contents(self, digests: Iterable[bytes]) -> None:
        """Learn at once which contents nobody holds, so that `content_holder` need not ask the server for each."""
        asked = {digest for digest in digests if digest}
        columns = [digest[0] for digest in asked], list(asked)
        held = self._connection.rows(_CONTENTS, columns) if asked else []
        self._unheld = asked.difference(bytes(digest) for (digest,) in held)

    @_reading
    def content_holder(self, digest: bytes) -> ContentHolder | None:
        row = self._find_content(digest, "url.n, url.url, page.fetched_at")
        return ContentHolder(*row) if row is not None else None

    @_reading
    def content_place(self, digest: bytes) -> ArchivePlace | None:
        row = self._find_content(digest, 'page.warc, page."offset", page.length')
        return ArchivePlace(*row) if row is not None else None

    def _find_content(self, digest: bytes, columns: str) -> Any:
        """Asked for every page, and most contents are new: who holds a content is asked only where there is one."""
        if not digest or digest in self._unheld or self._connection.row(_CONTENT, (digest[0], digest)) is None:
            return None
        return self._connection.row(_HOLDER.format(columns), (digest[0], digest))

    # Ending and opening URLs anew

    def reject_host(self, host: str, reason: str, *, state: int = State.REJECTED, under: str = "") -> int:
        return bulk_updates.end_host(
            self._connection, host, reason, state=state, under=under, keep_held=self._keep_held
        )

    def readmit(self, host: str, reason: str, *, limit: int) -> int:
        return bulk_updates.readmit(self._connection, host, reason, limit=limit, keep_held=self._keep_held)

    def set_aside(self, n: int, reason: str) -> None:
        bulk_updates.end_one(self._connection, n, reason)

    def requeue(self, rows: Iterable[int]) -> int:
        return archive_losses.fetch_again(self._connection, ((row, self._connection.round) for row in rows))

    def requeue_reason(self, reason: str) -> int:
        sql = "SELECT n, greatest(round, 1) FROM url WHERE reason = %s"
        rows = self._connection.read(lambda: self._connection.rows(sql, (reason,)))
        return archive_losses.fetch_again(self._connection, rows) if rows else 0

    def cap_waits(self, latest: float) -> None:
        sql = "UPDATE url SET due = %s WHERE state = 9 AND due > %s"
        self._write(lambda: self._connection.run(sql, (latest, latest)))

    def retry(self) -> int:
        return bulk_updates.retry(self._connection)

    def requeue_archive(self, name: str, spans: Sequence[Span]) -> int:
        return archive_losses.fetch_again(self._connection, archive_losses.touched(self._connection, name, spans))

    def reopen(self, reasons: Collection[str], judge: Judge) -> int:
        return bulk_updates.judge_again(self._connection, reasons, judge)

    def strike(self, n: int) -> int:
        return int(self._write(lambda: self._connection.value(_STRIKE, (n,))))

    # What is known

    @_reading
    def find(self, url: str) -> UrlRow | None:
        row = statistics.find(self._connection, url)
        if row is not None and row.state != State.REJECTED:
            self._known.add(urls.url_id(url))
        return row

    def holds(self, url_hash: int) -> bool:
        return url_hash in self._known

    @_reading
    def recall(self, url: str) -> tuple[int, str] | None:
        host = urls.host_of(url)
        row: tuple[int, str] | None = self._connection.row(_RECALL, (part_of(host), host_key(host), urls.url_id(url)))
        return row

    @_reading
    def given_seeds(self) -> list[str]:
        return [url for (url,) in self._connection.rows(_SEEDS.format("WHERE given"))]

    @_reading
    def seeds(self) -> list[str]:
        return [url for (url,) in self._connection.rows(_SEEDS.format(""))]

    @_reading
    def failed_seeds(self) -> dict[str, str]:
        return statistics.failed_seeds(self._connection)

    @_reading
    def cut_pages(self, *, top: int = 10) -> tuple[int, dict[str, str]]:
        return statistics.cut_pages(self._connection, top=top)

    @_reading
    def robots(self, origin: str) -> RobotsRow | None:
        sql = "SELECT origin, fetched_at, status, body FROM robots WHERE origin = %s"
        row = self._connection.row(sql, (origin,))
        return None if row is None else RobotsRow(*row)

    @_reading
    def tallies(self, host: str) -> dict[str, int]:
        sql = "SELECT key, count FROM tally WHERE part = %s AND host = %s"
        return dict(self._connection.rows(sql, (part_of(host), host_key(host))))

    @_reading
    def warcs(self) -> list[WarcRow]:
        return [WarcRow(*row) for row in self._connection.rows(_WARCS, (self.machine,))]

    def record_warcs(self, rows: Iterable[WarcRow]) -> None:
        values = [(row.name, row.size, row.synced, row.mtime_ns, self.machine) for row in rows]

        def write() -> None:
            self._connection.run_many(_RECORD_WARC, values)
            self._connection.run("DELETE FROM warc WHERE size = 0 AND place = ''")

        self._write(write)

    # Archive files in a store

    @_reading
    def moved_warcs(self) -> list[WarcRow]:
        """The archive files of this machine that are in the store."""
        return segments.moved(self._connection, self.machine)

    def place_warc(self, row: WarcRow, place: str) -> bool:
        """Record where an archive file of this machine is now; False where it is not as the row says."""
        return self._write(lambda: segments.place(self._connection, self.machine, row, place))

    @_reading
    def lost_machines(self) -> dict[str, int]:
        """By name, machines without leases that hold archive files which are in no store; and how many."""
        return segments.lost_machines(self._connection, self.machine)

    def forget_machine(self, machine: str) -> tuple[int, int]:
        """Fetch again what only a machine that is gone held; returns how many files and pages that are."""
        if machine == self.machine:
            raise UsageError(f"The machine {machine} is this one, which has its archive files: name one that is gone.")
        names = self._connection.read(lambda: segments.unplaced(self._connection, machine))
        again = 0
        for name, size in names:  # the pages first: a kill in between finds the file again
            again += self.requeue_archive(name, ((0, size),))
            self._write(lambda file=(name, size): segments.forget(self._connection, machine, *file))  # type: ignore[misc]
        return len(names), again

    @_reading
    def counts(self) -> dict[int, int]:
        return statistics.counts(self._connection)

    @_reading
    def stored(self) -> int:
        return statistics.figure(self._connection, "stored", str(self._connection.round))

    @_reading
    def pages(self) -> int:
        return statistics.figure(self._connection, "pages", "")

    @_reading
    def summary(self, *, top: int = 10, tell: Iterable[str] = ()) -> Summary:
        return statistics.summary(self._connection, self._connection.round, top=top, tell=tell)

    @_reading
    def pending(self) -> bool:
        return bool(self._connection.value(_LEFT))

    @_reading
    def meta(self, key: str) -> str | None:
        value: str | None = self._connection.value("SELECT value FROM meta WHERE key = %s", (key,))
        return value

    def set_meta(self, key: str, value: str) -> None:
        sql = "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        self._write(lambda: self._connection.run(sql, (key, value)))
