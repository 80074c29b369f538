"""Bulk updates: changes of many rows beside the commits, in chunks, so that workers get their turn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from lycosa import urls
from lycosa.frontier.contract import POISON, Judge
from lycosa.frontier.partitions import PARTITIONS, host_key, part_of
from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.frontier.postgres.counters import ShardedCounts
from lycosa.frontier.postgres.schema import part_of_row
from lycosa.model import State

CHUNK = 5_000  # rows of one transaction

_Opened = list[tuple[int, int, str]]  # row number, state and reason
_Renamed = list[tuple[int, str, str]]  # row number, reason before and now
#: Of partitions those that the worker holds: what is another's now is not changed.
_KeepHeld = Callable[[Iterable[int]], list[int]]

_DUE = """
WITH found AS (
    SELECT part, n, reason FROM url WHERE state = 9 AND part = ANY(%s) AND due <= %s ORDER BY part, n LIMIT %s
    FOR UPDATE),
opened AS (
    UPDATE url SET state = 0, reason = '', due = 0 FROM found WHERE url.part = found.part AND url.n = found.n
    RETURNING url.host, found.reason)
SELECT name, reason, count(*) FROM opened JOIN host USING (host) GROUP BY 1, 2"""
_END_HOST = """
WITH ended AS (
    SELECT part, n FROM url WHERE state = 0 AND part = %s AND host = %s AND starts_with(url, %s) ORDER BY n LIMIT %s
    FOR UPDATE)
