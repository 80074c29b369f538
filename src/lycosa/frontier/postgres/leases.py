"""Leases: which worker holds which partitions.

A worker has one row in `holder`, with the time until which all its leases hold, a version that grows whenever
partitions are taken from it, and a token that its successor of the same name replaces. A commit locks that row for
sharing and compares the version; another worker that takes partitions from a late one locks it for changing. So a
worker that was frozen for an hour writes nothing for hosts that another one fetches now.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.postgres.connection import PostgresConnection

LOCK = "LOCK TABLE lease IN SHARE ROW EXCLUSIVE MODE"
_SERVER_TIME = "extract(epoch FROM clock_timestamp())"
_ENTER = """
INSERT INTO holder (owner, token) VALUES (%s, %s)
ON CONFLICT (owner) DO UPDATE SET token = excluded.token, version = holder.version + 1"""
_FREE = """
SELECT lease.part, lease.owner FROM lease LEFT JOIN holder USING (owner)
WHERE owner = '' OR owner = %s OR holder.owner IS NULL OR until <= %s ORDER BY owner NOT IN ('', %s), part"""

_ROB = "UPDATE holder SET version = version + 1 WHERE owner = ANY(%s)"


class PostgresLeases:
    """The leases of one worker. Every method runs inside a transaction that the caller holds."""

    def __init__(self, *, uses_server_clock: bool) -> None:
        self._uses_server_clock = uses_server_clock
        self._held: frozenset[int] = frozenset()
        self._version = -1  # below 0: nothing was leased yet, or all is lost
        self._owner = ""  # who leased last
        self._token = os.urandom(8).hex()

    def _now(self, connection: PostgresConnection, now: float) -> float:
        return float(connection.value(f"SELECT {_SERVER_TIME}")) if self._uses_server_clock else now

    def acquire(self, connection: PostgresConnection, owner: str, *, want: int, now: float, ttl_s: float) -> list[int]:
        """Lease free and then late partitions, neighbours first, until `want` are held."""
        connection.run(LOCK)  # takers go one after the other
        self._owner = owner
        now = self._now(connection, now)
        mine = self.held(connection, owner)
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
        return parts

    def held(self, connection: PostgresConnection, owner: str) -> frozenset[int]:
        """The partitions that the worker still holds, which nobody takes from it before the transaction ends."""
        if self._version < 0:
            return frozenset()
        row = connection.row("SELECT version, token FROM holder WHERE owner = %s FOR SHARE", (owner,))
        if row is None or row[1] != self._token:
            self._held, self._version = frozenset(), -1
        elif row[0] != self._version:
            rows = connection.rows("SELECT part FROM lease WHERE owner = %s", (owner,))
            self._held &= {part for (part,) in rows}
            self._version = row[0]
        return self._held

    def keep_held(self, connection: PostgresConnection, parts: Iterable[int]) -> list[int]:
        """Those of these partitions that the worker still holds, as `held`; all, where it is no worker that asks."""
        if not self._owner:
            return list(parts)
        held = self.held(connection, self._owner)
        return [part for part in parts if part in held]

    def share(self, connection: PostgresConnection, now: float) -> int:
        """How many partitions each worker is to hold, so that all that live have as many."""
        workers = connection.value("SELECT count(*) FROM holder WHERE until > %s", (self._now(connection, now),))
        return -(-PARTITIONS // max(1, int(workers)))

    def renew(self, connection: PostgresConnection, owner: str, *, now: float, ttl_s: float) -> set[int]:
        """Prolong the leases that are still held."""
        held = self.held(connection, owner)
        if held:
            until = self._now(connection, now) + ttl_s
            connection.run("UPDATE holder SET until = greatest(until, %s) WHERE owner = %s", (until, owner))
        return set(held)

    def release(self, connection: PostgresConnection, owner: str, parts: Iterable[int]) -> None:
        """Give back those of these partitions that are still held."""
        given = set(parts)
        self.held(connection, owner)
        if self._version >= 0:  # the database says which: a try that broke off may have taken them from `_held`
            connection.run("UPDATE lease SET owner = '' WHERE part = ANY(%s) AND owner = %s", (sorted(given), owner))
        self._held -= given

    def clear(self, connection: PostgresConnection, *, machine: str, slot: int | None = None) -> None:
        """Take the partitions from the workers of a machine, or from one of them."""
        owners, matches = f"{machine}:", "starts_with(owner, %s)"
        if slot is not None:
            owners, matches = f"{machine}:{slot}", "owner = %s"
        connection.run(LOCK)
        connection.run(f"UPDATE lease SET owner = '' WHERE {matches}", (owners,))
        connection.run(f"UPDATE holder SET version = version + 1, until = 0 WHERE {matches}", (owners,))


def clear_others(connection: PostgresConnection, *, machine: str) -> None:
    """Take the partitions from the workers of all other machines, within a transaction of the caller."""
    connection.run(LOCK)
    connection.run("UPDATE lease SET owner = '' WHERE NOT starts_with(owner, %s)", (f"{machine}:",))
    connection.run(
        "UPDATE holder SET version = version + 1, until = 0 WHERE NOT starts_with(owner, %s)", (f"{machine}:",)
    )
