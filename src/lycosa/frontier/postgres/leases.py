"""Leases: which worker holds which partitions.

A worker has one row in `holder`, with the time until which all its leases hold, a version that grows whenever
partitions are taken from it, and a token that its successor of the same name replaces. A commit locks that row for
sharing and compares the version; another worker that takes partitions from a late one locks it for changing. So a
worker that was frozen for an hour writes nothing for hosts that another one fetches now.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.postgres.connection import PostgresConnection, PostgresFacet, reading, writing
from lycosa.frontier.postgres.schema import NUMBER_BITS, NUMBERS_AT_ONCE

T = TypeVar("T")

LOCK = "LOCK TABLE lease IN SHARE ROW EXCLUSIVE MODE"
SERVER_TIME = "extract(epoch FROM clock_timestamp())"
_ENTER = """
INSERT INTO holder (owner, token) VALUES (%s, %s)
ON CONFLICT (owner) DO UPDATE SET token = excluded.token, version = holder.version + 1"""
_FREE = """
SELECT lease.part, lease.owner FROM lease LEFT JOIN holder USING (owner)
WHERE owner = '' OR owner = %s OR holder.owner IS NULL OR until <= %s ORDER BY owner NOT IN ('', %s), part"""

_ROB = "UPDATE holder SET version = version + 1 WHERE owner = ANY(%s)"


class RowNumbers:
    """Row numbers of new URLs: taken from the server in blocks, given out in the order of finding."""

    def __init__(self) -> None:
        self._next = 0
        self._end = 0

    def give(self, connection: PostgresConnection, rows: list[tuple[int, T]]) -> list[tuple[int, int, T]]:
        """Partition, row number and thing, for each partition and thing."""
        given = []
        for part, thing in rows:
            if self._next == self._end:
                self._next = int(connection.value("SELECT nextval('number')"))
                self._end = self._next + NUMBERS_AT_ONCE
            given.append((part, part << NUMBER_BITS | self._next, thing))
            self._next += 1
        return given


class PostgresLeases(PostgresFacet):
    """The leases of one worker, and the numbers that it gives to new URLs under them."""

    def __init__(self, connection: PostgresConnection, machine: str, *, uses_server_clock: bool) -> None:
        super().__init__(connection, machine)
        self.numbers = RowNumbers()
        self._uses_server_clock = uses_server_clock
        self._held: frozenset[int] = frozenset()
        self._version = -1  # below 0: nothing was leased yet, or all is lost
        self._owner = ""  # who leased last
        self._token = os.urandom(8).hex()

    def _now(self, now: float) -> float:
        return float(self._connection.value(f"SELECT {SERVER_TIME}")) if self._uses_server_clock else now

    def acquire(self, owner: str, *, want: int, now: float, ttl_s: float) -> list[int]:
        parts = self._acquire(owner, want, now, ttl_s)
        if parts:
            self.numbers = RowNumbers()  # higher ones than whoever held them gave: what that one found stays first
        return parts

    @writing
    def _acquire(self, owner: str, want: int, now: float, ttl_s: float) -> list[int]:
        """Lease free and then late partitions, neighbours first, until `want` are held."""
        connection = self._connection
        connection.run(LOCK)  # takers go one after the other
        self._owner = owner
        now = self._now(now)
        mine = self.held(owner)
        if self._version < 0:
            connection.run(_ENTER, (owner, self._token))
            mine = frozenset()
        rows = connection.rows(_FREE, (owner, now, owner))
        mine &= {part for part, holder in rows if holder == owner}  # not what a try took that broke off
        free = [row for row in rows if row[0] not in mine]
        taken = free[: max(0, want - len(mine))]
        late = sorted({holder for _, holder in taken} - {"", owner})
        if late:
            sql = "SELECT owner, until FROM holder WHERE owner = ANY(%s) ORDER BY owner FOR UPDATE"
            back = {holder for holder, until in connection.rows(sql, (late,)) if until > now}  # since the look for them
            taken = [(part, holder) for part, holder in taken if holder not in back]
            connection.run(_ROB, ([holder for holder in late if holder not in back],))
        parts = [part for part, _ in taken]
        connection.run("UPDATE lease SET owner = %s WHERE part = ANY(%s)", (owner, parts))
        sql = "UPDATE holder SET until = greatest(until, %s) WHERE owner = %s RETURNING version"
        self._version = connection.value(sql, (now + ttl_s, owner))
        self._held = mine | frozenset(parts)
        if parts:
            connection.learn_round()  # another one may have begun while it held nothing
        return parts

    def held(self, owner: str) -> frozenset[int]:
        """The partitions that the worker still holds; nobody takes them before the caller's transaction ends."""
        if self._version < 0:
            return frozenset()
        connection = self._connection
        row = connection.row("SELECT version, token FROM holder WHERE owner = %s FOR SHARE", (owner,))
        if row is None or row[1] != self._token:
            self._held, self._version = frozenset(), -1
        elif row[0] != self._version:
            rows = connection.rows("SELECT part FROM lease WHERE owner = %s", (owner,))
            self._held &= {part for (part,) in rows}
            self._version = row[0]
        return self._held

    def keep_held(self, parts: Iterable[int]) -> list[int]:
        """Those of these partitions that the worker still holds, as `held`; all, where it is no worker that asks."""
        if not self._owner:
            return list(parts)
        held = self.held(self._owner)
        return [part for part in parts if part in held]

    @reading
    def share(self) -> int | None:
        sql = "SELECT count(*) FROM holder WHERE until > %s"  # so that all that live have as many
        workers = self._connection.value(sql, (self._now(0.0),))
        return -(-PARTITIONS // max(1, int(workers)))

    @writing
    def renew(self, owner: str, *, now: float, ttl_s: float) -> set[int]:
        held = self.held(owner)
        if held:
            until = self._now(now) + ttl_s
            self._connection.run("UPDATE holder SET until = greatest(until, %s) WHERE owner = %s", (until, owner))
        return set(held)

    def release(self, owner: str, parts: Iterable[int]) -> None:
        self._release(owner, set(parts))

    @writing
    def _release(self, owner: str, given: set[int]) -> None:
        self.held(owner)
        if self._version >= 0:  # the database says which: a try that broke off may have taken them from `_held`
            sql = "UPDATE lease SET owner = '' WHERE part = ANY(%s) AND owner = %s"
            self._connection.run(sql, (sorted(given), owner))
        self._held -= given

    def clear_slot(self, slot: int) -> None:
        self._clear("owner = %s", f"{self.machine}:{slot}")

    def clear(self) -> None:
        self._clear("starts_with(owner, %s)", f"{self.machine}:")

    @writing
    def _clear(self, matches: str, owners: str) -> None:
        clear_matching(self._connection, matches, owners)


def clear_matching(connection: PostgresConnection, matches: str, owners: str) -> None:
    """Take the partitions from the workers that a condition on their names matches, in a transaction of the caller."""
    connection.run(LOCK)
    connection.run(f"UPDATE lease SET owner = '' WHERE {matches}", (owners,))
    connection.run(f"UPDATE holder SET version = version + 1, until = 0 WHERE {matches}", (owners,))