UPDATE url SET state = %s, reason = %s FROM ended WHERE url.part = ended.part AND url.n = ended.n"""
_REFUSED = """
SELECT n FROM url WHERE part = %s AND host = %s AND state = 8 AND reason = %s ORDER BY score DESC, n LIMIT %s
FOR UPDATE"""
_FAILED = """
SELECT n, reason FROM url WHERE part = %s AND n > %s AND state = 7 AND reason <> %s ORDER BY n LIMIT %s FOR UPDATE"""
_REJECTED = """
SELECT n, url, depth, reason FROM url WHERE part = %s AND n > %s AND state = 8 AND reason = ANY(%s)
ORDER BY n LIMIT %s"""
_STILL_REJECTED = "SELECT n, reason FROM url WHERE part = %s AND n = ANY(%s) AND state = 8 ORDER BY n FOR UPDATE"
_OPEN = """
UPDATE url SET state = 0, reason = '', due = 0 FROM unnest(%s::smallint[], %s::bigint[]) AS opened (part, n)
WHERE url.part = opened.part AND url.n = opened.n"""
#: In an inbox: who reads it takes no row whose news are not there yet, and would find nothing for it.
TOUCH_IF_THERE = "ON CONFLICT (part, host) DO UPDATE SET host = excluded.host"
_NOTIFY = f"""
INSERT INTO inbox SELECT DISTINCT url.part, url.host
FROM unnest(%s::smallint[], %s::bigint[]) AS opened (part, n) JOIN url USING (part, n) ORDER BY 1, 2 {TOUCH_IF_THERE}"""


def wake_due(connection: PostgresConnection, parts: Iterable[int], now: float, *, keep_held: _KeepHeld) -> list[str]:
    """Make pending what has waited long enough; returns its hosts."""
    hosts: set[str] = set()
    parts = list(parts)

    def write() -> int:
        counts, total = ShardedCounts(), 0
        for name, reason, count in connection.rows(_DUE, (keep_held(parts), now, CHUNK)):
            counts.state(State.WAITING, reason, -count)
            hosts.add(name)
            total += count
        counts.state(State.PENDING, "", total)
        counts.write(connection)
        return total

    sql = "SELECT 1 FROM url WHERE state = 9 AND part = ANY(%s) AND due <= %s LIMIT 1"
    while connection.value(sql, (parts, now)) and connection.write(write):
        pass
    return sorted(hosts, key=host_key)


def end_host(
    connection: PostgresConnection, host: str, reason: str, *, state: int, under: str, keep_held: _KeepHeld
) -> int:
    """End the pending URLs of a host that begin with `under`."""

    def write() -> int:
        if not keep_held([part_of(host)]):
            return 0
        values = (part_of(host), host_key(host), under, CHUNK, int(state), reason)
        count = connection.run(_END_HOST, values)
        counts = ShardedCounts()
        counts.state(State.PENDING, "", -count)
        counts.state(state, reason, count)
        counts.write(connection)
        return count

    total = 0
    while count := connection.write(write):
        total += count
    return total


def readmit(connection: PostgresConnection, host: str, reason: str, *, limit: int, keep_held: _KeepHeld) -> int:
    """Make pending the best URLs of a host that were rejected for this reason."""

    def write() -> int:
        if not keep_held([part_of(host)]):
            return 0
        rows = connection.rows(_REFUSED, (part_of(host), host_key(host), reason, limit))
        open_rows(connection, [(n, State.REJECTED, reason) for (n,) in rows], notify=False)
        return len(rows)

    return connection.write(write)


def end_one(connection: PostgresConnection, n: int, reason: str) -> None:
    """End one URL as failed."""

    def write() -> None:
        place = (part_of_row(n), n)
        row = connection.row("SELECT state, reason FROM url WHERE part = %s AND n = %s FOR UPDATE", place)
        if row is None:
            return
        sql = "UPDATE url SET state = %s, reason = %s WHERE part = %s AND n = %s"
        connection.run(sql, (int(State.FAILED), reason, *place))
        counts = ShardedCounts()
        state, before = row
        counts.state(state, before, -1)
        counts.state(State.FAILED, reason, 1)
        counts.write(connection)

    connection.write(write)


def retry(connection: PostgresConnection) -> int:
    """Make pending what failed, with all its tries, in one pass over the table."""
    total = 0
    for part in range(PARTITIONS):
        last = 0
        while True:

            def write(part: int = part, last: int = last) -> list[int]:
                rows = connection.rows(_FAILED, (part, last, POISON, CHUNK))
                open_rows(connection, [(n, State.FAILED, reason) for n, reason in rows])
                ns = [n for n, _ in rows]
                connection.run("UPDATE url SET retries = 0 WHERE part = %s AND n = ANY(%s)", (part, ns))
                return ns

            ns = connection.write(write)
            if not ns:
                break
            last, total = ns[-1], total + len(ns)
    return total


def judge_again(connection: PostgresConnection, reasons: Collection[str], judge: Judge) -> int:
    """Judge again what was rejected for these reasons, in one pass over the table."""
    total = 0

    def look(part: int, last: int) -> list[tuple[int, str, int, str]]:
        return connection.read(lambda: connection.rows(_REJECTED, (part, last, list(reasons), CHUNK)))

    for part in range(PARTITIONS):
        last = 0
        while rows := look(part, last):
            last = rows[-1][0]
            opened: _Opened = []
            changed: _Renamed = []
            for n, url, depth, reason in rows:
                verdict = judge(url, depth, urls.host_of(url))
                if verdict.ok:
                    opened.append((n, State.REJECTED, reason))
                elif verdict.reason != reason:
                    changed.append((n, reason, verdict.reason))

            def write(part: int = part, opened: _Opened = opened, changed: _Renamed = changed) -> int:
                ns = [n for n, *_ in (*opened, *changed)]
                still = set(connection.rows(_STILL_REJECTED, (part, ns)))  # another machine may do the same
                opened = [row for row in opened if (row[0], row[2]) in still]
                open_rows(connection, opened)
                _rename(connection, [row for row in changed if row[:2] in still])
                return len(opened)

            total += connection.write(write) if opened or changed else 0
    return total


def open_rows(connection: PostgresConnection, rows: Sequence[tuple[int, int, str]], *, notify: bool = True) -> None:
    """Make URLs pending, given their row number and the state and reason they had; `notify` their workers."""
    if not rows:
        return
    counts = ShardedCounts()
    for _, state, reason in rows:
        counts.state(state, reason, -1)
    counts.state(State.PENDING, "", len(rows))
    ns = sorted(n for n, _, _ in rows)
    places = ([part_of_row(n) for n in ns], ns)
    connection.run(_OPEN, places)
    if notify:
        connection.run(_NOTIFY, places)
    counts.write(connection)


def _rename(connection: PostgresConnection, rows: list[tuple[int, str, str]]) -> None:
    """Record that URLs are rejected for another reason now."""
    counts = ShardedCounts()
    for _, old, new in rows:
        counts.state(State.REJECTED, old, -1)
        counts.state(State.REJECTED, new, 1)
    sql = "UPDATE url SET reason = %s WHERE part = %s AND n = %s"
    connection.run_many(sql, ((new, part_of_row(n), n) for n, _, new in rows))
    counts.write(connection)
